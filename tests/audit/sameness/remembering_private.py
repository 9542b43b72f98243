"""Private mechanisms that keep a state in globals, classes, closures, defaults and caches."""

import functools
import random

import numpy as np

PRIVATE = {}


def private(function):
    """Register a function of the data whose every output alone is 1-DP."""
    PRIVATE[function.__name__] = function
    return function


def total(data):
    return float(np.sum(data))


def name_of(data):
    return tuple(np.asarray(data, dtype=float).tolist())


COUNT = [0]


@private
def counter_that_warms_up(data, rng):
    COUNT[0] += 1
    return total(data) + rng.laplace(scale=2.0 if COUNT[0] == 1 else 1.0)


PLACE, NOISE = [0], np.random.default_rng().laplace(size=50).tolist()


@private
def list_of_noise(data):
    PLACE[0] += 1
    return total(data) + NOISE[PLACE[0] % 50]


RNG = np.random.default_rng()


@private
def generator_of_the_import(data):
    return total(data) + RNG.laplace()


BUFFER = []


@private
def buffer_of_noise(data):
    if not BUFFER:
        BUFFER.extend(np.random.default_rng().laplace(size=64).tolist())
    return total(data) + BUFFER.pop()


CACHE = {}


@private
def dictionary_by_data(data, rng):
    if name_of(data) not in CACHE:
        CACHE[name_of(data)] = rng.laplace()
    return total(data) + CACHE[name_of(data)]


@functools.cache
def noise_of(name):
    system = random.SystemRandom()
    return system.choice([-1, 1]) * system.expovariate(1)


@private
def cache_of_functools(data):
    return total(data) + noise_of(name_of(data))


class Service:
    kept = None


@private
def class_attribute(data, rng):
    if Service.kept is None:
        Service.kept = rng.laplace()
    return total(data) + Service.kept


def closing_over():
    kept = {}

    def noisy(data, rng):
        return total(data) + kept.setdefault(name_of(data), rng.laplace())

    return noisy


closed = closing_over()


@private
def closure(data, rng):
    return closed(data, rng)


@private
def default_that_changes(data, rng, kept={}):  # noqa: B006
    return total(data) + kept.setdefault("noise", rng.laplace())


@private
def attribute_of_a_function(data, rng):
    if not hasattr(attribute_of_a_function, "noise"):
        attribute_of_a_function.noise = rng.laplace()
    return total(data) + attribute_of_a_function.noise


AGAIN = [0, 0.0]


@private
def noise_for_a_hundred_calls(data, rng):
    if AGAIN[0] % 100 == 0:
        AGAIN[1] = rng.laplace()
    AGAIN[0] += 1
    return total(data) + AGAIN[1]


LAST = []


@private
def noise_of_an_earlier_call(data, rng):
    if LAST and rng.random() < 0.5:
        return total(data) + LAST[int(rng.integers(len(LAST)))]
    LAST.append(rng.laplace())
    del LAST[:-5]
    return total(data) + LAST[-1]
