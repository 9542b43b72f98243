"""Records that a condition on records chooses: arrays whose length is not public.

``x[x > 0.5]`` is held as all of ``x`` and the condition. What is summed is 0 where the condition
does not hold, what is counted is the condition itself; what tells how many there are is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit.freezing import tracked_noise
from dpaudit.proving.program import Shape
from dpaudit.proving.symbols import structure
from dpaudit.proving.symbols.operators import apply_ufunc_rule
from dpaudit.proving.symbols.preconditions import emit_within
from dpaudit.proving.symbols.reductions import emit_where, sum_of
from dpaudit.proving.symbols.statistics import edges_of
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

_HOW_MANY = "the code reads the number of records that a condition on records chooses"
_WITH_ZEROS = "use numpy.where with the condition, and a value for the others"


class Subset(NDArrayOperatorsMixin, tracked_noise.Symbolic):
    """Entries for which a condition holds that records or noise decide.

    Parameters
    ----------
    values
        All entries, also those for which it does not hold.
    mask
        The condition; its axes are the first of the values, and one axis of the subset.
    is_shared
        Whether other arrays have its memory, so that nothing may be written into it.
    """

    __array_priority__ = 4000.0

    def __init__(self, values: Symbol, mask: Symbol, *, is_shared: bool = False) -> None:
        self.values, self.mask, self.is_shared = values, mask, is_shared

    @property
    def tracing(self) -> SymbolTracing:
        """The run."""
        return self.values.tracing

    @property
    def rest(self) -> Shape:
        """Lengths of the axes after the first."""
        return self.values.dims[self.mask.ndim :]

    @property
    def count(self) -> Symbol:
        """The number of members."""
        return self.tracing.symbol_of(sum_of(self.tracing, self.mask))

    @property
    def shape(self) -> Any:
        """Their number, and the lengths of the other axes."""
        return (self.count, *self.rest)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return 1 + len(self.rest)

    @property
    def size(self) -> Any:
        """Number of entries."""
        found: Any = self.count
        for one in self.rest:
            found = found * one
        return found

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of numpy."""
        return self.values.dtype

    @property
    def taint(self) -> int:
        """The sources that flow into the values."""
        return self.values.taint | self.mask.taint

    def refuse(self, reason: str, cure: str = _WITH_ZEROS) -> NoReturn:
        """Note a refusal, for good, and raise it."""
        self.tracing.refuse(reason, cure)

    def plain(self, reason: str) -> Any:
        """Refuse it, as its length is not public."""
        self.refuse(reason)

    def filled(self, value: Any) -> Symbol:
        """Return all entries, with a value for those for which the condition does not hold."""
        spread = self.mask[(..., *[None] * len(self.rest))]
        found = emit_where(self.tracing, spread, self.values, self.dtype.type(value))
        return self.tracing.symbol_of(found)

    # --- operations --------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply_subset_ufunc(self, ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return call_subset_function(self, function, args, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.refuse(
            "the code uses an array whose length depends on records as an array of plain numbers"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = _METHODS.get(name)
        if function is None:
            self.refuse(f"no rule covers .{name} of the records that a condition chooses")
        return partial(call_method, self, function)

    def astype(self, dtype: Any) -> Subset:
        """Return the entries as numbers of another type."""
        return Subset(structure.convert_symbol(self.values, np.dtype(dtype)), self.mask)

    def copy(self) -> Subset:
        """Return the same entries."""
        return Subset(self.values, self.mask)

    def __getitem__(self, key: Any) -> Subset:
        if isinstance(key, Subset):
            if key.mask.index != self.mask.index or key.dtype.kind != "b" or key.rest:
                self.refuse("the code chooses by a condition on other records")
            both = apply_ufunc_rule(self.tracing, np.logical_and, [self.mask, key.values])
            return Subset(self.values, both)
        items = key if isinstance(key, tuple) else (key,)
        if not isinstance(items[0], slice) or items[0] not in structure.WHOLE:
            self.refuse("the code takes records by position among those that a condition chooses")
        axes = (slice(None),) * self.mask.ndim
        # numpy returns a view here, so a later write into either would have to change both.
        self.is_shared = True
        values = structure.copy_symbol(self.values[(*axes, *items[1:])])
        return Subset(values, self.mask, is_shared=True)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.refuse("the code writes into the records that a condition chooses")

    def __len__(self) -> int:
        self.refuse(_HOW_MANY, "add noise to the number: numpy.sum of the condition")

    def __iter__(self) -> Any:
        self.refuse(_HOW_MANY, _WITH_ZEROS)

    def __bool__(self) -> bool:
        self.refuse("the code branches on records", _WITH_ZEROS)

    def __hash__(self) -> int:
        self.refuse("the code takes hash() of a value that depends on records")

    def __reduce__(self) -> Any:
        self.refuse("a value that depends on records leaves the process")

    def __repr__(self) -> str:
        return f"Subset(shape={('?', *self.rest)}, dtype={self.dtype})"


