r"""Renyi and zero-concentrated accounting: curves that add up, and what they imply.

Upper bounds for any sequence of releases, and not tight: the conversion to (epsilon, delta) keeps
one number of a whole distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

import dpaudit._validate as check
from dpaudit.accounting.composition import approximate_parts
from dpaudit.accounting.renyi_curves import Array, curve
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    Release,
    ZeroConcentratedRelease,
    releases,
)
from dpaudit.guarantees import Guarantee, ZeroConcentratedDP

_LOG_EXCESS = np.linspace(math.log(1e-6), math.log(1e8), 240)  # of the order over 1
_ORDERS = 1 + np.exp(_LOG_EXCESS)


def renyi_divergence(event: Event, orders: ArrayLike) -> Array:
    """Return the largest Renyi divergence of an event at each order: the sum over its releases.

    Mironov 2017, Proposition 1, which also covers releases chosen in the light of those before.

    Parameters
    ----------
    event
        Gaussian (subsampled or not), Laplace, pure and zero-concentrated releases.
    orders
        Any shape; above 1, infinity included.

    Raises
    ------
    UnsupportedEvent
        Of some part no curve is known.
    InvalidArgument
        An order is not above 1.

    Examples
    --------
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25)
    >>> renyi_divergence(release, [2.0, 8.0]).round(12).tolist()
    [1.0, 4.0]
    """
    array = np.asarray(orders, dtype=np.float64)
    if not (array > 1).all():
        raise InvalidArgument("orders", orders, "numbers above 1")
    total = np.zeros_like(array)
    for part in releases(event):
        total = total + part.count * curve(part, array)
    return total


@dataclass(frozen=True)
class RenyiDP(Guarantee):
    """What the Renyi divergences of an event imply, at the best of all orders.

    Converted by Canonne, Kamath & Steinke 2020, Proposition 12. An upper bound, not tight.

    Parameters
    ----------
    event
        As for `renyi_divergence`. What holds for a Poisson sample holds for adding or removing a
        record, so the whole does.

    Raises
    ------
    UnsupportedEvent
        Of some part no curve is known.

    Examples
    --------
    >>> released = RenyiDP(ApproximateRelease(epsilon=0.1, count=1000))
    >>> round(released.epsilon(1e-5), 2)
    18.96
    """

    event: Event

    def __post_init__(self) -> None:
        renyi_divergence(self.event, 2.0)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        if epsilon >= self._pure():
            return 0.0

        def log_delta(excess: Array, divergence: Array) -> Array:
            rest = divergence - epsilon + np.log(excess / (1 + excess))
            return excess * rest - np.log1p(excess)

        return math.exp(min(0.0, self._least(log_delta)))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``; at 0, that of pure DP, which may be infinite."""
        delta = check.delta("delta", delta)
        if delta == 0:
            return self._pure()

        def epsilon(excess: Array, divergence: Array) -> Array:
            share = np.log(excess / (1 + excess))
            return divergence + share - (math.log(delta) + np.log1p(excess)) / excess

        return max(0.0, min(self._least(epsilon), self._pure()))

    def _pure(self) -> float:
        return float(_grid(self.event)[-1])

    def _least(self, bound: Callable[[Array, Array], Array]) -> float:
        """Return the least of a bound at ``(order - 1, divergence)``: on a grid, then refined."""

        def at(log_excess: float) -> float:
            order = 1 + np.exp([log_excess])  # its excess as rounded is that of the curve
            return min(float(bound(order - 1, renyi_divergence(self.event, order))[0]), 1e15)

        with np.errstate(over="ignore"):
            values = bound(_ORDERS - 1, _grid(self.event)[:-1])
            best = int(np.argmin(values))
            ends = _LOG_EXCESS[max(best - 1, 0)], _LOG_EXCESS[min(best + 1, len(values) - 1)]
            refined = minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return float(min(values[best], refined.fun))

    def __str__(self) -> str:
        return repr(self)


@lru_cache(maxsize=16)
def _grid(event: Event) -> Array:
    """Return the divergences at the orders of the grid, and then at infinity."""
    return renyi_divergence(event, np.append(_ORDERS, math.inf))


def zcdp(event: Event) -> ZeroConcentratedDP:
    """Return the zero-concentrated guarantee of an event: the sum over its releases.

    A Gaussian release has ``rho = (sensitivity / noise_scale)^2 / 2``; an epsilon-DP release has
    ``epsilon^2 / 2`` (Bun & Steinke 2016, Propositions 1.6 and 1.4; Lemma 1.7 for the sum).

    Raises
    ------
    UnsupportedEvent
        Some part has a delta above 0, so that no rho is finite; or is subsampled, so that its
        divergence is not linear in the order and the only theorem ignores the sampling.

    Examples
    --------
    >>> zcdp(ApproximateRelease(epsilon=0.5, count=40))
    ZeroConcentratedDP(rho=5.0)
    """
    return ZeroConcentratedDP(math.fsum(part.count * _rho(part) for part in releases(event)))


def _rho(part: Release) -> float:
    match part:
        case GaussianRelease():
            ratio = part.sensitivity / part.noise_scale
            return ratio * ratio / 2
        case ZeroConcentratedRelease():
            return part.rho
        case ApproximateRelease(delta=0.0):
            return part.epsilon * part.epsilon / 2
        case LaplaceRelease() | ExponentialNormRelease() | ObjectivePerturbation():
            (pure,) = approximate_parts(replace(part, count=1))
            return pure.epsilon * pure.epsilon / 2
    raise UnsupportedEvent(f"event: got {part}, expected releases with a theorem on zCDP")
