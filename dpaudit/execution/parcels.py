"""Parcels: objects pickled for other processes, and the parts that are the same in all of these.

A function or class of a module that can be imported goes by its name, one of a file that each
process runs afresh by that file (`dpaudit.execution.scripts`). Whatever else there is goes by
value: code that a notebook, a prompt or another function made, and what it names or holds. These
are the same in every process, whatever they are; a parcel names them.
"""

from __future__ import annotations

import io
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.errors import DpauditError, shorten_path, what_happened
from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.fingerprints import cells_of, names_of
from dpaudit.execution.scripts import ScriptSource, load_from_source, source_of, survey_of
from dpaudit.execution.value_origin import is_worked_out

# Types of generators of whole programs, of which a mechanism may hold one too.
_GENERATORS = {("numpy.random.mtrand", "RandomState"), ("random", "Random")}
# Values that hold no noise of their own, or are drawn anew in every process.
_CODE = (
    *(type(None), type, FunctionType, BuiltinFunctionType, MethodType, ModuleType),
    *(partial, property, staticmethod, classmethod, Enum),
)
_RANDOM = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)
_LIBRARIES = {"dpaudit", "numpy", "pandas", "scipy", "builtins", "collections", "functools"}
# The registry of cloudpickle is one for all threads of the process.
_registering = threading.RLock()


@dataclass
class Parcel:
    """A pickled object.

    Attributes
    ----------
    blob
        The pickle.
    held
        Values that went along: all processes have the same.
    changed
        Files that each process could run afresh, but for names that have other values since.
    unknown
        Files of which nobody has looked yet at what a fresh run gives.
    """

    blob: bytes = b""
    held: CarriedNames = field(default_factory=lambda: CarriedNames())
    changed: dict[ScriptSource, set[str]] = field(default_factory=dict)
    unknown: set[ScriptSource] = field(default_factory=set)

    @property
    def not_afresh(self) -> tuple[str, ...]:
        """Why code of files went by value, in words."""
        return tuple(sorted(map(_format_rerun_obstacle, self.changed, self.changed.values())))


def _format_rerun_obstacle(source: ScriptSource, names: set[str]) -> str:
    known = survey_of(source)
    file = shorten_path(source.path)
    if known is not None and known.words:
        return f"{file} cannot be run afresh ({known.words})"
    listed = ", ".join(sorted(names)[:6])
    return f"a fresh run of {file} up to its first call into dpaudit does not give {listed} so"


def parcel_of(
    given: Any,
    *,
    own_generators: bool = False,
    by_value: Iterable[str] = (),
    at_most: float = math.inf,
    names_held: bool = True,
) -> Parcel:
    """Return an object for other processes.

    Parameters
    ----------
    given
        What travels.
    own_generators
        Whether its generators have other numbers in each process: a copy of a generator would
        repeat in every process what it draws.
    by_value
        The names of modules whose code goes by value, as where no process can import it.
    at_most
        Bytes that a pickle may have.
    names_held
        Whether the parcel names the values that go along.

    Raises
    ------
    CannotTravel
        It holds what only this process has: an open file, a lock, a connection; or it is larger.

    Examples
    --------
    >>> scale = 2.0
    >>> def noisy(data):
    ...     return data * factor * scale
    >>> factor = 3.0
    >>> sorted(parcel_of(noisy).held.names)
    ['factor', 'scale']
    """
    import cloudpickle

    parcel, modules = Parcel(), _Modules(set(by_value))

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, given: Any) -> Any:
            if own_generators and (made := _reduce_generator(given)) is not None:
                return made
            if isinstance(given, (FunctionType, type)):
                if (found := _reduce_to_file_reference(given, parcel, modules)) is not None:
                    return found
                if names_held and modules.goes_by_value(given):
                    parcel.held.add_code(given)
            elif _is_wrapper(given):
                return _reduce_to_file_reference(given, parcel, modules) or _reduce_cached_wrapper(
                    given
                )
            elif names_held:
                parcel.held.add_object(given)
            return super().reducer_override(given)

    file = _BoundedBuffer(at_most)
    with _registering, _convert_pickling_errors(), modules:
        Pickler(file, protocol=cloudpickle.DEFAULT_PROTOCOL).dump(given)
    parcel.blob = file.getvalue()
    return parcel


class _BoundedBuffer(io.BytesIO):
    """Bytes, so many at most."""

    def __init__(self, at_most: float) -> None:
        super().__init__()
        self._left = at_most

    def write(self, given: Any) -> int:
        self._left -= memoryview(given).nbytes  # a large array comes as a buffer, not as bytes
        if self._left < 0:
            raise CannotTravel("it is too large")
        return super().write(given)


@contextmanager
def _convert_pickling_errors() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, DpauditError):
        raise
    except BaseException as error:  # pickling runs other people's code
        raise CannotTravel(what_happened(error)) from error


