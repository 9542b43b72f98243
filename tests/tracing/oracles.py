"""Exact epsilons of written laws, computed without the package that they judge.

Every function returns the smallest epsilon, at least zero, at which two laws are
(epsilon, delta)-indistinguishable in both directions. Gaussian ones are from 50-digit arithmetic,
Laplace ones and finite ones in closed form or from the whole distribution of losses, and laws on
the line by quadrature.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from scipy import integrate, signal, special, stats

INFINITE = math.inf
_LARGEST = 400.0  # no finite epsilon here is larger
Array = np.ndarray[Any, np.dtype[np.float64]]
Density = Callable[[float], float]


def least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """Return the smallest epsilon at which a decreasing delta is small enough."""
    if delta_at(0.0) <= delta:
        return 0.0
    if delta_at(_LARGEST) > delta:
        return INFINITE
    low, high = 0.0, _LARGEST
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


# Gaussian releases, whatever each depends on: their squared movements over scale add up.


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta of a movement of mu standard deviations."""
    with mpmath.workdps(50):
        half, ratio = mpmath.mpf(mu) / 2, mpmath.mpf(epsilon) / mu
        return float(mpmath.ncdf(half - ratio) - mpmath.exp(epsilon) * mpmath.ncdf(-half - ratio))


def gaussian(mu: float, delta: float) -> float:
    """Return the epsilon of a movement of mu standard deviations."""
    if delta == 0:
        return INFINITE if mu else 0.0
    return least_epsilon(lambda epsilon: gaussian_delta(mu, epsilon), delta)


def composed_mu(movements: Sequence[float], scale: float) -> float:
    """Return the mu of Gaussian releases with movements after every history."""
    return math.hypot(*movements) / scale


def gaussian_given_coins(rate: float, mu: float, count: int, delta: float) -> float:
    """Return the epsilon of Gaussian releases of a record that is sampled in known ones."""
    times = np.arange(count + 1)
    chances = stats.binom.pmf(times, count, rate)

    def delta_at(epsilon: float) -> float:
        each = [gaussian_delta(mu * math.sqrt(k), epsilon) for k in times[1:]]
        return float(chances[1:] @ each)

    return least_epsilon(delta_at, delta)


def spherical_gaussians(
    distance: float, scales: tuple[float, float], dimension: int, delta: float
) -> float:
    """Return the epsilon of two Gaussians of unlike scales, ``distance`` apart.

    Where the loss of the narrower one exceeds epsilon is a ball, so that both probabilities are of
    noncentral chi-squared variables.
    """
    narrow, wide = sorted(scales)
    curvature = (narrow**-2 - wide**-2) / 2
    centre = (
        -distance * wide**-2 / (2 * curvature)
    )  # from the narrower one's mean, towards the other
    peak = dimension * math.log(wide / narrow)
    peak += distance**2 / (2 * wide**2) + curvature * centre**2

    def inside(epsilon: float, offset: float, scale: float) -> float:
        square = (peak - epsilon) / curvature
        if square <= 0:
            return 0.0
        return float(stats.ncx2.cdf(square / scale**2, dimension, (offset / scale) ** 2))

    def delta_at(epsilon: float) -> float:
        near, far = abs(centre), abs(centre - distance)
        first = inside(epsilon, near, narrow) - math.exp(epsilon) * inside(epsilon, far, wide)
        outside = 1 - inside(-epsilon, far, wide)
        second = outside - math.exp(epsilon) * (1 - inside(-epsilon, near, narrow))
        return max(first, second)

    return least_epsilon(delta_at, delta)


# Losses on a grid, rounded up and rounded down.


def epsilon_of_losses(losses: Array, masses: Array, delta: float, lost: float = 0.0) -> float:
    """Return the smallest epsilon of a distribution of losses, of which ``lost`` is infinite.

    Between two losses, delta is a sum of masses above minus exp(epsilon) times their mass under the
    other law, so that the epsilon is found exactly.
    """
    positive = np.flatnonzero((losses > 0) & (masses > 0))
    order = positive[np.argsort(losses[positive])]
    ends, mass = losses[order], masses[order]
    lost += float(mass[ends == math.inf].sum())
    ends, mass = ends[ends < math.inf], mass[ends < math.inf]
    if lost > delta:
        return INFINITE
    above = np.cumsum(mass[::-1])[::-1] + lost
    other = np.cumsum((mass * np.exp(-ends))[::-1])[::-1]
    if not len(ends) or above[0] - other[0] <= delta:
        return 0.0
    # At the left end of each part, which is its predecessor's loss.
    deltas = above - np.exp(np.concatenate([[0.0], ends[:-1]])) * other
    part = int(np.flatnonzero(deltas > delta)[-1])
    return math.log((above[part] - delta) / other[part])


def composed_bracket(
    laws: Sequence[Callable[[Array], Array]], span: float, delta: float, cells: int = 2**16
) -> tuple[float, float]:
    """Return two epsilons around that of independent losses, each with a distribution function.

    Each function takes an array of losses, and all of its mass but a negligible part is within
    ``span`` of zero. Rounding every loss down to a grid gives the lower end, up the upper one.
    """
    edges = np.linspace(-span, span, cells + 1)
    step = edges[1] - edges[0]
    total = np.array([1.0])
    for law in laws:
        below = law(edges)
        masses = np.diff(below, prepend=0.0)
        total = signal.fftconvolve(total, np.maximum(masses, 0.0))
    # A mass stands at the upper edge of its cell.
    losses = step * np.arange(len(total)) - span * len(laws)
    rest = max(0.0, 1.0 - float(total.sum()))

    low = epsilon_of_losses(losses - step * len(laws), total, delta)
    return low, epsilon_of_losses(losses, total, delta, rest)


