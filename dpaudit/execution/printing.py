"""Prints of other people's code: the first lines in full, the number of the rest.

Its standard output and its standard error are one here; ``DPAUDIT_DEBUG`` shows all of it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from dpaudit.escaping import make_printable

SHOWN = 10  # lines
_DEBUG = "DPAUDIT_DEBUG"
_WIDTH = 2000  # bytes of a line: what is longer counts as several


class PrintReader(threading.Thread):
    """Reads all text that worker processes print until all of them have ended.

    Parameters
    ----------
    source, target
        Descriptors: the end of a pipe that is read, and where its first lines go.
    """

    def __init__(self, source: int, target: int) -> None:
        super().__init__(name="dpaudit prints", daemon=True)
        self.source, self.target, self.lines = source, target, 0
        self.shown = sys.maxsize if os.environ.get(_DEBUG) else SHOWN

    def run(self) -> None:
        """Show the first lines, and read the others so that nobody waits for room."""
        with os.fdopen(self.source, "rb") as stream:
            while line := stream.readline(_WIDTH):
                self.lines += 1
                if self.lines <= self.shown:
                    self._say(line.decode("utf-8", "replace").rstrip("\r\n"))

    def finish(self, patience: float) -> None:
        """Say how many lines were left out, once the processes have ended."""
        with contextlib.suppress(RuntimeError):  # it was never started
            self.join(patience)
        more, self.lines = self.lines - self.shown, 0
        if more > 0:
            self._say(f"and {more:,} more line{'s' if more > 1 else ''} that the code printed")

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self.target, f"{make_printable(text)}\n".encode("utf-8", "backslashreplace"))
