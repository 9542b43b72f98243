r"""Laplace noise on one answer, on a histogram, on many answers, and in double precision.

Noise of scale b has density ``exp(-|e| / b) / (2 b)``. Moving its centre by s changes the logarithm
of the density by at most ``s / b``, and by exactly that wherever both centres are on one side. So
its epsilon is ``s / b``, and an event of half of the mass attains it (Dwork & Roth 2014, Theorem
3.6).

Independent noise of scale b on k entries, each of which moves by s, has epsilon ``k s / b``: losses
add up, and they are all largest at once, though only with probability ``2^-k``. At a finite number
of trials no event certifies that; one that is frequent enough to be counted has less.

In double precision the last bits of the sum tell the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import EVERY_ANSWER, ONE_ANSWER
from dpaudit.algorithms.known_answer.laws import draw_laplace, laplace_loss
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
        check.require_positive("epsilon", self.epsilon)
        check.require_positive("noise_factor", self.noise_factor)

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
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
        return np.asarray(dataset[0] + draw_laplace(1 / self.true_epsilon, trials, rng))

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return laplace_loss(outputs, 0.0, 1.0, self.true_epsilon)


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
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("bins", self.bins, least=1)

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
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
        noise = draw_laplace(1 / self.true_epsilon, (trials, self.bins), rng)
        return np.asarray(dataset + noise)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        pair = self.pair()
        return laplace_loss(outputs, pair.dataset, pair.neighbour, self.true_epsilon)


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
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("count", self.count, least=1)

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
        noise = draw_laplace(self.count / self.epsilon, (trials, self.count), rng)
        return np.asarray(dataset[0] + noise)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return laplace_loss(outputs, 0.0, 1.0, self.epsilon / self.count)


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
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("entries", self.entries, least=1)

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
        noise = draw_laplace(self.entries / self.epsilon, (trials, self.entries), rng)
        return np.asarray(np.cumsum(dataset + noise, axis=1))

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``: of the increments."""
        answers = np.diff(outputs, axis=1, prepend=0.0)
        return laplace_loss(answers, 0.0, 1.0, self.epsilon / self.entries)


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
        check.require_positive("epsilon", self.epsilon)

    @property
    def claimed_epsilon(self) -> float:
        """The epsilon in real numbers."""
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

    def score(self, outputs: Array) -> Array:
        """Return infinity for outputs that the answer 1 cannot give, shape ``(R,)``."""
        # Scaling by a power of two is exact: what is no multiple of 2^-53 shows as a fraction.
        scaled = outputs * 2.0**53
        loss = laplace_loss(outputs, 0.0, 1.0, self.epsilon)
        return np.where(scaled == np.floor(scaled), loss, np.inf)
