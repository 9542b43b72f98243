r"""Guarantees: the promise of each at every epsilon and delta, to an attacker, and of groups.

A guarantee bounds the hockey-stick divergence of a mechanism's outputs on any two neighbours, in
both directions. Every kind answers the same questions:

* ``delta(epsilon)``: the smallest delta that is implied at this epsilon;
* ``epsilon(delta)``: the smallest epsilon that is implied at this delta (infinite when none is);
* ``trade_off(rate)``: the least false-negative rate of any attack at a false-positive rate;
* ``advantage()``, ``success(prior)``, ``posterior(prior, delta)``: the most an attacker can
  hope for (`dpaudit.guarantees.guarantee`);
* ``group(size)``, ``replace_one()``: the guarantee for datasets several steps apart;
* ``implies(other)``: whether another guarantee follows (`dpaudit.guarantees.guarantee`).

Every delta and epsilon is rounded up, and every false-negative rate down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri_exp

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import gaussian, rounding, tangents
from dpaudit.guarantees.guarantee import GroupOf, Guarantee, require_fraction

__all__ = [
    "ApproximateDP",
    "GaussianDP",
    "GroupOf",
    "Guarantee",
    "PureDP",
    "RenyiDP",
    "ZeroConcentratedDP",
]


@dataclass(frozen=True)
class ApproximateDP(Guarantee):
    """(epsilon, delta)-differential privacy (Dwork et al. 2006).

    The implied curve is that of the pair of distributions that dominates every
    (epsilon, delta)-DP mechanism (Kairouz, Oh & Viswanath 2015, section 3).

    Examples
    --------
    >>> claim = ApproximateDP(1.0, 1e-5)
    >>> claim.epsilon(1e-5), claim.epsilon(1e-6)
    (1.0, inf)
    >>> round(claim.trade_off(0.1), 4)
    0.7282
    """

    at_epsilon: float
    at_delta: float

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.at_epsilon)
        check.require_delta("delta", self.at_delta)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon >= self.at_epsilon:
            return self.at_delta
        # (e^E - e^e) / (1 + e^E), with no power above 1
        off = rounding.UNIT * 2 * self.at_epsilon  # by which the difference may be too small
        gap = -math.expm1(epsilon - self.at_epsilon - off) / (1 + math.exp(-self.at_epsilon))
        found = rounding.bound_above(self.at_delta + (1 - self.at_delta) * gap, 0.0)
        return min(1.0, found)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon implied at ``delta``: infinite below the claim's delta."""
        delta = check.require_delta("delta", delta)
        if delta < self.at_delta:
            return math.inf
        gap = (delta - self.at_delta) / (1 - self.at_delta) * (1 + math.exp(-self.at_epsilon))
        # Epsilon falls with the gap: rounded down, it errs to a larger epsilon.
        gap -= rounding.UNIT * 8 * gap
        if gap >= 1:
            return 0.0
        found = rounding.bound_above(self.at_epsilon + math.log1p(-gap), self.at_epsilon)
        return min(self.at_epsilon, max(0.0, found))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate: two lines and zero."""
        rate = require_fraction("false_positive_rate", false_positive_rate)
        power = _times_exp(rate, self.at_epsilon)
        steep = rounding.bound_below(1 - self.at_delta - power, power * (1 + self.at_epsilon))
        shallow = math.exp(-self.at_epsilon) * (1 - self.at_delta - rate)
        off = math.exp(-self.at_epsilon) * (1 + self.at_epsilon)
        return max(0.0, steep, rounding.bound_below(shallow, off))

    def _group(self, size: int) -> Guarantee:
        """Return ``(k epsilon, delta sum over i < k of e^(i epsilon))``-DP.

        One step after the other; Vadhan 2017, Lemma 2.2 rounds the sum up. Where it is 1 or more,
        which says nothing: `GroupOf`, which may still say something.
        """
        epsilon = rounding.times_up(size, self.at_epsilon)
        if self.at_delta == 0:
            return ApproximateDP(epsilon, 0.0)
        log_sum = _log_geometric_sum(self.at_epsilon, size)
        summed = _times_exp(self.at_delta, log_sum)
        delta = rounding.bound_above(summed, 0.0, 16.0 + 8 * (log_sum + epsilon))
        return ApproximateDP(epsilon, delta) if delta < 1 else GroupOf(self, size)

    def _follows_from(self, other: Guarantee) -> bool:
        if self.at_delta == 0:  # not decided by a delta that was rounded to 0
            return other.epsilon(0.0) <= self.at_epsilon
        return other.log_delta(self.at_epsilon) <= math.log(self.at_delta)

    def _mu(self) -> float:
        return math.inf if self.at_delta else PureDP(self.at_epsilon)._mu()

    def _rho(self) -> float:
        return math.inf if self.at_delta else PureDP(self.at_epsilon)._rho()


@dataclass(frozen=True)
class PureDP(Guarantee):
    """epsilon-differential privacy: `ApproximateDP` at delta = 0.

    Examples
    --------
    >>> round(PureDP(1.0).delta(0.0), 6)
    0.462117
    """

    at_epsilon: float

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.at_epsilon)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta implied at ``epsilon >= 0``."""
        return ApproximateDP(self.at_epsilon, 0.0).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon implied at ``delta``."""
        return ApproximateDP(self.at_epsilon, 0.0).epsilon(delta)

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate at a false-positive rate."""
        return ApproximateDP(self.at_epsilon, 0.0).trade_off(false_positive_rate)

    def as_zero_concentrated(self) -> ZeroConcentratedDP:
        """Return the ``epsilon^2 / 2``-zCDP that follows (Bun & Steinke 2016, Proposition 1.4)."""
        return ZeroConcentratedDP(self._rho())

    def _group(self, size: int) -> PureDP:
        """Return ``k epsilon``-DP; `GroupOf` is tighter at small epsilon, and no pure guarantee."""
        return PureDP(rounding.times_up(size, self.at_epsilon))

    def _follows_from(self, other: Guarantee) -> bool:
        return other.epsilon(0.0) <= self.at_epsilon

    def _mu(self) -> float:
        # The trade-off curve is two chords, of (0, 1), (x, x), (1, 0) with x = 1 / (1 + e^epsilon):
        # a convex curve between the same ends is below it as soon as it is at x.
        return -2 * float(ndtri_exp(-tangents.log_add(0.0, self.at_epsilon)))

    def _rho(self) -> float:
        return rounding.half_square_up(self.at_epsilon)


