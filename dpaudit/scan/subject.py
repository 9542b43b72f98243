"""One subject of a scan: all its settings and pairs looked at, and the worst certified.

Hypotheses are fixed before anything is drawn: one for each setting, relation, family of pairs and
claim of the subject. Which of them are tested, and on which pair, is chosen by screens.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

import dpaudit.execution as execution
from dpaudit.errors import DpauditError
from dpaudit.execution.failures import WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.extension.package import Claimed, Subject
from dpaudit.scan.certify import Certified, Sizes, certified
from dpaudit.scan.floating import FloatingRan
from dpaudit.scan.foreign import Foreign
from dpaudit.scan.pairs import FAMILIES, Candidate, made
from dpaudit.scan.screen import first_look, points, second_look

FIRST, SECOND, FEWEST = 6, 200, 24  # outputs of each dataset that a look takes
ALONE = 4  # where each is drawn one by one
PAIRS = 10  # made of one dataset under one relation
_IMPORTING = 180.0  # seconds for the first call of all
AHEAD = 2  # pairs of a setting, relation and family that are looked at again, and one guided
WORTH = 3.0  # nats against a claim from which on it is worth certifying
CLEAR = 15.0  # nats from which on few outputs are enough to choose events
CHOOSING, CHOOSING_CLEAR = 2000, 200  # outputs of each dataset that choose events
_FEWEST_COUNTING, _FEWEST_CHOOSING = 120, 40  # of slow subjects: enough for what is always so
_GUIDED_SHARE = 0.1  # of a subject's time, by its pace, for the guide of one setting
# Shares of a subject's time that the looks may take.
_FIRST_SHARE, _GUIDED_UNTIL, _SECOND_SHARE = 0.3, 0.4, 0.3

# Returns how far each pair is worth looking at, by other means: the larger, the sooner.
Guide = Callable[[Foreign, Sequence[Candidate]], Sequence[float]]


class Hypothesis(NamedTuple):
    """What is certified, and with which result: a claim on one pair."""

    candidate: Candidate
    claim: Claimed
    result: Certified


@dataclass
class Ran:
    """What came of one subject."""

    subject: Subject
    tested: list[Hypothesis] = field(default_factory=list)
    pairs: int = 0
    first: int = 0
    second: int = 0
    drawn: dict[str, int] = field(default_factory=dict)
    why: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    floating: FloatingRan = field(default_factory=FloatingRan)


def hypotheses(subject: Subject) -> int:
    """Return how many hypotheses a subject has, whatever is drawn."""
    settings, relations = len(subject.parameters), len(subject.relations)
    return settings * relations * len(FAMILIES) * len(subject.claims)


@dataclass
class SubjectScan:
    """Looks at a subject, and certifies.

    Parameters
    ----------
    subject
        From the card.
    mechanism
        Returns the subject with a setting, as a mechanism.
    seed
        Of the scan.
    trials
        Certifying outputs of each dataset, at most.
    alpha
        Error probability of each hypothesis.
    seconds
        That the subject may take, about: what it does not reach is said.
    guide, aside
        Says which pairs are worth looking at, by other means, in these workers; None for none.
    """

    subject: Subject
    mechanism: Callable[[Mapping[str, Any]], Foreign]
    seed: int
    trials: int
    alpha: float
    seconds: float
    guide: Guide | None = None
    aside: Crew | None = None

    def __post_init__(self) -> None:
        self.ran = Ran(self.subject)
        self._began = time.monotonic()
        self._mechanisms = [self.mechanism(given) for given in self.subject.parameters]
        self._pace = [0.0] * len(self._mechanisms)
        self._kept: dict[tuple[int, str], Any] = {}

    def run(self) -> Ran:
        """Return what came of the subject; a failure of its own is said and ends nothing else."""
        try:
            self._run()
        except DpauditError as error:
            self.ran.why = self.ran.why or str(error)
        self.ran.seconds = time.monotonic() - self._began
        return self.ran

    def _run(self) -> None:
        candidates = made(self.subject, self.seed, most=PAIRS)
        self.ran.pairs = len(candidates)
        self._warm_up(candidates[0])
        looked = self._first_looks(candidates)
        if not looked:
            return
        weighed = self._second_looks(self._ahead(looked))
        self._certify(weighed)

    def _warm_up(self, one: Candidate) -> None:
        """Let the processes import the package, which is none of the subject's time."""
        seed = execution.stream(self.seed, self.subject.name, "warming up")
        mechanism = self._mechanisms[one.setting]
        with contextlib.suppress(WorkerEnded), _patient(mechanism.crew):
            mechanism.observations(one.pair.dataset, 1, seed)
        self._began = time.monotonic()

    # Looks

    def _first_looks(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, float]]:
        """Return pairs with how much differs at first sight, those of every setting in turn."""
        found, raised = list[tuple[Candidate, float]](), set[str]()
        failing = 0
        for one in _in_turn(candidates):
            if self._used() > _FIRST_SHARE and found:
                left = len(candidates) - self.ran.first
                self.ran.notes.append(f"{left} of {len(candidates)} pairs were not looked at: time")
                break
            on_p = self._of_dataset(one, FIRST, "first look")
            on_q = self._drawn(one, one.pair.neighbour, FIRST, "first look", one.edit)
            self.ran.first += 1
            said = {_failure(each) for side in (on_p, on_q) for each in side}
            if len({each.partition(":")[0] for each in said}) == 1 and "" not in said:
                failing += 1
                raised |= said
            found.append((one, first_look(on_p, on_q)))
        if failing == len(found):
            self.ran.why = f"every call failed: {min(raised, key=len)}"
            return []
        return found

    def _ahead(self, looked: Sequence[tuple[Candidate, float]]) -> list[Candidate]:
        """Return the pairs of each setting, relation and family that differ most, by each look."""
        guided = self._guided([one for one, _ in looked])
        kept = list[Candidate]()
        for _, group in groupby(sorted(looked, key=_place), key=_place):
            some = list(group)
            seen = sorted(some, key=lambda one: one[1], reverse=True)[:AHEAD]
            told = max(some, key=lambda one: guided[id(one[0])])
            if told not in seen and guided[id(told[0])] > max(guided[id(one)] for one, _ in seen):
                seen.append(told)
            kept += [one for one, _ in seen]
        return kept

    def _guided(self, candidates: Sequence[Candidate]) -> dict[int, float]:
        worth = dict.fromkeys(map(id, candidates), 0.0)
        if self.guide is None or self.aside is None:
            return worth
        ordered = sorted(candidates, key=lambda one: (one.setting, one.group))
        for setting, group in groupby(ordered, key=lambda one: one.setting):
            some = list(group)
            slow = 3 * len(some) * self._pace[setting] > _GUIDED_SHARE * self.seconds
            if slow or self._mechanisms[setting].alone or self._used() > _GUIDED_UNTIL:
                continue
            with _patient(self.aside):
                values = self.guide(replace(self._mechanisms[setting], crew=self.aside), some)
            worth |= {id(one): value for one, value in zip(some, values, strict=True)}
        return worth

    def _second_looks(
        self, candidates: Sequence[Candidate]
    ) -> list[tuple[Candidate, Claimed, float]]:
        """Return each pair and claim with the nats that speak against it."""
        found = list[tuple[Candidate, Claimed, float]]()
        for one in _in_turn(candidates):
            if self._used() > _FIRST_SHARE + _SECOND_SHARE and found:
                break
            count = self._affordable(one.setting, len(candidates))
            on_p = self._of_dataset(one, count, "second look")
            on_q = self._drawn(one, one.pair.neighbour, count, "second look", one.edit)
            self.ran.second += 1
            for claim in self.subject.claims:
                at = points(claim.guarantee(self.subject.parameters[one.setting]))
                found.append((one, claim, second_look(on_p, on_q, at)))
        return found

    def _affordable(self, setting: int, pairs: int) -> int:
        if self._mechanisms[setting].alone:
            return ALONE
        pace = max(self._pace[setting], 1e-6)
        count = int(self.seconds * _SECOND_SHARE / (1.5 * pairs * pace))
        return SECOND if count >= SECOND else max(FEWEST, count)

    # What certifies

    def _certify(self, weighed: Sequence[tuple[Candidate, Claimed, float]]) -> None:
        """Certify what looks worst of each hypothesis, the worst of all first."""
        best = dict[tuple[Any, ...], tuple[Candidate, Claimed, float]]()
        for one in weighed:
            key = (*_place(one), id(one[1]))
            if key not in best or one[2] > best[key][2]:
                best[key] = one
        ordered = sorted(best.values(), key=lambda one: one[2], reverse=True)
        done, left = set[tuple[str, int]](), 0
        for candidate, claim, nats in ordered:
            usual = (candidate.relation, id(claim))
            if nats < WORTH and usual in done:
                continue
            if self._used() > 1 and usual in done:
                left += 1
                continue
            done.add(usual)
            self._certify_one(candidate, claim, clear=nats > CLEAR)
        if left:
            self.ran.notes.append(f"{left} hypotheses that looked worse than usual: no time")

    def _certify_one(self, candidate: Candidate, claim: Claimed, *, clear: bool) -> None:
        given = self.subject.parameters[candidate.setting]
        named = (str(candidate.setting), str(candidate.group), candidate.relation, candidate.edit)
        place = self.subject.claims.index(claim)
        words = execution.stream(self.seed, self.subject.name, "certify", *named, str(place))
        seed = int(words.generate_state(1, np.uint64)[0])
        found = certified(
            self._mechanisms[candidate.setting],
            candidate.pair,
            claim.guarantee(given),
            self._sizes(candidate.setting, clear=clear),
            self.alpha,
            seed,
        )
        self.ran.tested.append(Hypothesis(candidate, claim, found))
        self._count(candidate.relation, found.drawn)

    def _sizes(self, setting: int, *, clear: bool) -> Sizes:
        """Return how many outputs choose and count: as many as time allows, within limits."""
        most = min(self.trials, self.subject.trials or self.trials)
        left = max(self.seconds - (time.monotonic() - self._began), 0.2 * self.seconds)
        pace = max(self._pace[setting], 1e-6)
        counting = min(most, max(_FEWEST_COUNTING, int(0.1 * left / pace)))
        choosing = CHOOSING_CLEAR if clear else CHOOSING
        return Sizes(max(_FEWEST_CHOOSING, min(choosing, counting // 2)), counting)

    # Draws

    def _of_dataset(self, one: Candidate, count: int, purpose: str) -> Any:
        """Return outputs of the first dataset, which pairs of one group share."""
        key = (one.group, f"{purpose} {count}")
        if key not in self._kept:
            self._kept[key] = self._drawn(one, one.pair.dataset, count, purpose, "dataset")
        else:
            self._count(one.relation, 0)
        return self._kept[key]

    def _drawn(self, one: Candidate, dataset: Any, count: int, purpose: str, what: str) -> Any:
        """Return observations; where a process ends, of outputs that are drawn one by one."""
        named = (self.subject.name, purpose, str(one.setting), str(one.group), one.relation, what)
        seed = execution.stream(self.seed, *named)
        mechanism, began = self._mechanisms[one.setting], time.monotonic()
        count = min(count, ALONE) if mechanism.alone else count
        try:
            found = mechanism.observations(dataset, count, seed)
        except WorkerEnded:
            mechanism = self._mechanisms[one.setting] = mechanism.one_by_one()
            found = mechanism.observations(dataset, min(count, ALONE), seed)
        self._pace[one.setting] = (time.monotonic() - began) / max(len(found), 1)
        self._count(one.relation, len(found))
        return found

    def _count(self, relation: str, outputs: int) -> None:
        self.ran.drawn[relation] = self.ran.drawn.get(relation, 0) + outputs

    def _used(self) -> float:
        """Return which share of its time the subject has used."""
        return (time.monotonic() - self._began) / self.seconds


def _patient(crew: Crew) -> contextlib.AbstractContextManager[None]:
    """Let calls take longer where there is no process yet: the first one imports the package."""
    return contextlib.nullcontext() if crew.started else crew.patient(_IMPORTING)


def _place(one: tuple[Any, ...]) -> tuple[int, str, int]:
    candidate: Candidate = one[0]
    return candidate.setting, candidate.relation, FAMILIES.index(candidate.family)


def _in_turn(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield candidates of every setting and relation in turn, so that time cuts all alike."""
    queues: dict[tuple[int, str, int], list[Candidate]] = {}
    for one in candidates:
        queues.setdefault(_place((one,)), []).append(one)
    while queues:
        for key in list(queues):
            yield queues[key].pop(0)
            if not queues[key]:
                del queues[key]


def _failure(observed: Any) -> str:
    """Return how a call failed, empty if it did not."""
    if isinstance(observed, dict) and isinstance(observed.get("output"), Exception):
        observed = observed["output"]
    return f"{type(observed).__name__}: {observed}" if isinstance(observed, Exception) else ""
