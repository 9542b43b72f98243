"""The end of a run: one status, decided when all of its output is out.

docs/exit-statuses.md is the table. The commands that judge end with 0 or 1 only if every verdict
that was asked for was reached and written; whatever else happens is a line on standard error and
another status.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

import dpaudit.cli.streams as streams
import dpaudit.redaction as redaction
from dpaudit.cli.options import OUTPUT

if TYPE_CHECKING:
    from dpaudit.errors import DpauditError

FINE = 0
REFUTED = 1
UNFINISHED = 2
# 128 and the number of the signal, as shells report a program that a signal ended: 2 is SIGINT,
# and 15 is SIGTERM.
INTERRUPTED = 130
TERMINATED = 143

Given = ParamSpec("Given")
ReturnT = TypeVar("ReturnT")


class _Requests:
    """The requests that one run got on its way."""

    traceback = False
    to_terminate = False
    only_lists = False
    not_given: frozenset[str] = frozenset()  # options of the command


class Interruption(KeyboardInterrupt):
    """An interrupt with a message still to show: which audits ended and which are missing."""


class CommandFailure(Exception):
    """Whatever a command raised, carried past a library that would make a status of it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def convert_raised_errors(command: Callable[Given, ReturnT]) -> Callable[Given, ReturnT]:
    """Return the command, with each error inside a `CommandFailure`, and its help unwrapped.

    Examples
    --------
    >>> @convert_raised_errors
    ... def command():
    ...     raise SystemExit(0)
    >>> try:
    ...     command()
    ... except CommandFailure as raised:
    ...     print(repr(raised.error))
    SystemExit(0)
    """

    @functools.wraps(command)
    def run(*arguments: Given.args, **options: Given.kwargs) -> ReturnT:
        _Requests.not_given = frozenset(name for name, value in options.items() if value is None)
        try:
            return command(*arguments, **options)
        # Typer turns some exceptions into a status of its own, of which 1 would read as a
        # refutation. A wrapped one passes it by.
        except BaseException as error:
            raise CommandFailure(error) from error

    run.__doc__ = _unwrap_paragraphs(command.__doc__)
    return run


def _unwrap_paragraphs(text: str | None) -> str | None:
    r"""Return paragraphs of one line each, so that a terminal wraps them and nothing else does.

    Examples
    --------
    >>> _unwrap_paragraphs("First.\n\n    Second, which\n    goes on.\n    ")
    'First.\n\nSecond, which goes on.'
    """
    if text is None:
        return None
    return "\n\n".join(" ".join(one.split()) for one in inspect.cleandoc(text).split("\n\n"))


def _ask_for_traceback(asked: bool) -> bool:
    _Requests.traceback = _Requests.traceback or asked
    return asked


def _ask_for_records(asked: bool) -> bool:
    if asked:
        redaction.show_records()
    return asked


Traceback = Annotated[
    bool,
    typer.Option(
        "--traceback",
        callback=_ask_for_traceback,
        help="Show where a failure comes from, call by call.",
        rich_help_panel=OUTPUT,
    ),
]


ShowRecords = Annotated[
    bool,
    typer.Option(
        "--show-records",
        callback=_ask_for_records,
        help="Show values of records and outputs in messages and reports.",
        rich_help_panel=OUTPUT,
    ),
]


