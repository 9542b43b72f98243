"""Composition over iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2020.parameters import Corollary1Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Corollary1Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2020.composition import corollary1_case

    return corollary1_case(settings, parameters)


CLAIM = Claim(
    name="hu2020-corollary1",
    title="Composition over iterations",
    statement=(
        "If each of T iterations is (epsilon, delta)-DP, all of them are (epsilon', T delta + "
        "delta')-DP with epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon - 1)."
    ),
    source=(
        "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Corollary 1, "
        "eq. (10)"
    ),
    kind="privacy",
    relation="replace-column",
    assumptions={
        "private iterations": "each iteration is (epsilon, delta)-DP given those before (Theorem 1)"
    },
    prepare=prepare,
    parameters=Corollary1Parameters,
)
