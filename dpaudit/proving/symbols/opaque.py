"""Calls that no rule follows, on values that noise decides: operations of the program as they are.

They are for what is public after a release. What depends on records without noise is refused here,
at its line, and what depends on them beneath noise that does not hide it is refused by the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.proving.symbols.calls import NAMES, apply_call
from dpaudit.proving.symbols.symbol import FROM_DRAWS, Symbol, SymbolTracing

_CONSTANTS = (bool, int, float, str, type(None))


def can_call(function: Any, args: Any) -> bool:
    """Return whether a function is an operation as it is, of arguments that noise decides."""
    hidden = [one for one in _symbols_in(args) if not one.is_public]
    # What depends on records alone can be no release, so the refusal comes here, at its line.
    is_noisy = all(one.taint & FROM_DRAWS and None not in one.dims for one in hidden)
    return is_noisy and function in NAMES


def _symbols_in(value: Any) -> list[Symbol]:
    if isinstance(value, Symbol):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list | tuple):
        return [one for part in parts for one in _symbols_in(part)]
    return []


def call_opaquely(tracing: SymbolTracing, function: Any, args: Sequence[Any], named: Any) -> Any:
    """Write a call as an operation, or one for each of several results."""
    operands = list[Symbol]()
    given = [_convert_opaque_argument(tracing, one, operands) for one in args]
    by_name = {key: _convert_opaque_argument(tracing, one, operands) for key, one in named.items()}
    name = NAMES[function]
    probes = [_make_probe_numbers(one) for one in operands]
    found = apply_call(*probes, function=name, given=given, named=by_name, part=None)
    parameters = {"function": name, "given": given, "named": by_name}
    if not isinstance(found, tuple):
        return _make_opaque_result(tracing, operands, found, {**parameters, "part": None})
    parts = [
        _make_opaque_result(tracing, operands, one, {**parameters, "part": at})
        for at, one in enumerate(found)
    ]
    made = getattr(type(found), "_make", tuple)
    return made(parts)


def _convert_opaque_argument(tracing: SymbolTracing, value: Any, operands: list[Symbol]) -> Any:
    """Return an argument with places of operands for arrays."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _CONSTANTS):
        return value
    if isinstance(value, tuple | list) and not _symbols_in(value):
        if all(isinstance(one, _CONSTANTS) for one in value):
            return list(value)
    operands.append(tracing.symbol_of(value))
    return {"operand": len(operands) - 1}


def _make_probe_numbers(symbol: Symbol) -> Any:
    """Return numbers of a symbol's shape, of full rank where they are matrices."""
    if symbol.value is not None:
        return symbol.value
    dims = tuple(one or 0 for one in symbol.dims)
    # Only shapes and types of the results count. The numbers are irregular, so that matrices of
    # them have an inverse.
    found = np.cos(np.arange(int(np.prod(dims, dtype=np.int64))) ** 1.3 + 1.0).reshape(dims)
    if len(dims) == 2 and dims[0] == dims[1]:
        found = found @ found.T + np.eye(dims[0])
    return found.astype(symbol.dtype)


def _make_opaque_result(
    tracing: SymbolTracing, operands: list[Symbol], found: Any, parameters: Any
) -> Symbol:
    made = np.asarray(found)
    if made.dtype.kind not in "biuf":
        tracing.refuse(
            f"{parameters['function']} of a value that depends on noise gives {made.dtype}"
        )
    nodes = [one.index for one in operands]
    node = tracing.node("call", nodes, made.shape, made.dtype, parameters)
    return Symbol.of_node(tracing, node, is_array=isinstance(found, np.ndarray))
