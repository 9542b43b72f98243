"""Intervals with slopes: where a function of some numbers lies on many boxes at once.

An enclosure holds, for each of B boxes, ends of the value and of its slope in each of V variables.
All arithmetic is rounded outwards: one step of the floating-point grid after an operation that is
correctly rounded, four units in the last place after a function of the mathematical library. A
slope is one of Lipschitz functions too (all of Clarke's gradient lies in it, so the mean value
theorem holds); where a function may jump within a box its slope is (-inf, inf).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Truth = NDArray[np.bool_]
Ends = tuple[Array, Array]
# numpy's functions err by at most four units in the last place; twice as many steps leave room
# for a library that is worse, at no cost that a bound would show.
LIBRARY_STEPS = 8


class OutsideDomain(Exception):
    """A function is asked for where it may not be defined."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Ends of a value, shape ``(B,)``, and of its slopes, shape ``(V, B)``, where asked for."""

    low: Array
    high: Array
    slopes: Ends | None = None

    @property
    def ends(self) -> Ends:
        """Ends of the value."""
        return self.low, self.high

    def __add__(self, other: Enclosure) -> Enclosure:
        value = add_ends(self.ends, other.ends)
        if self.slopes is None or other.slopes is None:
            return Enclosure(*value)
        return Enclosure(*value, add_ends(self.slopes, other.slopes))

    def __mul__(self, other: Enclosure) -> Enclosure:
        value = multiply_ends(self.ends, other.ends)
        if self.slopes is None or other.slopes is None:
            return Enclosure(*value)
        first = multiply_ends(self.slopes, other.ends)
        return Enclosure(*value, add_ends(first, multiply_ends(other.slopes, self.ends)))

    def scale(self, factor: Ends) -> Enclosure:
        """Return a multiple by a number between ends."""
        return self.compose(multiply_ends(self.ends, factor), factor)

    def compose(self, ends: Ends, derivative: Ends) -> Enclosure:
        """Return a function of this, of which ends and the ends of the derivative are known."""
        # NaN loses every comparison, so a box with a NaN end would look as if it held nothing
        # large.
        low = np.where(np.isnan(ends[0]), -np.inf, ends[0])
        high = np.where(np.isnan(ends[1]), np.inf, ends[1])
        slopes = None if self.slopes is None else multiply_ends(self.slopes, derivative)
        return Enclosure(low, high, slopes)


def widen_ends(low: Array, high: Array, steps: int = 1) -> Ends:
    """Round ends outwards by steps of the grid of floating-point numbers."""
    for _ in range(steps):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return low, high


def add_ends(one: Ends, other: Ends) -> Ends:
    """Enclose a sum; an end that is not a number becomes infinite."""
    low, high = one[0] + other[0], one[1] + other[1]
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    # Without this, a sum of numbers from 0 on would start one step below 0, and its square root
    # or logarithm would count as undefined.
    is_positive = (one[0] >= 0) & (other[0] >= 0)
    return _keep_signs(*widen_ends(low, high), is_positive, (one[1] <= 0) & (other[1] <= 0))


def multiply_ends(one: Ends, other: Ends) -> Ends:
    """Enclose a product: zero times infinity is zero, as infinite ends stand for all numbers."""
    products = np.stack([a * b for a in one for b in other])
    # 0 * inf is NaN only where an end is exactly 0; all products with numbers short of infinity
    # are 0 there, and the other three products cover the rest.
    products = np.where(np.isnan(products), 0.0, products)
    low, high = widen_ends(products.min(axis=0), products.max(axis=0))
    rises, falls = (one[0] >= 0, other[0] >= 0), (one[1] <= 0, other[1] <= 0)
    is_positive = (rises[0] & rises[1]) | (falls[0] & falls[1])
    return _keep_signs(low, high, is_positive, (rises[0] & falls[1]) | (falls[0] & rises[1]))


def raise_to_power(value: Enclosure, exponent: int) -> Enclosure:
    """Enclose a whole power, at least 1."""
    if exponent == 1:
        return value
    low, high = _power_ends(value.ends, exponent)
    inner = _power_ends(value.ends, exponent - 1)
    times = np.asarray(float(exponent)), np.asarray(float(exponent))
    return value.compose((low, high), multiply_ends(inner, times))