def choose_subset(symbol: Symbol, mask: Symbol) -> Subset:
    """Return the entries of a symbol for which a condition holds."""
    _check_mask(symbol, mask)
    return Subset(structure.copy_symbol(symbol), structure.copy_symbol(mask))


def _check_mask(symbol: Symbol, mask: Symbol) -> None:
    if not mask.dims or mask.dims != symbol.dims[: mask.ndim]:
        symbol.tracing.refuse(
            "a condition does not have the axes of the array from which it chooses"
        )


def write_chosen(symbol: Symbol, mask: Symbol, value: Any) -> None:
    """Write entries for which a condition holds."""
    _check_mask(symbol, mask)
    tracing = symbol.tracing
    if isinstance(value, Subset):
        if value.mask.index != mask.index or value.rest != symbol.dims[mask.ndim :]:
            value.refuse("the code writes the records that another condition chooses")
        given = value.values
    else:
        given = tracing.symbol_of(value)
        if given.ndim > symbol.ndim - mask.ndim and given.dims != (1,):
            tracing.refuse(
                "the code writes numbers one after another where a condition holds", _WITH_ZEROS
            )
    spread = mask[(..., *[None] * (symbol.ndim - mask.ndim))]
    node = structure.emit_convert(tracing, given.index, symbol.dtype)
    kept = Symbol.of_node(tracing, node, symbol.dtype)
    symbol[...] = emit_where(tracing, spread, kept, symbol)


def length_of(value: Symbol | Subset) -> Any:
    """Return how many records there are: a symbol, where that is not public.

    Examples
    --------
    >>> from dpaudit.proving.symbols.numpy_rules import NUMPY
    >>> x = SymbolTracing(NUMPY).add("data", [], (5,), "float64", part="")
    >>> length_of(x), length_of(x[x > 0]).is_private
    (5, True)
    """
    if isinstance(value, Subset):
        return value.count
    if not value.dims:
        raise TypeError("len() of unsized object")
    return value.shape[0]


# --- operators -------------------------------------------------------------------------------


def apply_subset_ufunc(
    subset: Subset, ufunc: Any, method: str, given: Sequence[Any], options: Any
) -> Any:
    """Return the result of a universal function on a subset and numbers for all its entries."""
    into = options.pop("out", (None,))[0]
    if method == "reduce" and ufunc in _REDUCED and isinstance(given[0], Subset):
        return call_subset_function(given[0], _REDUCED[ufunc], given, options)
    if method != "__call__" or options:
        subset.refuse(
            f"no rule covers numpy.{ufunc.__name__} of the records that a condition chooses"
        )
    found = Subset(apply_ufunc_rule(subset.tracing, ufunc, _all_values(subset, given)), subset.mask)
    if into is None:
        return found
    if not isinstance(into, Subset) or into.is_shared:
        subset.refuse("the code writes the records that a condition chooses into another array")
    into.values = structure.convert_symbol(found.values, into.dtype)
    return into


def _all_values(subset: Subset, given: Sequence[Any]) -> list[Any]:
    return [_value_of(subset, one) for one in given]


def _value_of(subset: Subset, one: Any) -> Any:
    """Return an operand that meets every entry, as one that meets all entries there are."""
    if isinstance(one, Subset):
        if one.mask.index != subset.mask.index:
            subset.refuse("the code computes with records that two conditions choose")
        return one.values
    if isinstance(one, bool | int | float):
        return one
    symbol = subset.tracing.symbol_of(one)
    if symbol.ndim > len(subset.rest):
        subset.refuse(
            "the code combines the records that a condition chooses with an array of another length"
        )
    return symbol


# --- functions -------------------------------------------------------------------------------


def call_method(subset: Subset, function: Any, *given: Any, **named: Any) -> Any:
    """Return the result of a method on a subset."""
    return call_subset_function(subset, function, (subset, *given), named)


def call_subset_function(
    subset: Subset, function: Any, args: Sequence[Any], named: dict[str, Any]
) -> Any:
    """Return the result of a function of numpy on a subset."""
    named = {key: one for key, one in named.items() if one is not None}
    if "out" in named:
        subset.refuse("the code writes the records that a condition chooses into another array")
    is_norm = function is _NORM  # whose second argument is no axis
    axis = named.get("axis", args[1] if len(args) > 1 and not is_norm else None)
    if function in _EACH:
        given = _all_values(subset, args)
        by_name = {key: _value_of(subset, one) for key, one in named.items()}
        found = subset.tracing.rules.call(subset.tracing, function, tuple(given), by_name)
        return Subset(found, subset.mask)
    if function in _ALONG and isinstance(axis, int) and axis % subset.ndim and args[0] is subset:
        return _apply_along_rows(subset, function, args, named, axis)
    rule = _RULES.get(function)
    if rule is None or args[0] is not subset:
        name = getattr(function, "__name__", "?")
        subset.refuse(f"no rule covers numpy.{name} of the records that a condition chooses")
    return rule(subset, *args[1:], **named)


