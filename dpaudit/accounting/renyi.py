"""Renyi and zero-concentrated accounting: curves that add up, and the guarantees they imply.

Upper bounds for any sequence of releases, and not tight: the conversion to (epsilon, delta) keeps
one number of a whole distribution.

Renyi divergences between the outputs of a release on two neighbours, as functions of the order.

``D_a(P || Q) = log E_Q[(P/Q)^a] / (a - 1)``. Each curve is the larger of both directions, at every
real order above 1, near 1 without loss of digits, and at infinity, where it is pure DP. The least
divergence that a release is allowed, over all sequences of such releases, is the sum of curves
(Mironov 2017, Proposition 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

import dpaudit._check as check
import dpaudit.accounting.selection as selection
from dpaudit._typing import Array
from dpaudit.accounting.composition import approximate_parts, basic_pure
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    PrivateSelection,
    Release,
    ZeroConcentratedRelease,
    get_releases,
)
from dpaudit.accounting.loss_table import log_binomial
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding
from dpaudit.guarantees.kinds import Guarantee, ZeroConcentratedDP

_NEAR = 1e3  # a tilt of the largest loss beyond which a quadrature is not worth it
_FARTHEST = 1e12  # order of a moment; beyond it the divergence is that at infinity
_MOST_TERMS = 4096  # of a binomial sum
_MOST_NODES = 100_000  # of a quadrature
_OFF = 4e-12  # relative error of divergences, whose tests ask for 1e-12, and of what they imply


def compute_renyi_curve(part: Release, orders: Array) -> Array:
    """Return the divergence of one of the ``count`` releases at each order; shape as given.

    Raises
    ------
    UnsupportedEvent
        No curve is known for this kind of release.
    """
    match part:
        case GaussianRelease():
            return _compute_linear_divergence(_compute_release_rho(part), orders)
        case ZeroConcentratedRelease():
            return _compute_linear_divergence(part.rho, orders)
        case LaplaceRelease():
            return compute_laplace_divergence(
                rounding.quotient_up(part.sensitivity, part.noise_scale), orders
            )
        case ApproximateRelease(delta=0.0):
            return compute_response_divergence(part.epsilon, orders)
        case DiscreteGaussianRelease():
            return _compute_linear_divergence(_compute_release_rho(part), orders)
        case PoissonSubsampledGaussian():
            return compute_subsampled_divergence(part.sampling_ratio, part.noise_multiplier, orders)
        case RandomizedResponse() | DiscreteLaplaceRelease() | PoissonSubsampledLaplace():
            (pure,) = approximate_parts(replace(part, count=1))
            return compute_response_divergence(pure.epsilon, orders)
        case ExponentialNormRelease() | ObjectivePerturbation():
            return _of_pairs(replace(part, count=1), orders)
        case PrivateSelection():
            return _compute_selection_divergence(part, orders)
    raise UnsupportedEvent(f"event: got {part}, expected releases whose Renyi divergence is known")


def _compute_selection_divergence(part: PrivateSelection, orders: Array) -> Array:
    """Return the divergence of the best of several runs, see `dpaudit.accounting.selection`."""
    divergence = renyi_divergence(part.base, orders)
    known = np.append(_ORDERS, math.inf), _get_divergence_grid(part.base).everywhere()
    if part.law != "poisson":
        return selection.negative_binomial(part.law, part.runs, divergence, orders, known)
    with np.errstate(over="ignore", invalid="ignore"):
        epsilons = np.log1p(1 / (orders - 1))
        excess = _ORDERS - 1
        rest = known[1][:-1] - np.asarray(epsilons)[..., None] + np.log(excess / _ORDERS)
        log_deltas = np.min(excess * rest - np.log(_ORDERS), axis=-1)
    deltas = np.where(known[1][-1] <= epsilons, 0.0, np.exp(np.minimum(log_deltas, 0.0)))
    return selection.compute_poisson_divergence(part.runs, divergence, orders, deltas)


def _of_pairs(part: Release, orders: Array) -> Array:
    """Return ``log E_P[exp((a - 1) L)] / (a - 1)`` of a symmetric dominating pair."""
    divergence = np.zeros_like(orders)
    for pair, _ in Composition.of(part):
        excess = np.atleast_1d(np.minimum(orders - 1, _FARTHEST))
        # Where the tilt is out of a quadrature's reach, the limit at infinite order stands in:
        # divergences grow with their order, so that it is an upper bound.
        near = excess * pair.largest <= (_NEAR if pair.quadrature else np.inf)
        divergence = np.full_like(excess, pair.largest)  # what it tends to, and never passes
        moments = np.asarray(pair.log_mgf(excess[near]))
        divergence[near] = np.minimum(moments / excess[near], pair.largest)
        divergence = divergence.reshape(np.shape(orders))
    return np.where(np.isinf(orders), Composition.of(part).largest, divergence)


def _compute_linear_divergence(rho: float, orders: Array) -> Array:
    """Return ``rho`` times the order: Mironov 2017, Proposition 7; Bun & Steinke 2016."""
    # 0 times infinity is no number, and the divergence of a release that reveals nothing is 0 at
    # every order.
    return rho * orders if rho else np.zeros_like(orders)


def compute_laplace_divergence(shift: float, orders: Array) -> Array:
    """Return the divergence of Laplace noise of scale 1 and a shift: Mironov 2017, Table II.

    The moment's logarithm is convex in the shift and 0 at 0, so that a query with several
    coordinates leaks no more than one that moves a single coordinate by the whole L1 sensitivity.

    Examples
    --------
    >>> compute_laplace_divergence(1.0, np.array([2.0, math.inf])).round(6).tolist()
    [0.619124, 1.0]
    """

    def log_moment(order: Array) -> Array:
        excess, total = order - 1, 2 * order - 1
        up, down = excess * shift, -order * shift
        # Both terms less 1 and less what is linear in the shift, which cancels.
        small = order * _beyond_linear(np.minimum(up, 1.0)) + excess * _beyond_linear(down)
        large = np.logaddexp(np.log(order / total) + up, np.log(excess / total) + down)
        return np.asarray(np.where(up < 1, np.log1p(small / total), large))

    return _with_limit(log_moment, shift, orders)


def compute_response_divergence(epsilon: float, orders: Array) -> Array:
    """Return the divergence of randomised response, the largest of any epsilon-DP release.

    Examples
    --------
    >>> compute_response_divergence(1.0, np.array([2.0, math.inf])).round(6).tolist()
    [0.735326, 1.0]
    """
    log_truth, log_lie = -math.log1p(math.exp(-epsilon)), -np.logaddexp(0.0, epsilon)

    def log_moment(order: Array) -> Array:
        x = (order - 1) * epsilon
        y = np.minimum(x, 1.0)
        small = math.tanh(epsilon / 2) * np.sinh(y) + 2 * np.sinh(y / 2) ** 2
        large = np.logaddexp(log_truth + x, log_lie - x)
        return np.asarray(np.where(x < 1, np.log1p(small), large))

    return _with_limit(log_moment, epsilon, orders)


def _with_limit(log_moment: Callable[[Array], Array], limit: float, orders: Array) -> Array:
    finite = np.isfinite(orders)
    # Any finite order stands in where the answer is the limit, so that no infinity meets another.
    order = np.where(finite, orders, 2.0)
    values = log_moment(order) / (order - 1)
    return np.where(finite, np.minimum(values, limit), limit)


def _beyond_linear(x: Array) -> Array:
    """Return ``exp(x) - 1 - x``."""
    y = np.clip(x, -1.0, 1.0)
    series = np.zeros_like(y)
    # Horner's scheme of the series from k = 2 on: 20 terms leave less than 1e-18 for arguments up
    # to 1.
    for k in range(20, 1, -1):
        series = (1 + series) * y / k if k > 2 else (1 + series) * y * y / 2
    return np.asarray(np.where(np.abs(x) < 1, series, np.expm1(x) - x))


def compute_subsampled_divergence(ratio: float, noise: float, orders: Array) -> Array:
    r"""Return the divergence of one Gaussian release of a Poisson sample of the records.

    With ``mixture = (1 - q) N(0, s^2) + q N(1, s^2)`` the curve is that of the mixture against
    N(0, s^2), the larger of the two directions (Mironov, Talwar & Zhang 2019, Theorem 5). Integer
    orders up to a few thousand are the binomial sum of their section 3.3; others are an integral,
    by the trapezoidal rule, whose error falls exponentially. Of the moment less 1, both have
    positive terms only. Where the integral would need too many nodes, the curve of the release
    without sampling stands in: sampling never adds to a divergence.

    Examples
    --------
    >>> compute_subsampled_divergence(0.01, 1.0, np.array([2.0, 2.5])).round(9).tolist()
    [0.000171813, 0.000217575]
    """
    unsampled = _compute_linear_divergence(0.5 / noise / noise, orders)
    if ratio == 1:
        return unsampled
    flat = [_compute_subsampled_at_order(ratio, noise, float(order)) for order in orders.ravel()]
    # Sampling never adds to a divergence: where the sum or the integral was too much work, this is
    # what is left.
    return np.asarray(np.minimum(np.reshape(flat, orders.shape), unsampled))


def _compute_subsampled_at_order(ratio: float, noise: float, order: float) -> float:
    # The integrand is a Gaussian times a function that bends within the noise: with this step the
    # error of the trapezoidal rule is below the last digit of the sum.
    step = 0.4 * min(noise, 1.0)
    if order.is_integer() and order <= _MOST_TERMS:
        log_excess = _binomial_excess(ratio, noise, int(order))
    elif (max(order, 2.0) / noise + 20) / step <= _MOST_NODES:
        log_excess = _quadrature_excess(ratio, noise, order, step)
    else:
        return math.inf
    return float(np.logaddexp(0.0, log_excess)) / (order - 1)


def _binomial_excess(ratio: float, noise: float, order: int) -> float:
    """Return the logarithm of the moment less 1; the terms of 0 and 1 are 0."""
    k = np.arange(2.0, order + 1)
    with np.errstate(over="ignore", divide="ignore"):  # infinite and vanishing divergences
        exponent = k * (k - 1) / 2 / noise / noise
        growth = exponent + np.log(-np.expm1(-exponent))
    masses = log_binomial(order, math.log(ratio) - math.log1p(-ratio))[2:]
    return float(logsumexp(masses + growth))


def _quadrature_excess(ratio: float, noise: float, order: float, step: float) -> float:
    """Return the same for any order: the mean of ``(1 + r)^a - 1 - a r``, where r has mean 0."""
    z = np.arange(-10.0, max(order, 2.0) / noise + 10.0, step)
    w = z / noise - 0.5 / noise / noise
    # The logarithm of 1 + r, r = q (exp(w) - 1).
    u = np.log1p(ratio * np.expm1(np.minimum(w, 1.0)))
    u = np.where(w < 1, u, np.logaddexp(math.log1p(-ratio), math.log(ratio) + w))
    log_density = -0.5 * z * z - 0.5 * math.log(2 * math.pi) + math.log(step)
    with np.errstate(divide="ignore"):
        return float(logsumexp(log_density + _log_gap(u, order)))


def _log_gap(u: Array, order: float) -> Array:
    """Return ``log(exp(a u) - 1 - a (exp(u) - 1))``, the argument being positive."""
    x = order * u
    low = np.minimum(u, 1 / order)
    small = np.log(_beyond_linear(order * low) - order * _beyond_linear(low))
    tangent = np.where(u < 30, np.log1p(order * np.expm1(np.clip(u, 0, 30))), math.log(order) + u)
    # The curve is above its tangent, so that the exponent is below 0; at 0 by rounding its
    # logarithm would be infinite.
    large = x + np.log(-np.expm1(np.minimum(tangent - x, -1e-300)))
    return np.where(x < 1, small, large)


_LOG_EXCESS = np.linspace(math.log(1e-6), math.log(1e8), 240)  # of the order over 1
_ORDERS = 1 + np.exp(_LOG_EXCESS)
_STRIDE = 6  # of the orders that are tried first: the bounds have one valley


def renyi_divergence(event: Event, orders: ArrayLike) -> Array:
    """Return the largest Renyi divergence of an event at each order: the sum over its releases.

    Mironov 2017, Proposition 1, which also covers releases chosen in the light of those before.

    Parameters
    ----------
    event
        Gaussian (subsampled or not), Laplace, pure and zero-concentrated releases.
    orders
        Any shape; above 1, infinity included.

    Raises
    ------
    UnsupportedEvent
        Of some part no curve is known.
    InvalidArgument
        An order is not above 1.

    Examples
    --------
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25)
    >>> renyi_divergence(release, [2.0, 8.0]).round(12).tolist()
    [1.0, 4.0]
    """
    array = np.asarray(orders, dtype=np.float64)
    if not (array > 1).all():
        raise InvalidArgument("orders", orders, "numbers above 1")
    total = np.zeros_like(array)
    for part in get_releases(event):
        total = total + part.count * compute_renyi_curve(part, array)
    return total


@dataclass(frozen=True)
class RenyiCurveDP(Guarantee):
    """The guarantee that the Renyi divergences of an event imply, at the best of all orders.

    Converted by Canonne, Kamath & Steinke 2020, Proposition 12. An upper bound, not tight.

    Parameters
    ----------
    event
        As for `renyi_divergence`. What holds for a Poisson sample holds for adding or removing a
        record, so the whole does.

    Raises
    ------
    UnsupportedEvent
        Of some part no curve is known.

    Examples
    --------
    >>> released = RenyiCurveDP(ApproximateRelease(epsilon=0.1, count=1000))
    >>> round(released.epsilon(1e-5), 2)
    18.96
    """

    event: Event

    def __post_init__(self) -> None:
        renyi_divergence(self.event, 2.0)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        # Pure DP holds with a delta of exactly 0, which no order would give.
        if epsilon >= self._pure():
            return 0.0

        def log_delta(excess: Array, divergence: Array) -> Array:
            share, order = np.log1p(1 / excess), np.log1p(excess)
            # The error margin is relative to each term, not to their sum, in which they nearly
            # cancel.
            off = _OFF * (excess * (divergence + epsilon + share) + order)
            return np.asarray(excess * (divergence - epsilon - share) - order + off)

        return rounding.exp_up(min(0.0, self._least(log_delta)))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``; at 0, that of pure DP, which may be infinite."""
        delta = check.require_delta("delta", delta)
        if delta == 0:
            return self._pure()

        def epsilon(excess: Array, divergence: Array) -> Array:
            share, order = np.log1p(1 / excess), np.log1p(excess) / excess
            rest = -math.log(delta) / excess
            return np.asarray(
                divergence - share - order + rest + _OFF * (divergence + share + order + rest)
            )

        return max(0.0, min(self._least(epsilon), self._pure()))

    def _pure(self) -> float:
        """Return the epsilon of pure DP, rounded up."""
        try:
            return basic_pure(self.event)
        except UnsupportedEvent:
            # The divergence of infinite order is the epsilon of pure DP, also of releases for which
            # basic composition has no theorem.
            return rounding.bound_above(float(renyi_divergence(self.event, math.inf)), 0.0)

    def _least(self, bound: Callable[[Array, Array], Array]) -> float:
        """Return the least of a bound at ``(order - 1, divergence)``: on a grid, then refined.

        On the grid it is looked for at every few orders, and then at all that are near.
        """

        def at(log_excess: float) -> float:
            order = 1 + np.exp([log_excess])  # its excess as rounded is that of the curve
            return min(float(bound(order - 1, renyi_divergence(self.event, order))[0]), 1e15)

        def on(places: slice) -> Array:
            return bound(_ORDERS[places] - 1, _get_divergence_grid(self.event).at(places))

        with np.errstate(over="ignore"):
            near = _STRIDE * int(np.argmin(on(slice(0, None, _STRIDE))))
            first = max(near - _STRIDE, 0)
            values = on(slice(first, near + _STRIDE + 1))
            best = first + int(np.argmin(values))
            ends = _LOG_EXCESS[max(best - 1, 0)], _LOG_EXCESS[min(best + 1, len(_ORDERS) - 1)]
            refined = minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return float(min(values.min(), refined.fun))

    def __str__(self) -> str:
        return repr(self)


