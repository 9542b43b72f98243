"""Sparse vectors and noisy maxima that are broken, each beside its repaired twin.

Records are answers to eight queries, each between 0 and 1; what is asked of a query is its total.
Six of them are replaced one at a time, so every total moves by 1 at most, in either direction. All
claim epsilon 1.
"""

import numpy as np

EIGHT = {"bounds": (0, 1), "columns": 8, "records": 6}
SIX = {"bounds": (0, 1), "records": 6}
LIMIT = 3.0
LEVELS = np.linspace(0.85, 0.15, 8)


def levels(values):
    """Return how many records are above each of eight levels, the highest first."""
    return (values[:, None] > LEVELS).sum(axis=0)


def above(totals, rng, threshold_scale, query_scale, count=None):
    """Return which totals are above a noisy limit, up to so many of them."""
    limit, found = LIMIT + rng.laplace(scale=threshold_scale), []
    for total in totals:
        noise = rng.laplace(scale=query_scale) if query_scale else 0.0
        found.append(bool(total + noise >= limit))
        if count is not None and sum(found) == count:
            break
    return found


def without_query_noise(data, rng):
    return above(data.sum(axis=0), rng, 2.0, 0.0, count=1)


def without_query_noise_of_levels(values, rng):
    return above(levels(values), rng, 2.0, 0.0, count=1)


def without_query_noise_or_end(data, rng):
    return above(data.sum(axis=0), rng, 2.0, 0.0)


def without_end(data, rng):
    return above(data.sum(axis=0), rng, 2.0, 2.0)


def with_one_noise(data, rng):
    """The noise of the limit is that of the totals, too."""
    noise = rng.laplace(scale=2.0)
    return [bool(total + noise >= LIMIT + noise) for total in data.sum(axis=0)]


def with_limit_in_value(data, rng):
    """The value that is returned has the noise of the limit."""
    noise = rng.laplace(scale=2.0)
    totals = data.sum(axis=0)
    found = [bool(total + rng.laplace(scale=4.0) >= LIMIT + noise) for total in totals]
    number = found.index(True) if True in found else 0
    return found[: number + 1], float(totals[number] + noise)


def largest_with_value(data, rng):
    noisy = data.sum(axis=0) + rng.laplace(scale=2.0, size=8)
    return int(np.argmax(noisy)), float(noisy.max())


def first_above(data, rng):
    return above(data.sum(axis=0), rng, 2.0, 4.0, count=1)


def first_four_above(data, rng):
    return above(data.sum(axis=0), rng, 2.0, 16.0, count=4)


def first_with_fresh_value(data, rng):
    totals = data.sum(axis=0)
    number = len(above(totals, rng, 4.0, 8.0, count=1)) - 1
    return number, float(totals[number] + rng.laplace(scale=2.0))


def largest(data, rng):
    return int(np.argmax(data.sum(axis=0) + rng.laplace(scale=2.0, size=8)))


def largest_with_fresh_value(data, rng):
    totals = data.sum(axis=0)
    number = int(np.argmax(totals + rng.laplace(scale=4.0, size=8)))
    return number, float(totals[number] + rng.laplace(scale=2.0))


BROKEN = {
    without_query_noise: EIGHT,
    without_query_noise_of_levels: SIX,
    without_query_noise_or_end: EIGHT,
    without_end: EIGHT,
    with_one_noise: EIGHT,
    with_limit_in_value: EIGHT,
    largest_with_value: EIGHT,
}
REPAIRED = {
    first_above: EIGHT,
    first_four_above: EIGHT,
    first_with_fresh_value: EIGHT,
    largest: EIGHT,
    largest_with_fresh_value: EIGHT,
}
