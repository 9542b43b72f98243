"""``dpaudit audit a.csv b.csv``: data files without a function, whose meaning nobody stated."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import dpaudit.cli.streams as streams
from dpaudit.cli.start import is_asked, read_answer
from dpaudit.cli.suggestions import DATA

_OUTPUTS = "1"


def are_data(targets: Sequence[str]) -> bool:
    """Return whether all targets are files of data, by their names.

    Examples
    --------
    >>> are_data([]), are_data(["mine:mechanism"]), are_data(["a.csv", "b.csv"])
    (False, False, True)
    """
    return bool(targets) and all(one.lower().endswith(DATA) for one in targets)


def are_outputs(targets: Sequence[str], epsilon: float | None) -> bool:
    """Ask at the terminal whether files hold outputs and at which claim, and return the answer.

    Raises
    ------
    InvalidArgument
        Nobody was asked, or they hold something else: the command for it was shown.
    DataError
        One is not there.
    """
    from dpaudit.errors import DataError, InvalidArgument, VerbatimText

    for one in targets:
        if not Path(one).is_file():
            raise DataError(f"{one}: there is no such file")
    asked = is_asked()
    told = _format_file_suggestions(targets, 1.0 if epsilon is None else epsilon)
    for number, line in enumerate(told, 1):
        streams.write_to_stderr(f"{number}. {line}" if asked else f"  {line}")
    if (
        # Only the first answer can be acted on at once. The other ways need options that nobody
        # has given, so that their commands are shown instead.
        asked and read_answer("What do they hold? Number: ") == _OUTPUTS and epsilon is not None
    ):
        return True
    expected = "one of the commands above, by what the files hold"
    raise InvalidArgument("targets", VerbatimText(", ".join(targets)), expected)


def _format_file_suggestions(targets: Sequence[str], epsilon: float) -> list[str]:
    """Return the possible contents of files, each with its command."""
    named, claim = shlex.join(targets), f"--epsilon {epsilon:g}"
    first = shlex.quote(targets[0])
    if len(targets) == 1:
        return [
            f"outputs, and which dataset: dpaudit audit --outputs {named} {claim}",
            f"counts of an attack: dpaudit table {first} {claim}",
            f"scores of canaries: dpaudit canary {first} {claim}",
            f"scores of members and others: dpaudit scores {first} {claim}",
            f"a dataset: dpaudit audit mine.py:release --dataset {first} "
            f"--relation add-remove-record {claim}",
            "a synthetic table: dpaudit start twin",
        ]
    pair = f"--dataset {first} --neighbour {shlex.quote(targets[1])}"
    return [
        f"outputs on two datasets: dpaudit audit --outputs {named} {claim}",
        f"a dataset and its neighbour: dpaudit audit mine.py:release {pair} {claim}",
        f"scores of members and of others: dpaudit scores {named} {claim}",
        "a table and its synthetic twin: dpaudit start twin",
    ]
