"""Shrinking of a pair to fewer and simpler records that show as much.

Records that both datasets have are left out, a half, a quarter, ... at a time; those that stay
become one, or the simplest that there is: 0, an end, a whole number, one of few digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dpaudit.domains.columns import Column, Integers, Numbers
from dpaudit.domains.layouts import Unit
from dpaudit.neighbours.cells import value_key
from dpaudit.search.space import PairSpace, UnitPair

_DIGITS = (0, 1, 2)
_NUMBERS = (Integers, Numbers)
_Enough = Callable[[UnitPair], bool]


def reduce_to_fewest(
    kept: list[int],
    is_enough: Callable[[list[int]], bool],
    is_over: Callable[[], bool] = lambda: False,
) -> list[int]:
    """Return as few of some numbers as are enough, as far as one looks (delta debugging).

    Parameters
    ----------
    kept
        Numbers that are enough.
    is_enough, is_over
        Whether some of them are, and whether it may be asked no more.

    Examples
    --------
    >>> reduce_to_fewest(list(range(8)), lambda some: {2, 5} <= set(some))
    [2, 5]
    """
    parts = 2
    while len(kept) > 1 and parts <= len(kept) and not is_over():
        found = next((one for one in _without_a_part(kept, parts) if is_enough(one)), None)
        if found is not None:
            kept, parts = found, max(2, parts - 1)
        elif parts == len(kept):
            break
        else:
            parts = min(len(kept), 2 * parts)
    return kept


def _without_a_part(kept: list[int], parts: int) -> Iterator[list[int]]:
    """Yield the rest without each of so many parts of it."""
    size = -(-len(kept) // parts)
    for start in range(0, len(kept), size):
        yield kept[:start] + kept[start + size :]


def shrink_pair(
    space: PairSpace, place: UnitPair, is_enough: _Enough, is_over: Callable[[], bool]
) -> UnitPair:
    """Return a pair of fewer and simpler records that is enough.

    Parameters
    ----------
    space, place
        Where pairs are, and one of them.
    is_enough, is_over
        Whether a pair shows as much, and whether it may be asked no more.
    """
    best = _of_fewer(space, place, is_enough, is_over)
    for options in (_generate_alike_pairs, _simpler_unit, _simpler_new):
        for n in range(1 if options is _generate_alike_pairs else len(best.units)):
            made: UnitPair | None = best
            while made is not None:
                best = made
                others = (one for one in options(space, best, n) if one != best)
                made = next((one for one in others if not is_over() and is_enough(one)), None)
    return best


def _of_fewer(
    space: PairSpace, at: UnitPair, is_enough: _Enough, is_over: Callable[[], bool]
) -> UnitPair:
    others = [n for n in range(len(at.units)) if n != at.place]
    least = max(space.sizes[0], 1) - (0 if space.removes else 1)
    if len(others) <= least:
        return at

    def with_some(kept: list[int]) -> UnitPair:
        units = [at.units[n] for n in sorted((*kept, at.place))]
        return UnitPair(tuple(units), sum(n < at.place for n in kept), at.new, at.is_made)

    def is_still_enough(kept: list[int]) -> bool:
        return len(kept) >= least and not is_over() and is_enough(with_some(kept))

    fewest = others[:least]
    kept = fewest if is_still_enough(fewest) else reduce_to_fewest(others, is_still_enough, is_over)
    return with_some(kept)


def _generate_alike_pairs(space: PairSpace, at: UnitPair, _: int) -> Iterator[UnitPair]:
    """Yield pairs whose other records are all the simplest one, or the one that most are."""
    others = [unit for n, unit in enumerate(at.units) if n != at.place]
    keys = Counter(map(value_key, others))
    for unit in (
        _make_simplest_unit(space),
        *sorted(others, key=lambda one: -keys[value_key(one)])[:1],
    ):
        made = (unit,) * len(others)
        yield at._replace(units=(*made[: at.place], at.units[at.place], *made[at.place :]))


def _simpler_unit(space: PairSpace, at: UnitPair, n: int) -> Iterator[UnitPair]:
    """Yield pairs in which one unit of the dataset is simpler."""
    for unit in _generate_simpler_units(space, at.units[n]):
        made = at._replace(units=(*at.units[:n], unit, *at.units[n + 1 :]))
        if n != at.place:
            yield made
        elif _are_other(space, unit, at.new):
            yield made


def _simpler_new(space: PairSpace, at: UnitPair, n: int) -> Iterator[UnitPair]:
    """Yield pairs in which the neighbour's own unit is simpler."""
    if n == at.place and at.new:
        for new in _generate_simpler_units(space, at.new):
            if _are_other(space, at.units[n], new):
                yield at._replace(new=new)


def _are_other(space: PairSpace, unit: Unit, new: Unit | None) -> bool:
    """Return whether a neighbour may have the one in place of the other."""
    return list(space.replacements(unit, () if new is None else (new,))) == [new]


def _make_simplest_unit(space: PairSpace) -> Unit:
    columns = zip(space.layout.columns, space.special, strict=True)
    return (space.record([_choose_simplest_value(column, values) for column, values in columns]),)


def _choose_simplest_value(column: Column, values: Sequence[Any]) -> Any:
    if isinstance(column, _NUMBERS) and column.low <= 0 <= column.high:
        return type(column.low)(0)
    return values[0]


def _generate_simpler_units(space: PairSpace, unit: Unit) -> Iterator[Unit]:
    """Yield the simplest unit, fewer records, and units one cell of which is simpler."""
    simplest = _make_simplest_unit(space)
    if unit and unit != simplest:
        yield simplest
    if len(unit) > 1:
        yield unit[:1]
    for row, record in enumerate(unit):
        for n, (cell, column) in enumerate(zip(record, space.layout.columns, strict=True)):
            for value in _simpler_cells(cell, column, simplest[0][n]):
                made = space.record((*record[:n], value, *record[n + 1 :]))
                yield (*unit[:row], made, *unit[row + 1 :])


def _simpler_cells(cell: Any, column: Column, simplest: Any) -> Iterator[Any]:
    if cell == simplest and type(cell) is type(simplest):
        return
    yield simplest
    if not isinstance(column, _NUMBERS) or cell is None or not math.isfinite(cell):
        return
    if cell in (column.low, column.high):
        return
    for end in (column.low, column.high):
        alike = type(cell)(end)
        yield alike if alike == end else end
    for digits in _DIGITS:
        near = type(cell)(round(cell, digits))
        if near == cell:
            return
        if column.low <= near <= column.high:
            yield near
