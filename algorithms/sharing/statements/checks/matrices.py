"""Small matrices of fractions, as tuples of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpaudit.errors import InvalidArgument

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]
ZERO = Fraction(0)


def make_fraction_matrix(rows: Iterable[Iterable[Fraction | int | str]]) -> Matrix:
    """Return rows of numbers, or of fractions in words, as a matrix.

    Examples
    --------
    >>> make_fraction_matrix([[1, "12/13"]])
    ((Fraction(1, 1), Fraction(12, 13)),)
    """
    return tuple(tuple(Fraction(entry) for entry in row) for row in rows)


def make_fraction_column(*entries: Fraction | int | str) -> Matrix:
    """Return a column of these entries."""
    return make_fraction_matrix([[entry] for entry in entries])


def transpose_matrix(a: Matrix) -> Matrix:
    """Return the transpose."""
    return tuple(zip(*a, strict=True))


def multiply_matrices(*factors: Matrix) -> Matrix:
    """Return the product of matrices, from left to right.

    Examples
    --------
    >>> multiply_matrices(make_fraction_matrix([[1, 2]]), make_fraction_column(3, 4))
    ((Fraction(11, 1),),)
    """
    left, *others = factors
    for right in others:
        columns = transpose_matrix(right)
        left = tuple(tuple(compute_inner_product(row, each) for each in columns) for row in left)
    return left


def scale_matrix(factor: Fraction | int, a: Matrix) -> Matrix:
    """Return the matrix with every entry multiplied by a factor."""
    return tuple(tuple(factor * entry for entry in row) for row in a)


def add_matrices(*terms: Matrix) -> Matrix:
    """Return the sum of matrices of one shape."""
    return tuple(
        tuple(sum(entries, ZERO) for entries in zip(*rows, strict=True))
        for rows in zip(*terms, strict=True)
    )


def identity_matrix(size: int) -> Matrix:
    """Return the identity."""
    return make_fraction_matrix([[int(i == j) for j in range(size)] for i in range(size)])


def invert_matrix(a: Matrix) -> Matrix:
    """Return the inverse, by elimination.

    Raises
    ------
    InvalidArgument
        There is none.

    Examples
    --------
    >>> invert_matrix(make_fraction_matrix([[2, 0], [1, 1]]))[1]
    (Fraction(-1, 2), Fraction(1, 1))
    """
    size = len(a)
    rows = [[*row, *unit] for row, unit in zip(a, identity_matrix(size), strict=True)]
    # Fractions do not round, so any pivot other than 0 will do, however small.
    for place in range(size):
        pivot = next((i for i in range(place, size) if rows[i][place]), None)
        if pivot is None:
            raise InvalidArgument("a", a, "a matrix with independent columns")
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [entry / rows[place][place] for entry in rows[place]]
        for i in range(size):
            if i != place:
                rows[i] = _clear_pivot_column(rows[i], rows[place], place)
    return tuple(tuple(row[size:]) for row in rows)


def compute_frobenius_square(a: Matrix) -> Fraction:
    """Return the square of the Frobenius norm, of a column that of its length.

    Examples
    --------
    >>> compute_frobenius_square(make_fraction_column(3, 4))
    Fraction(25, 1)
    """
    return sum((compute_inner_product(row, row) for row in a), ZERO)


def compute_inner_product(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(u, v, strict=True)), ZERO)


def _clear_pivot_column(row: list[Fraction], pivot: list[Fraction], place: int) -> list[Fraction]:
    return [entry - row[place] * other for entry, other in zip(row, pivot, strict=True)]
