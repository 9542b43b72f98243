"""Dominating pairs in closed form: Gaussian and Laplace noise, randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.accounting.pairs import (
    Atoms,
    Complex,
    Continuous,
    DominatingPair,
    characteristic_of,
    joined,
    log_mgf_of,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GaussianPair(Continuous):
    """N(mu, 1) and N(0, 1): the loss is N(mu^2/2, mu^2) under P (Dong, Roth & Su 2022)."""

    mu: float

    @property
    def largest(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def scale(self) -> float:
        """The standard deviation of the loss."""
        return self.mu

    def interval(self, order: float) -> tuple[float, float]:
        """Return 40 standard deviations around the mean, tilted or not."""
        reach = (40 + abs(order) * self.mu + self.mu) * self.mu
        return -reach, reach

    def loss(self, output: Array) -> Array:
        """Return the output: it is the loss itself."""
        return output

    def position(self, loss: Array) -> Array:
        """Return the loss."""
        return loss

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        return self._on(edges)

    def log_density(self, output: Array) -> Array:
        """Return the log-density of N(mu^2/2, mu^2)."""
        deviation = (output - self.mu**2 / 2) / self.mu
        return np.asarray(-(deviation**2) / 2 - math.log(self.mu * math.sqrt(2 * math.pi)))

    def log_mgf(self, orders: Array) -> Array:
        """Return ``c (c + 1) mu^2 / 2``."""
        return np.asarray(orders * (orders + 1) * self.mu**2 / 2)

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``exp((i u (2 c + 1) - u^2) mu^2 / 2)``."""
        exponent = 1j * frequencies * (2 * order + 1) - frequencies**2
        return np.asarray(np.exp(exponent * self.mu**2 / 2))


@dataclass(frozen=True)
class LaplacePair(Continuous):
    """Laplace noise of scale 1 and a shift s: losses within [-s, s], with atoms at both ends.

    Shifts v in several dimensions with ``||v||_1 <= s`` are covered: the integral of
    ``min(p(x), e^epsilon p(x - v))`` is log-concave in v (Prekopa), so the divergence is
    quasi-convex and largest at a vertex, where all of v is in one coordinate.
    """

    shift: float

    @property
    def largest(self) -> float:
        """The shift."""
        return self.shift

    @property
    def lattice(self) -> float:
        """The shift: both atoms are on its multiples."""
        return self.shift

    @property
    def scale(self) -> float:
        """The density between the atoms is ``exp((L - s) / 2) / 4``."""
        return 2.0

    def interval(self, order: float) -> tuple[float, float]:
        """Return the range of the losses."""
        return -self.shift, self.shift

    def loss(self, output: Array) -> Array:
        """Return the output: it is the loss itself."""
        return output

    def position(self, loss: Array) -> Array:
        """Return the loss."""
        return loss

    def log_density(self, output: Array) -> Array:
        """Return the log-density between the atoms."""
        return np.asarray((output - self.shift) / 2 - math.log(4))

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        return joined(super().atoms(edges), self._ends().within(edges[0], edges[-1]))

    def spread(self, low: float, high: float) -> Atoms:
        """Return the whole law."""
        return joined(super().spread(low, high), self._ends())

    def atomic_share(self, order: float) -> float:
        """Return the share of the two ends."""
        at = np.array(order)
        return float(np.exp(log_mgf_of(self._ends(), at) - self.log_mgf(at)))

    def _ends(self) -> Atoms:
        s = self.shift
        return Atoms(np.array([-s, s]), np.array([-math.log(2) - s, -math.log(2)]))


@dataclass(frozen=True)
class RandomizedResponsePair(DominatingPair):
    """The pair that dominates all of (epsilon, delta)-DP (Kairouz, Oh & Viswanath 2015, section 3).

    With probability delta the output betrays the dataset; else it is the truth with odds
    ``exp(epsilon)``.
    """

    epsilon: float
    delta: float = 0.0

    @property
    def infinite_mass(self) -> float:
        """Delta."""
        return self.delta

    @property
    def largest(self) -> float:
        """Epsilon."""
        return self.epsilon

    @property
    def lattice(self) -> float | None:
        """Epsilon: both atoms are on its multiples."""
        return self.epsilon or None

    def _all(self) -> Atoms:
        e = self.epsilon
        rest = math.log1p(-self.delta) - float(np.logaddexp(0, e))
        return Atoms(np.array([-e, e]), np.array([rest, rest + e]))

    def atoms(self, edges: Array) -> Atoms:
        """Return the atoms that lie between the first and the last edge."""
        return self._all().within(edges[0], edges[-1])

    def atomic_share(self, order: float) -> float:
        """Return 1: there is nothing else."""
        return 1.0

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]`` over finite losses, same shape."""
        return log_mgf_of(self._all(), orders)

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]`` over finite losses."""
        return characteristic_of(self._all(), order, frequencies)
