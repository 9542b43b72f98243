"""A process in a package's own environment that answers with the results of functions.

`dpaudit.scan.remote.probe` runs there, by that environment's python, without dpaudit and with none
of the caller's settings of Python. An answer that takes too long ends the process, and the next
question starts another.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dpaudit.scan.certification.events import Run

PROBE = Path(__file__).with_name("probe.py")
START = 60.0  # seconds that importing a package may take


@dataclass(frozen=True, kw_only=True)
class InstalledPackage:
    """The environment of an installed package, and the plain module that states its calls.

    Parameters
    ----------
    python
        The environment's interpreter.
    code
        The file of the plain module.
    """

    python: Path
    code: Path

    def run(self, text: str, seconds: float) -> str | None:
        r"""Return the text that a script prints there, run in an empty folder; None if it fails.

        Examples
        --------
        >>> import sys
        >>> there = InstalledPackage(python=Path(sys.executable), code=Path("none.py"))
        >>> there.run("print(1 + 1)", seconds=60)
        '2\n'
        """
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "reproduction.py").write_text(text, encoding="utf-8")
            asked = [str(self.python), "-I", "reproduction.py"]
            with _start_program(asked, folder, subprocess.DEVNULL) as process:
                try:
                    printed, _ = process.communicate(timeout=seconds)
                except subprocess.TimeoutExpired:
                    return None
        return printed.decode("utf-8", "replace") if process.returncode == 0 else None


@contextlib.contextmanager
def _start_program(asked: list[str], folder: str | None, given: int) -> Any:
    """Start a program in a session of its own, and end all of it."""
    process = subprocess.Popen(
        asked,
        cwd=folder,
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            # The whole session is ended: a package's own workers would outlive the process, and
            # hold the pipe open.
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@dataclass
class Bench:
    """Asks one function of a place, until a moment of `time.monotonic`; a context manager."""

    installed: InstalledPackage
    function: str
    until: float = math.inf
    _open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _process: Any = None
    _text: bytes = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def left(self) -> float:
        """Seconds until its end."""
        return max(0.0, self.until - time.monotonic())

    def parts(
        self, parameters: str, datasets: tuple[str, str], runs: int, seconds: float
    ) -> list[list[Run]] | None:
        """Return the parts of so many outputs on both datasets, or of fewer if the time is over.

        Parameters
        ----------
        parameters, datasets
            Python expressions.
        runs, seconds
            At most so many outputs on each, and about so much time for each.

        Returns
        -------
        list or None
            None if nothing came: the process failed, or hung.
        """
        order = {"parameters": parameters, "datasets": datasets, "runs": runs, "seconds": seconds}
        longest = min(self.left, 3 * seconds + START)
        answer = self._asked(json.dumps(order).encode() + b"\n", longest)
        sides = (answer or {}).get("sides")
        return sides if _are_runs(sides) else None

    def _asked(self, order: bytes, seconds: float) -> dict[str, Any] | None:
        if self._process is None:
            asked = [
                str(self.installed.python),
                "-I",
                str(PROBE),
                str(self.installed.code),
                self.function,
            ]
            self._process = self._open.enter_context(_start_program(asked, None, subprocess.PIPE))
        try:
            self._process.stdin.write(order)
            self._process.stdin.flush()
            line = self._line(time.monotonic() + seconds)
        except (BrokenPipeError, ConnectionError):
            line = None
        if line is None:
            self._end()
            return None
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):  # the package wrote where answers are read
            found = None
        if not isinstance(found, dict):
            self._end()
            return None
        return found

    def _line(self, until: float) -> bytes | None:
        """Return the next line of the process, None if it ends or none is there in time."""
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._text:
            ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
            # The pipe is read past Python's buffer, as `select` does not see what a buffer has
            # taken already.
            read = os.read(pipe, 1 << 20) if ready else b""
            if not read:
                return None
            self._text += read
        line, _, self._text = self._text.partition(b"\n")
        return line

    def _end(self) -> None:
        self._open.close()
        self._open, self._process, self._text = contextlib.ExitStack(), None, b""


def _are_runs(sides: Any) -> bool:
    """Return whether an answer holds outputs of both datasets, part by part."""
    return (
        isinstance(sides, list)
        and len(sides) == 2
        and all(isinstance(runs, list) and runs for runs in sides)
        and all(_is_run(run) for runs in sides for run in runs)
    )


def _is_run(run: Any) -> bool:
    return isinstance(run, dict) and all(
        isinstance(cell, list) and len(cell) == 2 for cell in run.values()
    )
