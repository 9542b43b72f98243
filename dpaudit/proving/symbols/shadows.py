"""Builtins and functions of `math` that take numbers apart, as code of no library sees them.

``float``, ``len``, ``min`` and their like ask for a number of Python's, which a symbol has
not. While a function is traced, modules of no library find others under these names: for symbols
they write operations, for anything else they are the builtins. So is `math`, wherever it is held.
"""

from __future__ import annotations

import builtins
import inspect
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial, reduce, wraps
from typing import Any

import numpy as np

from dpaudit.freezing import tracked_noise
from dpaudit.proving.symbols.conversions import (
    DOUBLE,
    SYMBOLIC,
    WHOLE,
    add_up,
    as_number,
    axes_of,
    count_entries,
    is_symbolic,
    to_bool,
    to_float,
    to_int,
    to_list_or_symbol,
    tracing_of,
)
from dpaudit.proving.symbols.math_functions import OF_MATH, OF_STATISTICS
from dpaudit.proving.symbols.records import sample_of
from dpaudit.proving.symbols.symbol import Symbol

_lru_cache_wrapper = type(lru_cache(abs))
_isinstance = isinstance
_float = float
_int = int
_bool = bool


@contextmanager
def own_builtins(function: Any) -> Iterator[None]:
    """Let code of no library, and all that ``function`` is written in, see shadow builtins."""
    undo = list[Callable[[], None]]()
    instead = {id(one): (one, new) for one, new in _make_shadow_replacements()}
    try:
        for held in (vars(math), vars(statistics)):
            _apply_shadows(held, instead, undo)
        for held in user_names(function):
            _remove_caches(held, undo)
            _apply_shadows(held, instead, undo)
            for name, new in SHADOWS.items():
                if name not in held:
                    undo.append(partial(held.pop, name, None))
                    held[name] = new
        yield
    finally:
        for one in reversed(undo):
            one()


def user_names(function: Any) -> list[dict[str, Any]]:
    """Return the globals of all modules of no library, and those of a function."""
    own = getattr(inspect.unwrap(function), "__globals__", None)
    own = own if own is not None else getattr(type(function).__call__, "__globals__", {})
    found = {id(own): own}
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and name.partition(".")[0] != "dpaudit":
            if not tracked_noise.is_installed(getattr(module, "__file__", None) or "<frozen"):
                found[id(names)] = names
    return list(found.values())


def _remove_caches(held: dict[str, Any], undo: list[Callable[[], None]]) -> None:
    """Let functions that remember results work them out: they would hold symbols afterwards."""
    for name, value in list(held.items()):
        if type(value) is _lru_cache_wrapper:
            undo.append(partial(held.__setitem__, name, value))
            held[name] = value.__wrapped__


def _apply_shadows(
    held: dict[str, Any], instead: dict[int, tuple[Any, Any]], undo: list[Callable[[], None]]
) -> None:
    for name, value in list(held.items()):
        original, new = instead.get(id(value), (None, None))
        if original is value and new is not None:
            undo.append(partial(held.__setitem__, name, value))
            held[name] = new


def _make_shadow_replacements() -> Iterator[tuple[Any, Any]]:
    for name, made in OF_MATH.items():
        yield getattr(math, name), _for_symbols(getattr(math, name), made)
    for name, made in OF_STATISTICS.items():
        yield getattr(statistics, name), _for_symbols(getattr(statistics, name), made)


