"""The process that keeps worker processes, as the program sees it.

There is one for each program, started when it is first needed. It ends when the program does,
however that happens, and every worker with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dpaudit._references import stop_here
from dpaudit.errors import require_posix
from dpaudit.execution import worker
from dpaudit.execution.printing import PrintReader
from dpaudit.execution.threads import ONE_THREAD

_SCRIPT = Path(worker.__file__)
_HOME = str(_SCRIPT.parents[2])
# What every task needs; a worker has it from the start.
# numpy loads its masked arrays when somebody first asks for them.
_PRELOADED = (
    "dpaudit.mechanisms.outputs.unit_draws",
    "dpaudit.store.identity",
    "cloudpickle",
    "numpy.ma",
)
_PATIENCE = 10.0  # seconds for a process to be known as ended
# Seconds for one to start: a loaded machine may need minutes, and a keeper that ended is seen at
# once, so that nobody waits in vain.
_STARTING = 600.0


class KeeperProcess:
    """The process that starts workers and knows how they ended; one for each Python.

    Parameters
    ----------
    python
        Of another environment, in which dpaudit need not be installed: what is printed there is
        dropped. None for this one.
    """

    def __init__(self, python: str | None = None) -> None:
        require_posix("a mechanism in a process of its own")
        ours, theirs = socket.socketpair()
        with theirs:
            # Of another environment, nothing of this one's is in the way (PYTHONPATH).
            command = [sys.executable] if python is None else [python, "-I"]
            said = _standard_error() if python is None else subprocess.DEVNULL
            self.printed, printed = _open_print_pipe(said)
            self.process = subprocess.Popen(
                [*command, str(_SCRIPT), str(theirs.fileno())],
                env=os.environ | ONE_THREAD,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt from the terminal is not for it
            )
        if self.printed is not None:
            os.close(printed)
            self.printed.start()
        self.control, self.owner = ours, os.getpid()
        # Several threads start workers over one channel: each must read its own answer.
        self.lock = threading.Lock()
        # A worker's end is read whenever something else is waited for, and kept here until asked
        # for.
        self.ended: dict[int, int] = {}
        self._text = b""
        self._known: set[str] = set()
        if python is None:
            self.preload(_PRELOADED)

    def preload(self, modules: Iterable[str]) -> None:
        """Let workers that are started from now on have these modules, which are dpaudit's own."""
        new = [name for name in modules if name not in self._known]
        self._known.update(new)
        if new:
            self._say({"do": "preload", "modules": new, "path": [_HOME]})

    def start(self, memory: int | None) -> tuple[socket.socket, int]:
        """Return the channel and the number of a new worker."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self.lock:
                here = {
                    "folder": _get_working_folder(),
                    "environment": dict(os.environ) | ONE_THREAD,
                }
                self._say({"do": "start", "memory": memory, **here}, [theirs.fileno()])
                while "started" not in (line := self._line(_STARTING)):
                    self.ended[line["ended"]] = line["status"]
        except TimeoutError as error:
            ours.close()
            raise OSError(_too_slow()) from error
        except OSError:
            ours.close()
            raise
        return ours, line["started"]

    def kill(self, pid: int) -> None:
        """End a worker and all that it started."""
        with contextlib.suppress(OSError):
            self._say({"do": "kill", "pid": pid})

    def status_of(self, pid: int) -> int | None:
        """Return how a worker ended, None if nobody knows."""
        with self.lock, contextlib.suppress(OSError):
            while pid not in self.ended:
                line = self._line(_PATIENCE)
                self.ended[line["ended"]] = line["status"]
        return self.ended.pop(pid, None)

    @property
    def is_ours(self) -> bool:
        """Whether it runs, and keeps the workers of this process and not of its parent."""
        return self.owner == os.getpid() and self.process.poll() is None

    @property
    def status(self) -> int | None:
        """The end of the keeper itself; None if it runs, or belongs to another process."""
        if self.owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(1.0)
        return None

    def _say(self, what: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        text = json.dumps(what).encode() + b"\n"
        if descriptors:
            socket.send_fds(self.control, [text], list(descriptors))
        else:
            self.control.sendall(text)

    def _line(self, patience: float) -> dict[str, Any]:
        self.control.settimeout(patience)
        while b"\n" not in self._text:
            data = self.control.recv(65536)
            if not data:
                raise ConnectionError("the keeper of the worker processes ended")
            self._text += data
        line, _, self._text = self._text.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """Let it end, and everything with it."""
        self.control.close()
        if self.owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_PATIENCE)
            if self.printed is not None:
                self.printed.finish(1.0)


_keepers: dict[str | None, KeeperProcess] = {}
_starting = threading.Lock()


def the_keeper(python: str | None = None) -> KeeperProcess:
    """Return the keeper of this program for a Python, started when there is none."""
    stop_here()
    with _starting:
        known = _keepers.get(python)
        if known is not None and known.process.poll() is not None:
            known.close()
            known = None
        if known is None:
            known = _keepers[python] = KeeperProcess(python)
    return known


@atexit.register
def _close_keepers() -> None:
    for keeper in _keepers.values():
        keeper.close()


def _forget_keeper() -> None:
    """Let a copy of this process have no keeper, nor hold on to its parent's."""
    for keeper in _keepers.values():
        # The keeper ends once its channel is closed in every process, also in copies of this one.
        keeper.control.close()
    _keepers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_keeper)


def _too_slow() -> str:
    """Return why no process started in its time, and the remedies."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = f"{load:.0f} programs want to run on {cores} core{'s' if cores > 1 else ''}"
    return (
        f"none started within {_STARTING:g} seconds, as {busy}: take fewer workers, or run it when "
        "the machine has less to do"
    )


def _get_working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _open_print_pipe(said: int) -> tuple[PrintReader | None, int]:
    """Return the reader of printed text, None if nobody reads, and the target of prints."""
    if said == subprocess.DEVNULL:
        return None, said
    source, target = os.pipe()
    return PrintReader(source, said), target


def _standard_error() -> int:
    """Return where a worker's output goes: standard output of the program is for results."""
    # What has the number 2 in a program that was started without it is a file of somebody's.
    return subprocess.DEVNULL if sys.__stderr__ is None else 2