@dataclass(frozen=True)
class GaussianDP(Guarantee):
    """mu-Gaussian differential privacy (Dong, Roth & Su 2022), exact in every answer.

    Examples
    --------
    >>> round(GaussianDP(1.0).epsilon(1e-5), 6)
    4.377178
    """

    mu: float

    def __post_init__(self) -> None:
        check.non_negative("mu", self.mu)

    def delta(self, epsilon: float) -> float:
        """Return the exact delta at ``epsilon >= 0``, rounded up."""
        return gaussian.delta_above(self.mu, check.non_negative("epsilon", epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))`` at any size, a few units in the last place above it."""
        return gaussian.log_delta_above(self.mu, check.non_negative("epsilon", epsilon))

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon, rounded up; infinite at delta = 0 unless mu = 0."""
        return gaussian.epsilon_above(self.mu, check.require_delta("delta", delta))

    def delta_below(self, epsilon: float) -> float:
        """Return the exact delta, rounded down: mechanisms that attain mu have at least it."""
        return gaussian.delta_below(self.mu, check.non_negative("epsilon", epsilon))

    def epsilon_below(self, delta: float) -> float:
        """Return the exact epsilon, rounded down: mechanisms that attain mu lose at least it."""
        return gaussian.epsilon_below(self.mu, check.require_delta("delta", delta))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return ``Phi(Phi^-1(1 - rate) - mu)``, rounded down."""
        rate = require_fraction("false_positive_rate", false_positive_rate)
        return gaussian.trade_off_below(self.mu, rate)

    def as_zero_concentrated(self) -> ZeroConcentratedDP:
        """Return the ``mu^2 / 2``-zCDP that follows (Dong, Roth & Su 2022, Corollary B.6)."""
        return ZeroConcentratedDP(self._rho())

    def _group(self, size: int) -> GaussianDP:
        """Return ``k mu``-Gaussian DP (Dong, Roth & Su 2022, Theorem 2.14)."""
        return GaussianDP(rounding.times_up(size, self.mu))

    def _follows_from(self, other: Guarantee) -> bool:
        return other._mu() <= self.mu

    def _mu(self) -> float:
        return self.mu

    def _rho(self) -> float:
        return rounding.half_square_up(self.mu)


@dataclass(frozen=True)
class ZeroConcentratedDP(Guarantee):
    """rho-zero-concentrated differential privacy (Bun & Steinke 2016).

    Converted through Renyi divergences of every order: Canonne, Kamath & Steinke 2020,
    Proposition 12. An upper bound, not tight.

    Examples
    --------
    >>> round(ZeroConcentratedDP(0.5).epsilon(1e-5), 2)  # the exact Gaussian value is 4.38
    4.73
    """

    rho: float

    def __post_init__(self) -> None:
        check.non_negative("rho", self.rho)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        return rounding.exp_up(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))``, at any size."""
        return bound_concentrated_log_delta(self.rho, check.non_negative("epsilon", epsilon))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``; infinite at delta = 0 unless rho = 0."""
        delta = check.require_delta("delta", delta)
        return bound_concentrated_epsilon(self.rho, math.log(delta) if delta else -math.inf)

    def _group(self, size: int) -> ZeroConcentratedDP:
        """Return ``k^2 rho``-zCDP (Bun & Steinke 2016, Proposition 1.9)."""
        return ZeroConcentratedDP(rounding.times_up(size * size, self.rho))

    def _follows_from(self, other: Guarantee) -> bool:
        return other._rho() <= self.rho

    def _mu(self) -> float:
        return math.inf if self.rho else 0.0

    def _rho(self) -> float:
        return self.rho


@dataclass(frozen=True)
class RenyiDP(Guarantee):
    """(order, epsilon)-Renyi differential privacy: one order, both directions (Mironov 2017).

    Converted by Canonne, Kamath & Steinke 2020, Proposition 12. An upper bound, not tight.

    Parameters
    ----------
    order
        A finite number above 1.
    at_epsilon
        The bound on the Renyi divergence of that order.

    Examples
    --------
    >>> round(RenyiDP(2.0, 1.0).epsilon(1e-5), 2)
    11.13
    """

    order: float
    at_epsilon: float

    def __post_init__(self) -> None:
        if check.require_positive("order", self.order) <= 1:
            raise InvalidArgument("order", self.order, "a finite number above 1")
        check.non_negative("epsilon", self.at_epsilon)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        return rounding.exp_up(self.log_delta(epsilon))

    def log_delta(self, epsilon: float) -> float:
        """Return ``log(delta(epsilon))``, at any size."""
        epsilon = check.non_negative("epsilon", epsilon)
        if self.at_epsilon == 0:  # the two laws are one
            return -math.inf
        exponent = (self.order - 1) * (self._offset() - epsilon)
        terms = (self.order - 1) * (self.at_epsilon + epsilon + 1) + math.log(self.order)
        return min(0.0, rounding.bound_above(exponent - math.log(self.order), terms))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``; infinite at 0 unless ``at_epsilon`` is 0."""
        delta = check.require_delta("delta", delta)
        if self.at_epsilon == 0:
            return 0.0
        if delta == 0:
            return math.inf
        log_delta, log_order = math.log(delta), math.log(self.order)
        shift = (log_delta + log_order) / (self.order - 1)
        terms = self.at_epsilon + 1 + (log_order - log_delta) / (self.order - 1)
        return max(0.0, rounding.bound_above(self._offset() - shift, terms))

    def _offset(self) -> float:
        return self.at_epsilon + math.log1p(-1 / self.order)

    def _follows_from(self, other: Guarantee) -> bool:
        if isinstance(other, RenyiDP):  # divergences grow with their order
            return other.order >= self.order and other.at_epsilon <= self.at_epsilon
        return other._rho() * self.order <= self.at_epsilon or other.epsilon(0.0) <= self.at_epsilon

    def _mu(self) -> float:
        return math.inf if self.at_epsilon else 0.0

    def _rho(self) -> float:
        return math.inf if self.at_epsilon else 0.0


