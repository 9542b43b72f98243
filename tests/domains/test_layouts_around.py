"""Layouts by hand: what is built of units, and what may stand beside a dataset."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from dpaudit.domains import Booleans, Categories, Integers, Numbers, dataset_domain, layouts
from dpaudit.domains.columns import ValueSet
from dpaudit.errors import InvalidArgument

NAN = math.nan


def built(layout, *records):
    return layout.build([(record,) for record in records])


# --- datasets of units ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (Integers(), np.int64, True),
        (Booleans(), np.int64, True),
        (Integers(missing=True), np.float64, False),
        (Booleans(missing=True), np.float64, False),
        (Numbers(), np.float64, False),
    ],
)
def test_numbers_are_whole_where_no_column_has_others_or_gaps(column, kind, expected):
    assert layouts.are_whole([column]) is expected
    assert layouts.are_whole([Integers(), column]) is expected
    assert built(layouts.make_matrix_layout([column, Integers()], None), (1, 0)).dtype == kind
    assert layouts.are_whole([Integers(), Categories()]) is False


def test_single_values_are_an_array_a_list_or_one_value():
    column = Integers(low=0, high=9)
    array = layouts.make_value_layout(column, "array").build([((3,), (4,)), ((5,),)])
    assert (array.tolist(), array.dtype) == ([3, 4, 5], np.int64)
    assert (
        layouts.make_value_layout(Integers(missing=True), "array").build([((3,),)]).dtype
        == np.float64
    )
    assert layouts.make_value_layout(column, "list").build([((3,), (4,))]) == [3, 4]
    assert layouts.make_value_layout(column, "value").build([((3,),)]) == 3
    assert layouts.make_value_layout(column, "list").names == ("value",)


def test_labels_stand_last_in_a_record_and_have_no_length():
    made = layouts.make_labelled_layout([Numbers()] * 2, Categories(values=("n", "y")), 1.0)
    assert (made.names, made.labels, made.norm) == ((0, 1, "label"), 2, 1.0)
    features, labels = built(made, (0.25, 0.5, "y"), (1.0, 0.0, "n"))
    assert features.tolist() == [[0.25, 0.5], [1.0, 0.0]]
    assert labels.tolist() == ["y", "n"]
    assert made.allowed((0.0, 1.0, "y")) == (0.0, 1.0, "y")
    assert made.allowed((0.0, 2.0, "y")) == (0.0, 1.0, "y")
    assert layouts.make_matrix_layout([Numbers()] * 2, None).allowed((9.0, 9.0)) == (9.0, 9.0)


def test_a_table_without_records_has_the_types_of_its_columns():
    columns = [Integers(), Booleans(missing=True), Categories(values=("b", "a"))]
    empty = layouts.make_table_layout(["n", "is", "of"], columns).build([])
    assert [str(one) for one in empty.dtypes] == ["int64", "boolean", "category"]
    full = built(
        layouts.make_table_layout(["n", "is", "of"], columns), (1, None, "a"), (2, True, None)
    )
    assert full["of"].cat.categories.tolist() == ["b", "a"]
    assert full["n"].tolist() == [1, 2]
    assert full["is"].isna().tolist() == [True, False]
    assert full["of"].isna().tolist() == [False, True]


def test_users_are_numbered_in_a_column_of_their_own_name():
    records = layouts.make_matrix_layout([Numbers(), Numbers()], 2.0)
    of_users = layouts.of_users(records, "person")
    table = of_users.build([((0.0, 1.0), (2.0, 3.0)), (), ((4.0, 5.0),)])
    assert table.columns.tolist() == ["person", 0, 1]
    assert table["person"].tolist() == [0, 0, 2]
    assert str(table["person"].dtype) == "int64"
    assert of_users.norm == 2.0


def test_the_column_of_users_has_the_name_of_the_relation():
    plain = layouts.of_users(layouts.make_value_layout(Numbers(), "array"))
    assert layouts.of_user(plain, None) is plain
    assert layouts.of_user(plain, "user") is plain
    named = layouts.of_user(plain, "person")
    assert named.build([((0.5,),)]).columns.tolist() == ["person", "value"]


@pytest.mark.parametrize(
    ("values", "is_number", "expected"),
    [
        ([1, 3, 2], True, Integers(low=1, high=3)),
        ([1, 3, None], True, Integers(missing=True, low=1, high=3)),
        ([1, 2.5], True, Numbers(low=1.0, high=2.5)),
        ([NAN, 0.5], True, Numbers(missing=True, low=0.5, high=0.5)),
        ([NAN, None], True, Categories(missing=True, values=("",))),
        (["b", "a", "b"], False, Categories(values=("b", "a"))),
        ([None, "a"], False, Categories(missing=True, values=("a",))),
    ],
)
def test_a_column_holds_what_examples_held(values, is_number, expected):
    assert layouts._make_column_of_values(values, is_number) == expected


def test_examples_of_all_sizes_say_what_columns_hold():
    made = layouts.of_examples([np.array([3.0]), np.array([9.0, 4.0]), np.array([-1.0])])
    assert made.columns == (Numbers(low=-1.0, high=9.0),)
    assert built(made, (2.0,), (5.0,), (6.0,)).tolist() == [2.0, 5.0, 6.0]
    pair = layouts.of_examples([(np.array([[1.0]]), np.array(["a"]))])
    assert pair.labels == 1


# --- beside a dataset -----------------------------------------------------------------------------


def start_of(dataset, bounds=None, missing=False):
    return dataset_domain.layout_around(dataset, bounds, missing=missing)


@pytest.mark.parametrize(
    ("found", "ends", "whole", "far"),
    [
        ((0, 0), None, True, (0, 10)),
        ((0, 0), None, False, (0, 100)),
        ((1, 3), None, True, (0, 30)),
        ((1, 3), None, False, (0, 300)),
        ((-3, -1), None, True, (-30, 0)),
        ((-3, 2), None, True, (-30, 30)),
        ((-3, 0), None, True, (-30, 0)),
        ((0, 3), None, True, (0, 30)),
        ((0.25, 0.5), None, False, (0, 100)),
        ((1, 200), (0, 255), True, (0, 255)),
        ((-100, 5), (-128, 127), True, (-128, 127)),
        ((-100, -5), (-128, 127), True, (-128, 0)),
        ((0, 1e299), None, False, (0, 1e300)),
        ((-1e305, 1e305), None, False, (-1e305, 1e305)),
    ],
)
def test_numbers_go_ten_or_a_hundred_times_as_far_as_their_sign_and_type_allow(
    found, ends, whole, far
):
    assert dataset_domain._choose_far_ends(found, ends, whole) == far


@pytest.mark.parametrize(
    ("low", "high", "whole", "column"),
    [
        (0.5, 2.5, True, Integers(low=1, high=2)),
        (0.5, 2.5, False, Numbers(low=0.5, high=2.5)),
        (2, 2, True, Integers(low=2, high=2)),
        (0.25, 0.75, True, Numbers(low=0.25, high=0.75)),
        (0, 2**53, True, Integers(low=0, high=2**53)),
        (0, 2**53 + 3, True, Integers(low=0, high=2**53 + 3)),
        (0, 2**63 - 1, True, Integers(low=0, high=2**63 - 1)),
        (0, 2**63, True, Numbers(low=0, high=2.0**63)),
        (-(2**63) - 1, 0, True, Numbers(low=-(2.0**63), high=0)),
    ],
)
def test_whole_numbers_are_integers_where_64_bits_hold_them_all(low, high, whole, column):
    assert dataset_domain._of_numbers(low, high, whole, False) == column


def test_values_come_once_and_one_that_is_none_of_them_last():
    other = "a value that no record has"
    found = dataset_domain._of_values(["a", "b", "a", None], True)
    assert found == ValueSet(missing=True, values=("a", "b", other), has_other=True)
    kinds = dataset_domain._of_values([object], False)
    assert kinds == ValueSet(values=(object,), has_other=False)


def test_columns_beside_a_dataset_are_what_is_stated_and_as_far_as_its_numbers_go():
    table = pd.DataFrame({"age": [31, 75], "pay": [0.5, NAN], "sex": ["f", "m"]})
    made = start_of(table, {"age": (18, 99)})
    age, pay, sex = made.columns
    assert age == Integers(low=18, high=99)
    assert pay == Numbers(missing=True, low=0.0, high=100.0)
    assert sex.values == ("f", "m", "a value that no record has")
    assert made.start.ranges == ((31, 75), (0.5, 0.5), None)
    assert made.start.is_stated == (True, False, False)
    assert not made.start.is_of_bounds
    assert [one.missing for one in start_of(table, missing=True).columns] == [True] * 3


def test_bounds_of_all_numbers_are_stated_of_each_and_labels_are_never_missing():
    features, labels = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1])
    made = start_of((features, labels), (0, 5), missing=True)
    assert made.columns[:2] == (Numbers(missing=True, low=0.0, high=5.0),) * 2
    assert made.columns[2] == ValueSet(values=(0, 1, 8), has_other=True)
    assert made.start.is_stated == (True, True, False)
    assert start_of(features, (0, 5)).start.is_of_bounds
    assert made.labels == 2


def test_columns_are_named_in_text_too_and_unknown_ones_are_refused():
    assert start_of(np.array([[1.0, 2.0]]), {"1": (0, 2)}).start.is_stated == (False, True)
    assert start_of(np.array([[1.0, 2.0]]), {1: (0, 2)}).start.is_stated == (False, True)
    with pytest.raises(InvalidArgument, match=r"bounds: got 2, 7, expected columns"):
        start_of(np.array([[1.0, 2.0]]), {"1": (0, 2), 2: (0, 1), "7": (0, 1)})


def test_what_is_not_changed_is_the_dataset_itself_and_rows_keep_their_labels():
    table = pd.DataFrame({"n": [1, 2, 3]}, index=["a", "b", "c"])
    made = start_of(table)
    units = made.start.units
    assert made.build(units) is table
    assert made.build(list(units)) is table
    changed = made.build([units[0], ((7,),), units[2]])
    assert changed["n"].to_dict() == {"a": 1, "b": 7, "c": 3}
    fewer = made.build([units[0], units[2]], without=1)
    assert fewer["n"].to_dict() == {"a": 1, "c": 3}
    assert made.build(units[:2])["n"].to_dict() == {"a": 1, "b": 2}
    more = made.build([*units, ((9,),)])
    assert more["n"].tolist() == [1, 2, 3, 9]
    assert more.index[:3].tolist() == ["a", "b", "c"]


def test_what_pandas_calls_na_is_nan_among_numbers_and_none_elsewhere():
    table = pd.DataFrame({
        "n": pd.array([1, None], dtype="Int64"), "s": pd.array([None, "x"], dtype="string")
    })  # fmt: skip
    (first,), (second,) = start_of(table).start.units
    assert first == (1, None)
    assert math.isnan(second[0])
    assert second[1] == "x"
