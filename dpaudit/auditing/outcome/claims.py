"""A claim about a mechanism of one's own: as it is given, where it is audited, and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.guarantees.profile import PrivacyProfile

_MOST = 1e3
_ORDERS = (1.001, 1e6)
_USUAL = 0.01  # the delta at which an audit of a curve begins


def resolve_guarantee(epsilon: float | None, delta: float, claim: object) -> Guarantee:
    """Return the guarantee of ``epsilon=`` and ``delta=``, or of ``claim=``: exactly one.

    Examples
    --------
    >>> resolve_guarantee(1.0, 1e-5, None)
    ApproximateDP(at_epsilon=1.0, at_delta=1e-05)
    """
    if claim is None:
        if epsilon is None:
            raise InvalidArgument("epsilon", None, "the epsilon that is claimed, or claim=")
        return ApproximateDP(epsilon, delta)
    if epsilon is not None or delta != 0:
        name = "delta" if epsilon is None else "epsilon"
        raise InvalidArgument(
            name, VerbatimText("and a claim"), "either epsilon and delta, or claim="
        )
    if not isinstance(claim, Guarantee):
        expected = "a guarantee, such as dpaudit.GaussianDP(1.0)"
        raise InvalidArgument("claim", VerbatimText(type(claim).__name__), expected)
    if isinstance(claim, PureDP):
        return ApproximateDP(claim.at_epsilon, 0.0)
    _require_usual(claim)
    at_delta(claim)
    return claim


def _require_usual(claim: Guarantee) -> None:
    """Refuse numbers that doubles cannot audit."""
    if isinstance(claim, GaussianDP) and not claim.mu <= _MOST:
        raise InvalidArgument("mu", claim.mu, f"at most {_MOST:g}, to be audited")
    if isinstance(claim, RenyiDP) and not _ORDERS[0] <= claim.order <= _ORDERS[1]:
        raise InvalidArgument("order", claim.order, "an order from 1.001 to 1e6, to be audited")


def point_of(claim: Guarantee) -> dict[str, Any]:
    """Return the epsilon and delta of a claim that names them, for the settings of an audit."""
    if isinstance(claim, ApproximateDP):
        return {"epsilon": claim.at_epsilon, "delta": claim.at_delta}
    return {}


def at_delta(claim: Guarantee) -> float:
    """Return the delta of a claim, or for a curve one at which it says something.

    Raises
    ------
    InvalidArgument
        It says nothing anywhere.
    """
    if isinstance(claim, PureDP):
        return 0.0
    if isinstance(claim, ApproximateDP):
        return claim.at_delta
    currency = currency_of(claim)
    assert currency is not None
    deltas = currency.deltas()
    if not deltas:
        raise InvalidArgument("claim", claim, "a curve with a finite epsilon at some delta")
    return min(deltas, key=lambda delta: abs(math.log(delta / _USUAL)))


def as_given(claim: Guarantee) -> str:
    """Return a claim as a call gives it."""
    if isinstance(claim, ApproximateDP):
        return f"epsilon={claim.at_epsilon!r}, delta={claim.at_delta!r}"
    return f"claim={'claim' if isinstance(claim, PrivacyProfile) else repr(claim)}"


def format_claim(claim: Guarantee, shown: Callable[[float], str] = "{:g}".format) -> str:
    """Return the claim about a mechanism in words; ``shown`` writes its numbers.

    Examples
    --------
    >>> format_claim(ApproximateDP(1.0, 1e-5)), format_claim(RenyiDP(4.0, 0.5))
    ('is (1, 1e-05)-DP', 'is (4, 0.5)-Renyi DP')
    """
    match claim:
        case PureDP(at_epsilon=epsilon):
            return f"is ({shown(epsilon)}, 0)-DP"
        case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            return f"is ({shown(epsilon)}, {shown(delta)})-DP"
        case GaussianDP(mu=mu):
            return f"is {shown(mu)}-Gaussian DP"
        case ZeroConcentratedDP(rho=rho):
            return f"is {shown(rho)}-zero-concentrated DP"
        case RenyiDP(order=order, at_epsilon=epsilon):
            return f"is ({shown(order)}, {shown(epsilon)})-Renyi DP"
    return f"keeps {claim}"


def of_table(given: Mapping[str, Any]) -> Guarantee | None:
    """Return the claim that the keys of a specification state; None if none of them does.

    Parameters
    ----------
    given
        Some of ``mu``, ``rho``, ``renyi`` (order and epsilon) and ``curve`` (epsilons with their
        deltas), each None where it is not given.

    Raises
    ------
    InvalidArgument
        There are several, or one is not as it has to be.

    Examples
    --------
    >>> of_table({"mu": 1.0, "rho": None})
    GaussianDP(mu=1.0)
    """
    stated = {name: value for name, value in given.items() if value is not None}
    if len(stated) > 1:
        first, second, *_ = stated
        raise InvalidArgument(second, stated[second], f"one claim: there is {first} already")
    match stated:
        case {"mu": mu}:
            return resolve_guarantee(None, 0.0, GaussianDP(mu))
        case {"rho": rho}:
            return ZeroConcentratedDP(rho)
        case {"renyi": (order, epsilon)}:
            return resolve_guarantee(None, 0.0, RenyiDP(order, epsilon))
        case {"curve": points}:
            return PrivacyProfile.of_points(points)
    return None