def _power_ends(ends: Ends, exponent: int) -> Ends:
    if exponent == 0:
        return np.ones_like(ends[0]), np.ones_like(ends[1])
    one = widen_ends(ends[0] ** exponent, ends[0] ** exponent, LIBRARY_STEPS)
    other = widen_ends(ends[1] ** exponent, ends[1] ** exponent, LIBRARY_STEPS)
    if exponent % 2:
        return _keep_signs(one[0], other[1], ends[0] >= 0, ends[1] <= 0)
    # An even power falls and then rises: its least value is at the end nearer to 0, or 0 itself
    # where the box crosses it.
    smallest = np.maximum(np.minimum(one[0], other[0]), 0.0)
    crosses = (ends[0] <= 0) & (ends[1] >= 0)
    return np.where(crosses, 0.0, smallest), np.maximum(one[1], other[1])


def _keep_signs(low: Array, high: Array, is_positive: Truth, is_negative: Truth) -> Ends:
    """Undo the rounding across zero of ends that are known to have a sign."""
    low = np.where(is_positive, np.maximum(low, 0.0), low)
    return low, np.where(is_negative, np.minimum(high, 0.0), high)


def _enclose_library_function(function: Callable[[Array], Array], ends: Ends) -> Ends:
    """Enclose the values of a rising function of the mathematical library."""
    return widen_ends(function(ends[0]), function(ends[1]), LIBRARY_STEPS)


def _enclose_exp(x: Enclosure) -> Enclosure:
    low, high = _enclose_library_function(np.exp, x.ends)
    ends = np.maximum(low, 0.0), high
    return x.compose(ends, ends)


def _enclose_expm1(x: Enclosure) -> Enclosure:
    return x.compose(_enclose_library_function(np.expm1, x.ends), _enclose_exp(x).ends)


def _require(is_defined: Truth) -> None:
    if not np.all(is_defined):
        raise OutsideDomain


def _enclose_log(x: Enclosure) -> Enclosure:
    _require(x.low > 0)
    return x.compose(_enclose_library_function(np.log, x.ends), _reciprocal_ends(x.ends))


def _enclose_log1p(x: Enclosure) -> Enclosure:
    _require(x.low > -1)
    one = np.asarray(1.0), np.asarray(1.0)
    shifted = add_ends(x.ends, one)
    # Rounding downwards may take 1 + x to 0 or below, although x > -1; the smallest positive
    # double keeps the reciprocal's sign.
    derivative = _reciprocal_ends((np.maximum(shifted[0], 5e-324), shifted[1]))
    return x.compose(_enclose_library_function(np.log1p, x.ends), derivative)


def _enclose_sqrt(x: Enclosure) -> Enclosure:
    _require(x.low >= 0)
    low, high = widen_ends(np.sqrt(x.low), np.sqrt(x.high))
    low = np.maximum(low, 0.0)
    return x.compose((low, high), _reciprocal_ends((2 * low, 2 * high)))


def _reciprocal_ends(ends: Ends) -> Ends:
    """Enclose 1/x on ends of one sign; at zero it is infinite."""
    with np.errstate(divide="ignore"):
        # Adding 0.0 turns -0.0 into 0.0, of which the reciprocal is +inf.
        low, high = 1 / (ends[1] + 0.0), 1 / (ends[0] + 0.0)
    low = np.where((ends[1] == 0) & (ends[0] < 0), -np.inf, low)
    return widen_ends(low, high)


def _enclose_reciprocal(x: Enclosure) -> Enclosure:
    _require((x.low > 0) | (x.high < 0))
    ends = _reciprocal_ends(x.ends)
    low, high = _power_ends(ends, 2)
    return x.compose(ends, (-high, -low))


def _enclose_arctan(x: Enclosure) -> Enclosure:
    low, high = _power_ends(x.ends, 2)
    one = np.asarray(1.0), np.asarray(1.0)
    return x.compose(
        _enclose_library_function(np.arctan, x.ends), _reciprocal_ends(add_ends((low, high), one))
    )


