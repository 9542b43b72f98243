"""The entry point: the application with all its commands, every expected failure on one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from errno import EPIPE
from functools import cache, partial
from typing import Annotated, TextIO

import typer

import dpaudit.cli.clock as clock
import dpaudit.cli.ending as ending
import dpaudit.cli.streams as streams
import dpaudit.redaction as redaction
from dpaudit.cli.account import account
from dpaudit.cli.attack import attack
from dpaudit.cli.audit import audit
from dpaudit.cli.browse import list_installed, schema, show, version
from dpaudit.cli.calibrate import calibrate
from dpaudit.cli.canary import canary
from dpaudit.cli.deployment import deployment
from dpaudit.cli.explain import explain
from dpaudit.cli.init import init
from dpaudit.cli.ledger import ledger
from dpaudit.cli.new import new
from dpaudit.cli.prove import prove
from dpaudit.cli.replay import replay
from dpaudit.cli.reproduce import reproduce
from dpaudit.cli.scan import scan
from dpaudit.cli.scores import scores
from dpaudit.cli.selftest import selftest
from dpaudit.cli.sensitivity import sensitivity
from dpaudit.cli.sheet import sheet
from dpaudit.cli.spend import spend
from dpaudit.cli.start import start
from dpaudit.cli.store import merge, resume, show_help, store
from dpaudit.cli.table import TableCommand, table
from dpaudit.cli.verify import verify
from dpaudit.cli.views import views

app = typer.Typer(
    name="dpaudit",
    help="Audits differential-privacy claims: the claimed, the proved and the measured guarantee.",
    epilog="Exit status: 0 nothing refuted, 1 something refuted, both only when every verdict "
    "asked for was reached and written; 2 anything else that went wrong; 130 interrupted; 143 "
    "terminated. docs/exit-statuses.md has the table.",
    # Typer's own tracebacks show the values of local variables, which may be records.
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_PANELS: dict[str, dict[str, Callable[..., int | None]]] = {
    "Where to begin": {"start": start},
    "Your code": {
        "init": init,
        "audit": audit,
        "replay": replay,
        "sensitivity": sensitivity,
        "views": views,
        "prove": prove,
        "canary": canary,
        "scores": scores,
        "table": table,
        "deployment": deployment,
        "verify": verify,
        "explain": explain,
        "sheet": sheet,
    },
    "Papers": {
        "list": list_installed,
        "show": show,
        "ledger": ledger,
        "attack": attack,
        "reproduce": reproduce,
    },
    "Accounting": {"account": account, "calibrate": calibrate},
    "Stored runs": {"resume": resume, "merge": merge},
    "Packages, and this program": {
        "scan": scan,
        "selftest": selftest,
        "schema": schema,
        "version": version,
    },
}
for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        _kind = TableCommand if _command is table else None
        _add = app.command(_name, cls=_kind, rich_help_panel=_panel)
        _add(ending.convert_raised_errors(_command))
app.add_typer(new, name="new", rich_help_panel="Papers")
app.add_typer(spend, name="spend", rich_help_panel="Accounting")
app.add_typer(store, name="store", rich_help_panel="Stored runs")


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def _apply_global_options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        show_help(context)


def main(arguments: list[str] | None = None, *, began: float | None = None) -> None:
    """Run the command line; whatever happens is one line and a status of docs/exit-statuses.md.

    ``began`` is the moment from which on a time counts that is given: that of this call if None.
    """
    try:
        with (
            clock.counting_from(began),
            ending.convert_termination_to_interrupt(),
            # Records are hidden again for every call: in tests and notebooks one process makes
            # several, and an option of one must not count for the next.
            redaction.set_records_shown(False),
            warnings.catch_warnings(),
            ending.set_listing_mode(sys.argv[1:] if arguments is None else arguments),
        ):
            warnings.showwarning = _show_warning
            status = _run_application(arguments)
    except KeyboardInterrupt as error:  # once more, while the first one was dealt with
        sys.exit(ending.report_run_end(error))
    except Exception as error:  # the last resort: never the status of a verdict
        raise SystemExit(ending.UNFINISHED) from error
    sys.exit(status)


# Made of the signatures of all commands, which takes longer than most of what is asked.
_build_commands = cache(partial(typer.main.get_command, app))


def _run_application(arguments: list[str] | None) -> int:
    try:
        with streams.results_on_standard_output():
            # Without the standalone mode Typer neither prints errors nor exits, and the status
            # is decided here when all output is out.
            status = _build_commands()(arguments, standalone_mode=False) or ending.FINE
            if status == ending.INTERRUPTED:  # before any command ran
                raise KeyboardInterrupt
            return int(status)
    except typer.TyperException as error:
        return _report_misuse(error)
    except ending.CommandFailure as raised:
        return ending.report_run_end(raised.error)
    except BaseException as error:
        raise SystemExit(ending.report_run_end(_of_the_stream(error))) from None


def _of_the_stream(error: BaseException) -> BaseException:
    """Return the error where no command ran.

    Libraries that cannot write the help leave the program, or hand on what the system says.
    """
    if not isinstance(error, SystemExit | OSError):
        return error
    from dpaudit.errors import DataError

    try:
        with streams.convert_write_errors():
            raise BrokenPipeError(EPIPE, "Broken pipe") if isinstance(error, SystemExit) else error
    except DataError as said:
        return said


def _report_misuse(error: typer.TyperException) -> int:
    message = error.format_message()
    message = message.partition("Value error, ")[2] or message or _format_help()
    if "\n" not in message:
        context = getattr(error, "ctx", None)
        command = "dpaudit" if context is None else context.command_path
        message = f"error: {message.removesuffix('.')}; {command} --help shows the usage"
    streams.write_to_stderr(message)
    return ending.UNFINISHED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning on one line; the words of other people's warnings may be a record."""
    from dpaudit.errors import warning_line

    streams.write_to_stderr(warning_line(message, category, filename, lineno))


def _format_help() -> str:
    return _build_commands().get_help(typer.Context(_build_commands()))
