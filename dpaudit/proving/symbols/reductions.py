"""Sums, means, extremes and orders along axes of symbols."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.operators import apply_ufunc_rule, broadcast_symbol_shapes
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_DOUBLE = np.dtype(np.float64)
_MISSING: Any = object()


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the numbers of axes, from 0 on; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    for one in given:
        if not -ndim <= one < ndim:
            raise np.exceptions.AxisError(int(one), ndim)
    return tuple(int(one) % ndim for one in given)


def emit_reduction(
    tracing: SymbolTracing,
    operation: str,
    symbol: Symbol,
    axis: Any,
    dtype: Any,
    *,
    keepdims: Any = False,
    **parameters: Any,
) -> Symbol:
    """Write an operation that takes axes away."""
    axes = axes_of(axis, symbol.ndim)
    if keepdims not in (True, False):
        tracing.refuse("is given keepdims= that is neither true nor false")
    dims = tuple(n for at, n in enumerate(symbol.dims) if at not in axes)
    given: Any = list(axes) if len(axes) > 1 else (axes[0] if axes else None)
    along = None if len(axes) == symbol.ndim else given
    node = tracing.node(
        operation, (symbol.index,), dims, np.dtype(dtype), {"axis": along, **parameters}
    )
    if keepdims:
        kept = tuple(1 if at in axes else n for at, n in enumerate(symbol.dims))
        node = structure.emit_reshape(tracing, node, kept)
    return Symbol.of_node(tracing, node)


@lru_cache(maxsize=256)
def _sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.asarray(np.sum(np.zeros(1, dtype=dtype))).dtype


@lru_cache(maxsize=256)
def _mean_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(type(np.mean(np.zeros(1, dtype=dtype))))


def only_where(tracing: SymbolTracing, symbol: Symbol, where: Any, otherwise: Any) -> Symbol:
    """Return entries with a number in place of those that a condition leaves out."""
    if where is True or where is np._NoValue:
        return symbol
    kept = np.where(where, symbol, symbol.dtype.type(otherwise))
    return tracing.symbol_of(kept)


def _get_given_value(value: Any, default: Any) -> Any:
    return default if value is None or value is np._NoValue else value


def _make_summing_rule(operation: str, neutral: int, ufunc: Any) -> Callable[..., Any]:
    def rule(
        tracing: SymbolTracing,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        symbol = only_where(tracing, tracing.symbol_of(a), where, neutral)
        kind = _sum_type(symbol.dtype) if dtype is None else np.dtype(dtype)
        if dtype is not None and kind != symbol.dtype:
            symbol = structure.convert_symbol(symbol, kind)
        found = emit_reduction(
            tracing, operation, symbol, axis, kind, keepdims=_get_given_value(keepdims, False)
        )
        start = _get_given_value(initial, neutral)
        return found if start is neutral else apply_ufunc_rule(tracing, ufunc, [found, start])

    return rule


sum_of = _make_summing_rule("sum", 0, np.add)


def mean_of(
    tracing: SymbolTracing, a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False
) -> Symbol:
    """Write a mean."""
    symbol = tracing.symbol_of(a)
    if dtype is not None:
        symbol = structure.convert_symbol(symbol, np.dtype(dtype))
    kind = _mean_type(symbol.dtype)
    return emit_reduction(
        tracing, "mean", symbol, axis, kind, keepdims=_get_given_value(keepdims, False)
    )


def _make_extreme_rule(operation: str, ufunc: Any) -> Callable[..., Any]:
    def rule(
        tracing: SymbolTracing,
        a: Any,
        axis: Any = None,
        *,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        symbol, start = tracing.symbol_of(a), _get_given_value(initial, None)
        if where is not True and start is None:
            raise ValueError(
                "reduction operation does not have an identity: initial has to be given"
            )
        symbol = only_where(tracing, symbol, where, start)
        _require_entries(tracing, symbol, axis, operation)
        found = emit_reduction(
            tracing,
            operation,
            symbol,
            axis,
            symbol.dtype,
            keepdims=_get_given_value(keepdims, False),
        )
        return found if start is None else apply_ufunc_rule(tracing, ufunc, [found, start])

    return rule


max_of = _make_extreme_rule("max", np.maximum)
min_of = _make_extreme_rule("min", np.minimum)


def _require_entries(tracing: SymbolTracing, symbol: Symbol, axis: Any, operation: str) -> None:
    if any(symbol.dims[one] == 0 for one in axes_of(axis, symbol.ndim)):
        raise ValueError(f"zero-size array to reduction operation {operation}")


def _place_of_extreme(operation: str) -> Callable[..., Any]:
    def rule(tracing: SymbolTracing, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        symbol, kind = tracing.symbol_of(a), np.dtype(np.intp)
        _require_entries(tracing, symbol, axis, operation)
        return emit_reduction(
            tracing, operation, symbol, axis, kind, keepdims=_get_given_value(keepdims, False)
        )

    return rule


def _trace_ptp(tracing: SymbolTracing, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    top = max_of(tracing, a, axis, keepdims=keepdims)
    return top - min_of(tracing, a, axis, keepdims=keepdims)


def truth_of(tracing: SymbolTracing, value: Any) -> Symbol:
    """Return which entries are not 0."""
    symbol = tracing.symbol_of(value)
    if symbol.dtype.kind == "b":
        return symbol
    return structure.convert_symbol(symbol, np.dtype(np.bool_))


def _trace_any(
    tracing: SymbolTracing, a: Any, axis: Any = None, *, keepdims: Any = False, where: Any = True
) -> Any:
    truth = truth_of(tracing, a)
    return sum_of(tracing, truth, axis, keepdims=keepdims, where=where) > 0


def all_of(
    tracing: SymbolTracing, a: Any, axis: Any = None, *, keepdims: Any = False, where: Any = True
) -> Any:
    """Write whether entries are all true."""
    lies = apply_ufunc_rule(tracing, np.logical_not, [truth_of(tracing, a)])
    return sum_of(tracing, lies, axis, keepdims=keepdims, where=where) <= 0


def _count_nonzero(
    tracing: SymbolTracing, a: Any, axis: Any = None, *, keepdims: Any = False
) -> Any:
    return sum_of(tracing, truth_of(tracing, a), axis, keepdims=keepdims)


def _trace_median(
    tracing: SymbolTracing,
    a: Any,
    axis: Any = None,
    *,
    overwrite_input: bool = False,
    keepdims: Any = False,
) -> Any:
    if overwrite_input:
        tracing.refuse("no rule covers numpy.median with overwrite_input=True")
    symbol = tracing.symbol_of(a)
    kind = _mean_type(symbol.dtype)
    return emit_reduction(
        tracing, "median", symbol, axis, kind, keepdims=_get_given_value(keepdims, False)
    )


def _trace_quantile(
    tracing: SymbolTracing,
    a: Any,
    q: Any,
    axis: Any = None,
    *,
    method: str = "linear",
    keepdims: Any = False,
) -> Any:
    levels = np.asarray(
        tracing.symbol_of(q).plain("the level of a quantile depends on records or noise")
    )
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError("Quantiles must be in the range [0, 1]")
    symbol = tracing.symbol_of(a)
    probe = np.quantile(np.zeros(1, symbol.dtype), 0.5, method=method)  # type: ignore[call-overload]
    given = {"keepdims": _get_given_value(keepdims, False), "method": method}

    def one(level: float) -> Symbol:
        return emit_reduction(tracing, "quantile", symbol, axis, probe.dtype, q=level, **given)

    if not levels.ndim:
        return one(float(levels))
    found = np.stack([one(float(level)) for level in levels.ravel()])
    return np.reshape(found, levels.shape + found.shape[1:])


def _trace_percentile(
    tracing: SymbolTracing, a: Any, q: Any, axis: Any = None, **named: Any
) -> Any:
    levels = np.asarray(
        tracing.symbol_of(q).plain("the level of a percentile depends on records or noise")
    )
    return _trace_quantile(tracing, a, np.true_divide(levels, 100), axis, **named)


def get_ravelled_shape(symbol: Symbol) -> Shape:
    """Return the shape of all entries in a row."""
    if None not in symbol.dims:
        return (int(np.prod(structure.public_lengths(symbol.dims), dtype=np.int64)),)
    if len(symbol.dims) - symbol.dims.count(1) > 1:
        symbol.tracing.refuse(*structure.BY_PLACE)
    return (None,)


def _along_one(
    tracing: SymbolTracing, symbol: Symbol, axis: Any, operation: str, dtype: np.dtype[Any]
) -> Symbol:
    """Write an operation that keeps an axis and changes the entries along it."""
    if axis is None:
        symbol, axis = structure.reshape_symbol(symbol, get_ravelled_shape(symbol)), 0
    at = axes_of(int(axis), symbol.ndim)[0]
    node = tracing.node(operation, (symbol.index,), symbol.dims, dtype, {"axis": at})
    return Symbol.of_node(tracing, node, is_ordered=structure.is_ordered(symbol))


def _trace_cumsum(tracing: SymbolTracing, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    symbol = tracing.symbol_of(a)
    kind = _sum_type(symbol.dtype) if dtype is None else np.dtype(dtype)
    return _along_one(tracing, structure.convert_symbol(symbol, kind), axis, "cumsum", kind)


def emit_sort(
    tracing: SymbolTracing, a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None
) -> Any:
    """Write a sort along an axis."""
    symbol = tracing.symbol_of(a)
    return _along_one(tracing, symbol, axis, "sort", symbol.dtype)


def emit_where(tracing: SymbolTracing, condition: Any, *branches: Any) -> Any:
    """Write a choice of two values, entry by entry."""
    if len(branches) != 2:
        tracing.refuse("positions depend on records or noise", "give numpy.where two values")
    truth = truth_of(tracing, condition)
    kind = np.result_type(*map(_get_promotion_type, branches))
    nodes, dims, ordered = [truth.index], [truth.dims], structure.is_ordered(truth)
    for one in branches:
        symbol = one if isinstance(one, Symbol) else tracing.symbol_of(_of_type(one, kind))
        nodes.append(structure.emit_convert(tracing, symbol.index, kind))
        dims.append(symbol.dims)
        ordered = ordered and structure.is_ordered(symbol)
    node = tracing.node("where", nodes, _shape_of(tracing, dims), kind, {})
    return Symbol.of_node(tracing, node, kind, is_array=True, is_ordered=ordered)


def _shape_of(tracing: SymbolTracing, dims: list[Shape]) -> Shape:
    return broadcast_symbol_shapes(tracing, dims)


def _get_promotion_type(value: Any) -> Any:
    if isinstance(value, Symbol):
        return value.dtype.type(0).item() if value.is_weak else value.dtype
    if type(value) in (bool, int, float):
        return value
    return np.asarray(value).dtype if not isinstance(value, list | tuple) else np.dtype(float)


def _of_type(value: Any, kind: np.dtype[Any]) -> Any:
    return np.asarray(value, dtype=kind) if type(value) in (bool, int, float) else value


def emit_clip(
    tracing: SymbolTracing,
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
) -> Any:
    """Write a clip by value."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    found = tracing.symbol_of(a)
    if low is not None:
        found = apply_ufunc_rule(tracing, np.maximum, [found, low])
    if high is not None:
        found = apply_ufunc_rule(tracing, np.minimum, [found, high])
    found = structure.copy_symbol(found) if low is None and high is None else found
    return found if dtype is None else structure.convert_symbol(found, np.dtype(dtype))


