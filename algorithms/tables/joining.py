"""From keyed tables to `JoinedTables`: the join itself, by pandas, with its refusals.

TablePuppet takes the join as done: eq. (26) of its appendix uses the mappings ``p_i(j)``, the tuple
of table i in row j of the join. `join_tables` computes them, and so ``G_i(j)`` of section
"Computation reduction" and its size, eq. (37), from keys that the owners share.

Keys are compared as Python compares them, value by value, so a column must not hold what compares
by accident: all its keys are of one kind (`_get_key_kind`), on both sides of a join, and none is
missing. Otherwise a missing key would match the word "nan" once both are strings, and the integers
2**53 and 2**53 + 1 both match the float 2.0**53.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.errors import InvalidArgument, VerbatimText, shorten_repr
from dpaudit.redaction import Record

Keys = NDArray[np.object_]

# The first match counts, so the order matters: a bool is an Integral, and an Integral is a Real.
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (numbers.Integral,),
    "float": (numbers.Real,),
    "str": (str,),
}


@dataclass(frozen=True, eq=False)
class KeyedTable:
    """One owner's table: numbers to learn from, and key columns to join on.

    Parameters
    ----------
    name
        How errors call it.
    features
        Shape ``(n, d)``.
    keys
        Key columns by name, each with one value for each of the n tuples.

    Raises
    ------
    InvalidArgument
        A feature is not finite, a key is missing or of another kind than the first, or lengths do
        not fit.
    """

    name: str
    features: Array
    keys: Mapping[str, ArrayLike]

    def __post_init__(self) -> None:
        features = check.finite_array(f"features of table {self.name!r}", self.features, ndim=2)
        if not features.size:
            expected = "at least one tuple and one column"
            raise InvalidArgument(f"features of table {self.name!r}", features.shape, expected)
        features.flags.writeable = False
        keys = {name: self._key(name, values, len(features)) for name, values in self.keys.items()}
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "keys", keys)

    def _key(self, name: str, values: ArrayLike, tuples: int) -> Keys:
        what = f"key {name!r} of table {self.name!r}"
        if not isinstance(name, str):
            raise InvalidArgument("key column", name, "a name")
        column = _convert_to_object_column(values)
        if column.shape != (tuples,):
            expected = f"one value for each of the {tuples} tuples"
            raise InvalidArgument(what, VerbatimText(f"shape {column.shape}"), expected)
        missing = np.asarray(pd.isna(column))
        if missing.any():
            row = int(np.argmax(missing))
            raise InvalidArgument(
                f"{what}, tuple {row}", Record(column[row]), "a key, not a missing value"
            )
        for row, value in enumerate(column):
            if not isinstance(value, Hashable) or _get_key_kind(value) != _get_key_kind(column[0]):
                expected = f"hashable keys of one kind: tuple 0 has {_with_kind(column[0])}"
                raise InvalidArgument(
                    f"{what}, tuple {row}", VerbatimText(_with_kind(value)), expected
                )
        return column


def _convert_to_object_column(values: ArrayLike) -> Keys:
    """Return the values one by one, before numpy finds a common type for them."""
    column = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    if column.ndim == 1:  # pandas keeps times as times, where numpy makes them integers
        column = np.asarray(pd.Series(column, dtype=object), dtype=object)
    return column


def _get_key_kind(value: object) -> str:
    """Return the kind of this key: keys of two kinds are never equal on purpose.

    Examples
    --------
    >>> [_get_key_kind(value) for value in (True, 1, np.int8(1), 1.0, "1")]
    ['bool', 'int', 'int', 'float', 'str']
    """
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    return type(value).__name__


def _with_kind(value: object) -> str:
    return f"{shorten_repr(Record(value))} ({_get_key_kind(value)})"


def join_tables(
    tables: Sequence[KeyedTable],
    labels: ArrayLike,
    *,
    label_table: str | None = None,
    many_to_many: bool = False,
    name: str = "joined tables",
) -> JoinedTables:
    """Join tables on the key columns they share, the first with the second, and so on.

    Parameters
    ----------
    tables
        Each after the first shares at least one key column with those before it, and is joined on
        all that it shares. Tuples of the first keep their order.
    labels
        One for each tuple of ``label_table``.
    label_table
        The table, by name, whose tuples the labels belong to; by default the first.
    many_to_many
        Whether a later table may hold a key more than once.

    Raises
    ------
    InvalidArgument
        A table shares no key, holds one twice, lacks one that a row needs, or has keys of another
        kind.

    Examples
    --------
    >>> visits = KeyedTable("visits", [[1.0], [2.0], [3.0]], {"patient": ["b", "a", "b"]})
    >>> patients = KeyedTable("patients", [[70.0], [35.0]], {"patient": ["a", "b"]})
    >>> join_tables([visits, patients], labels=[1, -1, 1]).mappings[1]
    array([1, 0, 1])
    """
    names = [table.name for table in tables]
    if not names or len(set(names)) != len(names):
        raise InvalidArgument("tables", names, "at least one table, all with different names")
    chosen = names[0] if label_table is None else label_table
    if chosen not in names:
        raise InvalidArgument("label_table", chosen, "one of: " + ", ".join(names))
    frame = _make_key_frame(tables[0], 0)
    for i, table in enumerate(tables[1:], start=1):
        frame = _merge_key_frame(frame, table, i, many_to_many)
    mappings = tuple(frame[i].to_numpy(dtype=np.int64) for i in range(len(tables)))
    return JoinedTables(
        tuple(table.features for table in tables),
        mappings,
        check.finite_array("labels", labels, ndim=1),
        label_table=names.index(chosen),
        name=name,
    )


def _make_key_frame(table: KeyedTable, number: int) -> pd.DataFrame:
    """Return a table's keys and, in a column named by the table's number, its tuple numbers."""
    frame = pd.DataFrame(
        # Without the dtype pandas finds a type of its own for a column, in which keys could match
        # by accident.
        {key: pd.Series(column, dtype=object) for key, column in table.keys.items()}
    )
    # A number cannot clash with the name of a key column, which is a string.
    frame[number] = np.arange(len(table.features))
    return frame


def _merge_key_frame(
    frame: pd.DataFrame, table: KeyedTable, number: int, many_to_many: bool
) -> pd.DataFrame:
    shared = [key for key in table.keys if key in frame.columns]
    what = f"table {table.name!r}"
    if not shared:
        known = ", ".join(str(column) for column in frame.columns if isinstance(column, str))
        expected = f"a key column of the tables before it: {known or 'they have none'}"
        raise InvalidArgument(f"keys of {what}", list(table.keys), expected)
    other = _make_key_frame(table, number)
    twice = other.duplicated(shared)
    if twice.any() and not many_to_many:
        given = _format_key_row(other, shared, int(np.argmax(twice)), "twice")
        raise InvalidArgument(f"keys of {what}", given, "every key once, or many_to_many=True")
    for key in shared:
        # Every column holds keys of one kind, so that its first value speaks for all.
        before, value = frame[key].iloc[0], other[key].iloc[0]
        if _get_key_kind(before) != _get_key_kind(value):
            expected = f"keys of one kind: a table before it has {_with_kind(before)}"
            raise InvalidArgument(
                f"keys of {what}", VerbatimText(f"{key}={_with_kind(value)}"), expected
            )
    # A left join keeps the order of the rows so far, and leaves a gap where a key has no match.
    merged = frame.merge(other, on=shared, how="left")
    lost = merged[number].isna()
    if lost.any():
        given = _format_key_row(
            merged, shared, int(np.argmax(lost)), f"not there ({int(lost.sum())} rows)"
        )
        raise InvalidArgument(f"keys of {what}", given, "a match for every row of the join")
    return merged


def _format_key_row(frame: pd.DataFrame, keys: list[str], row: int, what: str) -> VerbatimText:
    values = ", ".join(f"{key}={Record(frame[key].iloc[row])!r}" for key in keys)
    return VerbatimText(f"{values} {what}")
