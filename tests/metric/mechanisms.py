"""Mechanisms that perturb a point, a number or a category, and the loss of each in closed form."""

from __future__ import annotations

import numpy as np

EPSILON = 0.5  # a unit of distance


def planar(epsilon=EPSILON):
    """Planar Laplace noise: density proportional to ``exp(-epsilon |y - x|)``."""

    def release(x, trials, rng):
        return np.asarray(x) + in_the_plane(rng.gamma(2.0, 1 / epsilon, trials), rng)

    return release


def exponential_radius(epsilon=EPSILON):
    """A radius of too few dimensions: the density has no bound near the point."""

    def release(x, trials, rng):
        return np.asarray(x) + in_the_plane(rng.exponential(1 / epsilon, trials), rng)

    return release


def in_the_plane(radius, rng):
    angle = rng.uniform(0, 2 * np.pi, len(radius))
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def per_axis(epsilon=EPSILON):
    """Laplace noise of each number: epsilon a unit of the sum of absolute differences."""

    def release(x, trials, rng):
        return np.asarray(x) + rng.laplace(scale=1 / epsilon, size=(trials, np.size(x)))

    return release


def salary(epsilon=EPSILON):
    """Laplace noise of one number."""

    def release(x, trials, rng):
        return x + rng.laplace(scale=1 / epsilon, size=trials)

    return release


def clipped(epsilon=EPSILON, reach=3.0):
    """Noise that goes no further than so many units: far datasets share no output."""

    def release(x, trials, rng):
        noise = rng.laplace(scale=1 / epsilon, size=trials)
        return x + np.clip(noise, -reach / epsilon, reach / epsilon)

    return release


PLACES = 9  # of a line, from 0 to 8


def exponential(epsilon=EPSILON):
    """The exponential mechanism with the score ``-|i - j| / 2``: epsilon a unit of distance."""

    def release(x, trials, rng):
        return rng.choice(PLACES, size=trials, p=chances(int(x), epsilon))

    return release


def chances(x, epsilon):
    weights = np.exp(-epsilon / 2 * np.abs(np.arange(PLACES) - x))
    return weights / weights.sum()


def loss_of_exponential(one, other, epsilon):
    ratios = np.log(chances(one, epsilon)) - np.log(chances(other, epsilon))
    return float(np.abs(ratios).max())


def responses(epsilon=EPSILON):
    """Randomised response, bit by bit: epsilon for each bit that differs."""

    def release(x, trials, rng):
        kept = rng.random((trials, len(x))) < 1 / (1 + np.exp(-epsilon))
        return np.where(kept, np.asarray(x), 1 - np.asarray(x))

    return release
