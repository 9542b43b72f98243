"""The iterations settle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2019.lemma5 import (
    PUBLISHED,
    REACHED,
    SCOPE,
    Lemma5Parameters,
    run_case,
)
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class SettlingParameters(Lemma5Parameters):
    """Public parameters of the problems, which are quadratic, and the budget."""

    half_width: float | None = Field(
        None, gt=0, description="X_m is [-half_width, half_width] (by default all of R^d)"
    )


def prepare_convergence_search(settings: Settings, parameters: SettlingParameters) -> SearchCase:
    """Return the audit: a search for quadratic problems whose iterations grow, or alternate.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_convergence_search(Settings(), SettlingParameters())
    >>> case.attain(400, np.random.default_rng(0)).ratio > 1.8
    True
    """
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import STEP

    if parameters.half_width is not None:
        return _make_bounded_case(settings, parameters, parameters.half_width)
    because = (
        "The proof needs Lemmas 4 and 5; with parallel updates of three or more parties steps can "
        "grow in every iteration."
    )
    notes = (
        "Where (M - 1) rho is below 2 it is true: the Lagrangian then falls by at least a fixed "
        "multiple of the squared steps and is bounded below, so that steps vanish.",
        "Parts 2 and 3 of the theorem, on limit points, need Part 1; its number and statement are "
        "missing from the text (Theorem ??).",
    )
    return run_case(CLAIM, settings, parameters, STEP, because, notes)


def _make_bounded_case(
    settings: Settings, parameters: SettlingParameters, half_width: float
) -> SearchCase:
    """Return the audit of problems with compact X_m: a search for runs that alternate."""
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2019.alternation import (
        find_alternating_run,
        make_settling_inequality,
    )
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.case import AssumptionOutcome, SearchCase
    from dpaudit.refutation import searched

    refuse_data(settings)
    for name, value in (("features", parameters.features), ("iterations", parameters.iterations)):
        # The inequality is for one column a party, and the state before it has to be the first that
        # an iteration made.
        if value != (least := 1 if name == "features" else 2):
            raise InvalidArgument(name, value, f"{least} with half_width: an interval of one model")
    setting = parameters.setting(parameters.parties, parameters.penalty, "squared")
    claim = make_settling_inequality(CLAIM, parameters.factor, _ALTERNATING)
    return SearchCase(
        bound=parameters.factor,
        attain=lambda trials, rng: searched(
            claim,
            lambda budget, draws: find_alternating_run(
                setting, half_width, parameters.last, budget, draws
            ),
            trials,
            rng,
            seed=settings.seed,
        ),
        view=f"iterations 1 to {parameters.last}, from x = y = z = 0, the paper's start",
        data="problems that meet Assumption 1, with one column a party and models in an interval",
        relation=CLAIM.relation,
        pair="none",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="last step of z over the first",
        effort="evaluated runs",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence="checked on the instance found")
            for name in REACHED
        ),
        notes=("Every model alternates between the ends of the interval, by proof for ever.",),
    )


_ALTERNATING = (
    "With compact X_m the iterates stay bounded and need not settle: parallel updates of three or "
    "more parties send all models from one end of the interval to the other, for ever."
)


CLAIM = Claim(
    name="hu2019-convergence",
    title="The iterations settle",
    statement=(
        "Under Assumption 1, as t grows ||x_m^{t+1} - x_m^t|| tends to 0 for every m, and "
        "||z^{t+1} - z^t||, ||y^{t+1} - y^t|| and sum_m D_m x_m^{t+1} - z^{t+1} tend to 0."
    ),
    source=f"{PAPER}, supplement 7.1, Part 1",
    kind="property",
    relation="none",
    assumptions=REACHED,
    prepare=prepare_convergence_search,
    parameters=SettlingParameters,
    scope=SCOPE,
    published=PUBLISHED
    | {
        "bounded models": Variant(
            settings={"parameters": {"half_width": 2.0}},
            scope="It would stand for (M - 1) rho below 2, or for updates one party after another; "
            "compact X_m, which Part 3 asks for, are no help.",
            printed=True,
        )
    },
)
