"""Messages between participants, and the nested values that functions take and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Message:
    """What one participant sends to others.

    Parameters
    ----------
    value
        Numbers, arrays, or lists and dictionaries of them.
    sender
        Who sends it: a name or a number.
    receiver
        Who receives it, or a list of all who do; None: everybody.

    Examples
    --------
    >>> Message(np.zeros(2), sender=0, receiver=[1, 2]).receiver
    [1, 2]
    """

    value: Any
    sender: Any
    receiver: Any = None


def is_number(value: Any) -> bool:
    """Return whether a value is a number or an array of numbers; truth values are none."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "iuf"
    return isinstance(value, int | float) and not isinstance(value, bool)


def map_parts(value: Any, of: Callable[[Any], Any]) -> Any:
    """Return a nested value with every part that is no container replaced.

    Examples
    --------
    >>> map_parts({"a": [1, 2]}, lambda one: one + 1)
    {'a': [2, 3]}
    """
    if isinstance(value, dict):
        return {key: map_parts(one, of) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_parts(one, of) for one in value))
    if isinstance(value, list | tuple):
        return type(value)(map_parts(one, of) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.init]
        return replace(value, **{name: map_parts(getattr(value, name), of) for name in names})
    return of(value)


def parts_of(value: Any) -> Iterator[Any]:
    """Yield every part of a nested value that is no container, in order."""
    if isinstance(value, dict):
        for one in value.values():
            yield from parts_of(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from parts_of(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            if one.init:
                yield from parts_of(getattr(value, one.name))
    else:
        yield value
