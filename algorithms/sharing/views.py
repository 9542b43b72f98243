"""A run of ADMM sharing, iteration by iteration, and what is seen of it where no law is offered.

An `Iterate` is one turn of hu2020's Algorithm 1: eq. (6) gives its models, (7) the perturbed ones,
(8) and (9) the centre's state. The views are its lines 6 (messages), 6 and 12 (the network), and
the models of eq. (6), which no party sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset


@dataclass(frozen=True)
class State:
    """What the centre knows: a function of past messages and of the labels, which are public."""

    messages: Array
    prediction: Array
    dual: Array
    gap: Array
    labels: Array


@dataclass(frozen=True)
class Iterate:
    """One iteration: every party's model side by side, shape ``(R, d)``, and the state after it."""

    models: Array
    perturbed: Array
    state: State


class Sharing(Protocol):
    """An algorithm that yields its iterations one by one."""

    def iterates(self, dataset: Dataset, trials: int, rng: Generator) -> Iterator[Iterate]:
        """Yield every iteration of ``trials`` runs."""
        ...


@dataclass(frozen=True)
class MessageView:
    """What the centre sees: every party's message. Without a law; see `sharing_noise` for why."""

    algorithm: Sharing

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, M, N)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.state.messages for iterate in iterates], axis=1)


@dataclass(frozen=True)
class NetworkView:
    """All that is sent: every party's message, then the centre's ``S - z`` and ``y``."""

    algorithm: Sharing

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, M + 2, N)``."""
        sent = []
        for iterate in self.algorithm.iterates(dataset, trials, rng):
            state = iterate.state
            sent.append(np.concatenate([state.messages, np.stack([state.gap, state.dual], 1)], 1))
        return np.stack(sent, axis=1)


@dataclass(frozen=True)
class ModelView:
    """The models themselves, as if every party published its x_m after each iteration."""

    algorithm: Sharing

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, d)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.models for iterate in iterates], axis=1)
