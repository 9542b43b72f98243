"""Functions of numpy that move entries of symbols about."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.memory import ViewStep
from dpaudit.proving.symbols.reductions import axes_of, get_ravelled_shape
from dpaudit.proving.symbols.structure import emit_moved, emit_take, make_fresh_symbol
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing, holds_symbol

# --- other axes ------------------------------------------------------------------------------


def _resolve_shape_lengths(tracing: SymbolTracing, symbol: Symbol, shape: Any) -> Shape:
    """Return a shape that was asked for, with lengths for -1; the number of records is None."""
    given = shape if isinstance(shape, tuple | list) else (shape,)
    dims = [_resolve_one_length(tracing, symbol, one) for one in given]
    if None not in symbol.dims:
        size = int(np.prod([one or 0 for one in symbol.dims], dtype=np.int64))
        if None in dims:
            tracing.refuse("a length depends on records")
        return np.broadcast_to(np.empty(()), size).reshape([one or 0 for one in dims]).shape
    others = int(np.prod([one for one in dims if one not in (None, -1)], dtype=np.int64))
    own = int(np.prod([one for one in symbol.dims if one is not None], dtype=np.int64))
    if -1 in dims and None in dims and others and own % others == 0:
        return tuple(own // others if one == -1 else one for one in dims)
    if dims.count(-1) + dims.count(None) != 1 or others != own:
        tracing.refuse(*structure.BY_PLACE)
    return tuple(None if one == -1 else one for one in dims)


def _resolve_one_length(tracing: SymbolTracing, symbol: Symbol, value: Any) -> int | None:
    if isinstance(value, Symbol) and not value.is_public and None in symbol.dims:
        return None if value.index == tracing.size().index else operator.index(value)
    return operator.index(value)


def _trace_reshape(
    tracing: SymbolTracing,
    a: Any,
    shape: Any = None,
    order: str = "C",
    *,
    newshape: Any = None,
    copy: Any = None,
) -> Any:
    symbol = tracing.symbol_of(a)
    dims = _resolve_shape_lengths(tracing, symbol, newshape if shape is None else shape)
    if order != "C":
        if order != "F" or None in symbol.dims:
            tracing.refuse(f"no rule covers numpy.reshape with order={order}")
        turned = structure.transpose_symbol(symbol, range(symbol.ndim)[::-1])
        found = structure.reshape_symbol(turned, dims[::-1])
        return structure.transpose_symbol(found, range(len(dims))[::-1])
    found = structure.reshape_symbol(symbol, dims)
    return structure.copy_symbol(found) if copy else found


def _trace_ravel(tracing: SymbolTracing, a: Any, order: str = "C") -> Any:
    symbol = tracing.symbol_of(a)
    if order == "F":
        symbol = structure.transpose_symbol(symbol, range(symbol.ndim)[::-1])
    elif order != "C":
        tracing.refuse(f"no rule covers numpy.ravel with order={order}")
    return structure.reshape_symbol(symbol, get_ravelled_shape(symbol), is_raveled=True)


def _trace_transpose(tracing: SymbolTracing, a: Any, axes: Any = None) -> Any:
    symbol = tracing.symbol_of(a)
    order = range(symbol.ndim)[::-1] if axes is None else axes_of(tuple(axes), symbol.ndim)
    if sorted(order) != list(range(symbol.ndim)):
        raise ValueError("axes don't match array")
    return structure.transpose_symbol(symbol, order)


def _trace_swapaxes(tracing: SymbolTracing, a: Any, axis1: int, axis2: int) -> Any:
    symbol = tracing.symbol_of(a)
    one, other = axes_of((axis1, axis2), symbol.ndim)
    order = list(range(symbol.ndim))
    order[one], order[other] = order[other], order[one]
    return structure.transpose_symbol(symbol, order)


def _trace_moveaxis(tracing: SymbolTracing, a: Any, source: Any, destination: Any) -> Any:
    symbol = tracing.symbol_of(a)
    sources, targets = (axes_of(one, symbol.ndim) for one in (source, destination))
    rest = [one for one in range(symbol.ndim) if one not in sources]
    for target, one in sorted(zip(targets, sources, strict=True)):
        rest.insert(target, one)
    return structure.transpose_symbol(symbol, rest)


def _trace_squeeze(tracing: SymbolTracing, a: Any, axis: Any = None) -> Any:
    symbol = tracing.symbol_of(a)
    every = tuple(at for at, n in enumerate(symbol.dims) if n == 1)
    axes = every if axis is None else axes_of(axis, symbol.ndim)
    if any(one not in every for one in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = tuple(n for at, n in enumerate(symbol.dims) if at not in axes)
    return _with_axes(symbol, kept)


def _with_axes(symbol: Symbol, dims: Shape) -> Symbol:
    """Return a view that has other axes of length 1."""
    tracing = symbol.tracing

    def apply(array: Any) -> Any:
        found = np.asarray(array).view()
        found.shape = tuple(one or 0 for one in dims)
        return found

    return symbol.share(
        dims, ViewStep(apply, lambda node: structure.emit_reshape(tracing, node, dims))
    )


def _expand_dims(tracing: SymbolTracing, a: Any, axis: Any) -> Any:
    symbol = tracing.symbol_of(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes, left = axes_of(tuple(given), symbol.ndim + len(given)), iter(symbol.dims)
    dims = tuple(1 if at in axes else next(left) for at in range(symbol.ndim + len(axes)))
    return _with_axes(symbol, dims)


def _at_least(ndim: int) -> Callable[..., Any]:
    def rule(tracing: SymbolTracing, *arrays: Any) -> Any:
        found = [_add_axes_up_to(tracing.symbol_of(one), ndim) for one in arrays]
        return found[0] if len(found) == 1 else tuple(found)

    return rule


def _add_axes_up_to(symbol: Symbol, ndim: int) -> Symbol:
    if symbol.ndim >= ndim:
        return symbol
    dims = symbol.dims
    if ndim == 3 and symbol.ndim:
        return _with_axes(symbol, (*([1] if len(dims) == 1 else []), *dims, 1))
    return _with_axes(symbol, (*[1] * (ndim - len(dims)), *dims))


def _broadcast_to(tracing: SymbolTracing, array: Any, shape: Any) -> Any:
    symbol = tracing.symbol_of(array)
    dims = shape if isinstance(shape, tuple | list) else (shape,)
    known = tuple(operator.index(one) for one in dims)
    if None in symbol.dims:
        tracing.refuse(*structure.BY_PLACE)
    np.broadcast_to(np.empty(tuple(one or 0 for one in symbol.dims)), known)
    found = make_fresh_symbol(
        symbol,
        lambda held: np.broadcast_to(held, known),
        lambda node: structure.emit_broadcast(tracing, node, known),
    )
    return structure.set_unsure_sharing(symbol, found)


# --- joined arrays ---------------------------------------------------------------------------


def join_arrays(
    tracing: SymbolTracing, arrays: Sequence[Any], axis: int = 0, dtype: Any = None
) -> Symbol:
    """Return arrays that are joined along an axis that they have."""
    symbols = [tracing.symbol_of(one) for one in arrays]
    if not symbols:
        raise ValueError("need at least one array to concatenate")
    if all(one.is_public for one in symbols):
        joined = np.concatenate([one.plain("") for one in symbols], axis=axis, dtype=dtype)
        return tracing.public(joined)
    kind = np.result_type(*[one.dtype for one in symbols]) if dtype is None else np.dtype(dtype)
    at = axes_of(int(axis), symbols[0].ndim)[0]
    _check_alike(tracing, [one.dims for one in symbols], at)
    nodes = [structure.emit_convert(tracing, one.index, kind) for one in symbols]
    node = structure.emit_concatenate(tracing, nodes, at)
    return Symbol.of_node(tracing, node, is_ordered=all(map(structure.is_ordered, symbols)))


def _check_alike(tracing: SymbolTracing, shapes: list[Shape], axis: int) -> None:
    others = {(*one[:axis], *one[axis + 1 :]) for one in shapes}
    if len(others) > 1:
        if any(None in one for one in others):
            tracing.refuse(*structure.BY_PLACE)
        raise ValueError("all the input array dimensions except for the axis must match exactly")


def _trace_concatenate(
    tracing: SymbolTracing, arrays: Any, axis: Any = 0, *, dtype: Any = None
) -> Any:
    parts = list(arrays)
    if axis is None:
        return join_arrays(tracing, [_trace_ravel(tracing, one) for one in parts], 0, dtype)
    return join_arrays(tracing, parts, axis, dtype)


def _trace_stack(tracing: SymbolTracing, arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    parts = [tracing.symbol_of(one) for one in arrays]
    return join_arrays(tracing, [_expand_dims(tracing, one, axis) for one in parts], axis, dtype)


def _trace_vstack(tracing: SymbolTracing, tup: Any, *, dtype: Any = None) -> Any:
    return join_arrays(
        tracing, [_add_axes_up_to(tracing.symbol_of(one), 2) for one in tup], 0, dtype
    )


def _trace_hstack(tracing: SymbolTracing, tup: Any, *, dtype: Any = None) -> Any:
    parts = [_add_axes_up_to(tracing.symbol_of(one), 1) for one in tup]
    return join_arrays(tracing, parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def _trace_dstack(tracing: SymbolTracing, tup: Any, *, dtype: Any = None) -> Any:
    return join_arrays(
        tracing, [_add_axes_up_to(tracing.symbol_of(one), 3) for one in tup], 2, dtype
    )


def _column_stack(tracing: SymbolTracing, tup: Any) -> Any:
    parts = [tracing.symbol_of(one) for one in tup]
    columns = [_with_axes(one, (*one.dims, 1)) if one.ndim == 1 else one for one in parts]
    return join_arrays(tracing, columns, 1)


def _trace_append(tracing: SymbolTracing, arr: Any, values: Any, axis: Any = None) -> Any:
    return _trace_concatenate(tracing, [arr, values], axis)


# --- entries elsewhere -----------------------------------------------------------------------


def _make_moving_rule(function: Any) -> Callable[..., Any]:
    """Return the rule of a function that moves the entries of its first argument about."""

    def rule(tracing: SymbolTracing, array: Any, *given: Any, **named: Any) -> Any:
        symbol = tracing.symbol_of(array)
        how, by_name = (
            _require_public_arguments(tracing, function, given),
            dict(
                zip(
                    named, _require_public_arguments(tracing, function, named.values()), strict=True
                )
            ),
        )
        return _move_symbol_entries(symbol, lambda held: function(held, *how, **by_name))

    return rule


def _require_public_arguments(tracing: SymbolTracing, function: Any, values: Any) -> list[Any]:
    """Return arguments that say how entries move."""
    reason = f"the way that numpy.{function.__name__} moves entries depends on records or noise"
    return [
        np.array(tracing.symbol_of(one).plain(reason))[()] if holds_symbol(one) else one
        for one in values
    ]


def _move_symbol_entries(symbol: Symbol, apply: Callable[[Any], Any]) -> Any:
    dims = structure.require_known_lengths(symbol.tracing, symbol.dims)
    numbers = np.arange(int(np.prod(dims, dtype=np.int64))).reshape(dims)
    # numpy itself says where entries go, by what it does to an array of their numbers.
    places = apply(numbers)
    if isinstance(places, list | tuple):
        made = [
            _one_moved(symbol, numbers, one, _part_of(apply, at)) for at, one in enumerate(places)
        ]
        return made if isinstance(places, list) else tuple(made)
    return _one_moved(symbol, numbers, places, apply)


def _part_of(apply: Callable[[Any], Any], at: int) -> Callable[[Any], Any]:
    return lambda held: apply(held)[at]


def _one_moved(symbol: Symbol, numbers: Any, places: Any, apply: Callable[[Any], Any]) -> Any:
    tracing, found = symbol.tracing, np.asarray(places)

    def emit(node: int) -> int:
        return emit_moved(tracing, [node], found)

    # What numpy makes a view of is a view here too, so that writing into one changes both.
    if found.size and np.may_share_memory(found, numbers):
        return symbol.share(found.shape, ViewStep(apply, emit))
    return make_fresh_symbol(symbol, apply, emit, is_array=isinstance(places, np.ndarray))


def _make_axis_rule(function: Any) -> Callable[..., Any]:
    """Return the rule of a function that moves entries along one axis, where it is given one."""
    otherwise = _make_moving_rule(function)

    def rule(tracing: SymbolTracing, array: Any, how: Any, axis: Any = None, **named: Any) -> Any:
        symbol, given = tracing.symbol_of(array), (how,)
        if axis is None or isinstance(axis, tuple) or named or holds_symbol(given):
            return otherwise(tracing, array, *given, axis=axis, **named)
        at = axes_of(operator.index(axis), symbol.ndim)[0]
        if (n := symbol.dims[at]) is None:
            tracing.refuse(*structure.BY_PLACE)
        places = function(np.arange(n), *given, axis=0)
        if np.ndim(places) != 1:
            return otherwise(tracing, array, *given, axis=axis)
        key: list[Any] = [None] * symbol.ndim
        key[at] = places.tolist()
        return make_fresh_symbol(
            symbol,
            lambda held: function(held, *given, axis=at),
            lambda node: emit_take(tracing, node, key),
        )

    return rule


def _make_triangle_rule(function: Any) -> Callable[..., Any]:
    def rule(tracing: SymbolTracing, m: Any, k: int = 0) -> Any:
        symbol = tracing.symbol_of(m)
        kept = function(
            np.ones(structure.require_known_lengths(tracing, symbol.dims), dtype=bool), k
        )
        return np.where(kept, symbol, symbol.dtype.type(0))

    return rule


def _trace_diag(tracing: SymbolTracing, v: Any, k: int = 0) -> Any:
    symbol = tracing.symbol_of(v)
    if symbol.ndim == 2:
        return _move_symbol_entries(symbol, lambda held: np.diagonal(held, k))
    structure.require_known_lengths(tracing, symbol.dims)
    size = len(symbol) + abs(k)
    made = tracing.public(np.zeros((size, size), dtype=symbol.dtype))
    at = np.arange(len(symbol))
    made[at + max(-k, 0), at + max(k, 0)] = symbol
    return made


def _trace_copy(tracing: SymbolTracing, a: Any, order: str = "K", subok: bool = False) -> Any:
    if order not in ("K", "C"):
        tracing.refuse(f"no rule covers numpy.copy with order={order}")
    return structure.copy_symbol(tracing.symbol_of(a), keeps_order=order == "K")


RULES: dict[Any, Callable[..., Any]] = {
    np.reshape: _trace_reshape,
    np.ravel: _trace_ravel,
    np.transpose: _trace_transpose,
    np.swapaxes: _trace_swapaxes,
    np.moveaxis: _trace_moveaxis,
    np.squeeze: _trace_squeeze,
    np.expand_dims: _expand_dims,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.broadcast_to: _broadcast_to,
    np.concatenate: _trace_concatenate,
    np.stack: _trace_stack,
    np.vstack: _trace_vstack,
    np.hstack: _trace_hstack,
    np.dstack: _trace_dstack,
    np.column_stack: _column_stack,
    np.append: _trace_append,
    np.copy: _trace_copy,
    np.diag: _trace_diag,
    np.tril: _make_triangle_rule(np.tril),
    np.triu: _make_triangle_rule(np.triu),
    **{one: _make_axis_rule(one) for one in (np.roll, np.take, np.repeat, np.delete)},
    **{
        getattr(np, name): _make_moving_rule(getattr(np, name))
        for name in (
            "flip fliplr flipud rot90 tile diagonal split array_split vsplit hsplit dsplit"
        ).split()
    },
}
