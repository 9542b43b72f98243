"""Audits of what zhang2018 says about attackers, by running the attack.

Both claims are put in numbers that a guess obeys exactly. In n independent runs with missing
records of uniform direction, let K count those in which an estimate has a cosine above c with the
record. If broadcasts and record are independent, K is Binomial(n, p), p the probability of
`dpaudit.attacks.stationarity.measures.chance_above`.

* Section 6.2 holds that K, of the estimate that sees no penalty, is at most the least k with
  ``P(Binomial(n, p) > k) <= 1e-9``. n and c are parameters: they are set before anything is drawn.
* Appendix E holds that the averaged direction is within an angle A of the record in half of the
  runs or more, A being so small that guesses do that with probability at most 1e-6. A refutation
  says that averaging does not do better than that in so many iterations, not that it never can.

Counts come from draws: the seed gives them again, and they mislead with the probabilities above.

The public parameters of the audits of what zhang2018 says about attackers.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from pydantic import BaseModel, ConfigDict, Field

from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.attacks.stationarity.likelihood import INTEGRATED, KNOWN
from dpaudit.attacks.stationarity.measures import (
    Closeness,
    angle_by_chance,
    chance_above,
    middle_angle,
    most_by_chance,
)
from dpaudit.attacks.stationarity.runs import AVERAGED, EXACT, MEAN, UNIFORM, Study, measured
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Attained


class Parameters(BaseModel):
    """Public parameters of the runs that are attacked, and what counts as found."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: int = Field(5, ge=2, description="N, all neighbours of each other")
    records: int = Field(50, ge=2, description="B, of every node")
    dimension: int = Field(10, ge=3, description="d")
    iterations: int = Field(200, ge=2, description="T")
    noise: bool = Field(True, description="whether there is noise; without it: M-ADMM")
    noise_rate: float = Field(30.0, gt=0, description="alpha, of every node and iteration")
    loss_weight: float = Field(50.0, gt=0, description="C, at most B in the paper")
    regulariser_weight: float = Field(1e-2, ge=0, description="rho")
    dual_step: float = Field(0.5, gt=0, description="theta")
    spread: float = Field(1.4, ge=1, description="eta_i(1) / theta is uniform from 1 to this")
    growth: float = Field(1.005, ge=1, description="eta_i(t+1) / eta_i(t) is uniform from 1 to it")
    norm: float = Field(1.0, gt=0, le=1, description="of the missing record")
    participates: bool = Field(True, description="False: a control whose runs do not use it")
    runs: int = Field(20, ge=1, description="independent runs, unless --trials is given")
    cosine: float = Field(0.6, gt=0, lt=1, description="c: a larger one counts as found")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


_INDEPENDENT, _GUESSED = 1e-9, 1e-6  # error probabilities of the two claims


def appendix_e_case(settings: Settings, parameters: Parameters) -> SearchCase:
    """Return the audit of Appendix E: the angle of the averaged direction.

    Examples
    --------
    >>> round(appendix_e_case(Settings(), Parameters()).bound, 2)
    63.03
    """
    if not parameters.noise:
        raise InvalidArgument("noise", False, "true: without noise there is nothing to average out")
    dimension = parameters.dimension

    def allowed(runs: int) -> float:
        return parameters.factor * angle_by_chance(runs, dimension, _GUESSED)

    def attain(trials: int, rng: Generator) -> Attained:
        close = _attacked(parameters, (AVERAGED, KNOWN, MEAN, UNIFORM), trials, rng)
        bound = allowed(len(close[AVERAGED]))
        angle = middle_angle(_cosines(close[AVERAGED]))
        return Attained(value=angle, bound=bound, instance=_words(close))

    return _case(
        settings,
        parameters,
        bound=allowed(parameters.runs),
        attain=attain,
        quantity="degrees within which half of the averages are",
        view="all broadcasts and the node's penalties",
    )


