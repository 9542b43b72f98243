"""Public domains of tables, column by column.

A mechanism knows its domain before it sees a record: bounds, categories, whether a value may be
missing. A `Schema` says so; it can be read from a JSON Schema, as pydantic and others write for a
record, or from a table that is public itself.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dpaudit._check as check
from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Texts,
)
from dpaudit.errors import InvalidArgument, VerbatimText

# What a JSON Schema may say of a column: the words that are read, and those that change nothing.
_READ = (
    *("type", "enum", "const", "$ref", "anyOf", "allOf", "oneOf", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("formatMinimum", "formatMaximum"),
)
_NOTES = (
    *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
    *("$comment", "$id", "$schema", "$anchor", "$defs", "definitions"),
)
_UNDERSTOOD = frozenset((*_READ, *_NOTES))
_HARMLESS = {
    "format": ("date", "int32", "int64", "float", "double"),
    "minLength": (0,),
    "multipleOf": (1,),
}
_OF_RECORDS = frozenset((*_NOTES, "type", "properties", "required", "additionalProperties"))
_JSON = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


@dataclass(frozen=True)
class Schema:
    """The public domain of a table.

    Parameters
    ----------
    columns
        The domain of each column, by its name and in this order.

    Raises
    ------
    InvalidArgument
        There is no column, or one is described by something else than a `Column`.

    Examples
    --------
    >>> people = Schema({"age": Integers(low=0, high=120), "sex": Categories(values=("f", "m"))})
    >>> list(people.columns)
    ['age', 'sex']
    >>> Schema({"age": int})
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: age: got type, expected a column such as Integers(low=0, high=9)
    """

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        if not self.columns:
            raise InvalidArgument("columns", VerbatimText("none"), "at least one")
        for name, column in self.columns.items():
            if not isinstance(column, Column) or type(column) is Column:
                expected = "a column such as Integers(low=0, high=9)"
                raise InvalidArgument(str(name), VerbatimText(type(column).__name__), expected)

    @classmethod
    def from_json(cls, schema: Mapping[str, Any]) -> Schema:
        """Return the domain that a JSON Schema of one record describes.

        Numbers need a ``minimum`` and a ``maximum``, text a ``maxLength`` or an ``enum``, days (the
        format ``date``) a ``formatMinimum`` and a ``formatMaximum``: what has no bounds has no
        sensitivity either. What no column can be held to, such as a ``pattern``, is refused;
        titles, defaults and other notes are read over.

        Raises
        ------
        InvalidArgument
            A property is of another kind, has no bounds, or is held to more than a column is.

        Examples
        --------
        >>> schema = {"properties": {
        ...     "age": {"type": "integer", "minimum": 0, "maximum": 120},
        ...     "sex": {"enum": ["f", "m"]},
        ...     "income": {"type": ["number", "null"], "minimum": 0, "maximum": 1e6},
        ... }}
        >>> Schema.from_json(schema).columns["income"]
        Numbers(missing=True, low=0.0, high=1000000.0)
        >>> Schema.from_json({"properties": {"age": {"type": "integer"}}})
        Traceback (most recent call last):
        dpaudit.errors.InvalidArgument: age: got no bounds, expected a minimum and a maximum
        """
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            raise InvalidArgument("schema", VerbatimText("no properties"), "those of a record")
        if unknown := [one for one in schema if one not in _OF_RECORDS and one[:2] != "x-"]:
            expected = "what describes one property at a time"
            raise InvalidArgument("schema", VerbatimText(", ".join(unknown)), expected)
        needed = schema.get("required", properties)
        return cls(
            {
                name: _parse_schema_property(name, part, schema, needed)
                for name, part in properties.items()
            }
        )

    @classmethod
    def of(cls, frame: Any) -> Schema:
        """Return the domain that a table of pandas spans: the bounds and categories of its values.

        Examples
        --------
        >>> import pandas
        >>> Schema.of(pandas.DataFrame({"age": [31, 75], "sex": ["f", None]})).columns["sex"]
        Categories(missing=True, values=('f',))
        """
        return cls({name: _make_column_of_series(name, frame[name]) for name in frame.columns})


def _parse_schema_property(name: str, part: Any, whole: Mapping[str, Any], needed: Any) -> Column:
    """Return the column of one property of a JSON Schema."""
    parts = _resolve_schema_parts(name, part, whole)
    for one in parts:
        _refuse_unknown(name, one)
    kinds, nullable = _find_common_types(parts)
    missing = name not in needed
    if any("enum" in one or "const" in one for one in parts):
        return _one_of(name, parts, missing=missing)
    missing, dated = missing or nullable, any(one.get("format") == "date" for one in parts)
    match sorted(kinds):
        case ["boolean"]:
            return Booleans(missing=missing)
        case ["integer"]:
            low, high = _get_number_bounds(name, parts, whole=True)
            return Integers(missing=missing, low=math.ceil(low), high=math.floor(high))
        case ["number"]:
            low, high = _get_number_bounds(name, parts, whole=False)
            return Numbers(missing=missing, low=low, high=high)
        case ["string"] if dated:
            return Dates(missing=missing, **_get_day_bounds(name, parts))
        case ["string"] if any("maxLength" in one for one in parts):
            return Texts(missing=missing, longest=_get_longest_length(name, parts))
    expected = "a boolean, a bounded number, an enum, a date, or a string with maxLength"
    raise InvalidArgument(name, VerbatimText(", ".join(sorted(kinds)) or "no type"), expected)


def _resolve_schema_parts(
    name: str, part: Any, whole: Mapping[str, Any], left: int = 8
) -> list[Mapping[str, Any]]:
    """Return all that a property says, all of which holds, through references of the same file.

    Of alternatives there is one besides null, which is a type of it then.
    """
    if part is True:
        return []
    if not isinstance(part, Mapping) or not left:
        given = VerbatimText("references without an end" if not left else "no schema")
        raise InvalidArgument(name, given, "a schema that says its type")
    found = [part]
    if "$ref" in part:
        found += _resolve_schema_parts(
            name, _resolve_schema_reference(name, part["$ref"], whole), whole, left - 1
        )
    for one in part.get("allOf", ()):
        found += _resolve_schema_parts(name, one, whole, left - 1)
    for word in ("anyOf", "oneOf"):
        if word in part:
            found += _resolve_schema_alternative(name, part[word], whole, left - 1)
    return found


def _resolve_schema_reference(name: str, reference: Any, whole: Mapping[str, Any]) -> Any:
    """Return the part of the same file to which a reference leads."""
    target: Any = whole if str(reference).startswith("#/") else None
    for step in str(reference)[2:].split("/"):
        target = target.get(step) if isinstance(target, Mapping) else None
    if target is None:
        raise InvalidArgument(name, reference, "a reference within the schema, such as #/$defs/age")
    return target


def _resolve_schema_alternative(
    name: str, given: Any, whole: Mapping[str, Any], left: int
) -> list[Mapping[str, Any]]:
    """Return the one alternative that is not null; beside null, null as well."""
    parts = [_resolve_schema_parts(name, one, whole, left) for one in given]
    some = [one for one in parts if _find_common_types(one)[0] or not _find_common_types(one)[1]]
    if len(some) != 1:
        expected = "one besides null: a column is of one kind"
        raise InvalidArgument(name, VerbatimText(f"{len(some)} alternatives"), expected)
    return some[0] if len(parts) == 1 else [_with_null(one) for one in some[0]]


def _with_null(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part that allows null as well."""
    made = dict(part)
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if "enum" in made:
        made["enum"] = [*made["enum"], None]
    return made | ({"type": [*_get_schema_types(part), "null"]} if "type" in part else {})


