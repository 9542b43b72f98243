"""Functions of numpy that move entries of symbols about."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.memory import Step
from dpaudit.proving.symbols.reductions import axes_of, ravelled
from dpaudit.proving.symbols.structure import emit_moved, emit_take, fresh
from dpaudit.proving.symbols.symbol import Symbol, Tracing, holds_symbol

# --- other axes ------------------------------------------------------------------------------


def _lengths(tracing: Tracing, symbol: Symbol, shape: Any) -> Shape:
    """Return a shape that was asked for, with lengths for -1; the number of records is None."""
    given = shape if isinstance(shape, tuple | list) else (shape,)
    dims = [_length(tracing, symbol, one) for one in given]
    if None not in symbol.dims:
        size = int(np.prod([one or 0 for one in symbol.dims], dtype=np.int64))
        if None in dims:
            tracing.refuse("records decide a length")
        return np.broadcast_to(np.empty(()), size).reshape([one or 0 for one in dims]).shape
    others = int(np.prod([one for one in dims if one not in (None, -1)], dtype=np.int64))
    own = int(np.prod([one for one in symbol.dims if one is not None], dtype=np.int64))
    if -1 in dims and None in dims and others and own % others == 0:
        return tuple(own // others if one == -1 else one for one in dims)
    if dims.count(-1) + dims.count(None) != 1 or others != own:
        tracing.refuse(*structure.BY_PLACE)
    return tuple(None if one == -1 else one for one in dims)


def _length(tracing: Tracing, symbol: Symbol, value: Any) -> int | None:
    if isinstance(value, Symbol) and not value.is_public and None in symbol.dims:
        return None if value.index == tracing.size().index else operator.index(value)
    return operator.index(value)


def _reshape(
    tracing: Tracing,
    a: Any,
    shape: Any = None,
    order: str = "C",
    *,
    newshape: Any = None,
    copy: Any = None,
) -> Any:
    symbol = tracing.symbol_of(a)
    dims = _lengths(tracing, symbol, newshape if shape is None else shape)
    if order != "C":
        if order != "F" or None in symbol.dims:
            tracing.refuse(f"numpy.reshape is given order={order!r}")
        turned = structure.transposed(symbol, range(symbol.ndim)[::-1])
        found = structure.reshaped(turned, dims[::-1])
        return structure.transposed(found, range(len(dims))[::-1])
    found = structure.reshaped(symbol, dims)
    return structure.copied(found) if copy else found


def _ravel(tracing: Tracing, a: Any, order: str = "C") -> Any:
    symbol = tracing.symbol_of(a)
    if order == "F":
        symbol = structure.transposed(symbol, range(symbol.ndim)[::-1])
    elif order != "C":
        tracing.refuse(f"numpy.ravel is given order={order!r}")
    return structure.reshaped(symbol, ravelled(symbol), is_raveled=True)


def _transpose(tracing: Tracing, a: Any, axes: Any = None) -> Any:
    symbol = tracing.symbol_of(a)
    order = range(symbol.ndim)[::-1] if axes is None else axes_of(tuple(axes), symbol.ndim)
    if sorted(order) != list(range(symbol.ndim)):
        raise ValueError("axes don't match array")
    return structure.transposed(symbol, order)


def _swapaxes(tracing: Tracing, a: Any, axis1: int, axis2: int) -> Any:
    symbol = tracing.symbol_of(a)
    one, other = axes_of((axis1, axis2), symbol.ndim)
    order = list(range(symbol.ndim))
    order[one], order[other] = order[other], order[one]
    return structure.transposed(symbol, order)


def _moveaxis(tracing: Tracing, a: Any, source: Any, destination: Any) -> Any:
    symbol = tracing.symbol_of(a)
    sources, targets = (axes_of(one, symbol.ndim) for one in (source, destination))
    rest = [one for one in range(symbol.ndim) if one not in sources]
    for target, one in sorted(zip(targets, sources, strict=True)):
        rest.insert(target, one)
    return structure.transposed(symbol, rest)


def _squeeze(tracing: Tracing, a: Any, axis: Any = None) -> Any:
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

    return symbol.share(dims, Step(apply, lambda node: structure.emit_reshape(tracing, node, dims)))


def _expand_dims(tracing: Tracing, a: Any, axis: Any) -> Any:
    symbol = tracing.symbol_of(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes, left = axes_of(tuple(given), symbol.ndim + len(given)), iter(symbol.dims)
    dims = tuple(1 if at in axes else next(left) for at in range(symbol.ndim + len(axes)))
    return _with_axes(symbol, dims)


def _at_least(ndim: int) -> Callable[..., Any]:
    def rule(tracing: Tracing, *arrays: Any) -> Any:
        found = [_grown(tracing.symbol_of(one), ndim) for one in arrays]
        return found[0] if len(found) == 1 else tuple(found)

    return rule


def _grown(symbol: Symbol, ndim: int) -> Symbol:
    if symbol.ndim >= ndim:
        return symbol
    dims = symbol.dims
    if ndim == 3 and symbol.ndim:
        return _with_axes(symbol, (*([1] if len(dims) == 1 else []), *dims, 1))
    return _with_axes(symbol, (*[1] * (ndim - len(dims)), *dims))


def _broadcast_to(tracing: Tracing, array: Any, shape: Any) -> Any:
    symbol = tracing.symbol_of(array)
    dims = shape if isinstance(shape, tuple | list) else (shape,)
    known = tuple(operator.index(one) for one in dims)
    if None in symbol.dims:
        tracing.refuse(*structure.BY_PLACE)
    np.broadcast_to(np.empty(tuple(one or 0 for one in symbol.dims)), known)
    found = fresh(
        symbol,
        lambda held: np.broadcast_to(held, known),
        lambda node: structure.emit_broadcast(tracing, node, known),
    )
    return structure.unsure(symbol, found)


# --- joined arrays ---------------------------------------------------------------------------


def join(tracing: Tracing, arrays: Sequence[Any], axis: int = 0, dtype: Any = None) -> Symbol:
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


def _check_alike(tracing: Tracing, shapes: list[Shape], axis: int) -> None:
    others = {(*one[:axis], *one[axis + 1 :]) for one in shapes}
    if len(others) > 1:
        if any(None in one for one in others):
            tracing.refuse(*structure.BY_PLACE)
        raise ValueError("all the input array dimensions except for the axis must match exactly")


def _concatenate(tracing: Tracing, arrays: Any, axis: Any = 0, *, dtype: Any = None) -> Any:
    parts = list(arrays)
    if axis is None:
        return join(tracing, [_ravel(tracing, one) for one in parts], 0, dtype)
    return join(tracing, parts, axis, dtype)


def _stack(tracing: Tracing, arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    parts = [tracing.symbol_of(one) for one in arrays]
    return join(tracing, [_expand_dims(tracing, one, axis) for one in parts], axis, dtype)


def _vstack(tracing: Tracing, tup: Any, *, dtype: Any = None) -> Any:
    return join(tracing, [_grown(tracing.symbol_of(one), 2) for one in tup], 0, dtype)


def _hstack(tracing: Tracing, tup: Any, *, dtype: Any = None) -> Any:
    parts = [_grown(tracing.symbol_of(one), 1) for one in tup]
    return join(tracing, parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def _dstack(tracing: Tracing, tup: Any, *, dtype: Any = None) -> Any:
    return join(tracing, [_grown(tracing.symbol_of(one), 3) for one in tup], 2, dtype)


def _column_stack(tracing: Tracing, tup: Any) -> Any:
    parts = [tracing.symbol_of(one) for one in tup]
    columns = [_with_axes(one, (*one.dims, 1)) if one.ndim == 1 else one for one in parts]
    return join(tracing, columns, 1)


def _append(tracing: Tracing, arr: Any, values: Any, axis: Any = None) -> Any:
    return _concatenate(tracing, [arr, values], axis)


# --- entries elsewhere -----------------------------------------------------------------------


def _moving(function: Any) -> Callable[..., Any]:
    """Return the rule of a function that moves the entries of its first argument about."""

    def rule(tracing: Tracing, array: Any, *given: Any, **named: Any) -> Any:
        symbol = tracing.symbol_of(array)
        how, by_name = (
            _public(tracing, function, given),
            dict(zip(named, _public(tracing, function, named.values()), strict=True)),
        )
        return _moved(symbol, lambda held: function(held, *how, **by_name))

    return rule


def _public(tracing: Tracing, function: Any, values: Any) -> list[Any]:
    """Return arguments that say how entries move."""
    reason = f"records or noise decide how numpy.{function.__name__} moves entries"
    return [
        np.array(tracing.symbol_of(one).plain(reason))[()] if holds_symbol(one) else one
        for one in values
    ]


def _moved(symbol: Symbol, apply: Callable[[Any], Any]) -> Any:
    dims = structure.known_lengths(symbol.tracing, symbol.dims)
    numbers = np.arange(int(np.prod(dims, dtype=np.int64))).reshape(dims)
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

    if found.size and np.may_share_memory(found, numbers):
        return symbol.share(found.shape, Step(apply, emit))
    return fresh(symbol, apply, emit, is_array=isinstance(places, np.ndarray))


def _along(function: Any) -> Callable[..., Any]:
    """Return the rule of a function that moves entries along one axis, where it is given one."""
    otherwise = _moving(function)

    def rule(tracing: Tracing, array: Any, how: Any, axis: Any = None, **named: Any) -> Any:
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
        return fresh(
            symbol,
            lambda held: function(held, *given, axis=at),
            lambda node: emit_take(tracing, node, key),
        )

    return rule


def _triangle(function: Any) -> Callable[..., Any]:
    def rule(tracing: Tracing, m: Any, k: int = 0) -> Any:
        symbol = tracing.symbol_of(m)
        kept = function(np.ones(structure.known_lengths(tracing, symbol.dims), dtype=bool), k)
        return np.where(kept, symbol, symbol.dtype.type(0))

    return rule


def _diag(tracing: Tracing, v: Any, k: int = 0) -> Any:
    symbol = tracing.symbol_of(v)
    if symbol.ndim == 2:
        return _moved(symbol, lambda held: np.diagonal(held, k))
    structure.known_lengths(tracing, symbol.dims)
    size = len(symbol) + abs(k)
    made = tracing.public(np.zeros((size, size), dtype=symbol.dtype))
    at = np.arange(len(symbol))
    made[at + max(-k, 0), at + max(k, 0)] = symbol
    return made


def _copy(tracing: Tracing, a: Any, order: str = "K", subok: bool = False) -> Any:
    if order not in ("K", "C"):
        tracing.refuse(f"numpy.copy is given order={order!r}")
    return structure.copied(tracing.symbol_of(a), keeps_order=order == "K")


RULES: dict[Any, Callable[..., Any]] = {
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.broadcast_to: _broadcast_to,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: _vstack,
    np.hstack: _hstack,
    np.dstack: _dstack,
    np.column_stack: _column_stack,
    np.append: _append,
    np.copy: _copy,
    np.diag: _diag,
    np.tril: _triangle(np.tril),
    np.triu: _triangle(np.triu),
    **{one: _along(one) for one in (np.roll, np.take, np.repeat, np.delete)},
    **{
        getattr(np, name): _moving(getattr(np, name))
        for name in (
            "flip fliplr flipud rot90 tile diagonal split array_split vsplit hsplit dsplit"
        ).split()
    },
}
