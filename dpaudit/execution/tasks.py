"""Tasks for another process: how they are called there, and how they get there."""

from __future__ import annotations

import gc
import hashlib
import os
import pickletools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from dpaudit.errors import warning_line, what_happened
from dpaudit.execution.failures import CodeFailed
from dpaudit.execution.parcels import parcel_of
from dpaudit.execution.threads import already_on_one_thread
from dpaudit.execution.units import Unit
from dpaudit.redaction import Policy, get_policy, set_policy

# Packages that every fresh process may have from the start: they keep no state of a mechanism.
_LIBRARIES = {
    *("dpaudit", "numpy", "pandas", "scipy", "sklearn", "statsmodels", "joblib"),
    *("pytest", "_pytest", "hypothesis", "pydantic", "rich"),
}


class OnUnit:
    """A task as a worker calls it, with the parts of a unit.

    What messages say of records is in force there before the task is unpickled, which may fail.

    Parameters
    ----------
    task
        What is called.
    is_last
        Whether its process ends with it: `has_last_task` says so from before it is unpickled.
    """

    def __init__(self, task: Callable[[Unit], Any], *, is_last: bool = False) -> None:
        self.task, self.is_last = task, is_last

    def __reduce__(self) -> tuple[Callable[..., OnUnit], tuple[Any, ...]]:
        return _load_unit_task, (_InForce(get_policy()), _Coming(is_last=self.is_last), self.task)

    def __call__(self, trials: int, seed: np.random.SeedSequence, which: int = 0) -> Any:
        """Return the task's result for a unit."""
        already_on_one_thread()
        try:
            return self.task(Unit(trials, seed, which))
        except BaseException as error:  # a task is other people's code
            # Errors of dpaudit keep their type; all others become text, as their types may not
            # exist elsewhere.
            if type(error).__module__.startswith("dpaudit."):
                raise
            raise CodeFailed(what_happened(error)) from error


class _InForce:
    """A policy that holds in the process where it is unpickled."""

    def __init__(self, chosen: Policy) -> None:
        self.chosen = chosen

    def __reduce__(self) -> tuple[Callable[..., Policy], tuple[Any, ...]]:
        return set_policy, (self.chosen,)


class _Coming:
    """The facts about a task before it is unpickled."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return _set_last_task, (self.is_last,)


_last: list[bool] = []


def _set_last_task(is_last: bool) -> None:
    _last[:] = [is_last]


def has_last_task() -> bool:
    """Return whether this process ends with the task that it has: nobody asks it further things."""
    return _last == [True]


def _load_unit_task(_: Policy, __: None, task: Callable[[Unit], Any]) -> OnUnit:
    warnings.showwarning = _show_warning
    return OnUnit(task)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(warning_line(message, category, filename, lineno), file=sys.stderr)


def start_generators_anew() -> None:
    """Give every generator that this process has made another start, as no other process has it.

    Code that makes one from a number when it is imported would else draw the same in all processes.
    Generators in the same state stay so, as parties have them that share a seed.
    """
    # Random, and not from the audit's seed: two processes must not share it.
    own = os.urandom(16)
    for one in gc.get_objects():
        if isinstance(one, np.random.BitGenerator):
            one.state = type(one)(_compute_state_seed(own, one.state)).state
        elif (type(one).__module__, type(one).__qualname__) == ("random", "Random"):
            one.seed(_compute_state_seed(own, one.getstate()))


def _compute_state_seed(own: bytes, state: object) -> int:
    return int.from_bytes(hashlib.blake2b(own + repr(state).encode(), digest_size=16).digest())


class Calling:
    """A call as a task: of a function, with arguments."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, unit: Unit) -> Any:
        """Return the function's result; the unit is nothing to it."""
        return self.function(*self.arguments)


def to_pickle(task: Any) -> bytes:
    """Return an object for another process; functions that cannot be imported there go along.

    Raises
    ------
    CannotTravel
        It holds what only this process has: an open file, a lock, a connection.
    """
    return parcel_of(task).blob


def libraries_of(blob: bytes) -> list[str]:
    """Return the modules of libraries, none of a user's, that unpickling something imports."""
    words = {given for _, given, _ in pickletools.genops(blob) if isinstance(given, str)}
    return sorted(
        word for word in words if word in sys.modules and word.partition(".")[0] in _LIBRARIES
    )


def libraries_here() -> list[str]:
    """Return the modules of libraries, none of a user's, that this process has."""
    return sorted(name for name in sys.modules if name.partition(".")[0] in _LIBRARIES)
