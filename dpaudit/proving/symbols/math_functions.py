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
    listed,
    number_of,
    to_float,
    tracing_of,
)


def _elementwise(function: Any) -> Callable[..., Any]:
    """Return a function of numbers as numpy's, which gives numbers of Python's."""

    def apply(*given: Any) -> Any:
        return as_number(
            function(*(number_of(one) if is_symbolic(one) else one for one in given)), DOUBLE
        )

    return apply


def _whole(function: Any) -> Callable[[Any], Any]:
    return lambda value: as_number(function(number_of(value)), WHOLE)


def _log(value: Any, base: Any = None) -> Any:
    of_value = np.log(number_of(value)) if is_symbolic(value) else math.log(value)
    if base is None:
        return as_number(of_value, DOUBLE)
    return of_value / (np.log(number_of(base)) if is_symbolic(base) else math.log(base))


def _hypot(*values: Any) -> Any:
    return as_number(
        np.sqrt(reduce(lambda one, other: one + other, (one * one for one in values))), DOUBLE
    )


def _copysign(value: Any, sign: Any) -> Any:
    return as_number(
        np.where(
            np.asarray(sign < 0) if not is_symbolic(sign) else sign < 0, -abs(value), abs(value)
        ),
        DOUBLE,
    )


def _distance(one: Any, other: Any) -> Any:
    return _hypot(*(a - b for a, b in zip(one, other, strict=True)))


def _product(values: Any, *, start: Any = 1) -> Any:
    return reduce(lambda one, other: one * other, listed(values), start)


def _finite(value: Any) -> Any:
    return as_number(np.isfinite(number_of(value)), TRUTH)


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*given: Any, **named: Any) -> Any:
        values = [one for one in (*given, *named.values()) if is_symbolic(one)]
        tracing_of(values).refuse(f"math.{name} of what records or noise decide is not followed")

    return refuse


_FOLLOWED: dict[str, Callable[..., Any]] = {
    **{
        name: _elementwise(getattr(np, name))
        for name in "sqrt exp expm1 log1p sin cos tan tanh fmod".split()
    },
    "atan": _elementwise(np.arctan),
    "fabs": _elementwise(np.absolute),
    "pow": _elementwise(np.power),
    "log2": lambda value: _log(value) / math.log(2),
    "log10": lambda value: _log(value) / math.log(10),
    "log": _log,
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "trunc": _whole(np.trunc),
    "hypot": _hypot,
    "copysign": _copysign,
    "dist": _distance,
    "prod": _product,
    "fsum": add_up,
    "isfinite": _finite,
    "radians": lambda value: to_float(value) * (math.pi / 180),
    "degrees": lambda value: to_float(value) * (180 / math.pi),
}
OF_MATH: dict[str, Callable[..., Any]] = {
    name: _FOLLOWED.get(name, _refused(name))
    for name, one in vars(math).items()
    if callable(one) and not name.startswith("_")
}


def _mean(values: Any) -> Any:
    given = listed(values)
    return add_up(given) / count_entries(given)


def _median(values: Any) -> Any:
    given = listed(values)
    return np.median(tracing_of(given).symbol_of(given))


def _spread(function: Any, freedom: int) -> Callable[..., Any]:
    def of_values(values: Any) -> Any:
        given = listed(values)
        return function(tracing_of(given).symbol_of(given), ddof=freedom)

    return of_values


OF_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "fmean": _mean,
    "median": _median,
    "pvariance": _spread(np.var, 0),
    "variance": _spread(np.var, 1),
    "pstdev": _spread(np.std, 0),
    "stdev": _spread(np.std, 1),
}
