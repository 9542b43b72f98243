"""The augmented Lagrangian falls in every iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import (
    ASSUMPTION_1,
    PAPER,
    Loss,
    ProblemParameters,
)
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Lemma4Parameters(ProblemParameters):
    """Public parameters of the problems, which version of Lemma 4 is audited, and the budget.

    With a factor it is the two terms by which the fall may be less that are multiplied.
    """

    parties: int = Field(6, ge=1, description="M")
    penalty: float = Field(10.0, gt=0, description="rho")
    loss: Loss = Field("squared", description="of a sample")
    version: Literal["published", "with-penalty", "corrected"] = Field(
        "published", description="sigma_max(D_m'D_m) as it is, times rho/2, or times (M - 1) rho/2"
    )
    start: Literal["any", "zero"] = Field("zero", description="x, y and z before iteration 1")
    earliest: int = Field(2, ge=2, description="the first audited iteration")
    budget: int = Field(16_000, ge=100, description="evaluated runs, unless --trials is given")


def prepare_lemma4_search(settings: Settings, parameters: Lemma4Parameters) -> SearchCase:
    """Return the audit of Lemma 4, as published or with another constant.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_lemma4_search(Settings(), Lemma4Parameters())
    >>> attained = case.attain(1000, np.random.default_rng(0))
    >>> attained.ratio > 10, attained.value > attained.bound
    (True, True)
    """
    from functools import partial

    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2019 import lagrangian
    from dpaudit.algorithms.sharing.claims.hu2019.search import search_case

    refuse_data(settings)
    version, factor = parameters.version, parameters.factor
    setting = parameters.setting(parameters.parties, parameters.penalty, parameters.loss)
    return search_case(
        lagrangian.make_lemma4_inequality(CLAIM, version, factor),
        lagrangian.make_decrease_measure(version, factor),
        (setting,),
        parameters.window(parameters.earliest, parameters.start),
        seed=settings.seed,
        short=partial(lagrangian.change_words, version, factor),
        parameters=parameters.model_dump(mode="json"),
        budget=parameters.budget,
        quantity="change of the augmented Lagrangian",
        notes=(
            f"With (M - 1) rho / 2 = {lagrangian.get_lemma4_allowance(setting, 'corrected'):g} "
            "times "
            "sigma_max(D_m'D_m) the lemma is true, by proof; as published it is true where that "
            "number is at most 1.",
        ),
        reached=True,
    )


CLAIM = Claim(
    name="hu2019-lemma4",
    title="The augmented Lagrangian falls in every iteration",
    statement=(
        "Under Assumption 1 an iteration changes the augmented Lagrangian by at most "
        "-sum_m (gamma_m/2 - sigma_max(D_m'D_m)) ||x_m^{t+1} - x_m^t||^2 "
        "- (gamma/2 - L^2/rho) ||z^{t+1} - z^t||^2."
    ),
    source=f"{PAPER}, supplement, Lemma 4",
    kind="property",
    relation="none",
    assumptions={
        **ASSUMPTION_1,
        "reached by an iteration": "x^t, z^t and y^t come from an iteration (Lemma 2 at t)",
    },
    prepare=prepare_lemma4_search,
    parameters=Lemma4Parameters,
    scope="It would stand for (M - 1) rho at most 2; here it is 50, and Assumption 1 allows that.",
    published={
        "diverging": Variant(
            settings={"parameters": {"parties": 3, "loss_weight": 9.0, "iterations": 12}},
            scope="It would stand for (M - 1) rho at most 2; here it is 20, and the run diverges.",
            printed=True,
        ),
        "any-start": Variant(
            settings={"parameters": {"start": "any"}},
            scope="It does not fall on the lemma as printed: its proof needs y^t from an update.",
        ),
        "with-penalty": Variant(
            settings={"parameters": {"version": "with-penalty"}},
            scope="Of the lemma with the factor rho / 2 that the proof drops: who puts it back "
            "still lacks the factor M - 1.",
        ),
        "corrected": Variant(
            settings={"parameters": {"version": "corrected", "start": "any"}},
            scope="Of the lemma with (M - 1) rho / 2 times sigma_max; tried from any start.",
        ),
        "two-parties-small-penalty": Variant(
            settings={"parameters": {"parties": 2, "penalty": 2.0, "start": "any"}},
            scope="Tried where (M - 1) rho is 2: there the lemma is the corrected one.",
        ),
    },
)
