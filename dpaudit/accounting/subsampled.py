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
from numpy.typing import NDArray
from scipy.special import ndtri_exp

from dpaudit.accounting.pairs import Continuous

Array = NDArray[np.float64]


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
        reach = -float(ndtri_exp(math.log(self.tail))) * self.scale_of_noise
        return -reach, reach + (1 if self.removal else 0)

    def reversed(self) -> SubsampledGaussianPair:
        """Return the other direction."""
        return replace(self, removal=not self.removal)

    def loss(self, output: Array) -> Array:
        """Return the loss of outputs, same shape."""
        y = output if self.removal else -output
        exponent = (2 * y - 1) / (2 * self.scale_of_noise**2)
        loss = np.logaddexp(math.log1p(-self.ratio), math.log(self.ratio) + exponent)
        return np.asarray(loss if self.removal else -loss)

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
        """Return the variation of the loss's tilted density over a fine grid, with a margin."""
        output = np.linspace(*self.interval, 20_001)
        loss = self.loss(output)
        level = loss if self.removal else -loss
        slope = -np.expm1(math.log1p(-self.ratio) - level) / self.scale_of_noise**2
        log_norm = float(self.log_mgf(np.array(order)))
        with np.errstate(divide="ignore", over="ignore"):
            density = np.exp(self.log_density(output) + order * loss - log_norm - np.log(slope))
        density = density[np.isfinite(density)]
        return float(1.05 * (np.abs(np.diff(density)).sum() + density[0] + density[-1]))
