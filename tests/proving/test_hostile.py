"""Functions that tried to have more proved than is true: each is refused, or bounded as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import dpaudit

BITS = {"bounds": (0, 1), "integers": True, "records": 4}
DOMAIN = {"bounds": (0, 1), "records": 4}


def wraps_in_answers(data, rng):  # 1 * 28 + 2 * 50 is -128 there
    coins = rng.integers(0, 3, size=4).astype(np.int8)
    return (data.astype(np.int8) * np.int8(28) + coins * np.int8(50)) < 80


def wraps_below_nothing(data, rng):
    coins = rng.integers(0, 2, size=4).astype(np.uint8)
    return (coins - data.astype(np.uint8) * np.uint8(2)) < 3


def wraps_between_scores(data, rng):
    count = data.sum() + 123
    noise = rng.geometric(0.9, size=3) - rng.geometric(0.9, size=3)
    return np.argmax((np.array([count, count, 0]) + noise).astype(np.int8))


def never_lies(data, rng):  # 1 or 2, never 0
    coins = stats.bernoulli.rvs(0.5, loc=1, size=4, random_state=rng)
    return np.where(coins == 0, 1 - data, data)


def no_noise(data, rng):
    return data.sum() + rng.geometric(1.0) - rng.geometric(1.0)


def noise_that_is_cut(data, rng):
    return data.sum() + rng.geometric(1e-300) - rng.geometric(1e-300)


def adds_truth_values(data, rng):
    return (data > 0) + (rng.random(4) < 0.5) + (rng.random(4) < 0.5)


def counts_truth_values(data, rng):
    return (data > 0).astype(int) + (rng.random(4) < 0.5).astype(int)


@pytest.mark.parametrize(
    "function",
    [
        wraps_in_answers,
        wraps_below_nothing,
        wraps_between_scores,
        never_lies,
        no_noise,
        noise_that_is_cut,
        adds_truth_values,
        counts_truth_values,
    ],
)
def test_nothing_is_proved_of_it(function):
    found = dpaudit.prove(function, domain=BITS, epsilon=1)
    assert found.refusal is not None
    assert function.__name__ in found.refusal.place or "call" in found.refusal.place


def comparisons_before_a_gaussian(data, rng):
    """One round; the Renyi divergence of order 2 at sums of 2.5 and 1.5 is 2 * 1.0142."""
    total = data.sum()
    limit = rng.laplace(scale=6)
    if total - 2 + rng.laplace(scale=1) <= limit:
        if 2 - total + rng.laplace(scale=1) > limit:
            return 0.0
    return total + rng.normal(scale=0.712068994916312)


def test_a_bound_of_a_path_is_no_step_of_a_concentrated_sum():
    """A rare path may pay with what it loses for all others gaining the whole epsilon."""
    found = dpaudit.prove(comparisons_before_a_gaussian, domain=DOMAIN, delta=1e-5)
    assert found.numbers is None or found.numbers.rho >= 1.0142


def comparisons_alone(data, rng):
    limit = rng.laplace(scale=2)
    for one in (data[0], data[1], data[2]):
        if one + rng.laplace(scale=4) > limit + 0.5:
            return True
    return False


def test_comparisons_alone_are_as_concentrated_as_their_epsilon_says():
    found = dpaudit.prove(comparisons_alone, domain=DOMAIN)
    assert 0 < found.numbers.pure < math.inf
    assert found.numbers.rho == pytest.approx(found.numbers.pure**2 / 2)
