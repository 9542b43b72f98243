"""Search for the instance with the largest ratio of true movement to claimed bound.

The search knows nothing about the query. A `Space` draws random starts, moves a batch of instances
a little, and evaluates a batch after it has put every instance back inside the assumptions. The
best starts become chains; each chain keeps a move that raises its ratio, lengthens its step after a
success and shortens it after a failure; now and then the worse half starts over from the better.

It is another search than `dpaudit.search`, which looks for a pair of datasets in a domain: here an
instance is whatever a theorem is about (datasets together with networks, weights and states), moves
keep its assumptions, and a whole batch is evaluated at once. Certificates name its random stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.execution.ledger import get_current_ledger

Batch = Mapping[str, Array]

CHAINS = 32
_STARTS = 0.25  # of the budget
_RENEWAL = 40  # rounds between two renewals of the worse half
_LONGER = 1.5
_SHORTER = 0.94
_STEP = 0.3
_STEPS = (1e-5, 1.0)
_SECONDS = 1.0  # after which an interruption loses nothing of what was found


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
class BestInstance:
    """The best instance of a search, whether or not its ratio exceeds 1.

    ``evaluations`` counts instances on which the query was evaluated, on both neighbours.
    """

    ratio: float
    instance: Batch
    evaluations: int


def maximise(space: Space, budget: int, rng: Generator) -> BestInstance:
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
    check.require_integer("budget", budget, least=1)
    about, state, parts = (space, rng.bit_generator.state, budget), None, 0
    while state is None or state.left > 0:
        given = space, budget, state, rng
        # In parts of about a second: an interrupted search goes on from its last part, and the
        # generator's state goes with it, so that one seed names one result.
        found, after = get_current_ledger().fact(
            f"search, part {parts}",
            lambda: _run_search_part(*given),  # noqa: B023
            about,
        )
        state, rng.bit_generator.state, parts = _SearchState(*found), after, parts + 1
    top = int(np.argmax(state.ratios))
    instance = {name: values[top] for name, values in state.chains.items()}
    return BestInstance(ratio=float(state.ratios[top]), instance=instance, evaluations=budget)


class _SearchState(NamedTuple):
    """The chains, their ratios and steps; the rest of the budget; rounds of moves."""

    chains: Batch
    ratios: Array
    steps: Array
    left: int
    rounds: int = 0


def _run_search_part(
    space: Space, budget: int, state: _SearchState | None, rng: Generator
) -> tuple[tuple[Any, ...], Any]:
    """Go on for about a second; return the state then, and that of the generator."""
    began = monotonic()
    while state is None or (state.left > 0 and monotonic() - began < _SECONDS):
        state = _run_search_round(space, budget, state, rng)
    return tuple(state._replace(chains=dict(state.chains))), rng.bit_generator.state


def _run_search_round(
    space: Space, budget: int, state: _SearchState | None, rng: Generator
) -> _SearchState:
    """Return the state after one more batch: of random starts at first, then of moves."""
    if state is None:
        spent = min(budget, CHAINS)
        chains, ratios = _evaluate_batch(space, space.start(spent, rng))
        return _SearchState(chains, ratios, np.full(len(ratios), _STEP), budget - spent)
    if state.rounds == 0 and budget - state.left + CHAINS <= _STARTS * budget:
        return _add_random_starts(space, state, rng)
    chains, ratios, steps, left, rounds = state
    rounds += 1
    if rounds % _RENEWAL == 0:
        chains, ratios, steps = _renew_chains(chains, ratios, steps)
    size = min(left, len(ratios))
    # The last round has less budget than chains: the best ones get it, and exactly the budget is
    # spent.
    if size < len(ratios):
        chains, ratios, steps = _select_best_chains(chains, ratios, steps, size)
    moved, reached = _evaluate_batch(space, space.move(chains, steps, rng))
    return _SearchState(
        *_merge_better_moves(chains, ratios, steps, moved, reached), left - size, rounds
    )


def _add_random_starts(space: Space, state: _SearchState, rng: Generator) -> _SearchState:
    """Return the best of the starts so far and of as many others."""
    more, reached = _evaluate_batch(space, space.start(CHAINS, rng))
    joined = {name: np.concatenate([state.chains[name], more[name]]) for name in state.chains}
    every = np.concatenate([state.ratios, reached])
    chains, ratios, _ = _select_best_chains(joined, every, every, CHAINS)
    return _SearchState(chains, ratios, np.full(len(ratios), _STEP), state.left - CHAINS)


def _evaluate_batch(space: Space, batch: Batch) -> tuple[Batch, Array]:
    inside, ratios = space.evaluate(batch)
    if not np.isfinite(ratios).all():
        raise MechanismError("the query's movement is not a finite number on some instance")
    return inside, ratios


def _merge_better_moves(
    chains: Batch, ratios: Array, steps: Array, moved: Batch, reached: Array
) -> tuple[Batch, Array, Array]:
    better = reached > ratios
    kept = {
        name: np.where(better.reshape(-1, *[1] * (old.ndim - 1)), moved[name], old)
        for name, old in chains.items()
    }
    steps = np.clip(steps * np.where(better, _LONGER, _SHORTER), *_STEPS)
    return kept, np.where(better, reached, ratios), steps


def _renew_chains(chains: Batch, ratios: Array, steps: Array) -> tuple[Batch, Array, Array]:
    """Return the better half of the chains, twice; the copies step farther."""
    half = -(-len(ratios) // 2)
    # Stable, so that ties keep their order on every platform and numpy.
    order = np.argsort(-ratios, kind="stable")[:half]
    twice = np.concatenate([order, order])[: len(ratios)]
    # The originals go on with their own steps, which have become short near a peak; their copies
    # look further away.
    longer = np.where(np.arange(len(ratios)) < half, steps[twice], _STEP)
    return {name: values[twice] for name, values in chains.items()}, ratios[twice], longer


def _select_best_chains(
    chains: Batch, ratios: Array, steps: Array, size: int
) -> tuple[Batch, Array, Array]:
    order = np.argsort(-ratios, kind="stable")[:size]
    return {name: values[order] for name, values in chains.items()}, ratios[order], steps[order]
