"""Strategies for neighbouring pairs, one for each relation of `dpaudit.neighbours.RELATIONS`.

Pairs are built, not filtered: where what was drawn for the neighbour happens to be equal, it is
turned into its opposite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import (
    ADD_REMOVE_RECORD,
    REPLACE_COLUMN,
    REPLACE_LABEL,
    REPLACE_RECORD,
    REPLACE_TUPLE,
    Pair,
    Relation,
)
from dpaudit.neighbours.tables import relation
from dpaudit.testing.data import (
    as_data,
    as_dataset,
    draw_between,
    draw_raw,
    draw_rows,
    draw_vector,
    joined,
    shorten_vector,
)
from dpaudit.testing.records import Records, TableJoin, as_records, bounds

Data = Dataset | Array
# Takes records and a number of columns.
Drawn = Callable[[DrawFn, Records, int], tuple[Data, Data]]


def pairs(
    neighbours: str | Relation = REPLACE_RECORD, records: Records | None = None
) -> SearchStrategy[Pair[Any]]:
    """Return a strategy for pairs of neighbouring datasets.

    Parameters
    ----------
    neighbours
        A relation, or its name: ``replace-record``, ``add-remove-record``, ``replace-label``,
        ``replace-column`` or ``replace-tuple``.
    records
        A description of the records; `Records()` by default. Plain arrays if they have no labels;
        under ``replace-tuple`` the data are `TableJoin`.

    Raises
    ------
    UnknownName
        There is no such relation.
    InvalidArgument
        The relation does not go with such records.

    Examples
    --------
    >>> from hypothesis import find
    >>> pair = find(pairs("replace-record", Records(labels=None)), lambda pair: True)
    >>> pair.dataset, pair.neighbour
    (array([[0.]]), array([[1.]]))
    >>> pairs("replace-label", Records(labels=None))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: labels: got None, expected at least two labels
    """
    chosen, described = _relation(neighbours), as_records(records)
    _require(chosen, described)
    drawn = _REPLACED.get(chosen.name)
    return (
        _draw_changed_pair(chosen, described, drawn)
        if drawn
        else _draw_joined_pair(chosen, described)
    )


def _relation(given: object) -> Relation:
    name = given.name if isinstance(given, Relation) else given
    if not isinstance(name, str):
        raise InvalidArgument("neighbours", given, "a relation or its name")
    chosen = relation(name)
    if isinstance(given, Relation) and given is not chosen:
        raise InvalidArgument("neighbours", given, "a relation of dpaudit.neighbours.RELATIONS")
    return chosen


def _require(chosen: Relation, records: Records) -> None:
    if chosen is REPLACE_LABEL and len(records.labels or ()) < 2:
        raise InvalidArgument("labels", records.labels, "at least two labels")
    low, high = bounds("rows", records.rows)
    if chosen is ADD_REMOVE_RECORD and low == high:
        raise InvalidArgument("rows", low, "(least, most): one dataset has one record more")
    if chosen is REPLACE_TUPLE:
        joined(records)


@st.composite
def _draw_changed_pair(
    draw: DrawFn, chosen: Relation, records: Records, drawn: Drawn
) -> Pair[Data]:
    one, other = drawn(draw, records, draw_between(draw, records.columns))
    if chosen is ADD_REMOVE_RECORD and draw(st.booleans()):
        one, other = other, one
    return Pair(one, other, chosen)


def _base(draw: DrawFn, records: Records, columns: int, rows: tuple[int, int]) -> Data:
    return as_data(draw, *draw_rows(draw, columns, records, rows), records)


def _draw_record_replacement(draw: DrawFn, records: Records, columns: int) -> tuple[Data, Data]:
    low, high = bounds("rows", records.rows)
    # The record that differs is drawn apart, so that shrinking can move it to the front.
    others, labels = draw_rows(draw, columns, records, (low - 1, high - 1))
    row = draw(st.integers(0, len(others)))
    old, new = (draw_vector(draw, columns, records) for _ in range(2))
    features = np.insert(others, row, old, axis=0)
    if records.labels is None:
        changed = features.copy()
        changed[row] = _unlike(old, new, records.norm)
        return features, changed
    label, other = (draw(st.sampled_from(records.labels)) for _ in range(2))
    one = as_dataset(draw, features, np.insert(labels, row, label), records)
    # Neighbours have to differ: with the same label the features must, and otherwise they may
    # stay.
    if label == other:
        new = _unlike(old, new, records.norm)
    elif draw(st.booleans()):  # the label alone
        new = old
    return one, one.with_record(row, new, other)


def _unlike(old: Array, new: Array, norm: float) -> Array:
    """Return ``new``, or where it equals ``old`` the opposite; of 0, a vector of this norm."""
    if (new != old).any():
        return new
    first = np.zeros_like(old)
    first[0] = norm
    return 0.0 - old if old.any() else first


def _draw_record_addition(draw: DrawFn, records: Records, columns: int) -> tuple[Data, Data]:
    low, high = bounds("rows", records.rows)
    one = _base(draw, records, columns, (low, high - 1))
    record = draw_vector(draw, columns, records)
    if not isinstance(one, Dataset):
        return one, np.insert(one, draw(st.integers(0, len(one))), record, axis=0)
    node = draw(st.integers(0, one.nodes - 1))
    held = one.rows_of(node)
    row = draw(st.integers(held.start, held.stop))
    label = draw(st.sampled_from(records.labels or ()))
    sizes = tuple(size + (i == node) for i, size in enumerate(one.node_sizes))
    more = np.insert(one.features, row, record, axis=0)
    return one, Dataset(more, np.insert(one.labels, row, label), node_sizes=sizes)


def _draw_label_replacement(draw: DrawFn, records: Records, columns: int) -> tuple[Data, Data]:
    features, labels = draw_rows(draw, columns, records, bounds("rows", records.rows))
    row = draw(st.integers(0, len(labels) - 1))
    one = as_dataset(draw, features, labels, records)
    new = draw(st.sampled_from([x for x in records.labels or () if x != labels[row]]))
    return one, one.with_record(row, features[row], new)


def _draw_column_replacement(draw: DrawFn, records: Records, columns: int) -> tuple[Data, Data]:
    column = columns - 1 - draw(st.integers(0, columns - 1))
    change = _draw_flipped_column if records.unit else _free
    features, changed, labels = change(draw, records, columns, column)
    one = as_data(draw, features, labels, records)
    return one, replace(one, features=changed) if isinstance(one, Dataset) else changed


def _free(draw: DrawFn, records: Records, columns: int, column: int) -> tuple[Array, Array, Array]:
    """Draw rows with one entry too many, the column's new one; both rows are shortened alike."""
    raw, labels = draw_raw(draw, columns, records, bounds("rows", records.rows), more=1)
    if (raw[:, column] == raw[:, -1]).all():
        # Minus 0 is equal to 0, and another entry is needed there.
        raw[0, -1] = -raw[0, column] or 1.0
    features, changed = raw[:, :-1].copy(), raw[:, :-1].copy()
    changed[:, column] = raw[:, -1]
    for old, new in zip(features, changed, strict=True):
        # One factor for both rows: with two, the entries outside the column would differ as
        # well.
        longest = float(max(np.linalg.norm(old), np.linalg.norm(new)))
        old[:], new[:] = shorten_vector(old, longest), shorten_vector(new, longest)
    return records.norm * features, records.norm * changed, labels


