"""How far two frozen runs are apart, by hand, and what is put back after the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.freezing import tensors
from dpaudit.freezing.glimpse import (
    CHANGED,
    UNSEEN,
    _get_declared_epsilon,
    _movement,
    _over,
    _over_of_numbers,
    _scale,
    compute_scaled_movement,
    make_single_call,
)
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call, Meeting


def call(kind="laplace", location=0.0, scale=2.0, **given):
    fields = {"index": 0, "name": kind, "place": "p", "stack": (), "shape": (), "key": "k"}
    return Call(kind=kind, location=location, scale=scale, **fields | given)


def run(*calls, value=0.0, **given):
    return Run(seed=1, calls=list(calls), value=value, **given)


@pytest.mark.parametrize(
    ("run_of", "other", "apart"),
    [
        (run(call()), run(call()), 0.0),
        (run(call()), run(call(location=3.0)), 1.5),
        (run(call(location=3.0)), run(call()), 1.5),
        (run(call(), call()), run(call(location=1.0), call(location=2.0)), 1.5),
        (run(call()), run(call("normal")), CHANGED),
        (run(call()), run(call(shape=(2,))), CHANGED),
        (run(call()), run(call(), call()), CHANGED),
        (run(), run(error="ValueError"), CHANGED),
        (run(error="ValueError"), run(), CHANGED),
        (run(), run(warned=["once"]), CHANGED),
        (run(warned=["once"]), run(), CHANGED),
        (run(warned=["once"]), run(warned=["once"]), 0.0),
        (run(value=1.0), run(value=2.0), UNSEEN),
        (run(call(), value=1.0), run(call(location=3.0), value=2.0), 1.5),
        (run(call(location=None)), run(call(location=None)), 0.0),
        (run(call()), run(call(location=1e12)), CHANGED / 2),
    ],
)
def test_two_runs_are_as_far_apart_as_their_values_moved(run_of, other, apart):
    assert _movement(run_of, other) == apart


@pytest.mark.parametrize(
    ("one", "other", "scale", "factor", "apart"),
    [
        (1.0, 4.0, 2.0, 1.0, 1.5),
        (4.0, 1.0, 2.0, -0.5, 3.0),
        (1.0, 4.0, None, 1.0, 3.0),
        ([1.0, 0.0], [4.0, -4.0], 2.0, 1.0, 3.5),  # of several numbers it is the sum
        ([1.0, 0.0], [4.0, -4.0], [1.0, 4.0], 1.0, 4.0),
        ([1.0, 2.0], [1.0, 3.0], [0.0, 2.0], 1.0, 0.5),
        (1.0, 1.0, 0.0, 1.0, 0.0),
        (math.nan, 1.0, 1.0, 1.0, UNSEEN),
        (math.inf, 1.0, 1.0, 1.0, UNSEEN),
        (1.0, 2.0, 0.0, 1.0, UNSEEN * 1.5),  # without noise, by half of the larger
        (2.0, 1.0, 0.0, 1.0, UNSEEN * 1.5),
        (0.0, 1e-9, 0.0, 1.0, UNSEEN * 2.0),
        ([1.0, 2.0], [1.0], [1.0, 2.0, 3.0], 1.0, None),
        ("a", 1.0, 1.0, 1.0, None),
    ],
)
def test_a_movement_is_in_scales_of_its_noise(one, other, scale, factor, apart):
    found = _over(one, other, scale, factor, squared=False)
    assert found == (None if apart is None else pytest.approx(apart, rel=1e-12))


def test_a_movement_is_in_either_norm():
    assert _over([1.0, 0.0], [4.0, -4.0], [1.0, 1.0], 1.0, squared=True) == 5.0
    assert _over([1.0, 0.0], [7.0, -4.0], [2.0, 1.0], 1.0, squared=True) == 5.0
    assert _over(1.0, 4.0, 2.0, -0.5, squared=True) == 3.0
    first, second = (call(location=np.array(one), scale=1.0) for one in ([1.0, 0.0], [4.0, -4.0]))
    assert compute_scaled_movement(first, second, squared=True) == 5.0
    assert compute_scaled_movement(first, second) == 7.0


def test_a_movement_is_the_largest_of_a_noise_s_sums_or_that_of_its_location():
    first = call(meetings=[Meeting("p", 0.0, 1.0), Meeting("p", 0.0, 0.5)])
    second = call(meetings=[Meeting("p", 1.0, 1.0), Meeting("p", 3.0, 0.5)])
    assert compute_scaled_movement(first, second) == 3.0
    assert compute_scaled_movement(call(), call(location=1.0)) == 0.5
    assert compute_scaled_movement(call(location=None), call()) is None
    assert compute_scaled_movement(call(), call(location=None)) is None
    assert compute_scaled_movement(call(location="a"), call()) is None


@pytest.mark.parametrize(
    ("declared", "scale", "found"),
    [
        ({"epsilon": 0.5, "sensitivity": 3.0}, None, 6.0),
        ({"epsilon": 0.5, "sensitivity": 3.0}, 2.0, 2.0),
        ({"epsilon": 0.0, "sensitivity": 3.0}, None, None),
        ({"epsilon": 0.5}, None, None),
        ({}, 4.0, 4.0),
    ],
)
def test_the_scale_of_a_mechanism_is_what_it_declares(declared, scale, found):
    assert _scale(call(scale=scale, declared=declared)) == found


def test_only_mechanisms_whose_value_moved_spend_what_they_declare():
    spent = [call(location=n, declared={"epsilon": e}) for n, e in ((0.0, 0.5), (1.0, 2.0))]
    assert _get_declared_epsilon(run(*spent), run(call(), call(location=1.0))) == 0.0
    assert _get_declared_epsilon(run(*spent), run(call(), call(location=5.0))) == 2.0
    assert _get_declared_epsilon(run(*spent), run(call(location=5.0), call(location=5.0))) == 2.5
    assert _get_declared_epsilon(run(*spent), run(call(location=None), call(location=5.0))) == 2.0
    assert _get_declared_epsilon(run(call()), run(call(location=5.0))) == 0.0


def test_a_function_is_called_with_what_it_asks_for():
    def one(data, scale, rng):
        return data, scale, rng

    def several(data, trials, generator):
        return [(data, trials, generator)]

    assert make_single_call(one, {"scale": 3.0})("d", "r") == ("d", 3.0, "r")
    assert make_single_call(several, {})("d", "r") == ("d", 1, "r")
    assert make_single_call(lambda data: data, {})("d", "r") == "d"


def test_what_a_class_inherits_is_inherited_again_after_the_runs():
    class Base:
        own = inherited = "old"

    class Derived(Base):
        own = "own"

    undo = []
    for name in ("own", "inherited"):
        tensors._set(Derived, name, "new", undo)
    assert (Derived.own, Derived.inherited) == ("new", "new")
    for one in undo:
        one()
    assert (Derived.own, Derived.inherited) == ("own", "old")
    assert "inherited" not in vars(Derived)
    assert np.array_equal(tensors._array(np.arange(2)), [0, 1])


@pytest.mark.parametrize(
    ("one", "other", "scale", "factor", "over"),
    [
        (1.0, 4.0, 2.0, 1.0, 1.5),
        (4.0, 1.0, 2.0, -3.0, 0.5),
        (1.0, 1.0, None, 1.0, 0.0),
        (0.0, 3.0, None, 2.0, 1.5),
        (0.0, 1.0, 0.0, 1.0, None),
        (0.0, 1.0, math.inf, 1.0, None),
        (0.0, math.inf, 1.0, 1.0, None),
        (0.0, 1e300, 1e-300, 1.0, None),
        (None, 1.0, 1.0, 1.0, None),
    ],
)
def test_two_numbers_are_apart_in_scales_of_their_noise(one, other, scale, factor, over):
    assert _over_of_numbers(one, other, scale, factor) == over
