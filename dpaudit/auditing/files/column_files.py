"""Columns of a file of whichever kind: text, JSON, arrays of numpy or Parquet, packed or not.

What a file is, its first bytes say, and then its name. Nothing of it is run: arrays hold numbers
or texts and no objects.
"""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.auditing.files.arrays import MOST, read_array, read_arrays
from dpaudit.auditing.files.text_cells import CsvColumn, columns_of_text
from dpaudit.errors import DataError, shorten_repr
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.redaction import Record

KINDS = ".csv, .tsv, .txt, .json, .jsonl, .npy, .npz or .parquet, or one of them packed as .gz"
_EXPECTED = f"a file of outputs, one a line: {KINDS}"


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """The columns of a file, and the guesses about it.

    Parameters
    ----------
    path
        Of the file.
    columns
        All as long.
    guesses
        In words: a header or none, what parts cells, decimal commas, an encoding.
    parts
        Of a file that holds several arrays by name: each of them, in place of ``columns``.
    """

    path: Path
    columns: tuple[CsvColumn, ...]
    guesses: tuple[str, ...] = ()
    parts: tuple[tuple[str, ColumnFile], ...] = ()

    @property
    def rows(self) -> int:
        """The number of outputs."""
        return len(self.columns[0].values)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of its columns."""
        return tuple(one.name for one in self.columns)


def read_columns(path: Path) -> ColumnFile:
    """Return the columns of a file.

    Raises
    ------
    DataError
        It cannot be read, or a line is not what the others are: file, line, and what was expected.

    Examples
    --------
    >>> read_columns(Path("missing.csv"))
    Traceback (most recent call last):
    dpaudit.errors.DataError: missing.csv: cannot be read (No such file or directory), expected \
a file of outputs, one a line: .csv, .tsv, .txt, .json, .jsonl, .npy, .npz or .parquet, or one of \
them packed as .gz
    """
    try:
        held, packed = _unpack_gzip(path, path.read_bytes())
    except OSError as error:
        why = f"cannot be read ({error.strerror or 'damaged'})"
        raise DataError(f"{path}: {why}, expected {_EXPECTED}") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path}: is packed and damaged, expected {_EXPECTED}") from None
    found = _of_bytes(path, held)
    guesses = (*found.guesses, "packed by gzip") if packed else found.guesses
    return ColumnFile(path, found.columns, guesses, found.parts)


def _unpack_gzip(path: Path, held: bytes) -> tuple[bytes, bool]:
    packed = held[:2] == b"\x1f\x8b"
    if packed:
        with gzip.open(BytesIO(held)) as file:
            held = file.read(MOST + 1)
    if len(held) > MOST:
        raise DataError(f"{path}: takes more than the {MOST / 2**20:,.0f} MiB that are read")
    return held, packed


def _of_bytes(path: Path, held: bytes) -> ColumnFile:
    if held.startswith(b"\x93NUMPY"):
        return ColumnFile(path, _of_array(path, _read_column_npy(path, held)))
    if held.startswith(b"PK\x03\x04"):
        return _read_column_npz(path, held)
    if held.startswith(b"PAR1"):
        return ColumnFile(path, _read_column_parquet(path, held))
    text, guesses = _decode_text(path, held)
    name = path.name.removesuffix(".gz").lower()
    opens = text.lstrip()[:1]
    if name.endswith((".jsonl", ".ndjson")) or (opens in "[{" and opens):
        return ColumnFile(path, _read_json_columns(path, text, name), guesses)
    if name.endswith(".json"):
        return ColumnFile(path, _read_json_columns(path, text, name), guesses)
    columns, said = columns_of_text(path, text)
    return ColumnFile(path, columns, (*said, *guesses))


def _decode_text(path: Path, held: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file, and its encoding where it is not UTF-8."""
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
    for mark, encoding in marks.items():
        if held.startswith(mark):
            said = "UTF-16" if encoding == "utf-16" else "a byte-order mark"
            return _as_text(path, held, encoding), (said,)
    # UTF-16 without a mark: every other byte of plain letters is 0.
    if len(held) > 1 and not held[1] and held[0]:
        return _as_text(path, held, "utf-16-le"), ("UTF-16",)
    if len(held) > 1 and not held[0] and held[1]:
        return _as_text(path, held, "utf-16-be"), ("UTF-16",)
    if b"\x00" in held:
        raise DataError(f"{path}: is no text and no array, expected {_EXPECTED}")
    try:
        return held.decode("utf-8"), ()
    except UnicodeDecodeError:
        # What older spreadsheets write; its digits and marks are those of ASCII, so no number
        # changes.
        return _as_text(path, held, "cp1252"), ("Windows-1252",)


