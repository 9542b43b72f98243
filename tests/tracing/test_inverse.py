"""Noise that is made of uniform draws."""

import math
import random

import numpy as np
import pytest
from scipy.stats import kstest, laplace

from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.law import TracedLaw
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw

PAIR = Pair(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), REPLACE_RECORD)


def read(function, seed=0):
    return read_law(as_mechanism(function).calls, PAIR, np.random.default_rng(seed))


def from_the_middle(data, rng):
    u = rng.random() - 0.5
    return data.sum() - 2.0 * np.sign(u) * np.log(1 - 2 * np.abs(u))


def from_an_interval(data, rng):
    u = rng.uniform(-0.5, 0.5, size=1)
    return data.sum() + np.log1p(-2 * abs(u)) * np.sign(u) * 2


def turned_round(data, rng):
    u = 0.5 - rng.random()
    return data.sum() + np.sign(u) * (-2.0 * np.log(1 - np.abs(2 * u)))


def of_two_logarithms(data, rng):
    return data.sum() + 2.0 * (np.log(rng.random()) - np.log(1 - rng.random()))


def of_the_standard_library(data):
    u = random.random() - 0.5
    return data.sum() - 2.0 * np.sign(u) * np.log(1 - 2 * np.abs(u))


RIGHT = (
    from_the_middle, from_an_interval, turned_round, of_two_logarithms, of_the_standard_library,
)  # fmt: skip


@pytest.mark.parametrize("function", RIGHT)
def test_inverted_uniforms_are_laplace_noise(function):
    law = read(function)
    assert isinstance(law, TracedLaw), law
    assert {kind for kind, _, _ in law.keys} == {"laplace"}
    losses = law.privacy_loss(np.array([[2.5], [4.0]]), PAIR)
    assert losses == pytest.approx([3 / 2, (abs(4 - 6) - abs(4 - 3)) / 2])
    values = law.sample(PAIR.dataset, 300, np.random.default_rng(1))
    assert kstest(values.ravel(), laplace(3.0, 2.0).cdf).pvalue > 1e-4


# Each is Laplace noise but for one thing.
WRONG = {
    "no sign": lambda x, rng: x.sum() + np.log(1 - 2 * np.abs(rng.random() - 0.5)),
    "half the range": lambda x, rng: (
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(1 - np.abs(u))
    ),
    "not in the middle": lambda x, rng: (
        x.sum() - np.sign(u := rng.random() - 0.4) * np.log(1 - 2 * np.abs(u))
    ),
    "not quite at its end": lambda x, rng: (
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(1.001 - 2 * np.abs(u))
    ),
    "moved": lambda x, rng: (
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(3 - 6 * np.abs(u))
    ),
    "one sided": lambda x, rng: x.sum() - np.log(rng.random()),
    "with a kink": lambda x, rng: (
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(1 - 2 * np.abs(u))
        - np.abs(u - 0.4999)
    ),
    "the draw released": lambda x, rng: [
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(1 - 2 * np.abs(u)), float(u)
    ],
    "the draw compared": lambda x, rng: [
        x.sum() - np.sign(u := rng.random() - 0.5) * np.log(1 - 2 * np.abs(u)), bool(u < 0.3)
    ],
    "for two values": lambda x, rng: [
        x.sum() + (z := np.sign(u := rng.random() - 0.5) * np.log(1 - 2 * np.abs(u))), x.max() + z
    ],
    "made twice of one draw": lambda x, rng: [
        total - np.sign(u) * np.log(1 - 2 * np.abs(u))
        for u in [rng.random() - 0.5] for total in (x.sum(), x.max())
    ],
    "two scales": lambda x, rng: x.sum() + np.log(rng.random()) - 2 * np.log(rng.random()),
    "a sum": lambda x, rng: x.sum() + (np.log(rng.random()) + np.log(rng.random())),
    "one draw in both": lambda x, rng: x.sum() + (np.log(u := rng.random()) - np.log(1 - u)),
    "looked at before": lambda x, rng: (
        (lambda u: x.sum() - math.copysign(1, u) * np.log(1 - 2 * np.abs(u)))(rng.random() - 0.5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_other_functions_of_uniforms_are_not_taken_for_laplace_noise(name):
    assert isinstance(read(WRONG[name]), MissingLaw)


def test_a_function_of_a_draw_is_that_of_its_number_where_it_is_looked_at():
    def looked_at(data, rng):
        u = rng.random() - 0.5
        noise = np.sign(u) * np.log(1 - 2 * np.abs(u))
        shown = float(noise)
        same = math.isclose(shown, math.copysign(1, u) * math.log(1 - 2 * abs(float(u))))
        return [data.sum() + rng.normal(), float(u), same]

    law = read(looked_at)
    assert isinstance(law, TracedLaw), law
    assert law.read_off.fixed
    values = law.sample(PAIR.dataset, 5, np.random.default_rng(0))
    written = [((v[1] - 6) ** 2 - (v[1] - 3) ** 2) / 2 for v in values]
    assert law.privacy_loss(values, PAIR) == pytest.approx(written)
