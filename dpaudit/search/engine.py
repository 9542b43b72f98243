"""The search itself: made pairs, ascent from the best, invariants; within a number of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from time import monotonic
from typing import Any, Protocol

from numpy.random import Generator, default_rng

from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Unit
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours.cells import value_key
from dpaudit.neighbours.tables import Relation
from dpaudit.search import climbing, making
from dpaudit.search.constants import constants_of
from dpaudit.search.edits import Edit, of_new, of_old
from dpaudit.search.showing import NOTHING, Kind, PairSignal, intercept_primitives
from dpaudit.search.shrinking import shrink_pair
from dpaudit.search.space import PairSpace, UnitPair, space_of

CALLS = 2_000
_MADE = 0.5  # share of the calls for pairs that are made
_MADE_OF_FEW = 0.9  # the same where calls are few
_FEW = 60  # calls below which they are
_COMPARED = 0.1  # of the calls, for what the outputs of one dataset have in common
_CLIMBED = 3
_SHRUNK = 0.1  # of the calls, to leave out and to simplify records of what was found
# Rounding must not make a smaller pair that shows the same look less telling.
_AS_MUCH = 1 - 1e-9
_MANY = 12  # pairs of either kind that somebody else has to rank
_TIMED = 2  # datasets that show a pace
_LEAST = 20  # calls that are made in any case
_REMEMBERED = 128  # datasets, of which pairs are looked at in turn


@dataclass(frozen=True)
class PairCandidate:
    """A pair that was found.

    Parameters
    ----------
    place
        The units of the two datasets.
    kind, size
        What tells them apart, and how much as a number.
    moved
        How far centres of noise are apart, in scales.
    edit
        How it was made of a dataset that somebody has, in words, if it was.
    is_nobodys
        Whether it holds no value that follows from records of somebody.
    """

    place: UnitPair
    kind: Kind
    size: float
    moved: float
    edit: str | None = None
    is_nobodys: bool = False


@dataclass(frozen=True)
class Search:
    """The pairs that a search found, the best first, and its numbers of pairs and calls.

    Parameters
    ----------
    found
        Pairs.
    pairs, calls, most
        How many were looked at, how often the function was called, and might have been.
    is_bounded
        Whether the domain says how large numbers may be.
    """

    found: tuple[PairCandidate, ...]
    pairs: int
    calls: int
    most: int
    is_bounded: bool


def search_pairs(
    function: Callable[[Any, Generator], Any],
    domain: Domain,
    relation: Relation | str,
    *,
    dataset: Any = None,
    code: Any = None,
    calls: int = CALLS,
    seed: int = 0,
    seconds: float | None = None,
    observed: Sequence[str] = (),
) -> Search:
    """Return the pairs of a domain that a function tells apart the most.

    Parameters
    ----------
    function
        Of a dataset and a generator; what is random in it comes from known primitives.
    domain, relation
        What datasets may be, and what makes two of them neighbours.
    dataset
        Where the search starts.
    code
        What is read for constants, by default ``function``.
    calls
        How often the function may be called.
    seed
        One seed gives one result.
    seconds
        That it may take: then so many calls are made as take about that, as the first ones show.
    observed
        What counts besides outputs: ``warnings``, ``exceptions``.

    Examples
    --------
    >>> found = search_pairs(lambda data, rng: data.max() + rng.laplace(), Domain(bounds=(0, 5),
    ...     records=3), "replace-record").found[0]
    >>> found.kind, found.moved
    ('movement', 5.0)
    """
    rng = default_rng(seed)
    read = function if code is None else code
    # A generator of its own: how many draws a domain takes must not change the pairs that are
    # made.
    made = domain.made(default_rng(seed))
    known = {"constants": constants_of(read), "written": constants_of(read, written=True)}
    space = space_of(made, relation, dataset=dataset, **known)
    with intercept_primitives(function, read, calls, observed=observed) as shows:
        hunt = Hunt(space, shows, rng)
        if seconds is not None:
            shows.most = hunt.calls_in(seconds)
        return hunt.result()


def key_of(value: Any) -> Any:
    """Return keys that tell values apart: the values themselves, unless records have no hash."""
    try:
        hash(value)
    except TypeError:
        return value_key(value)
    return value


class Sight(Protocol):
    """An observer of pairs that counts its calls."""

    runs: int
    most: int
    is_blind: bool | None

    @property
    def is_over(self) -> bool:
        """Whether no call is left."""
        ...

    def first(self, dataset: Any) -> Any:
        """Return the observation of a dataset."""
        ...

    def of(self, first: Any, neighbour: Any) -> PairSignal:
        """Return the evidence about a dataset and a neighbour."""
        ...

    def look_for_invariants(self, dataset: Any, share: float) -> None:
        """Look for invariants of the outputs of a dataset, for a share of the calls at most."""
        ...


class Hunt:
    """A search under way.

    Parameters
    ----------
    space, sight
        Where pairs are looked for, and what looks at them.
    rng
        Makes pairs.
    """

    def __init__(self, space: PairSpace, shows: Sight, rng: Generator) -> None:
        self.space, self.shows, self.rng = space, shows, rng
        self.some: list[Unit] = making.make_search_units(space, rng)
        self.seen: dict[Any, PairSignal] = {}
        self.best: list[tuple[PairSignal, UnitPair]] = []
        self.first: dict[Any, Any] = {}
        self.idle: list[UnitPair] = []
        self.edits: dict[Any, Edit] = {}

    def calls_in(self, seconds: float) -> int:
        """Return how many calls take so long, a few at least, as the first ones show."""
        began, dataset = monotonic(), next(making.datasets(self.space, self.some, self.rng))
        dataset = self.space.fitted(dataset)
        for _ in range(_TIMED):
            self.shows.first(self.space.layout.build(dataset))
        pace = (monotonic() - began) / max(1, self.shows.runs)
        return max(_LEAST, min(self.shows.most, self.shows.runs + int(seconds / max(pace, 1e-9))))

    def judge(self, place: UnitPair) -> PairSignal:
        """Return the evidence of a pair: none if it cannot be made or is not of the domain."""
        key = key_of(place)
        if key not in self.seen and not self.space.allows(place):
            return NOTHING
        if key not in self.seen:
            self.seen[key] = self._judged(place)
            if self.seen[key].size:
                self.best.append((self.seen[key], place))
            else:
                self.idle.append(place)
        return self.seen[key]

    def _judged(self, place: UnitPair) -> PairSignal:
        known = key_of(place.units)
        try:
            neighbour = self.space.neighbour(place)
            dataset = None if known in self.first else self.space.layout.build(place.units)
        except (TypeError, ValueError, OverflowError):
            return NOTHING  # no such record can stand in such a dataset
        if known not in self.first:
            # The oldest goes: pairs of a dataset are looked at one after the other, so it is
            # hardly asked for again.
            if len(self.first) == _REMEMBERED:
                self.first.pop(next(iter(self.first)))
            self.first[known] = self.shows.first(dataset)
        return self.shows.of(self.first[known], neighbour)

    def result(self) -> Search:
        """Return the findings: from made pairs, and by ascent from the best."""
        self._begin()
        made = int((_MADE if self.shows.most >= _FEW else _MADE_OF_FEW) * self.shows.most)
        edited = [self._remember_edits(each(self.space, self.rng)) for each in (of_old, of_new)]
        for place in making.in_turn(self.space, self.some, self.rng, made, edited):
            if self.shows.runs >= made:
                break
            self.judge(place)
        most = int((1 - _SHRUNK) * self.shows.most)
        for shown, place in self._leaders(_CLIMBED):
            if shown.kind in ("movement", "output", "invariant"):
                climbing.climb_from_pair(
                    self.space,
                    place,
                    shown,
                    self.some,
                    self.judge,
                    partial(self._is_beyond, most),
                    self.rng,
                )
        found = [self._make_candidate(*one) for one in self._shrunk(self._kept()) or self._any()]
        return Search(
            tuple(found), len(self.seen), self.shows.runs, self.shows.most, self.space.is_bounded
        )

    def _remember_edits(self, edits: Iterator[Edit]) -> Iterator[UnitPair]:
        """Yield pairs of edits, of which the words are remembered."""
        for one in edits:
            self.edits.setdefault(key_of(one.place), one)
            yield one.place

    def _begin(self) -> None:
        """Look for invariants on a dataset of different records, and on the first one."""
        # Equal records can hide a combination, or make one that other datasets have not.
        for units in (*making.generate_varied_dataset(self.space), *self.space.starts[:1]):
            with suppress(TypeError, ValueError, OverflowError):
                self.shows.look_for_invariants(self.space.layout.build(units), _COMPARED)

    def _any(self) -> Sequence[tuple[PairSignal, UnitPair]]:
        """Return a pair that shows nothing, where none shows anything."""
        return [(NOTHING, one) for one in self.idle if self._are_neighbours(one)][:1]

    def _leaders(self, count: int) -> Sequence[tuple[PairSignal, UnitPair]]:
        """Return the best pairs, one of each size that was seen."""
        # Of pairs that show as much the one with fewer records is easier to read.
        ranked = sorted(self.best, key=lambda one: (-one[0].size, len(one[1].units)))
        different = dict[Any, tuple[PairSignal, UnitPair]]()
        for shown, place in ranked:
            # Sizes that differ by rounding alone are one.
            key = shown.kind, round(shown.size, 9)
            if len(different) < count and key not in different and self._are_neighbours(place):
                different[key] = shown, place
        return list(different.values())

    def _kept(self) -> Sequence[tuple[PairSignal, UnitPair]]:
        """Return the best pair of each kind, and the one whose centres moved most.

        Where nothing is seen but a few outputs, there are many, for somebody to rank on more.
        """
        if self.shows.is_blind:
            return self._many()
        ranked = sorted(self.best, key=lambda one: (-one[0].size, len(one[1].units)))
        moved = sorted(ranked, key=lambda one: -one[0].moved)
        different = dict[str, tuple[PairSignal, UnitPair]]()
        for shown, place in ranked:
            if shown.kind not in different and self._are_neighbours(place):
                different[shown.kind] = shown, place
        best = next((one for one in moved if self._are_neighbours(one[1])), None)
        kept = list(different.values())
        further = best is not None and best[0].moved > max(one[0].moved for one in kept)
        return [*kept, best] if best is not None and further else kept

    def _many(self) -> Sequence[tuple[PairSignal, UnitPair]]:
        """Return the best pairs and the first edits of the dataset that somebody has, in turn."""
        edited = [(self.seen.get(key, NOTHING), one.place) for key, one in self.edits.items()]
        both = chain.from_iterable(zip_longest(self._leaders(_MANY), edited[:_MANY]))
        different = {key_of(one[1]): one for one in both if one is not None}
        return [one for one in different.values() if self._are_neighbours(one[1])]

    def _shrunk(
        self, kept: Sequence[tuple[PairSignal, UnitPair]]
    ) -> list[tuple[PairSignal, UnitPair]]:
        """Return pairs of fewer and simpler records that show as much, each for its share."""
        found = list[tuple[PairSignal, UnitPair]]()
        for left, (shown, place) in zip(range(len(kept), 0, -1), kept, strict=True):
            # What is left is divided anew each time, so that a pair that needs little leaves
            # more to the next.
            most = self.shows.runs + max(0, self.shows.most - self.shows.runs) // left
            smaller = place
            if not self.shows.is_blind and key_of(place) not in self.edits:  # which have words
                is_over = partial(self._is_beyond, most)
                smaller = shrink_pair(self.space, place, partial(self._shows, shown), is_over)
            found.append((self.judge(smaller), smaller))
        return found

    def _is_beyond(self, most: int) -> bool:
        return self.shows.runs >= most

    def _shows(self, wanted: PairSignal, place: UnitPair) -> bool:
        """Return whether a pair of neighbours shows as much as another."""
        now = self.judge(place)
        as_much = now.size >= wanted.size * _AS_MUCH and now.moved >= wanted.moved * _AS_MUCH
        return now.kind == wanted.kind and as_much and self._are_neighbours(place)

    def _are_neighbours(self, place: UnitPair) -> bool:
        try:
            self.space.pair(place)
        except InvalidArgument:
            return False
        return True

    def _make_candidate(self, shown: PairSignal, place: UnitPair) -> PairCandidate:
        edit = self.edits.get(key_of(place))
        is_nobodys = self.space.is_nobodys(place)
        return PairCandidate(
            place, shown.kind, shown.size, shown.moved, edit and edit.words, is_nobodys
        )
