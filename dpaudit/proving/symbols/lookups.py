"""Entries at a position that records or noise decide: a sum over all positions.

The entry of ``table`` at position ``i`` is the sum of all its entries, each times whether ``i`` is
its position: an operation on numbers like any other, whatever decides ``i``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.operators import apply_ufunc_rule
from dpaudit.proving.symbols.preconditions import emit_within
from dpaudit.proving.symbols.reductions import emit_where, sum_of
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing


def look_up(table: Symbol, at: Symbol) -> Symbol:
    """Return the entries of a table, along its first axis, at positions."""
    tracing, rest = table.tracing, table.dims[1:]
    hits = _find_position_hits(table, at)
    spread = hits[(..., *[None] * len(rest))]
    zero = table.dtype.type(0)
    kept = emit_where(tracing, spread, table, zero)
    found = sum_of(tracing, kept, at.ndim)
    return structure.convert_symbol(tracing.symbol_of(found), table.dtype)


def write_at(table: Symbol, at: Symbol, value: Any) -> None:
    """Write the entry of a table at one position."""
    tracing, rest = table.tracing, table.dims[1:]
    if at.ndim:
        tracing.refuse("the code writes at several positions that depend on records or noise")
    spread = _find_position_hits(table, at)[(..., *[None] * len(rest))]
    given = tracing.symbol_of(value)
    if given.ndim > len(rest):
        raise ValueError("could not broadcast input array")
    kept = structure.convert_symbol(given, table.dtype)
    table[...] = emit_where(tracing, spread, kept, table)


def _find_position_hits(table: Symbol, at: Symbol) -> Symbol:
    """Return of each position whether it is that of an entry, along a last axis."""
    tracing, number = table.tracing, len(table)
    if at.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    _check_size(tracing, (*at.dims, *table.dims))
    # numpy counts a negative position from the end, where this sum would find no entry.
    inside = emit_within(tracing, at, 0, number - 1)
    found = apply_ufunc_rule(tracing, np.equal, [inside[..., None], np.arange(number)])
    return tracing.symbol_of(found)


def _check_size(tracing: SymbolTracing, dims: Any) -> None:
    if math.prod(one or 1 for one in dims) > structure.MOST_ENTRIES // 10:
        tracing.refuse("many positions in a large array depend on records or noise")
