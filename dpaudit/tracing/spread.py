"""The range of a value on two datasets, after every history of noisy values: rules of arithmetic.

A *history* is all that was noisy before. Both runs have seen the same one, so a value that is made
of it alone is the same on both sides, and what is bounded here is how far a value of the dataset
can be from that of the neighbour, whatever the history was.

| symbol | name               | meaning                                                     |
|--------|--------------------|-------------------------------------------------------------|
| a, a'  | ``both``           | the values, where no history enters                         |
| d      | ``shift``          | a' - a, where it is the same after every history            |
| R      | ``rows``           | the entries of the first axis in which the two can differ   |
| B      | ``row_norm``       | the largest Euclidean norm of such an entry, on either side |
|        | ``l1``, ``l2``, .. | the largest norms of a' - a                                 |

Bounds are rounded outwards by more than what doubles can lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpaudit._typing import Array

# Doubles lose about 1e-16 an operation: this covers sums of millions of terms, for a sensitivity
# that is hardly larger.
ROUNDING = 1e-9  # relative, of every bound that is worked out
_EXACT = 2.0**53  # from which on doubles merge integers
Rows = frozenset[int]


class DifferenceNorms(NamedTuple):
    """Norms of a difference: the sum of its entries' sizes, Euclidean, and the largest entry."""

    l1: float
    l2: float
    linf: float


NOTHING = DifferenceNorms(0.0, 0.0, 0.0)
ANYTHING = DifferenceNorms(math.inf, math.inf, math.inf)


class Over(NamedTuple):
    """That a value is made of the norms of the rows of another, ``of``.

    Parameters
    ----------
    of
        The value whose rows have the norms.
    divides
        Whether it is to divide ``of``: ``||of_i|| <= bound * value_i``. Else it is to multiply it:
        ``value_i * ||of_i|| <= bound``.
    bound
        Of the norms of rows after that.
    lipschitz
        By how much that can move rows apart, where it is a projection times a factor: infinite as
        long as nothing cuts the norms off. None if it is no projection.
    whole
        Whether it is one norm of all entries instead.
    """

    of: Spread
    divides: bool
    bound: float
    lipschitz: float | None
    whole: bool = False


