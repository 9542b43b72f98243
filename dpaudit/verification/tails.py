"""Laws of standard noise as a verifier of replays knows them: tails, with proved error bounds."""

from __future__ import annotations

import math

from dpaudit.errors import DataError
from dpaudit.reals import Real, exp, log, ncdf

# Their density is at most 1, so that a tail moves by no more than its threshold does.
LAWS_WITH_EDGE = ("uniform", "exponential")


def find_unrounded_threshold(post: str, threshold: float, *, above: bool) -> float:
    """Return which unrounded numbers are rounded to at or beyond a threshold."""
    if not post:
        return threshold
    # From below, the first integer past the threshold is the one not to be reached. The event is
    # all numbers before its edge, and the edge itself has probability 0.
    whole = math.ceil(threshold) if above else math.floor(threshold) + 1
    # Halves go to the even neighbour, which the shift ignores: a single point has probability
    # 0. Truncation goes towards 0, so that it is a floor above 0 and a ceiling from there down.
    shift = {"round": 0.5, "floor": 0.0, "ceil": 1.0, "trunc": 0.0 if whole > 0 else 1.0}[post]
    return whole - shift


def compute_upper_tail(kind: str, z: Real) -> Real:
    """Return the probability that standard noise is at least a number."""
    match kind:
        case "laplace":
            return exp(-z) / 2 if z > 0 else 1 - exp(z) / 2
        case "normal":
            return ncdf(-z)
        case "uniform":
            return Real(0) if z >= 1 else Real(1) if z <= 0 else 1 - z
        case "exponential":
            return exp(-z) if z > 0 else Real(1)
        case "logistic":
            return 1 / (1 + exp(z))
        case "gumbel":
            return 1 - exp(-exp(-z))
    raise DataError(f"kind: got {kind!r}, expected a law that has a verifier")


def compute_lower_tail(kind: str, z: Real) -> Real:
    """Return the probability that standard noise is at most a number."""
    match kind:
        case "laplace" | "normal" | "logistic":
            return compute_upper_tail(kind, -z)
        case "gumbel":
            return exp(-exp(-z))
    return 1 - compute_upper_tail(kind, z)


def bound_log_slope(kind: str, probability: Real) -> float:
    """Return by how much the log of a tail moves at most, for each unit that its noise does.

    With L minus the log of the tail, the slope is exp(-z) = L in the lower tail of a Gumbel law,
    and at most the larger of 9 and L in a tail of a Gaussian. The tenth on top is for the slope
    within a tenth of a unit: ``(exp(0.1) - 1) / 0.1 < 1.1``. Of Laplace and logistic laws the slope
    is at most 1. Those with an edge have no bound: of them, it is the tail itself that moves by at
    most as much as its noise.

    Examples
    --------
    >>> bound_log_slope("laplace", Real(1e-30)), round(bound_log_slope("gumbel", Real(1e-30)), 2)
    (10.0, 75.99)
    """
    if kind not in ("normal", "gumbel") or not probability > 0:
        return 10.0
    return max(10.0, -1.1 * float(log(probability)))