def _enclose_tanh(x: Enclosure) -> Enclosure:
    low, high = _enclose_library_function(np.tanh, x.ends)
    ends = np.maximum(low, -1.0), np.minimum(high, 1.0)
    square = _power_ends(ends, 2)
    one = np.asarray(1.0), np.asarray(1.0)
    slopes = add_ends(one, (-square[1], -square[0]))
    return x.compose(ends, (np.maximum(slopes[0], 0.0), slopes[1]))


def _cosine_ends(ends: Ends) -> Ends:
    """Enclose a cosine: an end is one where a multiple of pi may lie between."""
    low, high = ends
    first = np.where(np.isfinite(low), low, 0.0)
    last = np.where(np.isfinite(high), high, 0.0)
    values = np.cos(first), np.cos(last)
    smallest, largest = widen_ends(np.minimum(*values), np.maximum(*values), LIBRARY_STEPS)
    # The quotient by 2 pi is rounded, so an end that lies on a multiple of pi could be counted
    # on the wrong side; a box that only seems to hold a peak gets looser ends, never wrong
    # ones.
    slack = 1e-12 * (1 + np.maximum(np.abs(first), np.abs(last)))
    start, end = (first - slack) / (2 * np.pi), (last + slack) / (2 * np.pi)
    # From 1e6 periods on, the error of the quotient nears the slack; -1 and 1 are always right.
    wide = ~np.isfinite(low) | ~np.isfinite(high) | (np.abs(start) > 1e6) | (np.abs(end) > 1e6)
    has_top = wide | (np.floor(end) >= np.ceil(start))
    has_bottom = wide | (np.floor(end - 0.5) >= np.ceil(start - 0.5))
    low, high = np.where(has_bottom, -1.0, smallest), np.where(has_top, 1.0, largest)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _enclose_cos(x: Enclosure) -> Enclosure:
    low, high = _cosine_ends(_shift(x.ends, np.pi / 2))
    return x.compose(_cosine_ends(x.ends), (low, high))


def _shift(ends: Ends, by: float) -> Ends:
    """Enclose a shift by a number that is known up to a rounding."""
    return add_ends(ends, widen_ends(np.asarray(by), np.asarray(by)))


def _enclose_sin(x: Enclosure) -> Enclosure:
    return x.compose(_cosine_ends(_shift(x.ends, -np.pi / 2)), _cosine_ends(x.ends))


def _enclose_absolute(x: Enclosure) -> Enclosure:
    sign = np.where(x.low >= 0, 1.0, -1.0), np.where(x.high <= 0, -1.0, 1.0)
    low = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return x.compose((low, np.maximum(np.abs(x.low), np.abs(x.high))), sign)


def _make_step_enclosure(function: Callable[[Array], Array]) -> Callable[[Enclosure], Enclosure]:
    def enclose(x: Enclosure) -> Enclosure:
        return jump_between(function(x.low), function(x.high), x)

    return enclose


def jump_between(low: Array, high: Array, *operands: Enclosure) -> Enclosure:
    """Return the enclosure of a step function: no slope where it is constant, else any."""
    slopes = operands[0].slopes
    if slopes is None:
        return Enclosure(low, high)
    # A jump has no finite slope: with (-inf, inf) the mean value theorem says nothing of such a
    # box, and interval arithmetic alone bounds it.
    slope = np.where(low == high, 0.0, np.inf) + np.zeros_like(slopes[0])
    return Enclosure(low, high, (-slope, slope))


def _enclose_maximum(x: Enclosure, y: Enclosure) -> Enclosure:
    ends = np.maximum(x.low, y.low), np.maximum(x.high, y.high)
    return Enclosure(*ends, _choose_slopes(x, y, x.low >= y.high, y.low >= x.high))


def _enclose_minimum(x: Enclosure, y: Enclosure) -> Enclosure:
    ends = np.minimum(x.low, y.low), np.minimum(x.high, y.high)
    return Enclosure(*ends, _choose_slopes(x, y, x.high <= y.low, y.high <= x.low))


