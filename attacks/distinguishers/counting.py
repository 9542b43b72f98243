"""Tools of counting attacks: step functions of a number, and numbers for distinct rows.

Frequencies become log-ratios with half a count added to each. Neighbouring bins whose log-ratios do
not differ by more than three standard errors are merged: where the true log-ratio is flat, noise
would otherwise order what is equal, and an event would lose most of its mass. A single value that
repeats more often on one side than its neighbours are is counted by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.estimation.repeated_values import RepeatedValues, find_repeated_scores

Codes = NDArray[np.int64]

PER_OUTCOME = 4  # outputs to every distinct one: else they are not few
# Half a count keeps log 0 away and leaves the log-ratio nearly unbiased (Haldane 1956).
_SMOOTHING = 0.5
# Up to so many distinct values, edges lie between them; beyond, at quantiles.
_FEW_VALUES = 256
# Merging looks at all bins once for every merge: its cost grows with the square of this number.
_BINS = 400
_PER_BIN = 20
_DIFFERENT = 16.0  # squared standard errors
# What orders values inside a bin stays far below what separates bins.
_TINY = 1e-6
# Relative: values that are nearer than this differ in their last bits alone.
_GRAIN = 1e-9
_COMMON = 0.9  # of the entries are no larger than what counts as their size
# Up to so many pairs, a table takes the place of a binary search.
_TABLE = 2**16
_FIRST_ROWS = 4096
_PLAINLY_MANY = 1.1  # times as many rows as may be distinct are looked at first
_FEW_KNOTS = 200  # a byte counts them
_NORMAL = np.finfo(np.float64).tiny
# Of what is below it, between multiples of the grain: 0 and -0, denormals above 0 and below.
_KINDS_OF_ZERO = np.array([[0.0, -0.25], [0.5, -0.5]])


@dataclass(frozen=True)
class Steps:
    """Scores a number by the log-ratio of its bin; bins hold their lower edge.

    ``leaning`` at ``points``, interpolated, orders the values of one bin. Single values that
    repeat more or less often than their bin have log-ratios of their own.
    """

    edges: Array
    ratios: Array
    points: Array
    leaning: Array
    single: RepeatedValues | None = None
    of_single: Array | None = None

    def __call__(self, values: Array) -> Array:
        """Return log-ratios, shape ``(R,)``."""
        found = self._pieces(values)
        if self.single is not None and self.of_single is not None:
            place = self.single.place(values)
            found = np.where(place < 0, found, self.of_single[place])
        return np.asarray(found)

    @cached_property
    def _pieces(self) -> _Pieces:
        return _Pieces.of(self)


@dataclass(frozen=True)
class _Pieces:
    """The same step function with one search a value: its pieces are lines.

    A value from knot ``k - 1`` on is on piece k: a ratio, and a line from a point on.
    """

    knots: Array
    ends: tuple[float, float]
    ratios: Array
    points: Array
    heights: Array
    slopes: Array

    @classmethod
    def of(cls, steps: Steps) -> _Pieces:
        edges, points, leaning = steps.edges, steps.points, steps.leaning
        knots = np.unique(np.concatenate([edges, points]))
        bins = np.append(0, np.searchsorted(edges, knots, side="right"))
        after = np.append(0, np.searchsorted(points, knots, side="right"))
        # The distance of two huge points may overflow to infinity; the rise over it is then 0, as
        # it should be.
        with np.errstate(over="ignore"):
            apart = np.diff(points)
        rises = np.divide(np.diff(leaning), apart, out=np.zeros(len(apart)), where=apart > 0)
        slopes = np.concatenate([[0.0], rises, [0.0]])
        at = np.maximum(after - 1, 0)
        ends = float(points[0]), float(points[-1])
        return cls(knots, ends, steps.ratios[bins], points[at], leaning[at], slopes[after])

    def __call__(self, values: Array) -> Array:
        which = _count_reached_knots(self.knots, values)
        found = np.clip(values, *self.ends)  # beyond both ends nothing leans
        found -= self.points.take(which)
        found *= self.slopes.take(which)
        found += self.heights.take(which)
        found += self.ratios.take(which)
        return found


def _count_reached_knots(knots: NDArray[Any], values: NDArray[Any]) -> NDArray[np.intp]:
    """Return how many knots each value has reached: of few, comparing with all is sooner."""
    if len(knots) > _FEW_KNOTS:
        return np.searchsorted(knots, values, side="right")
    found = np.zeros(np.shape(values), dtype=np.uint8)
    for knot in knots:
        found += values >= knot
    return found.astype(np.intp)


FLAT = Steps(np.empty(0), np.zeros(1), np.zeros(1), np.zeros(1))
"""Scores every number 0."""


def fit_step_function(p: Array, q: Array) -> Steps:
    """Return the step function counted on values of either side, shape ``(R,)`` each.

    Examples
    --------
    >>> found = fit_step_function(
    ...     np.repeat([0.0, 1.0], [900, 100]), np.repeat([0.0, 1.0], [100, 900])
    ... )
    >>> found.edges, found(np.array([0.0, 1.0])).round(1)
    (array([0.5]), array([ 2.2, -2.2]))
    """
    sizes = len(p), len(q)
    found = _fit_binned_steps(p, q, sizes)
    often = find_repeated_scores(p, q)
    odds = found(often.values) + math.log(len(p) / len(q))
    single = often.stand_out(np.exp(-np.logaddexp(0.0, -odds)))  # the share that is of p
    if not len(single.values):
        return found
    # A value that is counted by itself would tilt the bin that it falls into: bins are fitted again
    # without it.
    left = [side[single.place(side) < 0] for side in (p, q)]
    binned = _fit_binned_steps(left[0], left[1], sizes) if any(map(len, left)) else FLAT
    ratios = log_ratio(single.of_p, single.of_q, *sizes)
    return replace(binned, single=single, of_single=ratios)


def _fit_binned_steps(p: Array, q: Array, sizes: tuple[int, int]) -> Steps:
    sides = np.sort(p), np.sort(q)
    pooled = np.sort(np.concatenate(sides), kind="stable")  # which merges what is in order
    edges = _choose_bin_edges(pooled)
    below = [np.searchsorted(side, edges) for side in sides]
    counts = np.stack(
        [np.diff(b, prepend=0, append=len(side)) for b, side in zip(below, sides, strict=True)]
    )
    edges, counts = _merge_similar_bins(edges, counts, sizes)
    ratios = log_ratio(counts[0], counts[1], *sizes)
    return Steps(edges, ratios, *_order_within(pooled, edges, ratios))


def _order_within(pooled: Array, edges: Array, ratios: Array) -> tuple[Array, Array]:
    """Return medians of bins and, beyond them, both ends; and tiny ratios there.

    Few values need no order: those of one bin are equal, but for their last bits.
    """
    if not len(edges) or len(_select_distinct_sorted(pooled)) <= _FEW_VALUES:
        return np.zeros(1), np.zeros(1)
    ends = np.concatenate([[0], np.searchsorted(pooled, edges), [len(pooled)]])
    medians = pooled[np.minimum((ends[1:] + ends[:-1]) // 2, len(pooled) - 1)]
    points = np.concatenate([pooled[:1], medians, pooled[-1:]])
    # Straight on beyond the outermost bins, so that extreme values are ordered too.
    beyond = 2 * ratios[[0, -1]] - ratios[[1, -2]]
    return points, _TINY * np.concatenate([beyond[:1], ratios, beyond[1:]])


def log_ratio(p: Any, q: Any, p_trials: int, q_trials: int) -> Array:
    """Return smoothed log-ratios of frequencies, from counts of the same outcomes.

    Examples
    --------
    >>> log_ratio(np.array([9, 0]), np.array([0, 9]), 9, 9).round(2)
    array([ 2.94, -2.94])
    """
    of_p = np.log(np.asarray(p) + _SMOOTHING) - np.log(p_trials)
    return np.asarray(of_p - np.log(np.asarray(q) + _SMOOTHING) + np.log(q_trials))


@dataclass(frozen=True)
class Coder:
    """Numbers the distinct rows of a table that it was made from: 0, 1, ...; -1 for any other.

    Rows are read column by column: ``levels`` are the values of a column, ``seen`` the pairs of a
    number for the columns before it and a level. Where such pairs are few, ``tables`` has the
    place of each among those seen, and at the end that of the number -1.
    """

    grain: Array
    levels: tuple[Array, ...]
    seen: tuple[Codes, ...]
    tables: tuple[Codes | None, ...]

    def __call__(self, rows: Array) -> Codes:
        """Return numbers, shape ``(R,)``, of rows of shape ``(R, C)``."""
        codes = np.zeros(len(rows), dtype=np.int64)
        columns = _round_to_grain(rows, self.grain).T
        for column, levels, seen, table in zip(
            columns, self.levels, self.seen, self.tables, strict=True
        ):
            place = _find_sorted_index(levels, column)
            codes = np.where((codes < 0) | (place < 0), -1, codes * len(levels) + place)
            # The code -1 of an unknown row reads the last place of the table, which holds -1 again.
            codes = _find_sorted_index(seen, codes) if table is None else table[codes]
        return codes

    @property
    def size(self) -> int:
        """The number of distinct rows."""
        return len(self.seen[-1]) if self.seen else 1


def build_row_coder(rows: Array, most: float) -> Coder | None:
    """Return a coder of the rows, shape ``(R, C)``; None if more than ``most`` are distinct.

    Entries that are equal but for their last bits count as one; 0, -0 and denormals, which rounding
    makes no zeros of, do not.

    Examples
    --------
    >>> table = np.array([[0.1 + 0.2, 1.0], [0.0, 1.0], [0.3, 1.0]])
    >>> build_row_coder(table, 2)(np.array([[0.3, 1.0], [7.0, 1.0]]))
    array([ 1, -1])
    >>> build_row_coder(table, 1) is None
    True
    """
    enough = int(_PLAINLY_MANY * most) + 1
    if len(rows) > 2 * enough and build_row_coder(rows[:enough], most) is None:
        return None
    sizes = np.abs(rows)
    common = np.quantile(sizes, _COMMON, axis=0, method="higher")  # a rare huge entry is no scale
    # The floor keeps the grain a normal number in a column of zeros.
    grain = _GRAIN * np.maximum(np.where(common > 0, common, sizes.max(axis=0)), 1e-290)
    codes = np.zeros(len(rows), dtype=np.int64)
    all_levels, all_seen, tables = list[Array](), list[Codes](), list[Codes | None]()
    for column in _round_to_grain(rows, grain).T:
        levels = _find_distinct_levels(column)
        if len(levels) > most:
            return None
        pairs = (len(all_seen[-1]) if all_seen else 1) * len(levels)
        codes = codes * len(levels) + _find_sorted_index(levels, column)
        seen, table, codes = _compress_row_codes(codes, pairs)
        if len(seen) > most:
            return None
        all_levels.append(levels)
        all_seen.append(seen)
        tables.append(table)
    return Coder(np.asarray(grain), tuple(all_levels), tuple(all_seen), tuple(tables))


def flatten_outputs(outputs: Array) -> Array:
    """Return one row an output, as floats, shape ``(R, C)``.

    Examples
    --------
    >>> flatten_outputs(np.ones((3, 2, 2), dtype=bool)).shape
    (3, 4)
    """
    values = np.asarray(outputs, dtype=np.float64)
    return values.reshape(len(values), -1)


def _choose_bin_edges(pooled: Array) -> Array:
    """Return edges between few values, or of bins: as many in each, ever fewer at both ends."""
    values = _select_distinct_sorted(pooled)
    if len(values) > _FEW_VALUES:
        ranks = _choose_edge_ranks(len(pooled))
        # Halves are taken before the sum: two huge values would overflow.
        return np.unique(pooled[ranks] / 2 + pooled[np.maximum(ranks - 1, 0)] / 2)
    lower, upper = values[:-1], values[1:]
    with np.errstate(over="ignore"):
        apart = upper - lower > _GRAIN * np.abs(values).max(initial=1e-290)
        middles = (lower + upper) / 2
    # Of two huge values halves are taken before the sum, and of others after it: a denormal has no
    # exact half.
    return np.asarray(np.where(np.isfinite(middles), middles, lower / 2 + upper / 2)[apart])


def _select_distinct_sorted(pooled: Array) -> Array:
    return np.asarray(pooled[np.append(True, pooled[1:] > pooled[:-1])])


def _choose_edge_ranks(size: int) -> Codes:
    """Return the ranks of the edges."""
    bins = int(np.clip(size // _PER_BIN, 2, _BINS))
    even = np.linspace(0, size, bins + 1)[1:-1]
    # Extreme log-ratios are in the tails, so bins shrink there down to the least that can be
    # counted.
    tail = np.geomspace(min(_PER_BIN, size / 2), size / 2, 24)
    ranks = np.concatenate([even, tail, size - tail])
    return np.unique(np.clip(ranks.astype(np.int64), 0, size - 1))


def _merge_similar_bins(
    edges: Array, counts: NDArray[Any], sizes: tuple[int, int]
) -> tuple[Array, NDArray[Any]]:
    """Merge, again and again, the two neighbouring bins that differ least."""
    while len(edges):
        ratios = log_ratio(counts[0], counts[1], *sizes)
        # The logarithm of a count c has the variance 1 / c, to first order.
        variance = (1 / (counts + _SMOOTHING)).sum(axis=0)
        errors = np.diff(ratios) ** 2 / (variance[1:] + variance[:-1])
        at = int(np.argmin(errors))
        if errors[at] > _DIFFERENT:
            break
        counts[:, at] += counts[:, at + 1]
        edges, counts = np.delete(edges, at), np.delete(counts, at + 1, axis=1)
    return edges, counts


def _round_to_grain(rows: Array, grain: Array) -> Array:
    with np.errstate(over="ignore"):  # codes of what is no finite number
        multiples = rows / grain
    np.round(multiples, out=multiples)
    multiples += 0.0  # no negative zeros
    tiny = np.abs(rows) < _NORMAL
    tiny &= rows.view(np.int64) != 0  # all zeros of which are 0 itself
    if tiny.any():
        of_tiny = rows[tiny]
        multiples[tiny] = _KINDS_OF_ZERO[
            (of_tiny != 0).astype(int), np.signbit(of_tiny).astype(int)
        ]
    return np.asarray(multiples)


def _find_distinct_levels(column: Array) -> Array:
    """Return the distinct values, ascending: where the first ones are all, nothing is sorted."""
    first = np.unique(column[:_FIRST_ROWS])
    few = len(first) <= _FEW_KNOTS and (_find_sorted_index(first, column) >= 0).all()
    return first if few else np.unique(column)


def _compress_row_codes(codes: Codes, pairs: int) -> tuple[Codes, Codes | None, Codes]:
    """Return which codes below ``pairs`` there are, the place of each if few, and the new codes."""
    if pairs > _TABLE:
        seen, codes = np.unique(codes, return_inverse=True)
        return seen, None, codes
    seen = np.flatnonzero(np.bincount(codes, minlength=pairs))
    # One place more than there are codes: index -1 reaches it.
    table = np.full(pairs + 1, -1)
    table[seen] = np.arange(len(seen))
    return seen, table, table[codes]


def _find_sorted_index(ordered: NDArray[Any], values: NDArray[Any]) -> Codes:
    """Return the place of every value among those known, ascending; -1 where it is not."""
    if len(ordered) > _FEW_KNOTS:
        place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    else:
        place = _count_reached_knots(ordered[1:], values)
    return np.where(ordered[place] == values, place, -1)
