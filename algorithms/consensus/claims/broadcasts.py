"""The leakage of all broadcasts of penalty perturbation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.consensus.claims.theorem41 import SECTION_4
from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import PrivacyCase
    from dpaudit.extension.settings import Settings


class BroadcastsParameters(Parameters):
    """Public parameters of penalty perturbation as a whole, and of its data."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    nodes: int = Field(5, ge=2, le=30, description="N")
    graph: Literal["complete", "ring", "star", "random"] = Field("complete", description="shape")
    records: int = Field(100, ge=1, description="B_i, records of every node, drawn from the data")
    dimension: int = Field(20, ge=2, description="d, features of the worst case's records")
    iterations: int = Field(50, ge=1, description="T")
    penalty: float = Field(0.5, gt=0, description="eta_i(1)")
    growth: float = Field(1.0, gt=0, description="eta_i(t+1) / eta_i(t)")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(60.0, gt=0, description="alpha_i(1): the larger, the less noise")
    noise_growth: float = Field(1.0, gt=0, description="alpha_i(t+1) / alpha_i(t)")
    loss_weight: float = Field(1.0, gt=0, description="C")
    regulariser_weight: float = Field(1.0, gt=0, description="rho")


def prepare_broadcasts_audit(settings: Settings, parameters: BroadcastsParameters) -> PrivacyCase:
    """Return the audit of all broadcasts of penalty perturbation.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_broadcasts_audit(Settings(), BroadcastsParameters())
    >>> round(case.claimed.at_epsilon, 4), case.at_delta
    (15.0875, 1e-05)
    """
    from dpaudit.algorithms.consensus.claims.composition import run_of
    from dpaudit.algorithms.consensus.claims.section4 import check_section4_assumptions
    from dpaudit.extension.case import PrivacyCase
    from dpaudit.extension.settings import WORST_CASE
    from dpaudit.guarantees.kinds import PureDP

    run = run_of(parameters, settings, parameters.graph, parameters.dimension)
    beta = float(run.algorithm.published_bounds(run.pair.dataset)[-1])
    # Rows that were scaled to norm 1 in doubles may exceed it by a few units in the last place.
    short = run.longest <= 1 + 1e-9 and math.isfinite(run.longest)
    unit = (short, f"largest norm {run.longest:.6g}")
    return PrivacyCase(
        mechanism=run.algorithm.penalty_perturbation(),
        pair=run.pair,
        claimed=PureDP(parameters.factor * beta),
        at_delta=settings.delta,
        view="all broadcasts f_i(t), Definition 4.1; f(0) is 0",
        data=run.data,
        default_trials=2_000 if settings.data == WORST_CASE else 500,
        parameters=parameters.model_dump(mode="json") | run.public,
        assumptions=check_section4_assumptions(
            parameters, run.algorithm, unit=unit, eta="least eta"
        ),
        proved=run.proof(settings.delta),
        pair_ceiling=run.pair_proof(settings.delta),
        notes=(
            "The claimed epsilon is what eq. (26), summed over the iterations, implies at this "
            "delta. The exact loss includes the log-ratio of determinants of eq. (60).",
        ),
    )


CLAIM = Claim(
    name="zhang2018-broadcasts",
    title="What all broadcasts of penalty perturbation leak",
    statement=(
        "All broadcasts of T iterations of penalty perturbation (Algorithm 1) are (beta, delta)-DP "
        "for every delta >= 0, beta the sum of eq. (26): what Theorem 4.1 implies. How much less "
        "do they leak at a delta above 0, on real records?"
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, Theorem 4.1, eq. (26) and (58)-(61)"
    ),
    kind="privacy",
    relation="replace-record",
    assumptions=SECTION_4,
    prepare=prepare_broadcasts_audit,
    parameters=BroadcastsParameters,
    question=True,
    scope="Tried on real records at one delta.",
)
