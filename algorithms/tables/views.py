"""A run of ADMM over joined tables, and what is seen of it where no law is known.

Of TablePuppet's appendix: the models ``theta_i`` are those after the update of eq. (38), or of
eq. (34) unreduced; the server sees the predictions ``h_{i,j} = theta_i' T_{i,j}``, which eq. (26)
defines by row of the join and section "Computation reduction" by tuple, and which its updates
(32), (33) and (36) start from. The paper has no view of an adversary: Theorem 2 speaks of "the
privacy of client's local data" alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.algorithms.tables.server import Served
from dpaudit.laws.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class State:
    """Everything after an iteration: the new models and what they were computed from."""

    models: tuple[Array, ...]
    served: Served


class Training(Protocol):
    """An algorithm that yields the state after each iteration."""

    def run(self, dataset: JoinedTables, trials: int, rng: Generator) -> Iterator[State]:
        """Yield the states of ``trials`` runs."""
        ...


@dataclass(frozen=True)
class ModelView:
    """What somebody sees to whom all clients' models are released after every iteration."""

    algorithm: Training

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, D, d_c)``: models stacked by table."""
        states = self.algorithm.run(dataset, trials, rng)
        return np.stack([np.concatenate(state.models, axis=1) for state in states], axis=1)


@dataclass(frozen=True)
class ServerView:
    """What the server sees: the predictions of every tuple of every table, each iteration.

    Formal guarantee for features: none. A prediction is the tuple times the model, without noise;
    with as many independent models as the tuple has entries, a linear system gives the tuple.
    """

    model: Mechanism[JoinedTables]

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, sum n_i, d_c)``: stacked by table."""
        models = self.model.sample(dataset, trials, rng)
        by_table = np.split(models, np.cumsum(dataset.widths)[:-1], axis=2)
        tables = zip(dataset.features, by_table, strict=True)
        return np.concatenate([features @ model for features, model in tables], axis=2)
