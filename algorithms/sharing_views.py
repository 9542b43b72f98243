"""What is seen of a run of ADMM sharing, where no law is offered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.datasets.dataset import Dataset

if TYPE_CHECKING:
    from algorithms.sharing import SharingADMM

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MessageView:
    """What the centre sees: every party's message. Without a law; see `sharing_noise` for why."""

    algorithm: SharingADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, M, N)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.state.messages for iterate in iterates], axis=1)


@dataclass(frozen=True)
class NetworkView:
    """All that is sent: every party's message, then the centre's ``S - z`` and ``y``."""

    algorithm: SharingADMM

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

    algorithm: SharingADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, d)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.models for iterate in iterates], axis=1)
