"""Traces as text, by which a process that runs somebody's code hands them to the reader's.

So rules, costs and certificates are worked out where none of that code runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace, Path
from dpaudit.proving.universe import Part, Universe

_KINDS: tuple[type[Any], ...] = (Universe, Part, Path, PathProgram, Node, FunctionTrace)
_BY_NAME = {kind.__name__: kind for kind in _KINDS}
_PLAIN = (type(None), bool, int, float, str)


def write_traces(traces: list[FunctionTrace]) -> str:
    """Return traces as text.

    Raises
    ------
    NotProved
        One holds what is no number, no text and no nesting of these.

    Examples
    --------
    >>> program = PathProgram()
    >>> x = program.add("data", shape=(3,), part="")
    >>> part = Part("", (3,), np.array(0.0), np.array(np.inf))
    >>> text = write_traces([FunctionTrace(Universe((part,), 3, "replace"), (Path(program),))])
    >>> (again,) = read_traces(text)
    >>> again.paths[0].program.nodes[0].shape, again.universe.parts[0].high.item()
    ((3,), inf)
    """
    return json.dumps([_encode_trace_value(one) for one in traces])


def read_traces(text: str) -> list[FunctionTrace]:
    """Return the traces of a text."""
    return [_decode_trace_value(one) for one in json.loads(text)]


def _encode_trace_value(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [array.dtype.str, list(array.shape), array.ravel().tolist()]}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encode_trace_value(one) for one in value]}
    if type(value) is dict:
        return {
            "dict": [
                [_encode_trace_value(key), _encode_trace_value(one)] for key, one in value.items()
            ]
        }
    if type(value) in _KINDS:
        named = [[one.name, _encode_trace_value(getattr(value, one.name))] for one in fields(value)]
        return {type(value).__name__: named}
    reason = f"it contains a {type(value).__name__}, which dpaudit cannot send to another process"
    raise NotProved.at("what is returned", reason, "return numbers, arrays and texts")


def _decode_trace_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind in _READERS:
        return _READERS[kind](held)
    return _BY_NAME[kind](**{name: _decode_trace_value(one) for name, one in held})


def _array_of(held: Any) -> Any:
    dtype, shape, numbers = held
    return np.array(numbers, dtype=np.dtype(dtype)).reshape(shape)


_READERS: dict[str, Callable[[Any], Any]] = {
    "array": _array_of,
    "scalar": lambda held: _array_of(held)[()],
    "list": lambda held: [_decode_trace_value(one) for one in held],
    "tuple": lambda held: tuple(_decode_trace_value(one) for one in held),
    "dict": lambda held: {_decode_trace_value(key): _decode_trace_value(one) for key, one in held},
}