class _Modules:
    """Modules whose code goes by value, of which cloudpickle is told while one parcel is made."""

    def __init__(self, names: set[str]) -> None:
        self.names, self._registered = names, list[ModuleType]()

    def __enter__(self) -> None:
        for name in self.names:
            self._register(name)

    def add(self, name: str) -> None:
        """Let a module's code go by value from now on."""
        if name not in self.names and name != "__main__":  # which goes so anyway
            self.names.add(name)
            self._register(name)

    def _register(self, name: str) -> None:
        import cloudpickle

        module = sys.modules.get(name)
        if module is not None and name not in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.register_pickle_by_value(module)
            self._registered.append(module)

    def __exit__(self, *_: object) -> None:
        import cloudpickle

        for module in self._registered:
            cloudpickle.unregister_pickle_by_value(module)

    def goes_by_value(self, code: Any) -> bool:
        """Return whether a function or class goes by value."""
        import cloudpickle

        name = code.__module__ or ""
        if name.partition(".")[0] in sys.stdlib_module_names:
            return False
        if name in self.names or name in cloudpickle.list_registry_pickle_by_value():
            return True
        return name == "__main__" or not _is_named(code, sys.modules.get(name))


def _is_named(code: Any, module: ModuleType | None) -> bool:
    """Return whether a module has a function or class under its name."""
    found: Any = module
    for part in code.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is code


def _reduce_to_file_reference(code: Any, parcel: Parcel, modules: _Modules) -> Any:
    """Return the reference to code of a file that is run afresh; None for other code."""
    module = sys.modules.get(code.__module__ or "")
    if module is None or module.__name__ in modules.names or not _is_named(code, module):
        return None
    if (source := source_of(module)) is None:
        return None
    if (survey := survey_of(source)) is None:
        parcel.unknown.add(source)
    elif not survey.words and not (differing := survey.differing(code, module)):
        return load_from_source, (tuple(source), code.__qualname__)
    else:
        parcel.changed.setdefault(source, set()).update(() if survey.words else differing)
    modules.add(module.__name__)
    return None


def _is_wrapper(given: Any) -> bool:
    """Return whether something keeps the results of a function, as `functools.lru_cache` does."""
    return isinstance(getattr(given, "__wrapped__", None), FunctionType) and hasattr(
        given, "cache_parameters"
    )


def _reduce_cached_wrapper(given: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the call that makes such a wrapper, with nothing in it yet."""
    return _with_cache, (given.cache_parameters(), given.__wrapped__)


def _with_cache(parameters: dict[str, Any], function: Any) -> Any:
    return lru_cache(**parameters)(function)


def _reduce_generator(given: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """Return the call that makes a generator with numbers of its own in the place of one."""
    if isinstance(given, np.random.Generator):
        return _another_generator, (type(given.bit_generator),)
    if (type(given).__module__, type(given).__qualname__) in _GENERATORS:
        return type(given), ()
    return None


def _another_generator(kind: type[np.random.BitGenerator]) -> np.random.Generator:
    return np.random.Generator(kind())


# What goes along


@dataclass
class CarriedNames:
    """Names of values that go along, and which of them code worked out: these may be noise."""

    names: set[str] = field(default_factory=set)
    worked_out: set[str] = field(default_factory=set)

    def add(self, name: str, value: Any, code: Any, *, unless_seen: bool = False) -> None:
        """Take note of a value under its name."""
        if _may_hold_noise(value):
            self.names.add(name)
            last = name.rpartition(".")[2]
            if is_worked_out(last, code, unless_seen=unless_seen):
                self.worked_out.add(name)

    def add_code(self, code: FunctionType | type) -> None:
        """Note the values that code which goes by value takes along."""
        if isinstance(code, type):
            for name, one in vars(code).items():
                if not name.startswith("__"):
                    self.add(f"{code.__name__}.{name}", one, code)
            return
        names = code.__code__.co_varnames[: code.__code__.co_argcount]
        defaults = code.__defaults__ or ()
        held = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        for name, one in (held | (code.__kwdefaults__ or {}) | cells_of(code)).items():
            self.add(name, one, code)
        for name in {name for name in names_of(code.__code__) if name in code.__globals__}:
            self.add(name, code.__globals__[name], code, unless_seen=True)

    def add_object(self, given: Any) -> None:
        """Note the values that an object of other people's types holds."""
        kind = type(given)
        if isinstance(given, partial):
            of_place = {f"argument {n}": one for n, one in enumerate(given.args, 1)}
            for name, one in {**of_place, **given.keywords}.items():
                if _may_hold_noise(one):
                    self.names.add(name)
        elif (kind.__module__ or "").partition(".")[0] in _LIBRARIES or isinstance(given, _CODE):
            return
        elif isinstance(held := getattr(given, "__dict__", None), dict):
            for name, one in held.items():
                self.add(f"{kind.__name__}.{name}", one, kind)


def _may_hold_noise(value: Any) -> bool:
    if isinstance(value, (*_CODE, *_RANDOM)) or _is_wrapper(value):
        return False
    kind = type(value)
    return (kind.__module__, kind.__qualname__) not in _GENERATORS
