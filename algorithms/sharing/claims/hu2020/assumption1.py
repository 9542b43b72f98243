"""Iterates and duals stay bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2020.parameters import Assumption1Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Assumption1Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2020.runs import assumption1_case

    return assumption1_case(settings, parameters)


CLAIM = Claim(
    name="hu2020-assumption1",
    title="Iterates and duals stay bounded",
    statement=(
        "Throughout a run the norms of the models x_m, as solved and as sent, of the dual variable "
        "y and of z are at most b_1."
    ),
    source="Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Assumption 1.1",
    kind="property",
    relation="replace-column",
    assumptions={"unit rows": "every row of every D_m has norm 1 (Assumption 1.3)"},
    prepare=prepare,
    parameters=Assumption1Parameters,
    published={
        "without noise": {"parameters": {"noise": "none", "iterations": 100}},
        "noise on the message": {"parameters": {"noise": "message"}},
        "whitened noise": {"parameters": {"noise": "whitened"}},
    },
)