class Squares(NamedTuple):
    """That a value holds the squares of another, ``of``: each, summed in rows, or all summed."""

    of: Spread
    summed: Literal["none", "rows", "all"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Spread:
    """The range of a value on both datasets.

    Parameters
    ----------
    sample
        What it is in one run on the dataset: shapes are read from it, and no number.
    both
        The value on either side; None where a history enters.
    shift
        Neighbour's less dataset's, where that is the same after every history; else None.
    rows
        Entries of the first axis in which the two may differ; None of a number.
    low, high
        Of every entry, on both sides.
    row_norm
        Largest Euclidean norm of an entry of the first axis, on both sides.
    norms
        Of neighbour's less dataset's.
    over
        Whether it is made of the norms of another's rows.
    transposed
        What it is the transpose of, if it is one.
    multiple
        What it is a multiple of, and how many times, if it is one.
    squares
        What it holds the squares of, and how those were summed, if it does.
    """

    sample: Array
    both: tuple[Array, Array] | None = None
    shift: Array | None = None
    rows: Rows | None = None
    low: float = -math.inf
    high: float = math.inf
    row_norm: float = math.inf
    norms: DifferenceNorms = ANYTHING
    over: Over | None = None
    transposed: Spread | None = None
    multiple: tuple[Spread, float] | None = None
    squares: Squares | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.sample.shape

    @property
    def is_public(self) -> bool:
        """Whether it is the same on both sides after every history."""
        return self.norms.linf == 0

    @property
    def constant(self) -> Array | None:
        """The value where it is one number on both sides whatever the history; else None."""
        return self.both[0] if self.both is not None and self.is_public else None

    @property
    def size(self) -> float:
        """The largest absolute value of an entry."""
        return max(abs(self.low), abs(self.high))


def _is_told_by_doubles(one: Array, other: Array) -> bool:
    """Return whether a difference of doubles is 0 for entries alone that no code tells apart."""
    exact = all(
        side.dtype.itemsize <= 8 and not (np.abs(side.astype(float)) >= _EXACT).any()
        for side in (one, other)
        if side.dtype.kind != "f" or side.dtype.itemsize > 8
    )
    return exact and _have_equal_signs(one, other)


def _have_equal_signs(one: Array, other: Array) -> bool:
    """Return whether zeros have one sign on both sides, as code divides by them."""
    if one.dtype.kind != "f" and other.dtype.kind != "f":
        return True
    return not ((np.signbit(one) != np.signbit(other)) & (one == 0) & (other == 0)).any()


def spread_of_pair(one: Any, other: Any) -> Spread:
    """Return a value that no history enters: its numbers on either side.

    Examples
    --------
    >>> one, other = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> found = spread_of_pair(one, other)
    >>> found.norms.l1, sorted(found.rows), found.row_norm
    (1.000000001, [1], 5.000000005)
    """
    a, b = np.asarray(one), np.asarray(other)
    with np.errstate(invalid="ignore"):  # infinity less infinity is no shift
        shift = b.astype(float) - a.astype(float) if a.dtype.kind in "biuf" else None
    if shift is None or not np.isfinite(shift).all() or not _is_told_by_doubles(a, b):
        same = np.array_equal(a.astype(object), b.astype(object)) and _have_equal_signs(a, b)
        return Spread(sample=a, both=(a, b), norms=NOTHING if same else ANYTHING)
    flat = [side.astype(float) for side in (a, b)]
    ends = [(side.min(initial=math.inf), side.max(initial=-math.inf)) for side in flat]
    return Spread(
        sample=a,
        both=(a, b),
        shift=shift,
        rows=rows_of(shift),
        low=float(min(low for low, _ in ends)) if a.size else 0.0,
        high=float(max(high for _, high in ends)) if a.size else 0.0,
        row_norm=round_bound_outwards(
            max(float(norms_of_rows(side).max(initial=0.0)) for side in flat)
        ),
        norms=norms_of(shift),
    )


def make_constant_spread(value: Any) -> Spread:
    """Return a value that is the same everywhere."""
    return spread_of_pair(value, value)


def make_history_spread(sample: Any, low: float = -math.inf, high: float = math.inf) -> Spread:
    """Return a value that is made of noisy ones alone: anything, and the same on both sides."""
    value = np.asarray(sample)
    rows: Rows | None = frozenset() if value.ndim else None
    return Spread(
        sample=value,
        rows=rows,
        shift=np.zeros(value.shape),
        low=low,
        high=high,
        row_norm=max(abs(low), abs(high)) * math.sqrt(row_size(value)),
        norms=NOTHING,
    )


def norms_of(difference: Array) -> DifferenceNorms:
    """Return the norms of a difference, a little more than they are."""
    sizes = np.abs(difference)
    found = (sizes.sum(), math.sqrt(float((sizes**2).sum())), sizes.max(initial=0.0))
    return DifferenceNorms(*(round_bound_outwards(float(one)) for one in found))


def round_bound_outwards(value: float) -> float:
    """Return a little more than a bound, as much as rounding may have taken."""
    return value * (1 + ROUNDING)


def choose_least_norms(*bounds: DifferenceNorms) -> DifferenceNorms:
    """Return the least of several bounds of each norm, which bound one another, too."""
    l1, l2, linf = (min(ones) for ones in zip(*bounds, strict=True))
    # The largest entry is at most the Euclidean norm, and that at most the sum of sizes.
    return DifferenceNorms(l1, min(l1, l2), min(l1, l2, linf))


def by_factor(norms: DifferenceNorms, factor: float) -> DifferenceNorms:
    """Return the norms of a difference times a number; nothing stays nothing."""
    return DifferenceNorms(
        # 0 times an infinite factor is no number, while what does not move is not moved by it.
        *(0.0 if one == 0 else round_bound_outwards(one * factor) for one in norms)
    )


def bound_difference_norms(count: int, width: float) -> DifferenceNorms:
    """Return the norms of a difference of so many entries, none of which moves further."""
    if count == 0 or width == 0:
        return NOTHING
    return DifferenceNorms(
        *map(round_bound_outwards, (count * width, math.sqrt(count) * width, width))
    )


def bound_spread_by_ends(value: Spread) -> Spread:
    """Return a value whose ends bound how far it moves, in the rows in which it may."""
    width = value.high - value.low
    found = value
    if not value.is_public and math.isfinite(width):
        entries = value.sample.size
        # Only the entries of rows that differ can move from one end to the other.
        if value.rows is not None:
            entries = len(value.rows) * row_size(value.sample)
        found = replace(
            value, norms=choose_least_norms(value.norms, bound_difference_norms(entries, width))
        )
    size = value.size
    if math.isfinite(size):
        norm = round_bound_outwards(size * math.sqrt(row_size(value.sample)))
        found = replace(found, row_norm=min(found.row_norm, norm))
    return found


def spread_out(value: Spread, shape: tuple[int, ...]) -> Spread:
    """Return a value broadcast to a shape: a difference is there as often as its entries are."""
    if value.shape == shape:
        return value
    sample = np.broadcast_to(value.sample, shape)
    times = sample.size // max(value.sample.size, 1)
    l1, l2, linf = value.norms
    same_rows = value.sample.ndim == len(shape) and value.shape[0] == shape[0]
    # Broadcast along the first axis, one row that differs is in every row.
    rows: Rows | None = value.rows if same_rows else all_rows(sample)
    if value.is_public:
        rows = frozenset() if shape else None
    wider = math.sqrt(row_size(sample))
    return Spread(
        sample=sample,
        shift=None if value.shift is None else np.broadcast_to(value.shift, shape),
        rows=rows,
        low=value.low,
        high=value.high,
        row_norm=round_bound_outwards(value.size * wider)
        if math.isfinite(value.size)
        else math.inf,
        norms=DifferenceNorms(
            round_bound_outwards(l1 * times), round_bound_outwards(l2 * math.sqrt(times)), linf
        )
        if linf
        else NOTHING,
    )


def rows_of(shift: Array) -> Rows | None:
    """Return the entries of the first axis in which a difference is not 0; None of a number."""
    if shift.ndim == 0:
        return None
    return frozenset(np.flatnonzero(shift.reshape(shift.shape[0], -1).any(axis=1)).tolist())


def all_rows(sample: Array) -> Rows:
    """Return every entry of the first axis."""
    return frozenset(range(sample.shape[0]))


def joint_rows(a: Spread, b: Spread) -> Rows | None:
    """Return the rows in which one of two values of a shape may differ."""
    if a.rows is None or b.rows is None:
        return None if a.sample.ndim == 0 else all_rows(a.sample)
    return a.rows | b.rows


def row_size(sample: Array) -> int:
    """Return how many numbers an entry of the first axis has."""
    return sample.size // sample.shape[0] if sample.ndim and sample.shape[0] else 1


def norms_of_rows(side: Array) -> Array:
    """Return the Euclidean norms of the entries of the first axis, shape ``(n,)``."""
    rows = side.reshape(side.shape[0], -1) if side.ndim else side.reshape(1, 1)
    return np.asarray(np.sqrt((rows**2).sum(axis=1)))
