"""Which numbers of a paper its ledger has: equations in brackets, and all else by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpaudit.extension.ledger import Paper

_BRACKETS = re.compile(r"\((\d+)([a-z]?)\)(?: to \((\d+)\))?")


def numbers_of(paper: Paper) -> set[str]:
    """Return the numbers in brackets of all places: ``eq. (27) to (29)`` are three."""
    return {number for row in paper.rows for number in _numbers(row.place)}


def places_of(paper: Paper) -> str:
    """Return all places, one a line."""
    return "\n".join(row.place for row in paper.rows)


def _numbers(place: str) -> Iterator[str]:
    for first, letter, last in _BRACKETS.findall(place):
        if last:
            yield from map(str, range(int(first), int(last) + 1))
        yield first + letter
