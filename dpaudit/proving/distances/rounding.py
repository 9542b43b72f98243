"""Arithmetic that rounds outwards: a bound that is computed is never below the real one.

A sum, difference, product, quotient or root of doubles is the nearest double to the real result,
so that its neighbour on either side is beyond it. A sum of doubles that comes out as 0 is exact; a
product or quotient that does is exact where an operand is 0, and else underflowed. A computed sum
of m terms of one sign is off by less than m units of 2^-52 of itself. The elementary functions of
numpy are off by less than four units in the last place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_UNIT = 2.0**-52
# Twice the four units that numpy's functions may be off.
_LAST_PLACES = 8
_LEAST = 5e-324
_SMALL = 1e-280
_ABOVE = 1.0 + 2.0 * _UNIT


def up(value: Any) -> Any:
    """Return the doubles above those of results that were rounded; 0 is exact.

    Examples
    --------
    >>> bool(up(0.1 + 0.2) > 0.3)
    True
    """
    if isinstance(value, float):
        return value if value == 0 else np.float64(math.nextafter(value, math.inf))
    return np.where(value == 0, value, np.nextafter(value, math.inf))


def round_array_down(value: Any) -> Any:
    """Return the doubles below those of results that were rounded; 0 is exact."""
    if isinstance(value, float):
        return value if value == 0 else np.float64(math.nextafter(value, -math.inf))
    return np.where(value == 0, value, np.nextafter(value, -math.inf))


def add_up(one: Any, other: Any) -> Any:
    """Return numbers at least as large as the sums of two that are not negative.

    A sum of doubles that is too small for this factor to raise it is exact.
    """
    return (one + other) * _ABOVE


def multiply_bounds(one: Any, other: Any) -> Any:
    """Return products of real numbers and infinite bounds: 0 times any bound is 0, unrounded."""
    with np.errstate(all="ignore"):
        product = np.multiply(one, other)
    return np.where(np.isnan(product), 0.0, product)


def multiply_up(one: Any, other: Any) -> Any:
    """Return numbers at least as large as the products of two that are not negative.

    Examples
    --------
    >>> multiply_up(0.0, math.inf), multiply_up(1e-200, 1e-200) > 0
    (0.0, True)
    """
    if isinstance(one, float) and isinstance(other, float):
        if one == 0 or other == 0:
            return 0.0
        # The smallest double on top, because a product that underflows to 0 stays 0 times any
        # factor.
        return float(one) * float(other) * _ABOVE + _LEAST
    if isinstance(one, float) and 0 < one < math.inf and isinstance(other, np.ndarray):
        return _scale_sizes_up(one, other)
    # 0 * inf is NaN, but a movement of 0 stays 0 whatever it is multiplied by.
    is_zero = (np.asarray(one) == 0) | (np.asarray(other) == 0)
    with np.errstate(all="ignore"):
        product = np.nextafter(np.multiply(one, other), math.inf)
    return np.where(is_zero, 0.0, product)


def _scale_sizes_up(factor: float, sizes: Any) -> Any:
    """Return at least sizes times a factor; of results that are very small the next double."""
    # One multiplication for each entry; nextafter would take several times as long on large
    # arrays.
    found = sizes * (factor * _ABOVE)
    is_small = found < _SMALL
    return np.where(is_small & (sizes > 0), found + _LEAST, found) if is_small.any() else found


def divide_up(value: Any, count: float) -> Any:
    """Return numbers at least as large as the quotients by a number above 0, not negative.

    Examples
    --------
    >>> float(divide_up(0.0, 3.0)), bool(divide_up(5e-324, 3.0) > 0)
    (0.0, True)
    """
    # A quotient that underflows to 0 is none of 0: its divisor may be a factor's denominator.
    return np.where(np.asarray(value) == 0, 0.0, np.nextafter(value / count, math.inf))


def sqrt_up(value: Any) -> Any:
    """Return numbers at least as large as the roots of numbers that are not negative."""
    if isinstance(value, float):
        return math.sqrt(value) * _ABOVE
    return np.sqrt(value) * _ABOVE


def function_up(value: Any) -> Any:
    """Return numbers above the values that an elementary function of numpy should have given."""
    # inf - inf would turn an infinite bound into NaN.
    finite = np.where(np.isfinite(value), value, 0.0)
    return np.where(value == 0, value, up(value + np.abs(finite) * (_LAST_PLACES * _UNIT)))


def function_down(value: Any) -> Any:
    """Return numbers below the values that an elementary function of numpy should have given."""
    return -function_up(-value)


def sum_up(terms: Any, axis: Any = None, copies: float = 1.0) -> Any:
    """Return numbers at least as large as the sums of terms that are not negative.

    Parameters
    ----------
    terms
        Not negative; may be infinite.
    axis
        Of the sums.
    copies
        How often each term counts.
    """
    total = np.add.reduce(terms, axis=axis)
    # Nothing was added up, so nothing was rounded.
    if np.size(terms) == np.size(total) and copies == 1.0:
        return total
    return total * (copies * (1.0 + (np.size(terms) + 8) * _UNIT))


def sum_ends(low: Any, high: Any, axis: Any, copies: float = 1.0) -> tuple[Any, Any]:
    """Return the ends of sums of terms between ends, each of which counts as often as `copies`."""
    if np.size(low) == 1 and copies == 1.0:
        return np.sum(low, axis=axis), np.sum(high, axis=axis)
    with np.errstate(all="ignore"):
        below = np.sum(low, axis=axis) * copies
        above = np.sum(high, axis=axis) * copies
        slack = (np.size(low) + 4) * _UNIT * copies
        # Terms of both signs cancel, and the error of the sum is relative to the absolute
        # values, not to the sum itself.
        loss = np.sum(np.abs(low), axis=axis) * slack
        gain = np.sum(np.abs(high), axis=axis) * slack
        return (
            # An infinite term may cancel another to NaN; an end without a number is the widest
            # there is.
            np.where(np.isfinite(loss), round_array_down(below - loss), -math.inf),
            np.where(np.isfinite(gain), up(above + gain), math.inf),
        )