def _get_schema_types(part: Mapping[str, Any]) -> list[str]:
    stated = part.get("type", [])
    return [stated] if isinstance(stated, str) else list(stated)


def _find_common_types(parts: Sequence[Mapping[str, Any]]) -> tuple[set[str], bool]:
    """Return the types besides null that all parts allow, and whether null is one."""
    stated = [set(_get_schema_types(one)) for one in parts if "type" in one]
    if not stated:
        return set(), False
    narrow = any("integer" in one and "number" not in one for one in stated)
    common = {one for some in stated for one in some}
    for some in stated:  # integers are numbers, and numbers that are to be integers are such
        common &= some | ({"integer"} if "number" in some and narrow else set())
    return common - {"null"}, "null" in common


def _refuse_unknown(name: str, part: Mapping[str, Any]) -> None:
    """Refuse keywords that state more about values than a column does."""
    for word, value in part.items():
        usual = _HARMLESS.get(word, ())
        if word not in _UNDERSTOOD and value not in usual and not word.startswith("x-"):
            known = f"no {word}" if not usual else f"no {word} but {usual[0]!r}"
            raise InvalidArgument(
                name, VerbatimText(f"{word} of {value!r}"), f"{known}, of a column"
            )


def _one_of(name: str, parts: Sequence[Mapping[str, Any]], *, missing: bool) -> Categories:
    """Return a column of the values that all parts allow."""
    values = [
        one
        for one in _get_enumerated_values(parts)
        if all(_is_allowed_by_schema(name, part, one) for part in parts)
    ]
    present = tuple(one for one in values if one is not None)
    if not present or not all(isinstance(one, str | int | float) for one in present):
        raise InvalidArgument(name, values, "texts, numbers, true and false, at least one")
    return Categories(missing=missing or len(present) < len(values), values=present)


