"""Observations in parts: nothing an output shows is lost, and equal outputs have equal parts."""

import datetime
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.mechanisms.outputs.layout import PartLayout, Plain, layout_of
from dpaudit.mechanisms.outputs.leaves import ABSENT, LeafToken
from dpaudit.mechanisms.outputs.observations import split_observation

Point = namedtuple("Point", "x y")


@dataclass
class Fit:
    coef_: list
    classes_: tuple


class Model:
    def __init__(self, **learned):
        self.__dict__ |= learned

    def fit(self):
        return self


def shuffled(mapping):
    return dict(reversed(mapping.items()))


DIFFERENT = {
    "a NaN": (1.0, float("nan")),
    "signs of zero": (0.0, -0.0),
    "infinities": (float("inf"), float("-inf")),
    "a large integer": (2**53, 2**53 + 1),
    "an integer beyond doubles": (10**400, 10**400 + 1),
    "text": ("yes", "no"),
    "bytes": (b"1", b"2"),
    "text and bytes": ("1", b"1"),
    "a number and its text": (1, "1"),
    "a boolean and a number": (True, 1),
    "none": (None, 0),
    "fractions": (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)),
    "decimals": (Decimal("0.1"), Decimal("0.10000000000000000001")),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "microseconds": (datetime.datetime(9000, 1, 1), datetime.datetime(9000, 1, 1, 0, 0, 0, 1)),
    "numpy dates": (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    "lengths": ([1, 2], [1, 2, 0]),
    "order": ([1, 2], [2, 1]),
    "keys": ({"a": 1}, {"b": 1}),
    "keys of other kinds": ({1: 1}, {"1": 1}),
    "sets": ({1, 2}, {1, 3}),
    "nested": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "an empty array": (np.zeros(0), np.zeros((0, 1))),
    "dtypes": (np.zeros(2), np.zeros(2, dtype=np.float32)),
    "arrays of text": (np.array(["a", "b"]), np.array(["a", "c"])),
    "masks": (np.ma.masked_array([1.0, 2.0], [False, True]), np.ma.masked_array([1.0, 2.0])),
    "complex numbers": (1 + 1j, 1 + 2j),
    "fields of records": (
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array([(1, 3.0)], dtype=[("a", int), ("b", float)]),
    ),
    "named tuples": (Point(1, 2), Point(1, 3)),
    "data classes": (Fit([1.0], (0, 1)), Fit([1.0], (0, 1, 7))),
    "fitted models": (Model(classes_=[0, 1], alpha=1), Model(classes_=[0, 1, 7], alpha=1)),
    "sparse matrices": (scipy.sparse.eye_array(3), scipy.sparse.eye_array(3, k=1)),
    "exceptions": (ValueError("a"), KeyError("a")),
    "messages": (ValueError("a"), ValueError("b")),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_has_other_parts(one, other):
    assert split_observation(one) != split_observation(other)
    assert split_observation(one) == split_observation(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, shuffled({"a": 1, "b": 2})),
        ({3, 1, 2}, {2, 3, 1}),
        (np.float64(1.5), 1.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ([object()], [object()]),
    ],
)
def test_what_is_the_same_has_the_same_parts(one, other):
    assert split_observation(one) == split_observation(other)


def test_paths_are_those_that_people_write():
    found = split_observation(
        {"groups": {"b": 1.0, 3: 2.0}, "bins": np.zeros(2), "fit": Fit([0.5], ())}
    )
    assert {"groups['b']", "groups[3]", "bins[1]", "fit.coef_[0]", "fit.classes_.len"} <= set(found)
    assert {"output", "output[1]", "coef_[0]"} == {
        path
        for one in (3.0, [1, 2], Model(coef_=[1.0]))
        for path in split_observation(one)
        if path in ("output", "output[1]", "coef_[0]")
    }


def test_tables_show_columns_kinds_and_missing_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, None], "b": pandas.Categorical(["x", "y"])})
    found = split_observation(frame)
    assert found["a[1]"] == (LeafToken("number", "nan"),)
    assert found["b.categories"] == (LeafToken("categories", "'x', 'y'"),)
    assert split_observation(frame) != split_observation(
        frame.assign(b=pandas.Categorical(["x", "y"], ["x", "y", "z"]))
    )
    assert split_observation(frame["a"]) != split_observation(frame["a"].rename(index={1: 2}))


def test_what_holds_itself_ends():
    endless = []
    endless.append(endless)
    assert len(split_observation(endless)) < 50


def test_a_repr_that_fails_is_one_outcome():
    class Odd:
        __slots__ = ()

        def __repr__(self):
            raise ValueError

    assert split_observation(Odd()) == {
        "output": (LeafToken(Odd.__qualname__, "no repr: ValueError"),)
    }


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(st.lists(values, min_size=1, max_size=6))
def test_every_outcome_has_a_finite_row_and_equal_ones_equal_rows(outcomes):
    layout = layout_of([outcomes[:3], outcomes[:2]])
    rows = layout.rows(outcomes, len(outcomes))
    assert rows.shape[0] == len(outcomes)
    assert np.isfinite(rows).all()
    again = layout.rows(outcomes, len(outcomes))
    assert np.array_equal(rows, again)


@given(st.lists(values, min_size=2, max_size=5), values)
def test_what_turns_up_later_is_told_from_what_was_usual(usual, later):
    layout = layout_of([usual, usual])
    known = [split_observation(one) for one in usual]
    rows = layout.rows([*usual, later], len(usual) + 1)
    if split_observation(later) not in known and isinstance(layout, PartLayout):
        assert all(not np.array_equal(rows[-1], row) for row in rows[:-1])
    elif split_observation(later) in known:
        assert any(np.array_equal(rows[-1], row) for row in rows[:-1])


def test_numbers_alone_stay_what_they_are():
    sides = [np.arange(6.0).reshape(3, 2), np.ones((4, 2))]
    layout = layout_of(sides)
    assert layout == Plain((2,), "rows <f8")
    assert np.array_equal(layout.rows(sides[0], 3), sides[0])
    layout = layout_of([side.tolist() for side in sides])
    assert layout == Plain((2,), "list of float")
    odd = layout.rows([[1.0, np.nan], [np.inf, 2.0], "text"], 3)
    assert np.isfinite(odd).all()
    assert odd[0, 0] == 1.0
    assert (odd[2] >= 1e300).all()
    assert len({*map(tuple, odd)}) == 3


def test_what_is_absent_has_a_code_of_its_own():
    layout = layout_of([[{"a": "x"}], [{}]])
    (column,) = [n for n, one in enumerate(layout.columns) if one.path == "a" and one.discrete]
    rows = layout.rows([{"a": "x"}, {}], 2)
    assert rows[1, column] == ABSENT.code != rows[0, column]


def test_the_code_of_a_token_is_the_same_everywhere():
    assert LeafToken("str", "x").code == 12.565785547599546
    assert 0 < LeafToken("str", "y").code <= 16
