"""The probe of a package's function: its returned parts, in an environment without dpaudit.

Runs as a script, ``python probe.py FILE FUNCTION``, and needs the standard library and numpy alone.
A line of JSON asks for calls of the function on datasets; a line of JSON answers with the parts of
every output. A part is a Python expression of ``out``, so that an event of it is one too: what is
found this way is what the reproduction of a finding evaluates.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import json
import keyword
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Parts = dict[str, list[Any]]  # by expression: whether it is a code or a number, and its value

MOST = 96  # parts of one output
DEEPEST = 4


def split_output_parts(out: Any) -> Parts:
    """Return the parts of an output, by expression: the kind of each and its value.

    Examples
    --------
    >>> split_output_parts([1.5, None])
    {'type(out).__name__': ['code', 'list'], 'len(out)': ['number', 2], 'out[0]': ['number', 1.5], \
'out[1]': ['code', None]}
    """
    found: Parts = {"type(out).__name__": ["code", type(out).__name__]}
    if isinstance(out, Exception):
        found["str(out)"] = ["code", str(out)[:80]]
    else:
        _add_output_part(found, "out", out, 0)
    return found


def _add_output_part(found: Parts, path: str, value: Any, depth: int) -> None:
    if len(found) >= MOST:
        return
    # Before the numbers, since a bool is an int to Python and would be compared by size.
    if value is None or isinstance(value, (bool, np.bool_, str, bytes)):
        plain = bool(value) if isinstance(value, np.bool_) else value
        found[path] = ["code", repr(plain) if isinstance(plain, bytes) else plain]
    elif isinstance(value, (int, float, np.integer, np.floating)):
        whole = isinstance(value, (int, np.integer))
        found[path] = ["number", int(value) if whole else float(value)]
    elif isinstance(value, np.ndarray):
        _add_array(found, path, value, depth)
    elif depth < DEEPEST:
        _add_container(found, path, value, depth)


def _add_array(found: Parts, path: str, value: Any, depth: int) -> None:
    found[f"{path}.shape"] = ["code", list(value.shape)]
    found[f"{path}.dtype.name"] = ["code", value.dtype.name]
    # An array without dimensions has no places, and `item` is what a person would call.
    if value.ndim == 0:
        _add_output_part(found, f"{path}.item()", value.item(), depth + 1)
        return
    for place in itertools.islice(np.ndindex(*value.shape), MOST):
        _add_output_part(found, f"{path}[{', '.join(map(str, place))}]", value[place], depth + 1)


def _add_container(found: Parts, path: str, value: Any, depth: int) -> None:
    if isinstance(value, (list, tuple)):
        found[f"len({path})"] = ["number", len(value)]
        for place, one in enumerate(value[:MOST]):
            _add_output_part(found, f"{path}[{place}]", one, depth + 1)
    elif isinstance(value, dict):
        found[f"sorted(map(str, {path}))"] = ["code", sorted(map(str, value))]
        for key, one in value.items():
            if isinstance(key, (str, int, float, tuple)):
                _add_output_part(found, f"{path}[{key!r}]", one, depth + 1)
    elif isinstance(value, (set, frozenset)):
        found[f"sorted(map(str, {path}))"] = ["code", sorted(map(str, value))]
    elif hasattr(value, "columns") and hasattr(value, "to_numpy"):
        found[f"list(map(str, {path}.columns))"] = ["code", [str(one) for one in value.columns]]
        _add_output_part(found, f"{path}.to_numpy()", value.to_numpy(), depth + 1)
    else:
        for name, one in _list_public_attributes(value):
            _add_output_part(found, f"{path}.{name}", one, depth + 1)


def _list_public_attributes(value: Any) -> list[tuple[str, Any]]:
    """Return the public attributes of an object, those of a fitted model if it is one."""
    held = getattr(value, "__dict__", {})
    # A name that is none would be code in the expression of an event.
    names = [name for name in held if name.isidentifier() and not keyword.iskeyword(name)]
    names = [name for name in names if not name.startswith("_")]
    fitted = [name for name in names if name.endswith("_")]
    return [(name, getattr(value, name)) for name in fitted or names]


def draw_output_parts(
    function: Callable[..., Any], parameters: dict[str, Any], data: Any, runs: int, seconds: float
) -> list[Parts]:
    """Return the parts of so many outputs on one dataset, or of fewer if the time is over."""
    asked = inspect.signature(function).parameters
    given = dict(parameters)
    if "rng" in asked:
        # Unseeded, as in the script that is shipped: its counts have to refute for whatever it
        # draws.
        given["rng"] = np.random.default_rng()
    if "trials" in asked:
        outs = _call_for_outcome(function, data, {**given, "trials": runs})
        if isinstance(outs, list):
            return [split_output_parts(one) for one in outs]
    found: list[Parts] = []
    began = time.monotonic()
    while len(found) < runs and (not found or time.monotonic() - began < seconds):
        if "trials" in asked:
            out = _call_for_outcome(function, data, {**given, "trials": 1})
            out = out[0] if isinstance(out, list) else out
        else:
            out = _call_for_outcome(function, data, given)
        found.append(split_output_parts(out))
    return found


def _call_for_outcome(function: Callable[..., Any], data: Any, given: dict[str, Any]) -> Any:
    try:
        return function(data, **given)
    except Exception as error:  # an outcome like any other
        return error


def load_audited_function(path: str, name: str) -> Any:
    """Return a function of a file that is no part of any installed package."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("audited_subjects", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audited_subjects"] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def value_of(text: str) -> Any:
    """Return the value of an expression that the parent wrote."""
    return eval(text, {"np": np})


def answer_order(function: Callable[..., Any], order: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to an order: the parts of outputs on each of its datasets."""
    given = value_of(order["parameters"])
    sides = [
        draw_output_parts(function, given, value_of(text), order["runs"], order["seconds"])
        for text in order["datasets"]
    ]
    return {"sides": sides}


def run_order_server() -> None:
    """Answer the orders of standard input, one a line, until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the package prints is not an answer
    warnings.simplefilter("ignore")
    try:
        function, failed = load_audited_function(sys.argv[1], sys.argv[2]), None
    except Exception as error:
        function, failed = None, f"{type(error).__name__}: {error}"
    for line in sys.stdin:
        try:
            said = {"failed": failed} if failed else answer_order(function, json.loads(line))
        except Exception as error:
            said = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    run_order_server()
