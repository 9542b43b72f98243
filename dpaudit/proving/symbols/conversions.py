"""Symbols as numbers of Python's, and iterables of them as one symbol."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dpaudit.freezing import tracked_noise
from dpaudit.proving.symbols.labels import Labels
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing, holds_symbol

DOUBLE = np.dtype(float)
WHOLE = np.dtype(np.int64)
TRUTH = np.dtype(bool)
SYMBOLIC = (tracked_noise.Symbolic, Labels)


def is_symbolic(value: Any) -> bool:
    """Return whether a value is a symbol, or a list that holds one."""
    return isinstance(value, SYMBOLIC) or holds_symbol(value)


def tracing_of(value: Any) -> SymbolTracing:
    """Return the run of a symbol, or of the first one of a list."""
    if isinstance(value, list | tuple):
        return tracing_of(next(one for one in value if is_symbolic(one)))
    found: SymbolTracing = value.tracing
    return found


def number_of(value: Any) -> Symbol:
    """Return a symbol of one entry as a number."""
    if isinstance(value, Labels):
        value.tracing.refuse(
            "the code converts a text of a record to a number", "compare it with public texts"
        )
    if any(one != 1 for one in value.dims):
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    found: Symbol = value.reshape(()) if value.dims else value
    return found


def as_number(symbol: Any, dtype: np.dtype[Any]) -> Any:
    """Return a symbol as a number of Python's."""
    if not isinstance(symbol, Symbol):
        return dtype.type(symbol).item()
    if symbol.is_public:
        return symbol.plain("")[()].item()
    # Weak, as numbers of Python's are: they take the type of the array that they meet.
    made = symbol.astype(dtype)
    return Symbol.of_node(made.tracing, made.index, dtype, is_weak=True)


def to_float(value: Any) -> Any:
    """Return the result of ``float`` on a symbol."""
    return as_number(number_of(value), DOUBLE)


def to_int(value: Any) -> Any:
    """Return the result of ``int`` on a symbol."""
    return as_number(number_of(value), WHOLE)


def to_bool(value: Any) -> Any:
    """Return the result of ``bool`` on a symbol."""
    number = number_of(value)
    found = number if number.dtype.kind == "b" else np.not_equal(number, 0)
    return as_number(found, TRUTH)


def to_list_or_symbol(values: Any) -> Any:
    """Return an iterable as a list, or as the symbol that it is."""
    if hasattr(type(values), "as_symbol"):
        values = values.as_symbol()
    return values if isinstance(values, SYMBOLIC) else [*values]


def count_entries(values: Any) -> Any:
    """Return the result of ``len``; a symbol if neighbours differ in it."""
    if isinstance(values, Labels):
        values = values.codes
    if hasattr(type(values), "row_count"):
        return values.row_count()
    if not isinstance(values, tracked_noise.Symbolic):
        return len(values)
    if not values.shape:
        raise TypeError("object of type 'float' has no len()")
    return values.shape[0]


def add_up(values: Any, start: Any = 0) -> Any:
    """Return the result of ``sum``."""
    given: Any = to_list_or_symbol(values)
    total: Any
    if isinstance(given, SYMBOLIC):
        total = np.sum(given, axis=0)  # type: ignore[arg-type]
        return total if _is_zero(start) else start + total
    if not holds_symbol(given):
        return sum(given, start)
    if not any(map(axes_of, given)):
        total = np.sum(tracing_of(given).symbol_of(given))
        return total if _is_zero(start) else start + total
    return reduce(lambda one, other: one + other, given, start)


def axes_of(value: Any) -> int:
    """Return how many axes a value has."""
    if isinstance(value, Labels):
        value = value.codes
    return len(value.shape) if isinstance(value, tracked_noise.Symbolic) else np.ndim(value)


def _is_zero(value: Any) -> bool:
    return isinstance(value, float | int) and value == 0
