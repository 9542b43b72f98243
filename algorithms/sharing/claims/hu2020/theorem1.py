"""Privacy of one iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2020.parameters import Theorem1Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Theorem1Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2020.message_case import theorem1_case

    return theorem1_case(settings, parameters)


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
    name="hu2020-theorem1",
    title="Privacy of one iteration",
    statement=(
        "With sigma = sqrt(2 ln(1.25/delta)) C / epsilon, where C is the bound of Lemma 1 and "
        "epsilon is in (0, 1], what a party sends in an iteration is (epsilon, delta)-DP."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Theorem 1",
    kind="privacy",
    relation="replace-column",
    assumptions=_NEIGHBOURS
    | _BOUNDED
    | {"independent columns": "D_m'D_m can be inverted, on both datasets"},
    prepare=prepare,
    parameters=Theorem1Parameters,
    published={
        "corrected sensitivity": {"parameters": {"sensitivity": "corrected"}},
        "noise on the model": {"parameters": {"variant": "parameter"}},
        "whitened noise": {"parameters": {"variant": "whitened"}},
    },
)
