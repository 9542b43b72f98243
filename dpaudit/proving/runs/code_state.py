"""The state that a call leaves for the next one: values that its names reach, if they changed.

A trace is of one call. What code counts or collects from call to call could lead a later call
another way than any that was traced, after more calls than are compared. So all that a function
reaches is looked at before and after it: names of its globals, closure, defaults and attributes,
of whatever wraps it, of functions that it finds in classes and their bases, in containers, and in
what it imports. What runs and is found in no such way is refused.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import inspect
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

import dpaudit
from dpaudit.freezing import primitives, tracked_noise
from dpaudit.proving.runs.names import find_stored_attributes, names_in

_MOST = 100_000  # values that are looked at
_UNREADABLE = (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_SKIPPED = frozenset(("__dict__", "__weakref__", "_abc_impl"))
_LRU = type(functools.lru_cache(abs))
_WITHOUT_STATE = (primitives.OwnGenerator, primitives.OwnRandomState)
_HOME = str(Path(dpaudit.__file__).parent)


@dataclass(eq=False)
class CodeState:
    """The values that code reaches, at one time.

    Parameters
    ----------
    content
        Of each value what is the same as long as nobody changes it, by identity.
    labels
        The name through which it was reached.
    codes
        Code of the functions that were found, and what is written in it.
    unread
        A name of what nobody can look into; empty for none.
    values
        All of them, so that none of their identities is another's.
    """

    content: dict[int, Any] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)
    codes: set[CodeType] = field(default_factory=set)
    unread: str = ""
    values: list[Any] = field(default_factory=list)


def find_kept_state(function: Any) -> CodeState:
    """Return the values that code reaches by its names.

    Examples
    --------
    >>> calls = []
    >>> def count():
    ...     calls.append(0)
    >>> before = find_kept_state(count)
    >>> count()
    >>> find_changed_name(before, find_kept_state(count))
    'calls'
    """
    return _CodeWalk().of(function)


def find_changed_name(before: CodeState, after: CodeState) -> str | None:
    """Return the name of a value that is another one, or nothing."""
    for key, content in before.content.items():
        if key in after.content and after.content[key] != content:
            return before.labels[key]
    return None


def unread_name(state: CodeState) -> str | None:
    """Return the name of a value that nobody can look into, or nothing.

    Examples
    --------
    >>> import threading
    >>> held = threading.Lock()
    >>> unread_name(find_kept_state(lambda: held))
    'held'
    """
    return state.unread or None


class _CodeWalk:
    """A way through all that is reached."""

    def __init__(self) -> None:
        self.state = CodeState()
        self.names, self.stored = set[str](), set[str]()
        self.pending = list[Any]()
        self.by_names = list[Any]()  # of which only what code has names for is looked at
        self.label = ""

    def of(self, function: Any) -> CodeState:
        """Return the reached values, once there are no more names."""
        name = getattr(function, "__name__", type(function).__name__)
        self.visit(function, name)
        self.visit(inspect.unwrap(function), name)
        # Names that are met late make more of what was seen before count, so the walk ends only
        # when a round has found no new ones.
        count = -1
        while self.pending or count != len(self.names) + len(self.stored):
            if not self.pending:
                count = len(self.names) + len(self.stored)
                self.pending += self.by_names
                self.by_names = []
                continue
            self._look(self.pending.pop())
        return self.state

    def _look(self, value: Any) -> None:
        self.label = self.state.labels[id(value)]
        self.state.content[id(value)] = (type(value).__name__, self._inside(value))
        if len(self.state.values) > _MOST:
            self.state.unread = self.state.unread or self.label
            self.pending, self.by_names = [], []

    def visit(self, value: Any, label: str = "") -> Any:
        """Return a key that tells a value from another one, and look into it later."""
        # By type and text: 1, True and 1.0 are equal and yet other values.
        if type(value) in _PLAIN:
            return (type(value).__name__, repr(value))
        if id(value) not in self.state.labels:
            self.state.labels[id(value)] = label or self.label
            # Held, since the identity of an object that is gone may be that of the next one.
            self.state.values.append(value)
            self.pending.append(value)
        return id(value)

    # --- what is inside ----------------------------------------------------------------------

    def _inside(self, value: Any) -> Any:
        for kinds, look in self._READERS:
            if isinstance(value, kinds):
                return look(self, value)
        if type(value) in _WITHOUT_STATE or type(value).__name__ == "SystemRandom":
            return None
        kind = type(value)
        if _is_ours(kind.__module__):
            return None
        return self._of_others(value) if is_of_library(kind) else self._of_people(value)

    def _of_people(self, value: Any) -> Any:
        """Return the state of an instance: attributes, entries, and the part of its class."""
        self.visit(type(value))
        base = self._base(value)
        held = [base, self._attributes(value)]
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else tuple(slots)
            held.append([(n, self.visit(getattr(value, n))) for n in names if hasattr(value, n)])
        return held

    def _base(self, value: Any) -> Any:
        """Return the state that a class of C holds for an instance of a class of people's."""
        for kinds, read in _ENTRIES:
            if isinstance(value, kinds):
                return read(self, value)
        bases = [one for one in type(value).__mro__ if is_of_library(one) and one is not object]
        # A class of C keeps its state where no attribute shows it.
        is_of_c = any(not {"__dict__", "__weakref__", "__slots__"} & {*vars(k)} for k in bases)
        return self._digest(value) if is_of_c else None

    def _attributes(self, value: Any) -> Any:
        own = getattr(value, "__dict__", None)
        if not isinstance(own, dict):
            return None
        return [(name, self.visit(one)) for name, one in list(own.items())]

    def _of_others(self, value: Any) -> Any:
        """Return the state of a library's object, as far as others can change it."""
        for one in _of_people_in(gc.get_referents(value)):
            self.visit(one)
        for kinds, read in _ENTRIES:
            if isinstance(value, kinds):
                return (read(self, value), self._attributes(value))
        own = getattr(value, "__dict__", None) or {}
        known = [(n, self.visit(own[n])) for n in sorted(self.stored) if n in own]
        self.by_names.append(value)
        return (known, self._digest(value))

    def _digest(self, value: Any) -> Any:
        """Return a digest of all that an object holds, or note that nobody can look into it."""
        try:
            # Pickling is what most objects offer to show all of their state.
            return hashlib.sha256(pickle.dumps(value)).hexdigest()
        except _UNREADABLE:
            # Functions and descriptors of C cannot be pickled, and hold nothing but what their
            # attributes show.
            if callable(value) or hasattr(type(value), "__get__"):
                return self._attributes(value)
            self.state.unread = self.state.unread or self.label
            return None

    def _function(self, function: FunctionType) -> Any:
        if not _is_of_people(function):
            return self._library_function(function)
        code = function.__code__
        self.names |= names_in(code)
        self.stored |= find_stored_attributes(code)
        self.state.codes |= {*_codes_in(code)}
        self.by_names.append(function)
        return [(n, self.visit(one, n.rpartition(" ")[2])) for n, one in self._names_of(function)]

    def _library_function(self, function: FunctionType) -> Any:
        for one in _of_people_in(
            [*vars(function).values(), *map(_get_kept_cell_content, _get_function_cells(function))]
        ):
            self.visit(one)
        self.by_names.append(function)
        own = vars(function)
        return [(n, self.visit(own[n])) for n in sorted(self.stored) if n in own]

    def _names_of(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        held, names = function.__globals__, names_in(function.__code__)
        for name in sorted(names):
            if name in held:
                yield name, held[name]
            for module in _find_importable_modules(name, held):
                yield f"import {name}", module
        yield from ((f"default {n}", one) for n, one in enumerate(function.__defaults__ or ()))
        yield from (function.__kwdefaults__ or {}).items()
        yield from vars(function).items()
        yield from zip(
            function.__code__.co_freevars,
            map(_get_kept_cell_content, _get_function_cells(function)),
            strict=False,
        )

    def _module(self, module: ModuleType) -> Any:
        """Return the names of code; of a library those that it may set, and other modules."""
        self.by_names.append(module)
        is_of_others = _is_ours(module.__name__) or tracked_noise.is_installed(
            _get_module_file(module)
        )
        held = vars(module)
        return [
            (name, self.visit(held[name], name))
            for name in sorted(self.names | self.stored)
            if name in held
            and (not is_of_others or self.stored or isinstance(held[name], ModuleType))
        ]

    def _class(self, kind: type) -> Any:
        if _is_ours(kind.__module__):
            return None
        held = vars(kind)
        if is_of_library(kind):
            self.by_names.append(kind)
            return [(n, self.visit(held[n])) for n in sorted(self.stored) if n in held]
        for one in (type(kind), *kind.__bases__):
            self.visit(one)
        return [(n, self.visit(one)) for n, one in list(held.items()) if _is_held(n, one)]

    def _cache(self, wrapper: Any) -> None:
        """Look at results that are kept: others may be added, but none may change."""
        self.visit(wrapper.__wrapped__)
        for one in gc.get_referents(wrapper):
            for each in one.values() if type(one) is dict else [one]:
                if not type(each).__name__.startswith("_lru"):
                    self.visit(each)

    _READERS: tuple[tuple[Any, Callable[..., Any]], ...] = (
        (FunctionType, _function),
        (ModuleType, _module),
        (type, _class),
        (_LRU, _cache),
        (MethodType, lambda self, m: (self.visit(m.__self__), self.visit(m.__func__))),
        ((BuiltinFunctionType, MethodWrapperType), lambda self, m: self.visit(m.__self__)),
        (functools.partial, lambda self, p: [
            *map(self.visit, (p.func, p.args, p.keywords)), self._attributes(p)]),
        (property, lambda self, p: [*map(self.visit, (p.fget, p.fset, p.fdel))]),
        ((staticmethod, classmethod), lambda self, m: self.visit(m.__func__)),
        (functools.cached_property, lambda self, p: self.visit(p.func)),
        (weakref.ReferenceType, lambda self, r: self.visit(r())),
    )  # fmt: skip


def _convert_array_content(walk: _CodeWalk, value: Any) -> Any:
    if value.dtype.hasobject:
        return (value.shape, [walk.visit(one) for one in value.ravel().tolist()])
    content = hashlib.sha256(value.tobytes()).hexdigest()
    return (value.shape, value.strides, str(value.dtype), content)


def _convert_dictionary_content(walk: _CodeWalk, value: Any) -> Any:
    return [(walk.visit(key), walk.visit(one)) for key, one in list(dict.items(value))]


_ENTRIES: tuple[tuple[Any, Callable[[_CodeWalk, Any], Any]], ...] = (
    (np.ndarray, _convert_array_content),
    (dict, _convert_dictionary_content),
    ((list, tuple, set, frozenset), lambda walk, value: [*map(walk.visit, value)]),
    ((int, float, complex, str, bytes), lambda walk, value: _plain_text(value)),
)
"""How entries of containers, and numbers, are read."""


def _plain_text(value: Any) -> str:
    kind: Any = next(one for one in type(value).__mro__ if one in _PLAIN)
    return str(kind.__repr__(value))


def _is_held(name: str, value: Any) -> bool:
    """Return whether an attribute of a class holds code, or something that code may change."""
    if name in _SKIPPED:
        return False
    is_code = isinstance(value, FunctionType | property | staticmethod | classmethod)
    return is_code or not name.startswith("__")


def _of_people_in(values: list[Any], depth: int = 3) -> Iterator[Any]:
    """Yield functions, classes and instances of people's, also from containers."""
    for one in values:
        kind = one if isinstance(one, type) else type(one)
        if isinstance(one, FunctionType):
            if _is_of_people(one):
                yield one
        elif not is_of_library(kind) and not _is_ours(kind.__module__):
            yield one
        elif depth and type(one) in (dict, list, tuple, set, MethodType):
            inner = [*one.values()] if type(one) is dict else gc.get_referents(one)
            yield from _of_people_in(inner, depth - 1)


def _find_importable_modules(name: str, held: dict[str, Any]) -> Iterator[ModuleType]:
    """Yield modules that code may import under a name."""
    around = str(held.get("__package__") or "")
    for title in (name, f"{around}.{name}" if around else name):
        if isinstance(module := sys.modules.get(title), ModuleType):
            yield module


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes_in(one)


def _get_function_cells(function: FunctionType) -> Any:
    return function.__closure__ or ()


def _get_kept_cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _is_of_people(function: FunctionType) -> bool:
    file = function.__code__.co_filename
    return not file.startswith(_HOME) and not tracked_noise.is_installed(file)


def _is_ours(module: Any) -> bool:
    """Return whether a module is of this package, which keeps nothing of a call."""
    return isinstance(module, str) and module.partition(".")[0] == "dpaudit"


def is_of_library(kind: Any) -> bool:
    """Return whether a class is of Python's or of an installed package."""
    return tracked_noise.is_installed(_get_module_file(sys.modules.get(str(kind.__module__))))


def _get_module_file(module: ModuleType | None) -> str:
    return getattr(module, "__file__", None) or "<frozen"
