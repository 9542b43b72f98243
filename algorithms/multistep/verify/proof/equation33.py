"""Re-checks a violation of eq. (33) of Huang & Gong: both sides, from the iteration alone."""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify.proof.iteration import verify_equation_sides
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return both sides of (33), and by how much they break it.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="huang2020-equation33",
    ...     kind="property",
    ...     parameters={
    ...         "inner_steps": 1, "neighbours": 1, "dimension": 1, "version": "published",
    ...         "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "penalty": 1.0, "curvature": 1.0, "eta": [2.0], "pull": [0.0], "start": [1.0],
    ...         "own": [1.0], "others": [[1.0]], "dual": [[2.0]], "noise": [[1.0]],
    ...         "later": [[1.0]], "next": [-3.0], "target": [0.0],
    ...     },
    ... )
    >>> outcome = recompute(document)
    >>> float(outcome.quantities["left side"]), float(outcome.quantities["right side"])
    (1.0, 0.0)
    """
    return verify_equation_sides(document, 33)
