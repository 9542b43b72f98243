"""Shifts of noise that meets a value: each sort of meeting, and every reason why there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.freezing.tracked_noise import MOST_MEETINGS, Call, Meeting
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw
from dpaudit.replaying.movement import (
    CallMovement,
    _find_centre_difference,
    _in_outputs,
    _make_moved_call,
    compute_movements,
)
from dpaudit.replaying.shifts import (
    _compute_scaled_difference,
    _find_meeting_shift,
    _one_shift,
    _read_off_outputs,
    shift_of,
)

KEY = "laplace(0;)#0"
NOTHING = Laws(None, None, [], []), Laws(None, None, [], [])


def call(location=None, scale=2.0, meetings=(), shape=(), **given):
    sums = [Meeting("a.py:3 in f", *one) for one in meetings]
    draw = np.zeros(shape) if shape else 0.5
    plain = {"kind": "laplace", "name": "laplace", "place": "a.py:2 in f", "key": KEY}
    fields = {"index": 0, "stack": (), "draw": draw}
    return Call(
        **plain | fields | given, location=location, scale=scale, meetings=sums, shape=shape
    )


def met(one, other):
    found = _find_meeting_shift(call(**one), call(**other))
    return found.tolist() if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        # A place that moved, in scales of the noise, with its sign.
        ({"location": 5.0}, {"location": 2.0}, [1.5]),
        ({"location": 2.0}, {"location": 5.0}, [-1.5]),
        # A place that is data and did not move is a shift of 0; none at all says nothing.
        ({"location": 3.0}, {"location": 3.0}, [0.0]),
        ({"location": 0.0}, {"location": 0.0}, None),
        ({"location": 0.0}, {"location": 1.0}, [-0.5]),
        ({"location": 3.0}, {}, None),
        ({}, {"location": 3.0}, None),
        # A law without a scale has no shift.
        ({"location": 3.0, "scale": None}, {"location": 1.0}, None),
        ({"location": 3.0}, {"location": 1.0, "scale": None}, None),
        # Sums: the factor divides, whatever its sign.
        ({"meetings": [(5.0, 3.0)]}, {"meetings": [(2.0, 3.0)]}, [0.5]),
        ({"meetings": [(5.0, -3.0)]}, {"meetings": [(2.0, -3.0)]}, [-0.5]),
        # Several sums move alike, or the noise is shared; the last one counts too.
        ({"meetings": [(5.0, 1.0), (6.0, 2.0)]}, {"meetings": [(4.0, 1.0), (4.0, 2.0)]}, [0.5]),
        ({"meetings": [(5.0, 1.0), (6.0, 2.0)]}, {"meetings": [(4.0, 1.0), (5.0, 2.0)]}, "shared"),
        ({"meetings": [(4.0, 1.0), (6.0, 1.0)]}, {"meetings": [(4.0, 1.0), (5.0, 1.0)]}, "shared"),
        ({"meetings": [(5.0, 1.0)]}, {"meetings": [(5.0, 1.0), (5.0, 1.0)]}, "unseen"),
        ({"meetings": [(5.0, 1.0)]}, {}, "unseen"),
        # A place beside a sum: it counts where it moved.
        (
            {"location": 3.0, "meetings": [(5.0, 1.0)]},
            {"location": 3.0, "meetings": [(4.0, 1.0)]},
            [0.5],
        ),
        (
            {"location": 3.0, "meetings": [(5.0, 1.0)]},
            {"location": 1.0, "meetings": [(4.0, 1.0)]},
            "shared",
        ),
        (
            {"location": 3.0, "meetings": [(5.0, 1.0)]},
            {"location": 2.0, "meetings": [(4.0, 1.0)]},
            [0.5],
        ),
        # The scale of the noise, and what the sum makes of it.
        ({"location": 3.0}, {"location": 3.0, "scale": 2.0 * (1 + 1e-8)}, "scale"),
        ({"location": 3.0}, {"location": 2.0, "scale": 2.0 * (1 - 1e-8)}, "scale"),
        ({"location": 3.0}, {"location": 2.0, "scale": 2.0 * (1 + 1e-10)}, [0.5]),
        ({"meetings": [(5.0, 1.0)]}, {"meetings": [(5.0, 1.001)]}, "scale"),
        ({"location": 3.0, "scale": 0.0}, {"location": 2.0, "scale": 0.0}, "no law"),
        ({"location": np.inf}, {"location": 2.0}, "unseen"),
    ],
)
def test_a_shift_is_that_of_every_sum_and_place(one, other, found):
    assert met(one, other) == found


def test_so_many_sums_as_are_noted_may_not_be_all():
    for count, found in ((MOST_MEETINGS - 1, [0.5]), (MOST_MEETINGS, "shared")):
        one, other = ({"meetings": [(centre, 1.0)] * count} for centre in (2.0, 1.0))
        assert met(one, other) == found


def test_every_entry_has_its_shift_and_its_scale():
    shape = (3,)
    one = {
        "shape": shape,
        "location": np.array([1.0, 2.0, 3.0]),
        "scale": np.array([1.0, 2.0, 4.0]),
    }
    other = {**one, "location": np.zeros(3)}
    assert met(one, other) == [1.0, 1.0, 0.75]
    assert met(one, {**other, "scale": np.array([1.0, 2.0, 4.1])}) == "scale"
    assert met(one, {**other, "location": np.array([0.0, 0.0, np.nan])}) == "unseen"
    none = {"scale": np.array([1.0, 0.0, 4.0])}
    assert met(one | none, other | none) == "no law"
    assert met(one, {**other, "shape": (4,)}) == "unseen"
    assert met(one, {**other, "location": np.zeros(2)}) == "unseen"
    # Far scales apart: each is compared with itself.
    wide = {"scale": np.array([1.0, 1e12, 1.0])}
    assert met(one | wide, other | wide | {"scale": np.array([1.0001, 1e12, 1.0])}) == "scale"
    mixed = one | {"location": np.array([0.0, 0.0, 5.0])}
    assert met(mixed, mixed) == [0.0, 0.0, 0.0]  # not all 0: it is data


def test_one_noise_of_a_vector_has_one_shift():
    alone = call(draw=np.float64(0.3))
    several = call(draw=np.zeros(2))
    zeros = np.zeros(3)
    assert _one_shift(np.full(3, -4.0), zeros, 1.0, 1.0, alone, alone).tolist() == [-2.0]
    assert _one_shift(zeros, zeros, 1.0, 1.0, alone, alone).tolist() == [0.0]
    assert _one_shift(np.full(3, 4.0), zeros, 1.0, 1.0, several, several) == "shared"
    bent = np.array([4.0, 4.0, 4.0 + 1e-7])
    assert _one_shift(bent, zeros, 1.0, 1.0, alone, alone) == "shared"
    for size in (4e9, -4e9):
        large = np.array([size, size, size + 0.5])  # of which 0.5 is rounding
        assert _one_shift(large, zeros, 1.0, 1.0, alone, alone).tolist() == [size / 2]
    assert _one_shift(np.array([1.0, 0.0, 0.0]), zeros, 1.0, 1.0, alone, alone) == "shared"


@pytest.mark.parametrize(
    ("one", "other", "scale", "shift"),
    [
        (3.0, 1.0, 2.0, 1.0),
        (1.0, 3.0, 2.0, -1.0),
        (1.0, 3.0, -2.0, 1.0),
        (1e6, 1e6 + 5e-7, 1e6, 0.0),  # rounding of the centre, and no part of a scale
        (1e6, 1e6 + 5e-7, 1.0, -5e-7),  # small beside the centre, and much of the noise
        (1.0, 1.0 + 1e-9, 1e6, -1e-15),  # no part of a scale, but more than rounding
        (-1e6, -1e6 - 5e-7, 1e6, 0.0),
        (0.0, 1e-13, 1.0, -1e-13),
    ],
)
def test_a_difference_is_rounding_where_neither_centre_nor_noise_has_so_many_digits(
    one, other, scale, shift
):
    found = _compute_scaled_difference(np.asarray(one), np.asarray(other), np.asarray(scale))
    assert float(found) == pytest.approx(shift, rel=1e-3, abs=0)


# What outputs show beside what was seen


def law(centre, factor=2.0, entry=0, key=KEY, error=0.0, kind="laplace"):
    return NumberLaw(kind, centre, factor, StandardDraw(key, entry), error=error)


def laws(*numbers, structure="[,]"):
    return Laws(structure, (), [], list(numbers))


def shift(one, other, first, second):
    found = shift_of(call(**one), call(**other), (laws(*first), laws(*second)))
    return found.tolist() if isinstance(found, np.ndarray) else found


def test_a_sum_and_an_output_have_to_show_one_shift():
    moved = {"location": 3.0}, {"location": 1.0}
    assert shift(*moved, [law(3.0)], [law(1.0)]) == [1.0]
    assert shift(*moved, [law(1.0)], [law(3.0)]) == "shared"
    assert shift(*moved, [law(3.001)], [law(1.0)]) == "shared"
    assert shift(*moved, [law(2.999)], [law(1.0)]) == "shared"
    assert shift(*moved, [law(3.001, error=1e-3)], [law(1.0)]) == [1.0]
    assert shift(*moved, [], []) == [1.0]
    assert shift(*moved, [law(3.0)], [law(1.0, 2.1)]) == "scale"
    assert shift({"location": 3.0}, {"location": 1.0, "scale": 2.1}, [], []) == "scale"
    wider = {"location": 1.0, "scale": 2.1}
    assert shift({"location": 3.0}, wider, [law(3.0)], [law(1.0)]) == "scale"
    for size in (2e4, -2e4):  # in scales: what was read off is off by some 1e-6 of it
        far = {"location": size}, {"location": 0.0}
        assert shift(*far, [law(size * (1 + 2e-6))], [law(0.0)]) == "shared"
        assert shift(*far, [law(size * (1 - 2e-6))], [law(0.0)]) == "shared"
        assert shift(*far, [law(size * (1 - 5e-7))], [law(0.0)]) == [size / 2]


def test_where_no_sum_was_seen_the_outputs_have_to_show_every_entry():
    pair = {"shape": (2,)}, {"shape": (2,)}
    first, second = [law(3.0), law(4.0, entry=1)], [law(1.0), law(1.0, entry=1)]
    assert shift(*pair, first, second) == [1.0, 1.5]
    assert shift(*pair, first[::-1], second[::-1]) == [1.0, 1.5]
    assert shift(*pair, first[:1], second[:1]) == "unseen"
    assert shift(*pair, [], []) == "unseen"
    assert shift({"shape": (0,)}, {"shape": (0,)}, [], []) == "unseen"
    assert shift({"draw": None}, {"draw": None}, [], []) == "unseen"


@pytest.mark.parametrize(
    ("first", "second"), [(None, None), ("[,]", None), (None, "[,]"), ("[,]", "[]")]
)
def test_outputs_of_other_structures_show_nothing(first, second):
    sides = laws(law(3.0), structure=first), laws(law(1.0), structure=second)
    assert _read_off_outputs(call(), sides) == {}
    assert _in_outputs(KEY, "laplace", sides) is None


def test_two_numbers_with_one_noise_are_off_by_both_their_roundings():
    here = [law(3.0, error=1e-2), law(3.03, error=1e-2)]
    there = [law(1.0), law(1.0)]
    assert 0 in _read_off_outputs(call(), (laws(*here), laws(*there)))
    apart = [law(3.0, error=1e-4), law(3.03, error=1e-4)]
    assert _read_off_outputs(call(), (laws(*apart), laws(*there))) == "shared"
    none = [law(3.0), NumberLaw("constant", 1.0)]
    assert set(_read_off_outputs(call(), (laws(*none), laws(law(1.0), None)))) == {0}


# How far a call moved


@pytest.mark.parametrize(
    ("one", "other", "seen", "difference", "factors"),
    [
        ({"location": 3.0}, {"location": 1.0}, "argument", 2.0, (1.0, 1.0)),
        ({"location": 3.0}, {"location": 3.0}, "argument", 0.0, (1.0, 1.0)),
        ({"location": 0.0}, {"location": 0.0}, None, None, (1.0, 1.0)),
        ({}, {}, None, None, (1.0, 1.0)),
        ({"meetings": [(3.0, 2.0)]}, {"meetings": [(1.0, 5.0)]}, "sum", 2.0, (2.0, 5.0)),
        ({"meetings": [(3.0, 2.0)]}, {"meetings": [(3.0, 5.0)]}, "sum", 0.0, (2.0, 5.0)),
        (
            {"meetings": [(3.0, 2.0), (4.0, 3.0)]},
            {"meetings": [(3.0, 2.0), (1.0, 3.0)]},
            "sum",
            3.0,
            (3.0, 3.0),
        ),
        (
            {"location": 3.0, "meetings": [(5.0, 2.0)]},
            {"location": 1.0, "meetings": [(5.0, 2.0)]},
            "argument",
            2.0,
            (1.0, 1.0),
        ),
        (
            {"location": 3.0, "meetings": [(5.0, 2.0)]},
            {"location": 3.0, "meetings": [(5.0, 2.0)]},
            "sum",
            0.0,
            (2.0, 2.0),
        ),
        ({"meetings": [(5.0, 2.0)]}, {}, None, None, (1.0, 1.0)),
    ],
)
def test_a_movement_is_that_of_the_first_sum_that_moved_or_of_the_place(
    one, other, seen, difference, factors
):
    place, found, times, where = _find_centre_difference(call(**one), call(**other))
    assert (where, times) == (seen, factors)
    assert (found is None) == (difference is None)
    assert found is None or float(found) == difference
    assert place == ("a.py:3 in f" if seen == "sum" else "a.py:2 in f")


def noted(one, other, steady=True, sides=NOTHING):
    return _make_moved_call(call(**one), call(**other), steady, sides)


def test_a_call_that_moved_has_its_norm_its_scales_and_what_it_spends():
    found = noted({"meetings": [(5.0, 3.0)]}, {"meetings": [(2.0, 3.0)]})
    assert (found.moved, found.scale, found.other_scale, found.spent) == (3.0, 6.0, 6.0, 0.5)
    pair = {"shape": (2,), "location": np.array([3.0, 4.0]), "scale": np.array([-1.0, 2.0])}
    zeros = pair | {"location": np.zeros(2)}
    found = noted(pair, zeros)
    assert (found.moved, found.scale, found.spent) == (7.0, 2.0, 5.0)
    found = noted(pair | {"kind": "normal"}, zeros | {"kind": "normal"})
    assert (found.moved, found.spent) == (5.0, pytest.approx(np.hypot(3.0, 2.0)))
    declared = {"sensitivity": 0.25, "epsilon": 1.5}
    found = noted({"declared": declared}, {"declared": {}})
    assert (found.declared, found.epsilon) == (0.25, 1.5)
    assert (found.spent, found.unknown) == (None, "unseen")


def test_a_centre_that_depends_on_noise_spends_what_nobody_knows():
    found = noted({"location": 3.0}, {"location": 1.0}, steady=False)
    assert (found.moved, found.spent, found.unknown) == (2.0, None, "feedback")
    assert noted({"location": 3.0}, {"location": 1.0}).unknown is None


@pytest.mark.parametrize(
    ("kind", "moved", "unknown"),
    [("laplace", 1.0, None), ("normal", 1.0, None), ("gumbel", 1.0, "no law"), ("gumbel", 0, None)],
)
def test_only_laplace_and_gaussian_noise_spends(kind, moved, unknown):
    found = noted({"kind": kind, "location": 1.0 + moved}, {"kind": kind, "location": 1.0})
    assert found.unknown == unknown
    assert (found.spent is None) == (unknown is not None)


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        (np.inf, 1.0, None),
        (1.0, -np.inf, None),
        (np.inf, np.inf, 0.0),
        (np.nan, np.nan, 0.0),
        (np.nan, 1.0, None),
        (1e6, 1e6 + 5e-7, 0.0),
        (-1e6, -1e6 - 5e-7, 0.0),
        (1.0, 1.0 + 1e-9, 1e-9),
    ],
)
def test_an_infinite_movement_is_none_and_one_of_rounding_is_0(one, other, moved):
    found = noted({"location": one}, {"location": other}).moved
    assert found == (None if moved is None else pytest.approx(moved, rel=1e-3, abs=0))


@pytest.mark.parametrize(
    ("scales", "moved"),
    [((2.0, 2.0), False), ((2.0, 2.001), True), ((2.001, 2.0), True), ((2.0, 2.0 + 1e-10), False)],
)
def test_a_scale_that_moved_is_seen_from_either_side(scales, moved):
    found = noted({"location": 1.0, "scale": scales[0]}, {"location": 1.0, "scale": scales[1]})
    assert found.scale_moved is moved
    for name in ("scale", "other_scale"):
        assert not replace(found, **{name: None}).scale_moved


def test_outputs_show_a_movement_where_no_sum_does():
    numbers = [law(3.0, -2.0), law(1.0, 5.0, entry=1)], [law(1.0, -2.0), law(2.0, 7.0, entry=1)]
    sides = laws(*numbers[0]), laws(*numbers[1])
    assert _in_outputs(KEY, "laplace", sides) == (3.0, 5.0, 7.0)
    assert _in_outputs(KEY, "normal", sides) == (pytest.approx(5**0.5), 5.0, 7.0)
    assert _in_outputs("another", "laplace", sides) is None
    one_side = laws(*numbers[0]), laws(None, None)
    assert _in_outputs(KEY, "laplace", one_side) is None
    found = noted({"location": 0.0}, {"location": 0.0}, sides=sides)
    assert (found.seen, found.moved) == ("output", 3.0)
    found = noted({"location": 9.0}, {"location": 1.0}, sides=sides)
    assert (found.seen, found.moved) == ("argument", 8.0)


def test_calls_of_both_runs_that_no_other_contains_are_told_once_each():
    from types import SimpleNamespace

    def side(*calls):
        return SimpleNamespace(runs=[SimpleNamespace(calls=list(calls))])

    here = side(call(3.0), call(3.0, key="a"), call(3.0, key="b", parent=0), call(5.0))
    there = side(call(1.0), call(1.0, key="b", parent=0), call(2.0), call(1.0, key="c"))
    found = compute_movements(here, there, NOTHING, {KEY, f"{KEY} again"})
    assert [(one.key, one.moved, one.steady) for one in found] == [
        (KEY, 2.0, True),
        (KEY, 3.0, True),
    ]
    found = compute_movements(here, there, NOTHING, {KEY})
    assert [one.steady for one in found] == [True, False]
    assert all(isinstance(one, CallMovement) for one in found)
