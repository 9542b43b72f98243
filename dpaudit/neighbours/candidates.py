"""A pair that was made or found, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dpaudit.neighbours.tables import Pair

# What a record was given that none of the others has.
Given = Literal["new value", "missing value", "beyond"]


@dataclass(frozen=True)
class Candidate:
    """A pair, how it was made or found, and where its record comes from.

    ``caveat`` is what a refutation on it has to say: that it holds what nobody says there may be.
    ``made`` is how it can be made again, as plain data, where it holds nobody's records: empty if
    nothing but its two datasets says that, None of a pair that may hold some.
    """

    pair: Pair[Any]
    edit: str
    given: Given | None = None
    caveat: str | None = None
    made: Mapping[str, Any] | None = None
