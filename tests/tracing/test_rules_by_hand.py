"""The rules of bounds on movements, each worked out by hand: every end and every norm of it.

A bound may be larger than what is written here by what rounds it outwards, and never smaller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from dpaudit.tracing import arithmetic, functions, rows, spread
from dpaudit.tracing.bounded_arrays import BoundedArray, BoundedReading, CentreMovement, NoBound
from dpaudit.tracing.movement import TraceRefusal, _make_movement_bounds, read_movement_bounds
from dpaudit.tracing.noise import BoundedGenerator
from dpaudit.tracing.spread import NOTHING, DifferenceNorms, Over, Spread, make_history_spread

ROOT2, ROOT3 = math.sqrt(2), math.sqrt(3)
HERE = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]])


def a_value(**given):
    """Return a value of three rows whose second may differ; everything about it can be told."""
    facts = {
        "sample": HERE,
        "rows": frozenset({1}),
        "low": -1.0,
        "high": 2.0,
        "row_norm": 2.5,
        "norms": DifferenceNorms(3.0, 2.5, 2.0),
    }
    return Spread(**(facts | given))


def another(**given):
    """Return a value of three rows whose third may differ."""
    facts = {
        "rows": frozenset({2}),
        "low": -4.0,
        "high": 1.0,
        "row_norm": 5.0,
        "norms": DifferenceNorms(7.0, 6.0, 5.0),
    }
    return a_value(**(facts | given))


def a_number(**given):
    facts = {"sample": np.array(1.0), "rows": None, "low": 1.0, "high": 4.0}
    return Spread(**(facts | {"norms": DifferenceNorms(0.5, 0.5, 0.5)} | given))


def require(found, **expected):
    """Compare what is known of a value with what was worked out."""
    for name, exact in expected.items():
        number = getattr(found, name)
        if name == "rows":
            assert number == exact, name
        elif name in ("low", "high"):
            assert number == pytest.approx(exact, rel=1e-8), name
        elif exact is not None:
            bounds = np.atleast_1d(number), np.atleast_1d(exact)
            for bound, one in zip(*bounds, strict=True):
                assert one <= bound <= one * (1 + 1e-7), (name, number, exact)


# --- norms ----------------------------------------------------------------------------------------


def test_norms_of_a_difference():
    assert spread.norms_of(np.array([3.0, -4.0, 0.0])) == pytest.approx((7, 5, 4))
    assert min(np.subtract(spread.norms_of(np.array([3.0, -4.0])), (7, 5, 4))) > 0
    assert spread.norms_of(np.zeros(0)) == NOTHING


def test_the_least_of_bounds_is_so_of_each_norm_and_they_bound_one_another():
    assert spread.choose_least_norms(DifferenceNorms(5, 4, 3), DifferenceNorms(6, 3, 4)) == (
        5,
        3,
        3,
    )
    assert spread.choose_least_norms(DifferenceNorms(1, 4, 3)) == (1, 1, 1)
    assert spread.choose_least_norms(DifferenceNorms(5, 2, 3)) == (5, 2, 2)


def test_so_many_entries_move_by_so_much_together():
    assert spread.bound_difference_norms(4, 3.0) == pytest.approx((12, 6, 3))
    assert spread.bound_difference_norms(0, 3.0) == NOTHING == spread.bound_difference_norms(4, 0.0)


def test_a_bound_times_a_number_and_nothing_stays_nothing():
    assert spread.by_factor(DifferenceNorms(3, 2, 1), 2.0) == pytest.approx((6, 4, 2))
    assert spread.by_factor(NOTHING, math.inf) == NOTHING


def test_ends_bound_how_far_the_rows_move_that_may_differ():
    wide = a_value(norms=spread.ANYTHING, row_norm=math.inf)
    require(spread.bound_spread_by_ends(wide), norms=(6, 3 * ROOT2, 3), row_norm=2 * ROOT2)
    require(spread.bound_spread_by_ends(a_value()), norms=(3, 2.5, 2), row_norm=2.5)
    no_rows = a_number(norms=spread.ANYTHING)
    require(spread.bound_spread_by_ends(no_rows), norms=(3, 3, 3), row_norm=4)
    assert spread.bound_spread_by_ends(a_value(norms=NOTHING)).norms == NOTHING
    assert spread.bound_spread_by_ends(a_value(low=-math.inf)).norms == (3, 2.5, 2)


def test_ends_and_rows_of_a_pair():
    one, other = np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([[3.0, 4.0], [-6.0, 8.0]])
    found = spread.spread_of_pair(one, other)
    require(found, low=-6, high=8, row_norm=10, rows=frozenset({1}), norms=(15, math.sqrt(113), 8))
    assert found.shift.tolist() == [[0, 0], [-7, 8]]
    mirrored = spread.spread_of_pair(other, one)
    require(mirrored, low=-6, high=8, row_norm=10, norms=(15, math.sqrt(113), 8))
    assert mirrored.shift.tolist() == [[0, 0], [7, -8]]
    assert spread.spread_of_pair(math.inf, math.inf).is_public
    assert spread.spread_of_pair(1.0, math.inf).norms == spread.ANYTHING


def test_a_value_that_is_repeated_moves_as_often():
    row = a_value(sample=HERE[:1], rows=frozenset({0}))
    found = spread.spread_out(row, (4, 2))
    require(found, norms=(12, 5, 2), rows=frozenset(range(4)), low=-1, high=2, row_norm=2 * ROOT2)
    column = a_value(sample=HERE[:, :1])
    require(spread.spread_out(column, (3, 4)), norms=(12, 5, 2), rows=frozenset({1}))
    require(spread.spread_out(a_number(), (9,)), norms=(4.5, 1.5, 0.5), rows=frozenset(range(9)))
    public = spread.spread_out(a_value(sample=HERE[:1], norms=NOTHING), (4, 2))
    require(public, norms=NOTHING, rows=frozenset())


def test_noisy_values_are_the_same_on_both_sides():
    found = make_history_spread(HERE, -2.0, 1.0)
    require(found, norms=NOTHING, rows=frozenset(), row_norm=2 * ROOT2)
    assert found.is_public
    assert not found.shift.any()
    assert found.constant is None
    assert make_history_spread(1.0).rows is None


def test_rows_of_two_values_are_those_of_either():
    assert spread.joint_rows(a_value(), another()) == {1, 2}
    assert spread.joint_rows(a_value(rows=None), another()) == {0, 1, 2}
    assert spread.joint_rows(a_number(), a_number()) is None


# --- arithmetic -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "ends"), [(1.0, (-5, 3)), (-1.0, (-2, 6))])
def test_a_sum_moves_by_both(sign, ends):
    found = arithmetic.add_spreads(a_value(), another(), sign, HERE)
    require(found, norms=(10, 8.5, 7), low=ends[0], high=ends[1], row_norm=7.5)
    assert (found.rows, found.shift, found.over) == ({1, 2}, None, None)


@pytest.mark.parametrize(("sign", "moved"), [(1.0, (2, 2, 2)), (-1.0, (0, 0, 0))])
def test_a_sum_of_known_shifts_moves_by_their_sum(sign, moved):
    shift = np.zeros((3, 2))
    shift[1, 0] = 1.0
    one, other = (make(shift=shift, norms=DifferenceNorms(1, 1, 1)) for make in (a_value, another))
    found = arithmetic.add_spreads(one, other, sign, HERE)
    require(found, norms=moved)
    assert found.shift.tolist() == (shift + sign * shift).tolist()


def test_a_value_times_constants():
    found = arithmetic.scale_spread(a_value(), np.array([-2.0, 0.5]), HERE)
    require(found, norms=(6, 5, 4), low=-4, high=2, row_norm=5, rows=frozenset({1}))
    assert found.multiple is None
    third = arithmetic.scale_spread(a_value(low=1.0), np.array([0.5, 3.0]), HERE)
    require(third, low=0.5, high=6)
    nothing = arithmetic.scale_spread(a_value(low=-math.inf), np.array(0.0), HERE)
    require(nothing, norms=NOTHING, row_norm=0, low=0, high=0)


def test_a_multiple_of_a_multiple_is_one_of_the_first():
    start = a_value()
    once = arithmetic.scale_spread(start, np.array(-3.0), HERE)
    twice = arithmetic.scale_spread(once, np.array(2.0), HERE)
    assert (once.multiple, twice.multiple) == ((start, -3.0), (start, -6.0))


def test_a_product_moves_by_each_times_the_size_of_the_other():
    found = arithmetic.multiply_spreads(a_value(), another(), HERE)
    require(found, norms=(26, 22, 12), low=-8, high=4, row_norm=8 * ROOT2, rows=frozenset({1, 2}))
    wide = another(low=-math.inf)
    moved = arithmetic.multiply_spreads(a_value(), wide, HERE)
    assert moved.norms == spread.ANYTHING
    assert (moved.low, moved.high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("ends", "found_ends", "factor"),
    [((0.5, 4.0), (0.25, 2.0), 4.0), ((-4.0, -0.5), (-2.0, -0.25), 4.0)],
)
def test_one_over_a_value_moves_by_the_square_of_how_near_to_zero_it_is(ends, found_ends, factor):
    small = DifferenceNorms(0.3, 0.2, 0.1)
    found = arithmetic.invert_spread(a_value(low=ends[0], high=ends[1], norms=small), HERE)
    require(found, low=found_ends[0], high=found_ends[1])
    require(found, norms=tuple(factor * one for one in small))


@pytest.mark.parametrize(("low", "ends"), [(0.0, (0, math.inf)), (-1.0, (-math.inf, math.inf))])
def test_one_over_what_may_be_zero_may_be_anything(low, ends):
    found = arithmetic.invert_spread(a_value(low=low), HERE)
    assert (found.norms, found.low, found.high) == (spread.ANYTHING, *ends)
    assert arithmetic.invert_spread(a_value(low=low, norms=NOTHING), HERE).is_public


def test_a_quotient_by_a_constant_is_a_multiple():
    by = spread.make_constant_spread(np.array(4.0))
    require(arithmetic.divide_spreads(a_value(), by, HERE / 4), norms=(0.75, 0.625, 0.5), low=-0.25)


def test_a_function_of_entries_moves_by_its_slope():
    found = arithmetic.map_entries(a_value(), HERE, -1.0, 1.0, 0.5)
    require(found, norms=(1.5, 1.25, 1), low=-1, high=1, rows=frozenset({1}))
    require(arithmetic.map_entries(a_value(), HERE, -1.0, 1.0), norms=(4, 2 * ROOT2, 2))


def test_cuts_of_a_value():
    require(
        arithmetic.apply_spread_maximum(a_value(), 0.5, HERE),
        low=0.5,
        high=2,
        norms=(3, 3 / ROOT2, 1.5),
    )
    require(arithmetic.apply_spread_maximum(a_value(), 3.0, HERE), low=3, high=3)
    require(
        arithmetic.apply_spread_minimum(a_value(), 0.5, HERE),
        low=-1,
        high=0.5,
        norms=(3, 3 / ROOT2, 1.5),
    )
    require(arithmetic.apply_spread_minimum(a_value(), -3.0, HERE), low=-3, high=-3)


# --- clips ----------------------------------------------------------------------------------------


def test_norms_of_rows_and_of_all_move_by_no_more_than_rows():
    each = rows.row_norms(a_value(), np.zeros((3, 1)))
    require(each, norms=(3, 2.5, 2.5), low=0, high=2.5, rows=frozenset({1}))
    assert each.over == Over(each.over.of, True, 1.0, math.inf)
    narrow = rows.row_norms(a_value(norms=DifferenceNorms(9, 8, 1)), np.zeros((3, 1)))
    require(narrow, norms=(9, 8, ROOT2))
    whole = rows.whole_norm(a_value(), np.array(1.0))
    require(whole, norms=(2.5, 2.5, 2.5), low=0, high=2 * math.sqrt(6))
    assert whole.over.whole


def norms_times(factor):
    value = a_value()
    norms = rows.row_norms(value, np.ones((3, 1)))
    return value, arithmetic.scale_spread(norms, np.array(factor), np.ones((3, 1)))


@pytest.mark.parametrize("form", ["divides", "multiplies"])
def test_a_row_divided_by_its_norm_over_a_bound_is_no_longer_than_that(form):
    value, over = norms_times(4.0) if form == "divides" else norms_times(1.0)
    if form == "divides":  # x / max(1, 4 |x|)
        cut = arithmetic.apply_spread_maximum(over, 1.0, np.ones((3, 1)))
        found = arithmetic.divide_spreads(value, cut, HERE)
    else:  # x min(1, .25 / |x|)
        quarter = spread.make_constant_spread(np.array(0.25))
        cut = arithmetic.apply_spread_minimum(
            arithmetic.divide_spreads(quarter, over, np.ones((3, 1))), 1.0, over.sample
        )
        found = arithmetic.multiply_spreads(value, cut, HERE)
    require(found, norms=(ROOT2 / 2, 0.5, 0.5), low=-0.25, high=0.25, row_norm=0.25)
    assert found.rows == {1}


def test_a_clip_moves_no_two_rows_further_apart():
    value = a_value(norms=DifferenceNorms(0.02, 0.02, 0.02))
    norms = rows.row_norms(value, np.ones((3, 1)))
    cut = arithmetic.apply_spread_maximum(
        norms, 2.0, np.ones((3, 1))
    )  # x / max(2, |x|): half of a clip to 2
    found = arithmetic.divide_spreads(value, cut, HERE)
    require(found, norms=(0.01 * ROOT2, 0.01, 0.01), row_norm=1)


def test_of_twice_a_value_the_clip_is_twice_as_long():
    value = a_value()
    cut = arithmetic.apply_spread_maximum(
        rows.row_norms(value, np.ones((3, 1))), 1.0, np.ones((3, 1))
    )
    doubled = arithmetic.scale_spread(value, np.array(-2.0), HERE)
    require(arithmetic.divide_spreads(doubled, cut, HERE), row_norm=2, norms=(4 * ROOT2, 4, 4))


def test_a_constant_beside_the_norm_ends_the_projection_and_not_the_bound():
    value = a_value(norms=DifferenceNorms(0.02, 0.02, 0.02))
    norms = rows.row_norms(value, np.ones((3, 1)))
    more, none, less = (spread.make_constant_spread(np.array(one)) for one in (0.1, 0.0, -0.1))
    added = arithmetic.add_spreads(norms, more, 1.0, norms.sample)
    assert added.over == norms.over._replace(lipschitz=None)
    assert arithmetic.add_spreads(none, norms, 1.0, norms.sample).over == norms.over
    assert arithmetic.add_spreads(norms, less, 1.0, norms.sample).over is None
    assert arithmetic.add_spreads(norms, more, -1.0, norms.sample).over is None
    assert arithmetic.add_spreads(added, more, 1.0, norms.sample).over.lipschitz is None


def test_norms_times_a_number_divide_by_as_much():
    _, over = norms_times(4.0)
    assert over.over.bound == pytest.approx(0.25)
    assert over.over.lipschitz == math.inf
    cut = arithmetic.apply_spread_maximum(over, 2.0, np.ones((3, 1)))
    assert cut.over.lipschitz == 0.5
    again = arithmetic.scale_spread(cut, np.array(4.0), np.ones((3, 1)))
    assert (again.over.bound, again.over.lipschitz) == pytest.approx((1 / 16, 0.125))
    _, turned = norms_times(-4.0)
    assert turned.over is None


def test_no_norm_of_another_value_clips():
    value = a_value()
    cut = arithmetic.apply_spread_maximum(
        rows.row_norms(another(), np.ones((3, 1))), 1.0, np.ones((3, 1))
    )
    assert arithmetic.divide_spreads(value, cut, HERE).row_norm > 1.5
    flat = arithmetic.apply_spread_maximum(rows.row_norms(value, np.ones(3)), 1.0, np.ones(3))
    with pytest.raises(ValueError, match=r"broadcast|remapped"):
        arithmetic.divide_spreads(value, flat, HERE)


def test_what_is_cut_off_at_or_below_zero_clips_nothing():
    norms = rows.row_norms(a_value(), np.ones((3, 1)))
    assert arithmetic.apply_spread_maximum(norms, 0.0, norms.sample).over is None
    assert not arithmetic._is_row_clip(norms.over.of, norms, divides=True)
    assert arithmetic.apply_spread_minimum(norms, 1.0, norms.sample).over is None
    by = spread.make_constant_spread(np.array(-1.0))
    assert arithmetic.divide_spreads(by, norms, norms.sample).over is None


# --- rows -----------------------------------------------------------------------------------------


def test_a_sum_of_rows_moves_by_those_that_differ():
    two = a_value(rows=frozenset({0, 2}), norms=DifferenceNorms(3, 2.5, 1))
    require(
        rows.sum_rows(two, np.zeros(2)),
        norms=(3, 3, 2),
        low=-3,
        high=6,
        rows=frozenset({0, 1}),
    )
    require(
        rows.sum_rows(a_value(rows=None, norms=DifferenceNorms(9, 2, 1)), np.zeros(2)),
        norms=(9, 2 * ROOT3, 3),
    )
    public = rows.sum_rows(a_value(norms=NOTHING), np.zeros(2))
    require(public, norms=NOTHING, rows=frozenset())
    assert rows.sum_rows(a_value(sample=HERE[:, 0]), np.array(0.0)).rows is None
    opposite = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 2.0]])
    cancelled = rows.sum_rows(a_value(rows=frozenset({0, 2}), shift=opposite), np.zeros(2))
    require(cancelled, norms=(2, 2, 2))
    assert cancelled.shift.tolist() == [0, 2]


def test_a_sum_of_all_moves_by_what_they_move_together():
    require(rows.sum_all(a_value(), np.array(0.0)), norms=(3, 3, 3), low=-6, high=12)
    opposite = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, -0.5]])
    found = rows.sum_all(a_value(shift=opposite), np.array(0.0))
    require(found, norms=(0.5, 0.5, 0.5))
    assert found.shift == -0.5


def test_sums_in_rows_move_by_the_entries_that_they_add():
    found = rows.sum_within_rows(a_value(norms=DifferenceNorms(9, 2, 1)), np.zeros(3))
    require(found, norms=(9, 2 * ROOT2, 2), low=-2, high=4, rows=frozenset({1}))
    require(
        rows.sum_within_rows(a_value(norms=DifferenceNorms(1, 1, 1)), np.zeros(3)), norms=(1, 1, 1)
    )


@pytest.mark.parametrize("left", [True, False])
def test_a_matrix_moves_by_its_operator_norms(left):
    matrix = np.array([[1.0, -2.0], [0.0, 3.0]])
    sample = np.zeros((2, 2))
    found = rows.apply_matrix(matrix, a_value(sample=sample), sample, left=left)
    euclidean = np.linalg.norm(matrix, 2)
    columns, lines = (5.0, 3.0) if left else (3.0, 5.0)
    l1, l2 = 3 * columns, min(3 * columns, 2.5 * euclidean)
    require(found, norms=(l1, l2, min(l2, 2 * lines)))
    require(found, low=-2 * lines, high=2 * lines)
    assert found.rows == ({0, 1} if left else {1})


def test_a_matrix_moves_a_known_shift_to_where_it_is():
    matrix, shift = np.array([[1.0, -2.0], [0.0, 3.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    value = a_value(sample=np.zeros((2, 2)), shift=shift)
    left = rows.apply_matrix(matrix, value, np.zeros((2, 2)), left=True)
    right = rows.apply_matrix(matrix, value, np.zeros((2, 2)), left=False)
    assert left.shift.tolist() == [[-2, 0], [3, 0]]
    assert right.shift.tolist() == [[0, 0], [1, -2]]
    require(left, norms=(5, math.sqrt(13), 3))
    vector = rows.apply_matrix(np.array([1.0, 2.0, -4.0]), a_value(), np.zeros(2), left=True)
    require(vector, low=-14, high=14)
    row = rows.apply_matrix(np.array([3.0, -4.0]), a_value(), np.zeros(3), left=False)
    require(row, low=-14, high=14, norms=(12, 12, 12))


def test_rows_times_a_noisy_matrix_stay_in_their_places():
    noisy = make_history_spread(np.zeros((2, 2)), -1.0, 0.5)
    found = rows.multiply_rows(a_value(), noisy, HERE)
    require(found, norms=(5 * ROOT2, 5, 5), rows=frozenset({1}), low=-5, high=5)
    two = rows.multiply_rows(a_value(rows=frozenset({0, 1})), noisy, HERE)
    require(two, norms=(10, 5, 5))


def test_a_sum_over_records_moves_by_those_that_differ():
    weights = Spread(
        sample=np.zeros(3),
        rows=frozenset({1}),
        low=-0.5,
        high=0.25,
        norms=DifferenceNorms(0.1, 0.1, 0.1),
    )
    found = rows.sum_of_outer(a_value(), weights, np.zeros(2))
    require(found, norms=(1.5 * ROOT2, 1.5, 1.5))
    far = weights.norms._replace(l2=2.0)
    apart = rows.sum_of_outer(
        a_value(norms=DifferenceNorms(5, 5, 5)),
        a_value(sample=np.zeros((3, 2)), rows=frozenset({1}), low=-0.5, high=0.25, norms=far),
        np.zeros((2, 2)),
    )
    require(apart, norms=(5 * ROOT2, 2.5 * ROOT2, 2.5 * ROOT2))
    both = rows.sum_of_outer(
        a_value(norms=DifferenceNorms(0.2, 0.1, 0.1)),
        Spread(
            sample=np.zeros(3),
            rows=frozenset({2}),
            low=0.0,
            high=0.5,
            norms=DifferenceNorms(0, 0.2, 0.1),
        ),
        np.zeros(2),
    )
    require(both, norms=(ROOT2 * ROOT2 * 0.55, ROOT2 * 0.55, ROOT2 * 0.55))
    public = rows.sum_of_outer(
        make_history_spread(HERE), make_history_spread(np.zeros(3)), np.zeros(2)
    )
    require(public, norms=NOTHING, rows=frozenset())


def test_a_transpose_holds_the_same_entries_in_other_rows():
    shift = np.arange(6.0).reshape(3, 2)
    found = rows.transpose_spread(a_value(shift=shift), HERE.T)
    require(found, norms=(3, 2.5, 2), rows=frozenset({0, 1}), low=-1, high=2, row_norm=math.inf)
    assert found.shift.tolist() == shift.T.tolist()
    assert rows.transpose_spread(a_value(norms=NOTHING), HERE.T).rows == frozenset()


def test_a_part_moves_by_no_more_than_its_entries():
    def pick(array):
        return array[1:, 1]

    found = rows.select_spread_entries(a_value(norms=DifferenceNorms(9, 8, 1)), pick, HERE[1:, 1])
    require(found, norms=(2, ROOT2, 1), rows=frozenset({0}), row_norm=2.5, low=-1, high=2)
    still = rows.select_spread_entries(a_value(), lambda one: one[2:], HERE[2:])
    require(still, norms=NOTHING, rows=frozenset())
    mixed = rows.select_spread_entries(a_value(), np.ravel, HERE.ravel())
    require(mixed, rows=frozenset({2, 3}), row_norm=2.5)
    shift = np.zeros((3, 2))
    shift[1] = 0.3, 0.4
    known = rows.select_spread_entries(a_value(shift=shift), pick, HERE[1:, 1])
    require(known, norms=(0.4, 0.4, 0.4))
    assert known.shift.tolist() == [0.4, 0]
    across = rows.select_spread_entries(
        a_value(), lambda one: one.reshape(2, 3), HERE.reshape(2, 3)
    )
    require(across, rows=frozenset({0, 1}), row_norm=math.inf)


def test_rows_that_are_taken_twice_move_twice():
    found = rows.take_rows(a_value(), np.array([1, 0, 1]), HERE)
    require(found, norms=(6, 2.5 * ROOT2, 2), rows=frozenset({0, 2}), row_norm=2.5, low=-1, high=2)
    shift = np.zeros((3, 2))
    shift[1] = 0.3, 0.4
    known = rows.take_rows(a_value(shift=shift), np.array([1, 0, 1]), HERE)
    require(known, norms=(1.4, 0.5 * ROOT2, 0.4))
    assert known.shift.tolist() == [[0.3, 0.4], [0, 0], [0.3, 0.4]]
    require(rows.take_rows(a_value(), np.array([0, 2]), HERE[:2]), norms=NOTHING, rows=frozenset())


@pytest.mark.parametrize("row", [1, -2])
def test_a_row_moves_where_it_is_one_of_those_that_differ(row):
    require(rows.take_row(a_value(row_norm=1.5), row, HERE[1]), norms=(3, 2.5, 2), low=-1, high=1.5)
    found = rows.take_row(a_value(), row + 1, HERE[2])
    require(found, norms=NOTHING, rows=frozenset())


@pytest.mark.parametrize("stacked", [True, False])
def test_values_behind_one_another_move_together(stacked):
    values = [a_value(), another(), a_value(norms=NOTHING, rows=frozenset())]
    found = rows.join_spreads(values, np.zeros((3, 3, 2) if stacked else (9, 2)), stacked=stacked)
    require(found, norms=(10, 6.5, 5), low=-4, high=2, row_norm=math.inf if stacked else 5)
    assert found.rows == ({0, 1} if stacked else {1, 5})
    assert found.shift is None


# --- functions ------------------------------------------------------------------------------------


def array(value, reading=None):
    return BoundedArray(reading or BoundedReading(functions), value)


def test_means_are_sums_over_how_many():
    require(np.mean(array(a_value())).spread, norms=(0.5, 0.5, 0.5), low=-1, high=2)
    require(np.mean(array(a_value()), axis=0).spread, norms=(1, 2.5 / 3, 2 / 3), low=-1, high=2)
    require(np.mean(array(a_value()), axis=1).spread, norms=(1.5, 1.5, 1.5), low=-1, high=2)


def test_a_choice_by_a_public_mask_takes_each_where_it_is_chosen():
    mask = np.array([[True, False]] * 3)
    found = np.where(
        mask, array(a_value(), same := BoundedReading(functions)), array(another(), same)
    )
    require(found.spread, norms=(10, 8.5, 7), low=-5, high=3, rows=frozenset({1, 2}))


def test_ends_of_a_clip_are_its_ends():
    require(
        np.clip(array(a_value()), -0.5, 1.0).spread, low=-0.5, high=1, norms=(3, 1.5 * ROOT2, 1.5)
    )
    require(np.clip(array(a_value()), None, 1.0).spread, low=-1, high=1)
    require(np.clip(array(a_value()), a_min=-0.5, a_max=None).spread, low=-0.5, high=2)


@pytest.mark.parametrize(
    ("function", "ends", "norms"),
    [
        (np.negative, (-2, 1), (3, 2.5, 2)),
        (np.absolute, (0, 2), (3, 2.5, 2)),
        (np.exp, (math.exp(-1), math.exp(2)), None),
        (np.tanh, (-1, 1), (3, 2.5, 2)),
        (np.sin, (-1, 1), (3, 2.5, 2)),
        (np.sign, (-1, 1), (4, 2 * ROOT2, 2)),
        (np.square, (0, 4), None),
    ],
)
def test_ends_and_slopes_of_functions_of_entries(function, ends, norms):
    found = function(array(a_value())).spread
    require(found, low=ends[0], high=ends[1], norms=norms)


def test_the_exponential_moves_by_its_slope_at_the_upper_end():
    small = a_value(norms=DifferenceNorms(0.3, 0.2, 0.1))
    e = math.exp(2)
    require(np.exp(array(small)).spread, norms=(0.3 * e, 0.2 * e, 0.1 * e))


def test_a_square_moves_by_twice_its_size():
    small = a_value(norms=DifferenceNorms(0.3, 0.2, 0.1))
    require(np.square(array(small)).spread, norms=(1.2, 0.8, 0.4))
    require((array(small) ** 2).spread, norms=(1.2, 0.8, 0.4), low=0)


def test_the_root_of_a_sum_of_squares_is_a_norm():
    value = array(a_value())
    each = np.sqrt((value**2).sum(axis=1)).spread
    require(each, norms=(3, 2.5, 2.5), low=0, high=2.5)
    assert each.over.of is value.spread
    whole = np.sqrt((value * value).sum()).spread
    require(whole, norms=(2.5, 2.5, 2.5))
    assert whole.over.whole
    with pytest.raises(NoBound, match="sqrt"):
        np.sqrt((value**2).sum(axis=0))


def test_a_row_that_is_written_moves_by_what_is_written():
    value = array(a_value(), same := BoundedReading(functions))
    value[0] = array(
        a_value(sample=HERE[0], rows=frozenset({0}), norms=DifferenceNorms(1, 1, 1)), same
    )
    require(value.spread, norms=(4, math.sqrt(7.25), 2), rows=frozenset({0, 1}))
    value[-2] = 5.0
    require(value.spread, norms=(4, math.sqrt(7.25), 2), rows=frozenset({0}), low=-1, high=5)


def test_a_row_of_weights_times_noisy_rows_is_a_sum_over_records():
    weights = a_value(sample=np.zeros(3), low=-0.5, high=0.5, norms=DifferenceNorms(0.1, 0.1, 0.1))
    value = array(a_value(), same := BoundedReading(functions))
    found = (array(weights, same) @ value).spread
    require(found, norms=(1.5 * ROOT2, 1.5, 1.5))
    with pytest.raises(NoBound, match="product"):
        array(weights, same) @ array(a_value(sample=np.zeros(3)), same)


def test_entries_in_another_order_have_no_rule():
    for function in (np.reshape, lambda one, shape, order: np.ravel(one, order)):
        assert function(array(a_value()), (6,), order="C").spread.norms == (3, 2.5, 2)
        with pytest.raises(NoBound):
            function(array(a_value()), (6,), order="F")


def test_functions_of_noisy_values_alone_are_noisy_values_and_of_others_are_none():
    value = array(a_value(), same := BoundedReading(functions))
    noisy = array(make_history_spread(HERE), same)
    assert np.outer(noisy[0], noisy[1]).spread.is_public
    with pytest.raises(NoBound, match="outer"):
        np.outer(noisy[0], value[1])


@pytest.mark.parametrize(("kind", "fourth"), [("normal", 3.0), ("laplace", 24.0)])
def test_noise_that_is_only_looked_at_is_of_its_kind(kind, fourth):
    generator = BoundedGenerator(BoundedReading(functions), np.random.default_rng(0))
    drawn = getattr(generator, kind)(size=2000)._standard
    assert np.mean(drawn**4) == pytest.approx(fourth, rel=0.5)
    assert not generator.normal(size=2).is_spent


# --- datasets -------------------------------------------------------------------------------------


class Named(NamedTuple):
    x: float


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (Named(1.0), Named(2.0), "datasets that are a Named"),
        ({1.0}, {2.0}, "datasets that are a set"),
        ([1.0], [1.0, 2.0], "different lengths"),
        ((1.0, 2.0), (1.0,), "different lengths"),
        ({"a": 1.0, "b": 1.0}, {"b": 1.0, "a": 1.0}, "different keys"),
        ([1.0], [1], "different types"),
        ([np.zeros(2)], [np.zeros(3)], "different shapes"),
    ],
)
def test_datasets_of_another_form_have_no_bound(one, other, reason):
    found = read_movement_bounds(lambda data, rng: rng.normal(), one, other)
    assert reason in found.reason


@pytest.mark.parametrize("make", [lambda x: [1.0, x], lambda x: (1.0, x), lambda x: [1.0, [x]]])
def test_parts_of_datasets_move_by_themselves(make):
    def function(data, rng):
        last = data[1]
        last = last[0] if isinstance(last, list) else last
        return [data[0] + rng.normal(), 2 * last + rng.laplace()]

    found = read_movement_bounds(function, make(3.0), make(5.0))
    first, second = (one.norms.l1 for one in found.movements)
    assert (first, second) == (0.0, pytest.approx(4.0))
    assert [one.kind for one in found.movements] == ["normal", "laplace"]
    (event,) = found.event().events
    assert (event.sensitivity, event.noise_scale) == (pytest.approx(4.0), 1.0)


def test_an_infinite_movement_is_refused_in_the_norm_of_its_noise():
    wide = DifferenceNorms(math.inf, 1.0, 1.0)
    for kind, refused in (("laplace", True), ("normal", False)):
        reading = BoundedReading(functions)
        reading.steps.append(CentreMovement(place="l", kind=kind, scale=1.0, norms=wide, shape=()))
        assert isinstance(_make_movement_bounds(reading), TraceRefusal) is refused


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (1.0, 0.0, "the code branches on the data"),
        (0.0, 3.0, "the code branches on the data"),
        (None, None, "the code branches on a value of data and noise"),
    ],
)
def test_a_branch_that_differs_is_refused_by_what_decides_it(one, other, reason):
    value = a_number() if one is None else spread.spread_of_pair(np.array(one), np.array(other))
    with pytest.raises(NoBound, match=f"^{reason}$"):
        bool(array(value))


@pytest.mark.parametrize(("one", "other"), [(1.0, 2.0), (0.0, 0.0), (-1.0, 5.0)])
def test_a_branch_that_both_sides_take_is_taken(one, other):
    value = array(spread.spread_of_pair(np.array(one), np.array(other)))
    assert bool(value) is bool(one)


def test_a_branch_by_a_noisy_value_is_refused_as_such():
    with pytest.raises(NoBound, match=r"^the code branches on a noisy value$"):
        bool(array(make_history_spread(np.array(1.0))))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([2**53]), np.array([2**53 + 1])),
        (np.array([2.0**53]), np.array([2**53 + 1])),
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0])),
        (np.array([0.0, np.inf]), np.array([-0.0, np.inf])),
    ],
)
def test_what_doubles_merge_is_not_public(one, other):
    assert not spread.spread_of_pair(one, other).is_public
    assert spread.spread_of_pair(one, one.copy()).is_public


def test_a_spectral_norm_of_each_matrix_is_not_read():
    one, other = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    other[0] = np.eye(2)
    reading = BoundedReading(None)
    given = BoundedArray(reading, spread.spread_of_pair(one, other))
    assert functions._apply_norm_rule(reading, given, None, (1, 2)) is not None
    assert functions._apply_norm_rule(reading, given, 2, (1, 2)) is None
