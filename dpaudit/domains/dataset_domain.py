"""The domain around a dataset that somebody has: of its kind and with about as many records.

Where bounds are stated, numbers lie between them. Elsewhere the range of one dataset says little of
what others hold: numbers go further, as far as their sign and their type allow, and other columns
hold a value that no record has.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from dpaudit.domains.columns import INT64, Column, Integers, Numbers, ValueSet
from dpaudit.domains.layouts import RecordLayout, Start, Unit
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.records import (
    Bounds,
    CellRows,
    Ends,
    is_missing,
    make_unseen_value,
    records_of,
)
from dpaudit.redaction import Record

# How far a number goes that nobody bounds, as a multiple of the largest that is known.
_TIMES = 100
_WHOLE = 10  # for integers, which are often sizes and places


def layout_around(dataset: Any, bounds: Bounds | None, *, missing: bool) -> RecordLayout:
    """Return the layout of datasets beside one.

    Parameters
    ----------
    dataset
        An array, a table of pandas, a list, or features with labels.
    bounds
        Of numbers: ``(low, high)``, or that by column.
    missing
        Whether numbers may be missing; where the dataset lacks one, they may.

    Raises
    ------
    InvalidArgument
        The dataset is nothing of the kind, or bounds are none.
    """
    read = records_of(dataset)
    _refuse_unknown(bounds, read.names)
    parts = [_build_column_around(read, n, bounds, missing) for n in range(len(read.names))]
    units = tuple((tuple(map(_convert_missing_value, row, read.numeric)),) for row in read.rows)
    start = Start(
        units,
        tuple(found for _, found, _ in parts),
        tuple(is_stated for _, _, is_stated in parts),
    )

    def build(made: Sequence[Unit], without: int | None = None) -> Any:
        """Return a dataset; ``without`` is the place that one of a neighbour's records has not."""
        # By identity: the dataset itself is handed back, with everything that its records do not
        # show.
        if len(made) == len(units) and all(map(operator.is_, made, units)):
            return dataset
        records = list(map(list, chain.from_iterable(made)))
        count = len(records) + (without is not None)
        places = [place if place < len(units) else None for place in range(count)]
        if without is not None:
            places.pop(without)
        return read.again(records, places)

    columns = tuple(column for column, _, _ in parts)
    return RecordLayout(read.names, columns, build, labels=read.labels, start=start)


def _refuse_unknown(bounds: Bounds | None, names: Sequence[Any]) -> None:
    known = set(map(str, names))
    named = map(str, bounds) if isinstance(bounds, Mapping) else ()
    if unknown := [one for one in named if one not in known]:
        raise InvalidArgument("bounds", VerbatimText(", ".join(unknown)), "columns of the dataset")


def _build_column_around(
    read: CellRows, place: int, bounds: Bounds | None, missing: bool
) -> tuple[Column, Ends | None, bool]:
    """Return a column's domain, the range of its numbers, and whether somebody stated it."""
    column = [row[place] for row in read.rows]
    lacks = missing or any(map(is_missing, column))
    if not read.numeric[place]:
        return _of_values(column, lacks and place != read.labels), None, False
    present = [one for one in column if not is_missing(one) and math.isfinite(one)]
    found = (min(present, default=0.0), max(present, default=0.0))
    given = _of_column(bounds, read.names[place])
    whole = all(type(one) is int for one in present) and bool(present)
    low, high = _choose_far_ends(found, read.ends[place], whole) if given is None else given
    # As the column's type stores them, rounded inwards: float32 could round an end beyond its
    # bound.
    low, high = (read.stored(place, *end) for end in ((low, math.inf), (high, -math.inf)))
    if given is not None:
        _refuse_beyond(column, read.names[place], (low, high))
    return _of_numbers(low, high, whole, lacks), found, given is not None


def _refuse_beyond(column: Sequence[Any], name: Any, bounds: Ends) -> None:
    """Refuse a dataset that holds a number beyond its bounds."""
    low, high = bounds
    beyond = [one for one in column if not is_missing(one) and not low <= one <= high]
    if beyond:
        expected = f"numbers from {low:g} to {high:g} in column {name!r}, as its bounds say"
        raise InvalidArgument("dataset", Record(beyond[0]), expected)


def _convert_missing_value(value: Any, is_number: bool) -> Any:
    """Return a value, with None or NaN for the NA of pandas, of which no two are equal."""
    if type(value).__name__ != "NAType":
        return value
    return math.nan if is_number else None


def _of_column(bounds: Bounds | None, name: Any) -> Any:
    """Return the bounds of a column; a file of audits names columns in text alone."""
    if not isinstance(bounds, Mapping):
        return bounds
    return bounds.get(name, bounds.get(str(name)))


def _of_numbers(low: float, high: float, whole: bool, missing: bool) -> Column:
    least, most = math.ceil(low), math.floor(high)
    if whole and least <= most and least in INT64 and most in INT64:
        return Integers(missing=missing, low=least, high=most)
    return Numbers(missing=missing, low=low, high=high)


def _choose_far_ends(found: Ends, ends: Ends | None, whole: bool) -> Ends:
    """Return how far numbers go: no number is negative where none that is there is."""
    low, high = found
    # Differences of such ends have to be finite.
    far = min((_WHOLE if whole else _TIMES) * max(abs(low), abs(high), 1), 1e300)
    if whole and low in INT64 and high in INT64:
        far = min(far, INT64[-1])
    least, most = ends or (-math.inf, math.inf)
    # A column without a negative number is most likely a count or an amount, on which negative ones
    # are no dataset.
    lowest = max(-far, least) if low < 0 else 0.0
    highest = min(far, most) if high > 0 or low == 0 else 0.0
    return min(lowest, low), max(highest, high)


def _of_values(column: Sequence[Any], missing: bool) -> ValueSet:
    """Return the values of a column, each once, and one that is none of them."""
    present = [one for one in column if not is_missing(one)]
    different = list({value_key(one): one for one in present}.values())
    other = make_unseen_value(column)
    if other is None:
        return ValueSet(missing=missing, values=tuple(different))
    return ValueSet(missing=missing, values=(*different, other), has_other=True)
