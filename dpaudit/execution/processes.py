"""One worker process, as `dpaudit.execution.pool` sees it: its tasks, and how it ended.

`dpaudit.execution.worker` is the other side.
"""

from __future__ import annotations

import socket
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import dpaudit._check as check
from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText
from dpaudit.execution import worker
from dpaudit.execution.failures import (
    NO_ANSWER,
    CodeFailed,
    DrawTimeout,
    TakesNoMore,
    WorkerEnded,
    format_exit_status,
    gone,
    is_answer,
    make_worker_error,
)
from dpaudit.execution.keeper import KeeperProcess, the_keeper
from dpaudit.execution.units import Unit

_GRACE = 1.0  # seconds that a worker has to end what it was asked, when the time for draws is over


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a call of other people's code.

    Parameters
    ----------
    timeout
        Seconds that one call may take; None for any time.
    memory
        Bytes that a worker may have; None for any number.

    Examples
    --------
    >>> Limits(timeout=0)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: timeout: got 0, expected a finite number above 0
    """

    timeout: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            check.require_positive("timeout", self.timeout)
        if self.memory is not None:
            check.require_integer("memory", self.memory, least=2**20)


@dataclass(frozen=True)
class TaskReference:
    """A task that a worker finds by its name, in whatever environment it is (docs/isolation.md).

    Parameters
    ----------
    reference
        ``"module:object"``, or the path of a file of Python in the place of the module.
    value
        What the object is called with, as typed data; beside it, trials and a generator.
    """

    reference: str
    value: Any


Task = bytes | TaskReference


@dataclass
class UnitRequest:
    """Units that a worker was asked for: where they stand in the plan, and how many are open."""

    first: int
    units: int


@dataclass
class Worker:
    """One process, and the tasks that it was given."""

    limits: Limits
    keeper: KeeperProcess
    channel: socket.socket
    pid: int
    loaded: set[str] = field(default_factory=set)
    asked: deque[UnitRequest] = field(default_factory=deque)
    called: bool = False  # whether it has computed units: it may be what their code made of it
    since: float = 0.0
    until: float | None = None

    @classmethod
    def started(cls, limits: Limits, python: str | None = None) -> Worker:
        """Return a process that was started, of this environment or another."""
        keeper = the_keeper(python)
        try:
            channel, pid = keeper.start(limits.memory)
        except OSError as error:
            expected = f"1 or more processes that can be started ({error})"
            raise InvalidArgument("workers", VerbatimText("a worker"), expected) from error
        return cls(limits, keeper, channel, pid)

    def load(self, name: str, task: Task) -> None:
        """Send a task; it comes with the next answer whether it arrived."""
        message: dict[str, Any] = {"do": "load", "task": name, "forget": list(self.loaded)}
        if isinstance(task, TaskReference):
            self._send(message | {"reference": task.reference}, task.value)
        else:
            self._send(message | {"path": sys.path}, task)
        # The message tells the worker to forget all others, so that this task is the only one it
        # has.
        self.loaded = {name}
        self.asked.append(UnitRequest(-1, 0))

    def run(self, name: str, first: int, units: Sequence[Unit]) -> None:
        """Ask for units of a task."""
        parts = [(u.trials, u.seed.entropy, list(u.seed.spawn_key), u.which) for u in units]
        self._send({"do": "run", "task": name, "units": parts})
        self.asked.append(UnitRequest(first, len(units)))

    def _send(self, message: dict[str, Any], value: Any = None) -> None:
        if not self.asked:
            self.since = monotonic()
        try:
            worker.send_message(self.channel, message, value)
        except (BrokenPipeError, ConnectionError):
            raise self._how_it_ended() from None

    def answer(self) -> dict[str, Any]:
        """Return the next answer.

        Raises
        ------
        WorkerEnded
            There will be none.
        DpauditError
            What was asked for failed.
        """
        left = self.left
        try:  # what began need not go on
            self.channel.settimeout(None if left is None else max(left, _GRACE))
            message = worker.receive_message(self.channel, self.limits.memory)
            self.channel.settimeout(None)
        except TimeoutError:
            raise self.overrun() from None
        except ConnectionError:
            message = None
        except (ValueError, MemoryError, RecursionError):
            message = {}
        if message is None:
            raise self._how_it_ended()
        if not is_answer(message, self.asked[0].units):
            # After nonsense nothing else on the channel can be trusted.
            self.end()
            raise WorkerEnded(NO_ANSWER)
        self.since = monotonic()
        if "failed" in message:
            raise self._failed(message)
        self.called = self.called or bool(self.asked[0].units)
        return message

    def _failed(self, message: dict[str, Any]) -> DpauditError:
        """Return the error of a task, or the one of a process that cannot take another up."""
        found = make_worker_error(message["failed"], message["value"])
        if message.get("inside") is True or type(found) is not DpauditError:
            return found
        stopped = TakesNoMore(str(found))
        ran = self.called or self.asked[0].units
        return CodeFailed(stopped.after_calls()) if ran else stopped

    @property
    def left(self) -> float | None:
        """Seconds that it may still take to answer, None for any number."""
        if not self.asked:
            return None
        # Requests that were made before the end have a moment to finish, else nothing they drew
        # counts.
        ends = [] if self.until is None else [self.until + _GRACE]
        ends += [] if self.limits.timeout is None else [self.since + self.limits.timeout]
        return min(ends) - monotonic() if ends else None

    def overrun(self) -> WorkerEnded | DrawTimeout:
        """End it, and return the error that says why."""
        self.end()
        # A call that took too long as well is not called one: nobody saw it end by itself.
        if self.until is not None and monotonic() >= self.until:
            return out_of_time()
        return WorkerEnded(
            f"was stopped after {self.limits.timeout:g} seconds without an answer; "
            "--timeout allows more"
        )

    def end(self) -> None:
        """End it now, whatever it does."""
        self.keeper.kill(self.pid)
        self.channel.close()

    def _how_it_ended(self) -> WorkerEnded:
        status = self.keeper.status_of(self.pid)
        self.channel.close()
        if status is None:
            return WorkerEnded(gone(self.keeper.status))
        return WorkerEnded(format_exit_status(status, self.limits.memory))


def out_of_time() -> DrawTimeout:
    """Return the error for draws whose time is over."""
    return DrawTimeout("no time: the seconds that there were for it are over")
