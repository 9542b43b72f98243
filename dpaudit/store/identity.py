"""The identity of outputs to draw: a digest of values and of the code that they run.

Two runs may share results only if the same code works on the same values. A digest is taken of

* numbers, text, arrays and containers, by their content; sets in the order of their digests;
* functions, by name, code, defaults, closures and the globals that the code names; all globals of
  its module, where the code works out names;
* other objects, by their class, what pickling would write of them and their other attributes;
* the source files of the user's modules that any of these belong to, of modules these hold, and of
  those that their code imports, wherever it does so; compiled ones, too;
* dpaudit's own source files, the content of installed packages that are involved, and the variables
  and files that the code reads by names that can be worked out (`dpaudit.store.reading`).

What nothing identifies, such as an open file, has no digest, and no results are kept of it. What is
not seen, such as a file whose name is worked out while the code runs, is named, with the same end.
"""

from __future__ import annotations

import builtins
import copy
import enum
import functools
import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from dpaudit._packages import is_installed, package_of
from dpaudit.execution.shipping import find_file_imports, find_user_sources, import_late_modules
from dpaudit.store.libraries import (
    find_changed_values,
    format_library_signature,
    get_library_values,
    is_library_value_inspected,
    is_put,
    is_replaced,
    put_into_libraries,
    settings_in_force,
)
from dpaudit.store.packages import NUMERICAL
from dpaudit.store.parts import (
    as_array,
    attributes_of,
    caches_of,
    cells_of,
    functions_in,
    generate_cached_answers,
    holds_numbers,
    home_of,
    is_function,
    is_its_authors,
    is_method,
    names_in,
    reduces_itself,
    registrations_of,
    without_caches,
)
from dpaudit.store.reading import Reads, join_reads, reads_in, reads_of, variables_in
from dpaudit.store.sealing import Identity, UnidentifiedValue
from dpaudit.store.variables import says_where

_SIZE = 16
# What code may name beside numbers: locks, and logs.
_WITHOUT_NUMBERS = (type(threading.Lock()), type(threading.RLock()), logging.Logger)
_OURS = "dpaudit"
_DESCRIPTORS = (
    *(staticmethod, classmethod, property, cached_property),
    functools.singledispatchmethod,
)
_KEEPS_ANSWERS = type(functools.lru_cache(len))
# What audits call of a mechanism; of other methods those count that some code names.
_CALLED = frozenset(
    "sample sample_tilted sample_aimed privacy_loss loss_bounds loss_in_digits log_mgf_bounds "
    "log_payoff_bound uniform_residuals neighbours".split()
)


def identified(*values: Any, caches: bool = False) -> Identity:
    """Return the identity of values; with ``caches``, of answers that they keep, too.

    Raises
    ------
    UnidentifiedValue
        Something in them has none.

    Examples
    --------
    >>> def noisy(scale):
    ...     return lambda x: x + scale
    >>> identified(noisy(1)).digest == identified(noisy(1)).digest != identified(noisy(2)).digest
    True
    """
    walk = _ValueWalk(caches)
    digest = walk.of_all(values).hex()
    reads = walk.reads()
    variables = reads.variables.union(*(variables_in(Path(file)) for file in walk.files))
    of_places = {name for name in variables if says_where(name)}
    named = (
        walk.files,
        walk.packages,
        variables - of_places,
        reads.files,
        reads.unseen | walk.unseen,
        reads.left_out | walk.left_out | {f"the variable {n}" for n in of_places & reads.variables},
    )
    return Identity(digest, *(tuple(sorted(names)) for names in named))


