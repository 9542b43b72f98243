"""Values as Python expressions, and back: how a document holds parameters and datasets.

An expression is what a person would write, so that a reproduction can be made of it, and it is read
without running anything: literals, ``nan``, ``inf``, ``np.array`` and ``np.zeros`` alone.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument
from dpaudit.scan.reproduction.parsing import parse_expression

_NAMES = {"nan": math.nan, "inf": math.inf}


def format_expression(value: Any) -> str:
    """Return a value as a Python expression, with numpy as ``np``.

    NaN and infinity are ``float('nan')`` and ``float('inf')``.

    Raises
    ------
    InvalidArgument
        It is no plain value: numbers, text, bytes, None, arrays of these, and lists, tuples, sets
        and dicts of these.

    Examples
    --------
    >>> format_expression({"bounds": (0.0, float("inf")), "data": np.array([1.0, np.nan])})
    "{'bounds': (0.0, float('inf')), 'data': np.array([1.0, float('nan')])}"
    >>> format_expression(np.zeros((0, 2))), format_expression(np.array([1, 2], dtype=np.int32))
    ("np.zeros((0, 2), dtype='float64')", "np.array([1, 2], dtype='int32')")
    """
    if isinstance(value, np.ndarray):
        return _of_array(value)
    if isinstance(value, np.generic):
        return format_expression(value.item())
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f"float({str(float(value))!r})"
    if value is None or isinstance(value, bool | int | str | bytes):
        return repr(value)
    if isinstance(value, dict):
        items = (
            f"{format_expression(key)}: {format_expression(one)}" for key, one in value.items()
        )
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return _of_items(value)
    expected = "numbers, text, None, arrays, and lists, tuples, sets and dicts of these"
    raise InvalidArgument("value", type(value).__name__, expected)


def _of_array(value: np.ndarray[Any, Any]) -> str:
    if not value.size:
        return f"np.zeros({value.shape!r}, dtype={value.dtype.name!r})"
    listed = format_expression(value.tolist())
    # The type is written only where numpy would not choose it by itself, which keeps
    # reproductions short.
    usual = np.asarray(value.tolist()).dtype == value.dtype and value.dtype.kind in "biufU"
    if usual:
        return f"np.array({listed})"
    named = value.dtype.name if value.dtype.kind in "biufc" else value.dtype.str.lstrip("|")
    return f"np.array({listed}, dtype={'object' if value.dtype.kind == 'O' else named!r})"


def _of_items(value: Any) -> str:
    inner = ", ".join(map(format_expression, value))
    if isinstance(value, list):
        return f"[{inner}]"
    if isinstance(value, tuple):
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    # Sorted, since two processes order equal sets differently; empty braces would be a
    # dictionary.
    return "{" + ", ".join(sorted(map(format_expression, value))) + "}" if value else "set()"


def value_of(text: str) -> Any:
    """Return the value of an expression that `format_expression` wrote; nothing else is evaluated.

    Raises
    ------
    InvalidArgument
        It is none of these.

    Examples
    --------
    >>> value_of("[np.array([1.0, float('-inf')]), ('a', None)]")
    [array([  1., -inf]), ('a', None)]
    >>> value_of("__import__('os')")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: value: got "__import__('os')", expected a plain value as a \
Python expression
    """
    try:
        return _read_expression_node(parse_expression(text))
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        raise InvalidArgument("value", text, "a plain value as a Python expression") from None


def _read_expression_node(node: ast.expr) -> Any:
    match node:
        case ast.List(elts=items):
            return [_read_expression_node(one) for one in items]
        case ast.Tuple(elts=items):
            return tuple(_read_expression_node(one) for one in items)
        case ast.Set(elts=items):
            return {_read_expression_node(one) for one in items}
        case ast.Dict(keys=keys, values=values):
            return {
                _read_key(key): _read_expression_node(one)
                for key, one in zip(keys, values, strict=True)
            }
        case ast.Call():
            return _read_call_node(node)
    return ast.literal_eval(node)


def _read_key(key: ast.expr | None) -> Any:
    if key is None:  # a mapping that is unpacked
        raise ValueError
    return _read_expression_node(key)


def _read_call_node(node: ast.Call) -> Any:
    given = [_read_expression_node(one) for one in node.args]
    named = {one.arg: one.value for one in node.keywords}
    match ast.unparse(node.func), given:
        case "float", [str(text)] if text.lstrip("-") in _NAMES and not named:
            return float(text)
        case "set", [] if not named:
            return set()
        case ("np.array" | "np.zeros") as made, [one] if set(named) <= {"dtype"}:
            dtype = _read_dtype_node(named.get("dtype"))
            return np.array(one, dtype=dtype) if made == "np.array" else np.zeros(one, dtype)
    raise ValueError


def _read_dtype_node(node: ast.expr | None) -> Any:
    if node is None:
        return None
    return object if ast.unparse(node) == "object" else np.dtype(ast.literal_eval(node))