# Failures


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """Turn whatever the block raises, but an interrupt, into an error of one line.

    Examples
    --------
    >>> with one_line():
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    dpaudit.errors.DpauditError: ended the program with sys.exit(0)
    """
    from dpaudit.errors import DpauditError

    try:
        yield
    except (DpauditError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _in_one_line(error) from error


def _in_one_line(error: BaseException) -> DpauditError:
    from dpaudit.errors import DpauditError

    if isinstance(error, DpauditError):
        return error
    line = DpauditError(_format_unforeseen_error(error))
    line.__cause__ = error
    return line


def _format_unforeseen_error(error: BaseException) -> str:
    """Return the failure of somebody else's code; without such code, an unexpected error."""
    from dpaudit.errors import place_of, what_happened

    what = what_happened(error)
    if isinstance(error, SystemExit) or place_of(error) is not None:
        return what
    return f"an unexpected error, {what}; --traceback or DPAUDIT_DEBUG=1 shows where"


@contextlib.contextmanager
def collect_failures(failures: list[DpauditError], name: str | None = None) -> Iterator[None]:
    """Record an exception of the block as a failure of one line, under a name if there is one.

    Interrupts pass.

    Examples
    --------
    >>> failures = []
    >>> with collect_failures(failures, "second"):
    ...     raise SystemExit(0)
    >>> print(failures[0])
    second: ended the program with sys.exit(0)
    """
    from dpaudit.errors import DpauditError

    try:
        with one_line():
            yield
    except DpauditError as error:
        failures.append(error if name is None else add_error_name(error, name))


def add_error_name(error: DpauditError, name: str) -> DpauditError:
    """Return an error whose message begins with a name."""
    from dpaudit.errors import DpauditError

    longer = DpauditError(f"{name}: {_format_error(error)}")
    longer.__cause__ = error
    return longer


def report_failures(status: int, failures: Sequence[DpauditError]) -> int:
    """Say every failure on a line of its own; return the status, or 2 if there was a failure.

    Examples
    --------
    >>> report_failures(REFUTED, [])
    1
    """
    for failure in failures:
        print_error(failure)
    # A failure outweighs a refutation: status 1 says that every verdict was reached.
    return UNFINISHED if failures else status


def print_error(error: BaseException) -> None:
    """Show an error on one line, below its traceback if that was asked for."""
    from dpaudit.errors import calls_of

    if _Requests.traceback:
        streams.write_to_stderr(calls_of(error).rstrip())
    streams.write_to_stderr(f"error: {_format_error(error)}")


def _format_error(error: BaseException) -> str:
    from dpaudit.errors import InvalidArgument, what_happened, words_of

    if isinstance(error, InvalidArgument) and str(error.value) == "None":
        if error.name in _Requests.not_given:
            return f"--{error.name.replace('_', '-')}: not given, expected {error.expected}"
    return words_of(error) or what_happened(error)


# What ends early is read no further, as of `dpaudit list | head`, and there is no verdict to lose.
_LISTING = frozenset({"list", "show", "ledger", "schema", "version", "store"})
_HELP = frozenset({"--help", "-h", "--version", "--list"})


@contextlib.contextmanager
def set_listing_mode(words: Sequence[str]) -> Iterator[None]:
    """Set, for the block, whether the command only lists, so that its reader may stop early."""
    before = _Requests.only_lists
    _Requests.only_lists = not words or words[0] in _LISTING or not _HELP.isdisjoint(words)
    try:
        yield
    finally:
        _Requests.only_lists = before


def report_run_end(error: BaseException) -> int:
    """Report the end of a run, and return its status.

    Examples
    --------
    >>> report_run_end(KeyboardInterrupt())
    130
    """
    if not isinstance(error, KeyboardInterrupt):
        if not (_Requests.only_lists and isinstance(error.__cause__, BrokenPipeError)):
            print_error(_in_one_line(error))
        return UNFINISHED
    said = f": {error}" if isinstance(error, Interruption) else ""
    streams.write_to_stderr(f"{'terminated' if _Requests.to_terminate else 'interrupted'}{said}")
    return TERMINATED if _Requests.to_terminate else INTERRUPTED


# Signals


@contextlib.contextmanager
def convert_termination_to_interrupt() -> Iterator[None]:
    """Let a request to terminate end the block as an interrupt does: finished audits are kept.

    A process that ignores the signal goes on ignoring it.
    """
    _Requests.to_terminate, _Requests.traceback = False, bool(os.environ.get("DPAUDIT_DEBUG"))
    with contextlib.suppress(ValueError):  # only the main thread is told of signals
        # A handler that somebody else set, or an ignored signal, is left alone: the program may
        # be part of a larger one that counts on it.
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _set_termination)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _set_termination:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _set_termination(number: int, frame: FrameType | None) -> None:
    _Requests.to_terminate = True
    raise KeyboardInterrupt
