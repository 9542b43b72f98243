"""The audits of zhang2018's Theorems 3.1 and 3.2: searches over networks, without privacy."""

from __future__ import annotations

from collections.abc import Callable

from numpy.random import Generator

from dpaudit.algorithms.consensus.claims.growing import Growing
from dpaudit.algorithms.consensus.claims.parameters import Theorem31Parameters, Theorem32Parameters
from dpaudit.algorithms.consensus.claims.search import Family
from dpaudit.algorithms.consensus.claims.stall import Run
from dpaudit.algorithms.consensus.claims.statements import bounded_modes, contraction, inequality_19
from dpaudit.algorithms.consensus.claims.steps import Statement, attained
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.problems.smooth_losses import smooth_loss_called
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Attained

Attain = Callable[[int, Generator], Attained]

_STEP_ASSUMPTIONS = ("penalties at least theta", "connected graph", "strongly convex")
_QUADRATICS = "O_i(f) = m_i f^2 / 2 - b_i f, one number a node; drawn and improved by the search"
_LEFT = "(1 + delta(1)) ||Z(1) - Z*||^2"
_RIGHT = {True: f"{_LEFT} / ||Z(0) - Z*||^2", False: f"{_LEFT} over the size of the start"}
_SIZE = "the size of the start is ||Y(0) - Y*||^2 / theta + sum_i 2 eta_i V_i (f_i(0) - f*)^2"
_SHARED_PROOF = (
    "the paper's proof, which is sound for one penalty of all nodes with 2 m_o in place of "
    "2 m_o + 2 sigma_min in eq. (23)"
)


def theorem31_case(settings: Settings, parameters: Theorem31Parameters) -> SearchCase:
    """Return the audit of a part of Theorem 3.1.

    Examples
    --------
    >>> theorem31_case(Settings(), Theorem31Parameters()).bound
    0.01
    >>> theorem31_case(Settings(), Theorem31Parameters(part="bounded")).quantity
    'modulus of a mode'
    """
    refuse_data(settings)
    family = Family(
        nodes=parameters.nodes,
        dual_step=parameters.dual_step,
        shared=parameters.penalties == "shared",
    )
    match parameters.part:
        case "growing":
            return _growing_case(settings, parameters)
        case "bounded":
            return _bounded_case(settings, parameters, bounded_modes(family, parameters.factor))
        case "inequality":
            statement = inequality_19(family, parameters.factor)
            return _inequality_case(settings, parameters, statement)


def _growing_case(settings: Settings, parameters: Theorem31Parameters) -> SearchCase:
    run = Run(
        nodes=parameters.nodes,
        loss=smooth_loss_called(parameters.loss),
        dual_step=parameters.dual_step,
        ridge=parameters.ridge,
        iterations=parameters.iterations,
        first=parameters.first,
        growth=parameters.growth,
    )
    growing = Growing(run=run, tolerance=parameters.tolerance, factor=parameters.factor)
    return SearchCase(
        bound=growing.allowed,
        attain=lambda budget, rng: growing.attain(budget, rng, seed=settings.seed),
        view="the models f_i(t) of M-ADMM, eq. (10) and (11), as t grows",
        data=(
            f"one record u_i in [1/2, 1] a node, O_i(f) = l(u_i f) + {run.ridge:g} f^2 / 2, the "
            f"{run.loss.name} loss; drawn and improved by the search"
        ),
        relation="none",
        pair="none: a statement about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="share of the distance to the optimum that is left in the limit",
        effort="evaluated runs",
        assumptions=_enforced(
            "penalties at least theta",
            "penalties do not fall",
            "finite penalties",
            "connected graph",
            "convex and differentiable",
        ),
        notes=(
            "Convergence to the optimum means that nothing is left; what is judged is more than "
            f"{growing.allowed:g} of the distance at the start, proved to be left in the limit.",
            "It takes eta_i(t) < infinity for all t and i as printed, as the paper's figures do. "
            "Where all eta_i(t) have one bound, see part = bounded.",
        ),
    )


def _bounded_case(
    settings: Settings, parameters: Theorem31Parameters, statement: Statement
) -> SearchCase:
    return SearchCase(
        bound=parameters.factor,
        attain=_attain(statement, settings),
        view="the iteration (13), (14) with penalties that have settled",
        data=_QUADRATICS,
        relation="none",
        pair="none: a statement about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="modulus of a mode",
        effort="evaluated networks",
        assumptions=_enforced(*_STEP_ASSUMPTIONS),
        proved=(1.0, _SHARED_PROOF) if parameters.penalties == "shared" else None,
        notes=(
            "Penalties that do not fall and are bounded settle. All modes inside the unit circle "
            "mean convergence to the optimum from every start.",
        ),
    )


def _inequality_case(
    settings: Settings, parameters: Theorem31Parameters, statement: Statement
) -> SearchCase:
    return SearchCase(
        bound=parameters.factor - 1,
        attain=_attain(statement, settings),
        view="the first step of M-ADMM, eq. (10) and (11)",
        data=_QUADRATICS,
        relation="none",
        pair="none: a statement about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="left side of (19) over the size of the start",
        effort="evaluated steps",
        assumptions=_enforced(*_STEP_ASSUMPTIONS),
        proved=(0.0, _SHARED_PROOF) if parameters.penalties == "shared" else None,
        notes=(f"Here {_SIZE}.",),
    )


def theorem32_case(settings: Settings, parameters: Theorem32Parameters) -> SearchCase:
    """Return the audit of Theorem 3.2.

    Examples
    --------
    >>> theorem32_case(Settings(), Theorem32Parameters()).quantity
    '(1 + delta(1)) ||Z(1) - Z*||^2 / ||Z(0) - Z*||^2'
    """
    refuse_data(settings)
    shared = parameters.penalties == "shared"
    family = Family(nodes=parameters.nodes, dual_step=parameters.dual_step, shared=shared)
    proved = parameters.rate == "proved"
    statement = contraction(family, parameters.factor, proved=proved)
    return SearchCase(
        bound=parameters.factor,
        attain=_attain(statement, settings),
        view="the first step of M-ADMM, eq. (10) and (11)",
        data=_QUADRATICS,
        relation="none",
        pair="none: a statement about one dataset",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity=_RIGHT[shared],
        effort="evaluated steps",
        assumptions=_enforced(*_STEP_ASSUMPTIONS, "mu above 1"),
        proved=(1.0, _SHARED_PROOF) if shared and proved else None,
        notes=_rate_notes(shared),
    )


def _rate_notes(shared: bool) -> tuple[str, ...]:
    if not shared:
        return (f"Only for one penalty of all nodes is the right side a squared norm; {_SIZE}.",)
    return (f"With 2 m_o in place of 2 m_o + 2 sigma_min the rate holds: {_SHARED_PROOF}.",)


def _attain(statement: Statement, settings: Settings) -> Attain:
    return lambda budget, rng: attained(statement, budget, rng, seed=settings.seed)


def _enforced(*names: str) -> tuple[AssumptionOutcome, ...]:
    return tuple(
        AssumptionOutcome(name=name, holds=True, evidence="enforced, and checked on what was found")
        for name in names
    )
