"""Numbers, texts and dates that stand in the code of a function, and in code that it calls."""

from __future__ import annotations

import ast
import datetime
import functools
import inspect
import math
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpaudit.freezing.tracked_noise import is_installed

_DEEPEST = 6
_MOST = 64
_KINDS = (int, float, str, datetime.date)


def constants_of(function: Any, *, written: bool = False) -> list[Any]:
    """Return constants of a function and of the code of the same author that it calls.

    Its own, those of functions inside of it, defaults, what it closes over, and globals by name;
    a tuple, a set or a mapping of constants is what it holds. The nearest come first.

    Parameters
    ----------
    function
        What is read.
    written
        Whether only such as somebody wrote into code: what is closed over, what an object or a
        partial call holds, and what lists and arrays outside of functions do may be records, and
        so may a global, a default or an attribute of a class that is no literal of its file.

    Examples
    --------
    >>> def count(ages):
    ...     return sum(age >= 65 for age in ages)
    >>> 65 in constants_of(count)
    True
    """
    found = dict[tuple[str, Any], Any]()
    for one in _walk_constants(function, 0, set(), not written):
        if len(found) == _MOST:
            break
        if isinstance(one, float) and not math.isfinite(one):
            continue
        found.setdefault((type(one).__name__, one), one)
    return list(found.values())


def _walk_constants(value: Any, depth: int, seen: set[int], held: bool = True) -> Iterator[Any]:
    """Yield constants; those that objects hold only if ``held``."""
    if depth > _DEEPEST or id(value) in seen:
        return
    # Objects may refer to one another in circles.
    seen.add(id(value))
    # True and None decide branches, and are no values of a record to try.
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, _KINDS):
        yield value
    elif isinstance(value, tuple | list | frozenset | set):
        # The order of a set is another one in every process.
        ordered = sorted(value, key=repr) if isinstance(value, frozenset | set) else list(value)
        for one in ordered[:_MOST]:
            yield from _walk_constants(one, depth + 1, seen, held)
    elif isinstance(value, Mapping):
        for pair in list(value.items())[:_MOST]:
            yield from _walk_constants(pair, depth + 1, seen, held)
    elif isinstance(value, re.Pattern):
        yield from _walk_constants(value.pattern, depth, seen, held)
    elif isinstance(value, functools.partial):
        given = (*value.args, *value.keywords.values())
        for one in (value.func, *(given if held else filter(_is_code, given))):
            yield from _walk_constants(one, depth + 1, seen, held)
    else:
        yield from _of_code(value, depth, seen, held)


def _is_code(value: Any) -> bool:
    """Return whether a value is no data: a function, a class or a compiled pattern."""
    return callable(value) or isinstance(value, re.Pattern)


def _is_literal(value: Any, file: str) -> bool:
    """Return whether a value is one that a file writes: another one was worked out, of data even.

    A day is written as a text, or as three numbers of a call.
    """
    if type(value) in (datetime.date, datetime.datetime):
        numbers = (value.year, value.month, value.day)
        return _is_literal(value.isoformat(), file) or (tuple, numbers) in _parse_file_literals(
            file
        )
    return type(value) in _KINDS and (type(value), value) in _parse_file_literals(file)


@functools.lru_cache(maxsize=256)
def _parse_file_literals(file: str) -> frozenset[tuple[type, Any]]:
    """Return numbers, with and without a minus, texts, and first three arguments of calls."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)]
    numbers = [one for one in found if isinstance(one, int | float) and type(one) is not bool]
    texts = [one for one in found if isinstance(one, str)]
    calls = [one.args[:3] for one in ast.walk(tree) if isinstance(one, ast.Call)]
    days = [tuple(getattr(one, "value", None) for one in given) for given in calls]
    days = [one for one in days if all(isinstance(number, int) for number in one)]
    return frozenset((type(one), one) for one in (*numbers, *(-n for n in numbers), *texts, *days))


def _of_code(value: Any, depth: int, seen: set[int], held: bool) -> Iterator[Any]:
    """Yield constants of a function, of a method with its object, of a class, or of an object."""
    function = inspect.unwrap(value) if callable(value) else value
    if isinstance(function, types.MethodType):
        yield from _walk_constants(function.__func__, depth, seen, held)
        owner = function.__self__
        for one in (
            *_get_held_attributes(owner, held),
            owner if isinstance(owner, type) else type(owner),
        ):
            yield from _walk_constants(one, depth + 1, seen, held)
    elif isinstance(function, types.FunctionType):
        yield from _of_function(function, depth, seen, held)
    elif isinstance(function, type) and not is_installed(_file_of(function)):
        for one in list(vars(function).values()):
            if held or _is_code(one) or _is_literal(one, _file_of(function)):
                yield from _walk_constants(one, depth + 1, seen, held)
    elif not isinstance(function, types.ModuleType | type) and not is_installed(
        _file_of(type(function))
    ):
        for one in _get_held_attributes(function, held):
            yield from _walk_constants(one, depth + 1, seen, held)
        yield from _walk_constants(type(function), depth + 1, seen, held)


def _get_held_attributes(value: Any, held: bool) -> list[Any]:
    found = list(getattr(value, "__dict__", {}).values())[:_MOST]
    return found if held else list(filter(_is_code, found))


def _of_function(
    function: types.FunctionType, depth: int, seen: set[int], held: bool
) -> Iterator[Any]:
    if is_installed(function.__code__.co_filename):
        return
    names = set[str]()
    for code in _walk_code_objects(function.__code__):
        names.update(code.co_names)
        for one in code.co_consts:
            if not isinstance(one, types.CodeType) and one != function.__doc__:
                # A new set: constants of code are shared by the interpreter, so an identity may
                # have been met in another function.
                yield from _walk_constants(one, depth + 1, set())
    given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    cells = tuple(_get_bound_content(cell) for cell in function.__closure__ or ())
    # Names are sorted, as the order of a set of text is another one in every process.
    known = [function.__globals__[name] for name in sorted(names) if name in function.__globals__]
    if not held:
        cells = tuple(filter(_is_code, cells))
    for one in (*given, *cells, *known):
        if not (held or _is_code(one) or _is_literal(one, function.__code__.co_filename)):
            continue
        yield from _walk_constants(one, depth + 1, seen, held)


def _walk_code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _walk_code_objects(one)


def _get_bound_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is not bound yet
        return None


def _file_of(kind: type) -> str:
    try:
        return inspect.getfile(kind)
    except (TypeError, OSError):
        return "<"
