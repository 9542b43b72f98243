"""The leak of the broadcast averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.multistep.claims import theorem6
from dpaudit.algorithms.multistep.claims.theorem6 import ASSUMPTIONS, Deployment
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import PrivacyCase
    from dpaudit.extension.settings import Settings


class Broadcast(Deployment):
    """Public parameters of the audits of what is broadcast: always that view."""

    view: Literal["broadcast"] = Field("broadcast", description="what the observer sees")


def prepare(settings: Settings, parameters: Broadcast) -> PrivacyCase:
    """Return the audit on the settings' data.

    Raises
    ------
    InvalidArgument
        The variant is stochastic: nothing is proved for its inner models.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare(Settings(), Broadcast())
    >>> round(case.claimed.epsilon(1e-5), 4), round(case.pair_ceiling.guarantee.epsilon(1e-5), 4)
    (0.751, 0.7139)
    """
    from dpaudit.algorithms.multistep.claims.leakage import broadcast

    run = theorem6.prepare(settings, parameters)
    return broadcast(run, parameters.algorithm(settings), parameters.factor)


CLAIM = Claim(
    name="huang2020-broadcast",
    title="What the broadcast averages leak",
    statement=(
        "A question of this project, not a claim of the paper: the averages of the inner models, "
        "all that is sent, leak no more than all inner models do, for which exact composition with "
        "Lemma 5 gives an epsilon. How much less do they leak?"
    ),
    source="about Huang & Gong, multi-step DP-ADMM, Algorithm 1, line 13, and Note 2",
    kind="privacy",
    relation="replace-record",
    assumptions=ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare=prepare,
    parameters=Broadcast,
    question=True,
    scope="Tried with linear losses, few inner steps and records made for the worst case.",
    published={
        "many inner steps": Variant(
            settings={"parameters": {"iterations": 2, "inner_steps": 25}},
            scope="Tried with 25 inner steps, where averaging hides most.",
        ),
        "logistic loss": Variant(
            settings={"trials": 2_000, "parameters": {"loss": "logistic"}},
            scope="Tried with the logistic loss.",
        ),
    },
)