def section62_case(settings: Settings, parameters: Parameters) -> SearchCase:
    """Return the audit of section 6.2: how often the record is found without the penalties.

    Examples
    --------
    >>> section62_case(Settings(), Parameters()).bound
    8.0
    """
    estimator = INTEGRATED if parameters.noise else EXACT
    others = (AVERAGED, KNOWN, MEAN, UNIFORM) if parameters.noise else (MEAN, UNIFORM)

    def allowed(runs: int) -> float:
        most = most_by_chance(runs, parameters.cosine, parameters.dimension, _INDEPENDENT)
        return parameters.factor * most

    def attain(trials: int, rng: Generator) -> Attained:
        close = _attacked(parameters, (estimator, *others), trials, rng)
        cosines = _cosines(close[estimator])
        found = int(np.sum(cosines > parameters.cosine))
        bound = allowed(len(cosines))
        because = _because(found, parameters) if found > bound else None
        return Attained(
            value=found,
            bound=bound,
            instance=_words(close),
            because=because,
            confidence=1 - _INDEPENDENT,
        )

    return _case(
        settings,
        parameters,
        bound=allowed(parameters.runs),
        attain=attain,
        quantity="runs in which the record is found",
        view="all broadcasts; the penalties are private",
    )


def _case(settings: Settings, parameters: Parameters, **particular: object) -> SearchCase:
    refuse_data(settings, "every run draws its own")
    if settings.trials is not None and settings.trials < parameters.iterations:
        expected = f"the {parameters.iterations} broadcasts of a run, or more"
        raise InvalidArgument("trials", settings.trials, expected)
    common = {
        "data": "uniform directions, labels by a planted model; drawn anew in every run",
        "relation": "replace-record",
        "pair": "none: the record itself is looked for",
        "effort": "broadcasts of the node",
        "default_trials": parameters.runs * parameters.iterations,
        "parameters": parameters.model_dump(mode="json"),
        "assumptions": _assumed(parameters),
        "notes": _notes(parameters),
    }
    return SearchCase(**(common | particular))  # type: ignore[arg-type]


def _attacked(
    parameters: Parameters, estimators: tuple[str, ...], trials: int, rng: Generator
) -> dict[str, list[Closeness]]:
    """Attack as many runs as there are broadcasts for."""
    entropy = int(rng.integers(2**63))
    runs = trials // parameters.iterations
    return measured(study_of(parameters), estimators, runs, stream(entropy, "attack"))


def study_of(parameters: Parameters) -> Study:
    """Return the runs that are attacked."""
    given = parameters.model_dump(exclude={"noise", "runs", "cosine", "factor"})
    if not parameters.noise:
        given["noise_rate"] = None
    return Study(**given)


def _cosines(close: list[Closeness]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([each.cosine for each in close])


def _words(close: dict[str, list[Closeness]]) -> str:
    """Return every estimate's median cosine, and error of the norm where it estimates one."""
    medians = []
    for name, each in close.items():
        off = np.median([one.norm_error for one in each])
        norm = "" if name in (AVERAGED, MEAN, UNIFORM) else f" (norm {off:.1%} off)"
        medians.append(f"{name} {np.median(_cosines(each)):.3f}{norm}")
    runs = len(next(iter(close.values())))
    return f"median cosine with the record over {runs} runs: " + ", ".join(medians)


def _because(found: int, parameters: Parameters) -> str:
    guess = chance_above(parameters.cosine, parameters.dimension)
    return (
        f"In {found} runs the estimate has a cosine above {parameters.cosine:g} with the record; a "
        f"guess has one with probability {guess:.3g}."
    )


def _assumed(parameters: Parameters) -> tuple[AssumptionOutcome, ...]:
    """Return the assumptions, those on numbers checked on the parameters of the audit."""
    degree, weight = parameters.nodes - 1, parameters.loss_weight / parameters.records
    ridge = parameters.regulariser_weight / parameters.nodes
    right = (ridge + 2 * parameters.dual_step * degree) / weight
    left = 2 * LOGISTIC.largest_curvature
    drawn = "drawn so in every run"
    return (
        AssumptionOutcome(name="one record is missing", holds=True, evidence="the attack's input"),
        AssumptionOutcome(name="uniform record", holds=True, evidence=drawn),
        AssumptionOutcome(name="unit rows", holds=True, evidence=drawn),
        AssumptionOutcome(name="loss weight", holds=weight <= 1, evidence=f"C/B = {weight:.4g}"),
        AssumptionOutcome(name="growing penalties", holds=True, evidence=drawn),
        AssumptionOutcome(
            name="theta of Algorithm 1",
            holds=left < right,
            evidence=f"{left:.4g} against {right:.4g}",
        ),
    )


def _notes(parameters: Parameters) -> tuple[str, ...]:
    notes = ["Runs are drawn from the seed; the error probability is part of the claim's bound."]
    if not parameters.participates:
        notes.append("Control: the missing record takes no part in the runs.")
    if parameters.norm == 1:
        notes.append("Likelihoods are searched up to norm 1, the norm that the record has here.")
    return tuple(notes)
