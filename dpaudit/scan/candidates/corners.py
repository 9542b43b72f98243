"""Pairs at the corners of numbers: where floating point and integers stop being real numbers.

A mechanism that is right for real numbers may not be for those of a computer. Each corner is one
way in which they differ, tried on neighbours that differ in one record there, and only with values
that the card allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import Parameters, Subject
from dpaudit.neighbours import RELATIONS, Pair

BITS = "lowest bits"
# The largest double, the smallest subnormal one, and where doubles stop holding every integer.
_HUGE = 1.7976931348623157e308
_TINY = 5e-324
_WHOLE = 2**53


@dataclass(frozen=True)
class Corner:
    """A way in which numbers of a computer are no real numbers, and its remedy.

    Parameters
    ----------
    name
        What a report calls it.
    about
        What is tried.
    remedy
        What mends a mechanism that breaks there.
    values
        Pairs of numbers, of which one record has the first on the dataset and the second on the
        neighbour; only those within the bounds are tried.
    """

    name: str
    about: str
    remedy: str
    values: tuple[tuple[float, float], ...] = ()


CORNERS = (
    Corner(
        BITS,
        "which powers of two an output is a multiple of",
        "Make the noise safe in floating point: the snapping mechanism (Mironov 2012), discrete "
        "Laplace or Gaussian noise on a grid that does not depend on the data (Canonne et al. "
        "2020), or sampling at a granularity that is set before and rounded to, as OpenDP does.",
    ),
    Corner(
        "ties",
        "records that are equal, or differ by one unit in the last place",
        "Round the answer to a grid that does not depend on the data before noise is added, so "
        "that numbers which are equal on paper are equal in the sum.",
        ((0.1 + 0.2, 0.3), (1.0, math.nextafter(1.0, 0.0))),
    ),
    Corner(
        "subnormals",
        "records below the smallest normal number",
        "Do not divide by data, and round the answer to a granularity that is a normal number: "
        "below 2^-1022 numbers lose precision, and some processors flush them to 0.",
        ((0.0, _TINY), (0.0, 2.2250738585072014e-308)),
    ),
    Corner(
        "saturation",
        "all records at one bound, and one at the other",
        "Clamp what is published after the noise was added, which is post-processing. Noise that "
        "is truncated or drawn again until it fits a bound has another law near it, and needs a "
        "larger scale (Holohan et al. 2020).",
    ),
    Corner(
        "overflow",
        "records near the largest number, whose sum is infinite",
        "Clamp each record before it is squared or summed, refuse bounds whose sum can overflow, "
        "and publish infinity and NaN as a number that public parameters determine.",
        ((0.0, _HUGE), (0.0, -_HUGE), (_HUGE, -_HUGE), (0.0, 1e200)),
    ),
    Corner(
        "integers beyond 2^53",
        "integers that a double cannot hold, or whose sum wraps around",
        "Sum in integers wide enough for the bounds or saturate, and refuse bounds beyond 2^53 "
        "where integers pass through doubles: neighbours may move there by more than the "
        "sensitivity.",
        (
            (_WHOLE, _WHOLE + 1),
            (_WHOLE + 1, _WHOLE + 2),
            (0, 2**62),
            (2**63 - 1, 2**63 - 2),
            (-(2**63), -(2**63) + 1),
        ),
    ),
    Corner(
        "zeros",
        "0 and -0, which are equal and print differently",
        "Add 0.0 to what is published, or snap it to a grid: -0.0 + 0.0 is 0.0.",
        ((0.0, -0.0),),
    ),
)


@dataclass(frozen=True, eq=False)
class CornerPair:
    """Neighbours at a corner."""

    corner: Corner
    pair: Pair[Any]
    relation: str
    edit: str


def corner_pairs(subject: Subject, parameters: Parameters) -> Iterator[CornerPair]:
    """Yield the neighbours at corners of one setting, of datasets of numbers in the domain.

    Examples
    --------
    >>> from dpaudit.extension.package import PackageClaim
    >>> claim = PackageClaim(epsilon=1.0, where="docstring")
    >>> subject = Subject(
    ...     name="sum", code="f", claims=(claim,), datasets=([0.0, 1.0],), bounds=(0.0, 1.0)
    ... )
    >>> found = list(corner_pairs(subject, {}))
    >>> sorted({one.corner.name for one in found})
    ['saturation', 'subnormals', 'ties', 'zeros']
    """
    bounds = _parse_number_bounds(subject.bounds_of(parameters))
    if bounds is None:
        return
    datasets = [one for one in subject.datasets_of(parameters) if _is_numbers(one)]
    for dataset in datasets[-1:]:  # the largest is usually the last
        for corner in CORNERS:
            values = (
                _list_saturating_values(bounds) if corner.name == "saturation" else corner.values
            )
            for first, second in values:
                if all(_is_within_bounds(one, bounds) for one in (first, second)):
                    made = _generate_edited_corners(subject, dataset, corner, first, second)
                    yield from (one for one in made if _is_corner_allowed(subject, one, parameters))


def _is_corner_allowed(subject: Subject, one: CornerPair, parameters: Parameters) -> bool:
    """Return whether the documentation allows both datasets."""
    both = (one.pair.dataset, one.pair.neighbour)
    return all(subject.allows(data, parameters) for data in both)


def _parse_number_bounds(given: Any) -> tuple[float, float] | None:
    """Return between which numbers may be made, None if the card says it otherwise."""
    plain = isinstance(given, list | tuple) and len(given) == 2
    if not plain or not all(isinstance(one, int | float) for one in given):
        return None
    return given[0], given[1]


def _is_within_bounds(value: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= value <= bounds[1]


def _list_saturating_values(bounds: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    low, high = bounds
    return ((high, low), (low, high)) if low < high else ()


def _is_numbers(dataset: Any) -> bool:
    if isinstance(dataset, np.ndarray):
        return dataset.ndim == 1 and dataset.dtype.kind in "if" and len(dataset) > 0
    plain = isinstance(dataset, list) and len(dataset) > 0
    return plain and all(type(one) in (int, float) for one in dataset)


def _generate_edited_corners(
    subject: Subject, dataset: Any, corner: Corner, first: float, second: float
) -> Iterator[CornerPair]:
    """Yield the dataset with one record at the first value, and at the second or without it."""
    if not _is_value_allowed(dataset, first, second):
        return
    rest = [first] * max(len(dataset) - 1, 0) if corner.name == "saturation" else list(dataset[1:])
    sides = {
        "replace-record": ([*rest, first], [*rest, second]),
        # The first value stays in both datasets: the corner is about how the second one changes
        # a sum that already holds the first.
        "add-remove-record": ([*rest, first, second], [*rest, first]),
    }
    for relation in subject.relations:
        one, other = (_convert_like_dataset(dataset, side) for side in sides[relation])
        try:
            pair = Pair(one, other, RELATIONS[relation])
        except InvalidArgument:  # numbers that are equal make no neighbours
            continue
        edit = f"{corner.name}: a record of {first!r}" + (
            f" and one of {second!r}, without the last"
            if relation == "add-remove-record"
            else f" became {second!r}"
        )
        yield CornerPair(corner, pair, relation, edit)


def _is_value_allowed(dataset: Any, *values: float) -> bool:
    """Return whether values may stand among records of the dataset's kind."""
    whole = isinstance(dataset, np.ndarray) and dataset.dtype.kind == "i"
    whole = whole or (isinstance(dataset, list) and all(type(one) is int for one in dataset))
    if not whole:
        return all(isinstance(one, float) for one in values)
    # An integer has no sign of zero, so that the pair of 0 and -0.0 would be no pair.
    return all(float(one).is_integer() and abs(one) <= 2**63 for one in values) and not any(
        isinstance(one, float) and one == 0 and math.copysign(1, one) < 0 for one in values
    )


def _convert_like_dataset(dataset: Any, values: Sequence[float]) -> Any:
    if not isinstance(dataset, np.ndarray):
        whole = all(type(one) is int for one in dataset)
        return [int(one) for one in values] if whole else [float(one) for one in values]
    return np.array(values, dtype=dataset.dtype)
