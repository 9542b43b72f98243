"""Which instructions of people's code a run executes, so that two runs can be held side by side.

A symbol may lead code another way than an array does: by its class, by an attribute, by an error
that somebody catches. Where that happens, other instructions are executed. They are followed in
every frame of code that is of no library, and each frame is told by a number that depends on all
that it executed until it returned or yielded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from dpaudit.freezing import tracked

_OWN = ("dpaudit.proving.", "dpaudit.freezing.", "dpaudit.affine.", "dpaudit.execution.")
Steps = set[tuple[CodeType, int]]


@contextmanager
def followed(steps: Steps) -> Iterator[None]:
    """Note what frames of people's code execute inside the block.

    Parameters
    ----------
    steps
        Where it is noted: code, and a number for what was executed of it.
    """
    before, held = sys.gettrace(), dict[FrameType, int]()

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not _is_followed(code, str(frame.f_globals.get("__name__", ""))):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        known = held.pop(frame, 0)
        return _follower(code, known, steps, held)

    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def _follower(code: CodeType, known: int, steps: Steps, held: dict[FrameType, int]) -> Any:
    """Return what is called for each instruction of a frame, and where it returns or yields."""
    number = known

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal number
        if event == "opcode":
            number = hash((number, frame.f_lasti))
        elif event == "return":
            steps.add((code, number))
            if code.co_flags & _GENERATOR:
                held[frame] = number
        return follow

    return follow


_GENERATOR = 0x20 | 0x80 | 0x200  # generators, coroutines, and both


@lru_cache(maxsize=8192)
def _is_followed(code: CodeType, module: str) -> bool:
    if module.startswith(_OWN) or tracked.is_installed(code.co_filename):
        return False
    return not code.co_filename.startswith("<frozen")
