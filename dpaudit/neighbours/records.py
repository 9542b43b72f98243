"""Datasets as records, of which datasets can be made again, and the records that stand out."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.cells import is_labelled, value_key
from dpaudit.redaction import convert_stray_argument

_UNSEEN = "a value that no record has"
Places = list[int | None]
Ends = tuple[float, float]
Bounds = Ends | Mapping[Any, Ends]


@dataclass(frozen=True)
class CellRows:
    """Records as lists of cells, and the function that makes a dataset of them again.

    To make it takes where each record was before, too: labels of rows stay with their records.
    ``types`` are those of the columns that numpy or pandas has, None of any others.
    """

    rows: list[list[Any]]
    again: Callable[[list[list[Any]], Places], Any]
    numeric: tuple[bool, ...]
    names: tuple[Any, ...]
    labels: int | None = None
    types: tuple[Any, ...] = ()

    @property
    def ends(self) -> tuple[Ends | None, ...]:
        """The least and the greatest number that the type of each column holds, if it has one."""
        return tuple(map(_ends_of, self.types))

    def stored(self, place: int, number: float, inwards: float) -> float:
        """Return a number as a column holds it, or the next one inwards where it holds none such.

        Of integers all are as they are, and doubles too.
        """
        of = _numpy_type(self.types[place])
        if of is None or of.kind != "f":
            return number
        # A column of few digits rounds a bound, perhaps outwards, and the dataset would hold a
        # number beyond it.
        near = of.type(number)
        is_beyond = float(near) < number if inwards > 0 else float(near) > number
        return float(np.nextafter(near, of.type(inwards))) if is_beyond else float(near)


def records_of(dataset: Any) -> CellRows:
    """Return the records of a dataset, or refuse it."""
    if is_labelled(dataset):
        inner = records_of(dataset[0])
        rows = [[*row, label] for row, label in zip(inner.rows, dataset[1].tolist(), strict=True)]
        names = (*inner.names, "label")
        return CellRows(
            rows,
            lambda given, places: (
                inner.again([row[:-1] for row in given], places),
                _labels_again(dataset[1], [row[-1] for row in given], places),
            ),
            (*inner.numeric, False),
            names,
            len(names) - 1,
            (*inner.types, None),
        )
    if hasattr(dataset, "iloc") and hasattr(dataset, "columns") and len(dataset):
        return _of_frame(dataset)
    if isinstance(dataset, np.ndarray) and dataset.ndim in (1, 2) and len(dataset):
        return _of_array(dataset)
    if isinstance(dataset, list) and dataset:
        return _of_list(dataset)
    expected = "an array, a table or a list of records, of which neighbours can be made"
    raise InvalidArgument("dataset", convert_stray_argument(dataset), expected)


def _of_frame(frame: Any) -> CellRows:
    dtypes = list(frame.dtypes)
    numeric = tuple(_is_number(dtype) for dtype in frame.dtypes)

    def again(rows: list[list[Any]], places: Places) -> Any:
        columns = {
            n: _make_typed_column([row[n] for row in rows], dtype) for n, dtype in enumerate(dtypes)
        }
        made = type(frame)(columns, index=_index_again(frame.index, places))
        return made.set_axis(frame.columns, axis="columns")

    rows = frame.to_numpy(dtype=object).tolist()
    return CellRows(rows, again, numeric, tuple(frame.columns), types=tuple(dtypes))


def _make_typed_column(values: list[Any], dtype: Any) -> Any:
    """Return a column of pandas of a type, or of any values where these are of another."""
    import pandas

    made = pandas.Series(values, dtype=object)
    if str(dtype) == "category" and not made.isin(dtype.categories).all():
        return made.to_numpy()
    try:
        return made.astype(dtype).array
    except (TypeError, ValueError, OverflowError):  # a missing integer makes a column of objects
        return made.to_numpy()


def _index_again(index: Any, places: Places) -> Any:
    """Return the labels of rows: each record keeps its own, and numbers from 0 on stay that."""
    import pandas

    if isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1):
        return pandas.RangeIndex(len(places), name=index.name)
    kept = index.take([place for place in places if place is not None])
    for _ in range(len(places) - len(kept)):
        kept = kept.append(index[:0].insert(0, make_unseen_value(list(index))))
    return kept.set_names(index.names)


def _labels_again(labels: Any, values: list[Any], places: Places) -> Any:
    """Return labels of the kind that they were."""
    if not hasattr(labels, "index"):
        return _make_typed_array(values, np.asarray(labels).dtype)
    index = _index_again(labels.index, places)
    return type(labels)(_make_typed_column(values, labels.dtype), index=index, name=labels.name)


def _of_array(array: np.ndarray[Any, Any]) -> CellRows:
    flat = array.reshape(len(array), -1)
    numeric = (array.dtype.kind in "iuf",) * flat.shape[1]

    def again(rows: list[list[Any]], places: Places) -> Any:
        made = _make_typed_array(rows, array.dtype)
        return made.reshape(len(rows), *array.shape[1:])

    types = (array.dtype,) * flat.shape[1]
    return CellRows(flat.tolist(), again, numeric, tuple(range(flat.shape[1])), types=types)


def _make_typed_array(values: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    try:
        made = np.array(values, dtype=dtype)
    except (ValueError, OverflowError):
        return np.array(values)
    # Text of a fixed width would be cut where a new value is longer.
    return np.array(values) if dtype.kind in "US" else made


def _of_list(records: list[Any]) -> CellRows:
    if all(isinstance(one, Mapping) for one in records):
        names = tuple(dict.fromkeys(name for one in records for name in one))
        rows = [[one.get(name, _NO_KEY) for name in names] for one in records]
        return CellRows(
            rows,
            lambda given, places: [_make_record_dict(names, row) for row in given],
            _numeric_columns(rows),
            names,
            types=(None,) * len(names),
        )
    sizes = {len(one) if type(one) is tuple else 0 for one in records}
    if len(sizes) == 1 and (size := sizes.pop()):
        rows = [list(one) for one in records]
        again = lambda given, places: [tuple(row) for row in given]  # noqa: E731
        return CellRows(
            rows, again, _numeric_columns(rows), tuple(range(size)), types=(None,) * size
        )
    rows = [[one] for one in records]
    one = lambda given, places: [row[0] for row in given]  # noqa: E731
    return CellRows(rows, one, _numeric_columns(rows), ("value",), types=(None,))


class _Absent(Enum):
    """A placeholder for the value that a record lacks; the same in every process."""

    KEY = "key"


_NO_KEY = _Absent.KEY


def _make_record_dict(names: tuple[Any, ...], row: list[Any]) -> dict[Any, Any]:
    return {name: value for name, value in zip(names, row, strict=True) if value is not _NO_KEY}


def _numeric_columns(rows: list[list[Any]]) -> tuple[bool, ...]:
    kinds = (int, float, np.number)
    return tuple(
        all(
            isinstance(one, kinds) and not isinstance(one, bool) and _is_double_or_nan(one)
            for one in column
        )
        for column in zip(*rows, strict=True)
    )


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, the NA of pandas, or another that is not itself."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not hasattr(value, "__array__") and bool(value != value)


def _is_double_or_nan(value: Any) -> bool:
    """Return whether a number is one that doubles reach, or NaN."""
    try:
        return abs(float(value)) < math.inf or value != value
    except OverflowError:
        return False


def _ends_of(dtype: Any) -> Ends | None:
    """Return the least and the greatest number of a type of numpy or of pandas."""
    of = _numpy_type(dtype)
    if of is None or of.kind not in "iuf":
        return None
    if of.kind == "f":
        return float(np.finfo(of).min), float(np.finfo(of).max)
    return np.iinfo(of).min, np.iinfo(of).max


def _numpy_type(dtype: Any) -> np.dtype[Any] | None:
    of = getattr(dtype, "numpy_dtype", dtype)
    return of if isinstance(of, np.dtype) else None


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf"


def standing_out(
    rows: Sequence[Sequence[Any]], numeric: Sequence[bool], names: Sequence[Any]
) -> Iterator[tuple[str, int]]:
    """Yield records that stand out, and how: the largest, the only one of its kind, a duplicate."""
    for n, name in enumerate(names):
        column = [row[n] for row in rows]
        of = "" if len(names) == 1 else f" of {name}"
        if numeric[n]:
            there = [(value, k) for k, value in enumerate(column) if not is_missing(value)]
            if there:
                yield f"the record with the largest value{of}", max(there)[1]
                yield f"the record with the smallest value{of}", min(there)[1]
        named = [*map(value_key, column)] if not numeric[n] else [_number_key(v) for v in column]
        keys = Counter(named)
        single = [k for k, key in enumerate(named) if keys[key] == 1]
        if len(single) < len(column) or not numeric[n]:
            yield from ((f"the only record with its value{of}", k) for k in single[:2])
    named = [*map(value_key, rows)]
    whole = Counter(named)
    twice = [k for k, key in enumerate(named) if whole[key] > 1]
    yield from ((f"one of {whole[named[k]]} equal records", k) for k in twice[:1])
    yield "the last record", len(rows) - 1
    yield "the first record", 0


def _number_key(value: Any) -> Any:
    return None if is_missing(value) else value


def make_unseen_value(column: Sequence[Any]) -> Any:
    """Return a value of the kind of a column that it does not hold, None if none is known."""
    first: Any = next((one for one in column if one is not None and one is not _NO_KEY), "")
    # Before numbers, as Python's booleans are integers.
    if isinstance(first, bool):
        return not first
    if isinstance(first, int | float | np.number):
        numbers = [one for one in column if isinstance(one, int | float | np.number)]
        return max(numbers) + 7
    if hasattr(first, "isoformat"):
        return _unseen_day([one for one in column if hasattr(one, "isoformat")])
    if isinstance(first, bytes):
        return _UNSEEN.encode()
    return _UNSEEN if isinstance(first, str) else None


def _unseen_day(days: Sequence[Any]) -> Any:
    """Return a day a week after all others, before them where there is none so late, or None."""
    week = datetime.timedelta(days=7)
    for end, step in ((max(days), week), (min(days), -week)):
        with suppress(OverflowError, ValueError):  # as pandas says that it has no such day
            return end + step
    return None
