"""Every event about laws has the probabilities that draws of these laws give it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from dpaudit.replaying.events import (
    OutputCondition,
    ReplayEvent,
    _find_events,
    _may_equal,
    best_event,
    same_law,
)
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw, is_law_held

COUNT = 60_000
STANDARD = {
    "normal": lambda rng: rng.normal(size=COUNT),
    "laplace": lambda rng: rng.laplace(size=COUNT),
    "uniform": lambda rng: rng.random(COUNT),
    "exponential": lambda rng: rng.exponential(size=COUNT),
}


def laws(*numbers):
    return Laws("two numbers", (), [f"output[{n}]" for n in range(len(numbers))], list(numbers))


def law(kind, centre, factor, entry=0, **given):
    return NumberLaw(kind, centre, factor, StandardDraw(f"{kind}#0", entry), **given)


def drawn(side, rng):
    """Return outputs by the laws of one dataset, shape ``(numbers, COUNT)``; a draw is shared."""
    standard: dict[StandardDraw, np.ndarray] = {}
    found = []
    for one in side.numbers:
        if one.constant:
            found.append(np.full(COUNT, one.centre))
            continue
        if one.draw not in standard:
            standard[one.draw] = STANDARD[one.kind](rng)
        found.append(one.predicted(standard[one.draw]))
    return np.array(found)


def happened(event, outputs):
    if event.kind == "sum":
        weights = np.array([one.weight for one in event.conditions])
        places = [one.place for one in event.conditions]
        return weights @ outputs[places] >= event.conditions[0].threshold
    if event.kind == "equal":
        value = sum(one.weight * outputs[one.place] for one in event.conditions)
        return np.isclose(value, event.conditions[0].threshold, rtol=1e-9, atol=1e-12)
    each = [
        outputs[one.place] >= one.threshold if one.above else outputs[one.place] <= one.threshold
        for one in event.conditions
    ]
    return np.all(each, axis=0)


PAIRS = {
    "two Gaussian numbers of other scales": (
        laws(law("normal", 0.0, 1.0), law("normal", 0.0, 5.0, 1)),
        laws(law("normal", 0.5, 1.0), law("normal", -2.0, 5.0, 1)),
    ),
    "Gaussian numbers, one of them clipped": (
        laws(law("normal", 0.0, 1.0, low=-0.2), law("normal", 0.0, 1.0, 1)),
        laws(law("normal", 0.5, 1.0, low=-0.2), law("normal", 1.0, 1.0, 1)),
    ),
    "a Gaussian number that is rounded": (
        laws(law("normal", 0.0, 1.0, post="round"), law("normal", 0.0, 1.0, 1)),
        laws(law("normal", 0.6, 1.0, post="round"), law("normal", 0.6, 1.0, 1)),
    ),
    "noise that is taken away": (
        laws(law("laplace", 0.0, -2.0), law("exponential", 0.0, -1.0, 1)),
        laws(law("laplace", 1.0, -2.0), law("exponential", 0.3, -1.0, 1)),
    ),
    "one noise in two numbers": (
        laws(law("laplace", 0.0, 1.0), law("laplace", 3.0, -2.0)),
        laws(law("laplace", 0.5, 1.0), law("laplace", 3.0, -2.0)),
    ),
    "one noise in two numbers, as far on both": (
        laws(law("normal", 0.0, 1.0), law("normal", 0.0, 2.0)),
        laws(law("normal", 0.5, 1.0), law("normal", 1.0, 2.0)),
    ),
    "a clip that moves": (
        laws(law("laplace", 0.0, 1.0, high=0.5), law("uniform", 0.0, 2.0, 1)),
        laws(law("laplace", 0.0, 1.0, high=1.0), law("uniform", 0.1, 2.0, 1)),
    ),
    "a constant on one side": (
        laws(NumberLaw("constant", 1.0), law("normal", 0.0, 1.0)),
        laws(law("normal", 0.0, 1.0, 1), law("normal", 0.0, 1.0)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("swapped", [False, True])
def test_events_have_the_probabilities_of_draws(name, swapped):
    sides = PAIRS[name][::-1] if swapped else PAIRS[name]
    rng = np.random.default_rng(20)
    outputs = [drawn(side, rng) for side in sides]
    events = list(_find_events(*sides, 0.0))
    assert events or name == "one noise in two numbers, as far on both"
    for event in events:
        own, other = outputs if event.favours == "dataset" else outputs[::-1]
        for said, drawn_from in ((event.probable, own), (event.other, other)):
            error = math.sqrt(max(said * (1 - said), 1e-4) / COUNT)
            assert happened(event, drawn_from).mean() == pytest.approx(said, abs=6 * error), event


def test_a_sum_is_as_far_as_all_its_numbers_together():
    """Weighted by their noise: sqrt(sum (moved / scale)^2), whatever the scales are."""
    sides = PAIRS["two Gaussian numbers of other scales"]
    sums = [event for event in _find_events(*sides, 0.0) if event.kind == "sum"]
    assert {event.favours for event in sums} == {"dataset", "neighbour"}
    for event in sums:
        if event.other > 1e-12:
            apart = ndtri(event.probable) - ndtri(event.other)
            assert apart == pytest.approx(math.hypot(0.5 / 1.0, 2.0 / 5.0), rel=1e-6)


@pytest.mark.parametrize(
    ("one", "value", "may"),
    [
        (law("normal", 0.0, 1.0), 0.5, False),
        (law("normal", 0.0, 1.0, low=0.5), 0.5, True),
        (law("normal", 0.0, 1.0, high=0.5), 0.5, True),
        (law("normal", 0.0, 1.0, high=0.5), 0.4, False),
        (law("normal", 0.0, 1.0, post="round"), 3.0, True),
        (NumberLaw("constant", 0.5), 0.5, True),
        (NumberLaw("constant", 0.5), 0.6, False),
    ],
)
def test_a_number_may_be_what_it_is_clipped_or_rounded_to(one, value, may):
    assert _may_equal(one, value) is may


def test_a_bound_pays_for_what_doubles_round_on_either_side():
    for place in (0, 1):
        sides = [laws(law("laplace", 0.0, 1.0)), laws(law("laplace", 1.0, 1.0))]
        exact = best_event(*sides, 0.0)
        (number,) = sides[place].numbers
        sides[place].numbers[0] = NumberLaw(
            number.kind, number.centre, 1.0, number.draw, error=1e-3
        )
        assert exact.proved(0.0, *sides) < exact.epsilon(0.0) - 1e-3


@pytest.mark.parametrize("off", [1e-6, 1e-4])
def test_a_law_that_misses_one_number_by_little_is_none(off):
    z = np.random.default_rng(21).normal(size=20)
    one = law("normal", 1000.0, 1.0)
    numbers = 1000.0 + z
    assert is_law_held(one, numbers, z)
    numbers[7] += 1000.0 * off
    assert not is_law_held(one, numbers, z)


@pytest.mark.parametrize(("noise", "moved"), [("normal", 5.0), ("laplace", 7.0)])
def test_a_vector_moves_in_the_norm_of_its_noise(noise, moved, replay_here):
    def release(data, rng):
        return np.array(data[0], dtype=float) + getattr(rng, noise)(scale=100.0, size=2)

    found = replay_here(release, [[0.0, 0.0]], [[3.0, 4.0]], epsilon=1.0, delta=1e-5)
    assert [one.moved for one in found.calls] == [moved]


def test_a_choice_that_a_clip_hides_is_looked_at_with_other_noise_far_out(replay_here):
    """Where all draws are far out only the ends of the clip are seen, whatever was chosen."""

    def release(data, rng):
        scores = np.array([data.sum(), 1 - data.sum()])
        chosen = int(np.argmax(scores + rng.gumbel(scale=2 / 18.0, size=2)))
        return float(np.clip(1000 * chosen + rng.laplace(), -5000, 6000))

    pair = np.array([0.0]), np.array([1.0])
    assert replay_here(release, *pair, epsilon=18.0).verdict == "not refuted"


@pytest.mark.parametrize("kind", ["laplace", "normal", "uniform", "exponential"])
@pytest.mark.parametrize("factor", [2.0, -0.5])
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("errors", [(1e-4, 0.0), (0.0, 1e-4), (3e-4, 2e-4)])
def test_what_rounding_may_have_moved_is_ten_times_the_error_in_scales(kind, factor, delta, errors):
    sides = [laws(law(kind, 0.0, factor, error=error)) for error in errors]
    event = ReplayEvent("all of", "dataset", (OutputCondition(0, True, 0.3),), 0.4, 0.05)
    slack = 10 * sum(errors) / abs(factor)
    assert event.slack(*sides) == pytest.approx(slack)
    over, other = (
        (0.4 - slack, 0.05 + slack)
        if kind in ("uniform", "exponential")
        else (0.4 * (1 - slack), 0.05)
    )
    due = math.log(over - delta) - math.log(other) - slack
    assert event.proved(delta, *sides) == pytest.approx(due, abs=1e-9)
    never = replace(event, other=0.0)
    assert never.proved(delta, *sides) == math.inf
    assert replace(event, probable=delta).proved(delta, *sides) == 0
    equal = replace(event, kind="equal")
    assert equal.proved(delta, *sides) == pytest.approx(math.log((0.4 - delta) / 0.05), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"centre": 1e-13}, True),
        ({"centre": 1e-3}, False),
        ({"factor": -2.0}, True),
        ({"factor": 2.001}, False),
        ({"post": "round"}, False),
        ({"kind": "laplace"}, False),
        ({"low": -1.0}, False),
        ({"high": 1.0}, False),
    ],
)
def test_laws_are_the_same_where_everything_is(change, same):
    one = law("normal", 0.0, 2.0)
    other = replace(one, **change)
    assert same_law(one, other) is same
    assert same_law(other, one) is same


@pytest.mark.parametrize("kind", ["exponential", "gumbel", "uniform"])
def test_noise_that_is_not_symmetric_has_a_sign(kind):
    one, other = (laws(law(kind, 0.0, factor)) for factor in (1.0, -1.0))
    assert not same_law(one.numbers[0], other.numbers[0])
    assert same_law(one.numbers[0], law(kind, 0.0, 1.0))
    event = best_event(one, other, 0.0)
    assert event is not None
    assert event.epsilon(0.0) > 1


@pytest.mark.parametrize(
    ("kinds", "absolute"),
    [
        (("laplace", "laplace"), False),
        (("uniform", "uniform"), True),
        (("uniform", "laplace"), True),
        (("laplace", "uniform"), True),
    ],
)
def test_rounding_is_taken_off_as_uniform_noise_of_either_dataset_moves(kinds, absolute):
    """Of a probability of 1e-9 an absolute slack leaves next to nothing, a relative one most."""
    p, q = (law(kind, 0.0, 2.0, error=1e-4) for kind in kinds)
    event = ReplayEvent("all of", "dataset", (OutputCondition(0, True, 0.0),), 0.5, 1e-9)
    slack = 2 * 10 * 1e-4 / 2.0
    assert event.slack(laws(p), laws(q)) == pytest.approx(slack)
    sides = (0.5 - slack, 1e-9 + slack) if absolute else (0.5 * (1 - slack), 1e-9)
    due = math.log(sides[0] / sides[1]) - slack
    assert event.proved(0.0, laws(p), laws(q)) == pytest.approx(due, rel=1e-9)
    none = replace(event, other=0.0)
    assert none.proved(0.0, laws(p), laws(q)) == math.inf
    assert replace(event, probable=slack / 2).proved(0.0, laws(p), laws(q)) < 18


def test_rounding_beside_the_edge_of_an_exponential_law_is_taken_off():
    """A centre that is off by as much as its threshold is from the edge doubles the tail."""
    event = ReplayEvent("all of", "dataset", (OutputCondition(0, False, 0.0),), 0.5, 1e-12)
    sides = (laws(law("exponential", 0.0, 1.0, error=1e-12)) for _ in range(2))
    assert event.proved(0.0, *sides) <= math.log(0.5 / 2e-12)


def test_rounding_of_steep_tails_is_taken_off():
    """Moved by 0.001 each, towards each other, the laws prove an epsilon of 34.437."""
    p, q = (laws(law("gumbel", centre, 1.0, error=1e-3)) for centre in (0.0, 1.0))
    probable, other = (math.exp(-math.exp(power)) for power in (3.0, 4.0))
    condition = (OutputCondition(0, False, -3.0),)
    event = ReplayEvent("all of", "dataset", condition, probable, other)
    least = math.exp(4 - 1e-3) - math.exp(3 + 1e-3)
    assert least - 0.2 < event.proved(0.0, p, q) < least


@pytest.mark.parametrize("kind", ["uniform", "exponential"])
@pytest.mark.parametrize("favours", [0, 1])
def test_nothing_is_infinite_that_a_rounded_centre_makes_so(kind, favours):
    """Centres that are nearer than they may be off are those of one law."""
    near = [laws(law(kind, centre, 1.0, error=1e-6)) for centre in (0.0, 1e-6)]
    event = best_event(*near[:: 1 - 2 * favours], 0.0)
    assert event is None or event.proved(0.0, *near) == 0.0
    far = [laws(law(kind, centre, 1.0, error=1e-6)) for centre in (0.0, 1.0)]
    event = best_event(*far[:: 1 - 2 * favours], 0.0)
    assert event.proved(0.0, *far) == event.epsilon(0.0) == math.inf
    # So it is at a threshold that the centre's error does not reach.
    (one,) = event.conditions
    for by in (-1e-5, 1e-5):
        moved = [replace(side.numbers[0], centre=side.numbers[0].centre + by) for side in far]
        assert min(n.at_least(one.threshold) for n in moved) * one.above == 0
        assert min(n.at_most(one.threshold) for n in moved) * (not one.above) == 0


@pytest.mark.parametrize("kind", ["laplace", "normal", "logistic", "gumbel"])
def test_a_probability_too_small_for_a_double_is_not_0(kind):
    sides = [laws(law(kind, centre, 1.0), law(kind, centre, 1.0, 1)) for centre in (0.0, 2000.0)]
    assert 740 < best_event(*sides, 0.0).epsilon(0.0) < 745
