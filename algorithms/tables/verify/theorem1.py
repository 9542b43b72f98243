r"""Re-checks a privacy loss above Theorem 1's on joined tables, from the certificate alone.

With deviation lambda a coordinate's noise has the Laplace scale ``b = lambda / sqrt(2)``, and the
loss of the output o between labels y and y' is ``sum_k (|o_k - y'_k| - |o_k - y_k|) / b``. It is
continuous in o: where one output exceeds epsilon, a set of positive probability does.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, sqrt


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json",
    ...     claim="tables-theorem1",
    ...     kind="pure-dp",
    ...     parameters={
    ...         "encoding": "one-hot", "coordinates": 2, "epsilon": 1.0, "factor": 0.5,
    ...         "deviation": 2.8285,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={"label": [1, 0], "other": [0, 1], "output": [1, 0]},
    ... )
    >>> outcome = recompute(document)
    >>> [round(float(pair[0]), 4) for pair in outcome.assumptions.values()]
    [0.0, 0.0, 2.8284]
    >>> round(float(outcome.quantities["ratio"]), 3)
    2.0
    """
    document.require_kind("pure-dp")
    encoding = document.choice("encoding", "one-hot", "sign", "unit-l1")
    epsilon, factor, deviation = document.positive("epsilon", "factor", "deviation")
    size = document.count("coordinates")
    label, other, output = (
        [Fraction(entry) for entry in document.array(name, (size,))]
        for name in ("label", "other", "output")
    )
    nearer = sum(abs(o - b) - abs(o - a) for a, b, o in zip(label, other, output, strict=True))
    loss, bound = sqrt(2) * Real(nearer) / deviation, factor * epsilon
    assumptions = {
        "unit label": (_measure_label_deviation(encoding, label), 0),
        "unit label of the neighbour": (_measure_label_deviation(encoding, other), 0),
        "published noise": (2 * sqrt(2) / epsilon, deviation),
    }
    return Outcome(
        assumptions=assumptions,
        quantities={"bound": bound, "loss": loss, "ratio": loss / bound},
        summary=f"an output of exact loss {float(loss):.6g} where {float(bound):.6g} is claimed",
    )


def _measure_label_deviation(encoding: str, label: list[Fraction]) -> Fraction:
    """Return how far a label is from being written as the theorem has it; 0 for one that is."""
    if encoding == "one-hot":
        entries = max(min(abs(entry), abs(entry - 1)) for entry in label)
        return max(entries, abs(sum(label, Fraction(-1))))
    if encoding == "sign":
        # Several signs are several labels: the neighbour may differ in one.
        return max(max(abs(abs(entry) - 1) for entry in label), Fraction(len(label) - 1))
    return max(Fraction(0), sum(map(abs, label), Fraction(-1)))
