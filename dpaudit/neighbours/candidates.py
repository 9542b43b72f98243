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
from typing import Any, Literal

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


# What a record was given that none of the others has.
Given = Literal["new value", "missing value"]


@dataclass(frozen=True)
class Candidate:
    """A pair that was made from one dataset, the edit that made it, and what that gave a record."""

    pair: Pair[Any]
    edit: str
    given: Given | None = None


_Places = list[int | None]


@dataclass(frozen=True)
class Rows:
    """Records as lists of cells, and what makes a dataset of them again.

    To make it takes where each record was before, too: labels of rows stay with their records.
    """

    rows: list[list[Any]]
    again: Callable[[list[list[Any]], _Places], Any]
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
    rows = records_of(dataset)
    limits = _limits(rows, bounds)
    edits = _removed(rows, rng) if name == _ADDS else _replaced_by_others(rows, rng)
    made = [*edits, *_with_new(rows, limits, nan, rng, added=name == _ADDS)]
    found, seen = list[Candidate](), set[Any]()
    for edit, changed, given in made:
        key = value_key(changed)
        if key in seen or key == value_key(rows.rows):
            continue
        seen.add(key)
        try:
            pair = Pair(dataset, rows.again(changed, _places(rows.rows, changed)), named)
        except (InvalidArgument, TypeError, ValueError, OverflowError):
            continue  # no such record can stand in such a dataset
        found.append(Candidate(pair, edit, given))
    if not found:
        raise InvalidArgument("dataset", Shown("one without such neighbours"), "more records")
    return found[:most]


def _places(before: list[list[Any]], changed: list[list[Any]]) -> _Places:
    """Return where each record was before, None of one that is new."""
    if len(changed) == len(before):
        return list(range(len(before)))
    known = {id(row): place for place, row in enumerate(before)}
    return [known.get(id(row)) for row in changed]


_Edit = tuple[str, list[list[Any]], Given | None]


def records_of(dataset: Any) -> Rows:
    """Return the records of a dataset, or refuse it."""
    if is_labelled(dataset):
        inner = records_of(dataset[0])
        rows = [[*row, label] for row, label in zip(inner.rows, dataset[1].tolist(), strict=True)]
        names = (*inner.names, "label")
        return Rows(
            rows,
            lambda given, places: (
                inner.again([row[:-1] for row in given], places),
                _labels_again(dataset[1], [row[-1] for row in given], places),
            ),
            (*inner.numeric, False),
            names,
            len(names) - 1,
        )
    if hasattr(dataset, "iloc") and hasattr(dataset, "columns") and len(dataset):
        return _of_frame(dataset)
    if isinstance(dataset, np.ndarray) and dataset.ndim in (1, 2) and len(dataset):
        return _of_array(dataset)
    if isinstance(dataset, list) and dataset:
        return _of_list(dataset)
    expected = "an array, a table or a list of records, of which neighbours can be made"
    raise InvalidArgument("dataset", stray(dataset), expected)


def _of_frame(frame: Any) -> Rows:
    dtypes = list(frame.dtypes)
    numeric = tuple(_is_number(dtype) for dtype in frame.dtypes)

    def again(rows: list[list[Any]], places: _Places) -> Any:
        columns = {n: _typed([row[n] for row in rows], dtype) for n, dtype in enumerate(dtypes)}
        made = type(frame)(columns, index=_index_again(frame.index, places))
        return made.set_axis(frame.columns, axis="columns")

    return Rows(frame.to_numpy(dtype=object).tolist(), again, numeric, tuple(frame.columns))


def _typed(values: list[Any], dtype: Any) -> Any:
    """Return a column of pandas of a type, or of any values where these are of another."""
    import pandas

    made = pandas.Series(values, dtype=object)
    if str(dtype) == "category" and not made.isin(dtype.categories).all():
        return made.to_numpy()
    try:
        return made.astype(dtype).array
    except (TypeError, ValueError, OverflowError):  # a missing integer makes a column of objects
        return made.to_numpy()


def _index_again(index: Any, places: _Places) -> Any:
    """Return the labels of rows: each record keeps its own, and numbers from 0 on stay that."""
    import pandas

    if isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1):
        return pandas.RangeIndex(len(places), name=index.name)
    kept = index.take([place for place in places if place is not None])
    for _ in range(len(places) - len(kept)):
        kept = kept.append(index[:0].insert(0, _unseen(list(index))))
    return kept.set_names(index.names)


def _labels_again(labels: Any, values: list[Any], places: _Places) -> Any:
    """Return labels of the kind that they were."""
    if not hasattr(labels, "index"):
        return _array(values, np.asarray(labels).dtype)
    index = _index_again(labels.index, places)
    return type(labels)(_typed(values, labels.dtype), index=index, name=labels.name)


def _of_array(array: np.ndarray[Any, Any]) -> Rows:
    flat = array.reshape(len(array), -1)
    numeric = (array.dtype.kind in "iuf",) * flat.shape[1]

    def again(rows: list[list[Any]], places: _Places) -> Any:
        made = _array(rows, array.dtype)
        return made.reshape(len(rows), *array.shape[1:])

    return Rows(flat.tolist(), again, numeric, tuple(range(flat.shape[1])))


