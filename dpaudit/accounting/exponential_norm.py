r"""Noise of density proportional to ``exp(-alpha ||e||_2)`` in R^d: its privacy loss, closed form.

Let v be the shift and ``s = alpha ||v||``. In units of alpha the loss is ``L = ||e + v|| - ||e||``.
In prolate spheroidal coordinates ``||e + v|| + ||e|| = s xi`` and ``||e + v|| - ||e|| = s eta`` the
volume element is proportional to ``(xi^2 - eta^2) ((xi^2 - 1) (1 - eta^2))^{(d-3)/2}``, and the
density of the noise is ``exp(-s (xi - eta) / 2)``. The integral over xi splits into two Bessel
functions K, so with ``z = s/2`` and ``nu = d/2 - 1`` the density of the loss ``L = s eta`` is, for
d >= 2,

    f(eta) = exp(z eta) (1 - eta^2)^{(d-3)/2} (kappa + 1 - eta^2) / g(z),
    kappa  = ((d - 1) / z) K_{nu+1}(z) / K_nu(z),
    g(y)   = kappa J_d(y) + J_{d+2}(y),
    J_d(y) = int exp(y eta) (1 - eta^2)^{(d-3)/2} d eta = B(1/2, (d-1)/2) 0F1(d/2; y^2/4).

Under Q the loss has density ``f(-eta) = exp(-L) f(eta)``: the pair is symmetric. Its moment
generating function is ``E exp(c L) = g((1 + 2 c) z) / g(z)``. In one dimension the noise is
Laplace's.

A larger shift never has a smaller divergence: the noise is log-concave, so that the integral of
``min(p(x), e^epsilon p(x - v))`` is log-concave in v (Prekopa) and, being symmetric, falls along
every ray. Hence adaptive shifts with ``||v_t|| <= s_t`` are dominated by shifts of just these
lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, ive, k0e, k1e

import dpaudit._validate as check
from dpaudit.accounting.known_pairs import LaplacePair
from dpaudit.accounting.pairs import Complex, Continuous

Array = NDArray[np.float64]

# Largest argument of the series, whose terms stay below the largest number, and enough terms.
_MOST, _MOST_TERMS = 600.0, 2000


def pair_of(shift: float, dimension: int) -> ExponentialNormPair | LaplacePair:
    """Return the pair for ``alpha ||v||`` and the dimension; in one dimension it is Laplace's."""
    check.positive("shift", shift)
    check.integer("dimension", dimension, least=1)
    return LaplacePair(shift) if dimension == 1 else ExponentialNormPair(shift, dimension)


