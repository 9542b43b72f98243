"""Cells of a text file that somebody else wrote: the separator, and whether a header is first.

Commas, semicolons, tabs, bars and blanks part cells; a comma may be a decimal comma. What is
guessed is said; what may be either of two is an error, as a guess would change numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpaudit.auditing.files.number_marks import (
    EXPECTED,
    are_grouped,
    find_number_form,
    find_unclear_number,
)
from dpaudit.errors import DataError, VerbatimText, shorten_repr
from dpaudit.redaction import Record

Numbers = NDArray[np.float64]
Texts = NDArray[np.str_]

_BETWEEN = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_NEITHER = frozenset({"nan", "inf", "+inf", "-inf", "infinity", "-infinity"})
_MISSING = frozenset({"", "na", "n/a", "null", "none", "-"})
_DIGITS = 6  # after a comma: more than a second column of counts has
_DIGITS_AND_MARKS = re.compile(r"[+-]?[\d.,'\u2019\s]*\d[\d.,'\u2019\s]*")
_FRACTION = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+),\d+")  # points part thousands
_MOST = 10**7  # rows


@dataclass(frozen=True, eq=False)
class CsvColumn:
    """A column of a file: its name, None where there is no header, and its cells."""

    name: str | None
    values: Numbers | Texts

    @property
    def is_text(self) -> bool:
        """Whether it holds texts, and no numbers."""
        return self.values.dtype.kind == "U"

    @property
    def shown(self) -> str:
        """Its name in a message."""
        return "the column without a name" if not self.name else f"column {shorten_repr(self.name)}"


@dataclass(frozen=True)
class _Row:
    """A line that has cells, and its number."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class _Rows:
    """All lines with cells, their separator, and the guesses about them."""

    path: Path
    rows: list[_Row]
    between: str
    said: tuple[str, ...] = ()


def columns_of_text(path: Path, text: str) -> tuple[tuple[CsvColumn, ...], tuple[str, ...]]:
    r"""Return the columns of a text, and the guesses about it, in words.

    Raises
    ------
    DataError
        A line is not what the others are; it is named, with what was expected.

    Examples
    --------
    >>> columns, said = columns_of_text(Path("a.csv"), "x;y\n1,5;2\n2,5;3\n")
    >>> [(one.name, one.values.tolist()) for one in columns], said
    ([('x', [1.5, 2.5]), ('y', [2.0, 3.0])], ('a header', 'semicolons', 'decimal commas'))
    """
    found = _split_delimited_text(path, text)
    names, body = _split_header(found)
    width = len(body[0].cells)
    if names and len(names) == width - 1:  # as R writes it, beside an index
        names = ["", *names]
    for one in body:
        if len(one.cells) != width:
            raise _make_ragged_row_error(path, one, body[0])
    if names and len(names) != width:
        raise DataError(
            f"{path}: the header has {len(names)} cells and line {body[0].line} has {width}, "
            "expected the same"
        )
    kept = [n for n in range(width) if not _is_empty(body, n, names)]
    read = [_parse_delimited_column(path, body, n, names[n] if names else None) for n in kept]
    if not read:
        raise DataError(f"{path}: line {body[0].line}: is empty, expected an output a line")
    commas = ("decimal commas",) if any(one.decimal_commas for one in read) else ()
    header = ("a header",) if names else ("no header",)
    return tuple(one.column for one in read), (*header, *found.said, *commas)


def _make_ragged_row_error(path: Path, one: _Row, first: _Row) -> DataError:
    cells = f"{len(one.cells)} cell{'' if len(one.cells) == 1 else 's'}"
    return DataError(
        f"{path}: line {one.line}: has {cells}, expected {len(first.cells)} as in line {first.line}"
    )


# What parts cells


def _split_delimited_text(path: Path, text: str) -> _Rows:
    lines = [one for one in text.splitlines() if one.strip() and not one.startswith("#")]
    if not lines:
        raise DataError(f"{path}: is empty, expected an output a line")
    if len(lines) > _MOST:
        raise DataError(f"{path}: has {len(lines):,} lines, at most {_MOST:,} are read")
    between = _find_cell_delimiter(lines)
    if between in (",", " "):
        _refuse_grouped_lines(path, lines, between)
    if between == "," and _are_fractions(path, lines):
        rows = [
            _Row(row.line, [",".join(row.cells)]) for row in _read_delimited_rows(path, text, ",")
        ]
        return _Rows(path, rows, "", ())
    if between == " ":
        return _Rows(path, _split_at_blanks(text), between, ("blanks between cells",))
    rows = _read_delimited_rows(path, text, between or ",")
    return _Rows(path, rows, between, (_BETWEEN[between],) if between else ())


