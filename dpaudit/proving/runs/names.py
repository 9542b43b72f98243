"""Names that code uses, and by which it asks for the type of objects, or where and when it runs.

What code does by the clock, by files, by the state of a library or of the process is no function
of its data: a run meets one of many surroundings.
"""

from __future__ import annotations

import builtins
import dis
import operator
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_STORING = frozenset(("STORE_ATTR", "DELETE_ATTR"))
_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
# Attributes and functions by which code learns what an object is, other than by its class.
_TELLING = frozenset(
    (
        *("__class__", "__dict__", "__module__", "__doc__", "__sizeof__", "__dir__", "__slots__"),
        *("__array_interface__", "__array_struct__", "__reduce__", "__reduce_ex__", "__mro__"),
        *("__getattribute__", "getsizeof", "_getframe", "currentframe", "getmembers", "attrgetter"),
        *("settrace", "gettrace", "setprofile", "get_objects", "get_referrers", "builtins"),
    )
)
# Names by which code asks where and when it runs, or reads what it, or others, may write.
_SURROUNDINGS = frozenset(
    (
        *("environ", "getenv", "modules", "inspect", "perf_counter", "monotonic", "process_time"),
        *("time_ns", "getpid", "get_stats", "id", "time", "now", "utcnow", "today", "stat"),
        *("set_printoptions", "get_printoptions", "printoptions", "setbufsize", "getbufsize"),
        *("seterr", "geterr", "seterrcall", "geterrcall", "getcontext", "setcontext"),
        *("set_option", "get_option", "reset_option", "option_context", "filterwarnings"),
        *("simplefilter", "resetwarnings", "showwarning", "cache_info", "cache_clear"),
        *("loadtxt", "genfromtxt", "fromfile", "memmap", "read_csv", "read_parquet", "read_excel"),
        *("read_pickle", "read_json", "read_table", "read_text", "read_bytes"),
    )
)
_BUILTINS = frozenset(
    "open input globals vars exec eval compile __import__ breakpoint hash setattr delattr".split()
)
_MODULES = frozenset(
    (
        *("time", "os", "posix", "nt", "genericpath", "posixpath", "ntpath", "sys", "platform"),
        *("socket", "subprocess", "inspect", "gc", "threading", "_thread", "multiprocessing"),
        *("tempfile", "pathlib", "io", "_io", "locale", "logging", "warnings", "resource"),
        *("traceback", "uuid", "getpass", "signal", "ctypes", "mmap", "shutil", "glob", "sqlite3"),
        *("shelve", "dbm", "importlib", "pkgutil", "atexit", "asyncio", "concurrent"),
        *("contextvars", "_contextvars", "tracemalloc", "sysconfig", "site", "fileinput"),
        *("linecache", "weakref"),
    )
)
_HARMLESS = {
    "logging": frozenset("debug info warning error critical exception log Logger".split()),
    "warnings": frozenset(("warn",)),
    "io": frozenset(("StringIO", "BytesIO")),
    "sys": frozenset(("maxsize", "float_info", "stdout", "stderr")),
    "time": frozenset(("sleep",)),
}
_HARMLESS_DUNDERS = frozenset(
    (
        *("__init__", "__new__", "__post_init__", "__call__", "__name__", "__qualname__"),
        *("__version__", "__wrapped__", "__len__", "__getitem__", "__setitem__", "__iter__"),
    )
)
_NUMBERS = (bool, int, float, complex, str, bytes, tuple, np.generic, np.ndarray)
_IDENTITIES = (operator.is_, operator.is_not)
_CLOCKS = frozenset(("datetime64", "Timestamp", "to_datetime", "DatetimeIndex", "Period"))


def names_in(code: CodeType) -> set[str]:
    """Return the names that code uses, as such or as text, and the texts in it.

    Examples
    --------
    >>> sorted(names_in((lambda: print(getattr(None, "real"))).__code__))
    ['getattr', 'print', 'real']
    """
    found = {*code.co_names}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= names_in(one)
        elif isinstance(one, str) and one.isidentifier():
            found.add(one)
    return found


