"""The augmented Lagrangian falls in every iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2019.parameters import Lemma4Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Lemma4Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.sharing.claims.hu2019.cases import lemma4_case

    return lemma4_case(settings, parameters)


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
    name="hu2019-lemma4",
    title="The augmented Lagrangian falls in every iteration",
    statement=(
        "Under Assumption 1 an iteration changes the augmented Lagrangian by at most "
        "-sum_m (gamma_m/2 - sigma_max(D_m'D_m)) ||x_m^{t+1} - x_m^t||^2 "
        "- (gamma/2 - L^2/rho) ||z^{t+1} - z^t||^2."
    ),
    source=f"{_PAPER}, supplement, Lemma 4",
    kind="property",
    relation=_RELATION,
    assumptions={
        **_ASSUMPTIONS,
        "reached by an iteration": "x^t, z^t and y^t come from an iteration (Lemma 2 at t)",
    },
    prepare=prepare,
    parameters=Lemma4Parameters,
    published={
        "any-start": {"parameters": {"start": "any"}},
        "diverging": {"parameters": {"parties": 3, "loss_weight": 9.0, "iterations": 12}},
        "with-penalty": {"parameters": {"version": "with-penalty"}},
        "corrected": {"parameters": {"version": "corrected", "start": "any"}},
        "two-parties-small-penalty": {"parameters": {"parties": 2, "penalty": 2.0, "start": "any"}},
    },
)
