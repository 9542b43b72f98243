"""Leaves of an observation: a number, a token, or a number with a token.

A token is a discrete value: its kind and its text, and a hash of both that is a double. Equal
values have equal leaves, and others have others, as exactly as doubles and texts tell.
"""

from __future__ import annotations

import datetime
import enum
import math
import re
import sys
from collections.abc import Coroutine, Iterator
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from dpaudit.errors import MechanismError

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# A double holds every integer up to this size.
_EXACT = 2**53


class LeafToken(NamedTuple):
    """A discrete value: its kind and its text."""

    kind: str
    text: str

    @property
    def code(self) -> float:
        """A number for it, above 0 and at most 16, the same in every process.

        It is as small as the numbers beside it, so that these still count where all are added up.
        """
        # Numbers of 48 bits are doubles without rounding, and so is their quotient by a power of
        # two.
        digest = blake2b(f"{self.kind}:{self.text}".encode("utf-8", "surrogatepass"), digest_size=6)
        return (1 + int.from_bytes(digest.digest(), "big")) / 2**44


class CodeToken(LeafToken):
    """A discrete value of which the code alone is known: its text is that number."""

    @property
    def code(self) -> float:
        """The number."""
        return float(self.text)


Part = float | LeafToken
ABSENT = LeafToken("absent", "")


def convert_leaf(value: Any) -> tuple[Part, ...] | None:
    """Return the number or token of a value that is no container."""
    kind = type(value)
    if kind is float or kind is np.float64:
        return _of_float(value)
    # Before numbers, as a member of an enumeration of integers is an integer, too.
    if isinstance(value, enum.Enum):
        return (LeafToken(kind.__qualname__, value.name),)
    if isinstance(value, np.floating):
        return _of_float(value)
    # Before integers, as a bool is one.
    if isinstance(value, bool | np.bool_):
        return (LeafToken("bool", str(bool(value))),)
    # numpy counts durations among its integers.
    if kind is int or (isinstance(value, np.integer) and kind is not np.timedelta64):
        found = _of_exact(value)  # 1 is not 1.0
        return found if len(found) > 1 else (*found, LeafToken("number", "int"))
    if value is None or value is Ellipsis or value is NotImplemented:
        return (LeafToken(kind.__name__, str(value)),)
    if isinstance(value, str):
        return float(len(value)), LeafToken("str", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return float(len(value)), LeafToken("bytes", bytes(value).hex())
    return _of_date(value) or _of_other_number(value)


def _of_float(value: Any) -> tuple[Part, ...]:
    number = float(value)
    # -0.0 equals 0.0: only its sign tells it apart.
    if not math.isfinite(number) or (number == 0 and math.copysign(1.0, number) < 0):
        return (
            (LeafToken("number", str(number)),) if number else (number, LeafToken("number", "-0.0"))
        )
    return (number,) if number == value else (number, LeafToken("number", str(value)))


def _of_exact(value: Any) -> tuple[Part, ...]:
    if -_EXACT <= value <= _EXACT:
        return (float(value),)
    return _to_nearest_double(value), LeafToken("number", hex(value))


def _to_nearest_double(value: Any) -> float:
    try:
        return max(-sys.float_info.max, min(float(value), sys.float_info.max))
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _of_other_number(value: Any) -> tuple[Part, ...] | None:
    if not isinstance(value, Real | Decimal | Fraction):
        return None
    if isinstance(value, Decimal) and not value.is_finite():
        return (LeafToken("number", str(value)),)
    return _to_nearest_double(value), LeafToken(type(value).__name__, str(value))


def _of_date(value: Any) -> tuple[Part, ...] | None:
    # Before dates, as a datetime is one.
    if isinstance(value, datetime.datetime):
        if value != value:  # pandas.NaT
            return (LeafToken("date", "NaT"),)
        days = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        return days.total_seconds(), LeafToken("date", value.isoformat())
    if isinstance(value, datetime.date):
        return float(value.toordinal()), LeafToken("date", value.isoformat())
    if isinstance(value, datetime.timedelta):
        return value.total_seconds(), LeafToken("duration", str(value))
    if isinstance(value, datetime.time):
        return (LeafToken("time", value.isoformat()),)
    if isinstance(value, np.datetime64 | np.timedelta64):
        if np.isnat(value):
            return (LeafToken("date", "NaT"),)
        return float(value.astype(np.int64)), LeafToken("date", f"{value} {value.dtype}")
    return None


def text_of(value: Any) -> LeafToken:
    """Return the text of something of no known kind, without the address it happens to have.

    Raises
    ------
    MechanismError
        It is a generator or the like, which shows what it holds only once.
    """
    if isinstance(value, Iterator | Coroutine):
        kind = type(value).__name__
        raise MechanismError(
            f"returned a {kind}, expected a value or a list: the function has to run it"
        )
    try:
        text = repr(value)
    except Exception as error:  # somebody else's __repr__
        text = f"no repr: {type(error).__name__}"
    return LeafToken(type(value).__qualname__, ADDRESS.sub("", text))
