"""Utility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class Utility(Parameters):
    """Public parameters: a star whose centre holds all the loss."""

    nodes: int = Field(100, ge=1, le=100_000, description="n: a centre and its leaves")
    iterations: int = Field(100, ge=1, le=400, description="t")
    inner_steps: int = Field(1, ge=1, le=100, description="l")
    records: int = Field(10**8, ge=1, description="m, records of every node")
    lipschitz: Literal["sum", "node"] = Field(
        "sum",
        description="c_2 is of the sum of all L_i, or n times that of the steepest L_i",
    )
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


def prepare(settings: Settings, parameters: Utility) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.multistep.claims.utility import theorem7

    return theorem7(settings, parameters)


CLAIM = Claim(
    name="huang2020-theorem7",
    title="Utility",
    statement=(
        "If the objective L is c_2-Lipschitz, models lie in a set of diameter D and every "
        "||gamma_ij|| <= beta, then with eta of eq. (23) the models w^_i of eq. (22) have "
        "E[sum_i L_i(w^_i) - L_i(w*)] + beta sum_i sum_(j in N_i) ||w^_i - w^_j|| <= "
        "sum_i [ sqrt(2) D / sqrt(t l) sqrt(c_2^2 / n^2 + d c_0^2 c_1^2 t l 8 ln(1.25/delta) / "
        "(epsilon^2 m_i^2)) + |N_i| (rho D^2 + beta^2 / rho) / t ]."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 7, eq. (24)",
    kind="property",
    relation="replace-record",
    assumptions={
        "Lipschitz objective": "the sum L of all L_i is c_2-Lipschitz, each loss c_1-Lipschitz",
        "bounded models": "all iterates, with their noise, and w* lie in a set of diameter D",
        "bounded duals": "every dual gamma_ij has norm at most beta",
        "clear of kinks": "noise within the bounded sets changes no gradient",
        "noise stays inside": "runs leave the bounded sets with a negligible probability",
    },
    prepare=prepare,
    parameters=Utility,
    published={
        "c_2 of every node": {"parameters": {"lipschitz": "node"}},
        "one node": {"parameters": {"nodes": 1}},
        "one node, one step": {"parameters": {"nodes": 1, "iterations": 1}},
        "several inner steps": {"parameters": {"iterations": 20, "inner_steps": 5}},
    },
)
