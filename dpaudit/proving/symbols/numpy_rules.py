"""Rules of numpy's functions for symbols, which a `SymbolTracing` takes.

Functions that move entries about come first, as they return views of what a function made itself
too. What has only public arguments is left to numpy. Everything else needs a rule, and so does
every argument: what no rule takes is refused by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from dpaudit.freezing.constructors import original_of
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.symbols import (
    lookups,
    methods,
    movement,
    operators,
    products,
    reductions,
    statistics,
    structure,
    subsets,
)
from dpaudit.proving.symbols.opaque import call_opaquely, can_call
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing
from dpaudit.proving.symbols.writing import write_symbol

_signature = cache(inspect.signature)
_MOVING = movement.RULES
_OTHERS: dict[Any, Callable[..., Any]] = {
    **reductions.RULES,
    **products.RULES,
    **statistics.RULES,
}


class NumpyRules:
    """The rules of numpy's operators, functions and indices for symbols."""

    def operate(
        self, tracing: SymbolTracing, ufunc: Any, method: str, given: Any, options: Any
    ) -> Any:
        """Return the result of a universal function, by its method, on symbols and arrays."""
        with RefusalBlock(tracing):
            if (held := _subset_in(given)) is not None:
                return subsets.apply_subset_ufunc(held, ufunc, method, given, options)
            return operators.apply_ufunc_method(tracing, ufunc, method, given, options)

    def call(self, tracing: SymbolTracing, function: Any, args: Any, named: Any) -> Any:
        """Return the result of any other function of numpy on arguments that hold symbols."""
        with RefusalBlock(tracing):
            if (held := _subset_in((*args, *named.values()))) is not None:
                return subsets.call_subset_function(held, original_of(function), args, named)
            return apply_numpy_function(tracing, original_of(function), args, named)

    def take(self, symbol: Symbol, key: Any) -> Any:
        """Return entries of a symbol."""
        with RefusalBlock(symbol.tracing):
            return _take_symbol_entries(symbol, key)

    def write(self, symbol: Symbol, key: Any, value: Any) -> None:
        """Write entries of a symbol."""
        with RefusalBlock(symbol.tracing):
            _write_symbol_entries(symbol, key, value)

    def method(self, symbol: Symbol, name: str) -> Callable[..., Any] | None:
        """Return a method of arrays, or nothing for one that is not followed."""
        return methods.find_array_method(symbol, name)


class RefusalBlock:
    """A block whose errors are refusals too, as nobody knows whether numpy would raise them."""

    def __init__(self, tracing: SymbolTracing) -> None:
        self.tracing = tracing

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        # Whether numpy raises may depend on records, and code that catches the error would go
        # another way.
        if error is not None and self.tracing.refusal is None:
            with suppress(NotProved):
                self.tracing.refuse(
                    f"the code raises {kind.__name__} from a value that depends on records or noise"
                )


def _take_symbol_entries(symbol: Symbol, key: Any) -> Any:
    if (held := _hidden_key(symbol, key)) is None:
        return structure.take_entries(symbol, key)
    at, rest = held
    rows = structure.take_entries(symbol, rest) if rest else symbol
    return lookups.look_up(rows, at) if at.dtype.kind != "b" else subsets.choose_subset(rows, at)


def _write_symbol_entries(symbol: Symbol, key: Any, value: Any) -> None:
    if (held := _hidden_key(symbol, key)) is None:
        write_symbol(symbol, key, value)
        return
    at, rest = held
    rows = structure.take_entries(symbol, rest) if rest else symbol
    if at.dtype.kind != "b":
        lookups.write_at(rows, at, value)
    else:
        subsets.write_chosen(rows, at, value)


def _subset_in(values: Any) -> subsets.Subset | None:
    return next((one for one in values if isinstance(one, subsets.Subset)), None)