def find_stored_attributes(code: CodeType) -> set[str]:
    """Return the names of attributes that code sets or deletes."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in _STORING}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= find_stored_attributes(one)
    return found


def asking_name(code: CodeType, held: Mapping[str, Any]) -> str:
    """Return a name by which code asks for the type of objects, or where and when it runs.

    Parameters
    ----------
    code
        What runs.
    held
        The globals of its module.

    Examples
    --------
    >>> from time import time as clock
    >>> asking_name((lambda: clock()).__code__, {"clock": clock})
    'clock'
    """
    return (
        _find_telling_name(code)
        or next(_find_asked_names(code, held), "")
        or next(_find_identity_comparisons(code, held), "")
    )


@lru_cache(maxsize=8192)
def _find_telling_name(code: CodeType) -> str:
    """Return a name of code that asks, whatever it stands for and whether it is executed."""
    found = next((one for one in (*code.co_names, *code.co_consts) if one in _TELLING), "")
    found = found or next((one for one in code.co_names if one in _SURROUNDINGS), "")
    found = found or next(filter(_is_asking_dunder, _find_attribute_names(code)), "")
    if found or _CLOCKS.isdisjoint(code.co_names):
        return found
    return next((one for one in ("now", "today") if one in code.co_consts), "")


def _find_asked_names(code: CodeType, held: Mapping[str, Any]) -> Iterator[str]:
    """Yield names of builtins, of modules and of members of them, by which code asks."""
    for name, attribute in _find_loaded_globals(code):
        if name.removeprefix("import ").partition(".")[0] in _MODULES and name not in held:
            yield name
        value = held.get(name, getattr(builtins, name, None))
        if name in _BUILTINS and (name not in held or _stands_for(value, name)):
            yield name
        elif isinstance(value, ModuleType):
            home = value.__name__.partition(".")[0]
            if home in _MODULES and not _is_harmless(home, attribute):
                yield f"{name}.{attribute}" if attribute else name
        elif _is_of_surroundings(value) or any(value is one for one in _IDENTITIES):
            yield name


def _find_attribute_names(code: CodeType) -> Iterator[str]:
    return (one.argval for one in dis.get_instructions(code) if one.opname in _ATTRIBUTE)


def _is_asking_dunder(name: str) -> bool:
    """Return whether a method of plain numbers, called by name, may not know a symbol."""
    is_dunder = name.startswith("__") and name.endswith("__")
    return (is_dunder and name not in _HARMLESS_DUNDERS) or name in ("is_", "is_not")


def _find_identity_comparisons(code: CodeType, held: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``is`` where it asks whether a number is another one, which no symbol is."""
    for path in _find_is_operands(code):
        value = held.get(path[0], getattr(builtins, path[0], False)) if path else False
        for name in path[1:]:
            value = getattr(value, name, False)
        if isinstance(value, _NUMBERS):
            yield "is"


@lru_cache(maxsize=8192)
def _find_is_operands(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the names of the operands of ``is``, but None; no names for anything else."""
    found, steps = list[tuple[str, ...]](), list(dis.get_instructions(code))
    for at, one in enumerate(steps):
        last = steps[at - 1]
        if one.opname != "IS_OP" or (last.opname == "LOAD_CONST" and last.argval in (None, ...)):
            continue
        path, back = list[str](), at - 1
        while steps[back].opname in _ATTRIBUTE:
            path, back = [steps[back].argval, *path], back - 1
        is_global = steps[back].opname in _GLOBAL
        found.append((steps[back].argval, *path) if is_global else ())
    return tuple(found)


@lru_cache(maxsize=8192)
def _find_loaded_globals(code: CodeType) -> tuple[tuple[str, str], ...]:
    """Return the names that code loads from globals or imports, each with the attribute of it."""
    found, steps = list[tuple[str, str]](), list(dis.get_instructions(code))
    for one, after in zip(steps, [*steps[1:], None], strict=True):
        if one.opname == "IMPORT_NAME":
            found.append((f"import {one.argval}", ""))
        if one.opname in _GLOBAL:
            is_attribute = after is not None and after.opname in _ATTRIBUTE
            found.append((one.argval, after.argval if is_attribute and after else ""))
    return tuple(found)


def _stands_for(value: Any, name: str) -> bool:
    """Return whether a value is a builtin's replacement in code that is traced."""
    return getattr(value, "__wrapped__", None) is getattr(builtins, name)


def _is_harmless(module: str, attribute: str) -> bool:
    return attribute in _HARMLESS.get(module, ())


def _is_of_surroundings(value: Any) -> bool:
    """Return whether a value is of a module that knows of the surroundings."""
    own = getattr(value, "__module__", None) if callable(value) else type(value).__module__
    home = own.partition(".")[0] if isinstance(own, str) else ""
    if home not in _MODULES:
        return False
    return not _is_harmless(home, str(getattr(value, "__name__", type(value).__name__)))
