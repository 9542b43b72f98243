"""What is seen of a multi-step algorithm's run, where no law is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.datasets.dataset import Dataset
from dpaudit.gaussian_steps import roll_out

if TYPE_CHECKING:
    from algorithms.multistep import MultiStepADMM

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StochasticInner:
    """The inner view of the stochastic variant: samples, but no closed form of its law."""

    algorithm: MultiStepADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, t l, n, d)``."""
        self.algorithm.check(dataset)
        return roll_out(
            lambda state: self.algorithm.stochastic_step(state, dataset, rng),
            self.algorithm.advance,
            self.algorithm.start(dataset, trials),
            self.algorithm.steps,
            rng,
        )


@dataclass(frozen=True)
class BroadcastView:
    """What a neighbour in the graph sees: the averages of the inner models, nothing else."""

    algorithm: MultiStepADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, t, n, d)``."""
        inner = self.algorithm.inner().sample(dataset, trials, rng)
        shape = (trials, self.algorithm.iterations, self.algorithm.inner_steps)
        averages: Array = inner.reshape(*shape, *inner.shape[2:]).mean(axis=2)
        return averages