class _ValueWalk:
    """Goes through values once, and takes note of whose code it meets."""

    def __init__(self, caches: bool) -> None:
        self.caches = caches
        self.files: set[str] = set()
        self.packages: set[str] = set()
        self.unseen: set[str] = set()
        self.left_out: set[str] = set()
        self._read: list[tuple[FunctionType, Reads]] = []
        self._vouched = False
        self._known: dict[int, tuple[bytes, Any]] = {}
        self._open: dict[int, int] = {}

    def reads(self) -> Reads:
        """Return the reads of the code so far."""
        counted = [read for _, read in self._collect_functions()]
        files = find_user_sources({name for read in counted for name in read.imports}).files
        self.files.update(map(str, files.values()))
        return join_reads([*counted, *(reads_in(path, name) for name, path in files.items())])

    def _collect_functions(self) -> list[tuple[FunctionType, Reads]]:
        """Return the functions that were met; a method counts if somebody may call it."""
        called = set(_CALLED).union(*(names_in(function.__code__) for function, _ in self._read))
        by_name = any(read.by_name for _, read in self._read)
        return [
            (function, read)
            for function, read in self._read
            if by_name or function.__name__ in called or not is_method(function)
        ]

    def of_all(self, values: Any) -> bytes:
        """Return the digest of values, and of the surroundings of their code where it runs."""
        parts, seen = [self.of(values)], set[int]()
        # Code that is met late may name methods that did not count before, and import further
        # modules: until nothing new is met.
        while waiting := [one for one in self._collect_functions() if id(one[1]) not in seen]:
            for function, read in waiting:
                seen.add(id(read))
                parts.append(self._together("late", *self._late(function, read)))
        if self.caches:
            parts += self._around()
        return _hash_parts("all", *parts)

    def _late(self, function: FunctionType, read: Reads) -> list[Any]:
        """Return the values that code finds in modules that it imports while it runs."""
        names, found = sorted(names_in(function.__code__)), list[Any]()
        modules = dict[int, Mapping[str, Any]]()
        for module in import_late_modules(read.imports):
            found += self._of_module(module, names, modules)
        if read.by_name:
            found += [one for inner in modules.values() for one in self._everything(inner)]
        return found

    def _around(self) -> Iterator[bytes]:
        """Yield digests of values in libraries that are not theirs, and of their settings."""
        others = sorted(self.packages.difference(NUMERICAL))
        changed = (one for package in others for one in find_changed_values(package))
        for name, one in [*put_into_libraries(), *changed, *settings_in_force(self.packages)]:
            try:
                yield self._together("around", name, self._named(one))
            except UnidentifiedValue as error:
                self.unseen.add(f"a {error} (put into {name})")

    def of(self, value: Any) -> bytes:
        """Return the digest of a value."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            # Exactly these types: of a class of the user's that extends one of them, code and
            # attributes count as well.
            if type(value) in (type(None), bool, int, float, complex, str, bytes):
                return _hash_parts(type(value).__name__, repr(value).encode())
        if (known := self._known.get(id(value))) is not None:
            return known[0]
        if id(value) in self._open:  # it holds itself
            return _hash_parts("again", str(self._open[id(value)]).encode())
        self._open[id(value)] = len(self._open)
        try:
            found = self._compound(value)
        except UnidentifiedValue:
            raise
        except Exception as error:  # whatever other people's attributes and methods raise
            raise UnidentifiedValue(
                f"{type(value).__module__}.{type(value).__qualname__}"
            ) from error
        finally:
            del self._open[id(value)]
        # The value is kept, so that no other object gets its id while the walk goes on.
        self._known[id(value)] = found, value
        return found

    def _compound(self, value: Any) -> bytes:
        kind = type(value)
        for known, walk in _KINDS:
            if isinstance(value, known):
                return walk(self, value)
        if (own := getattr(value, "__identity__", None)) is not None:
            if isinstance(parts := getattr(value, "__identified__", None), Identity):
                self.unseen.update(parts.unseen)
                self.left_out.update(parts.left_out)
            return _hash_parts("own", str(own).encode())
        if is_dataclass(value) and not reduces_itself(kind):
            parts = [(one.name, getattr(value, one.name)) for one in fields(value)]
            further = self._further(value, {name for name, _ in parts})
            return self._together("dataclass", kind, *parts, *further)
        return self._reduced(value)

    def _together(self, kind: str, *parts: Any) -> bytes:
        return _hash_parts(kind, *map(self.of, parts))

    def _array(self, value: Any) -> bytes:
        if type(value) is not np.ndarray and not isinstance(value, np.generic):
            return self._reduced(value)  # such as one with a mask
        # The bytes of such an array are addresses.
        if value.dtype.hasobject:
            return self._together("objects", value.shape, value.ravel().tolist())
        content = np.ascontiguousarray(value).tobytes()
        kind = type(value).__name__, value.dtype.descr, value.shape
        return _hash_parts("array", repr(kind).encode(), content)

    def _set(self, value: Any) -> bytes:
        own = self._together("set", type(value), *attributes_of(value))
        # The order of a set depends on hashes, which differ between processes.
        return _hash_parts("set", own, *sorted(map(self.of, value)))

    def _sequence(self, value: Any) -> bytes:
        return self._together("sequence", type(value), *value, *attributes_of(value))

    def _mapping(self, value: Any) -> bytes:
        pairs = (one for pair in value.items() for one in pair)
        own = (*attributes_of(value), getattr(value, "default_factory", None))
        return self._together("mapping", type(value), *pairs, *own)

    def _partial(self, value: Any) -> bytes:
        return self._together("partial", value.func, value.args, value.keywords)

    def _method(self, value: Any) -> bytes:
        return self._together("method", value.__self__, value.__func__)

    def _builtin(self, value: Any) -> bytes:
        self._met(value.__module__)
        owner = value.__self__ if not isinstance(value.__self__, ModuleType) else None
        return self._together("builtin", value.__module__ or "", value.__qualname__, owner)

    def _hash_enum_member(self, value: Any) -> bytes:
        return self._together("enum", type(value), value.name, value.value)

    def _generator(self, value: Any) -> bytes:
        return self._together("generator", type(value.bit_generator), value.bit_generator.state)

    def _seeds(self, value: Any) -> bytes:
        return self._together("seeds", value.entropy, value.spawn_key, value.n_children_spawned)

    def _code(self, value: CodeType) -> bytes:
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        taken = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        caught = value.co_exceptiontable
        return self._together(
            "code", value.co_code, value.co_consts, names, taken, value.co_flags, caught
        )

    def _function(self, value: FunctionType) -> bytes:
        if (registered := registrations_of(value)) is not None:
            self._met(value.__module__)
            return self._together("dispatching", value.__qualname__, *registered)
        met = self._met(value.__module__) or _is_made(value.__module__) or is_put(value)
        state = (value.__defaults__, value.__kwdefaults__, cells_of(value), vars(value))
        named = (value.__module__ if met else "", value.__qualname__)
        # Code of installed packages is known by the content of their files, and need not be walked.
        if not met:
            return self._together("function", named, state)
        before, self._vouched = self._vouched, self._vouched or hasattr(value, "__identity__")
        try:
            read = Reads() if self._vouched else reads_of(value)
            self._read.append((value, read))
            code = self._together("function", named, state, value.__code__)
            return self._together("with", code, *self._globals(value, read.by_name))
        finally:
            self._vouched = before

    def _globals(self, value: FunctionType, by_name: bool) -> list[Any]:
        """Return the globals of a function's code, also in the user's modules that it names."""
        names = sorted(names_in(value.__code__))
        modules: dict[int, Mapping[str, Any]] = {}
        found = self._in_namespace(value.__globals__, names, modules)
        if by_name:
            for namespace in (value.__globals__, *modules.values()):
                found += self._everything(namespace)
        return found

    def _in_namespace(
        self, namespace: Mapping[str, Any], names: Sequence[str], seen: dict[int, Mapping[str, Any]]
    ) -> list[Any]:
        """Return the values of these names in a module, and those of modules among them."""
        found: list[Any] = []
        for name in names:
            if name in namespace:
                one = namespace[name]
                found += [name, self._named(one)]
                self._note_numerical(one)
                if isinstance(one, ModuleType):
                    found += self._of_module(one, names, seen)
            elif name in vars(builtins) and is_replaced(name):
                found += [name, self._named(vars(builtins)[name])]
        return found

    def _of_module(
        self, module: ModuleType, names: Sequence[str], seen: dict[int, Mapping[str, Any]]
    ) -> list[Any]:
        """Return the values of these names in a module of the user's, or in a library."""
        if id(module) in seen:
            return []
        seen[id(module)] = inner = self._of_users(module)
        if inner:
            return self._in_namespace(inner, [*names, "__getattr__"], seen)
        found: list[Any] = []
        for name, one in sorted(get_library_values(module, names).items()):
            self._met(home_of(one))
            if isinstance(one, ModuleType):
                found += self._of_module(one, names, seen)
            else:
                found += [
                    name,
                    self._named(one)
                    if is_library_value_inspected(one, module)
                    else format_library_signature(one),
                ]
        return found

    def _everything(self, namespace: Mapping[str, Any]) -> list[Any]:
        """Return all that a module holds and code may ask for by a name that it works out."""
        found: list[Any] = []
        for name, one in sorted(namespace.items()):
            if not name.startswith("_") and name not in ("In", "Out") and holds_numbers(one):
                try:
                    found += [name, self._named(one)]
                except UnidentifiedValue as error:
                    self.unseen.add(f"a {error} ({namespace.get('__name__')}.{name})")
        return found

    def _note_numerical(self, value: Any) -> None:
        """Take note of a package of numbers that code names: its version counts."""
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        if isinstance(home, str) and home.partition(".")[0] in NUMERICAL:
            self.packages.add(home.partition(".")[0])

    def _named(self, value: Any) -> Any:
        """Return the digest of a value that code names; of one that keeps no numbers, its type."""
        return type(value).__qualname__ if isinstance(value, _WITHOUT_NUMBERS) else self.of(value)

    def _of_users(self, value: Any) -> Mapping[str, Any]:
        """Return the names of a module of the user's, none of other objects."""
        is_theirs = isinstance(value, ModuleType) and self._met(value.__name__)
        return vars(value) if is_theirs else {}

    def _type(self, value: type) -> bytes:
        named = (value.__module__, value.__qualname__)
        made = _is_made(value.__module__) and any(map(is_function, vars(value).values()))
        if not self._met(value.__module__) and not made and not is_put(value):
            return self._together("type", named)
        own = [
            (n, self._named(one))
            for n, one in sorted(vars(value).items())
            if is_its_authors(n, one)
        ]
        made_by = () if type(value).__module__ in ("builtins", "abc") else (type(value),)
        return self._together("type", named, value.__bases__, own, *made_by)

    def _module(self, value: ModuleType) -> bytes:
        self._met(value.__name__)
        return self._together("module", value.__name__)

    def _hash_descriptor(self, value: Any) -> bytes:
        return self._together("descriptor", type(value).__name__, *functions_in(value))

    def _met(self, name: str | None) -> bool:
        """Take note of a module; return whether it is the user's."""
        module = sys.modules.get(name or "")
        top = (name or "").partition(".")[0]
        file = getattr(module, "__file__", None)
        if top == _OURS or top in NUMERICAL or top in sys.builtin_module_names:
            return False
        if file is not None and is_installed(file) and top != "__main__":
            if package_of(file) is not None:
                self.packages.add(top)
            return False
        if file is None and module is not None and top != "__main__":
            folders = list(getattr(module, "__path__", ()))  # of a package without a file
            return bool(folders) and not is_installed(f"{folders[0]}/__init__.py")
        if file is not None and file not in self.files:
            self.files.add(file)
            for one in list(vars(module).values()):
                self._met(one.__name__ if isinstance(one, ModuleType) else home_of(one))
            read = find_user_sources(find_file_imports(Path(file), name or ""))
            self.files.update(str(path) for path in read.files.values())
            self.packages |= read.packages
        return True

    def _answers(self, value: Any) -> bytes:
        """Return the digest of a function that keeps its answers, and of these if they count."""
        inner = self._together("answering", value.__wrapped__, value.cache_parameters())
        if not self.caches or not self._met(value.__module__) or not value.cache_info().currsize:
            return inner
        return _hash_parts("answers", inner, *sorted(map(self.of, generate_cached_answers(value))))

    def _environment(self, value: Any) -> bytes:
        """Return the part of the environment that counts: the variables that code reads."""
        return _hash_parts("environment")

    def _reduced(self, value: Any) -> bytes:
        kind = type(value)
        if (array := as_array(value)) is not None:
            return self._together("tensor", kind.__name__, array)
        if isinstance(compiled := getattr(value, "py_func", None), FunctionType):  # by numba
            options = getattr(value, "targetoptions", None)
            return self._together("compiled", kind.__qualname__, compiled, options)
        try:
            found = value.__reduce_ex__(4)
        except Exception as error:  # what pickling other people's objects raises
            if isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):
                return self._together("wrapped", kind.__qualname__, inner)
            raise UnidentifiedValue(f"{kind.__module__}.{kind.__qualname__}") from error
        if isinstance(found, str):  # the name of an object in its module
            self._met(getattr(value, "__module__", None))
            return self._together("name", kind, found, getattr(value, "__wrapped__", None))
        make, arguments, *further = found
        state = (without_caches(kind, further[0]) or None) if further else None
        listed = [None if one is None else list(one) for one in further[1:3]]
        left = self._further(value, set(state) if isinstance(state, dict) else set())
        return self._together("object", kind, make, arguments, state, listed, *left)

    def _further(self, value: Any, known: set[str]) -> list[Any]:
        """Return attributes of an object of the user's that neither fields nor pickling show."""
        kind = type(value)
        if not self._met(kind.__module__) and not _is_made(kind.__module__):
            return []
        own = {n: one for n, one in getattr(value, "__dict__", {}).items() if n not in known}
        kept = caches_of(kind) & own.keys()
        found = [(n, self._named(one)) for n, one in sorted(own.items()) if n not in kept]
        counted = [n for n in sorted(kept) if self.caches and not self._is_derived(value, n)]
        return [*found, *((n, self._named(own[n])) for n in counted)]

    def _is_derived(self, value: Any, name: str) -> bool:
        """Return whether a property that was kept has the value of a new computation."""
        try:
            fresh = copy.copy(value)
            vars(fresh).pop(name)
            return _ValueWalk(False).of(getattr(fresh, name)) == _ValueWalk(False).of(
                vars(value)[name]
            )
        except Exception:  # whatever other people's properties raise
            return False


