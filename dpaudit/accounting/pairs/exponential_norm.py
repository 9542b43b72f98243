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
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln, ive, k0e, k1e, logsumexp

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.known import LaplacePair
from dpaudit.accounting.pairs.pair import Complex, Continuous

_MARGIN = 1.01  # of a maximum found numerically
_FAR = 1e9  # beyond it the library has no value


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
    def quadrature(self) -> bool:
        """There is a closed form."""
        return False

    @property
    def largest(self) -> float:
        """The shift."""
        return self.shift

    @property
    def scale(self) -> float:
        """Least width of a factor of the density."""
        return 1 / math.sqrt(self.dimension + self.shift)

    @cached_property
    def log_kappa(self) -> float:
        """Logarithm of the weight of the density's first part."""
        z = self.shift / 2
        return math.log((self.dimension - 1) * bessel_ratio(self.dimension, z)) - 2 * math.log(z)

    @cached_property
    def log_norm(self) -> float:
        """``log g(z)``, by the rule that `atoms` use, so that their masses add up to 1."""
        nodes, log_weights = self.panels(np.array(self.interval))
        return float(logsumexp(self._log_weight(nodes) + log_weights))

    @property
    def interval(self) -> tuple[float, float]:
        """The range of the angle."""
        return -math.pi / 2, math.pi / 2

    def loss(self, output: Array) -> Array:
        """Return ``s sin(phi)``."""
        return np.asarray(self.shift * np.sin(output))

    def position(self, loss: Array) -> Array:
        """Return the angle of a loss; a right angle beyond the range."""
        return np.asarray(np.arcsin(np.clip(loss / self.shift, -1, 1)))

    def log_density(self, output: Array) -> Array:
        """Return the log-density of the angle."""
        return self._log_weight(output) - self.log_norm

    def _log_weight(self, output: Array) -> Array:
        sine, log_cosine = np.sin(output), np.log(np.cos(output))
        powers = (self.dimension - 2) * log_cosine if self.dimension > 2 else 0.0
        factor = np.logaddexp(self.log_kappa, 2 * log_cosine)
        return np.asarray(self.shift / 2 * sine + powers + factor)

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log g((1 + 2 c) z) - log g(z)``."""
        z = self.shift / 2
        return self._log_g((1 + 2 * np.asarray(orders)) * z) - self._log_g(np.array(z))

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

    def variation(self, order: float) -> float:
        """Return twice the maximum of a density that is log-concave from three dimensions on."""
        if self.dimension < 3:
            return math.inf
        y = (1 + 2 * order) * self.shift / 2

        def height(log_gap: float) -> float:
            gap = math.exp(log_gap)  # 1 - eta, of a density that is log-concave in eta
            powers = (self.dimension - 3) / 2 * (log_gap + math.log(2 - gap))
            factor = np.logaddexp(self.log_kappa, log_gap + math.log(2 - gap))
            return -float(y * (1 - gap) + powers + factor)

        grid = np.linspace(math.log(1e-15), math.log(2 - 1e-12), 400)
        k = int(np.argmin([height(float(x)) for x in grid]))
        ends = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
        least = minimize_scalar(height, bounds=ends, method="bounded", options={"xatol": 1e-9})
        top = max(-float(least.fun), -height(float(grid[k])))
        return 2 * _MARGIN * math.exp(top - float(self._log_g(np.array(y)))) / self.shift

    def moment_error(self, order: float) -> float:
        """Return what Bessel's functions and the logarithms of large factorials may be off by."""
        y = (1 + 2 * order) * self.shift / 2
        return 4e-15 * (10 + abs(y) + 2 * float(gammaln(self.dimension / 2 + 1)))

    def _log_g(self, y: Array) -> Array:
        first = self.log_kappa + _log_beta(self.dimension) + _log_0f1(self.dimension / 2, y)
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
    if small.any():
        logs = np.array(logs)
        logs[small] = [_log_series(b, float(one)) for one in size[small]]
    return np.asarray(logs)


def _log_series(b: float, y: float) -> float:
    """Return ``log sum_k (y^2/4)^k / ((b)_k k!)``, from the terms around the largest."""
    if y > _FAR:  # Bessel's I as its first terms have it; what is left is below 1e-12 of y
        order = b - 1
        log_i = y - math.log(2 * math.pi * y) / 2 - (4 * order * order - 1) / (8 * y)
        return float(gammaln(b)) - order * math.log(y / 2) + log_i
    square = y * y / 4
    if square == 0:
        return 0.0
    peak = (math.sqrt(b * b + 4 * square) - b) / 2
    reach = 20 * math.sqrt(peak) + 60
    k = np.arange(max(0, math.floor(peak - reach)), math.ceil(peak + reach))
    terms = k * math.log(square) - gammaln(k + 1) - (gammaln(b + k) - gammaln(b))
    return float(logsumexp(terms))


def _ratio(b: float, y: Complex, y0: float) -> Complex:
    """Return ``0F1(b; y^2/4) / 0F1(b; y0^2/4)`` for ``y`` with real part ``y0 > 0``."""
    ratio: Complex = (y0 / y) ** (b - 1) * (ive(b - 1, y) / ive(b - 1, y0))
    return ratio


def bessel_ratio(dimension: int, z: float) -> float:
    """Return ``z K_{d/2}(z) / K_{d/2-1}(z)`` by the recurrence, stable upwards in d.

    Examples
    --------
    >>> bessel_ratio(3, 0.25)
    1.25
    """
    order, ratio = (0.0, z * float(k1e(z) / k0e(z))) if dimension % 2 == 0 else (-0.5, z)
    while order < dimension / 2 - 1:
        order += 1
        ratio = 2 * order + z * (z / ratio)
    return ratio
