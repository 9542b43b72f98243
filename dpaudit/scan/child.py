"""Outputs of a plain function of a package, drawn where the package is installed.

Runs in the package's environment (`dpaudit.execution.worker`), with the standard library and numpy
alone, from Python 3.9 on. What a function returns, raises and warns of becomes typed data: whatever
is no number, text or array of numbers is a tuple of its kind and its contents, which
`dpaudit.scan.decoding` reads.
"""

from __future__ import annotations

import enum
import importlib.metadata
import importlib.util
import inspect
import os
import platform
import random
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

_DEEP = 10  # containers in one another; below, the text of what there is
_LONGEST = 2000  # characters of a text, an error or a warning that are sent
_MODULE = "subjects of a scan"
_functions: dict[tuple[str, str], Any] = {}


def sampled(task: dict[str, Any], trials: int, rng: np.random.Generator) -> Any:
    """Return outputs of a function, as typed data.

    Parameters
    ----------
    task
        ``file`` and ``function``, ``parameters`` by name, and the dataset, ``data``.
    trials
        How many outputs.
    rng
        For a function that asks for it; the global generators are set from it.

    Returns
    -------
        ``{"numbers": array}`` where all outputs are floats, else ``{"outputs": list}``.
    """
    function = _function(task["file"], task["function"])
    asked = inspect.signature(function).parameters
    given = dict(task["parameters"])
    if "rng" in asked:
        given["rng"] = rng
    _seed_global_generators(rng)
    if "trials" in asked:
        return _together(function, task["data"], trials, given)
    found = [_observed(function, task["data"], given) for _ in range(trials)]
    if all(type(one) is float for one in found):
        return {"numbers": np.array(found, dtype=np.float64)}
    return {"outputs": found}


