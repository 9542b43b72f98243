"""Utility (Theorem 7): a search over losses and penalties of a star, noise included."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property, partial

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.claims.star import (
    FEATURES,
    SLACK,
    Spread,
    StarBoundSides,
    StarSetting,
    certain_value,
    compute_noise_spread,
    compute_utility_sides,
    run,
)
from dpaudit.extension.claim import Statement
from dpaudit.refutation import (
    Condition,
    Evidence,
    Inequality,
    Space,
    WorstInstance,
    maximise,
    searched,
)
from dpaudit.refutation.search import Batch

OUTSIDE = 1e-3  # probability with which noise may carry a run out of the bounded sets
_BECAUSE = (
    "Eq. (39) of the proof takes every L_i to be (c_2/n)-Lipschitz, which does not follow from L "
    "being c_2-Lipschitz; the step sizes of eq. (23) are up to n times too long."
)


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UtilityRun:
    """A loss and a penalty, as a batch of one, with its run and the run's noise."""

    star: StarSetting
    batch: Batch

    @cached_property
    def both(self) -> StarBoundSides:
        """Both sides of eq. (24)."""
        return compute_utility_sides(self.star, self.batch)

    @cached_property
    def noise(self) -> Spread:
        """The noise on the run."""
        return compute_noise_spread(self.star, float(self.batch["penalty"][0]))


def make_utility_inequality(
    statement: Statement, star: StarSetting, factor: float
) -> Inequality[UtilityRun]:
    """Return Theorem 7, whose left side is a certain lower bound on an expectation."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda found: (
            certain_value(found.both, found.noise, star),
            factor * float(found.both.bound[0]),
        ),
        conditions=compute_utility_conditions,
        words=_format_utility_instance,
        because=lambda found: _BECAUSE,
        evidence=partial(_make_utility_evidence, statement.relation, factor),
    )


def compute_utility_conditions(found: UtilityRun) -> tuple[Condition, ...]:
    """Return the assumptions of Theorem 7 as numbers of one instance."""
    done, batch, both = run(found.star, found.batch), found.batch, found.both
    points = np.concatenate([done.centre[0], done.leaf[0], batch["target"]])
    # All pairs of points, exactly: a condition is not checked with the bound that the search uses.
    apart = np.linalg.norm(points[:, None] - points[None], axis=2).max()
    values = (
        ("Lipschitz objective", batch["slopes"].max(), 1.0),
        # Noise may move both ends of the distance by the slack.
        ("bounded models", apart + 2 * SLACK, 1.0),
        ("bounded duals", done.dual.max() + SLACK, float(both.beta[0])),
        # The slack may move either of two pieces of the loss.
        ("clear of kinks", 2 * SLACK, both.gap[0]),
        ("noise stays inside", found.noise.probability, OUTSIDE),
    )
    return tuple(Condition(name=n, value=float(v), limit=float(c)) for n, v, c in values)


def _make_utility_evidence(relation: str, factor: float, found: UtilityRun) -> Evidence:
    batch, both = found.batch, found.both
    return Evidence(
        kind="property",
        relation=relation,
        parameters=asdict(found.star)
        | {
            "penalty": float(batch["penalty"][0]),
            "beta": float(both.beta[0]),
            "slack": SLACK,
            "factor": factor,
        },
        instance={"target": batch["target"][0], "slopes": batch["slopes"][0]},
        quantities={
            "risk": float(both.risk[0]),
            "violation": float(both.violation[0]),
            "value": certain_value(both, found.noise, found.star),
            "bound": factor * float(both.bound[0]),
        },
    )


def _format_utility_instance(found: UtilityRun) -> str:
    batch, both = found.batch, found.both
    u, v = batch["target"][0]
    right, left, up = batch["slopes"][0]
    return (
        f"D = 1, rho = {batch['penalty'][0]:.4g}, beta = {both.beta[0]:.4g}; the centre's loss is "
        f"max({right:.4g} (w_1 - u), -{left:.4g} (w_1 - u), {up:.4g} (w_2 - v), 0) with u = "
        f"{u:.4g}, v = {v:.4g}; risk {both.risk[0]:.4g}, violation {both.violation[0]:.4g}; the "
        f"noise-free iterates are within {both.diameter[0]:.4g} of each other"
    )


# --- the search -----------------------------------------------------------------------------------


def search_utility_violation(
    claim: Inequality[UtilityRun], star: StarSetting, trials: int, rng: Generator, *, seed: int
) -> WorstInstance:
    """Return the ratio of a search's best instance; 0 where noise leaves the bounded sets."""
    found = _find_worst_star_loss(star, trials, rng)
    if claim.broken(found):  # noise may leave the bounded sets everywhere: nothing to certify
        return WorstInstance(value=0.0, bound=claim.sides(found)[1], instance=claim.words(found))
    return searched(claim, lambda budget, rng: found, trials, rng, seed=seed)


def _find_worst_star_loss(star: StarSetting, budget: int, rng: Generator) -> UtilityRun:
    """Return the loss and the penalty with the largest noise-free ratio of the two sides."""
    found = maximise(build_star_space(star), budget, rng).instance
    return UtilityRun(star, {name: np.asarray(values)[None] for name, values in found.items()})


def build_star_space(star: StarSetting) -> Space:
    """Return penalties, targets and slopes; one slope at least is 1.

    Runs that leave a set of diameter 1, or come close to a kink of the loss, count for nothing.
    """
    return Space(
        start=partial(_draw_star_starts, star),
        move=_move_star_instances,
        evaluate=partial(_evaluate_star_instances, star),
    )


def _draw_star_starts(star: StarSetting, count: int, rng: Generator) -> Batch:
    # 2 rho (n - 1), which the centre's step is divided by, over three powers of ten.
    stiffness = np.exp(rng.uniform(math.log(0.1), math.log(100.0), count))
    return {
        "penalty": stiffness / (2 * max(star.nodes - 1, 1)),
        "target": rng.uniform(-0.7, 0.7, (count, FEATURES)),
        "slopes": rng.uniform(0.1, 1.0, (count, 3)),
    }


def _move_star_instances(batch: Batch, step: Array, rng: Generator) -> Batch:
    count = len(step)
    size = step[:, None] * (rng.random((count, 6)) < 0.4)
    change = size * rng.standard_normal((count, 6))
    return {
        # Numbers above 0 are moved in proportion.
        "penalty": batch["penalty"] * np.exp(2 * change[:, 0]),
        "target": batch["target"] + change[:, 1:3],
        "slopes": np.clip(batch["slopes"] * np.exp(change[:, 3:]), 1e-3, None),
    }


def _evaluate_star_instances(star: StarSetting, batch: Batch) -> tuple[Batch, Array]:
    # The steepest slope is 1, the Lipschitz constant that the claim is about.
    slopes = batch["slopes"] / batch["slopes"].max(axis=1, keepdims=True)
    inside = {**batch, "slopes": slopes}
    found = compute_utility_sides(star, inside)
    ratio = found.value / found.bound
    # Twice the slack of the conditions, so that what is found meets them after rounding.
    allowed = (found.diameter <= 1 - 2 * SLACK) & (found.gap >= 4 * SLACK)
    # Below every allowed ratio, and larger where the run is nearer to the set: the climb leads
    # back.
    return inside, np.where(allowed, ratio, 1e-3 / (1 + found.diameter))
