"""Dominating pairs in closed form: Gaussian and Laplace noise, randomised response.

**The Gaussian mechanism on a Poisson sample of the records.** A record that is in the data enters
the sum with probability q. With unit terms its removal turns

    P = (1 - q) N(0, sigma^2) + q N(1, sigma^2)    into    Q = N(0, sigma^2),

and this pair dominates all neighbours that differ by one record; its reverse does for an addition
(Zhu, Dong & Wang 2022, Theorem 11). The loss is an increasing function of the output y,

    L(y) = log(1 - q + q exp((2 y - 1) / (2 sigma^2))),

never below ``log(1 - q)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri_exp

from dpaudit._typing import Array
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    Continuous,
    DominatingPair,
    characteristic_of,
    join_atoms,
    log_mgf_of,
)
from dpaudit.guarantees import rounding


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

    def characteristic_error(self, order: float, frequencies: Array) -> Array:
        """Return the error from the rounding of its exponent."""
        return bound_wave_rounding(frequencies * (2 * abs(order) + 1) * self.mu**2 / 2)


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
        return join_atoms(super().atoms(edges), self._atoms().within(edges[0], edges[-1]))

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log((e^{cs} (1 + s (1 - e^{-a}) / a) + e^{-(c+1)s}) / 2)``, a = (2 c + 1) s."""
        c, s = np.asarray(orders, dtype=np.float64), self.shift
        a = (2 * c + 1) * s
        size = np.maximum(np.abs(a), 1e-300)
        with np.errstate(divide="ignore"):  # (1 - e^{-a}) / a, as a logarithm
            # Near 0 the quotient is ``1 - a / 2`` to the last digit, and 0 / 0 at a = 0. For
            # negative a it is ``exp(-a)`` times that of its size, which the next line adds: no
            # power is large.
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

    def characteristic_error(self, order: float, frequencies: Array) -> Array:
        """Return the error from the rounding of its exponents."""
        return bound_wave_rounding(frequencies * self.shift)

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
        # ``log((1 - delta) / (1 + e^epsilon))`` without the power, which overflows from 710 on.
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

    def characteristic_error(self, order: float, frequencies: Array) -> Array:
        """Return the error from the rounding of its exponents."""
        return bound_wave_rounding(frequencies * self.epsilon)


def bound_wave_rounding(phases: Array) -> Array:
    """Return how far waves of size 1 at most may be off whose phases were rounded."""
    # An error of a phase turns the wave by as much, and a phase is off by its relative error times
    # its size.
    return np.asarray(4 * rounding.UNIT * (1 + np.abs(phases)))


# Of the search for a density's variation.
_BEND = 40.0  # variances of the noise that are searched on either side of the bend
_POINTS = 10_001  # points of the grid, near the bend and over the whole range
_MARGIN = 1.05  # factor by which the variation found on the grid is enlarged
_LESS = 1e-3  # share by which the mass of a cell is lessened
_HUGE = 600.0  # log of a density beyond which it is as good as an atom


