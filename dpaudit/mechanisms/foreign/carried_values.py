"""Values that travel with code from process to process, and may be noise that was drawn before.

A function of a notebook, or an object that is handed over, brings along what it refers to. A short
number or a word is one that somebody wrote; a key, a token or a number with all its digits may have
been drawn. Nobody can tell, and what is the same in every process then may be noise.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpaudit.mechanisms.foreign.calling import function_of
from dpaudit.watching.names import is_plain, names_in

_DEEP = 6
_MANY = 4096
_LARGEST = 2**24  # integers that people write
_DIGITS = 6
_DENOMINATOR = 10_000
_CHANGING = 0.3  # of the letters of a token, another kind follows: capitals, small ones, digits
_HEXADECIMAL = re.compile("[0-9a-f]{8,}|[0-9A-F]{8,}")
_WRITTEN = (math.pi, math.e, math.tau, math.sqrt(2), math.log(2), math.inf)
_HARMLESS = (type, ModuleType, BuiltinFunctionType, CodeType, Enum, PurePath, re.Pattern, np.dtype)
_HARMLESS_TOO = (date, time, timedelta, slice, range, np.random.Generator)


def find_carried_noise(mechanism: Any) -> list[str]:
    """Return the names of values that came along with a mechanism and may be noise.

    Examples
    --------
    >>> from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
    >>> def made(key):
    ...     return lambda data: len(data) + key[0]
    >>> (
    ...     find_carried_noise(as_mechanism(made(b"8a1c-91f0-77"))),
    ...     find_carried_noise(as_mechanism(made([2]))),
    ... )
    (['key'], [])
    """
    return sorted(
        {name for name in _find_noise_names(function_of(mechanism), "", set(), 0) if name}
    )


def _find_noise_names(value: Any, name: str, seen: set[int], deep: int) -> Iterator[str]:
    """Yield names under which a value, or one it refers to, may be noise."""
    if id(value) in seen or deep > _DEEP:
        return
    seen.add(id(value))
    if isinstance(value, FunctionType):
        yield from _of_function(value, seen, deep)
    elif isinstance(value, partial):
        yield from _find_noise_names(value.func, name, seen, deep + 1)
        for key, one in (*enumerate(value.args), *value.keywords.items()):
            yield from _find_noise_names(one, f"{name}argument {key}", seen, deep + 1)
    elif isinstance(value, MethodType):
        yield from _find_noise_names(value.__func__, name, seen, deep + 1)
        yield from _find_noise_names(value.__self__, name, seen, deep + 1)
    elif isinstance(value, type) and not _is_imported(value):
        for key, one in vars(value).items():
            if not key.startswith("__"):
                yield from _find_noise_names(getattr(one, "__func__", one), key, seen, deep + 1)
    elif is_plain(value):
        if could_be_noise(value):
            yield name
    else:
        yield from _find_noise_names_inside(value, name, seen, deep)


def _find_noise_names_inside(value: Any, name: str, seen: set[int], deep: int) -> Iterator[str]:
    """Yield names of the values that containers and objects hold."""
    if isinstance(value, Mapping):
        for key, one in list(value.items())[:_MANY]:
            if could_be_noise(key):
                yield name
            yield from _find_noise_names(one, name, seen, deep + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in list(value)[:_MANY]:
            yield from _find_noise_names(one, name, seen, deep + 1)
    elif hasattr(value, "to_numpy"):
        yield from _find_noise_names(np.asarray(value.to_numpy()), name, seen, deep + 1)
    elif not isinstance(value, (*_HARMLESS, *_HARMLESS_TOO)):
        yield from _of_object(value, name, seen, deep)


def _of_object(value: Any, name: str, seen: set[int], deep: int) -> Iterator[str]:
    if type(value).__module__ == "random" or _is_an_imported_one(value):
        return  # of a generator every process has another one
    held = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for slot in np.atleast_1d(vars(kind).get("__slots__", ())).tolist():
            if hasattr(value, str(slot)):
                held[str(slot)] = getattr(value, str(slot))
    for key, one in held.items():
        yield from _find_noise_names(one, str(key), seen, deep + 1)
    if type(value).__module__ != "builtins" and not _is_imported(type(value)):
        yield from _find_noise_names(type(value), name, seen, deep + 1)


def _of_function(function: FunctionType, seen: set[int], deep: int) -> Iterator[str]:
    """Yield names of the values that a function refers to and that did not come with an import."""
    inner = getattr(function, "__wrapped__", None)
    if inner is not None:
        yield from _find_noise_names(inner, function.__name__, seen, deep + 1)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    if not _is_imported(function):
        for key, cell in cells:
            try:
                held = cell.cell_contents
            except ValueError:  # it is empty
                continue
            yield from _find_noise_names(held, key, seen, deep + 1)
        for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from _find_noise_names(one, f"a default of {function.__name__}", seen, deep + 1)
        for key in names_in(function.__code__):
            if key in function.__globals__:
                yield from _find_noise_names(function.__globals__[key], key, seen, deep + 1)


def _is_imported(given: Any) -> bool:
    """Return whether a function or class is the one that its module, imported here, has."""
    found: Any = sys.modules.get(getattr(given, "__module__", None) or "")
    if found is None:
        return False
    if isinstance(given, FunctionType) and given.__globals__ is not vars(found):
        return False
    for part in getattr(given, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is given or getattr(found, "__func__", None) is given


def _is_an_imported_one(value: Any) -> bool:
    """Return whether an object was made when the module of its class was imported."""
    home = sys.modules.get(type(value).__module__)
    return home is not None and any(one is value for one in list(vars(home).values()))


def could_be_noise(value: Any) -> bool:
    """Return whether a plain value has more digits or letters than somebody would write.

    Examples
    --------
    >>> [could_be_noise(one) for one in (0.25, 1 / 3, 100_000, "mean", "utf-8", True, None)]
    [False, False, False, False, False, False, False]
    >>> [could_be_noise(one) for one in (0.8172635453, 2**61 - 2, "9f86d081884c7d65", b"8a1c-91f0")]
    [True, True, True, True]
    """
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, np.bool_):  # which nobody writes: a coin that was tossed
        return True
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(np.asarray(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _of_bytes(bytes(value))
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, int):
        return abs(value) >= _LARGEST and not _is_round(value)
    if isinstance(value, complex):
        return could_be_noise(value.real) or could_be_noise(value.imag)
    return _of_float(float(value))


def _is_round(value: int) -> bool:
    """Return whether an integer is a power of two, one less, or has few digits before its zeros."""
    value = abs(value)
    return bool(
        len(str(value).rstrip("0")) <= _DIGITS
        or value & (value - 1) == 0
        or value & (value + 1) == 0
    )


def _of_float(value: float) -> bool:
    if not math.isfinite(value) or float(f"{value:.{_DIGITS}g}") == value:
        return False
    # Somebody may have written a quotient of small integers, such as 1 / 3.
    near = Fraction(value).limit_denominator(_DENOMINATOR)
    if near and abs(float(near) - value) <= 4e-16 * abs(value):
        return False
    return all(abs(value) != one for one in _WRITTEN)


def _of_text(value: str) -> bool:
    """Return whether text looks like a key or a token, and not like words or a name."""
    if any(not one.isprintable() and not one.isspace() for one in value):
        return len(value) > 3
    if len(value) < 6 or any(map(str.isspace, value)):
        return False
    kinds = [_kind_of(one) for one in value if one.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    digits = kinds.count("digit")
    if _HEXADECIMAL.fullmatch(value):
        return digits > 0
    often = changes >= 3 and changes > _CHANGING * (len(kinds) - 1)
    return often or (digits >= 2 and changes >= 4)


def _of_bytes(value: bytes) -> bool:
    """Return whether bytes are no text that somebody would write."""
    if not value.isascii():
        return len(value) > 3
    return _of_text(value.decode("ascii"))


def _kind_of(letter: str) -> str:
    return "digit" if letter.isdigit() else "upper" if letter.isupper() else "lower"


def _of_array(value: Any) -> bool:
    flat = value.reshape(-1)[:_MANY]
    if value.dtype.kind == "f":
        return any(map(_of_float, flat.astype(float).tolist()))
    if value.dtype.kind in "iu":
        return any(map(could_be_noise, flat.tolist()))
    return value.dtype.kind in "cOSUV" and any(
        could_be_noise(one) for one in flat.tolist() if is_plain(one)
    )
