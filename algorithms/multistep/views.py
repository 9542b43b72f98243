"""What is seen of a multi-step algorithm's run, where no law is known.

Of Huang & Gong's section 3.2: the inner view holds every noisy model of eq. (13b), here of the
stochastic variant of Note 1, which draws a batch for the gradient in eq. (13a); the broadcast view
holds the averages ``w~_i^k`` that stand below eq. (15), all that Algorithm 1 sends (line 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.laws.mechanism import Mechanism
from dpaudit.laws.steps import Step, roll_out

StateT = TypeVar("StateT")


class StochasticProcess(Protocol[StateT]):
    """An algorithm whose steps draw mini-batches: state, step and advance."""

    @property
    def steps(self) -> int:
        """How many releases one run makes."""
        ...

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` for a dataset the algorithm cannot run on."""
        ...

    def start(self, dataset: Dataset, trials: int) -> StateT:
        """Return the state before the first release."""
        ...

    def stochastic_step(self, state: StateT, dataset: Dataset, rng: Generator) -> Step:
        """Return the law of the next release given a batch that is drawn here."""
        ...

    def advance(self, state: StateT, output: Array) -> StateT:
        """Return the state after ``output`` was released."""
        ...


@dataclass(frozen=True)
class StochasticInner(Generic[StateT]):
    """The inner view of a stochastic variant: samples, but no closed form of its law."""

    process: StochasticProcess[StateT]

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, t l, n, d)``."""
        process = self.process
        process.check(dataset)
        return roll_out(
            lambda state: process.stochastic_step(state, dataset, rng),
            process.advance,
            process.start(dataset, trials),
            process.steps,
            rng,
        )


@dataclass(frozen=True)
class BroadcastView:
    """What a neighbour in the graph sees: the averages of the inner models, nothing else."""

    inner: Mechanism[Dataset]
    inner_steps: int

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, t, n, d)``."""
        seen = self.inner.sample(dataset, trials, rng)
        shape = (trials, -1, self.inner_steps, *seen.shape[2:])
        averages: Array = seen.reshape(shape).mean(axis=2)
        return averages
