"""The last bits of floats: against exact fractions, and on noise that is right in real numbers."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.algorithms.known_answer.laplace import Laplace, NoisyHistogram
from dpaudit.attacks.distinguishers.lowest_bits import LOWEST_BITS, fit, lowest_exponents
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import choose_event, event_bound


def exact(value):
    """Return k of an odd multiple of 2^k, by integers."""
    over, under = Fraction(value).as_integer_ratio()
    return (over & -over).bit_length() - 1 if under == 1 else 1 - under.bit_length()


def test_exponents_are_exact():
    rng = default_rng(0)
    values = np.concatenate(
        [
            rng.normal(size=200) * 2.0 ** rng.integers(-900, 900, 200),
            rng.integers(-999, 999, 200) * 2.0 ** rng.integers(-40, 40, 200),
            [1.0, -0.5, 2.0**-1074, 3 * 2.0**-1074, np.finfo(float).max],
        ]
    )
    values = values[values != 0]
    assert lowest_exponents(values).tolist() == [exact(value) for value in values.tolist()]


def certified(mechanism, pair, trials, alpha):
    rng = default_rng(1)

    def draw():
        return [mechanism.sample(data, trials, rng) for data in (pair.dataset, pair.neighbour)]

    score = pickle.loads(pickle.dumps(fit(None, None, *draw(), rng)))
    setting, fresh = ([score(side) for side in draw()] for _ in range(2))
    return event_bound(*fresh, choose_event(*setting, 0.0), 0.0, alpha).lower


def test_textbook_laplace_noise_in_floats_is_refuted():
    answer = KNOWN_ANSWERS["laplace-floating-point"]
    assert certified(answer.mechanism, answer.pair, 4000, 1e-6) > 3 > answer.claimed


@pytest.mark.parametrize("mechanism", [Laplace(epsilon=0.1), NoisyHistogram(epsilon=0.1)])
def test_so_is_any_noise_that_is_added_as_doubles(mechanism):
    """What numpy draws is no better: its laws are those of real numbers only up to their bits."""
    assert certified(mechanism, mechanism.pair(), 20_000, 1e-6) > 2 > mechanism.true_epsilon


@pytest.mark.parametrize("name", ["laplace", "noisy-histogram", "gaussian", "prefix-sum"])
def test_on_a_grid_no_mechanism_is_accused(name):
    answer = KNOWN_ANSWERS[name]
    assert certified(answer.mechanism, answer.pair, 4000, 1e-6) <= answer.event


@pytest.mark.parametrize("bad", [[math.nan, 1.0], [math.inf, 1.0], []])
def test_what_has_no_bits_is_refused(bad):
    with pytest.raises(InvalidArgument, match=r"^on_dataset: "):
        fit(None, None, np.array(bad), np.ones(2), default_rng(0))


def test_the_card_loads_this_code():
    assert LOWEST_BITS.load() is fit
    assert not LOWEST_BITS.needs_law
