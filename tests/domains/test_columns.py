"""What a column holds, value by value, and how a JSON Schema or a table says so."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest

from dpaudit.domains import (
    Booleans,
    Categories,
    Dates,
    Integers,
    Numbers,
    Schema,
    Texts,
    columns,
    schemas,
)
from dpaudit.domains.columns import ValueSet, is_allowed_in_column
from dpaudit.errors import InvalidArgument

FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)
YEAR = Dates(first=FIRST, last=LAST)


@pytest.mark.parametrize(
    ("column", "inside", "outside"),
    [
        (Integers(low=-1, high=3), [-1, 0, 3, 2.0], [-2, 4, 0.5]),
        (Numbers(low=-1, high=3), [-1, 0.5, 3], [-1.5, 3.5]),
        (Categories(values=("a", 2)), ["a", 2], ["b", 3]),
        (Texts(longest=2, alphabet="ab"), ["", "ab", "bb"], ["aba", "c", 3]),
        (
            YEAR,
            [FIRST, LAST, datetime.datetime(2020, 1, 3, 23)],
            [datetime.date(2019, 12, 31), datetime.date(2020, 1, 4), "2020-01-02"],
        ),
        (Booleans(), [True, False], [2, "x"]),
        (ValueSet(values=(1,)), [1, "whatever"], []),
    ],
)
def test_a_column_holds_its_ends_and_nothing_beyond(column, inside, outside):
    assert all(is_allowed_in_column(column, one) for one in inside)
    assert not any(is_allowed_in_column(column, one) for one in outside)
    assert not is_allowed_in_column(column, None)
    assert not is_allowed_in_column(column, math.nan)


def test_what_may_be_missing_may_be_none_or_nan():
    column = Integers(missing=True, low=0, high=1)
    assert is_allowed_in_column(column, None)
    assert is_allowed_in_column(column, math.nan)
    assert not is_allowed_in_column(column, 2)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Integers(low=2, high=1), "high"),
        (lambda: Integers(low=-(2**63) - 1), "low"),
        (lambda: Integers(low=0.5, high=1), "low"),
        (lambda: Numbers(low=2, high=1), "low"),
        (lambda: Numbers(low=-1.5e308, high=1.5e308), "low"),
        (lambda: Numbers(low=0, high=math.inf), "high"),
        (lambda: Categories(values=()), "values"),
        (lambda: Categories(values=("a", "a")), "values"),
        (lambda: Texts(longest=-1), "longest"),
        (lambda: Texts(alphabet=""), "alphabet"),
        (lambda: Dates(first=LAST, last=FIRST), "first"),
        (lambda: Dates(first="2020-01-01"), "first"),
        (lambda: Dates(last=3), "last"),
        (lambda: Dates(first=datetime.datetime(2000, 1, 1)), "first"),
        (lambda: Dates(last=datetime.datetime(2000, 12, 31, 15)), "last"),
        (lambda: Schema({}), "columns"),
        (lambda: Schema({"a": columns.Column()}), "a"),
    ],
)
def test_a_column_of_nothing_is_refused_by_the_name_of_its_end(make, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        make()


def test_columns_of_one_value_are_none_that_is_refused():
    assert (Integers(low=-(2**53), high=-(2**53)).low, Numbers(low=1, high=1).high) == (-(2**53), 1)
    assert type(Numbers(low=1, high=2).low) is float
    assert (Dates(first=FIRST, last=FIRST).last, Texts(longest=0).longest) == (FIRST, 0)
    assert Categories(values=["a"]).values == ("a",)


# --- JSON Schema ----------------------------------------------------------------------------------

AGE = {"type": "integer", "minimum": 0, "maximum": 9}


@pytest.mark.parametrize(
    ("part", "column"),
    [
        ({"type": "boolean"}, Booleans()),
        ({"type": ["boolean", "null"]}, Booleans(missing=True)),
        (AGE, Integers(low=0, high=9)),
        (AGE | {"type": ["null", "integer"]}, Integers(missing=True, low=0, high=9)),
        ({"type": "number", "minimum": 0, "maximum": 1}, Numbers(low=0.0, high=1.0)),
        ({"enum": ["a", "b"]}, Categories(values=("a", "b"))),
        ({"enum": ["a", None, "b"]}, Categories(missing=True, values=("a", "b"))),
        ({"const": 3}, Categories(values=(3,))),
        ({"type": "string", "enum": ["x"], "maxLength": 4}, Categories(values=("x",))),
        ({"type": "string", "maxLength": 7}, Texts(longest=7)),
        (
            {
                "type": "string",
                "format": "date",
                "formatMinimum": "2020-01-01",
                "formatMaximum": "2020-01-03",
                "maxLength": 10,
            },
            YEAR,
        ),
        ({"anyOf": [AGE, {"type": "null"}]}, Integers(missing=True, low=0, high=9)),
        ({"allOf": [AGE], "maximum": 5}, Integers(low=0, high=5)),
        ({"oneOf": [AGE]}, Integers(low=0, high=9)),
        ({"$ref": "#/$defs/age"}, Integers(low=0, high=9)),
        ({"anyOf": [{"$ref": "#/$defs/age"}, {"type": "null"}]},
         Integers(missing=True, low=0, high=9)),
    ],
)  # fmt: skip
def test_a_property_is_the_column_that_it_describes(part, column):
    schema = {"properties": {"a": part}, "$defs": {"age": AGE}}
    assert Schema.from_json(schema).columns == {"a": column}


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"type": ["integer", "number"], "minimum": 0, "maximum": 1},
        {"type": "string"},
        {"type": "string", "format": "date", "formatMinimum": "2020-01-01"},
        {"type": "string", "maxLength": -1},
        {"$ref": "#/$defs/other"},
        {"$ref": "elsewhere.json#/$defs/age"},
        {"type": "array"},
    ],
)
def test_a_property_of_another_kind_or_without_bounds_is_refused(part):
    with pytest.raises(InvalidArgument, match=r"^a"):
        Schema.from_json({"properties": {"a": part}, "$defs": {"age": AGE}})


def test_references_are_followed_eight_deep_and_in_no_circle():
    chain = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(7)} | {"7": AGE}
    part = {"properties": {"a": {"$ref": "#/$defs/1"}}, "$defs": chain}
    assert Schema.from_json(part).columns == {"a": Integers(low=0, high=9)}
    for start in ({"$ref": "#/$defs/0"}, {"$ref": "#/properties/a"}):
        with pytest.raises(InvalidArgument, match=r"^a: got references without an end"):
            Schema.from_json(part | {"properties": {"a": start}})
    with pytest.raises(InvalidArgument, match="schema: got no properties"):
        Schema.from_json({"type": "object"})


def test_ends_are_the_tightest_of_those_that_are_stated():
    ends = {"minimum": 0.5, "exclusiveMinimum": 2, "maximum": 9.5, "exclusiveMaximum": 8}
    assert schemas._get_number_bounds("a", [ends], whole=True) == (3, 7)
    low, high = schemas._get_number_bounds("a", [ends], whole=False)
    assert (low, high) == (math.nextafter(2, 3), math.nextafter(8, 7))
    assert schemas._compute_next_inwards(2.5, math.inf, True) == 3
    assert schemas._compute_next_inwards(2.5, -math.inf, True) == 2
    assert schemas._compute_next_inwards(-2.5, math.inf, True) == -2


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (pd.Series([3, 9, 5]), Integers(low=3, high=9)),
        (pd.array([3, None], dtype="Int64"), Integers(missing=True, low=3, high=3)),
        (pd.Series([0.5, math.nan, 2.0]), Numbers(missing=True, low=0.5, high=2.0)),
        (pd.Series([True, False]), Booleans()),
        (pd.array([True, None], dtype="boolean"), Booleans(missing=True)),
        (pd.Series(["b", "a", "b"]), Categories(values=("b", "a"))),
        (pd.Series(["b", None]), Categories(missing=True, values=("b",))),
        (pd.Categorical(["a"], categories=["b", "a"]), Categories(values=("b", "a"))),
        (pd.Categorical([None], categories=["b"]), Categories(missing=True, values=("b",))),
        (pd.to_datetime(pd.Series(["2020-01-03 11:00", "2020-01-01"], dtype=str),
                        format="mixed"), YEAR),
    ],
)  # fmt: skip
def test_a_table_is_the_domain_that_it_spans(values, column):
    assert Schema.of(pd.DataFrame({"a": values})).columns == {"a": column}


def test_a_column_without_values_spans_nothing():
    for values in ([math.nan], [None], pd.array([None], dtype="Int64")):
        with pytest.raises(InvalidArgument, match=r"^a: got no values"):
            Schema.of(pd.DataFrame({"a": values}))


@pytest.mark.parametrize("kind", [Integers, Numbers, Booleans, Dates, Texts, Categories])
def test_whether_a_value_may_be_missing_is_yes_or_no(kind):
    assert kind(missing=True).missing is True
    assert kind(missing=np.bool_(False)).missing is False
    for word in ("no", "false", 0, 1, None):
        with pytest.raises(InvalidArgument, match=r"^missing: got .*expected true or false"):
            kind(missing=word)
