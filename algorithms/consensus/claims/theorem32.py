"""Rate of convergence of M-ADMM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Theorem32Parameters(Parameters):
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
    budget: int = Field(4_000, ge=100, description="evaluated steps, unless --trials is given")


_LEFT = "(1 + delta(1)) ||Z(1) - Z*||^2"


def prepare_theorem32_search(settings: Settings, parameters: Theorem32Parameters) -> SearchCase:
    """Return the audit of Theorem 3.2.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_theorem32_search(Settings(), Theorem32Parameters()).quantity
    '(1 + delta(1)) ||Z(1) - Z*||^2 / ||Z(0) - Z*||^2'
    """
    from dpaudit.algorithms.consensus.claims import steps
    from dpaudit.algorithms.consensus.claims.networks import Family
    from dpaudit.algorithms.problems.records import refuse_data

    refuse_data(settings)
    shared, proved = parameters.penalties == "shared", parameters.rate == "proved"
    family = Family(nodes=parameters.nodes, dual_step=parameters.dual_step, shared=shared)
    note = (
        f"With 2 m_o in place of 2 m_o + 2 sigma_min the rate holds: {steps.SHARED_PROOF}."
        if shared
        else f"Only for one penalty of all nodes is the right side a squared norm; {steps.SIZE}."
    )
    return steps.step_case(
        steps.contraction(CLAIM, family, parameters.factor, proved=proved),
        family,
        settings.seed,
        (*steps.ASSUMPTIONS, "mu above 1"),
        bound=parameters.factor,
        view="the first step of M-ADMM, eq. (10) and (11)",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity=f"{_LEFT} / ||Z(0) - Z*||^2" if shared else f"{_LEFT} over the size of the start",
        effort="evaluated steps",
        proved=(1.0, steps.SHARED_PROOF) if shared and proved else None,
        notes=(note,),
    )


CLAIM = Claim(
    name="zhang2018-theorem32",
    title="Rate of convergence of M-ADMM",
    statement=(
        "Under Assumption 3, (1 + delta(t)) ||Z(t) - Z*||_J^2 <= ||Z(t-1) - Z*||_J^2 in the norm "
        "of J(t), with the delta(t) of eq. (23) for any mu > 1."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, Theorem 3.2, eq. (23)"
    ),
    kind="property",
    relation="none",
    assumptions={
        "penalties at least theta": "eta_i(t) is at least theta > 0",
        "connected graph": "every node is reachable from every other",
        "strongly convex": "O_i is m_i-strongly convex with M_i-Lipschitz gradients",
        "mu above 1": "mu is any number above 1",
    },
    prepare=prepare_theorem32_search,
    parameters=Theorem32Parameters,
    scope="It would stand with the smaller rate of the variant proved-rate.",
    published={
        "penalties-of-their-own": Variant(
            settings={"parameters": {"penalties": "own"}},
            scope="It would stand if all nodes had one penalty, with the smaller rate.",
            printed=True,
        ),
        "two-nodes": Variant(
            settings={"parameters": {"nodes": 2}},
            scope="It would stand with the smaller rate of the variant proved-rate.",
            printed=True,
        ),
        "proved-rate": Variant(
            settings={"parameters": {"rate": "proved"}},
            scope="Of a smaller rate, with a proof, where all nodes have one penalty.",
        ),
    },
)
