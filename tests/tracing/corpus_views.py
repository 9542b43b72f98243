"""Eleven true claims about outputs that tell less than all noisy values that are formed.

Whoever judges the outputs by the noisy values refutes all of them. Of VALUES the sum is 2, of MOVED
3, and the mean moves by 1/4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy import stats

from tests.tracing import oracles
from tests.tracing.judged import Judged, Number, exactly

VALUES, MOVED = np.array([0.0, 0.4, 0.6, 1.0]), np.array([1.0, 0.4, 0.6, 1.0])
LABELS, OTHER_LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.array([2, 0, 0, 1, 1, 1, 2, 2])
COUNTS, OTHER_COUNTS = np.array([3, 3, 2]), np.array([2, 3, 3])
BITS, OTHER_BITS = np.array([0, 0, 1, 0, 1, 1]), np.array([1, 0, 1, 0, 1, 1])
NOTHING_BUT_ONE = np.array([0.0, 0.0, 0.0, 1.0])
DELTA = 1e-5


def last_iterate(data, rng):
    state = 0.0
    for _ in range(10):
        state -= 0.5 * (state - data.mean() + rng.normal(scale=0.5))
    return state


def last_of_momentum(data, rng):
    state, velocity = 0.0, 0.0
    for _ in range(8):
        velocity = 0.5 * velocity + (state - data.mean()) + rng.normal(scale=0.5)
        state -= 0.4 * velocity
    return state


def most_frequent(data, rng):
    return int(np.argmax(np.bincount(data) + rng.laplace(scale=2.0, size=3)))


def most_frequent_by_gumbel_noise(data, rng):
    return int(np.argmax(np.bincount(data) + rng.gumbel(scale=2.0, size=3)))


def enough(data, rng):
    return [bool(data.sum() + rng.laplace() > limit) for limit in (1.0, 2.5)]


def first_above(data, rng):
    limit = 2.5 + rng.laplace(scale=2.0)
    for k in range(12):
        if data.sum() + rng.laplace(scale=4.0) > limit:
            return k
    return None


def secret_sum(data, rng):
    shares = [data[:2].sum() + rng.normal(scale=1.5), data[2:].sum() + rng.normal(scale=1.5)]
    return sum(shares)


def batch_with_gaussian_noise(data, rng):
    chosen = rng.random(len(data)) < 0.3
    return data[chosen].sum() + rng.normal(scale=1.0)


def batch_with_laplace_noise(data, rng):
    chosen = rng.random(len(data)) < 0.3
    return data[chosen].sum() + rng.laplace(scale=0.5)


def shuffled_responses(data, rng):
    honest = rng.random(len(data)) < 0.6
    responses = np.where(honest, data, rng.integers(2, size=len(data)))
    return rng.permutation(responses)


def median_of_three(data, rng):
    return float(np.median(data.sum() + rng.laplace(scale=2.0, size=3)))


def _gaussian_mu(mu: float) -> Number:
    return lambda: oracles.gaussian(mu, DELTA)


def _last_of_momentum() -> float:
    """Return the epsilon of the last state, whose shift and variance obey linear recursions.

    A unit of noise in one round moves the last state as the response to an impulse says; a unit of
    the mean moves it by the sum of all responses, with the other sign.
    """
    responses = []
    for impulse in range(8):
        state = velocity = 0.0
        for step in range(8):
            velocity = 0.5 * velocity + state + (step == impulse)
            state -= 0.4 * velocity
        responses.append(state)
    return oracles.gaussian(abs(sum(responses)) / 4 / (0.5 * math.hypot(*responses)), DELTA)


def _most_frequent() -> float:
    noise = stats.laplace(scale=2.0)
    one, other = (oracles.chances_of_argmax(counts, noise) for counts in (COUNTS, OTHER_COUNTS))
    return oracles.finite(one, other, 0.0)


def _by_gumbel_noise() -> float:
    """Return the epsilon of a choice with weights exp(count / 2)."""
    one, other = np.exp(COUNTS / 2), np.exp(OTHER_COUNTS / 2)
    return oracles.finite(one / one.sum(), other / other.sum(), 0.0)


def _enough() -> float:
    noise = stats.laplace()

    def law(total: float) -> np.ndarray:
        above = [float(noise.sf(limit - total)) for limit in (1.0, 2.5)]
        return oracles.product_law([(1 - one, one) for one in above])

    return oracles.finite(law(2.0), law(3.0), 0.0)


def _first_above() -> float:
    one, other = (
        oracles.chances_of_first_above([total] * 12, 4.0, 2.5, 2.0) for total in (2.0, 3.0)
    )
    return oracles.finite(one, other, 0.0)


def _batch_with_laplace_noise() -> float:
    """Return the epsilon of 0 or, with a probability of 0.3, 1, against 0.

    The largest ratio of densities is that beyond 1, the smallest that below 0.
    """
    return max(
        math.log1p(0.3 * math.expm1(2.0)),
        -math.log1p(0.3 * math.expm1(-2.0)),
    )


def _shuffled_responses() -> float:
    """Return the epsilon of how many of six say 1: three of them 1 by heart, or four."""

    def law(ones: int) -> np.ndarray:
        return np.convolve(
            stats.binom.pmf(range(ones + 1), ones, 0.8),
            stats.binom.pmf(range(7 - ones), 6 - ones, 0.2),
        )

    return oracles.finite(law(3), law(4), 0.05)


def _median_of_three() -> float:
    """Return the epsilon of the median of three, whose density is 6 F (1 - F) f."""

    def density(total: float) -> oracles.Density:
        below, each = oracles.laplace_below(total, 2.0), oracles.laplace_density(total, 2.0)
        return lambda place: 6 * below(place) * (1 - below(place)) * each(place)

    one, other = density(2.0), density(3.0)
    breaks = [*np.linspace(-40.0, 2.0, 22), *np.linspace(2.5, 45.0, 22)]
    breaks[-21:-21] = [3.0]
    return oracles.on_the_line(one, other, sorted({*breaks}), 0.0)


_AFTER_TEN = (1 - 0.5**10) / (0.5 * math.sqrt((1 - 0.25**10) / 0.75))

VIEWS: Mapping[str, Judged] = {
    one.mechanism.__name__: replace(one, reading="noisy values")
    for one in (
        # The last state is a mean with geometric weights, 0.5 * 0.5**k; noise in it is as weighted.
        Judged(
            last_iterate, VALUES, MOVED, _gaussian_mu(math.sqrt(10) / 4 / 0.5),
            _gaussian_mu(_AFTER_TEN / 4 / 0.5), delta=DELTA,
        ),
        Judged(
            last_of_momentum, VALUES, MOVED, _gaussian_mu(math.sqrt(8) / 4 / 0.5),
            _last_of_momentum, delta=DELTA,
        ),
        # Two counts move by 1 under noise of scale 2.
        Judged(most_frequent, LABELS, OTHER_LABELS, exactly(1.0), _most_frequent),
        # The noisy counts are worth more than that at delta = 0: the tail of Gumbel noise is double
        # exponential on one side, so that their loss has no bound.
        Judged(
            most_frequent_by_gumbel_noise, LABELS, OTHER_LABELS, exactly(math.inf),
            _by_gumbel_noise,
        ),
        Judged(enough, VALUES, MOVED, exactly(2.0), _enough),
        Judged(first_above, VALUES, MOVED, exactly(12 / 4), _first_above),
        Judged(
            secret_sum, VALUES, MOVED, _gaussian_mu(1 / 1.5),
            _gaussian_mu(1 / (1.5 * math.sqrt(2))), delta=DELTA,
        ),
        # One record of 1 more or less among zeros: with its coin known, as often as it is sampled.
        Judged(
            batch_with_gaussian_noise, NOTHING_BUT_ONE, NOTHING_BUT_ONE[:3],
            lambda: oracles.gaussian_given_coins(0.3, 1.0, 1, DELTA),
            lambda: oracles.sampled_gaussian(0.3, 1.0, 1, DELTA), delta=DELTA,
        ),
        Judged(
            batch_with_laplace_noise, NOTHING_BUT_ONE, NOTHING_BUT_ONE[:3], exactly(2.0),
            _batch_with_laplace_noise,
        ),
        # A response is true with probability 0.8; at delta = 0 nobody answering 1 tells as much.
        Judged(
            shuffled_responses, BITS, OTHER_BITS,
            lambda: oracles.finite([0.8, 0.2], [0.2, 0.8], 0.05), _shuffled_responses, delta=0.05,
        ),
        Judged(median_of_three, VALUES, MOVED, exactly(3 / 2), _median_of_three),
    )
}  # fmt: skip
