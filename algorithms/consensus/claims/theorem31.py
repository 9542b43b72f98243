"""Convergence of M-ADMM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import CHOICE, Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Theorem31Parameters(Parameters):
    """The part of Theorem 3.1 that is audited, the networks, and the budget.

    With ``part = "inequality"`` the claimed bound is 0; the factor less 1, times the distance at
    the start, is added to it.
    """

    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")
    part: Literal["growing", "bounded", "inequality"] = Field(
        "growing",
        description="penalties that grow geometrically; that settle; or inequality (19)",
    )
    nodes: int = Field(3, ge=2, le=12, description="N")
    penalties: Literal["shared", "own"] = Field(
        "own", description="one for all nodes, or one each; for bounded and inequality"
    )
    dual_step: float = Field(0.5, ge=0.5, le=1e3, description="theta")
    loss: Literal["linear", "logistic"] = Field("logistic", description="for growing penalties")
    ridge: float = Field(1.0, gt=0, description="rho / N; for growing penalties")
    iterations: int = Field(120, ge=1, le=4000, description="T; for growing penalties")
    first: tuple[float, ...] | None = Field(
        None, description="eta_i(1) of every node (by default searched); for growing penalties"
    )
    growth: tuple[float, ...] | None = Field(
        None, description="eta_i(t+1) / eta_i(t) (by default searched); for growing penalties"
    )
    tolerance: float = Field(
        0.01,
        gt=0,
        description="share of the distance at the start that may be left; for growing penalties",
        json_schema_extra=CHOICE,
    )
    budget: int = Field(1_000, ge=100, description="evaluated runs, unless --trials is given")


def prepare_theorem31_search(settings: Settings, parameters: Theorem31Parameters) -> SearchCase:
    """Return the audit of a part of Theorem 3.1.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_theorem31_search(Settings(), Theorem31Parameters()).bound
    0.01
    >>> prepare_theorem31_search(Settings(), Theorem31Parameters(part="bounded")).quantity
    'modulus of a mode'
    """
    from dpaudit.algorithms.problems.records import refuse_data

    refuse_data(settings)
    return (_prepare_growing_case if parameters.part == "growing" else _prepare_step_case)(
        settings, parameters
    )


def _prepare_growing_case(settings: Settings, parameters: Theorem31Parameters) -> SearchCase:
    from dpaudit.algorithms.consensus.claims import growing
    from dpaudit.algorithms.consensus.claims.networks import network_case
    from dpaudit.algorithms.problems.smooth_losses import smooth_loss_called

    loss, allowed = smooth_loss_called(parameters.loss), parameters.tolerance * parameters.factor
    names = {"nodes", "dual_step", "ridge", "iterations", "first", "growth"}
    run = growing.GrowingPenaltyRun(loss=loss, **parameters.model_dump(include=names))
    return network_case(
        growing.little_is_left(CLAIM, run, parameters.tolerance, parameters.factor),
        growing.make_short_run_strategy(run),
        growing.GENERATED,
        settings.seed,
        (
            "penalties at least theta",
            "penalties do not fall",
            "finite penalties",
            "connected graph",
            "convex and differentiable",
        ),
        bound=allowed,
        view="the models f_i(t) of M-ADMM, eq. (10) and (11), as t grows",
        data=(
            f"one record u_i in [1/2, 1] a node, O_i(f) = l(u_i f) + {run.ridge:g} f^2 / 2, the "
            f"{run.loss.name} loss; drawn and improved by the search"
        ),
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="share of the distance to the optimum that is left in the limit",
        effort="evaluated runs",
        notes=(
            "Convergence to the optimum means that nothing is left; what is judged is more than "
            f"{allowed:g} of the distance at the start, proved to be left in the limit.",
            "It takes eta_i(t) < infinity for all t and i as printed, as the paper's figures do. "
            "Where all eta_i(t) have one bound, see part = bounded.",
        ),
    )


def _prepare_step_case(settings: Settings, parameters: Theorem31Parameters) -> SearchCase:
    from dpaudit.algorithms.consensus.claims import steps
    from dpaudit.algorithms.consensus.claims.networks import Family

    shared, factor = parameters.penalties == "shared", parameters.factor
    family = Family(nodes=parameters.nodes, dual_step=parameters.dual_step, shared=shared)
    if parameters.part == "bounded":
        searchable, bound = steps.make_bounded_modes_search(CLAIM, family, factor), factor
        view = "the iteration (13), (14) with penalties that have settled"
        quantity, effort = "modulus of a mode", "evaluated networks"
        proved: tuple[float, str] | None = (1.0, steps.SETTLED_PROOF)
        note = (
            "Penalties that do not fall and are bounded settle. All modes inside the unit circle "
            "mean convergence to the optimum from every start."
        )
    else:
        searchable, bound = steps.inequality_19(CLAIM, family, factor), factor - 1
        view = "the first step of M-ADMM, eq. (10) and (11)"
        quantity, effort = "left side of (19) over the size of the start", "evaluated steps"
        proved = (0.0, steps.SHARED_PROOF) if shared else None
        note = f"Here {steps.SIZE}."
    return steps.step_case(
        searchable,
        family,
        settings.seed,
        bound=bound,
        view=view,
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity=quantity,
        effort=effort,
        proved=proved,
        notes=(note,),
    )


# Figure 1 (a) as printed: theta and the penalties of its five nodes. The paper gives neither rho
# nor T.
_FIGURE_1A = {
    "nodes": 5,
    "dual_step": 0.5,
    "first": [0.55, 0.65, 0.6, 0.55, 0.6],
    "growth": [1.01, 1.03, 1.1, 1.2, 1.02],
    "iterations": 2500,
    "ridge": 0.1,
    "budget": 100,
}

CLAIM = Claim(
    name="zhang2018-theorem31",
    title="Convergence of M-ADMM",
    statement=(
        "M-ADMM (10), (11) satisfies inequality (19), and if eta_i(t+1) >= eta_i(t) >= theta > 0 "
        "and eta_i(t) < infinity for all t and i, its outputs converge to the optimum (17), (18)."
    ),
    source=(
        "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms, "
        "ICML 2018, Theorem 3.1"
    ),
    kind="property",
    relation="none",
    assumptions={
        "penalties at least theta": "eta_i(t) is at least theta > 0",
        "connected graph": "every node is reachable from every other",
        "penalties do not fall": "eta_i(t+1) is at least eta_i(t)",
        "finite penalties": "eta_i(t) is finite for every t; all of them need not be bounded",
        "convex and differentiable": "O_i is convex and continuously differentiable",
        "strongly convex": "O_i is strongly convex, beyond what the theorem asks",
    },
    prepare=prepare_theorem31_search,
    parameters=Theorem31Parameters,
    scope="It would stand for penalties that stay bounded; of quadratics that is proved (below).",
    published={
        "penalties-of-figure-1a": Variant(
            settings={"parameters": _FIGURE_1A},
            scope="It would stand for penalties that stay bounded; those of Figure 1 (a) do not.",
            printed=True,
        ),
        "two-nodes": Variant(
            settings={"parameters": {"nodes": 2, "loss": "linear", "dual_step": 1.0}},
            scope="It would stand for penalties that stay bounded.",
            printed=True,
        ),
        "inequality-19": Variant(
            settings={"parameters": {"part": "inequality"}},
            scope="It would stand if all nodes had one penalty (inequality-19-shared-penalty).",
            printed=True,
        ),
        "inequality-19-shared-penalty": Variant(
            settings={"parameters": {"part": "inequality", "penalties": "shared"}},
            scope="Of one penalty for all nodes, where it is proved.",
        ),
        "bounded-penalties": Variant(
            settings={"parameters": {"part": "bounded", "nodes": 5, "budget": 20_000}},
            scope="Of quadratics, and of penalties that are constant from some iteration on.",
        ),
    },
)
