"""Messages between participants, and the nested values that functions take and return."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class Message:
    """A message that one participant sends to others, with its value at that moment.

    Parameters
    ----------
    value
        The content: numbers, arrays, or lists and dictionaries of them. The message keeps a copy.
    sender
        The participant that sends it: a text or a whole number.
    receiver
        The participant that receives it, or a list of several; None for everybody.

    Raises
    ------
    InvalidArgument
        A participant is neither a text nor a whole number.

    Examples
    --------
    >>> Message(np.zeros(2), sender=0, receiver=range(1, 3)).receiver
    [1, 2]
    """

    value: Any
    sender: Any
    receiver: Any = None

    def __post_init__(self) -> None:
        several = isinstance(self.receiver, Iterable) and not isinstance(self.receiver, str | tuple)
        several = several and getattr(self.receiver, "ndim", 1) > 0
        if several:
            object.__setattr__(self, "receiver", list(self.receiver))
        for one in self.receivers:
            name_of("receiver", one)
        name_of("sender", self.sender)
        # A copy: what the sender does to its array later was not sent.
        object.__setattr__(self, "value", copy.deepcopy(self.value))

    @property
    def receivers(self) -> list[Any]:
        """Those who receive it, if it is not everybody."""
        several = isinstance(self.receiver, list)
        return self.receiver if several else [] if self.receiver is None else [self.receiver]

    def is_heard_by(self, name: str) -> bool:
        """Return whether a participant sends or receives it."""
        heard = {name_of("sender", one) for one in (self.sender, *self.receivers)}
        return self.receiver is None or name in heard


def name_of(argument: str, value: Any) -> str:
    """Return the name of who is a text or a whole number; of 1.0 and numpy's 1 it is that of 1.

    Examples
    --------
    >>> name_of("sender", "a"), name_of("sender", 1), name_of("sender", np.float64(1))
    ('a', '1', '1')
    """
    found = value
    if hasattr(value, "dtype") and np.shape(value) == ():
        found = np.asarray(value).item()
    if isinstance(found, str):
        return found
    if not isinstance(found, int | float) or not float(found).is_integer():
        raise InvalidArgument(argument, value, "a text or a whole number")
    return str(int(found))


_CONSTANT = (type(None), str, bytes, complex, range, Decimal, Enum, Fraction)


def is_number(value: Any) -> bool:
    """Return whether a value is a number or an array of numbers; truth values are 0 and 1."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return all(isinstance(one, int | float | Fraction) for one in value.flat)
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "iufb"
    return isinstance(value, int | float)


def map_parts(value: Any, of: Callable[[Any], Any]) -> Any:
    """Return a nested value with every part that is no container replaced.

    Of a `Message` it is what it says that is replaced, and not who sends or receives it.

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
    if _is_record(value):
        return replace(value, **{name: map_parts(one, of) for name, one in items_of(value)})
    return of(value)


def parts_of(value: Any) -> Iterator[Any]:
    """Yield every part of a nested value that is no container, in order."""
    if isinstance(value, dict | list | tuple) or _is_record(value):
        for _, one in items_of(value):
            yield from parts_of(one)
    else:
        yield value


def is_constant(value: Any) -> bool:
    """Return whether a part is a text, or another plain constant that equality compares."""
    if isinstance(value, np.ndarray | np.generic):
        return not value.dtype.hasobject
    return isinstance(value, _CONSTANT)


def make_value_outline(value: Any) -> Any:
    """Return the containers of a nested value, its constants, and the shapes of its numbers.

    Examples
    --------
    >>> make_value_outline({"a": [1.5, np.zeros(2)], "b": "text"})
    ('dict', (('a', ('list', ((0, ()), (1, (2,))))), ('b', 'text')))
    """
    if isinstance(value, dict | list | tuple) or _is_record(value):
        items = tuple((key, make_value_outline(one)) for key, one in items_of(value))
        return (type(value).__name__, items)
    if is_constant(value) and not is_number(value):
        kept = isinstance(value, np.ndarray | np.generic)
        return (value.dtype.str, value.shape, value.tobytes()) if kept else value
    return np.shape(value)


def format_shapes(value: Any) -> str:
    """Return the shapes of a nested value, for messages.

    Examples
    --------
    >>> format_shapes(np.zeros((5, 3))), format_shapes({"a": [1.5, np.zeros(2)]})
    ('shape (5, 3)', "{'a': [a number, shape (2,)]}")
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {format_shapes(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_shapes, value))}]"
    if not is_number(value):
        return f"a {type(value).__name__}"
    return f"shape {np.shape(value)}" if np.ndim(value) else "a number"


def _is_record(value: Any) -> bool:
    """Return whether a value is of a dataclass that holds nothing but its constructor's fields."""
    if isinstance(value, type) or not is_dataclass(value):
        return False
    known = fields(value)
    return all(one.init for one in known) and set(getattr(value, "__dict__", ())) <= {
        one.name for one in known
    }


def items_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each item of a container after its name or place; nothing for any other value."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, Message):
        yield "value", value.value
    elif _is_record(value):
        yield from ((one.name, getattr(value, one.name)) for one in fields(value))
