"""The identity of what is drawn: a digest of values and of the code that they run.

Two runs may share results only if the same code works on the same values. A digest is taken of

* numbers, text, arrays and containers, by their content; sets in the order of their digests;
* functions, by name, code, defaults, closures and the globals that the code names;
* other objects, by their class and what pickling would write of them, without cached properties;
* the source files of the user's modules that any of these belong to, of modules these hold, and of
  those that their code imports, wherever it does so;
* dpaudit's own source files, the versions of installed packages that are involved, and the
  variables of the environment that the code names.

What nothing identifies, such as an open file, has no digest, and no results are kept of it. That
code reads a file or the clock, or a variable whose name it works out, is not seen here.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.metadata
import importlib.util
import logging
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from dpaudit.execution.machine import digest_of_files, own_code
from dpaudit.execution.shipping import imported_by, sources
from dpaudit.store.variables import of_the_law, variables_in, variables_of

_SIZE = 16
_INSTALLED = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
# What code may name beside numbers: locks, and logs.
_WITHOUT_NUMBERS = (type(threading.Lock()), type(threading.RLock()), logging.Logger)
# Their versions change how fast something is, or its last bits, and the machine is noted anyway.
_NUMERICAL = {"numpy", "scipy", "pandas", "sklearn", "joblib", "threadpoolctl", "cloudpickle"}
_OURS = "dpaudit"


class Unidentified(TypeError):
    """A value that nothing identifies across processes."""


class Identity(NamedTuple):
    """A digest of values, and whose code they involve.

    ``files`` are source files of the user's modules, ``packages`` are installed ones, and
    ``variables`` those of the environment that the code names.
    """

    digest: str
    files: tuple[str, ...]
    packages: tuple[str, ...]
    variables: tuple[str, ...]

    def sealed(self) -> str:
        """Return a digest of it all, with files' content, packages' versions, variables' values.

        Examples
        --------
        >>> identified(1.5).sealed() == identified(1.5).sealed() != identified(1.25).sealed()
        True
        """
        hashed = hashlib.blake2b(self.digest.encode(), digest_size=_SIZE)
        hashed.update(digest_of_files(map(Path, self.files)).encode())
        hashed.update(repr([(name, _version(name)) for name in self.packages]).encode())
        hashed.update(repr([(name, os.environ.get(name)) for name in self.variables]).encode())
        hashed.update(own_code().encode())
        return hashed.hexdigest()


def identified(*values: Any) -> Identity:
    """Return the identity of values.

    Raises
    ------
    Unidentified
        Something in them has none.

    Examples
    --------
    >>> def noisy(scale):
    ...     return lambda x: x + scale
    >>> identified(noisy(1)).digest == identified(noisy(1)).digest != identified(noisy(2)).digest
    True
    """
    walk = _Walk()
    digest = walk.of(values).hex()
    variables = walk.variables.union(*(variables_in(Path(file)) for file in walk.files))
    named = (walk.files, walk.packages, of_the_law(variables))
    return Identity(digest, *(tuple(sorted(names)) for names in named))


@lru_cache(maxsize=256)
def _version(package: str) -> str:
    """Return the version of what is installed, whether it was imported yet or not."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = _distributions().get(package, ())
        return " ".join(sorted({importlib.metadata.version(name) for name in names}))


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


