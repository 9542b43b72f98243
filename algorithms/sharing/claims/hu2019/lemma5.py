"""The augmented Lagrangian converges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import ASSUMPTION_1, PAPER, ProblemParameters
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import Horizon
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Lemma5Parameters(ProblemParameters):
    """Public parameters of the problems, which are quadratic, and the budget."""

    parties: int = Field(3, ge=1, le=20, description="M")
    features: int = Field(1, ge=1, le=20, description="d_m, of every party")
    samples: int = Field(2, ge=1, le=20, description="N")
    penalty: float = Field(10.0, gt=0, description="rho")
    loss_weight: float = Field(9.0, gt=0, description="c of the loss c ||z - b||^2 / 2")
    iterations: int = Field(2, ge=2, le=40, description="the iteration whose step is followed")
    last: int = Field(40, ge=40, le=400, description="T, the last iteration of the run")
    start: Literal["any", "zero"] = Field("zero", description="x, y and z before iteration 1")
    budget: int = Field(2_000, ge=100, description="evaluated problems, unless --trials is given")


def prepare_hu2019_lemma5(settings: Settings, parameters: Lemma5Parameters) -> SearchCase:
    """Return the audit: a search for quadratic problems whose iterations grow.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_hu2019_lemma5(Settings(), Lemma5Parameters())
    >>> case.attain(400, np.random.default_rng(0)).ratio > 1.8
    True
    """
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import LAGRANGIAN

    because = (
        "The proof has from Lemma 4 that the augmented Lagrangian decreases; with parallel updates "
        "of three or more parties it can grow without bound."
    )
    notes = (
        "That the Lagrangian is bounded below is true, by (20): what fails is the limit.",
        "Where (M - 1) rho is at most 2 the lemma is true: there Lemma 4 is.",
    )
    return run_case(CLAIM, settings, parameters, LAGRANGIAN, because, notes)


def run_case(
    claim: Claim,
    settings: Settings,
    parameters: Lemma5Parameters,
    horizon: Horizon,
    because: str,
    notes: tuple[str, ...],
) -> SearchCase:
    """Return the audit of a claim about whole runs, by problems whose steps grow.

    ``horizon`` is the number of a run that the claim is about, ``because`` says why it fails.
    """
    from functools import partial

    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.sharing.claims.hu2019.growth import growth
    from dpaudit.algorithms.sharing.claims.hu2019.horizon import make_horizon_inequality, run_words
    from dpaudit.algorithms.sharing.claims.hu2019.search import search_case

    refuse_data(settings)
    setting = parameters.setting(parameters.parties, parameters.penalty, "squared")
    return search_case(
        make_horizon_inequality(claim, horizon, parameters.last, parameters.factor, because),
        growth(),
        (setting,),
        parameters.window(parameters.iterations, parameters.start),
        seed=settings.seed,
        short=partial(run_words, horizon),
        parameters=parameters.model_dump(mode="json"),
        budget=parameters.budget,
        quantity=horizon.quantity,
        notes=notes,
        reached=True,
    )


REACHED = ASSUMPTION_1 | {
    "reached by an iteration": "x^t, z^t and y^t come from an iteration (Lemma 2 at t)"
}
SCOPE = "It would stand for (M - 1) rho below 2. Here it is 20, and Assumption 1 allows that."
PUBLISHED = {
    "6 parties": Variant(
        settings={"parameters": {"parties": 6, "features": 2, "samples": 4, "loss_weight": 2.0}},
        scope="It would stand for (M - 1) rho below 2; here it is 50, of a loss a fifth as steep "
        "as the penalty.",
        printed=True,
    ),
    "2 parties": Variant(
        settings={"parameters": {"parties": 2}},
        scope="Tried with two parties on quadratic problems: their iterations do not grow.",
        printed=True,
    ),
}

CLAIM = Claim(
    name="hu2019-lemma5",
    title="The augmented Lagrangian converges",
    statement=(
        "Under Assumption 1 the limit of the augmented Lagrangian as t grows exists and is bounded "
        "from below."
    ),
    source=f"{PAPER}, supplement, Lemma 5, eq. (19)",
    kind="property",
    relation="none",
    assumptions=REACHED,
    prepare=prepare_hu2019_lemma5,
    parameters=Lemma5Parameters,
    scope=SCOPE,
    published=PUBLISHED,
)
