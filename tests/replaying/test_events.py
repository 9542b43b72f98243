"""Which events there are, at which thresholds, and which of them is the best: worked by hand."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from scipy.special import ndtr

from dpaudit.replaying.events import (
    OutputCondition,
    ReplayEvent,
    _choose_thresholds,
    _find_events,
    _find_product_events,
    _find_shared_noise_events,
    _find_single_events,
    _find_sum_events,
    _is_nearly_equal,
    _is_noise_cancelling,
    _may_equal,
    best_event,
    same_law,
)
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw


def law(kind="laplace", centre=0.0, factor=1.0, entry=0, made="", **given):
    return NumberLaw(kind, centre, factor, StandardDraw("d#0", entry, made), **given)


def laws(*numbers, structure="s"):
    return Laws(structure, (), [], list(numbers))


def event(probable, other, kind="all of", places=(0,), favours="dataset"):
    return ReplayEvent(
        kind, favours, tuple(OutputCondition(n, True, 0.0) for n in places), probable, other
    )


@pytest.mark.parametrize(
    ("probable", "other", "delta", "epsilon"),
    [
        (0.5, 0.25, 0.0, math.log(2)),
        (0.5, 0.25, 0.1, math.log(0.4 / 0.25)),
        (0.25, 0.5, 0.0, 0.0),
        (0.5, 0.0, 0.0, math.inf),
        (0.5, 0.0, 0.4, math.inf),
        (0.5, 0.0, 0.5, 0.0),
        (0.5, 0.25, 0.6, 0.0),
        (1.0, 0.0, 1.0, 0.0),
    ],
)
def test_an_event_proves_the_logarithm_of_its_ratio_past_delta(probable, other, delta, epsilon):
    assert event(probable, other).epsilon(delta) == pytest.approx(epsilon, abs=1e-9)


def chosen(monkeypatch, *events, delta=0.0):
    monkeypatch.setattr("dpaudit.replaying.events._find_events", lambda *_: iter(events))
    return best_event(laws(), laws(), delta)


def test_the_best_event_proves_most_then_happens_most_then_is_the_shortest(monkeypatch):
    weak, strong = event(0.5, 0.4), event(0.1, 0.01)
    assert chosen(monkeypatch, weak, strong) is strong
    assert chosen(monkeypatch, strong, weak, delta=0.09) is weak
    rare = event(0.05, 0.005)
    assert chosen(monkeypatch, rare, strong) is strong
    long = event(0.1, 0.01, places=(0, 1))
    assert chosen(monkeypatch, long, strong) is strong
    assert chosen(monkeypatch, strong, long) is strong
    assert chosen(monkeypatch, event(0.5, 0.5), event(0.4, 0.5)) is None
    assert chosen(monkeypatch) is None
    sure, unsure = event(1.0, 0.0, "equal"), event(0.5, 0.0)
    assert chosen(monkeypatch, unsure, sure) is sure
    assert chosen(monkeypatch, strong, unsure) is unsure


@pytest.mark.parametrize(("first", "second"), [(None, None), ("s", None), (None, "s"), ("s", "t")])
def test_outputs_of_other_structures_have_no_events(first, second):
    one, other = laws(law(), structure=first), laws(law(centre=1.0), structure=second)
    assert list(_find_events(one, other, 0.0)) == []


def test_there_are_events_for_either_dataset_and_none_of_equal_laws():
    one, other = laws(law(), law(entry=1), None), laws(law(centre=1.0), law(entry=1), law())
    found = list(_find_events(one, other, 0.0))
    assert {e.favours for e in found} == {"dataset", "neighbour"}
    assert {e.conditions[0].place for e in found} == {0}
    for e in found:
        assert e.epsilon(0.0) == pytest.approx(1.0)
        assert e.conditions[0].above is (e.favours == "neighbour")
    assert list(_find_events(one, one, 0.0)) == []


def test_a_constant_on_one_side_is_an_event_and_where_both_may_have_it_is_none():
    found = list(_find_single_events(3, NumberLaw("constant", 7.0), law(), "neighbour", 0.0))
    assert found[0] == ReplayEvent("equal", "neighbour", (OutputCondition(3, True, 7.0),), 1.0, 0.0)
    for q in (NumberLaw("constant", 7.0), law(post="round"), law(high=7.0), law(low=7.0)):
        kinds = [
            e.kind for e in _find_single_events(3, NumberLaw("constant", 7.0), q, "dataset", 0.0)
        ]
        assert "equal" not in kinds
    assert _may_equal(law(), math.nan)
    assert not _may_equal(law(low=6.0, high=8.0), 7.0)


def test_of_events_that_prove_as_much_the_more_probable_one_is_taken():
    (found,) = _find_single_events(0, law(), law(centre=1.0), "dataset", 0.0)
    (condition,) = found.conditions
    # At or below its centre: further down as much is proved, and less probably.
    assert (condition.above, condition.threshold) == (False, 0.0)
    assert (found.probable, found.other) == (0.5, pytest.approx(math.exp(-1) / 2))


def test_no_event_is_as_rare_as_delta_or_as_what_no_sampler_draws():
    def singles(delta, centre=1.0, **given):
        return list(
            _find_single_events(0, law(**given), law(centre=centre, **given), "dataset", delta)
        )

    (found,) = singles(0.3)
    assert found.probable > 0.3
    exact = 1.0 + 2 * math.log(1 - 0.3)
    assert exact - 0.03 < found.epsilon(0.3) <= exact
    assert singles(0.9) == []
    # A Gaussian tail tells the more the further out it is, but none is looked at below 1e-9.
    (found,) = singles(0.0, kind="normal")
    assert 1e-9 < found.probable < 2e-8
    assert ndtr(found.conditions[0].threshold) == pytest.approx(found.probable)


def test_thresholds_are_centres_ends_steps_and_the_middles():
    steps = [step / 2 for step in range(-16, 17)]
    found = _choose_thresholds(law("normal", 3.0, 2.0, low=-50.0), NumberLaw("constant", 4.5))
    due = sorted({3.0, -50.0, 4.5, *(3.0 + 2.0 * step for step in steps)})
    assert found[: len(due)] == due
    assert found[len(due) :] == [(a + b) / 2 for a, b in itertools.pairwise(due)]
    far = _choose_thresholds(law(), law())
    assert (min(far), max(far)) == (-40.0, 40.0)  # exponential tails have laws so far out
    for kind, reach in (("gumbel", 40), ("logistic", 40), ("exponential", 40), ("cauchy", 8)):
        assert max(_choose_thresholds(law(kind), law(kind))) == reach
    none = _choose_thresholds(NumberLaw("constant", math.nan), NumberLaw("constant", math.inf))
    assert none == []


# Products


def product(events, pairs, delta=0.0):
    return list(_find_product_events(events, pairs, "dataset", delta))


def pairs_of(*draws):
    """Return pairs of laws whose numbers have these draws, ``(entry, made)`` of both datasets."""
    return [
        (n, *(law(entry=entry, made=made) for entry, made in both)) for n, both in enumerate(draws)
    ]


SINGLE = [
    event(0.5, 0.125, places=(0,)),
    event(0.25, 0.125, places=(1,)),
    event(0.5, 0.4, places=(2,)),
]
APART = [((0, ""), (0, "")), ((1, ""), (1, "")), ((2, ""), (2, ""))]


def test_numbers_of_their_own_draws_multiply_the_clearest_first():
    two, three = product(SINGLE[::-1], pairs_of(*APART))
    assert (two.probable, two.other) == (0.125, 0.125**2)
    assert [one.place for one in two.conditions] == [0, 1]
    assert (three.probable, three.other) == (0.0625, pytest.approx(0.4 / 64))
    assert [one.place for one in three.conditions] == [0, 1, 2]
    assert {two.favours, three.favours} == {"dataset"}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shared", [(0, ""), (5, "less 0 of d#0"), (0, "-log(u)")])
def test_numbers_that_share_a_draw_on_either_dataset_do_not(side, shared):
    second = [(1, ""), (1, "")]
    second[side] = shared
    (found,) = product(SINGLE, pairs_of(APART[0], second, APART[2]))
    assert [one.place for one in found.conditions] == [0, 2]


def test_a_constant_an_equality_and_what_is_too_rare_are_in_no_product():
    pairs = pairs_of(*APART)
    n, p, _ = pairs[1]
    constant = [pairs[0], (n, p, NumberLaw("constant", 0.0)), pairs[2]]
    (found,) = product(SINGLE, constant)
    assert [one.place for one in found.conditions] == [0, 2]
    equal = [replace(SINGLE[0], kind="equal"), *SINGLE[1:]]
    (found,) = product(equal, pairs)
    assert [one.place for one in found.conditions] == [1, 2]
    assert len(product(SINGLE, pairs, delta=0.1)) == 1
    assert product(SINGLE, pairs, delta=0.125) == []
    rare = [event(1e-5, 1e-6, places=(n,)) for n in range(2)]
    assert product(rare, pairs) == []
    never = [event(0.5, 0.0, places=(0,)), SINGLE[1]]
    assert product(never, pairs) == []  # the first alone proves more


# Sums


def normal(centre, factor, entry, **given):
    return law("normal", centre, factor, entry, **given)


def sums(*pairs):
    return list(_find_sum_events([(n, p, q) for n, (p, q) in enumerate(pairs)], "dataset"))


TWO = [(normal(1.0, 2.0, 0), normal(0.0, -2.0, 0)), (normal(0.0, 0.5, 1), normal(1.0, 0.5, 1))]


def test_a_sum_has_weights_by_which_its_numbers_tell_most():
    found = sums(*TWO)
    apart = math.hypot(1 / 2.0, 1 / 0.5)
    scale = apart  # of sum (centre - other centre) / factor^2 * noise
    for one in found:
        assert [c.weight for c in one.conditions] == [0.25, -4.0]
        assert {c.above for c in one.conditions} == {True}
        steps = (one.conditions[0].threshold - 0.25) / scale
        assert one.probable == pytest.approx(float(ndtr(-steps)))
        assert one.other == pytest.approx(float(ndtr(-steps - apart)))
    steps = [(one.conditions[0].threshold - 0.25) / scale for one in found]
    assert min(steps) == pytest.approx(-apart)
    assert 5.8 < max(steps) < 6.0  # further out an event has less than 1e-9
    assert 0 < max(b - a for a, b in itertools.pairwise(steps)) < 0.15


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    "change",
    [{"kind": "laplace"}, {"post": "round"}, {"low": 0.0}, {"high": 9.0}, {"factor": 0.6}],
)
def test_a_number_that_is_no_line_of_gaussian_noise_is_in_no_sum(side, change):
    pair = list(TWO[1])
    pair[side] = replace(pair[side], **change)
    assert sums(TWO[0], tuple(pair)) == []
    third = normal(0.0, 0.5, 2), normal(1.0, 0.5, 2)
    assert {c.place for one in sums(TWO[0], tuple(pair), third) for c in one.conditions} == {0, 2}


@pytest.mark.parametrize("side", [0, 1])
def test_a_draw_is_once_in_a_sum(side):
    pair = list(TWO[1])
    pair[side] = replace(pair[side], draw=StandardDraw("d#0", 0))
    assert sums(TWO[0], tuple(pair)) == []
    assert sums(TWO[0]) == []


# Differences


def test_the_same_noise_cancels_in_a_difference_that_moves():
    one = laws(law(centre=1.0, factor=2.0), law(centre=5.0, factor=-4.0))
    other = laws(law(centre=1.5, factor=2.0), law(centre=5.0, factor=-4.0))
    (found,) = _find_shared_noise_events(one, other)
    assert (found.kind, found.favours, found.probable, found.other) == (
        "equal",
        "dataset",
        1.0,
        0.0,
    )
    first, second = found.conditions
    assert (first.place, first.weight, second.place, second.weight) == (0, 1.0, 1, 0.5)
    assert first.threshold == second.threshold == 1.0 + 0.5 * 5.0
    along = laws(law(centre=1.5, factor=2.0), law(centre=4.0, factor=-4.0))
    assert list(_find_shared_noise_events(one, along)) == []  # 1.5 + 0.5 * 4 is 3.5 as well
    scaled = laws(law(centre=1.5, factor=2.0), law(centre=5.0, factor=-4.1))
    assert list(_find_shared_noise_events(one, scaled)) == []
    apart = laws(law(centre=1.5, factor=2.0), law(centre=5.0, factor=-4.0, entry=1))
    assert list(_find_shared_noise_events(one, apart)) == []
    missing = laws(law(centre=1.5, factor=2.0), None)
    assert (
        list(_find_shared_noise_events(one, missing))
        == list(_find_shared_noise_events(missing, one))
        == []
    )


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("change", [{"post": "round"}, {"low": 0.0}, {"high": 0.0}])
def test_what_is_rounded_or_clipped_cancels_with_nothing(side, change):
    pair = [law(), law(centre=1.0)]
    assert _is_noise_cancelling(*pair)
    pair[side] = replace(pair[side], **change)
    assert not _is_noise_cancelling(*pair)


def test_a_difference_that_rounding_explains_is_none():
    def sides(moved):
        return [
            laws(law(centre=1e6 + x, factor=1.0), law(centre=0.0, factor=1.0)) for x in (0, moved)
        ]

    assert list(_find_shared_noise_events(*sides(0.5))) == []
    assert len(list(_find_shared_noise_events(*sides(1.5)))) == 1
    assert len(list(_find_shared_noise_events(*sides(-1.5)))) == 1
    noise = [laws(law(centre=x, factor=1e6), law(centre=0.0, factor=1e6)) for x in (0, 0.5)]
    assert list(_find_shared_noise_events(*noise)) == []


# Equality


@pytest.mark.parametrize(
    ("one", "other", "unit", "near"),
    [
        (1.0, 1.0 + 1e-10, 0.0, True),
        (1.0, 1.0 + 1e-8, 0.0, False),
        (1.0, 1.0 + 1e-8, 100.0, True),
        (0.0, 1e-300, 0.0, False),
        (-1.0, 1.0, 0.0, False),
        (math.nan, math.nan, 0.0, True),
        (math.nan, 1.0, 0.0, False),
        (1.0, math.nan, 0.0, False),
        (math.inf, math.inf, 0.0, True),
        (math.inf, -math.inf, 0.0, False),
        (math.inf, 1.0, 0.0, False),
        (1.0, -math.inf, 1e9, False),
    ],
)
def test_numbers_are_near_by_the_larger_of_them_and_of_their_unit(one, other, unit, near):
    assert _is_nearly_equal(one, other, unit) is near


def test_an_end_of_one_law_alone_makes_another_law():
    for name in ("low", "high"):
        assert not same_law(law(), law(**{name: 5.0}))
        assert not same_law(law(**{name: 5.0}), law(**{name: 5.1}))
        assert same_law(law(**{name: 5.0}), law(**{name: 5.0 + 1e-10}))
    assert not same_law(law(centre=math.nan), law())
    assert same_law(law(centre=1.0, factor=1e9), law(centre=1.5, factor=1e9))
    assert not same_law(law(centre=1.0, factor=1e8), law(centre=1.5, factor=1e8))
