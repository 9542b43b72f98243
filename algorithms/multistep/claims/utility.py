"""The audit of Huang & Gong's Theorem 7: a search over losses and penalties, noise included."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit.algorithms.multistep.claims.parameters import Utility
from dpaudit.algorithms.multistep.claims.spread import Spread, certain_value, spread
from dpaudit.algorithms.multistep.claims.suboptimality import SLACK, Sides, Star, run, sides, space
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_RECORD
from dpaudit.refutation import Attained, Certificate, Condition, exceeds, maximise
from dpaudit.refutation.search import Batch

NAME = "huang2020-theorem7"
SOURCE = "Huang & Gong, multi-step DP-ADMM, Theorem 7, eq. (24)"
OUTSIDE = 1e-3  # probability with which noise may carry a run out of the bounded sets
_BECAUSE = (
    "Eq. (39) of the proof takes every L_i to be (c_2/n)-Lipschitz, which does not follow from L "
    "being c_2-Lipschitz; the step sizes of eq. (23) are up to n times too long."
)
_ENFORCED = (
    "Lipschitz objective",
    "bounded models",
    "bounded duals",
    "clear of kinks",
    "noise stays inside",
)


def theorem7(settings: Settings, parameters: Utility) -> SearchCase:
    """Return the audit of Theorem 7 on a star.

    Raises
    ------
    InvalidArgument
        Data was asked for, or epsilon or delta is outside the theorem's domain.

    Examples
    --------
    >>> case = theorem7(Settings(), Utility(nodes=4, iterations=4))
    >>> case.quantity, round(case.bound, 4)
    ('expected excess risk and consensus violation', 0.7071)
    """
    star = _star(settings, parameters)
    smallest = parameters.factor * star.nodes * np.sqrt(2 / star.steps) * star.share
    return SearchCase(
        bound=float(smallest),
        attain=_Search(star, parameters.factor, settings.seed),
        view="the models that eq. (22) averages",
        data="records of norm 1 at the centre of a star, and of norm 0 at its leaves",
        relation=REPLACE_RECORD.name,
        pair="none: the claim is about one dataset",
        default_trials=8_000,
        parameters=parameters.model_dump(mode="json") | asdict(star),
        quantity="expected excess risk and consensus violation",
        effort="evaluated losses and penalties",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence="checked on the instance found")
            for name in _ENFORCED
        ),
        notes=(
            "The value is a certain lower bound on the expectation: noise-free gradients with the "
            "probability that noise leaves them so, nothing otherwise.",
            "No bounded set holds every run, as noise is Gaussian and iterates are not projected; "
            f"counted as bounded is what stays inside but for a probability of {OUTSIDE:g}.",
            "Whose Lipschitz constant c_2 is decides: with lipschitz = sum it is of the sum of "
            "all L_i, as printed; with node every L_i is (c_2/n)-Lipschitz, as the proof needs.",
        ),
    )


def _star(settings: Settings, parameters: Utility) -> Star:
    check.positive("epsilon", settings.epsilon)
    check.probability("delta", settings.delta)
    if settings.data != WORST_CASE or settings.data_path is not None or settings.data_options:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}, without files or options")
    if parameters.iterations * parameters.inner_steps > 400:
        given = parameters.iterations * parameters.inner_steps
        raise InvalidArgument("iterations", given, "at most 400 with inner_steps multiplied")
    return Star(
        nodes=parameters.nodes,
        iterations=parameters.iterations,
        inner_steps=parameters.inner_steps,
        records=parameters.records,
        epsilon=settings.epsilon,
        delta=settings.delta,
        steepest=parameters.lipschitz,
    )


class _Search:
    """Looks for the loss and the penalty with the largest ratio of the two sides."""

    def __init__(self, star: Star, factor: float, seed: int) -> None:
        self.star, self.factor, self.seed = star, factor, seed

    def __call__(self, trials: int, rng: Generator) -> Attained:
        found = maximise(space(self.star), trials, rng).instance
        batch = {name: np.asarray(values)[None] for name, values in found.items()}
        both = sides(self.star, batch)
        noise = spread(self.star, float(batch["penalty"][0]))
        met = conditions(self.star, batch, both, noise)
        value = certain_value(both, noise, self.star) if all(c.holds for c in met) else 0.0
        bound = self.factor * float(both.bound[0])
        return Attained(
            value=value,
            bound=bound,
            instance=_words(batch, both),
            because=_BECAUSE if exceeds(value / bound) else None,
            certificate=self._certificate(batch, both, noise, met, trials),
        )

    def _certificate(
        self, batch: Batch, both: Sides, noise: Spread, met: tuple[Condition, ...], trials: int
    ) -> Certificate:
        star, bound = self.star, self.factor * float(both.bound[0])
        value = certain_value(both, noise, star)
        return Certificate(
            claim=NAME,
            source=SOURCE,
            relation=REPLACE_RECORD.name,
            parameters=asdict(star)
            | {
                "penalty": float(batch["penalty"][0]),
                "beta": float(both.beta[0]),
                "slack": SLACK,
                "factor": self.factor,
            },
            instance={"target": batch["target"][0], "slopes": batch["slopes"][0]},
            quantities={
                "risk": float(both.risk[0]),
                "violation": float(both.violation[0]),
                "value": value,
                "bound": bound,
                "ratio": value / bound,
            },
            conditions=met,
            search={"seed": self.seed, "budget": trials},
            kind="property",
        )


def conditions(star: Star, batch: Batch, both: Sides, noise: Spread) -> tuple[Condition, ...]:
    """Return the assumptions of Theorem 7 as numbers of one instance."""
    done = run(star, batch)
    points = np.concatenate([done.centre[0], done.leaf[0], batch["target"]])
    apart = np.linalg.norm(points[:, None] - points[None], axis=2).max()
    values = (
        ("Lipschitz objective", batch["slopes"].max(), 1.0),
        ("bounded models", apart + 2 * SLACK, 1.0),
        ("bounded duals", done.dual.max() + SLACK, float(both.beta[0])),
        ("clear of kinks", 2 * SLACK, both.gap[0]),
        ("noise stays inside", noise.probability, OUTSIDE),
    )
    return tuple(Condition(name=n, value=float(v), limit=float(c)) for n, v, c in values)


def _words(batch: Batch, both: Sides) -> str:
    u, v = batch["target"][0]
    right, left, up = batch["slopes"][0]
    return (
        f"D = 1, rho = {batch['penalty'][0]:.4g}, beta = {both.beta[0]:.4g}; the centre's loss is "
        f"max({right:.4g} (w_1 - u), -{left:.4g} (w_1 - u), {up:.4g} (w_2 - v), 0) with u = "
        f"{u:.4g}, v = {v:.4g}; risk {both.risk[0]:.4g}, violation {both.violation[0]:.4g}; the "
        f"noise-free iterates are within {both.diameter[0]:.4g} of each other"
    )
