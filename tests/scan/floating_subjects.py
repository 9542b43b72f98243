"""Primitives that are right for real numbers, broken or repaired for those of a computer."""

import numpy as np

GRID, COARSE = 1024, 2**42


def _geometric(rng, epsilon, sensitivity, trials):
    """Integers with the two-sided geometric law of a sensitivity."""
    success = -np.expm1(-epsilon / sensitivity)
    return rng.geometric(success, trials) - rng.geometric(success, trials)


def naive_laplace(data, epsilon, bounds, trials, rng):
    """A sum with Laplace noise in doubles."""
    return np.sum(np.clip(data, *bounds)) + rng.laplace(0, 1 / epsilon, trials)


def naive_gaussian(data, epsilon, delta, bounds, trials, rng):
    """A sum with Gaussian noise in doubles, by the classical formula."""
    scale = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
    return np.sum(np.clip(data, *bounds)) + rng.normal(0, scale, trials)


def on_a_grid(data, epsilon, bounds, trials, rng):
    """A sum of records that are rounded to a grid, with discrete noise on it."""
    steps = int(np.sum(np.round(np.clip(data, *bounds) * GRID).astype(np.int64)))
    return (steps + _geometric(rng, epsilon, GRID, trials)) / GRID


def squares(data, epsilon, bounds, trials, rng):
    """A count of records above 1, of which the squares overflow."""
    above = np.sum(np.square(data) / np.square(bounds[1]) > 0.5)
    return above + _geometric(rng, epsilon, 1, trials) + 0.0 * np.sum(np.square(data))


def compared(data, epsilon, bounds, trials, rng):
    """The same count, compared before anything is squared."""
    above = np.sum(np.abs(data) / np.abs(bounds[1]) > np.sqrt(0.5))
    return above + _geometric(rng, epsilon, 1, trials) + 0.0


def shares(data, epsilon, bounds, trials, rng):
    """A count of the records that are at least half of the largest: 0 / 0 where all are 0."""
    with np.errstate(all="ignore"):
        large = np.sum(np.array(data) / np.max(data)) * 0
    return large + _geometric(rng, epsilon, 1, trials)


def wraps(data, epsilon, bounds, trials, rng):
    """A sum of 64-bit integers, whose total wraps around."""
    total = np.array(data, dtype=np.int64).sum(dtype=np.int64)
    return float(total) + rng.laplace(0, (bounds[1] - bounds[0]) / epsilon, trials).round()


def as_wide_as_needed(data, epsilon, bounds, trials, rng):
    """The same in integers of any size, on a grid that is coarse enough for doubles."""
    steps = sum(int(one) // COARSE for one in data)
    noise = _geometric(rng, epsilon, (bounds[1] - bounds[0]) // COARSE, trials)
    return [float(steps + int(one)) * COARSE for one in noise]


def collapses(data, epsilon, bounds, trials, rng):
    """The first record, through a double, with noise for bounds that a double cannot tell."""
    noise = _geometric(rng, epsilon, bounds[1] - bounds[0], trials)
    return [int(float(data[0])) + int(one) - bounds[0] for one in noise]


def keeps(data, epsilon, bounds, trials, rng):
    """The first record as an integer."""
    noise = _geometric(rng, epsilon, bounds[1] - bounds[0], trials)
    return [int(data[0]) + int(one) - bounds[0] for one in noise]
