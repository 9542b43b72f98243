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

The norm is convex, so on the rectangle of p and q it is largest at a corner. With shifts v and w of
length ``s/2``, the longest there are, and k = epsilon - j >= 0,

    delta(epsilon)  <=  int (n(e) - exp(k) min{n(e + v), n(e + w), n(e + v + w)})_+ de
                    <=  D(k; s),

n being the density of the noise and D(k; s) the divergence of a query's noise above: *no two
directions are worse than two that agree*. Without the second step a sum over the three corners,
``D(k; s) + 2 D(k; s/2)``, bounds the integral.

Proof of the second step. With levels l of n, whose level sets are balls around 0, the integral is
one over l of the volume of those e in a ball of radius R that at least one of the three shifts
takes out of a ball of radius R + k. Cut by planes parallel to v and w, both are discs around one
centre, of radii r <= r'. So let ``v = a (cos x, sin x)`` and ``w = a (cos x, -sin x)`` with
``a = s/2`` and ``0 <= x <= pi/2``. What is lost is symmetric in the first axis, and where
``e_2 >= 0`` it is where ``|e + v| > r'`` or ``|e + v + w| > r'``, as ``|e + w| <= |e + v|``. Let
g(x) be the area of that half. It has to be shown that ``g(x) <= g(0)``, unless all is lost at x =
0. Then nothing is lost of a neighbourhood of a point on the first axis for any x, and what is
kept is bounded by the axis and arcs of three circles: A around 0 of radius r, B around -v and C
around -(v + w), both of radius r'. If B's arc goes from Y on the right to Z on the left and C's
from the axis up to W, rotating normals of arcs into chords gives, with ``b = (cos x, sin x)``,

    g'(x) / a  =  b . (Y - Z)  -  2 sin x W_2.

* No arc of B, or arcs of B and C that do not meet: ``b . Y = b . Z`` where both are on A, and
  ``g' <= 0``.
* No arc of C: on B's arc ``b . e`` is least where it meets A, so that ``g' >= 0``. Once C has no
  arc it has none for larger x.
* The arcs meet, at ``Y = W``: by equal distances from -v and -(v + w),
  ``b . W - 2 sin x W_2 = -a/2 - a cos 2x``. If Z is on A, ``b . Z = (r'^2 - r^2 - a^2) / (2a)``
  and ``g' / a = -a cos 2x - (r'^2 - r^2) / (2a)``, which grows with x. If Z is on the axis,
  ``b . Z`` is no less, so that g' is no more, and
  ``g' / a = -(a/2) cos 2x + cos x sqrt(r'^2 - a^2 sin^2 x)``: not positive up to pi/4, by the
  former, and not negative beyond, by the latter.

g' is continuous, so g falls and then rises: it is largest at x = 0 or at pi/2. There
``v + w = 0``. Let f be g(0) - g(pi/2), a function of r'. Where r' = r both areas are
``r^2 arcsin(a/r) + a sqrt(r^2 - a^2)`` (for a <= r; else all is lost at x = 0 until r' = 2a - r,
where f >= 0). Its derivative is the difference of the lengths of the arcs,
``2 r' arccos(max(a, (z + a^2) / (2a)) / r') - r' arccos((z + 4 a^2) / (4 a r'))`` with
``z = r'^2 - r^2``: positive while the maximum is a, then of the sign of ``1 + u - 2 t^2``, u and
t being the two cosines, which changes once, as ``4 t t' > u'`` where it is 0. So f rises and then
falls, to g(0) >= 0 at r' = r + a. In one dimension v and w agree or are opposite, and
``2 (a - k)_+ <= (2a - k)_+``.

Completion. The right-hand side has the derivatives of a profile: it is that of a loss with tails
``P(L > x - j)`` under P and ``exp(-j) Q(L > x - j)`` under Q, L being the query's loss and
``x >= j``. The true profile is convex in ``exp(epsilon)`` and bounded the same way in the other
direction, that is for ``epsilon <= -j``. A convex function below two others is below their convex
hull: a straight piece from -j to j. So the dominating pair is symmetric, has the tails above
beyond j, and all of its other mass on the losses j and -j, with odds ``exp(j)``; that mass is not
negative, as ``P(L > 0) + exp(-j) Q(L > 0) <= P(L > 0) + P(L < 0)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln, ive, k0e, k1e, logsumexp

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.closed_forms import LaplacePair
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    Continuous,
    DominatingPair,
    characteristic_of,
    compute_tilted_log_moments,
    farthest_moment,
    join_atoms,
    log_mgf_of,
    make_resolving_edges,
)

_MARGIN = 1.01  # of a maximum found numerically
_FAR = 1e9  # beyond it the library has no value


