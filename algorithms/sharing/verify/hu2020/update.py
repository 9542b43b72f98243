r"""Two updates (6) of hu2020 on neighbouring designs, recomputed from a certificate alone.

Notation as in the paper: ``x = -(lambda I + rho D'D)^-1 D' v`` with
``v = y + rho (sum_{k != m} D_k x~_k - z)``, and the same on the neighbour's design. Every other
party has one column.

Rows of doubles are of norm 1 up to their last digit only. Rows that are so far are divided by their
norm in 50 digits first, and everything is checked on the result: its rows have norm 1 exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import lu_solve, matrix, mpf, norm, sign, sqrt

from dpaudit.errors import Shown
from dpaudit.verification import Document

_LAST_DIGIT = mpf("1e-12")
_CURVATURE = 1  # c_1 of R = ||x||^2/2


@dataclass(frozen=True, kw_only=True)
class Moved:
    """How far ``D x`` moves, every assumption, and two sensitivities of it.

    ``published`` is that of Lemma 1, ``corrected`` is
    ``min{(1/rho + 1 + (M - 1) sqrt(N)) b_1, 2 sqrt(N) b_1}``; both without any factor.
    """

    assumptions: dict[str, tuple[Any, Any]]
    movement: Any
    published: Any
    corrected: Any


def moved(document: Document) -> Moved:
    """Return the movement and the assumptions of Lemma 1 on a certificate's instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.
    """
    rho, lam, b1 = document.positive("penalty", "regulariser_weight", "bound")
    if (curvature := document.number("parameters", "curvature")) != _CURVATURE:
        raise document.refused("parameters.curvature", curvature, f"{_CURVATURE}")
    d, n, parties = (document.count(name) for name in ("features", "samples", "parties"))
    _well_conditioned(document, rho * n / lam)
    design, other, assumptions = neighbours(document)
    y, z = (matrix(document.array(name, (n,))) for name in ("dual", "prediction"))
    columns = document.array("others", (parties - 1, n))
    models = document.array("models", (parties - 1,))
    v = y - rho * z
    for column, model in zip(columns, models, strict=True):
        v += rho * mpf(model) * matrix([sign(entry) for entry in column])
    x, x_other = (_solve(one, v, rho, lam) for one in (design, other))
    assumptions |= {
        "unit rows of the others": (_off_one(columns), _LAST_DIGIT),
        "bounded model": (norm(x), b1),
        "bounded model of the neighbour": (norm(x_other), b1),
        "bounded models of the others": (max((abs(mpf(m)) for m in models), default=mpf(0)), b1),
        "bounded dual": (norm(y), b1),
        "bounded prediction": (norm(z), b1),
    }
    diameter = 1 / rho + 1 + (parties - 1) * sqrt(mpf(n))
    return Moved(
        assumptions=assumptions,
        movement=norm(design * x - other * x_other),
        published=3 / (d * rho) * (lam * _CURVATURE + (1 + parties * rho) * b1),
        corrected=min(diameter, 2 * sqrt(mpf(n))) * b1,
    )


def neighbours(document: Document) -> tuple[Any, Any, dict[str, tuple[Any, Any]]]:
    """Return both designs with rows of norm 1, and what makes them neighbours."""
    shape = document.count("samples"), document.count("features")
    stored, stored_other = (matrix(document.array(a, shape)) for a in ("design", "neighbour"))
    design, other = _unit_rows(stored), _unit_rows(stored_other)
    assumptions = {
        "unit rows": (_off_unit(stored), _LAST_DIGIT),
        "unit rows of the neighbour": (_off_unit(stored_other), _LAST_DIGIT),
        "one column differs": (_differing_columns(design, other), mpf(1)),
        "close neighbours": (norm(design - other), mpf(1)),
    }
    return design, other, assumptions


def scaled(document: Document) -> str:
    """Return what a summary has to say of a claim that was multiplied by a factor."""
    factor = document.number("parameters", "factor")
    return "" if factor == 1 else f" (which is {factor:g} times what the source states)"


def _well_conditioned(document: Document, condition: Any) -> None:
    """Refuse equations that cost 50-digit arithmetic more than half of its digits."""
    if condition > mpf(10) ** 25:
        given = Shown(f"{float(condition):.3g} for rho N / lambda")
        raise document.refused("parameters.regulariser_weight", given, "at most 1e25")


def _solve(design: Any, v: Any, rho: Any, lam: Any) -> Any:
    curvature = rho * (design.T * design)
    for j in range(design.cols):
        curvature[j, j] += lam
    return lu_solve(curvature, -(design.T * v))


def _unit_rows(design: Any) -> Any:
    """Return the design with rows of norm 1; a row of zeros stays, and fails as it was stored."""
    result = design.copy()
    for i in range(design.rows):
        result[i, :] = design[i, :] / (norm(design[i, :]) or mpf(1))
    return result


def _off_unit(design: Any) -> Any:
    return max(abs(norm(design[i, :]) - 1) for i in range(design.rows))


def _off_one(columns: Any) -> Any:
    return max((abs(abs(mpf(entry)) - 1) for column in columns for entry in column), default=mpf(0))


def _differing_columns(one: Any, other: Any) -> Any:
    rows = range(one.rows)
    differs = [any(one[i, j] != other[i, j] for i in rows) for j in range(one.cols)]
    return mpf(sum(differs))
