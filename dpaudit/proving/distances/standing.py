"""The records in the rows of a value that several others form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.distances.facts import Facts, RowOrigins
from dpaudit.proving.program import Shape
from dpaudit.proving.universe import UNBOUNDED

# Each further record of a row is one more array of its length, and a pass over all pairs of
# them.
_MOST_OF_A_ROW = 4

Records = tuple[NDArray[np.int64], ...]


def is_fixed(facts: Facts) -> bool:
    """Return whether neighbours have a value in common."""
    return facts.distance.linf == 0.0


def rows_if_counted(facts: Facts, shape: Shape) -> Facts:
    """Return public rows of records as rows that come and go with their records."""
    if None not in shape or not is_fixed(facts):
        return facts
    # Rows of public numbers still come and go with their records, so the whole has no distance
    # although no row ever changes.
    return replace(facts, rows=RowOrigins(None, shape.index(None)), distance=UNBOUNDED)


def records_of(rows: RowOrigins, length: int) -> Records:
    """Return the records of each row as numbers."""
    return (np.arange(length),) if rows.records is None else rows.records


def merge_row_records(one: Records, other: Records) -> Records | None:
    """Return the records of rows that depend on the rows of two values; None if they are many."""
    united = list(one)
    for column in other:
        fresh = column
        for known in one:
            # A record that stands in the row already would be counted twice; -1 is no record.
            fresh = np.where(fresh == known, -1, fresh)
        if (fresh >= 0).any():
            united.append(fresh)
    return tuple(united) if len(united) <= _MOST_OF_A_ROW else None


def have_common(one: RowOrigins, other: RowOrigins, length: int) -> bool:
    """Return whether a record stands in the same row of both."""
    if one.records is None and other.records is None:
        return True
    return any(
        ((mine == theirs) & (mine >= 0)).any()
        for mine in records_of(one, length)
        for theirs in records_of(other, length)
    )


def find_moving_records(facts: Facts) -> NDArray[np.int64] | None:
    """Return the records that move a value, where they are few; None where they are not known."""
    if facts.moves.shape[1] == 1:
        return np.zeros(0, dtype=np.int64) if not facts.moves[2, 0] else None
    found = np.flatnonzero(facts.moves[2])
    return found if len(found) <= _MOST_OF_A_ROW else None


def rows_of_support(facts: Facts, axis: int, length: int) -> RowOrigins | None:
    """Return rows that all depend on the few records that move a value."""
    records = find_moving_records(facts)
    if records is None:
        return None
    return RowOrigins(tuple(np.full(length, one) for one in records), axis)


def find_entrywise_rows(operands: Sequence[Facts], shape: Shape) -> RowOrigins | None:
    """Return which records stand in the rows of an entrywise function of operands of a shape."""
    moving = [one for one in operands if not is_fixed(one)]
    known = [one.rows for one in moving if one.rows is not None]
    if not known or any(one.axis != known[0].axis for one in known):
        return None
    axis = known[0].axis
    length = shape[axis]
    if all(one.rows is not None and one.rows.records is None for one in moving):
        return known[0]
    return None if length is None else _join_known(moving, axis, length)


def _join_known(moving: Sequence[Facts], axis: int, length: int) -> RowOrigins | None:
    records: Records | None = ()
    for one in moving:
        rows = rows_of_support(one, axis, length) if one.rows is None else one.rows
        if rows is None or records is None:
            return None
        records = merge_row_records(records, records_of(rows, length))
    return None if records is None else RowOrigins(records, axis)
