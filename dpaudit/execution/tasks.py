"""Tasks for another process: how they are called there, and how they get there."""

from __future__ import annotations

import io
import pickletools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from dpaudit.errors import DpauditError, warning_line, what_happened
from dpaudit.execution.failures import CannotTravel, CodeFailed
from dpaudit.execution.threads import already_on_one_thread
from dpaudit.execution.units import Unit
from dpaudit.records import Policy, adopt, policy

# Packages that every fresh process may have from the start: they keep no state of a mechanism.
_LIBRARIES = {
    *("dpaudit", "numpy", "pandas", "scipy", "sklearn", "statsmodels", "joblib"),
    *("pytest", "_pytest", "hypothesis", "pydantic", "rich"),
}


# Types of generators of whole programs, of which a mechanism may hold one too.
_GENERATORS = {("numpy.random.mtrand", "RandomState"), ("random", "Random")}


class OnUnit:
    """A task as a worker calls it, with the parts of a unit.

    What messages say of records is in force there before the task is unpickled, which may fail.
    """

    def __init__(self, task: Callable[[Unit], Any]) -> None:
        self.task = task

    def __reduce__(self) -> tuple[Callable[..., OnUnit], tuple[Any, ...]]:
        return _arrived, (_InForce(policy()), self.task)

    def __call__(self, trials: int, seed: np.random.SeedSequence, which: int = 0) -> Any:
        """Return what the task makes of a unit."""
        already_on_one_thread()
        try:
            return self.task(Unit(trials, seed, which))
        except BaseException as error:  # a task is other people's code
            if type(error).__module__.startswith("dpaudit."):
                raise
            raise CodeFailed(what_happened(error)) from error


class _InForce:
    """A policy that holds in the process where it is unpickled."""

    def __init__(self, chosen: Policy) -> None:
        self.chosen = chosen

    def __reduce__(self) -> tuple[Callable[..., Policy], tuple[Any, ...]]:
        return adopt, (self.chosen,)


def _arrived(_: Policy, task: Callable[[Unit], Any]) -> OnUnit:
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


class Calling:
    """A call as a task: of a function, with arguments."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, unit: Unit) -> Any:
        """Return what the function returns; the unit is nothing to it."""
        return self.function(*self.arguments)


def pickled(task: Any) -> bytes:
    """Return an object for another process; functions that cannot be imported there go along.

    Raises
    ------
    CannotTravel
        It holds what only this process has: an open file, a lock, a connection.
    """
    import cloudpickle

    with _travels():
        blob: bytes = cloudpickle.dumps(task)
    return blob


@contextmanager
def _travels() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, DpauditError):
        raise
    except BaseException as error:  # pickling runs other people's code
        raise CannotTravel(what_happened(error)) from error


def with_generators_of_its_own(task: Any) -> bytes:
    """Return an object for other processes, in each of which its generators have other numbers.

    A copy of a generator would repeat in every process what it draws. Raises what `pickled` does.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, given: Any) -> Any:
            if isinstance(given, np.random.Generator):
                return _another_generator, (type(given.bit_generator),)
            if (type(given).__module__, type(given).__qualname__) in _GENERATORS:
                return type(given), ()
            return super().reducer_override(given)

    file = io.BytesIO()
    with _travels():
        Pickler(file).dump(task)
    return file.getvalue()


def _another_generator(kind: type[np.random.BitGenerator]) -> np.random.Generator:
    return np.random.Generator(kind())


def libraries_of(blob: bytes) -> list[str]:
    """Return the modules of libraries, none of a user's, that unpickling something imports."""
    words = {given for _, given, _ in pickletools.genops(blob) if isinstance(given, str)}
    return sorted(
        word for word in words if word in sys.modules and word.partition(".")[0] in _LIBRARIES
    )


def libraries_here() -> list[str]:
    """Return the modules of libraries, none of a user's, that this process has."""
    return sorted(name for name in sys.modules if name.partition(".")[0] in _LIBRARIES)


def by_value(modules: Iterable[ModuleType]) -> None:
    """Let what these modules define go along as it is, as another process cannot import them."""
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
