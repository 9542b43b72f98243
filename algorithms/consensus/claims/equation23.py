r"""The rate of (23) against the condition that it is to meet.

Theorem 3.2 calls (23) a lower bound on delta(t), for any delta(t) that satisfies (21) and (22): so
it has to satisfy them. It meets (21), being the smaller of two numbers of which one is (21)'s. In
(22) ``2 (W - theta I)(D - A) + 2 D_m`` is, along the direction in which all nodes agree, ``2 D_m``
alone, and (23) has ``2 m_o + 2 sigma_min``, with the smallest singular value that is not 0.

Without ``2 sigma_min``, for one penalty w of all nodes, it is true: ``(w - theta)(D - A)`` is
positive semi-definite, so that the right side of (22) is at least ``2 m_o``, and the left one at
most delta times the denominator of (23).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Equation23Parameters(Parameters):
    """The rate and the penalties that are audited, the networks, and the budget."""

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    nodes: int = Field(3, ge=2, le=12, description="N")
    penalties: Literal["shared", "own"] = Field(
        "shared", description="one for all nodes, or one each"
    )
    rate: Literal["printed", "proved"] = Field(
        "printed", description="delta(t) of eq. (23), or with 2 m_o for 2 m_o + 2 sigma_min"
    )
    dual_step: float = Field(0.5, gt=0, description="theta")
    budget: int = Field(2_000, ge=100, description="evaluated networks, unless --trials is given")


def prepare_equation23_search(settings: Settings, parameters: Equation23Parameters) -> SearchCase:
    """Return the audit: a search over networks and directions.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_equation23_search(Settings(), Equation23Parameters()).quantity
    'left form of (22) over the right one'
    """
    from dpaudit.algorithms.consensus.claims import rates, steps
    from dpaudit.algorithms.consensus.claims.networks import Family
    from dpaudit.algorithms.problems.records import refuse_data

    refuse_data(settings)
    shared, proved = parameters.penalties == "shared", parameters.rate == "proved"
    family = Family(nodes=parameters.nodes, dual_step=parameters.dual_step, shared=shared)
    return steps.step_case(
        rates.condition_22(CLAIM, family, parameters.factor, proved=proved),
        family,
        settings.seed,
        (*steps.ASSUMPTIONS, "mu above 1"),
        bound=parameters.factor,
        view="penalties, curvatures and a direction",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="left form of (22) over the right one"
        if shared
        else "forms of (22) over their size",
        effort="evaluated networks",
        proved=(1.0, _PROOF) if shared and proved else None,
        notes=("Both sides of (22) are compared along one direction.",),
    )


_PROOF = "the right side is at least 2 m_o, as (w - theta)(D - A) is positive semi-definite"

CLAIM = Claim(
    name="zhang2018-equation23",
    title="The rate of (23) meets (22)",
    statement=(
        "A lower bound on the delta(t) that satisfy (21) and (22) is min {theta sigma_min(D - A) / "
        "(mu^2 sigma~_max), (2 m_o + 2 sigma-_min) / ((mu^2 M_O^2 + mu sigma-_max^2) / (theta "
        "sigma_min(D - A)(mu - 1)) + sigma~_max)}: this number satisfies them."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, Theorem 3.2, eq. (22) and (23)"
    ),
    kind="property",
    relation="none",
    assumptions={
        "penalties at least theta": "eta_i(t) is at least theta > 0",
        "connected graph": "every node is reachable from every other",
        "strongly convex": "O_i is m_i-strongly convex with M_i-Lipschitz gradients",
        "mu above 1": "mu is any number above 1",
    },
    prepare=prepare_equation23_search,
    parameters=Equation23Parameters,
    scope="It would stand with 2 m_o in place of 2 m_o + 2 sigma-_min, for one penalty of all.",
    published={
        "penalties-of-their-own": Variant(
            settings={"parameters": {"penalties": "own"}},
            scope="It would stand if all nodes had one penalty, with the smaller rate.",
            printed=True,
        ),
        "proved-rate": Variant(
            settings={"parameters": {"rate": "proved"}},
            scope="Of a smaller rate, with a proof, where all nodes have one penalty.",
        ),
    },
)