def _draw_flipped_column(
    draw: DrawFn, records: Records, columns: int, column: int
) -> tuple[Array, Array, Array]:
    """Draw unit rows and flip signs in the column: nothing else keeps the norms."""
    features, labels = draw_rows(draw, columns, records, bounds("rows", records.rows))
    flips = [draw(st.booleans()) for _ in labels]
    changed = features.copy()
    changed[flips, column] = 0.0 - features[flips, column]
    if (changed == features).all():
        # The entry of a unit row that is largest is not 0, so that its opposite is another
        # number.
        largest = int(np.argmax(np.abs(features[0])))
        changed[0, largest] = 0.0 - features[0, largest]
    return features, changed, labels


@st.composite
def _draw_joined_pair(draw: DrawFn, chosen: Relation, records: Records) -> Pair[TableJoin]:
    one = draw(joined(records))
    number = draw(st.integers(0, len(one.tables) - 1))
    table = one.tables[number]
    row = draw(st.integers(0, len(table) - 1))
    changed = table.copy()
    new = draw_vector(draw, table.shape[1], records)
    changed[row] = _unlike(table[row], new, records.norm)
    tables = (*one.tables[:number], changed, *one.tables[number + 1 :])
    return Pair(one, replace(one, tables=tables), chosen)


_REPLACED: dict[str, Drawn] = {
    REPLACE_RECORD.name: _draw_record_replacement,
    ADD_REMOVE_RECORD.name: _draw_record_addition,
    REPLACE_LABEL.name: _draw_label_replacement,
    REPLACE_COLUMN.name: _draw_column_replacement,
}
