"""Functions of numpy on bounded arrays: a rule for each, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.tracing import arithmetic, rows
from dpaudit.tracing.bounded_arrays import BoundedArray, BoundedReading, as_spread
from dpaudit.tracing.spread import (
    Spread,
    make_constant_spread,
    make_history_spread,
    spread_of_pair,
    spread_out,
)

Rule = Callable[..., Spread | None]

# Of noisy values alone any function is another noisy value, where its shape follows from theirs.
_OF_HISTORY = frozenset(
    {
        np.argmax, np.argmin, np.argsort, np.cumsum, np.diff, np.linalg.cond, np.linalg.det,
        np.linalg.eigh, np.linalg.inv, np.linalg.lstsq, np.linalg.norm, np.linalg.qr,
        np.linalg.solve, np.linalg.svd, np.max, np.mean, np.median, np.min, np.outer, np.prod,
        np.quantile, np.round, np.sort, np.std, np.sum, np.trace, np.var, np.dot, np.isfinite,
        np.isnan, np.any, np.all, np.array_equal, np.allclose, np.nan_to_num, np.searchsorted,
    }
)  # fmt: skip


def call(reading: BoundedReading, function: Any, given: Any, named: Any) -> Any:
    """Return a function of numpy of bounded arrays, and of others."""
    rule = _RULES.get(function)
    spreads = [one for one in _find_bounded_arrays((*given, *named.values()))]
    if not all(one.spread.both is not None for one in spreads) and rule is not None:
        made = (
            rule(reading, *given, **named) if _is_rule_for_arguments(rule, given, named) else None
        )
        if made is not None:
            return BoundedArray(reading, made)
    if all(one.spread.both is not None for one in spreads):
        found = _on_either_side(reading, function, given, named)
        if function is np.transpose and isinstance(given[0], BoundedArray):
            return BoundedArray(reading, replace(found.spread, transposed=given[0].spread))
        return found
    if function in _OF_HISTORY and all(one.spread.is_public for one in spreads):
        return _of_history(reading, function, given, named)
    raise reading.refuse(f"no rule for {function.__name__} of data and noisy values")


def _is_rule_for_arguments(rule: Rule, given: Any, named: Any) -> bool:
    """Return whether a rule covers arguments of these names and numbers."""
    try:
        # A rule that has no parameter for an argument does not cover it: ``out`` or ``where``, say,
        # would be ignored.
        signature(rule).bind(None, *given, **named)
    except TypeError:
        return False
    return True


def _find_bounded_arrays(given: Any) -> list[BoundedArray]:
    found = list[BoundedArray]()
    for one in given:
        if isinstance(one, BoundedArray):
            found.append(one)
        elif isinstance(one, list | tuple):
            found += _find_bounded_arrays(one)
    return found


def _replace_bounded_arrays(value: Any, pick: Callable[[BoundedArray], Any]) -> Any:
    """Return arguments with each bounded array replaced by an array."""
    if isinstance(value, BoundedArray):
        return pick(value)
    if isinstance(value, list | tuple):
        return type(value)(_replace_bounded_arrays(one, pick) for one in value)
    return value


def _call_on_plain_arrays(
    function: Any, given: Any, named: Any, pick: Callable[[BoundedArray], Any]
) -> Any:
    with np.errstate(all="ignore"):
        return function(
            *(_replace_bounded_arrays(one, pick) for one in given),
            **{name: _replace_bounded_arrays(one, pick) for name, one in named.items()},
        )


def _on_either_side(reading: BoundedReading, function: Any, given: Any, named: Any) -> Any:
    """Return a function of values that no history enters, computed on either side."""
    one = _call_on_plain_arrays(function, given, named, lambda array: _get_array_side(array, 0))
    other = _call_on_plain_arrays(function, given, named, lambda array: _get_array_side(array, 1))
    return _pair_side_results(reading, one, other)


def _get_array_side(array: BoundedArray, number: int) -> Array:
    both = array.spread.both
    assert both is not None
    return both[number]


def _pair_side_results(reading: BoundedReading, one: Any, other: Any) -> Any:
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            raise reading.refuse("a length depends on the data")
        return tuple(_pair_side_results(reading, *both) for both in zip(one, other, strict=True))
    if np.shape(one) != np.shape(other):
        raise reading.refuse("a shape depends on the data")
    return BoundedArray(reading, spread_of_pair(one, other))


def _of_history(reading: BoundedReading, function: Any, given: Any, named: Any) -> Any:
    found = _call_on_plain_arrays(function, given, named, lambda array: array.spread.sample)
    if isinstance(found, tuple | list):
        return tuple(BoundedArray(reading, make_history_spread(one)) for one in found)
    return BoundedArray(reading, make_history_spread(found))


# Sums


def _apply_sum_rule(
    reading: BoundedReading, value: Any, axis: Any = None, keepdims: bool = False
) -> Spread | None:
    given = as_spread(reading, value)
    sample = np.sum(given.sample, axis=axis, keepdims=keepdims)
    if given.is_public:
        return make_history_spread(sample)
    axes = _resolve_axes(axis, given)
    if axes == frozenset(range(given.sample.ndim)):
        made = rows.sum_all(given, np.asarray(np.sum(given.sample)))
        return _mark_sum_of_squares(
            replace(made, sample=sample) if keepdims else made, given, "all"
        )
    if axes == frozenset({0}):
        return rows.sum_rows(given, sample) if not keepdims else None
    if 0 not in axes:
        return _mark_sum_of_squares(
            rows.sum_within_rows(given, sample), given, "rows", _is_all_but_first_axis(axes, given)
        )
    return None


def _mark_sum_of_squares(made: Spread, given: Spread, summed: Any, of_rows: bool = True) -> Spread:
    """Return a sum of squares that remembers the squared values."""
    if given.squares is None or given.squares.summed != "none" or not of_rows:
        return made
    return replace(made, squares=given.squares._replace(summed=summed), low=0.0)


def _is_all_but_first_axis(axes: frozenset[int], given: Spread) -> bool:
    """Return whether these are all axes but the first."""
    return axes == frozenset(range(1, given.sample.ndim))


def _resolve_axes(axis: Any, given: Spread) -> frozenset[int]:
    count = given.sample.ndim
    if axis is None:
        return frozenset(range(count))
    return frozenset(one % count for one in (axis if isinstance(axis, tuple) else (axis,)))


def _apply_mean_rule(
    reading: BoundedReading, value: Any, axis: Any = None, keepdims: bool = False
) -> Spread | None:
    total = _apply_sum_rule(reading, value, axis, keepdims)
    if total is None:
        return None
    given = as_spread(reading, value)
    count = given.sample.size // max(total.sample.size, 1)
    return arithmetic.scale_spread(total, np.array(1.0 / count), np.asarray(total.sample / count))


def _apply_norm_rule(
    reading: BoundedReading, value: Any, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Spread | None:
    given = as_spread(reading, value)
    if given.is_public or ord not in (None, 2):
        return None
    sample = np.linalg.norm(given.sample, ord, axis, keepdims)
    whole = axis is None or given.sample.ndim == 1
    if ord == 2 and len(_resolve_axes(axis, given)) > 1:
        return None  # the spectral norm
    if whole:
        return rows.whole_norm(given, np.asarray(sample)) if np.ndim(sample) == 0 else None
    if _is_all_but_first_axis(_resolve_axes(axis, given), given):
        return rows.row_norms(given, sample)
    return None


# Cuts and choices


def _apply_clip_rule(
    reading: BoundedReading, value: Any, low: Any = None, high: Any = None, **named: Any
) -> Spread | None:
    low, high = named.pop("a_min", low), named.pop("a_max", high)
    low, high = named.pop("min", low), named.pop("max", high)
    if named or not all(one is None or _is_number(reading, one) for one in (low, high)):
        return None
    made = as_spread(reading, value)
    if low is not None:
        end = float(as_spread(reading, low).sample)
        made = arithmetic.apply_spread_maximum(made, end, np.maximum(made.sample, end))
    if high is not None:
        end = float(as_spread(reading, high).sample)
        made = arithmetic.apply_spread_minimum(made, end, np.minimum(made.sample, end))
    # What is cut on both sides is no quotient or multiple of norms any more.
    return replace(made, over=None)


def _is_number(reading: BoundedReading, value: Any) -> bool:
    found = as_spread(reading, value).constant
    return found is not None and found.size == 1


def _apply_where_rule(reading: BoundedReading, chosen: Any, one: Any, other: Any) -> Spread | None:
    which = as_spread(reading, chosen).constant
    if which is None:
        return None
    a, b = as_spread(reading, one), as_spread(reading, other)
    # A choice by a public mask is a sum of two products with 0 and 1, for which there are rules.
    mask = which.astype(float)
    sample = np.where(which, a.sample, b.sample)
    chosen_one = arithmetic.scale_spread(a, mask, sample)
    return arithmetic.add_spreads(
        chosen_one, arithmetic.scale_spread(b, 1 - mask, sample), 1.0, sample
    )


# Shapes


def _apply_transpose_rule(reading: BoundedReading, value: Any, axes: Any = None) -> Spread | None:
    given = as_spread(reading, value)
    if axes is not None:
        return None
    return rows.transpose_spread(given, np.transpose(given.sample))


def _apply_reshape_rule(
    reading: BoundedReading, value: Any, *shape: Any, order: str = "C", **named: Any
) -> Spread | None:
    given = as_spread(reading, value)
    wanted = named.get("newshape", named.get("shape", shape[0] if len(shape) == 1 else shape))
    sample = np.reshape(given.sample, wanted)
    if order != "C":
        return None
    return _same_entries(given, sample)


def _apply_ravel_rule(reading: BoundedReading, value: Any, order: str = "C") -> Spread | None:
    given = as_spread(reading, value)
    return None if order != "C" else _same_entries(given, np.ravel(given.sample))


def _apply_squeeze_rule(reading: BoundedReading, value: Any, axis: Any = None) -> Spread | None:
    given = as_spread(reading, value)
    return _same_entries(given, np.squeeze(given.sample, axis))


def _same_entries(given: Spread, sample: Array) -> Spread:
    """Return the same entries in the same order: rows stay rows where the first axis stays."""
    if sample.ndim and given.sample.ndim and sample.shape[0] == given.shape[0]:
        return replace(
            given,
            sample=sample,
            shift=None if given.shift is None else given.shift.reshape(sample.shape),
            transposed=None,
            squares=None,
        )
    return rows.select_spread_entries(given, lambda array: array.reshape(sample.shape), sample)


def _make_join_rule(*, stacked: bool) -> Rule:
    def rule(reading: BoundedReading, values: Any, axis: Any = 0) -> Spread | None:
        if axis != 0:
            return None
        given = [as_spread(reading, one) for one in values]
        join = np.stack if stacked else np.concatenate
        return rows.join_spreads(given, join([one.sample for one in given]), stacked=stacked)

    return rule


def _apply_vstack_rule(reading: BoundedReading, values: Any) -> Spread | None:
    given = [as_spread(reading, one) for one in values]
    if any(one.sample.ndim != 1 for one in given):
        return _make_join_rule(stacked=False)(reading, values)
    return _make_join_rule(stacked=True)(reading, values)


def _apply_append_rule(
    reading: BoundedReading, one: Any, other: Any, axis: Any = None
) -> Spread | None:
    parts = [as_spread(reading, part) for part in (one, other)]
    if any(part.sample.ndim > 1 for part in parts):
        return None
    flat = [rows.select_spread_entries(part, np.ravel, np.ravel(part.sample)) for part in parts]
    return rows.join_spreads(flat, np.concatenate([part.sample for part in flat]), stacked=False)


def _apply_dot_rule(reading: BoundedReading, one: Any, other: Any) -> Spread | None:
    a, b = as_spread(reading, one), as_spread(reading, other)
    if a.sample.ndim == 0 or b.sample.ndim == 0:
        return arithmetic.multiply_spreads(a, b, np.multiply(a.sample, b.sample))
    found: Any = BoundedArray(reading, a) @ BoundedArray(reading, b)
    return as_spread(reading, found)


def _zeros_like(reading: BoundedReading, value: Any, **named: Any) -> Spread:
    return make_constant_spread(np.zeros_like(as_spread(reading, value).sample, **named))


def _ones_like(reading: BoundedReading, value: Any, **named: Any) -> Spread:
    return make_constant_spread(np.ones_like(as_spread(reading, value).sample, **named))


def _apply_copy_rule(reading: BoundedReading, value: Any, **_: Any) -> Spread:
    return as_spread(reading, value)


_RULES: dict[Any, Rule] = {
    np.sum: _apply_sum_rule,
    np.mean: _apply_mean_rule,
    np.average: _apply_mean_rule,
    np.linalg.norm: _apply_norm_rule,
    np.clip: _apply_clip_rule,
    np.where: _apply_where_rule,
    np.transpose: _apply_transpose_rule,
    np.reshape: _apply_reshape_rule,
    np.ravel: _apply_ravel_rule,
    np.squeeze: _apply_squeeze_rule,
    np.stack: _make_join_rule(stacked=True),
    np.concatenate: _make_join_rule(stacked=False),
    np.vstack: _apply_vstack_rule,
    np.append: _apply_append_rule,
    np.dot: _apply_dot_rule,
    np.zeros_like: _zeros_like,
    np.ones_like: _ones_like,
    np.copy: _apply_copy_rule,
}

# Parts of arrays


def take(reading: BoundedReading, array: BoundedArray, key: Any) -> BoundedArray:
    """Return a part of an array by a key that is public."""
    key = _public_key(reading, key)
    given = array.spread
    sample = np.asarray(given.sample[key])
    if given.both is not None:
        return BoundedArray(reading, spread_of_pair(*(one[key] for one in given.both)), array)
    if given.is_public:
        return BoundedArray(reading, make_history_spread(sample, given.low, given.high), array)
    return BoundedArray(reading, _select_spread_part(given, key, sample), array)


def _select_spread_part(given: Spread, key: Any, sample: Array) -> Spread:
    if isinstance(key, int | np.integer):
        return rows.take_row(given, int(key), sample)
    if isinstance(key, np.ndarray):
        chosen = np.flatnonzero(key) if key.dtype == bool and key.ndim == 1 else key
        if chosen.ndim == 1 and chosen.dtype.kind in "iu":
            return rows.take_rows(given, np.asarray(chosen % given.shape[0]), sample)
    if _adds_axes(key) and sample.size == given.sample.size and sample.shape[:1] == given.shape[:1]:
        return replace(
            given,
            sample=sample,
            shift=None if given.shift is None else given.shift[key],
            transposed=None,
            squares=None,
        )
    return rows.select_spread_entries(given, lambda one: one[key], sample)


def _adds_axes(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return all(one is None or one is Ellipsis or one == slice(None) for one in parts)


def _public_key(reading: BoundedReading, key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_public_key(reading, one) for one in key)
    if isinstance(key, list):
        return np.asarray([_public_key(reading, one) for one in key])
    if isinstance(key, BoundedArray):
        found = key.spread.constant
        if found is None:
            raise reading.refuse("the choice of entries depends on data or noisy values")
        return found if found.ndim else found[()]
    return key


def put(reading: BoundedReading, array: BoundedArray, key: Any, value: Any) -> None:
    """Write into a part of an array: a row of it, or all of it."""
    key = _public_key(reading, key)
    old, new = array.spread, as_spread(reading, value)
    # Both are known on either side: writing into copies of the sides is exact, for any key.
    if old.both is not None and new.both is not None:
        sides = [one.copy() for one in old.both]
        for side, one in zip(sides, new.both, strict=True):
            side[key] = one
        array.overwrite(spread_of_pair(*sides))
        return
    array.overwrite(_overwrite_spread_row(reading, old, key, new))


def _overwrite_spread_row(reading: BoundedReading, old: Spread, key: Any, new: Spread) -> Spread:
    sample = old.sample.astype(float)
    sample[key] = new.sample
    if old.is_public and new.is_public:
        return make_history_spread(sample)
    if not isinstance(key, int | np.integer) or old.sample.ndim == 0:
        raise reading.refuse("no rule for writing into this part of an array")
    at = int(key) % old.shape[0]
    parts = [rows.take_row(old, n, np.asarray(old.sample[n])) for n in range(old.shape[0])]
    parts[at] = spread_out(new, np.shape(sample[at]))
    return rows.join_spreads(parts, sample, stacked=True)
