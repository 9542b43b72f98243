"""What a program has changed of a module since its import: a worker imports it as its file has it.

A mechanism of a module that can be imported is imported anew where it is drawn. A constant or a
function that was replaced since, as tests do, is not replaced there: other code would be judged.
Only what the mechanism's own code names in its own module is compared, where values are plain.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes)
_REWRITTEN = "@py_"  # names in functions with assertions that pytest has rewritten


def owner_of(mechanism: Any) -> FunctionType | type:
    """Return the function or class that a mechanism is made of."""
    found = mechanism
    while (inner := getattr(found, "function", getattr(found, "func", None))) is not None:
        found = inner
    found = getattr(found, "__self__", found)
    return found if isinstance(found, (FunctionType, type)) else type(found)


def looks(owner: FunctionType | type) -> dict[str, str]:
    """Return how what a function or class names in its module looks, by name.

    Empty for one that no other process would import.

    Examples
    --------
    >>> import dpaudit.laws.changed as here
    >>> "_PLAIN" in looks(here._look), looks(lambda: here)
    (True, {})
    """
    module = sys.modules.get(owner.__module__)
    found: dict[str, str] = {}
    if module is not None and getattr(module, owner.__qualname__, None) is owner:
        _follow(owner.__qualname__, module, found)
    return found


def of_named(module: str, names: list[str]) -> dict[str, str]:
    """Return how these names of a module look in this process."""
    home = importlib.import_module(module)
    return {name: _look(getattr(home, name, None)) for name in names}


def changes(here: dict[str, str], fresh: list[dict[str, str]]) -> list[str]:
    """Return names that look the same in all fresh imports, and other than here.

    What a fresh import has not set yet, and what differs from import to import, is left out.
    """
    first = fresh[0]
    return [
        name
        for name, look in here.items()
        if look and first.get(name) and first[name] != look and _settled(first[name])
        if all(other.get(name) == first[name] for other in fresh)
    ]


def _settled(look: str) -> bool:
    return look not in (_look(None), _look(False))


def _follow(name: str, module: ModuleType, found: dict[str, str]) -> None:
    """Note how a name looks, and all that its code names."""
    if name in found or not hasattr(module, name):
        return
    value = getattr(module, name)
    found[name] = _look(value)
    for code in _codes(value):
        if getattr(value, "__module__", None) == module.__name__:
            for other in _names(code):
                _follow(other, module, found)


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for part in _parts(value).values():
            yield from _codes(part)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _look(value: Any) -> str:
    """Return text that is the same for the same constant or code, empty for what is neither."""
    if value is None or isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "?biufc":
        return f"array {value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, FunctionType):
        return _of_code(value.__code__)
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} {[_look(one) for one in value]}"
    if isinstance(value, type):
        return f"class {sorted((name, _look(part)) for name, part in _parts(value).items())}"
    return ""


def _parts(kind: type) -> dict[str, Any]:
    """Return the functions and plain constants of a class."""
    parts = {name: getattr(part, "__func__", part) for name, part in vars(kind).items()}
    return {
        name: part
        for name, part in parts.items()
        if isinstance(part, FunctionType) or (not name.startswith("__") and _is_plain(part))
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (*_PLAIN, np.ndarray, tuple, list))


def _of_code(code: CodeType) -> str:
    names = (*code.co_names, *code.co_varnames)
    if any(_REWRITTEN in name for name in names):
        return "a function with assertions"
    return f"code {code.co_code.hex()} {names} {[_constant(one) for one in code.co_consts]}"


def _constant(value: Any) -> str:
    """Return a constant of code; a set, as of ``x in {"a", "b"}``, in an order of its own.

    Sets of text have another order in every process.
    """
    if isinstance(value, CodeType):
        return _of_code(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    return repr(value)
