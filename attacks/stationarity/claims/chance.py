"""Runs of the attack against guesses: the audits of zhang2018's claims about attackers.

Both claims are put in numbers that a guess obeys exactly. In n independent runs with missing
records of uniform direction, let K count those in which an estimate has a cosine above c with the
record. If broadcasts and record are independent, K is Binomial(n, p), p the probability of
`dpaudit.attacks.stationarity.measures.chance_above`.

* Section 6.2 holds that K, of the estimate that sees no penalty, is at most the least k with
  ``P(Binomial(n, p) > k) <= 1e-9``. n and c are parameters: they are set before anything is drawn.
* Appendix E holds that the averaged direction has a cosine above c with the record in half of the
  runs or more. Then the number of runs in which it has not is at most Binomial(n, 1/2), and exceeds
  the least k with ``P(Binomial(n, 1/2) > k) <= 1e-6`` so rarely. A refutation says that averaging
  does not do that in so many iterations, not that it never can.

Counts come from draws, not from an instance that could be shrunk: the seed gives them again, and
they mislead with the probabilities above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.attacks.stationarity.likelihood import INTEGRATED, KNOWN
from dpaudit.attacks.stationarity.measures import (
    Closeness,
    chance_above,
    most_by_chance,
    rarely_more,
)
from dpaudit.attacks.stationarity.runs import (
    AVERAGED,
    EXACT,
    MEAN,
    UNIFORM,
    Setting,
    measure_estimator_closeness,
)
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.refutation import WorstInstance

# Error probabilities of the two claims.
_INDEPENDENT = 1e-9
_HALF = 1e-6
Bound = Callable[[int], float]
Attain = Callable[[int, Generator], WorstInstance]


def make_averaging_attack(setting: Setting, cosine: float, factor: float) -> tuple[Bound, Attain]:
    """Return how often an average that finds half of the records misses, and how often it does."""

    def bound_rarely(runs: int) -> float:
        return factor * rarely_more(runs, 1 / 2, _HALF)

    def attain(trials: int, rng: Generator) -> WorstInstance:
        close = _attack_drawn_runs(setting, (AVERAGED, MEAN, UNIFORM), trials, rng)
        cosines = _get_cosines(close[AVERAGED])
        missed = int(np.sum(cosines <= cosine))
        return WorstInstance(
            value=missed,
            bound=bound_rarely(len(cosines)),
            instance=_format_median_cosines(close),
            confidence=1 - _HALF,
        )

    return bound_rarely, attain


def make_finding_attack(setting: Setting, cosine: float, factor: float) -> tuple[Bound, Attain]:
    """Return how often guesses find the record, and how often an estimate without penalties."""
    noisy = setting.noise_rate is not None
    estimator = INTEGRATED if noisy else EXACT
    others = (AVERAGED, KNOWN, MEAN, UNIFORM) if noisy else (MEAN, UNIFORM)

    def bound_chance(runs: int) -> float:
        return factor * most_by_chance(runs, cosine, setting.dimension, _INDEPENDENT)

    def attain(trials: int, rng: Generator) -> WorstInstance:
        close = _attack_drawn_runs(setting, (estimator, *others), trials, rng)
        cosines = _get_cosines(close[estimator])
        found, bound = int(np.sum(cosines > cosine)), bound_chance(len(cosines))
        guess = chance_above(cosine, setting.dimension)
        because = (
            f"In {found} runs the estimate has a cosine above {cosine:g} with the record; a guess "
            f"has one with probability {guess:.3g}."
        )
        return WorstInstance(
            value=found,
            bound=bound,
            instance=_format_median_cosines(close),
            because=because if found > bound else None,
            confidence=1 - _INDEPENDENT,
        )

    return bound_chance, attain


def attack_case(
    settings: Settings,
    setting: Setting,
    runs: int,
    measure: tuple[Bound, Attain],
    parameters: Mapping[str, Any],
    *,
    quantity: str,
    view: str,
) -> SearchCase:
    """Return the audit of a claim about the success of the attack in so many runs."""
    refuse_data(settings, "every run draws its own")
    if settings.trials is not None and settings.trials < setting.iterations:
        expected = f"the {setting.iterations} broadcasts of a run, or more"
        raise InvalidArgument("trials", settings.trials, expected)
    allowed, attain = measure
    return SearchCase(
        bound=allowed(runs),
        attain=attain,
        quantity=quantity,
        view=view,
        data="uniform directions, labels by a planted model; drawn anew in every run",
        relation="replace-record",
        pair="none: the record itself is looked for",
        effort="broadcasts of the node",
        default_trials=runs * setting.iterations,
        parameters=parameters,
        assumptions=_check_attack_assumptions(setting),
        notes=_format_attack_notes(setting),
    )


def compute_theorem41_betas(setting: Setting) -> tuple[float, float]:
    """Return Theorem 4.1's beta for the largest and for the least penalties that may be drawn.

    Examples
    --------
    >>> least, most = compute_theorem41_betas(Setting(noise_rate=30.0, iterations=200))
    >>> round(least), round(most)
    (1375, 3035)
    """
    rate, degree = setting.noise_rate or 0.0, setting.nodes - 1
    summand = setting.loss_weight * (1.4 * LOGISTIC.largest_curvature + rate)
    one = summand / (setting.dual_step * degree * setting.records)
    # The largest penalties begin at `spread` theta and grow by `growth`; the least stay at theta.
    slowest = sum(setting.growth ** -float(t) for t in range(setting.iterations))
    return one * slowest / setting.spread, one * setting.iterations


def _attack_drawn_runs(
    setting: Setting, estimators: tuple[str, ...], trials: int, rng: Generator
) -> dict[str, list[Closeness]]:
    """Attack as many runs as there are broadcasts for."""
    # One draw seeds all runs, each of which has a stream of its own.
    entropy = int(rng.integers(2**63))
    return measure_estimator_closeness(
        setting, estimators, trials // setting.iterations, stream(entropy, "attack")
    )


def _get_cosines(close: list[Closeness]) -> Array:
    return np.array([each.cosine for each in close])


def _format_median_cosines(close: dict[str, list[Closeness]]) -> str:
    """Return every estimate's median cosine, and error of the norm where it estimates one."""
    medians = []
    for name, each in close.items():
        off = np.median([one.norm_error for one in each])
        norm = "" if name in (AVERAGED, MEAN, UNIFORM) else f" (norm {off:.1%} off)"
        medians.append(f"{name} {np.median(_get_cosines(each)):.3f}{norm}")
    runs = len(next(iter(close.values())))
    return f"median cosine with the record over {runs} runs: " + ", ".join(medians)


def _check_attack_assumptions(setting: Setting) -> tuple[AssumptionOutcome, ...]:
    """Return the assumptions, those on numbers checked on the parameters of the audit."""
    degree, weight = setting.nodes - 1, setting.loss_weight / setting.records
    ridge = setting.regulariser_weight / setting.nodes
    right = (ridge + 2 * setting.dual_step * degree) / weight
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


def _format_attack_notes(setting: Setting) -> tuple[str, ...]:
    notes = ["Runs are drawn from the seed; the error probability is part of the claim's bound."]
    if not setting.participates:
        notes.append("Control: the missing record takes no part in the runs.")
    if setting.noise_rate is not None:
        least, most = compute_theorem41_betas(setting)
        notes.append(
            f"Theorem 4.1 promises these runs a beta between {least:.4g} and {most:.4g}, by their "
            "penalties: pure differential privacy with so large an epsilon hides nothing."
        )
    if setting.norm == 1:
        notes.append("Likelihoods are searched up to norm 1, the norm that the record has here.")
    return tuple(notes)
