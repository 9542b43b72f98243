"""Re-checks a violation of hu2019's Lemma 3: both sides of eq. (15), as they are printed."""

from __future__ import annotations

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real

_MOST = 100  # vectors, and entries of one


def recompute(document: Document) -> Outcome:
    """Return both sides of (15), exactly.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or nothing
        moves.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2019-lemma3",
    ...     kind="property",
    ...     parameters={"parties": 3, "dimension": 1, "version": "published", "factor": 1.0},
    ...     quantities={},
    ...     assumptions={},
    ...     instance={"before": [[0], [0], [0]], "after": [[1], [1], [1]], "z": [5]},
    ... )
    >>> outcome = recompute(document)
    >>> float(outcome.quantities["left side"]), float(outcome.quantities["right side"])
    (6.0, 3.0)
    """
    document.require_kind("property")
    parties, d = document.count("parties"), document.count("dimension")
    for name, value in (("parties", parties), ("dimension", d)):
        if value > _MOST:
            raise document.refused(f"parameters.{name}", value, f"at most {_MOST}")
    version = document.choice("version", "published", "corrected")
    before, after = (
        [[Real(entry) for entry in row] for row in document.array(name, (parties, d))]
        for name in ("before", "after")
    )
    z = [Real(entry) for entry in document.array("z", (d,))]
    start = _compute_real_square(_subtract_real_vectors(_sum_real_rows(before), z))
    left = _compute_real_square(_subtract_real_vectors(_sum_real_rows(after), z)) - start
    for m in range(parties):
        alone = [*before[:m], after[m], *before[m + 1 :]]
        left -= _compute_real_square(_subtract_real_vectors(_sum_real_rows(alone), z)) - start
    moved = sum(
        (
            _compute_real_square(_subtract_real_vectors(a, b))
            for a, b in zip(after, before, strict=True)
        ),
        Real(0),
    )
    if moved.ball.is_zero():
        raise document.refused("instance.after", "what was before", "a step")
    multiple = parties - 1 if version == "corrected" else 1
    right = document.positive("factor") * multiple * moved
    return Outcome(
        assumptions={},
        quantities={"left side": left, "right side": right, "ratio": left / right},
        summary=f"{parties} vectors: {float(left):.6g}, above {float(right):.6g}",
        reservations=() if version == "published" else ("a corrected right side",),
    )


def _sum_real_rows(rows: list[list[Real]]) -> list[Real]:
    return [sum(column, Real(0)) for column in zip(*rows, strict=True)]


def _subtract_real_vectors(one: list[Real], other: list[Real]) -> list[Real]:
    return [a - b for a, b in zip(one, other, strict=True)]


def _compute_real_square(vector: list[Real]) -> Real:
    return sum((entry * entry for entry in vector), Real(0))
