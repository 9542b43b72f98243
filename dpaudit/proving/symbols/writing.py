"""Entries written into symbols: the contents of every view of their memory afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing


def write_symbol(symbol: Symbol, key: Any, value: Any) -> None:
    """Write entries of a symbol, as numpy does."""
    tracing = symbol.tracing
    if not symbol.is_array:
        raise TypeError("a number does not support item assignment")
    if symbol.cell.shares:
        tracing.refuse(symbol.cell.shares, "copy the array before the code writes into it")
    items, given = structure.plain_key(key), tracing.symbol_of(value)
    into = symbol.value
    if into is not None and (numbers := given.value) is not None:
        into[items] = numbers
        symbol.cell.version += 1
        return
    _set_memory_node(symbol, _emit_written(symbol, items, given))


def _set_memory_node(symbol: Symbol, node: int) -> None:
    """Let the memory of a symbol hold a node from now on."""
    cell = symbol.cell
    cell.node, cell.value = node, None
    cell.version += 1


def _base_of(symbol: Symbol) -> Symbol:
    while symbol.parent is not None:
        symbol = symbol.parent
    return symbol


def _emit_written(symbol: Symbol, items: tuple[Any, ...], given: Symbol) -> int:
    tracing = symbol.tracing
    found = structure.make_pick(tracing, symbol.dims, items)
    base = _base_of(symbol)
    if found is not None and symbol is base:
        dims, key = found.dims, found.key
    else:
        numbers = structure.number_entries(symbol)
        places = np.asarray(numbers[items])
        return _emit_scattered(
            base, places, _emit_written_entry(tracing, given, places.shape, symbol.dtype)
        )
    entry = _emit_written_entry(tracing, given, dims, symbol.dtype)
    if all(one is None for one in key) and tracing.program.nodes[entry].shape == symbol.dims:
        return entry
    kept = tuple(n if one is None else len(one) for one, n in zip(key, symbol.dims, strict=True))
    if tracing.program.nodes[entry].shape != ():
        entry = structure.emit_reshape(tracing, entry, kept)
    return tracing.node("assign", (base.index, entry), base.dims, symbol.dtype, {"key": list(key)})


def _emit_written_entry(
    tracing: SymbolTracing, given: Symbol, dims: Shape, dtype: np.dtype[Any]
) -> int:
    """Return the written value as a node of a shape, or of none, and of the array's type."""
    node = structure.emit_convert(tracing, given.index, dtype)
    held = tracing.program.nodes[node].shape
    if (held == () and None in dims) or held == dims:
        return node
    while len(held) > len(dims) and held[0] == 1:  # as numpy allows
        node = structure.emit_reshape(tracing, node, held[1:])
        held = held[1:]
    if None not in dims and None not in held:
        _check_fits(held, dims)
    return node if held == () else structure.emit_broadcast(tracing, node, dims)


def _check_fits(held: Shape, dims: Shape) -> None:
    """Raise numpy's error if a shape cannot be written into another."""
    into = structure.public_lengths(dims)
    np.broadcast_to(np.empty(structure.public_lengths(held)), into)


def _emit_scattered(base: Symbol, places: NDArray[np.int64], entry: int) -> int:
    """Return the node of an array some of whose entries, by number, are written."""
    tracing, dims = base.tracing, base.dims
    flat = structure.emit_moved(tracing, [base.index], np.arange(_count_dims_entries(dims)))
    if tracing.program.nodes[entry].shape != ():
        entry = structure.emit_reshape(tracing, entry, (places.size,))
    key = {"key": [places.ravel().tolist()]}
    made = tracing.node("assign", (flat, entry), (_count_dims_entries(dims),), base.dtype, key)
    return structure.emit_reshape(tracing, made, dims)


def _count_dims_entries(dims: Shape) -> int:
    return int(np.prod([one or 0 for one in dims], dtype=np.int64))
