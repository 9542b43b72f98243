"""Typed data of a package's environment, as observations that a layout reads.

Types that are not here become types of the same name, so that an outcome of another type is another
outcome (`dpaudit.mechanisms.outputs.observations`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dpaudit.errors import MechanismError


class ProcessEnded(Exception):
    """The outcome of a call whose process ended, or had to be ended: how, in words."""


def decode_observation(given: Any) -> Any:
    """Return the observation that `dpaudit.scan.remote.child.encoded` sent.

    Raises
    ------
    MechanismError
        It is nothing of the kind.

    Examples
    --------
    >>> decode_observation(("dict", [("mean", 1.5), ("labels", ("set", [0, 1]))]))
    {'mean': 1.5, 'labels': {0, 1}}
    >>> decode_observation(("raised", "ValueError", "no records"))
    ValueError('no records')
    """
    if not isinstance(given, tuple):
        return given
    match given:
        case "dict", list(items):
            return {
                _convert_to_hashable(decode_observation(key)): decode_observation(one)
                for key, one in items
            }
        case "set", list(items):
            return {_convert_to_hashable(decode_observation(one)) for one in items}
        case "items", str(kind), list(items):
            return _make_sequence_of_kind(kind, [decode_observation(one) for one in items])
        case "raised", str(kind), str(text):
            return _make_error_type(kind)(text)
        case "warned", found, list(said):
            return {"output": decode_observation(found), "warnings": list(said)}
        case "array", str(dtype), list(shape), list(items):
            return _make_attribute_object(
                f"array of {dtype}", {"shape": tuple(shape), "values": _decode_all(items)}
            )
        case "object", str(kind), list(items):
            return _make_attribute_object(
                kind, {name: decode_observation(one) for name, one in items}
            )
        case (("other" | "of type"), str(kind), found):
            return _make_attribute_object(kind, {"value": decode_observation(found)})
    raise MechanismError(f"an output of the kind {given[:1]!r}, which is none that was agreed on")


def _decode_all(items: list[Any]) -> list[Any]:
    return [decode_observation(one) for one in items]


def _make_sequence_of_kind(kind: str, items: list[Any]) -> Any:
    if kind == "complex":
        return complex(*items)
    made: dict[str, Any] = {"list": list, "tuple": tuple}
    return made[kind](items) if kind in made else _make_attribute_object(kind, {"items": items})


def _convert_to_hashable(key: Any) -> Any:
    """Return a key of a dict: the text of one that cannot be a key here."""
    if isinstance(key, np.generic):
        return key.item()
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


# One type for each name: outputs of two calls have to be of the same type to be the same
# outcome.
@lru_cache(maxsize=1024)
def _make_named_type(name: str) -> type:
    return type(name, (), {})


@lru_cache(maxsize=1024)
def _make_error_type(name: str) -> type[Exception]:
    return type(name, (Exception,), {})


def _make_attribute_object(kind: str, held: dict[str, Any]) -> Any:
    made = _make_named_type(kind)()
    made.__dict__.update(held)
    return made
