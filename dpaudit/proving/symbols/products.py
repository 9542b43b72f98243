"""Products of vectors and matrices, and norms, of symbols.

The product of a vector with itself is the sum of its squares, of which more is known. What is no
product of two matrices is a product entry by entry, summed along the axes that go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.operators import (
    apply_ufunc_rule,
    emit_square,
    resolve_loop_types,
    type_of,
)
from dpaudit.proving.symbols.reductions import axes_of, max_of, min_of, sum_of
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing


def emit_matmul(tracing: SymbolTracing, x1: Any, x2: Any, *, dtype: Any = None) -> Symbol:
    """Write a product of matrices."""
    one, other = tracing.symbol_of(x1), tracing.symbol_of(x2)
    if not one.dims or not other.dims:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    kind = resolve_loop_types(np.matmul, (type_of(one), type_of(other)), dtype)[-1]
    if kind.kind == "b":
        whole = (structure.convert_symbol(part, np.dtype(np.int64)) for part in (one, other))
        return structure.convert_symbol(emit_matmul(tracing, *whole), kind)
    dims = _dims_of_product(tracing, one.dims, other.dims)
    if one.ndim == other.ndim == 1 and one.index == other.index:
        return tracing.symbol_of(sum_of(tracing, emit_square(tracing, one), dtype=kind))
    nodes = [structure.emit_convert(tracing, part.index, kind) for part in (one, other)]
    return Symbol.of_node(
        tracing, tracing.node("matmul", nodes, dims, kind, {}), kind, is_ordered=True
    )


def _dims_of_product(tracing: SymbolTracing, one: Shape, other: Shape) -> Shape:
    if one[-1] != other[-2 if len(other) > 1 else 0]:
        if None in one or None in other:
            tracing.refuse(
                "the code combines an array of a fixed length with an array of all records, and "
                "neighbours differ in the number of records"
            )
        raise ValueError(f"matmul: shapes {one} and {other} do not match")
    batch: Shape = ()
    if len(one) > 2 or len(other) > 2:
        if None in one[:-2] + other[:-2]:
            tracing.refuse("the code multiplies stacks of matrices of all records")
        batch = np.broadcast_shapes(
            structure.public_lengths(one[:-2]), structure.public_lengths(other[:-2])
        )
    dims = batch + one[-2:-1] + (other[-1:] if len(other) > 1 else ())
    if dims.count(None) > 1:
        tracing.refuse(
            "the code forms pairs of records, but neighbours differ in the number of records"
        )
    return dims


def _trace_dot(tracing: SymbolTracing, a: Any, b: Any) -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(b)
    if not one.dims or not other.dims:
        return apply_ufunc_rule(tracing, np.multiply, [one, other])
    if other.ndim <= 2:
        return emit_matmul(tracing, one, other)
    return _trace_tensordot(tracing, one, other, ([one.ndim - 1], [other.ndim - 2]))


def _trace_vdot(tracing: SymbolTracing, a: Any, b: Any) -> Any:
    one, other = (_flatten_to_row(tracing, part) for part in (a, b))
    return emit_matmul(tracing, one, other)


def _flatten_to_row(tracing: SymbolTracing, value: Any) -> Any:
    return tracing.rules.call(tracing, np.ravel, (tracing.symbol_of(value),), {})


def _trace_inner(tracing: SymbolTracing, a: Any, b: Any) -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(b)
    if not one.dims or not other.dims:
        return apply_ufunc_rule(tracing, np.multiply, [one, other])
    return _trace_tensordot(tracing, one, other, ([one.ndim - 1], [other.ndim - 1]))


def _trace_outer(tracing: SymbolTracing, a: Any, b: Any) -> Any:
    one, other = (_flatten_to_row(tracing, part) for part in (a, b))
    return apply_ufunc_rule(tracing, np.multiply, [one[:, None], other[None, :]])


def _trace_vecdot(tracing: SymbolTracing, x1: Any, x2: Any, *, axis: int = -1) -> Any:
    return sum_of(tracing, apply_ufunc_rule(tracing, np.multiply, [x1, x2]), axis)


def _trace_matvec(tracing: SymbolTracing, x1: Any, x2: Any) -> Any:
    return _trace_vecdot(tracing, x1, tracing.symbol_of(x2)[..., None, :])


def _trace_tensordot(tracing: SymbolTracing, a: Any, b: Any, axes: Any = 2) -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(b)
    if isinstance(axes, int):
        first, second = list(range(one.ndim - axes, one.ndim)), list(range(axes))
    else:
        pairs = zip(axes, (one, other), strict=True)
        first, second = (list(axes_of(part, symbol.ndim)) for part, symbol in pairs)
    letters = [_LETTERS[at] for at in range(one.ndim)]
    others = [_LETTERS[one.ndim + at] for at in range(other.ndim)]
    for mine, its in zip(first, second, strict=True):
        others[its] = letters[mine]
    result = [x for x in letters + others if (x in letters) != (x in others)]
    return _contract_operands(tracing, [letters, others], result, [one, other])


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _trace_einsum(
    tracing: SymbolTracing, subscripts: Any, *operands: Any, optimize: Any = False
) -> Any:
    if not isinstance(subscripts, str) or "." in subscripts:
        tracing.refuse("no rule covers numpy.einsum with more than letters and arrays")
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    letters = given.split(",")
    if not arrow:
        result = "".join(sorted(x for x in set(given) - {","} if given.count(x) == 1))
    symbols = [tracing.symbol_of(one) for one in operands]
    if [len(one) for one in letters] != [one.ndim for one in symbols]:
        raise ValueError("einstein sum subscripts do not fit the operands")
    pairs = [_remove_repeated_letters(one, at) for one, at in zip(symbols, letters, strict=True)]
    return _contract_operands(tracing, [at for _, at in pairs], result, [one for one, _ in pairs])


def _remove_repeated_letters(symbol: Symbol, letters: str) -> tuple[Symbol, str]:
    """Return an array without the letter that stands twice, and its letters."""
    for one in dict.fromkeys(letters):
        while letters.count(one) > 1:
            first = letters.index(one)
            second = letters.index(one, first + 1)
            symbol = symbol.tracing.rules.call(
                symbol.tracing, np.diagonal, (symbol, 0, first, second), {}
            )
            rest = [x for at, x in enumerate(letters) if at not in (first, second)]
            letters = "".join(rest) + one
    return symbol, letters


def _contract_operands(
    tracing: SymbolTracing,
    letters: Sequence[Sequence[str]],
    result: Sequence[str],
    operands: Sequence[Symbol],
) -> Any:
    """Return a product whose axes have letters, summed along those that are not in the result."""
    if len(operands) == 2:
        found = _as_matrices(tracing, letters, result, operands)
        if found is not None:
            return found
    every = [*result, *dict.fromkeys(x for one in letters for x in one if x not in result)]
    spread = [_align_to_letters(one, at, every) for one, at in zip(operands, letters, strict=True)]
    product = spread[0]
    for one in spread[1:]:
        product = tracing.symbol_of(apply_ufunc_rule(tracing, np.multiply, [product, one]))
    if math.prod(one or 1 for one in product.dims) > structure.MOST_ENTRIES:
        tracing.refuse("a product of arrays is too large for the proof")
    gone = tuple(range(len(result), len(every)))
    return sum_of(tracing, product, gone) if gone else structure.copy_symbol(product)


def _align_to_letters(symbol: Symbol, letters: Sequence[str], every: Sequence[str]) -> Any:
    """Return an array with axes in the order of all letters, of length 1 where it has none."""
    order = [letters.index(one) for one in every if one in letters]
    turned = structure.transpose_symbol(symbol, order)
    key = tuple(slice(None) if one in letters else None for one in every)
    return structure.take_entries(turned, key)


def _as_matrices(
    tracing: SymbolTracing,
    letters: Sequence[Sequence[str]],
    result: Sequence[str],
    operands: Sequence[Symbol],
) -> Any:
    """Return a product with one letter that goes as one of matrices; nothing for any other."""
    one, other = letters
    shared = [x for x in one if x in other]
    left, right = ([x for x in part if x not in shared] for part in letters)
    is_product = len(shared) == 1 and shared[0] not in result and len(left) < 2 and len(right) < 2
    if not is_product or sorted(result) != sorted(left + right):
        return None
    first = structure.transpose_symbol(operands[0], [one.index(x) for x in left + shared])
    second = structure.transpose_symbol(operands[1], [other.index(x) for x in shared + right])
    found = emit_matmul(tracing, first, second)
    return found.T if list(result) != left + right else found


def _multi_dot(tracing: SymbolTracing, arrays: Any) -> Any:
    first, *others = arrays
    for one in others:
        first = _trace_dot(tracing, first, one)
    return first


def _trace_matrix_trace(
    tracing: SymbolTracing, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    given = (tracing.symbol_of(a), offset, axis1, axis2)
    return sum_of(tracing, tracing.rules.call(tracing, np.diagonal, given, {}), -1)


def _trace_kron(tracing: SymbolTracing, a: Any, b: Any) -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(b)
    if one.ndim != other.ndim or None in one.dims + other.dims:
        tracing.refuse("no rule covers numpy.kron of arrays with different numbers of axes")
    spread = one[tuple(x for _ in one.dims for x in (slice(None), None))]
    product = spread * other[tuple(x for _ in other.dims for x in (None, slice(None)))]
    pairs = zip(
        structure.public_lengths(one.dims), structure.public_lengths(other.dims), strict=True
    )
    return product.reshape([n * m for n, m in pairs])


def _trace_convolve(tracing: SymbolTracing, a: Any, v: Any, mode: str = "full") -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(v)
    if not other.is_public:
        one, other = other, one
    weights = other.plain(
        "no rule covers numpy.convolve of two arrays that depend on records or noise"
    )
    n = structure.require_known_lengths(tracing, one.dims)[0]
    rows = [np.convolve(unit, weights) for unit in np.eye(n)]
    matrix = np.array(rows).T
    cut = _get_convolution_part(n, len(weights), mode)
    return emit_matmul(tracing, matrix[cut], one)


def _get_convolution_part(n: int, m: int, mode: str) -> slice:
    """Return which part of a whole convolution another mode is, as numpy has it."""
    short, long = sorted((n, m))
    if mode == "full":
        return slice(None)
    if mode == "valid":
        return slice(short - 1, long)
    if mode != "same":
        raise ValueError("mode must be one of 'full', 'same', 'valid'")
    start = (short - 1) // 2
    return slice(start, start + long)


# --- norms -----------------------------------------------------------------------------------


def _trace_norm(
    tracing: SymbolTracing, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    symbol = tracing.symbol_of(x)
    axes = axes_of(axis, symbol.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        doubles = symbol if symbol.dtype.kind == "f" else structure.convert_symbol(symbol, _DOUBLE)
        return np.sqrt(sum_of(tracing, emit_square(tracing, doubles), axis, keepdims=keepdims))
    if len(axes) != 1:
        tracing.refuse(f"no rule covers numpy.linalg.norm of order {ord} of a matrix")
    return _norm_of_vector(tracing, abs(symbol), ord, axis, keepdims)


def _norm_of_vector(
    tracing: SymbolTracing, sizes: Symbol, ord: Any, axis: Any, keepdims: bool
) -> Any:
    if ord == 1:
        kept = sizes if sizes.dtype.kind == "f" else structure.convert_symbol(sizes, _DOUBLE)
        return sum_of(tracing, kept, axis, keepdims=keepdims)
    if ord == 0:
        kept = structure.convert_symbol(sizes != 0, _DOUBLE)
        return sum_of(tracing, kept, axis, keepdims=keepdims)
    if ord in (math.inf, -math.inf):
        function = max_of if ord > 0 else min_of
        found = function(tracing, sizes, axis, keepdims=keepdims)
        return structure.convert_symbol(found, _DOUBLE) if found.dtype.kind in "iu" else found
    tracing.refuse(f"no rule covers numpy.linalg.norm of order {ord}")


def _vector_norm(
    tracing: SymbolTracing, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    symbol = tracing.symbol_of(x)
    if axis is None and symbol.ndim > 1 and ord != 2:
        symbol = _flatten_to_row(tracing, symbol)
    return _trace_norm(tracing, symbol, None if axis is None and ord == 2 else ord, axis, keepdims)


_DOUBLE = np.dtype(np.float64)
RULES: dict[Any, Callable[..., Any]] = {
    np.matmul: emit_matmul,
    np.linalg.matmul: emit_matmul,
    np.dot: _trace_dot,
    np.vdot: _trace_vdot,
    np.inner: _trace_inner,
    np.outer: _trace_outer,
    np.linalg.outer: _trace_outer,
    np.tensordot: _trace_tensordot,
    np.einsum: _trace_einsum,
    np.linalg.multi_dot: _multi_dot,
    np.trace: _trace_matrix_trace,
    np.kron: _trace_kron,
    np.convolve: _trace_convolve,
    np.linalg.norm: _trace_norm,
    np.linalg.vector_norm: _vector_norm,
}
for _name, _rule in (("vecdot", _trace_vecdot), ("matvec", _trace_matvec)):
    if hasattr(np, _name):
        RULES[getattr(np, _name)] = _rule
