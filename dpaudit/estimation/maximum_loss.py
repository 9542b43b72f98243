"""The largest privacy loss over outputs: what pure differential privacy bounds.

With delta = 0 a guarantee holds for every output, so one output with a loss above epsilon refutes
it, and the supremum of the loss over outputs is the pair's epsilon. Nothing is estimated, so no
error probability is spent: what a search finds is a lower end whatever the search missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, Shown


@dataclass(frozen=True, eq=False)
class Peak:
    """An output, its loss, and how many losses were computed on the way."""

    loss: float
    output: Array
    evaluated: int


def climb(loss: Callable[[Array], Array], starts: Array, budget: int, rng: Generator) -> Peak:
    """Return the output with the largest loss that an ascent from ``starts`` meets.

    Every climber tries, in turns, a step along the difference of two others (which keeps to the
    directions in which the starts differ), a step towards the best and beyond, and a small step in
    any direction; it moves when that raises its loss. Step sizes follow what succeeded.

    Parameters
    ----------
    loss
        Outputs, shape ``(R, ...)``, to losses, shape ``(R,)``.
    starts
        Shape ``(R, ...)``, at least one.
    budget
        Losses that may be computed, those of the starts included.

    Examples
    --------
    >>> cone = lambda x: 1 - np.linalg.norm(x - 3.0, axis=1)
    >>> starts = np.random.default_rng(0).standard_normal((20, 2))
    >>> round(climb(cone, starts, 4000, np.random.default_rng(1)).loss, 3)
    1.0
    """
    check.integer("budget", budget, least=1)
    if not len(starts):
        raise InvalidArgument("starts", Shown("none"), "at least one output")
    values = _losses(loss, starts)
    order = np.argsort(-values, kind="stable")  # the best are first: steps go towards them
    points, values, spent = starts[order], values[order], len(starts)
    sizes = np.full(len(points), 0.5)
    moves, turn = (_across, _towards, _around), 0
    while spent + len(points) <= budget:
        tried = moves[turn % len(moves)](points, sizes, rng)
        found = _losses(loss, tried)
        better = found > values
        points[better], values[better] = tried[better], found[better]
        sizes *= np.where(better, 1.5, 0.85)
        sizes = np.clip(sizes, 1e-9, 4.0)
        spent, turn = spent + len(points), turn + 1
    best = int(np.argmax(values))
    return Peak(float(values[best]), points[best], spent)


def _losses(loss: Callable[[Array], Array], outputs: Array) -> Array:
    values = np.asarray(loss(outputs), dtype=np.float64)
    return np.where(np.isnan(values), -np.inf, values)


def _across(points: Array, sizes: Array, rng: Generator) -> Array:
    one, other = (points[rng.permutation(len(points))] for _ in range(2))
    return np.asarray(points + _wide(sizes, points) * (one - other))


def _towards(points: Array, sizes: Array, rng: Generator) -> Array:
    reach = _wide(sizes * 2 * rng.random(len(points)), points)
    goal = points[rng.integers(0, max(1, len(points) // 4))]
    return np.asarray(points + reach * (goal - points))


def _around(points: Array, sizes: Array, rng: Generator) -> Array:
    axes = tuple(range(1, points.ndim))
    length = np.sqrt(np.mean(points**2, axis=axes, keepdims=True))
    step = length * rng.standard_normal(points.shape)
    return np.asarray(points + _wide(sizes, points) * step)


def _wide(sizes: Array, points: Array) -> Array:
    return sizes.reshape(-1, *([1] * (points.ndim - 1)))
