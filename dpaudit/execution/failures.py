"""Failures of other people's code in another process, in words and as the original error."""

from __future__ import annotations

import builtins
import contextlib
import signal
from collections.abc import Iterator
from typing import Any

import dpaudit.errors as errors
from dpaudit.errors import (
    DpauditError,
    InvalidArgument,
    MechanismError,
    VerbatimText,
    format_error_words,
    shorten_repr,
    what_happened,
)
from dpaudit.execution.worker import CLOSED, CannotBeSent, CopyReturned
from dpaudit.redaction import are_shown


class CodeFailed(MechanismError):
    """Other people's code raised an error, or left; the message says which, and in which line."""


class WorkerEnded(MechanismError):
    """A worker process ended, or was ended, in the middle of other people's code."""


class DrawTimeout(DpauditError):
    """The time that somebody gave to draws is over: it says nothing of the code that ran."""


class CannotTravel(DpauditError):
    """An object that no other process can have."""


class TakesNoMore(CannotTravel):
    """A task that a process could not take up."""

    def after_calls(self) -> str:
        """Return the failure of a process that took up others before."""
        return (
            "its process takes no more work after a call, as where the code replaces functions of "
            f"numpy or Python, such as np.array: leave them as they are ({self})"
        )


class _There(Exception):
    """The place in a worker where an error arose, for the traceback."""

    def __str__(self) -> str:
        return f"in a worker process\n{self.args[0]}"


def gone(keeper: int | None) -> str:
    """Return why a worker is gone of which nobody knows how it ended, by its keeper's status.

    Examples
    --------
    >>> print(gone(0))
    ended with the process that keeps it, which ended with status 0, as by os._exit
    """
    if keeper is None:
        return "does not answer any more, as where its code closed a descriptor of somebody else's"
    return f"ended with the process that keeps it, which {format_exit_status(keeper)}"


def format_exit_status(status: int, memory: int | None = None) -> str:
    """Return how a process ended, in words.

    Examples
    --------
    >>> print(format_exit_status(0))
    ended with status 0, as by os._exit
    >>> print(format_exit_status(-9))
    was ended by signal 9 (SIGKILL), as when memory runs out
    """
    if status == CLOSED:
        return "lost its channel: the code closed descriptors that it did not open"
    if status >= 0:
        return f"ended with status {status}, as by os._exit"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "no name"
    limit = "" if memory is None else f" of {memory / 2**20:g} MiB"
    causes: dict[int, str] = {
        signal.SIGKILL: f", as when memory{limit} runs out",
        signal.SIGALRM: ", as where a call takes much longer than --timeout allows",
        signal.SIGSEGV: ", a fault of compiled code",
        signal.SIGABRT: ", a fault of compiled code",
    }
    return f"was ended by signal {-status} ({name}){causes.get(-status, '')}"


def _format_remote_error(what: dict[str, Any]) -> str:
    """Return the words of an error that dpaudit did not raise; the protocol's own names a type."""
    if what["name"] == CannotBeSent.__name__:
        return shorten_repr(what["words"])
    kind = getattr(builtins, what["name"], Exception)
    written = str(what.get("written", "")).split()
    return format_error_words(kind if isinstance(kind, type) else Exception, what["words"], written)


def make_worker_error(what: dict[str, Any], arguments: Any) -> DpauditError:
    """Return the error that a worker described: dpaudit's own as it was, others in words."""
    if what["name"] == CopyReturned.__name__:
        return WorkerEnded(f"{what['words']}; end such a copy with os._exit")
    homes = {"dpaudit.errors": vars(errors), __name__: globals()}
    kind = homes.get(what["module"], {}).get(what["name"])
    if not (isinstance(kind, type) and issubclass(kind, DpauditError)):
        found = DpauditError(f"{what['name']}: {_format_remote_error(what)}")
    elif kind is InvalidArgument and arguments:
        found = InvalidArgument(arguments[0], VerbatimText(arguments[1]), arguments[2])
    else:
        found = kind(*arguments) if arguments else DpauditError(what["words"])
    found.__cause__ = _There(what["told" if are_shown() else "calls"])
    return found


NO_ANSWER = (
    "sent data that are not an answer; perhaps its code wrote into the channel or replaced json"
)
_FAILED = {"module", "name", "words", "calls", "told"}


def is_answer(message: dict[str, Any], units: int) -> bool:
    """Return whether a message is an answer to a request of so many units: it may be a lie."""
    if "failed" in message:
        failed = message["failed"]
        texts = isinstance(failed, dict) and all(isinstance(one, str) for one in failed.values())
        return texts and failed.keys() >= _FAILED
    if "value" not in message:
        return False
    found = message["value"]
    timed = isinstance(message.get("seconds"), float | int)
    return not units or (timed and isinstance(found, list) and 0 < len(found) <= units)


@contextlib.contextmanager
def convert_unforeseen_errors() -> Iterator[None]:
    """Turn an unexpected error into one line: other people's outputs may cause it."""
    try:
        yield
    except DpauditError:
        raise
    except Exception as error:
        raise DpauditError(f"an unexpected error, {what_happened(error)}") from error
