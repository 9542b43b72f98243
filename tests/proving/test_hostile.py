"""Functions that tried to have more proved than is true: each is refused, or bounded as it is."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import itertools
import math
import operator
import os
import sys
import threading
import time
from time import time as clock
from typing import ClassVar

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


class Swallows(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


@Swallows()
def root_or_nothing(data):
    return math.sqrt(abs(data[0] - 0.123456) - 1e-9) * 0.0


def is_caught_by_a_decorator(data, rng):
    found = root_or_nothing(data)
    return float(data[1]) if found is None else data.sum() + rng.laplace()


TOLD = []


@np.errstate(divide="call", call=lambda *error: TOLD.append(error))
def is_told_by_a_decorator(data, rng):
    np.log(np.abs(data[0] - 0.123456))
    return float(data[1]) if TOLD else data.sum() + rng.laplace()


class Vanishes:
    def __init__(self, data, told):
        self.data, self.told = data, told

    def __del__(self):
        self.told.append(math.sqrt(abs(self.data[0] - 0.123456) - 1e-9))


def raises_where_nobody_hears(data, rng):
    told = []
    Vanishes(data, told)
    return data.sum() + rng.laplace() if told else float(data[1])


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
        is_caught_by_a_decorator,
        is_told_by_a_decorator,
        raises_where_nobody_hears,
        writes_as_text,
        becomes_complex,
        gamma_with_a_location,
    ],
)
def test_what_no_run_meets_is_refused(function):
    assert dpaudit.prove(function, domain=DOMAIN, epsilon=1).refusal is not None


# --- what a call leaves for the next one, and what surrounds it -------------------------------

MANY = 10**6  # calls
COUNT, BY_NAME = [0], {"count": lambda: counted_up()}


def counted_up(by=1):
    COUNT[0] += by
    return COUNT[0]


def noisy_or_record(data, rng, count):
    return float(data[0]) if count > MANY else data.sum() + rng.laplace()


def counts_calls(function):
    calls = [0]

    @functools.wraps(function)
    def call(data, rng):
        calls[0] += 1
        return function(data, rng) if calls[0] <= MANY else float(data[0])

    return call


@counts_calls
def is_counted_around(data, rng):
    return data.sum() + rng.laplace()


class Counts:
    def up(self):
        return counted_up()

    @property
    def one(self):
        return counted_up()

    @staticmethod
    def more():
        return counted_up()


class Inherits(Counts):
    pass


class Entries(dict):
    count = 0


COUNTS, ENTRIES, ADDS = Inherits(), Entries(), functools.partial(counted_up, 2)
CURVE, LIVING = np.poly1d([1.0, 0.0]), {"rng": np.random.default_rng()}


def counts_in_a_base(data, rng):
    return noisy_or_record(data, rng, COUNTS.up())


def counts_in_a_property(data, rng):
    return noisy_or_record(data, rng, COUNTS.one)


def counts_in_a_static_method(data, rng):
    return noisy_or_record(data, rng, Counts.more())


def counts_in_a_dictionary(data, rng):
    return noisy_or_record(data, rng, BY_NAME["count"]())


def counts_in_a_partial(data, rng):
    return noisy_or_record(data, rng, ADDS())


def counts_in_what_it_imports(data, rng):
    from tests.proving import sketches

    sketches.COUNT = getattr(sketches, "COUNT", 0) + 1
    return noisy_or_record(data, rng, sketches.COUNT)


def counts_in_a_library(data, rng):
    np.linalg.count = getattr(np.linalg, "count", 0) + 1
    return noisy_or_record(data, rng, np.linalg.count)


def counts_in_the_names_of_a_library(data, rng):
    held = vars(np)
    held["count"] = held.get("count", 0) + 1
    return noisy_or_record(data, rng, held["count"])


def counts_in_an_attribute(data, rng):
    ENTRIES.count += 1
    return noisy_or_record(data, rng, ENTRIES.count)


def counts_in_a_polynomial(data, rng):
    CURVE.coeffs[0] += 1
    return noisy_or_record(data, rng, CURVE.coeffs[0])


def counts_in_a_default(data, rng, *, held=[0]):  # noqa: B006
    held[0] += 1
    return noisy_or_record(data, rng, held[0])


@functools.lru_cache
def kept_list():
    return [0]


def counts_in_what_is_cached(data, rng):
    kept_list()[0] += 1
    return noisy_or_record(data, rng, kept_list()[0])


def with_a_generator_in_its_closure():
    own = np.random.default_rng()

    def is_seldom_open(data, rng):
        return float(data[0]) if own.random() < 1e-6 else data.sum() + rng.laplace()

    return is_seldom_open


def draws_from_what_it_keeps(data, rng):
    return float(data[0]) if LIVING["rng"].random() < 1e-6 else data.sum() + rng.laplace()


def asks_for_the_time_by_another_name(data, rng):
    return noisy_or_record(data, rng, clock() - 4e9)


def asks_for_a_date(data, rng):
    return noisy_or_record(data, rng, (np.datetime64("now") > np.datetime64("2100")) * 2 * MANY)


def asks_for_a_file(data, rng):
    return noisy_or_record(data, rng, os.path.exists("/open") * 2 * MANY)


def asks_for_arguments(data, rng):
    return noisy_or_record(data, rng, len(sys.argv))


def counts_in_options(data, rng):
    np.set_printoptions(precision=np.get_printoptions()["precision"] + 1)
    return noisy_or_record(data, rng, np.get_printoptions()["precision"])


def is_told_of_rare_errors(data, rng):
    told = []
    np.seterr(divide="call")
    np.seterrcall(lambda *error: told.append(error))
    np.log(np.abs(data[0] - 0.123456))
    return float(data[1]) if told else data.sum() + rng.laplace()


LEAST = 1e-9


def asks_whether_it_is_true(data, rng):
    is_rare = float(data[0]) == 0.123456
    return float(data[1]) if is_rare is True else data.sum() + rng.laplace()


def asks_whether_it_is_the_truth_of_numpy(data, rng):
    is_rare = np.equal(data[0], 0.123456)
    return float(data[1]) if is_rare is np.True_ else data.sum() + rng.laplace()


def asks_whether_it_is_the_least(data, rng):
    found = max(abs(float(data[0]) - 0.123456), LEAST)
    return float(data[1]) if found is LEAST else data.sum() + rng.laplace()


def asks_an_operator_whether_it_is(data, rng):
    found = max(abs(float(data[0]) - 0.123456), LEAST)
    return float(data[1]) if operator.is_(found, LEAST) else data.sum() + rng.laplace()


def asks_whether_noise_is_true(data, rng):
    noisy = float(data.sum() + rng.laplace())
    return float(data[1]) if (noisy < -20) is True else noisy


def matches_what_is_true(data, rng):
    match float(data[0]) == 0.123456:
        case True:
            return float(data[1])
        case _:
            return data.sum() + rng.laplace()


def asks_a_method_of_numbers(data, rng):
    is_rare = (0.123456).__eq__(float(data[0])) == 1
    return float(data[1]) if is_rare else data.sum() + rng.laplace()


def asks_whether_nothing_is_given(data, rng, scale=None):
    scale = 2.0 if scale is None else scale
    return data.sum() + rng.laplace(scale=scale) if type(scale) is float else 0.0


def test_whether_something_is_nothing_or_of_a_class_may_be_asked():
    found = dpaudit.prove(asks_whether_nothing_is_given, domain=DOMAIN, epsilon=1)
    assert found.numbers.pure == pytest.approx(0.5)


@pytest.mark.parametrize(
    "function",
    [
        asks_whether_it_is_true,
        asks_whether_it_is_the_truth_of_numpy,
        asks_whether_it_is_the_least,
        asks_an_operator_whether_it_is,
        asks_whether_noise_is_true,
        matches_what_is_true,
        asks_a_method_of_numbers,
        is_counted_around,
        counts_in_a_base,
        counts_in_a_property,
        counts_in_a_static_method,
        counts_in_a_dictionary,
        counts_in_a_partial,
        counts_in_what_it_imports,
        counts_in_a_library,
        counts_in_the_names_of_a_library,
        counts_in_an_attribute,
        counts_in_a_polynomial,
        counts_in_a_default,
        counts_in_what_is_cached,
        with_a_generator_in_its_closure(),
        draws_from_what_it_keeps,
        asks_for_the_time_by_another_name,
        asks_for_a_date,
        asks_for_a_file,
        asks_for_arguments,
        counts_in_options,
        is_told_of_rare_errors,
    ],
)
def test_what_other_calls_or_surroundings_decide_is_refused(function):
    with np.printoptions(), np.errstate():  # which some of them set
        found = dpaudit.prove(function, domain=DOMAIN, epsilon=1)
    assert found.refusal is not None
    assert "next call" in found.refusal.reason or "reads" in found.refusal.reason


class Keeps:
    scale = 1.0
    table: ClassVar = {"mean": np.mean, "sum": lambda data: data.sum()}

    def released(self, data, rng):
        kept_list()
        total = self.table["sum"](data)
        return total + rng.laplace(scale=self.scale)


def test_what_stays_as_it_is_may_be_reached():
    found = dpaudit.prove(Keeps().released, domain=DOMAIN, epsilon=1)
    assert found.refusal is None
    assert found.numbers.pure == pytest.approx(1.0)


def plain_sum(data, rng):
    return data.sum() + rng.laplace(scale=2.0)


@pytest.mark.parametrize(
    "change",
    [
        {"is_changed": False},
        {"of_cells": True},
        {"count": 1, "relation": "add-remove-record"},
        {"relation": "replace-label"},
        {"relation": "replace-word"},
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
