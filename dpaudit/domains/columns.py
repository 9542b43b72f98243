"""Columns of a table, whatever the data are: bounds, categories, missing values."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any

import dpaudit._check as check
from dpaudit.errors import InvalidArgument

# The integers that numpy's usual type holds.
INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, kw_only=True)
class Column:
    """The common part of all columns: whether a value may be missing."""

    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", check.require_boolean("missing", self.missing))


@dataclass(frozen=True, kw_only=True)
class Integers(Column):
    """Integers from ``low`` to ``high``, both included; ``int64``, or ``Int64`` with gaps."""

    low: int = 0
    high: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("low", INT64.start), ("high", self.low)):
            end = check.require_integer(name, getattr(self, name), least=least)
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
            object.__setattr__(self, name, _round_end_inwards(name, getattr(self, name), inwards))
        # Shares of the range are taken of the difference, which overflows for ends near the largest
        # double.
        if not self.low <= self.high or not math.isfinite(self.high - self.low):
            raise InvalidArgument("low", self.low, f"a number of at most high, {self.high:g}")


@dataclass(frozen=True, kw_only=True)
class Categories(Column):
    """One of some values; ``category``, whose categories are all of them in this order."""

    values: tuple[Any, ...] = ("a", "b")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "values", tuple(self.values))
        try:
            different = set(self.values)
        except TypeError:
            expected = "values such as texts and numbers, no lists"
            raise InvalidArgument("values", self.values, expected) from None
        if not self.values or len(different) < len(self.values):
            raise InvalidArgument("values", self.values, "different values, at least one")


@dataclass(frozen=True, kw_only=True)
class Texts(Column):
    """Text of at most ``longest`` characters of an ``alphabet``."""

    longest: int = 4
    alphabet: str = "abc"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.require_integer("longest", self.longest, least=0)
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
            # A datetime is an instance of date, and Python refuses to compare the two.
            if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
                raise InvalidArgument(name, value, "a datetime.date, without a time of day")
        if not self.first <= self.last:
            raise InvalidArgument("first", self.first, f"a day of at most last, {self.last}")


@dataclass(frozen=True, kw_only=True)
class Booleans(Column):
    """True or False; ``bool``, or ``boolean`` with gaps."""


@dataclass(frozen=True, kw_only=True)
class ValueSet(Column):
    """Values of any kind that records hold; ``has_other`` says that the last is none of them."""

    values: tuple[Any, ...] = ()
    has_other: bool = False


def _round_end_inwards(name: str, end: Any, inwards: float) -> float:
    """Return an end as a double: the next one inwards where none is the same."""
    number = check.require_real(name, end)
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


def is_varying_column(column: Column) -> bool:
    """Return whether two records may differ in a column."""
    return column.missing or values_of(column) != 1


def is_allowed_in_column(column: Column, value: Any) -> bool:
    """Return whether a column may hold a value.

    Examples
    --------
    >>> (
    ...     is_allowed_in_column(Integers(low=0, high=9), 4),
    ...     is_allowed_in_column(Integers(low=0, high=9), 4.5),
    ... )
    (True, False)
    """
    # NaN and NaT do not equal themselves.
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
            return isinstance(value, datetime.date) and first <= _to_date(value) <= last
        case Booleans():
            return value in (False, True)
    return True


def value_at(column: Column, share: float) -> Any:
    """Return the value at a share of the way through a column of numbers, days or categories.

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
            # The product is a double, which for a range beyond 2**53 may round past its end.
            return low + min(round(share * (high - low)), high - low)
        case Dates(first=first, last=last):
            return first + datetime.timedelta(days=round(share * (last - first).days))
        case Categories(values=values):
            return values[round(share * (len(values) - 1))]
    raise TypeError(type(column).__name__)


def _to_date(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value
