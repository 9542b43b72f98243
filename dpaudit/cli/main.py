"""The entry point: the application with all its commands, every expected failure on one line."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, TextIO

import typer

from dpaudit.cli.account import account
from dpaudit.cli.attack import attack
from dpaudit.cli.audit import audit
from dpaudit.cli.browse import list_installed, schema, show, version
from dpaudit.cli.calibrate import calibrate
from dpaudit.cli.reproduce import reproduce
from dpaudit.cli.selftest import selftest
from dpaudit.cli.verify import verify

_INTERRUPTED = 130

app = typer.Typer(
    name="dpaudit",
    help="Audits differential-privacy claims: what is claimed, what can be proved, what was "
    "measured.",
    epilog="Exit status: 0 nothing refuted, 1 something refuted, 2 wrong usage or input.",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("attack")(attack)
app.command("audit")(audit)
app.command("verify")(verify)
app.command("list")(list_installed)
app.command("show")(show)
app.command("schema")(schema)
app.command("version")(version)
app.command("reproduce")(reproduce)
app.command("account")(account)
app.command("calibrate")(calibrate)
app.command("selftest")(selftest)


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every expected failure is one line and exit status 2."""
    from dpaudit.errors import DpauditError

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        message = error.format_message()
        message = message.partition("Value error, ")[2] or message or _help()
        hint = "" if "\n" in message else "; dpaudit --help shows the usage"
        typer.echo(message if "\n" in message else f"error: {message}{hint}", err=True)
        sys.exit(2)
    except DpauditError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception as error:  # the last resort: never a traceback, never the status of a verdict
        typer.echo(f"error: {_unexpected(error)}", err=True)
        if os.environ.get("DPAUDIT_DEBUG"):
            raise
        raise SystemExit(2) from None
    if status == _INTERRUPTED:
        typer.echo("interrupted", err=True)
    sys.exit(status or 0)


_show_as_python_does = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a broken entry point on one line, and any other warning as Python does."""
    from dpaudit.extension.registry import BrokenEntryPoint

    if issubclass(category, BrokenEntryPoint):
        typer.echo(f"warning: {message}", err=True)
    else:
        _show_as_python_does(message, category, filename, lineno, file, line)


def _help() -> str:
    return typer.main.get_command(app).get_help(typer.Context(typer.main.get_command(app)))


def _unexpected(error: Exception) -> str:
    from dpaudit.errors import shorten

    what = f"{type(error).__name__}: {shorten(str(error))}"
    return f"something unforeseen, {what}; DPAUDIT_DEBUG=1 shows where"