def about(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return Python's version, and the version of every distribution that is installed here."""
    found = {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}
    named = sorted((str(name), str(version)) for name, version in found.items() if name)
    return [platform.python_version(), dict(named)]


# Noise that is frozen


def moved(task: dict[str, Any], trials: int, rng: np.random.Generator) -> list[Any]:
    """Return what runs with the same noise show of each of ``neighbours``.

    How far what noise is added to moved, in scales of the noise, and which epsilon the mechanisms
    declare whose value moved. ``task`` is that of `sampled`, with ``freezing``, the folder of
    `dpaudit.freezing`.
    """
    glimpse = _package(task["freezing"])
    function = _function(task["file"], task["function"])
    return [
        list(one)
        for one in glimpse.glimpses(function, task["data"], task["neighbours"], task["parameters"])
    ]


_FREEZING = "freezing_of_a_scan"


def _package(folder: str) -> Any:
    """Return what compares frozen runs, of a folder that is a package of its own."""
    if _FREEZING not in sys.modules:
        path = os.path.join(folder, "__init__.py")
        places = [folder]
        spec = importlib.util.spec_from_file_location(
            _FREEZING, path, submodule_search_locations=places
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no module")
        sys.modules[_FREEZING] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[_FREEZING])
    return importlib.import_module(f"{_FREEZING}.glimpse")


def _function(file: str, name: str) -> Any:
    """Return a function of a file; helpers beside it can be imported by their names."""
    if (file, name) not in _functions:
        module = sys.modules.get(_MODULE)
        if module is None or module.__file__ != file:
            folder = os.path.dirname(file)
            if folder not in sys.path:
                sys.path.append(folder)
            spec = importlib.util.spec_from_file_location(_MODULE, file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{file} is no module")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_MODULE] = module
        _functions[file, name] = getattr(module, name)
    return _functions[file, name]


def _seed_global_generators(rng: np.random.Generator) -> None:
    """Let code that draws from global generators give the same again for the same seed."""
    np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002
    random.seed(int(rng.integers(2**63)))
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(int(rng.integers(2**63)))


# Observations


def _together(function: Any, data: Any, trials: int, given: dict[str, Any]) -> Any:
    """Return the outputs of a function that draws many in one call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(_fresh(data), trials=trials, **given)
        except Exception as error:
            return {"outputs": [raised(error)] * trials}
    said = _warned(caught)
    if len(found) != trials:
        raise ValueError(f"{function.__name__} returned {len(found)} outputs, not {trials}")
    if isinstance(found, np.ndarray) and found.dtype == np.float64 and found.ndim == 1 and not said:
        return {"numbers": found}
    return {"outputs": [_with(encoded(one), said) for one in found]}


def _observed(function: Any, data: Any, given: dict[str, Any]) -> Any:
    """Return what one call did: its output or its error, and its warnings if there are any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = encoded(function(_fresh(data), **given))
        except Exception as error:
            found = raised(error)
    return _with(found, _warned(caught)) if caught else found


def raised(error: BaseException) -> Any:
    """Return an error as typed data: its type and its text."""
    try:
        text = str(error)
    except Exception:  # somebody else's __str__
        text = ""
    return ("raised", type(error).__name__, text[:_LONGEST])


def _warned(caught: Any) -> list[str]:
    said = {f"{one.category.__name__}: {str(one.message)[:_LONGEST]}" for one in caught}
    return sorted(said)


def _with(found: Any, said: list[str]) -> Any:
    return ("warned", found, said) if said else found


def _fresh(data: Any) -> Any:
    """Return data that a call may change for itself."""
    if isinstance(data, np.ndarray):
        return data.copy()
    if isinstance(data, list):
        return [_fresh(one) for one in data] if _holds_more(data) else list(data)
    if isinstance(data, dict):
        return {key: _fresh(one) for key, one in data.items()}
    if isinstance(data, tuple):
        return tuple(_fresh(one) for one in data)
    return data


def _holds_more(data: list[Any]) -> bool:
    return any(isinstance(one, (list, dict, np.ndarray)) for one in data)


# Values as typed data


def encoded(value: Any, deep: int = 0) -> Any:
    """Return a value as numbers, text, arrays of numbers, and tuples of a kind and contents.

    Examples
    --------
    >>> encoded({"mean": 1.5, "labels": {0, 1}})
    ('dict', [('mean', 1.5), ('labels', ('set', [0, 1]))])
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return value[:_LONGEST] if kind in (str, bytes) else value
    if kind is np.float64:
        return float(value)
    if deep == _DEEP:
        return ("other", kind.__name__, _text(value))
    if isinstance(value, enum.Enum):
        return ("other", kind.__name__, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_array(value, deep)
    if isinstance(value, (str, bytes, int, float)):  # of a type of its own
        return ("of type", kind.__name__, kind.__mro__[-2](value))
    return _of_container(value, deep + 1)


def _of_array(value: Any, deep: int) -> Any:
    masked = isinstance(value, np.ma.MaskedArray)
    if value.dtype.kind in "biufcmM" and not masked:
        return value
    items = [encoded(one, deep + 1) for one in np.asarray(value, dtype=object).reshape(-1)]
    if masked:
        mask = np.ma.getmaskarray(value).reshape(-1)
        items = [None if hidden else one for one, hidden in zip(items, mask)]  # noqa: B905
    return ("array", str(value.dtype), list(value.shape), items)


def _of_container(value: Any, deep: int) -> Any:
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return ("dict", [(encoded(k, deep), encoded(value[k], deep)) for k in value])
    if isinstance(value, (set, frozenset)):
        return ("set", sorted((encoded(one, deep) for one in value), key=repr))
    if isinstance(value, (list, tuple, range)):
        name = "list" if type(value) is list else "tuple" if type(value) is tuple else kind
        return ("items", name, [encoded(one, deep) for one in value])
    if isinstance(value, BaseException):
        return raised(value)
    if isinstance(value, complex):
        return ("items", "complex", [value.real, value.imag])
    if hasattr(value, "tolist") and hasattr(value, "index"):  # a column of pandas
        return ("object", kind, [("index", _labels(value.index)), ("values", _labels(value))])
    if hasattr(value, "columns") and hasattr(value, "iloc"):  # a table
        return _of_table(value, kind)
    if hasattr(value, "toarray"):
        return ("object", kind, [("values", _of_array(value.toarray(), deep))])
    if hasattr(value, "detach") and hasattr(value, "numpy"):  # a tensor
        return ("object", kind, [("values", _of_array(value.detach().cpu().numpy(), deep))])
    held = _attributes(value)
    if held and not callable(value):
        return ("object", kind, [(name, encoded(held[name], deep)) for name in sorted(held)])
    return ("other", kind, _text(value))


def _of_table(value: Any, kind: str) -> Any:
    names = [str(one) for one in value.columns]
    held: list[Any] = [("columns", ("items", "list", names)), ("index", _labels(value.index))]
    for place, name in enumerate(names):
        column = value.iloc[:, place]
        held.append((f"{name} dtype", str(column.dtype)))
        held.append((name, _labels(column)))
    return ("object", kind, held)


def _labels(values: Any) -> Any:
    return ("items", "list", [encoded(one, 1) for one in values.tolist()])


def _attributes(value: Any) -> dict[str, Any]:
    """Return the public attributes of an object; of a fitted model what it learned."""
    held = {name: one for name, one in getattr(value, "__dict__", {}).items() if name[:1] != "_"}
    learned = {name: one for name, one in held.items() if name.endswith("_")}
    if hasattr(value, "fit") and learned:
        return learned
    return {name: one for name, one in held.items() if not callable(one)}


def _text(value: Any) -> str:
    try:
        return repr(value).partition(" at 0x")[0][:_LONGEST]
    except Exception:  # somebody else's __repr__
        return "no repr"
