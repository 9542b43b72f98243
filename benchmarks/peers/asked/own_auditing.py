"""dpaudit's own lower bounds from scores."""

import numpy as np

import dpaudit


def of_runs(question, drawn):
    """Return the certified lower end from scores of independent runs of either kind."""
    inside, outside = drawn(question)
    result = dpaudit.audit_outputs(
        inside,
        outside,
        epsilon=question["true"],
        delta=question["delta"],
        confidence=1 - question["alpha"],
        seed=question["seed"],
    )
    return result.measured.lower


def of_canaries(estimator):
    """Return the certified lower end from canaries of one run, by an estimator."""

    def lower(question, drawn):
        inside, outside = drawn(question)
        result = dpaudit.audit_scores(
            np.concatenate([inside, outside]),
            np.repeat([1, 0], [len(inside), len(outside)]),
            delta=question["delta"],
            confidence=1 - question["alpha"],
            estimator=estimator,
            seed=question["seed"],
        )
        return result.measured.lower

    return lower


METHODS = {
    "audit_outputs": of_runs,
    "audit_scores": of_canaries("exact"),
    "audit_scores, f-DP": of_canaries("f-dp"),
}
