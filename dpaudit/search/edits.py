"""Edits of a dataset that somebody has: those that leaks tend to depend on.

A mechanism that looks at its data before it adds noise leaks through what is special about one
record: the largest, the only one of its kind, the last of its class, a duplicate, a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from numpy.random import Generator

from dpaudit.domains.columns import Integers, Numbers, ValueSet
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Record, Start, Unit
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.candidates import Candidate, Given
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.neighbours.records import Bounds, standing_out
from dpaudit.neighbours.tables import Relation
from dpaudit.search.space import PairSpace, UnitPair, space_of

_NUMBERS = (Integers, Numbers)


class Edit(NamedTuple):
    """A pair of a dataset and one that is edited, in words, and the cells given to a record."""

    words: str
    place: UnitPair
    given: Given | None = None


class _New(NamedTuple):
    words: str
    record: Record
    given: Given | None = None


def domain_around(
    dataset: Any,
    relation: Relation | str,
    *,
    bounds: Bounds | None = None,
    missing: bool = False,
) -> Domain:
    """Return the domain around a dataset: under add-remove one record more or fewer.

    Parameters
    ----------
    dataset
        An array, a table of pandas, a list, or features with labels.
    relation
        The relation of neighbours.
    bounds
        Of numbers: ``(low, high)``, or that by column.
    missing
        Whether numbers may be missing; where the dataset lacks one, they may.

    Raises
    ------
    InvalidArgument
        The dataset is nothing of the kind, or bounds are none.
    """
    domain = Domain(around=dataset, bounds=bounds, missing=missing)
    named, (count, _) = chosen_relation(relation), domain.sizes
    if named is None or named.name != "add-remove-record":
        return domain
    sizes = (count - 1, count + 1)
    return Domain(around=dataset, bounds=bounds, missing=missing, records=sizes)


def find_edited_neighbours(
    dataset: Any,
    relation: Relation | str,
    *,
    bounds: Bounds | None = None,
    nan: bool = False,
    most: int = 24,
    rng: Generator,
) -> list[Candidate]:
    """Return neighbours of a dataset, each by an edit that leaks tend to depend on.

    None has a number beyond its bounds, or beyond what the dataset holds where there are none.

    Parameters
    ----------
    dataset, relation, bounds
        As `domain_around` takes them.
    nan
        Whether a record may lack a number; where the dataset has NaN, it may.
    most
        How many at most; of those of one kind the first ones stay.
    rng
        Chooses the records where any would do.

    Raises
    ------
    InvalidArgument
        No such neighbours can be made of the dataset.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> made = find_edited_neighbours(np.array([1.0, 2.0, 9.0]), "add-remove-record", rng=rng)
    >>> made[0].edit, made[0].pair.neighbour
    ('the record with the largest value removed', array([1., 2.]))
    """
    space = space_of(domain_around(dataset, relation, bounds=bounds, missing=nan), relation)
    found, seen, count = list[Candidate](), set[Any](), len(space.starts[0])
    for edit in generate_edits(space, rng):
        # An added record makes the pair's first dataset the larger one, which is then the
        # edited one.
        grew = len(edit.place.units) > count
        key = value_key(edit.place.units if grew else edit.place.neighbour)
        # Numbers beyond those of the dataset are left out here: nobody said that they may
        # occur.
        if key in seen or edit.given == "beyond":
            continue
        seen.add(key)
        try:
            found.append(Candidate(space.orient_pair(edit.place), edit.words, edit.given))
        except (InvalidArgument, TypeError, ValueError, OverflowError):
            continue  # no such record can stand in such a dataset
    if not found:
        raise InvalidArgument(
            "dataset", VerbatimText("one without such neighbours"), "more records"
        )
    return found[:most]


def generate_edits(space: PairSpace, rng: Generator) -> Iterator[Edit]:
    """Yield edits of the dataset that somebody has, of old records and by new ones."""
    return chain(of_old(space, rng), of_new(space, rng))


def of_old(space: PairSpace, rng: Generator) -> Iterator[Edit]:
    """Yield edits of records that stand out: they go, or another's stands in their place."""
    start = space.layout.start
    if start is None:
        return
    if space.is_of_graphs:
        yield from _of_graph(space, start)
        return
    rows = [record for (record,) in start.units]
    numeric = [isinstance(column, _NUMBERS) for column in space.layout.columns]
    keys = () if space.removes else [value_key(unit) for unit in start.units]
    for what, place in standing_out(rows, numeric, space.layout.names):
        if space.removes:
            yield Edit(f"{what} removed", UnitPair(start.units, place, None))
            continue
        others = [n for n, key in enumerate(keys) if key != keys[place]]
        if others:
            other = start.units[int(rng.choice(others))]
            for made in space.replacements(start.units[place], (other,)):
                words = f"{_format_replaced_part(space)}{what} replaced by another's"
                yield Edit(words, UnitPair(start.units, place, made))
    if space.removes:
        place = int(rng.integers(len(rows)))
        yield Edit("a record removed", UnitPair(start.units, place, None))


