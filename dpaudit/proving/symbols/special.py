"""Functions of `scipy.special` that are made of simpler ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np

from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing, holds_symbol


def expit(x: Any) -> Any:
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def logit(x: Any) -> Any:
    """Return the inverse of the logistic function."""
    return np.log(x / (1.0 - x))


def xlogy(x: Any, y: Any) -> Any:
    """Return x log y, which is 0 for x = 0."""
    return np.where(x == 0, 0.0, x * np.log(np.where(x == 0, 1.0, y)))


def softmax(x: Any, axis: Any = None) -> Any:
    """Return weights that are proportional to exponentials and add up to 1."""
    # The largest is subtracted first, as scipy does, so that no exponential overflows.
    heights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return heights / np.sum(heights, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return logarithms of weights."""
    below = x - np.max(x, axis=axis, keepdims=True)
    return below - np.log(np.sum(np.exp(below), axis=axis, keepdims=True))


def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Return the logarithm of a sum of exponentials."""
    top = np.max(a, axis=axis, keepdims=True)
    found = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return found if keepdims else np.sum(found, axis=axis)


UFUNCS: dict[str, Callable[..., Any]] = {"expit": expit, "logit": logit, "xlogy": xlogy}
"""By their names in `scipy.special`."""
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
}


def rule_of(ufunc: Any) -> Callable[..., Any] | None:
    """Return the rule of a universal function of scipy, or nothing."""
    name = getattr(ufunc, "__name__", "")
    room = sys.modules.get("scipy.special")
    return UFUNCS.get(name) if room is not None and getattr(room, name, None) is ufunc else None


def make_special_replacements(tracing: SymbolTracing) -> Iterator[tuple[Any, Any]]:
    """Yield functions of scipy and their replacements."""
    room = sys.modules.get("scipy.special")
    for name, made in _FUNCTIONS.items() if room is not None else ():
        yield getattr(room, name), _for_symbols(tracing, getattr(room, name), made)


def _for_symbols(
    tracing: SymbolTracing, original: Callable[..., Any], made: Callable[..., Any]
) -> Callable[..., Any]:
    @wraps(original)
    def call(value: Any, *given: Any, **named: Any) -> Any:
        if not isinstance(value, Symbol) and not holds_symbol(value):
            return original(value, *given, **named)
        return made(tracing.symbol_of(value), *given, **named)

    return call
