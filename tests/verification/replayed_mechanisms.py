"""Mechanisms for forgeries of replays, each with a claim that is true of it and hardly loose.

They take ``[x, y]`` and are looked at with x = 0 and x = 1. ``TRUE`` has epsilon and delta of each,
from its closed form.
"""

import math

import numpy as np
from mpmath import mp


def laplace(data, rng):
    return [data[0] + rng.laplace()]


def clipped(data, rng):
    return [float(np.clip(data[0] + rng.laplace(), -1.0, 2.0))]


def rounded(data, rng):
    return [float(np.round(data[0] + rng.laplace()))]


def floored(data, rng):
    return [math.floor(data[0] + rng.laplace())]


def ceiled(data, rng):
    return [math.ceil(data[0] + rng.laplace())]


def cast(data, rng):
    return [int(data[0] + rng.laplace())]


def single(data, rng):
    return np.array([data[0] + rng.laplace()], dtype=np.float32)


def half(data, rng):
    return [float(np.float16(data[0] + rng.laplace()))]


def masked(data, rng):
    value = data[0] + rng.laplace(size=1)
    return np.where(value > 0, value, 0.0)


def absolute(data, rng):
    return [abs(data[0] + rng.laplace())]


def wrapped(data, rng):
    return [(data[0] + rng.laplace()) % 4.0]


def twice(data, rng):
    value = data[0] + rng.laplace()
    return [value, 2.0 * value + 1.0]


def with_rounding(data, rng):
    value = data[0] + rng.laplace()
    return [value, float(np.round(value)), value > 0]


def tie(data, rng):
    return sorted([data[0] + rng.laplace(), 0.5])


def as_text(data, rng):
    return {"answer": str(round(data[0] + rng.laplace()))}


def of_many_lengths(data, rng):
    return [1.0] * (1 + int(data[0] + rng.laplace() > 0.5))


def missing(data, rng):
    value = data[0] + rng.laplace()
    return [value if abs(value) < 3 else math.nan]


def halves(data, rng):
    return [data[0] + rng.laplace(scale=2.0), data[0] + rng.laplace(scale=2.0)]


def mixed(data, rng):
    a, b = rng.laplace(size=2)
    return [data[0] + a if abs(b) < 6 else 0.0]


def inverted(data, rng):
    u = rng.random()
    return [data[0] + (math.log(2 * u) if u < 0.5 else -math.log(2 - 2 * u))]


def of_logarithms(data, rng):
    u = rng.random(2)
    return [data[0] - math.log(u[0]) + math.log(u[1])]


def of_exponentials(data, rng):
    e = rng.exponential(size=2)
    return [data[0] + e[0] - e[1]]


def exponentials_twice(data, rng):
    e = rng.exponential(size=2)
    return [data[0] + e[0] - e[1], data[0] + e[0] - e[1]]


def logistic(data, rng):
    return [data[0] + rng.logistic()]


def response(data, rng):
    bit = int(data[0])
    return [bit if rng.random() < 0.75 else 1 - bit]


def of_one_seed(data, rng):
    seed = int(rng.integers(2**31))
    first, second = np.random.default_rng(seed), np.random.default_rng([seed])
    return [data[0] + first.laplace(), data[0] + second.laplace()]


def of_one_seed_in_a_vector(data, rng):
    seed = int(rng.integers(2**31))
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    return [data[0] + first.laplace(size=3)[0], data[0] + second.laplace()]


def gaussian(data, rng):
    return [data[0] + rng.normal(), rng.normal()]


def gaussian_clipped(data, rng):
    return [float(np.clip(data[0] + rng.normal(), -0.5, 1.5)), 0.0]


def gaussian_cast(data, rng):
    return [int(data[0] + rng.normal()), float(np.float32(rng.normal()))]


def gaussians_of_one_seed(data, rng):
    seed = int(rng.integers(2**31))
    first, second = np.random.RandomState(seed), np.random.RandomState(seed)
    return [data[0] + first.normal(size=2)[0], data[0] + second.normal()]


def gumbel(data, rng):
    return [data[0] + rng.gumbel()]


def uniform(data, rng):
    return [data[0] + rng.uniform(0.0, 4.0)]


def exponential(data, rng):
    return [data[0] + rng.exponential()]


def widened(data, rng):
    return [rng.laplace(scale=1.0 + data[0])]


def gaussian_delta(epsilon):
    return float(mp.ncdf(0.5 - epsilon) - mp.exp(epsilon) * mp.ncdf(-0.5 - epsilon))


def gumbel_delta(epsilon):
    """Return what is lost below the point where the density falls to ``exp(-epsilon)`` of it."""
    low = (1 + mp.mpf(epsilon)) / (mp.e - 1)  # exp(-t) there
    return float(mp.exp(-low) - mp.exp(epsilon) * mp.exp(-low * mp.e))


def clipped_gaussian():
    """Return the greatest loss of the two ends that it is clipped to."""
    return float(mp.log(mp.ncdf(-0.5) / mp.ncdf(-1.5)))


_LAPLACE = [
    *(laplace, clipped, rounded, floored, ceiled, cast, single, half, masked, absolute, wrapped),
    *(twice, with_rounding, tie, as_text, of_many_lengths, missing, halves, mixed, inverted),
    *(of_logarithms, of_exponentials, exponentials_twice, logistic, of_one_seed),
    of_one_seed_in_a_vector,
]
TRUE = {
    **{one: (1.0, 0.0) for one in _LAPLACE},
    response: (math.log(3), 0.0),
    gaussian: (2.0, gaussian_delta(2.0)),
    gaussian_clipped: (clipped_gaussian(), 0.0),
    gaussian_cast: (2.0, gaussian_delta(2.0)),
    gaussians_of_one_seed: (2.0, gaussian_delta(2.0)),
    gumbel: (2.0, gumbel_delta(2.0)),
    uniform: (1e-3, 0.25),
    exponential: (1.0, -math.expm1(-1.0)),
    widened: (math.log(5), 0.05),
}
