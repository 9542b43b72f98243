r"""Noise with density proportional to ``exp(-alpha ||e||)`` on R^d, and a common mistake with it.

Moving the centre by v changes the logarithm of the density by at most ``alpha ||v||`` (the triangle
inequality), and by nearly that for outputs close to the ray from one centre through the other: so
epsilon is ``alpha ||v||`` exactly, the supremum over outputs (Chaudhuri, Monteleoni & Sarwate 2011,
Algorithm 1). In two or more dimensions the ray has probability 0: events come close to epsilon only
where they are rare.

*The mistake.* The norm of such noise is Gamma with shape d (the sphere of radius r has a surface of
order ``r^(d-1)``). Drawn as an exponential variable, in a uniform direction, the density is
proportional to ``||e||^-(d-1) exp(-alpha ||e||)``, infinite at the centre and nowhere else: a small
ball around one centre has a probability of order its radius on one side, of order its radius to the
power d on the other. The true epsilon is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import EUCLIDEAN
from dpaudit.errors import InvalidArgument
from dpaudit.laws import exponential_norm
from dpaudit.laws.steps import ExponentialNormSteps, NormStep
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class OneRelease:
    """One release of a vector with this noise, as a process of exponential-norm steps.

    The state is the number of trials.
    """

    rate: float

    @property
    def steps(self) -> int:
        """One."""
        return 1

    def check(self, dataset: Array) -> None:
        """Take any vector."""

    def start(self, dataset: Array, trials: int) -> int:
        """Return the number of trials."""
        return trials

    def step(self, state: int, dataset: Array) -> NormStep:
        """Return the vector and the rate."""
        return NormStep(np.broadcast_to(dataset, (state, len(dataset))), np.array(self.rate))

    def shift(self, state: int, pair: Pair[Array]) -> Array:
        """Return how far the vector moves."""
        moved = pair.neighbour - pair.dataset
        return np.broadcast_to(moved, (state, len(moved)))

    def advance(self, state: int, output: Array) -> int:
        """Return the number of trials."""
        return state

    def shift_bounds(self, pair: Pair[Array]) -> tuple[Array, Array]:
        # The shift does not depend on the output, so both ends of its bounds agree.
        """Return alpha times the distance, twice: it is known."""
        size = np.array([self.rate * np.linalg.norm(pair.neighbour - pair.dataset)])
        return size, size


@dataclass(frozen=True, kw_only=True)
class ExponentialNorm:
    """A vector that moves by at most 1, plus this noise.

    Parameters
    ----------
    epsilon
        alpha, and what is claimed.
    dimension
        d, at least 2.
    exponential_radius
        Whether the mistake is made.

    Examples
    --------
    >>> mechanism = ExponentialNorm(dimension=3)
    >>> mechanism.sample(np.zeros(3), 2, np.random.default_rng(0)).shape
    (2, 3)
    """

    epsilon: float = 1.0
    dimension: int = 3
    exponential_radius: bool = False
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("dimension", self.dimension, least=2)

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The same, or infinite with the mistake."""
        return math.inf if self.exponential_radius else self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, in the limit of a narrow cone or of a small ball."""
        return self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return the origin and a unit vector."""
        unit = (np.arange(self.dimension) == 0).astype(np.float64)
        return Pair(np.zeros(self.dimension), unit, EUCLIDEAN)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy vectors, shape ``(trials, d)``."""
        shape = trials, self.dimension
        if not self.exponential_radius:
            return np.asarray(
                dataset
                + exponential_norm.draw_exponential_norm_noise(shape, np.array(self.epsilon), rng)
            )
        # A Gaussian vector has a uniform direction.
        directions = rng.standard_normal(shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.asarray(dataset + rng.exponential(1 / self.epsilon, (trials, 1)) * directions)

    def with_law(self) -> ExponentialNormSteps[Array, int]:
        """Return the same release as a mechanism whose law is known, one step of shape ``(d,)``.

        Raises
        ------
        InvalidArgument
            The mistake is made: the law is then another.
        """
        if self.exponential_radius:
            raise InvalidArgument("exponential_radius", True, "False: this law has no such radius")
        return ExponentialNormSteps(OneRelease(self.epsilon))

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        pair = self.pair()
        near, far = (
            np.linalg.norm(outputs - centre, axis=1) for centre in (pair.dataset, pair.neighbour)
        )
        loss = self.epsilon * (far - near)
        if self.exponential_radius:
            # The mistake's density has a factor ||e||^-(d-1) more.
            loss = loss + (self.dimension - 1) * np.log(far / near)
        return np.asarray(loss)
