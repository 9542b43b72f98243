"""Entries of symbols by position: indices, views, and operations that only move entries about.

Where lengths are public, numpy itself says where entries go: the same index is applied to an array
of their numbers. Where the number of records is not public, an index leaves their axis as it is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols.memory import Cell, ViewStep
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

Positions = list[int] | None
MOST_ENTRIES = 1_000_000
BY_PLACE = (
    "the code takes records by position, but neighbours differ in the number of records",
    "use all records at once, or choose them by a condition on their values",
)


class Pick(NamedTuple):
    """An index that takes positions of each axis by itself, and the lengths that it leaves."""

    key: list[Positions]
    dims: Shape
    is_view: bool
    is_number: bool


# --- operations ------------------------------------------------------------------------------


def emit_take(tracing: SymbolTracing, node: int, key: Sequence[Positions]) -> int:
    """Write that entries are taken at the product of positions."""
    if all(one is None for one in key):
        return node
    held = tracing.program.nodes[node]
    shape = tuple(n if one is None else len(one) for one, n in zip(key, held.shape, strict=True))
    given = {"key": list(key)}
    return tracing.node("take", (node,), shape, np.dtype(held.dtype), given)


def emit_reshape(tracing: SymbolTracing, node: int, dims: Shape) -> int:
    """Write that entries get other axes."""
    held = tracing.program.nodes[node]
    if held.shape == dims:
        return node
    if None in dims and held.shape.count(None) != 1:
        tracing.refuse(*BY_PLACE)
    # Two reshapes are one; but a reshape that changes the type is a conversion, which has to
    # stay.
    before = held.operands[0] if held.operation == "reshape" else node
    if tracing.program.nodes[before].dtype != held.dtype:
        before = node
    if tracing.program.nodes[before].shape == dims:
        return before
    return tracing.node("reshape", (before,), dims, np.dtype(held.dtype), {"shape": list(dims)})


def emit_transpose(tracing: SymbolTracing, node: int, axes: Sequence[int]) -> int:
    """Write that axes get another order."""
    held = tracing.program.nodes[node]
    if list(axes) == sorted(axes):
        return node
    shape = tuple(held.shape[one] for one in axes)
    return tracing.node("transpose", (node,), shape, np.dtype(held.dtype), {"axes": list(axes)})


def emit_convert(tracing: SymbolTracing, node: int, dtype: np.dtype[Any]) -> int:
    """Write that entries are converted, as ``astype`` does."""
    held = tracing.program.nodes[node]
    given = np.dtype(held.dtype)
    if given == dtype:
        return node
    if dtype.kind == "b":
        zero = tracing.constant_node(np.zeros((), dtype=given))
        return tracing.node("not_equal", (node, zero), held.shape, dtype, {})
    # astype cuts towards 0.
    if dtype.kind in "iu" and given.kind == "f":
        return tracing.node("trunc", (node,), held.shape, dtype, {})
    return tracing.node("reshape", (node,), held.shape, dtype, {"shape": list(held.shape)})


def emit_broadcast(tracing: SymbolTracing, node: int, dims: Shape) -> int:
    """Write that entries are repeated along axes."""
    held = tracing.program.nodes[node]
    if held.shape == dims:
        return node
    if None in dims:
        tracing.refuse(*BY_PLACE)
    given = {"shape": list(dims)}
    return tracing.node("broadcast", (node,), dims, np.dtype(held.dtype), given)


def emit_moved(tracing: SymbolTracing, nodes: Sequence[int], places: NDArray[np.int64]) -> int:
    """Write that entries go where an array has their numbers, counted through all nodes."""
    flat = places.ravel()
    if len(nodes) == 1:
        held = require_known_lengths(tracing, tracing.program.nodes[nodes[0]].shape)
        size = math.prod(held)
        if len(flat) == size and np.array_equal(flat, np.arange(size)):
            return emit_reshape(tracing, nodes[0], places.shape)
        if (key := _mesh_of(places, held)) is not None:
            return emit_take(tracing, nodes[0], key)
    rows = [_emit_flat(tracing, one) for one in nodes]
    joined = rows[0] if len(rows) == 1 else emit_concatenate(tracing, rows, 0)
    return emit_reshape(tracing, emit_take(tracing, joined, [flat.tolist()]), places.shape)


def _emit_flat(tracing: SymbolTracing, node: int) -> int:
    held = require_known_lengths(tracing, tracing.program.nodes[node].shape)
    return emit_reshape(tracing, node, (math.prod(held),))


def emit_concatenate(tracing: SymbolTracing, nodes: Sequence[int], axis: int) -> int:
    """Write that arrays of one dtype are joined."""
    if len(nodes) == 1:
        return nodes[0]
    held = [tracing.program.nodes[one] for one in nodes]
    dims = list(held[0].shape)
    if any(one.shape[axis] is None for one in held):
        tracing.refuse(
            "the code joins records with other rows", "use numpy.column_stack for columns"
        )
    dims[axis] = sum(one.shape[axis] or 0 for one in held)
    return tracing.node(
        "concatenate", nodes, tuple(dims), np.dtype(held[0].dtype), {"axis": int(axis)}
    )


def _mesh_of(places: NDArray[np.int64], dims: tuple[int, ...]) -> list[Positions] | None:
    """Return positions of each axis whose product places are, where they are one."""
    if places.ndim != len(dims) or not places.size or places.ndim < 2:
        return None
    lines = []
    for axis, n in enumerate(dims):
        line = np.moveaxis(places, axis, 0).reshape(places.shape[axis], -1)[:, 0]
        after = math.prod(dims[axis + 1 :])
        lines.append(line // after % n)
    if not np.array_equal(np.ravel_multi_index(np.ix_(*lines), dims), places):
        return None
    whole = [np.arange(n) for n in dims]
    pairs = zip(lines, whole, strict=True)
    return [None if np.array_equal(one, every) else one.tolist() for one, every in pairs]


def public_lengths(dims: Shape) -> tuple[int, ...]:
    """Return lengths that are all public."""
    return tuple(one or 0 for one in dims)


def require_known_lengths(tracing: SymbolTracing, dims: Shape) -> tuple[int, ...]:
    """Return lengths that are all public; refuse others."""
    found = tuple(one for one in dims if one is not None)
    if len(found) != len(dims):
        tracing.refuse(*BY_PLACE)
    if math.prod(found) > MOST_ENTRIES:
        tracing.refuse(f"the code moves entries of an array with more than {MOST_ENTRIES} entries")
    return found


def number_entries(symbol: Symbol) -> NDArray[np.int64]:
    """Return the number of each entry in its cell, for writing."""
    if symbol.parent is None or symbol.step is None:
        dims = require_known_lengths(symbol.tracing, symbol.dims)
        return np.arange(math.prod(dims)).reshape(dims)
    return np.asarray(symbol.step.apply(number_entries(symbol.parent)))


# --- indices ---------------------------------------------------------------------------------


def make_pick(tracing: SymbolTracing, dims: Shape, key: tuple[Any, ...]) -> Pick | None:
    """Return an index as positions of each axis, or nothing where it is no product of such."""
    items = _expand_key(dims, key)
    arrays = [one for one in items if isinstance(one, np.ndarray)]
    numbers = any(isinstance(one, int) for one in items)
    if len(arrays) > 1 or (arrays and (arrays[0].ndim != 1 or numbers)):
        return None
    taken, left, axis = list[Positions](), list[int | None](), 0
    for one in items:
        if one is None:
            left.append(1)
            continue
        positions = _resolve_positions(tracing, dims[axis], one, axis)
        taken.append(positions)
        if not isinstance(one, int):
            left.append(dims[axis] if positions is None else len(positions))
        axis += 1
    is_number = not left and all(isinstance(one, int) for one in key)
    return Pick(taken, tuple(left), not arrays, is_number)


def _expand_key(dims: Shape, key: tuple[Any, ...]) -> list[Any]:
    """Return an index with one item for each axis, and None for each new one."""
    used = sum(
        one.ndim if _is_mask(one) else 1 for one in key if one is not None and one is not ...
    )
    if used > len(dims):
        raise IndexError(f"too many indices for array: array is {len(dims)}-dimensional")
    items = list[Any]()
    whole = [slice(None)] * (len(dims) - used)
    for one in key:
        items += whole if one is ... else [one]
    return items if any(one is ... for one in key) else items + whole


def _is_mask(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "b"


def _resolve_positions(tracing: SymbolTracing, n: int | None, item: Any, axis: int) -> Positions:
    if isinstance(item, slice) and item in WHOLE:
        return None
    if n is None:
        tracing.refuse(*BY_PLACE)
    if isinstance(item, int):
        if not -n <= item < n:
            raise IndexError(f"index {item} is out of bounds for axis {axis} with size {n}")
        # Positions from the end are written from the start, so that one entry has one position.
        return [item % n]
    if isinstance(item, slice):
        found = range(*item.indices(n))
        return None if found == range(n) else list(found)
    if item.dtype.kind == "b" and len(item) != n:
        raise IndexError(f"boolean index did not match indexed array along axis {axis}")
    places: list[int] = np.arange(n)[item].tolist()
    return places


WHOLE = (slice(None), slice(0, None), slice(None, None, 1), slice(0, None, 1))


def plain_key(key: Any) -> tuple[Any, ...]:
    """Return an index whose symbols are public as numbers and arrays of numpy."""
    return tuple(map(_plain_item, key if isinstance(key, tuple) else (key,)))


def _plain_item(item: Any) -> Any:
    if item is None or item is ... or type(item) is int:
        return item
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        return slice(*(one if one is None else operator.index(one) for one in ends))
    if isinstance(item, Symbol):
        if item.is_public:
            return _plain_item(np.array(item.value) if item.is_array else item.plain("")[()])
        return item
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if isinstance(item, list | np.ndarray):
        found = np.array(item)
        # np.array([]) is of doubles, which are no positions; numpy takes an empty list all the
        # same.
        return found.astype(int) if found.size == 0 and isinstance(item, list) else found
    return operator.index(item)


def take_entries(symbol: Symbol, key: Any) -> Any:
    """Return entries of a symbol: a view where numpy gives one."""
    tracing, items = symbol.tracing, plain_key(key)
    found = make_pick(tracing, symbol.dims, items)
    if found is None:
        return _copy_indexed_entries(symbol, items)
    if not found.is_view:
        return make_fresh_symbol(symbol, lambda array: array[items], _make_taker(tracing, found))
    step = ViewStep(
        lambda array: array[items if len(items) > 1 else items[0]], _make_taker(tracing, found)
    )
    if found.is_number:
        return make_fresh_symbol(symbol, step.apply, step.emit, is_array=False)
    return symbol.share(found.dims, step)


def _make_taker(tracing: SymbolTracing, found: Pick) -> Any:
    def emit(node: int) -> int:
        return emit_reshape(tracing, emit_take(tracing, node, found.key), found.dims)

    return emit


def make_fresh_symbol(symbol: Symbol, apply: Any, emit: Any, *, is_array: bool = True) -> Any:
    """Return the result on a symbol's entries, in memory of its own."""
    tracing = symbol.tracing
    if (value := symbol.value) is not None:
        found = np.array(apply(value))
        return tracing.public(found, is_array=True) if is_array else found[()]
    node = emit(symbol.index)
    return Symbol.of_node(tracing, node, symbol.dtype, is_array=is_array)


