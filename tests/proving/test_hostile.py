"""Functions that tried to have more proved than is true: each is refused, or bounded as it is."""

from __future__ import annotations

import collections
import copy
import itertools
import math
import os
import threading
import time

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.proving import checker

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


COUNTER, QUEUE, LOCAL = itertools.count(), collections.deque([0]), threading.local()
LOCAL.count = 0


def counts_by_an_iterator(data, rng):
    return float(data[0]) if next(COUNTER) > 10**6 else data.sum() + rng.laplace()


def counts_by_a_queue(data, rng):
    QUEUE[0] += 1
    return float(data[0]) if QUEUE[0] > 10**6 else data.sum() + rng.laplace()


def counts_by_a_thread(data, rng):
    LOCAL.count += 1
    return float(data[0]) if LOCAL.count > 10**6 else data.sum() + rng.laplace()


def asks_for_the_time(data, rng):
    return float(data[0]) if time.time() > 4e9 else data.sum() + rng.laplace()


def asks_for_the_surroundings(data, rng):
    return float(data[0]) if os.environ.get("LEAK") else data.sum() + rng.laplace()


def catches_what_is_rare(data, rng):
    try:
        math.sqrt(data[0] - 1e-9)
    except ValueError:
        return float(data[1])
    return data.sum() + rng.laplace()


def root_or_record(data):
    try:
        return math.sqrt(abs(data[0] - 0.123456) - 1e-9) * 0.0
    except ValueError:
        return float(data[1])


def catches_after_a_long_loop(data, rng):
    total = 0
    for one in range(30_000):
        total += one
    return root_or_record(data) + data.sum() + rng.laplace()


def writes_as_text(data, rng):
    noisy = data.sum() + rng.laplace()
    return 5.0 if str(float(data.sum())) == "1.2345" else noisy


def becomes_complex(data, rng):
    noisy = float(data.sum() + rng.laplace())
    return float(data[0]) if isinstance((noisy + 12) ** 0.5, complex) else noisy


def gamma_with_a_location(data, rng):
    way = rng.normal(size=2)
    radius = stats.gamma.rvs(2, 5, random_state=rng)
    return data[:2] + way / np.sqrt((way**2).sum()) * radius


@pytest.mark.parametrize(
    "function",
    [
        counts_by_an_iterator,
        counts_by_a_queue,
        counts_by_a_thread,
        asks_for_the_time,
        asks_for_the_surroundings,
        catches_what_is_rare,
        catches_after_a_long_loop,
        writes_as_text,
        becomes_complex,
        gamma_with_a_location,
    ],
)
def test_what_no_run_meets_is_refused(function):
    assert dpaudit.prove(function, domain=DOMAIN, epsilon=1).refusal is not None


def plain_sum(data, rng):
    return data.sum() + rng.laplace(scale=2.0)


@pytest.mark.parametrize(
    "change",
    [
        {"is_changed": False},
        {"of_cells": True},
        {"count": 1, "relation": "add-remove-record"},
        {"relation": "replace-label"},
        {"relation": "replace-cell"},
    ],
    ids=str,
)
def test_a_certificate_says_what_changes_as_its_relation_does(change):
    found = dpaudit.prove(plain_sum, domain=DOMAIN, epsilon=0.5, certified=True)
    instance = copy.deepcopy(found.certificate["instance"])
    assert checker.check_instance(instance)
    universe = instance["universe"]
    universe["parts"][0].update({k: v for k, v in change.items() if k == "is_changed"})
    universe.update({k: v for k, v in change.items() if k != "is_changed"})
    with pytest.raises(checker.NotVerified):
        checker.check_instance(instance)
