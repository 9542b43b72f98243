r"""The Gaussian profile, exact: delta at epsilon, epsilon at delta, and the trade-off curve.

Testing N(0, 1) against N(mu, 1) is the whole of Gaussian differential privacy. Its profile

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)

is a difference of nearly equal numbers wherever it matters. With ``x = epsilon/mu - mu/2`` and the
Mills ratio ``R(x) = Phi(-x) / phi(x)`` it is ``phi(x) (R(x) - R(x + mu))``, and the last factor is

    R(x) - R(x + mu) = integral_0^inf exp(-x s - s^2/2) (1 - exp(-mu s)) ds,

a positive integrand: no cancellation, and the logarithm is good at any delta.

Sources: Balle & Wang 2018, Theorem 8 (the profile); Dong, Roth & Su 2022, Corollary 1 and
Theorem 3.2 (the curve, and that sums of squares compose).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from dpaudit.guarantees import rounding

_LARGEST = math.nextafter(math.inf, 0.0)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_QUADRATURE_RULE = np.polynomial.legendre.leggauss(60)
_NODES = _QUADRATURE_RULE[0]
_WEIGHTS = _QUADRATURE_RULE[1]


def log_delta(mu: float, epsilon: float) -> float:
    """Return ``log delta(epsilon)`` of the mu-Gaussian profile, for any real epsilon.

    Examples
    --------
    >>> round(math.exp(log_delta(1.0, 1.0)), 12)
    0.126936737507
    """
    if mu == 0:
        return -math.inf if epsilon >= 0 else math.log(-math.expm1(epsilon))
    x = epsilon / mu - mu / 2
    if x > 1e8:  # the other terms are below the last digit of this one
        return -0.5 * x * x
    if x < -5 or (x < 0 and mu > 1):  # delta is near 1: its complement is what is small
        return math.log1p(-_compute_delta_complement(mu, epsilon))
    return -0.5 * x * x - _LOG_ROOT_TWO_PI + _log_mills_difference(x, mu)


def _compute_delta_complement(mu: float, epsilon: float) -> float:
    """Return ``1 - delta``: a sum of positive terms."""
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if y > 0:  # no large epsilon is added to a large logarithm
        second = 0.5 * math.exp(-x * x / 2) * float(erfcx(y / math.sqrt(2)))
    else:
        second = math.exp(epsilon + float(log_ndtr(-y)))
    return float(ndtr(x)) + second


def _log_mills_difference(x: float, mu: float) -> float:
    """Return ``log(R(x) - R(x + mu))``, for ``x >= -5``."""
    # Far apart, the two Mills ratios may be subtracted; close together, the difference would lose
    # its digits, and the integral has them.
    ratio = float(erfcx((x + mu) / math.sqrt(2)) / erfcx(x / math.sqrt(2)))
    if ratio < 0.9:
        return math.log(math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2))) * (1 - ratio))
    # Beyond this length the integrand is below exp(-60) of its peak.
    length = min(60 / max(x, 1e-9), 11.0 + max(-x, 0))
    s = length * (_NODES + 1) / 2
    # Divided by mu, which may be so small that the product would vanish.
    growth = s if mu < 1e-100 else -np.expm1(-mu * s) / mu
    values = np.exp(-x * s - s * s / 2) * growth
    return math.log(mu) + math.log(float(values @ _WEIGHTS) * length / 2)


def epsilon_at(mu: float, log_delta_target: float) -> float:
    """Return the smallest ``epsilon >= 0`` with ``log delta(epsilon) <= log_delta_target``.

    Examples
    --------
    >>> round(epsilon_at(1.0, math.log(1e-5)), 6)
    4.377178
    """
    if log_delta_target == -math.inf:
        return 0.0 if mu == 0 else math.inf
    if mu == 0 or log_delta(mu, 0.0) <= log_delta_target:
        return 0.0
    # At x = epsilon/mu - mu/2 the profile is below Phi(-x) <= exp(-x^2/2).
    high = mu * (mu / 2 + math.sqrt(-2 * log_delta_target)) + 1e-300
    if not high < math.inf or log_delta(mu, high) >= log_delta_target:  # it is rounded away
        return high
    return _find_root(lambda e: log_delta(mu, e) - log_delta_target, 0.0, high)


def mu_at(epsilon: float, log_delta_target: float) -> float:
    """Return the largest ``mu`` whose profile is at most delta at ``epsilon``: the calibration."""
    high = 1.0
    while log_delta(high, epsilon) < log_delta_target:
        high *= 2
    low = high
    while log_delta(low, epsilon) > log_delta_target:
        low /= 2
    return _find_root(lambda mu: log_delta(mu, epsilon) - log_delta_target, low, high)


def _find_root(function: Callable[[float], float], low: float, high: float) -> float:
    # Roots may be tiny: the tolerance is relative, and bisecting from afar may take many steps.
    return float(brentq(function, low, high, xtol=math.ulp(0.0), rtol=1e-14, maxiter=2000))


def log_delta_above(mu: float, epsilon: float) -> float:
    """Return a number that is not below `log_delta`, a few units in the last place away."""
    found = log_delta(mu, epsilon)
    if mu == 0 or found == -math.inf:
        return found
    x, terms = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return min(0.0, rounding.bound_above(found, 1 + (1 + abs(x)) * terms))


def delta_above(mu: float, epsilon: float) -> float:
    """Return the least double that is proved not to be below delta, for ``epsilon >= 0``.

    Examples
    --------
    >>> 0 <= delta_above(1.0, 1.0) - math.exp(log_delta(1.0, 1.0)) < 1e-15
    True
    """
    if mu == 0:
        return 0.0
    return min(
        1.0,
        max(
            _delta_ends(rounding.to_larger_fraction(mu), rounding.to_smaller_fraction(epsilon))[1],
            0.0,
        ),
    )


def delta_below(mu: float, epsilon: float) -> float:
    """Return a double that is proved not to be above delta, for ``epsilon >= 0``."""
    if mu == 0:
        return 0.0
    return max(
        0.0, _delta_ends(rounding.to_smaller_fraction(mu), rounding.to_larger_fraction(epsilon))[0]
    )


def _delta_ends(mu: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Return both ends of a ball around delta, a few units in the last place apart."""
    for bits in _BITS:
        with ctx.workprec(bits):
            ball = _enclose_gaussian_delta(mu, epsilon)
            # Both ends are of the ball, so that they hold at any precision; more bits only bring
            # them closer, where the two terms cancel.
            top, low = rounding.round_ball_up(ball), rounding.round_ball_down(ball)
        if top <= low * (1 + 4e-15):
            break
    return low, top


