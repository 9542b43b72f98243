"""Checks at the boundary: each returns the clean value, or refuses a wrong one by name."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidArgument
from dpaudit.redaction import Record


def require_real(name: str, value: object, expected: str = "a finite number") -> float:
    """Return ``value`` as a finite float."""
    # `float` would take each of these, or drop a part of it: True as 1, "1" as 1, and of
    # NumPy's complex numbers the real part.
    if isinstance(value, (bool, np.bool_, str, bytes, complex, np.complexfloating)):
        raise InvalidArgument(name, value, expected)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(name, value, expected) from None
    if not math.isfinite(number):
        raise InvalidArgument(name, value, expected)
    return number


def require_positive(name: str, value: object) -> float:
    """Return ``value`` as a finite float above zero."""
    number = require_real(name, value, "a finite number above 0")
    if number <= 0:
        raise InvalidArgument(name, value, "a finite number above 0")
    return number


def non_negative(name: str, value: object) -> float:
    """Return ``value`` as a finite float at least zero."""
    number = require_real(name, value, "a finite number, at least 0")
    if number < 0:
        raise InvalidArgument(name, value, "a finite number, at least 0")
    return number


def require_probability(name: str, value: object) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = require_real(name, value, "a number in (0, 1)")
    if not 0 < number < 1:
        raise InvalidArgument(name, value, "a number in (0, 1)")
    return number


def require_delta(name: str, value: object) -> float:
    """Return ``value`` as a float in [0, 1): the failure probability of a guarantee."""
    number = require_real(name, value, "a number in [0, 1)")
    if not 0 <= number < 1:
        raise InvalidArgument(name, value, "a number in [0, 1)")
    return number


def require_integer(name: str, value: object, least: int) -> int:
    """Return ``value`` as an int at least ``least``; floats and booleans are refused."""
    expected = f"an integer, at least {least}"
    if isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(name, value, expected)
    try:
        # `int` would cut 2.7 down to 2 without a word.
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(name, value, expected) from None
    if number < least:
        raise InvalidArgument(name, value, expected)
    return number


def require_boolean(name: str, value: object) -> bool:
    """Return ``value`` as a bool; numbers and texts are refused, as most of them would be true."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidArgument(name, value, "true or false")
    return bool(value)


def require_choice(name: str, value: object, options: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise InvalidArgument(name, value, "one of: " + ", ".join(options))
    return str(value)


def finite_array(name: str, value: Any, ndim: int) -> NDArray[np.float64]:
    """Return ``value`` as a float64 array of ``ndim`` axes without NaN or infinity.

    The refusal names the first offending row, because that is what the user has to repair.
    """
    expected = f"finite numbers in {ndim} {'axis' if ndim == 1 else 'axes'}"
    try:
        if np.iscomplexobj(value):
            raise TypeError  # a cast would drop the imaginary parts
        # A copy: what the caller changes later must not change what was validated.
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(name, Record(value), expected) from None
    if array.ndim != ndim:
        raise InvalidArgument(name, f"shape {array.shape}", expected)
    bad = ~np.isfinite(array)
    if bad.any():
        position = np.argwhere(bad)[0].tolist()
        count = int(bad.any(axis=tuple(range(1, ndim))).sum())
        raise InvalidArgument(
            f"{name}[{', '.join(map(str, position))}]",
            float(array[tuple(position)]),
            f"finite numbers (rows with NaN or infinity: {count})",
        )
    return array
