"""Thresholds and values of outputs in words: as few digits as the outputs support, or a hash.

A threshold lies between two outputs, and where an output is one and the same number again and again
it tells what that number is: it is a record then, as the outputs are. Elsewhere it is shown with as
few digits as tell it from the outputs some places farther on either side, so that no single output
decides on a digit. The threshold itself is counted with: a shorter one is said to be "about" it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpaudit._typing import Array
from dpaudit.redaction import Record, are_shown
from dpaudit.report.formatting import DIGITS, MOST_DIGITS, format_significant

_MOST = 0.5  # share of a side's outputs that one value may have
_BESIDE = 0.02  # share that one may have which is next to the threshold, of numbers in between
_LEAST = 8  # values of a side
_ROUNDING = 10.0**-MOST_DIGITS
_PLACES = 5  # outputs on either side of a threshold that it is told from, at least


def format_threshold(value: float, sides: Sequence[Array]) -> str:
    """Return a threshold as a message may say it.

    Parameters
    ----------
    value
        The threshold, or another number that was read off outputs.
    sides
        The outputs of either dataset that it divides, shape ``(n,)`` each.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> format_threshold(1.23456789, [rng.normal(size=2000), rng.normal(2, size=2000)])
    'about 1.2'
    >>> format_threshold(
    ...     1.23456789, [np.zeros(2000), rng.normal(2, size=2000)]
    ... )  # doctest: +ELLIPSIS
    'a number #...'
    """
    if are_shown():
        return _format_rounded(value, format_significant(value))
    if any(_is_told(value, side) for side in sides):
        return repr(Record(value))
    shown = _format_between_outputs(value, np.sort(np.concatenate(list(sides))))
    return _format_rounded(value, shown)


def _format_rounded(value: float, shown: str) -> str:
    """Return shown digits, after "about" where they are not the number that was counted with."""
    exact = not math.isfinite(value) or math.isclose(float(shown), value, rel_tol=_ROUNDING)
    return shown if exact else f"about {shown}"


def format_output_value(value: float) -> str:
    """Return one of few values that outputs have as a message may say it.

    Examples
    --------
    >>> format_output_value(41.0)  # doctest: +ELLIPSIS
    'a number #...'
    """
    return format_significant(value) if are_shown() else repr(Record(value))


def _is_told(value: float, side: Array) -> bool:
    """Return whether a threshold may tell a value that a side has again and again."""
    values, counts = np.unique(side, return_counts=True)
    # A threshold next to one of few values gives that value away.
    if len(values) < _LEAST or counts.max() > _MOST * len(side):
        return True
    if (values == np.round(values)).all() and np.diff(values).max() <= math.sqrt(len(side)):
        return False  # whole numbers: the noise has atoms, and no output stands out
    above = int(np.searchsorted(values, value))
    beside = counts[max(0, above - 1) : above + 1]
    return bool(beside.max(initial=0) > max(1, _BESIDE * len(side)))


def _format_between_outputs(value: float, ordered: Array) -> str:
    """Return a number with the fewest digits that lie between outputs some places away."""
    # About the statistical error of a quantile's rank, in places: digits that tell nearer
    # outputs apart would be those of single outputs.
    places = max(_PLACES, math.isqrt(len(ordered)))
    above = int(np.searchsorted(ordered, value))
    low = ordered[max(0, above - places)]
    high = ordered[min(len(ordered) - 1, above + places - 1)]
    for digits in range(1, DIGITS):
        if low < float(f"{value:.{digits - 1}e}") < high:
            return format_significant(value, digits)
    return format_significant(value)
