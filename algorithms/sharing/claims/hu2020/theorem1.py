"""Privacy of one iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import ASSUMPTIONS, UpdateParameters
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class Hu2020Theorem1Parameters(UpdateParameters):
    """Public parameters of one private message."""

    features: int = Field(32, ge=1, description="d_m")
    variant: Literal["message", "parameter", "whitened"] = Field(
        "message", description="where the noise goes: on D x, on x, or on x as (D'D)^-1 shapes it"
    )
    sensitivity: Literal["published", "corrected"] = Field(
        "published", description="what scales the noise: Lemma 1, or a bound with a proof"
    )
    budget: int = Field(8_000, ge=100, description="instances that the search evaluates")


def prepare_hu2020_theorem1(settings: Settings, parameters: Hu2020Theorem1Parameters) -> Case:
    """Return the audit of one message: its exact law, or its support.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_hu2020_theorem1(Settings(), Hu2020Theorem1Parameters(features=8, budget=200))
    >>> case.pair.relation.name, round(case.proved.guarantee.epsilon(1e-5), 3)
    ('replace-column', 2.219)
    """
    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2020.column_space import (
        Finite,
        make_sent_message_case,
        support_case,
    )
    from dpaudit.algorithms.sharing.claims.hu2020.message import Theorem1, message_case
    from dpaudit.errors import InvalidArgument

    refuse_data(settings)
    check.require_probability("delta", settings.delta)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: the theorem's range")
    theorem = Theorem1(
        setting=parameters.setting(),
        variant=parameters.variant,
        sensitivity=parameters.sensitivity,
        epsilon=settings.epsilon,
        delta=settings.delta,
        factor=parameters.factor,
    )
    seed, samples = settings.seed, theorem.setting.samples
    public = parameters.model_dump(mode="json") | {"samples": samples, "epsilon": settings.epsilon}
    if parameters.variant == "message":
        budget = parameters.budget
        return message_case(CLAIM, theorem, seed=seed, budget=budget, parameters=public)
    if settings.estimator == "event":
        return make_sent_message_case(theorem, seed=seed, parameters=public)
    return support_case(CLAIM, Finite.of(theorem), seed=seed, parameters=public)


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
    assumptions=ASSUMPTIONS | {"independent columns": "D_m'D_m can be inverted, on both datasets"},
    prepare=prepare_hu2020_theorem1,
    parameters=Hu2020Theorem1Parameters,
    scope="Of noise on the message, which is what the theorem asks for: it would stand with the "
    "sensitivity of the variant below.",
    published={
        "noise on the model": Variant(
            settings={"parameters": {"variant": "parameter"}},
            scope="Of noise on the model, which is what Algorithm 1 draws (7): it would stand if "
            "the message had N independent entries of noise, and C bounded the sensitivity.",
            printed=True,
        ),
        "corrected sensitivity": Variant(
            settings={"parameters": {"sensitivity": "corrected"}},
            scope="Of noise on the message for a sensitivity that is proved.",
        ),
    },
)
