"""Methods of arrays, as symbols have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpaudit.proving.symbols import reductions, structure
from dpaudit.proving.symbols.symbol import Symbol

_AS_FUNCTIONS = {
    name: getattr(np, name)
    for name in (
        "sum prod mean std var max min argmax argmin any all cumsum dot clip round ravel swapaxes "
        "squeeze repeat take diagonal trace ptp argsort nonzero searchsorted compress choose "
        "argpartition cumprod"
    ).split()
}


def find_array_method(symbol: Symbol, name: str) -> Callable[..., Any] | None:
    """Return a method of arrays, or nothing for one that is not followed."""
    if (function := _AS_FUNCTIONS.get(name)) is not None:
        tracing = symbol.tracing
        return lambda *given, **named: tracing.rules.call(
            tracing, function, (symbol, *given), named
        )
    if (own := _OWN.get(name)) is not None:
        return partial(own, symbol)
    if symbol.is_public and name in _OF_PUBLIC:
        return getattr(symbol.value, name)  # type: ignore[no-any-return]
    return None


def _as_function(symbol: Symbol, function: Any, *given: Any, **named: Any) -> Any:
    return symbol.tracing.rules.call(symbol.tracing, function, (symbol, *given), named)


def _apply_astype_method(symbol: Symbol, dtype: Any, *, copy: bool = True) -> Symbol:
    if np.dtype(dtype) == symbol.dtype:
        return structure.copy_symbol(symbol, keeps_order=True) if copy else symbol
    return structure.convert_symbol(symbol, np.dtype(dtype))


def _apply_copy_method(symbol: Symbol, order: str = "C") -> Symbol:
    if order not in ("K", "C"):
        symbol.tracing.refuse(f"no rule covers a copy with order={order}")
    return structure.copy_symbol(symbol, keeps_order=order == "K")


def _apply_flatten_method(symbol: Symbol, *order: Any, **named: Any) -> Any:
    return structure.copy_symbol(_as_function(symbol, np.ravel, *order, **named))


def _apply_reshape_method(symbol: Symbol, *shape: Any, **named: Any) -> Any:
    dims = shape[0] if len(shape) == 1 and not isinstance(shape[0], int | Symbol) else shape
    tracing = symbol.tracing
    return tracing.rules.call(tracing, np.reshape, (symbol, dims), named)


def _apply_transpose_method(symbol: Symbol, *axes: Any) -> Any:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else (axes or None)
    return _as_function(symbol, np.transpose, order)


def _apply_item_method(symbol: Symbol, *at: Any) -> Any:
    if symbol.is_public:
        return symbol.plain("").item(*at)
    if not at and all(one == 1 for one in symbol.dims):
        found = structure.make_fresh_symbol(
            symbol,
            lambda array: array.reshape(()),
            lambda node: structure.emit_reshape(symbol.tracing, node, ()),
            is_array=False,
        )
    else:
        found = symbol[at if len(at) > 1 else np.unravel_index(at[0], symbol.shape)]
    return Symbol.of_node(symbol.tracing, found.index, found.dtype, is_weak=True)


def _apply_tolist_method(symbol: Symbol) -> Any:
    if symbol.is_public:
        return symbol.plain("").tolist()
    return (
        [_apply_tolist_method(one) for one in symbol] if symbol.ndim else _apply_item_method(symbol)
    )


def _apply_fill_method(symbol: Symbol, value: Any) -> None:
    symbol[...] = value


def _apply_sort_method(
    symbol: Symbol, axis: Any = -1, kind: Any = None, *, stable: Any = None
) -> None:
    if symbol.is_public:
        symbol[...] = np.sort(symbol.plain(""), axis=axis)
    else:
        symbol[...] = reductions.emit_sort(symbol.tracing, symbol, axis)


_OWN: dict[str, Callable[..., Any]] = {
    "astype": _apply_astype_method,
    "copy": _apply_copy_method,
    "flatten": _apply_flatten_method,
    "reshape": _apply_reshape_method,
    "transpose": _apply_transpose_method,
    "item": _apply_item_method,
    "tolist": _apply_tolist_method,
    "fill": _apply_fill_method,
    "sort": _apply_sort_method,
    "conj": _apply_copy_method,
    "conjugate": _apply_copy_method,
}
_OF_PUBLIC = frozenset("tobytes is_integer bit_count nbytes strides flags cumprod".split())
