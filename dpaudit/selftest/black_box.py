"""The event bound at full size: from millions of outputs, none of which are kept.

Four samples, each used once: attacks learn on the first, the second decides between them, the third
sets the event's threshold and says how many outputs show what it promises, and the fourth
certifies. Only counts leave a block.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.likelihood import likelihood_bound
from dpaudit.estimation.orders import exponent
from dpaudit.execution import plan_units, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.execution.units import Unit
from dpaudit.extension.distinguisher import Score
from dpaudit.mechanisms.mechanism import draw_checked_sample
from dpaudit.selftest.answers import KnownAnswer, Learner

Counts = NDArray[np.int64]

_BLOCK = 2**16  # entries of all outputs of a block
_LEAST_BLOCK = 2**13  # outputs of a block at least
_CANDIDATES = 400
_MOST_LEARNED = 500_000
_MOST_CHOOSING = 10_000_000
_MOST_CERTIFYING = 25_000_000
_STAGES = (0.1, 1.0)  # of the outputs that set a threshold: before, attacks are left out
# By how much a costlier attack has to promise more than all cheaper ones, before it is worth
# its time on millions of outputs.
_AHEAD = 1.03
_NEAR = 0.6  # of the best promise: attacks that get a second chance, on many more outputs
_KEPT = 8  # blocks whose counts are kept together: a fraction of a second's work
_SELECTION = 1e-4  # how rarely the bound errs by which events are compared
_SHARE = 0.03  # of what an event shows: what may be lost to chance
_ERRORS = 3.6  # the standard errors that are to fit in it: of the bound, and of luck


@dataclass(frozen=True, kw_only=True)
class SelfTestBudget:
    """The numbers of outputs that each purpose draws of each dataset.

    Parameters
    ----------
    judging
        Outputs on which attacks are compared.
    learning, choosing, certifying
        Outputs times their entries, at most: and no more than half a million, 10 million and
        25 million outputs.
    least
        Outputs that certify, at least.
    """

    learning: int
    judging: int
    choosing: int
    certifying: int
    least: int


@dataclass(frozen=True, kw_only=True)
class BlackBoxResult:
    """The bound that outputs alone certified for a known answer, and the outputs that it took.

    ``lower`` is at most the pair's true epsilon with the probability that was asked for, and
    ``nearly_certain``, from the same counts, but for the smaller one; ``hits`` and ``other_hits``
    are of the event, on the side it favours and on the other one.
    """

    lower: float
    nearly_certain: float
    attack: str
    hits: int
    other_hits: int
    trials: int
    seconds: float


@dataclass(frozen=True)
class _Rule:
    """An event: scores from a threshold on, or those below it, which favour the neighbour."""

    above: bool
    threshold: float

    def hits(self, below: Counts, trials: int) -> tuple[int, int]:
        """Return the counts on the favoured side and on the other, from those below it."""
        p, q = (int(count) for count in below[:, 0])
        return (trials - p, trials - q) if self.above else (q, p)


def audit(
    answer: KnownAnswer,
    learners: Sequence[Learner],
    budget: SelfTestBudget,
    alphas: tuple[float, float],
    seed: int,
) -> BlackBoxResult:
    """Return the bound of the most promising attack from outputs alone.

    Parameters
    ----------
    answer
        Only its mechanism, pair and delta are looked at.
    learners
        Attacks; one that refuses the outputs is left out.
    budget
        How much is drawn.
    alphas
        Error probabilities of the bound, and of the one that errs by no bad luck.
    seed
        The only source of randomness.

    Raises
    ------
    InvalidArgument
        Every attack refuses the outputs.
    """
    began = time.process_time()
    draws = _AnswerDraws.of(answer, seed)
    entries = draws.outputs(0, 1, "probing").size
    trials = max(min(budget.choosing // entries, _MOST_CHOOSING), budget.judging)
    name, score, rule, rates = _choose_best_attack(
        draws, _select_promising_attacks(draws, learners, budget), trials
    )
    most = max(min(budget.certifying // entries, _MOST_CERTIFYING), budget.least)
    size = _plan_output_count(rates, answer.delta, budget.least, most)
    # Attack, threshold and number of outputs are fixed before this stream is touched. Both
    # bounds come from the same counts, as an error of the smaller probability is one of the
    # larger as well.
    counts = draws.below([(score, np.array([rule.threshold]))], size, "certifying")[0]
    hits, other = rule.hits(counts, size)
    lower, nearly_certain = (
        joint_lower_bound(hits, other, size, size, delta=answer.delta, alpha=alpha)
        for alpha in alphas
    )
    return BlackBoxResult(
        lower=lower,
        nearly_certain=nearly_certain,
        attack=name,
        hits=hits,
        other_hits=other,
        trials=size,
        seconds=time.process_time() - began,
    )


@dataclass(frozen=True)
class _AnswerDraws:
    """Outputs of one known answer, block by block: a purpose and a side have one stream."""

    answer: KnownAnswer
    seed: int
    together: int = _BLOCK

    @classmethod
    def of(cls, answer: KnownAnswer, seed: int) -> _AnswerDraws:
        """Return draws in blocks that stay in the processor's cache."""
        entries = cls(answer, seed).outputs(0, 1, "probing").size
        return cls(answer, seed, max(_LEAST_BLOCK, _BLOCK // entries))

    def outputs(self, side: int, trials: int, purpose: str) -> Array:
        return np.concatenate(list(self._blocks(side, trials, purpose)))

    def below(
        self, scores: Sequence[tuple[Score, Array]], trials: int, purpose: str
    ) -> list[Counts]:
        """Return how many scores are below each of their thresholds, shape ``(2, K)`` each."""
        thresholds = [limits for _, limits in scores]
        places = [np.zeros((2, len(limits) + 1), dtype=np.int64) for limits in thresholds]
        for side in (0, 1):
            for at, blocks in enumerate(_split_unit_groups(self._units(side, trials, purpose))):
                found = get_current_ledger().fact(
                    f"{purpose} {side} of {trials}, {at}",
                    partial(self._count_scores, scores, side, blocks),
                    (self.answer.name, thresholds),
                )
                for counts, one in zip(places, found, strict=True):
                    counts[side] += one
        return [np.asarray(counts.cumsum(axis=1)[:, :-1]) for counts in places]

    def _count_scores(
        self, scores: Sequence[tuple[Score, Array]], side: int, blocks: Sequence[Unit]
    ) -> list[Counts]:
        """Return how many scores of some blocks are between thresholds."""
        places = [np.zeros(len(limits) + 1, dtype=np.int64) for _, limits in scores]
        for block in map(partial(self._drawn, side), blocks):
            for (score, limits), counts in zip(scores, places, strict=True):
                # From the right, so that a score that equals a threshold lies above it, as in
                # the event.
                place = np.searchsorted(limits, score(block), side="right")
                counts += np.bincount(place, minlength=len(limits) + 1)
        return places

    def _blocks(self, side: int, trials: int, purpose: str) -> Iterator[Array]:
        return map(partial(self._drawn, side), self._units(side, trials, purpose))

    def _units(self, side: int, trials: int, purpose: str) -> list[Unit]:
        # The purpose is part of the stream: outputs that learned, judged or chose must never
        # certify.
        seed = stream(self.seed, self.answer.name, purpose, str(side))
        return plan_units(trials, self.together, seed)

    def _drawn(self, side: int, block: Unit) -> Array:
        dataset = self.answer.pair.neighbour if side else self.answer.pair.dataset
        return draw_checked_sample(self.answer.mechanism, dataset, block.trials, block.generator())


def _split_unit_groups(units: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    return (units[at : at + _KEPT] for at in range(0, len(units), _KEPT))


@dataclass(frozen=True)
class _FittedAttack:
    """A fitted attack, its promise, and thresholds for its scores."""

    name: str
    score: Score
    promised: float
    thresholds: Array


def _select_promising_attacks(
    draws: _AnswerDraws, learners: Sequence[Learner], budget: SelfTestBudget
) -> Sequence[_FittedAttack]:
    """Return the attacks that promise nearly as much as the best, on outputs unseen so far."""
    entries = draws.outputs(0, 1, "probing").size
    size = min(max(budget.learning // entries, 1), _MOST_LEARNED)
    learned = [draws.outputs(side, size, "learning") for side in (0, 1)]
    judging = [draws.outputs(side, budget.judging, "judging") for side in (0, 1)]
    answer, tried = draws.answer, list[_FittedAttack]()
    for learner in learners:
        name = learner.attack.name
        rng = default_rng(stream(draws.seed, answer.name, name))
        on_p, on_q = (side[: learner.most] for side in learned)
        try:
            score = learner.attack.load()(answer.mechanism, answer.pair, on_p, on_q, rng)
        except InvalidArgument:  # it is made for outputs of another kind
            continue
        p, q = (np.asarray(score(side), dtype=np.float64) for side in judging)
        promised = choose_event(p, q, answer.delta).promised
        tried.append(_FittedAttack(name, score, promised, _choose_candidate_thresholds((p, q))))
    if not tried:
        names = [learner.attack.name for learner in learners]
        raise InvalidArgument("attacks", names, "one that takes these outputs")
    enough = _NEAR * max(one.promised for one in tried)
    return [one for one in tried if one.promised >= enough]


def _choose_best_attack(
    draws: _AnswerDraws, tried: Sequence[_FittedAttack], trials: int
) -> tuple[str, Score, _Rule, tuple[float, float]]:
    """Return the attack and event that promise most on many outputs, and the event's rates.

    The first of them leave out attacks that will hardly win.
    """
    rules = list[tuple[float, _Rule, tuple[float, float]]]()
    for share in _STAGES if len(tried) > 1 else (1.0,):
        rules = _choose_attack_rules(draws, tried, math.ceil(trials * share))
        rivals = _select_rival_attacks([promised for promised, _, _ in rules])
        tried, rules = [tried[at] for at in rivals], [rules[at] for at in rivals]
    at = int(np.argmax([promised for promised, _, _ in rules]))
    _, rule, rates = rules[at]
    return tried[at].name, tried[at].score, rule, rates


def _select_rival_attacks(promises: Sequence[float]) -> Sequence[int]:
    """Return which attacks are not far behind, and clearly ahead of all before them.

    Attacks are in order of what they cost: of those that promise the same, the first will do.
    """
    before = np.maximum.accumulate([0.0, *promises[:-1]])
    near = np.array(promises) >= _NEAR * max(promises)
    ahead = np.array(promises) > _AHEAD * before
    return np.flatnonzero(near & ahead).tolist() or [0]


def _choose_attack_rules(
    draws: _AnswerDraws, tried: Sequence[_FittedAttack], trials: int
) -> list[tuple[float, _Rule, tuple[float, float]]]:
    counts = draws.below([(one.score, one.thresholds) for one in tried], trials, "choosing")
    return [
        _best_rule(one.thresholds, below, trials, draws.answer.delta)
        for one, below in zip(tried, counts, strict=True)
    ]


def _choose_candidate_thresholds(scores: tuple[Array, Array]) -> Array:
    """Return thresholds a little below scores that were seen, ascending; more near both ends.

    Scores that are equal but for their last bits are not told apart.
    """
    pooled = np.concatenate(scores)
    finite = pooled[np.isfinite(pooled)]
    # The grain merges scores that differ by rounding alone. The least value keeps it above 0
    # where all scores are 0, and above subnormal numbers.
    grain = 1e-9 * max(1e-290, float(np.abs(finite).max(initial=0.0)))
    values = np.unique(np.round(pooled / grain) * grain)
    ranks = np.arange(len(values))
    if len(values) > _CANDIDATES:
        values = np.sort(np.round(pooled / grain) * grain)
        # The most telling event may hold a thousandth of all outputs, which evenly spaced ranks
        # would step over.
        ends = np.geomspace(1, len(values) / 2, _CANDIDATES // 4).astype(np.int64) - 1
        middle = np.linspace(0, len(values) - 1, _CANDIDATES // 2).astype(np.int64)
        ranks = np.concatenate([ends, middle, len(values) - 1 - ends])
    # Half a grain below a score, so that the last bits of a score cannot decide on which side
    # it lies.
    return np.unique(values[ranks]) - grain / 2


def _best_rule(
    thresholds: Array, below: Counts, trials: int, delta: float
) -> tuple[float, _Rule, tuple[float, float]]:
    """Return the best promise of an event, the event, and its rates: favoured side, other side."""
    p, q = below / trials
    nats = exponent(_SELECTION)
    above = likelihood_bound(1 - p, 1 - q, trials, trials, delta, nats)
    under = likelihood_bound(q, p, trials, trials, delta, nats)
    if above.max() >= under.max():
        at = int(np.argmax(above))
        return float(above[at]), _Rule(True, float(thresholds[at])), (1 - p[at], 1 - q[at])
    at = int(np.argmax(under))
    return float(under[at]), _Rule(False, float(thresholds[at])), (q[at], p[at])


def _plan_output_count(rates: tuple[float, float], delta: float, least: int, most: int) -> int:
    """Return how many outputs show nearly all of the loss that the event shows."""
    rate, other = rates
    if other == 0:  # the ratio has no end to come near to
        return least
    shown = float(likelihood_bound(rate, other, most, most, delta, 1e-12))
    size = least
    while size < most:
        if likelihood_bound(rate, other, size, size, delta, _ERRORS**2 / 2) >= (1 - _SHARE) * shown:
            break
        size = math.ceil(size * math.sqrt(2))
    return min(size, most)
