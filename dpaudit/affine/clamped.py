r"""What an observer sees, as equations for the noise that it does not know.

``mu = min ||n||`` over ``W n = D``: the normals n that undo a change c of the data in all that is
seen (`dpaudit.affine.view`). So run the program on data c and on normals, and clamp what is seen to
zero.

**What is zero.** A coordinate is known to be zero if it is seen, or is data that do not change, or
a sum of coordinates that are zero, or the only other part of a sum that is zero. Every known sum
with parts that are not known leaves an equation: those parts add up to zero. Whoever satisfies all
of them satisfies ``W n = D``, as known coordinates follow one another.

**Whose noise it is.** A normal belongs to an equation if all its ways, over what is not known, lead
there. With a_n the coefficients of all that belong to equation k, ``s_k^2 = sum a_n^2``, the least
of them that makes up for a sum r_k of the other parts has norm ``|r_k| / s_k``, and disturbs no
other equation. With u the normals that belong to none, and all else zero, ``r = R c + G u``, and

    mu^2 = min over all u of ||u||^2 + || diag(1/s) (R c + G u) ||^2.

Every u gives an upper end: there is no residual to be paid for. Where an equation has no normal of
its own, this module has no answer, unless no normal reaches it at all: then a change that moves its
sum is seen for sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.affine.program import NOWHERE, Block, Ids, Program
from dpaudit.affine.substitution import Enclosure, Entries, Parts, Substitution

_LEAST, _MOST = 1e-200, 1e200  # sizes of numbers whose products neither vanish nor overflow
Chosen = NDArray[np.bool_]


class Withheld(Exception):
    """There is no answer on this way."""


@dataclass(frozen=True, eq=False)
class Clamped:
    """Equations for noise and data, as a recursion from both to the sums that must be zero.

    Parameters
    ----------
    recursion
        Its inputs are normals and changed data, its outputs one sum for each equation.
    inputs
        The coordinates of the inputs.
    is_data
        Which of them are data, shape ``(inputs,)``.
    owner
        The equation that each input belongs to; -1 for none.
    """

    recursion: Substitution
    inputs: Ids
    is_data: Chosen
    owner: NDArray[np.int64]

    @cached_property
    def is_free(self) -> Chosen:
        """Which inputs are normals of no equation of their own."""
        return np.asarray(~self.is_data & (self.owner == NOWHERE))

    @cached_property
    def is_bare(self) -> Chosen:
        """Which equations no normal reaches."""
        given = (~self.is_data).astype(np.int64)
        return np.asarray(self.recursion.forwards.spread(np.maximum, given) < 1)

    @cached_property
    def scales(self) -> Enclosure:
        """The norms s of the coefficients of each equation's own normals."""
        count = self.recursion.counts[1]
        found = self.recursion.backwards.enclose(Enclosure(np.ones(count), np.zeros(count)))
        mine = (self.owner != NOWHERE) & ~self.is_data
        low, high = (
            np.sqrt(np.bincount(self.owner[mine], one[mine] ** 2, minlength=count))
            for one in _sizes(found)
        )
        spare = 1 + 2.0**-50 * (1 + np.bincount(self.owner[mine], minlength=count))
        return Enclosure(
            (low / spare + high * spare) / 2, (high * spare - low / spare) / 2 * (1 + 1e-10)
        )


def _sizes(found: Enclosure) -> tuple[Array, Array]:
    """Return the least and the largest absolute values."""
    size = np.abs(found.middle)
    return np.maximum(size - found.error, 0.0), size + found.error


def clamp(program: Program, seen: Ids, changed: Ids) -> Clamped | None:
    """Return the equations of a view; None if it knows some of what changes.

    Parameters
    ----------
    program
        The recursion.
    seen
        The coordinates that are seen.
    changed
        The data that change.

    Raises
    ------
    Withheld
        A factor is too small or too large for doubles.
    """
    graph = _graph_of(program, seen)
    still = np.setdiff1d(program.leaves("data"), changed)
    known = _known(graph, np.concatenate([seen[seen != NOWHERE], still]))
    if known[changed].any():
        return None
    return _Reduction(program, graph.shorten(known), known).clamped()


