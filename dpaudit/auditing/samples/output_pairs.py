"""Outputs of two datasets in files: the dataset of each file or row, and the columns that count.

Columns that say nothing of an output and would tell the files apart by themselves are left out and
named: running numbers, names of runs, labels of the file. Texts become a number for each kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.auditing.files.column_files import ColumnFile, read_columns
from dpaudit.auditing.files.text_cells import CsvColumn, Texts
from dpaudit.errors import DataError, InvalidArgument, VerbatimText, shorten_repr
from dpaudit.report.formatting import format_integer

_MOST_KINDS = 200  # of texts in a column
_LEAST = 40  # outputs of a dataset
_EVEN = 0.4  # of the mean gap: how much gaps of counters spread at most
_YEARS = (1.2e9, 2.3e9)  # seconds since 1970: 2008 to 2042
_UNITS = (1.0, 1e3, 1e6, 1e9)  # units of a clock in a second
# Names of columns that are no part of an output, and of one that says which dataset a row is of.
_ASIDE = frozenset(
    "id index idx row rowid row_id run run_id runid no nr number trial draw iteration iter seed "
    "uuid guid key timestamp date datetime created time elapsed line unnamed:_0 machine host "
    "hostname worker batch session job pid".split()
)
_SIDES = frozenset(
    "dataset data side world group which label condition arm database db input neighbour neighbor "
    "is_neighbour is_neighbor in_out member membership included target pair".split()
)
# What the first of the two is called, beside the second.
_CALLED = (
    ("dataset", "neighbour"),
    ("dataset", "neighbor"),
    ("d", "d'"),
    ("d", "d_prime"),
    ("d1", "d2"),
    ("d0", "d1"),
    ("x", "x'"),
    ("x", "x_prime"),
    ("p", "q"),
    ("a", "b"),
    ("with", "without"),
    ("in", "out"),
    ("1", "0"),
    ("1.0", "0.0"),
    ("true", "false"),
    ("yes", "no"),
    ("on_dataset", "on_neighbour"),
    ("with_target", "without_target"),
    ("left", "right"),
    ("first", "second"),
)


@dataclass(frozen=True, eq=False)
class OutputPair:
    """Outputs of a dataset and of its neighbour.

    Parameters
    ----------
    on_dataset, on_neighbour
        Shape ``(n, k)`` and ``(m, k)``, in the order of the files.
    names
        Of the k numbers.
    found
        What was read, a sentence a file.
    left_out
        Columns that are no part of an output, and why.
    digests
        SHA-256 of each file.
    ignore
        Names of columns that the caller left out.
    """

    on_dataset: Array
    on_neighbour: Array
    names: tuple[str, ...]
    found: tuple[str, ...]
    left_out: tuple[str, ...]
    digests: tuple[str, ...]
    ignore: tuple[str, ...] = ()

    @property
    def is_of_guesses(self) -> bool:
        """Whether an output is a single 0 or 1."""
        sides = (self.on_dataset, self.on_neighbour)
        return all(one.shape[1] == 1 and np.isin(one, (0.0, 1.0)).all() for one in sides)


def read_outputs(paths: Sequence[Path], ignore: Sequence[str] = ()) -> OutputPair:
    """Return the outputs of two files, or of one that says which dataset a row is of.

    Parameters
    ----------
    paths
        One or two.
    ignore
        Names of columns that are left out.

    Raises
    ------
    DataError
        A file cannot be read, or the two do not hold outputs of the same kind.
    InvalidArgument
        There are more than two, or a column that is to be ignored is not there.

    Examples
    --------
    >>> read_outputs([Path("missing.csv")] * 3)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: --outputs: got 3 files, expected two, of a dataset and of its \
