"""The outcomes of a mechanism as doubles: kept to the last bit, or refused.

What a conversion would merge could be what tells two datasets apart. So integers, long doubles and
objects become doubles where that loses nothing, signs of zero and denormals included, and are
refused where it would.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import shorten_repr
from dpaudit.mechanisms.outputs.tensors import host_array
from dpaudit.redaction import Record, are_shown

# Up to here every integer is a double of its own.
_EXACT = 2.0**53  # integers up to it are doubles, one by one
_KINDS = {
    "c": ("complex numbers", "their real and imaginary parts as two numbers"),
    "m": ("dates or times", "numbers, such as days"),
    "M": ("dates or times", "numbers, such as days"),
    "U": ("text", "numbers, such as the place of a word in a list of all"),
    "S": ("text", "numbers, such as the place of a word in a list of all"),
    "V": ("records with fields", "an array with the fields along an axis"),
}
_PARTS = "two numbers for each, such as its quotient and remainder by 2**32"


class Inexact(ValueError):
    """Outcomes that doubles do not hold, and the values to return instead.

    Parameters
    ----------
    found
        The kind of the values.
    instead
        What to return.
    """

    def __init__(self, found: str, instead: str) -> None:
        super().__init__(found, instead)
        self.found, self.instead = found, instead

    def seen_in(self, returned: Any) -> str:
        """Return the kind of the values, and the values where records are shown."""
        return f"{self.found} ({shorten_repr(Record(returned))})" if are_shown() else self.found


def as_doubles(returned: Any) -> NDArray[np.float64]:
    """Return a mechanism's outputs as an array of doubles, a copy, with nothing lost.

    NaN and infinity pass: they are for the caller to refuse.

    Raises
    ------
    Inexact
        Doubles do not hold all of it.

    Examples
    --------
    >>> as_doubles([-0.0, 5e-324, 2**53])
    array([-0.00000000e+000,  4.94065646e-324,  9.00719925e+015])
    >>> as_doubles([2**53 + 1])
    Traceback (most recent call last):
    dpaudit.mechanisms.outputs.outcomes.Inexact: ('integers that are no doubles', 'two numbers for \
each, such as its quotient and remainder by 2**32')
    """
    if _is_masked(returned):
        raise Inexact("a masked array", "an array without a mask, such as masked.filled(-1.0)")
    returned = host_array(returned)
    array = np.asarray(returned)
    if array.dtype.kind in _KINDS:
        raise Inexact(*_KINDS[array.dtype.kind])
    # A list that mixes large integers and floats became doubles before anybody could look.
    if not isinstance(returned, np.ndarray) and _may_have_been_rounded(array):
        array = np.asarray(returned, dtype=object)
    if array.dtype.kind == "O":
        return _of_objects(array)
    with np.errstate(over="ignore"):
        doubles = np.array(array, dtype=np.float64)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _require_same_integers(array, doubles)
    elif array.dtype.kind == "f" and array.dtype.itemsize > 8:
        _require_same_numbers(array, doubles)
    return doubles


def _is_masked(returned: Any) -> bool:
    """Return whether an array, or one in a list, has entries that are masked."""
    if isinstance(returned, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(returned).any())
    return isinstance(returned, list | tuple) and any(map(_is_masked, returned))


def _may_have_been_rounded(array: NDArray[Any]) -> bool:
    """Return whether numbers that became doubles together may have been large integers."""
    return array.dtype == np.float64 and bool((np.abs(array) >= _EXACT).any())


def _require_same_integers(array: NDArray[Any], doubles: NDArray[np.float64]) -> None:
    # A double above this end cannot be converted back, as the conversion would overflow.
    end = 2.0**63 if array.dtype.kind == "i" else 2.0**64  # what is rounded up to it is none
    if not (
        (doubles < end) & (np.where(doubles < end, doubles, 0.0).astype(array.dtype) == array)
    ).all():
        raise Inexact("integers that are no doubles", _PARTS)


def _require_same_numbers(array: NDArray[Any], doubles: NDArray[np.float64]) -> None:
    if not ((doubles == array) | np.isnan(array)).all():
        instead = "numbers of type float64, or the rest of each beside it as a number of its own"
        raise Inexact(f"numbers of type {array.dtype} that are no doubles", instead)


def _of_objects(array: NDArray[Any]) -> NDArray[np.float64]:
    return np.array(
        [_require_exact_double(value) for value in array.flat], dtype=np.float64
    ).reshape(array.shape)


def _require_exact_double(value: Any) -> float:
    kind = type(value).__name__
    if not isinstance(value, Real | Decimal | np.bool_):
        raise Inexact(f"objects of type {kind}, which are no real numbers", "an array of numbers")
    kind = "integers" if kind == "int" else f"numbers of type {kind}"
    try:
        double = float(value)
    except (OverflowError, ValueError):
        raise Inexact(f"{kind} beyond doubles", _PARTS) from None
    # NaN differs from itself, and is not for this function to refuse.
    if double != value and value == value:
        raise Inexact(f"{kind} that are no doubles", _PARTS)
    return double
