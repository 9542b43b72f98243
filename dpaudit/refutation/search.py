"""Search for the instance with the largest ratio of true movement to claimed bound.

The search knows nothing about the query. A `Space` draws random starts, moves a batch of instances
a little, and evaluates a batch after it has put every instance back inside the assumptions. The
best starts become chains; each chain keeps a move that raises its ratio, lengthens its step after a
success and shortens it after a failure; now and then the worse half starts over from the better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.errors import MechanismError

Batch = Mapping[str, Array]

CHAINS = 32
_STARTS = 0.25  # of the budget
_RENEWAL = 40  # rounds between two renewals of the worse half
_LONGER, _SHORTER = 1.5, 0.94
_STEPS = (1e-5, 1.0)


@dataclass(frozen=True, kw_only=True)
class Space:
    """The instances of a claim, as batches: named arrays whose leading axis is the instance.

    Parameters
    ----------
    start
        Draws that many random instances.
    move
        Changes every instance by about its step, shape ``(B,)``, between 0 and 1.
    evaluate
        Returns the instances put back inside the assumptions, and their ratios, shape ``(B,)``.
    """

    start: Callable[[int, Generator], Batch]
    move: Callable[[Batch, Array, Generator], Batch]
    evaluate: Callable[[Batch], tuple[Batch, Array]]


@dataclass(frozen=True, kw_only=True)
class Found:
    """The best instance of a search, whether or not its ratio exceeds 1.

    ``evaluations`` counts instances on which the query was evaluated, on both neighbours.
    """

    ratio: float
    instance: Batch
    evaluations: int


def maximise(space: Space, budget: int, rng: Generator) -> Found:
    """Return the best of exactly ``budget`` evaluated instances.

    Parameters
    ----------
    space
        What is searched.
    budget
        Evaluations of the query, on an instance's two neighbours each.
    rng
        The only source of randomness.

    Raises
    ------
    InvalidArgument
        The budget is not an integer of at least 1.
    MechanismError
        A ratio is not a finite number.

    Examples
    --------
    >>> space = Space(
    ...     start=lambda count, rng: {"x": rng.uniform(-1, 1, count)},
    ...     move=lambda batch, step, rng: {"x": batch["x"] + step * rng.normal(size=len(step))},
    ...     evaluate=lambda batch: (batch, 2 - np.abs(batch["x"] - 0.3)),
    ... )
    >>> found = maximise(space, 2_000, np.random.default_rng(0))
    >>> round(found.ratio, 3), found.evaluations
    (2.0, 2000)
    """
    check.integer("budget", budget, least=1)
    chains, ratios, left = _starts(space, budget, rng)
    steps = np.full(len(ratios), 0.3)
    rounds = 0
    while left > 0:
        rounds += 1
        if rounds % _RENEWAL == 0:
            chains, ratios, steps = _renewed(chains, ratios, steps)
        size = min(left, len(ratios))
        if size < len(ratios):
            chains, ratios, steps = _best(chains, ratios, steps, size)
        moved, reached = _evaluated(space, space.move(chains, steps, rng))
        chains, ratios, steps = _kept(chains, ratios, steps, moved, reached)
        left -= size
    top = int(np.argmax(ratios))
    instance = {name: values[top] for name, values in chains.items()}
    return Found(ratio=float(ratios[top]), instance=instance, evaluations=budget)


def _starts(space: Space, budget: int, rng: Generator) -> tuple[Batch, Array, int]:
    """Return the best random starts, their ratios, and what is left of the budget."""
    spent = min(budget, CHAINS)
    chains, ratios = _evaluated(space, space.start(spent, rng))
    while spent + CHAINS <= _STARTS * budget:
        more, reached = _evaluated(space, space.start(CHAINS, rng))
        joined = {name: np.concatenate([chains[name], more[name]]) for name in chains}
        every = np.concatenate([ratios, reached])
        chains, ratios, _ = _best(joined, every, every, CHAINS)
        spent += CHAINS
    return chains, ratios, budget - spent


def _evaluated(space: Space, batch: Batch) -> tuple[Batch, Array]:
    inside, ratios = space.evaluate(batch)
    if not np.isfinite(ratios).all():
        raise MechanismError("the query's movement is not a finite number on some instance")
    return inside, ratios


def _kept(
    chains: Batch, ratios: Array, steps: Array, moved: Batch, reached: Array
) -> tuple[Batch, Array, Array]:
    better = reached > ratios
    kept = {
        name: np.where(better.reshape(-1, *[1] * (old.ndim - 1)), moved[name], old)
        for name, old in chains.items()
    }
    steps = np.clip(steps * np.where(better, _LONGER, _SHORTER), *_STEPS)
    return kept, np.where(better, reached, ratios), steps


def _renewed(chains: Batch, ratios: Array, steps: Array) -> tuple[Batch, Array, Array]:
    """Return the better half of the chains, twice; the copies step farther."""
    half = -(-len(ratios) // 2)
    order = np.argsort(-ratios, kind="stable")[:half]
    twice = np.concatenate([order, order])[: len(ratios)]
    longer = np.where(np.arange(len(ratios)) < half, steps[twice], 0.3)
    return {name: values[twice] for name, values in chains.items()}, ratios[twice], longer


def _best(chains: Batch, ratios: Array, steps: Array, size: int) -> tuple[Batch, Array, Array]:
    order = np.argsort(-ratios, kind="stable")[:size]
    return {name: values[order] for name, values in chains.items()}, ratios[order], steps[order]
