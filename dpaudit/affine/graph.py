r"""The view of a program as a graph of sums and parts, and the zeros in it.

A coordinate is known to be zero if it is seen, or is data that do not change, or a sum of
coordinates that are zero, or the only other part of a sum that is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.affine.program import NOWHERE, AffineProgram, CoordinateBlock, Ids, sort_distinct
from dpaudit.affine.substitution import SparseEntries

# Sizes of numbers whose products neither vanish nor overflow.
_LEAST = 1e-200
_MOST = 1e200
Chosen = NDArray[np.bool_]
NONE = np.zeros(0, dtype=np.int64)


class Withheld(Exception):
    """There is no answer on this way."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Sums and their parts: the entries of A, and where those of each column stand.

    Parameters
    ----------
    entries
        Coordinates, their parts, and factors.
    size
        How many coordinates there are.
    is_sum
        Which of them are sums of parts.
    roundings
        The most roundings of a factor.
    """

    entries: SparseEntries
    size: int
    is_sum: Chosen
    roundings: int = 2

    @cached_property
    def uses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries by column: their order, and where those of each column begin."""
        return sort_by(self.entries.columns, self.size)

    def entries_of(self, columns: Ids) -> NDArray[np.int64]:
        """Return the entries of some columns."""
        return select_table_ranges(self.uses, columns)

    def shorten(self, known: Chosen) -> Graph:
        """Return the parts that are not known, with sums of one part replaced by that part.

        A factor of a sum of one part goes over to whatever that is a part of.
        """
        entries = self.entries.where(~known[self.entries.columns])
        count = np.bincount(entries.rows, minlength=self.size)
        target, factor = np.arange(self.size), np.ones(self.size)
        lone = (count[entries.rows] == 1) & ~known[entries.rows]
        target[entries.rows[lone]] = entries.columns[lone]
        factor[entries.rows[lone]] = entries.numbers[lone]
        roundings = self.roundings
        # Each pass doubles how far a chain of sums of one part is followed.
        while (target[target] != target).any():
            factor, target = factor * factor[target], target[target]
            require_plain(factor)
            roundings = 2 * roundings + 1
        rest = entries.where(~lone)
        numbers = rest.numbers * factor[rest.columns]
        require_plain(numbers)
        found = SparseEntries(rest.rows, target[rest.columns], numbers)
        return Graph(found, self.size, self.is_sum, 2 * roundings + 1)


def sort_by(places: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order of places, and where each of them begins in it."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=size))])
    return np.argsort(places, kind="stable"), starts


def select_table_ranges(
    table: tuple[NDArray[np.int64], NDArray[np.int64]], of: Ids
) -> NDArray[np.int64]:
    """Return the entries at some places of a table, one after the other."""
    order, starts = table
    first, count = starts[of], starts[of + 1] - starts[of]
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(order[np.arange(total) + np.repeat(first - (ends - count), count)])


def graph_of(program: AffineProgram, seen: Ids) -> Graph:
    """Return all that is seen is made of."""
    needed = program.reached(seen)
    is_sum = np.zeros(program.size, dtype=np.bool_)
    parts = list[tuple[NDArray[np.int64], Ids, Array]]()
    for block in program.blocks:
        mine = slice(block.start, block.start + block.size)
        if block.kind == "sum" and needed[mine].any():
            is_sum[mine] = needed[mine]
            parts += _parts_of(block)
    rows, columns, numbers = map(np.concatenate, zip(*parts, strict=True)) if parts else _NOTHING
    found = SparseEntries(rows, columns, numbers).where(needed[rows] & (columns != NOWHERE))
    require_plain(found.numbers)
    return Graph(found, program.size, is_sum)


NONE = np.zeros(0, dtype=np.int64)
_NOTHING = (NONE, NONE, np.zeros(0))


def _parts_of(block: CoordinateBlock) -> list[tuple[NDArray[np.int64], Ids, Array]]:
    found = []
    for term in block.terms:
        if (matrix := term.matrix) is not None:
            numbers = matrix.doubles
            found.append((matrix.at_row + block.start, term.ids[matrix.at_column], numbers))
            continue
        size = block.size
        numbers = np.ones(size) if term.numbers is None else term.numbers.astype(float)
        numbers = 1 / numbers if term.divides else numbers
        found.append((np.arange(block.start, block.start + size), term.ids, numbers))
    return found


def require_plain(numbers: Array) -> None:
    """Raise `Withheld` for numbers whose products may leave the range of doubles."""
    sizes = np.abs(numbers)
    if len(sizes) and not (sizes.min() >= _LEAST and sizes.max() <= _MOST):
        raise Withheld("factors are too small or too large for doubles")


def find_known_zeros(graph: Graph, given: Ids) -> Chosen:
    """Return the coordinates that are zero because others are."""
    rows, columns = graph.entries.rows, graph.entries.columns
    count = np.bincount(rows, minlength=graph.size)
    # Once a single part is left, the sum of the numbers of unknown parts is the number of that
    # part.
    total = np.bincount(rows, columns, minlength=graph.size)  # of the parts that are not known
    known = np.zeros(graph.size, dtype=np.bool_)
    new = sort_distinct(np.append(given, np.flatnonzero(graph.is_sum & (count == 0))))
    while len(new):
        known[new] = True
        used = graph.entries_of(new)
        np.subtract.at(count, rows[used], 1)
        np.subtract.at(total, rows[used], columns[used])
        near = sort_distinct(np.append(rows[used], new))
        whole = near[(count[near] == 0) & graph.is_sum[near]]
        # A sum that is zero and has one unknown part: that part, times a factor other than 0,
        # is zero.
        last = near[(count[near] == 1) & known[near]]
        new = sort_distinct(np.append(whole, total[last].astype(np.int64)))
        new = new[~known[new]]
    return known
