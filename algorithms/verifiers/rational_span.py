"""How far a vector is from a span, in rational numbers: every double is one, so nothing is rounded.

With 50 digits a column that nearly depends on others cannot be told from one that does, and to drop
it would put vectors outside that are inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mpmath import mpf, sqrt

Vector = list[Fraction]


def share_outside(vector: Sequence[Fraction], columns: Sequence[Sequence[float]]) -> Any:
    """Return the share of a vector outside the span of columns; 0 for the zero vector.

    Examples
    --------
    >>> float(share_outside([Fraction(3), Fraction(4)], [[1.0, 0.0], [2.0, 0.0]]))
    0.8
    >>> float(share_outside([Fraction(3), Fraction(4)], [[1.0, 0.0], [1.0, 1e-200]]))
    0.0
    """
    if not any(vector):
        return mpf(0)
    basis: list[tuple[Vector, Fraction]] = []
    for column in columns:
        rest = _without([Fraction(entry) for entry in column], basis)
        if any(rest):
            basis.append((rest, _dot(rest, rest)))
    rest = _without(list(vector), basis)
    square = _dot(rest, rest) / _dot(vector, vector)
    return sqrt(mpf(square.numerator) / mpf(square.denominator))


def _without(vector: Vector, basis: list[tuple[Vector, Fraction]]) -> Vector:
    for direction, square in basis:
        along = _dot(vector, direction) / square
        if along:
            vector = [v - along * b for v, b in zip(vector, direction, strict=True)]
    return vector


def _dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))
