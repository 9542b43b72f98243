"""Laplace noise on many answers: epsilons add up, and are attained by rare events only.

Independent noise of scale b on k entries, each of which moves by s, has epsilon ``k s / b``: losses
add up, and they are all largest at once, though only with probability ``2^-k``. At a finite number
of trials no event certifies that; one that is frequent enough to be counted has less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.laws import laplace_loss
from dpaudit.algorithms.known_answer.relations import EVERY_ANSWER, ONE_ANSWER
from dpaudit.neighbours import Pair


@dataclass(frozen=True, kw_only=True)
class ParallelLaplace:
    """The same answer published several times, each time with fresh Laplace noise.

    The true epsilon, k times that of one, is claimed (Dwork & Roth 2014, Theorem 3.14).

    Parameters
    ----------
    epsilon
        Of all together.
    count
        k.

    Examples
    --------
    >>> ParallelLaplace(epsilon=1.0).sample(np.array([0.0]), 3, np.random.default_rng(0)).shape
    (3, 20)
    """

    epsilon: float = 1.0
    count: int = 20
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.integer("count", self.count, least=1)

    @property
    def claimed_epsilon(self) -> float:
        """Basic composition of the k releases."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The same: losses of all releases are largest together."""
        return self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for the event that all outputs are below both answers."""
        return self.epsilon

    def pair(self) -> Pair[Array]:
        """Return the answers 0 and 1."""
        return Pair(np.array([0.0]), np.array([1.0]), ONE_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy answers, shape ``(trials, k)``."""
        noise = rng.laplace(scale=self.count / self.epsilon, size=(trials, self.count))
        return np.asarray(dataset[0] + noise)

    def score(self, transcripts: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return laplace_loss(transcripts, 0.0, 1.0, self.epsilon / self.count)


@dataclass(frozen=True, kw_only=True)
class PrefixSum:
    """All prefix sums of noisy answers, each answer of sensitivity 1.

    Wang, Ding, Wang, Kifer & Zhang 2019. The sums can be undone, so publishing them is publishing
    the noisy answers: k answers, each of epsilon ``epsilon / k``, together epsilon (attained with
    probability ``2^-k``). What differs shows in the increments only.

    Parameters
    ----------
    epsilon
        Of all together.
    entries
        k.

    Examples
    --------
    >>> PrefixSum(entries=3).sample(np.zeros(3), 2, np.random.default_rng(0)).shape
    (2, 3)
    """

    epsilon: float = 1.0
    entries: int = 10
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)
        check.integer("entries", self.entries, least=1)

    @property
    def claimed_epsilon(self) -> float:
        """Basic composition of the k answers."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The same: losses of all answers are largest together."""
        return self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for the event that all increments are below both answers."""
        return self.epsilon

    def pair(self) -> Pair[Array]:
        """Return answers of 0, and of 1."""
        return Pair(np.zeros(self.entries), np.ones(self.entries), EVERY_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy prefix sums, shape ``(trials, k)``."""
        noise = rng.laplace(scale=self.entries / self.epsilon, size=(trials, self.entries))
        return np.asarray(np.cumsum(dataset + noise, axis=1))

    def score(self, transcripts: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``: of the increments."""
        answers = np.diff(transcripts, axis=1, prepend=0.0)
        return laplace_loss(answers, 0.0, 1.0, self.epsilon / self.entries)
