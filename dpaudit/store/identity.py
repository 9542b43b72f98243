"""The identity of what is drawn: a digest of values and of the code that they run.

Two runs may share results only if the same code works on the same values. A digest is taken of

* numbers, text, arrays and containers, by their content; sets in the order of their digests;
* functions, by name, code, defaults, closures and the globals that the code names;
* other objects, by their class and what pickling would write of them, without cached properties;
* the source files of the user's modules that any of these belong to, of modules these hold, and of
  those that their code imports, wherever it does so;
* dpaudit's own source files, and the versions of installed packages that are involved.

What nothing identifies, such as an open file, has no digest, and no results are kept of it. That
code reads a file, a variable of the environment or the clock is not seen here
(`dpaudit.store.keeping` says of files that a mechanism read whether they changed).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from dpaudit.execution.machine import digest_of_files, own_code
from dpaudit.execution.shipping import imported_by, sources

_SIZE = 16
_INSTALLED = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
# Their versions change how fast something is, or its last bits, and the machine is noted anyway.
_NUMERICAL = {"numpy", "scipy", "pandas", "sklearn", "joblib", "threadpoolctl", "cloudpickle"}
_OURS = "dpaudit"


class Unidentified(TypeError):
    """A value that nothing identifies across processes."""


class Identity(NamedTuple):
    """A digest of values, and whose code they involve.

    ``files`` are source files of the user's modules, ``packages`` are installed ones.
    """

    digest: str
    files: tuple[str, ...]
    packages: tuple[str, ...]

    def sealed(self) -> str:
        """Return a digest of it all, with the files' content and the packages' versions.

        Examples
        --------
        >>> identified(1.5).sealed() == identified(1.5).sealed() != identified(1.25).sealed()
        True
        """
        hashed = hashlib.blake2b(self.digest.encode(), digest_size=_SIZE)
        hashed.update(digest_of_files(map(Path, self.files)).encode())
        hashed.update(repr([(name, _version(name)) for name in self.packages]).encode())
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
    return Identity(digest, tuple(sorted(walk.files)), tuple(sorted(walk.packages)))


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
        if value.dtype.hasobject:
            return self._together("objects", value.shape, value.ravel().tolist())
        content = np.ascontiguousarray(value).tobytes()
        return _hashed("array", repr((value.dtype.str, value.shape)).encode(), content)

    def _set(self, value: Any) -> bytes:
        return _hashed(type(value).__name__, *sorted(map(self.of, value)))

    def _sequence(self, value: Any) -> bytes:
        return self._together("sequence", type(value), *value)

    def _mapping(self, value: Any) -> bytes:
        return self._together(
            "mapping", type(value), *(one for pair in value.items() for one in pair)
        )

    def _partial(self, value: Any) -> bytes:
        return self._together("partial", value.func, value.args, value.keywords)

    def _method(self, value: Any) -> bytes:
        return self._together("method", value.__self__, value.__func__)

    def _builtin(self, value: Any) -> bytes:
        owner = value.__self__ if not isinstance(value.__self__, ModuleType) else None
        return self._together("builtin", value.__module__ or "", value.__qualname__, owner)

    def _enumerated(self, value: Any) -> bytes:
        return self._together("enum", type(value), value.name)

    def _generator(self, value: Any) -> bytes:
        return self._together("generator", type(value.bit_generator), value.bit_generator.state)

    def _seeds(self, value: Any) -> bytes:
        return self._together("seeds", value.entropy, value.spawn_key, value.n_children_spawned)

    def _code(self, value: CodeType) -> bytes:
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_flags)
        return self._together("code", value.co_code, value.co_consts, names)

    def _function(self, value: FunctionType) -> bytes:
        met = self._met(value.__module__)
        state = (value.__defaults__, value.__kwdefaults__, _cells(value))
        named = (value.__module__ if met else "", value.__qualname__)
        if not met:
            return self._together("function", named, state)
        return self._together("function", named, state, value.__code__, *self._globals(value))

    def _globals(self, value: FunctionType) -> list[Any]:
        """Return what the code of a function names, as far as it can be identified."""
        found: list[Any] = []
        for name in sorted(_names(value.__code__)):
            if name not in value.__globals__:
                continue
            found.append(name)
            try:
                found.append(self.of(value.__globals__[name]))
            except Unidentified:
                found.append(type(value.__globals__[name]).__qualname__)
        return found

    def _type(self, value: type) -> bytes:
        named = (value.__module__, value.__qualname__)
        if not self._met(value.__module__):
            return self._together("type", named)
        own = [(name, one) for name, one in sorted(vars(value).items()) if _is_code(one)]
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
        if file is not None and file.startswith(_INSTALLED):
            if "site-packages" in file:
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
        try:
            found = value.__reduce_ex__(4)
        except Exception as error:  # what pickling other people's objects raises
            raise Unidentified(f"{kind.__module__}.{kind.__qualname__}") from error
        if isinstance(found, str):
            return self._together("name", kind, found)
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


def _is_code(value: Any) -> bool:
    kinds = (FunctionType, staticmethod, classmethod, property, cached_property)
    return isinstance(value, kinds) or isinstance(value, (bool, int, float, str, np.ndarray))


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
