"""A process that has imported other people's packages, and forks itself for every run of pytest.

Those imports take four seconds, longer than most tests that kill a fault. Reads a line of JSON for
each run (``arguments`` of pytest, ``log`` for its output, ``seconds`` of CPU that it may take) and
answers with one: ``status``, and whether it was ``late``. No process that a run started outlives
it, however far it went away, nor does any outlive this one. Nothing of dpaudit is imported here.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

BEFORE = """
    hypothesis hypothesis.strategies jinja2 joblib jsonschema matplotlib.pyplot mpmath networkx
    numpy pandas pydantic rich.console scipy.optimize scipy.signal scipy.special scipy.stats
    sklearn.linear_model threadpoolctl typer typer.testing
""".split()
# A run that took less CPU in so many seconds waits for what does not come: its test is told to
# fail, and if that is of no use, all ends.
_IDLE, _NOTHING, _PATIENCE = 60.0, 1.0, 3
_LOOK, _COUNT = 0.02, 2.0  # seconds between looks at a run, and between counts of its CPU
_TICK = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Answer line after line until there are no more."""
    _own_all_descendants()
    for name in BEFORE:
        importlib.import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _test(asked["arguments"], asked["log"])
        status = _ended(child, asked["seconds"])
        _end_descendants()
        print(json.dumps({"status": status, "late": status is None}), flush=True)


def _own_all_descendants() -> None:
    """Become the parent of orphans among descendants, and end with whoever started this."""
    with suppress(OSError, AttributeError):  # where there is no such call, as on macOS
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> None:
    _end_descendants()
    os._exit(143)


def _ended(child: int, seconds: float) -> int | None:
    """Return the status of a run, None if it took too much CPU or waits for ever."""
    before = _spent_by_ended()
    idle, at, taken = 0, time.monotonic(), 0.0
    counted = at
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_LOOK)
        if time.monotonic() < counted + _COUNT:
            continue
        counted = time.monotonic()
        spent = _spent_by_ended() - before + sum(map(_spent_by, _descendants()))
        if spent > seconds or idle == _PATIENCE:
            return None
        if time.monotonic() > at + _IDLE:
            idle = idle + 1 if spent < taken + _NOTHING else 0
            at, taken = time.monotonic(), spent
            if idle:
                os.kill(child, signal.SIGALRM)  # `tests.mutants.limit` makes its test fail


def _spent_by_ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _spent_by(pid: int) -> float:
    """Return CPU seconds of a process and of those that it has seen end."""
    fields = _fields(pid)
    return sum(map(int, fields[11:15])) / _TICK if fields else 0.0


def _fields(pid: int) -> list[str]:
    """Return what the system knows of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def _descendants() -> Iterator[int]:
    parents = {
        int(one.name): int(fields[1])
        for one in Path("/proc").glob("[0-9]*")
        if (fields := _fields(int(one.name)))
    }
    near = {os.getpid()}
    while near:
        near = {pid for pid, parent in parents.items() if parent in near}
        yield from near


def _end_descendants() -> None:
    """Kill all processes that a run left, and wait until they are gone."""
    while left := list(_descendants()):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(_LOOK)


def _test(arguments: list[str], log: str) -> None:
    os.setsid()
    status = 3  # what pytest calls an internal error
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for stream, path, mode in (
            (0, os.devnull, os.O_RDONLY),
            (1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            os.dup2(os.open(path, mode), stream)
        os.dup2(1, 2)
        status = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
