"""Who sees what of a recursion: an observer is what it sees.

| what a function returns        | observers                                                      |
|--------------------------------|----------------------------------------------------------------|
| arrays, numbers, lists of them | ``output``: who sees all of it                                 |
| a dictionary                   | one for each key, and ``everything``                           |
| `Message`, anywhere            | one for each participant (what it sends and receives), and     |
|                                | ``eavesdropper``: who reads all messages                       |

Others are named: a key, a list of keys or participants who share what they see (a coalition), or a
function of the output that returns what is seen. What a participant draws itself is part of what it
sees as far as its messages tell; noise that it draws and never sends can be returned with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dpaudit.affine.messages import Message
from dpaudit.affine.program import Ids
from dpaudit.affine.reading import ids_of
from dpaudit.errors import InvalidArgument

Seen = str | int | list[Any] | tuple[Any, ...] | Callable[[Any], Any]
EAVESDROPPER, EVERYTHING, OUTPUT = "eavesdropper", "everything", "output"


def find_observers(output: Any, given: Mapping[Any, Seen] | None = None) -> dict[str, Ids]:
    """Return the coordinates that each observer sees.

    Parameters
    ----------
    output
        What a function returned, with forms for numbers.
    given
        Names and what they see; None for those of the table above.
    """
    known = _known(output)
    if given is None:
        return known
    return {str(name): _seen(output, known, seen) for name, seen in given.items()}


def _known(output: Any) -> dict[str, Ids]:
    messages = list(messages_in(output))
    if messages:
        names = {str(name) for one in messages for name in (one.sender, *_receivers(one))}
        found = {name: ids_of([one for one in messages if _hears(one, name)]) for name in names}
        ordered = sorted(found, key=lambda name: (len(name), name) if name.isdigit() else (0, name))
        return {name: found[name] for name in ordered} | {EAVESDROPPER: ids_of(messages)}
    if isinstance(output, dict):
        each = {str(key): ids_of(value) for key, value in output.items()}
        return each | ({EVERYTHING: ids_of(output)} if len(each) > 1 else {})
    return {OUTPUT: ids_of(output)}


def _seen(output: Any, known: Mapping[str, Ids], seen: Seen) -> Ids:
    if callable(seen):
        return ids_of(seen(output))
    parts = seen if isinstance(seen, list | tuple) else [seen]
    unknown = [one for one in parts if str(one) not in known]
    if unknown:
        expected = f"some of {sorted(known)}, or a function of the output"
        raise InvalidArgument("observers", unknown, expected)
    return np.concatenate([known[str(one)] for one in parts])


def messages_in(output: Any) -> Iterator[Message]:
    """Yield the messages of an output, in order."""
    if isinstance(output, Message):
        yield output
    elif isinstance(output, dict | list | tuple):
        for one in output.values() if isinstance(output, dict) else output:
            yield from messages_in(one)


def _receivers(message: Message) -> tuple[Any, ...]:
    to = message.receiver
    if to is None:
        return ()
    return tuple(to) if isinstance(to, list | tuple | set | frozenset | np.ndarray) else (to,)


def _hears(message: Message, name: str) -> bool:
    names = {str(message.sender), *map(str, _receivers(message))}
    return message.receiver is None or name in names


def hear_neighbours(adjacency: Any, *, axis: int = 1) -> dict[str, Callable[[Any], Any]]:
    """Return observers of an array of messages: each node of a graph, with its neighbours.

    Parameters
    ----------
    adjacency
        Who hears whom, shape ``(n, n)``: node i the messages of j where entry ``(i, j)`` is not 0.
    axis
        Of the array that a function returns, the one along which nodes stand.

    Examples
    --------
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> hear_neighbours(path)["node 0"](np.arange(6).reshape(2, 3)).tolist()
    [[0, 1], [3, 4]]
    """
    table = np.asarray(adjacency)
    heard = {
        node: sorted({node, *np.flatnonzero(table[node]).tolist()}) for node in range(len(table))
    }
    return {
        f"node {node}": partial(np.take, indices=seen, axis=axis) for node, seen in heard.items()
    }
