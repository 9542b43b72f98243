"""Instructions of people's code that a run executes, so that two runs can be compared.

A symbol may lead code another way than an array does: by its class, by an attribute, by an error
that somebody catches. Where that happens, other instructions are executed. They are followed in
every frame of code that is of no library, and each frame is told by a number that depends on all
that it executed until it returned or yielded, and until every so many instructions.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from dpaudit.freezing import tracked_noise
from dpaudit.proving.runs.names import asking_name

MOST_FOLLOWED = 60_000  # instructions of a run
_OFTEN = 256  # instructions between two of which a frame is told
_OWN = ("dpaudit.proving.", "dpaudit.freezing.", "dpaudit.affine.", "dpaudit.execution.")
_HANDING_ON = frozenset(("__get__",))  # functools.cached_property catches what its cache raises
_GENERATOR = 0x20 | 0x80 | 0x200  # generators, coroutines, and both


@dataclass(eq=False)
class Steps:
    """The instructions that a run has executed.

    Parameters
    ----------
    most
        The most instructions that are followed.
    seen
        Code, with a number for what a frame of it had executed.
    count
        How many instructions were followed.
    asks
        A name by which code asks objects, or the interpreter, for what they are; empty for none.
    catches
        The line of a function that catches what is raised; empty for none. What is raised for few
        records only, no run may meet.
    codes
        All code that a frame has executed.
    """

    most: int = MOST_FOLLOWED
    seen: set[tuple[CodeType, int]] = field(default_factory=set)
    count: int = 0
    asks: str = ""
    catches: str = ""
    codes: set[CodeType] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        """Whether the run was followed to its end."""
        return self.count < self.most


def least_followed(all_steps: Iterable[Steps]) -> int:
    """Return how far another run is followed than some: not as far as one that was left on the way.

    So a run that executes less, as results were kept, does not come to what was not followed.
    """
    return min((one.most if one.is_whole else one.most // 2) for one in all_steps)


@contextmanager
def record_steps(steps: Steps) -> Iterator[None]:
    """Record the instructions that frames of people's code execute inside the block."""
    before, held = sys.gettrace(), dict[FrameType, tuple[int, int]]()
    skipped = dict[int, CodeType]()  # held, so that no other code gets the number of one

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        # Of ten thousand frames all but a few are a library's: the hash of a code object would take
        # longer than all the rest.
        if id(code) in skipped:
            return None
        if not _is_followed(code, str(frame.f_globals.get("__name__", ""))):
            skipped[id(code)] = code
            return None
        steps.codes.add(code)
        steps.asks = steps.asks or asking_name(code, frame.f_globals)
        if not steps.catches and (_has_exception_handler(code) or _is_caught_around(frame)):
            steps.catches = f"{Path(code.co_filename).name}:{code.co_firstlineno} {code.co_name}"
        if not steps.is_whole:  # what code says is read also where nobody follows it
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return _make_step_follower(code, held.pop(frame, (0, 0)), steps, held)

    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def _make_step_follower(
    code: CodeType, known: tuple[int, int], steps: Steps, held: dict[FrameType, tuple[int, int]]
) -> Any:
    """Return the callback for each instruction of a frame, and for its returns and yields."""
    number, done = known

    def follow(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal number, done
        if event == "opcode":
            number, done = hash((number, frame.f_lasti)), done + 1
            if not done % _OFTEN:
                steps.seen.add((code, number))
            steps.count += 1
            if steps.count >= steps.most:
                frame.f_trace_opcodes = False
                return None
        # Returning None does not end the events of a frame: one that was left on the way returns
        # after instructions that nobody followed.
        elif event == "return" and steps.is_whole:
            steps.seen.add((code, number))
            if code.co_flags & _GENERATOR:
                held[frame] = number, done
        return follow

    return follow


@lru_cache(maxsize=8192)
def _is_followed(code: CodeType, module: str) -> bool:
    if module.startswith(_OWN) or tracked_noise.is_installed(code.co_filename):
        return False
    return not code.co_filename.startswith("<frozen")


def _is_caught_around(frame: FrameType) -> bool:
    """Return whether a library calls code that may go on after an error, or nobody hears."""
    if frame.f_code.co_name in ("<module>", "__del__"):
        return frame.f_code.co_name == "__del__"
    if frame.f_code.co_filename == "<string>":  # that of a named tuple of a library, say
        return False
    around = frame.f_back
    while around is not None and _is_of_others(around):
        if _has_exception_handler(around.f_code) and around.f_code.co_name not in _HANDING_ON:
            return True
        around = around.f_back
    return False


def _is_of_others(frame: FrameType) -> bool:
    is_ours = str(frame.f_globals.get("__name__", "")).startswith("dpaudit.")
    return not is_ours and tracked_noise.is_installed(frame.f_code.co_filename)


@lru_cache(maxsize=8192)
def _has_exception_handler(code: CodeType) -> bool:
    """Return whether code goes on after an error: by ``except``, ``finally`` or ``with``."""
    return any(one.opname == "PUSH_EXC_INFO" for one in dis.get_instructions(code))
