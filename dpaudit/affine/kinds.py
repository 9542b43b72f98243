"""Four arithmetics in which a program is evaluated: doubles, residues, rationals and balls.

| kind      | entries of a table        | what it decides                                        |
|-----------|---------------------------|--------------------------------------------------------|
| Doubles   | doubles                   | nothing: what numbers are near                          |
| Residues  | integers below a prime    | ranks, as far as primes tell them                       |
| Rationals | rationals of FLINT        | ranks, exactly, of what is small                        |
| Balls     | balls of Arb              | numbers between two ends that hold                      |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat, fmpz, nmod_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array

Table = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A sparse matrix of doubles or fractions, by entries sorted by row; equal places add up.

    Parameters
    ----------
    rows, columns
        How many there are.
    at_row, at_column
        Where each entry stands.
    numbers
        The entries: doubles, or objects that are fractions.
    """

    rows: int
    columns: int
    at_row: NDArray[np.int64]
    at_column: NDArray[np.int64]
    numbers: NDArray[Any]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The places where the entries of each row begin, and the place where the last ones end."""
        return np.searchsorted(self.at_row, np.arange(self.rows + 1))

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """The entries as the nearest doubles."""
        return np.asarray(self.numbers, dtype=float)

    @cached_property
    def depth(self) -> int:
        """The most entries of a row."""
        return int(np.diff(self.starts).max(initial=0))


@dataclass(frozen=True)
class Doubles:
    """In doubles."""

    one = 1.0

    def zeros(self, shape: tuple[int, int]) -> Table:
        """Return a table of zeros."""
        return np.zeros(shape)

    def add(self, table: Table, other: Table) -> Table:
        """Return a sum."""
        return np.asarray(table + other)

    def scale(self, table: Table, numbers: NDArray[Any], *, divides: bool) -> Table:
        """Return rows multiplied by a number each, or divided by it."""
        factors = numbers.astype(float)[:, None]
        return np.asarray(table / factors if divides else table * factors)

    def mix(self, matrix: SparseMatrix, table: Table) -> Table:
        """Return a matrix times a table."""
        made = csr_array(
            (matrix.doubles, matrix.at_column, matrix.starts), shape=(matrix.rows, matrix.columns)
        )
        return np.asarray(made @ table)


@dataclass(frozen=True)
class SummandSizes(Doubles):
    """In absolute values: how large the summands of a double are, of which it is the sum."""

    def scale(self, table: Table, numbers: NDArray[Any], *, divides: bool) -> Table:
        """Return rows multiplied by the size of a number each, or divided by it."""
        return super().scale(table, np.abs(numbers), divides=divides)

    def mix(self, matrix: SparseMatrix, table: Table) -> Table:
        """Return a matrix of sizes times a table."""
        return super().mix(replace(matrix, numbers=np.abs(matrix.numbers)), table)


@dataclass(frozen=True)
class Residues:
    """Modulo a prime below 2^31, so that products of two fit in 62 bits."""

    prime: int
    one = 1

    def zeros(self, shape: tuple[int, int]) -> Table:
        """Return a table of zeros."""
        return np.zeros(shape, dtype=np.int64)

    def add(self, table: Table, other: Table) -> Table:
        """Return a sum."""
        return np.asarray((table + other) % self.prime)

    def scale(self, table: Table, numbers: NDArray[Any], *, divides: bool) -> Table:
        """Return rows multiplied by a number each, or divided by it."""
        factors = self._residues(numbers)
        if divides:
            factors = np.array([self._inverse(int(one)) for one in factors], dtype=np.int64)
        return np.asarray(table * factors[:, None] % self.prime)

    def mix(self, matrix: SparseMatrix, table: Table) -> Table:
        """Return a matrix times a table."""
        found = self.zeros((matrix.rows, table.shape[1]))
        numbers = self._residues(matrix.numbers)
        # One entry of every row at a time: sums of products of 62 bits would overflow before
        # the remainder.
        for deep in range(matrix.depth):
            rows = np.flatnonzero(matrix.starts[1:] - matrix.starts[:-1] > deep)
            at = matrix.starts[rows] + deep
            products = numbers[at][:, None] * table[matrix.at_column[at]] % self.prime
            found[rows] = (found[rows] + products) % self.prime
        return found

    def flint(self, table: Table) -> Any:
        """Return a table as a matrix of FLINT."""
        rows, columns = table.shape
        return nmod_mat(rows, columns, table.ravel().tolist(), self.prime)

    def multiply(self, left: Table, right: Table) -> Table:
        """Return a product of tables."""
        if not left.size or not right.size:
            return self.zeros((len(left), right.shape[1]))
        return unpack_flint_matrix(self.flint(left) * self.flint(right)).astype(np.int64)

    def _residues(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        different, places = np.unique(numbers, return_inverse=True)
        known = np.array([self.residue(Fraction(one)) for one in different.tolist()], np.int64)
        return np.asarray(known[places].reshape(numbers.shape))

    def residue(self, number: Fraction) -> int:
        """Return a rational modulo the prime.

        Raises
        ------
        ZeroDivisionError
            The prime divides its denominator.
        """
        return number.numerator * self._inverse(number.denominator) % self.prime

    def _inverse(self, number: int) -> int:
        if not number % self.prime:
            raise ZeroDivisionError(f"{number} is 0 modulo {self.prime}")
        return pow(number, -1, self.prime)


@dataclass(frozen=True)
class _Objects(ABC):
    """Entries that are objects of FLINT."""

    @property
    def one(self) -> Any:
        """The number 1."""
        return self.number(Fraction(1))

    @abstractmethod
    def number(self, value: Fraction) -> Any:
        """Return a rational in this arithmetic."""

    @abstractmethod
    def flint(self, table: Table) -> Any:
        """Return a table as a matrix of FLINT."""

    def zeros(self, shape: tuple[int, int]) -> Table:
        """Return a table of zeros."""
        return np.full(shape, self.number(Fraction(0)), dtype=object)

    def add(self, table: Table, other: Table) -> Table:
        """Return a sum."""
        return np.asarray(table + other)

    def scale(self, table: Table, numbers: NDArray[Any], *, divides: bool) -> Table:
        """Return rows multiplied by a number each, or divided by it."""
        factors = self._converted(numbers)[:, None]
        return np.asarray(table / factors if divides else table * factors)

    def mix(self, matrix: SparseMatrix, table: Table) -> Table:
        """Return a matrix times a table."""
        dense = self.zeros((matrix.rows, matrix.columns))
        np.add.at(dense, (matrix.at_row, matrix.at_column), self._converted(matrix.numbers))
        product = self.flint(dense) * self.flint(table)
        return unpack_flint_matrix(product)

    def _converted(self, numbers: NDArray[Any]) -> Table:
        different, places = np.unique(numbers, return_inverse=True)
        known = np.empty(len(different), dtype=object)
        known[:] = [self.number(Fraction(one)) for one in different.tolist()]
        return np.asarray(known[places].reshape(numbers.shape))


@dataclass(frozen=True)
class Rationals(_Objects):
    """Exact."""

    def number(self, value: Fraction) -> fmpq:
        """Return a rational as one of FLINT."""
        return fmpq(value.numerator, value.denominator)

    def flint(self, table: Table) -> fmpq_mat:
        """Return a table as a matrix of FLINT."""
        rows, columns = table.shape
        return fmpq_mat(rows, columns, table.ravel().tolist())


@dataclass(frozen=True)
class Balls(_Objects):
    """Enclosed, with so many digits: to be used inside of that `dpaudit.reals.precision`."""

    digits: int

    def number(self, value: Fraction) -> arb:
        """Return a rational, enclosed."""
        return arb(fmpq(value.numerator, value.denominator))

    def flint(self, table: Table) -> arb_mat:
        """Return a table as a matrix of FLINT."""
        rows, columns = table.shape
        return arb_mat(rows, columns, table.ravel().tolist())


def draw_primes(count: int, entropy: int | None = None) -> tuple[int, ...]:
    """Return different primes of 31 bits, drawn at random, by default from the system's entropy.

    Examples
    --------
    >>> all(2**30 < prime < 2**31 for prime in draw_primes(3, entropy=1))
    True
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    found = set[int]()
    while len(found) < count:
        # At random, so that no program can be written for which all primes fail.
        number = int(rng.integers(2**30, 2**31))
        if fmpz(number).is_prime():
            found.add(number)
    return tuple(found)


