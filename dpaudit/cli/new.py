"""``dpaudit new``: packages and programs to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import dpaudit.cli.ending as ending
import dpaudit.cli.streams as streams
from dpaudit.cli.start import is_asked, read_answer
from dpaudit.cli.store import show_help

new = typer.Typer(help="Write a package or a program to begin with.", invoke_without_command=True)


@new.callback()
def _show_new_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show_help(context)


def write_claim(
    name: Annotated[
        str, typer.Argument(help="Paper and statement, such as smith2031-lemma1.", metavar="NAME")
    ],
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="DIR", help="Its folder (default: the name of the claim)."),
    ] = None,
) -> None:
    """Write a package with a claim that runs: claim, verifier, ledger row and tests.

    No file is overwritten. The package begins with a false bound on a mean, to be replaced.
    """
    from dpaudit.extension.drafting import DraftName, write_draft

    folder = Path(name) if into is None else into
    for path in write_draft(DraftName(name), folder):
        streams.write_result_text(str(path))


def write_program(
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="LANGUAGE", help="javascript, java or rust."),
    ] = None,
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="The folder to write to (this one).")
    ] = Path(),
) -> None:
    """Write a helper for programs in another language, and a mechanism to begin with.

    No file is overwritten. The first lines of the mechanism say how it is audited.
    """
    from dpaudit.programs.drafting import write_helper

    for path in write_helper(language or _language(), into):
        streams.write_result_text(str(path))


def _language() -> str:
    """Return the language that somebody at the terminal names; refuse where nobody is asked."""
    from dpaudit.errors import InvalidArgument
    from dpaudit.programs.drafting import LANGUAGES

    known = ", ".join(LANGUAGES)
    if is_asked() and (named := read_answer(f"Which language ({known})? ")):
        return named
    expected = f"one of {known}, such as dpaudit new program --language javascript"
    raise InvalidArgument("language", None, expected)


new.command("claim")(ending.convert_raised_errors(write_claim))
new.command("program")(ending.convert_raised_errors(write_program))