def _refuse_grouped_lines(path: Path, lines: Sequence[str], between: str) -> None:
    """Refuse lines that may be one number with marks between thousands, or several numbers.

    Raises
    ------
    DataError
        They may be either, and no header says which.
    """
    below = [one.strip() for one in (lines if are_grouped([lines[0].strip()]) else lines[1:])]
    named = len(below) < len(lines) and between in lines[0].strip()
    # Whole numbers of two groups may also have decimal commas, which others say.
    clear = between == "," and all(one.count(",") == 1 and "." not in one for one in below)
    if not named and not clear and are_grouped(below):
        raise DataError(
            f"{path}: line {len(lines) - len(below) + 1}: may be one number with marks between "
            f"thousands, or several numbers; expected {EXPECTED}, or semicolons between columns"
        )


def _find_cell_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter of cells: it stands in every line, below a first that may be short."""
    # The first line may be a header, with fewer marks than the lines below.
    sample = lines[1:1000] or lines
    # Semicolons come before commas: where a file has both, commas are decimal ones.
    for one in _BETWEEN:
        counts = {len(next(csv.reader([line], delimiter=one), [])) for line in sample}
        if min(counts) > 1:
            return one
    for one in (";", "\t", ","):  # most lines have it: those without are errors, and named
        if sum(one in line for line in sample) > len(sample) / 2:
            return one
    words = [line.split() for line in sample]
    if min(map(len, words)) > 1 and all(_is_number(word) for line in words for word in line):
        return " "
    return ""


def _read_delimited_rows(path: Path, text: str, between: str) -> list[_Row]:
    reader = csv.reader(text.splitlines(), delimiter=between, skipinitialspace=True)
    try:
        return [
            _Row(reader.line_num, [cell.strip() for cell in cells])
            for cells in reader
            if any(cell.strip() for cell in cells) and not cells[0].startswith("#")
        ]
    except csv.Error as error:
        said = f"line {reader.line_num}: cannot be read ({error})"
        raise DataError(f"{path}: {said}, expected cells parted by {_BETWEEN[between]}") from None


def _split_at_blanks(text: str) -> list[_Row]:
    lines = enumerate(text.splitlines(), 1)
    return [_Row(n, one.split()) for n, one in lines if one.strip() and not one.startswith("#")]


def _are_fractions(path: Path, lines: Sequence[str]) -> bool:
    """Return whether a line is one number with a decimal comma, and not two numbers.

    Raises
    ------
    DataError
        It may be either.
    """
    below = lines[1:] if not _FRACTION.fullmatch(lines[0].strip()) else lines
    sample = [one.strip().strip('"') for one in below[:1000]]
    if not sample or not all(_FRACTION.fullmatch(one) for one in sample):
        return False
    if below is not lines and lines[0].count(",") == 1:
        return False  # a header of two names
    if below is not lines or any(one.count(".") > 1 for one in sample):
        return True
    whole, digits = zip(*(one.replace(".", "").split(",") for one in sample), strict=True)
    steps = np.diff([int(one) for one in whole])
    if len(steps) > 1 and steps[0] and (steps == steps[0]).all():
        return False  # the first of two columns counts lines
    zeros = any(one.startswith("0") and len(one) > 1 for one in digits) or "-0" in whole
    if zeros or float(np.median([len(one) for one in digits])) >= _DIGITS:
        return True
    expected = "semicolons between columns, or a header that names two"
    raise DataError(
        f"{path}: line 1: may be one number with a decimal comma, or two numbers; expected "
        f"{expected}"
    )


# The header


def _split_header(found: _Rows) -> tuple[list[str], list[_Row]]:
    """Return the names of columns, none where the first line is an output, and the lines below."""
    first, rest = found.rows[0], found.rows[1:]
    if not rest:
        return [], found.rows
    # R writes row names without a name of their own.
    if len(rest[0].cells) - len(first.cells) == 1:
        return first.cells, rest
    kinds = [
        (_is_like_number(cell), [row.cells[n] for row in rest[:1000] if n < len(row.cells)])
        for n, cell in enumerate(first.cells)
    ]
    for (number, below), cell in zip(kinds, first.cells, strict=True):
        if not number and cell.lower() not in _NEITHER and any(map(_is_number, below)):
            return first.cells, rest
        # pandas leaves the name of an index empty.
        if not cell and below and all(below):
            return first.cells, rest
    of_texts = all(not number for number, _ in kinds)
    if of_texts and all(map(_is_a_name, first.cells, (below for _, below in kinds))):
        return first.cells, rest
    return [], found.rows


def _is_a_name(cell: str, below: Sequence[str]) -> bool:
    """Return whether a text names those below: few kinds that come again, and it does not."""
    return cell not in below and len(set(below)) <= max(2, len(below) // 4)


def _is_number(cell: str) -> bool:
    return find_number_form(cell.strip()) is not None


def _is_like_number(cell: str) -> bool:
    """Return whether a cell is a number, or digits with marks that make none: no name is so."""
    return _is_number(cell) or bool(_DIGITS_AND_MARKS.fullmatch(cell))


def _with_points(cell: str) -> str:
    """Return a number as Python writes it, whichever mark parts its fraction or its thousands."""
    if "," not in cell:
        return cell
    # The last mark parts the fraction; those before it part thousands.
    last = max(cell.rfind(","), cell.rfind("."))
    whole = cell[:last].replace(",", "").replace(".", "")
    return f"{whole}.{cell[last + 1 :]}"


# Values


@dataclass(frozen=True, eq=False)
class _Read:
    column: CsvColumn
    decimal_commas: bool


def _is_empty(body: Sequence[_Row], place: int, names: Sequence[str]) -> bool:
    """Return whether nothing stands in a column, as where every line ends with a separator."""
    named = bool(names) and bool(names[place])
    return not named and not any(row.cells[place] for row in body)


def _parse_delimited_column(
    path: Path, body: Sequence[_Row], place: int, name: str | None
) -> _Read:
    cells = [row.cells[place] for row in body]
    numbers = sum(map(_is_number, cells[:1000]))
    if 2 * numbers <= min(1000, len(cells)) and not _are_unfinished(cells[:1000]):
        return _Read(CsvColumn(name, _parse_text_cells(path, body, cells)), False)
    unclear = find_unclear_number(cells)
    if unclear is not None:
        raise _make_unclear_number_error(path, body[unclear], cells[unclear])
    commas = any("," in cell for cell in cells)
    # Python reads 1_000 as a number, and hardly anybody means it in a file.
    if any("_" in cell for cell in cells) or (commas and not all(map(_is_number, cells))):
        raise _no_number(path, body, cells)
    plain = [_with_points(cell) for cell in cells] if commas else cells
    try:
        values = np.array(plain, dtype=np.float64)
    except ValueError:
        raise _no_number(path, body, cells) from None
    if not np.isfinite(values).all():
        raise _no_number(path, body, cells)
    return _Read(CsvColumn(name, values), commas and not any(_THOUSANDS.search(c) for c in cells))


_THOUSANDS = re.compile(r",\d{3}\.")


def _make_unclear_number_error(path: Path, row: _Row, cell: str) -> DataError:
    shown = shorten_repr(Record(cell))
    said = f"line {row.line}: got {shown}, whose marks may part thousands or a fraction"
    return DataError(f"{path}: {said}, expected {EXPECTED}")


def _are_unfinished(cells: Sequence[str]) -> bool:
    """Return whether most cells are no finite numbers, which is an error and no text."""
    return 2 * sum(cell.lower() in _NEITHER for cell in cells) > len(cells)


def _no_number(path: Path, body: Sequence[_Row], cells: Sequence[str]) -> DataError:
    for row, cell in zip(body, cells, strict=True):
        unread = find_number_form(cell) in (None, "thousands")
        if unread or not np.isfinite(float(_with_points(cell))):
            shown = "nothing" if not cell else shorten_repr(Record(cell))
            if cell.lower() in _NEITHER:
                shown = shorten_repr(VerbatimText(cell))
            expected = "a finite number, as in the other lines"
            return DataError(f"{path}: line {row.line}: got {shown}, expected {expected}")
    return DataError(f"{path}: holds no numbers, expected one a line")


def _parse_text_cells(path: Path, body: Sequence[_Row], cells: Sequence[str]) -> Texts:
    for row, cell in zip(body, cells, strict=True):
        if cell.lower() in _MISSING - {"none"}:
            expected = "an output, as in the other lines"
            raise DataError(f"{path}: line {row.line}: got nothing, expected {expected}")
    return np.array(cells, dtype=np.str_)
