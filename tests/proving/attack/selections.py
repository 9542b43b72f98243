"""Programs that release the place of a largest noisy score, and the exact laws of that place.

The probability that score i wins is the integral of its density times the others' distributions:
by Simpson's rule on a grid that ends where nothing is left, finer at the corners of densities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Universe

from .choices import Choices, Stream
from .costs import Cost
from .grammar import UNKNOWN, Growth, Unfit
from .pairs import Neighbours, constants_of
from .releases import SCALES, grow_a_little
from .search import CHEAP, Effort
from .silence import silence_numpy
from .stacked import evaluate_stacked
from .universes import make_universe

Array = NDArray[np.float64]
_STEPS = 4000
_TAIL = 45.0  # scales beyond which nothing is left
_SLACK = 1e-3  # of losses, by the grid
_LEAST = 1e-9  # a probability that the grid knows


@dataclass(frozen=True)
class Law:
    """Noise of scale 1: its density and its distribution."""

    density: Callable[[Array], Array]
    below: Callable[[Array], Array]


LAWS = {
    "gumbel": Law(lambda t: np.exp(-t - np.exp(-t)), lambda t: np.exp(-np.exp(-t))),
    "laplace": Law(
        lambda t: np.exp(-np.abs(t)) / 2,
        lambda t: np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.abs(t)) / 2),
    ),
    "exponential": Law(
        lambda t: np.where(t >= 0, np.exp(-np.maximum(t, 0)), 0.0),
        lambda t: np.where(t >= 0, -np.expm1(-np.maximum(t, 0)), 0.0),
    ),
}


@dataclass(frozen=True)
class Choice:
    """A program whose output is the place of the largest, or smallest, noisy score."""

    program: PathProgram
    scores: int
    scale: float
    law: str
    sign: int


def grow_choice(choices: Choices, universe: Universe) -> Choice | None:
    """Return a program that chooses; None where no value has a few numbers."""
    growth = Growth(choices, universe)
    for _ in range(choices.between(1, 3)):
        grow_a_little(growth)
    scores = _scores(growth)
    if scores is None:
        return None
    law, scale = choices.one_of(tuple(LAWS)), choices.one_of(SCALES)
    draw = growth.draw(growth.samples[scores].shape, law)
    noise = growth.add("multiply", growth.constant(scale), draw)
    is_least = choices.happens(30)
    noisy = growth.add("subtract" if is_least else "add", scores, noise)
    chosen = growth.add("argmin" if is_least else "argmax", noisy, axis=None)
    growth.program.outputs = (chosen,)
    return Choice(growth.program, scores, scale, law, -1 if is_least else 1)


def _scores(growth: Growth) -> int | None:
    """Return a value of two to five numbers, the last one."""
    for node in reversed(range(len(growth.samples))):
        shape = growth.samples[node].shape
        if len(shape) == 1 and 2 <= shape[0] <= 5 and UNKNOWN not in shape:
            return node
    found = []
    for _ in range(growth.choices.between(2, 4)):
        node = growth.any_node()
        if growth.samples[node].ndim:
            node = growth.add("sum", node, axis=None)
        found.append(growth.add("reshape", node, shape=[1]))
    return growth.add("concatenate", *found, axis=0)


def winning(scores: Array, law: Law) -> Array:
    """Return the probabilities that each of some scores, of noise of scale 1, is the largest."""
    grid = np.linspace(scores.min() - 8.0, scores.max() + _TAIL, _STEPS + 1)
    corners = np.concatenate([scores - 1e-9, scores, scores + 1e-9])
    grid = np.unique(np.concatenate([grid, corners]))
    middle = (grid[1:] + grid[:-1]) / 2
    whole = np.stack([_product(scores, i, grid, law) for i in range(len(scores))])
    inner = np.stack([_product(scores, i, middle, law) for i in range(len(scores))])
    steps = np.diff(grid) / 6
    return np.asarray((steps * (whole[:, 1:] + whole[:, :-1] + 4 * inner)).sum(axis=1))


def _product(scores: Array, index: int, grid: Array, law: Law) -> Array:
    others = [law.below(grid - one) for k, one in enumerate(scores) if k != index]
    return np.asarray(law.density(grid - scores[index]) * np.prod(others, axis=0))


def attack_choice(seed: int, effort: Effort = CHEAP) -> Cost:
    """Return what the choice of a seed is proved to cost, and what was seen."""
    choices = Stream(seed)
    universe = make_universe(choices)
    try:
        with silence_numpy():
            choice = grow_choice(choices, universe)
    except Unfit:
        choice = None
    if choice is None:
        return Cost()
    try:
        with effort.spend():
            bound = bound_trace(FunctionTrace(universe, (Path(choice.program),)))
    except NotProved:
        return Cost()
    try:
        with silence_numpy():
            return Cost(bound.pure, search_choices(choice, universe, seed, effort))
    except (ValueError, IndexError):  # nothing to choose from
        return Cost()


def search_choices(choice: Choice, universe: Universe, seed: int, effort: Effort) -> float:
    """Return the largest log-ratio of probabilities that a search finds, rounding aside."""
    rng = np.random.default_rng([seed, 4])
    neighbours, found = Neighbours(universe, constants_of(choice.program), rng), 0.0
    records = universe.records if universe.records is not None else int(rng.integers(1, 6))
    pairs = neighbours.make(effort.width, records)
    for _ in range(effort.rounds):
        coins = [
            rng.random((effort.width, *(n or 0 for n in node.shape)))
            for node in choice.program.nodes
            if node.operation == "draw"
        ]
        sides = [
            choice.sign
            * evaluate_stacked(choice.program, data, coins)[0][choice.scores]
            / choice.scale
            for data in (pairs.one, pairs.other)
        ]
        one, other = (np.broadcast_to(side, (effort.width, side.shape[-1])) for side in sides)
        moved = other - one
        spread = moved.max(axis=1) - moved.min(axis=1)
        best = np.argsort(-np.nan_to_num(spread))[: effort.best]
        found = max([found, *(_loss(one[k], other[k], LAWS[choice.law]) for k in best)])
        pairs = neighbours.beside(pairs, best.tolist(), effort.width)
    return found


def _loss(one: Array, other: Array, law: Law) -> float:
    """Return the largest log-ratio for places that are likely enough for the grid."""
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return 0.0
    if max(np.ptp(one), np.ptp(other)) > _TAIL / 2:
        return 0.0
    p, q = winning(np.asarray(one, float), law), winning(np.asarray(other, float), law)
    likely = (p > _LEAST) & (q > _LEAST)
    losses = np.abs(np.log(p[likely] / q[likely]))
    return max(0.0, float(losses.max(initial=0.0)) * (1 - _SLACK) - _SLACK)
