"""How well a choice among noisy values tells two datasets apart, by its exact probabilities."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from dpaudit import Domain
from dpaudit.freezing import primitives, recorder
from dpaudit.freezing.outputs import flatten_output
from dpaudit.freezing.patching import patch_primitives
from dpaudit.search.choices import certifiable_loss, choice_size, compute_choice_scores
from dpaudit.search.engine import search_pairs


def by_all_sets(one, other, outputs=2_000):
    """Return the loss of the best set of items, each of them tried, less two standard errors."""
    laws = [np.exp(side) / np.exp(side).sum() for side in (one, other)]
    found = [0.0]
    for count in range(1, len(one)):
        for chosen in combinations(range(len(one)), count):
            p, q = (max(law[list(chosen)].sum(), 1 / outputs) for law in laws)
            for high, low in ((p, q), (q, p)):
                errors = math.sqrt(((1 - high) / high + (1 - low) / low) / outputs)
                found.append(math.log(high / low) - 2 * errors)
    return max(found)


@pytest.mark.parametrize("seed", range(20))
def test_no_set_of_items_certifies_much_more_than_those_in_the_order_of_their_ratios(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(0, 2, (2, 5))
    best = by_all_sets(one, other)
    assert 0.9 * best - 0.05 <= certifiable_loss(one, other) <= best + 1e-12


def test_two_items_have_the_loss_of_a_coin():
    p, q = 1 / (1 + math.e), math.e / (1 + math.e)
    errors = math.sqrt(((1 - p) / p + (1 - q) / q) / 2_000)
    found = certifiable_loss(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert found == pytest.approx(1 - 2 * errors)


def test_a_shift_of_all_scores_and_an_item_that_nobody_chooses_show_nothing():
    one = np.array([0.0, 1.0, 40.0])
    assert certifiable_loss(one, one + 9) == 0.0
    assert certifiable_loss(one, one + np.array([3.0, 0.0, 0.0])) == 0.0


def test_an_item_that_one_side_never_chooses_shows_as_much_as_so_many_outputs_can():
    found = certifiable_loss(np.array([0.0, 0.0]), np.array([0.0, 1e9]))
    errors = math.sqrt((1 + 1999) / 2_000)
    assert found == pytest.approx(math.log(1_000) - 2 * errors, abs=1e-3)


def runs_of(function, *datasets):
    with patch_primitives(function, function):
        made = [
            recorder.call_recorded(function, one, 1, primitives.generator()) for one in datasets
        ]
    return made[0], flatten_output(made[0].value, made[0].error), made[1]


def test_the_least_and_the_largest_are_told_apart():
    def largest(data, rng):
        return int(np.argmax(np.array(data) + rng.gumbel(0, 2.0, 2)))

    def least(data, rng):
        return int(np.argmin(np.array(data) + rng.gumbel(0, 2.0, 2)))

    # A gain of a rare item: for the largest it is the first, for the least the second.
    pair = ([0.0, 4.0], [2.0, 4.0])
    up, down = np.array([0.0, 2.0]), np.array([1.0, 2.0])
    for function, sign in ((largest, 1), (least, -1)):
        size, moved = choice_size(*runs_of(function, *pair))
        assert moved == 1.0
        assert size == pytest.approx(certifiable_loss(sign * up, sign * down) + 1e-3)


def test_scores_of_several_calls_stand_side_by_side_in_scales():
    def in_turn(data, rng):
        return int(np.argmax([one + rng.laplace(0, 2.0) for one in data]))

    run, output, other = runs_of(in_turn, [0.0, 4.0, 6.0], [2.0, 4.0, 6.0])
    assert compute_choice_scores(run)[0].tolist() == [0.0, 2.0, 3.0]
    assert choice_size(run, output, other)[1] == 1.0


@pytest.mark.parametrize(
    "function",
    [
        lambda data, rng: np.round(np.array(data) + rng.normal(0, 1, 2)),
        lambda data, rng: round(sum(data) * 50 + rng.laplace() + rng.laplace()),
        lambda data, rng: data[0] + rng.normal(),
        lambda data, rng: 1,
    ],
    ids=["as many as scores", "a total", "a number", "no noise"],
)
def test_what_is_no_choice_is_measured_otherwise(function):
    assert choice_size(*runs_of(function, [1.0, 2.0], [1.0, 3.0])) is None


def test_a_text_may_be_of_the_largest_or_the_least():
    def named(data, rng):
        return "ab"[int(np.argmax(np.array(data) + rng.gumbel(0, 1.0, 2)))]

    size, moved = choice_size(*runs_of(named, [0.0, 1.0], [1.0, 0.0]))
    assert size == pytest.approx(
        certifiable_loss(np.array([0.0, 1.0]), np.array([1.0, 0.0])) + 2e-3
    )
    assert moved == 2.0


def choose(data, rng):
    """Choose the column with the largest total; the noise is of half the scale that is needed."""
    return int(np.argmax(data.sum(axis=0) + rng.gumbel(0, 1.0, data.shape[1])))


def test_one_item_goes_up_and_the_others_down():
    domain = Domain(bounds=(0, 1), records=5, columns=4)
    found = search_pairs(choose, domain, "replace-record", calls=700).found[0]
    assert found.moved == 2.0
    assert found.size > 1.4


@pytest.mark.parametrize("factor", [2.0, -2.0, 0.5])
def test_noise_that_is_multiplied_has_a_scale_as_many_times_as_large(factor):
    def multiplied(data, rng):
        return int(np.argmax(np.array(data) + factor * rng.gumbel(0, 3.0, 2)))

    def plain(data, rng):
        return int(np.argmax(np.array(data) + rng.gumbel(0, 3.0, 2)))

    pair = [6.0, 12.0], [6.0, 12.0]
    centres, noises = compute_choice_scores(runs_of(multiplied, *pair)[0])
    assert centres.tolist() == [6 / 3 / abs(factor), 12 / 3 / abs(factor)]
    known = compute_choice_scores(runs_of(plain, *pair)[0])[1]
    assert noises.tolist() == pytest.approx((np.sign(factor) * known).tolist())
