"""What a process and all that it started have taken of a processor."""

from __future__ import annotations

import os
from pathlib import Path


def processor_seconds(process: int | str = "self") -> float:
    """Return what a process, those it started, and theirs have taken of a processor (Linux)."""
    folder = Path("/proc") / str(process)
    try:
        taken = (folder / "stat").read_text().rpartition(")")[2].split()[11:15]
        started = [
            one for task in folder.glob("task/*/children") for one in task.read_text().split()
        ]
    except OSError:  # it ended meanwhile: its parent has its time
        return 0.0
    own = sum(map(int, taken)) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(processor_seconds, started))
