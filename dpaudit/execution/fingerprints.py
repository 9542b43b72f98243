"""Representations of values: one text for the same constant, code or object in any process."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes)
_REWRITTEN = "@py_"  # names in functions with assertions that pytest has rewritten
_DIGEST = 16  # bytes


def compute_look_fingerprint(value: Any) -> str:
    """Return text that is the same for the same constant or code, empty for any other value.

    Examples
    --------
    >>> (
    ...     compute_look_fingerprint(1.5)
    ...     == compute_look_fingerprint(3.0 / 2)
    ...     != compute_look_fingerprint(1),
    ...     compute_look_fingerprint(object()),
    ... )
    (True, '')
    """
    if value is None or isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "?biufc":
        return f"array {value.dtype} {value.shape} {_compute_bytes_digest(value.tobytes())}"
    if isinstance(value, FunctionType):
        return _of_code(value.__code__)
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} {[compute_look_fingerprint(one) for one in value]}"
    if isinstance(value, type):
        parts = ((name, compute_look_fingerprint(part)) for name, part in parts_of(value).items())
        return f"class {sorted(parts)}"
    return ""


def close_look(value: Any) -> str:
    """Return text that is another for another value of any kind, as far as pickling shows it.

    Examples
    --------
    >>> close_look({"scale": 1.0}) == close_look({"scale": 1.0}) != close_look({"scale": 0.5})
    True
    """
    kind = type(value)
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, (FunctionType, type)):
        held = [getattr(value, name, None) for name in ("__defaults__", "__kwdefaults__")]
        return _compute_bytes_digest(
            (
                compute_look_fingerprint(value)
                + _compute_pickle_digest([*held, *cells_of(value).values()])
            ).encode()
        )
    return _compute_bytes_digest(
        f"{kind.__module__ in _SCRIPTS or kind.__module__} {_compute_pickle_digest(value)}".encode()
    )


_SCRIPTS = ("__main__", "__mp_main__")


def _compute_pickle_digest(value: Any) -> str:
    """Return a digest of a value's pickle; of one that cannot be pickled, its type's name."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, given: Any) -> Any:
            if isinstance(given, (FunctionType, type)):
                return str, (
                    compute_look_fingerprint(given)
                    if given.__module__ in _SCRIPTS
                    else given.__qualname__,
                )
            if isinstance(inner := getattr(given, "__wrapped__", None), FunctionType):
                return str, (compute_look_fingerprint(inner),)
            return super().reducer_override(given)

    file = io.BytesIO()
    with contextlib.suppress(Exception):  # pickling runs other people's code
        Pickler(file).dump(value)
        return _compute_bytes_digest(file.getvalue())
    return type(value).__qualname__


def _compute_bytes_digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()


def parts_of(kind: type) -> dict[str, Any]:
    """Return the functions and plain constants of a class."""
    parts = {name: getattr(part, "__func__", part) for name, part in vars(kind).items()}
    return {
        name: part
        for name, part in parts.items()
        if isinstance(part, FunctionType) or (not name.startswith("__") and _is_plain(part))
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (*PLAIN, np.ndarray, tuple, list))


def _of_code(code: CodeType) -> str:
    names = (*code.co_names, *code.co_varnames)
    if any(_REWRITTEN in name for name in names):
        return "a function with assertions"
    return (
        f"code {code.co_code.hex()} {names} "
        f"{[_format_code_constant(one) for one in code.co_consts]}"
    )


def _format_code_constant(value: Any) -> str:
    """Return a constant of code; a set, as of ``x in {"a", "b"}``, in an order of its own.

    Sets of text have another order in every process.
    """
    if isinstance(value, CodeType):
        return _of_code(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_code_constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_format_code_constant, value)))}}}"
    return repr(value)


# What code names


def cells_of(function: Any) -> dict[str, Any]:
    """Return the cells of a function, by name."""
    cells = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars if cells else ()
    found = dict[str, Any]()
    for name, cell in zip(names, cells, strict=True):
        with contextlib.suppress(ValueError):  # nothing is there yet
            found[name] = cell.cell_contents
    return found


def codes_of(value: Any) -> Iterator[CodeType]:
    """Yield the code of a function, of the one it wraps, and of the functions of a class."""
    if isinstance(value, MethodType):
        value = value.__func__
    if isinstance(value, FunctionType):
        yield value.__code__
        yield from codes_of(getattr(value, "__wrapped__", None))
    elif isinstance(value, type):
        for part in vars(value).values():
            inner = getattr(part, "__func__", getattr(part, "fget", part))
            if isinstance(inner, FunctionType):
                yield from codes_of(inner)
    elif isinstance(inner := getattr(value, "__wrapped__", None), FunctionType):
        yield from codes_of(inner)


def names_of(code: CodeType) -> Iterator[str]:
    """Yield the names that code has, also inside of it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from names_of(part)


def find_names_of_code(value: Any, module: str) -> set[str]:
    """Return the names that the code of a value of a module has; of an object, its class's too.

    Examples
    --------
    >>> sorted(
    ...     find_names_of_code(compute_look_fingerprint, compute_look_fingerprint.__module__)
    ...     & {"PLAIN", "_of_code", "io"}
    ... )
    ['PLAIN', '_of_code']
    """
    kinds = [value, *(value.__mro__ if isinstance(value, type) else type(value).__mro__)]
    own = [one for one in kinds if getattr(one, "__module__", None) == module]
    found = {name for one in own for code in codes_of(one) for name in names_of(code)}
    return found | {one.__qualname__ for one in own if isinstance(one, type)}
