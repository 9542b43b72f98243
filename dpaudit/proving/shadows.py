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
from functools import partial, reduce, wraps
from typing import Any

import numpy as np

from dpaudit.freezing import tracked
from dpaudit.proving.labels import Labels
from dpaudit.proving.records import sample_of
from dpaudit.proving.symbol import Symbol, Tracing, holds_symbol

_DOUBLE, _WHOLE = np.dtype(float), np.dtype(np.int64)
_isinstance, _float, _int, _bool = isinstance, float, int, bool
_Symbolic = (tracked.Symbolic, Labels)


@contextmanager
def own_builtins(function: Any) -> Iterator[None]:
    """Let code of no library, and what ``function`` is written in, see the shadows of builtins."""
    undo = list[Callable[[], None]]()
    instead = {id(one): (one, new) for one, new in _replacements()}
    try:
        for held in (vars(math), vars(statistics)):
            _swap(held, instead, undo)
        for held in user_names(function):
            _swap(held, instead, undo)
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
            if not tracked.is_installed(getattr(module, "__file__", None) or "<frozen"):
                found[id(names)] = names
    return list(found.values())


def _swap(
    held: dict[str, Any], instead: dict[int, tuple[Any, Any]], undo: list[Callable[[], None]]
) -> None:
    for name, value in list(held.items()):
        original, new = instead.get(id(value), (None, None))
        if original is value and new is not None:
            undo.append(partial(held.__setitem__, name, value))
            held[name] = new


def _replacements() -> Iterator[tuple[Any, Any]]:
    for name, made in _OF_MATH.items():
        yield getattr(math, name), _for_symbols(getattr(math, name), made)
    for name, made in _OF_STATISTICS.items():
        yield getattr(statistics, name), _for_symbols(getattr(statistics, name), made)


