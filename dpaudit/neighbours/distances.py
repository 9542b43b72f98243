"""Distances between two datasets, for claims of epsilon times a distance.

All are exact and then rounded up to a double: a claim is never made stricter by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import EXACT, make_cells

_NUMERIC = "biuf"  # kinds of numbers
_WIDEST = 8  # bytes up to which one is exact as it is read


def absolute(dataset: Any, neighbour: Any) -> float:
    """Return how far two numbers are apart.

    Examples
    --------
    >>> absolute(3, 5.5), absolute([0.25], [0.5])
    (2.5, 0.25)
    """
    if (size := _require_finite_numbers(dataset).size) != 1:
        given = VerbatimText(f"datasets of {size} numbers")
        raise InvalidArgument("pair", given, "datasets of one number, for their difference")
    return manhattan(dataset, neighbour)


def euclidean(dataset: Any, neighbour: Any) -> float:
    """Return the root of the sum of squares of the differences of all numbers.

    Examples
    --------
    >>> euclidean([0.0, 0.0], [3.0, 4.0])
    5.0
    """
    squares = sum(
        (one * one for one in _compute_absolute_differences(dataset, neighbour)), Fraction(0)
    )
    found = _estimate_fraction_root(squares)
    # The estimate is a few units off at most. Compared in fractions, the result is the least double
    # that is not below the root.
    while found < math.inf and Fraction(found) ** 2 < squares:
        found = math.nextafter(found, math.inf)
    while found > 0 and Fraction(math.nextafter(found, 0.0)) ** 2 >= squares:
        found = math.nextafter(found, 0.0)
    return found


def manhattan(dataset: Any, neighbour: Any) -> float:
    """Return the sum of the absolute differences of all numbers.

    Examples
    --------
    >>> manhattan([0.0, 0.0], [3.0, -4.0])
    7.0
    """
    return _round_up_to_double(sum(_compute_absolute_differences(dataset, neighbour), Fraction(0)))


def chebyshev(dataset: Any, neighbour: Any) -> float:
    """Return the largest absolute difference of two numbers in one place.

    Examples
    --------
    >>> chebyshev([0.0, 0.0], [3.0, -4.0])
    4.0
    """
    return _round_up_to_double(
        max(_compute_absolute_differences(dataset, neighbour), default=Fraction(0))
    )


def hamming(dataset: Any, neighbour: Any) -> float:
    """Return in how many places two texts, or the records of two datasets, differ.

    Examples
    --------
    >>> hamming("karolin", "kathrin"), hamming([1, 2, 3], [1, 5, 6])
    (3.0, 2.0)
    """
    if isinstance(dataset, str) and isinstance(neighbour, str):
        dataset, neighbour = list(dataset), list(neighbour)
    found = make_cells(dataset, neighbour)
    if found is None:
        raise InvalidArgument(
            "pair", VerbatimText("no records"), "texts or records, to count places in"
        )
    if found.dataset.shape != found.neighbour.shape:
        sizes = f"{len(found.dataset)} and {len(found.neighbour)} records"
        raise InvalidArgument(
            "pair", VerbatimText(sizes), "as many on both sides, to count places in"
        )
    return float((found.dataset != found.neighbour).any(axis=1).sum())


DISTANCES: dict[str, Callable[[Any, Any], float]] = {
    one.__name__: one for one in (absolute, euclidean, manhattan, chebyshev, hamming)
}


def _compute_absolute_differences(dataset: Any, neighbour: Any) -> Sequence[Fraction]:
    """Return the absolute differences of two datasets of finite numbers, exactly."""
    here, there = _require_finite_numbers(dataset), _require_finite_numbers(neighbour)
    if here.shape != there.shape:
        given = VerbatimText(f"shapes {here.shape} and {there.shape}")
        raise InvalidArgument("pair", given, "numbers in the same shape, to have a distance")
    both = zip(_get_exact_numbers(dataset, here), _get_exact_numbers(neighbour, there), strict=True)
    return [abs(Fraction(one) - Fraction(other)) for one, other in both if one != other]


def _get_exact_numbers(dataset: Any, found: np.ndarray[Any, Any]) -> list[Any]:
    """Return all numbers as they were: an array of doubles merges integers that stand beside."""
    are_doubles = found.dtype.kind == "f" and not isinstance(dataset, np.ndarray)
    if are_doubles and (np.abs(found) >= EXACT).any():
        cells_of_table = dataset.astype(object) if hasattr(dataset, "astype") else dataset
        as_they_were = np.asarray(cells_of_table, dtype=object).ravel().tolist()
        return [one.item() if hasattr(one, "item") else one for one in as_they_were]
    return found.ravel().tolist()


def _require_finite_numbers(dataset: Any) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(dataset)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0, dtype=object)
    exact = found.dtype.kind in _NUMERIC and found.dtype.itemsize <= _WIDEST
    if not exact or not np.isfinite(found).all():
        given = VerbatimText("datasets that are no finite numbers")
        raise InvalidArgument("pair", given, "arrays of finite numbers, to have a distance")
    return found


def _round_up_to_double(value: Fraction) -> float:
    """Return the least double that is not below a fraction."""
    try:
        found = float(value)
    except OverflowError:
        return math.inf
    return found if Fraction(found) >= value else math.nextafter(found, math.inf)


def _estimate_fraction_root(value: Fraction) -> float:
    """Return about the root of a fraction, of which the double may be none."""
    if not value:
        return 0.0
    # Scaled by a power of 4 to the size of 1: the fraction itself may be beyond the doubles, while
    # its root is not.
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    try:
        return math.ldexp(math.sqrt(value / Fraction(4) ** shift), shift)
    except OverflowError:
        return math.inf
