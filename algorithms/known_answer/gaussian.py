r"""Gaussian noise, on all records and on a sample of them, at a delta above 0.

Of N(0, sigma^2) and N(1, sigma^2) the best event at epsilon is that the output is beyond a
threshold, and the exact profile is ``delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon
Phi(-mu/2 - epsilon/mu)`` with ``mu = 1 / sigma`` (Balle & Wang 2018, Theorem 8).

*Sampling.* If every record is drawn with probability q, then with the record the output is
``P = (1 - q) N(0) + q N(1)`` and without it ``Q = N(0)``. For every event

    P(S) - e^epsilon Q(S) = q (N(1)(S) - e^epsilon' Q(S)),    e^epsilon' = 1 + (e^epsilon - 1) / q,

so that ``delta(epsilon) = q delta_0(epsilon')`` exactly, delta_0 the profile without sampling; the
other direction has less. This is the amplification theorem (Balle, Barthe & Gaboardi 2018, Theorem
8), here an equality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import ONE_ANSWER
from dpaudit.guarantees import gaussian
from dpaudit.neighbours import ADD_REMOVE_RECORD, Pair


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """One answer, sensitivity 1, with noise as the classical theorem sets it.

    Dwork & Roth 2014, Theorem A.1: scale ``sqrt(2 log(1.25 / delta)) / epsilon``, for epsilon below
    1. The exact profile at delta gives less than that epsilon: the claim is true, not tight.

    Parameters
    ----------
    epsilon, delta
        What is claimed.

    Examples
    --------
    >>> round(Gaussian(epsilon=0.9, delta=1e-3).true_epsilon, 3)
    0.559
    """

    epsilon: float = 0.9
    delta: float = 1e-3

    def __post_init__(self) -> None:
        check.require_probability("epsilon", self.epsilon)
        check.require_probability("delta", self.delta)

    @property
    def noise_scale(self) -> float:
        """The classical sigma."""
        return math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The epsilon at which the exact profile is delta."""
        return gaussian.epsilon_at(1 / self.noise_scale, math.log(self.delta))

    @property
    def event_epsilon(self) -> float:
        """The same, for the event that the loss exceeds it."""
        return self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return the answers 1 and 0."""
        return Pair(np.array([1.0]), np.array([0.0]), ONE_ANSWER)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy answers, shape ``(trials,)``."""
        return rng.normal(dataset[0], self.noise_scale, trials)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return np.asarray((outputs - 0.5) / self.noise_scale**2)


@dataclass(frozen=True, kw_only=True)
class SubsampledGaussian:
    """A sum over a random sample of records in [0, 1], plus Gaussian noise.

    With ``fixed_batch`` the sample is the first ``ratio`` of the records, and the epsilon of random
    sampling is claimed all the same: broken, since nothing is amplified for a record that is always
    in the batch (Chua et al. 2024 find such claims in practice).

    Parameters
    ----------
    ratio
        q.
    noise_scale
        sigma.
    delta
        At which epsilon is meant.
    records
        How many there are.
    fixed_batch
        Whether the batch is not drawn.

    Examples
    --------
    >>> honest, broken = SubsampledGaussian(), SubsampledGaussian(fixed_batch=True)
    >>> round(honest.true_epsilon, 3), round(broken.claimed_epsilon, 3)
    (0.65, 0.65)
    >>> round(broken.true_epsilon, 3)
    3.139
    """

    ratio: float = 0.1
    noise_scale: float = 1.0
    delta: float = 1e-3
    records: int = 10
    fixed_batch: bool = False

    def __post_init__(self) -> None:
        for name in ("ratio", "delta"):
            check.require_probability(name, getattr(self, name))
        check.require_positive("noise_scale", self.noise_scale)
        check.require_integer("records", self.records, least=math.ceil(1 / self.ratio))

    @property
    def claimed_epsilon(self) -> float:
        """The epsilon after amplification: ``log(1 + q (e^epsilon' - 1))``."""
        full = gaussian.epsilon_at(1 / self.noise_scale, math.log(self.delta / self.ratio))
        return math.log1p(self.ratio * math.expm1(full))

    @property
    def true_epsilon(self) -> float:
        """The same; of a fixed batch, that of the Gaussian mechanism on it."""
        if self.fixed_batch:
            return gaussian.epsilon_at(1 / self.noise_scale, math.log(self.delta))
        return self.claimed_epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for the event that the output is above a threshold."""
        return self.true_epsilon

    def pair(self) -> Pair[Array]:
        """Return records of which the first is 1 and the others 0, and the same without it."""
        records = (np.arange(self.records) == 0).astype(np.float64)
        # The record that differs is the first, so that a fixed batch always holds it.
        return Pair(records, records[1:], ADD_REMOVE_RECORD)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy sums, shape ``(trials,)``."""
        if self.fixed_batch:
            total = np.asarray(dataset[: math.ceil(self.ratio * self.records)].sum())
        else:
            total = (rng.random((trials, len(dataset))) < self.ratio) @ dataset
        return np.asarray(total + rng.normal(0.0, self.noise_scale, trials))

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        plain = (outputs - 0.5) / self.noise_scale**2
        if self.fixed_batch:
            return np.asarray(plain)
        # The log-ratio of the mixture: log((1 - q) + q p_1/q_0).
        return np.logaddexp(math.log1p(-self.ratio), math.log(self.ratio) + plain)
