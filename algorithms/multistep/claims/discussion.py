"""Statements of section 4.2 of Huang & Gong about the error, on stars: the rate, and larger l.

Instances are those of `dpaudit.algorithms.multistep.claims.utility`. The error is the expected
excess risk of the models that eq. (22) averages, between two certain bounds: with the probability
that noise changes no gradient it is that of the noise-free run, but for the noise on the average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.claims.star import (
    SLACK,
    StarBoundSides,
    StarSetting,
    certain_value,
    compute_utility_sides,
)
from dpaudit.algorithms.multistep.claims.utility import (
    UtilityRun,
    build_star_space,
    compute_utility_conditions,
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

_UNUSED = "bounded duals"  # no statement here is about beta


def least_risk(found: UtilityRun) -> float:
    """Return a lower bound on the expected excess risk."""
    kept = (1 - found.noise.probability) * float(found.both.risk[0])
    # No loss is below its minimum, so the risk is not below 0.
    return max(kept - found.noise.centre, 0.0)


def most_risk(found: UtilityRun) -> float:
    """Return an upper bound on it, of runs in sets of diameter 1."""
    # Where noise changes a gradient the risk is still at most c_2 D = 1.
    return float(found.both.risk[0]) + found.noise.centre + found.noise.probability


# The rate


def over_t(star: StarSetting, found: StarBoundSides) -> Array:
    """Return ``(D c_2 + sum_i |N_i| (rho D^2 + beta^2 / rho)) / t``, shape ``(B,)``.

    The last sum is what eq. (24) has over t.
    """
    # Every edge of the star counts at both of its ends.
    edges = 2 * (star.nodes - 1)
    return np.asarray((1 + edges * (found.rho + found.beta**2 / found.rho)) / star.iterations)


def _compute_certain_value(found: UtilityRun) -> float:
    return certain_value(found.both, found.noise, found.star)


def make_rate_inequality(
    statement: Statement, star: StarSetting, constant: float
) -> Inequality[UtilityRun]:
    """Return that the left side of eq. (24) is at most a constant times its terms over t."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda found: (
            _compute_certain_value(found),
            constant * float(over_t(star, found.both)[0]),
        ),
        conditions=compute_utility_conditions,
        words=lambda found: (
            f"after {star.iterations} iterations the risk is {found.both.risk[0]:.4g}, the "
            f"violation {found.both.violation[0]:.4g}; beta = {found.both.beta[0]:.4g}, "
            f"{_format_star_instance(found)}"
        ),
        because=lambda found: (
            "Without privacy the first term of eq. (24) is left, sqrt(2) D c_2 / sqrt(t l), and "
            "the centre jumps over its target by a step that shrinks like 1 / sqrt(t)."
        ),
        evidence=lambda found: Evidence(
            kind="property",
            relation=statement.relation,
            parameters=_get_star_parameters(found)
            | {"constant": constant, "beta": float(found.both.beta[0])},
            instance=_get_star_arrays(found),
            quantities={
                "value": _compute_certain_value(found),
                "bound": constant * float(over_t(star, found.both)[0]),
            },
        ),
    )


def search_attained_rate(
    statement: Statement,
    star: StarSetting,
    constant: float,
    trials: int,
    rng: Generator,
    *,
    seed: int,
) -> WorstInstance:
    """Return the rate that a search over losses and penalties attains."""

    def ratio(found: StarBoundSides) -> Array:
        return np.asarray(found.value / (constant * over_t(star, found)))

    found = UtilityRun(star, _find_worst_batch(space_of(star, ratio), trials, rng))
    return _search_judged_claim(
        make_rate_inequality(statement, star, constant), found, trials, rng, seed
    )


# Larger l


@dataclass(frozen=True)
class Both:
    """The same loss and penalty with more and with fewer inner steps."""

    many: UtilityRun
    few: StarSetting

    @cached_property
    def fewer(self) -> UtilityRun:
        """The run with fewer."""
        return UtilityRun(self.few, self.many.batch)


