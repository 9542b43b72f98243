"""The entry point: every expected failure is one line."""

from __future__ import annotations

import os
import sys

import typer

from dpaudit.cli.options import app

_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every expected failure is one line and exit status 2."""
    from dpaudit.errors import DpauditError

    try:
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


def _help() -> str:
    return typer.main.get_command(app).get_help(typer.Context(typer.main.get_command(app)))


def _unexpected(error: Exception) -> str:
    from dpaudit.errors import shorten

    what = f"{type(error).__name__}: {shorten(str(error))}"
    return f"something unforeseen, {what}; DPAUDIT_DEBUG=1 shows where"
