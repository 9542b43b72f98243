"""Counts, differences, moments and other functions that are made of simpler ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.symbols import products, structure
from dpaudit.proving.symbols.operators import apply_ufunc_rule
from dpaudit.proving.symbols.preconditions import emit_within
from dpaudit.proving.symbols.reductions import all_of, axes_of, emit_where, mean_of, sum_of
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_DOUBLE = np.dtype(np.float64)
_COUNT = np.dtype(np.intp)

# --- counts ----------------------------------------------------------------------------------


def _trace_histogram(
    tracing: SymbolTracing,
    a: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    if density:
        tracing.refuse("no rule covers densities of bins", "divide by a public count")
    symbol, edges = tracing.symbol_of(a), edges_of(tracing, bins, range)
    if symbol.dtype.kind == "b":
        symbol = structure.convert_symbol(symbol, np.dtype(np.uint8))
    if weights is not None:
        return _sum_bin_weights(tracing, symbol, edges, weights), tracing.constant(edges)
    given = {"edges": edges.tolist()}
    node = tracing.node("bin_counts", (symbol.index,), (len(edges) - 1,), _COUNT, given)
    return Symbol.of_node(tracing, node, _COUNT), tracing.constant(edges)


def edges_of(tracing: SymbolTracing, bins: Any, ends: Any) -> NDArray[Any]:
    """Return the edges of bins, which have to be public."""
    given = tracing.symbol_of(bins) if not isinstance(bins, str) else bins
    if isinstance(given, str) or (not given.dims and ends is None):
        tracing.refuse("numpy takes the edges of bins from the records", "give edges, or range=")
    found = given.plain("the edges of bins depend on records or noise")
    limits = None if ends is None else _plain_ends(tracing, ends)
    number = int(found[()]) if not found.ndim else found
    return np.asarray(np.histogram_bin_edges(np.empty(0), number, range=limits))


def _plain_ends(tracing: SymbolTracing, ends: Any) -> tuple[float, float]:
    low, high = (
        tracing.symbol_of(one).plain("the edges of bins depend on records or noise") for one in ends
    )
    return float(low), float(high)


def _places_in_bins(tracing: SymbolTracing, symbol: Symbol, edges: NDArray[Any]) -> tuple[Any, Any]:
    """Return in which bin a number lies, from 0, and whether it lies in any."""
    at = _trace_searchsorted(tracing, edges, symbol, "right") - 1
    inside = (symbol >= edges[0]) & (symbol <= edges[-1])
    return apply_ufunc_rule(tracing, np.minimum, [at, len(edges) - 2]), inside


def _trace_histogramdd(
    tracing: SymbolTracing,
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    columns = _columns_of(tracing, sample)
    if density or weights is not None:
        tracing.refuse("no rule covers densities or weights of bins with several columns")
    every = _edges_of_columns(tracing, bins, range, len(columns))
    whole: Any = 0
    inside: Any = True
    for column, edges in zip(columns, every, strict=True):
        at, is_inside = _places_in_bins(tracing, column, edges)
        whole, inside = whole * (len(edges) - 1) + at, inside & is_inside
    shape = tuple(len(one) - 1 for one in every)
    number = int(np.prod(shape))
    counts = _trace_histogram(
        tracing, emit_where(tracing, inside, whole, -1), np.arange(number + 1) - 0.5
    )
    found = structure.convert_symbol(structure.reshape_symbol(counts[0], shape), _DOUBLE)
    return found, tuple(tracing.constant(one) for one in every)


def _columns_of(tracing: SymbolTracing, sample: Any) -> list[Any]:
    if isinstance(sample, tuple | list):
        return [_flatten_entries(tracing, one) for one in sample]
    symbol = tracing.symbol_of(sample)
    width = symbol.dims[1] if symbol.ndim == 2 else None
    if width is None:
        tracing.refuse("no rule covers bins of values that are not a table of columns")
    return [symbol[:, at] for at in np.arange(width)]


def _edges_of_columns(
    tracing: SymbolTracing, bins: Any, ends: Any, count: int
) -> list[NDArray[Any]]:
    each = bins if isinstance(bins, list | tuple) else [bins] * count
    limits = [None] * count if ends is None else list(ends)
    pairs = zip(each, limits, strict=True)
    return [edges_of(tracing, one, limit) for one, limit in pairs]


def _trace_histogram2d(
    tracing: SymbolTracing,
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    is_pair = isinstance(bins, list | tuple) and len(bins) == 2
    each = bins if is_pair or isinstance(bins, int) else [bins, bins]
    counts, edges = _trace_histogramdd(tracing, [x, y], each, range, density, weights)
    return (counts, *edges)


def _sum_bin_weights(
    tracing: SymbolTracing, symbol: Symbol, edges: NDArray[Any], weights: Any
) -> Any:
    """Return sums of weights of the numbers in each bin."""
    one, weight = (
        _flatten_entries(tracing, part)[:, None] for part in (symbol, tracing.symbol_of(weights))
    )
    above = apply_ufunc_rule(tracing, np.greater_equal, [one, edges[:-1]])
    below = apply_ufunc_rule(tracing, np.less, [one, edges[1:]])
    is_last = np.arange(len(edges) - 1) == len(edges) - 2
    inside = (above & below) | ((one == edges[-1]) & is_last)
    return sum_of(tracing, emit_where(tracing, inside, weight, 0.0), 0)


def _flatten_entries(tracing: SymbolTracing, value: Any) -> Any:
    return tracing.rules.call(tracing, np.ravel, (tracing.symbol_of(value),), {})


def _trace_bincount(
    tracing: SymbolTracing, x: Any, /, weights: Any = None, minlength: Any = 0
) -> Any:
    symbol = tracing.symbol_of(x)
    if symbol.ndim != 1 or symbol.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {symbol.dtype} to int64")
    number = int(tracing.symbol_of(minlength).plain("a length depends on records or noise"))
    if number < 1:
        tracing.refuse(
            "numpy.bincount takes the number of counts from the records", "give minlength="
        )
    inside = emit_within(tracing, symbol, 0, number - 1)
    if weights is not None:
        weight = structure.convert_symbol(tracing.symbol_of(weights), _DOUBLE)
        chosen = apply_ufunc_rule(tracing, np.equal, [inside[:, None], np.arange(number)])
        return sum_of(tracing, emit_where(tracing, chosen, weight[:, None], 0.0), 0)
    edges = (np.arange(number + 1) - 0.5).tolist()
    node = tracing.node("bin_counts", (inside.index,), (number,), _COUNT, {"edges": edges})
    return Symbol.of_node(tracing, node, _COUNT)


def _trace_digitize(tracing: SymbolTracing, x: Any, bins: Any, right: bool = False) -> Any:
    edges = tracing.symbol_of(bins).plain("the edges of bins depend on records or noise")
    if (np.diff(edges) < 0).any():
        tracing.refuse("the code gives numpy.digitize bins that do not increase")
    return _trace_searchsorted(tracing, edges, x, "left" if right else "right")


def _trace_searchsorted(
    tracing: SymbolTracing, a: Any, v: Any, side: str = "left", sorter: Any = None
) -> Any:
    if sorter is not None or side not in ("left", "right"):
        tracing.refuse("no rule covers numpy.searchsorted with a sorter")
    edges = tracing.symbol_of(a).plain("an order depends on records or noise")
    symbol = tracing.symbol_of(v)
    ufunc = np.greater if side == "left" else np.greater_equal
    return sum_of(tracing, apply_ufunc_rule(tracing, ufunc, [symbol[..., None], edges]), -1)


def _trace_isin(
    tracing: SymbolTracing,
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    values = np.unique(tracing.symbol_of(test_elements).plain("a set depends on records or noise"))
    symbol = tracing.symbol_of(element)
    found = sum_of(tracing, apply_ufunc_rule(tracing, np.equal, [symbol[..., None], values]), -1)
    return found <= 0 if invert else found > 0


def _trace_isclose(
    tracing: SymbolTracing, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8
) -> Any:
    one, other = tracing.symbol_of(a), tracing.symbol_of(b)
    return abs(one - other) <= atol + rtol * abs(other)


def _trace_allclose(
    tracing: SymbolTracing, a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8
) -> Any:
    return all_of(tracing, _trace_isclose(tracing, a, b, rtol, atol))


# --- differences -----------------------------------------------------------------------------


def _trace_diff(tracing: SymbolTracing, a: Any, n: int = 1, axis: int = -1) -> Any:
    found = tracing.symbol_of(a)
    at = axes_of(axis, found.ndim)[0]
    before = (slice(None),) * at
    for _ in range(n):
        later, earlier = found[(*before, slice(1, None))], found[(*before, slice(None, -1))]
        ufunc = np.not_equal if found.dtype.kind == "b" else np.subtract
        found = apply_ufunc_rule(tracing, ufunc, [later, earlier])
    return found


def _trace_ediff1d(tracing: SymbolTracing, ary: Any) -> Any:
    return _trace_diff(tracing, _flatten_entries(tracing, ary))


def _trace_trapezoid(
    tracing: SymbolTracing, y: Any, x: Any = None, dx: float = 1.0, axis: int = -1
) -> Any:
    symbol = tracing.symbol_of(y)
    at = axes_of(axis, symbol.ndim)[0]
    steps: Any = dx
    if x is not None:
        steps = _trace_diff(tracing, x)
        if np.ndim(steps) == 1:
            steps = steps[(slice(None), *[None] * (symbol.ndim - at - 1))]
    before = (slice(None),) * at
    later, earlier = symbol[(*before, slice(1, None))], symbol[(*before, slice(None, -1))]
    return sum_of(tracing, steps * (later + earlier) / 2.0, at)


# --- moments ---------------------------------------------------------------------------------


def _trace_average(
    tracing: SymbolTracing,
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = False,
) -> Any:
    symbol = tracing.symbol_of(a)
    if returned:
        tracing.refuse("no rule covers numpy.average with returned=True")
    if weights is None:
        return mean_of(tracing, symbol, axis, keepdims=keepdims)
    weight = tracing.symbol_of(weights)
    if weight.dims != symbol.dims:
        at = axes_of(axis, symbol.ndim)
        if len(at) != 1 or weight.ndim != 1:
            raise TypeError("1D weights expected when shapes of a and weights differ.")
        weight = weight[(slice(None), *[None] * (symbol.ndim - at[0] - 1))]
    total = apply_ufunc_rule(tracing, np.multiply, [symbol, weight])
    whole = sum_of(tracing, weight, axis if weight.ndim == symbol.ndim else 0, keepdims=keepdims)
    if weight.ndim != symbol.ndim or weight.dims != symbol.dims:
        whole = sum_of(tracing, weight)
    return sum_of(tracing, total, axis, keepdims=keepdims) / whole


def _trace_cov(
    tracing: SymbolTracing,
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
) -> Any:
    rows = _get_variable_rows(tracing, m, rowvar)
    if y is not None:
        rows = np.concatenate([rows, _get_variable_rows(tracing, y, rowvar)])
    less = (0 if bias else 1) if ddof is None else ddof
    apart = rows - mean_of(tracing, rows, 1, keepdims=True)
    found = products.emit_matmul(tracing, apart, apart.T) * np.true_divide(1, rows.shape[1] - less)
    return np.squeeze(found)


def _get_variable_rows(tracing: SymbolTracing, value: Any, rowvar: bool) -> Any:
    symbol = structure.convert_symbol(structure.copy_symbol(tracing.symbol_of(value)), _DOUBLE)
    if symbol.ndim == 1:
        return symbol[None, :]
    return symbol if rowvar else symbol.T


def _trace_corrcoef(tracing: SymbolTracing, x: Any, y: Any = None, rowvar: bool = True) -> Any:
    found = _trace_cov(tracing, x, y, rowvar)
    if not found.ndim:
        return found / found
    spread = np.sqrt(np.diagonal(found))
    return np.clip(found / spread[:, None] / spread[None, :], -1, 1)


# --- others ----------------------------------------------------------------------------------


def _trace_polyval(tracing: SymbolTracing, p: Any, x: Any) -> Any:
    found: Any = tracing.symbol_of(x) * 0
    for one in tracing.symbol_of(p):
        found = found * x + one
    return found


def _trace_select(tracing: SymbolTracing, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = emit_where(tracing, condition, choice, found)
    return found


def _nan_to_num(
    tracing: SymbolTracing,
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    symbol = tracing.symbol_of(x)
    return structure.copy_symbol(symbol) if copy else symbol


def _make_filled_like_rule(value: float) -> Callable[..., Any]:
    """Return the rule of a function that makes an array of the shape of another."""

    def rule(
        tracing: SymbolTracing,
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
    ) -> Any:
        return _full_like(tracing, a, value, dtype, shape=shape)

    return rule


def _full_like(
    tracing: SymbolTracing,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
) -> Any:
    symbol = tracing.symbol_of(a)
    kind = symbol.dtype if dtype is None else np.dtype(dtype)
    if shape is None and None in symbol.dims:
        empty = structure.convert_symbol(symbol * 0, kind)
        return structure.convert_symbol(empty + tracing.symbol_of(fill_value), kind)
    dims = structure.public_lengths(symbol.dims) if shape is None else shape
    found = tracing.public(np.zeros(dims, dtype=kind), is_array=True)
    found[...] = fill_value
    return found


def _trace_shape(tracing: SymbolTracing, a: Any) -> Any:
    return tracing.symbol_of(a).shape


def _trace_ndim(tracing: SymbolTracing, a: Any) -> int:
    return tracing.symbol_of(a).ndim


def _trace_size(tracing: SymbolTracing, a: Any, axis: int | None = None) -> Any:
    symbol = tracing.symbol_of(a)
    return symbol.size if axis is None else symbol.shape[axis]


def _trace_copyto(
    tracing: SymbolTracing, dst: Any, src: Any, casting: str = "same_kind", where: Any = True
) -> None:
    if not isinstance(dst, Symbol):
        tracing.refuse(
            "the code writes a value that depends on records or noise into an array of plain "
            "numbers"
        )
    dst[...] = src if where is True else np.where(where, src, dst)


def _fill_diagonal(tracing: SymbolTracing, a: Any, val: Any, wrap: bool = False) -> None:
    if not isinstance(a, Symbol) or a.ndim != 2 or wrap:
        tracing.refuse("no rule covers numpy.fill_diagonal of this array")
    at = np.arange(min(structure.require_known_lengths(tracing, a.dims)))
    a[at, at] = val


def _apply_along_axis(
    tracing: SymbolTracing, func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    symbol = tracing.symbol_of(arr)
    at = axes_of(axis, symbol.ndim)[0]
    rows = tracing.rules.call(tracing, np.moveaxis, (symbol, at, -1), {})
    others = structure.require_known_lengths(tracing, rows.dims[:-1])
    found = [func1d(rows[place], *args, **kwargs) for place in np.ndindex(*others)]
    made = tracing.symbol_of(found)
    whole = made.reshape(others + structure.public_lengths(made.dims[1:]))
    ends = range(whole.ndim - made.ndim + 1, whole.ndim)
    return tracing.rules.call(
        tracing, np.moveaxis, (whole, tuple(ends), _get_axis_letters(at, ends)), {}
    )


def _get_axis_letters(first: int, axes: range) -> tuple[int, ...]:
    return tuple(range(first, first + len(axes)))


def _to_symbol(tracing: SymbolTracing, val: Any) -> Any:
    return tracing.symbol_of(val)


def _is_real(tracing: SymbolTracing, x: Any) -> bool:
    return False


def _result_type(tracing: SymbolTracing, *arrays_and_dtypes: Any) -> Any:
    given = [one.dtype if isinstance(one, Symbol) else one for one in arrays_and_dtypes]
    return np.result_type(*given)


def _broadcast_arrays(tracing: SymbolTracing, *arrays: Any) -> Any:
    shapes = [tracing.symbol_of(one).dims for one in arrays]
    known = np.broadcast_shapes(*(structure.require_known_lengths(tracing, one) for one in shapes))
    return tuple(np.broadcast_to(tracing.symbol_of(one), known) for one in arrays)


RULES: dict[Any, Callable[..., Any]] = {
    np.histogram: _trace_histogram,
    np.histogramdd: _trace_histogramdd,
    np.histogram2d: _trace_histogram2d,
    np.bincount: _trace_bincount,
    np.digitize: _trace_digitize,
    np.searchsorted: _trace_searchsorted,
    np.isin: _trace_isin,
    np.isclose: _trace_isclose,
    np.allclose: _trace_allclose,
    np.diff: _trace_diff,
    np.ediff1d: _trace_ediff1d,
    np.trapezoid: _trace_trapezoid,
    np.average: _trace_average,
    np.cov: _trace_cov,
    np.corrcoef: _trace_corrcoef,
    np.polyval: _trace_polyval,
    np.select: _trace_select,
    np.nan_to_num: _nan_to_num,
    np.zeros_like: _make_filled_like_rule(0),
    np.ones_like: _make_filled_like_rule(1),
    np.empty_like: _make_filled_like_rule(0),
    np.full_like: _full_like,
    np.apply_along_axis: _apply_along_axis,
    np.shape: _trace_shape,
    np.ndim: _trace_ndim,
    np.size: _trace_size,
    np.copyto: _trace_copyto,
    np.fill_diagonal: _fill_diagonal,
    np.real: _to_symbol,
    np.iscomplexobj: _is_real,
    np.result_type: _result_type,
    np.broadcast_arrays: _broadcast_arrays,
}
