"""privacy-estimates' lower bounds from the counts of an attack.

It takes counts and no scores: the threshold is half of the shift, which is known here and to nobody
who audits. Its credible intervals are two-sided, so that twice alpha is a lower end at alpha.
"""

from privacy_estimates import AttackResults, compute_eps_lo_hi


def counted(question, drawn):
    """Return the counts of the attack that knows the best threshold for accuracy."""
    inside, outside = drawn(question)
    threshold = question["shift"] / 2
    found, missed = int((inside > threshold).sum()), int((inside <= threshold).sum())
    wrong, right = int((outside > threshold).sum()), int((outside <= threshold).sum())
    return AttackResults(FN=missed, FP=wrong, TN=right, TP=found)


def bound(method):
    """Return the lower end by a method."""

    def lower(question, drawn):
        ends = compute_eps_lo_hi(
            count=counted(question, drawn),
            delta=question["delta"],
            alpha=2 * question["alpha"],
            method=method,
        )
        return float(ends[0])

    return lower


METHODS = {"Clopper-Pearson": bound("beta"), "joint beta": bound("joint-beta")}
