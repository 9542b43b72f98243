"""Privacy of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.parameters import Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.multistep.claims.cases import theorem6

    return theorem6(settings, parameters)


_ASSUMPTIONS = {
    "convex loss": "the loss is convex in the model",
    "Lipschitz loss": "the loss is c_1-Lipschitz in the model for every record",
    "bounded records": "records have Euclidean norm at most 1 and labels in {-1, +1}",
    "one tuple differs": "the datasets differ in one tuple of one node",
    "connected graph": "the graph of nodes is connected",
}

CLAIM = Claim(
    name="huang2020-theorem6",
    title="Privacy of the whole run",
    statement=(
        "With sigma = c_0 sqrt(2 t l ln(1.25/delta)) / epsilon, for arbitrary epsilon, all noisy "
        "inner models of t iterations with l steps each are (epsilon, delta)-DP; c_0 = 1 unless "
        "given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 6, eq. (20)",
    kind="privacy",
    relation="replace-record",
    assumptions=_ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare=prepare,
    parameters=Parameters,
    published={
        "epsilon = 20": {"epsilon": 20.0},
        "epsilon = 20, c_0 of the proof": {"epsilon": 20.0, "parameters": {"c0_of_proof": True}},
    },
)
