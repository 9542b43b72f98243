r"""Balls and bins with one record that matters: the law of the noisy sums, and tilted draws.

Every record picks one of T batches at random, once an epoch. Where at most one of them has a term
that is not 0 (the Dirac gradients of a canary), the sums of an epoch have the density

    N(x; 0, sigma^2 I) S_a(x),    S_a(x) = (1/T) sum_t exp((2 a x_t - a^2) / (2 sigma^2)),

a the term, and the privacy loss against a term b is ``log S_a(x) - log S_b(x)``.

*Draws that lose much*, of tilt theta. A loss is large because one sum is very large, or because
many are somewhat: half of the outputs shift the batch's sum by ``(1 + theta) a``, the others
that by a and all by ``theta a / T``, which is what a tilt by ``exp(theta L)`` does where L is about
linear. Against b = 0 means of powers say that ``log p/r + theta L`` is at most ``log 2 + theta (1 +
theta) a^2 / (2 sigma^2)``. Where the record is in the other dataset (a = 0), all sums are shifted
by ``-theta b / T``, and the same is at most ``theta b^2 (1 + theta / T) / (2 sigma^2)`` by Jensen's
inequality. That serves several epochs; draws of a single one are aimed, with a bound that gives an
upper end (`dpaudit.laws.allocated_draws`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp, ndtr

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.laws.allocated_draws import Large, Small, draws_beyond
from dpaudit.mechanisms.mechanism import TiltedSample
from dpaudit.neighbours import Pair, Side
from dpaudit.redaction import Record


@dataclass(frozen=True, kw_only=True)
class AllocatedSums:
    """Noisy sums of batches that records pick at random; datasets are their terms, shape ``(n,)``.

    Outputs have shape ``(R, epochs, batches)``.

    Formal guarantee, for terms of size at most 1: that of
    `dpaudit.accounting.events.AllocatedGaussian`.

    Parameters
    ----------
    batches
        T, of an epoch.
    noise_multiplier
        Standard deviation of the noise of each sum.
    epochs
        How many, each with a fresh allocation.

    Examples
    --------
    >>> epoch = AllocatedSums(batches=4, noise_multiplier=0.5)
    >>> sums = epoch.sample(np.array([1.0, 0.0]), 1000, np.random.default_rng(0))
    >>> sums.shape, bool(abs(sums.sum(axis=2).mean() - 1) < 0.1)
    ((1000, 1, 4), True)
    """

    batches: int
    noise_multiplier: float
    epochs: int = 1

    def __post_init__(self) -> None:
        check.require_integer("batches", self.batches, least=1)
        check.require_positive("noise_multiplier", self.noise_multiplier)
        check.require_integer("epochs", self.epochs, least=1)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy sums; every record of the dataset is allocated."""
        sums = self._noise(trials, rng)
        for term in np.asarray(dataset, dtype=np.float64):
            self._allocate(sums, float(term), rng)
        return sums

    def privacy_loss(self, outputs: Array, pair: Pair[Array]) -> Array:
        """Return ``log p/q``, shape ``(R,)``."""
        first, second = (self._log_ratio(outputs, self._term(pair.on(s))) for s in Side)
        return np.asarray((first - second).sum(axis=1))

    def uniform_residuals(self, outputs: Array, dataset: Array) -> Array:
        """Return each sum's distribution function given those before it, shape as outputs.

        A batch is the record's with a probability that the sums before it decide.
        """
        term, variance = self._term(dataset), self.noise_multiplier**2
        likely = np.exp((2 * term * outputs - term**2) / (2 * variance))
        before = np.cumsum(likely, axis=2) - likely
        # Batches that are still to come weigh 1 each, those before their likelihood ratios.
        chance = 1 / (before + self.batches - np.arange(self.batches))
        y = outputs / self.noise_multiplier
        shifted = ndtr(y - term / self.noise_multiplier)
        return np.asarray((1 - chance) * ndtr(y) + chance * shifted).reshape(len(outputs), -1)

    def sample_tilted(
        self, pair: Pair[Array], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs that lose much, with their weights."""
        here, there = (self._term(pair.on(side)) for side in Side)
        sums = self._noise(trials, rng)
        step = tilt * (here - there) / self.batches
        if here:
            jumps = rng.random((trials, self.epochs)) < 0.5
            far = here + tilt * (here - there)
            self._allocate(sums, np.where(jumps, far, here), rng)
            sums += np.where(jumps, 0.0, step)[..., None]
            drawn = np.logaddexp(
                self._log_ratio(sums, far), self._compute_shift_log_ratio(sums, step, here)
            )
            drawn -= math.log(2)
        else:
            sums += step
            drawn = self._compute_shift_log_ratio(sums, step, 0.0)
        first, second = (self._log_ratio(sums, term) for term in (here, there))
        loss = (first - second).sum(axis=1)
        return TiltedSample(sums, loss, (first - drawn).sum(axis=1) + tilt * loss, tilt)

    def sample_aimed(
        self, pair: Pair[Array], aim: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs of one epoch whose losses are beyond ``aim``, with their weights."""
        drawn = self._choose_aimed_draws(pair, aim)
        if drawn is None:
            expected = "one epoch, one term of .1 to 10 times the noise: other aims are not known"
            raise InvalidArgument("aim", aim, expected)
        draws, scale, removal = drawn
        sums, density = draws.sample(trials, rng)
        ratio = self._log_ratio((scale * sums)[:, None, :], self._matters(pair))[:, 0]
        loss = ratio if removal else -ratio
        weight = (ratio if removal else 0.0) - density
        return TiltedSample((scale * sums)[:, None, :], loss, np.asarray(weight), 0.0)

    def log_payoff_bound(self, pair: Pair[Array], aim: float, epsilon: float) -> float:
        """Return the logarithm of a bound on the payoffs of aimed outputs, or infinity."""
        drawn = self._choose_aimed_draws(pair, aim)
        return math.inf if drawn is None else drawn[0].log_bound(epsilon)

    def _choose_aimed_draws(
        self, pair: Pair[Array], aim: float
    ) -> tuple[Small | Large, float, bool] | None:
        """Return draws in units of the noise, this unit with its sign, and whether of a removal."""
        here, there = (self._term(pair.on(side)) for side in Side)
        # Where both datasets have a term, or neither has, there is no one record to aim at.
        if self.epochs > 1 or bool(here) == bool(there):
            return None
        size = abs(here or there) / self.noise_multiplier
        draws = draws_beyond(size, self.batches, aim, removal=bool(here))
        scale = math.copysign(self.noise_multiplier, here or there)
        return None if draws is None else (draws, scale, bool(here))

    def _matters(self, pair: Pair[Array]) -> float:
        return self._term(pair.dataset) or self._term(pair.neighbour)

    def log_mgf_bounds(self, pair: Pair[Array], tilt: float) -> tuple[float, float]:
        """Return bounds on `TiltedSample.log_mgf`; the lower one is of no use and infinite."""
        here, there = (self._term(pair.on(side)) for side in Side)
        if here and there:
            return -math.inf, math.inf
        size = (here - there) ** 2 / (2 * self.noise_multiplier**2)
        most = tilt * (1 + tilt / self.batches) * size
        if here:
            most = math.log(2) + tilt * (1 + tilt) * size
        return -math.inf, self.epochs * most

    def _noise(self, trials: int, rng: Generator) -> Array:
        shape = (trials, self.epochs, self.batches)
        return self.noise_multiplier * rng.standard_normal(shape)

    def _allocate(self, sums: Array, term: float | Array, rng: Generator) -> None:
        """Add a term to one batch of every epoch."""
        at = rng.integers(self.batches, size=(*sums.shape[:2], 1))
        terms = np.broadcast_to(np.asarray(term), sums.shape[:2])[..., None]
        np.put_along_axis(sums, at, np.take_along_axis(sums, at, 2) + terms, 2)

    def _log_ratio(self, sums: Array, term: float) -> Array:
        """Return ``log S_term`` of every epoch, shape ``(R, epochs)``."""
        exponents = (2 * term * sums - term**2) / (2 * self.noise_multiplier**2)
        return np.asarray(logsumexp(exponents, axis=2)) - math.log(self.batches)

    def _compute_shift_log_ratio(self, sums: Array, step: float, term: float) -> Array:
        """Return the log-ratio of sums that are all shifted by a step, one of them by a term."""
        everywhere = (2 * step * sums - step**2).sum(axis=2) / (2 * self.noise_multiplier**2)
        return np.asarray(everywhere + self._log_ratio(sums - step, term))

    def _term(self, dataset: Array) -> float:
        """Return the one term that is not 0, or raise `InvalidArgument`."""
        terms = np.asarray(dataset, dtype=np.float64)
        others = terms[terms != 0]
        if terms.ndim != 1 or len(others) > 1:
            expected = "records' terms, of which at most one is not 0: other laws are not known"
            raise InvalidArgument("dataset", Record(terms.tolist()), expected)
        return float(others[0]) if len(others) else 0.0
