r"""The Gaussian mechanism on a Poisson sample of the records.

A record that is in the data enters the sum with probability q. With unit terms its removal turns

    P = (1 - q) N(0, sigma^2) + q N(1, sigma^2)    into    Q = N(0, sigma^2),

and this pair dominates all neighbours that differ by one record; its reverse does for an addition
(Zhu, Dong & Wang 2022, Theorem 11). The loss is an increasing function of the output y,

    L(y) = log(1 - q + q exp((2 y - 1) / (2 sigma^2))),

never below ``log(1 - q)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri_exp

from dpaudit._typing import Array
from dpaudit.accounting.pairs.pair import Continuous

# Of the search for a density's variation: how far from the bend, on how many points, what is added;
# the logarithm of a density beyond which it is as good as an atom.
_BEND, _POINTS, _MARGIN, _HUGE = 40.0, 10_001, 1.05, 600.0


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
    """

    ratio: float
    scale_of_noise: float
    removal: bool = True
    tail: float = 1e-318

    @property
    def largest(self) -> float:
        """Infinite for a removal, ``-log(1 - q)`` for an addition."""
        return math.inf if self.removal else -math.log1p(-self.ratio)

    @property
    def symmetric(self) -> bool:
        """The two directions differ."""
        return False

    @property
    def scale(self) -> float:
        """The loss bends where its exponential passes 1: within ``sigma^2``, if that is less."""
        return min(self.scale_of_noise, self.scale_of_noise**2)

    @property
    def trimmed_mass(self) -> float:
        """Both tails."""
        return 2 * self.tail

    def trimmed(self, tail: float) -> SubsampledGaussianPair:
        """Return the pair without tails of this probability, at least 1e-318."""
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
        return -reach, max(sampled, -float(ndtri_exp(log_tail - math.log(2))) * sigma)

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
        """Return the variation of the loss's tilted density, with a margin.

        On a grid that is fine on both scales of that density: the noise's own, and ``sigma^2``,
        within which the loss bends around the output at which both parts of the mixture weigh the
        same. As a function of y its logarithm has the slope ``((a + 1) p - 1 - y) / sigma^2``,
        p the share of the sampled part and a the order or so: it bends nowhere else.
        """
        y = self._bends()
        log_ratio = self._log_ratio(y)
        level = self._level(log_ratio)
        log_slope = math.log(self.ratio) + log_ratio - level - 2 * math.log(self.scale_of_noise)
        output, loss = (y, level) if self.removal else (-y, -level)
        log_norm = float(self.log_mgf(np.array(order)))
        exponents = self.log_density(output) + order * loss - log_norm - log_slope
        if not exponents.max() < _HUGE:
            return math.inf
        density = np.exp(exponents)
        return float(_MARGIN * (np.abs(np.diff(density)).sum() + density[0] + density[-1]))

    def _bends(self) -> Array:
        """Return values of y, ascending, close to each other wherever the loss or P bends."""
        low, high = self.interval if self.removal else (-self.interval[1], -self.interval[0])
        variance = self.scale_of_noise**2
        middle = 0.5 + variance * (math.log1p(-self.ratio) - math.log(self.ratio))
        near = middle + variance * np.linspace(-_BEND, _BEND, _POINTS)
        far = np.linspace(low, high, _POINTS)
        return np.unique(np.concatenate([far, near[(near > low) & (near < high)]]))
