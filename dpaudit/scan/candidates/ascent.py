"""The pair of a subject that a search with feedback finds, beside those that a card's data give.

The search is that of audits (`dpaudit.search.engine`), around a dataset of the card: made pairs,
constants of the code, ascent. It runs here, and what it asks runs in the package's environment: a
glimpse at each pair with frozen noise, or a few outputs where the noise comes from elsewhere. What
it finds is looked at a second time as all pairs are, and certified on fresh outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.random import SeedSequence, default_rng

import dpaudit.execution as execution
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.execution.processes import TaskReference
from dpaudit.execution.units import Unit
from dpaudit.extension.package import Parameters, Subject
from dpaudit.freezing.glimpse import CHANGED, UNSEEN
from dpaudit.neighbours import Pair
from dpaudit.neighbours.candidates import Given
from dpaudit.neighbours.records import is_missing
from dpaudit.scan.candidates.pairs import SubjectCandidate, size_in_records
from dpaudit.scan.candidates.screen import first_look
from dpaudit.scan.remote.foreign import SCRIPT, Foreign
from dpaudit.scan.remote.guide import Glimpse
from dpaudit.search.edits import domain_around
from dpaudit.search.engine import Hunt, PairCandidate
from dpaudit.search.showing import NOTHING, Kind, PairSignal
from dpaudit.search.space import PairSpace, UnitPair, space_of

CALLS = 240  # at most, for the pairs of one setting and relation
_OUTPUTS = 8  # of each dataset, where noise is not intercepted
_DATASETS = 1  # of a setting that searches start from
_LEAST = 20  # calls that are worth a search

# Returns what is seen of pairs, each of which has its own glimpse.
Guide = Callable[[Foreign, Sequence[SubjectCandidate]], Sequence[Glimpse]]


class AscentResult(NamedTuple):
    """A pair that a search found, how far it is apart, and whether by outputs alone."""

    candidate: SubjectCandidate
    moved: float
    is_of_outputs: bool


def constants_of(mechanism: Foreign, dataset: Any) -> list[Any]:
    """Return constants of the code that one call of a mechanism runs; none where that fails."""
    task = mechanism.task(dataset) | {"distribution": mechanism.distribution}
    unit = Unit(1, SeedSequence(0))
    try:
        ((found,),) = mechanism.crew.draw(TaskReference(f"{SCRIPT}:constants", task), [unit], 1)
    except DpauditError:
        return []
    return list(found)


@dataclass
class PairGlimpses:
    """An observer of pairs in the package's environment that counts its calls (`engine.Sight`).

    Parameters
    ----------
    look
        Returns how far values of a pair move.
    outputs
        Returns a few outputs of a dataset.
    allows
        Whether the documentation allows a dataset.
    most, runs
        Calls that it may make, and has made; a pair that is not allowed counts as well.
    """

    look: Callable[[Any, Any], float]
    outputs: Callable[[Any, int], Any]
    allows: Callable[[Any], bool]
    most: int
    runs: int = 0
    is_blind: bool | None = None

    @property
    def is_over(self) -> bool:
        """Whether no call is left."""
        return self.runs >= self.most

    def first(self, dataset: Any) -> Any:
        """Return a dataset with its outputs, as far as they are asked for; None if refused."""
        self.runs += 1
        if not self.allows(dataset):
            return None
        # A dataset differs from itself only by noise that the interception does not reach,
        # which makes every glimpse blind.
        if self.is_blind is None:
            self.is_blind = self.look(dataset, dataset) > 0
        return dataset, []

    def of(self, first: Any, neighbour: Any) -> PairSignal:
        """Return the evidence about a dataset and a neighbour."""
        self.runs += 1
        if first is None or self.is_over or not self.allows(neighbour):
            return NOTHING
        moved = UNSEEN if self.is_blind else self.look(first[0], neighbour)
        if moved == UNSEEN:  # an output is another one, and no noise says how far
            return self._by_outputs(first[0], first[1], neighbour)
        return PairSignal(moved, _classify_glimpse(moved), moved) if moved > 0 else NOTHING

    def _by_outputs(self, dataset: Any, known: list[Any], neighbour: Any) -> PairSignal:
        """Return how far a few outputs are apart; those of the dataset are drawn once."""
        if not known:
            known.append(self.outputs(dataset, 0))
        apart = first_look(known[0], self.outputs(neighbour, 1))
        return PairSignal(apart, "output") if apart > 0 else NOTHING

    def look_for_invariants(self, dataset: Any, share: float) -> None:
        """Look for nothing: outputs are not compared with one another."""


def _classify_glimpse(moved: float) -> Kind:
    """Return the kind of a glimpse: other calls, a value that no noise reaches, or a movement."""
    return "structure" if moved >= CHANGED else "raw" if moved >= UNSEEN else "movement"


class _Within(Hunt):
    """A search within the values of the card's data, where no bounds are stated."""

    def judge(self, place: UnitPair) -> PairSignal:
        """Return the evidence of a pair; one beyond the data shows nothing."""
        if self.space.is_beyond(place):
            return NOTHING
        return super().judge(place)


