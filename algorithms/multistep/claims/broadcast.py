"""The leak to observers from whom the inner models are hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.multistep.claims import theorem6
from dpaudit.algorithms.multistep.claims.theorem6 import ASSUMPTIONS, Deployment
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
    from dpaudit.extension.case import PrivacyCase
    from dpaudit.extension.settings import Settings


class Broadcast(Deployment):
    """Public parameters of the audits of observers who see no inner model."""

    view: Literal["broadcast", "last", "final"] = Field(  # type: ignore[assignment]
        "broadcast",
        description="what the observer sees: the averages; the last inner models, which a variant "
        "sends in their place; the final models of eq. (22), and nothing else",
    )

    def algorithm(self, settings: Settings) -> MultiStepADMM:
        """Return the algorithm that sends the numbers in the view."""
        found = super().algorithm(settings)
        return replace(found, message="last") if self.view == "last" else found


def prepare_broadcast_audit(settings: Settings, parameters: Broadcast) -> PrivacyCase:
    """Return the audit on the settings' data.

    Raises
    ------
    InvalidArgument
        The variant is stochastic: nothing is proved for its inner models.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_broadcast_audit(Settings(), Broadcast())
    >>> round(case.claimed.epsilon(1e-5), 4), round(case.pair_ceiling.guarantee.epsilon(1e-5), 4)
    (0.751, 0.7139)
    """
    from dpaudit.algorithms.multistep.claims.observers import make_observer_case

    run = theorem6.prepare_theorem6_audit(settings, parameters)
    algorithm = parameters.algorithm(settings)
    return make_observer_case(run, algorithm, parameters.factor, parameters.view)


# 2 rho |V| = 0.8 and eta = 0.5: a contraction that hides what early steps leaked.
STIFF = {"iterations": 20, "inner_steps": 10, "step_size": 0.5}

CLAIM = Claim(
    name="huang2020-broadcast",
    title="What is leaked without the inner models",
    statement=(
        "A question of this project, not a claim of the paper: the averages of the inner models, "
        "all that is sent, leak no more than all inner models do, for which exact composition with "
        "Lemma 5 gives an epsilon. How much less do they leak, and how much less the last models "
        "or the final ones?"
    ),
    source="about Huang & Gong, multi-step DP-ADMM, Algorithm 1, line 13, and Note 2",
    kind="privacy",
    relation="replace-record",
    assumptions=ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare=prepare_broadcast_audit,
    parameters=Broadcast,
    question=True,
    scope="Tried with linear losses, few inner steps and records made for the worst case.",
    published={
        "many inner steps": Variant(
            settings={"parameters": {"iterations": 2, "inner_steps": 25}},
            scope="Tried with 25 inner steps, where averaging hides most.",
        ),
        "last models": Variant(
            settings={"parameters": STIFF | {"view": "last"}},
            scope="Tried with linear losses, where the last inner models are sent and 2 rho |V| is "
            "above eta.",
        ),
        "final models": Variant(
            settings={
                "trials": 300,
                "parameters": {"view": "final", "iterations": 20, "inner_steps": 5},
            },
            scope="Tried with linear losses at five nodes, where only the final models are seen.",
        ),
        "logistic loss": Variant(
            settings={"trials": 2_000, "parameters": {"loss": "logistic"}},
            scope="Tried with the logistic loss.",
        ),
    },
)
