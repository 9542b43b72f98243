"""Numbers, texts and dates that stand in the code of a function, and in what it calls."""

from __future__ import annotations

import datetime
import functools
import inspect
import math
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any

from dpaudit.freezing.tracked import is_installed

_DEEPEST, _MOST = 6, 64
_KINDS = (int, float, str, datetime.date)


def constants_of(function: Any) -> list[Any]:
    """Return constants of a function and of the code of the same author that it calls.

    Its own, those of functions inside of it, defaults, what it closes over, and globals by name;
    a tuple, a set or a mapping of constants is what it holds. The nearest come first.

    Examples
    --------
    >>> def count(ages):
    ...     return sum(age >= 65 for age in ages)
    >>> 65 in constants_of(count)
    True
    """
    found = dict[tuple[str, Any], Any]()
    for one in _walk(function, 0, set()):
        if len(found) == _MOST:
            break
        if isinstance(one, float) and not math.isfinite(one):
            continue
        found.setdefault((type(one).__name__, one), one)
    return list(found.values())


def _walk(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    if depth > _DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, _KINDS):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        for one in list(value)[:_MOST]:
            yield from _walk(one, depth + 1, seen)
    elif isinstance(value, Mapping):
        for pair in list(value.items())[:_MOST]:
            yield from _walk(pair, depth + 1, seen)
    elif isinstance(value, re.Pattern):
        yield from _walk(value.pattern, depth, seen)
    elif isinstance(value, functools.partial):
        for one in (value.func, *value.args, *value.keywords.values()):
            yield from _walk(one, depth + 1, seen)
    else:
        yield from _of_code(value, depth, seen)


def _of_code(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """Yield constants of a function, of a method with its object, of a class, or of an object."""
    function = inspect.unwrap(value) if callable(value) else value
    if isinstance(function, types.MethodType):
        yield from _walk(function.__func__, depth, seen)
        yield from _walk(list(getattr(function.__self__, "__dict__", {}).values()), depth, seen)
    elif isinstance(function, types.FunctionType):
        yield from _of_function(function, depth, seen)
    elif isinstance(function, type) and not is_installed(_file_of(function)):
        for one in list(vars(function).values()):
            yield from _walk(one, depth + 1, seen)
    elif not isinstance(function, types.ModuleType | type) and not is_installed(
        _file_of(type(function))
    ):
        yield from _walk(list(getattr(function, "__dict__", {}).values()), depth + 1, seen)
        yield from _walk(type(function), depth + 1, seen)


def _of_function(function: types.FunctionType, depth: int, seen: set[int]) -> Iterator[Any]:
    if is_installed(function.__code__.co_filename):
        return
    names = set[str]()
    for code in _codes(function.__code__):
        names.update(code.co_names)
        for one in code.co_consts:
            if not isinstance(one, types.CodeType) and one != function.__doc__:
                yield from _walk(one, depth + 1, set())
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    cells = tuple(_content(cell) for cell in function.__closure__ or ())
    known = [function.__globals__[name] for name in sorted(names) if name in function.__globals__]
    for one in (*given, *cells, *known):
        yield from _walk(one, depth + 1, seen)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes(one)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is not bound yet
        return None


def _file_of(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (TypeError, OSError):
        return "<"
