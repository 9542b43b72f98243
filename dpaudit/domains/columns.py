"""Public domains of tables: what a column may hold, whatever the data are.

A mechanism knows its domain before it sees a record: bounds, categories, whether a value may be
missing. A `Schema` says so column by column; it can be read from a JSON Schema, as pydantic and
others write for a record, or from a table that is public itself.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, Shown

INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, kw_only=True)
class Column:
    """What all columns have: whether a value may be missing."""

    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", check.boolean("missing", self.missing))


@dataclass(frozen=True, kw_only=True)
class Integers(Column):
    """Integers from ``low`` to ``high``, both included; ``int64``, or ``Int64`` with gaps."""

    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("low", INT64.start), ("high", self.low)):
            end = check.integer(name, getattr(self, name), least=least)
            if end not in INT64:
                raise InvalidArgument(name, end, "an integer of 64 bits, at most 2**63 - 1")
            object.__setattr__(self, name, end)  # of numpy's, sums would overflow


@dataclass(frozen=True, kw_only=True)
class Numbers(Column):
    """Numbers from ``low`` to ``high``, both included; ``float64``, a missing one is NaN."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, inwards in (("low", math.inf), ("high", -math.inf)):
            object.__setattr__(self, name, _double(name, getattr(self, name), inwards))
        if not self.low <= self.high or not math.isfinite(self.high - self.low):
            raise InvalidArgument("low", self.low, f"a number of at most high, {self.high:g}")


@dataclass(frozen=True, kw_only=True)
class Categories(Column):
    """One of some values; ``category``, whose categories are all of them in this order."""

    values: tuple[Any, ...] = ("a", "b")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values or len(set(self.values)) < len(self.values):
            raise InvalidArgument("values", self.values, "different values, at least one")


@dataclass(frozen=True, kw_only=True)
class Texts(Column):
    """Text of at most ``longest`` characters of an ``alphabet``."""

    longest: int = 4
    alphabet: str = "abc"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.integer("longest", self.longest, least=0)
        if not self.alphabet:
            raise InvalidArgument("alphabet", self.alphabet, "at least one character")


@dataclass(frozen=True, kw_only=True)
class Dates(Column):
    """Days from ``first`` to ``last``, both included; ``datetime64``."""

    first: datetime.date = datetime.date(2000, 1, 1)
    last: datetime.date = datetime.date(2000, 12, 31)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "last"):
            value = getattr(self, name)
            if not isinstance(value, datetime.date):
                raise InvalidArgument(name, value, "a datetime.date")
        if not self.first <= self.last:
            raise InvalidArgument("first", self.first, f"a day of at most last, {self.last}")


@dataclass(frozen=True, kw_only=True)
class Booleans(Column):
    """True or False; ``bool``, or ``boolean`` with gaps."""


@dataclass(frozen=True, kw_only=True)
class Seen(Column):
    """Values of any kind that records hold; ``has_other`` says that the last is none of them."""

    values: tuple[Any, ...] = ()
    has_other: bool = False


def _double(name: str, end: Any, inwards: float) -> float:
    """Return an end as a double: the next one inwards where none is the same."""
    number = check.real(name, end)
    is_beyond = number < end if inwards > 0 else number > end
    return math.nextafter(number, inwards) if is_beyond else number


def values_of(column: Column) -> int | None:
    """Return how many values a column may hold, missing ones apart; None of text and numbers.

    Examples
    --------
    >>> values_of(Integers(low=1, high=3)), values_of(Booleans()), values_of(Numbers())
    (3, 2, None)
    """
    match column:
        case Integers(low=low, high=high):
            return high - low + 1
        case Categories(values=values):
            return len(values)
        case Booleans():
            return 2
        case Dates(first=first, last=last):
            return (last - first).days + 1
        case Texts(longest=0):
            return 1
        case Numbers(low=low, high=high) if low == high:
            return 1
    return None


def varies(column: Column) -> bool:
    """Return whether two records may differ in a column."""
    return column.missing or values_of(column) != 1


