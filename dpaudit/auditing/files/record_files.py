"""Files of records: tables with or without names, arrays, JSON, and graphs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.auditing.files.arrays import read_array
from dpaudit.auditing.files.number_marks import EXPECTED, are_grouped, find_number_form
from dpaudit.errors import DataError, VerbatimText, shorten_repr
from dpaudit.redaction import Record, are_shown


def records_from(file: Path) -> Any:
    """Return the records of a file: .csv, .json or .npy; a graph of .edgelist or .graphml.

    Raises
    ------
    DataError
        It cannot be read, or is not what its name says.
    """
    try:
        if file.suffix == ".json":
            return json.loads(file.read_text(encoding="utf-8"))
        if file.suffix in (".edgelist", ".graphml"):
            return _read_graph(file)
        # numpy warns of an empty file, which holds a dataset of no record.
        if file.suffix == ".csv" and not any(one.strip() for one in _read_lines(file)):
            return np.empty(0)
        if file.suffix == ".csv" and _has_names(file):
            return _table_of_names(file)
        if file.suffix == ".csv":
            _refuse_grouped_lines(file)
            return np.loadtxt(file, delimiter=_find_column_separator(file), ndmin=1)
        if file.suffix == ".npy":
            return np.asarray(read_array(file), dtype=np.float64)
        return np.loadtxt(file, delimiter=",", ndmin=1)
    except OSError as error:
        reason = f"cannot be read ({error.strerror}), expected a .npy or .csv file"
        raise DataError(f"{file}: {reason}") from None
    except (ValueError, TypeError, EOFError) as error:
        raise DataError(
            f"{file}: holds no table of numbers{_format_numpy_error_place(error)}"
        ) from None


def _read_graph(file: Path) -> Any:
    """Return the graph of a file; one that the reader of its kind refuses is no graph."""
    import networkx

    read = networkx.read_graphml if file.suffix == ".graphml" else networkx.read_edgelist
    try:
        return read(file)
    except (networkx.NetworkXException, SyntaxError, TypeError, ValueError, LookupError):
        raise DataError(f"{file}: holds no graph, as networkx reads {file.suffix}") from None


def _has_names(file: Path) -> bool:
    """Return whether the first line of a table names its columns: no entry of it is a number."""
    with file.open(encoding="utf-8") as lines:
        entries = next(lines, "").strip().split(_find_column_separator(file))
    return all(re.match(r'\s*"?[A-Za-z_]', entry) for entry in entries) and entries != [""]


def _table_of_names(file: Path) -> Any:
    try:
        import pandas
    except ImportError:
        reason = "has names of columns: pip install pandas, and it is read as a table"
        raise DataError(f"{file}: {reason}") from None
    separator = _find_column_separator(file)
    _refuse_long_lines(file, separator)
    found = pandas.read_csv(file, sep=separator)
    if separator == ";" and any(map(_has_decimal_commas, found.columns.map(found.get))):
        found = pandas.read_csv(file, sep=separator, decimal=",")
    for name in found.columns:
        if not pandas.api.types.is_numeric_dtype(found[name]):
            _refuse_marked_numbers(file, str(name), found[name].tolist())
    return found


def _refuse_marked_numbers(file: Path, name: str, cells: list[Any]) -> None:
    """Refuse a column of texts that are numbers, some of them with marks that nothing explains."""
    forms = [find_number_form(one.strip()) if isinstance(one, str) else None for one in cells]
    # Groups of digits alone may be telephone numbers.
    telling = {"comma", "either comma", "point"} if len(set(forms)) == 1 else {*forms}
    if None in forms or not telling & {*forms}:
        return
    place = next((n for n, form in enumerate(forms) if form not in _PLAIN), 0)
    lines = [n for n, line in enumerate(_read_lines(file), 1) if line.strip()]
    shown = f"column {shorten_repr(name)}: got {shorten_repr(Record(cells[place]))}"
    raise DataError(f"{file}: line {lines[place + 1]}: {shown}, expected {EXPECTED}")


def _refuse_long_lines(file: Path, separator: str) -> None:
    """Refuse lines with more cells than the header: pandas takes the first ones for an index."""
    rows = csv.reader(_read_lines(file), delimiter=separator)
    header, first = (next(filter(None, rows), []) for _ in range(2))
    if len(first) > len(header):
        said = f"line {rows.line_num}: has {len(first)} cells, and the header {len(header)}"
        raise DataError(
            f"{file}: {said}, expected as many (a comma may part cells, a fraction or thousands: "
            "semicolons between cells say which)"
        )


def _read_lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _refuse_grouped_lines(file: Path) -> None:
    """Refuse lines that may be one number with commas between thousands, or several numbers."""
    lines = [one.strip() for one in _read_lines(file) if one.strip()]
    if all("." in one and "," in one for one in lines) and are_grouped(lines):
        raise DataError(
            f"{file}: line 1: may be one number with marks between thousands, or several numbers; "
            f"expected {EXPECTED}, or semicolons between columns"
        )


_PLAIN = {"whole", "point", "either point"}
_SEPARATORS = (",", ";", "\t")


def _find_column_separator(file: Path) -> str:
    """Return the separator of a table's columns, by its first line.

    Raises
    ------
    DataError
        It may be either of two.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        first = next(lines, "")
    fields = {one: len(next(csv.reader([first], delimiter=one), [])) for one in _SEPARATORS}
    several = [one for one, count in fields.items() if count > 1]
    # A guess would change numbers without a word.
    if len(several) > 1:
        names = " or ".join(map(repr, several))
        raise DataError(f"{file}: columns are separated by {names}, expected one of them alone")
    return several[0] if several else ","


def _has_decimal_commas(column: Any) -> bool:
    """Return whether a column is numbers with a comma in the place of the point."""
    texts = [str(one) for one in column]
    return bool(texts) and all(re.fullmatch(r"-?\d+,\d+", one) for one in texts)


def _format_numpy_error_place(error: Exception) -> str:
    """Return the place that numpy names; the rest of its message may repeat the text there."""
    if are_shown():
        return f": {shorten_repr(VerbatimText(error))}"
    place = _PLACE.search(str(error))
    return "" if place is None else f" ({place[0]}, as numpy counts; --show-records shows it)"


_PLACE = re.compile(r"at row \d+(, column \d+)?")