# --- what is zero ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Graph:
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

    entries: Entries
    size: int
    is_sum: Chosen
    roundings: int = 2

    @cached_property
    def uses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries by column: their order, and where those of each column begin."""
        return _by(self.entries.columns, self.size)

    def used_by(self, columns: Ids) -> NDArray[np.int64]:
        """Return the entries of some columns."""
        return _ranges(self.uses, columns)

    def shorten(self, known: Chosen) -> _Graph:
        """Return the parts that are not known, sums of one part replaced by what they are made of.

        A factor of a sum of one part goes over to whatever that is a part of.
        """
        entries = self.entries.where(~known[self.entries.columns])
        count = np.bincount(entries.rows, minlength=self.size)
        target, factor = np.arange(self.size), np.ones(self.size)
        lone = (count[entries.rows] == 1) & ~known[entries.rows]
        target[entries.rows[lone]] = entries.columns[lone]
        factor[entries.rows[lone]] = entries.numbers[lone]
        roundings = self.roundings
        while (target[target] != target).any():
            factor, target = factor * factor[target], target[target]
            roundings = 2 * roundings + 1
        rest = entries.where(~lone)
        numbers = rest.numbers * factor[rest.columns]
        require_plain(numbers)
        found = Entries(rest.rows, target[rest.columns], numbers)
        return _Graph(found, self.size, self.is_sum, 2 * roundings + 1)


def _by(places: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=size))])
    return np.argsort(places, kind="stable"), starts


def _ranges(table: tuple[NDArray[np.int64], NDArray[np.int64]], of: Ids) -> NDArray[np.int64]:
    """Return what stands at some places of a table, one after the other."""
    order, starts = table
    first, count = starts[of], starts[of + 1] - starts[of]
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(order[np.arange(total) + np.repeat(first - (ends - count), count)])


def _graph_of(program: Program, seen: Ids) -> _Graph:
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
    found = Entries(rows, columns, numbers).where(needed[rows] & (columns != NOWHERE))
    require_plain(found.numbers)
    return _Graph(found, program.size, is_sum)


_NONE = np.zeros(0, dtype=np.int64)
_NOTHING = (_NONE, _NONE, np.zeros(0))


def _parts_of(block: Block) -> list[tuple[NDArray[np.int64], Ids, Array]]:
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


def _known(graph: _Graph, given: Ids) -> Chosen:
    """Return what is zero because some coordinates are."""
    rows, columns = graph.entries.rows, graph.entries.columns
    count = np.bincount(rows, minlength=graph.size)
    total = np.bincount(rows, columns, minlength=graph.size)  # of the parts that are not known
    known = np.zeros(graph.size, dtype=np.bool_)
    new = np.union1d(given, np.flatnonzero(graph.is_sum & (count == 0)))
    while len(new):
        known[new] = True
        used = graph.used_by(new)
        np.subtract.at(count, rows[used], 1)
        np.subtract.at(total, rows[used], columns[used])
        near = np.union1d(rows[used], new)
        whole = near[(count[near] == 0) & graph.is_sum[near]]
        last = near[(count[near] == 1) & known[near]]
        new = np.union1d(whole, total[last].astype(np.int64))
        new = new[~known[new]]
    return known


# --- whose noise it is ------------------------------------------------------------------------


@dataclass(eq=False)
class _Reduction:
    """From parts that are not known to a recursion."""

    program: Program
    graph: _Graph
    known: Chosen

    def clamped(self) -> Clamped:
        """Return the equations."""
        entries = self.graph.entries
        equations = np.unique(entries.rows[self.known[entries.rows]])
        needed = self._reaching(equations)
        entries = entries.where(needed[entries.rows])
        is_sum = np.zeros(self.graph.size, dtype=np.bool_)
        is_sum[entries.rows[~self.known[entries.rows]]] = True
        inputs = np.flatnonzero(needed & ~is_sum & ~self.known)
        states, levels = self._levels(entries, is_sum)
        recursion = self._recursion(entries, (states, inputs, equations), levels)
        is_data = np.isin(inputs, self.program.leaves("data"))
        return Clamped(recursion, inputs, is_data, _owners(recursion))

    def _reaching(self, equations: Ids) -> Chosen:
        """Return the equations, and all that leads to one."""
        by_row = _by(self.graph.entries.rows, self.graph.size)
        found = np.zeros(self.graph.size, dtype=np.bool_)
        new = equations
        while len(new):
            found[new] = True
            parts = self.graph.entries.columns[_ranges(by_row, new)]
            new = np.unique(parts[~found[parts]])
        return found

    def _levels(self, entries: Entries, is_sum: Chosen) -> tuple[Ids, NDArray[np.int64]]:
        """Return the states by level, and where each level begins."""
        inner = entries.where(is_sum[entries.columns] & ~self.known[entries.rows])
        waiting = np.bincount(inner.rows, minlength=self.graph.size)
        uses = _by(inner.columns, self.graph.size)
        new = np.flatnonzero(is_sum & (waiting == 0))
        found = list[Ids]()
        while len(new):
            found.append(new)
            rows = inner.rows[_ranges(uses, new)]
            np.subtract.at(waiting, rows, 1)
            rows = np.unique(rows)
            new = rows[waiting[rows] == 0]
        ends = np.cumsum([0, *map(len, found)])
        return np.concatenate([_NONE, *found]), ends

    def _recursion(
        self, entries: Entries, names: tuple[Ids, Ids, Ids], levels: NDArray[np.int64]
    ) -> Substitution:
        """Return states, inputs and equations by number."""
        numbers = np.full(self.graph.size, NOWHERE, dtype=np.int64)
        kind = np.zeros(self.graph.size, dtype=np.int8)
        for n, ids in enumerate(names):
            numbers[ids], kind[ids] = np.arange(len(ids)), n
        rows, columns = kind[entries.rows], kind[entries.columns]
        named = Entries(numbers[entries.rows], numbers[entries.columns], entries.numbers)
        parts = [named.where((rows == to) & (columns == of)) for to in (0, 2) for of in (0, 1)]
        counts = len(names[1]), len(names[2])
        return Substitution(Parts(*parts), levels, counts, self.graph.roundings)


def _owners(recursion: Substitution) -> NDArray[np.int64]:
    """Return the only equation that each input leads to; -1 for several."""
    each = np.arange(recursion.counts[1])
    first, last = (recursion.backwards.spread(one, each) for one in (np.minimum, np.maximum))
    return np.where(first == last, first, NOWHERE)