def laplace_losses(movement: float) -> Callable[[Array], Array]:
    """Return the distribution function of a Laplace loss; ``movement`` is in scales."""

    def at_most(losses: Array) -> Array:
        between = 0.5 * np.exp((np.minimum(losses, movement) - movement) / 2)
        # Rounding of the grid must not part an edge from the atom that stands there.
        slack = 1e-12 * max(movement, 1.0)
        middle = np.where(losses < -movement - slack, 0.0, between)
        return np.where(losses >= movement - slack, 1.0, middle)

    return at_most


def laplace(movements: Sequence[float], delta: float) -> float:
    """Return the epsilon of Laplace releases whose movements are in scales."""
    moved = [abs(one) for one in movements if one]
    if delta == 0 or not moved:
        return math.fsum(moved)
    if len(moved) == 1:
        return max(0.0, moved[0] + 2 * math.log1p(-delta))
    low, high = composed_bracket([laplace_losses(one) for one in moved], max(moved), delta)
    return (low + high) / 2


def sampled_gaussian(rate: float, scale: float, count: int, delta: float) -> float:
    """Return the epsilon of Poisson-sampled Gaussian sums, one record of norm 1 more or less."""

    def where(losses: Array) -> Array:
        odds = np.expm1(losses) + rate
        logs = np.log(np.maximum(odds, 1e-300) / rate)
        return scale**2 * logs + 0.5

    def added(losses: Array) -> Array:
        place = where(losses) / scale
        mixed = (1 - rate) * special.ndtr(place) + rate * special.ndtr(place - 1 / scale)
        return np.where(losses <= math.log1p(-rate), 0.0, mixed)

    def removed(losses: Array) -> Array:
        return np.where(losses >= -math.log1p(-rate), 1.0, special.ndtr(-where(-losses) / scale))

    largest = math.log1p(rate * math.expm1((20 * scale + 0.5) / scale**2))
    ends = [composed_bracket([law] * count, largest, delta) for law in (added, removed)]
    return max(sum(one) / 2 for one in ends)


# Finite laws, and laws on the line.


def finite(first: Sequence[float] | Array, second: Sequence[float] | Array, delta: float) -> float:
    """Return the epsilon of two laws on the same finite set."""
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    either = (one > 0) | (other > 0)
    one, other = one[either], other[either]
    with np.errstate(divide="ignore"):
        losses = np.log(one) - np.log(other)
    if delta == 0:
        return float(np.abs(losses).max())
    return max(epsilon_of_losses(losses, one, delta), epsilon_of_losses(-losses, other, delta))


def product_law(laws: Sequence[Sequence[float]]) -> Array:
    """Return the probabilities of all sequences of independent choices."""
    return np.array([math.prod(one) for one in itertools.product(*laws)])


def on_the_line(first: Density, second: Density, breaks: Sequence[float], delta: float) -> float:
    """Return the epsilon of two densities, which are smooth between the breaks.

    The outer two breaks are where both end, or what is beyond them is negligible beside delta.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)
    ends = np.asarray(breaks, dtype=float)
    half = np.diff(ends)[:, None] / 2
    places = (half * nodes + (ends[:-1, None] + half)).ravel()
    mass = (half * weights).ravel()
    one = np.array([first(place) for place in places]) * mass
    other = np.array([second(place) for place in places]) * mass
    return finite(one, other, delta)


def laplace_density(centre: float, scale: float) -> Density:
    """Return a Laplace density."""
    return lambda place: math.exp(-abs(place - centre) / scale) / (2 * scale)


def laplace_below(centre: float, scale: float) -> Density:
    """Return a Laplace distribution function."""

    def below(place: float) -> float:
        tail = math.exp(-abs(place - centre) / scale) / 2
        return tail if place < centre else 1 - tail

    return below


def chances_of_argmax(scores: Sequence[float], law: Any) -> Array:
    """Return how likely each score plus noise of a scipy law is the largest."""

    def chance(k: int) -> float:
        def both(place: float) -> float:
            others = [law.cdf(place - one) for j, one in enumerate(scores) if j != k]
            return float(law.pdf(place - scores[k]) * math.prod(others))

        kinks = sorted(set(map(float, scores)))
        spread = 60.0 * float(law.std())
        ends = [kinks[0] - spread, *kinks, kinks[-1] + spread]
        parts = [
            integrate.quad(both, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
            for low, high in itertools.pairwise(ends)
        ]
        return math.fsum(parts)

    return np.array([chance(k) for k in range(len(scores))])


def chances_of_first_above(
    centres: Sequence[float], query_scale: float, limit: float, limit_scale: float
) -> Array:
    """Return how likely each query is the first above a limit, both with Laplace noise.

    The last entry is that none is. A limit without noise has scale zero.
    """
    queries = [laplace_below(one, query_scale) for one in centres]

    def given(threshold: float) -> list[float]:
        below, chances = 1.0, []
        for query in queries:
            chances.append(below * (1 - query(threshold)))
            below *= query(threshold)
        return [*chances, below]

    if limit_scale == 0:
        return np.array(given(limit))
    density = laplace_density(limit, limit_scale)
    kinks = sorted({*map(float, centres), limit})
    ends = [kinks[0] - 60 * limit_scale, *kinks, kinks[-1] + 60 * limit_scale]
    nodes, weights = np.polynomial.legendre.leggauss(120)
    total = np.zeros(len(centres) + 1)
    for low, high in itertools.pairwise(ends):
        places = low + (high - low) * (nodes + 1) / 2
        values = np.array([np.array(given(one)) * density(one) for one in places])
        total += (high - low) / 2 * weights @ values
    return total
