r"""Re-checks a violation of hu2019's Lemma 1 from the certificate alone.

As `dpaudit.algorithms.sharing.verify.hu2020.lemma1`, and that the subproblem (6) is strongly convex
with a modulus of at least twice the largest eigenvalue of ``D'D``, on both designs: with
``R = ||x||^2 / 2`` the modulus is ``lambda + rho sigma_min(D'D)``.
"""

from __future__ import annotations

from dataclasses import replace

from dpaudit.algorithms.sharing.verify.hu2020.lemma1 import recompute as without_convexity
from dpaudit.algorithms.sharing.verify.hu2020.update import read_neighbour_designs
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Number, Real, largest, smallest


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2019-lemma1",
    ...     parameters={
    ...         "features": 1, "samples": 1, "parties": 1, "penalty": 1.0,
    ...         "regulariser_weight": 1.0, "bound": 1.0, "curvature": 1.0, "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "design": [[1.0]], "neighbour": [[-1.0]], "dual": [1.0], "prediction": [-1.0],
    ...         "others": [], "models": [],
    ...     },
    ... )
    >>> value, limit = recompute(document).assumptions["convex subproblem"]
    >>> float(value), float(limit)
    (2.0, 2.0)
    """
    found = without_convexity(document)
    design, other, _ = read_neighbour_designs(document)
    rho, lam = document.positive("penalty", "regulariser_weight")
    convex: dict[str, tuple[Number, Number]] = {
        "convex subproblem": _compute_convexity_modulus(design, rho, lam),
        "convex subproblem of the neighbour": _compute_convexity_modulus(other, rho, lam),
    }
    return replace(found, assumptions={**found.assumptions, **convex})


def _compute_convexity_modulus(design: Matrix, rho: Real, lam: Real) -> tuple[Real, Real]:
    """Return twice the largest eigenvalue of D'D, and the modulus of (6)."""
    values = (design.T * design).eigenvalues()
    return 2 * largest(values), lam + rho * smallest(values)
