"""An output as its structure, its numbers and its texts, to be compared leaf by leaf."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .tracked_noise import plain

_DEEPEST = 12


@dataclass
class Output:
    """A value that was returned: structure, numbers in order with their paths, and texts.

    Or the name of what was ``raised`` in its place.
    """

    structure: str = ""
    numbers: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    text_paths: list[str] = field(default_factory=list)
    raised: str | None = None


def flatten_output(value: Any, error: str | None = None) -> Output:
    """Return the leaves of an output; a raised error is part of its structure.

    Examples
    --------
    >>> found = flatten_output({"mean": 0.5, "names": ["a"]})
    >>> found.structure, found.numbers, found.paths, found.texts
    ("{'mean':f,'names':[t]}", [0.5], ["output['mean']"], ['a'])
    """
    found = Output(raised=error)
    if error is not None:
        found.structure = f"raises {error}"
    else:
        found.structure = _walk(value, "output", found, 0)
    return found


def _walk(value: Any, path: str, found: Output, depth: int) -> str:
    # An output may hold itself.
    if depth > _DEEPEST:
        return "..."
    if value is None:
        return "None"
    if isinstance(value, bool | np.bool_ | int | float | np.integer | np.floating):
        return _number(value, path, found)
    if isinstance(value, str | bytes):
        found.texts.append(value if isinstance(value, str) else value.hex())
        found.text_paths.append(path)
        return "t"
    if isinstance(value, Mapping):
        parts = [
            f"{key!r}:{_walk(one, f'{path}[{key!r}]', found, depth + 1)}"
            for key, one in value.items()
        ]
        return "{" + ",".join(parts) + "}"
    if isinstance(value, Set):
        # A set has no order that two runs share.
        return "{" + ",".join(sorted(map(repr, value))) + "}"
    return _container(value, path, found, depth)


def _number(value: Any, path: str, found: Output) -> str:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    found.numbers.append(number)
    found.paths.append(path)
    return "b" if isinstance(value, bool | np.bool_) else "f"


def _container(value: Any, path: str, found: Output, depth: int) -> str:
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "tocoo"):
        value = value.toarray()
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        held = {column: value[column].tolist() for column in value.columns}
        return f"table{_walk(held, path, found, depth + 1)}"
    if not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        return _array(plain(value), path, found, depth)
    if isinstance(value, list | tuple):
        parts = [_walk(one, f"{path}[{n}]", found, depth + 1) for n, one in enumerate(value)]
        return "[" + ",".join(parts) + "]"
    held = {k: v for k, v in (getattr(value, "__dict__", None) or {}).items() if k[:1] != "_"}
    if held and not callable(value):
        return f"{type(value).__name__}{_walk(held, path, found, depth + 1)}"
    return type(value).__name__


def _array(value: Any, path: str, found: Output, depth: int) -> str:
    if value.dtype.kind not in "biuf":
        return f"array{value.shape}{_walk(value.tolist(), path, found, depth + 1)}"
    found.numbers.extend(value.astype(float).ravel().tolist())
    indices = np.ndindex(value.shape)
    found.paths.extend(f"{path}{list(index)}" if index else path for index in indices)
    return f"array{value.shape}"
