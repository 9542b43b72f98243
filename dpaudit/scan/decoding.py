"""Typed data of a package's environment, as observations that a layout reads.

Types that are not here become types of the same name, so that an outcome of another type is another
outcome (`dpaudit.laws.observations`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.errors import MechanismError


class ProcessEnded(Exception):
    """The outcome of a call whose process ended, or had to be ended: how, in words."""


def decoded(given: Any) -> Any:
    """Return an observation of what `dpaudit.scan.child.encoded` sent.

    Raises
    ------
    MechanismError
        It is nothing of the kind.

    Examples
    --------
    >>> decoded(("dict", [("mean", 1.5), ("labels", ("set", [0, 1]))]))
    {'mean': 1.5, 'labels': {0, 1}}
    >>> decoded(("raised", "ValueError", "no records"))
    ValueError('no records')
    """
    if not isinstance(given, tuple):
        return given
    match given:
        case "dict", list(items):
            return {_hashable(decoded(key)): decoded(one) for key, one in items}
        case "set", list(items):
            return {_hashable(decoded(one)) for one in items}
        case "items", str(kind), list(items):
            return _items(kind, [decoded(one) for one in items])
        case "raised", str(kind), str(text):
            return _error(kind)(text)
        case "warned", found, list(said):
            return {"output": decoded(found), "warnings": list(said)}
        case "array", str(dtype), list(shape), list(items):
            return _object(f"array of {dtype}", {"shape": tuple(shape), "values": _all(items)})
        case "object", str(kind), list(items):
            return _object(kind, {name: decoded(one) for name, one in items})
        case (("other" | "of type"), str(kind), found):
            return _object(kind, {"value": decoded(found)})
    raise MechanismError(f"an output of the kind {given[:1]!r}, which is none that was agreed on")


def _all(items: list[Any]) -> list[Any]:
    return [decoded(one) for one in items]


def _items(kind: str, items: list[Any]) -> Any:
    if kind == "complex":
        return complex(*items)
    made: dict[str, Any] = {"list": list, "tuple": tuple}
    return made[kind](items) if kind in made else _object(kind, {"items": items})


def _hashable(key: Any) -> Any:
    """Return a key of a dict: what cannot be one here has its text."""
    if isinstance(key, np.generic):
        return key.item()
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


@lru_cache(maxsize=1024)
def _type(name: str) -> type:
    return type(name, (), {})


@lru_cache(maxsize=1024)
def _error(name: str) -> type[Exception]:
    return type(name, (Exception,), {})


def _object(kind: str, held: dict[str, Any]) -> Any:
    made = _type(kind)()
    made.__dict__.update(held)
    return made
