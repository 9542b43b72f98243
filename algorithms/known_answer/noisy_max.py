r"""Report noisy max: which noisy answer is largest, or (wrongly) how large it is.

Ding, Wang, Wang, Zhang & Kifer 2018, Algorithms 5 to 8. Noise of rate ``epsilon / 2`` is added to k
answers, each of which moves by at most 1 between neighbours.

| variant | noise       | reports | true epsilon      | why                                 |
|---------|-------------|---------|-------------------|-------------------------------------|
| 1       | Laplace     | index   | epsilon           | as claimed, in the limit            |
| 2       | exponential | index   | epsilon           | as claimed, attained                |
| 3       | Laplace     | value   | ``k epsilon / 2`` | all noises are revealed to be small |
| 4       | exponential | value   | infinite          | values below all answers            |

*Index.* Fix all noises but the winner's: the winner's must exceed a bound that moves by at most 2,
which costs ``2 epsilon / 2`` for either noise. With exponential noise an answer that is lowest wins
with probability ``e^(-rate gap) / k`` exactly, if all others are ``gap`` above it: a gap that grows
from 0 to 2 costs epsilon, at probability 1/k. With Laplace noise the same holds in the limit of a
large gap only (k at least 3), so epsilon is the supremum over inputs, and no pair attains it.

*Value.* Composition of k Laplace mechanisms bounds epsilon by ``k epsilon / 2``. A value below all
answers has density ``sum_i f_i prod_j F_j``, all of whose k + 1 factors are pure exponentials, k of
them in every term: when all answers rise by 1 it falls by ``e^(-k rate)`` exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import EVERY_ANSWER
from dpaudit.algorithms.known_answer.laws import (
    FiniteLaw,
    best_event,
    build_kink_quadrature,
    draw_laplace,
    laplace_cdf,
    laplace_density,
    log_ratio,
)
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Pair


@dataclass(frozen=True, kw_only=True)
class ReportNoisyMax:
    """One of the four variants.

    Parameters
    ----------
    variant
        1 to 4.
    epsilon
        What is claimed.
    answers
        k, at least 3.
    gap
        How far the first answer is below the others on the pair's dataset (index only).

    Examples
    --------
    >>> [ReportNoisyMax(variant=v, epsilon=0.1).true_epsilon for v in (1, 2, 3, 4)]
    [0.1, 0.1, 0.25, inf]
    """

    variant: int
    epsilon: float = 1.0
    answers: int = 5
    gap: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        if check.require_integer("variant", self.variant, least=1) > 4:
            raise InvalidArgument("variant", self.variant, "1, 2, 3 or 4")
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("answers", self.answers, least=3)
        check.non_negative("gap", self.gap)

    @property
    def rate(self) -> float:
        """One over the scale of the noise."""
        return self.epsilon / 2

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source; for variants 3 and 4 one whose falsehood can be detected."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """As derived above."""
        others = {3: self.answers * self.rate, 4: math.inf}
        return others.get(self.variant, self.epsilon)

    @property
    def event_epsilon(self) -> float:
        """The true epsilon, except of variant 1, which attains its own on no pair."""
        return best_event(self) if self.variant == 1 else self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return answers of which one falls and the others rise; all rise if values are shown."""
        if self.variant > 2:
            return Pair(np.zeros(self.answers), np.ones(self.answers), EVERY_ANSWER)
        first = np.arange(self.answers) == 0
        answers = np.where(first, 0.0, self.gap)
        return Pair(answers, answers + np.where(first, -1.0, 1.0), EVERY_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return the winning index, or the largest noisy answer, shape ``(trials,)``."""
        shape, scale = (trials, self.answers), 1 / self.rate
        double_sided = self.variant % 2 == 1
        noise = draw_laplace(scale, shape, rng) if double_sided else rng.exponential(scale, shape)
        noisy = dataset + noise
        if self.variant > 2:
            return np.asarray(noisy.max(axis=1))
        return np.asarray(noisy.argmax(axis=1), dtype=np.float64)

    def law(self, dataset: Array) -> FiniteLaw:
        """Return the law of the index (variants 1 and 2)."""
        # A product of k factors changes at up to k times the rate of one.
        nodes, weights = build_kink_quadrature(
            dataset.tolist(), self.rate, self.answers * self.rate
        )
        wins = [
            weights @ (self._density(nodes - a) * self._below(nodes, np.delete(dataset, i)))
            for i, a in enumerate(dataset)
        ]
        return FiniteLaw(np.arange(float(self.answers)), np.array(wins))

    def density(self, values: Array, dataset: Array) -> Array:
        """Return the density of the largest noisy answer (variants 3 and 4), shape ``(R,)``."""
        total = np.zeros(len(values))
        for i, answer in enumerate(dataset):
            total += self._density(values - answer) * self._below(values, np.delete(dataset, i))
        return total

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        if self.variant < 3:
            return log_ratio(self, outputs)
        pair = self.pair()
        with np.errstate(divide="ignore"):
            p, q = (np.log(self.density(outputs, d)) for d in (pair.dataset, pair.neighbour))
        return np.asarray(p - q)

    def _density(self, noise: Array) -> Array:
        if self.variant % 2:
            return laplace_density(noise, self.rate)
        # Held at 0, a value far below the answer does not overflow before it is discarded.
        tail = self.rate * np.exp(-self.rate * np.maximum(noise, 0.0))
        return np.where(noise < 0, 0.0, tail)

    def _below(self, values: Array, answers: Array) -> Array:
        """Return the probability that all noisy answers are below the values, shape ``(R,)``."""
        noise = values[:, None] - answers
        if self.variant % 2:
            return np.asarray(laplace_cdf(noise, self.rate).prod(axis=1))
        return np.asarray((-np.expm1(-self.rate * np.maximum(noise, 0.0))).prod(axis=1))
