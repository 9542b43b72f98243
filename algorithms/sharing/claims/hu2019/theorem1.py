"""Privacy of one iteration, with noise shaped by the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import SEPARATED
from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class Hu2019Theorem1Parameters(Parameters):
    """Public parameters of one private message."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    features: int = Field(4, ge=1, description="d_m")
    samples: int | None = Field(None, ge=1, description="N (by default 2 d_m)")
    penalty: float = Field(10.0, gt=0, description="rho")
    regulariser_weight: float = Field(1e-3, gt=0, description="lambda")


def prepare_hu2019_theorem1(settings: Settings, parameters: Hu2019Theorem1Parameters) -> Case:
    """Return the audit of one message by its support, or, with ``estimator="event"``, as sent.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_hu2019_theorem1(Settings(), Hu2019Theorem1Parameters()).relation
    'replace-column'
    """
    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2020.column_space import (
        Finite,
        make_sent_message_case,
        support_case,
    )
    from dpaudit.algorithms.sharing.claims.hu2020.message import Theorem1
    from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting
    from dpaudit.errors import InvalidArgument

    refuse_data(settings)
    check.require_probability("delta", settings.delta)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: the theorem's range")
    theorem = Theorem1(
        setting=UpdateSetting(
            features=parameters.features,
            samples=parameters.samples or 2 * parameters.features,
            penalty=parameters.penalty,
            regulariser_weight=parameters.regulariser_weight,
        ),
        variant="whitened",
        sensitivity="published",
        epsilon=settings.epsilon,
        delta=settings.delta,
        factor=parameters.factor,
    )
    public = parameters.model_dump(mode="json")
    if settings.estimator == "event":
        return make_sent_message_case(theorem, seed=settings.seed, parameters=public)
    return support_case(CLAIM, Finite.of(theorem), seed=settings.seed, parameters=public)


CLAIM = Claim(
    name="hu2019-theorem1",
    title="Privacy of one iteration, with noise shaped by the design",
    statement=(
        "With the noise N(0, sigma^2 (D_m'D_m)^-1) of eq. (10) on x_m, sigma = sqrt(2 ln(1.25/"
        "delta)) C / epsilon, C the bound of Lemma 1 and epsilon in (0, 1], each iteration is "
        "(epsilon, delta)-DP for datasets within 1 of each other in l1 distance."
    ),
    source=f"{PAPER}, Theorem 1 with eq. (10)",
    kind="privacy",
    relation="replace-column",
    assumptions=SEPARATED,
    prepare=prepare_hu2019_theorem1,
    parameters=Hu2019Theorem1Parameters,
    scope="Where d_m is N nothing is separated this way: there it would stand for a C that bounds "
    "the sensitivity.",
)
