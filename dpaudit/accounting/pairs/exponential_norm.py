"""Noise of density proportional to ``exp(-alpha ||e||_2)``: added to a query, or to an objective.

**Added to a query in R^d.** The privacy loss has a closed form. Let v be the shift and ``s = alpha
||v||``. In units of alpha the loss is ``L = ||e + v|| - ||e||``. In prolate spheroidal coordinates
``||e + v|| + ||e|| = s xi`` and ``||e + v|| - ||e|| = s eta`` the volume element is proportional to
``(xi^2 - eta^2) ((xi^2 - 1) (1 - eta^2))^{(d-3)/2}``, and the density of the noise is ``exp(-s (xi
- eta) / 2)``. The integral over xi splits into two Bessel functions K, so with ``z = s/2`` and ``nu
= d/2 - 1`` the density of the loss ``L = s eta`` is, for d >= 2,

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

**In the linear term of an objective**: the minimisers of PP, DVP and their kin. One record u of a
generalised linear model is replaced by w. Given the output f, stationarity says which noise e was
drawn, and on the other dataset it is ``e + p u + q w``: p and q depend on f, have fixed signs and
are at most ``s/2`` each, in units in which the noise has rate 1; the records have norm at most 1.
Besides, the two changes of variables from f to the noise have determinants whose ratio is within
``exp(j)`` and ``exp(-j)``: the loss is at most ``j + ||e + p u + q w|| - ||e||``.

The norm is convex, so on the rectangle of p and q it is largest at a corner, and

    L <= j + max(0, L_1, L_2, L_3),

where the L_i are losses of *fixed* shifts, of length at most s/2, s/2 and s. With D(epsilon; s) the
divergence of a query's noise above, for epsilon >= j

    delta(epsilon) <= D(epsilon - j; s) + 2 D(epsilon - j; s/2),

in both directions, as the two datasets play the same part.

Completion. The right-hand side has the derivatives of a profile: it is that of a loss with tails

    G(x) = P_s(L > x - j) + 2 P_{s/2}(L > x - j)                    under P,
    H(x) = exp(-j) (Q_s(L > x - j) + 2 Q_{s/2}(L > x - j))          under Q.

The true profile is convex in ``exp(epsilon)`` and bounded the same way in the other direction, that
is for ``epsilon <= -j``. A convex function below two others is below their convex hull: a straight
piece from -t to t, where the masses add up to 1, that is the least ``t >= j`` with
``G(t) + H(t) <= 1``. So the dominating pair is symmetric, has the tails above beyond t, and all of
its other mass on the losses t and -t, with odds ``exp(t)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaln, gammaln, ive, k0e, k1e, logsumexp

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.known import LaplacePair
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    Continuous,
    DominatingPair,
    characteristic_of,
    farthest_moment,
    joined,
    log_mgf_of,
    resolving,
    tilted_moments,
)

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

        def depth(log_gap: Any) -> Any:
            gap = np.exp(log_gap)  # 1 - eta, of a density that is log-concave in eta
            powers = (self.dimension - 3) / 2 * (log_gap + np.log(2 - gap))
            factor = np.logaddexp(self.log_kappa, log_gap + np.log(2 - gap))
            return -(y * (1 - gap) + powers + factor)

        grid = np.linspace(math.log(1e-15), math.log(2 - 1e-12), 400)
        k = int(np.argmin(depths := depth(grid)))
        ends = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
        least = minimize_scalar(depth, bounds=ends, method="bounded", options={"xatol": 1e-9})
        top = max(-float(least.fun), -float(depths[k]))
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


@dataclass(frozen=True)
class ObjectivePerturbationPair(DominatingPair):
    """The pair that dominates one minimiser.

    Parameters
    ----------
    shift
        ``s``: rate of the noise times the sensitivity.
    dimension
        Of the minimiser.
    log_determinant
        ``j``.
    """

    shift: float
    dimension: int
    log_determinant: float = 0.0

    @property
    def largest(self) -> float:
        """``j + s``: pure differential privacy."""
        return self.log_determinant + self.shift

    def _beyond(self, edges: Array) -> Atoms:
        """Return the P-masses of both parts between the edges, which are at least j."""
        # An end that rounding moves inwards would lose what sits there: an atom, in one dimension.
        moved = np.where(edges >= self.largest, np.inf, edges - self.log_determinant)
        parts = []
        for shift, copies in ((self.shift, 1), (self.shift / 2, 2)):
            part = pair_of(shift, self.dimension).atoms(moved)
            losses = np.minimum(part.losses + self.log_determinant, self.largest)
            parts.append(Atoms(losses, part.log_masses + math.log(copies)))
        return joined(*parts)

    @cached_property
    def knee(self) -> float:
        """``t``: no loss is nearer to 0."""

        def excess(t: float) -> float:
            return self._mass_beyond(t) - 1

        if excess(self.log_determinant) <= 0:
            return self.log_determinant
        found = brentq(excess, self.log_determinant, self.largest, xtol=1e-13 * self.largest)
        return float(min(found * (1 + 1e-12), self.largest))

    def _mass_beyond(self, t: float) -> float:
        """Return ``G(t) + H(t)``: mass of losses beyond t in size."""
        atoms = self._beyond(np.array([t, self.largest]))
        return float(np.exp(atoms.log_masses) @ (1 + np.exp(-atoms.losses)))

    @cached_property
    def _knees(self) -> Atoms:
        t = self.knee
        rest = max(0.0, 1 - self._mass_beyond(t))
        level = math.log(rest) if rest else -math.inf
        lower = level - float(np.logaddexp(0, t))
        return Atoms(np.array([-t, t]), np.array([lower, lower + t]))

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        above = np.clip(np.append(edges, self.knee), self.knee, self.largest)
        below = np.clip(np.append(-edges, self.knee), self.knee, self.largest)
        right, left = self._beyond(np.unique(above)), self._beyond(np.unique(below))
        mirrored = Atoms(-left.losses, left.log_masses - left.losses)
        return joined(mirrored, self._knees, right).within(edges[0], edges[-1])

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]``, same shape."""
        return tilted_moments(self, -self.largest, self.largest, orders)

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which `log_mgf` is a moment; beyond, it is a bound of it."""
        return farthest_moment(-self.largest, self.largest)

    def atomic_share(self, order: float) -> float:
        """Return the share of the losses t and -t, and in one dimension of Laplace's atoms."""
        if self.dimension == 1:
            return 1.0
        at = np.array(order)
        return float(np.exp(log_mgf_of(self._knees, at) - self.log_mgf(at)))

    def variation(self, order: float) -> float:
        """Return the sum over the parts above and below the knee: cut, they vary no more."""
        at, total = np.array(order), 0.0
        norm = float(self.log_mgf(at))
        for shift, copies in ((self.shift, 1), (self.shift / 2, 2)):
            part = pair_of(shift, self.dimension)
            for c in (order, -(order + 1)):
                scale = float(part.log_mgf(np.array(c))) + c * self.log_determinant - norm
                total += copies * math.exp(scale) * part.variation(c)
        return total

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]``."""
        edges = resolving(-self.largest, self.largest, order, frequencies)
        return characteristic_of(self.atoms(edges), order, frequencies)
