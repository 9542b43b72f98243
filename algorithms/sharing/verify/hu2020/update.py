r"""Two updates (6) of hu2020 on neighbouring designs, recomputed from a certificate alone.

Notation as in the paper: ``x = -(lambda I + rho D'D)^-1 D' v`` with
``v = y + rho (sum_{k != m} D_k x~_k - z)``, and the same on the neighbour's design. Every other
party has one column.

Rows of doubles are of norm 1 up to their last digit only. Rows that are so far are divided by their
norm first, enclosed, and everything is checked on the result: its rows have norm 1 exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpaudit.errors import VerbatimText
from dpaudit.verification import Document
from dpaudit.verification.reals import (
    Matrix,
    Number,
    Real,
    identity,
    largest,
    norm,
    smallest,
    sqrt,
    total,
    vector,
)

Row = list[Fraction]
Rows = list[Row]

_LAST_DIGIT = 1e-12
RESIDUALS = frozenset({"unit rows", "unit rows of the neighbour", "unit rows of the others"})
_CURVATURE = 1  # c_1 of R = ||x||^2/2


@dataclass(frozen=True, kw_only=True)
class MovementCheck:
    """The movement of ``D x``, every assumption, and two sensitivities of it.

    ``published`` is that of Lemma 1, ``corrected`` is
    ``min{(1/rho + 1 + (M - 1) sqrt(N)) b_1, 2 sqrt(N) b_1}``; both without any factor.
    """

    assumptions: dict[str, tuple[Number, Number]]
    movement: Real
    published: Real
    corrected: Real


def compute_movement(document: Document) -> MovementCheck:
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
    design, other, assumptions = read_neighbour_designs(document)
    y, z = (vector(document.array(name, (n,))) for name in ("dual", "prediction"))
    columns = document.array("others", (parties - 1, n))
    models = document.array("models", (parties - 1,))
    v = y - rho * z
    for column, model in zip(columns, models, strict=True):
        # The others' columns have entries of size 1, as their rows are of norm 1 in one column; the
        # sign is what is left when the last digit is repaired.
        v += rho * model * vector(_get_entry_sign(entry) for entry in column)
    x, x_other = (_solve_ridge_system(one, v, rho, lam) for one in (design, other))
    assumptions |= {
        "unit rows of the others": (_off_one(columns), _LAST_DIGIT),
        "bounded model": (norm(x.entries()), b1),
        "bounded model of the neighbour": (norm(x_other.entries()), b1),
        "bounded models of the others": (max(map(abs, models), default=0.0), b1),
        "bounded dual": (norm(y.entries()), b1),
        "bounded prediction": (norm(z.entries()), b1),
    }
    diameter = 1 / rho + 1 + (parties - 1) * sqrt(n)
    return MovementCheck(
        assumptions=assumptions,
        movement=norm((design * x - other * x_other).entries()),
        published=3 / (d * rho) * (lam * _CURVATURE + (1 + parties * rho) * b1),
        corrected=smallest((diameter, 2 * sqrt(n))) * b1,
    )


def read_neighbour_designs(
    document: Document,
) -> tuple[Matrix, Matrix, dict[str, tuple[Number, Number]]]:
    """Return both designs with rows of norm 1, and the assumptions by which they are neighbours."""
    shape = document.count("samples"), document.count("features")
    exact, exact_other = (
        _convert_rows_to_fractions(document.array(a, shape)) for a in ("design", "neighbour")
    )
    stored, stored_other = Matrix(exact), Matrix(exact_other)
    design, other = _unit_rows(stored), _unit_rows(stored_other)
    assumptions: dict[str, tuple[Number, Number]] = {
        "unit rows": (_off_unit(stored), _LAST_DIGIT),
        "unit rows of the neighbour": (_off_unit(stored_other), _LAST_DIGIT),
        "one column differs": (_differing_columns(exact, exact_other), 1),
        "close neighbours": (_measure_row_difference(exact, exact_other), 1),
    }
    return design, other, assumptions


def entrywise_distance(document: Document) -> Real:
    """Return the sum of the distances of all entries of the two designs."""
    shape = document.count("samples"), document.count("features")
    one, other = (
        _convert_rows_to_fractions(document.array(a, shape)) for a in ("design", "neighbour")
    )
    pairs = (
        (a, b) for row, row2 in zip(one, other, strict=True) for a, b in zip(row, row2, strict=True)
    )
    return Real(sum((abs(a - b) for a, b in pairs), Fraction(0)))


def format_claim_factor(document: Document) -> str:
    """Return the note of a summary on a claim that was multiplied by a factor."""
    factor = document.number("parameters", "factor")
    return "" if factor == 1 else f" (which is {factor:g} times what the source states)"


def _well_conditioned(document: Document, condition: Real) -> None:
    """Refuse equations that ordinary data does not lead to."""
    # A solution loses about as many digits as its equations' condition has.
    if condition > 1e25:
        given = VerbatimText(f"{float(condition):.3g} for rho N / lambda")
        raise document.refused("parameters.regulariser_weight", given, "at most 1e25")


def _convert_rows_to_fractions(rows: list[list[float]]) -> Rows:
    return [[Fraction(entry) for entry in row] for row in rows]


def _get_entry_sign(entry: float) -> int:
    return (entry > 0) - (entry < 0)


def _solve_ridge_system(design: Matrix, v: Matrix, rho: Real, lam: Real) -> Matrix:
    curvature = rho * (design.T * design) + lam * identity(design.cols)
    return curvature.solve(-(design.T * v))


def _unit_rows(design: Matrix) -> Matrix:
    """Return the design with rows of norm 1; a row of zeros stays, and fails as it was stored."""
    return Matrix([_scale_row_to_unit(design.row(i)) for i in range(design.rows)])


def _scale_row_to_unit(row: list[Real]) -> list[Real]:
    length = norm(row)
    return [entry / length for entry in row] if any(row) else row


def _off_unit(design: Matrix) -> Real:
    return largest(abs(norm(design.row(i)) - 1) for i in range(design.rows))


def _off_one(columns: list[list[float]]) -> Real:
    return largest([abs(abs(Real(entry)) - 1) for column in columns for entry in column] or [0])


def _differing_columns(one: Rows, other: Rows) -> int:
    """Return in how many columns rows differ once their norm is 1, decided in rational numbers."""
    lengths = [
        (_compute_fraction_square(a), _compute_fraction_square(b))
        for a, b in zip(one, other, strict=True)
    ]
    differs = [
        any(
            _compute_signed_square(a[j]) * there != _compute_signed_square(b[j]) * here
            for a, b, (here, there) in zip(one, other, lengths, strict=True)
        )
        for j in range(len(one[0]))
    ]
    return sum(differs)


def _measure_row_difference(one: Rows, other: Rows) -> Real:
    """Return the Frobenius norm of the difference once rows have norm 1.

    Between rows of one length its square is a rational number: then a norm of 1 is seen to be 1.
    """
    return sqrt(sum((_row_apart(a, b) for a, b in zip(one, other, strict=True)), Real(0)))


def _row_apart(a: Row, b: Row) -> Real:
    here, there = _compute_fraction_square(a), _compute_fraction_square(b)
    if here == there:
        squares = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
        return Real(squares / here if here else squares)
    one, other = (_scale_row_to_unit([Real(x) for x in row]) for row in (a, b))
    return total((x - y) ** 2 for x, y in zip(one, other, strict=True))


def _compute_fraction_square(row: Row) -> Fraction:
    return sum((x * x for x in row), Fraction(0))


def _compute_signed_square(x: Fraction) -> Fraction:
    return x * abs(x)