def make_larger_risk_inequality(statement: Statement, few: int, factor: float) -> Inequality[Both]:
    """Return that more inner steps have a risk that is at most ``factor`` times as large."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda both: (least_risk(both.many), factor * most_risk(both.fewer)),
        conditions=lambda both: (
            *_compute_used_conditions(both.many),
            *(
                replace(one, name=f"{one.name}, fewer steps")
                for one in _compute_used_conditions(both.fewer)
                # The objective is the same with fewer steps, so its condition is stated once.
                if one.name != "Lipschitz objective"
            ),
        ),
        words=lambda both: (
            f"with l = {both.many.star.inner_steps} the risk is {both.many.both.risk[0]:.4g}, with "
            f"l = {few} it is {both.fewer.both.risk[0]:.4g}; {_format_star_instance(both.many)}"
        ),
        because=lambda both: (
            "That the bound of eq. (24) falls with l says nothing of the error below it."
        ),
        evidence=lambda both: Evidence(
            kind="property",
            relation=statement.relation,
            parameters=_get_star_parameters(both.many) | {"fewer_steps": few, "factor": factor},
            instance=_get_star_arrays(both.many),
            quantities={
                "risk with more": least_risk(both.many),
                "risk with fewer": most_risk(both.fewer),
            },
        ),
    )


def search_larger_risk(
    statement: Statement, star: StarSetting, few: int, factor: float, trials: int, rng: Generator,
    *, seed: int,
) -> WorstInstance:  # fmt: skip
    """Return the risk that a search over losses and penalties attains."""
    less = replace(star, inner_steps=few)

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        inside, first = build_star_space(star).evaluate(batch)
        one, other = compute_utility_sides(star, inside), compute_utility_sides(less, inside)
        allowed = np.logical_and(_select_allowed_instances(one), _select_allowed_instances(other))
        # Instances outside the assumptions stay below every allowed one, but keep an order that
        # leads back inside.
        return inside, np.where(allowed, one.risk / (other.risk + SLACK), 1e-9 * first)

    made = replace(build_star_space(star), evaluate=evaluate)
    both = Both(UtilityRun(star, _find_worst_batch(made, trials, rng)), less)
    return _search_judged_claim(
        make_larger_risk_inequality(statement, few, factor), both, trials, rng, seed
    )


# What both share


def space_of(star: StarSetting, ratio: Callable[[StarBoundSides], Array]) -> Space:
    """Return the search space with another ratio of the runs that stay inside."""

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        inside, first = build_star_space(star).evaluate(batch)
        found = compute_utility_sides(star, inside)
        return inside, np.where(_select_allowed_instances(found), ratio(found), 1e-9 * first)

    return replace(build_star_space(star), evaluate=evaluate)


def _select_allowed_instances(found: StarBoundSides) -> Array:
    # Twice the slack that the conditions ask for, so that what is found meets them after rounding.
    return np.asarray((found.diameter <= 1 - 2 * SLACK) & (found.gap >= 4 * SLACK))


def _find_worst_batch(made: Space, budget: int, rng: Generator) -> Batch:
    instance = maximise(made, budget, rng).instance
    return {name: np.asarray(values)[None] for name, values in instance.items()}


def _search_judged_claim(
    claim: Inequality[Any], found: Any, trials: int, rng: Generator, seed: int
) -> WorstInstance:
    if claim.broken(found):  # nothing that the search saw stays inside: nothing to certify
        return WorstInstance(value=0.0, bound=claim.sides(found)[1], instance=claim.words(found))
    return searched(claim, lambda budget, rng: found, trials, rng, seed=seed)


def _compute_used_conditions(found: UtilityRun) -> tuple[Condition, ...]:
    return tuple(one for one in compute_utility_conditions(found) if one.name != _UNUSED)


def _get_star_parameters(found: UtilityRun) -> dict[str, Any]:
    own = {"penalty": float(found.batch["penalty"][0]), "slack": SLACK}
    return asdict(found.star) | own


def _get_star_arrays(found: UtilityRun) -> dict[str, Array]:
    return {"target": found.batch["target"][0], "slopes": found.batch["slopes"][0]}


def _format_star_instance(found: UtilityRun) -> str:
    u, v = found.batch["target"][0]
    right, left, up = found.batch["slopes"][0]
    return (
        f"D = 1, rho = {found.batch['penalty'][0]:.4g}; the centre's loss is max({right:.4g} (w_1 "
        f"- u), -{left:.4g} (w_1 - u), {up:.4g} (w_2 - v), 0) with u = {u:.4g}, v = {v:.4g}"
    )
