"""The space in which the lemmas of hu2019 are searched for a violation.

An instance is a problem with given public parameters, a start, and one of the iterations that are
audited, the one with the largest ratio. Starts draw the parties' blocks with a correlation of their
own; moves change entries of the designs, labels, or the start. The singular values of every block
are then put back to where Assumption 1.2b holds, at most 1: to scale a block is to scale a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.instance import Instance, Measure
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    Problems,
    Setting,
    iterate,
    starting_point,
)
from dpaudit.errors import InvalidArgument
from dpaudit.refutation import Space
from dpaudit.refutation.search import Batch

_ENTRIES, _LABELS, _START = range(3)  # what a move changes
_INSIDE = 1 - 1e-9  # keeps conditions strictly within their limits whatever rounding does
_FLATTEST = 1e-3  # least over largest singular value of a block


@dataclass(frozen=True, kw_only=True)
class Window:
    """Which iterations are audited, the first being 1, and from where.

    Examples
    --------
    >>> Window(earliest=3, latest=2)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: iterations: got 2, expected at least earliest = 3
    """

    earliest: int = 2
    latest: int = 6
    any_start: bool = False

    def __post_init__(self) -> None:
        if self.latest < self.earliest:
            expected = f"at least earliest = {self.earliest}"
            raise InvalidArgument("iterations", self.latest, expected)


def space(setting: Setting, measure: Measure, window: Window) -> Space:
    """Return the search space of one setting.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.dual_step import dual_step
    >>> from dpaudit.refutation import maximise
    >>> small = space(Setting(parties=2), dual_step, Window())
    >>> 0.99 < maximise(small, 64, np.random.default_rng(0)).ratio <= 1 + 1e-9
    True
    """
    return Space(
        start=partial(_start, setting, window),
        move=partial(_move, window),
        evaluate=partial(_evaluate, setting, measure, window),
    )


def instance_of(setting: Setting, batch: Batch) -> Instance:
    """Return the instance that one row of an evaluated batch describes."""
    names = ("designs", "labels", "models", "prediction", "dual")
    arrays = {name: batch[name] for name in names}
    return Instance(setting=setting, iteration=int(batch["iteration"]), **arrays)


def _start(setting: Setting, window: Window, count: int, rng: Generator) -> Batch:
    m, n, d = setting.parties, setting.samples, setting.features
    common = rng.random((count, 1, 1, 1))
    designs = common * rng.standard_normal((count, 1, n, d))
    designs = designs + (1 - common) * rng.standard_normal((count, m, n, d))
    reach = window.any_start * 10 ** rng.uniform(-2, 1, (count, 1))
    return {
        "designs": designs,
        "labels": rng.choice([-1.0, 1.0], size=(count, n)),
        "models": reach[..., None] * rng.standard_normal((count, m, d)),
        "prediction": reach * rng.standard_normal((count, n)),
        "dual": reach * rng.standard_normal((count, n)),
        "iteration": np.zeros(count),
    }


def _move(window: Window, batch: Batch, step: Array, rng: Generator) -> Batch:
    """Change some entries, a label, or the start of every instance."""
    what = rng.integers(3 if window.any_start else 2, size=(len(step),))
    moved = dict(batch)
    designs, labels = batch["designs"], batch["labels"]
    touched = rng.random(designs.shape) < rng.random((len(step), 1, 1, 1))
    size = (step * (what == _ENTRIES))[:, None, None, None]
    moved["designs"] = designs + size * touched * rng.standard_normal(designs.shape)
    flip = rng.random(labels.shape) < 1 / labels.shape[1]
    moved["labels"] = np.where(flip & (what == _LABELS)[:, None], -labels, labels)
    for name in ("models", "prediction", "dual"):
        old = batch[name]
        spread = (step * (what == _START)).reshape(-1, *[1] * (old.ndim - 1))
        moved[name] = old + spread * (0.1 + np.abs(old)) * rng.standard_normal(old.shape)
    return moved


def _evaluate(
    setting: Setting, measure: Measure, window: Window, batch: Batch
) -> tuple[Batch, Array]:
    """Return the instances inside the assumptions, and the ratio of their worst iteration."""
    inside = dict(batch)
    inside["designs"] = _within_assumptions(setting, batch["designs"])
    problems = Problems(setting=setting, designs=inside["designs"], labels=inside["labels"])
    start = starting_point(problems, *(inside[name] for name in ("models", "prediction", "dual")))
    points = iterate(problems, start, window.latest)[window.earliest - 1 :]
    ratios = np.stack([measure(problems, *pair).ratio for pair in pairwise(points)])
    inside["iteration"] = window.earliest + np.argmax(ratios, axis=0).astype(np.float64)
    return inside, np.asarray(ratios.max(axis=0))


def _within_assumptions(setting: Setting, designs: Array) -> Array:
    """Return the blocks with singular values at most 1 and as close as 1.2b asks.

    It is ``lambda + rho s_min^2 >= 2 s_max^2``: for one column a matter of its length alone.
    """
    rho, ridge = setting.penalty, setting.regulariser_weight
    left, values, right = np.linalg.svd(designs, full_matrices=False)
    # With rho <= 2 the ridge has to make up for (2 - rho) s_max^2.
    longest = min(1.0, ridge / (2 - rho)) if rho < 2 else 1.0
    values = np.minimum(values, np.sqrt(_INSIDE * longest))
    largest = np.maximum(values[..., :1], _FLATTEST)
    least = np.sqrt(np.maximum(2 * largest**2 - ridge, 0.0) / (_INSIDE * rho))
    floor = np.minimum(np.maximum(least, _FLATTEST * largest), largest)
    return np.asarray((left * np.clip(values, floor, largest)[..., None, :]) @ right)
