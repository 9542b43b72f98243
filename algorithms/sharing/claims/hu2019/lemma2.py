"""The dual variable follows the slope of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2019.parameters import Lemma2Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Lemma2Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2019.cases import lemma2_case

    return lemma2_case(settings, parameters)


_PAPER = "Hu et al., Learning Privately over Distributed Features, arXiv 2019"
_RELATION = "none"
_ASSUMPTIONS = {
    "full column rank": "every D_m is of full column rank (1.1)",
    "strongly convex parties": "gamma_m(rho) is at least 2 sigma_max(D_m'D_m) for every m (1.2b)",
    "penalty above smoothness": "rho is at least L (1.2c)",
    "penalty against smoothness": "rho gamma(rho) is above 2 L^2 (1.2c)",
    "signed labels": "labels are -1 or +1",
    "bounded below": "the objective has a lower bound (1.3)",
    "regulariser": "R_m is convex, or smooth (1.4)",
}

CLAIM = Claim(
    name="hu2019-lemma2",
    title="The dual variable follows the slope of the loss",
    statement=(
        "Under Assumption 1, grad l(z^{t+1}) = y^{t+1} and "
        "||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2."
    ),
    source=f"{_PAPER}, supplement, Lemma 2",
    kind="property",
    relation=_RELATION,
    assumptions=_ASSUMPTIONS,
    prepare=prepare,
    parameters=Lemma2Parameters,
    published={
        "identity": {"parameters": {"part": "identity"}},
        "first-iteration": {
            "parameters": {
                "earliest": 1,
                "iterations": 1,
                "start": "zero",
                "loss": "squared",
                "penalty": 10.0,
            }
        },
    },
)
