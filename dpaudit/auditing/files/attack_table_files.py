"""An attack's counts in a CSV file, as a reviewer types them from a paper.

Either a row each with the columns ``hits, runs, other_hits, other_runs``, or a table of two rows
and two columns of counts: the runs of which the attack says "in", and below them the others, with
the target and without it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpaudit.errors import DataError, InvalidArgument, shorten_repr
from dpaudit.estimation.attack_table import AttackRow

COLUMNS = ("hits", "runs", "other_hits", "other_runs")
_EXPECTED = (
    f"columns {', '.join(COLUMNS)}, or two rows (said in, said out) of two counts (with the "
    "target, without it)"
)
_OF_ATTACKS = frozenset({"hits", "tp", "fp", "tpr", "fpr", "runs"})  # then a row is an attack
_MOST = 1000
# Names of the options of the command, for columns.
_AS_OPTIONS = {"false_hits": "other_hits", "false_runs": "other_runs", "false_of": "other_runs"}
# Labels of the second row, and of the second column.
_OUT = re.compile(r"\b(out|not|no|non|negatives?|misses|missed|0|false)\b")
_WITHOUT = re.compile(r"\b(without|not|no|non|non ?members?|others?|out|absent|excluded|0|false)\b")
# Words for the two kinds of runs, and for the two answers: a table may stand on its side.
_SIDES = re.compile(r"\b(with|without|members?|non ?members?|target|included|excluded)\b")
_ANSWERS = re.compile(r"\b(in|out|guess\w*|said|says|positives?|negatives?)\b")


def read_attack_table(path: Path) -> tuple[AttackRow, ...]:
    """Return the rows of a file; commas, semicolons and tabs part cells.

    Raises
    ------
    DataError
        It cannot be read, or is no such table; the line is named.

    Examples
    --------
    >>> read_attack_table(Path("missing.csv"))
    Traceback (most recent call last):
    dpaudit.errors.DataError: missing.csv: cannot be read (No such file or directory), expected \
columns hits, runs, other_hits, other_runs, or two rows (said in, said out) of two counts (with \
the target, without it)
    """
    lines = _read_attack_cells(path)
    if not lines:
        raise DataError(f"{path}: is empty, expected {_EXPECTED}")
    given = [re.sub(r"[\s_-]+", "_", name.lower()) for name in lines[0][1]]
    names = [_AS_OPTIONS.get(name, name) for name in given]
    rows = lines[1:]
    if all(name in names for name in COLUMNS):
        found = [
            # Short rows miss cells, which are refused by name.
            _parse_named_attack_row(path, line, dict(zip(names, cells, strict=False)))
            for line, cells in rows
        ]
        if found:
            return tuple(found)
    elif len(rows) == 2 and len(names) in (2, 3) and not _OF_ATTACKS & {*names}:
        return (_two_by_two(path, names, rows),)
    found_names = shorten_repr(", ".join(lines[0][1]))
    raise DataError(
        f"{path}: is no table of an attack: its first line is {found_names}, expected {_EXPECTED}"
    )


def _read_attack_cells(path: Path) -> list[tuple[int, list[str]]]:
    try:
        # Spreadsheets write a mark in front of UTF-8, which would be part of the first name.
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        why = f"cannot be read ({error.strerror or 'damaged'})"
        raise DataError(f"{path}: {why}, expected {_EXPECTED}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is no text, expected {_EXPECTED}") from None
    first = text.partition("\n")[0]
    between = max(",;\t", key=first.count)
    rows = csv.reader(text.splitlines(), delimiter=between)
    found = [(rows.line_num, [cell.strip() for cell in cells]) for cells in rows if any(cells)]
    _refuse_long_rows(path, found)
    if len(found) > _MOST + 1:
        raise DataError(f"{path}: has {len(found) - 1} rows, expected at most {_MOST}")
    return found


def _refuse_long_rows(path: Path, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Refuse rows with cells below no name: a comma between thousands makes two of one count."""
    for line, cells in rows[1:]:
        if any(cells[len(rows[0][1]) :]):
            said = f"has {len(cells)} cells, and the first line {len(rows[0][1])}"
            raise DataError(
                f"{path}: line {line}: {said}, expected as many, and counts without marks between "
                "thousands"
            )


def _parse_named_attack_row(path: Path, line: int, cells: Mapping[str, str]) -> AttackRow:
    return _make_file_attack_row(
        path, line, [_parse_attack_count(path, line, name, cells.get(name, "")) for name in COLUMNS]
    )


def _two_by_two(
    path: Path, names: Sequence[str], rows: Sequence[tuple[int, list[str]]]
) -> AttackRow:
    line = rows[0][0]
    said, sides = [cells[0] if len(cells) > 2 else "" for _, cells in rows], list(names[-2:])
    counts = [
        [_parse_attack_count(path, at, "counts", cell) for cell in cells[-2:]] for at, cells in rows
    ]
    if _are_all(said, _SIDES) and _are_all(sides, _ANSWERS):
        said, sides, counts = sides, said, [list(pair) for pair in zip(*counts, strict=True)]
    if _are_turned(said, _OUT):
        counts = counts[::-1]
    if _are_turned(sides, _WITHOUT):
        counts = [pair[::-1] for pair in counts]
    (hits, other), (misses, rest) = counts
    return _make_file_attack_row(path, line, [hits, hits + misses, other, other + rest])


def _are_all(labels: Sequence[str], words: re.Pattern[str]) -> bool:
    """Return whether each label has one of some words."""
    return all(words.search(label.lower().replace("_", " ")) for label in labels)


def _are_turned(labels: Sequence[str], second: re.Pattern[str]) -> bool:
    """Return whether the first of two labels is the one that is expected second."""
    first, last = (_are_all([label], second) for label in labels)
    return first and not last


def _parse_attack_count(path: Path, line: int, name: str, text: str) -> int:
    # int() also takes signs, underscores and digits of other scripts.
    if not text.isascii() or not text.isdigit():
        raise DataError(f"{path}: line {line}: {name}: got {shorten_repr(text)}, expected a count")
    return int(text)


def _make_file_attack_row(path: Path, line: int, counts: Sequence[int]) -> AttackRow:
    try:
        return AttackRow(*counts)
    except InvalidArgument as error:
        raise DataError(f"{path}: line {line}: {error}") from None