def holds(column: Column, value: Any) -> bool:
    """Return whether a column may hold a value.

    Examples
    --------
    >>> holds(Integers(low=0, high=9), 4), holds(Integers(low=0, high=9), 4.5)
    (True, False)
    """
    if value is None or value != value:
        return column.missing
    match column:
        case Integers(low=low, high=high):
            return bool(low <= value <= high and math.floor(value) == value)
        case Numbers(low=low, high=high):
            return bool(low <= value <= high)
        case Categories(values=values):
            return value in values
        case Texts(longest=longest, alphabet=alphabet):
            return isinstance(value, str) and len(value) <= longest and set(value) <= set(alphabet)
        case Dates(first=first, last=last):
            return isinstance(value, datetime.date) and first <= _day(value) <= last
        case Booleans():
            return value in (False, True)
    return True


def value_at(column: Column, share: float) -> Any:
    """Return what is a share of the way through a column of numbers, days or categories.

    Nothing is beyond an end, whatever rounding does.

    Examples
    --------
    >>> value_at(Integers(low=0, high=9), 0.5), value_at(Numbers(low=-3.1, high=-0.3), 1.0)
    (4, -0.3)
    """
    match column:
        case Numbers(low=low, high=high):
            return min(max(low + share * (high - low), low), high)
        case Integers(low=low, high=high):
            return low + min(round(share * (high - low)), high - low)
        case Dates(first=first, last=last):
            return first + datetime.timedelta(days=round(share * (last - first).days))
        case Categories(values=values):
            return values[round(share * (len(values) - 1))]
    raise TypeError(type(column).__name__)


