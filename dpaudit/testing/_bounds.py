"""How many: a number, or the least and the most of it."""

from __future__ import annotations

import math

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument

# A number, or (least, most).
Bounds = int | tuple[int, int]


def bounds(name: str, value: object, least: int = 1) -> tuple[int, int]:
    """Return ``value`` as ``(least, most)``, or raise `InvalidArgument`.

    Examples
    --------
    >>> bounds("rows", 3), bounds("rows", (1, 4))
    ((3, 3), (1, 4))
    >>> bounds("rows", (4, 1))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: rows: got (4, 1), expected an integer from 1, or (least, most)
    """
    expected = f"an integer from {least}, or (least, most)"
    ends = value if isinstance(value, tuple) else (value, value)
    if len(ends) != 2:
        raise InvalidArgument(name, value, expected)
    try:
        low, high = (check.integer(name, end, least) for end in ends)
    except InvalidArgument:
        raise InvalidArgument(name, value, expected) from None
    if low > high:
        raise InvalidArgument(name, value, expected)
    return low, high


def size(name: str, value: object) -> float:
    """Return ``value`` as a norm whose square is a number too."""
    number = check.positive(name, value)
    if not 1e-100 <= number <= 1e100:
        raise InvalidArgument(name, value, "a number from 1e-100 to 1e100")
    return number


def interval(low: object, high: object) -> tuple[float, float]:
    """Return two finite numbers above 0, the first at most the second."""
    least, most = check.positive("low", low), check.positive("high", high)
    if least > most or not math.isfinite(most - least):
        raise InvalidArgument("low", low, f"at most high, {most:g}")
    return least, most
