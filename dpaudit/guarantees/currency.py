"""Currencies: the number in which a claim is stated, and the meaning of a certified epsilon in it.

A claim of (epsilon, delta) names its point. One of a whole curve does not: it holds at every delta,
and an audit takes the delta that outputs suggest which certify nothing. A bound on epsilon at
that delta is then one in the currency of the claim: a mechanism that keeps the curve of some mu
has at most that curve's epsilon, at every delta. A Renyi divergence is no point of a curve; it is
bounded by itself (`dpaudit.estimation.divergence`), at an order that is chosen the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

# Where a curve is looked at, and the orders of divergences that concentrated claims bound.
_NEAR_ONE = 1 - np.geomspace(0.09, 1e-4, 40)
_DELTAS = tuple(
    np.concatenate([np.geomspace(1e-6, 0.1, 151), np.linspace(0.11, 0.9, 80), _NEAR_ONE]).tolist()
)
_OF_NOTHING = 2.0  # what any epsilon is of a claim of 0, at least
_LARGEST = 600.0  # of an epsilon in an exponent
_FEWER = 8  # times, where a delta only says which event is looked at
_ORDERS = tuple((1 + np.geomspace(0.05, 31, 8)).tolist())


@dataclass(frozen=True)
class Currency:
    """The number of a claim: epsilon at a delta that is chosen, unless a subclass says another.

    ``symbol`` stands before it in a table, ``name`` in a sentence; ``orders`` are those of Renyi
    divergences, where they are what is bounded.
    """

    guarantee: Guarantee
    symbol: str = "ε"
    name: str = "epsilon"
    orders: tuple[float, ...] = ()

    def deltas(self) -> tuple[float, ...]:
        """Return the deltas at which the claim bounds epsilon: an audit chooses from them."""
        asked = _DELTAS[::_FEWER] if self.orders else _DELTAS
        return tuple(d for d in asked if math.isfinite(self.guarantee.epsilon(d)))

    def claimed(self, delta: float) -> float:
        """Return the claimed number, at a delta if the currency is epsilon."""
        return self.guarantee.epsilon(delta)

    def value(self, epsilon: float, delta: float) -> float:
        """Return a certified lower end of epsilon at delta in this currency."""
        return epsilon

    def of(self, guarantee: Guarantee, delta: float) -> float:
        """Return another guarantee in this currency, infinite if that is not known."""
        return guarantee.epsilon(delta)

    def share(self, epsilon: float, delta: float) -> float:
        """Return how much of the claim such an epsilon reaches; by itself where 0 is claimed."""
        claimed, value = self.claimed(delta), self.value(epsilon, delta)
        return value / claimed if claimed else (_OF_NOTHING + value if value else 0.0)


@dataclass(frozen=True)
class _Mu(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, GaussianDP)
        return self.guarantee.mu

    def value(self, epsilon: float, delta: float) -> float:
        if epsilon <= 0 or delta <= 0:  # where nothing is missed, every mu has any epsilon
            return 0.0
        # A smaller epsilon is certified as well, so that the limit errs to a smaller mu.
        return gaussian.mu_at(min(epsilon, _LARGEST), math.log(delta))

    def of(self, guarantee: Guarantee, delta: float) -> float:
        return guarantee._mu()


@dataclass(frozen=True)
class _Rho(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, ZeroConcentratedDP)
        return self.guarantee.rho

    def value(self, epsilon: float, delta: float) -> float:
        return max(least_divergence(order, epsilon, delta) / order for order in self.orders)

    def of(self, guarantee: Guarantee, delta: float) -> float:
        return guarantee._rho()


@dataclass(frozen=True)
class _Renyi(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, RenyiDP)
        return self.guarantee.at_epsilon

    def value(self, epsilon: float, delta: float) -> float:
        return least_divergence(self.orders[0], epsilon, delta)

    def of(self, guarantee: Guarantee, delta: float) -> float:
        order = self.orders[0]
        # Rho-zCDP bounds every order, and pure DP the order of infinity. A Renyi guarantee bounds
        # the orders below its own alone, as divergences grow with their order.
        known = [guarantee._rho() * order, guarantee.epsilon(0.0)]
        if isinstance(guarantee, RenyiDP) and guarantee.order >= order:
            known.append(guarantee.at_epsilon)
        return min(known)


def currency_of(guarantee: Guarantee) -> Currency | None:
    """Return the currency of a claim; None for (epsilon, delta), which names its own point.

    Examples
    --------
    >>> found = currency_of(GaussianDP(1.0))
    >>> round(found.value(GaussianDP(0.7).epsilon(0.01), 0.01), 9)
    0.7
    >>> currency_of(PureDP(1.0)) is None
    True
    """
    match guarantee:
        case PureDP() | ApproximateDP():
            return None
        case GaussianDP():
            return _Mu(guarantee, "μ", "mu")
        case ZeroConcentratedDP():
            return _Rho(guarantee, "\N{GREEK SMALL LETTER RHO}", "rho", _ORDERS)
        case RenyiDP(order=order):
            name = f"Renyi divergence of order {order:g}"
            return _Renyi(guarantee, "D", name, (order,))
    return Currency(guarantee)


def least_divergence(order: float, epsilon: float, delta: float) -> float:
    """Return the least Renyi divergence with an event of ``P(S) >= exp(epsilon) Q(S) + delta``.

    That of the event and its complement, the least over Q(S): no post-processing has more. 0 at
    delta = 0, where laws nearly the same may have such an event.

    Examples
    --------
    >>> import math
    >>> round(least_divergence(2.0, math.log(3), 0.0), 3)
    0.0
    >>> round(least_divergence(2.0, 5.0, 0.3), 2)
    5.18
    """
    if epsilon <= 0 or delta <= 0:
        return 0.0
    epsilon = min(epsilon, _LARGEST)  # a smaller one holds, too
    most = (1 - delta) * math.exp(-epsilon)

    def divergence(log_rate: float) -> float:
        q = math.exp(log_rate)
        p = min(1.0, math.exp(epsilon) * q + delta)
        hit = order * math.log(p) + (1 - order) * math.log(q)
        miss = order * math.log1p(-p) + (1 - order) * math.log1p(-q) if p < 1 else -math.inf
        return float(np.logaddexp(hit, miss)) / (order - 1)

    # Beyond the largest Q(S) the event would have a P-mass above 1. Towards a rate of 0 the
    # divergence grows without bound, so that the least is between.
    low, high = math.log(most) - 30, math.log(most)
    found = minimize_scalar(divergence, bounds=(low, high), method="bounded")
    grid = min(divergence(x) for x in np.linspace(low, high, 61))
    # The value certifies a lower end, and a minimum found numerically is a little above the true
    # one: it gives way downwards by more than the search may be off.
    return max(0.0, min(float(found.fun), grid) * (1 - 1e-6) - 1e-9)