@dataclass(frozen=True)
class ExponentialNormPair(Continuous):
    """Exponential-norm noise and a fixed shift, in two dimensions or more.

    The output is the angle phi with ``L = s sin(phi)``: in it the density is smooth in every
    dimension.

    Parameters
    ----------
    shift
        ``s = alpha ||v||``, above 0.
    dimension
        ``d``, at least 2.

    Examples
    --------
    >>> pair = ExponentialNormPair(0.5, 10)
    >>> round(float(pair.log_mgf(np.array(-1.0))), 12)  # E_P exp(-L) = 1
    0.0
    """

    shift: float
    dimension: int

    @property
    def largest(self) -> float:
        """The shift."""
        return self.shift

    @property
    def scale(self) -> float:
        """Least width of a factor of the density."""
        return 1 / math.sqrt(self.dimension + self.shift)

    @cached_property
    def kappa(self) -> float:
        """Weight of the density's first part."""
        z = self.shift / 2
        return (self.dimension - 1) / z * bessel_ratio(self.dimension, z)

    @cached_property
    def log_norm(self) -> float:
        """``log g(z)``."""
        return float(self._log_g(np.array(self.shift / 2)))

    def interval(self, order: float) -> tuple[float, float]:
        """Return the range of the angle."""
        return -math.pi / 2, math.pi / 2

    def loss(self, output: Array) -> Array:
        """Return ``s sin(phi)``."""
        return np.asarray(self.shift * np.sin(output))

    def position(self, loss: Array) -> Array:
        """Return the angle of a loss; a right angle beyond the range."""
        return np.asarray(np.arcsin(np.clip(loss / self.shift, -1, 1)))

    def log_density(self, output: Array) -> Array:
        """Return the log-density of the angle."""
        sine, cosine = np.sin(output), np.cos(output)
        powers = (self.dimension - 2) * np.log(cosine) if self.dimension > 2 else 0.0
        factor = np.log(self.kappa + cosine**2)
        return np.asarray(self.shift / 2 * sine + powers + factor - self.log_norm)

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log g((1 + 2 c) z) - log g(z)``."""
        return np.asarray(
            self._log_g((1 + 2 * np.asarray(orders)) * self.shift / 2) - self.log_norm
        )

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``g((1 + 2 (c + i u)) z) / g((1 + 2 c) z)``, in high dimension by quadrature."""
        y0 = (1 + 2 * order) * self.shift / 2
        half = self.dimension / 2
        if not ive(half, y0) > 1e-290:
            return super().characteristic(order, frequencies)
        y = np.asarray(y0 + 1j * frequencies * self.shift, dtype=np.complex128)
        second = _log_beta(self.dimension + 2) + float(_log_0f1(half + 1, np.array(y0)))
        share = math.exp(second - float(self._log_g(np.array(y0))))
        return (1 - share) * _ratio(half, y, y0) + share * _ratio(half + 1, y, y0)

    def _log_g(self, y: Array) -> Array:
        first = math.log(self.kappa) + _log_beta(self.dimension) + _log_0f1(self.dimension / 2, y)
        second = _log_beta(self.dimension + 2) + _log_0f1(self.dimension / 2 + 1, y)
        return np.asarray(np.logaddexp(first, second))


def _log_beta(dimension: int) -> float:
    return float(betaln(0.5, (dimension - 1) / 2))


def _log_0f1(b: float, y: Array) -> Array:
    """Return ``log 0F1(b; y^2/4)``: through Bessel's I, by its series where that underflows."""
    size = np.abs(np.asarray(y, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = ive(b - 1, size)
        logs = gammaln(b) - (b - 1) * np.log(size / 2) + np.log(scaled) + size
    small = ~(scaled > 1e-290) | (size < 1e-3)
    series = np.log(_series(b, np.where(small, np.minimum(size, _MOST), 0.0)))
    return np.where(small, np.where(size <= _MOST, series, np.inf), logs)


def _ratio(b: float, y: Complex, y0: float) -> Complex:
    """Return ``0F1(b; y^2/4) / 0F1(b; y0^2/4)`` for ``y`` with real part ``y0 > 0``."""
    ratio: Complex = (y0 / y) ** (b - 1) * (ive(b - 1, y) / ive(b - 1, y0))
    return ratio


def _series(b: float, y: Array) -> Array:
    """Return ``0F1(b; y^2/4) = sum_k (y^2/4)^k / ((b)_k k!)``, for ``|y|`` up to 600."""
    square = y**2 / 4
    term = total = np.ones_like(square)
    for k in range(1, _MOST_TERMS):
        term = term * square / (k * (b + k - 1))
        total = total + term
        if np.all(np.abs(term) <= 1e-17 * np.abs(total)):
            break
    return total


def bessel_ratio(dimension: int, z: float) -> float:
    """Return ``K_{d/2}(z) / K_{d/2-1}(z)`` by the recurrence, stable upwards in d.

    Examples
    --------
    >>> bessel_ratio(3, 0.25)
    5.0
    """
    order, ratio = (0.0, float(k1e(z) / k0e(z))) if dimension % 2 == 0 else (-0.5, 1.0)
    while order < dimension / 2 - 1:
        order += 1
        ratio = 2 * order / z + 1 / ratio
    return ratio
