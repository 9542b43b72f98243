"""The privacy loss of one output with a proved error bound, whatever cancels in it.

Doubles are rationals, and enter exactly; what is computed from them is a ball that holds the true
number (`dpaudit.reals`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from mpmath import ldexp, mpf, workdps

from dpaudit._typing import Array
from dpaudit.reals import DIGITS, SECONDS, Real, UndecidedComparison, precision

_NARROW = 1e-15  # the width of an interval as a share of its lower end


def ends(computed: Callable[[], Real]) -> tuple[float, float]:
    """Return doubles between which a number lies, infinite where nothing can be proved.

    Parameters
    ----------
    computed
        Computes it; called with 60, 250, 1,000 and 4,000 digits until the doubles are as near to
        each other as doubles are, for a minute at most.

    Examples
    --------
    >>> big, small = Real(1e300), Real(1e-300)
    >>> ends(lambda: (big + small) ** 2 - big**2)
    (2.0, 2.0000000000000004)
    >>> ends(lambda: Real(1) / (big - big))
    (-inf, inf)
    """
    low, high, over = -math.inf, math.inf, time.process_time() + SECONDS
    for digits in DIGITS:
        try:
            with precision(digits, over - time.process_time()):
                lower, upper = _round_ball_outward(computed())
        except UndecidedComparison:
            continue
        except ArithmeticError:  # out of time, or a division by 0
            break
        # Both intervals are proved to hold the number, and so is their intersection.
        low, high = max(low, lower), min(high, upper)
        if math.isfinite(low) and high - low <= _NARROW * abs(low):
            break
    return low, high


def in_digits(computed: Callable[[], Real], digits: int) -> Any:
    """Return a number as mpmath's, without its bound, computed with so many digits at least.

    Where they leave a sign open it is computed with more; where 4,000 do, it is nan.

    Examples
    --------
    >>> float(in_digits(lambda: Real(1) / 3, 20))
    0.3333333333333333
    """
    for used in (digits, *(more for more in DIGITS if more > digits)):
        try:
            with precision(used), workdps(used):
                mantissa, exponent = computed().ball.mid().man_exp()
                return ldexp(mpf(int(mantissa)), int(exponent))
        except UndecidedComparison:
            continue
    return mpf("nan")


def compute_exact_squared_distance(point: Array, centre: Array) -> Fraction:
    """Return ``||point - centre||^2`` of doubles without error.

    A double is an integer times a power of two, and Python's integers have no end.

    Raises
    ------
    UndecidedComparison
        One of them is no number.

    Examples
    --------
    >>> compute_exact_squared_distance(np.array([0.5, 5e-324]), np.array([0.0, 5e-324]))
    Fraction(1, 4)
    """
    if not (np.isfinite(point).all() and np.isfinite(centre).all()):
        raise UndecidedComparison
    mantissas, exponents = np.frexp(np.stack([point, centre]))
    least = int(exponents.min(initial=0))
    shifts = (exponents - least).astype(object)
    # A mantissa has 53 bits, so that this product is an integer without rounding.
    near, far = (mantissas * 2.0**53).astype(np.int64).astype(object) << shifts
    return int(np.sum((near - far) ** 2)) * Fraction(2) ** (2 * (least - 53))


def _round_ball_outward(number: Real) -> tuple[float, float]:
    """Return the doubles around a ball."""
    # float() rounds to the nearest double, which may lie inside the ball.
    low, high = float(number.ball.lower()), float(number.ball.upper())
    return (
        low if arb(low) <= number.ball else math.nextafter(low, -math.inf),
        high if arb(high) >= number.ball else math.nextafter(high, math.inf),
    )