Kind = Doubles | Residues | Rationals | Balls
Exact = Residues | Rationals | Balls
DOUBLES = Doubles()
SIZES = SummandSizes()
Convert = Callable[[Fraction], Any]


def unpack_flint_matrix(matrix: Any) -> Table:
    """Return a matrix of FLINT as an array of its entries."""
    out = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    # Assigned entry by entry: np.array would ask FLINT's numbers for their digits.
    out[:] = matrix.entries()
    return np.asarray(out.reshape(matrix.nrows(), matrix.ncols()))


def compute_view_ranks(
    kind: Residues | Rationals, seen: Table, changes: int = 1
) -> tuple[int, int]:
    """Return the ranks of ``W`` and of ``[W, D]``, D being so many of the last columns."""
    if not seen.size:
        return 0, 0
    cut = seen.shape[1] - changes
    without = kind.flint(np.ascontiguousarray(seen[:, :cut])).rank() if cut else 0
    return without, kind.flint(seen).rank()


def compute_residue_kernel(kind: Residues, table: Table) -> Table:
    """Return rows that span all y for which ``y' table`` is 0."""
    rows, columns = table.shape
    if not rows or not columns:
        return np.eye(rows, dtype=np.int64)
    kernel, count = kind.flint(np.ascontiguousarray(table.T)).nullspace()
    return unpack_flint_matrix(kernel).astype(np.int64)[:, :count].T


def independent_rows(kind: Residues, noise: Table) -> NDArray[np.intp]:
    """Return the first rows that span all rows: pivots of the transpose."""
    if not noise.size:
        return np.zeros(0, dtype=np.intp)
    reduced, rank = kind.flint(noise.T.copy()).rref()
    table = unpack_flint_matrix(reduced)
    return np.array([_find_leading_entry(table[row]) for row in range(rank)], dtype=np.intp)


def _find_leading_entry(row: Table) -> int:
    return next(place for place, entry in enumerate(row) if int(entry) != 0)