def _for_symbols(original: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes something else of symbols than of other values."""

    @wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        if any(map(is_symbolic, given)) or any(map(is_symbolic, named.values())):
            return made(*given, **named)
        return original(*given, **named)

    return call


# --- numbers ---------------------------------------------------------------------------------


class _OfClass(type):
    """The class of a stand-in for a class of numbers."""

    original: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_instance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(getattr(subclass, "original", subclass), cls.original)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.original

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls.original is type and len(given) == 1:
            return OwnType.of(given[0])
        if given and _isinstance(given[0], SYMBOLIC):
            return _CONVERTED[cls.original](given[0])
        return cls.original(*given, **named)


class OwnFloat(float, metaclass=_OfClass):
    """``float``, which leaves a symbol as it is."""

    original = float
    dtype = DOUBLE


class OwnInt(int, metaclass=_OfClass):
    """``int``, which cuts off the digits of a symbol."""

    original = int
    dtype = WHOLE


class OwnBool(int, metaclass=_OfClass):
    """``bool``, which compares a symbol with 0."""

    original = bool
    dtype = np.dtype(bool)


class OwnType(type, metaclass=_OfClass):
    """``type``, which answers for a symbol with the class of the value that it stands for."""

    original = type

    @staticmethod
    def of(value: Any) -> Any:
        """Return the class of a value, or the stand-in that code finds under its name."""
        found = type(sample_of(value))
        return _STAND_INS.get(found, found)


_CONVERTED: dict[type, Callable[[Any], Any]] = {
    float: to_float,
    int: to_int,
    bool: to_bool,
}


_STAND_INS: dict[type, type] = {float: OwnFloat, int: OwnInt, bool: OwnBool, type: OwnType}


def is_instance(value: Any, kinds: Any) -> bool:
    """Return the result of ``isinstance`` on the value that a symbol stands for."""
    return _isinstance(sample_of(value), _plain_kinds(kinds))


def _plain_kinds(kinds: Any) -> Any:
    if _isinstance(kinds, tuple):
        return tuple(map(_plain_kinds, kinds))
    return getattr(kinds, "original", kinds) if _isinstance(kinds, _OfClass) else kinds


def has_attribute(value: Any, name: str) -> bool:
    """Return the result of ``hasattr`` on the value that a symbol stands for."""
    return hasattr(sample_of(value), name)


def get_attribute(value: Any, name: str, *default: Any) -> Any:
    """Return the result of ``getattr``, of a symbol if its value has such an attribute."""
    if default and not has_attribute(value, name):
        return default[0]
    return getattr(value, name, *default)


# --- lists -----------------------------------------------------------------------------------


def _make_extreme_shadow(original: Any, of_two: Any, name: str) -> Callable[..., Any]:
    @wraps(original)
    def extreme(*given: Any, **named: Any) -> Any:
        values = to_list_or_symbol(given[0]) if len(given) == 1 else list(given)
        if not is_symbolic(values):
            return original(values, **named) if len(given) == 1 else original(*given, **named)
        tracing = tracing_of(values)
        if named.keys() - {"default"}:
            tracing.refuse(
                f"no rule covers {name}() with key= of values that depend on records or noise"
            )
        if _isinstance(values, tracked_noise.Symbolic):
            return _extreme_of_array(values, name, named)
        if any(map(axes_of, values)):
            return original(values)
        return reduce(of_two, values)

    return extreme


def _extreme_of_array(values: Any, name: str, named: dict[str, Any]) -> Any:
    if values.ndim != 1:
        values.tracing.refuse(
            f"no rule covers {name}() of an array with several axes", f"use numpy.{name}"
        )
    if named and _isinstance(values.shape[0], tracked_noise.Symbolic):
        values.tracing.refuse(
            f"no rule covers {name}() of records with default=", f"use numpy.{name}"
        )
    return getattr(np, name)(values)


def sort_entries(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """Return the result of ``sorted``."""
    given = to_list_or_symbol(values)
    if not is_symbolic(given):
        return sorted(given, key=key, reverse=reverse)
    tracing = tracing_of(given)
    if key is not None:
        tracing.refuse(
            "the code sorts values that depend on records or noise by key=", "sort only numbers"
        )
    found = np.sort(tracing.symbol_of(given))
    found = found[::-1] if reverse else found
    return list(found)


def _of_truths(original: Any, of_two: Any) -> Callable[..., Any]:
    @wraps(original)
    def decide(values: Any) -> Any:
        given = to_list_or_symbol(values)
        if _isinstance(given, Symbol):
            given = list(given)
        if not is_symbolic(given):
            return original(given)
        return reduce(of_two, map(_convert_to_truth, given))

    return decide


def _convert_to_truth(value: Any) -> Any:
    return to_bool(value) if _isinstance(value, SYMBOLIC) else _bool(value)


def round_number(value: Any, digits: int | None = None) -> Any:
    """Return the result of ``round``."""
    if not _isinstance(value, Symbol) or value.dims:
        return round(value) if digits is None else round(value, digits)
    if digits is None:
        return as_number(np.rint(value), WHOLE)
    return as_number(np.round(value, digits), value.dtype)


def _make_refusing_shadow(original: Any, name: str) -> Callable[..., Any]:
    """Return a function that is not told the type of a symbol."""

    @wraps(original)
    def ask(*given: Any) -> Any:
        values = [one for one in given if hasattr(type(one), "tracing") or is_symbolic(one)]
        if values:
            tracing_of(values).refuse(
                f"no rule covers {name}() of a value that depends on records or noise"
            )
        return original(*given)

    return ask


SHADOWS: dict[str, Any] = {
    **{
        name: _make_refusing_shadow(getattr(builtins, name), name)
        for name in "dir vars id repr ascii callable memoryview bytes bytearray".split()
    },
    "float": OwnFloat,
    "int": OwnInt,
    "bool": OwnBool,
    "type": OwnType,
    "isinstance": is_instance,
    "hasattr": has_attribute,
    "getattr": get_attribute,
    "len": count_entries,
    "sum": add_up,
    "min": _make_extreme_shadow(builtins.min, np.minimum, "min"),
    "max": _make_extreme_shadow(builtins.max, np.maximum, "max"),
    "sorted": sort_entries,
    "any": _of_truths(builtins.any, np.logical_or),
    "all": _of_truths(builtins.all, np.logical_and),
    "round": round_number,
}
"""What code of no library finds under the names of builtins."""
