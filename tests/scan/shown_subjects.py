"""A package's plain module, as the tests need one: mechanisms, broken ones, and their repairs."""

import math
import random

import numpy as np

SCALE = 1.0


def width(bounds):
    """Return how wide bounds are."""
    low, high = bounds
    return high - low


def naive_sum(data, epsilon, bounds, trials):
    """The sum of clipped numbers with Laplace noise; NaN goes through."""
    total = np.sum(np.clip(data, *bounds))
    return list(total + np.random.default_rng().laplace(0, width(bounds) / epsilon, trials))


def repaired_sum(data, epsilon, bounds, trials):
    """The same where NaN counts as the lower bound."""
    total = np.sum(np.clip(np.nan_to_num(data, nan=bounds[0]), *bounds))
    return list(total + np.random.default_rng().laplace(0, width(bounds) / epsilon, trials))


def half_the_noise(data, epsilon, bounds, trials):
    """Half of the noise that the claim needs."""
    total = np.sum(np.clip(data, *bounds))
    return list(total + np.random.default_rng().laplace(0, SCALE / (3 * epsilon), trials))


def raises(data, epsilon):
    """An exception that depends on a record."""
    # the largest is looked at
    if max(data) > 5:
        raise ValueError("too large")
    return random.random()


def classes(data, epsilon):
    """A model whose classes are those of the labels."""
    _, labels = data
    return {"classes_": np.unique(labels), "weights": np.random.default_rng().normal(size=2)}


def fixed_classes(data, epsilon):
    """A model whose classes are given."""
    return {"classes_": np.array([0, 1]), "weights": np.random.default_rng().normal(size=2)}


def warns(data, epsilon):
    """Prints, which is no answer, and returns a number."""
    print("loud", math.pi)
    return float(np.random.default_rng().laplace(0, 1 / epsilon))


def hangs(data, epsilon):
    """Never returns."""
    while True:
        pass


def keywords(data, name, **parameters):
    """A function of an argument and of keywords, as cards call packages."""
    made = getattr(np, name)(data, **parameters)
    return {
        "value": float(made),
        "labels": sorted(set(data)),
        "noise": float(np.random.default_rng().normal()),
    }
