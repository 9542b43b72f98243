"""Pairs that code is likely to treat apart: ends, ties, duplicates, single records, constants."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

from numpy.random import Generator

from dpaudit.domains.layouts import Record, Unit
from dpaudit.neighbours.cells import value_key
from dpaudit.search.space import Place, Space

_UNITS, _COMBINED, _RANDOM = 24, 4, 4


def units(space: Space, rng: Generator) -> list[Unit]:
    """Return units that are worth a try: all cells at one end, one cell that is special, random."""
    found = dict[Any, Unit]()
    for record in chain(_records(space), (_random(space, rng) for _ in range(_RANDOM))):
        for count in dict.fromkeys((1, space.most_of_unit)):
            unit = (space.record(record),) * count
            found.setdefault(value_key(unit), unit)
    return list(found.values())


def _records(space: Space) -> Iterator[Record]:
    """Yield records: the first, second, ... special value of all columns, then one cell changed."""
    if len(space.special) == 1:
        yield from ((one,) for one in space.special[0])
        return
    for cells in zip_longest(*(column[:2] for column in space.special)):
        yield tuple(
            column[0] if cell is None and cell not in column else cell
            for cell, column in zip(cells, space.special, strict=True)
        )
    base = tuple(column[0] for column in space.special)
    for n, column in enumerate(space.special):
        for value in column[1:]:
            yield (*base[:n], value, *base[n + 1 :])


def _random(space: Space, rng: Generator) -> Record:
    return tuple(column[int(rng.integers(len(column)))] for column in space.special)


def sizes(space: Space) -> list[int]:
    """Return sizes of datasets that are worth a try."""
    low, high = space.sizes
    if space.removes:
        low = max(1, low)
    middle = min(high, max(low, 3))
    return list(dict.fromkeys((middle, low, high, min(high, low + 1))))


def datasets(space: Space, some: list[Unit], rng: Generator) -> Iterator[tuple[Unit, ...]]:
    """Yield datasets, those first that were given: of one value, of two, of all, at random."""
    yield from (one[: space.sizes[1]] for one in space.starts)
    ends = some[:_COMBINED]
    for size in sizes(space):
        yield from ((one,) * size for one in ends)
        for one in ends[:3]:
            for other in ends[:3]:
                if one is not other and size > 1:
                    yield from _of_two(one, other, size)
        yield tuple(some[n * len(some) // size] for n in range(size))
        for _ in range(_RANDOM):
            yield tuple(some[int(n)] for n in rng.integers(len(some), size=size))
        yield from ((one,) * size for one in some[_COMBINED:_UNITS])
        if size > 1:
            yield from ((*((ends[0],) * (size - 1)), one) for one in some[_COMBINED:_UNITS])


def _of_two(one: Unit, other: Unit, size: int) -> Iterator[tuple[Unit, ...]]:
    quarters = (size // 4, size // 4 + 1, 3 * size // 4, 3 * size // 4 + 1)
    for count in dict.fromkeys((1, size // 2, size - 1, *quarters)):
        yield (other,) * count + (one,) * (size - count)


def places(
    space: Space, dataset: tuple[Unit, ...], some: list[Unit], number: int = 0
) -> Iterator[Place]:
    """Yield pairs of a dataset: the unit in the first, middle, last or one further place differs.

    The further one is another for each dataset, by its number: so every place has its turn.
    """
    seen, size = set[Any](), len(dataset)
    for place in dict.fromkeys((number % max(1, size), 0, size // 2, size - 1)):
        if 0 <= place < size:
            for new in space.replacements(dataset[place], some):
                key = (place, value_key(new))
                if key not in seen:
                    seen.add(key)
                    yield Place(dataset, place, new)


def in_turn(space: Space, some: list[Unit], rng: Generator) -> Iterator[Place]:
    """Yield pairs: of every dataset the first two, then of every one the next two, and so on."""
    made = enumerate(datasets(space, some, rng))
    waiting = [places(space, one, some, number) for number, one in made]
    while waiting:
        left = []
        for one in waiting:
            taken = list(_take(one, 2))
            yield from taken
            if len(taken) == 2:
                left.append(one)
        waiting = left


def _take(items: Iterator[Place], count: int) -> Iterator[Place]:
    for _ in range(count):
        try:
            yield next(items)
        except StopIteration:
            return
