"""Datasets as programs read them: the file that the user gave, else one of the same format."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.redaction import Record

_EXPECTED = "numbers, text, and lists, arrays, tables and dictionaries of these"


def to_json_records(records: Any) -> Any:
    """Return records as JSON has them: lists, dictionaries, numbers and text.

    A table is a list of dictionaries, by the names of its columns; what is missing in it is None. A
    graph is a dictionary of its nodes and edges, as a dataclass is one of its fields.

    Raises
    ------
    InvalidArgument
        They hold what JSON has not.

    Examples
    --------
    >>> to_json_records(np.array([1.0, 2.5])), to_json_records(("a", {"b": np.int64(3)}))
    ([1, 2.5], ['a', {'b': 3}])
    """
    # Recognised by what it has: pandas need not be installed where programs are audited.
    if hasattr(records, "columns") and hasattr(records, "to_dict"):
        named = records.rename(columns=str)
        return [{k: _to_json_entry(v) for k, v in row.items()} for row in named.to_dict("records")]
    if hasattr(records, "edges") and hasattr(records, "nodes"):
        return {
            "nodes": to_json_records(list(records.nodes)),
            "edges": to_json_records(list(records.edges)),
        }
    if is_dataclass(records) and not isinstance(records, type):
        return {one.name: to_json_records(getattr(records, one.name)) for one in fields(records)}
    if isinstance(records, np.ndarray | np.generic):
        return to_json_records(records.tolist())
    if isinstance(records, Mapping):
        return {str(key): to_json_records(one) for key, one in records.items()}
    if isinstance(records, list | tuple):
        return [to_json_records(one) for one in records]
    # Many languages read 3.0 as another type than 3; whole numbers are written without a point.
    if isinstance(records, float) and records.is_integer() and abs(records) < 2**53:
        return int(records)
    if records is None or isinstance(records, bool | int | str):
        return records
    if isinstance(records, float) and math.isfinite(records):
        return records
    raise InvalidArgument("dataset", VerbatimText(type(records).__name__), _EXPECTED)


def _to_json_entry(value: Any) -> Any:
    """Return an entry of a table; one that is missing, or no number, is None."""
    # NaN, and NaT of pandas, are not equal to themselves.
    if value is None or value != value:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return to_json_records(value)


def digest_of_records(records: Any) -> str:
    """Return a digest by which the file of records is found again."""
    try:
        text = json.dumps([type(records).__name__, to_json_records(records)], sort_keys=True)
    except InvalidArgument:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class File:
    """The content of a data file, and the suffix of its name."""

    content: bytes
    suffix: str

    @classmethod
    def read(cls, path: Path) -> File:
        """Return a file that is there."""
        return cls(path.read_bytes(), path.suffix)


@dataclass(frozen=True)
class Format:
    """The way in which records are written: the suffix of a file, and the separator of columns."""

    suffix: str
    separator: str = ","

    @classmethod
    def of(cls, file: File | None, records: Any) -> Format:
        """Return the format of a file, or without one that of some records."""
        if file is None:
            return cls(_choose_file_suffix(records))
        first = file.content.split(b"\n", 1)[0].decode("utf-8", "replace")
        found = max(",;\t", key=first.count)
        return cls(file.suffix, found if file.suffix == ".csv" else ",")

    def written(self, records: Any) -> File:
        """Return the file of records.

        Raises
        ------
        InvalidArgument
            The format has no such records.
        """
        match self.suffix:
            case ".json":
                return File(json.dumps(to_json_records(records)).encode(), self.suffix)
            case ".npy":
                buffer = io.BytesIO()
                np.save(buffer, np.asarray(records), allow_pickle=False)
                return File(buffer.getvalue(), self.suffix)
            case ".txt" if isinstance(records, str):
                return File(records.encode(), self.suffix)
            case ".csv" | ".tsv" | ".txt" | "":
                return File(
                    _render_records_table(to_json_records(records), self.separator).encode(),
                    self.suffix,
                )
        expected = (
            "records in .csv, .json or .npy, because a neighbour can be written only in these"
        )
        raise InvalidArgument("dataset", f"a file {self.suffix}", expected)


def _choose_file_suffix(records: Any) -> str:
    if isinstance(records, str):
        return ".txt"
    is_table = hasattr(records, "columns") or isinstance(records, np.ndarray)
    if is_table and getattr(records, "ndim", 2) <= 2:
        return ".csv"
    flat = isinstance(records, list) and all(isinstance(one, int | float) for one in records)
    return ".csv" if flat else ".json"


def _render_records_table(rows: Any, separator: str) -> str:
    """Return rows as a table of text: one record a line, below the names of columns if any."""
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise InvalidArgument("dataset", Record(rows), "rows of a table")
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    names = list(rows[0]) if rows and isinstance(rows[0], dict) else None
    if names is not None:
        writer.writerow(names)
    for row in rows:
        entries = [row.get(n) for n in names] if names and isinstance(row, dict) else row
        writer.writerow(entries if isinstance(entries, list) else [entries])
    return buffer.getvalue()
