"""Neighbours made from one dataset: the edits that leaks tend to depend on.

A mechanism that looks at its data before it adds noise leaks through what is special about one
record: the largest, the only one of its kind, the last of its class, a duplicate, a missing value.
Candidates are such edits; an audit ranks them on a part of its trials and certifies the worst.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit.errors import InvalidArgument, Shown
from dpaudit.neighbours.cells import is_labelled, value_key
from dpaudit.neighbours.found import chosen_relation
from dpaudit.neighbours.tables import Pair, Relation
from dpaudit.records import stray

Bounds = tuple[float, float] | Mapping[Any, tuple[float, float]]
_UNSEEN = "a value that no record has"
_ADDS, _REPLACES = "add-remove-record", "replace-record"


@dataclass(frozen=True)
class Candidate:
    """A pair that was made from one dataset, and the edit that made it."""

    pair: Pair[Any]
    edit: str


@dataclass(frozen=True)
class _Rows:
    """Records as lists of cells, and what makes a dataset of them again."""

    rows: list[list[Any]]
    again: Callable[[list[list[Any]]], Any]
    numeric: tuple[bool, ...]
    names: tuple[Any, ...]
    labels: int | None = None


def candidates(
    dataset: Any,
    relation: Relation | str,
    *,
    bounds: Bounds | None = None,
    nan: bool = False,
    most: int = 24,
    rng: Generator,
) -> list[Candidate]:
    """Return neighbours of a dataset, each by an edit that leaks tend to depend on.

    Parameters
    ----------
    dataset
        An array, a table of pandas, a list, or features with labels.
    relation
        ``add-remove-record`` or ``replace-record``.
    bounds
        Of numbers: ``(low, high)``, or that by column; by default what the dataset holds.
    nan
        Whether a record may lack a number; where the dataset has NaN, it may.
    most
        How many at most; of those of one kind the first ones stay.
    rng
        Chooses the records where any would do.

    Raises
    ------
    InvalidArgument
        No such neighbours can be made of the dataset.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> made = candidates(np.array([1.0, 2.0, 9.0]), "add-remove-record", rng=rng)
    >>> made[0].edit, made[0].pair.neighbour
    ('the record with the largest value removed', array([1., 2.]))
    """
    named = chosen_relation(relation)
    name = getattr(named, "name", None)
    if named is None or name not in (_ADDS, _REPLACES):
        raise InvalidArgument("relation", relation, f"{_ADDS} or {_REPLACES}, to make neighbours")
    rows = _rows_of(dataset)
    limits = _limits(rows, bounds)
    edits = _removed(rows, rng) if name == _ADDS else _replaced_by_others(rows, rng)
    made = [*edits, *_with_new(rows, limits, nan, rng, added=name == _ADDS)]
    found, seen = list[Candidate](), set[Any]()
    for edit, changed in made:
        key = value_key(changed)
        if key in seen or key == value_key(rows.rows):
            continue
        seen.add(key)
        found.append(Candidate(Pair(dataset, rows.again(changed), named), edit))
    return found[:most]


_Edit = tuple[str, list[list[Any]]]


def _rows_of(dataset: Any) -> _Rows:
    """Return the records of a dataset, or refuse it."""
    if is_labelled(dataset):
        inner = _rows_of(dataset[0])
        labels = np.asarray(dataset[1])
        rows = [[*row, label] for row, label in zip(inner.rows, labels.tolist(), strict=True)]
        names = (*inner.names, "label")
        return _Rows(
            rows,
            lambda given: (
                inner.again([row[:-1] for row in given]),
                _array([row[-1] for row in given], labels.dtype),
            ),
            (*inner.numeric, False),
            names,
            len(names) - 1,
        )
    if hasattr(dataset, "iloc") and hasattr(dataset, "columns"):
        return _of_frame(dataset)
    if isinstance(dataset, np.ndarray) and dataset.ndim in (1, 2) and len(dataset):
        return _of_array(dataset)
    if isinstance(dataset, list) and dataset:
        return _of_list(dataset)
    expected = "an array, a table or a list of records, of which neighbours can be made"
    raise InvalidArgument("dataset", stray(dataset), expected)


def _of_frame(frame: Any) -> _Rows:
    dtypes = frame.dtypes.to_dict()
    numeric = tuple(_is_number(dtype) for dtype in frame.dtypes)

    def again(rows: list[list[Any]]) -> Any:
        made = type(frame)(rows, columns=frame.columns)
        for name, dtype in dtypes.items():
            if str(dtype) != "category" or made[name].isin(dtype.categories).all():
                try:
                    made[name] = made[name].astype(dtype)
                except (TypeError, ValueError):  # a missing integer makes a column of floats
                    made[name] = made[name].astype(object)
        return made

    return _Rows(frame.to_numpy(dtype=object).tolist(), again, numeric, tuple(frame.columns))


def _of_array(array: np.ndarray[Any, Any]) -> _Rows:
    flat = array.reshape(len(array), -1)
    numeric = (array.dtype.kind in "iuf",) * flat.shape[1]

    def again(rows: list[list[Any]]) -> Any:
        made = _array(rows, array.dtype)
        return made.reshape(len(rows), *array.shape[1:])

    return _Rows(flat.tolist(), again, numeric, tuple(range(flat.shape[1])))


def _array(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    try:
        made = np.array(values, dtype=dtype)
    except (ValueError, OverflowError):
        return np.array(values)
    return np.array(values) if dtype.kind in "US" else made


def _of_list(records: list[Any]) -> _Rows:
    if all(isinstance(one, Mapping) for one in records):
        names = tuple(dict.fromkeys(name for one in records for name in one))
        rows = [[one.get(name) for name in names] for one in records]
        return _Rows(
            rows,
            lambda given: [dict(zip(names, row, strict=True)) for row in given],
            _numeric_columns(rows),
            names,
        )
    rows = [[one] for one in records]
    return _Rows(rows, lambda given: [row[0] for row in given], _numeric_columns(rows), ("value",))


def _numeric_columns(rows: list[list[Any]]) -> tuple[bool, ...]:
    kinds = (int, float, np.number)
    return tuple(
        all(isinstance(one, kinds) and not isinstance(one, bool) for one in column)
        for column in zip(*rows, strict=True)
    )


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf"


def _limits(rows: _Rows, bounds: Bounds | None) -> dict[int, tuple[float, float]]:
    """Return the bounds of columns of numbers, those that were declared or those that are there."""
    found = {}
    for n, name in enumerate(rows.names):
        if not rows.numeric[n]:
            continue
        given = bounds.get(name) if isinstance(bounds, Mapping) else bounds
        values = [row[n] for row in rows.rows if not math.isnan(row[n])]
        low, high = given or (min(values, default=0.0), max(values, default=0.0))
        if not low <= high:
            raise InvalidArgument("bounds", Shown((low, high)), "(low, high) with low <= high")
        found[n] = (low, high)
    return found


def _special(rows: _Rows) -> Iterator[tuple[str, int]]:
    """Yield records that stand out, and how: the largest, the only one of its kind, a duplicate."""
    for n, name in enumerate(rows.names):
        column = [row[n] for row in rows.rows]
        of = "" if len(rows.names) == 1 else f" of {name}"
        if rows.numeric[n]:
            there = [(value, k) for k, value in enumerate(column) if not math.isnan(value)]
            if there:
                yield f"the record with the largest value{of}", max(there)[1]
                yield f"the record with the smallest value{of}", min(there)[1]
        keys = Counter(map(value_key, column))
        single = [k for k, value in enumerate(column) if keys[value_key(value)] == 1]
        if len(single) < len(column) or not rows.numeric[n]:
            yield from ((f"the only record with its value{of}", k) for k in single[:2])
    whole = Counter(map(value_key, rows.rows))
    twice = [k for k, row in enumerate(rows.rows) if whole[value_key(row)] > 1]
    yield from ((f"one of {whole[value_key(rows.rows[k])]} equal records", k) for k in twice[:1])
    yield "the last record", len(rows.rows) - 1
    yield "the first record", 0


def _removed(rows: _Rows, rng: Generator) -> Iterator[_Edit]:
    for what, k in _special(rows):
        yield f"{what} removed", [*rows.rows[:k], *rows.rows[k + 1 :]]
    k = int(rng.integers(len(rows.rows)))
    yield "a record removed", [*rows.rows[:k], *rows.rows[k + 1 :]]


def _replaced_by_others(rows: _Rows, rng: Generator) -> Iterator[_Edit]:
    """Yield records that stand out replaced by others that are there."""
    for what, k in _special(rows):
        others = [n for n in range(len(rows.rows)) if rows.rows[n] != rows.rows[k]]
        if others:
            other = rows.rows[int(rng.choice(others))]
            yield f"{what} replaced by another's", _with(rows.rows, k, other)


def _with_new(
    rows: _Rows,
    limits: dict[int, tuple[float, float]],
    nan: bool,
    rng: Generator,
    *,
    added: bool,
) -> Iterator[_Edit]:
    """Yield records that are not there added, or put in the place of one."""
    place = int(rng.integers(len(rows.rows)))
    base = rows.rows[place]
    for what, new in _new_records(rows, base, limits, nan):
        if added:
            yield f"{what} added", [*rows.rows, new]
        else:
            yield f"a record replaced by {what}", _with(rows.rows, place, new)


def _new_records(
    rows: _Rows, base: list[Any], limits: dict[int, tuple[float, float]], nan: bool
) -> Iterator[tuple[str, list[Any]]]:
    highest, lowest = list(base), list(base)
    for n, (low, high) in limits.items():
        lowest[n], highest[n] = low, high
    if limits:
        yield "one at the upper bounds", highest
        yield "one at the lower bounds", lowest
    for n, name in enumerate(rows.names):
        column = [row[n] for row in rows.rows]
        if not rows.numeric[n]:
            yield f"one with another {name}", _with(base, n, _unseen(column))
        missing = nan or any(one is None or one != one for one in column)
        if missing and n != rows.labels:
            absent = math.nan if rows.numeric[n] else None
            yield f"one without {name}", _with(base, n, absent)
    yield "a duplicate", list(base)


def _unseen(column: Sequence[Any]) -> Any:
    """Return a value of the kind of a column that it does not hold."""
    first = next((one for one in column if one is not None), "")
    if isinstance(first, bool):
        return not first
    if isinstance(first, int | float | np.number):
        return type(first)(max(one for one in column if one is not None) + 7)
    return _UNSEEN if isinstance(first, str) else None


def _with(items: list[Any], place: int, new: Any) -> list[Any]:
    return [*items[:place], new, *items[place + 1 :]]
