"""Options that commands share, and the reading of their values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePath
from typing import Annotated, Any

import typer

from dpaudit.extension.setting_table import Group

# Panels of help pages.
OUTPUT = Group.OUTPUT.value
MACHINE = Group.MACHINE.value


def parser_of(flag: str, kind: Callable[[str], Any], expected: str) -> Any:
    """Return a parser whose refusal names the option, the value and the expected form."""

    def parse(text: str) -> Any:
        from dpaudit.errors import InvalidArgument

        try:
            return kind(text)
        except ValueError:
            raise InvalidArgument(flag, text, expected) from None

    return parse


def number_option(flag: str, meaning: str, panel: str | None = None) -> Any:
    """Return an option that takes a number."""
    parser = parser_of(flag, float, "a number")
    return typer.Option(flag, parser=parser, metavar="NUMBER", help=meaning, rich_help_panel=panel)


def integer_option(flag: str, meaning: str, panel: str | None = None) -> Any:
    """Return an option that takes an integer."""
    parser = parser_of(flag, int, "an integer")
    return typer.Option(flag, parser=parser, metavar="INTEGER", help=meaning, rich_help_panel=panel)


def integers_of(flag: str, text: str) -> tuple[int, ...]:
    """Return integers with commas between them, or raise `InvalidArgument`."""
    from dpaudit.errors import InvalidArgument

    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise InvalidArgument(flag, text, "integers such as 100,400") from None


def looks_option(meaning: str) -> Any:
    """Return an option that takes looks: trials and shares of the error probability."""
    parser = parser_of("--looks", _parse_looks, "TRIALS:SHARE,TRIALS:SHARE,...")
    return typer.Option("--looks", parser=parser, metavar="TRIALS:SHARE,...", help=meaning)


def _parse_looks(text: str) -> tuple[tuple[int, float], ...]:
    pairs = [one.split(":") for one in text.split(",")]
    return tuple((int(trials), float(share)) for trials, share in pairs)


def _require_folder_name(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text


def folder_option(meaning: str) -> Any:
    """Return the option ``--out``, which takes the name of a folder."""
    expected = "the name of a folder, such as --out report"
    parser = parser_of("--out", _require_folder_name, expected)
    return typer.Option(
        "--out", parser=parser, metavar="DIRECTORY", help=meaning, rich_help_panel=OUTPUT
    )


Json = Annotated[
    bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.", rich_help_panel=OUTPUT)]


def reference_of(target: str) -> str:
    """Return ``folder.module:function`` for ``folder/module.py:function``; others as they are.

    Raises
    ------
    InvalidArgument
        The file does not lie below the present folder, from which modules are imported.

    Examples
    --------
    >>> reference_of("mine:mechanism")
    'mine:mechanism'
    """
    from dpaudit.errors import InvalidArgument

    file, separator, name = target.partition(".py:")
    parts = PurePath(file).parts
    if not separator or not name or not parts:
        return target
    # Parts that are no identifiers, such as "..", cannot be imported as a module of this
    # folder.
    if PurePath(file).is_absolute() or not all(map(str.isidentifier, parts)):
        raise InvalidArgument("target", target, "a file below this folder, or module:function")
    return f"{'.'.join(parts)}:{name}"


def pairs(flag: str, words: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE words; a value that is JSON is taken as such, any other as text."""
    from dpaudit.errors import InvalidArgument

    values: dict[str, Any] = {}
    for word in words or ():
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise InvalidArgument(flag, word, "KEY=VALUE")
        try:
            values[key] = json.loads(value)
        except json.JSONDecodeError:
            values[key] = value
    return values


def word_option(flag: str, meaning: str) -> Any:
    """Return an option that takes a word."""
    return typer.Option(flag, metavar="WORD", help=meaning)


Epochs = Annotated[int | None, integer_option("--epochs", "A training's epochs, for dp-sgd.")]
Steps = Annotated[
    int | None, integer_option("--steps", "Noisy sums of a training, in place of its epochs'.")
]
Rounds = Annotated[int | None, integer_option("--rounds", "Another name for --steps.")]
BatchSize = Annotated[int | None, integer_option("--batch-size", "A training's batch size.")]
Records = Annotated[int | None, integer_option("--records", "A training's number of records.")]
NoiseMultiplier = Annotated[
    float | None, number_option("--noise-multiplier", "A training's noise multiplier.")
]
SamplingName = Annotated[
    str | None,
    word_option(
        "--sampling",
        "The sampler of batches: poisson, shuffle, fixed, fixed-replacement, balls-and-bins, "
        "cyclic or none.",
    ),
]
RelationName = Annotated[
    str | None,
    word_option(
        "--relation",
        "The relation of neighbours in a training: add-remove-record, replace-record or "
        "zero-out-record.",
    ),
]
Runs = Annotated[
    float | None, number_option("--runs", "The number of trainings, of which this is one.")
]
SelectionName = Annotated[
    str | None,
    word_option(
        "--selection",
        "The release of several runs: all, or the best of a geometric, logarithmic or "
        "poisson number.",
    ),
]


def select_given_options(**options: Any) -> dict[str, Any]:
    """Return the options that were given, by name."""
    return {name: value for name, value in options.items() if value is not None}