_BITS = (128, 512, 2048)
_FAR = 2**19


def _enclose_gaussian_delta(mu: Fraction, epsilon: Fraction) -> arb:
    """Return delta, enclosed: with enough bits its two terms may be subtracted."""
    root, low, high = arb(2).sqrt(), epsilon / mu - mu / 2, epsilon / mu + mu / 2
    x, y = rounding.to_ball(low), rounding.to_ball(high)
    if high > _FAR:  # exp(epsilon) Phi(-y) = phi(x) R(y), and y R(y) is between two terms' sums
        series = arb(1 - 1 / y**2).union(1 - 1 / y**2 + 3 / y**4)
        far = (-x * x / 2).exp() / (2 * arb.pi()).sqrt() * series / y
    else:
        far = rounding.to_ball(epsilon).exp() * (y / root).erfc() / 2
    return (x / root).erfc() / 2 - far


def epsilon_above(mu: float, delta: float) -> float:
    """Return an ``epsilon >= 0`` at which delta is proved, few units above the smallest.

    Parameters
    ----------
    mu
        At least 0.
    delta
        In [0, 1).

    Examples
    --------
    >>> 0 <= epsilon_above(1.0, 1e-5) - epsilon_at(1.0, math.log(1e-5)) < 1e-13
    True
    """
    if delta == 0 or mu == 0:
        return epsilon_at(mu, -math.inf)
    guess = epsilon_at(mu, math.log(delta))
    if guess == math.inf:
        return guess

    def holds(epsilon: float) -> bool:
        return _at_most(
            rounding.to_larger_fraction(mu),
            rounding.to_smaller_fraction(epsilon),
            rounding.to_smaller_fraction(delta),
        )

    return rounding.first_above(guess, rounding.UNIT * delta / 8, holds)


def epsilon_below(mu: float, delta: float) -> float:
    """Return an ``epsilon >= 0`` that is proved not to be above the smallest at this delta."""
    if delta == 0 or mu == 0:
        return epsilon_at(mu, -math.inf)
    guess = min(epsilon_at(mu, math.log(delta)), _LARGEST)

    def holds(epsilon: float) -> bool:
        return not _at_most(
            rounding.to_smaller_fraction(mu),
            rounding.to_larger_fraction(epsilon),
            rounding.to_larger_fraction(delta),
            True,
        )

    return rounding.last_below(guess, rounding.UNIT * delta / 8, holds)


def _at_most(mu: Fraction, epsilon: Fraction, delta: Fraction, undecided: bool = False) -> bool:
    """Return whether a profile is at most delta; ``undecided`` where no digits tell."""
    for bits in _BITS:
        with ctx.workprec(bits):
            found, target = _enclose_gaussian_delta(mu, epsilon), rounding.to_ball(delta)
            if found <= target or found > target:
                # Balls that overlap decide neither comparison: then more bits are tried, and only
                # disjoint ones are answered.
                return bool(found <= target)
    return undecided


def trade_off(mu: float, false_positive_rate: float) -> float:
    """Return the least false-negative rate at a false-positive rate.

    Examples
    --------
    >>> trade_off(0.0, 0.25)
    0.75
    """
    return float(ndtr(-ndtri(false_positive_rate) - mu))


def trade_off_below(mu: float, false_positive_rate: float) -> float:
    """Return a number that is not above `trade_off`, a few units in the last place away."""
    if mu == 0 or false_positive_rate in (0, 1):
        return 1 - false_positive_rate
    quantile = float(ndtri(false_positive_rate))
    at = rounding.bound_below(-quantile - mu, 1 + abs(quantile) + mu)
    # The relative condition of a normal tail grows with the square of its quantile.
    relative = rounding.UNIT * 8 * (1 + min(at, 0.0) ** 2)
    return float(ndtr(at)) * (1 - min(1.0, relative))
