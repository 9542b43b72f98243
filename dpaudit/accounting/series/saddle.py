"""Where the moment generating function of the total loss is to be looked at: its saddle point."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from dpaudit.accounting.grid.numerical import beyond_the_grid
from dpaudit.accounting.pairs.dominating import Counted
from dpaudit.errors import ConvergenceError

Pairs = tuple[Counted, ...]

_MOST_QUADRATURES = 8


def chernoff(pairs: Pairs, log_delta: float) -> float:
    """Return an upper bound of epsilon: where to begin."""
    orders = np.geomspace(1e-3, 1e7, 60)
    bounds = []
    for order in orders:
        bounds.append((log_moment(pairs, float(order)) - log_delta) / float(order))
        if bounds[-1] > 2 * min(bounds):
            break
    return min(bounds)


def log_moment(pairs: Pairs, order: float) -> float:
    """Return ``log E exp(order L)`` of the total finite loss."""
    return sum(n * float(pair.log_mgf(np.array(order))) for pair, n in pairs)


def saddle(pairs: Pairs, epsilon: float) -> float:
    """Return the order at which the transform of the profile is least on the real axis.

    Raises
    ------
    ConvergenceError
        The losses are too small or too large, or their moments too much work.
    """
    if beyond_the_grid(pairs):
        raise ConvergenceError(
            "saddle point: the losses are too small or too large for a transform; "
            "use the numerical accountant"
        )
    if sum(pair.quadrature for pair, _ in pairs) > _MOST_QUADRATURES:
        raise ConvergenceError(
            f"saddle point: more than {_MOST_QUADRATURES} different laws without a closed form "
            "are too much work; use the numerical accountant"
        )

    def height(log_order: float) -> float:
        order = math.exp(log_order)
        value = log_moment(pairs, order) - order * epsilon
        return min(value - math.log(order) - math.log1p(order), 1e300)

    bounds = math.log(1e-3), math.log(1e7)
    return math.exp(minimize_scalar(height, bounds=bounds, method="bounded").x)
