"""A check at the boundary for parameters that are objects of this package; no paper's equation."""

from __future__ import annotations

from types import UnionType

from dpaudit.errors import InvalidArgument


def instance(name: str, value: object, kind: type | UnionType, expected: str) -> None:
    """Raise `InvalidArgument` unless ``value`` is a ``kind``; ``expected`` says it in words.

    Examples
    --------
    >>> instance("graph", None, dict, "a Graph")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: graph: got None, expected a Graph
    """
    if not isinstance(value, kind):
        raise InvalidArgument(name, value, expected)
