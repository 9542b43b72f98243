r"""Laplace noise on one answer and on a histogram.

Noise of scale b has density ``exp(-|e| / b) / (2 b)``. Moving its centre by s changes the logarithm
of the density by at most ``s / b``, and by exactly that wherever both centres are on one side. So
its epsilon is ``s / b``, and an event of half of the mass attains it (Dwork & Roth 2014, Theorem
3.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.laws import laplace_loss
from dpaudit.algorithms.known_answer.relations import ONE_ANSWER
from dpaudit.neighbours import Pair


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """One answer, sensitivity 1, plus Laplace noise.

    Parameters
    ----------
    epsilon
        What is claimed (Dwork & Roth 2014, Theorem 3.6).
    noise_factor
        The scale is this over epsilon. Below 1 it is broken, as with a sensitivity that was
        underestimated: the true epsilon is ``epsilon / noise_factor``.

    Examples
    --------
    >>> Laplace(epsilon=1.0, noise_factor=0.5).true_epsilon
    2.0
    """

    epsilon: float = 1.0
    noise_factor: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.positive("noise_factor", self.noise_factor)

    @property
    def claimed_epsilon(self) -> float:
        """What the source claims."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """Sensitivity over scale."""
        return self.epsilon / self.noise_factor

    @property
    def event_epsilon(self) -> float:
        """The same: all outputs below both answers have this loss."""
        return self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return the answers 0 and 1."""
        return Pair(np.array([0.0]), np.array([1.0]), ONE_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy answers, shape ``(trials,)``."""
        return np.asarray(dataset[0] + rng.laplace(scale=1 / self.true_epsilon, size=trials))

    def score(self, transcripts: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return laplace_loss(transcripts, 0.0, 1.0, self.true_epsilon)


@dataclass(frozen=True, kw_only=True)
class NoisyHistogram:
    """A histogram with Laplace noise on every count; a record more moves one count by 1.

    Ding, Wang, Wang, Zhang & Kifer 2018, Algorithm 9; with ``inverted``, the broken Algorithm 10,
    which confuses the scale with its inverse: scale epsilon, true epsilon ``1 / epsilon``.

    Parameters
    ----------
    epsilon
        What is claimed; below 1 if inverted.
    bins
        How many counts.

    Examples
    --------
    >>> NoisyHistogram(epsilon=0.1, inverted=True).true_epsilon
    10.0
    """

    epsilon: float = 0.5
    bins: int = 5
    inverted: bool = False
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.integer("bins", self.bins, least=1)

    @property
    def claimed_epsilon(self) -> float:
        """What the source claims."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """One over the scale."""
        return 1 / self.epsilon if self.inverted else self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same: half of all outputs have this loss."""
        return self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return counts of 1, and one of them with a record more."""
        counts = np.ones(self.bins)
        return Pair(counts, counts + (np.arange(self.bins) == 0), ONE_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy counts, shape ``(trials, bins)``."""
        noise = rng.laplace(scale=1 / self.true_epsilon, size=(trials, self.bins))
        return np.asarray(dataset + noise)

    def score(self, transcripts: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        pair = self.pair()
        return laplace_loss(transcripts, pair.dataset, pair.neighbour, self.true_epsilon)