neighbour, or one that says in a column which of them
    """
    if len(paths) not in (1, 2):
        expected = (
            "two, of a dataset and of its neighbour, or one that says in a column which of them"
        )
        raise InvalidArgument("--outputs", VerbatimText(f"{len(paths)} files"), expected)
    files = [read_columns(path) for path in paths]
    kept = tuple[str, ...]()
    if len(files) == 1:
        first, second, kept = _sides_of(files[0])
    else:
        first, second = files
    for one in (first, second):
        _require_enough(one)
    first, second = _remove_ignored_columns(first, second, ignore)
    first, second, aside = _without_asides(*_match_columns(first, second))
    on_p, on_q, names, texts = _convert_to_output_numbers(first, second)
    return OutputPair(
        on_p,
        on_q,
        names,
        tuple(
            f"{one.path}: {_format_output_shape(rows, len(names), texts, one.guesses)}"
            for one, rows in ((first, len(on_p)), (second, len(on_q)))
        ),
        (*kept, *aside),
        tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths),
        tuple(ignore),
    )


def _format_output_shape(rows: int, numbers: int, texts: bool, guesses: Sequence[str]) -> str:
    many = "a text" if texts else f"{numbers} number{'' if numbers == 1 else 's'}"
    return ", ".join([f"{format_integer(rows)} outputs of {many}", *guesses])


def _require_enough(file: ColumnFile) -> None:
    if file.rows < _LEAST:
        said = f"{file.path}: holds {file.rows} outputs, expected at least {_LEAST} a dataset"
        raise DataError(f"{said}; the counts of an attack are what dpaudit table reads")


# Which dataset


def _sides_of(file: ColumnFile) -> tuple[ColumnFile, ColumnFile, tuple[str, ...]]:
    """Return the outputs of either dataset of one file, and the words that say which is which."""
    if len(file.parts) == 2 and _sort_side_words([name for name, _ in file.parts]) is not None:
        first, second = _sort_side_words([name for name, _ in file.parts]) or ("", "")
        parts = dict(file.parts)
        return (
            parts[first],
            parts[second],
            (f"array {shorten_repr(first)} is taken as the dataset",),
        )
    if len(file.columns) == 2 and (beside := _split_two_columns(file)) is not None:
        return beside
    place = _column_of_sides(file)
    column = file.columns[place]
    texts = np.array([_as_word(one) for one in column.values.tolist()])
    first, second = _sort_side_words(list(dict.fromkeys(texts))) or tuple(dict.fromkeys(texts))
    others = [one for n, one in enumerate(file.columns) if n != place]
    found = [
        replace(file, columns=tuple(_select_column_rows(one, texts == word) for one in others))
        for word in (first, second)
    ]
    said = (
        f"{column.shown} says which dataset: {shorten_repr(str(first))} and "
        f"{shorten_repr(str(second))}"
    )
    return found[0], found[1], (said,)


def _as_word(value: Any) -> str:
    """Return the word in a column that names a dataset, whole numbers as such."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _select_column_rows(column: CsvColumn, chosen: Any) -> CsvColumn:
    return replace(column, values=column.values[chosen])


def _split_two_columns(file: ColumnFile) -> tuple[ColumnFile, ColumnFile, tuple[str, ...]] | None:
    """Return two columns side by side as outputs of two datasets, if their names say so."""
    names = [one.name or "" for one in file.columns]
    if (ordered := _sort_side_words(names)) is None:
        return None
    found = []
    for name in ordered:
        column = file.columns[names.index(name)]
        found.append(replace(file, columns=(replace(column, name=None),)))
    return found[0], found[1], (f"column {shorten_repr(ordered[0])} is taken as the dataset's",)


def _sort_side_words(words: Sequence[str]) -> tuple[str, str] | None:
    """Return two words, that of the dataset first; None where they are not known as such."""
    small = [word.strip().lower() for word in words]
    for pair in _CALLED:
        if len(words) == 2 and set(small) == set(pair):
            first = small.index(pair[0])
            return words[first], words[1 - first]
    return None


def _column_of_sides(file: ColumnFile) -> int:
    """Return the place of the column that says which dataset a row is of."""
    two = [n for n, one in enumerate(file.columns) if len(np.unique(one.values)) == 2]
    named = [n for n in two if _normalise_column_name(file.columns[n].name) in _SIDES]
    called = [
        n for n in two if _sort_side_words(list(np.unique(file.columns[n].values.astype(str))))
    ]
    texts = [n for n in two if file.columns[n].is_text]
    if len(file.columns) > 1:
        for chosen in (named, texts, called, two):
            if len(chosen) == 1:
                return chosen[0]
    expected = "a column named dataset with two values, or two files"
    raise DataError(f"{file.path}: does not say which row is of which dataset, expected {expected}")


