r"""The view of an observer, as equations for the noise that the observer does not know.

``mu = min ||n||`` over ``W n = D``: the normals n that undo a change c of the data in all that is
seen (`dpaudit.affine.view`). So run the program on data c and on normals, and clamp what is seen to
zero. What follows from that is zero, too (`dpaudit.affine.graph`), and every such sum with parts of
which that is not known leaves an equation: these parts add up to zero. Whoever satisfies all
equations satisfies ``W n = D``, as what is zero follows from what is seen by the program itself.

**Whose noise it is.** A normal belongs to an equation if all its ways, over what is not zero, lead
there. With a_n the coefficients of all that belong to equation k, and ``s_k^2 = sum a_n^2``, the
least of them that makes up for a sum r_k of the other parts has norm ``|r_k| / s_k``, and disturbs
no other equation.

**Pivots.** An equation without normals of its own is solved for one that reaches no equation
before it, and reaches it in one way. On that way each sum is turned about: from "sum = a part +
others" to "part = (sum - others) / a", up to the normal, which thus follows from the rest. No sum
comes to depend on itself. Let the rank of a coordinate be the first equation that it reaches. What
it is made of has the same rank or an earlier one, also where sums are turned about. So a circle
would be of one rank, and hold one of the sums on the way of its pivot; what closes it would be
another way from there to the equation, of which there is one.

With u the normals that are neither, and r the sums of other parts, or the pivots (with s = 1), r is
``R c + G u``, and

    mu^2 = min over all u of ||u||^2 + || diag(1/s) (R c + G u) ||^2.

Every u gives an upper end: there is no residual to be paid for. Where an equation has neither, this
module has no answer, unless no normal reaches it at all: then a change that moves its sum is seen
for sure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.affine.graph import (
    NONE,
    Chosen,
    Graph,
    find_known_zeros,
    graph_of,
    require_plain,
    select_table_ranges,
    sort_by,
)
from dpaudit.affine.program import NOWHERE, AffineProgram, Ids, sort_distinct
from dpaudit.affine.substitution import MidpointEnclosure, Parts, SparseEntries, StateSubstitution


@dataclass(frozen=True, eq=False)
class NoiseEquations:
    """Equations for noise and data, as a recursion from both to the sums that pivots make up for.

    Parameters
    ----------
    recursion
        Its inputs are normals and changed data, its outputs one sum or pivot for each equation.
    is_data
        Which inputs are data, shape ``(inputs,)``.
    owner
        The equation that each input belongs to; -1 for none.
    is_pivot
        Which equations are solved for a pivot.
    is_bare
        Which equations no normal reaches.
    inputs
        The coordinates of the inputs.
    """

    recursion: StateSubstitution
    is_data: Chosen
    owner: NDArray[np.int64]
    is_pivot: Chosen
    is_bare: Chosen
    inputs: Ids

    @cached_property
    def is_free(self) -> Chosen:
        """The inputs that are normals without an equation of their own."""
        return np.asarray(~self.is_data & (self.owner == NOWHERE))

    @cached_property
    def scales(self) -> MidpointEnclosure:
        """The norms s of the coefficients of each equation's own normals; 1 for pivots."""
        count = self.recursion.counts[1]
        found = self.recursion.backwards.enclose(MidpointEnclosure(np.ones(count), np.zeros(count)))
        mine = (self.owner != NOWHERE) & ~self.is_data
        owner = self.owner[mine]
        low, high = (
            _compute_group_norms(owner, one[mine], count) for one in _get_absolute_ends(found)
        )
        # A sum of k squares is off by at most k units in the last place, a root and two
        # scalings by a few more.
        spare = 1 + 2.0**-50 * (1 + np.bincount(owner, minlength=count))
        low, high = low / spare, high * spare
        middle, error = (low + high) / 2, (high - low) / 2 * (1 + 1e-10)
        return MidpointEnclosure(
            np.where(self.is_pivot, 1.0, middle), np.where(self.is_pivot, 0.0, error)
        )


def _get_absolute_ends(found: MidpointEnclosure) -> tuple[Array, Array]:
    """Return the least and the largest absolute values."""
    size = np.abs(found.middle)
    return np.maximum(size - found.error, 0.0), size + found.error


