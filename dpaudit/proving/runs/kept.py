"""What a call leaves for the next one: globals, closures, attributes and defaults that it changes.

A trace is of one call. What code counts or collects from call to call could lead a later call
another way than any that was traced, after more calls than are compared: so nothing that a function
reaches by its names may be another after the call.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.freezing import primitives, tracked

_MOST = 20_000  # values that are looked at
_DRAWING = frozenset(("Generator", "RandomState", "PCG64", "MT19937", "Random", "SystemRandom"))
_UNREAD = object()  # in the place of what nobody can look into
_UNREADABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def kept_state(function: Any) -> dict[str, Any]:
    """Return what code reaches by its names, by name: plain values, and what containers hold.

    Examples
    --------
    >>> calls = []
    >>> def count():
    ...     calls.append(0)
    >>> before = kept_state(count)
    >>> count()
    >>> changed_name(before, kept_state(count))
    'calls'
    """
    looked = _Looked()
    found = dict[str, Any]()
    for name, value in _reached(function):
        found[name] = looked.at(value)
    return found


def changed_name(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return a name of what is another one, or nothing."""
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            return name.rpartition(" ")[2]
    return None


def unread_name(state: dict[str, Any]) -> str | None:
    """Return a name of what nobody can look into, or nothing.

    Examples
    --------
    >>> import threading
    >>> held = threading.Lock()
    >>> unread_name(kept_state(lambda: held))
    'held'
    """
    return next((n.rpartition(" ")[2] for n, one in state.items() if _is_unread(one)), None)


def _is_unread(found: Any) -> bool:
    if isinstance(found, list | tuple):
        return any(map(_is_unread, found))
    return found is _UNREAD


def _reached(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what functions have for globals, closure, defaults and attributes, by name."""
    pending, seen = [inspect.unwrap(function)], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for name, value in _names_of(one):
            value = getattr(value, "__wrapped__", value) if callable(value) else value
            pending += _functions_of(value)
            if not isinstance(value, FunctionType | MethodType):
                yield f"{id(one)} {name}", value


def _functions_of(value: Any) -> list[Any]:
    """Return a function of people's code, or those of a class of theirs, or of its instance."""
    if isinstance(value, FunctionType | MethodType):
        own = _is_ours(value.__module__) or tracked.is_installed(value.__code__.co_filename)
        return [] if own else [value]
    kind = value if isinstance(value, type) else type(value)
    if tracked.is_installed(_file_of(kind)):
        return []
    return [one for one in vars(kind).values() if isinstance(one, FunctionType)]


def _names_of(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, MethodType):
        yield "self", function.__self__
        function = function.__func__
    if not isinstance(function, FunctionType):
        yield type(function).__name__, function
        function = inspect.getattr_static(type(function), "__call__", None)
        if not isinstance(function, FunctionType):
            return
    names, held = _names_in(function.__code__), function.__globals__
    for name in sorted(names & held.keys()):
        yield name, held[name]
        if isinstance(held[name], ModuleType) and not _is_of_others(held[name]):
            inner = vars(held[name])
            yield from ((f"{name}.{one}", inner[one]) for one in sorted(names & inner.keys()))
    yield from ((f"default {n}", one) for n, one in enumerate(function.__defaults__ or ()))
    yield from vars(function).items()
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # empty
            continue


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code and what is written in it use."""
    found = {*code.co_names}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= _names_in(one)
    return found


class _Looked:
    """Values that were looked at, so that none is looked at twice."""

    def __init__(self) -> None:
        self.seen = dict[int, int]()

    def at(self, value: Any) -> Any:
        """Return what is the same as long as a value is."""
        if isinstance(value, _PLAIN):
            return (type(value).__name__, repr(value))
        if id(value) in self.seen or len(self.seen) > _MOST:
            return ("seen", self.seen.get(id(value)))
        self.seen[id(value)] = len(self.seen)
        return (type(value).__name__, id(value), self._inside(value))

    def _inside(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return (value.shape, hashlib.sha256(value.tobytes()).hexdigest())
        if isinstance(value, dict):
            return [(self.at(key), self.at(one)) for key, one in list(value.items())]
        if isinstance(value, list | tuple):
            return [self.at(one) for one in value]
        if isinstance(value, set | frozenset):
            return (len(value), sorted(map(repr, value)) if len(value) < _MOST else None)
        if _is_ours(type(value).__module__):
            return None
        if isinstance(value, (ModuleType, primitives.OwnGenerator, primitives.OwnRandomState)):
            return None
        kind = value if isinstance(value, type) else type(value)
        if tracked.is_installed(_file_of(kind)):
            return _digest(value)
        if hasattr(kind, "__slots__") and not hasattr(value, "__dict__"):
            return _digest(value)
        own = dict(getattr(value, "__dict__", {}))
        return self._inside({k: v for k, v in own.items() if not k.startswith("__")})


def _is_ours(module: str | None) -> bool:
    """Return whether a module is of this package, which keeps nothing of a call."""
    return (module or "").partition(".")[0] == "dpaudit"


def _is_of_others(module: ModuleType) -> bool:
    return _is_ours(module.__name__) or tracked.is_installed(_file(module))


def _digest(value: Any) -> Any:
    """Return a digest of all that an object holds, or what says that nobody can look into it.

    Classes, functions and what draws hold nothing that a call would leave.
    """
    if isinstance(value, type) or callable(value) or type(value).__name__ in _DRAWING:
        return None
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except _UNREADABLE:
        return _UNREAD


def _file_of(kind: type) -> str:
    return _file(sys.modules.get(kind.__module__))


def _file(module: ModuleType | None) -> str:
    return getattr(module, "__file__", None) or "<frozen"