@dataclass(frozen=True)
class SubsampledGaussianPair(Continuous):
    """P and Q of a removal, or exchanged for an addition.

    Parameters
    ----------
    ratio
        ``q``, in (0, 1).
    scale_of_noise
        ``sigma``.
    removal
        Which of the two directions. In the other one the output is ``-y``, so that the loss, now
        ``-L(y)``, increases again.
    tail
        P-probability below and above the outputs that are looked at. A record that is rarely drawn
        makes a loss with two scales: a tilt to the far one, out of reach of any delta asked for,
        would waste the grid on it.
    most
        Loss up to which outputs are looked at. Those beyond it are in no law here; `beyond` is
        their probability.
    """

    ratio: float
    scale_of_noise: float
    removal: bool = True
    tail: float = 1e-318
    most: float = math.inf

    @property
    def largest(self) -> float:
        """Infinite for a removal, ``-log(1 - q)`` for an addition; at most ``most``."""
        return min(self.most, math.inf if self.removal else -math.log1p(-self.ratio))

    @property
    def distance(self) -> float:
        """At most the probability that the record is drawn at all."""
        return self.ratio

    def up_to(self, most: float) -> SubsampledGaussianPair:
        """Return the pair without outputs of a larger loss."""
        return replace(self, most=most) if self.removal else self

    @property
    def beyond(self) -> tuple[float, float]:
        """Probability under P and under Q of a loss above ``most``."""
        if math.isinf(self.most):
            return 0.0, 0.0
        y = float(self.position(np.array(self.most))) / self.scale_of_noise
        q = float(ndtr(-y))
        sampled = float(ndtr(1 / self.scale_of_noise - y))
        # Both are upper tails of normals as ``ndtr(-y)``: one minus a distribution function would
        # be 0 beyond eight deviations.
        return (1 - self.ratio) * q + self.ratio * sampled, q

    @property
    def symmetric(self) -> bool:
        """The two directions differ."""
        return False

    @property
    def scale(self) -> float:
        """The loss bends where its exponential passes 1: within ``sigma^2``, if that is less."""
        return min(self.scale_of_noise, self.scale_of_noise**2)

    @property
    def truncation_mass(self) -> float:
        """Both tails."""
        return 2 * self.tail

    def trimmed(self, tail: float) -> SubsampledGaussianPair:
        """Return the pair without tails of this probability, at least 1e-318."""
        # 1e-318 is close to the smallest double. A tail of more than a hundredth would cut into
        # what decides.
        return replace(self, tail=min(max(tail, 1e-318), 0.01))

    @property
    def interval(self) -> tuple[float, float]:
        """The output between its tails; a tilt by a large order would bring them back."""
        sigma, log_tail = self.scale_of_noise, math.log(self.tail)
        reach = -float(ndtri_exp(log_tail)) * sigma
        if not self.removal:
            return -reach, reach
        # half of the tail for each part of the mixture
        log_sampled = min(log_tail - math.log(self.ratio), 0.0) - math.log(2)
        sampled = 1 - float(ndtri_exp(log_sampled)) * sigma
        high = max(sampled, -float(ndtri_exp(log_tail - math.log(2))) * sigma)
        return -reach, min(high, float(self.position(np.array(self.most))))

    def reversed(self) -> SubsampledGaussianPair:
        """Return the other direction."""
        return replace(self, removal=not self.removal)

    def loss(self, output: Array) -> Array:
        """Return the loss of outputs, same shape."""
        y = output if self.removal else -output
        level = self._level(self._log_ratio(y))
        return level if self.removal else -level

    def _log_ratio(self, y: Array) -> Array:
        """Return ``log N(y; 1, sigma^2) / N(y; 0, sigma^2)``."""
        return np.asarray((2 * y - 1) / (2 * self.scale_of_noise**2))

    def _level(self, log_ratio: Array) -> Array:
        """Return ``log(1 - q + q exp(log_ratio))``, near 0 without loss of digits."""
        near = np.log1p(self.ratio * np.expm1(np.minimum(log_ratio, 1.0)))
        far = np.logaddexp(math.log1p(-self.ratio), math.log(self.ratio) + log_ratio)
        return np.where(log_ratio < 1, near, far)

    def position(self, loss: Array) -> Array:
        """Return the output with a given loss; infinite beyond the range of losses."""
        level = np.asarray(loss if self.removal else -loss, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # log((e^L - (1 - q)) / q), without the power where it would overflow
            small = np.log1p(np.expm1(np.minimum(level, 1.0)) / self.ratio)
            large = level + np.log(-np.expm1(math.log1p(-self.ratio) - level))
            log_ratio = np.where(level < 1, small, large - math.log(self.ratio))
        y = np.where(level <= math.log1p(-self.ratio), -np.inf, log_ratio)
        y = y * self.scale_of_noise**2 + 0.5
        return np.asarray(y if self.removal else -y)

    def log_density(self, output: Array) -> Array:
        """Return the log-density of outputs under P, same shape."""
        sigma = self.scale_of_noise
        base = -((output / sigma) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))
        return np.asarray(base + self.loss(output) if self.removal else base)

    def variation(self, order: float) -> float:
        """Return the variation of the loss's tilted density, with a margin."""
        return float(_bound_tilted_parts(self, order)[1][0])

    def envelope(self, order: float, frequency: float) -> float:
        """Return a bound on the size of `characteristic` from this frequency on.

        Of a part of the tilted law with the mass m, whose density has the variation V, the
        transform is at most ``V / u``, and that of the rest at most ``1 - m``. The part is all that
        is above or below some loss: a record that is rarely drawn hardly ever moves the loss from
        ``log(1 - q)``, where its density is so high that nothing is gained by the whole.
        """
        masses, variations = _bound_tilted_parts(self, order)
        return min(1.0, float(np.min(1 - masses + variations / frequency)))

    def tilted(self, order: float) -> tuple[Array, Array, Array]:
        """Return values of y, ascending, and the tilted densities of y and of the loss there.

        The grid is fine on both scales of these: the noise's own, and ``sigma^2``, within which the
        loss bends around the output at which both parts of the mixture weigh the same. As a
        function of y the logarithm of the loss's density has the slope ``((a + 1) p - 1 - y) /
        sigma^2``, p the share of the sampled part and a the order or so: it bends nowhere else.
        """
        y = self._bends()
        log_ratio = self._log_ratio(y)
        level = self._level(log_ratio)
        log_slope = math.log(self.ratio) + log_ratio - level - 2 * math.log(self.scale_of_noise)
        output, loss = (y, level) if self.removal else (-y, -level)
        exponents = self.log_density(output) + order * loss - float(self.log_mgf(np.array(order)))
        return y, np.exp(exponents), np.exp(np.minimum(exponents - log_slope, _HUGE))

    def _bends(self) -> Array:
        """Return values of y, ascending, close to each other wherever the loss or P bends."""
        low, high = self.interval if self.removal else (-self.interval[1], -self.interval[0])
        variance = self.scale_of_noise**2
        middle = 0.5 + variance * (math.log1p(-self.ratio) - math.log(self.ratio))
        near = middle + variance * np.linspace(-_BEND, _BEND, _POINTS)
        far = np.linspace(low, high, _POINTS)
        return np.unique(np.concatenate([far, near[(near > low) & (near < high)]]))


@lru_cache(maxsize=64)
def _bound_tilted_parts(pair: SubsampledGaussianPair, order: float) -> tuple[Array, Array]:
    """Return masses that parts of the tilted law have at least, and their densities' variations.

    The first is all of it; the others begin, or end, at one of the points of a grid.
    """
    y, masses, density = pair.tilted(order)
    # A mass from below: the smaller end of each cell, less a share for cells within which the
    # density bends.
    cells = (1 - _LESS) * np.minimum(masses[1:], masses[:-1]) * np.diff(y)
    steps = np.abs(np.diff(density))
    above, below = np.cumsum(cells[::-1])[::-1], np.cumsum(cells)
    # The first part is the whole law, whose mass is known.
    above[0] = 1.0
    # A part that begins or ends at a point jumps there from 0 to its density, which counts as
    # variation as well.
    rising, falling = np.cumsum(steps[::-1])[::-1] + density[:-1] + density[-1], np.cumsum(steps)
    falling += density[0] + density[1:]
    return np.concatenate([above, below]), _MARGIN * np.concatenate([rising, falling])
