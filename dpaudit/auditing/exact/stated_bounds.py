"""Bounds that a mechanism states for its tilted or aimed draws, compared with the draws."""

from __future__ import annotations

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.estimation.exact_loss import TiltedLosses
from dpaudit.mechanisms.mechanism import name_of

_ROUNDING = 1e-9


def require_bound(mechanism: object, log_mgf: Array, bound: float) -> None:
    """Raise `MechanismError` if a tilted output passes the bound of `log_mgf_bounds`."""
    _require(mechanism, "log_mgf_bounds", float(log_mgf.max()), bound)


def require_payoffs(mechanism: object, aimed: TiltedLosses, epsilon: float) -> None:
    """Raise `MechanismError` if an output pays more beyond epsilon than is possible."""
    largest = float(aimed.log_payoffs(epsilon).max())
    _require(mechanism, "log_payoff_bound", largest, aimed.log_payoff_bound(epsilon))


def _require(mechanism: object, stated: str, largest: float, bound: float) -> None:
    if largest > bound + _ROUNDING * (1 + abs(bound)):
        raise MechanismError(
            f"mechanism {name_of(mechanism)}: {stated} returned {bound:.6g}, "
            f"expected at least the {largest:.6g} of an output that was drawn"
        )