def _normalise_column_name(name: str | None) -> str:
    return (name or "").strip().lower().replace(" ", "_").replace("-", "_")


# Which columns


def _remove_ignored_columns(
    first: ColumnFile, second: ColumnFile, ignore: Sequence[str]
) -> tuple[ColumnFile, ColumnFile]:
    for name in ignore:
        if name not in (*first.names, *second.names):
            there = ", ".join(str(one) for one in first.names if one) or "none that has a name"
            raise InvalidArgument("--ignore", name, f"a column of the files: {there}")
    found = [
        replace(one, columns=tuple(c for c in one.columns if c.name not in ignore))
        for one in (first, second)
    ]
    return _require_columns(found[0]), _require_columns(found[1])


def _require_columns(file: ColumnFile) -> ColumnFile:
    if not file.columns:
        raise DataError(f"{file.path}: nothing is left of an output, expected a column of outputs")
    return file


def _match_columns(first: ColumnFile, second: ColumnFile) -> tuple[ColumnFile, ColumnFile]:
    """Return the two with columns in the same order: by name where both have the same names."""
    # A running number that one of the files lacks would make their columns differ.
    if len(first.columns) != len(second.columns):
        first, second = (_without_counters(one) for one in (first, second))
    names, others = first.names, second.names
    if None not in names and len(set(names)) == len(names) and set(names) == set(others):
        places = [others.index(name) for name in names]
        return first, replace(second, columns=tuple(second.columns[n] for n in places))
    moved = {one for one in names if one} & {one for one in others if one}
    if len(names) != len(others) or any(names.index(o) != others.index(o) for o in moved):
        said = (
            f"has {_format_column_count(second)}, expected {_format_column_count(first)} as "
            f"in {first.path}"
        )
        raise DataError(f"{second.path}: {said}")
    for one, other in zip(first.columns, second.columns, strict=True):
        if one.is_text != other.is_text:
            kinds = ("texts", "numbers") if other.is_text else ("numbers", "texts")
            said = f"{other.shown} holds {kinds[0]}, expected {kinds[1]} as in {first.path}"
            raise DataError(f"{second.path}: {said}")
    return first, second


def _format_column_count(file: ColumnFile) -> str:
    named = [one for one in file.names if one]
    size = len(file.columns)
    return f"{size} column{'' if size == 1 else 's'}" + (f" ({', '.join(named)})" if named else "")


def _without_counters(file: ColumnFile) -> ColumnFile:
    kept = tuple(one for one in file.columns if not _counts_rows(one.values, one.values))
    return replace(file, columns=kept) if kept else file


def _without_asides(
    first: ColumnFile, second: ColumnFile
) -> tuple[ColumnFile, ColumnFile, tuple[str, ...]]:
    """Return the two without columns that are no part of an output, and why they are none."""
    alone = len(first.columns) == 1
    reasons = [
        _why_aside(one, other, alone=alone)
        for one, other in zip(first.columns, second.columns, strict=True)
    ]
    kept = [n for n, why in enumerate(reasons) if not why]
    said = tuple(
        f"{first.columns[n].shown} is left out: {why}" for n, why in enumerate(reasons) if why
    )
    if not kept:
        raise DataError(f"{first.path}: {said[0]}, and nothing else is there; expected outputs")
    found = [replace(one, columns=tuple(one.columns[n] for n in kept)) for one in (first, second)]
    return found[0], found[1], said


