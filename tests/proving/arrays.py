"""Functions of arrays traced on symbols, and evaluated on numbers."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.program import evaluate_program
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.symbols.constructors import own_constructors
from dpaudit.proving.symbols.numpy_rules import NUMPY
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

Function = Callable[..., Any]


def trace(function: Function, *arrays: Any, uncounted: bool = False) -> tuple[SymbolTracing, Any]:
    """Return a run on symbols of arrays, and what it returned."""
    tracing, given = SymbolTracing(NUMPY), []
    for at, one in enumerate(arrays):
        shape = (None, *one.shape[1:]) if uncounted else one.shape
        given.append(tracing.add("data", [], shape, one.dtype, part=str(at)))
    with own_constructors(tracing, function):
        try:
            output = function(*given)
        except Exception:
            if tracing.refusal is None:
                raise
            raise NotProved(tracing.refusal) from None
    return tracing, _symbols(tracing, output)


def values_of(function: Function, *arrays: Any, uncounted: bool = False) -> Any:
    """Return what the program of a function gives, in the nesting of its output."""
    tracing, output = trace(function, *arrays, uncounted=uncounted)
    numbers = _mapped(output, lambda one: one.index)
    data = {str(at): one.copy() for at, one in enumerate(arrays)}
    values = evaluate_program(tracing.program, data, ())
    _mapped(output, lambda one: _check_node(tracing, one))
    for node in tracing.program.nodes:
        json.dumps({**node.parameters, "value": None})
    return _mapped(numbers, lambda index: values[index])


def _check_node(tracing: SymbolTracing, one: Symbol) -> None:
    held = tracing.program.nodes[one.index]
    assert held.dtype == one.dtype.name
    assert held.shape == one.dims


def _symbols(tracing: SymbolTracing, output: Any) -> Any:
    if isinstance(output, tuple | list):
        return tuple(_symbols(tracing, one) for one in output)
    return tracing.symbol_of(output)


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
