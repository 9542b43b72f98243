"""Names to which code refers, and values that are plain data."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from types import CodeType
from typing import Any

import numpy as np


def names_in(code: CodeType) -> set[str]:
    """Return the names that code and the functions in it refer to."""
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= names_in(one)
    return found


def is_plain(value: Any) -> bool:
    """Return whether a value is a number, text, bytes, an array, or nothing."""
    kinds = (bool, int, float, complex, str, bytes, bytearray, memoryview, Decimal, Fraction)
    return value is None or isinstance(value, (*kinds, np.ndarray, np.generic))
