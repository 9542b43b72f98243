"""Arithmetic of values on two datasets: how far sums, products and clipped rows can be apart.

Every rule is a theorem of norms: sums by the triangle inequality, products by
``a'b' - ab = a'(b' - b) + (a' - a)b``, clipping as the projection onto a ball, which moves no two
points apart. Bounds are rounded outwards by more than what doubles can lose.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpaudit._typing import Array
from dpaudit.tracing.spread import (
    ANYTHING,
    NOTHING,
    DifferenceNorms,
    Over,
    Spread,
    bound_spread_by_ends,
    by_factor,
    choose_least_norms,
    joint_rows,
    norms_of,
    round_bound_outwards,
    row_size,
    spread_out,
)


def add_spreads(one: Spread, other: Spread, sign: float, sample: Array) -> Spread:
    """Return the sum, or the difference with ``sign`` -1, of two values that broadcast."""
    a, b = spread_out(one, sample.shape), spread_out(other, sample.shape)
    shift = None
    if a.shift is not None and b.shift is not None:
        shift = a.shift + sign * b.shift
    ends = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
    added = DifferenceNorms(
        *(round_bound_outwards(x + y) for x, y in zip(a.norms, b.norms, strict=True))
    )
    return Spread(
        sample=sample,
        shift=shift,
        rows=joint_rows(a, b),
        low=a.low + ends[0],
        high=a.high + ends[1],
        row_norm=round_bound_outwards(a.row_norm + b.row_norm),
        norms=added if shift is None else choose_least_norms(added, norms_of(shift)),
        over=_over_of_sum(one, other, sign, sample.shape),
    )


def _over_of_sum(one: Spread, other: Spread, sign: float, shape: tuple[int, ...]) -> Over | None:
    """Return that norms to which a constant of at least 0 is added still divide."""
    for value, added in ((one, other), (other, one)):
        kept = sign > 0 and value.shape == shape
        if kept and value.over is not None and value.over.divides:
            if added.constant is not None and added.low >= 0:
                # With a constant above 0 the quotient ``x / (||x|| + c)`` is still short, but no
                # projection: what is known of how it moves rows apart is lost.
                lipschitz = value.over.lipschitz if added.high == 0 else None
                return value.over._replace(lipschitz=lipschitz)
    return None


def scale_spread(value: Spread, factor: Array, sample: Array) -> Spread:
    """Return a value times constants that broadcast."""
    a = spread_out(value, sample.shape)
    largest = float(np.abs(factor).max(initial=0.0))
    least_factor, most_factor = float(factor.min()), float(factor.max())
    ends = [end * one for end in (a.low, a.high) for one in (least_factor, most_factor)]
    ends = [0.0 if math.isnan(one) else one for one in ends]  # 0 times what may be anything
    shift = None if a.shift is None else a.shift * factor
    norms = by_factor(a.norms, largest)
    over = None
    alike = value.shape == sample.shape and factor.size == 1
    if value.over is not None and alike and least_factor > 0:
        # Times a number of at most 0 it would no longer bound the norms that it divides or
        # multiplies.
        over = _over_times(value.over, least_factor)
    return Spread(
        sample=sample,
        shift=shift,
        rows=a.rows,
        low=min(ends),
        high=max(ends),
        row_norm=round_bound_outwards(a.row_norm * largest) if largest else 0.0,
        norms=norms if shift is None else choose_least_norms(norms, norms_of(shift)),
        over=over,
        multiple=_get_spread_multiple(value, factor) if alike else None,
    )


def _get_spread_multiple(value: Spread, factor: Array) -> tuple[Spread, float]:
    of, times = (value, 1.0) if value.multiple is None else value.multiple
    return of, times * float(factor.ravel()[0])


def _over_times(over: Over, factor: float) -> Over:
    """Return that a value which is made of norms was multiplied."""
    times = 1 / factor if over.divides else factor
    lipschitz = None if over.lipschitz is None else round_bound_outwards(over.lipschitz * times)
    return over._replace(bound=round_bound_outwards(over.bound * times), lipschitz=lipschitz)


def multiply_spreads(one: Spread, other: Spread, sample: Array) -> Spread:
    """Return the product of two values that broadcast: a'b' - ab = a'(b' - b) + (a' - a)b."""
    for value, factor in ((one, other), (other, one)):
        # First of all, as the general rule for products knows nothing of a clipped row: it would
        # bound each factor by itself.
        if _is_row_clip(value, factor, divides=False):
            return clip_rows(value, factor, sample)
    for value, factor in ((one, other), (other, one)):
        if factor.constant is not None and factor.constant.dtype.kind in "biuf":
            return scale_spread(value, factor.constant.astype(float), sample)
    a, b = spread_out(one, sample.shape), spread_out(other, sample.shape)
    parts = [by_factor(a.norms, b.size), by_factor(b.norms, a.size)]
    # A movement of 0 times an unbounded value is no number: nothing is known, which infinity says.
    parts = [DifferenceNorms(*(math.inf if math.isnan(x) else x for x in part)) for part in parts]
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    # Of the ends, 0 times infinity is 0: the factor is exactly 0 at this end, and any entry of the
    # other one is finite.
    ends = [0.0 if math.isnan(end) else end for end in ends]
    norms = DifferenceNorms(*(round_bound_outwards(x + y) for x, y in zip(*parts, strict=True)))
    return bound_spread_by_ends(
        Spread(
            sample=sample,
            rows=joint_rows(a, b),
            low=min(ends),
            high=max(ends),
            norms=NOTHING if a.is_public and b.is_public else norms,
        )
    )


def invert_spread(value: Spread, sample: Array) -> Spread:
    """Return one over a value that keeps away from 0; else anything."""
    away = value.low if value.low > 0 else -value.high if value.high < 0 else 0.0
    # A value that touches 0 from one side has an inverse of one sign, though without a bound.
    if away == 0:
        ends = (0.0, math.inf) if value.low >= 0 else (-math.inf, math.inf)
        return replace(_make_unknown_spread(value, sample), low=ends[0], high=ends[1])
    ends = (1 / value.high, 1 / value.low)
    found = replace(_make_unknown_spread(value, sample), low=ends[0], high=ends[1])
    # The derivative of ``1/x`` is ``1/x^2`` in size, at most that at the end nearest to 0.
    return bound_spread_by_ends(replace(found, norms=by_factor(value.norms, 1 / away**2)))


def divide_spreads(one: Spread, other: Spread, sample: Array) -> Spread:
    """Return the quotient of two values that broadcast."""
    if _is_row_clip(one, other, divides=True):
        return clip_rows(one, other, sample)
    inverse = invert_spread(other, 1.0 / other.sample)
    over = other.over
    if over is not None and over.divides and one.constant is not None and one.constant.size == 1:
        factor = float(one.constant.ravel()[0])
        if factor > 0 and other.shape == sample.shape:
            # Of the norm alone a projection is made once it is cut off.
            lipschitz = math.inf if over.lipschitz == math.inf else None
            made = Over(
                over.of, False, round_bound_outwards(factor * over.bound), lipschitz, over.whole
            )
            return replace(scale_spread(inverse, np.array(factor), sample), over=made)
    if other.constant is not None and other.constant.dtype.kind in "biuf":
        return scale_spread(one, 1.0 / other.constant.astype(float), sample)
    return multiply_spreads(one, inverse, sample)


def _is_row_clip(value: Spread, factor: Spread, *, divides: bool) -> bool:
    """Return whether a value meets a number formed from the norms of its own rows."""
    over = factor.over
    of = value if value.multiple is None else value.multiple[0]
    # `in` compares by identity here, as spreads have no equality: an equal-looking value may have
    # other rows.
    if over is None or over.of not in (value, of) or over.divides is not divides:
        return False
    shape = () if over.whole else (value.shape[0], *[1] * (value.sample.ndim - 1))
    return factor.shape == shape and (not divides or factor.low > 0)


def clip_rows(value: Spread, factor: Spread, sample: Array) -> Spread:
    """Return a value whose rows were clipped by their norms: no row is longer than the bound."""
    assert factor.over is not None
    # The norms may be those of the value before it was multiplied: then clipped rows are as many
    # times as long.
    times = 1.0 if factor.over.of is value or value.multiple is None else abs(value.multiple[1])
    bound, lipschitz = round_bound_outwards(factor.over.bound * times), factor.over.lipschitz
    whole = factor.over.whole
    count = 1 if whole or value.rows is None else len(value.rows)
    entries = math.sqrt(sample.size if whole else row_size(sample))
    width = round_bound_outwards(2 * bound)
    norms = [DifferenceNorms(count * entries * width, math.sqrt(count) * width, width)]
    if lipschitz is not None and math.isfinite(lipschitz):
        l2 = value.norms.l2 * lipschitz
        # Rows move by ``l2`` together; by Cauchy and Schwarz the sum of the sizes of so many
        # entries is at most this.
        norms.append(DifferenceNorms(l2 * entries * math.sqrt(max(count, 1)), l2, l2))
    return bound_spread_by_ends(
        Spread(
            sample=sample,
            rows=value.rows,
            low=-bound,
            high=bound,
            row_norm=round_bound_outwards(bound),
            norms=NOTHING
            if value.is_public
            else DifferenceNorms(*map(round_bound_outwards, choose_least_norms(*norms))),
        )
    )


def map_entries(
    value: Spread, sample: Array, low: float, high: float, lipschitz: float = math.inf
) -> Spread:
    """Return a function of each entry, with its ends and by how much it moves two numbers apart."""
    moved = ANYTHING if math.isinf(lipschitz) else by_factor(value.norms, lipschitz)
    norms = NOTHING if value.is_public else moved
    return bound_spread_by_ends(
        replace(_make_unknown_spread(value, sample), low=low, high=high, norms=norms)
    )


def _make_unknown_spread(value: Spread, sample: Array) -> Spread:
    """Return a value that is nothing known but in which rows it may differ."""
    norms = NOTHING if value.is_public else ANYTHING
    return Spread(sample=sample, rows=value.rows, norms=norms)


def apply_spread_maximum(value: Spread, least_value: float, sample: Array) -> Spread:
    """Return the larger of a value and a constant; norms that are cut off below still divide."""
    found = map_entries(
        value, sample, max(value.low, least_value), max(value.high, least_value), 1.0
    )
    over = value.over
    if over is None or not over.divides or least_value <= 0:
        return found
    exact = over.lipschitz is not None
    return replace(found, over=over._replace(lipschitz=1 / least_value if exact else None))


def apply_spread_minimum(value: Spread, most: float, sample: Array) -> Spread:
    """Return the smaller of a value and a constant; a factor of norms is cut off above."""
    found = map_entries(value, sample, min(value.low, most), min(value.high, most), 1.0)
    over = value.over
    if over is None or over.divides or most <= 0:
        return found
    exact = over.lipschitz is not None
    return replace(found, over=over._replace(lipschitz=most if exact else None))
