"""What a JSON Schema says of a value holds of its column, or is refused; nothing is left out."""

from __future__ import annotations

import datetime
import math

import pytest

from dpaudit.domains import Booleans, Categories, Dates, Integers, Numbers, Schema, Texts
from dpaudit.errors import InvalidArgument

WHOLE = {"type": "integer", "minimum": 0, "maximum": 9}
TEXT = {"type": "string", "maxLength": 4}


def _column(part, **further):
    return Schema.from_json({"properties": {"a": part}, **further}).columns["a"]


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (TEXT | {"minLength": 2}, "minLength"),
        (TEXT | {"pattern": "^a$"}, "pattern"),
        (TEXT | {"format": "email"}, "format"),
        (WHOLE | {"multipleOf": 5}, "multipleOf"),
        (WHOLE | {"not": {"const": 3}}, "not"),
        (WHOLE | {"if": {"minimum": 3}, "then": {"maximum": 5}}, "if"),
        ({"allOf": [WHOLE, {"not": {"const": 3}}]}, "not"),
        ({"anyOf": [TEXT | {"pattern": "a"}, {"type": "null"}]}, "pattern"),
        ({"enum": ["a", "b"], "pattern": "a"}, "pattern"),
        (WHOLE | {"mininum": 3}, "mininum"),
    ],
)
def test_what_no_column_can_be_held_to_is_refused_by_its_name(part, word):
    with pytest.raises(InvalidArgument, match=rf"^a: got {word} of .* no {word}"):
        _column(part)


def test_notes_and_what_changes_nothing_are_read_over():
    notes = {"title": "A", "description": "b", "default": 1, "examples": [2], "x-unit": "year"}
    assert _column(WHOLE | notes | {"multipleOf": 1, "format": "int64"}) == Integers(high=9)
    assert _column(TEXT | notes | {"minLength": 0}) == Texts(longest=4)
    assert _column({"type": "boolean"} | notes, title="R", type="object") == Booleans()


@pytest.mark.parametrize(
    ("part", "column"),
    [
        (
            {"type": "integer", "allOf": [{"minimum": 5}, {"minimum": 0, "maximum": 10}]},
            Integers(low=5, high=10),
        ),
        ({"allOf": [WHOLE, {"maximum": 12, "minimum": -3}]}, Integers(low=0, high=9)),
        ({"allOf": [TEXT, {"maxLength": 9}]}, Texts(longest=4)),
        ({"allOf": [WHOLE, {"type": "number"}]}, Integers(low=0, high=9)),
        ({"allOf": [{"type": ["integer", "null"]}, WHOLE]}, Integers(low=0, high=9)),
        ({"enum": [1, 2, 3], "minimum": 2}, Categories(values=(2, 3))),
        ({"enum": [1, "a", None], "type": "integer"}, Categories(values=(1,))),
        ({"type": ["string", "null"], "enum": ["a", "b"]}, Categories(values=("a", "b"))),
        ({"enum": ["a", "long"], "maxLength": 2}, Categories(values=("a",))),
        ({"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}, Categories(values=(2,))),
        ({"enum": [True, 0.5], "type": "number"}, Categories(values=(0.5,))),
        (
            {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]},
            Categories(missing=True, values=("a", "b")),
        ),
        (
            {"anyOf": [{"const": "a"}, {"type": "null"}]},
            Categories(missing=True, values=("a",)),
        ),
        (
            {
                "allOf": [
                    {"type": "string", "format": "date", "formatMinimum": "2020-01-01"},
                    {"formatMinimum": "2020-01-02", "formatMaximum": "2020-01-03"},
                ]
            },
            Dates(first=datetime.date(2020, 1, 2), last=datetime.date(2020, 1, 3)),
        ),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, None),
    ],
)
def test_all_that_is_said_holds_at_once(part, column):
    low = math.nextafter(0.0, 1.0)
    assert _column(part) == (column or Numbers(low=low, high=1.0))


@pytest.mark.parametrize(
    "part",
    [
        {"anyOf": [WHOLE, WHOLE | {"minimum": 20, "maximum": 30}]},
        {"anyOf": [WHOLE, TEXT]},
        {"allOf": [WHOLE, {"$ref": "#/$defs/none"}]},
        {"allOf": [WHOLE, {"type": "string"}]},
        {"allOf": [WHOLE, False]},
        {"enum": [[1], [2]]},
        {"enum": [{"a": 1}]},
        {"enum": [None]},
        {"enum": [1, 2], "minimum": 3},
    ],
)
def test_what_has_no_column_of_one_kind_is_refused(part):
    with pytest.raises(InvalidArgument, match=r"^a: got"):
        _column(part)


@pytest.mark.parametrize("word", ["allOf", "not", "dependentRequired", "minProperties"])
def test_what_is_said_of_several_properties_at_once_is_refused(word):
    with pytest.raises(InvalidArgument, match=f"^schema: got {word}"):
        _column(WHOLE, **{word: {}})


def test_categories_that_have_no_hash_are_refused():
    with pytest.raises(InvalidArgument, match=r"^values: .*no lists"):
        Categories(values=([1], [2]))