def _compute_group_norms(group: NDArray[np.int64], sizes: Array, count: int) -> Array:
    """Return the norm of each of some groups of numbers that are 0 or more.

    Squares are of numbers that a power of two brings near 1: what vanishes is less than rounding.
    """
    largest = np.zeros(count)
    np.maximum.at(largest, group, sizes)
    power = np.frexp(largest)[1]
    squares = np.ldexp(sizes, -power[group]) ** 2
    return np.ldexp(np.sqrt(np.bincount(group, squares, minlength=count)), power)


def clamp_view(program: AffineProgram, seen: Ids, changed: Ids) -> NoiseEquations | None:
    """Return the equations of a view; None if it knows some of the changed data.

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
    graph = graph_of(program, seen)
    # Data that do not change are the same on both sides, as if everybody saw them.
    still = np.setdiff1d(program.leaves("data"), changed)
    known = find_known_zeros(graph, np.concatenate([seen[seen != NOWHERE], still]))
    # Who knows a number that changes sees the change without any noise.
    if known[changed].any():
        return None
    return _build_clamped_equations(program, graph.shorten(known), known)


def _build_clamped_equations(program: AffineProgram, graph: Graph, known: Chosen) -> NoiseEquations:
    """Return the equations of parts that are not known."""
    layout = _lay_out(graph, np.unique(graph.entries.rows[known[graph.entries.rows]]))
    is_data = np.isin(layout.inputs, program.leaves("data"))
    first, last = (layout.spread(one) for one in (np.minimum, np.maximum))
    owner = np.where(first == last, first, NOWHERE)
    normals = layout.inputs[~is_data]
    own = np.bincount(owner[normals] + 1, minlength=len(layout.outputs) + 1)[1:]
    is_bare = layout.recursion.forwards.spread(np.maximum, (~is_data).astype(np.int64))[1] < 1
    pivots = _choose_pivots(layout, first, normals, (own == 0) & ~is_bare)
    # Turning sums about changes which coordinates are inputs, so the layout is made anew.
    if len(pivots.normals):
        layout = _apply_pivots(layout, pivots)
        is_data = np.isin(layout.inputs, program.leaves("data"))
    is_pivot = np.isin(layout.outputs, pivots.equations)
    return NoiseEquations(
        layout.recursion, is_data, owner[layout.inputs], is_pivot, is_bare, layout.inputs
    )


# --- names and numbers ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Layout:
    """A graph as a recursion: the coordinates of states, inputs and outputs, in order."""

    graph: Graph
    recursion: StateSubstitution
    states: Ids
    inputs: Ids
    outputs: Ids

    @property
    def is_output(self) -> Chosen:
        """The coordinates that are outputs."""
        found = np.zeros(self.graph.size, dtype=np.bool_)
        found[self.outputs] = True
        return found

    def spread(self, least: np.ufunc) -> NDArray[np.int64]:
        """Return the first, or last, output that each coordinate reaches; -1 for others."""
        found = np.full(self.graph.size, NOWHERE, dtype=np.int64)
        each = np.arange(len(self.outputs))
        states, inputs = self.recursion.backwards.spread(least, each)
        found[self.states], found[self.inputs], found[self.outputs] = states, inputs, each
        return found


def _lay_out(graph: Graph, outputs: Ids) -> _Layout:
    """Return all that leads to some outputs."""
    entries = graph.entries.where(_find_ancestors(graph, outputs)[graph.entries.rows])
    kind = np.full(graph.size, 1, dtype=np.int8)  # 0: state, 1: input, 2: output
    kind[entries.rows], kind[outputs] = 0, 2
    states, levels = _sort_states_by_level(entries, kind)
    inputs = np.unique(entries.columns[kind[entries.columns] == 1])
    numbers = np.full(graph.size, NOWHERE, dtype=np.int64)
    for ids in (states, inputs, outputs):
        numbers[ids] = np.arange(len(ids))
    rows, columns = kind[entries.rows], kind[entries.columns]
    named = SparseEntries(numbers[entries.rows], numbers[entries.columns], entries.numbers)
    parts = [named.where((rows == to) & (columns == of)) for to in (0, 2) for of in (0, 1)]
    counts = len(inputs), len(outputs)
    recursion = StateSubstitution(Parts(*parts), levels, counts, graph.roundings)
    return _Layout(graph, recursion, states, inputs, outputs)


def _find_ancestors(graph: Graph, outputs: Ids) -> Chosen:
    """Return the outputs, and all that leads to one."""
    by_row = sort_by(graph.entries.rows, graph.size)
    found = np.zeros(graph.size, dtype=np.bool_)
    new = outputs
    while len(new):
        found[new] = True
        parts = graph.entries.columns[select_table_ranges(by_row, new)]
        new = sort_distinct(parts[~found[parts]])
    return found


def _sort_states_by_level(
    entries: SparseEntries, kind: NDArray[np.int8]
) -> tuple[Ids, NDArray[np.int64]]:
    """Return the states by level, and where each level begins."""
    inner = entries.where((kind[entries.columns] == 0) & (kind[entries.rows] == 0))
    waiting = np.bincount(inner.rows, minlength=len(kind))
    uses = sort_by(inner.columns, len(kind))
    new = np.flatnonzero((kind == 0) & (waiting == 0))
    found = [NONE]
    while len(new):
        found.append(new)
        rows = inner.rows[select_table_ranges(uses, new)]
        np.subtract.at(waiting, rows, 1)
        new = sort_distinct(rows[waiting[rows] == 0])
    states = np.concatenate(found)
    # States of a circle would wait for one another and belong to no level.
    assert len(states) == np.count_nonzero(kind == 0), "a sum depends on itself"
    return states, np.cumsum([0, *map(len, found[1:])])


# --- pivots -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pivots:
    """Normals, the equations that are solved for them, and the entries on the ways between."""

    normals: Ids
    equations: Ids
    entries: NDArray[np.int64]


def _choose_pivots(
    layout: _Layout, first: NDArray[np.int64], normals: Ids, poor: Chosen
) -> _Pivots:
    """Return pivots of equations without normals of their own: those of largest coefficients."""
    entries, size = layout.graph.entries, layout.graph.size
    alike = first[entries.rows] == first[entries.columns]
    ahead = np.flatnonzero(alike & (first[entries.rows] != NOWHERE))
    ways = np.bincount(entries.columns[ahead], minlength=size)
    step = np.full(size, NOWHERE, dtype=np.int64)
    step[entries.columns[ahead]] = ahead  # the only one, where there is one way
    start = normals[poor[first[normals]]]
    at, coefficient, trail = start.copy(), np.ones(len(start)), [start[:0]]
    is_output = layout.is_output
    while len(moving := np.flatnonzero((at != NOWHERE) & ~is_output[at])):
        single = ways[at[moving]] == 1
        at[moving[~single]] = NOWHERE
        moving = moving[single]
        used = step[at[moving]]
        trail.append(np.full(len(start), NOWHERE, dtype=np.int64))
        trail[-1][moving] = used
        coefficient[moving] *= np.abs(entries.numbers[used])
        at[moving] = entries.rows[used]
    # A pivot is divided by its coefficient: the largest keeps rounding errors small.
    best = _largest_by(first[start], np.where(at == NOWHERE, -1.0, coefficient))
    way = np.concatenate([NONE, *(one[best] for one in trail[1:])])
    return _Pivots(start[best], at[best], way[way != NOWHERE])


def _largest_by(group: NDArray[np.int64], size: Array) -> NDArray[np.int64]:
    """Return the place of the largest number of each group, if that is 0 or more."""
    order = np.lexsort([size, group])
    is_last = np.append(np.diff(group[order]) != 0, True)[: len(order)]
    ends = order[is_last]
    return np.asarray(ends[size[ends] >= 0])


def _apply_pivots(layout: _Layout, pivots: _Pivots) -> _Layout:
    """Return the recursion with sums turned about, and pivots in place of the others."""
    graph, entries = layout.graph, layout.graph.entries
    way = entries.where(pivots.entries)
    to, factor = np.full(graph.size, NOWHERE, dtype=np.int64), np.ones(graph.size)
    to[way.rows], factor[way.rows] = way.columns, way.numbers
    is_whole = to[entries.rows] == NOWHERE
    is_other = ~is_whole
    is_other[pivots.entries] = False
    other, sums = entries.where(is_other), way.where(~layout.is_output[way.rows])
    parts = [
        entries.where(is_whole),
        SparseEntries(to[other.rows], other.columns, -other.numbers / factor[other.rows]),
        SparseEntries(sums.columns, sums.rows, 1 / sums.numbers),
        SparseEntries(pivots.equations, pivots.normals, np.ones(len(pivots.normals))),
    ]
    made = SparseEntries(*map(np.concatenate, zip(*parts, strict=True)))
    # Reciprocals and quotients may leave the range of doubles, on which the enclosures rely.
    require_plain(made.numbers)
    # A quotient has the roundings of both its numbers and one of its own.
    turned = replace(graph, entries=made, roundings=2 * graph.roundings + 1)
    return _lay_out(turned, layout.outputs)