_KINDS: tuple[tuple[Any, Callable[[_ValueWalk, Any], bytes]], ...] = (
    (type(os.environ), _ValueWalk._environment),
    (_KEEPS_ANSWERS, _ValueWalk._answers),
    (enum.Enum, _ValueWalk._hash_enum_member),
    ((np.ndarray, np.generic), _ValueWalk._array),
    (np.random.Generator, _ValueWalk._generator),
    (np.random.SeedSequence, _ValueWalk._seeds),
    (np.dtype, lambda walk, value: _hash_parts("dtype", value.str.encode())),
    (type, _ValueWalk._type),
    (FunctionType, _ValueWalk._function),
    (CodeType, _ValueWalk._code),
    (ModuleType, _ValueWalk._module),
    (MethodType, _ValueWalk._method),
    (BuiltinFunctionType, _ValueWalk._builtin),
    (functools.partial, _ValueWalk._partial),
    (_DESCRIPTORS, _ValueWalk._hash_descriptor),
    ((set, frozenset), _ValueWalk._set),
    ((list, tuple), _ValueWalk._sequence),
    (dict, _ValueWalk._mapping),
)


def _hash_parts(kind: str, *parts: bytes) -> bytes:
    hashed = hashlib.blake2b(kind.encode(), digest_size=_SIZE)
    for part in parts:
        # With its length, so that no two lists of parts make the same bytes.
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.digest()


def _is_made(name: str | None) -> bool:
    """Return whether a module was made while the program runs, so that no file is its source."""
    top, module = (name or "").partition(".")[0], sys.modules.get(name or "")
    known = top in (_OURS, *NUMERICAL, *sys.stdlib_module_names)
    return module is not None and not known and getattr(module, "__file__", None) is None