def _copy_indexed_entries(symbol: Symbol, items: tuple[Any, ...]) -> Any:
    """Return entries at an index that is no product, in memory of their own."""
    tracing = symbol.tracing
    dims = require_known_lengths(tracing, symbol.dims)
    places = np.arange(math.prod(dims)).reshape(dims)[items]
    return make_fresh_symbol(
        symbol,
        lambda array: array[items],
        lambda node: emit_moved(tracing, [node], np.asarray(places)),
        is_array=isinstance(places, np.ndarray),
    )


# --- views and copies ------------------------------------------------------------------------


def reshape_symbol(symbol: Symbol, dims: Shape, *, is_raveled: bool = False) -> Any:
    """Return entries with other axes: a view, a copy, or neither where it is not known.

    What is raveled is a view only of memory that is contiguous; so is its result.
    """
    tracing = symbol.tracing

    def emit(node: int) -> int:
        return emit_reshape(tracing, node, dims)

    if None in dims:
        return symbol.share(dims, ViewStep(lambda array: array, emit))
    known = public_lengths(dims)
    step = ViewStep(lambda array: array.reshape(known), emit)
    if symbol.parent is None and symbol.cell.is_ordered:
        return symbol.share(dims, step)
    held = symbol.value if symbol.is_public else number_entries(symbol)
    if held is not None and (symbol.is_public or symbol.cell.is_ordered):
        is_view = held.flags.c_contiguous if is_raveled else None
        if is_view or (is_view is None and np.may_share_memory(held, held.reshape(known))):
            return symbol.share(dims, step)
        return make_fresh_symbol(symbol, step.apply, emit)
    return set_unsure_sharing(symbol, make_fresh_symbol(symbol, step.apply, emit))


