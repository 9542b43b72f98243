"""What numpy does to symbols, function by function: the rules that a `Tracing` is given.

Functions that move entries about come first, as they return views of what a function made itself
too. What has only public arguments is left to numpy. Everything else needs a rule, and so does
every argument: what no rule takes is refused by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from dpaudit.proving import (
    methods,
    movement,
    operators,
    products,
    reductions,
    statistics,
    structure,
)
from dpaudit.proving.symbol import Symbol, Tracing
from dpaudit.proving.writing import write

_signature = cache(inspect.signature)
_MOVING = movement.RULES
_OTHERS: dict[Any, Callable[..., Any]] = {
    **reductions.RULES,
    **products.RULES,
    **statistics.RULES,
}


class NumpyRules:
    """What numpy's operators, functions and indices make of symbols."""

    def operate(self, tracing: Tracing, ufunc: Any, method: str, given: Any, options: Any) -> Any:
        """Return what a universal function, by its method, makes of symbols and arrays."""
        return operators.operate(tracing, ufunc, method, given, options)

    def call(self, tracing: Tracing, function: Any, args: Any, named: Any) -> Any:
        """Return what any other function of numpy makes of arguments that hold symbols."""
        return call(tracing, function, args, named)

    def take(self, symbol: Symbol, key: Any) -> Any:
        """Return entries of a symbol."""
        return structure.take(symbol, key)

    def write(self, symbol: Symbol, key: Any, value: Any) -> None:
        """Write entries of a symbol."""
        write(symbol, key, value)

    def method(self, symbol: Symbol, name: str) -> Callable[..., Any] | None:
        """Return a method of arrays, or nothing for one that is not followed."""
        return methods.method(symbol, name)


NUMPY = NumpyRules()


def call(tracing: Tracing, function: Any, args: Any, named: Any) -> Any:
    """Return what a function of numpy makes of arguments that hold symbols."""
    into = named.get("out")
    if into is not None:
        given = {key: value for key, value in named.items() if key != "out"}
        return _written(tracing, into, call(tracing, function, args, given))
    named = {key: value for key, value in named.items() if key != "out"}
    if (rule := _MOVING.get(function)) is not None:
        return _apply(tracing, function, rule, args, named)
    if not holds_hidden((args, named)):
        return operators.wrapped(tracing, function(*plainly(args), **plainly(named)))
    if (rule := _OTHERS.get(function)) is not None:
        return _apply(tracing, function, rule, args, named)
    tracing.refuse(f"numpy.{_name_of(function)} of what records or noise decide is not followed")


def _written(tracing: Tracing, into: Any, found: Any) -> Any:
    target = into[0] if isinstance(into, tuple) else into
    if not isinstance(target, Symbol):
        tracing.refuse("what records or noise decide is written into an array of plain numbers")
    return operators.write_result(tracing, target, found)


def _apply(tracing: Tracing, function: Any, rule: Any, args: Any, named: Any) -> Any:
    try:
        _signature(rule).bind(tracing, *args, **named)
    except TypeError:
        name = _name_of(function)
        tracing.refuse(f"numpy.{name} is given arguments that are not followed")
    return rule(tracing, *args, **named)


def _name_of(function: Any) -> str:
    module = getattr(function, "__module__", "numpy") or "numpy"
    room = module.removeprefix("numpy").strip(".")
    name = getattr(function, "__name__", "?")
    return name if not room or room.startswith("_") else f"{room}.{name}"


def holds_hidden(value: Any) -> bool:
    """Return whether arguments hold what records or noise decide."""
    if isinstance(value, Symbol):
        return not value.is_public
    if isinstance(value, list | tuple):
        return any(map(holds_hidden, value))
    return isinstance(value, dict) and any(map(holds_hidden, value.values()))


def plainly(value: Any) -> Any:
    """Return arguments with arrays of numpy for public symbols."""
    if isinstance(value, Symbol):
        numbers = value.plain("")
        return numbers if value.is_array else numbers[()]
    if isinstance(value, list | tuple):
        parts = [plainly(one) for one in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: plainly(one) for key, one in value.items()}
    return value
