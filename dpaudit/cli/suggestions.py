"""Files of a folder that fit a thing that somebody has: looked at, and never run."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from dpaudit.cli.beginnings import NEIGHBOUR, SAMPLE

DATA = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".npy", ".npz", ".parquet", ".txt", ".gz")
# The limits keep a suggestion instantaneous in a folder of a million files, or beside a file of
# gigabytes.
_MOST = 200  # files of a folder
_BYTES = 2**16  # bytes that are read of a file
_SIDES = (
    ("neighbour", "neighbor", "without", "other", "prime", "d2", "q", "b"),
    ("dataset", "with", "base", "d1", "d", "p", "a"),
)
_ATTACKED = (("out", "non", "other", "without", "test"), ("in", "member", "with", "train"))
_ARGUMENTS = frozenset({"data", "dataset", "database", "records", "rows", "x", "table", "frame"})

Found = Mapping[str, str]


def find_suggestions(word: str, folder: Path) -> list[Found]:
    """Return at most one way to fill in a command with files of a folder.

    Examples
    --------
    >>> find_suggestions("twin", Path.cwd())
    []
    """
    finder = _FINDERS.get(word)
    return [] if finder is None else [one for one in [finder(folder)] if one]


def data_files(folder: Path) -> list[str]:
    """Return the names of files of data, in order."""
    return [one for one in _find_file_names(folder) if one.lower().endswith(DATA)]


def _find_file_names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = islice((one.name for one in entries if one.is_file()), 10 * _MOST)
            return sorted(name for name in found if not name.startswith("."))[:_MOST]
    except OSError:
        return []


def _split_name_words(name: str) -> list[str]:
    plain = "".join(one if one.isalnum() else " " for one in name.lower().partition(".")[0])
    return plain.split()


def _find_two_files(
    folder: Path, kinds: tuple[tuple[str, ...], tuple[str, ...]]
) -> tuple[str, str] | None:
    """Return two files by their names, or the only two."""
    names = data_files(folder)
    second = [one for one in names if set(kinds[0]) & set(_split_name_words(one))]
    first = [
        one for one in names if set(kinds[1]) & set(_split_name_words(one)) and one not in second
    ]
    if first and second:
        return first[0], second[0]
    return (names[0], names[1]) if len(names) == 2 else None


def _find_output_files(folder: Path) -> Found:
    found = _find_two_files(folder, _SIDES)
    return {} if found is None else {SAMPLE: found[0], NEIGHBOUR: found[1]}


def _find_score_files(folder: Path) -> Found:
    found = _find_two_files(folder, _ATTACKED)
    return {} if found is None else {"members.csv": found[0], "others.csv": found[1]}


def _find_canary_file(folder: Path) -> Found:
    for name in data_files(folder):
        if {"score", "included"} <= set(_read_header_cells(folder / name)):
            return {"scores.csv": name}
    return {}


def _read_header_cells(path: Path) -> list[str]:
    first = _read_first_bytes(path).partition("\n")[0].strip().lower()
    return [one.strip(' "') for one in first.replace(";", ",").replace("\t", ",").split(",")]


def _read_first_bytes(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def _find_code_file(folder: Path) -> Found:
    for name in _find_file_names(folder):
        if name.endswith(".py") and (function := _find_data_function(folder / name)):
            return {"mine.py:release": f"{name}:{function}", **_find_output_files(folder)}
    return {}


def _find_data_function(path: Path) -> str | None:
    """Return the function of a file that takes data, the first of those with such an argument."""
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    return next(_of_data(body), None)


def _of_data(body: list[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith(("_", "test")):
            if one.args.args and one.args.args[0].arg.lower() in _ARGUMENTS:
                yield one.name


def _find_program_file(folder: Path) -> Found:
    for name in _find_file_names(folder):
        path = folder / name
        if os.access(path, os.X_OK) and not name.endswith(DATA):
            return {
                "./noiser {data} {seed}": f"./{name} {{data}} {{seed}}",
                **_find_output_files(folder),
            }
    return {}


def _find_record_file(folder: Path) -> Found:
    for name in _find_file_names(folder):
        if (
            name.endswith((".yaml", ".yml"))
            and "epsilon" in _read_first_bytes(folder / name).lower()
        ):
            return {"record.yaml": name}
    return {}


_FINDERS: dict[str, Callable[[Path], Found]] = {
    "code": _find_code_file,
    "program": _find_program_file,
    "service": _find_output_files,
    "outputs": _find_output_files,
    "scores": _find_score_files,
    "canaries": _find_canary_file,
    "record": _find_record_file,
}
