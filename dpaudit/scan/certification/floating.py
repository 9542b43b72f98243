"""Floating point: subjects that publish a value plus noise, as the numbers that a computer has.

Two kinds of hypotheses, for each setting, relation and claim of an additive subject. The first asks
distinguishers that read the representation of a number (those registered with ``of_bits``): they
are fitted on some outputs, an event of their score is chosen on others, and fresh ones count it.
The second certifies the pairs at each corner of numbers (`dpaudit.scan.candidates.corners`) as any
other pair: ties, subnormals, saturation, overflow, integers beyond 2^53, the sign of zero.

Formal guarantee. `count_floating_hypotheses` is a function of the card alone, and each is tested at
most once, on outputs that chose nothing, with the error probability that it is given: so the union
bound of the scan (`dpaudit.scan.scan`) holds with these added.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.errors import DpauditError, MechanismError
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.execution import stream
from dpaudit.execution.failures import convert_unforeseen_errors
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.extension.registry import DISTINGUISHERS
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.neighbours import Pair
from dpaudit.report.formatting import format_significant
from dpaudit.scan.candidates.corners import BITS, CORNERS, Corner, CornerPair, corner_pairs
from dpaudit.scan.candidates.pairs import SubjectCandidate
from dpaudit.scan.candidates.screen import list_claim_points, second_look
from dpaudit.scan.certification.certify import CertifiedBound, SampleSizes, certify_claim
from dpaudit.scan.certification.finite_numbers import (
    convert_to_numbers,
    count_finite_hits,
    is_finite_number,
    observe_in_turn,
)
from dpaudit.scan.certification.keeping import CountedOutputs, RefutationLook
from dpaudit.scan.finding import CarryingCounts, FloatingCheck, SeenEvent
from dpaudit.scan.remote.foreign import Foreign, SharedCall
from dpaudit.verdicts import Verdict

_SCREENED = 3  # pairs
_SCREEN = 400  # outputs of each dataset that choose among them
_LEARNED = 2000  # outputs of each dataset that fit, and as many that choose an event
_CHOOSE = 400  # that choose one at a corner
_FEW = 8  # outputs that tell how quick a subject is
_FEW_OF_MANY = 256  # the same, of one that draws many at once
_FEWEST = 200  # that are drawn in any case
_NO_NUMBER = -1e300  # stands for a part of an output that is none
_BITS_SHARE = 3.0  # times the time of another corner: what is counted is rarer

_NO_TIME = "no time: the seconds that there were for it are over"
_NO_PAIR = "no such values within the bounds, or refuted without it"

Mechanisms = Callable[[Mapping[str, Any]], Foreign]


class CornerResult(NamedTuple):
    """One hypothesis about floating point, and its outcome."""

    corner: Corner
    candidate: SubjectCandidate
    claim: PackageClaim
    result: CertifiedBound


class HasNoNumbers(MechanismError):
    """Outputs that have no bits to look at: nobody can say anything of them, and nobody has to."""


class Gap(NamedTuple):
    """A corner that nothing was tested at, for one relation and claim, and why.

    ``has_numbers`` is False where outputs have none to look at; else the verdict is withheld.
    """

    corner: Corner
    relation: str
    claim: PackageClaim
    why: str
    has_numbers: bool


@dataclass
class FloatingRan:
    """The tests of one additive subject, and those that were not possible."""

    tested: list[CornerResult] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    drawn: int = 0


def of_bits() -> list[Distinguisher]:
    """Return the installed distinguishers that read the representation of numbers."""
    return [one for one in DISTINGUISHERS.all().values() if one.of_bits]


def count_floating_hypotheses(subject: Subject) -> int:
    """Return how many hypotheses about floating point a subject has, whatever is drawn."""
    if not subject.additive:
        return 0
    return len(subject.parameters) * len(subject.relations) * len(CORNERS) * len(subject.claims)


@dataclass
class FloatingScan:
    """Looks at one additive subject.

    Parameters
    ----------
    subject
        From the card.
    mechanism
        Returns the subject with a setting, as a mechanism.
    candidates
        The pairs of the scan: the bits are looked at on some of them.
    seed, trials, alpha
        As `dpaudit.scan.subject.SubjectScan` takes them: alpha is of each hypothesis.
    seconds
        That it may take, about: what it does not reach is said.
    refuted
        Whether a setting, relation and claim (by their place and name) was refuted already: then
        its numbers differ for another reason than their representation.
    """

    subject: Subject
    mechanism: Mechanisms
    candidates: Sequence[SubjectCandidate]
    seed: int
    trials: int
    alpha: float
    seconds: float = math.inf
    refuted: Callable[[int, str, PackageClaim], bool] = lambda *_: False

    def __post_init__(self) -> None:
        self._began, self._left = time.monotonic(), count_floating_hypotheses(self.subject)

    def run(self) -> FloatingRan:
        """Return the outcome; a failure of the package is reported and ends nothing else."""
        ran = FloatingRan()
        if not self.subject.additive:
            return ran
        for place, parameters in enumerate(self.subject.parameters):
            mechanism = self.mechanism(parameters)
            for corner, of_corner in self._by_corner(place, parameters).items():
                self._look(ran, mechanism, place, corner, of_corner)
        return ran

    def _by_corner(
        self, place: int, parameters: Mapping[str, Any]
    ) -> dict[Corner, list[SubjectCandidate]]:
        found: dict[Corner, list[SubjectCandidate]] = {one: [] for one in CORNERS}
        found[CORNERS[0]] = [one for one in self.candidates if one.setting == place]
        for one in corner_pairs(self.subject, parameters):
            found[one.corner].append(_make_corner_candidate(one, place))
        return found

    def _look(
        self,
        ran: FloatingRan,
        mechanism: Foreign,
        place: int,
        corner: Corner,
        candidates: Sequence[SubjectCandidate],
    ) -> None:
        for relation in self.subject.relations:
            some = [one for one in candidates if one.relation == relation]
            for claim in self.subject.claims:
                if some and not self.refuted(place, relation, claim):
                    self._one(ran, mechanism, corner, some, claim)
                self._left -= 1

    def _one(
        self,
        ran: FloatingRan,
        mechanism: Foreign,
        corner: Corner,
        candidates: Sequence[SubjectCandidate],
        claim: PackageClaim,
    ) -> None:
        relation = candidates[0].relation
        if time.monotonic() - self._began > self.seconds:
            ran.gaps.append(Gap(corner, relation, claim, _NO_TIME, has_numbers=True))
            return
        claimed = claim.guarantee(mechanism.parameters)
        named = (self.subject.name, corner.name, relation, str(candidates[0].setting))
        seed = int(stream(self.seed, "floating point", *named).generate_state(1, np.uint64)[0])
        try:
            with convert_unforeseen_errors():
                candidate, result = self._tested(mechanism, corner, candidates, claimed, seed)
        except DpauditError as error:
            has_numbers = not isinstance(error, HasNoNumbers)
            ran.gaps.append(Gap(corner, relation, claim, str(error), has_numbers))
            return
        ran.drawn += result.drawn
        ran.tested.append(CornerResult(corner, candidate, claim, result))

    def _tested(
        self,
        mechanism: Foreign,
        corner: Corner,
        candidates: Sequence[SubjectCandidate],
        claimed: Guarantee,
        seed: int,
    ) -> tuple[SubjectCandidate, CertifiedBound]:
        """Return the certified bounds, each output by a call of its own if calls are no outcome."""
        alpha = self.alpha / 2
        try:
            return self._by_corner_of(mechanism, corner, candidates, claimed, seed, alpha)
        except SharedCall:
            apart = mechanism.drawn_apart()
            return self._by_corner_of(apart, corner, candidates, claimed, seed + 1, alpha)

    def _by_corner_of(
        self,
        mechanism: Foreign,
        corner: Corner,
        candidates: Sequence[SubjectCandidate],
        claimed: Guarantee,
        seed: int,
        alpha: float,
    ) -> tuple[SubjectCandidate, CertifiedBound]:
        if corner.name == BITS:
            return self._of_bits(mechanism, candidates, claimed, seed, alpha)
        candidate = self._worst(mechanism, candidates, claimed, seed)
        sizes = self._sizes(mechanism, candidate, _CHOOSE)
        return candidate, certify_claim(mechanism, candidate.pair, claimed, sizes, alpha, seed)

    def _worst(
        self,
        mechanism: Foreign,
        candidates: Sequence[SubjectCandidate],
        claimed: Guarantee,
        seed: int,
    ) -> SubjectCandidate:
        """Return the pair of a corner whose outputs differ most at first sight."""

        def apart(one: SubjectCandidate) -> float:
            on = observe_in_turn(mechanism, one.pair, _SCREEN // 4, seed, f"screen {one.edit}")
            return second_look(*on, list_claim_points(claimed))

        return max(candidates, key=apart) if len(candidates) > 1 else candidates[0]

    def _sizes(self, mechanism: Foreign, candidate: SubjectCandidate, choosing: int) -> SampleSizes:
        """Return how many outputs choose and count: those that a hypothesis' time allows."""
        most = min(self.trials, self.subject.trials or self.trials)
        if math.isinf(self.seconds):
            return SampleSizes(min(choosing, most), most)
        began, few = time.monotonic(), _FEW_OF_MANY if mechanism.many else _FEW
        observe_in_turn(mechanism, candidate.pair, few, self.seed, "pace")
        pace = (time.monotonic() - began) / (2 * few)
        share = (self.seconds - (began - self._began)) / max(self._left, 1)
        share *= _BITS_SHARE if choosing == _LEARNED else 1
        outputs = int(share / max(pace, 1e-6) / 2)
        return SampleSizes(
            max(_FEWEST, min(choosing, most, outputs // 4)), max(_FEWEST, min(most, outputs // 2))
        )

    def _of_bits(
        self,
        mechanism: Foreign,
        candidates: Sequence[SubjectCandidate],
        claimed: Guarantee,
        seed: int,
        alpha: float,
    ) -> tuple[SubjectCandidate, CertifiedBound]:
        cards = of_bits()
        if not cards:
            raise HasNoNumbers("no distinguisher of representations is installed")
        screened = list(_screen_distinguishers(mechanism, candidates, claimed, cards, seed))
        if not screened:
            raise HasNoNumbers("no output is a finite double")
        _, candidate, card = max(screened, key=lambda one: one[0])
        sizes = self._sizes(mechanism, candidate, _LEARNED)
        found = certify_number_bits(mechanism, candidate.pair, claimed, card, sizes, alpha, seed)
        return candidate, found


def _make_corner_candidate(one: CornerPair, place: int) -> SubjectCandidate:
    return SubjectCandidate(
        setting=place, group=-1, pair=one.pair, relation=one.relation, edit=one.edit
    )


def _screen_distinguishers(
    mechanism: Foreign,
    candidates: Sequence[SubjectCandidate],
    claimed: Guarantee,
    cards: Sequence[Distinguisher],
    seed: int,
) -> Iterator[tuple[float, SubjectCandidate, Distinguisher]]:
    """Yield how much an event of each distinguisher promises on a few pairs."""
    finite = 0
    for one in candidates:
        on = observe_in_turn(mechanism, one.pair, _SCREEN, seed, f"screen {one.edit}")
        numbers = [convert_to_numbers(side) for side in on]
        if any(side is None or not np.isfinite(side).all() for side in numbers):
            continue  # what is no number was looked at by the scan itself
        halves = [np.split(side, [_SCREEN // 2]) for side in numbers if side is not None]
        for card in cards:
            chosen, _ = _choose_distinguisher_event(
                card, mechanism, one.pair, halves, claimed, seed
            )
            yield chosen.beyond, one, card
        finite += 1
        if finite == _SCREENED:
            return


class _ChosenEvent(NamedTuple):
    """An event of a fitted distinguisher, at one point of a claim."""

    event: ThresholdEvent
    point: tuple[float, float]

    @property
    def beyond(self) -> float:
        """The distance beyond the claim that the event promises."""
        return self.event.promised - self.point[0]


def _choose_distinguisher_event(
    card: Distinguisher,
    mechanism: Foreign,
    pair: Pair[Any],
    halves: Sequence[Sequence[Array]],
    claimed: Guarantee,
    seed: int,
) -> tuple[_ChosenEvent, Callable[[Array], Array]]:
    """Return the most promising event of a distinguisher, fitted on first halves."""
    rng = default_rng(stream(seed, "fit", card.name))
    score = card.load()(mechanism, pair, halves[0][0], halves[1][0], rng)
    p, q = (score(side[1]) for side in halves)
    found = [
        _ChosenEvent(choose_event(p, q, point[1]), point) for point in list_claim_points(claimed)
    ]
    return max(found, key=lambda one: one.beyond), score


def certify_number_bits(
    mechanism: Foreign,
    pair: Pair[Any],
    claimed: Guarantee,
    card: Distinguisher,
    sizes: SampleSizes,
    alpha: float,
    seed: int,
) -> CertifiedBound:
    """Return the bounds that fresh outputs certify for the bits of a subject's numbers.

    Formal guarantee: distinguisher, event and the claim's point are chosen on outputs that are
    drawn apart from those that count it, so that ``lower`` exceeds the pair's epsilon at
    ``at_delta`` with probability at most ``alpha``. A fresh output that is no finite number
    belongs to no event.

    Raises
    ------
    MechanismError
        An output that fits or chooses is no finite number, or no array of equally many.
    """
    learned = [
        convert_to_numbers(one)
        for one in observe_in_turn(mechanism, pair, 2 * sizes.choosing, seed, "learn")
    ]
    if any(one is None or not np.isfinite(one).all() for one in learned):
        raise HasNoNumbers("an output is no finite double")
    halves = [np.split(one, 2) for one in learned if one is not None]
    (event, point), score = _choose_distinguisher_event(
        card, mechanism, pair, halves, claimed, seed
    )
    fresh = observe_in_turn(mechanism, pair, sizes.counting, seed, "count")
    hits = [count_finite_hits(one, score, event, halves[0][0].shape[1:]) for one in fresh]
    epsilon, delta = point
    tested = CarryingCounts.of(hits, sizes.counting, event.above, delta, alpha)
    refuted = tested.lower > epsilon
    drawn = 2 * (2 * sizes.choosing + sizes.counting)
    at = (epsilon, delta, sizes.counting, drawn)
    shape = halves[0][0].shape[1:]
    if refuted and (why := _why_kept(mechanism, pair, seed, score, event, shape, fresh)):
        return CertifiedBound(False, 0.0, *at, kept=True, why=why)
    seen = _make_score_event(card, event, hits, sizes.counting) if refuted else None
    kind: Literal["floating point"] | None = "floating point" if refuted else None
    return CertifiedBound(refuted, tested.lower, *at, seen, kind, tested=tested)


def _why_kept(
    mechanism: Foreign,
    pair: Pair[Any],
    seed: int,
    score: Callable[[Array], Array],
    event: ThresholdEvent,
    shape: tuple[int, ...],
    fresh: Sequence[Any],
) -> str:
    """Return why outputs that were counted refute nothing, as they may share noise."""

    def observe_numbers(observed: Any) -> CountedOutputs:
        parts = np.full((len(observed), math.prod(shape)), _NO_NUMBER)
        for row, one in zip(parts, observed, strict=True):
            if is_finite_number(one) and np.shape(one) == shape:
                row[:] = np.nan_to_num(np.asarray(one, dtype=np.float64).reshape(-1))
        return CountedOutputs(parts, count_finite_hits(observed, score, event, shape))

    def draw(count: int, purpose: str) -> tuple[Any, Any]:
        return observe_in_turn(mechanism, pair, count, seed, purpose)

    return RefutationLook(mechanism, pair, seed, draw, observe_numbers).why_kept(
        list(map(observe_numbers, fresh))
    )


def _make_score_event(
    card: Distinguisher, event: ThresholdEvent, hits: Sequence[int], runs: int
) -> SeenEvent:
    sign = "at least" if event.above else "at most"
    return SeenEvent(
        words=f"the score of {card.name} ({card.statement}) is {sign} "
        f"{format_significant(event.threshold)}",
        part="",
        test="several",
        on_dataset=hits[0],
        on_neighbour=hits[1],
        runs=runs,
    )


def checks_of(subject: Subject, ran: FloatingRan) -> Iterator[FloatingCheck]:
    """Yield the check of each corner, relation and claim, over all settings."""
    for corner in CORNERS:
        for relation in subject.relations:
            for claim in subject.claims:
                yield _make_floating_check(subject, ran, corner, relation, claim)


def _make_floating_check(
    subject: Subject, ran: FloatingRan, corner: Corner, relation: str, claim: PackageClaim
) -> FloatingCheck:
    tested = [
        one
        for one in ran.tested
        if one.corner is corner and one.claim is claim and one.candidate.relation == relation
    ]
    gaps = [
        one
        for one in ran.gaps
        if one.corner is corner and one.claim is claim and one.relation == relation
    ]
    worst = max(tested, key=lambda one: one.result.lower - one.result.claimed, default=None)
    verdict, why = _judge_corner([one.result for one in tested], gaps)
    return FloatingCheck(
        subject=subject.name,
        corner=corner.name,
        relation=relation,
        documented=claim.relation == relation,
        verdict=verdict,
        settings=len({one.candidate.setting for one in tested}),
        runs=sum(one.result.drawn for one in tested),
        lower=None if worst is None else worst.result.lower,
        tested=None if worst is None else worst.result.tested,
        claimed=None if worst is None else worst.result.claimed,
        why=why,
    )


def _judge_corner(
    tested: Sequence[CertifiedBound], gaps: Sequence[Gap]
) -> tuple[Verdict | None, str]:
    """Return the verdict on a corner, None where there is nothing to look at, and why."""
    if any(one.refuted for one in tested):
        return "refuted", ""
    if kept := [one.why for one in tested if one.kept]:
        return "withheld", kept[0]
    if tested:
        return "not refuted", ""
    if failed := [one.why for one in gaps if one.has_numbers]:
        return "withheld", failed[0]
    return None, gaps[0].why if gaps else _NO_PAIR
