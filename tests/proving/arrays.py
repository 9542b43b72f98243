"""Functions of arrays traced on symbols, and evaluated on numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.numpy_rules import NUMPY
from dpaudit.proving.program import evaluate
from dpaudit.proving.symbol import Symbol, Tracing, holds_symbol

Function = Callable[..., Any]


def trace(function: Function, *arrays: Any, uncounted: bool = False) -> tuple[Tracing, Any]:
    """Return a run on symbols of arrays, and what it returned."""
    tracing, given = Tracing(NUMPY), []
    for at, one in enumerate(arrays):
        shape = (None, *one.shape[1:]) if uncounted else one.shape
        given.append(tracing.add("data", [], shape, one.dtype, part=str(at)))
    return tracing, function(*given)


def values_of(function: Function, *arrays: Any, uncounted: bool = False) -> Any:
    """Return what the program of a function gives."""
    tracing, output = trace(function, *arrays, uncounted=uncounted)
    found = _symbols(tracing, output)
    numbers = _mapped(found, lambda one: one.index)
    data = {str(at): one.copy() for at, one in enumerate(arrays)}
    values = evaluate(tracing.program, data, ())
    for one in _flat(found):
        held = tracing.program.nodes[one.index]
        assert held.dtype == one.dtype.name
        assert held.shape == one.dims
    return _mapped(numbers, lambda index: values[index])


def _symbols(tracing: Tracing, output: Any) -> Any:
    if isinstance(output, tuple) or (isinstance(output, list) and holds_symbol(output)):
        return tuple(_symbols(tracing, one) for one in output)
    return tracing.symbol_of(output)


def _flat(value: Any) -> list[Symbol]:
    return [x for one in value for x in _flat(one)] if isinstance(value, tuple) else [value]


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(one, function) for one in value)
    return function(value)


def assert_same(function: Function, *arrays: Any, uncounted: bool = False) -> None:
    """Check that a program gives what its function gives, in shape, type and value."""
    with np.errstate(all="ignore"):
        wanted = function(*(one.copy() for one in arrays))
    _compare(values_of(function, *arrays, uncounted=uncounted), wanted)


def _compare(found: Any, wanted: Any) -> None:
    if isinstance(found, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            _compare(one, other)
        return
    numbers = np.asarray(wanted)
    assert found.shape == numbers.shape
    assert found.dtype == numbers.dtype
    np.testing.assert_allclose(found, numbers, rtol=1e-12, atol=1e-14)