def _hidden_key(symbol: Symbol, key: Any) -> tuple[Symbol, tuple[Any, ...]] | None:
    """Return the private or noisy parts of an index, and the index of the other axes."""
    items = key if isinstance(key, tuple) else (key,)
    if _subset_in(items) is not None:
        symbol.tracing.refuse("a position depends on records that a condition chooses")
    hidden = [one for one in items if isinstance(one, Symbol) and not one.is_public]
    if not hidden:
        return None
    first, rest = hidden[0], items[1:]
    plain = [one for one in rest if not isinstance(one, slice | int) and one is not ...]
    if len(hidden) > 1 or items[0] is not first or plain:
        first.tracing.refuse("one of several positions depends on records or noise")
    before = (slice(None),) * (first.ndim if first.dtype.kind == "b" else 1)
    return first, (*before, *rest) if rest else ()


NUMPY = NumpyRules()


def apply_numpy_function(tracing: SymbolTracing, function: Any, args: Any, named: Any) -> Any:
    """Return the result of a function of numpy on arguments that hold symbols."""
    into = named.get("out")
    if into is not None:
        given = {key: value for key, value in named.items() if key != "out"}
        return _write_into_symbol(
            tracing, into, apply_numpy_function(tracing, function, args, given)
        )
    named = {key: value for key, value in named.items() if key != "out"}
    if (rule := _MOVING.get(function)) is not None:
        return _apply_numpy_rule(tracing, function, rule, args, named)
    if not holds_hidden((args, named)):
        return operators.wrap_arrays(
            tracing, function(*to_numpy_arguments(args), **to_numpy_arguments(named))
        )
    if (rule := _OTHERS.get(function)) is not None:
        return _apply_numpy_rule(tracing, function, rule, args, named)
    if can_call(function, (args, named)):
        return call_opaquely(tracing, function, args, named)
    reason = (
        f"no rule covers numpy.{_name_of(function)} of a value that depends on records or noise"
    )
    tracing.refuse(reason, _cure_of(function))


def _cure_of(function: Any) -> str:
    """Return the remedy that would make a function provable, if one is known."""
    if (cure := _CURES.get(function)) is not None:
        return cure
    room = getattr(function, "__module__", None) or ""
    is_algebra = "linalg" in room.split(".")
    return "add noise to its argument, and compute afterwards" if is_algebra else ""


_SUMS = "sum over all records with numpy.where, or choose them by the condition itself"
_CURES = {
    np.unique: "count the values that may occur: numpy.bincount with minlength=, or == for each",
    np.argsort: "use numpy.sort, numpy.median or numpy.quantile, or add noise first",
    np.argpartition: "use numpy.sort, numpy.median or numpy.quantile, or add noise first",
    **dict.fromkeys((np.nonzero, np.argwhere, np.flatnonzero, np.compress, np.extract), _SUMS),
    np.interp: "add noise to the records first",
}


def _write_into_symbol(tracing: SymbolTracing, into: Any, found: Any) -> Any:
    target = into[0] if isinstance(into, tuple) else into
    if not isinstance(target, Symbol):
        tracing.refuse(
            "the code writes a value that depends on records or noise into an array of plain "
            "numbers"
        )
    return operators.write_result(tracing, target, found)


def _apply_numpy_rule(
    tracing: SymbolTracing, function: Any, rule: Any, args: Any, named: Any
) -> Any:
    try:
        # An argument that a rule does not take would be ignored, and change what numpy does.
        _signature(rule).bind(tracing, *args, **named)
    except TypeError:
        name = _name_of(function)
        tracing.refuse(f"no rule covers these arguments of numpy.{name}")
    return rule(tracing, *args, **named)


def _name_of(function: Any) -> str:
    module = getattr(function, "__module__", "numpy") or "numpy"
    room = module.removeprefix("numpy").strip(".")
    name = getattr(function, "__name__", "?")
    return name if not room or room.startswith("_") else f"{room}.{name}"


def holds_hidden(value: Any) -> bool:
    """Return whether arguments hold values that records or noise decide."""
    if isinstance(value, Symbol):
        return not value.is_public
    if isinstance(value, list | tuple):
        return any(map(holds_hidden, value))
    return isinstance(value, dict) and any(map(holds_hidden, value.values()))


def to_numpy_arguments(value: Any) -> Any:
    """Return arguments with arrays of numpy for public symbols."""
    if isinstance(value, Symbol):
        numbers = value.plain("")
        return numbers if value.is_array else numbers[()]
    if isinstance(value, list | tuple):
        parts = [to_numpy_arguments(one) for one in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: to_numpy_arguments(one) for key, one in value.items()}
    return value