def pair_of(shift: float, dimension: int) -> ExponentialNormPair | LaplacePair:
    """Return the pair for ``alpha ||v||`` and the dimension; in one dimension it is Laplace's."""
    check.require_positive("shift", shift)
    check.require_integer("dimension", dimension, least=1)
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
        # Normalised by the closed form instead, the masses of the rule would add up to 1 but for
        # its error, and that error would count once for every copy.
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
        # A quotient may be a unit above 1, of which there is no arcsine.
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
        # Below this Bessel's functions underflow for large orders: their quotient would have no
        # digits.
        if not ive(half, y0) > 1e-290:
            return super().characteristic(order, frequencies)
        y = np.asarray(y0 + 1j * frequencies * self.shift, dtype=np.complex128)
        second = _log_beta(self.dimension + 2) + float(_log_0f1(half + 1, np.array(y0)))
        share = math.exp(second - float(self._log_g(np.array(y0))))
        return (1 - share) * _compute_bessel_ratio(half, y, y0) + share * _compute_bessel_ratio(
            half + 1, y, y0
        )

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

        # In the logarithm of the gap: in high dimension, or with a large shift, the peak is very
        # close to eta = 1.
        grid = np.linspace(math.log(1e-15), math.log(2 - 1e-12), 400)
        k = int(np.argmin(depths := depth(grid)))
        ends = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
        least = minimize_scalar(depth, bounds=ends, method="bounded", options={"xatol": 1e-9})
        # The search may end beside a grid point that is higher. Either value is below the true
        # maximum, which the margin makes up for.
        top = max(-float(least.fun), -float(depths[k]))
        return 2 * _MARGIN * math.exp(top - float(self._log_g(np.array(y)))) / self.shift

    def moment_error(self, order: float) -> float:
        """Return the error of Bessel's functions and of the logarithms of large factorials."""
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
    # Written so that a value that is no number goes to the series, too. Near 0 the closed form is a
    # difference of large logarithms.
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
    # Around their largest the terms fall like a Gaussian of variance ``peak``, or faster: beyond 20
    # deviations they are below exp(-200).
    reach = 20 * math.sqrt(peak) + 60
    k = np.arange(max(0, math.floor(peak - reach)), math.ceil(peak + reach))
    terms = k * math.log(square) - gammaln(k + 1) - (gammaln(b + k) - gammaln(b))
    return float(logsumexp(terms))


def _compute_bessel_ratio(b: float, y: Complex, y0: float) -> Complex:
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
        # The recurrence of Bessel's K adds positive terms, so that errors never grow. ``z * (z /
        # ratio)`` does not overflow where the square of z would.
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

    @cached_property
    def query(self) -> ExponentialNormPair | LaplacePair:
        """The pair of the noise added to a query, with this shift."""
        return pair_of(self.shift, self.dimension)

    def _beyond(self, edges: Array) -> Atoms:
        """Return the P-masses between the edges, which are at least j."""
        # An end that rounding moves inwards would lose what sits there: an atom, in one dimension.
        moved = np.where(edges >= self.largest, np.inf, edges - self.log_determinant)
        part = self.query.atoms(moved)
        losses = np.minimum(part.losses + self.log_determinant, self.largest)
        return Atoms(losses, part.log_masses)

    @cached_property
    def _middle(self) -> Atoms:
        """The losses -j and j."""
        j = self.log_determinant
        atoms = self._beyond(np.array([j, self.largest]))
        # What the losses beyond j, and their mirror images under Q, leave of the mass. It is split
        # in the odds ``exp(j)`` that losses of j and -j must have.
        rest = 1 - float(np.exp(atoms.log_masses) @ (1 + np.exp(-atoms.losses)))
        level = math.log(rest) if rest > 0 else -math.inf
        lower = level - float(np.logaddexp(0, j))
        return Atoms(np.array([-j, j]), np.array([lower, lower + j]))

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        least = self.log_determinant
        # The edge j is always one of them, so that no panel begins in the gap between -j and j,
        # where the law has no density.
        above = np.clip(np.append(edges, least), least, self.largest)
        below = np.clip(np.append(-edges, least), least, self.largest)
        right, left = self._beyond(np.unique(above)), self._beyond(np.unique(below))
        mirrored = Atoms(-left.losses, left.log_masses - left.losses)
        return join_atoms(mirrored, self._middle, right).within(edges[0], edges[-1])

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]``, same shape."""
        return compute_tilted_log_moments(self, -self.largest, self.largest, orders)

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which `log_mgf` is a moment; beyond, it is a bound of it."""
        return farthest_moment(-self.largest, self.largest)

    def atomic_share(self, order: float) -> float:
        """Return the share of the losses -j and j, and in one dimension of Laplace's atoms."""
        if self.dimension == 1:
            return 1.0
        at = np.array(order)
        return float(np.exp(log_mgf_of(self._middle, at) - self.log_mgf(at)))

    def variation(self, order: float) -> float:
        """Return the sum over the losses above j and below -j: cut, they vary no more."""
        total, norm = 0.0, float(self.log_mgf(np.array(order)))
        for c in (order, -(order + 1)):
            scale = float(self.query.log_mgf(np.array(c))) + c * self.log_determinant - norm
            total += math.exp(scale) * self.query.variation(c)
        return total

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]``."""
        edges = make_resolving_edges(-self.largest, self.largest, order, frequencies)
        return characteristic_of(self.atoms(edges), order, frequencies)
