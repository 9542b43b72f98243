"""A domain and a relation as units of cells, and the pairs that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, cycle
from typing import Any, NamedTuple

from dpaudit.domains.columns import Column, ValueSet, is_allowed_in_column
from dpaudit.domains.domain import Domain
from dpaudit.domains.graphs import Frame, by_edge, by_node, frame_beside
from dpaudit.domains.layouts import USER, Record, RecordLayout, Unit, of_user
from dpaudit.domains.relations import GRAPH_RELATIONS, REMOVING, WHOLE, relation_in, require_records
from dpaudit.domains.special import special_values
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.found_relations import REPLACE_NODE, DeclaredRelation
from dpaudit.neighbours.metrics import Metric
from dpaudit.neighbours.records import Ends, is_missing, records_of
from dpaudit.neighbours.tables import Pair, Relation


class UnitPair(NamedTuple):
    """A pair: units, the place in which the neighbour differs, and its unit there.

    ``new`` is None where the neighbour lacks the unit. ``is_made`` says that every value follows
    from what somebody states and from code, and none from records.
    """

    units: tuple[Unit, ...]
    place: int
    new: Unit | None
    is_made: bool = False

    @property
    def neighbour(self) -> tuple[Unit, ...]:
        """The units of the neighbour."""
        rest = () if self.new is None else (self.new,)
        return (*self.units[: self.place], *rest, *self.units[self.place + 1 :])


@dataclass(frozen=True)
class PairSpace:
    """The space in which a search looks for pairs.

    Parameters
    ----------
    layout, sizes
        How units become a dataset, and the fewest and the most of them.
    relation
        The relation of neighbours.
    starts
        Datasets that were given or made, as units.
    special
        Values of each column that are worth a try.
    most_of_unit
        Records that a unit holds at most.
    is_bounded
        Whether somebody says how large numbers may be.
    is_of_records
        Whether datasets are like those of somebody, whose records nobody else is to see.
    plain
        Keys of the values that nobody's records tell; None where all special ones are such.
    records
        Of users: the fewest and the most records of all of them together.
    """

    layout: RecordLayout
    sizes: tuple[int, int]
    relation: Relation
    starts: tuple[tuple[Unit, ...], ...]
    special: tuple[tuple[Any, ...], ...]
    most_of_unit: int = 1
    is_bounded: bool = True
    is_of_records: bool = False
    plain: tuple[frozenset[Any], ...] | None = None
    records: tuple[int, int] | None = None

    @property
    def removes(self) -> bool:
        """Whether a neighbour lacks a unit, in place of having another one."""
        return self.relation.name in REMOVING

    @property
    def is_of_graphs(self) -> bool:
        """Whether datasets are graphs."""
        return self.relation.name in GRAPH_RELATIONS

    @property
    def is_stated(self) -> bool:
        """Whether special values follow from somebody's statements, and from no record."""
        start = self.layout.start
        return start is not None and start.is_of_bounds and not start.tells

    def is_nobodys(self, place: UnitPair) -> bool:
        """Whether a pair holds no value that follows from records of somebody."""
        if self.is_of_records and not place.is_made:
            return False
        if self.plain is None:
            return True
        new = () if place.new is None else (place.new,)
        rows = [record for unit in (*place.units, *new) for record in unit]
        return all(
            value_key(cell) in known
            for record in rows
            for cell, known in zip(record, self.plain, strict=True)
        )

    def is_beyond(self, place: UnitPair) -> bool:
        """Whether a pair holds a number or a value that nobody says there may be.

        Beside a dataset it is one outside of what records of the dataset hold.
        """
        start = self.layout.start
        if start is None:
            return not self.is_bounded
        new = () if place.new is None else (place.new,)
        records = [record for unit in (*place.units, *new) for record in unit]
        return any(
            _goes_beyond([record[n] for record in records], column, start.ranges[n])
            for n, column in enumerate(self.layout.columns)
            if not start.is_stated[n]
        )

    @property
    def fewest(self) -> int:
        """The fewest units of the larger dataset: its neighbour, too, has as many as it may."""
        low, high = self.sizes
        return max(1, low + 1 if self.removes and low < high else low)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns in which a neighbour's unit may differ."""
        labels, name = self.layout.labels, self.relation.name
        if name == "replace-label" and labels is not None:
            return (labels,)
        every = range(len(self.special))
        return tuple(n for n in every if name != "replace-cell" or n != labels)

    def replacements(self, unit: Unit, others: Sequence[Unit]) -> Iterator[Unit | None]:
        """Yield a neighbour's possible units in place of one: of others, as the relation allows."""
        if self.removes:
            # A user without records: the numbers of the others stay.
            yield () if self.relation.name == "add-remove-user" else None
            return
        name = self.relation.name
        for other in others:
            made = other if name in WHOLE else self._with_one_cell(unit, other)
            if value_key(made) != value_key(unit):
                yield made

    def suggest_units(self, dataset: Sequence[Unit], place: int) -> Sequence[Unit]:
        """Return units that are worth a try in a place because of the units in the others."""
        made = self.layout.beside
        return () if made is None else made(dataset, place)

    def _with_one_cell(self, unit: Unit, other: Unit) -> Unit:
        """Return a unit with one cell of another: the first that differs and may."""
        (record,), (there,) = unit, other
        for n in self.columns:
            if value_key(record[n]) != value_key(there[n]):
                return (self.layout.with_cell(record, n, there[n]),)
        return unit

    def neighbour(self, place: UnitPair) -> Any:
        """Return the neighbour, whose rows keep their labels where the dataset's have some."""
        if self.layout.start is None:
            return self.layout.build(place.neighbour)
        without = place.place if place.new is None else None
        return self.layout.build(place.neighbour, without)

    def allows(self, place: UnitPair) -> bool:
        """Return whether both datasets of a pair are of the domain."""
        if self.layout.made:
            return self._are_as_many(place) and self._is_as_made(place)
        new = () if place.new is None else (place.new,)
        units = {id(unit): unit for unit in (*place.units, *new)}
        return self._are_as_many(place) and all(
            self._holds(unit) for key, unit in units.items() if key not in self._given
        )

    @cached_property
    def _given(self) -> frozenset[int]:
        """The units of datasets that were held to the domain when they were read."""
        return frozenset(id(unit) for units in self.starts for unit in units)

    @cached_property
    def _keys(self) -> frozenset[Any]:
        """The same by their values: a pair may come from another process."""
        return frozenset(value_key(unit) for units in self.starts for unit in units)

    def _are_as_many(self, place: UnitPair) -> bool:
        """Return whether a pair has as many units, or records, as there may be on both sides."""
        low, high = self.sizes
        if isinstance(self.relation, Metric):
            return all(low <= len(unit) <= high for unit in (*place.units, place.new or ()))
        if self.records is not None:
            return self._hold_as_many(place, *self.records)
        more = len(place.units)
        if place.new is None and low == high:  # a dataset, and one of a record more or fewer
            return more in (low, low + 1)
        return low <= more - (place.new is None) and more <= high

    def _hold_as_many(self, place: UnitPair, low: int, high: int) -> bool:
        """Return whether users of both sides hold as many records as there may be, together."""
        here, there = (sum(map(len, side)) for side in (place.units, place.neighbour))
        least = 0 if self.removes and low == high else low  # a dataset, and one without a user
        return low <= here <= high and least <= there <= high

    def fitted(self, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Return users with as many records as there may be: some are left out, or one has more."""
        if self.records is None or not units:
            return units
        (low, high), made, count = self.records, list[Unit](), 0
        repeated = cycle(one for one in units if one)
        for unit in chain(units, repeated):
            if (count >= low and len(made) >= len(units)) or count >= high:
                break
            made.append(unit[: high - count])
            count += len(made[-1])
        return tuple(made)

    def _is_as_made(self, place: UnitPair) -> bool:
        """Return whether a pair is of datasets that somebody makes, but for the unit that differs.

        Records that replace others are whole ones of such datasets, in any place. Otherwise a
        dataset is one of them, without some of its records at most.
        """
        new = () if place.new is None else (place.new,)
        if self.exchanges_records:
            units = {id(unit): unit for unit in (*place.units, *new)}
            return all(
                key in self._given or value_key(unit) in self._keys for key, unit in units.items()
            )
        if not any(_is_part(place.units, start) for start in self.starts):
            return False
        return not place.new or self._has_another_cell(place.units[place.place], place.new)

    @property
    def exchanges_records(self) -> bool:
        """Whether neighbours have another whole record, or are any two datasets."""
        return isinstance(self.relation, Metric) or self.relation.name in WHOLE

    def _has_another_cell(self, unit: Unit, new: Unit) -> bool:
        """Return whether a unit is another but for one cell, which some record has there."""
        (record,), (other,) = unit, new
        changed = [n for n in range(len(record)) if value_key(record[n]) != value_key(other[n])]
        if len(changed) != 1 or changed[0] not in self.columns:
            return False
        rows = (row for start in self.starts for ((*row,),) in start)
        return any(value_key(row[changed[0]]) == value_key(other[changed[0]]) for row in rows)

    def _holds(self, unit: Unit) -> bool:
        """Return whether a unit is one of the domain: the units of a given dataset are."""
        if len(unit) > self.most_of_unit and not isinstance(self.relation, Metric):
            return False
        return all(self.layout.holds(record) or self._is_seen(record) for record in unit)

    def _is_seen(self, record: Record) -> bool:
        """Return whether the dataset beside which pairs are made holds all that is beyond."""
        start = self.layout.start
        return start is not None and all(
            is_allowed_in_column(column, cell) or (not is_stated and value_key(cell) in known)
            for column, cell, is_stated, known in zip(
                self.layout.columns, record, start.is_stated, start.keys, strict=True
            )
        )

    def pair(self, place: UnitPair) -> Pair[Any]:
        """Return the two datasets of a pair, which checks itself.

        Raises
        ------
        InvalidArgument
            They are not of the domain, or no neighbours.
        """
        if not self.allows(place):
            raise InvalidArgument(
                "pair", VerbatimText("one beyond the domain"), "two datasets of it"
            )
        return Pair(self.layout.build(place.units), self.neighbour(place), self.relation)

    def orient_pair(self, place: UnitPair) -> Pair[Any]:
        """Return the pair so that the dataset that somebody has stands first where it is in it."""
        pair, start = self.pair(place), self.layout.start
        grew = start is not None and len(place.units) > len(start.units)
        return pair.swapped() if grew else pair

    def record(self, cells: Sequence[Any]) -> Record:
        """Return a record that the domain allows."""
        return self.layout.allowed(tuple(cells))


def _is_part(units: Sequence[Unit], of: Sequence[Unit]) -> bool:
    """Return whether units are those of a dataset, in their order, without some at most."""
    left = iter(of)
    return all(
        any(unit is one or value_key(unit) == value_key(one) for one in left) for unit in units
    )


def _goes_beyond(cells: Sequence[Any], column: Column, found: Ends | None) -> bool:
    """Return whether a column holds a value that no record of the dataset has."""
    present = [one for one in cells if not is_missing(one)]
    if found is not None:
        return any(not found[0] <= one <= found[1] for one in present)
    known = (
        column.values[: -1 if column.has_other else None] if isinstance(column, ValueSet) else ()
    )
    return not {*map(value_key, present)} <= {*map(value_key, known)}


def space_of(
    domain: Domain,
    relation: Relation | str,
    *,
    dataset: Any = None,
    constants: Sequence[Any] = (),
    written: Sequence[Any] | None = None,
) -> PairSpace:
    """Return where pairs of a domain are looked for.

    Parameters
    ----------
    domain, relation
        What datasets may be, and what makes two of them neighbours.
    dataset
        Where the search starts, if one is given.
    constants, written
        That code compares with, and such of them as somebody wrote; all by default.

    Raises
    ------
    InvalidArgument
        The dataset is not of the domain, or no neighbours can be made under the relation.
    """
    named = relation_in(domain, relation)
    if (frame := domain.frame) is not None:
        return _space_of_graphs(frame, named, dataset)
    user = named.user if isinstance(named, DeclaredRelation) else None
    layout = of_user(domain.layout, user)
    starts = list(layout.made)
    if layout.start is not None:
        starts = [layout.start.units]
    if dataset is not None:
        starts = [_require_domain_units(domain, layout, dataset, user), *starts]
    special = tuple(tuple(special_values(column, constants)) for column in layout.columns)
    return PairSpace(
        layout,
        _compute_unit_sizes(domain),
        named,
        tuple(starts),
        special,
        domain.users or 1,
        domain.is_bounded,
        bool(starts) or domain.of_records,
        _find_plain_value_keys(layout, special, written),
        None if domain.users is None else domain.sizes,
    )


def _compute_unit_sizes(domain: Domain) -> tuple[int, int]:
    """Return the fewest and the most units: users of whom nobody says how many are some."""
    if domain.users is None:
        return domain.sizes
    low, high = domain.sizes
    return -(-low // domain.users), high if domain.records is not None else high // domain.users


def _space_of_graphs(frame: Frame, relation: Relation, dataset: Any) -> PairSpace:
    """Return where pairs of graphs are looked for: that is given, or among all on some nodes."""
    if dataset is not None:
        frame = frame_beside(frame.count, dataset)
    layout = (by_node if relation == REPLACE_NODE else by_edge)(frame)
    size = frame.count if relation == REPLACE_NODE else len(frame.ends)
    starts = () if layout.start is None else (layout.start.units,)
    special = tuple(tuple(special_values(column, ())) for column in layout.columns)
    return PairSpace(layout, (size, size), relation, starts, special, is_of_records=bool(starts))


def _find_plain_value_keys(
    layout: RecordLayout, special: Sequence[Sequence[Any]], written: Sequence[Any] | None
) -> tuple[frozenset[Any], ...] | None:
    """Return the special values that no object holds, by their keys; None if all are such."""
    if written is None:
        return None
    keys = [frozenset(map(value_key, special_values(one, written))) for one in layout.columns]
    if all(set(map(value_key, some)) <= known for some, known in zip(special, keys, strict=True)):
        return None
    return tuple(keys)


def space_apart(
    domain: Domain,
    metric: Metric,
    *,
    dataset: Any = None,
    constants: Sequence[Any] = (),
    written: Sequence[Any] | None = None,
) -> PairSpace:
    """Return where pairs of any two datasets are looked for: the one unit is a whole dataset.

    Its ``sizes`` are those of a dataset, in records; the others are as `space_of` takes them.

    Raises
    ------
    InvalidArgument
        The dataset is not of the domain, or its datasets are no sequences of records.
    """
    require_records(domain)
    layout = domain.layout
    starts = list(layout.made)
    if dataset is not None:
        starts = [_require_domain_units(domain, layout, dataset), *starts]
    build = layout.build
    whole = replace(layout, build=lambda units: build([(record,) for record in units[0]]))
    special = tuple(tuple(special_values(column, constants)) for column in layout.columns)
    return PairSpace(
        whole,
        domain.sizes,
        metric,
        tuple((tuple(chain.from_iterable(one[: domain.sizes[1]])),) for one in starts),
        special,
        is_bounded=domain.is_bounded,
        is_of_records=bool(starts) or domain.of_records,
        plain=_find_plain_value_keys(layout, special, written),
    )


def _convert_to_units(dataset: Any) -> tuple[Unit, ...]:
    """Return the records of a dataset as units of one."""
    return tuple((tuple(row),) for row in records_of(dataset).rows)


def _by_user(dataset: Any, user: str, most: int, names: Sequence[Any]) -> tuple[Unit, ...]:
    """Return the records of a table by whose they are, at most so many of each, as units."""
    found = records_of(dataset)
    known = [str(name) for name in found.names]
    if sorted(known) != sorted([user, *map(str, names)]):
        expected = f"a table of the columns {', '.join([user, *map(str, names)])}"
        raise InvalidArgument("dataset", VerbatimText(f"columns {', '.join(known)}"), expected)
    whose, places = known.index(user), [known.index(str(name)) for name in names]
    units = dict[Any, list[Record]]()
    for row in found.rows:
        record = tuple(row[place] for place in places)
        units.setdefault(value_key(row[whose]), []).append(record)
    if (largest := max(map(len, units.values()), default=0)) > most:
        given = VerbatimText(f"a user with {largest} records")
        raise InvalidArgument("dataset", given, f"at most {most} of a user, as the domain says")
    return tuple(map(tuple, units.values()))


def _require_domain_units(
    domain: Domain, layout: RecordLayout, dataset: Any, user: str | None = None
) -> tuple[Unit, ...]:
    """Return a dataset as units, or refuse one that is not of the domain."""
    if domain.users is not None:
        units = _by_user(dataset, user or USER, domain.users, layout.names)
    else:
        units = (((dataset,),),) if domain.form == "value" else _convert_to_units(dataset)
    (low, high), count = domain.sizes, sum(map(len, units))
    if domain.records is not None and not low <= count <= high:
        raise InvalidArgument(
            "dataset", VerbatimText(f"{count} records"), f"what the domain allows: {low} to {high}"
        )
    widths = {len(record) for unit in units for record in unit}
    if not widths <= {len(layout.columns)}:
        expected = f"records of {len(layout.columns)}, as the domain says"
        raise InvalidArgument("dataset", VerbatimText(f"records of {max(widths)} values"), expected)
    for name, column, cells in zip(
        layout.names, layout.columns, _transpose_unit_records(units), strict=False
    ):
        if not all(is_allowed_in_column(column, one) for one in cells):
            expected = "values that the domain allows"
            expected += "" if domain.of_records else f" ({column})"
            raise InvalidArgument(
                "dataset", VerbatimText(f"other values in column {name!r}"), expected
            )
    return tuple(tuple(_as_long(layout, record) for record in unit) for unit in units)


def _as_long(layout: RecordLayout, record: Record) -> Record:
    """Return a record of a dataset, or refuse one longer than rounding of its maker explains."""
    if layout.holds(record):
        return record
    if math.hypot(*map(float, record[: layout.labels])) > layout.longest:
        expected = f"records of a length of at most {layout.norm:g}, as the domain says"
        raise InvalidArgument("dataset", VerbatimText("a longer record"), expected)
    return layout.allowed(record)


def _transpose_unit_records(units: Sequence[Unit]) -> Iterator[tuple[Any, ...]]:
    return zip(*(record for unit in units for record in unit), strict=True)