def _choose_slopes(x: Enclosure, y: Enclosure, is_x: Truth, is_y: Truth) -> Ends | None:
    """Return the slopes of one of two values, and of both where either may be chosen."""
    if x.slopes is None or y.slopes is None:
        return None
    low, high = np.minimum(x.slopes[0], y.slopes[0]), np.maximum(x.slopes[1], y.slopes[1])
    # Where the two may tie within a box, Clarke's gradient at the tie is the hull of both
    # slopes.
    low = np.where(is_x, x.slopes[0], np.where(is_y, y.slopes[0], low))
    return low, np.where(is_x, x.slopes[1], np.where(is_y, y.slopes[1], high))


def _enclose_less(x: Enclosure, y: Enclosure) -> Enclosure:
    always, never = x.high < y.low, x.low >= y.high
    return jump_between(np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0), x)


def _less_equal(x: Enclosure, y: Enclosure) -> Enclosure:
    always, never = x.high <= y.low, x.low > y.high
    return jump_between(np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0), x)


def _enclose_equal(x: Enclosure, y: Enclosure) -> Enclosure:
    always = (x.low == x.high) & (y.low == y.high) & (x.low == y.low)
    never = (x.high < y.low) | (y.high < x.low)
    return jump_between(np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0), x)


def _truth_ends(x: Enclosure) -> Ends:
    always, never = (x.low > 0) | (x.high < 0), (x.low == 0) & (x.high == 0)
    return np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _logical_not(x: Enclosure) -> Enclosure:
    low, high = _truth_ends(x)
    return jump_between(1 - high, 1 - low, x)


def _logical_and(x: Enclosure, y: Enclosure) -> Enclosure:
    one, other = _truth_ends(x), _truth_ends(y)
    return jump_between(one[0] * other[0], one[1] * other[1], x)


def _logical_or(x: Enclosure, y: Enclosure) -> Enclosure:
    one, other = _truth_ends(x), _truth_ends(y)
    return jump_between(np.maximum(one[0], other[0]), np.maximum(one[1], other[1]), x)


def _enclose_where(condition: Enclosure, x: Enclosure, y: Enclosure) -> Enclosure:
    first, last = _truth_ends(condition)
    is_x, is_y = first == 1, last == 0
    low = np.where(is_x, x.low, np.where(is_y, y.low, np.minimum(x.low, y.low)))
    high = np.where(is_x, x.high, np.where(is_y, y.high, np.maximum(x.high, y.high)))
    slopes = _choose_slopes(x, y, is_x, is_y)
    if slopes is None:
        return Enclosure(low, high)
    # Unlike a maximum, a choice may jump where its condition turns, so the hull of the slopes
    # is not enough.
    jumps = ~(is_x | is_y)
    least, most = np.where(jumps, -np.inf, slopes[0]), np.where(jumps, np.inf, slopes[1])
    return Enclosure(low, high, (least, most))


FUNCTIONS: dict[str, Callable[..., Enclosure]] = {
    "reciprocal": _enclose_reciprocal,
    "exp": _enclose_exp,
    "expm1": _enclose_expm1,
    "log": _enclose_log,
    "log1p": _enclose_log1p,
    "sqrt": _enclose_sqrt,
    "arctan": _enclose_arctan,
    "tanh": _enclose_tanh,
    "sin": _enclose_sin,
    "cos": _enclose_cos,
    "absolute": _enclose_absolute,
    "sign": _make_step_enclosure(np.sign),
    "floor": _make_step_enclosure(np.floor),
    "ceil": _make_step_enclosure(np.ceil),
    "rint": _make_step_enclosure(np.rint),
    "trunc": _make_step_enclosure(np.trunc),
    "maximum": _enclose_maximum,
    "minimum": _enclose_minimum,
    "less": _enclose_less,
    "less_equal": _less_equal,
    "equal": _enclose_equal,
    "logical_not": _logical_not,
    "logical_and": _logical_and,
    "logical_or": _logical_or,
    "where": _enclose_where,
}
"""How an operation of a program acts on enclosures, by name."""
