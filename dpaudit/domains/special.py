"""Values of a column that code is likely to treat apart: ends, zero, and compared constants."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import Any

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Texts,
    ValueSet,
)
from dpaudit.domains.texts import find_patterns, special_texts
from dpaudit.neighbours.cells import value_key

_SHOWN = 12  # categories that are tried, besides those that code names
_ALIKE = 2  # categories that hold a word of code
_WEEK = 7
_YEAR = 12
_LONGEST = 24  # text of a number
_DAY = datetime.timedelta(days=1)
_NUMBERS = 12  # of code, of which days are made, and words that categories may hold
_SHARES = tuple((2 * n + 1) / 16 for n in range(8))  # of a range: one in every wide bin


def first_value(column: Column) -> Any:
    """Return the first value that a column may hold.

    Examples
    --------
    >>> first_value(Integers(low=3, high=9)), first_value(Booleans())
    (3, False)
    """
    return next(_find_special_values(column, ()))


def special_values(column: Column, constants: Sequence[Any] = ()) -> list[Any]:
    """Return values of a column that are worth a try, each once, the ends first.

    Parameters
    ----------
    column
        What may be held.
    constants
        Numbers, texts and dates that code compares with.

    Examples
    --------
    >>> special_values(Numbers(low=0.0, high=1.0))[:5]
    [0.0, 1.0, 0.5, 0.0625, 0.1875]
    >>> special_values(Integers(low=0, high=100), [37])[:8]
    [0, 100, 37, 36, 38, 50, 1, 99]
    """
    found = dict[tuple[str, Any], Any]()
    for value in _find_special_values(column, constants):
        found.setdefault((type(value).__name__, value_key(value)), value)
    return [*found.values(), *([absent_value(column)] if column.missing else ())]


def absent_value(column: Column) -> float | None:
    """Return the value for a missing entry of a column.

    Examples
    --------
    >>> absent_value(Numbers(missing=True)), absent_value(Integers(missing=True))
    (nan, None)
    """
    return math.nan if isinstance(column, Numbers) else None


def _find_special_values(column: Column, constants: Sequence[Any]) -> Iterator[Any]:
    match column:
        case Numbers(low=low, high=high):
            yield from _select_values_inside(_of_numbers(low, high, constants), low, high)
        case Integers(low=low, high=high):
            yield from _select_values_inside(_of_integers(low, high, constants), low, high)
        case Categories(values=values):
            yield from values[:1]
            yield from _find_special_categories(values[1:], constants)
            yield from values[1:_SHOWN]
            yield values[-1]
        case ValueSet(values=values):
            yield from (*values[:1], *values[-1:])
            yield from (one for one in constants if any(type(one) is type(v) for v in values[:1]))
            yield from values[1:_SHOWN]
        case Texts():
            yield from special_texts(column, constants)
        case Dates(first=first, last=last):
            yield from _select_values_inside(_of_dates(first, last, constants), first, last)
        case Booleans():
            yield from (False, True)


def _find_special_categories(values: Sequence[Any], constants: Sequence[Any]) -> Iterator[Any]:
    """Yield categories that code names, then such as hold or match a word or a number of it."""
    whole = {one for one in constants if isinstance(one, Hashable)}
    yield from (one for one in values if one in whole)
    texts = [one for one in values if isinstance(one, str)]
    for word in _get_category_words(constants):
        yield from islice((one for one in texts if word in one), _ALIKE)
    for pattern in find_patterns(constants):
        yield from islice((one for one in texts if pattern.search(one)), _ALIKE)


def _get_category_words(constants: Iterable[Any]) -> Iterator[str]:
    """Yield words that may be a part of a category: texts, and numbers of two digits or more."""
    found = (str(one) for one in constants if type(one) in (int, str))
    return islice((one for one in found if len(one) > 1), _NUMBERS)


def _select_values_inside(values: Iterable[Any], low: Any, high: Any) -> Iterator[Any]:
    return (one for one in values if low <= one <= high)


def _get_constant_numbers(constants: Iterable[Any]) -> Iterator[float]:
    for one in map(_as_number, constants):
        if isinstance(one, int | float) and not isinstance(one, bool) and _is_double(one):
            yield from dict.fromkeys((one, -one))


def _is_double(number: float) -> bool:
    """Return whether a number is finite, and an integer small enough for a double."""
    return abs(number) <= sys.float_info.max


def _as_number(constant: Any) -> Any:
    """Return the number that a text says, anything else as it is."""
    if not isinstance(constant, str) or len(constant) > _LONGEST:
        return constant
    try:
        return float(constant)
    except ValueError:
        return None


def _of_numbers(low: float, high: float, constants: Sequence[Any]) -> Iterator[float]:
    yield from (low, high)
    for one in filter(None, map(float, _get_constant_numbers(constants))):
        # Code that compares with a constant may treat the constant itself, and what is next to it
        # on either side, as three cases.
        yield from (one, math.nextafter(one, -math.inf), math.nextafter(one, math.inf))
    yield from (low / 2 + high / 2, 0.0)
    yield from (1.0, -1.0) if high - low > 2 else ()
    yield from (low + share * (high - low) for share in _SHARES)


def _of_integers(low: int, high: int, constants: Sequence[Any]) -> Iterator[int]:
    yield from (low, high)
    for one in _get_constant_numbers(constants):
        whole = math.floor(one)
        yield from (whole, whole - 1, whole + 1)
    yield from ((low + high) // 2, 0, low + 1, high - 1)
    yield from (low + int(share * (high - low)) for share in _SHARES)


def _of_dates(
    first: datetime.date, last: datetime.date, constants: Sequence[Any]
) -> Iterator[datetime.date]:
    yield from (first, last)
    for one in (*filter(None, map(_parse_constant_day, constants)), *_days_of_numbers(constants)):
        yield from _days_from(one, (0, -1, 1))
    middle = first + (last - first) // 2
    yield from _days_from(middle, range(_WEEK))
    yield from _make_month_days(middle.year)


def _days_from(day: datetime.date, steps: Iterable[int]) -> Iterator[datetime.date]:
    """Yield the days so many after one, those that there are: none follows the last of all."""
    for step in steps:
        with suppress(OverflowError):
            yield day + step * _DAY


def _make_month_days(year: int) -> Iterator[datetime.date]:
    """Yield a day of every month: the first, the last, and others."""
    for month in range(1, _YEAR + 1):
        start = datetime.date(year, month, 1)
        yield start if month % 3 else start - _DAY
        yield start + 14 * _DAY


def _days_of_numbers(constants: Sequence[Any]) -> Iterator[datetime.date]:
    """Yield days that three numbers say, as in ``date(2020, 2, 29)``."""
    whole = [one for one in constants if type(one) is int][:_NUMBERS]
    for year, month, day in product(whole, whole, whole):
        if datetime.MINYEAR + 999 <= year <= datetime.MAXYEAR:
            with suppress(ValueError):
                yield datetime.date(year, month, day)


def _parse_constant_day(constant: Any) -> datetime.date | None:
    """Return the day that a constant is or says."""
    if isinstance(constant, datetime.datetime):
        return constant.date()
    if isinstance(constant, datetime.date):
        return constant
    try:
        return datetime.date.fromisoformat(constant) if isinstance(constant, str) else None
    except ValueError:
        return None
