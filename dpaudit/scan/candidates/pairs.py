"""The pairs that a subject is tried on: all settings, datasets, relations and edits.

Pairs belong to families by what was done to a record. Each family is certified apart, so that what
one of them shows (a missing value makes everything NaN) hides nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from numpy.random import default_rng

from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.package import Parameters, Subject
from dpaudit.neighbours import Pair
from dpaudit.neighbours.candidates import Candidate as Edited
from dpaudit.neighbours.candidates import Given
from dpaudit.neighbours.found_relations import DeclaredRelation, are_readable
from dpaudit.neighbours.smaller import size_of
from dpaudit.neighbours.tables import relation as relation_called
from dpaudit.scan.reproduction.values import format_expression
from dpaudit.search.edits import find_edited_neighbours

Family = Literal["ordinary", "new value", "missing value", "few records"]
FAMILIES: tuple[Family, ...] = ("ordinary", "new value", "missing value", "few records")
_FEW = 1  # records, on the smaller side


@dataclass(frozen=True, eq=False)
class SubjectCandidate:
    """A pair of a subject with one setting.

    Parameters
    ----------
    setting
        The place of its parameters among the subject's.
    group
        Which dataset it was made of: candidates of one group share their first dataset.
    stated
        Whether the card states it.
    given
        Of one that was made: what a record was given that no other has.
    """

    setting: int
    group: int
    pair: Pair[Any]
    relation: str
    edit: str
    stated: bool = False
    given: Given | None = None

    @property
    def family(self) -> Family:
        """The change of a record."""
        if self.given == "missing value":
            return "missing value"
        if min(map(size_in_records, (self.pair.dataset, self.pair.neighbour))) <= _FEW:
            return "few records"
        return "new value" if self.given == "new value" else "ordinary"


def size_in_records(dataset: Any) -> int:
    """Return how many records a dataset has, more than few where nobody knows."""
    try:
        return size_of(dataset)
    except (TypeError, IndexError):
        return _FEW + 1


def make_subject_pairs(subject: Subject, seed: int, *, most: int) -> list[SubjectCandidate]:
    """Return the pairs of a subject, without those that say the same.

    Parameters
    ----------
    subject
        What the card says.
    seed
        Of the scan; it chooses records where any would do.
    most
        How many are made of one dataset under one relation.

    Raises
    ------
    InvalidArgument
        None can be made of any dataset.
    """
    found, seen = list[SubjectCandidate](), set[tuple[int, str, str, str]]()
    for one in _generate_candidates(subject, seed, most):
        # Two edits may lead to the same neighbour; each pair that is kept costs outputs, and a
        # repeated one shows nothing new.
        key = (
            one.setting,
            one.relation,
            _format_dataset_key(one.pair.dataset),
            _format_dataset_key(one.pair.neighbour),
        )
        if key not in seen and _is_candidate_allowed(subject, one):
            seen.add(key)
            found.append(one)
    if not found:
        expected = "at least one of which neighbours can be made"
        raise InvalidArgument(f"datasets of {subject.name}", len(subject.parameters), expected)
    return found


def _is_candidate_allowed(subject: Subject, one: SubjectCandidate) -> bool:
    """Return whether the documentation allows both datasets."""
    parameters = subject.parameters[one.setting]
    return all(subject.allows(data, parameters) for data in (one.pair.dataset, one.pair.neighbour))


def _format_dataset_key(dataset: Any) -> str:
    return format_expression(dataset)


def _generate_candidates(subject: Subject, seed: int, most: int) -> Iterator[SubjectCandidate]:
    group = 0
    for setting, parameters in enumerate(subject.parameters):
        for place, dataset in enumerate(subject.datasets_of(parameters)):
            for relation in subject.relations:
                named = (subject.name, str(setting), str(place), relation)
                # A stream for each dataset and relation: another setting that is added to a
                # card leaves the pairs of the others as they are.
                rng = default_rng(stream(seed, "pairs", *named))
                for one in _generate_dataset_edits(
                    subject, parameters, dataset, relation, most, rng
                ):
                    yield SubjectCandidate(
                        setting, group, one.pair, relation, one.edit, given=one.given
                    )
            group += 1
        for given in subject.pairs_of(parameters):
            if given.relation not in subject.relations:  # of which the hypotheses are counted
                expected = f"one of the relations of {subject.name}: {', '.join(subject.relations)}"
                raise InvalidArgument("relation of a pair", given.relation, expected)
            pair = _make_card_pair(given.dataset, given.neighbour, given.relation)
            yield SubjectCandidate(setting, group, pair, given.relation, given.edit, stated=True)
            group += 1


def _generate_dataset_edits(
    subject: Subject, parameters: Parameters, dataset: Any, relation: str, most: int, rng: Any
) -> Iterator[Edited]:
    """Yield the edits of one dataset; nothing where none can be made."""
    bounds = subject.bounds_of(parameters)
    try:
        found = find_edited_neighbours(
            dataset, relation, bounds=bounds, nan=subject.nan, most=most, rng=rng
        )
    except InvalidArgument:
        return
    yield from found


def _make_card_pair(dataset: Any, neighbour: Any, relation: str) -> Pair[Any]:
    """Return a pair of the card; of data that are no records its relation is the card's word."""
    try:
        return Pair(dataset, neighbour, relation_called(relation))
    except InvalidArgument:
        if are_readable(dataset, neighbour):
            raise
        declared = DeclaredRelation(relation, f"{relation}, as the card says", _no_difference)
        return Pair(dataset, neighbour, declared)


def _no_difference(one: object, other: object) -> int:
    return 0
