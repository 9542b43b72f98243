"""Sensitivity of a party's message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2020.parameters import Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2020.update_case import lemma1_case

    return lemma1_case(settings, parameters)


_NEIGHBOURS = {
    "unit rows": "every row of D_m has norm 1",
    "unit rows of the neighbour": "every row of D_m' has norm 1",
    "one column differs": "D_m and D_m' differ in one column",
    "close neighbours": "||D_m - D_m'||_F is at most 1",
}
_BOUNDED = {
    "unit rows of the others": "every row of every other D_k has norm 1",
    "bounded model": "||x_m|| is at most b_1",
    "bounded model of the neighbour": "||x_m|| on D_m' is at most b_1",
    "bounded models of the others": "||x~_k|| is at most b_1 for every other party",
    "bounded dual": "||y|| is at most b_1",
    "bounded prediction": "||z|| is at most b_1",
}

CLAIM = Claim(
    name="hu2020-lemma1",
    title="Sensitivity of a party's message",
    statement=(
        "Replacing one feature column moves D_m x_m of eq. (6) by at most "
        "3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1] in L2 norm."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Lemma 1",
    kind="sensitivity",
    relation="replace-column",
    assumptions=_NEIGHBOURS | _BOUNDED,
    prepare=prepare,
    parameters=Parameters,
    published={
        "8 features": {"parameters": {"features": 8}},
        "32 features": {"parameters": {"features": 32}},
    },
)
