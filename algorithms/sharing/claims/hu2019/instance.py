"""A step of ADMM sharing that a lemma speaks of: a problem, a start, and which iteration it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    Point,
    Problems,
    Setting,
    conditions,
    iterate,
    starting_point,
)
from dpaudit.refutation import Condition, Inequality

# What rounding may add to a sum, relative to the size of its terms. The solver of eq. (7) stops
# within 1e-12 of the minimiser, which counts in second order only.
ROUNDING = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class Sides:
    """What a lemma says of one step of every problem, each of shape ``(B,)``.

    ``value <= bound`` is claimed. The value is already reduced by what rounding may have added;
    their difference is compared to ``scale``.
    """

    value: Array
    bound: Array
    scale: Array

    @property
    def ratio(self) -> Array:
        """``1 + (value - bound) / scale``; 0 where nothing moves."""
        moves = self.scale > 1e-200
        excess = (self.value - self.bound) / np.where(moves, self.scale, 1.0)
        return np.where(moves, 1 + excess, 0.0)


Measure = Callable[[Problems, Point, Point], Sides]


@dataclass(frozen=True, kw_only=True, eq=False)
class Instance:
    """One problem, its start, and the audited iteration; the first is 1.

    Shapes: designs ``(M, N, d)``, models ``(M, d)``, the others ``(N,)``.
    """

    setting: Setting
    designs: Array
    labels: Array
    models: Array
    prediction: Array
    dual: Array
    iteration: int

    @property
    def problem(self) -> Problems:
        """The problem, as a batch of one."""
        return Problems(setting=self.setting, designs=self.designs[None], labels=self.labels[None])

    def arrays(self) -> dict[str, Array]:
        """Return what a certificate needs beside the public parameters."""
        names = ("designs", "labels", "models", "prediction", "dual")
        return {name: getattr(self, name) for name in names}


def step(instance: Instance) -> tuple[Problems, Point, Point]:
    """Return the problem, the state before the audited iteration, and the one after it."""
    problems = instance.problem
    start = starting_point(
        problems, instance.models[None], instance.prediction[None], instance.dual[None]
    )
    *_, before, after = iterate(problems, start, instance.iteration)
    return problems, before, after


def inequality(
    name: str, source: str, measure: Measure, *, reached: bool = False
) -> Inequality[Instance]:
    """Return a lemma as an inequality between two numbers of an instance.

    With ``reached`` it is one on steps from states that an iteration has reached.
    """
    return Inequality(
        name=name,
        source=source,
        sides=partial(_sides, measure),
        conditions=partial(_conditions, reached),
        scale=partial(_scale, measure),
    )


def _sides(measure: Measure, instance: Instance) -> tuple[float, float]:
    sides = measure(*step(instance))
    return float(sides.value[0]), float(sides.bound[0])


def _scale(measure: Measure, instance: Instance) -> float:
    """Return the scale; where nothing moves both sides are 0, and any number does."""
    return float(measure(*step(instance)).scale[0]) or 1.0


def _conditions(reached: bool, instance: Instance) -> tuple[Condition, ...]:
    found = conditions(instance.problem)
    if not reached:
        return found
    later = Condition(name="reached by an iteration", value=2, limit=instance.iteration)
    return (*found, later)