def _as_text(path: Path, held: bytes, encoding: str) -> str:
    try:
        return held.decode(encoding)
    except UnicodeDecodeError as error:
        line = held[: error.start].count(b"\n") + 1
        raise DataError(f"{path}: line {line}: is no text, expected {_EXPECTED}") from None


# Arrays


def _read_column_npy(path: Path, held: bytes) -> Any:
    try:
        if path.name.endswith(".gz"):
            return np.load(BytesIO(held), allow_pickle=False)
        return read_array(path)
    except (ValueError, EOFError, TypeError, AttributeError):
        raise DataError(f"{path}: is no array of numbers or texts, expected one") from None


def _of_array(path: Path, array: Any) -> tuple[CsvColumn, ...]:
    """Return the columns of an array, one output a row: of several axes each entry is one."""
    if array.dtype.names is not None:
        return tuple(_make_checked_column(path, name, array[name]) for name in array.dtype.names)
    if not array.ndim or not array.size:
        raise DataError(f"{path}: has shape {array.shape}, expected an output a row")
    flat = array.reshape(len(array), -1)
    return tuple(_make_checked_column(path, None, flat[:, n]) for n in range(flat.shape[1]))


def _make_checked_column(path: Path, name: str | None, values: Any) -> CsvColumn:
    if values.ndim != 1:
        raise DataError(f"{path}: {shorten_repr(name)} has shape {values.shape}, expected an axis")
    if values.dtype.kind == "U":
        return CsvColumn(name, values)
    try:
        doubles = as_doubles(values)
    except (Inexact, TypeError, ValueError):
        kind = values.dtype
        raise DataError(f"{path}: holds {kind}, expected numbers or texts") from None
    wrong = np.flatnonzero(~np.isfinite(doubles))
    if wrong.size:
        raise DataError(f"{path}: output {wrong[0] + 1}: got NaN or infinity, expected a number")
    return CsvColumn(name, doubles)


def _read_column_npz(path: Path, held: bytes) -> ColumnFile:
    try:
        with zipfile.ZipFile(BytesIO(held)) as archive:
            inside = [one.removesuffix(".npy") for one in archive.namelist() if _is_array(one)]
        if not inside:
            said = "is packed and holds no array (a workbook is saved as .csv first)"
            raise DataError(f"{path}: {said}, expected {_EXPECTED}")
        arrays = read_arrays(path, inside)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, TypeError):
        raise DataError(f"{path}: is no .npz file of numbers or texts, expected one") from None
    if len(arrays) == 1:
        return ColumnFile(path, _of_array(path, next(iter(arrays.values()))))
    lengths = {len(one) if one.ndim else 0 for one in arrays.values()}
    parts = tuple(
        (name, ColumnFile(path, _of_array(path, one)))
        for name, one in arrays.items()
        if one.ndim and one.size
    )
    # Arrays of one length may be columns of one dataset or the outputs of several; both
    # readings are kept until the caller says which.
    if len(lengths) == 1 and all(one.ndim == 1 for one in arrays.values()):
        columns = tuple(_make_checked_column(path, name, one) for name, one in arrays.items())
        return ColumnFile(path, columns, parts=parts)
    if len(parts) != 2:
        raise DataError(f"{path}: holds {len(parts)} arrays, expected one, or one a dataset")
    return ColumnFile(path, parts[0][1].columns, parts=parts)


def _is_array(name: str) -> bool:
    return name.endswith(".npy")


