r"""Sensitivity of a party's message, with a penalty that is large enough.

hu2019's Lemma 1 states what hu2020's does, under an assumption more: 1.2 (b), the subproblem (6) is
strongly convex with a modulus ``gamma_m`` of at least ``2 sigma_max(D_m'D_m)``. With the
regulariser ``||x||^2 / 2`` and no constraint the modulus is ``lambda + rho sigma_min(D_m'D_m)``, so
that the assumption bounds the condition number by about ``rho / 2``; the instances of hu2020's
search, whose designs are nearly singular, are left out. What is left breaks the lemma all the same:
in the instances found ``D'D`` has one small eigenvalue along which a model is long, and the
neighbour has it elsewhere.

Assumption 1.2 (a) and (c) are about the loss, which (6) does not see: a smooth enough one satisfies
them for any rho.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import ASSUMPTIONS, UpdateParameters
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Lemma1Parameters(UpdateParameters):
    """Public parameters of one update of ADMM sharing, and the budget of the search."""

    penalty: float = Field(30.0, gt=0, description="rho")


def prepare_hu2019_lemma1(settings: Settings, parameters: Lemma1Parameters) -> SearchCase:
    """Return the audit: a search over designs whose subproblems are convex enough.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_hu2019_lemma1(Settings(), Lemma1Parameters(features=8))
    >>> round(case.bound, 4)
    0.3875
    """
    from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import update_case

    return update_case(CLAIM, settings, parameters, convex=True)


_SCOPE = (
    "It would stand with (1/rho + 1 + (M - 1) sqrt(N)) b_1 for the bound, where R_m is convex and "
    "least at 0, as here."
)

CLAIM = Claim(
    name="hu2019-lemma1",
    title="Sensitivity of a party's message, with a penalty that is large enough",
    statement=(
        "Under Assumptions 1 and 2, replacing one feature column moves D_m x_m of eq. (10) by at "
        "most 3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1] in L2 norm."
    ),
    source=f"{PAPER}, Lemma 1",
    kind="sensitivity",
    relation="replace-column",
    assumptions=ASSUMPTIONS
    | {
        "convex subproblem": "(6) is gamma-strongly convex, gamma at least twice the largest "
        "eigenvalue of D_m'D_m (Assumption 1.2 (b))",
        "convex subproblem of the neighbour": "so it is on the neighbour",
    },
    prepare=prepare_hu2019_lemma1,
    parameters=Lemma1Parameters,
    scope=_SCOPE,
    published={
        "2 parties": Variant(settings={"parameters": {"parties": 2}}, scope=_SCOPE, printed=True),
    },
)
