"""The application, and the options its commands share."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="dpaudit",
    help="Audits differential-privacy claims: what is claimed, what can be proved, what was "
    "measured.",
    epilog="Exit status: 0 nothing refuted, 1 something refuted, 2 wrong usage or input.",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _parser(flag: str, kind: type, expected: str) -> Any:
    """Return a parser whose refusal names the option, the value and what was expected."""

    def parse(text: str) -> Any:
        from dpaudit.errors import InvalidArgument

        try:
            return kind(text)
        except ValueError:
            raise InvalidArgument(flag, text, expected) from None

    return parse


def number(flag: str, meaning: str) -> Any:
    """Return an option that takes a number."""
    parser = _parser(flag, float, "a number")
    return typer.Option(flag, parser=parser, metavar="NUMBER", help=meaning)


def integer(flag: str, meaning: str) -> Any:
    """Return an option that takes an integer."""
    parser = _parser(flag, int, "an integer")
    return typer.Option(flag, parser=parser, metavar="INTEGER", help=meaning)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]


def pairs(flag: str, words: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE words; a value that is JSON is taken as such, any other as text."""
    from dpaudit.errors import InvalidArgument

    found: dict[str, Any] = {}
    for word in words or ():
        key, separator, value = word.partition("=")
        if not separator or not key:
            raise InvalidArgument(flag, word, "KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except json.JSONDecodeError:
            found[key] = value
    return found
