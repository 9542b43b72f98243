"""Numbers that a line requires of its operands: a proof stops where they may be others."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_LARGEST = float(np.finfo(np.float64).max)
_LEAST = float(np.finfo(np.float64).smallest_subnormal)


def emit_within(tracing: SymbolTracing, symbol: Symbol, low: float, high: float) -> Symbol:
    """Write that numbers have to lie between two."""
    given = {"low": low, "high": high}
    node = tracing.node("within", (symbol.index,), symbol.dims, symbol.dtype, given)
    return Symbol.of_node(tracing, node, symbol.dtype)


def require_finite(tracing: SymbolTracing, one: Any) -> Any:
    """Return a number that has to be one that doubles hold: beyond it is infinite."""
    return one if one.dtype.kind in "biu" else emit_within(tracing, one, -_LARGEST, _LARGEST)


def require_sign(one: Any) -> Any:
    """Return a number that must not be -0.0, whose sign numpy copies though no real number has it.

    Integers have no -0.0, and neither has a sum with a constant that is not 0: where it cancels, it
    rounds to 0.0.
    """
    if isinstance(one, Symbol) and one.dtype.kind == "f" and not _is_shifted(one):
        emit_within(one.tracing, one.tracing.symbol_of(np.abs(one)), _LEAST, _LARGEST)
    return one


def _is_shifted(one: Symbol) -> bool:
    """Return whether a number is a sum or a difference with a constant that is not 0."""
    nodes = one.tracing.program.nodes
    node = nodes[one.index]
    if node.operation not in ("add", "subtract"):
        return False
    constants = [nodes[at] for at in node.operands if nodes[at].operation == "constant"]
    return any(np.all(np.asarray(found.parameters["value"]) != 0) for found in constants)