def _times_exp(value: float, exponent: float) -> float:
    """Return ``value * exp(exponent)``, where the power alone may be too large for a double."""
    root = math.exp(min(exponent, 1400.0) / 2)
    return value * root * root


def _log_geometric_sum(epsilon: float, size: int) -> float:
    """Return the logarithm of ``sum over i < size of exp(i epsilon)``."""
    if epsilon * size < 1e-12:
        return math.log(size) + epsilon * (size - 1) / 2
    return (size - 1) * epsilon + math.log(math.expm1(-size * epsilon) / math.expm1(-epsilon))


def bound_concentrated_log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of a delta that rho-zCDP implies at ``epsilon >= 0``, not tight.

    Every Renyi order gives a bound; the least of them is the answer. Canonne, Kamath & Steinke
    2020, Proposition 12, with the divergence of every order at most ``rho * order`` (Bun & Steinke
    2016).

    Examples
    --------
    >>> round(bound_concentrated_log_delta(0.5, 40.0), 1)  # the exact Gaussian value is -788.4
    -784.8
    """
    if rho == 0:
        return -math.inf

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # the order is 1 + excess
        lost = excess * math.log1p(1 / excess), math.log1p(excess)
        # The terms nearly cancel at the best order: their sum gives way by the roundings of their
        # sizes, not of its own.
        terms = excess * (1 + excess) * rho, -excess * epsilon, -lost[0], -lost[1]
        return rounding.bound_above(math.fsum(terms), sum(map(abs, terms)))

    return min(0.0, _least_over_orders(bound))


def bound_concentrated_epsilon(rho: float, log_delta_target: float) -> float:
    """Return an ``epsilon >= 0`` at which delta is at most the target, infinite when none is.

    Examples
    --------
    >>> round(bound_concentrated_epsilon(0.5, math.log(1e-5)), 2)
    4.73
    """
    if rho == 0:
        return 0.0
    if log_delta_target == -math.inf:
        return math.inf

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        rest = -log_delta_target / excess, -math.log1p(excess) / excess
        terms = (1 + excess) * rho, -math.log1p(1 / excess), *rest
        return rounding.bound_above(math.fsum(terms), sum(map(abs, terms)))

    # Bun & Steinke 2016, Proposition 1.3: implied as well, and what remains when no order on
    # the grid does better.
    far = 2 * math.sqrt(rho * -log_delta_target)
    return max(0.0, min(_least_over_orders(bound), rounding.bound_above(rho + far, 0.0)))


def _least_over_orders(function: Callable[[float], float]) -> float:
    """Return the least value of a smooth function of a log-order, on a grid and then refined."""
    grid = np.linspace(math.log(1e-4), math.log(1e8), 200)
    values = [function(float(x)) for x in grid]
    at = int(np.argmin(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    refined = minimize_scalar(function, bounds=(low, high), method="bounded")
    return float(min(values[at], refined.fun))