def _why_aside(one: CsvColumn, other: CsvColumn, *, alone: bool) -> str:
    """Return why a column is no part of an output, "" if it is one."""
    if _counts_rows(one.values, other.values):
        return "it counts rows, which is no output"
    if not alone and _normalise_column_name(one.name) in _ASIDE:
        return "by its name it is no output"
    if not one.is_text and all(map(_are_times, (one.values, other.values))):
        return "its numbers are time stamps, by their size"
    if one.is_text:
        kinds = [set(each.values.tolist()) for each in (one, other)]
        if all(len(each) == 1 for each in kinds) and kinds[0] != kinds[1]:
            return "it is the same text in each row of a file, as a label of the file is"
        if all(len(k) == len(c.values) for k, c in zip(kinds, (one, other), strict=True)):
            return "each of its texts is another one, as names of runs are"
        if not alone and not kinds[0] & kinds[1]:
            # A text of the file's own would tell the datasets apart though no mechanism did.
            return "the files have no text of it in common, as labels of the files are"
    return ""


def _counts_rows(one: Any, other: Any) -> bool:
    """Return whether numbers count: steps that are equal, or more even than draws ever are."""
    if one.dtype.kind == "U" or len(one) < 3 or len(other) < 3:
        return False
    one, other = _without_overflow(one), _without_overflow(other)
    steps = [np.diff(values) for values in (one, other)]
    if all(s[0] != 0 and bool((s == s[0]).all()) for s in steps):
        return True
    return any(map(_is_even, (one, other, np.concatenate([one, other]))))


def _without_overflow(values: Array) -> Array:
    """Return values of which steps and their squares are doubles."""
    most = float(np.abs(values).max())
    # Scaled down so far that squares of steps are finite; whether steps are equal stays the same.
    return np.asarray(values / most * 1e100 if most > 1e100 else values)


def _is_even(values: Array) -> bool:
    """Return whether values are all others, with gaps between them that hardly differ.

    Gaps of independent draws of a density spread about as much as they measure, or more.
    """
    steps = np.diff(np.sort(values))
    return len(values) >= _LEAST and bool(steps.min() > 0 and steps.std() < _EVEN * steps.mean())


def _are_times(values: Any) -> bool:
    """Return whether numbers are seconds since 1970, or thousandths and so on, of our years."""
    low, high = float(values.min()), float(values.max())
    return any(_YEARS[0] * unit <= low and high <= _YEARS[1] * unit for unit in _UNITS)


# Numbers


def _convert_to_output_numbers(
    first: ColumnFile, second: ColumnFile
) -> tuple[Array, Array, tuple[str, ...], bool]:
    """Return the outputs as numbers, with the name of each, and whether they are one text."""
    on_p, on_q, names = list[Array](), list[Array](), list[str]()
    for place, (one, other) in enumerate(zip(first.columns, second.columns, strict=True)):
        name = one.name or (f"number {place + 1}" if len(first.columns) > 1 else "the output")
        kinds = _find_text_kinds(first.path, one, other) if one.is_text else None
        on_p.append(_as_numbers(one, kinds))
        on_q.append(_as_numbers(other, kinds))
        size = on_p[-1].shape[1]
        names += [name] if kinds is None else [f"{name}, kind {n + 1}" for n in range(size)]
    texts = len(first.columns) == 1 and first.columns[0].is_text
    return np.hstack(on_p), np.hstack(on_q), tuple(names), texts


def _find_text_kinds(path: Path, one: CsvColumn, other: CsvColumn) -> Texts:
    """Return the kinds of texts that become a number each: of two kinds one of them."""
    kinds: Texts = np.unique(np.concatenate([one.values, other.values]))
    sides = [set(each.values.tolist()) for each in (one, other)]
    folded = [{text.strip().casefold() for text in side} for side in sides]
    if not sides[0] & sides[1] and folded[0] & folded[1]:
        said = f"{one.shown} has texts that the other file spells otherwise"
        raise DataError(f"{path}: {said}, expected the same small and capital letters in both")
    if len(kinds) > _MOST_KINDS:
        said = f"{one.shown} holds {format_integer(len(kinds))} different texts"
        raise DataError(f"{path}: {said}, expected numbers, or {_MOST_KINDS} kinds")
    # Of two kinds one column says all: the other would be its complement.
    return kinds[1:] if len(kinds) == 2 else kinds


def _as_numbers(column: CsvColumn, kinds: Texts | None) -> Array:
    if kinds is None:
        return np.asarray(column.values, dtype=np.float64)[:, None]
    return np.asarray(column.values[:, None] == kinds, dtype=np.float64)
