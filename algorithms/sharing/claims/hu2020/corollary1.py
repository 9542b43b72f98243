"""The audit of hu2020's Corollary 1: its composition against the one that cannot be improved."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.random import Generator, default_rng

import dpaudit._validate as check
from dpaudit.accounting.composition import OptimalComposition, advanced, optimal
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.sharing.claims.hu2020.compositions import Limits, composition_space, numbers
from dpaudit.algorithms.sharing.claims.hu2020.parameters import Corollary1Parameters
from dpaudit.errors import InvalidArgument
from dpaudit.execution import one_thread, stream
from dpaudit.extension.case import AssumptionOutcome, Attained, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_COLUMN
from dpaudit.refutation import Certificate, Condition, exceeds, maximise

NAME = "hu2020-corollary1"
SOURCE = "Hu et al. (NeurIPS 2020), Corollary 1, eq. (10)"
_BELOW = 1e-6  # how far below the exact epsilon a certificate stays, relatively
_PAPER = 20  # "when T is confined to less than 20"


@dataclass(frozen=True, kw_only=True)
class Composition:
    """T releases of epsilon and delta each, and the delta' that is added.

    Examples
    --------
    >>> one = Composition(epsilon=0.1, delta=1e-6, count=20, slack=1e-5)
    >>> round(one.claimed, 4), round(one.optimal, 4), round(one.gaussian, 4)
    (2.3563, 1.598, 0.258)
    """

    epsilon: float
    delta: float
    count: int
    slack: float

    @property
    def total(self) -> float:
        """``T delta + delta'``."""
        return self.count * self.delta + self.slack

    @property
    def claimed(self) -> float:
        """Corollary 1's epsilon'."""
        return advanced(self.epsilon, self.delta, self.count, self.slack)[0]

    @property
    def exact(self) -> OptimalComposition:
        """All that follows from the (epsilon, delta)-DP of each release."""
        return optimal(self.epsilon, self.delta, self.count)

    @property
    def optimal(self) -> float:
        """The least epsilon that holds for every T releases of this kind."""
        return self.exact.epsilon(self.total)

    @property
    def gaussian(self) -> float:
        """The exact epsilon of T Gaussian messages, with a sensitivity that is a bound."""
        mu = self.epsilon / math.sqrt(2 * math.log(1.25 / self.delta))
        return GaussianDP(math.sqrt(self.count) * mu).epsilon(self.total)

    def words(self) -> str:
        """Return the three numbers in words."""
        return (
            f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.6g}, T = {self.count}, delta' = "
            f"{self.slack:.6g}: claimed {self.claimed:.6g}, optimal composition {self.optimal:.6g} "
            f"({self.optimal / self.claimed:.2%}), exact Gaussian composition with Theorem 1's "
            f"noise {self.gaussian:.6g} ({self.gaussian / self.claimed:.2%})"
        )


def corollary1_case(settings: Settings, parameters: Corollary1Parameters) -> SearchCase:
    """Return the audit: a search for the composition on which eq. (10) is tightest.

    The search is made here, so that the proved number is that of the composition found.

    Examples
    --------
    >>> case = corollary1_case(Settings(), Corollary1Parameters(iterations=50, budget=200))
    >>> 0.6 < case.proved[0] / case.bound < 1
    True
    """
    refuse_data(settings)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: Theorem 1's range")
    check.probability("delta", settings.delta)
    budget = parameters.budget if settings.trials is None else settings.trials
    with one_thread():
        rng = default_rng(stream(settings.seed, "search"))
        best = tightest(settings, parameters, budget, rng)

    def attain(trials: int, rng: Generator) -> Attained:
        found = best if trials == budget else tightest(settings, parameters, trials, rng)
        bound = parameters.factor * found.claimed
        return Attained(
            value=found.optimal,
            bound=bound,
            instance=found.words(),
            because=_because(found) if exceeds(found.optimal / bound) else None,
            certificate=_certificate(found, parameters.factor, settings.seed, trials),
        )

    return SearchCase(
        bound=parameters.factor * best.claimed,
        attain=attain,
        view="T messages, each (epsilon, delta)-DP given those before",
        data="none: compositions of which only the epsilon and delta of each release are known",
        relation=REPLACE_COLUMN.name,
        pair="T randomised responses that each tell the secret with probability delta: the pair "
        "of laws that dominates all others",
        default_trials=budget,
        parameters=parameters.model_dump(mode="json")
        | {"most_epsilon": settings.epsilon, "most_delta": settings.delta},
        at_delta=best.total,
        effort="evaluated compositions",
        assumptions=(
            AssumptionOutcome(
                name="private iterations",
                holds=True,
                evidence="taken for granted here: Theorem 1 is audited on its own",
            ),
        ),
        proved=(best.optimal, "optimal composition: Kairouz, Oh & Viswanath 2015, Theorem 3.3"),
        notes=(*_notes(settings),),
    )


def tightest(
    settings: Settings, parameters: Corollary1Parameters, budget: int, rng: Generator
) -> Composition:
    """Return the composition with the largest ratio of optimal to claimed epsilon."""
    limits = Limits.of(
        epsilon=settings.epsilon,
        delta=settings.delta,
        count=parameters.iterations,
        slack=parameters.least_slack,
        least=parameters.least_epsilon,
    )
    found = maximise(composition_space(limits, 1.0), budget, rng)
    epsilon, delta, count, slack = numbers(found.instance["logs"])
    return Composition(
        epsilon=float(epsilon), delta=float(delta), count=int(count), slack=float(slack)
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    usual = Composition(
        epsilon=settings.epsilon, delta=settings.delta, count=_PAPER, slack=settings.delta
    )
    return (
        "No factor below the ratio found is true. "
        "It tends to 1 for many releases of small epsilon and a vanishing delta': for all "
        "parameters at once, no smaller constant factor is true.",
        f"With {usual.words()}.",
    )


def _because(found: Composition) -> str:
    return (
        f"{found.count} randomised responses are a composition of this kind, and their exact "
        "epsilon is above it."
    )


def _certificate(found: Composition, factor: float, seed: int, budget: int) -> Certificate | None:
    """Return an epsilon just below the exact one, where delta is above the claimed one."""
    bound, witness = factor * found.claimed, (1 - _BELOW) * found.optimal
    if not exceeds(witness / bound):
        return None
    exact = found.exact.delta(witness)
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_COLUMN.name,
        parameters={
            "epsilon": found.epsilon,
            "delta": found.delta,
            "iterations": found.count,
            "slack": found.slack,
            "factor": factor,
        },
        instance={"epsilon": witness},
        quantities={
            "claimed epsilon": bound,
            "claimed delta": found.total,
            "exact delta over claimed delta": exact / found.total,
            "ratio": witness / bound,
        },
        conditions=(Condition(name="claimed delta is exceeded", value=found.total, limit=exact),),
        search={"seed": seed, "budget": budget},
        kind="approximate-dp",
    )
