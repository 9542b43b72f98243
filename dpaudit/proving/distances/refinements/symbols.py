"""Arrays of polynomials, and sums over records of entries that are read uniformly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.distances.refinements.polynomials import (
    AtomPolynomial,
    AtomTable,
    Monomial,
    Rational,
    RefinementEffort,
    add_all,
    make_constant_polynomial,
)

Entries = NDArray[Any]
# Arrays of Python objects: numpy calls Python code for each entry.
MOST_ENTRIES = 1000
MOST_RECORDS = 200


class Unread(Exception):
    """An operation has no reading as polynomials."""


@dataclass(frozen=True, eq=False)
class PolynomialArray:
    """An array of polynomials.

    Parameters
    ----------
    entries
        The array; an axis of records that is read uniformly has length 1.
    axis
        That axis, or None.
    """

    entries: Entries
    axis: int | None = None


class Summation:
    """Sums over records of polynomials of one row that stands for all.

    Parameters
    ----------
    count
        How many records there are; None where that is not public.
    effort
        What may be done.
    """

    def __init__(self, count: int | None, effort: RefinementEffort) -> None:
        self.count = count
        self.table = AtomTable(effort)
        self._shares: dict[int, tuple[bool, bool]] = {}

    def shares(self, atom: int) -> tuple[bool, bool]:
        """Return whether an atom is of the row, and whether of sums over all records."""
        if atom not in self._shares:
            known = self.table.atoms[atom]
            # A sum over all records depends on every row, and no longer on the row of which it
            # is formed.
            if known.operation in ("sum", "order"):
                self._shares[atom] = (False, True)
            elif not known.operands:
                self._shares[atom] = (known.operation == "cell", False)
            else:
                pairs = [self.shares(one) for p in known.operands for one in p.atoms()]
                self._shares[atom] = any(p[0] for p in pairs), any(p[1] for p in pairs)
        return self._shares[atom]

    def sum_records(self, polynomial: AtomPolynomial) -> AtomPolynomial:
        """Return the sum over all records of a polynomial of one row."""
        return add_all(
            self._sum_monomial(monomial, coefficient)
            for monomial, coefficient in polynomial.terms.items()
        )

    def _sum_monomial(self, monomial: Monomial, coefficient: Rational) -> AtomPolynomial:
        of_row = tuple(one for one in monomial if self.shares(one)[0])
        others = tuple(one for one in monomial if not self.shares(one)[0])
        # A function of both a row and a sum, such as max(x, sum x), cannot be taken out of the
        # sum.
        if any(self.shares(one)[1] for one in of_row):
            raise Unread
        # A term without the row is added once for each record.
        if not of_row and self.count is not None:
            return AtomPolynomial({others: coefficient * self.count})
        total = self.table.enter("sum", (AtomPolynomial({of_row: 1}),))
        return AtomPolynomial({others: coefficient}) * total

    def is_of_row_alone(self, polynomial: AtomPolynomial) -> bool:
        """Return whether a polynomial is a function of one row and public numbers."""
        return not any(self.shares(one)[1] for one in polynomial.atoms())


def build_entries(
    shape: tuple[int, ...], function: Callable[[tuple[int, ...]], AtomPolynomial]
) -> Entries:
    """Return the array of a function's values at each place."""
    entries = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        entries[place] = function(place)
    return entries


def make_single_entry(polynomial: AtomPolynomial) -> Entries:
    """Return an array without axes."""
    return build_entries((), lambda _: polynomial)


def read_array(value: Any) -> Entries:
    """Return finite numbers as constants, exactly."""
    array = np.asarray(value)
    # Infinity and NaN have no rational value.
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all() or array.size > MOST_ENTRIES:
        raise Unread
    return build_entries(array.shape, lambda place: make_constant_polynomial(array[place].item()))
