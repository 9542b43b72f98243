"""Scores of an audit in which nothing leaks: how often a lower bound is above 0 all the same."""

RUNS = 200
SCORES = 100


def errors(question, bound):
    """Return in how many audits a bound is above 0, and how many there were; None if not asked.

    ``bound`` is given scores of records that were there and of others, both normal with mean 0.
    """
    if question["asks"] != "errors":
        return None
    import numpy as np  # not every package whose accountant is asked has it

    # One seed for every method: all of them are judged on the same audits, and a scan repeats.
    rng = np.random.default_rng(0)
    found = [bound(*rng.normal(size=(2, SCORES))) for _ in range(RUNS)]
    return sum(float(one) > 0 for one in found), RUNS
