"""Ascent from the best pairs: a unit at a time, groups of units, and the neighbour's unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy.random import Generator

from dpaudit.domains.columns import Booleans, Integers, Numbers
from dpaudit.domains.layouts import Unit
from dpaudit.search.showing import PairSignal
from dpaudit.search.space import PairSpace, UnitPair

Judge = Callable[[UnitPair], PairSignal]
_STEPS = (0.5, 0.25, 0.1, 0.01)
_TRIED = 8  # special units in each place
_MORE = 1e-9  # that a step has to gain, relatively


def climb_from_pair(
    space: PairSpace,
    start: UnitPair,
    seen: PairSignal,
    some: Sequence[Unit],
    judge: Judge,
    is_over: Callable[[], bool],
    rng: Generator,
) -> tuple[UnitPair, PairSignal]:
    """Return the best pair that steps from one lead to, and its signal.

    Parameters
    ----------
    space, start, seen
        Where, from where, and what was seen there.
    some
        Units that are worth a try.
    judge, is_over
        What says how much a pair shows, and whether it may be asked no more.
    rng
        Chooses groups.
    """
    best, found, gained = start, seen, True
    while gained and not is_over():
        gained = False
        for step in _generate_climbing_steps(space, best, some, rng):
            if is_over():
                break
            now = judge(step)
            # A step that gains no more than rounding would be taken to and fro.
            if now.size > found.size * (1 + _MORE):
                best, found, gained = step, now, True
    return best, found


def _generate_climbing_steps(
    space: PairSpace, at: UnitPair, some: Sequence[Unit], rng: Generator
) -> Iterator[UnitPair]:
    """Yield pairs near one: other sizes, groups, one unit at a time, another neighbour."""
    yield from _generate_resized_pairs(space, at)
    yield from _generate_group_pairs(at, some, rng)
    special = [*space.suggest_units(at.units, at.place), *some[:_TRIED]]
    for new in space.replacements(
        at.units[at.place], [*special, *_generate_near_units(space, at.new)]
    ):
        yield at._replace(new=new)
    for place in range(len(at.units)):
        for unit in (*some[:_TRIED], *_generate_near_units(space, at.units[place])):
            made = at._replace(units=(*at.units[:place], unit, *at.units[place + 1 :]))
            if place != at.place:
                yield made
            else:
                yield from (
                    made._replace(new=n) for n in _generate_kept_neighbours(space, unit, at.new)
                )


def _generate_kept_neighbours(
    space: PairSpace, unit: Unit, new: Unit | None
) -> Iterator[Unit | None]:
    """Yield the neighbour's own values, if it still differs as the relation allows."""
    return space.replacements(unit, () if new is None else (new,))


def _generate_group_pairs(at: UnitPair, some: Sequence[Unit], rng: Generator) -> Iterator[UnitPair]:
    """Yield pairs in which all other units are one, or a random half of them."""
    for unit in some[:_TRIED]:
        others = (unit,) * len(at.units)
        yield at._replace(units=(*others[: at.place], at.units[at.place], *others[at.place + 1 :]))
        chosen = rng.random(len(at.units)) < 0.5
        yield at._replace(
            units=tuple(
                unit if take and n != at.place else was
                for n, (was, take) in enumerate(zip(at.units, chosen, strict=True))
            )
        )


def _generate_resized_pairs(space: PairSpace, at: UnitPair) -> Iterator[UnitPair]:
    """Yield pairs with one unit fewer or more, and with as few or as many as there may be."""
    low, high = space.fewest, space.sizes[1]
    rest = (*at.units[: at.place], *at.units[at.place + 1 :])
    for size in dict.fromkeys((len(at.units) - 1, len(at.units) + 1, low, high)):
        if low <= size <= high and size != len(at.units):
            # The unit that differs stays, and the others are repeated or cut to the size.
            kept = (rest * math.ceil(size / max(1, len(rest))))[: size - 1] if rest else ()
            fill = (at.units[at.place],) * (size - 1 - len(kept))
            yield at._replace(units=(at.units[at.place], *kept, *fill), place=0)


def _generate_near_units(space: PairSpace, unit: Unit | None) -> Iterator[Unit]:
    """Yield units one cell of which is a step up or down."""
    if not unit:
        return
    record = unit[0]
    for n, (cell, column) in enumerate(zip(record, space.layout.columns, strict=True)):
        for value in _generate_stepped_cells(cell, column):
            made = space.record((*record[:n], value, *record[n + 1 :]))
            yield (made,) * len(unit)


def _generate_stepped_cells(cell: Any, column: Any) -> Iterator[Any]:
    if isinstance(column, Booleans) and isinstance(cell, bool):
        yield not cell
    # NaN has no step up or down.
    if not isinstance(column, Integers | Numbers) or cell is None or cell != cell:
        return
    for step in _STEPS:
        width = step * (column.high - column.low)
        for value in (cell - width, cell + width):
            inside = min(max(value, column.low), column.high)
            made = round(inside) if isinstance(column, Integers) else float(inside)
            if made != cell:
                yield made
