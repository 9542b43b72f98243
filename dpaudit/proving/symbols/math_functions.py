"""Functions of `math` and `statistics`, of symbols."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from dpaudit.proving.symbols.conversions import (
    DOUBLE,
    TRUTH,
    WHOLE,
    add_up,
    as_number,
    count_entries,
    is_symbolic,
    number_of,
    to_float,
    to_list_or_symbol,
    tracing_of,
)
from dpaudit.proving.symbols.preconditions import require_sign


def _make_elementwise(function: Any) -> Callable[..., Any]:
    """Return a function of numbers as numpy's, which gives numbers of Python's."""

    def apply(*given: Any) -> Any:
        return as_number(
            function(*(number_of(one) if is_symbolic(one) else one for one in given)), DOUBLE
        )

    return apply


def _make_whole_function(function: Any) -> Callable[[Any], Any]:
    return lambda value: as_number(function(number_of(value)), WHOLE)


def _compute_log(value: Any, base: Any = None) -> Any:
    of_value = np.log(number_of(value)) if is_symbolic(value) else math.log(value)
    if base is None:
        return as_number(of_value, DOUBLE)
    return of_value / (np.log(number_of(base)) if is_symbolic(base) else math.log(base))


def _compute_hypot(*values: Any) -> Any:
    return as_number(
        np.sqrt(reduce(lambda one, other: one + other, (one * one for one in values))), DOUBLE
    )


def _compute_copysign(value: Any, sign: Any) -> Any:
    # Of a plain number the sign of -0.0 is known.
    is_negative = (
        require_sign(number_of(sign)) < 0
        if is_symbolic(sign)
        else np.asarray(math.copysign(1.0, sign) < 0)
    )
    return as_number(np.where(is_negative, -abs(value), abs(value)), DOUBLE)


def _compute_euclidean_distance(one: Any, other: Any) -> Any:
    return _compute_hypot(*(a - b for a, b in zip(one, other, strict=True)))


def _compute_product(values: Any, *, start: Any = 1) -> Any:
    return reduce(lambda one, other: one * other, to_list_or_symbol(values), start)


def _apply_isfinite(value: Any) -> Any:
    return as_number(np.isfinite(number_of(value)), TRUTH)


def _make_refusing_function(name: str) -> Callable[..., Any]:
    def refuse(*given: Any, **named: Any) -> Any:
        values = [one for one in (*given, *named.values()) if is_symbolic(one)]
        tracing_of(values).refuse(
            f"no rule covers math.{name} of a value that depends on records or noise"
        )

    return refuse


_FOLLOWED: dict[str, Callable[..., Any]] = {
    **{
        name: _make_elementwise(getattr(np, name))
        for name in "sqrt exp expm1 log1p sin cos tan tanh fmod".split()
    },
    "atan": _make_elementwise(np.arctan),
    "fabs": _make_elementwise(np.absolute),
    "pow": _make_elementwise(np.power),
    "log2": lambda value: _compute_log(value) / math.log(2),
    "log10": lambda value: _compute_log(value) / math.log(10),
    "log": _compute_log,
    "floor": _make_whole_function(np.floor),
    "ceil": _make_whole_function(np.ceil),
    "trunc": _make_whole_function(np.trunc),
    "hypot": _compute_hypot,
    "copysign": _compute_copysign,
    "dist": _compute_euclidean_distance,
    "prod": _compute_product,
    "fsum": add_up,
    "isfinite": _apply_isfinite,
    "radians": lambda value: to_float(value) * (math.pi / 180),
    "degrees": lambda value: to_float(value) * (180 / math.pi),
}
OF_MATH: dict[str, Callable[..., Any]] = {
    name: _FOLLOWED.get(name, _make_refusing_function(name))
    for name, one in vars(math).items()
    if callable(one) and not name.startswith("_")
}


def _compute_mean(values: Any) -> Any:
    given = to_list_or_symbol(values)
    return add_up(given) / count_entries(given)


def _compute_median(values: Any) -> Any:
    given = to_list_or_symbol(values)
    return np.median(tracing_of(given).symbol_of(given))


def _make_spread_function(function: Any, freedom: int) -> Callable[..., Any]:
    def of_values(values: Any) -> Any:
        given = to_list_or_symbol(values)
        return function(tracing_of(given).symbol_of(given), ddof=freedom)

    return of_values


OF_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": _compute_mean,
    "fmean": _compute_mean,
    "median": _compute_median,
    "pvariance": _make_spread_function(np.var, 0),
    "variance": _make_spread_function(np.var, 1),
    "pstdev": _make_spread_function(np.std, 0),
    "stdev": _make_spread_function(np.std, 1),
}