class _Walk:
    """Goes through values once, and takes note of whose code it meets."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.packages: set[str] = set()
        self.variables: set[str] = set()
        self._known: dict[int, tuple[bytes, Any]] = {}
        self._open: dict[int, int] = {}

    def of(self, value: Any) -> bytes:
        """Return the digest of a value."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            if type(value) in (type(None), bool, int, float, complex, str, bytes):
                return _hashed(type(value).__name__, repr(value).encode())
        if (known := self._known.get(id(value))) is not None:
            return known[0]
        if id(value) in self._open:  # it holds itself
            return _hashed("again", str(self._open[id(value)]).encode())
        self._open[id(value)] = len(self._open)
        try:
            found = self._compound(value)
        finally:
            del self._open[id(value)]
        self._known[id(value)] = found, value
        return found

    def _compound(self, value: Any) -> bytes:
        kind = type(value)
        for known, walk in _KINDS:
            if isinstance(value, known):
                return walk(self, value)
        if (own := getattr(value, "__identity__", None)) is not None:
            return _hashed("own", str(own).encode())
        if is_dataclass(value) and not _reduces_itself(kind):
            parts = [(one.name, getattr(value, one.name)) for one in fields(value)]
            return self._together("dataclass", kind, *parts)
        return self._reduced(value)

    def _together(self, kind: str, *parts: Any) -> bytes:
        return _hashed(kind, *map(self.of, parts))

    def _array(self, value: Any) -> bytes:
        if type(value) is not np.ndarray and not isinstance(value, np.generic):
            return self._reduced(value)  # such as one with a mask
        if value.dtype.hasobject:
            return self._together("objects", value.shape, value.ravel().tolist())
        content = np.ascontiguousarray(value).tobytes()
        kind = type(value).__name__, value.dtype.descr, value.shape
        return _hashed("array", repr(kind).encode(), content)

    def _set(self, value: Any) -> bytes:
        own = self._together("set", type(value), *_attributes(value))
        return _hashed("set", own, *sorted(map(self.of, value)))

    def _sequence(self, value: Any) -> bytes:
        return self._together("sequence", type(value), *value, *_attributes(value))

    def _mapping(self, value: Any) -> bytes:
        pairs = (one for pair in value.items() for one in pair)
        own = (*_attributes(value), getattr(value, "default_factory", None))
        return self._together("mapping", type(value), *pairs, *own)

    def _partial(self, value: Any) -> bytes:
        return self._together("partial", value.func, value.args, value.keywords)

    def _method(self, value: Any) -> bytes:
        return self._together("method", value.__self__, value.__func__)

    def _builtin(self, value: Any) -> bytes:
        owner = value.__self__ if not isinstance(value.__self__, ModuleType) else None
        return self._together("builtin", value.__module__ or "", value.__qualname__, owner)

    def _enumerated(self, value: Any) -> bytes:
        return self._together("enum", type(value), value.name, value.value)

    def _generator(self, value: Any) -> bytes:
        return self._together("generator", type(value.bit_generator), value.bit_generator.state)

    def _seeds(self, value: Any) -> bytes:
        return self._together("seeds", value.entropy, value.spawn_key, value.n_children_spawned)

    def _code(self, value: CodeType) -> bytes:
        self.variables |= variables_of(value)
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        taken = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        caught = value.co_exceptiontable
        return self._together(
            "code", value.co_code, value.co_consts, names, taken, value.co_flags, caught
        )

    def _function(self, value: FunctionType) -> bytes:
        met = self._met(value.__module__) or _is_made(value.__module__)
        state = (value.__defaults__, value.__kwdefaults__, _cells(value), vars(value))
        named = (value.__module__ if met else "", value.__qualname__)
        if not met:
            return self._together("function", named, state)
        return self._together("function", named, state, value.__code__, *self._globals(value))

    def _globals(self, value: FunctionType) -> list[Any]:
        """Return what the code of a function names, also in the user's modules that it names."""
        found: list[Any] = []
        names = sorted(_names(value.__code__))
        for name in names:
            if name in value.__globals__:
                one = value.__globals__[name]
                found += [name, self._named(one)]
                found += [self._named(vars(one)[n]) for n in names if n in self._of_users(one)]
        return found

    def _named(self, value: Any) -> Any:
        """Return the digest of a value that code names; of what keeps no numbers, its type."""
        return type(value).__qualname__ if isinstance(value, _WITHOUT_NUMBERS) else self.of(value)

    def _of_users(self, value: Any) -> Mapping[str, Any]:
        """Return the names of a module of the user's, none of other objects."""
        is_theirs = isinstance(value, ModuleType) and self._met(value.__name__)
        return vars(value) if is_theirs else {}

    def _type(self, value: type) -> bytes:
        named = (value.__module__, value.__qualname__)
        made = _is_made(value.__module__) and any(map(_is_function, vars(value).values()))
        if not self._met(value.__module__) and not made:
            return self._together("type", named)
        own = [(n, self._named(one)) for n, one in sorted(vars(value).items()) if _is_own(n, one)]
        return self._together("type", named, value.__bases__, own)

    def _module(self, value: ModuleType) -> bytes:
        self._met(value.__name__)
        return self._together("module", value.__name__)

    def _wrapped(self, value: Any) -> bytes:
        return self._together("descriptor", type(value).__name__, *_inner(value))

    def _met(self, name: str | None) -> bool:
        """Take note of a module; return whether it is the user's."""
        module = sys.modules.get(name or "")
        top = (name or "").partition(".")[0]
        file = getattr(module, "__file__", None)
        if top == _OURS or top in _NUMERICAL or top in sys.builtin_module_names:
            return False
        if file is not None and file.startswith(_INSTALLED) and top != "__main__":
            if "site-packages" in file or "dist-packages" in file:
                self.packages.add(top)
            return False
        if file is None and module is not None and top != "__main__":
            return False
        if file is not None and file not in self.files:
            self.files.add(file)
            for one in list(vars(module).values()):
                self._met(one.__name__ if isinstance(one, ModuleType) else _home(one))
            read = sources(imported_by(Path(file), name or ""))
            self.files.update(str(path) for path in read.files.values())
            self.packages |= read.packages
        return True

    def _reduced(self, value: Any) -> bytes:
        kind = type(value)
        if (array := _as_array(value)) is not None:
            return self._together("tensor", kind.__name__, array)
        if isinstance(compiled := getattr(value, "py_func", None), FunctionType):  # by numba
            options = getattr(value, "targetoptions", None)
            return self._together("compiled", kind.__qualname__, compiled, options)
        try:
            found = value.__reduce_ex__(4)
        except Exception as error:  # what pickling other people's objects raises
            if isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):
                return self._together("wrapped", kind.__qualname__, inner)
            raise Unidentified(f"{kind.__module__}.{kind.__qualname__}") from error
        if isinstance(found, str):  # the name of an object in its module
            self._met(getattr(value, "__module__", None))
            return self._together("name", kind, found, getattr(value, "__wrapped__", None))
        make, arguments, *further = found
        state = _without_caches(kind, further[0]) if further else None
        listed = [None if one is None else list(one) for one in further[1:3]]
        return self._together("object", kind, make, arguments, state, listed)


