"""The guarantee of a claim about a unit of distance for two datasets at a given distance."""

from __future__ import annotations

import math

import dpaudit._check as check
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from dpaudit.guarantees.rounding import product_up

_EXPECTED = "epsilon and delta, mu or rho: what another claim is at a distance, nobody says"


def at_distance(a_unit: Guarantee, distance: float) -> Guarantee:
    """Return the guarantee of two datasets at a distance, of one that is stated a unit of it.

    Epsilon and mu grow with the distance, rho with its square, and delta is one for all distances.

    Parameters
    ----------
    a_unit
        (epsilon, delta)-DP, Gaussian DP or zero-concentrated DP, a unit of distance.
    distance
        Above 0.

    Raises
    ------
    InvalidArgument
        The guarantee is of another kind, or what it allows is too large for a double.

    Notes
    -----
    Source: Chatzikokolakis, Andres, Bordenabe & Palamidessi 2013, Definition 2 (epsilon times a
    distance). A Gaussian of a centre that moves at most so far as its dataset has mu, and so rho =
    mu^2 / 2, of that kind.

    Examples
    --------
    >>> at_distance(ApproximateDP(0.1, 1e-5), 3.0)
    ApproximateDP(at_epsilon=0.3, at_delta=1e-05)
    >>> at_distance(GaussianDP(0.5), 3.0), at_distance(ZeroConcentratedDP(0.125), 3.0)
    (GaussianDP(mu=1.5), ZeroConcentratedDP(rho=1.125))
    """
    distance = check.require_positive("distance", distance)
    match a_unit:
        case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            return ApproximateDP(_multiply_by_distance("epsilon", epsilon, distance), delta)
        case PureDP(at_epsilon=epsilon):
            return PureDP(_multiply_by_distance("epsilon", epsilon, distance))
        case GaussianDP(mu=mu):
            return GaussianDP(_multiply_by_distance("mu", mu, distance))
        case ZeroConcentratedDP(rho=rho):
            return ZeroConcentratedDP(
                # Multiplied twice instead of by the square, so that each product is rounded up.
                _multiply_by_distance("rho", _multiply_by_distance("rho", rho, distance), distance)
            )
    raise InvalidArgument("claim", VerbatimText(type(a_unit).__name__), _EXPECTED)


def _multiply_by_distance(name: str, value: float, distance: float) -> float:
    found = product_up(value, distance)
    if found == math.inf:
        given = VerbatimText(f"{value:.6g} a unit of a distance of {distance:.6g}")
        raise InvalidArgument(name, given, "a product that a double holds")
    return found