def _read_column_parquet(path: Path, held: bytes) -> tuple[CsvColumn, ...]:
    try:
        from pyarrow import ArrowException, BufferReader, parquet
    except ImportError:
        raise DataError(f"{path}: pip install 'dpaudit[parquet]', and it is read") from None
    try:
        table = parquet.read_table(BufferReader(held))
    except ArrowException:
        raise DataError(f"{path}: is no Parquet file, expected {_EXPECTED}") from None
    found = {}
    for name in table.column_names:
        if table[name].null_count:
            raise DataError(f"{path}: column {shorten_repr(name)} has empty entries, expected none")
        values = table[name].to_numpy()
        found[name] = values.astype(str) if values.dtype == object else values
    if not found or not table.num_rows:
        raise DataError(f"{path}: has no rows, expected an output a row")
    return tuple(_make_checked_column(path, name, one) for name, one in found.items())


# JSON


def _read_json_columns(path: Path, text: str, name: str) -> tuple[CsvColumn, ...]:
    """Return the columns of a list of outputs, of lists by name, or of an output a line."""
    if not name.endswith((".jsonl", ".ndjson")):
        try:
            given = json.loads(text)
        except json.JSONDecodeError as error:
            if not _is_of_lines(text):
                said = f"line {error.lineno}: is no JSON ({error.msg.lower()})"
                raise DataError(f"{path}: {said}, expected a list of outputs") from None
        except RecursionError:
            raise DataError(f"{path}: is nested too deeply, expected a list") from None
        else:
            return _of_json(path, given)
    return _of_outputs(path, list(_parse_json_lines(path, text)))


def _is_of_lines(text: str) -> bool:
    """Return whether the first line is JSON by itself, and there are more."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        json.loads(first)
    except (json.JSONDecodeError, RecursionError):
        return False
    return bool(rest.strip())


def _parse_json_lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (json.JSONDecodeError, RecursionError):
                expected = "JSON, an output a line"
                raise DataError(f"{path}: line {number}: is no JSON, expected {expected}") from None


def _of_json(path: Path, given: Any) -> tuple[CsvColumn, ...]:
    # A single name around a list, such as {"outputs": [...]}, says nothing that the list does
    # not.
    if isinstance(given, dict) and len(given) == 1:
        (given,) = given.values()
    if isinstance(given, dict):
        lists = {name: one for name, one in given.items() if isinstance(one, list)}
        if not lists or len(lists) < len(given) or len({len(o) for o in lists.values()}) > 1:
            raise DataError(f"{path}: is an object, expected a list of outputs, or lists by name")
        given = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    if not isinstance(given, list) or not given:
        raise DataError(f"{path}: holds no list, expected a list of outputs")
    return _of_outputs(path, [(f"output {n}", one) for n, one in enumerate(given, 1)])


def _of_outputs(path: Path, outputs: Sequence[tuple[str, Any]]) -> tuple[CsvColumn, ...]:
    if not outputs:
        raise DataError(f"{path}: is empty, expected an output a line")
    flat = [(where, dict(_flatten_output("", one))) for where, one in outputs]
    first = flat[0][1]
    for where, one in flat:
        if one.keys() != first.keys():
            names = f"{len(one)} values, expected the same {len(first)} as in {flat[0][0]}"
            raise DataError(f"{path}: {where}: has {names}")
    return tuple(_of_leaves(path, name, flat) for name in first)


def _flatten_output(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of an output by their names: a list's are numbered."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flatten_output(f"{name}.{key}" if name else str(key), one)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _flatten_output(f"{name}[{place}]", one)
    else:
        yield name, value


def _of_leaves(path: Path, name: str, flat: Sequence[tuple[str, Mapping[str, Any]]]) -> CsvColumn:
    of_text = isinstance(flat[0][1][name], str)
    found = list[Any]()
    for where, one in flat:
        value = one[name]
        if isinstance(value, str) != of_text or value is None or not _is_finite(value):
            expected = "a text" if of_text else "a finite number"
            shown = "nothing" if value is None else shorten_repr(Record(value))
            said = f"{where}: got {shown}, expected {expected} as in {flat[0][0]}"
            raise DataError(f"{path}: {said}")
        found.append(value)
    named = name if name and not name.startswith("[") else None
    if of_text:
        return CsvColumn(named, np.array(found, dtype=np.str_))
    return CsvColumn(named, np.array(found, dtype=np.float64))


def _is_finite(value: Any) -> bool:
    return isinstance(value, str) or (value is not None and bool(np.isfinite(float(value))))
