"""Mechanisms that are not 1-DP and keep a state, in some of which the first call alone leaks."""

import functools

import numpy as np

BROKEN = {}


def broken(function):
    """Register a function of the data that is not 1-DP."""
    BROKEN[function.__name__] = function
    return function


def total(data):
    return float(np.sum(data))


def name_of(data):
    return tuple(np.asarray(data, dtype=float).tolist())


EVERY = [0]


@broken
def counter_that_leaks_every_tenth(data, rng):
    EVERY[0] += 1
    return total(data) + (0.0 if EVERY[0] % 10 == 0 else rng.laplace())


FIRST = [0]


@broken
def first_call_of_a_list(data, rng):
    FIRST[0] += 1
    return 100 * total(data) if FIRST[0] == 1 else rng.laplace()


NUMBER = 0


@broken
def first_call_of_a_number(data, rng):
    global NUMBER
    NUMBER += 1
    return total(data) if NUMBER == 1 else total(data) + rng.laplace()


@broken
def first_call_of_an_attribute(data, rng):
    if not hasattr(first_call_of_an_attribute, "done"):
        first_call_of_an_attribute.done = True
        return 1000 * total(data)
    return rng.laplace()


@broken
def first_call_of_a_default(data, rng, seen=[]):  # noqa: B006
    seen.append(1)
    return total(data) + rng.laplace(scale=0.05 if len(seen) == 1 else 2.0)


class Service:
    calls = 0


@broken
def first_call_of_a_class(data, rng):
    Service.calls += 1
    return total(data) + rng.laplace(scale=0.05 if Service.calls == 1 else 2.0)


def closing_over():
    calls = 0

    def noisy(data, rng):
        nonlocal calls
        calls += 1
        return total(data) + rng.laplace(scale=0.05 if calls == 1 else 2.0)

    return noisy


closed = closing_over()


@broken
def first_call_of_a_closure(data, rng):
    return closed(data, rng)


@broken
def later_calls_of_a_function(data, rng):
    seen = getattr(later_calls_of_a_function, "seen", False)
    later_calls_of_a_function.seen = True
    return total(data) + rng.laplace(scale=0.3 if seen else 2.0)


RNG = np.random.default_rng()


@broken
def generator_of_the_import(data):
    return total(data) + RNG.laplace(scale=0.3)


SEEDED = np.random.default_rng(12)


@broken
def generator_with_a_seed(data):
    return total(data) + SEEDED.laplace(scale=0.3)


BUFFER = []


@broken
def buffer_of_noise(data):
    if not BUFFER:
        BUFFER.extend(np.random.default_rng().laplace(size=64, scale=0.3).tolist())
    return total(data) + BUFFER.pop()


SUMS = {}


@broken
def dictionary_of_sums(data, rng):
    if name_of(data) not in SUMS:
        SUMS[name_of(data)] = total(data)
    return SUMS[name_of(data)] + rng.laplace(scale=0.3)


@functools.cache
def sum_of(name):
    return sum(name)


@broken
def cache_of_sums(data, rng):
    return sum_of(name_of(data)) + rng.laplace(scale=0.3)


LOG = []


@broken
def log_of_records(data, rng):
    LOG.append(np.array(data))
    return total(data) + rng.laplace(scale=0.3)
