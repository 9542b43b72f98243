"""One subject of a scan: all its settings and pairs looked at, and the worst certified.

Hypotheses are fixed before anything is drawn: one for each setting, relation, family of pairs and
claim of the subject. Which of them are tested, and on which pair, is chosen by screens.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

import dpaudit.execution as execution
from dpaudit.errors import DpauditError
from dpaudit.execution.failures import DrawTimeout, WorkerEnded, convert_unforeseen_errors
from dpaudit.execution.pool import Crew
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.guarantees.kinds import PureDP
from dpaudit.scan.candidates.ascent import Ascent, AscentResult, Guide, calls_in
from dpaudit.scan.candidates.pairs import FAMILIES, SubjectCandidate, make_subject_pairs
from dpaudit.scan.candidates.screen import first_look, list_claim_points, second_look
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.finding import FailedSearch
from dpaudit.scan.hypotheses import Hypothesis, Ran, WeighedClaim
from dpaudit.scan.remote.foreign import Foreign, SharedCall

# Outputs of each dataset that a look takes.
FIRST = 6
SECOND = 200
FEWEST = 24
ALONE = 4  # where each is drawn one by one
PAIRS = 10  # made of one dataset under one relation
_IMPORTING = 180.0  # seconds for the first call of all
AHEAD = 2  # pairs of a setting, relation and family that are looked at again, and one guided
WORTH = 3.0  # nats against a claim from which on it is worth certifying
CLEAR = 15.0  # nats from which on few outputs are enough to choose events
# Outputs of each dataset that choose events.
CHOOSING = 2000
CHOOSING_CLEAR = 200
# Of slow subjects: enough for what is always so.
_FEWEST_COUNTING = 120
_FEWEST_CHOOSING = 40
_GUIDED_SHARE = 0.1  # of a subject's time, by its pace, for the guide of one setting
# Shares of a subject's time that are over when the looks end; what is left is for certification.
_FIRST_UNTIL = 0.3
_GUIDED_UNTIL = 0.4
_SEARCHED_UNTIL = 0.5
_SECOND_UNTIL = 0.6
_SEARCHED_SHARE = 0.1  # of a subject's time, by its pace, for searches with feedback
_FARTHER = 1 + 1e-9  # that a pair of a search has to move, relatively
# Of the time that is left, for the outputs that count one hypothesis on one dataset: all that are
# drawn for it take three times as much.
_COUNTING_SHARE = 0.1
_OF_FEW = 0.25  # divided among the hypotheses that wait, so where they are few each has more


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
        That the subject may take; what it does not reach is said.
    guide, aside
        Says which pairs are worth looking at, by other means, in these workers; None for none.
    until
        A moment of `time.monotonic` when it ends in any case.
    """

    subject: Subject
    mechanism: Callable[[Mapping[str, Any]], Foreign]
    seed: int
    trials: int
    alpha: float
    seconds: float
    guide: Guide | None = None
    aside: Crew | None = None
    until: float = math.inf

    def __post_init__(self) -> None:
        self.ran = Ran(self.subject)
        self._began = time.monotonic()
        self._mechanisms = [self.mechanism(given) for given in self.subject.parameters]
        self._crew = self._mechanisms[0].crew
        self._pace = [0.0] * len(self._mechanisms)
        self._kept: dict[tuple[int, str], Any] = {}
        self._moved: dict[int, float] = {}

    def run(self) -> Ran:
        """Return the outcome of the subject; its own failure is reported and ends nothing else."""
        try:
            with self._by(self.until), convert_unforeseen_errors():
                self._run()
        except DpauditError as error:
            self.ran.why = self.ran.why or str(error)
        self.ran.seconds = time.monotonic() - self._began
        return self.ran

    def _run(self) -> None:
        candidates = make_subject_pairs(self.subject, self.seed, most=PAIRS)
        self.ran.pairs = len(candidates)
        self._warm_up(candidates[0])
        with self._by(self._began + self.seconds):
            looked = self._first_looks(candidates)
            if not looked:
                return
            ahead = self._select_pairs_ahead(looked)
            weighed = self._second_looks([*ahead, *self._select_farthest_pairs(looked, ahead)])
            self._certify(weighed)

    @contextlib.contextmanager
    def _by(self, until: float) -> Iterator[None]:
        """Let nothing be drawn beyond a moment."""
        with contextlib.ExitStack() as stack:
            for crew in {id(one): one for one in (self._crew, self.aside) if one}.values():
                stack.enter_context(crew.by(until))
            yield

    def _by_share(self, share: float) -> contextlib.AbstractContextManager[None]:
        return self._by(self._began + share * self.seconds)

    def _warm_up(self, one: SubjectCandidate) -> None:
        """Let the processes import the package, which is none of the subject's time."""
        seed = execution.stream(self.seed, self.subject.name, "warming up")
        mechanism = self._mechanisms[one.setting]
        for crew in (self._crew, self.aside):
            if crew is not None and (crew is self._crew or not crew.started):
                with contextlib.suppress(WorkerEnded), _extend_first_call_time(crew):
                    replace(mechanism, crew=crew).observations(one.pair.dataset, 1, seed)
        self._began = time.monotonic()

    # Looks

    def _first_looks(
        self, candidates: Sequence[SubjectCandidate]
    ) -> list[tuple[SubjectCandidate, float]]:
        """Return pairs with how much differs at first sight, those of every setting in turn."""
        found, raised = list[tuple[SubjectCandidate, float]](), set[str]()
        failing = 0
        for one in _in_turn(candidates):
            if (sides := self._looked_at(one, FIRST, "first look", first=not found)) is None:
                left = len(candidates) - self.ran.first
                said = f"{left} of {len(candidates)} pairs were not looked at: time"
                self.ran.unreached.append(said)
                break
            self.ran.first += 1
            every = {_find_call_failure(each) for side in sides for each in side}
            failures = {each for each in every if each is not None}
            if failures == every and len({each.kind for each in failures}) == 1:
                failing += 1
                raised |= {each.words for each in failures}
            found.append((one, first_look(*sides)))
        if failing == len(found):
            self.ran.why = f"every call failed: {min(raised, key=len)}"
            return []
        return found

    def _looked_at(
        self, one: SubjectCandidate, count: int, purpose: str, *, first: bool
    ) -> tuple[Any, Any] | None:
        """Return outputs on both datasets of a pair, None if the time for them is over.

        The first pair of all may take whatever time there is, and raises where that is over.
        """
        share = 1.0 if first else _FIRST_UNTIL if purpose == "first look" else _SECOND_UNTIL
        if self._used() > share:
            return None
        try:
            with self._by_share(share):
                on_p = self._of_dataset(one, count, purpose)
                return on_p, self._drawn(one, one.pair.neighbour, count, purpose, one.edit)
        except DrawTimeout:
            if first:
                raise
            return None

    def _select_pairs_ahead(
        self, looked: Sequence[tuple[SubjectCandidate, float]]
    ) -> list[SubjectCandidate]:
        """Return the pairs of each setting, relation and family that differ most, by each look."""
        self._moved = self._guided([one for one, _ in looked])
        in_order = sorted(looked, key=_get_candidate_order)
        return [
            candidate
            for _, group in groupby(in_order, key=_get_candidate_order)
            for candidate in _select_group_pairs(list(group), self._moved)
        ]

    def _guided(self, candidates: Sequence[SubjectCandidate]) -> dict[int, float]:
        worth = dict.fromkeys(map(id, candidates), 0.0)
        if self.guide is None or self.aside is None:
            return worth
        ordered = sorted(candidates, key=lambda one: (one.setting, one.group))
        for setting, group in groupby(ordered, key=lambda one: one.setting):
            some = list(group)
            slow = 3 * len(some) * self._pace[setting] > _GUIDED_SHARE * self.seconds
            if slow or self._mechanisms[setting].alone or self._used() > _GUIDED_UNTIL:
                continue
            mechanism = replace(self._mechanisms[setting], crew=self.aside)
            with self._by_share(_GUIDED_UNTIL):
                values = self.guide(mechanism, some)
            worth |= {id(one): value.moved for one, value in zip(some, values, strict=True)}
            self._compare_budgets(setting, max(one.declared for one in values))
        return worth

    def _select_farthest_pairs(
        self, looked: Sequence[tuple[SubjectCandidate, float]], ahead: Sequence[SubjectCandidate]
    ) -> list[SubjectCandidate]:
        """Return the pairs of a search that move farther than all that go ahead beside them."""
        if self.guide is None or self.aside is None:
            return []
        apart = {id(one): size for one, size in looked}
        best = dict[tuple[Any, ...], AscentResult]()
        for one in self._searched():
            worth = apart if one.is_of_outputs else self._moved
            beside = [
                each
                for each in ahead
                if _get_candidate_order((each,)) == _get_candidate_order((one.candidate,))
            ]
            least = max((worth.get(id(each), 0.0) for each in beside), default=0.0)
            key = _get_candidate_order((one.candidate,))
            if one.moved > max(least, best[key].moved if key in best else 0.0) * _FARTHER:
                best[key] = one
        groups = 1 + max(one.group for one, _ in looked)
        self.ran.pairs += len(best)
        return [replace(one.candidate, group=groups + n) for n, one in enumerate(best.values())]

    def _searched(self) -> Iterator[AscentResult]:
        """Yield the findings of searches in every setting, each in its share of the time."""
        if self.guide is None or self.aside is None:
            return
        count = len(self._mechanisms) * len(self.subject.relations)
        for setting, drawing in enumerate(self._mechanisms):
            seconds = _SEARCHED_SHARE * self.seconds / count
            calls = calls_in(seconds, 3 * self._pace[setting])
            if drawing.alone or self._is_late():
                continue
            mechanism = replace(drawing, crew=self.aside)
            with self._by_share(_SEARCHED_UNTIL):
                search = Ascent(
                    subject=self.subject,
                    setting=setting,
                    seed=self.seed,
                    mechanism=mechanism,
                    guide=self.guide,
                    drawing=drawing,
                    calls=calls,
                    is_late=self._is_late,
                )
                try:
                    yield from search.climbed()
                except DrawTimeout:  # its share is over, which is no failure
                    continue
                except DpauditError as error:
                    failed = FailedSearch(
                        subject=self.subject.name, setting=setting, why=str(error)
                    )
                    self.ran.failed_searches.append(failed)

    def _is_late(self) -> bool:
        return self._used() > _SEARCHED_UNTIL

    def _compare_budgets(self, setting: int, declared: float) -> None:
        """Note where mechanisms declare more than the claim: evidence from a run, and no proof."""
        for claim in self.subject.claims:
            claimed = claim.guarantee(self.subject.parameters[setting])
            if isinstance(claimed, PureDP) and declared > claimed.at_epsilon * (1 + 1e-9):
                said = (
                    f"in a call with frozen noise the mechanisms whose value moved declare an "
                    f"epsilon of {declared:.4g} together, where {claimed.at_epsilon:g} is claimed"
                )
                if not self.ran.declares_more:
                    self.ran.notes.append(said)
                self.ran.declares_more = True

    def _second_looks(self, candidates: Sequence[SubjectCandidate]) -> list[WeighedClaim]:
        """Return each pair and claim with the nats that speak against it."""
        found = list[WeighedClaim]()
        for one in _in_turn(candidates):
            count = self._affordable(one.setting, len(candidates))
            if (sides := self._looked_at(one, count, "second look", first=not found)) is None:
                break
            self.ran.second += 1
            for claim in self.subject.claims:
                at = list_claim_points(claim.guarantee(self.subject.parameters[one.setting]))
                found.append(WeighedClaim(one, claim, second_look(*sides, at)))
        return found

    def _affordable(self, setting: int, pairs: int) -> int:
        if self._mechanisms[setting].alone:
            return ALONE
        pace = max(self._pace[setting], 1e-6)
        count = int(self.seconds * (_SECOND_UNTIL - _FIRST_UNTIL) / (1.5 * pairs * pace))
        return SECOND if count >= SECOND else max(FEWEST, count)

    # What certifies

    def _certify(self, weighed: Sequence[WeighedClaim]) -> None:
        """Certify the worst candidate of each hypothesis, as far as it is worth it."""
        best = dict[tuple[Any, ...], WeighedClaim]()
        for one in weighed:
            key = (*_get_candidate_order(one), id(one.claim))
            if key not in best or one.nats > best[key].nats:
                best[key] = one
        waiting = _worth_certifying(best.values())
        while waiting:
            candidate, claim, nats = waiting[0]
            try:
                self._certify_one(candidate, claim, clear=nats > CLEAR, waiting=len(waiting))
            except DrawTimeout:
                suspect = sum(one.nats >= WORTH for one in waiting)
                said = f"{len(waiting)} hypotheses were not certified: time"
                self.ran.unreached.append(said)
                if suspect:
                    worse = "of the uncertified ones looked worse than the claim"
                    self.ran.notes.append(f"{suspect} {worse}")
                return
            waiting = waiting[1:]

    def _certify_one(
        self, candidate: SubjectCandidate, claim: PackageClaim, *, clear: bool, waiting: int
    ) -> None:
        given = self.subject.parameters[candidate.setting]
        named = (str(candidate.setting), str(candidate.group), candidate.relation, candidate.edit)
        place = self.subject.claims.index(claim)
        words = execution.stream(self.seed, self.subject.name, "certify", *named, str(place))
        seed = int(words.generate_state(1, np.uint64)[0])
        found = certify_claim(
            self._mechanisms[candidate.setting],
            candidate.pair,
            claim.guarantee(given),
            self._sizes(candidate.setting, clear=clear, waiting=waiting),
            self.alpha,
            seed,
            min(self.until, self._began + self.seconds),
        )
        self.ran.tested.append(Hypothesis(candidate, claim, found))
        if found.kept and found.why not in self.ran.notes:
            self.ran.notes.append(found.why)
        self._count(candidate.relation, found.drawn)

    def _sizes(self, setting: int, *, clear: bool, waiting: int) -> SampleSizes:
        """Return how many outputs choose and count: as many as time allows, within limits."""
        most = min(self.trials, self.subject.trials or self.trials)
        left = self._began + self.seconds - time.monotonic()
        pace = max(self._pace[setting], 1e-6)
        share = max(_COUNTING_SHARE, _OF_FEW / waiting)
        counting = min(most, max(_FEWEST_COUNTING, int(share * left / pace)))
        choosing = CHOOSING_CLEAR if clear else CHOOSING
        return SampleSizes(
            max(_FEWEST_CHOOSING, min(choosing, counting // 3 if clear else counting // 2)),
            counting,
        )

    # Draws

    def _of_dataset(self, one: SubjectCandidate, count: int, purpose: str) -> Any:
        """Return outputs of the first dataset, which pairs of one group share."""
        key = (one.group, f"{purpose} {count}")
        if key not in self._kept:
            self._kept[key] = self._drawn(one, one.pair.dataset, count, purpose, "dataset")
        else:
            self._count(one.relation, 0)
        return self._kept[key]

    def _drawn(
        self, one: SubjectCandidate, dataset: Any, count: int, purpose: str, what: str
    ) -> Any:
        """Return observations; where a process ends, of outputs that are drawn one by one."""
        named = (self.subject.name, purpose, str(one.setting), str(one.group), one.relation, what)
        seed = execution.stream(self.seed, *named)
        mechanism, began = self._mechanisms[one.setting], time.monotonic()
        count = min(count, ALONE) if mechanism.alone else count
        try:
            found = mechanism.observations(dataset, count, seed)
        except SharedCall:
            return self._apart(one, dataset, count, seed)
        except WorkerEnded:
            mechanism = self._mechanisms[one.setting] = mechanism.one_by_one()
            found = mechanism.observations(dataset, min(count, ALONE), seed)
        self._pace[one.setting] = (time.monotonic() - began) / max(len(found), 1)
        self._count(one.relation, len(found))
        return found

    def _apart(self, one: SubjectCandidate, dataset: Any, count: int, seed: Any) -> Any:
        """Return observations of a function of many outputs where each has a call of its own."""
        found = self._mechanisms[one.setting].drawn_apart().observations(dataset, count, seed)
        self._count(one.relation, len(found))
        return found

    def _count(self, relation: str, outputs: int) -> None:
        self.ran.drawn[relation] = self.ran.drawn.get(relation, 0) + outputs

    def _used(self) -> float:
        """Return which share of its time the subject has used."""
        return (time.monotonic() - self._began) / self.seconds


def _extend_first_call_time(crew: Crew) -> contextlib.AbstractContextManager[None]:
    """Let calls take longer where there is no process yet: the first one imports the package."""
    return contextlib.nullcontext() if crew.started else crew.patient(_IMPORTING)


def _get_candidate_order(one: tuple[Any, ...]) -> tuple[int, str, int]:
    candidate: SubjectCandidate = one[0]
    return candidate.setting, candidate.relation, FAMILIES.index(candidate.family)


def _select_group_pairs(
    group: Sequence[tuple[SubjectCandidate, float]], moved: Mapping[int, float]
) -> list[SubjectCandidate]:
    """Return the pairs of a group that a screen puts first, and one that runs move farther."""
    by_screen = [one for one, _ in sorted(group, key=lambda one: one[1], reverse=True)]
    best_by_screen, others = by_screen[:AHEAD], by_screen[AHEAD:]
    # Of the pairs that a card states one is among them.
    selected = best_by_screen + [one for one in others if one.stated][:1]
    best_by_guide = max((one for one, _ in group), key=lambda one: moved[id(one)])
    if moved[id(best_by_guide)] > max(moved[id(one)] for one in selected):
        selected.append(best_by_guide)
    return selected


def _worth_certifying(weighed: Iterable[WeighedClaim]) -> list[WeighedClaim]:
    """Return the evidence against a claim, and the worst of each relation and claim anyway.

    The worst of each family, relation and claim come before further settings, and relations that
    are claimed before others: where time is short, it goes to what is found only there.
    """
    ordered = sorted(weighed, key=lambda one: one.nats, reverse=True)
    kept = list[tuple[int, bool, float, int, WeighedClaim]]()
    usual, ranks = set[tuple[str, int]](), Counter[tuple[str, str, int]]()
    for place, one in enumerate(ordered):
        relation, claim = one.candidate.relation, one.claim
        family = (one.candidate.family, relation, id(claim))
        unclaimed = claim.relation not in (None, relation)
        if one.nats >= WORTH or family[1:] not in usual:
            kept.append((ranks[family], unclaimed, -one.nats, place, one))
        ranks[family] += 1
        usual.add(family[1:])
    return [one for *_, one in sorted(kept, key=lambda one: one[:4])]


def _in_turn(candidates: Sequence[SubjectCandidate]) -> Iterator[SubjectCandidate]:
    """Yield candidates of every setting and relation in turn, so that time cuts all alike."""
    queues: dict[tuple[int, str, int], list[SubjectCandidate]] = {}
    for one in candidates:
        queues.setdefault(_get_candidate_order((one,)), []).append(one)
    while queues:
        for key in list(queues):
            yield queues[key].pop(0)
            if not queues[key]:
                del queues[key]


class _Failure(NamedTuple):
    """The class of an exception, and its description."""

    kind: str
    words: str


def _find_call_failure(observed: Any) -> _Failure | None:
    """Return how a call failed, None if it did not."""
    if isinstance(observed, dict) and isinstance(observed.get("output"), Exception):
        observed = observed["output"]
    if not isinstance(observed, Exception):
        return None
    kind = type(observed).__name__
    return _Failure(kind, f"{kind}: {observed}")