class _Divergences:
    """Divergences of an event at the orders of the grid, worked out where they are asked for."""

    def __init__(self, event: Event) -> None:
        self._event, self._known = event, np.full(len(_ORDERS), np.nan)

    def at(self, places: slice) -> Array:
        """Return the divergences at some orders."""
        wanted = np.arange(len(_ORDERS))[places]
        missing = wanted[np.isnan(self._known[wanted])]
        if len(missing):
            self._known[missing] = renyi_divergence(self._event, _ORDERS[missing])
        return self._known[wanted]

    def everywhere(self) -> Array:
        """Return the divergences at all orders, and then at infinity."""
        return np.append(self.at(slice(None)), renyi_divergence(self._event, math.inf))


@lru_cache(maxsize=16)
def _get_divergence_grid(event: Event) -> _Divergences:
    return _Divergences(event)


def compute_zcdp_guarantee(event: Event) -> ZeroConcentratedDP:
    """Return the zero-concentrated guarantee of an event: the sum over its releases.

    A Gaussian release has ``rho = (sensitivity / noise_scale)^2 / 2``; an epsilon-DP release has
    ``epsilon^2 / 2`` (Bun & Steinke 2016, Propositions 1.6 and 1.4; Lemma 1.7 for the sum).

    Raises
    ------
    UnsupportedEvent
        Some part has a delta above 0, so that no rho is finite; or is subsampled, so that its
        divergence is not linear in the order and the only theorem ignores the sampling.

    Examples
    --------
    >>> compute_zcdp_guarantee(ApproximateRelease(epsilon=0.5, count=40))
    ZeroConcentratedDP(rho=5.0)
    """
    return ZeroConcentratedDP(
        rounding.sum_up((p.count, _compute_release_rho(p)) for p in get_releases(event))
    )


def _compute_release_rho(part: Release) -> float:
    match part:
        case GaussianRelease() | DiscreteGaussianRelease():
            ratio = rounding.quotient_up(float(part.sensitivity), part.noise_scale)
            return rounding.half_square_up(ratio)
        case ZeroConcentratedRelease():
            return part.rho
        case ApproximateRelease(delta=0.0):
            return rounding.half_square_up(part.epsilon)
        case (
            LaplaceRelease()
            | ExponentialNormRelease()
            | ObjectivePerturbation()
            | DiscreteLaplaceRelease()
            | RandomizedResponse()
            | PoissonSubsampledLaplace()
        ):
            (pure,) = approximate_parts(replace(part, count=1))
            return rounding.half_square_up(pure.epsilon)
    raise UnsupportedEvent(f"event: got {part}, expected releases with a theorem on zCDP")
