r"""Guarantees: what each says at every epsilon, at every delta, and as a trade-off curve.

A guarantee bounds the hockey-stick divergence of a mechanism's outputs on any two neighbours, in
both directions. All four kinds answer the same three questions:

* ``delta(epsilon)``: the smallest delta that is implied at this epsilon;
* ``epsilon(delta)``: the smallest epsilon that is implied at this delta (infinite when none is);
* ``trade_off(rate)``: the least false-negative rate of any attack at a false-positive rate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

import dpaudit._validate as check
from dpaudit.accounting import gaussian
from dpaudit.errors import InvalidArgument


class Guarantee(ABC):
    """A privacy guarantee, for one relation, in both directions."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the smallest delta implied at ``epsilon >= 0``."""

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon implied at ``delta`` in [0, 1), or infinity."""

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate of any attack at this false-positive rate.

        Every ``(epsilon, delta)`` gives two lines no attack can go below (Wasserman & Zhou 2010);
        the answer is the highest of those over a grid of epsilon, so it never overstates.
        """
        rate = _rate(false_positive_rate)
        grid = np.concatenate([[0.0], np.geomspace(1e-3, max(self._far(), 2e-3), 200)])
        deltas = np.array([self.delta(e) for e in grid])
        lines = np.maximum(1 - deltas - np.exp(grid) * rate, np.exp(-grid) * (1 - deltas - rate))
        return float(max(0.0, lines.max()))

    def _far(self) -> float:
        """Return an epsilon beyond which the trade-off curve is flat to the eye."""
        return min(self.epsilon(1e-12), 700.0)

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value:g}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


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
        check.delta("delta", self.at_delta)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon >= self.at_epsilon:
            return self.at_delta
        # (e^E - e^e) / (1 + e^E), with no power above 1
        gap = -math.expm1(epsilon - self.at_epsilon) / (1 + math.exp(-self.at_epsilon))
        return self.at_delta + (1 - self.at_delta) * gap

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon implied at ``delta``: infinite below the claim's delta."""
        delta = check.delta("delta", delta)
        if delta < self.at_delta:
            return math.inf
        gap = (delta - self.at_delta) / (1 - self.at_delta) * (1 + math.exp(-self.at_epsilon))
        return max(0.0, self.at_epsilon + math.log1p(-gap)) if gap < 1 else 0.0

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the least false-negative rate: two lines and zero."""
        rate = _rate(false_positive_rate)
        steep = 1 - self.at_delta - math.exp(min(self.at_epsilon, 700)) * rate
        return max(0.0, steep, math.exp(-self.at_epsilon) * (1 - self.at_delta - rate))


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
        """Return the exact delta at ``epsilon >= 0``."""
        return math.exp(gaussian.log_delta(self.mu, check.non_negative("epsilon", epsilon)))

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon at ``delta``; infinite at delta = 0 unless mu = 0."""
        delta = check.delta("delta", delta)
        return gaussian.epsilon_at(self.mu, math.log(delta) if delta else -math.inf)

    def trade_off(self, false_positive_rate: float) -> float:
        """Return ``Phi(Phi^-1(1 - rate) - mu)``."""
        return gaussian.trade_off(self.mu, _rate(false_positive_rate))


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
        epsilon = check.non_negative("epsilon", epsilon)
        if self.rho == 0:
            return 0.0

        def log_delta(log_excess: float) -> float:
            excess = math.exp(log_excess)  # the order is 1 + excess
            order = 1 + excess
            exponent = excess * (order * self.rho - epsilon)
            return exponent + excess * math.log(excess / order) - math.log(order)

        best = _least(log_delta)
        return min(1.0, math.exp(min(best, 0.0)))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``; infinite at delta = 0 unless rho = 0."""
        delta = check.delta("delta", delta)
        if self.rho == 0:
            return 0.0
        if delta == 0:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        # Bun & Steinke 2016, Proposition 1.3: implied as well, and what remains when no order on
        # the grid does better.
        high = self.rho + 2 * math.sqrt(self.rho * -math.log(delta))
        if self.delta(high) >= delta:
            return high
        return float(brentq(lambda e: self.delta(e) - delta, 0.0, high, xtol=1e-12))


def _least(function: object) -> float:
    """Return the least value of a smooth function of a log-order, on a grid and then refined."""
    grid = np.linspace(math.log(1e-4), math.log(1e8), 200)
    values = [function(float(x)) for x in grid]  # type: ignore[operator]
    at = int(np.argmin(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    refined = minimize_scalar(function, bounds=(low, high), method="bounded")
    return float(min(values[at], refined.fun))


def _rate(value: object) -> float:
    rate = check.real("false_positive_rate", value)
    if not 0 <= rate <= 1:
        raise InvalidArgument("false_positive_rate", value, "a number in [0, 1]")
    return rate