def _array(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    try:
        made = np.array(values, dtype=dtype)
    except (ValueError, OverflowError):
        return np.array(values)
    return np.array(values) if dtype.kind in "US" else made


def _of_list(records: list[Any]) -> Rows:
    if all(isinstance(one, Mapping) for one in records):
        names = tuple(dict.fromkeys(name for one in records for name in one))
        rows = [[one.get(name, _NO_KEY) for name in names] for one in records]
        return Rows(
            rows,
            lambda given, places: [_record(names, row) for row in given],
            _numeric_columns(rows),
            names,
        )
    sizes = {len(one) if type(one) is tuple else 0 for one in records}
    if len(sizes) == 1 and (size := sizes.pop()):
        rows = [list(one) for one in records]
        again = lambda given, places: [tuple(row) for row in given]  # noqa: E731
        return Rows(rows, again, _numeric_columns(rows), tuple(range(size)))
    rows = [[one] for one in records]
    one = lambda given, places: [row[0] for row in given]  # noqa: E731
    return Rows(rows, one, _numeric_columns(rows), ("value",))


_NO_KEY = object()  # of a record that lacks it


def _record(names: tuple[Any, ...], row: list[Any]) -> dict[Any, Any]:
    return {name: value for name, value in zip(names, row, strict=True) if value is not _NO_KEY}


def _numeric_columns(rows: list[list[Any]]) -> tuple[bool, ...]:
    kinds = (int, float, np.number)
    return tuple(
        all(isinstance(one, kinds) and not isinstance(one, bool) and _finite(one) for one in column)
        for column in zip(*rows, strict=True)
    )


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or what else is not itself."""
    return value is None or (not hasattr(value, "__array__") and bool(value != value))


def _finite(value: Any) -> bool:
    """Return whether a number is one that doubles reach, or NaN."""
    try:
        return abs(float(value)) < math.inf or value != value
    except OverflowError:
        return False


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf"


def _limits(rows: Rows, bounds: Bounds | None) -> dict[int, tuple[float, float]]:
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


def _special(rows: Rows) -> Iterator[tuple[str, int]]:
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


def _removed(rows: Rows, rng: Generator) -> Iterator[_Edit]:
    for what, k in _special(rows):
        yield f"{what} removed", [*rows.rows[:k], *rows.rows[k + 1 :]], None
    k = int(rng.integers(len(rows.rows)))
    yield "a record removed", [*rows.rows[:k], *rows.rows[k + 1 :]], None


def _replaced_by_others(rows: Rows, rng: Generator) -> Iterator[_Edit]:
    """Yield records that stand out replaced by others that are there."""
    for what, k in _special(rows):
        mine = value_key(rows.rows[k])
        others = [n for n in range(len(rows.rows)) if value_key(rows.rows[n]) != mine]
        if others:
            other = rows.rows[int(rng.choice(others))]
            yield f"{what} replaced by another's", _with(rows.rows, k, other), None


def _with_new(
    rows: Rows,
    limits: dict[int, tuple[float, float]],
    nan: bool,
    rng: Generator,
    *,
    added: bool,
) -> Iterator[_Edit]:
    """Yield records that are not there added, or put in the place of one."""
    place = int(rng.integers(len(rows.rows)))
    base = rows.rows[place]
    for what, new, given in _new_records(rows, base, limits, nan):
        if added:
            yield f"{what} added", [*rows.rows, new], given
        else:
            yield f"a record replaced by {what}", _with(rows.rows, place, new), given


def _new_records(
    rows: Rows, base: list[Any], limits: dict[int, tuple[float, float]], nan: bool
) -> Iterator[tuple[str, list[Any], Given | None]]:
    highest, lowest = list(base), list(base)
    for n, (low, high) in limits.items():
        lowest[n], highest[n] = low, high
    if limits:
        yield "one at the upper bounds", highest, None
        yield "one at the lower bounds", lowest, None
    for n, name in enumerate(rows.names):
        column = [row[n] for row in rows.rows]
        missing = nan or any(map(_is_missing, column))
        other = None if rows.numeric[n] else _unseen(column)
        if other is not None:
            yield f"one with another {name}", _with(base, n, other), "new value"
        if missing and n != rows.labels:
            absent = math.nan if rows.numeric[n] else None
            yield f"one without {name}", _with(base, n, absent), "missing value"
    yield "a duplicate", list(base), None


def _unseen(column: Sequence[Any]) -> Any:
    """Return a value of the kind of a column that it does not hold, None if none is known."""
    first: Any = next((one for one in column if one is not None and one is not _NO_KEY), "")
    if isinstance(first, bool):
        return not first
    if isinstance(first, int | float | np.number):
        numbers = [one for one in column if isinstance(one, int | float | np.number)]
        return max(numbers) + 7
    if hasattr(first, "isoformat"):
        import datetime

        return max(one for one in column if hasattr(one, "isoformat")) + datetime.timedelta(days=7)
    if isinstance(first, bytes):
        return _UNSEEN.encode()
    return _UNSEEN if isinstance(first, str) else None


def _with(items: list[Any], place: int, new: Any) -> list[Any]:
    return [*items[:place], new, *items[place + 1 :]]
