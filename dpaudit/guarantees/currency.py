"""Currencies: in which number a claim is stated, and what a certified epsilon says in it.

A claim of (epsilon, delta) names its point. One of a whole curve does not: it holds at every delta,
and an audit takes the delta that transcripts suggest which certify nothing. A bound on epsilon at
that delta is then one in the currency of the claim: a mechanism that keeps the curve of some mu
has at most that curve's epsilon, at every delta. A Renyi divergence is no point of a curve; it is
bounded by itself (`dpaudit.estimation.divergence`), at an order that is chosen the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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
_DELTAS = tuple(np.concatenate([np.geomspace(1e-6, 0.1, 31), np.linspace(0.12, 0.9, 27)]).tolist())
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
        """Return where the claim says something about epsilon: what an audit may choose from."""
        return tuple(d for d in _DELTAS if math.isfinite(self.guarantee.epsilon(d)))

    def claimed(self, delta: float) -> float:
        """Return what is claimed, at a delta if the currency is epsilon."""
        return self.guarantee.epsilon(delta)

    def value(self, epsilon: float, delta: float) -> float:
        """Return what a certified lower end of epsilon at delta is in this currency."""
        return epsilon

    def of(self, guarantee: Guarantee, delta: float) -> float:
        """Return what another guarantee is in this currency, infinite if that is not known."""
        return guarantee.epsilon(delta)


@dataclass(frozen=True)
class _Mu(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, GaussianDP)
        return self.guarantee.mu

    def value(self, epsilon: float, delta: float) -> float:
        return gaussian.mu_at(epsilon, math.log(delta)) if epsilon > 0 else 0.0

    def of(self, guarantee: Guarantee, delta: float) -> float:
        return guarantee._mu()


@dataclass(frozen=True)
class _Rho(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, ZeroConcentratedDP)
        return self.guarantee.rho

    def of(self, guarantee: Guarantee, delta: float) -> float:
        return guarantee._rho()


@dataclass(frozen=True)
class _Renyi(Currency):
    def claimed(self, delta: float) -> float:
        assert isinstance(self.guarantee, RenyiDP)
        return self.guarantee.at_epsilon

    def of(self, guarantee: Guarantee, delta: float) -> float:
        order = self.orders[0]
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
