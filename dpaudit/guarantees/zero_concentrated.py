r"""The profile that zero-concentrated differential privacy implies, in log space.

Every Renyi order gives a bound on delta; the least of them is the answer. It is an upper bound,
not tight: no order is exact for the Gaussian.

Source: Canonne, Kamath & Steinke 2020, Proposition 12, with the divergence of every order at most
``rho * order`` (Bun & Steinke 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar


def log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of a delta implied at ``epsilon >= 0``.

    Examples
    --------
    >>> round(log_delta(0.5, 40.0), 1)  # the exact Gaussian value is -788.4
    -784.8
    """
    if rho == 0:
        return -math.inf

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # the order is 1 + excess
        order = 1 + excess
        exponent = excess * (order * rho - epsilon)
        return exponent + excess * math.log(excess / order) - math.log(order)

    return min(0.0, _least(bound))


def epsilon_at(rho: float, log_delta_target: float) -> float:
    """Return an ``epsilon >= 0`` at which delta is at most the target, infinite when none is.

    Examples
    --------
    >>> round(epsilon_at(0.5, math.log(1e-5)), 2)
    4.73
    """
    if rho == 0:
        return 0.0
    if log_delta_target == -math.inf:
        return math.inf
    if log_delta(rho, 0.0) <= log_delta_target:
        return 0.0
    # Bun & Steinke 2016, Proposition 1.3: implied as well, and what remains when no order on
    # the grid does better.
    high = rho + 2 * math.sqrt(rho * -log_delta_target)
    if log_delta(rho, high) >= log_delta_target:
        return high
    return float(brentq(lambda e: log_delta(rho, e) - log_delta_target, 0.0, high, xtol=1e-12))


def _least(function: Callable[[float], float]) -> float:
    """Return the least value of a smooth function of a log-order, on a grid and then refined."""
    grid = np.linspace(math.log(1e-4), math.log(1e8), 200)
    values = [function(float(x)) for x in grid]
    at = int(np.argmin(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    refined = minimize_scalar(function, bounds=(low, high), method="bounded")
    return float(min(values[at], refined.fun))
