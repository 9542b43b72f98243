"""Pairs that code is likely to treat apart: ends, ties, duplicates, single records, constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

from numpy.random import Generator

from dpaudit.domains.columns import Categories, Column, Dates, Integers, Numbers, value_at
from dpaudit.domains.layouts import Record, Unit
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.records import is_missing
from dpaudit.search.space import PairSpace, UnitPair

_ENDS = 2  # units that come first everywhere
_UNITS = 24
_COMBINED = 4
_RANDOM = 4
_EDITS = 6


def make_search_units(space: PairSpace, rng: Generator) -> list[Unit]:
    """Return units that are worth a try: all cells at one end, one cell that is special, random.

    Where records are those of datasets that somebody makes, units are those of them.
    """
    if space.layout.made:
        return _as_made(space)
    found = dict[Any, Unit]()
    random = (_draw_special_record(space, rng) for _ in range(_RANDOM))
    for record in chain(_generate_special_records(space), _odd_records(space), random):
        # A user with one record and one with as many as allowed: contributions are clipped
        # between the two.
        for count in dict.fromkeys((1, space.most_of_unit)):
            unit = (space.record(record),) * count
            found.setdefault(value_key(unit), unit)
    made = list(found.values())
    ends = 2 * _ENDS
    return [*made[:ends], *_of_different(made, space.most_of_unit), *made[ends:]]


def _as_made(space: PairSpace) -> list[Unit]:
    """Return the units of given datasets: of the least and greatest numbers first."""
    units = list({value_key(unit): unit for start in space.starts for unit in start}.values())
    ends = list[Unit]()
    for n, column in enumerate(space.layout.columns):
        if isinstance(column, Numbers | Integers):
            there = [(unit[0][n], k) for k, unit in enumerate(units) if not is_missing(unit[0][n])]
            ends += [units[place] for _, place in (min(there), max(there))]
    return list({id(unit): unit for unit in (*ends, *units)}.values())


def _generate_start_parts(space: PairSpace) -> Iterator[tuple[Unit, ...]]:
    """Yield datasets as they were given, then without their last or their first records."""
    yield from space.starts
    for size in choose_dataset_sizes(space):
        for start in space.starts:
            if len(start) > size:
                yield start[:size]
                yield start[-size:]


def _of_different(units: Sequence[Unit], most: int) -> Iterator[Unit]:
    """Yield units of several records, no two of them the same, as far as there are so many."""
    single = [unit[0] for unit in units if len(unit) == 1]
    if most > 1 and len(single) > 1:
        yield tuple(single[:most])
        yield tuple(single[-most:])


def _generate_special_records(space: PairSpace) -> Iterator[Record]:
    """Yield records: the first, second, ... special value of all columns, then one cell changed."""
    if len(space.special) == 1:
        yield from ((one,) for one in space.special[0])
        return
    for cells in zip_longest(*(column[:2] for column in space.special)):
        yield tuple(
            column[0] if cell is None and cell not in column else cell
            for cell, column in zip(cells, space.special, strict=True)
        )
    for this, other in ((0, 1), (1, 0)):  # one against the others
        yield from _generate_changed_records(space, this, other)
    for further in range(2, max(map(len, space.special))):
        yield from _generate_changed_records(space, 0, further)


def _odd_records(space: PairSpace) -> Iterator[Record]:
    """Yield a record of the last special values, missing where they may be, and one of thirds."""
    yield tuple(column[-1] for column in space.special)
    yield from _make_unit_at_share(space, 1 / 3)


def _generate_changed_records(space: PairSpace, of_all: int, of_one: int) -> Iterator[Record]:
    """Yield records of one special value each, of which one cell has another one."""
    base = tuple(column[min(of_all, len(column) - 1)] for column in space.special)
    for n, column in enumerate(space.special):
        if of_one < len(column):
            yield (*base[:n], column[of_one], *base[n + 1 :])


def _make_opposite_unit(space: PairSpace, unit: Unit) -> Unit:
    """Return a unit whose cells are at the other ends, where they are at ends."""
    return tuple(
        space.record(
            [
                _swap_end_cell(cell, column[:2])
                for cell, column in zip(record, space.special, strict=True)
            ]
        )
        for record in unit
    )


def _swap_end_cell(cell: Any, ends: tuple[Any, ...]) -> Any:
    keys = [value_key(one) for one in ends]
    return (
        ends[1 - keys.index(value_key(cell))] if len(ends) > 1 and value_key(cell) in keys else cell
    )


def _draw_special_record(space: PairSpace, rng: Generator) -> Record:
    return tuple(column[int(rng.integers(len(column)))] for column in space.special)


def choose_dataset_sizes(space: PairSpace) -> list[int]:
    """Return sizes of datasets that are worth a try."""
    low, high = space.fewest, space.sizes[1]
    middle = min(high, max(low, 3))
    return list(dict.fromkeys((middle, low, high, min(high, low + 1))))


def datasets(space: PairSpace, some: list[Unit], rng: Generator) -> Iterator[tuple[Unit, ...]]:
    """Yield datasets, those first that were given: of one value, of two, of all, at random."""
    if space.layout.made and not space.exchanges_records:
        yield from _generate_start_parts(space)
        return
    for one in space.starts:
        made = one[: space.sizes[1]]
        yield (*made, *some[:1] * (space.fewest - len(made)))  # such as has neighbours
    yield from space.layout.further
    ends = some[:_COMBINED]
    for size in choose_dataset_sizes(space):
        yield from ((one,) * size for one in ends)
        for one in ends[:3]:
            for other in ends[:3]:
                if one is not other and size > 1:
                    yield from _of_two(one, other, size)
        yield tuple(some[n * len(some) // size] for n in range(size))
        yield from _generate_ordered_datasets(space, size)
        for _ in range(_RANDOM):
            yield tuple(some[int(n)] for n in rng.integers(len(some), size=size))
        yield from ((one,) * size for one in some[_COMBINED:_UNITS])
        if size > 1:
            yield from _with_one_odd(ends, some[_COMBINED:_UNITS], size, len(space.special))


def _with_one_odd(
    ends: list[Unit], odd: list[Unit], size: int, columns: int
) -> Iterator[tuple[Unit, ...]]:
    """Yield datasets of one unit, or of two in equal shares, that have another in one place.

    Of one column, what stands where decides less: there it is the last place alone.
    """
    halves = (ends[0],) * ((size - 1) // 2) + (ends[1 % len(ends)],) * (size // 2)
    others = ((ends[0],) * (size - 1), halves, (ends[1 % len(ends)],) * (size - 1))
    where = [(size - 1, others[0])]
    if columns > 1:
        where = [(place, some) for some in others for place in (size - 1, size // 2, 0)]
    for n in range(max(len(odd), _UNITS if columns > 1 else 0) if odd else 0):
        place, some = where[(n + n // len(odd)) % len(where)]
        yield (*some[:place], odd[n % len(odd)], *some[place:])


def _of_two(one: Unit, other: Unit, size: int) -> Iterator[tuple[Unit, ...]]:
    quarters = (size // 4, size // 4 + 1, 3 * size // 4, 3 * size // 4 + 1)
    for count in dict.fromkeys((1, size // 2, size - 1, *quarters)):
        yield (other,) * count + (one,) * (size - count)


def generate_varied_dataset(space: PairSpace) -> Iterator[tuple[Unit, ...]]:
    """Yield a dataset of a middle size whose records differ from one another."""
    yield (
        space.starts[0]
        if space.layout.made
        else next(_generate_ordered_datasets(space, choose_dataset_sizes(space)[0]))
    )


def _generate_ordered_datasets(space: PairSpace, size: int) -> Iterator[tuple[Unit, ...]]:
    """Yield datasets whose records rise from end to end, and such as fall between the ends."""
    steps = [n / max(1, size - 1) for n in range(size)]
    inside = [(n + 1) / (size + 1) for n in reversed(range(size))]
    for shares in (steps, inside):
        yield tuple(_make_unit_at_share(space, share) for share in shares)
    for count in dict.fromkeys((size - 1, size - 2, size // 2 + 1, size // 2)):
        if 2 < count < size:  # so many different records
            yield tuple(
                _make_unit_at_share(space, steps[max(0, n - size + count)]) for n in range(size)
            )


def _make_unit_at_share(space: PairSpace, share: float) -> Unit:
    """Return the unit whose cells all are at a share of the way through their columns."""
    columns = zip(space.layout.columns, space.special, strict=True)
    return (
        space.record([_choose_cell_at_share(column, values, share) for column, values in columns]),
    )


def _choose_cell_at_share(column: Column, values: Sequence[Any], share: float) -> Any:
    if isinstance(column, Numbers | Integers | Dates | Categories):
        return value_at(column, share)
    return values[round(share * (len(values) - 1))]


def generate_pair_places(
    space: PairSpace, dataset: tuple[Unit, ...], some: list[Unit], number: int = 0
) -> Iterator[UnitPair]:
    """Yield pairs of a dataset: its odd unit, the first, middle, last or a further one differs.

    The further one is another for each dataset, by its number, and so are the first units that
    stand there after the ends: every place and every unit has its turn.
    """
    turn = _ENDS + 2 * number % max(1, len(some) - _ENDS)
    some = [*some[:_ENDS], *some[turn:], *some[_ENDS:turn]]
    seen, size = set[Any](), len(dataset)
    is_made = space.is_stated and number >= len(space.starts)
    first = [*_find_odd_unit(dataset), number % max(1, size), 0, size // 2, size - 1]
    further = range(size) if space.layout.made and space.removes else ()
    for place in dict.fromkeys((*first, *further)):
        if 0 <= place < size:
            opposite = (
                [_make_opposite_unit(space, dataset[place])] if len(space.special) > 1 else []
            )
            others = [*space.suggest_units(dataset, place), *opposite, *some]
            for new in space.replacements(dataset[place], others):
                key = (place, value_key(new))
                if key not in seen:
                    seen.add(key)
                    yield UnitPair(dataset, place, new, is_made)


def _find_odd_unit(dataset: tuple[Unit, ...]) -> list[int]:
    """Return the place of the unit that others hold in the fewest places, if it is one alone."""
    # By identity: datasets are made by repeating one object, and comparing records may be slow
    # or undefined for NaN.
    often = Counter(map(id, dataset))
    return [place for place, unit in enumerate(dataset) if often[id(unit)] == 1 < len(often)][:1]


def in_turn(
    space: PairSpace,
    some: list[Unit],
    rng: Generator,
    most: int,
    edited: Sequence[Iterator[UnitPair]] = (),
) -> Iterator[UnitPair]:
    """Yield pairs: of every dataset the first two, then of every one the next two, and so on.

    Those that were made of the dataset that somebody has come first, a few more at a time. Of no
    more datasets than ``most`` is any pair made.
    """
    made = enumerate(map(space.fitted, islice(datasets(space, some, rng), most)))
    waiting = [
        *((one, _EDITS) for one in edited),
        *((generate_pair_places(space, one, some, number), 2) for number, one in made),
    ]
    while waiting:
        left = []
        for one, count in waiting:
            taken = list(islice(one, count))
            yield from taken
            if len(taken) == count:
                left.append((one, count))
        waiting = left
