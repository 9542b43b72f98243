"""The search for two datasets at any distance: near, far and between, for claims a unit of it.

What a claim allows two datasets grows with their distance, so no pair is the worst for all faults:
a wrong shape of the noise shows near, a wrong scale in the middle, a clip far away. Pairs are made
at several distances, those of each are ranked by what they show a unit of distance, and the best of
every distance is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from time import monotonic
from typing import Any

from numpy.random import Generator, default_rng

from dpaudit.domains.columns import Integers, Numbers
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Record, Unit
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.metrics import Metric
from dpaudit.search.constants import constants_of
from dpaudit.search.engine import CALLS, PairCandidate, Search, Sight
from dpaudit.search.showing import PairSignal, intercept_primitives
from dpaudit.search.space import PairSpace, UnitPair, space_apart

_UNITS = (1.0, 0.25, 3.0, 0.5, 2.0, 6.0)  # of distance, in losses of one that are claimed
_MADE = 0.6  # share of the calls
_IDLE = 40  # tries in vain
_LEAST = 20  # calls that are made in any case
_ANCHORS = 6
_RANDOM = 3
_CORRECTED = 3
_TIMED = 2
_CLOSE = 0.1  # relatively, of a distance that will do
_TELLING = (0.75, 4.0)  # losses of which few outputs tell that they are a little too large
_AS_GOOD = 0.9  # of the movement a unit of distance, of pairs at other distances
_KEPT = 8
_ROUNDS = 400


@dataclass(frozen=True)
class Range:
    """The relation that makes any two datasets a pair, and the distances that a search tries.

    Parameters
    ----------
    metric
        What measures.
    unit
        The distance at which a loss of one is claimed; infinite where none is, at any distance.
    """

    metric: Metric
    unit: float


def search_apart(
    function: Callable[[Any, Generator], Any],
    domain: Domain,
    within: Range,
    *,
    dataset: Any = None,
    code: Any = None,
    calls: int = CALLS,
    seed: int = 0,
    seconds: float | None = None,
    observed: Sequence[str] = (),
) -> Search:
    """Return the pairs of a domain, at several distances, that a function tells apart the most.

    Parameters
    ----------
    function, domain, dataset, code, calls, seed, seconds, observed
        As `dpaudit.search.engine.search_pairs` takes them.
    within
        What measures, and at which distances pairs are worth a look.

    Raises
    ------
    InvalidArgument
        What measures returns no distance, or the domain holds no two datasets at one.

    Examples
    --------
    >>> from dpaudit.neighbours import metric
    >>> found = search_apart(lambda x, rng: x + rng.laplace(size=2), Domain(bounds=(-9, 9),
    ...     records=2), Range(metric("euclidean"), 1.0)).found
    >>> max(round(one.moved, 6) for one in found) > 4
    True
    """
    rng, made = default_rng(seed), domain.made(default_rng(seed))
    read = function if code is None else code
    known = {"constants": constants_of(read), "written": constants_of(read, written=True)}
    space = space_apart(made, within.metric, dataset=dataset, **known)
    with intercept_primitives(function, read, calls, observed=observed) as shows:
        hunt = DistanceHunt(space, within, shows, rng)
        if seconds is not None:
            shows.most = hunt.calls_in(seconds)
        return hunt.result()


@dataclass(frozen=True)
class PairAtDistance:
    """A pair, how far its datasets are apart, the number of that distance, and the signal."""

    place: UnitPair
    apart: float
    band: int
    shown: PairSignal

    @property
    def rank(self) -> float:
        """The size of the evidence for one unit of distance, or in all if no noise pays for it."""
        return self.shown.size if self.is_beyond else self.shown.size / self.apart

    @property
    def is_beyond(self) -> bool:
        """Whether no noise pays for the signal."""
        return self.shown.kind in ("raw", "structure")

    @property
    def width(self) -> int:
        """In how many cells the two datasets differ."""
        rows = zip(self.place.units[0], self.place.new or (), strict=True)
        return sum(a != b for one, other in rows for a, b in zip(one, other, strict=True))


@dataclass
class DistanceHunt:
    """A search under way.

    Parameters
    ----------
    space, within, shows, rng
        Where pairs are looked for, at which distances, what looks at them, and what makes them.
    seen, refused
        What was seen so far; why two datasets are at no distance.
    """

    space: PairSpace
    within: Range
    shows: Sight
    rng: Generator
    seen: list[PairAtDistance] = field(default_factory=list)
    refused: InvalidArgument | None = None

    def __post_init__(self) -> None:
        # Distances between datasets of numbers can be aimed at; of others they are taken as they
        # come.
        numbers = _are_numbers(self.space) and not self.space.layout.made
        self.made = _NumberPairs(self.space, self.within, self.rng) if numbers else None

    def calls_in(self, seconds: float) -> int:
        """Return how many calls take so long, a few at least, as the first ones show."""
        began, unit = monotonic(), (self.space.record(_make_first_special_record(self.space)),)
        units: tuple[Unit, ...] = (unit * max(1, self.space.sizes[0]),)
        if self.space.layout.made:
            units = self.space.starts[0]
        for _ in range(_TIMED):
            self.shows.first(self.space.layout.build(units))
        pace = (monotonic() - began) / max(1, self.shows.runs)
        return max(_LEAST, min(self.shows.most, self.shows.runs + int(seconds / max(pace, 1e-9))))

    def result(self) -> Search:
        """Return the findings: from made pairs, and from others near the best."""
        known, most = set[UnitPair](), int(_MADE * self.shows.most)
        for place in self._generate_pairs():
            if self.shows.runs >= most:
                break
            if place not in known:
                known.add(place)
                self._look(place)
        # If no two datasets were at any distance, the reason that the distance gave is the one
        # to show.
        if not self.seen and self.refused is not None:
            raise self.refused
        if self.made is not None:
            self._climb(self.made)
        kept = [self._make_candidate(one.place, one.shown) for one in self._kept()]
        return Search(
            tuple(kept), len(self.seen), self.shows.runs, self.shows.most, self.space.is_bounded
        )

    def _make_candidate(self, place: UnitPair, shown: PairSignal) -> PairCandidate:
        is_nobodys = self.space.is_nobodys(place)
        return PairCandidate(place, shown.kind, shown.size, shown.moved, is_nobodys=is_nobodys)

    def _generate_pairs(self) -> Iterator[UnitPair]:
        return (
            _generate_distant_pairs(self.space, self.rng)
            if self.made is None
            else self.made.generate_pairs()
        )

    def _look(self, place: UnitPair) -> PairAtDistance | None:
        """Look at a pair; return None of one that is none."""
        if not self.space.allows(place):
            return None
        build = self.space.layout.build
        try:
            dataset, neighbour = build(place.units), build(place.neighbour)
        except (TypeError, ValueError, OverflowError):
            return None  # no such record can stand in such a dataset
        if not (apart := self._apart(dataset, neighbour)):
            return None
        shown = self.shows.of(self.shows.first(dataset), neighbour)
        self.seen.append(PairAtDistance(place, apart, self._band(apart), shown))
        return self.seen[-1]

    def _apart(self, dataset: Any, neighbour: Any) -> float:
        """Return how far two datasets are apart; 0 if a named distance has none for them."""
        try:
            return self.within.metric.apart(dataset, neighbour)
        except InvalidArgument as error:
            # A distance of somebody's own that fails is a fault in it, which nobody should
            # search around.
            if self.within.metric.is_own:
                raise
            self.refused = error  # such as texts of two lengths, of which it counts places
            return 0.0

    def _band(self, apart: float) -> int:
        """Return the number of the distances to which one belongs: each is twice the last."""
        # Without a claim a unit of distance the bands are those of powers of two.
        unit = self.within.unit if self.within.unit < math.inf else 1.0
        return round(math.log2(apart) - math.log2(unit))

    def _climb(self, made: _NumberPairs) -> None:
        """Look at other places of the best pair and other ways, as long as some show more."""
        best, idle = max(self.seen, key=lambda one: one.rank, default=None), 0
        while best is not None and idle < _IDLE and not self.shows.is_over:
            place = made.varied(best.place)
            now = None if place is None else self._look(place)
            idle += 1
            # Less than this is rounding, and would keep the ascent going for ever.
            if now is not None and now.rank > best.rank * (1 + 1e-9):
                best, idle = now, 0

    def _kept(self) -> list[PairAtDistance]:
        """Return the best pairs of every distance: of those that show as much the first two."""
        bands = dict[int, list[PairAtDistance]]()
        worth = [one for one in self.seen if one.is_beyond or self._is_worth(one.apart)]
        for one in sorted(worth or self.seen, key=lambda one: -one.rank):
            bands.setdefault(one.band, []).append(one)
        first = sorted((band[0] for band in bands.values()), key=lambda one: -one.rank)
        moved = self._best_moved([one for one in first if one.shown.kind == "movement"])
        first = [one for one in first if one in moved or one.shown.kind != "movement"]
        # Where outputs alone told pairs apart, one wide and one narrow pair are kept: a few
        # outputs do not tell which of the two is better.
        second = [
            next(other for other in bands[one.band] if other.width != one.width)
            for one in first
            if one.shown.kind == "output" and len({o.width for o in bands[one.band]}) > 1
        ]
        return [*first, *second][:_KEPT]

    def _best_moved(self, moved: list[PairAtDistance]) -> list[PairAtDistance]:
        """Return pairs whose centres move most a unit; of equals those that outputs tell apart."""
        most = max((one.rank for one in moved), default=0.0)
        best = [one for one in moved if one.rank >= _AS_GOOD * most]
        low, high = (units * self.within.unit for units in _TELLING)
        return [one for one in best if low <= one.apart <= high] or best

    def _is_worth(self, apart: float) -> bool:
        """Return whether so few outputs as an audit has may tell datasets of a distance apart."""
        unit = self.within.unit
        return unit == math.inf or min(_UNITS) / 2 <= apart / unit <= max(_UNITS) * 1.5


def _are_numbers(space: PairSpace) -> bool:
    """Return whether all cells are numbers, none of which may be missing."""
    return all(
        isinstance(one, Numbers | Integers) and not one.missing for one in _get_space_columns(space)
    )


def _get_space_columns(space: PairSpace) -> Sequence[Any]:
    return space.layout.columns


def _make_first_special_record(space: PairSpace) -> Record:
    return tuple(column[0] for column in space.special)


Point = tuple[float, ...]


class _NumberPairs:
    """Pairs of datasets of numbers: on both sides of a point, or from it on, at a distance.

    Parameters
    ----------
    space, within
        Where pairs are made, and at which distances.
    rng
        Makes points and ways.
    """

    def __init__(self, space: PairSpace, within: Range, rng: Generator) -> None:
        self.space, self.within, self.rng = space, within, rng

    def generate_pairs(self) -> Iterator[UnitPair]:
        """Yield pairs: for every size, point and way, all distances."""
        for count in dict.fromkeys((max(1, self.space.sizes[0]), self.space.sizes[1])):
            targets = self.targets(count)
            for point in self._generate_points(count):
                for way in self._ways(count, point):
                    for target in targets:
                        for half in (True, False):
                            yield from self._at(point, way, target, half=half)

    def varied(self, place: UnitPair) -> UnitPair | None:
        """Return a pair about as far apart, elsewhere or in another way."""
        one, other = (self._flatten_unit(units[0]) for units in (place.units, place.neighbour))
        count, target = len(place.units[0]), self._distance(place)
        point = self._random(count) if self.rng.random() < 0.5 else one
        way = tuple(there - here for here, there in zip(one, other, strict=True))
        if self.rng.random() < 0.7:
            turned = self.rng.integers(-1, 2, size=len(way))
            way = tuple(float(sign) for sign in turned)
        return next(self._at(point, way, target, half=False), None) if any(way) else None

    def targets(self, count: int) -> list[float]:
        """Return distances that are worth a look: of a small loss to that of the farthest two."""
        low, high = self._ends(count)
        farthest = self._between(low, high)
        unit = self.within.unit if self.within.unit < math.inf else farthest / 2
        found = [min(farthest, units * unit) for units in _UNITS]
        # Several targets were cut to the farthest distance, so nearer ones take their place.
        if max(_UNITS) * unit > 2 * farthest:
            found += [farthest / 2, farthest / 4]
        return list(dict.fromkeys(one for one in found if one > 0))

    def _ends(self, count: int) -> tuple[Point, Point]:
        columns = _get_space_columns(self.space)
        low = tuple(float(one.low) for one in columns) * count
        return low, tuple(float(one.high) for one in columns) * count

    def _generate_points(self, count: int) -> Iterator[Point]:
        """Yield points: the middle, those that were given, ends, special values, random ones."""
        low, high = self._ends(count)
        # Each is halved first, as the sum of two ends may overflow.
        yield tuple(a / 2 + b / 2 for a, b in zip(low, high, strict=True))
        for start in self.space.starts:
            if len(start[0]) == count:
                yield self._flatten_unit(start[0])
        yield from (low, high)
        specials = list(zip(*(one[:_ANCHORS] for one in self.space.special), strict=False))
        yield from (tuple(map(float, cells)) * count for cells in specials[2:])
        yield from (self._random(count) for _ in range(_RANDOM))

    def _random(self, count: int) -> Point:
        low, high = self._ends(count)
        shares = self.rng.random(len(low))
        return tuple(
            min(max(a + (b - a) * s, a), b)
            for a, b, s in zip(low, high, shares.tolist(), strict=True)
        )

    def _ways(self, count: int, point: Point) -> Iterator[Point]:
        """Yield directions inwards from a point: all numbers, one alone, some against others."""
        low, high = self._ends(count)
        inwards = tuple(
            1.0 if here <= a / 2 + b / 2 else -1.0
            for here, a, b in zip(point, low, high, strict=True)
        )
        first = (inwards[0], *(0.0 for _ in inwards[1:]))
        against = tuple(one if n % 2 else -one for n, one in enumerate(inwards))
        wide = tuple(one * (b - a) for one, a, b in zip(inwards, low, high, strict=True))
        yield from dict.fromkeys((inwards, first, against, wide, first[::-1]))

    def _at(self, point: Point, way: Point, target: float, *, half: bool) -> Iterator[UnitPair]:
        """Yield the pair at a distance, if there is one: a step is made longer or shorter to it."""
        low, high = self._ends(len(point) // len(_get_space_columns(self.space)))
        wide = max(b - a for a, b in zip(low, high, strict=True))
        least = min(abs(one) for one in way if one)
        step, found = target / max(map(abs, way)), None
        if all(isinstance(one, Integers) for one in _get_space_columns(self.space)):
            # A smaller step would round to no change of any integer.
            step = max(step, 1 / least)
        for _ in range(_CORRECTED):
            step = min(step, wide / least)
            back = step / 2 if half else 0.0
            ends = [
                tuple(a + by * v for a, v in zip(point, way, strict=True))
                for by in (-back, step - back)
            ]
            found = self._place(*ends)
            apart = self._distance(found)
            if abs(apart - target) <= _CLOSE * target:
                break
            # Most distances grow in proportion to the step, so that few corrections are enough.
            step *= target / apart if apart else 2.0
        if found is not None and found.units != found.neighbour:
            yield found

    def _place(self, one: Point, other: Point) -> UnitPair:
        return UnitPair((self._unit(one),), 0, self._unit(other))

    def _unit(self, point: Point) -> Unit:
        """Return a dataset of the numbers of a point, each as its column may hold it."""
        columns = _get_space_columns(self.space)
        width = len(columns)
        cells = [_clip_to_column(columns[n % width], value) for n, value in enumerate(point)]
        rows = (cells[n : n + width] for n in range(0, len(cells), width))
        return tuple(self.space.record(row) for row in rows)

    def _flatten_unit(self, unit: Unit) -> Point:
        return tuple(float(cell) for record in unit for cell in record)

    def _distance(self, place: UnitPair) -> float:
        build = self.space.layout.build
        return self.within.metric.apart(build(place.units), build(place.neighbour))

    def _between(self, one: Point, other: Point) -> float:
        return self._distance(self._place(one, other))


def _clip_to_column(column: Any, value: float) -> float | int:
    inside = min(max(value, column.low), column.high)
    return round(inside) if isinstance(column, Integers) else float(inside)


def _generate_distant_pairs(space: PairSpace, rng: Generator) -> Iterator[UnitPair]:
    """Yield pairs of datasets of any kind: one, two, half and all records of one are others.

    First come those that were given; where somebody makes datasets, there are no others.
    """
    if space.layout.made:
        both = ((one, other) for (one,), (other,) in permutations(space.starts, 2))
        yield from (UnitPair((one,), 0, other) for one, other in both if one != other)
        return
    low, high = space.sizes
    some = _list_special_records(space)
    for (start,) in space.starts:
        for changed in sorted({min(1, len(start)), -(-len(start) // 2), len(start)}):
            for one in some:
                mixed = (*(one,) * changed, *start[changed:])
                if mixed != start:
                    yield UnitPair((start,), 0, mixed)
    for number in range(_ROUNDS):
        for count in dict.fromkeys((max(1, low), high)):
            one, other = (_make_filled_dataset(some, count, number, side, rng) for side in range(2))
            for changed in dict.fromkeys((1, min(2, count), -(-count // 2), count)):
                mixed = (*other[:changed], *one[changed:])
                if mixed != one:
                    yield UnitPair((one,), 0, mixed)


def _list_special_records(space: PairSpace) -> list[Record]:
    """Return records: the first special values of all columns, the second, and so on."""
    longest = max(map(len, space.special))
    return [
        space.record([column[n % len(column)] for column in space.special]) for n in range(longest)
    ]


def _make_filled_dataset(
    some: list[Record], count: int, number: int, side: int, rng: Generator
) -> Unit:
    """Return a dataset of one record at first, which is another on either side; then of any."""
    first, second = divmod(number, len(some))
    if first < side or first >= len(some):
        return tuple(some[int(n)] for n in rng.integers(len(some), size=count))
    return (some[second if side else first],) * count