def _trace_var(
    tracing: SymbolTracing,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    *,
    keepdims: Any = False,
    correction: Any = None,
) -> Any:
    symbol, less = tracing.symbol_of(a), ddof if correction is None else correction
    if dtype is not None:
        symbol = structure.convert_symbol(symbol, np.dtype(dtype))
    apart = symbol - mean_of(tracing, symbol, axis, keepdims=True)
    squares = apply_ufunc_rule(tracing, np.multiply, [apart, apart])
    if isinstance(less, int | float) and less == 0:
        return mean_of(tracing, squares, axis, keepdims=keepdims)
    count: Any = 1
    for one in axes_of(axis, symbol.ndim):
        count = count * symbol.shape[one]
    return sum_of(tracing, squares, axis, keepdims=keepdims) / (count - less)


def _trace_std(tracing: SymbolTracing, a: Any, *given: Any, **named: Any) -> Any:
    return np.sqrt(_trace_var(tracing, a, *given, **named))


def round_to(tracing: SymbolTracing, a: Any, decimals: int = 0) -> Any:
    """Write a rounding to so many decimals."""
    symbol = tracing.symbol_of(a)
    if symbol.dtype.kind == "b":
        return structure.convert_symbol(symbol, np.dtype(np.float16))
    if symbol.dtype.kind != "f":
        if decimals < 0:
            tracing.refuse("no rule covers numpy.round of whole numbers to fewer digits")
        return structure.copy_symbol(symbol)
    if decimals == 0:
        return np.rint(symbol)
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return np.rint(symbol * factor) / factor
    return np.rint(symbol / factor) * factor


RULES: dict[Any, Callable[..., Any]] = {
    np.sum: sum_of,
    np.nansum: sum_of,
    np.prod: _make_summing_rule("prod", 1, np.multiply),
    np.mean: mean_of,
    np.nanmean: mean_of,
    np.max: max_of,
    np.nanmax: max_of,
    np.min: min_of,
    np.nanmin: min_of,
    np.argmax: _place_of_extreme("argmax"),
    np.argmin: _place_of_extreme("argmin"),
    np.ptp: _trace_ptp,
    np.any: _trace_any,
    np.all: all_of,
    np.count_nonzero: _count_nonzero,
    np.median: _trace_median,
    np.nanmedian: _trace_median,
    np.quantile: _trace_quantile,
    np.nanquantile: _trace_quantile,
    np.percentile: _trace_percentile,
    np.nanpercentile: _trace_percentile,
    np.cumsum: _trace_cumsum,
    np.sort: emit_sort,
    np.where: emit_where,
    np.clip: emit_clip,
    np.var: _trace_var,
    np.nanvar: _trace_var,
    np.std: _trace_std,
    np.nanstd: _trace_std,
    np.round: round_to,
    np.around: round_to,
}
