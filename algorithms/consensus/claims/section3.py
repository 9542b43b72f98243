r"""Whether the rate of (23) falls as penalties grow.

After Theorem 3.2 the first term of (23) is said to be smaller when the penalties are larger, which
is so, and the second to be "bounded by" a number that is smaller when sigma-_max is larger: with
sigma-_min on top of it, which is larger too. While the penalties are near theta the sigmas are near
0, the top grows in proportion, and what is below by squares: delta grows, and so does the rate. In
a graph of two nodes all singular values are one, and (23) is a function of one penalty with a
maximum away from theta.

With the rate that is proved (2 m_o for 2 m_o + 2 sigma-_min) and one penalty for all the sentence
is true: both sigmas grow with the penalty, and nothing on top does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Section3Parameters(Parameters):
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


def prepare_section3_search(settings: Settings, parameters: Section3Parameters) -> SearchCase:
    """Return the audit: a search over networks, and penalties before and after they grow.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_section3_search(Settings(), Section3Parameters()).quantity
    '1 + delta with larger penalties, over 1 + delta'
    """
    from dpaudit.algorithms.consensus.claims import rates, steps
    from dpaudit.algorithms.consensus.claims.networks import Family
    from dpaudit.algorithms.problems.records import refuse_data

    refuse_data(settings)
    shared, proved = parameters.penalties == "shared", parameters.rate == "proved"
    family = Family(nodes=parameters.nodes, dual_step=parameters.dual_step, shared=shared)
    return steps.step_case(
        rates.make_falling_rate_search(CLAIM, family, parameters.factor, proved=proved),
        family,
        settings.seed,
        (*steps.ASSUMPTIONS, "mu above 1"),
        bound=parameters.factor,
        view="penalties before and after they grow, with one mu",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="1 + delta with larger penalties, over 1 + delta",
        effort="evaluated networks",
        proved=(1.0, _PROOF) if shared and proved else None,
        is_ratio=True,
        notes=("mu, the curvatures and the graph are the same on both sides.",),
    )


_PROOF = "both largest singular values grow with the penalty, and nothing else in the rate does"

CLAIM = Claim(
    name="zhang2018-section3",
    title="The rate falls as penalties grow",
    statement=(
        "Therefore, the convergence rate 1 + delta(t) decreases as {eta_i(t)} increase, delta(t) "
        "being the number of (23)."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, section 3, after Theorem 3.2"
    ),
    kind="property",
    relation="none",
    assumptions={
        "penalties at least theta": "eta_i(t) is at least theta > 0",
        "connected graph": "every node is reachable from every other",
        "strongly convex": "O_i is m_i-strongly convex with M_i-Lipschitz gradients",
        "mu above 1": "mu is any number above 1",
    },
    prepare=prepare_section3_search,
    parameters=Section3Parameters,
    scope="It would stand of the upper bound that the paper draws on, for equal smallest singular "
    "values, and of the rate with 2 m_o in place of 2 m_o + 2 sigma-_min.",
    published={
        "penalties-of-their-own": Variant(
            settings={"parameters": {"penalties": "own"}},
            scope="It would stand of the smaller rate if all nodes had one penalty.",
            printed=True,
        ),
        "proved-rate": Variant(
            settings={"parameters": {"rate": "proved"}},
            scope="Of a smaller rate, where all nodes have one penalty.",
        ),
    },
)