def _get_enumerated_values(parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the values of the first part that names some."""
    first = next(one for one in parts if "enum" in one or "const" in one)
    return list(first.get("enum", [first.get("const")]))


def _is_allowed_by_schema(name: str, part: Mapping[str, Any], value: Any) -> bool:
    """Return whether a part of a schema allows a value of an enumeration."""
    known = part.get("enum", [part["const"]] if "const" in part else [value])
    # JSON tells true from 1, and Python's equality does not.
    if not any(type(one) is type(value) and one == value for one in known):
        return False
    if "type" in part and not {_JSON.get(type(value)), _get_other_number_type(value)} & set(
        _get_schema_types(part)
    ):
        return False
    if isinstance(value, str):
        return not len(value) > part.get("maxLength", math.inf)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    lows, highs = (
        _get_schema_ends(name, part, "minimum", math.inf),
        _get_schema_ends(name, part, "maximum", -math.inf),
    )
    return all(low <= value for low in lows) and all(value <= high for high in highs)


def _get_other_number_type(value: Any) -> str | None:
    """Return the other type that a number of JSON is of."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return "number"
    return "integer" if isinstance(value, float) and value.is_integer() else None


def _get_number_bounds(
    name: str, parts: Sequence[Mapping[str, Any]], *, whole: bool
) -> tuple[float, float]:
    """Return the least and the greatest number of a property; exclusive ends are no part of it."""
    lows = [end for one in parts for end in _get_schema_ends(name, one, "minimum", math.inf, whole)]
    highs = [
        end for one in parts for end in _get_schema_ends(name, one, "maximum", -math.inf, whole)
    ]
    if not lows or not highs:
        raise InvalidArgument(name, VerbatimText("no bounds"), "a minimum and a maximum")
    return max(lows), min(highs)


def _get_schema_ends(
    name: str, part: Mapping[str, Any], end: str, inwards: float, whole: bool = False
) -> list[float]:
    """Return the numbers at one end: the one that is stated, and the next after one left out."""
    closed, left_out = part.get(end), part.get(f"exclusive{end.capitalize()}")
    if isinstance(left_out, bool):  # as of draft 4: whether the stated one is left out
        closed, left_out = (None, closed) if left_out else (closed, None)
    found = [] if closed is None else [_require_schema_number(f"{name}: {end}", closed)]
    if left_out is not None:
        found.append(
            _compute_next_inwards(
                _require_schema_number(f"{name}: {end}", left_out), inwards, whole
            )
        )
    return found


def _require_schema_number(name: str, value: Any) -> float:
    number = check.require_real(name, value)
    return value if isinstance(value, int) else number  # doubles have no large integers


def _compute_next_inwards(end: float, inwards: float, whole: bool) -> float:
    if not whole:
        return math.nextafter(end, inwards)
    return math.floor(end) + 1 if inwards > 0 else math.ceil(end) - 1


def _get_longest_length(name: str, parts: Sequence[Mapping[str, Any]]) -> int:
    stated = [one["maxLength"] for one in parts if "maxLength" in one]
    return min(check.require_integer(f"{name}: maxLength", one, least=0) for one in stated)


def _get_day_bounds(name: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, datetime.date]:
    """Return the first and the last day of a property, which only an extension can state."""
    ends = [
        [str(one[word]) for one in parts if word in one]
        for word in ("formatMinimum", "formatMaximum")
    ]
    try:
        lows, highs = ([datetime.date.fromisoformat(end) for end in some] for some in ends)
        return {"first": max(lows), "last": min(highs)}
    except ValueError:
        expected = "a formatMinimum and a formatMaximum, days such as 2000-01-31"
        raise InvalidArgument(name, VerbatimText("no bounds"), expected) from None


def _make_column_of_series(name: Any, values: Any) -> Column:
    """Return the domain that a column of pandas spans."""
    from pandas.api import types

    missing, present = bool(values.isna().any()), values.dropna()
    if isinstance(values.dtype, types.CategoricalDtype):
        return Categories(missing=missing, values=tuple(values.cat.categories.tolist()))
    if types.is_bool_dtype(values.dtype):
        return Booleans(missing=missing)
    if not len(present):
        raise InvalidArgument(
            str(name), VerbatimText("no values"), "at least one, to span a domain"
        )
    if types.is_datetime64_any_dtype(values.dtype):
        return Dates(missing=missing, first=present.min().date(), last=present.max().date())
    if types.is_integer_dtype(values.dtype):
        return Integers(missing=missing, low=int(present.min()), high=int(present.max()))
    if types.is_float_dtype(values.dtype):
        return Numbers(missing=missing, low=float(present.min()), high=float(present.max()))
    return Categories(missing=missing, values=tuple(dict.fromkeys(present.tolist())))