def _apply_along_rows(
    subset: Subset, function: Any, args: Sequence[Any], named: Any, axis: int
) -> Subset:
    """Return the result of a function on each row by itself."""
    others = args[1:] if function is _NORM else args[2:]
    if (others and function is not _NORM) or named.keys() - {"axis", "ord"}:
        subset.refuse("no rule covers these arguments of a function of rows")
    at = axis % subset.ndim + subset.mask.ndim - 1
    tracing, by_name = subset.tracing, {**named, "axis": at}
    return Subset(
        tracing.rules.call(tracing, function, (subset.values, *others), by_name), subset.mask
    )


def _resolve_subset_axes(subset: Subset, axis: Any) -> Any:
    """Return the axes of all entries that one of a subset stands for."""
    if axis is None:
        return None
    if axis not in (0, -subset.ndim):
        subset.refuse(
            "no rule covers a reduction over several axes of the records that a condition chooses"
        )
    return tuple(range(subset.mask.ndim))


def _compute_subset_sum(subset: Subset, axis: Any = None) -> Any:
    return sum_of(subset.tracing, subset.filled(0), _resolve_subset_axes(subset, axis))


def _refuse_subset_mean(subset: Subset, axis: Any = None) -> Any:
    subset.refuse(
        "the code takes the mean of records that a condition chooses, whose number is not public",
        "divide a noisy sum by a noisy number",
    )


def _make_subset_extreme_rule(function: Any) -> Callable[..., Any]:
    def rule(subset: Subset, axis: Any = None, initial: Any = None) -> Any:
        # numpy raises for an empty selection, which would show that no record was chosen.
        if initial is None:
            subset.refuse(
                "the code takes an extreme of the records that a condition chooses, and it may "
                "choose none",
                "give initial=",
            )
        tracing = subset.tracing
        named = {"axis": _resolve_subset_axes(subset, axis), "initial": initial}
        return tracing.rules.call(tracing, function, (subset.filled(initial),), named)

    return rule


def _compute_subset_any(subset: Subset, axis: Any = None) -> Any:
    return _compute_subset_sum(subset.astype(bool), axis) > 0


def _compute_subset_all(subset: Subset, axis: Any = None) -> Any:
    truth = subset.astype(bool)
    lies = Subset(apply_ufunc_rule(subset.tracing, np.logical_not, [truth.values]), subset.mask)
    return _compute_subset_sum(lies, axis) <= 0


def _count_nonzero(subset: Subset, axis: Any = None) -> Any:
    return _compute_subset_sum(subset.astype(bool), axis)


def _compute_subset_histogram(subset: Subset, bins: Any = 10, range: Any = None) -> Any:
    edges = edges_of(subset.tracing, bins, range)
    # Rows that are not chosen lie beyond the last edge, where no bin counts them.
    beyond = float(edges[-1] + (edges[-1] - edges[0]) + 1)
    values = structure.convert_symbol(subset.values, np.dtype(np.float64))
    tracing = subset.tracing
    return tracing.rules.call(
        tracing, np.histogram, (Subset(values, subset.mask).filled(beyond), edges), {}
    )


def _compute_subset_bincount(subset: Subset, weights: Any = None, minlength: Any = 0) -> Any:
    if weights is not None or subset.rest:
        subset.refuse("no rule covers numpy.bincount of chosen records with weights")
    tracing = subset.tracing
    number = int(minlength)
    filled = Subset(structure.convert_symbol(subset.values, np.dtype(np.int64)), subset.mask)
    # A chosen number beyond the counts would make numpy return more of them: only entries that
    # are not chosen may fall into the count that is left out.
    inside = emit_within(tracing, filled.filled(0), 0, number - 1)
    counts = tracing.rules.call(
        tracing,
        np.bincount,
        (np.ravel(Subset(inside, subset.mask).filled(number)),),
        {"minlength": number + 1},
    )
    return counts[:number]


def _get_subset_shape(subset: Subset) -> Any:
    return subset.shape


def _get_subset_ndim(subset: Subset) -> int:
    return subset.ndim


def _get_subset_size(subset: Subset) -> Any:
    return subset.size


_NAMES = "sum mean max min any all"
_EACH = frozenset((np.clip, np.round, np.around, np.where, np.nan_to_num, np.isclose, np.isin))
_NORM = np.linalg.norm
_ALONG = frozenset((np.sum, np.mean, np.max, np.min, np.linalg.norm, np.argmax, np.argmin))
_REDUCED = {
    np.add: np.sum,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
_RULES: dict[Any, Callable[..., Any]] = {
    np.sum: _compute_subset_sum,
    np.nansum: _compute_subset_sum,
    np.mean: _refuse_subset_mean,
    np.average: _refuse_subset_mean,
    np.max: _make_subset_extreme_rule(np.max),
    np.min: _make_subset_extreme_rule(np.min),
    np.any: _compute_subset_any,
    np.all: _compute_subset_all,
    np.count_nonzero: _count_nonzero,
    np.histogram: _compute_subset_histogram,
    np.bincount: _compute_subset_bincount,
    np.shape: _get_subset_shape,
    np.ndim: _get_subset_ndim,
    np.size: _get_subset_size,
}
_METHODS = {name: getattr(np, name) for name in f"{_NAMES} clip round".split()}
