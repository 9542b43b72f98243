"""The two datasets of a certificate that a file holds: facts, which are looked at again.

Where a search made the two of a domain, the file states that domain, and they are made again: each
value has to be one that the domain allows. Whether they are neighbours is checked as it is of any
two. Nothing that is read here is imported, opened or run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dpaudit.errors import DpauditError, InvalidArgument, VerbatimText
from dpaudit.verification.document import Document
from dpaudit.verification.redrawn_counts import Reader

_KEYS = {"domain", "dataset", "neighbour", "user"}


class OtherPair(DpauditError):
    """The two datasets that a file holds differ from its description: its certificate fails."""


@contextmanager
def pair_of_the_file() -> Iterator[None]:
    """Let a certificate fail whose two datasets are none of its domain, or no neighbours."""
    try:
        yield
    except InvalidArgument as error:
        raise OtherPair(f"pair: the two that the file holds are not as it says ({error})") from None


def sides_of(document: Document) -> list[Any]:
    """Return the two datasets that a file holds.

    Raises
    ------
    DataError
        It holds none, or is not as it has to be.
    InvalidArgument
        The domain that it states does not allow them.
    """
    made = _get_stated_pair(document).get("made")
    return (
        _parse_stated_data(document) if made is None else _build_stated_neighbours(document, made)
    )


def is_made(document: Document) -> bool:
    """Return whether a search made the two datasets of a file: then its relation is no choice."""
    return _get_stated_pair(document).get("made") is not None


def words_of_domain(document: Document, reader: Reader) -> str:
    """Return the file's statement on possible datasets, if it holds the two; else nothing."""
    made = _get_stated_pair(document).get("made")
    if not isinstance(made, Mapping) or reader.dataset is not None:
        return ""
    return f"; datasets: {json.dumps(made.get('domain'))}"


def user_of(document: Document) -> str | None:
    """Return the column of users of two datasets that a search made of users' records."""
    made = _get_stated_pair(document).get("made")
    user = made.get("user") if isinstance(made, dict) else None
    return user if isinstance(user, str) else None


def _get_stated_pair(document: Document) -> dict[str, Any]:
    found = document.instance.get("pair")
    return found if isinstance(found, dict) else {}


def _build_stated_neighbours(document: Document, stated: Any) -> list[Any]:
    """Return the two datasets that units of a domain stand for."""
    from dpaudit.domains.stating import domain_stated, neighbours_stated

    user = stated.get("user") if isinstance(stated, dict) else None
    if not isinstance(stated, dict) or stated.keys() != _KEYS:
        raise document.refused("instance.pair.made", stated, f"an object of {sorted(_KEYS)}")
    if user is not None and not isinstance(user, str):
        raise document.refused("instance.pair.made.user", user, "the name of a column")
    domain = domain_stated(stated["domain"])
    sides = stated["dataset"], stated["neighbour"]
    return neighbours_stated(domain, document.relation, *sides, user)


def _parse_stated_data(document: Document) -> list[Any]:
    """Return the data that the file holds."""
    import numpy as np

    stated = _get_stated_pair(document).get("data")
    if stated is None:
        expected = "the two from who reads it, as they may hold records: --dataset and --neighbour"
        raise document.refused("instance.pair.data", VerbatimText("none"), expected)
    if not isinstance(stated, list) or len(stated) != 2:
        raise document.refused("instance.pair.data", stated, "the data of two datasets")
    found: list[Any] = []
    for side in stated:
        match side:
            case {"array": list() as rows}:
                try:
                    found.append(np.array(rows, dtype=np.float64))
                except (TypeError, ValueError, OverflowError):
                    expected = "rows of numbers, all of the same length"
                    raise document.refused("instance.pair.data", rows, expected) from None
            case {"list": list() as records}:
                found.append(records)
            case _:
                raise document.refused("instance.pair.data", side, "an array or a list")
    return found
