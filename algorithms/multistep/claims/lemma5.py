"""Sensitivity of one inner update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.theorem6 import ASSUMPTIONS, Deployment
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Deployment) -> Case:
    """Return the audit on the settings' data."""
    from dpaudit.algorithms.multistep.claims.movement import one_update

    return one_update(settings, parameters)


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
    assumptions=ASSUMPTIONS,
    prepare=prepare,
    parameters=Deployment,
)
