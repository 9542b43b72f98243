"""Dominating pairs in closed form: Gaussian and Laplace noise, randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    Continuous,
    DominatingPair,
    characteristic_of,
    joined,
    log_mgf_of,
)


@dataclass(frozen=True)
class GaussianPair(Continuous):
    """N(mu, 1) and N(0, 1): the loss is N(mu^2/2, mu^2) under P (Dong, Roth & Su 2022)."""

    mu: float

    @property
    def quadrature(self) -> bool:
        """There is a closed form."""
        return False

    @property
    def largest(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def scale(self) -> float:
        """The standard deviation of the loss."""
        return self.mu

    @property
    def interval(self) -> tuple[float, float]:
        """All reals: only laws between two losses are asked for."""
        return -math.inf, math.inf

    def loss(self, output: Array) -> Array:
        """Return the output: it is the loss itself."""
        return output

    def position(self, loss: Array) -> Array:
        """Return the loss."""
        return loss

    def log_density(self, output: Array) -> Array:
        """Return the log-density of N(mu^2/2, mu^2)."""
        deviation = (output - self.mu**2 / 2) / self.mu
        return np.asarray(-(deviation**2) / 2 - math.log(self.mu * math.sqrt(2 * math.pi)))

    def log_mgf(self, orders: Array) -> Array:
        """Return ``c (c + 1) mu^2 / 2``."""
        return np.asarray(orders * (orders + 1) * self.mu**2 / 2)

    def envelope(self, order: float, frequency: float) -> float:
        """Return ``exp(-u^2 mu^2 / 2)``."""
        return math.exp(-((frequency * self.mu) ** 2) / 2)

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
    def quadrature(self) -> bool:
        """There is a closed form."""
        return False

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
        return 8.0

    @property
    def interval(self) -> tuple[float, float]:
        """The range of the losses."""
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
        return joined(super().atoms(edges), self._atoms().within(edges[0], edges[-1]))

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log((e^{cs} (1 + s (1 - e^{-a}) / a) + e^{-(c+1)s}) / 2)``, a = (2 c + 1) s."""
        c, s = np.asarray(orders, dtype=np.float64), self.shift
        a = (2 * c + 1) * s
        size = np.maximum(np.abs(a), 1e-300)
        with np.errstate(divide="ignore"):  # (1 - e^{-a}) / a, as a logarithm
            inner = np.where(size < 1e-8, -a / 2, np.log(-np.expm1(-size) / size))
        inner = inner - np.minimum(a, 0) * (size >= 1e-8)
        upper = c * s + np.logaddexp(0, math.log(s) + inner)
        return np.asarray(np.logaddexp(upper, -(c + 1) * s) - math.log(2))

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]`` from the closed form."""
        c, s = order + 1j * frequencies, self.shift
        log_norm = float(self.log_mgf(np.array(order))) + math.log(2)
        a = (2 * c + 1) * s
        ends = np.exp(c * s - log_norm) + np.exp(-(c + 1) * s - log_norm)
        return np.asarray(ends + np.exp(c * s - log_norm) * s * -np.expm1(-a) / a)

    def variation(self, order: float) -> float:
        """Return twice the density at the upper end, for orders of at least -1/2."""
        return math.exp(order * self.shift - float(self.log_mgf(np.array(order)))) / 2

    def atomic_share(self, order: float) -> float:
        """Return the share of the two ends."""
        at = np.array(order)
        return float(np.exp(log_mgf_of(self._atoms(), at) - self.log_mgf(at)))

    def _atoms(self) -> Atoms:
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
    def quadrature(self) -> bool:
        """There is a closed form."""
        return False

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
