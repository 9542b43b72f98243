"""Rows of values on two datasets: sums and norms of them, those that are taken, matrices.

Only the rows that differ move a sum of rows, and what stays in its row moves no other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpaudit._typing import Array
from dpaudit.tracing.spread import (
    NOTHING,
    DifferenceNorms,
    Over,
    Rows,
    Spread,
    all_rows,
    bound_difference_norms,
    bound_spread_by_ends,
    choose_least_norms,
    joint_rows,
    norms_of,
    round_bound_outwards,
    row_size,
)


def sum_rows(value: Spread, sample: Array) -> Spread:
    """Return the sum over the first axis: each row in which the two differ moves it by its own."""
    count = value.shape[0]
    differ = count if value.rows is None else len(value.rows)
    l1, l2, linf = value.norms
    norms = DifferenceNorms(
        l1,
        # Only rows that differ are added up: by Cauchy and Schwarz, the square root of their number
        # times ``l2``.
        round_bound_outwards(l2 * math.sqrt(max(differ, 1))),
        round_bound_outwards(linf * max(differ, 1)),
    )
    shift = None if value.shift is None else value.shift.sum(axis=0)
    if shift is not None:
        norms = choose_least_norms(norms, norms_of(shift))
    # The first axis is summed away: what was a row is in every entry of the new first axis.
    rows: Rows | None = None if sample.ndim == 0 else all_rows(sample)
    return Spread(
        sample=sample,
        shift=shift,
        rows=frozenset() if value.is_public and rows is not None else rows,
        low=count * value.low if count else 0.0,
        high=count * value.high if count else 0.0,
        norms=NOTHING if value.is_public else choose_least_norms(norms),
    )


def sum_all(value: Spread, sample: Array) -> Spread:
    """Return the sum of all entries: it moves by no more than all of them together."""
    shift = None if value.shift is None else np.asarray(value.shift.sum())
    count = value.sample.size
    moved = value.norms.l1 if shift is None else round_bound_outwards(abs(float(shift)))
    moved = min(moved, value.norms.l1)
    return Spread(
        sample=sample,
        shift=shift,
        low=count * value.low if count else 0.0,
        high=count * value.high if count else 0.0,
        norms=DifferenceNorms(moved, moved, moved),
    )


def sum_within_rows(value: Spread, sample: Array) -> Spread:
    """Return sums over other axes than the first: entries that differ stay in their row."""
    entries = value.sample.size // max(sample.size, 1)
    l1, l2, linf = value.norms
    norms = DifferenceNorms(
        l1,
        min(l1, round_bound_outwards(l2 * math.sqrt(entries))),
        min(l1, round_bound_outwards(linf * entries)),
    )
    return Spread(
        sample=sample,
        rows=value.rows if sample.ndim else None,
        low=entries * value.low if entries else 0.0,
        high=entries * value.high if entries else 0.0,
        norms=norms,
    )


def row_norms(value: Spread, sample: Array) -> Spread:
    """Return the Euclidean norms of rows: each moves by no more than its row."""
    l1, l2, linf = value.norms
    wider = round_bound_outwards(linf * math.sqrt(row_size(value.sample)))
    return Spread(
        sample=sample,
        rows=value.rows if sample.ndim else None,
        low=0.0,
        high=value.row_norm,
        norms=DifferenceNorms(l1, l2, min(l2, wider)),
        # Divided by exactly its norm a row has length 1, but a short one may turn by any angle: no
        # Lipschitz bound until the norms are cut off below.
        over=Over(value, True, 1.0, math.inf),
    )


def whole_norm(value: Spread, sample: Array) -> Spread:
    """Return the Euclidean norm of all entries: it moves by no more than they do together."""
    l2 = value.norms.l2
    high = round_bound_outwards(value.size * math.sqrt(value.sample.size))
    over = Over(value, True, 1.0, math.inf, whole=True)
    return Spread(sample=sample, low=0.0, high=high, norms=DifferenceNorms(l2, l2, l2), over=over)


def apply_matrix(matrix: Array, value: Spread, sample: Array, *, left: bool) -> Spread:
    """Return ``matrix @ value``, or ``value @ matrix`` if not ``left``: operator norms."""
    operator = np.atleast_2d(matrix if left else matrix.T)
    if matrix.ndim == 1 and not left:
        operator = matrix[None, :]
    sizes = np.abs(operator)
    # The operator norms of the matrix for each norm of a vector: largest column sum, largest
    # singular value, largest row sum.
    factors = (sizes.sum(axis=0).max(), np.linalg.norm(operator, 2), sizes.sum(axis=1).max())
    pairs = zip(value.norms, factors, strict=True)
    norms = DifferenceNorms(
        *(0.0 if one == 0 else round_bound_outwards(one * float(times)) for one, times in pairs)
    )
    shift = None
    if value.shift is not None:
        shift = matrix @ value.shift if left else value.shift @ matrix
        norms = choose_least_norms(norms, norms_of(np.asarray(shift)))
    reach = round_bound_outwards(float(factors[2]) * value.size) if factors[2] else 0.0
    rows: Rows | None = all_rows(sample) if sample.ndim else None
    # From the right a matrix acts within each row; from the left it mixes rows.
    if not left and value.sample.ndim > 1:
        rows = value.rows
    return bound_spread_by_ends(
        Spread(
            sample=sample,
            shift=None if shift is None else np.asarray(shift),
            rows=frozenset() if value.is_public and rows is not None else rows,
            low=-reach,
            high=reach,
            norms=NOTHING if value.is_public else norms,
        )
    )


def multiply_rows(value: Spread, matrix: Spread, sample: Array) -> Spread:
    """Return ``value @ matrix`` of a matrix that is noisy: rows stay in their places."""
    entries = matrix.sample.size
    norm = round_bound_outwards(matrix.size * math.sqrt(entries))
    l2 = 0.0 if value.norms.l2 == 0 else round_bound_outwards(value.norms.l2 * norm)
    wide = math.sqrt((1 if value.rows is None else len(value.rows)) * row_size(sample))
    reach = round_bound_outwards(value.row_norm * norm) if value.row_norm else 0.0
    return bound_spread_by_ends(
        Spread(
            sample=sample,
            rows=value.rows if sample.ndim else None,
            low=-reach,
            high=reach,
            norms=DifferenceNorms(round_bound_outwards(l2 * max(wide, 1.0)), l2, l2),
        )
    )


def sum_of_outer(data: Spread, weights: Spread, sample: Array) -> Spread:
    """Return ``data.T @ weights``, a sum over records: only those that differ move it.

    x' w' - x w is at most ``|x'||w'| + |x||w|``, and at most ``|x'||w' - w| + |x' - x||w|``.
    """
    rows = joint_rows(data, weights) or frozenset()
    weight = weights.size * (math.sqrt(weights.shape[1]) if weights.sample.ndim > 1 else 1.0)
    long = data.row_norm
    apart = len(rows) * 2 * long * weight
    by_parts = math.sqrt(len(rows)) * (long * weights.norms.l2 + weight * data.norms.l2)
    parts = [one for one in (apart, by_parts) if not math.isnan(one)]
    l2 = round_bound_outwards(min(parts, default=math.inf))
    count = sample.size
    norms = DifferenceNorms(round_bound_outwards(l2 * math.sqrt(count)), l2, l2)
    public = data.is_public and weights.is_public
    made_of = all_rows(sample) if sample.ndim else None
    return Spread(
        sample=sample,
        rows=frozenset() if public and made_of is not None else made_of,
        norms=NOTHING if public else norms,
    )


def transpose_spread(value: Spread, sample: Array) -> Spread:
    """Return the transpose: the same entries, in other rows."""
    if value.sample.ndim < 2:
        return value
    public = value.is_public
    return Spread(
        sample=sample,
        shift=None if value.shift is None else value.shift.T,
        rows=frozenset() if public else all_rows(sample),
        low=value.low,
        high=value.high,
        norms=value.norms,
        transposed=value,
    )


def select_spread_entries(value: Spread, pick: Callable[[Array], Array], sample: Array) -> Spread:
    """Return some entries of a value, none of them twice, of at least one axis."""
    shift = None if value.shift is None else np.asarray(pick(value.shift))
    norms = choose_least_norms(value.norms, bound_difference_norms(sample.size, value.norms.linf))
    norms = norms if shift is None else choose_least_norms(norms, norms_of(shift))
    found = Spread(sample=sample, shift=shift, low=value.low, high=value.high, norms=norms)
    if not sample.ndim or not sample.size:
        return replace(found, rows=frozenset() if sample.ndim else None)
    return _rows_taken(value, pick, found)


def _rows_taken(value: Spread, pick: Callable[[Array], Array], found: Spread) -> Spread:
    """Return the taken entries with the rows in which they may differ, by their origin."""
    numbers = np.arange(value.shape[0]).reshape(-1, *[1] * (value.sample.ndim - 1))
    origin = np.asarray(pick(np.broadcast_to(numbers, value.shape)))
    origin = origin.reshape(found.shape[0], -1)
    differ = sorted(range(value.shape[0]) if value.rows is None else value.rows)
    rows = frozenset(np.flatnonzero(np.isin(origin, differ).any(axis=1)).tolist())
    of_one = bool((origin == origin[:, :1]).all())
    norms = found.norms if rows else NOTHING
    return replace(found, rows=rows, row_norm=value.row_norm if of_one else math.inf, norms=norms)


def take_rows(value: Spread, chosen: Array, sample: Array) -> Spread:
    """Return rows by their numbers, some perhaps more than once."""
    differ = range(value.shape[0]) if value.rows is None else value.rows
    places = [at for at, row in enumerate(chosen.tolist()) if row in differ]
    shift = None if value.shift is None else value.shift[chosen]
    # A row that is taken several times moves the result as often.
    most = int(np.bincount(chosen, minlength=1).max(initial=1)) if len(chosen) else 1
    l1, l2, linf = value.norms
    norms = (
        DifferenceNorms(
            round_bound_outwards(l1 * most), round_bound_outwards(l2 * math.sqrt(most)), linf
        )
        if places
        else NOTHING
    )
    if shift is not None:
        norms = choose_least_norms(norms, norms_of(shift))
    return Spread(
        sample=sample,
        shift=shift,
        rows=frozenset(places),
        low=value.low,
        high=value.high,
        row_norm=value.row_norm,
        norms=norms,
    )


def take_row(value: Spread, row: int, sample: Array) -> Spread:
    """Return one row: the same on both sides unless it is one of those that differ."""
    found = select_spread_entries(value, lambda array: array[row], sample)
    if value.rows is not None and row % value.shape[0] not in value.rows:
        none: Rows | None = frozenset() if sample.ndim else None
        found = replace(found, norms=NOTHING, shift=np.zeros(sample.shape), rows=none)
    size = min(found.size, value.row_norm)
    return replace(found, low=max(found.low, -size), high=min(found.high, size))


def join_spreads(values: list[Spread], sample: Array, *, stacked: bool) -> Spread:
    """Return values behind one another along the first axis: stacked, or put together."""
    norms = DifferenceNorms(
        round_bound_outwards(sum(one.norms.l1 for one in values)),
        round_bound_outwards(math.sqrt(sum(one.norms.l2**2 for one in values))),
        max((one.norms.linf for one in values), default=0.0),
    )
    shifts = [one.shift for one in values]
    shift = None
    if all(one is not None for one in shifts):
        shift = np.stack(shifts) if stacked else np.concatenate(shifts)  # type: ignore[arg-type]
    return Spread(
        sample=sample,
        shift=shift,
        rows=_rows_of_joint(values, stacked=stacked),
        low=min((one.low for one in values), default=0.0),
        high=max((one.high for one in values), default=0.0),
        # Stacked, a whole array becomes one row, whose norm was not kept.
        row_norm=math.inf if stacked else max((one.row_norm for one in values), default=0.0),
        norms=NOTHING if all(one.is_public for one in values) else norms,
    )


def _rows_of_joint(values: list[Spread], *, stacked: bool) -> Rows:
    if stacked:
        return frozenset(at for at, one in enumerate(values) if not one.is_public)
    rows, first = set[int](), 0
    for one in values:
        rows |= {first + row for row in (all_rows(one.sample) if one.rows is None else one.rows)}
        first += one.shape[0]
    return frozenset(rows)
