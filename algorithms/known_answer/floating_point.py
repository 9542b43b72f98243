"""Laplace noise in double precision, whose last bits tell the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.laws import laplace_loss
from dpaudit.algorithms.known_answer.relations import ONE_ANSWER
from dpaudit.neighbours import Pair


@dataclass(frozen=True, kw_only=True)
class FloatingPointLaplace:
    """Laplace noise as textbooks draw it, by inversion, in double precision: broken.

    Mironov 2012. Take the answer 1 and any double n as its noise. The sum, rounded, is a
    multiple of 2^-53: above 1/2 in size all doubles are; and for a smaller sum n is between -3/2
    and -1/2, so a multiple of 2^-53 itself, and nothing is rounded. Around the answer 0 the output
    is the noise itself, and doubles below 1/2 in size are mostly no multiples of 2^-53.
    So the event "not a multiple of 2^-53" has probability 0 on one side and not on the other: the
    true epsilon is infinite, at any scale.

    Parameters
    ----------
    epsilon
        What is claimed, and would be true of real numbers.

    Examples
    --------
    >>> mechanism, pair = FloatingPointLaplace(), FloatingPointLaplace().pair()
    >>> on = [mechanism.sample(d, 999, np.random.default_rng(0)) for d in (pair.dataset, [1.0])]
    >>> [bool(np.isinf(mechanism.score(outputs)).any()) for outputs in on]
    [True, False]
    """

    epsilon: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.positive("epsilon", self.epsilon)

    @property
    def claimed_epsilon(self) -> float:
        """What real numbers would give."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def event_epsilon(self) -> float:
        """Infinite."""
        return math.inf

    def pair(self) -> Pair[Array]:
        """Return the answers 0 and 1."""
        return Pair(np.array([0.0]), np.array([1.0]), ONE_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy answers, shape ``(trials,)``; the uniforms are multiples of 2^-53."""
        sizes = -np.log(1 - rng.random(trials)) / self.epsilon
        signs = rng.choice([-1.0, 1.0], size=trials)
        return np.asarray(dataset[0] + signs * sizes)

    def score(self, transcripts: Array) -> Array:
        """Return infinity for outputs that the answer 1 cannot give, shape ``(R,)``."""
        scaled = transcripts * 2.0**53
        loss = laplace_loss(transcripts, 0.0, 1.0, self.epsilon)
        return np.where(scaled == np.floor(scaled), loss, np.inf)
