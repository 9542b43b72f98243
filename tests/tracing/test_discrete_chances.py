"""Discrete laws by closed forms: distances, scales, settled values, and distribution functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace

from dpaudit.tracing.discrete import (
    KINDS,
    Chances,
    CommonDraw,
    DiscreteLaplace,
    RoundedLaplace,
    SteppedValue,
    _get_value_probability,
    _least_gap,
    have_near_misses,
)
from dpaudit.tracing.draws import NoisyValue, draw_widely

CHOICE = KINDS["choice"]
LOG2 = math.log(2)


def chances(*entries):
    """Return entries, each a dict of values and their chances."""
    options = [list(one) for one in entries]
    return Chances(
        np.array(options, dtype=float), np.array([list(one.values()) for one in entries])
    )


P, Q = chances({0: 0.5, 1: 0.5}, {3: 0.25, 5: 0.75}), chances({0: 0.25, 1: 0.75}, {3: 0.5, 5: 0.5})


class Middle:
    """A generator all of whose uniform draws are one half."""

    def random(self, shape=None):
        return 0.5 if shape is None else np.full(shape, 0.5)


# --- choices --------------------------------------------------------------------------------------


def test_the_expected_loss_of_a_choice_is_that_of_its_chances():
    first = 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    second = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert CHOICE.divergence(P, Q) == pytest.approx(first + second)
    back = 0.25 * math.log(0.5) + 0.75 * math.log(1.5) + 0.5 * math.log(2) + 0.5 * math.log(2 / 3)
    assert CHOICE.divergence(Q, P) == pytest.approx(back)
    assert CHOICE.divergence(P, P) == 0
    lacking = CHOICE.divergence(chances({0: 0.5, 2: 0.5}), chances({0: 0.25, 1: 0.75}))
    assert lacking == pytest.approx(0.5 * math.log(2))


def test_a_choice_moves_by_its_total_variation():
    assert CHOICE.moved(P, Q) == pytest.approx(0.25 + 0.25)
    assert CHOICE.moved(Q, P) == pytest.approx(0.5)
    assert CHOICE.moved(chances({0: 1.0}), chances({1: 1.0})) == 1.0
    assert CHOICE.moved(P, P) == 0


def test_the_scale_of_a_choice_is_the_least_distance_of_its_values():
    assert CHOICE.scale(P).tolist() == [1.0, 2.0]
    three = Chances(np.array([[7.0, 1.0, 4.5]]), np.array([[0.25, 0.5, 0.25]]))
    assert CHOICE.scale(three).tolist() == [2.5]
    assert CHOICE.scale(Chances(np.array([[7.0, 1.0]]), np.array([[1.0, 0.0]]))).tolist() == [1.0]
    assert _least_gap(np.array([4.0])) == 1.0


@pytest.mark.parametrize(
    ("value", "settled"),
    [
        ([0.0, 5.0], [0.0, 5.0]),
        ([1 + 1e-7, 5 - 1e-7], [1.0, 5.0]),
        ([1e-6, 3 + 2e-6], [0.0, 3.0]),
        ([2e-6, 3.0], None),
        ([0.0, 3 + 4e-6], None),
        ([0.5, 3.0], None),
        ([math.nan, 3.0], None),
    ],
)
def test_a_value_settles_at_the_nearest_option(value, settled):
    found = CHOICE.settle(np.array(value), P)
    assert found is None if settled is None else found.tolist() == settled


def test_a_loss_of_choices_adds_up_over_entries():
    value = np.array([1.0, 3.0])
    expected = math.log(0.5 / 0.75) + math.log(0.25 / 0.5)
    assert CHOICE.loss(value, P, Q) == pytest.approx(expected)
    assert float(CHOICE.enclosed_loss(value, P, Q)) == pytest.approx(expected)
    assert CHOICE.loss(np.array([7.0, 3.0]), Q, P) != CHOICE.loss(value, Q, P)


def test_values_that_come_twice_have_both_their_chances():
    twice = Chances(np.array([[3.0, 5.0, 3.0, 9.0]]), np.array([[0.25, 0.5, 0.25, 0.0]]))
    assert twice.law_of((0,)) == {3.0: 0.5, 5.0: 0.5}
    assert (twice.shape, len(twice)) == ((1,), 1)
    assert _get_value_probability({3.0: 0.5}, 3.0 + 3e-9) == 0.5
    assert _get_value_probability({3.0: 0.5}, 3.0 + 5e-9) == 0.0
    assert _get_value_probability({3.0: 0.5, 3.0 + 1e-12: 0.25}, 3.0 - 1e-12) == 0.75


@pytest.mark.parametrize(
    ("options", "probabilities", "fits"),
    [
        ([[0.0, 1.0]], [[0.5, 0.5]], True),
        ([[0.0, 1.0]], [[0.5, 0.5 + 9e-7]], True),
        ([[0.0, 1.0]], [[0.5, 0.5 + 2e-6]], False),
        ([[0.0, 1.0]], [[1.5, -0.5]], False),
        ([[0.0, 1.0]], [[math.nan, 0.5]], False),
        ([[0.0, math.inf]], [[0.5, 0.5]], False),
        ([[0.0, 1.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.4]], False),
    ],
)
def test_chances_add_up_to_one(options, probabilities, fits):
    assert (Chances(np.array(options), np.array(probabilities)).refusal is None) is fits


def test_a_choice_is_made_as_long_as_another_and_even():
    one, longer = chances({0: 0.25, 1: 0.75}), chances({0: 0.5, 1: 0.5}, {4: 0.125, 5: 0.875})
    made = one.extend_by(longer)
    assert made.options.tolist() == [[0, 1], [4, 5]]
    assert made.chances.tolist() == [[0.25, 0.75], [0.125, 0.875]]
    assert longer.extend_by(one).chances.tolist() == longer.chances.tolist()
    uneven = Chances(np.array([[0.0, 1.0, 2.0]]), np.array([[0.9, 0.0, 0.1]]))
    assert uneven.widened(1.0).chances.tolist() == [[0.5, 0.0, 0.5]]
    assert uneven.widened(1.0).options.tolist() == [[0.0, 1.0, 2.0]]


def test_uniforms_lie_between_the_chances_below_and_at_a_value():
    found = CHOICE.uniforms(np.array([1.0, 3.0]), P, Middle())
    assert found.tolist() == [0.75, 0.125]


def test_a_choice_is_drawn_by_the_chances_before_it():
    uneven = Chances(np.array([[5.0, 6.0, 7.0]] * 2), np.array([[0.4, 0.2, 0.4], [0.6, 0.2, 0.2]]))
    assert CHOICE.draw(uneven, Middle()).tolist() == [6.0, 5.0]
    meeting = NoisyValue("choice", "here", Chances(np.array([[5.0, 6.0]]), np.array([[1.0, 0.0]])))
    assert draw_widely(meeting, np.random.default_rng(0)).tolist() == [5.0]


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ({0.3: 0.5, 1: 0.5}, {0.1 + 0.2: 0.5, 1: 0.5}, True),
        ({1: 0.5, 0.3: 0.5}, {1: 0.5, 0.1 + 0.2: 0.5}, True),
        ({0.3: 0.5, 1: 0.5}, {0.3: 0.5, 1: 0.5}, False),
        ({0.3: 0.5, 1: 0.5}, {0.3: 0.5, 1 + 1.9e-9: 0.5}, True),
        ({0.3: 0.5, 1: 0.5}, {0.3: 0.5, 1 + 2.1e-9: 0.5}, False),
        ({0: 0.5, 1: 0.5}, {2: 0.5, 3: 0.5}, False),
    ],
)
def test_near_misses_differ_in_their_last_digits_alone(one, other, near):
    assert have_near_misses(chances(one), chances(other)) is near
    assert have_near_misses(chances(other), chances(one)) is near


# --- whole numbers --------------------------------------------------------------------------------


STEPS = np.arange(-400.0, 401.0)


def stepped(centre, ratio):
    return SteppedValue(
        np.atleast_1d(np.array(centre, float)), np.atleast_1d(np.array(ratio, float))
    )


@pytest.mark.parametrize("law", [DiscreteLaplace(), RoundedLaplace()])
@pytest.mark.parametrize("ratio", [0.3, 0.9])
def test_probabilities_add_up_to_the_distribution_function(law, ratio):
    mass = np.exp(law._log_chance(STEPS, stepped(0, ratio)))
    assert mass.sum() == pytest.approx(1.0)
    assert law._below(STEPS, np.array(ratio)) == pytest.approx(np.cumsum(mass), abs=1e-12)
    assert float(mass[400]) == pytest.approx(
        (1 - ratio) / (1 + ratio) if type(law) is DiscreteLaplace else 1 - math.sqrt(ratio)
    )


def test_rounded_noise_has_the_chances_of_an_interval_of_length_one():
    scale = 1.7
    own = stepped(0, math.exp(-1 / scale))
    edges = laplace.cdf(np.array([-3.5, -2.5, -0.5, 0.5, 1.5]), scale=scale)
    found = np.exp(RoundedLaplace()._log_chance(np.array([-3.0, 0.0, 1.0]), own))
    assert found == pytest.approx([edges[1] - edges[0], edges[3] - edges[2], edges[4] - edges[3]])
    for law in (DiscreteLaplace(), RoundedLaplace()):
        for value in (-3.0, 0.0, 1.0):
            exact = float(law.enclosed_loss(np.array([value]), own, stepped(1, own.ratio)))
            assert exact == pytest.approx(law.loss(np.array([value]), own, stepped(1, own.ratio)))


def test_losses_of_whole_numbers_are_steps_times_the_log_ratio():
    own, other = stepped([0, 0], 0.5), stepped([3, 0], 0.5)
    own, other = (SteppedValue(one.centre, np.full(2, 0.5)) for one in (own, other))
    law = DiscreteLaplace()
    assert law.loss(np.array([0.0, 9.0]), own, other) == pytest.approx(3 * LOG2)
    assert law.loss(np.array([3.0, 9.0]), own, other) == pytest.approx(-3 * LOG2)
    assert law.loss(np.array([1.0, 9.0]), own, other) == pytest.approx(LOG2)
    assert law.moved(own, other) == law.moved(other, own) == 3.0
    assert law.scale(own) == pytest.approx([1 / LOG2] * 2)
    apart = 3 * LOG2
    assert law.divergence(own, other) == pytest.approx(apart - 1 + math.exp(-apart))
    wider = stepped(0, 0.25)
    assert law.loss(np.array([0.0]), stepped(0, 0.5), wider) == pytest.approx(
        math.log((0.5 / 1.5) / (0.75 / 1.25))
    )


def test_residuals_lie_between_the_distribution_function_before_and_at_a_value():
    own = stepped([4.0, 4.0], 0.5)
    own = SteppedValue(own.centre, np.full(2, 0.5))
    found = DiscreteLaplace().uniforms(np.array([4.0, 3.0]), own, Middle())
    # P(k <= -1) = 1/3, P(k = 0) = 1/3, P(k = -1) = 1/6
    assert found == pytest.approx([0.5, 0.25])


@pytest.mark.parametrize(
    ("value", "settled"), [(3.0, 3.0), (3 + 9e-7, 3.0), (3 + 2e-6, None), (2.5, None)]
)
def test_a_value_settles_at_a_whole_number(value, settled):
    found = DiscreteLaplace().settle(np.array([value]), stepped(0, 0.5))
    assert found is None if settled is None else found.tolist() == [settled]


@pytest.mark.parametrize(
    ("centre", "ratio", "fits"),
    [
        (3.0, 0.5, True),
        (3.5, 0.5, False),
        (2.0**52, 0.5, False),
        (1 - 2.0**52, 0.5, True),
        (0.0, 0.0, False),
        (0.0, 1.0, False),
        (math.nan, 0.5, False),
    ],
)
def test_discrete_noise_needs_a_whole_number_and_a_scale(centre, ratio, fits):
    assert (stepped(centre, ratio).refusal is None) is fits


def test_a_public_draw_has_no_loss_whatever_it_is():
    law, own = KINDS["public"], CommonDraw(lambda rng: rng.random(2), b"", (2,), None)
    value = law.draw(own, np.random.default_rng(3))
    assert value.tolist() == np.random.default_rng(3).random(2).tolist()
    assert law.settle(value, own) is value
    assert (law.loss(value, own, own), float(law.enclosed_loss(value, own, own))) == (0.0, 0.0)
    assert law.tilted(own, own, 2.0, np.random.default_rng(3))[1:] == (0.0, 0.0)
    assert (law.divergence(own, own), law.moved(own, own)) == (0.0, 0.0)
    assert law.scale(own).tolist() == [1e-6, 1e-6]
    assert law.uniforms(value, own, np.random.default_rng(0)).size == 0


# --- meetings -------------------------------------------------------------------------------------


def meet(parameters, kind="choice", place="f.py:3 in f"):
    return NoisyValue(kind, place, parameters)


def test_meetings_are_alike_after_the_shorter_one_has_the_others_coins():
    one, other = meet(chances({0: 0.5, 1: 0.5})), meet(chances({0: 0.25, 1: 0.75}, {0: 1, 1: 0}))
    assert one.align(other)
    assert one.key == other.key == ("choice", "f.py:3 in f", (2,))
    assert one.parameters.chances.tolist() == [[0.5, 0.5], [1, 0]]
    assert other.parameters.chances.tolist() == [[0.25, 0.75], [1, 0]]
    back = meet(chances({0: 0.5, 1: 0.5}))
    assert other.align(back)
    assert back.parameters.chances.tolist() == [[0.5, 0.5], [1, 0]]


@pytest.mark.parametrize(
    "other",
    [
        meet(chances({0: 0.5, 1: 0.5}), place="f.py:4 in f"),
        meet(chances({0: 0.5, 1: 0.5}), kind="public"),
        meet(Chances(np.zeros((1, 3)), np.full((1, 3), 1 / 3))),
        meet(Chances(np.zeros((1, 4, 2)), np.full((1, 4, 2), 0.5))),
    ],
)
def test_meetings_of_another_place_law_or_width_are_never_alike(other):
    assert not meet(chances({0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.5})).align(other)


def test_a_single_choice_and_other_noise_are_not_made_longer():
    single = Chances(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    assert not meet(single).align(meet(single))
    noise = SteppedValue(np.zeros(2), np.full(2, 0.5))
    assert not meet(noise, "discrete laplace").align(meet(noise, "discrete laplace"))


def test_meetings_differ_where_draws_or_last_digits_do():
    drawn = [CommonDraw(lambda rng: 0.0, given, (), None) for given in (b"1", b"2")]
    assert meet(drawn[0], "public").differs_from(meet(drawn[0], "public")) is None
    assert meet(drawn[0], "public").differs_from(meet(drawn[1], "public"))
    one, near = chances({0.3: 0.5, 1: 0.5}), chances({0.1 + 0.2: 0.5, 1: 0.5})
    assert meet(one).differs_from(meet(one)) is None
    assert meet(one).differs_from(meet(near))
    assert meet(near).differs_from(meet(one))
    assert meet(one).law is KINDS["choice"]