_KINDS: tuple[tuple[Any, Callable[[_Walk, Any], bytes]], ...] = (
    (enum.Enum, _Walk._enumerated),
    ((np.ndarray, np.generic), _Walk._array),
    (np.random.Generator, _Walk._generator),
    (np.random.SeedSequence, _Walk._seeds),
    (np.dtype, lambda walk, value: _hashed("dtype", value.str.encode())),
    (type, _Walk._type),
    (FunctionType, _Walk._function),
    (CodeType, _Walk._code),
    (ModuleType, _Walk._module),
    (MethodType, _Walk._method),
    (BuiltinFunctionType, _Walk._builtin),
    (functools.partial, _Walk._partial),
    ((staticmethod, classmethod, property, cached_property), _Walk._wrapped),
    ((set, frozenset), _Walk._set),
    ((list, tuple), _Walk._sequence),
    (dict, _Walk._mapping),
)


def _hashed(kind: str, *parts: bytes) -> bytes:
    hashed = hashlib.blake2b(kind.encode(), digest_size=_SIZE)
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.digest()


def _reduces_itself(kind: type) -> bool:
    own = [vars(one) for one in kind.__mro__[:-1]]
    return any(name in one for one in own for name in ("__reduce__", "__reduce_ex__"))


def _cells(function: FunctionType) -> list[Any]:
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not set yet
            found.append("(empty)")
    return found


def _names(code: CodeType) -> set[str]:
    """Return the names that a function and those inside it use."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_own(name: str, value: Any) -> bool:
    """Return whether a name of a class is what its author wrote, and not what Python adds."""
    if name.startswith("__") and name.endswith("__"):
        return isinstance(value, (FunctionType, staticmethod, classmethod, property))
    return name != "_abc_impl" and not isinstance(value, MemberDescriptorType)


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType)


def _is_made(name: str | None) -> bool:
    """Return whether a module was made while the program runs, so that no file is its source."""
    top, module = (name or "").partition(".")[0], sys.modules.get(name or "")
    known = top in (_OURS, *_NUMERICAL, *sys.stdlib_module_names)
    return module is not None and not known and getattr(module, "__file__", None) is None


def _attributes(value: Any) -> tuple[Any, ...]:
    """Return the attributes of an object of a class that extends Python's containers."""
    own = getattr(value, "__dict__", None)
    return (dict(sorted(own.items())),) if own else ()


def _inner(value: Any) -> list[Any]:
    names = ("__func__", "fget", "fset", "func")
    return [one for name in names if (one := getattr(value, name, None)) is not None]


def _home(value: Any) -> str | None:
    """Return the module that a function or class is of."""
    return value.__module__ if isinstance(value, (FunctionType, type)) else None


def _as_array(value: Any) -> Any:
    """Return the numbers of a tensor of torch or an array of jax; None for other objects."""
    kind = type(value)
    top = kind.__module__.partition(".")[0]
    if top == "torch" and hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu().numpy()
    if top in ("jax", "jaxlib") and hasattr(value, "__array__"):
        return np.asarray(value)
    return None


def _without_caches(kind: type, state: Any) -> Any:
    """Return a state without properties that were worked out and kept."""
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
        return tuple(_without_caches(kind, one) for one in state)
    if not isinstance(state, dict):
        return state
    caches = {
        name
        for one in kind.__mro__
        for name, own in vars(one).items()
        if isinstance(own, cached_property)
    }
    left = {n: v for n, v in state.items() if n not in caches and n != "__networkx_cache__"}
    return dict(sorted(left.items(), key=lambda item: str(item[0])))