def _for_symbols(original: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes something else of symbols than of other values."""

    @wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        if any(map(_is_symbolic, given)) or any(map(_is_symbolic, named.values())):
            return made(*given, **named)
        return original(*given, **named)

    return call


def _is_symbolic(value: Any) -> bool:
    return _isinstance(value, _Symbolic) or holds_symbol(value)


def tracing_of(value: Any) -> Tracing:
    """Return the run of a symbol, or of the first one of a list."""
    if _isinstance(value, list | tuple):
        return tracing_of(next(one for one in value if _is_symbolic(one)))
    found: Tracing = value.tracing
    return found


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
        if given and _isinstance(given[0], _Symbolic):
            return _CONVERTED[cls.original](given[0])
        return cls.original(*given, **named)


class OwnFloat(float, metaclass=_OfClass):
    """``float``, which leaves a symbol as it is."""

    original = float
    dtype = _DOUBLE


class OwnInt(int, metaclass=_OfClass):
    """``int``, which cuts off the digits of a symbol."""

    original = int
    dtype = _WHOLE


class OwnBool(int, metaclass=_OfClass):
    """``bool``, which compares a symbol with 0."""

    original = bool
    dtype = np.dtype(bool)


class OwnType(type, metaclass=_OfClass):
    """``type``, which says of a symbol of what class the value is that it stands for."""

    original = type

    @staticmethod
    def of(value: Any) -> Any:
        """Return the class of a value, or the stand-in that code finds under its name."""
        found = type(sample_of(value))
        return _STAND_INS.get(found, found)


def _number(value: Any) -> Symbol:
    """Return a symbol of one entry as a number."""
    if _isinstance(value, Labels):
        value.tracing.refuse("makes a number of a text of a record", "compare it with public texts")
    if any(one != 1 for one in value.dims):
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    found: Symbol = value.reshape(()) if value.dims else value
    return found


def _weak(symbol: Any, dtype: np.dtype[Any]) -> Any:
    """Return a symbol as a number of Python's."""
    if not _isinstance(symbol, Symbol):
        return dtype.type(symbol).item()
    if symbol.is_public:
        return symbol.plain("")[()].item()
    made = symbol.astype(dtype)
    return Symbol.of_node(made.tracing, made.index, dtype, is_weak=True)


def _to_float(value: Any) -> Any:
    return _weak(_number(value), _DOUBLE)


def _to_int(value: Any) -> Any:
    return _weak(_number(value), _WHOLE)


def _to_bool(value: Any) -> Any:
    number = _number(value)
    found = number if number.dtype.kind == "b" else np.not_equal(number, 0)
    return _weak(found, np.dtype(bool))


_CONVERTED: dict[type, Callable[[Any], Any]] = {
    float: _to_float,
    int: _to_int,
    bool: _to_bool,
}


_STAND_INS: dict[type, type] = {float: OwnFloat, int: OwnInt, bool: OwnBool, type: OwnType}


def is_instance(value: Any, kinds: Any) -> bool:
    """Return what ``isinstance`` says of the value that a symbol stands for."""
    return _isinstance(sample_of(value), _plain_kinds(kinds))


def _plain_kinds(kinds: Any) -> Any:
    if _isinstance(kinds, tuple):
        return tuple(map(_plain_kinds, kinds))
    return getattr(kinds, "original", kinds) if _isinstance(kinds, _OfClass) else kinds


def has_attribute(value: Any, name: str) -> bool:
    """Return what ``hasattr`` says of the value that a symbol stands for."""
    return hasattr(sample_of(value), name)


def get_attribute(value: Any, name: str, *default: Any) -> Any:
    """Return what ``getattr`` does, of a symbol where its value has such an attribute."""
    if default and not has_attribute(value, name):
        return default[0]
    return getattr(value, name, *default)


# --- lists -----------------------------------------------------------------------------------


def _listed(values: Any) -> Any:
    """Return an iterable as a list, or as the symbol that it is."""
    if hasattr(type(values), "as_symbol"):
        values = values.as_symbol()
    return values if _isinstance(values, _Symbolic) else [*values]


def count_entries(values: Any) -> Any:
    """Return what ``len`` does; a symbol where neighbours differ in it."""
    if _isinstance(values, Labels):
        values = values.codes
    if hasattr(type(values), "row_count"):
        return values.row_count()
    if not _isinstance(values, tracked.Symbolic):
        return len(values)
    if not values.ndim:
        raise TypeError("object of type 'float' has no len()")
    return values.shape[0]


def add_up(values: Any, start: Any = 0) -> Any:
    """Return what ``sum`` does."""
    given = _listed(values)
    if _isinstance(given, tracked.Symbolic):
        total: Any = np.sum(given, axis=0)
        return total if _is_zero(start) else start + total
    if not holds_symbol(given):
        return sum(given, start)
    if not any(map(_axes, given)):
        total = np.sum(tracing_of(given).symbol_of(given))
        return total if _is_zero(start) else start + total
    return reduce(lambda one, other: one + other, given, start)


def _axes(value: Any) -> int:
    """Return how many axes a value has."""
    if _isinstance(value, Labels):
        value = value.codes
    return int(value.ndim if _isinstance(value, tracked.Symbolic) else np.ndim(value))


def _is_zero(value: Any) -> bool:
    return _isinstance(value, _float | _int) and value == 0


def _extreme(original: Any, of_two: Any, name: str) -> Callable[..., Any]:
    @wraps(original)
    def extreme(*given: Any, **named: Any) -> Any:
        values = _listed(given[0]) if len(given) == 1 else list(given)
        if not _is_symbolic(values):
            return original(values, **named) if len(given) == 1 else original(*given, **named)
        tracing = tracing_of(values)
        if named.keys() - {"default"}:
            tracing.refuse(f"{name}() of what records or noise decide is given key=")
        if _isinstance(values, tracked.Symbolic):
            return _extreme_of_array(values, name, named)
        if any(map(_axes, values)):
            return original(values)
        return reduce(of_two, values)

    return extreme


def _extreme_of_array(values: Any, name: str, named: dict[str, Any]) -> Any:
    if values.ndim != 1:
        values.tracing.refuse(f"{name}() of an array of several axes", f"use numpy.{name}")
    if named and _isinstance(values.shape[0], tracked.Symbolic):
        values.tracing.refuse(f"{name}() of records is given default=", f"use numpy.{name}")
    return getattr(np, name)(values)


def sort_entries(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """Return what ``sorted`` does."""
    given = _listed(values)
    if not _is_symbolic(given):
        return sorted(given, key=key, reverse=reverse)
    tracing = tracing_of(given)
    if key is not None:
        tracing.refuse("sorts what records or noise decide by key=", "sort numbers alone")
    found = np.sort(tracing.symbol_of(given))
    found = found[::-1] if reverse else found
    return list(found)


def _of_truths(original: Any, of_two: Any) -> Callable[..., Any]:
    @wraps(original)
    def decide(values: Any) -> Any:
        given = _listed(values)
        if _isinstance(given, Symbol):
            given = list(given)
        if not _is_symbolic(given):
            return original(given)
        return reduce(of_two, map(_truth, given))

    return decide


def _truth(value: Any) -> Any:
    return _to_bool(value) if _isinstance(value, _Symbolic) else _bool(value)


def round_number(value: Any, digits: int | None = None) -> Any:
    """Return what ``round`` does."""
    if not _isinstance(value, Symbol) or value.dims:
        return round(value) if digits is None else round(value, digits)
    if digits is None:
        return _weak(np.rint(value), _WHOLE)
    return _weak(np.round(value, digits), value.dtype)


SHADOWS: dict[str, Any] = {
    "float": OwnFloat,
    "int": OwnInt,
    "bool": OwnBool,
    "type": OwnType,
    "isinstance": is_instance,
    "hasattr": has_attribute,
    "getattr": get_attribute,
    "len": count_entries,
    "sum": add_up,
    "min": _extreme(builtins.min, np.minimum, "min"),
    "max": _extreme(builtins.max, np.maximum, "max"),
    "sorted": sort_entries,
    "any": _of_truths(builtins.any, np.logical_or),
    "all": _of_truths(builtins.all, np.logical_and),
    "round": round_number,
}
"""What code of no library finds under the names of builtins."""


# --- math ------------------------------------------------------------------------------------


def _elementwise(function: Any) -> Callable[..., Any]:
    """Return a function of numbers as numpy's, which gives numbers of Python's."""

    def apply(*given: Any) -> Any:
        return _weak(
            function(*(_number(one) if _is_symbolic(one) else one for one in given)), _DOUBLE
        )

    return apply


def _whole(function: Any) -> Callable[[Any], Any]:
    return lambda value: _weak(function(_number(value)), _WHOLE)


def _log(value: Any, base: Any = None) -> Any:
    of_value = np.log(_number(value)) if _is_symbolic(value) else math.log(value)
    if base is None:
        return _weak(of_value, _DOUBLE)
    return of_value / (np.log(_number(base)) if _is_symbolic(base) else math.log(base))


def _hypot(*values: Any) -> Any:
    return _weak(
        np.sqrt(reduce(lambda one, other: one + other, (one * one for one in values))), _DOUBLE
    )


def _copysign(value: Any, sign: Any) -> Any:
    return _weak(
        np.where(
            np.asarray(sign < 0) if not _is_symbolic(sign) else sign < 0, -abs(value), abs(value)
        ),
        _DOUBLE,
    )


def _distance(one: Any, other: Any) -> Any:
    return _hypot(*(a - b for a, b in zip(one, other, strict=True)))


def _product(values: Any, *, start: Any = 1) -> Any:
    return reduce(lambda one, other: one * other, _listed(values), start)


def _finite(value: Any) -> Any:
    return _weak(np.isfinite(_number(value)), np.dtype(bool))


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*given: Any, **named: Any) -> Any:
        values = [one for one in (*given, *named.values()) if _is_symbolic(one)]
        tracing_of(values).refuse(f"math.{name} of what records or noise decide is not followed")

    return refuse


_FOLLOWED: dict[str, Callable[..., Any]] = {
    **{
        name: _elementwise(getattr(np, name))
        for name in "sqrt exp expm1 log1p sin cos tan tanh fmod".split()
    },
    "atan": _elementwise(np.arctan),
    "fabs": _elementwise(np.absolute),
    "pow": _elementwise(np.power),
    "log2": lambda value: _log(value) / math.log(2),
    "log10": lambda value: _log(value) / math.log(10),
    "log": _log,
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "trunc": _whole(np.trunc),
    "hypot": _hypot,
    "copysign": _copysign,
    "dist": _distance,
    "prod": _product,
    "fsum": add_up,
    "isfinite": _finite,
    "radians": lambda value: _to_float(value) * (math.pi / 180),
    "degrees": lambda value: _to_float(value) * (180 / math.pi),
}
_OF_MATH: dict[str, Callable[..., Any]] = {
    name: _FOLLOWED.get(name, _refused(name))
    for name, one in vars(math).items()
    if callable(one) and not name.startswith("_")
}


def _mean(values: Any) -> Any:
    given = _listed(values)
    return add_up(given) / count_entries(given)


def _median(values: Any) -> Any:
    given = _listed(values)
    return np.median(tracing_of(given).symbol_of(given))


def _spread(function: Any, freedom: int) -> Callable[..., Any]:
    def of_values(values: Any) -> Any:
        given = _listed(values)
        return function(tracing_of(given).symbol_of(given), ddof=freedom)

    return of_values


_OF_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "fmean": _mean,
    "median": _median,
    "pvariance": _spread(np.var, 0),
    "variance": _spread(np.var, 1),
    "pstdev": _spread(np.std, 0),
    "stdev": _spread(np.std, 1),
}
