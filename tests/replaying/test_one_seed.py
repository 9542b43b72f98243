"""Generators of one seed draw the same noise, however the seed and the draws are written.

Where it is the same noise, two numbers that hold it are one number; where it is drawn in another
order or in another shape, nothing that is recorded says what it is, and no verdict rests on it.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import dpaudit
from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.seeds import identity, twins

# What is seeded twice, from one number; really, the two draws are equal.
EQUAL = {
    "a number and its list": lambda s: (np.random.default_rng(s), np.random.default_rng([s])),
    "a number of numpy": lambda s: (np.random.default_rng(s), np.random.default_rng(np.int64(s))),
    "bits": lambda s: (np.random.default_rng(s), np.random.Generator(np.random.PCG64(s))),
    "a sequence": lambda s: (
        np.random.default_rng(s), np.random.default_rng(np.random.SeedSequence(s)),
    ),
    "a sign": lambda s: (random.Random(s), random.Random(-s)),
    "legacy": lambda s: (np.random.RandomState(s), np.random.RandomState(np.int64(s))),
}  # fmt: skip
OTHER = {
    "classes": lambda s: (np.random.default_rng(s), np.random.RandomState(s)),
    "legacy list": lambda s: (np.random.RandomState(s), np.random.RandomState([s])),
    "bits": lambda s: (np.random.default_rng(s), np.random.Generator(np.random.Philox(s))),
    "libraries": lambda s: (np.random.RandomState(s), random.Random(s)),
}


def one_draw(generator):
    return generator.gauss(0, 1) if isinstance(generator, random.Random) else generator.normal()


def run(function, seed=3):
    with patching.patch_primitives(function):
        return recorder.call_recorded(function, None, seed, primitives.generator())


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_really_equal_is_recorded_as_equal(name):
    def noisy(data, rng):
        return [one_draw(one) for one in EQUAL[name](int(rng.integers(2**31)))]

    one, other = noisy(None, np.random.default_rng(1))
    assert one == other
    found = run(noisy)
    assert found.value[0] == found.value[1]
    assert not found.copied


@pytest.mark.parametrize("name", OTHER)
def test_what_is_really_apart_is_recorded_apart(name):
    def noisy(data, rng):
        return [one_draw(one) for one in OTHER[name](int(rng.integers(2**31)))]

    one, other = noisy(None, np.random.default_rng(1))
    assert one != other
    found = run(noisy)
    assert found.value[0] != found.value[1]


ANEW = {
    "a vector": lambda one, other: (one.normal(size=3)[0], other.normal()),
    "another order": lambda one, other: (one.normal(size=2)[1], [other.normal() for _ in "ab"][1]),
    "another law": lambda one, other: (one.normal(), other.laplace()),
    "after another": lambda one, other: (one.normal(), (other.random(), other.normal())[1]),
}


@pytest.mark.parametrize("name", ANEW)
def test_what_is_drawn_otherwise_from_one_seed_is_noted(name):
    def noisy(data, rng):
        seed = int(rng.integers(2**31))
        return ANEW[name](np.random.default_rng(seed), np.random.default_rng(seed))

    assert run(noisy).copied


def test_entropy_of_the_system_that_is_used_twice_is_noted():
    def twice(data, rng):
        sequence = np.random.SeedSequence(2**90 + int(rng.integers(2**31)))
        return [np.random.default_rng(sequence).normal() for _ in range(2)]

    def once(data, rng):
        children = np.random.SeedSequence(2**90 + int(rng.integers(2**31))).spawn(2)
        return [np.random.default_rng(one).normal() for one in children]

    assert run(twice).copied
    assert not run(once).copied


def test_identities_are_those_of_the_bits():
    assert identity(5, np.random.PCG64) == identity(np.random.PCG64(5), np.random.PCG64)
    assert identity(5, np.random.PCG64) != identity(6, np.random.PCG64)
    assert identity(object(), np.random.PCG64).startswith("PCG64 ")
    one = np.random.default_rng(5)
    assert not twins([one, one, np.random.RandomState(5), np.random.default_rng(6)])
    assert twins([one, np.random.Generator(np.random.PCG64(5))])


# Verdicts: one number, told twice, has an epsilon of 1 (of 4.377 at 1e-5 for the Gaussian).


def told_twice(data, rng):
    seed = int(rng.integers(2**31))
    one, other = np.random.default_rng(seed), np.random.default_rng([seed])
    return [data[0] + one.normal(), data[0] + other.normal()]


def told_from_a_vector(data, rng):
    seed = int(rng.integers(2**31))
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    return [data[0] + one.normal(size=3)[0], data[0] + other.normal()]


def told_apart(data, rng):
    seed = int(rng.integers(2**31))
    one, other = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    return [data[0] + one.normal(), data[0] + other.normal()]


@pytest.mark.parametrize(
    ("mechanism", "verdict"),
    [(told_twice, "not refuted"), (told_from_a_vector, "withheld"), (told_apart, "refuted")],
)
def test_noise_of_one_seed_is_no_noise_of_two(mechanism, verdict):
    found = dpaudit.replay(mechanism, [0.0, 0.0], [1.0, 0.0], epsilon=5.0, delta=1e-5)
    assert found.verdict == verdict


TWINS = """
import numpy as np
ONE, OTHER = np.random.default_rng(7), np.random.default_rng({seed})
def release(data, rng):
    return [data[0] + ONE.laplace(), data[0] + OTHER.laplace()]
"""


@pytest.mark.parametrize(("seed", "verdict"), [(7, "withheld"), (8, "refuted")])
def test_generators_of_a_module_that_draw_the_same_are_no_two(tmp_path, monkeypatch, seed, verdict):
    name = f"twins_of_{seed}"
    (tmp_path / f"{name}.py").write_text(TWINS.format(seed=seed))
    monkeypatch.syspath_prepend(tmp_path)
    found = dpaudit.replay(f"{name}:release", [0.0, 0.0], [1.0, 0.0], epsilon=1.5, delta=0.0)
    assert found.verdict == verdict


@pytest.mark.parametrize(("words", "is_seed"), [(1, True), (4, True), (5, False), (8, False)])
def test_a_seed_has_four_words_and_entropy_of_the_system_more(words, is_seed):
    def release(data, rng):
        return np.random.default_rng(list(range(1, words + 1))).laplace()

    with patching.patch_primitives(release):
        run = recorder.call_recorded(release, [0.0], 1, primitives.generator())
    assert bool(run.seeds) is is_seed