def _of_graph(space: PairSpace, start: Start) -> Iterator[Edit]:
    """Yield edits of a graph: an edge is added or removed, or a node has all edges or none."""
    words = ("a node left without edges", "a node joined to all others")
    for place in start.order:
        if made := space.suggest_units(start.units, place):
            for word, unit in zip(words, made, strict=True):
                yield Edit(word, UnitPair(start.units, place, unit))
            continue
        ((is_there,),) = start.units[place]
        word = "an edge removed" if is_there else "an edge added"
        yield Edit(word, UnitPair(start.units, place, ((not is_there,),)))


def of_new(space: PairSpace, rng: Generator) -> Iterator[Edit]:
    """Yield edits by which there is a record that was not there."""
    start = space.layout.start
    if start is None or space.is_of_graphs:
        return
    place = int(rng.integers(len(start.units)))
    (base,) = start.units[place]
    for what, record, given in _generate_new_records(space, start, base):
        unit: Unit = (record,)
        if space.removes:
            units = (*start.units, unit)
            yield Edit(f"{what} added", UnitPair(units, len(start.units), None), given)
            continue
        for made in space.replacements(start.units[place], (unit,)):
            words = (
                f"{_format_replaced_part(space)}a record replaced by "
                f"{_format_replaced_part(space)}{what}"
            )
            yield Edit(words, UnitPair(start.units, place, made), given)


def _format_replaced_part(space: PairSpace) -> str:
    """Return the replaced part of a record, if it is not all of it."""
    parts = {"replace-label": "the label of ", "replace-cell": "a cell of "}
    return parts.get(space.relation.name, "")


def _generate_new_records(space: PairSpace, start: Start, base: Record) -> Iterator[_New]:
    """Yield a record at either bound, one beyond all records, and one with a cell changed."""
    layout = space.layout
    if any(start.ranges):
        yield _New("one at the upper bounds", _at_end(space, start, base, 1))
        yield _New("one at the lower bounds", _at_end(space, start, base, 0))
    for n, (name, column) in enumerate(zip(layout.names, layout.columns, strict=True)):
        if isinstance(column, ValueSet) and column.has_other:
            yield _New(
                f"one with another {name}",
                _replace_record_cell(base, n, column.values[-1]),
                "new value",
            )
        if column.missing:
            absent = math.nan if isinstance(column, _NUMBERS) else None
            yield _New(
                f"one without {name}", _replace_record_cell(base, n, absent), "missing value"
            )
    yield _New("a duplicate", base)
    for n, (name, column) in enumerate(zip(layout.names, layout.columns, strict=True)):
        if isinstance(column, Integers | Numbers) and not start.is_stated[n]:
            for value in (column.high, column.low):
                yield _New(
                    f"one with a {name} beyond the others",
                    _replace_record_cell(base, n, value),
                    "beyond",
                )


def _at_end(space: PairSpace, start: Start, base: Record, end: int) -> Record:
    """Return a record with all numbers at an end: the stated one, or that of the dataset."""
    made = base
    for n, column in enumerate(space.layout.columns):
        if isinstance(column, Integers | Numbers):
            found = start.ranges[n]
            ends = (column.low, column.high) if start.is_stated[n] or found is None else found
            made = _replace_record_cell(made, n, ends[end])
    return made


def _replace_record_cell(record: Record, place: int, value: Any) -> Record:
    return (*record[:place], value, *record[place + 1 :])
