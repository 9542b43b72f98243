"""Canaries' scores in a file: CSV, Parquet or npz, with the columns score, included and group."""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.auditing.files.arrays import MOST, read_arrays
from dpaudit.auditing.files.number_marks import EXPECTED
from dpaudit.auditing.samples.canary_table import CanaryTable, as_table
from dpaudit.errors import DataError, InvalidArgument, VerbatimText, shorten_repr
from dpaudit.redaction import Record

_NEEDED = ("score", "included")
_OPTIONAL = ("group",)
_EXPECTED = "columns score and included, and group if canaries have one"
_MOST = 10**7  # canaries
_LONGEST = 1000  # letters of a group's name
_FLAGS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "0.0": 0.0, "1.0": 1.0}


def read_table(path: Path) -> CanaryTable:
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
        ".csv": _read_score_csv,
        ".parquet": _read_score_parquet,
        ".npz": _read_score_npz,
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


def _require_score_columns(path: Path, names: Any) -> None:
    for name in _NEEDED:
        if name not in names:
            raise DataError(f"{path}: has no column {name!r}, expected {_EXPECTED}")


def _read_score_csv(path: Path) -> Mapping[str, Any]:
    """Return the columns of a table with a header; other columns are not looked at."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        try:
            rows = csv.reader(lines)
            names = [name.strip() for name in next(rows, [])]
            if not names:
                raise DataError(f"{path}: is empty, expected {_EXPECTED}")
            _require_score_columns(path, names)
            kept = {name: names.index(name) for name in (*_NEEDED, *_OPTIONAL) if name in names}
            found: dict[str, list[Any]] = {name: [] for name in kept}
            for row in filter(None, rows):
                # While reading: a file of any length must not fill the memory before it is
                # refused.
                if len(found["score"]) == _MOST:
                    _require_few(path, _MOST + 1)
                if any(cell.strip() for cell in row[len(names) :]):
                    raise _make_long_row_error(path, rows.line_num, len(row), len(names))
                for name, place in kept.items():
                    text = row[place].strip() if place < len(row) else ""
                    found[name].append(_parse_score_cell(path, rows.line_num, name, text))
        except (csv.Error, UnicodeDecodeError):
            raise DataError(f"{path}: is no table of text, expected {_EXPECTED}") from None
    if not found["score"]:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return found


def _make_long_row_error(path: Path, line: int, cells: int, names: int) -> DataError:
    said = f"line {line}: has {cells} cells, and the header {names}"
    return DataError(f"{path}: {said}, expected as many, and {EXPECTED}")


def _parse_score_cell(path: Path, line: int, name: str, text: str) -> Any:
    where = f"{path}: line {line}: {name}"
    if not text:
        raise DataError(f"{where}: is missing")
    if name == "group":
        return text
    if name == "included":
        if text.lower() not in _FLAGS:
            raise DataError(f"{where}: got {shorten_repr(Record(text))}, expected 0 or 1")
        return _FLAGS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        raise DataError(f"{where}: got {shorten_repr(Record(text))}, expected a number") from None
    if not np.isfinite(number):
        raise DataError(
            f"{where}: got {shorten_repr(VerbatimText(text))}, expected a finite number"
        )
    return number


def _read_score_parquet(path: Path) -> Mapping[str, Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise DataError(f"{path}: pip install 'dpaudit[parquet]', and it is read") from None
    try:
        schema = parquet.read_schema(path)
        _require_score_columns(path, schema.names)
        kept = [name for name in (*_NEEDED, *_OPTIONAL) if name in schema.names]
        _require_single(path, schema, kept)
        # A dictionary keeps each different name once, however many rows repeat it.
        file = parquet.ParquetFile(path, read_dictionary=[one for one in kept if one == "group"])
        _require_few(path, file.metadata.num_rows)
        _require_small(path, file.metadata, kept)
        table = file.read(columns=kept)
        # The metadata are the file's own claim; what was read is counted again.
        _require_few(path, table.num_rows)
        missing = [name for name in kept if table[name].null_count]
        if missing:
            raise DataError(f"{path}: column {missing[0]!r} has empty entries")
        columns = {name: _numbers_or_texts(path, name, table[name]) for name in kept}
    except ArrowException:
        raise DataError(f"{path}: is no Parquet file, expected {_EXPECTED}") from None
    if not table.num_rows:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return {name: _to_text_column(column) for name, column in columns.items()}


def _require_single(path: Path, schema: Any, names: Sequence[str]) -> None:
    """Refuse columns whose entries are lists or tables, or bytes."""
    from pyarrow import types

    for name in names:
        kind = schema.field(name).type
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            raise DataError(f"{path}: column {name!r} holds {kind}, expected a number or a name")


def _require_few(path: Path, rows: int) -> None:
    if rows > _MOST:
        raise DataError(f"{path}: has {rows:,} rows, at most {_MOST:,} canaries are read")


def _require_small(path: Path, metadata: Any, names: Sequence[str]) -> None:
    """Refuse columns that take more memory than canaries need, whatever they take packed."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [one.column(place) for one in groups for place in range(one.num_columns)]
    size = sum(one.total_uncompressed_size for one in parts if one.path_in_schema in names)
    if size > MOST:
        given = f"columns of {size / 2**20:,.0f} MiB"
        raise DataError(f"{path}: has {given}, at most {MOST / 2**20:,.0f} MiB are read")


def _numbers_or_texts(path: Path, name: str, column: Any) -> Any:
    """Return a column, whose texts are short: one text may stand for that of many rows."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        texts = [one for chunk in column.chunks for one in chunk.dictionary.to_pylist()]
        if any(len(str(one)) > _LONGEST for one in texts):
            raise DataError(f"{path}: column {name!r} has texts of more than {_LONGEST} letters")
        column = column.cast(column.type.value_type)
    return column.to_numpy()


def _to_text_column(column: Any) -> Any:
    """Return a column of texts as texts, which come as Python objects."""
    return column.astype(str) if column.dtype == object else column


def _read_score_npz(path: Path) -> Mapping[str, Any]:
    try:
        found = read_arrays(path, (*_NEEDED, *_OPTIONAL))
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        raise DataError(f"{path}: is no .npz file of numbers, expected {_EXPECTED}") from None
    # zipfile and numpy raise these for damaged or encrypted members.
    except (AttributeError, TypeError, RuntimeError):  # as of a password
        raise DataError(f"{path}: is no .npz file of numbers, expected {_EXPECTED}") from None
    _require_score_columns(path, found)
    _require_few(path, max(one.shape[0] if one.ndim else 1 for one in found.values()))
    if not found["score"].size:
        raise DataError(f"{path}: has no rows, expected a canary a row")
    return found
