"""Sensitivity of one inner update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.parameters import Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.multistep.claims.cases import lemma5

    return lemma5(settings, parameters)


_ASSUMPTIONS = {
    "convex loss": "the loss is convex in the model",
    "Lipschitz loss": "the loss is c_1-Lipschitz in the model for every record",
    "bounded records": "records have Euclidean norm at most 1 and labels in {-1, +1}",
    "one tuple differs": "the datasets differ in one tuple of one node",
    "connected graph": "the graph of nodes is connected",
}

CLAIM = Claim(
    name="huang2020-lemma5",
    title="Sensitivity of one inner update",
    statement=(
        "Replacing one record moves the update (13a) of its node by at most "
        "2 c_1 / ((2 rho |V_i| + eta) m_i) in L2 norm."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Lemma 5, eq. (16)",
    kind="sensitivity",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare=prepare,
    parameters=Parameters,
)
