"""Smaller pairs of neighbours: two datasets without records that they have in common."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.cells import is_labelled, make_cells
from dpaudit.neighbours.found_relations import DeclaredRelation
from dpaudit.neighbours.metrics import Metric
from dpaudit.neighbours.tables import Pair

DatasetT = TypeVar("DatasetT")


@dataclass(frozen=True)
class PairOverlap(Generic[DatasetT]):
    """A pair, and the places of records that both datasets have.

    Parameters
    ----------
    pair
        The two.
    places
        Of each shared record: where it is in the dataset, and where in the neighbour.
    """

    pair: Pair[DatasetT]
    places: tuple[tuple[int, int], ...]

    def keeping(self, kept: Sequence[int]) -> Pair[DatasetT] | None:
        """Return the pair with some of the shared records alone, None if it is none any more.

        Examples
        --------
        >>> from dpaudit.neighbours import ADD_REMOVE_RECORD
        >>> pair = Pair([1.0, 2.0, 9.0], [1.0, 2.0], ADD_REMOVE_RECORD)
        >>> shared = find_shared_records(pair)
        >>> shared.keeping([1]).dataset, shared.keeping([1]).neighbour
        ([2.0, 9.0], [2.0])
        """
        left = [place for number, place in enumerate(self.places) if number not in set(kept)]
        sides = [
            _remove_records(side, {place[which] for place in left})
            for which, side in enumerate((self.pair.dataset, self.pair.neighbour))
        ]
        try:
            # Made anew, so that the relation is checked again on what is left.
            return Pair(sides[0], sides[1], self.pair.relation)
        except InvalidArgument:
            return None


def find_shared_records(pair: Pair[DatasetT]) -> PairOverlap[DatasetT] | None:
    """Return which records two datasets share; None where no records can be told, or taken out."""
    known = not isinstance(
        pair.relation, DeclaredRelation | Metric
    )  # at another distance, another claim
    if not known or not all(map(_can_be_taken, (pair.dataset, pair.neighbour))):
        return None
    if (found := make_cells(pair.dataset, pair.neighbour)) is None:
        return None
    waiting = defaultdict[bytes, deque[int]](deque)
    for place, record in enumerate(found.neighbour):
        # Equal records are matched in order, each once: a record that one side has twice must not
        # be left out twice.
        waiting[record.tobytes()].append(place)
    places = [
        (place, waiting[record.tobytes()].popleft())
        for place, record in enumerate(found.dataset)
        if waiting[record.tobytes()]
    ]
    return PairOverlap(pair, tuple(places))


def _can_be_taken(dataset: Any) -> bool:
    if is_labelled(dataset):
        return all(map(_can_be_taken, dataset))
    if hasattr(dataset, "iloc") or isinstance(dataset, list):
        return True
    return isinstance(dataset, np.ndarray) and dataset.ndim > 0


def _remove_records(dataset: Any, left: set[int]) -> Any:
    """Return a dataset without the records at some places, of the same kind."""
    if is_labelled(dataset):
        return tuple(_remove_records(part, left) for part in dataset)
    kept = [place for place in range(len(dataset)) if place not in left]
    if hasattr(dataset, "iloc"):
        return dataset.iloc[kept]
    return dataset[kept] if isinstance(dataset, np.ndarray) else [dataset[place] for place in kept]


def size_of(dataset: Any) -> int:
    """Return the number of records of a dataset that `find_shared_records` takes."""
    return len(dataset[0] if is_labelled(dataset) else dataset)