@dataclass(frozen=True)
class Ascent:
    """The searches of one subject with one setting.

    Parameters
    ----------
    subject, setting, seed
        What the card says, the place of the setting, and the scan's seed.
    mechanism, guide
        The subject in processes whose primitives may be replaced, and what looks at pairs there.
    drawing
        The subject in processes that draw outputs.
    calls
        Of all searches of a relation together, at most.
    is_late
        Whether the time for searches is over.
    """

    subject: Subject
    setting: int
    seed: int
    mechanism: Foreign
    guide: Guide
    drawing: Foreign
    calls: int = CALLS
    is_late: Callable[[], bool] = field(default=lambda: False)

    @property
    def parameters(self) -> Parameters:
        """The setting."""
        return self.subject.parameters[self.setting]

    def climbed(self) -> Iterator[AscentResult]:
        """Yield the pairs that searches find, of every relation."""
        datasets = self._datasets()
        if not datasets or self.calls < _LEAST:
            return
        constants = constants_of(self.mechanism, datasets[0])
        for relation in self.subject.relations:
            for place, dataset in enumerate(datasets):
                if self.is_late():
                    return
                with suppress(InvalidArgument):  # of which no neighbours can be made
                    yield from self._of(dataset, relation, constants, place, len(datasets))

    def _datasets(self) -> list[Any]:
        """Return the first datasets of several records: where there is one, all is an end."""
        every = self.subject.datasets_of(self.parameters)
        return [one for one in every if size_in_records(one) > 1][-_DATASETS:]

    def _of(
        self, dataset: Any, relation: str, constants: Sequence[Any], place: int, of: int
    ) -> Iterator[AscentResult]:
        bounds = self.subject.bounds_of(self.parameters)
        domain = domain_around(dataset, relation, bounds=bounds)
        space = space_of(domain, relation, constants=constants)
        named = (self.subject.name, "climbing", str(self.setting), str(place), relation)
        stream = execution.stream(self.seed, *named)
        sight = self._sight(relation, self.calls // of, stream)
        for found in _Within(space, sight, default_rng(stream)).result().found[:of]:
            if found.size > 0:
                candidate = self._candidate(space, found, relation, place)
                yield AscentResult(candidate, found.size, found.kind == "output")

    def _sight(self, relation: str, calls: int, stream: SeedSequence) -> PairGlimpses:
        streams = [SeedSequence([int(word), 1]) for word in stream.generate_state(2)]

        def look(dataset: Any, neighbour: Any) -> float:
            pair: Any = _Sides(dataset, neighbour)
            one = SubjectCandidate(self.setting, -1, pair, relation, "")
            return 0.0 if self.is_late() else self.guide(self.mechanism, [one])[0].moved

        def outputs(dataset: Any, side: int) -> Any:
            return self.drawing.observations(dataset, _OUTPUTS, streams[side])

        def allows(dataset: Any) -> bool:
            return self.subject.allows(dataset, self.parameters)

        return PairGlimpses(look, outputs, allows, calls)

    def _candidate(
        self, space: PairSpace, found: PairCandidate, relation: str, place: int
    ) -> SubjectCandidate:
        pair: Pair[Any] = space.orient_pair(found.place)
        given: Given | None = "missing value" if _has_missing_cells(found.place) else None
        words = f"a pair that a search made of dataset {place + 1}"
        return SubjectCandidate(self.setting, -1, pair, relation, words, given=given)


class _Sides(NamedTuple):
    dataset: Any
    neighbour: Any


def _has_missing_cells(place: UnitPair) -> bool:
    """Return whether the unit that differs has a missing value."""
    changed: Iterable[Any] = (*place.units[place.place], *(place.new or ()))
    return any(is_missing(cell) for record in changed for cell in record)


def calls_in(seconds: float, pace: float) -> int:
    """Return how many calls a search has in so many seconds: the most, or a power of two.

    Examples
    --------
    >>> calls_in(10.0, 1e-3), calls_in(1.0, 0.01)
    (240, 64)
    """
    # A power of two: small differences of the machine's speed then mostly leave the number of
    # calls, and so the search, as it was.
    count = seconds / max(pace, 1e-9)
    return CALLS if count >= CALLS else 2 ** int(math.log2(count)) if count >= 1 else 0
