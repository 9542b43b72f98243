"""Canaries' scores in a file: CSV, Parquet or npz, with the columns score, included and group."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.auditing.canary_table import Table, as_table
from dpaudit.errors import DataError, InvalidArgument, Shown, shorten
from dpaudit.records import Record

_NEEDED, _OPTIONAL = ("score", "included"), ("group",)
_EXPECTED = "columns score and included, and group if canaries have one"
_FLAGS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "0.0": 0.0, "1.0": 1.0}


def read_table(path: Path) -> Table:
    """Return the canaries of a file.

    Raises
    ------
    DataError
        It cannot be read, is of another kind, misses a column, or has a value that is none.

    Examples
    --------
    >>> read_table(Path("missing.csv"))
    Traceback (most recent call last):
    dpaudit.errors.DataError: missing.csv: cannot be read (No such file or directory)
    """
    readers: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
        ".csv": _csv,
        ".parquet": _parquet,
        ".npz": _npz,
    }
    if path.suffix not in readers:
        raise DataError(f"{path}: expected a file of canaries, .csv, .parquet or .npz")
    try:
        columns = readers[path.suffix](path)
        return as_table(columns["score"], columns["included"], columns.get("group"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or 'damaged'})") from None
    except InvalidArgument as error:
        raise DataError(f"{path}: {error}") from None


def _required(path: Path, names: Any) -> None:
    for name in _NEEDED:
        if name not in names:
            raise DataError(f"{path}: has no column {name!r}, expected {_EXPECTED}")


def _csv(path: Path) -> Mapping[str, Any]:
    """Return the columns of a table with a header; other columns are not looked at."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        try:
            rows = csv.reader(lines)
            names = [name.strip() for name in next(rows, [])]
            if not names:
                raise DataError(f"{path}: is empty, expected {_EXPECTED}")
            _required(path, names)
            kept = {name: names.index(name) for name in (*_NEEDED, *_OPTIONAL) if name in names}
            found: dict[str, list[Any]] = {name: [] for name in kept}
            for row in filter(None, rows):
                for name, place in kept.items():
                    text = row[place].strip() if place < len(row) else ""
                    found[name].append(_value(path, rows.line_num, name, text))
        except (csv.Error, UnicodeDecodeError):
            raise DataError(f"{path}: is no table of text, expected {_EXPECTED}") from None
    if not found["score"]:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return found


def _value(path: Path, line: int, name: str, text: str) -> Any:
    where = f"{path}: line {line}: {name}"
    if not text:
        raise DataError(f"{where}: is missing")
    if name == "group":
        return text
    if name == "included":
        if text.lower() not in _FLAGS:
            raise DataError(f"{where}: got {shorten(Record(text))}, expected 0 or 1")
        return _FLAGS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        raise DataError(f"{where}: got {shorten(Record(text))}, expected a number") from None
    if not np.isfinite(number):
        raise DataError(f"{where}: got {shorten(Shown(text))}, expected a finite number")
    return number


def _parquet(path: Path) -> Mapping[str, Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise DataError(f"{path}: pip install 'dpaudit[parquet]', and it is read") from None
    try:
        names = parquet.read_schema(path).names
        _required(path, names)
        kept = [name for name in (*_NEEDED, *_OPTIONAL) if name in names]
        table = parquet.read_table(path, columns=kept)
        missing = [name for name in kept if table[name].null_count]
        if missing:
            raise DataError(f"{path}: column {missing[0]!r} has empty entries")
        columns = {name: table[name].to_numpy() for name in kept}
    except ArrowException:
        raise DataError(f"{path}: is no Parquet file, expected {_EXPECTED}") from None
    if not table.num_rows:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return {name: _plain(column) for name, column in columns.items()}


def _plain(column: Any) -> Any:
    """Return a column of texts as texts, which come as Python objects."""
    return column.astype(str) if column.dtype == object else column


def _npz(path: Path) -> Mapping[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            _required(path, arrays.files)
            kept = [name for name in (*_NEEDED, *_OPTIONAL) if name in arrays.files]
            found = {name: arrays[name] for name in kept}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError):
        raise DataError(f"{path}: is no .npz file of numbers, expected {_EXPECTED}") from None
    if not found["score"].size:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return found