def set_unsure_sharing(symbol: Symbol, found: Symbol) -> Symbol:
    """Return a copy that may be a view: neither may be written into."""
    # Whether numpy makes a view here depends on how the memory lies, which nobody knows of a
    # symbol.
    symbol.cell.shares = found.cell.shares = (
        "the code writes into an array that is a view or a copy, which depends on its layout "
        "in memory"
    )
    return found


def transpose_symbol(symbol: Symbol, axes: Sequence[int]) -> Symbol:
    """Return a view whose axes have another order."""
    order, tracing = list(axes), symbol.tracing
    dims = tuple(symbol.dims[one] for one in order)
    return symbol.share(
        dims,
        ViewStep(
            lambda array: array.transpose(order), lambda node: emit_transpose(tracing, node, order)
        ),
    )


def is_ordered(symbol: Symbol) -> bool:
    """Return whether an array is known to lie row after row, so that a copy does."""
    if symbol.value is not None:
        return symbol.value.flags.c_contiguous
    return symbol.ndim < 2 or (symbol.parent is None and symbol.cell.is_ordered)


def copy_symbol(symbol: Symbol, *, keeps_order: bool = False) -> Symbol:
    """Return the same entries in memory of their own: row after row, or in the order they have."""
    order: Literal["K", "C"] = "K" if keeps_order else "C"
    if (value := symbol.value) is not None:
        return symbol.tracing.public(value.copy(order), is_array=symbol.is_array)
    cell = Cell(symbol.index, is_ordered=not keeps_order or is_ordered(symbol))
    return Symbol(symbol.tracing, cell, symbol.dims, symbol.dtype, is_array=symbol.is_array)


def convert_symbol(symbol: Symbol, dtype: np.dtype[Any]) -> Symbol:
    """Return the entries as numbers of another type, in memory of their own."""
    tracing = symbol.tracing
    if (value := symbol.value) is not None:
        with np.errstate(all="ignore"):
            return tracing.public(value.astype(dtype), is_array=symbol.is_array)
    if dtype.kind not in "biuf":
        tracing.refuse(f"the code converts numbers that depend on records or noise to {dtype}")
    node = emit_convert(tracing, symbol.index, dtype)
    return Symbol.of_node(
        tracing, node, dtype, is_array=symbol.is_array, is_ordered=is_ordered(symbol)
    )
