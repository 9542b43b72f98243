"""Layouts that make a dataset of units: an array, a list, a table, features with labels.

A *unit* is what one neighbour has and the other lacks or has otherwise: a record, an edge, or the
records of one user. It is a tuple of records, and a record is a tuple of cells, one a column.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    is_allowed_in_column,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.records import CellRows, Ends, records_of

Record = tuple[Any, ...]
Unit = tuple[Record, ...]
_EXACT = 2**53  # doubles hold all integers up to here
_SAME = 1e-9  # relatively, of lengths
USER = "user"  # the column that says whose a record is, unless a relation names another


@dataclass(frozen=True)
class Start:
    """A dataset as units, and the known facts about its columns.

    Parameters
    ----------
    units
        Its records, each a unit of its own.
    ranges
        Of each column of numbers: the least and the greatest that records hold.
    is_stated
        Of each column, whether somebody says what it may hold.
    tells
        Whether all that is made beside it tells something of it, such as the names of its nodes.
    order
        Of a graph: units that may matter most, first.
    """

    units: tuple[Unit, ...]
    ranges: tuple[Ends | None, ...]
    is_stated: tuple[bool, ...]
    tells: bool = False
    order: tuple[int, ...] = ()

    @property
    def is_of_bounds(self) -> bool:
        """Whether somebody states the possible values of every column."""
        return all(self.is_stated)

    @cached_property
    def keys(self) -> tuple[frozenset[Any], ...]:
        """The values of the records in each column, by their keys."""
        rows = [record for unit in self.units for record in unit]
        return tuple(frozenset(map(value_key, cells)) for cells in zip(*rows, strict=True))


@dataclass(frozen=True)
class RecordLayout:
    """The columns of records, and the function that makes a dataset of units.

    Parameters
    ----------
    names, columns
        Of the cells of a record.
    build
        Returns the dataset of a sequence of units.
    labels
        Which column holds the labels, if one does.
    norm
        The largest Euclidean length of a record's features, if there is one.
    start
        The dataset that somebody has, if records are like those of one; then ``build`` takes the
        place of a unit that a neighbour lacks as well, so that rows keep their labels.
    further
        Datasets that are worth a try besides those of few different units.
    beside
        Returns units that are worth a try in a place of a dataset, where that depends on others.
    made
        Datasets that somebody has, or makes, where nothing else says what records are: others
        are of whole records of these.
    """

    names: tuple[Any, ...]
    columns: tuple[Column, ...]
    build: Callable[..., Any]
    labels: int | None = None
    norm: float | None = None
    start: Start | None = None
    further: tuple[tuple[Unit, ...], ...] = ()
    beside: Callable[[Sequence[Unit], int], Sequence[Unit]] | None = None
    made: tuple[tuple[Unit, ...], ...] = ()

    @property
    def longest(self) -> float:
        """The length of a record that somebody made as long as it may be, by rounding."""
        return math.inf if self.norm is None else self.norm * (1 + _SAME)

    def holds(self, record: Record) -> bool:
        """Return whether a record is one of the domain: every cell, and its length."""
        if len(record) != len(self.columns):
            return False
        columns = zip(self.columns, record, strict=True)
        if not all(is_allowed_in_column(column, cell) for column, cell in columns):
            return False
        return self.norm is None or is_short(record[: self.labels], self.norm)

    def allowed(self, record: Record) -> Record:
        """Return a record of at most the largest length: a longer one is made shorter."""
        if self.norm is None:
            return record
        features = record[: self.labels]
        numbers = [float(one) for one in features]
        length, limit = math.hypot(*numbers), _compute_safe_norm(numbers, self.norm)
        if length <= limit:
            return record
        scale = limit / length
        # Rounding may leave the scaled record a unit too long.
        while math.hypot(*(scale * one for one in numbers)) > limit:
            scale = math.nextafter(scale, 0.0)
        return (*(scale * one for one in numbers), *record[len(features) :])

    def with_cell(self, record: Record, place: int, cell: Any) -> Record:
        """Return a record with another cell, nearer to 0 where it were longer than it may be."""
        made = (*record[:place], cell, *record[place + 1 :])
        numbers = [float(one) for one in made[: self.labels]] if self.norm is not None else []
        if self.norm is None or place == self.labels:
            return made
        limit = _compute_safe_norm(numbers, self.norm)
        if math.hypot(*numbers) <= limit:
            return made
        rest = math.hypot(*numbers[:place], *numbers[place + 1 :]) / self.norm
        left = 2 * limit / self.norm - 1 - rest  # twice as far from the norm, as this is rounded
        room = self.norm * math.sqrt(max(left * (1 + rest), 0.0))
        while math.hypot(*numbers[:place], room, *numbers[place + 1 :]) > limit and room:
            room /= 2
        return (*record[:place], math.copysign(room, cell), *record[place + 1 :])


def _compute_safe_norm(numbers: Sequence[float], norm: float) -> float:
    """Return how long a record is made at most, so that no order of adding squares finds it longer.

    Squares and sums of doubles are each off by half of a unit in the last place at most.
    """
    terms = sum(1 for one in numbers if one)
    # The mechanism may add the squares in another order than is done here, and must not find the
    # record too long.
    return norm if terms < 2 else norm * (1 - (terms + 2) * sys.float_info.epsilon)


def is_short(numbers: Sequence[float], norm: float) -> bool:
    """Return whether a Euclidean length is at most so large, without rounding.

    Examples
    --------
    >>> is_short([3.0, 4.0], 5.0), is_short([3.0, 4.000000000000001], 5.0)
    (True, False)
    """
    return sum(Fraction(one) ** 2 for one in numbers) <= Fraction(norm) ** 2


def _flatten_units(units: Sequence[Unit]) -> list[Record]:
    return list(chain.from_iterable(units))


def are_whole(columns: Sequence[Column]) -> bool:
    """Return whether columns hold integers alone, none of which may be missing."""
    return all(type(one) in (Integers, Booleans) and not one.missing for one in columns)


def _dtype_of(columns: Sequence[Column]) -> Any:
    """Return the type of an array: doubles where values may be missing, of integers as well."""
    if are_whole(columns):
        return np.int64
    whole = [one for one in columns if isinstance(one, Integers)]
    # Two integers that doubles merge would make a pair that does not differ.
    if any(max(-one.low, one.high) > _EXACT for one in whole):
        given = VerbatimText("integers beyond 2**53, some of which may be missing")
        raise InvalidArgument("bounds", given, "integers that doubles hold, in an array with gaps")
    return np.float64


def make_value_layout(column: Column, kind: str) -> RecordLayout:
    """Return the layout of a list or an array of single values, or of one value alone."""
    dtype = _dtype_of((column,)) if kind == "array" else None

    def build(units: Sequence[Unit]) -> Any:
        found = [record[0] for record in _flatten_units(units)]
        if kind == "value":
            (found,) = found
        return np.array(found, dtype=dtype) if kind == "array" else found

    return RecordLayout(("value",), (column,), build)


def make_matrix_layout(columns: Sequence[Column], norm: float | None) -> RecordLayout:
    """Return the layout of an array whose rows are records."""
    dtype = _dtype_of(columns)

    def build(units: Sequence[Unit]) -> Any:
        found = _flatten_units(units)
        return np.array(found, dtype=dtype).reshape(len(found), len(columns))

    return RecordLayout(tuple(range(len(columns))), tuple(columns), build, norm=norm)


def make_labelled_layout(
    columns: Sequence[Column], labels: Categories, norm: float | None
) -> RecordLayout:
    """Return the layout of features with labels, ``(X, y)``, whose types no record decides."""
    features, dtype = make_matrix_layout(columns, norm), _dtype_of_labels(labels.values)

    def build(units: Sequence[Unit]) -> Any:
        found = _flatten_units(units)
        kept = features.build([tuple(record[:-1] for record in found)])
        return kept, np.array([record[-1] for record in found], dtype=dtype)

    names = (*features.names, "label")
    return RecordLayout(names, (*columns, labels), build, labels=len(columns), norm=norm)


def _dtype_of_labels(values: Sequence[Any]) -> Any:
    """Return the type of an array that holds all labels of a domain, each as it is."""
    made = np.array(list(values))
    # numpy makes texts of numbers that stand beside texts: then labels would be others than the
    # domain says.
    return made.dtype if value_key(made.tolist()) == value_key(list(values)) else object


def make_table_layout(names: Sequence[Any], columns: Sequence[Column]) -> RecordLayout:
    """Return the layout of a table of pandas."""

    def build(units: Sequence[Unit]) -> Any:
        import pandas

        found = _flatten_units(units)
        made = {
            name: _make_pandas_series([record[n] for record in found], column)
            for n, (name, column) in enumerate(zip(names, columns, strict=True))
        }
        return pandas.DataFrame(made)

    return RecordLayout(tuple(names), tuple(columns), build)


def _make_pandas_series(cells: list[Any], column: Column) -> Any:
    """Return a column of pandas: of the type that its kind has there, with gaps or without."""
    import pandas

    match column:
        case Integers():
            return pandas.Series(cells, dtype="Int64" if column.missing else "int64")
        case Numbers():
            return pandas.Series(cells, dtype="float64")
        case Booleans():
            return pandas.Series(cells, dtype="boolean" if column.missing else "bool")
        case Dates():
            return pandas.Series(pandas.to_datetime(cells))
        case Categories(values=values):
            return pandas.Series(pandas.Categorical(cells, categories=list(values)))
    return pandas.Series(cells, dtype=object)


def make_dictionary_layout(names: Sequence[Any], columns: Sequence[Column]) -> RecordLayout:
    """Return the layout of a list of dicts, one a record."""

    def build(units: Sequence[Unit]) -> Any:
        return [dict(zip(names, record, strict=True)) for record in _flatten_units(units)]

    return RecordLayout(tuple(names), tuple(columns), build)


def of_users(records: RecordLayout, name: Any = USER) -> RecordLayout:
    """Return the layout of users with several records: a first column says whose each one is."""
    columns = (Integers(low=0, high=2**31), *records.columns)
    whole = make_table_layout((name, *records.names), columns)

    def build(units: Sequence[Unit]) -> Any:
        numbered = [
            tuple((number, *record) for record in unit) for number, unit in enumerate(units)
        ]
        return whole.build(numbered)

    return RecordLayout(records.names, records.columns, build, norm=records.norm)


def of_user(layout: RecordLayout, user: str | None) -> RecordLayout:
    """Return a layout whose column of users has the name that a relation gives it."""
    if user is None or user == USER:
        return layout
    build = layout.build
    return replace(layout, build=lambda units: build(units).rename(columns={USER: user}))


def of_examples(examples: Sequence[Any]) -> RecordLayout:
    """Return the layout of datasets that somebody has: records are those that they hold."""
    read = [records_of(one) for one in examples]
    first = max(read, key=lambda one: len(one.rows))
    alike = [one for one in read if one is first or _are_alike(one, first)]
    rows = [row for one in alike for row in one.rows]
    columns = tuple(
        _make_column_of_values([row[n] for row in rows], is_number)
        for n, is_number in enumerate(first.numeric)
    )

    def build(units: Sequence[Unit]) -> Any:
        records = [list(record) for record in _flatten_units(units)]
        return first.again(records, list(range(len(records))))

    made = tuple(tuple((tuple(row),) for row in one.rows) for one in alike)
    return RecordLayout(first.names, columns, build, labels=first.labels, made=made)


def _are_alike(one: CellRows, first: CellRows) -> bool:
    """Return whether records of one dataset stay as they are where one like another is made."""
    if one.names != first.names:
        return False
    try:
        again = records_of(first.again(one.rows, list(range(len(one.rows)))))
    except (TypeError, ValueError, OverflowError):
        return False
    return value_key(again.rows) == value_key(one.rows)


def _make_column_of_values(values: Sequence[Any], is_number: bool) -> Column:
    present = [one for one in values if one is not None and one == one]
    missing = len(present) < len(values)
    if not is_number or not present:
        different = {value_key(one): one for one in present}
        return Categories(missing=missing, values=tuple(different.values()) or ("",))
    low, high = min(present), max(present)
    if all(isinstance(one, int) for one in present):
        return Integers(missing=missing, low=int(low), high=int(high))
    return Numbers(missing=missing, low=float(low), high=float(high))