def _day(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


@dataclass(frozen=True)
class Schema:
    """The public domain of a table.

    Parameters
    ----------
    columns
        What each may hold, by its name and in this order.

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
            raise InvalidArgument("columns", Shown("none"), "at least one")
        for name, column in self.columns.items():
            if not isinstance(column, Column) or type(column) is Column:
                expected = "a column such as Integers(low=0, high=9)"
                raise InvalidArgument(str(name), Shown(type(column).__name__), expected)

    @classmethod
    def from_json(cls, schema: Mapping[str, Any]) -> Schema:
        """Return the domain that a JSON Schema of one record describes.

        Numbers need a ``minimum`` and a ``maximum``, text a ``maxLength`` or an ``enum``, days (the
        format ``date``) a ``formatMinimum`` and a ``formatMaximum``: what has no bounds has no
        sensitivity either.

        Raises
        ------
        InvalidArgument
            A property is of another kind, or has no bounds.

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
            raise InvalidArgument("schema", Shown("no properties"), "those of a record")
        needed = schema.get("required", properties)
        return cls({name: _read(name, part, schema, needed) for name, part in properties.items()})

    @classmethod
    def of(cls, frame: Any) -> Schema:
        """Return the domain that a table of pandas spans: bounds and categories are what it holds.

        Examples
        --------
        >>> import pandas
        >>> Schema.of(pandas.DataFrame({"age": [31, 75], "sex": ["f", None]})).columns["sex"]
        Categories(missing=True, values=('f',))
        """
        return cls({name: _seen(name, frame[name]) for name in frame.columns})


def _read(name: str, part: Any, whole: Mapping[str, Any], needed: Any) -> Column:
    """Return the column of one property of a JSON Schema."""
    kinds, merged, nullable = _resolved(part, whole)
    missing = nullable or name not in needed
    if "enum" in merged or "const" in merged:
        values = merged.get("enum", [merged.get("const")])
        present = tuple(value for value in values if value is not None)
        return Categories(missing=missing or len(present) < len(values), values=present)
    match sorted(kinds):
        case ["boolean"]:
            return Booleans(missing=missing)
        case ["integer"]:
            low, high = _bounds(name, merged, whole=True)
            return Integers(missing=missing, low=math.ceil(low), high=math.floor(high))
        case ["number"]:
            low, high = _bounds(name, merged, whole=False)
            return Numbers(missing=missing, low=low, high=high)
        case ["string"] if merged.get("format") == "date":
            return Dates(missing=missing, **_days(name, merged))
        case ["string"] if "maxLength" in merged:
            longest = check.integer(f"{name}: maxLength", merged["maxLength"], least=0)
            return Texts(missing=missing, longest=longest)
    expected = "a boolean, a bounded number, an enum, a date, or a string with maxLength"
    raise InvalidArgument(name, Shown(", ".join(sorted(kinds)) or "no type"), expected)


def _resolved(part: Any, whole: Mapping[str, Any]) -> tuple[set[str], dict[str, Any], bool]:
    """Return the types of a property without null, what it says, and whether null is one."""
    merged, kinds, nullable = dict[str, Any](), set[str](), False
    for one in _branches(part, whole):
        merged |= one
        stated = one.get("type", [])
        kinds |= {stated} if isinstance(stated, str) else set(stated)
    nullable = "null" in kinds
    return kinds - {"null"}, merged, nullable


def _branches(part: Any, whole: Mapping[str, Any], left: int = 8) -> Iterator[Mapping[str, Any]]:
    """Yield what a property says, through references of the same file and alternatives."""
    if not isinstance(part, Mapping) or not left:
        return
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = whole
        for step in reference[2:].split("/"):
            target = target.get(step, {}) if isinstance(target, Mapping) else {}
        yield from _branches(target, whole, left - 1)
    for one in (*part.get("anyOf", ()), *part.get("allOf", ()), *part.get("oneOf", ())):
        yield from _branches(one, whole, left - 1)
    yield part


def _bounds(name: str, merged: Mapping[str, Any], *, whole: bool) -> tuple[float, float]:
    """Return the least and the greatest number of a property; what is left out is no part of it."""
    lows = _ends(name, merged, "minimum", math.inf, whole)
    highs = _ends(name, merged, "maximum", -math.inf, whole)
    if not lows or not highs:
        raise InvalidArgument(name, Shown("no bounds"), "a minimum and a maximum")
    return max(lows), min(highs)


def _ends(
    name: str, merged: Mapping[str, Any], end: str, inwards: float, whole: bool
) -> list[float]:
    """Return the numbers at one end: the one that is stated, and the next after one left out."""
    closed, left_out = merged.get(end), merged.get(f"exclusive{end.capitalize()}")
    if isinstance(left_out, bool):  # as of draft 4: whether the stated one is left out
        closed, left_out = (None, closed) if left_out else (closed, None)
    found = [] if closed is None else [_stated(f"{name}: {end}", closed)]
    if left_out is not None:
        found.append(_next(_stated(f"{name}: {end}", left_out), inwards, whole))
    return found


def _stated(name: str, value: Any) -> float:
    number = check.real(name, value)
    return value if isinstance(value, int) else number  # doubles have no large integers


def _next(end: float, inwards: float, whole: bool) -> float:
    if not whole:
        return math.nextafter(end, inwards)
    return math.floor(end) + 1 if inwards > 0 else math.ceil(end) - 1


def _days(name: str, merged: Mapping[str, Any]) -> dict[str, datetime.date]:
    """Return the first and the last day of a property, which only an extension can state."""
    ends = (merged.get("formatMinimum"), merged.get("formatMaximum"))
    try:
        first, last = (datetime.date.fromisoformat(str(end)) for end in ends)
    except ValueError:
        expected = "a formatMinimum and a formatMaximum, days such as 2000-01-31"
        raise InvalidArgument(name, Shown("no bounds"), expected) from None
    return {"first": first, "last": last}


def _seen(name: Any, values: Any) -> Column:
    """Return the domain that a column of pandas spans."""
    from pandas.api import types

    missing, present = bool(values.isna().any()), values.dropna()
    if isinstance(values.dtype, types.CategoricalDtype):
        return Categories(missing=missing, values=tuple(values.cat.categories.tolist()))
    if types.is_bool_dtype(values.dtype):
        return Booleans(missing=missing)
    if not len(present):
        raise InvalidArgument(str(name), Shown("no values"), "at least one, to span a domain")
    if types.is_datetime64_any_dtype(values.dtype):
        return Dates(missing=missing, first=present.min().date(), last=present.max().date())
    if types.is_integer_dtype(values.dtype):
        return Integers(missing=missing, low=int(present.min()), high=int(present.max()))
    if types.is_float_dtype(values.dtype):
        return Numbers(missing=missing, low=float(present.min()), high=float(present.max()))
    return Categories(missing=missing, values=tuple(dict.fromkeys(present.tolist())))
