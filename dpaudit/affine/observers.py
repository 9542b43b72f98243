"""Observers of a recursion: an observer is its view.

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

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dpaudit.affine.form import ids_of
from dpaudit.affine.messages import Message, items_of, name_of
from dpaudit.affine.program import Ids
from dpaudit.errors import InvalidArgument

Seen = str | int | list[Any] | tuple[Any, ...] | Callable[[Any], Any]
EAVESDROPPER = "eavesdropper"
EVERYTHING = "everything"
OUTPUT = "output"


def find_observers(
    output: Any,
    given: Mapping[Any, Seen] | None = None,
    looked: Mapping[str, Any] | None = None,
) -> dict[str, Ids]:
    """Return the coordinates that each observer sees.

    Parameters
    ----------
    output
        What a function returned, with forms for numbers.
    given
        Names and what they see; None for those of the table above.
    looked
        What those of them that are functions return of this output.
    """
    known, found = _find_known_observers(output), looked or {}
    if given is None:
        return known
    return _make_observer_names(
        (name, ids_of(found[str(name)]) if callable(seen) else _resolve_seen_ids(known, seen))
        for name, seen in given.items()
    )


def functions_among(given: Mapping[Any, Seen] | None) -> dict[str, Callable[[Any], Any]]:
    """Return the observers that are functions of the output, by name."""
    return {str(name): seen for name, seen in (given or {}).items() if callable(seen)}


def _make_observer_names(observers: Iterable[tuple[Any, Ids]]) -> dict[str, Ids]:
    """Return observers by the text of their names, each of which has one of its own."""
    found = dict[str, Ids]()
    for name, ids in observers:
        if str(name) in found:
            raise InvalidArgument("observers", name, "names that differ as texts")
        found[str(name)] = ids
    return found


def _find_known_observers(output: Any) -> dict[str, Ids]:
    messages = list(messages_in(output))
    if messages:
        return _find_participant_views(output, messages)
    if isinstance(output, dict):
        each = _make_observer_names((key, ids_of(value)) for key, value in output.items())
        own = len(each) < 2 or EVERYTHING in each  # a key of that name is the user's
        return each | ({} if own else {EVERYTHING: ids_of(output)})
    return {OUTPUT: ids_of(output)}


def _find_participant_views(output: Any, messages: list[Message]) -> dict[str, Ids]:
    """Return each participant's view; and everything, if there is more than messages."""
    names = {name_of("sender", who) for one in messages for who in (one.sender, *one.receivers)}
    found = {name: ids_of([one for one in messages if one.is_heard_by(name)]) for name in names}
    ordered = sorted(found, key=lambda name: (len(name), name) if name.isdigit() else (0, name))
    read, every = ids_of(messages), ids_of(output)
    more = {} if np.isin(every, read).all() else {EVERYTHING: every}
    return {name: found[name] for name in ordered} | {EAVESDROPPER: read} | more


def _resolve_seen_ids(known: Mapping[str, Ids], seen: Seen) -> Ids:
    parts = seen if isinstance(seen, list | tuple) else [seen]
    unknown = [one for one in parts if str(one) not in known]
    if unknown:
        expected = f"some of {sorted(known)}, or a function of the output"
        raise InvalidArgument("observers", unknown, expected)
    return np.concatenate([_NOTHING, *(known[str(one)] for one in parts)])


_NOTHING = np.zeros(0, dtype=np.int64)


def messages_in(output: Any) -> Iterator[Message]:
    """Yield the messages of an output, in order."""
    if isinstance(output, Message):
        yield output
    for _, one in items_of(output):
        yield from messages_in(one)


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
