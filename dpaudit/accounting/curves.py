"""The convolution of tilted laws, and what it says of epsilon and delta: an upper and a lower end.

With ``g`` the tilted masses on grid points x and ``log_total`` their common factor, the mass at x
is ``g exp(log_total - order x)``. Sums over ``x_j >= x_k`` of ``g_j exp(-c (x_j - x_k))`` are a
linear filter run from the right: stable, and no power is ever large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.signal import lfilter

from dpaudit.accounting.grid import Tilted

Array = NDArray[np.float64]

_ROUNDING = float(np.finfo(np.float64).eps)
# Relative error of the masses of one step: of the quadrature, and of its exponentials.
_QUADRATURE = 1e-13


@dataclass(frozen=True)
class Convolved:
    """Tilted masses of a sum on a grid.

    Parameters
    ----------
    masses
        On ``(first + i) spacing``.
    first, spacing
        The grid.
    log_total
        As in `dpaudit.accounting.grid.Tilted`.
    astray
        Bound on the tilted mass outside the grid, wherever the cyclic convolution put it.
    noise
        Bound on the l2 norm of the rounding errors of the masses.
    """

    masses: Array
    first: int
    spacing: float
    log_total: float
    astray: float
    noise: float

    @property
    def points(self) -> Array:
        """The grid."""
        return self.spacing * np.arange(self.first, self.first + len(self.masses), dtype=np.float64)

    def suffix_sums(self, order: float) -> Array:
        """Return ``sum_{j >= k} masses_j exp(-order (x_j - x_k))`` for every k."""
        return _filtered(self.masses, order * self.spacing)

    def suffix_profile(self, order: float) -> Array:
        """Return ``sum_{j >= k} masses_j exp(-order t) (1 - exp(-t))``, ``t = x_j - x_k``.

        With ``t = t' + h`` the last factor is ``(1 - e^-h) + e^-h (1 - e^-t')``: no cancellation.
        """
        h = self.spacing
        following = np.append(self.suffix_sums(order)[1:], 0.0)
        return _filtered(-math.expm1(-h) * math.exp(-order * h) * following, (order + 1) * h)

    def slack(self, order: float) -> float:
        """Return how far the logarithm of an untilted mass may be off: powers lose digits."""
        far = max(abs(self.first), abs(self.first + len(self.masses))) * self.spacing
        return 8 * _ROUNDING * (abs(self.log_total) + order * far)

    def errors(self, order: float, sums: Array) -> Array:
        """Return how far suffix sums may be off, shape as theirs."""
        reach = min(len(self.masses), 1 / -math.expm1(-2 * order * self.spacing))
        return self.astray + self.noise * math.sqrt(reach) + self._filtering(order, 1.0, sums)

    def profile_errors(self, order: float, profile: Array) -> Array:
        """Return how far the suffix profile may be off: its weights are smaller."""
        t = self.spacing * np.arange(len(self.masses), dtype=np.float64)
        norm = _norm(np.exp(-order * t) * np.expm1(-t))
        top = math.exp(-order * math.log1p(1 / order)) / (1 + order)  # of the weights, at any t
        return self.astray * top + self.noise * norm + 2 * self._filtering(order, top, profile)

    def _filtering(self, order: float, top: float, sums: Array) -> Array:
        """Return the rounding errors of the filter.

        A rounding error of the sum at ``x_j`` reaches that at ``x_k`` times ``exp(-order (x_j -
        x_k))``. So do the masses: the error is at most one unit of the sum itself for every point.
        """
        many = min(len(self.masses), 1 / -math.expm1(-order * self.spacing))
        own = len(self.masses) * np.maximum(sums, 0)
        return np.asarray(4 * _ROUNDING * np.minimum(many * top, own))


def _folded(masses: Array, size: int) -> Array:
    folded = np.bincount(np.arange(len(masses)) % size, masses, size)
    return np.asarray(folded, dtype=np.float64)


def _norm(values: Array) -> float:
    return math.sqrt(float(np.sum(values * values)))  # no threads for so little


def _filtered(masses: Array, rate: float) -> Array:
    sums: Array = lfilter([1.0], [1.0, -math.exp(-rate)], masses[::-1])[::-1]
    return sums


def convolved(
    parts: list[tuple[Tilted, int]],
    first: int,
    size: int,
    spacing: float,
    tails: tuple[float, float],
    left_out: float,
    side: int,
) -> Convolved:
    """Return the law of the sum of independent copies.

    Parameters
    ----------
    parts
        Laws and how often each occurs.
    first, size, spacing
        The grid of the sum.
    tails
        Orders of the Chernoff bounds below and above the grid.
    left_out
        Tilted mass the parts do not have, all together.
    side
        1 if the masses are to err upwards, -1 downwards, by what quadrature may be off.
    """
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    start, total, norm, count_all = 0, 0.0, 0.0, 0
    for part, count in parts:
        folded = _folded(part.masses, size)
        spectrum *= rfft(folded) ** count
        start += count * part.first
        total += count * part.log_total
        norm += count * _norm(folded)
        count_all += count
    masses = np.roll(irfft(spectrum, size), start - first)
    one = 8 * _ROUNDING * math.log2(size)
    noise = one * norm + (one + 4 * _ROUNDING * count_all) * _norm(masses)
    astray = left_out + _beyond(parts, first, size, spacing, tails)
    total += side * count_all * _QUADRATURE
    return Convolved(masses, first, spacing, total, astray, noise)


def _beyond(
    parts: list[tuple[Tilted, int]],
    first: int,
    size: int,
    spacing: float,
    tails: tuple[float, float],
) -> float:
    low, high = first * spacing, (first + size) * spacing
    down = sum(count * part.log_mgf(-tails[0], spacing) for part, count in parts) + tails[0] * low
    up = sum(count * part.log_mgf(tails[1], spacing) for part, count in parts) - tails[1] * high
    return math.exp(min(down, 0.0)) + math.exp(min(up, 0.0))


@dataclass(frozen=True)
class UpperCurve:
    """Upper ends, from the law rounded upwards; ``betrayed`` is the mass of infinite losses."""

    law: Convolved
    order: float
    betrayed: float

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self.law.suffix_profile(self.order), self.law.suffix_sums(self.order + 1)

    @cached_property
    def _errors(self) -> Array:
        return self.law.profile_errors(self.order, self._sums[0])

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at epsilon."""
        points, (profile, q) = self.law.points, self._sums
        k = int(np.searchsorted(points, epsilon, side="right"))
        inner = float(self._errors[min(k, len(points) - 1)])
        if k < len(points):
            gap = float(points[k]) - epsilon
            inner += math.exp(-self.order * gap) * float(profile[k] - math.expm1(-gap) * q[k])
        log_delta = self.law.log_total - self.order * epsilon + math.log(inner)
        log_delta += self.law.slack(self.order)
        return self.betrayed + math.exp(min(log_delta, 0.0))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound of epsilon at a delta above ``betrayed``."""
        points, (profile, q) = self.law.points, self._sums
        c, total = self.order, self.law.log_total
        with np.errstate(over="ignore"):
            wanted = (delta - self.betrayed) * np.exp(c * points - total - self.law.slack(c))
        enough = profile + self._errors <= wanted
        if not enough.any():
            return math.inf
        k = int(np.argmax(enough))
        # within the cell to the left of x_k the same masses count, and the error weighs more
        room = wanted[k] - profile[k] - self._errors[k] * math.exp(c * self.law.spacing)
        if room <= 0:
            return float(points[k])
        share = float(room / q[k]) if q[k] > 0 else math.inf
        return float(points[k]) + math.log1p(-share) if share < 1 else -math.inf


@dataclass(frozen=True)
class LowerCurve:
    """Lower ends: what tests on the sum of cell numbers attain."""

    under_p: Convolved
    under_q: Convolved
    order: float
    betrayed: float

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """Return least P- and most Q-masses beyond each threshold, tilted as at their points."""
        slack = self.under_p.slack(self.order), self.under_q.slack(self.order + 1)
        p, q = self.under_p.suffix_sums(self.order), self.under_q.suffix_sums(self.order + 1)
        p = p - self.under_p.errors(self.order, p)
        q = q + self.under_q.errors(self.order + 1, q)
        return p * math.exp(-slack[0]), q * math.exp(slack[1])

    def delta(self, epsilon: float) -> float:
        """Return a lower bound of delta at epsilon."""
        points, (p, q) = self.under_p.points, self._sums
        ratio = epsilon - points + self.under_q.log_total - self.under_p.log_total
        with np.errstate(over="ignore"):
            inner = p - np.exp(ratio) * q
        scale = self.under_p.log_total - self.order * points
        good = inner > 0
        if not good.any():
            return self.betrayed
        best = float(np.max(scale[good] + np.log(inner[good])))
        return self.betrayed + math.exp(min(best, 0.0)) * (1 - 1e-15)

    def epsilon(self, delta: float) -> float:
        """Return a lower bound of epsilon at delta."""
        points, (p, q) = self.under_p.points, self._sums
        with np.errstate(over="ignore"):
            wanted = (delta - self.betrayed) * np.exp(self.order * points - self.under_p.log_total)
        inner = p - wanted
        good = inner > 0
        if not good.any():
            return -math.inf
        shift = self.under_p.log_total - self.under_q.log_total
        return float(np.max(np.log(inner[good]) - np.log(q[good]) + points[good]) + shift)
