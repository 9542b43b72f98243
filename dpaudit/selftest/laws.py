"""Laws whose epsilon is known, for the estimators under test: privacy losses first, then outputs.

Those that see outputs only are events, learned events, coins of canaries, and games; each draws
many audits at a time and returns what each certifies. The draws depend on the generator alone,
never on the error probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import binom

from dpaudit._typing import Array
from dpaudit.accounting.events import ExponentialNormRelease
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.estimation import canaries as scored
from dpaudit.estimation import one_run
from dpaudit.estimation.betting import last_true
from dpaudit.estimation.event import choose_event, event_bound
from dpaudit.estimation.exact_loss import (
    LossDirection,
    TiltedLosses,
    best_tilt,
    lower_end,
    upper_end,
)
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.estimation.sequential.game import BettingGame
from dpaudit.guarantees import gaussian
from dpaudit.laws import exponential_norm
from dpaudit.neighbours import Side


class LawPair(Protocol):
    """Two laws whose privacy loss can be drawn tilted."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides whose direction is audited."""
        ...

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon of the pair."""
        ...

    def losses(self, side: Side, tilt: float, trials: int, rng: Generator) -> TiltedLosses:
        """Return the losses of tilted trials in one direction."""
        ...


@dataclass(frozen=True)
class GaussianLawPair:
    """N(0, 1) against N(mu, 1): both directions are alike, and one is audited."""

    mu: float
    sides = (Side.DATASET,)

    def epsilon(self, delta: float) -> float:
        """Return the exact profile's."""
        return gaussian.epsilon_at(self.mu, math.log(delta))

    def losses(self, side: Side, tilt: float, trials: int, rng: Generator) -> TiltedLosses:
        """Return losses, which are Gaussian."""
        log_mgf = tilt * (1 + tilt) / 2 * self.mu**2
        loss = rng.normal((0.5 + tilt) * self.mu**2, self.mu, trials)
        return TiltedLosses(loss, np.full(trials, log_mgf), tilt, log_mgf)


@dataclass(frozen=True)
class NormPair:
    """Steps of exponential-norm noise of rate 1, each moved by the same length."""

    shift: float
    dimension: int
    steps: int
    sides = (Side.DATASET,)

    def epsilon(self, delta: float) -> float:
        """Return the middle of a bracket far narrower than any bound."""
        release = ExponentialNormRelease(
            sensitivity=self.shift,
            noise_rate=1.0,
            dimension=self.dimension,
            count=self.steps,
        )
        bracket = numerical_epsilon(release, delta)
        return (bracket.lower + bracket.upper) / 2

    def losses(self, side: Side, tilt: float, trials: int, rng: Generator) -> TiltedLosses:
        """Return losses, the sum of those of the steps."""
        shifts = np.zeros((trials, self.steps, self.dimension))
        shifts[..., 0] = self.shift
        noise = exponential_norm.draw_tilted(shifts, tilt, rng)
        one = float(exponential_norm.log_mgf(np.array(self.shift), self.dimension, tilt))
        loss = exponential_norm.norm_gain(noise, shifts).sum(axis=1)
        return TiltedLosses(loss, np.full(trials, self.steps * one), tilt, self.steps * one)


@dataclass(frozen=True)
class CoinPair:
    """So many coins of one bias against as many of another: the directions differ."""

    bias: float
    other: float
    coins: int
    sides = (Side.DATASET, Side.NEIGHBOUR)

    def epsilon(self, delta: float) -> float:
        """Return the larger epsilon of both directions, from the finite sum that delta is."""
        return max(self._epsilon(side, delta) for side in self.sides)

    def _epsilon(self, side: Side, delta: float) -> float:
        p, q = self._biases(side)
        counts = np.arange(self.coins + 1)
        on_p, on_q = (binom.pmf(counts, self.coins, bias) for bias in (p, q))

        def is_exceeded(epsilon: float) -> bool:
            return float(np.maximum(on_p - math.exp(epsilon) * on_q, 0).sum()) > delta

        return last_true(is_exceeded, 0.0, 100.0) if is_exceeded(0.0) else 0.0

    def losses(self, side: Side, tilt: float, trials: int, rng: Generator) -> TiltedLosses:
        """Return losses, each a number of heads and the rest tails."""
        p, q = self._biases(side)
        heads, tails = math.log(p / q), math.log((1 - p) / (1 - q))
        weights = p * math.exp(tilt * heads), (1 - p) * math.exp(tilt * tails)
        count = rng.binomial(self.coins, weights[0] / sum(weights), trials)
        log_mgf = self.coins * math.log(sum(weights))
        loss = count * heads + (self.coins - count) * tails
        return TiltedLosses(loss, np.full(trials, log_mgf), tilt, log_mgf)

    def _biases(self, side: Side) -> tuple[float, float]:
        return (self.bias, self.other) if side is Side.DATASET else (self.other, self.bias)


@dataclass(frozen=True)
class ExactLoss:
    """Exact-loss audits of a pair at one delta.

    So many ``trials`` are drawn four times in each direction: three of them choose.
    """

    pair: LawPair
    delta: float
    trials: int = 100

    @property
    def epsilon(self) -> float:
        """The pair's."""
        return self.pair.epsilon(self.delta)

    def lower(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return lower ends."""
        log_delta = math.log(self.delta)
        return np.array([lower_end(self._drawn(rng), log_delta, alpha) for _ in range(audits)])

    def upper(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return upper ends, infinity where there is none."""
        log_delta = math.log(self.delta)
        ends = [upper_end(self._drawn(rng), log_delta, alpha) for _ in range(audits)]
        return np.array([math.inf if end is None else end for end in ends])

    def _drawn(self, rng: Generator) -> list[LossDirection]:
        """Return one audit's trials in every direction."""
        return [self._direction(side, rng) for side in self.pair.sides]

    def _direction(self, side: Side, rng: Generator) -> LossDirection:
        log_delta = math.log(self.delta)
        plain = self.pair.losses(side, 0.0, self.trials, rng).privacy_loss
        # A Gaussian loss has the mean mu^2 / 2 and the variance mu^2, so that its second moment
        # is mu^4 / 4 + mu^2; this solves for mu^2.
        square = 2 * (math.sqrt(1 + float(np.mean(plain**2))) - 1)
        pilot = self.pair.losses(side, best_tilt(math.sqrt(square), log_delta), self.trials, rng)
        # The mean of a tilted Gaussian loss is (tilt + 1/2) mu^2. The first estimate rests on
        # untilted losses, few of which lie where delta does.
        square = max(float(pilot.privacy_loss.mean()) / (pilot.tilt + 0.5), 0.0)
        tilt = best_tilt(math.sqrt(square), log_delta)
        pilot = self.pair.losses(side, tilt, self.trials, rng)
        return LossDirection(self.pair.losses(side, tilt, self.trials, rng), pilot)


_SIDE_BY_SIDE = 500  # games
_GRID = np.array([0.25, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95])
_BEYOND = np.array([1.05, 1.1, 1.2, 1.5, 2.0])


@dataclass(frozen=True, kw_only=True)
class Coins:
    """An event of probability q on one dataset and ``e^epsilon q + delta`` on the other."""

    epsilon: float
    other: float
    trials: int
    delta: float = 0.0

    def run(
        self, audits: int, alpha: float, rng: Generator, *, used_delta: float | None = None
    ) -> Array:
        """Return event bounds; ``used_delta`` is the delta of the bound, if not the true one."""
        rate = math.exp(self.epsilon) * self.other + self.delta
        counts = rng.binomial(self.trials, [[rate], [self.other]], (2, audits))
        # A bound takes milliseconds and depends on the counts alone, of which thousands of
        # audits have a few hundred different ones.
        pairs, of = np.unique(counts, axis=1, return_inverse=True)
        delta = self.delta if used_delta is None else used_delta
        bounds = [_of_event(x, y, self.trials, delta, alpha) for x, y in pairs.T.tolist()]
        # NumPy 2.0 gives the inverse of an axis another shape than the versions around it; flat
        # they agree.
        return np.array(bounds)[of.ravel()]


@lru_cache(maxsize=4096)  # the audits of one law are worked out in parts, with the same counts
def _of_event(hits: int, other: int, trials: int, delta: float, alpha: float) -> float:
    return joint_lower_bound(hits, other, trials, trials, delta=delta, alpha=alpha)


@dataclass(frozen=True, kw_only=True)
class LearnedEvent:
    """Laplace noise of scale 1, moved by epsilon: an event is chosen, and certified by others.

    Every choice certifies ``each`` times, on outputs of its own. Whichever event was chosen,
    each of them may err with probability alpha, so that they count as so many audits.
    """

    epsilon: float
    trials: int
    each: int = 10

    def run(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return bounds of events that were chosen on other outputs."""
        found, known = list[float](), dict[tuple[int, int], float]()
        while len(found) < audits:
            on_p, on_q = self._drawn(1, rng)[:, 0]
            event = choose_event(on_p, on_q, 0.0)
            fresh = self._drawn(self.each, rng)
            found += [
                _compute_event_bound(event, p, q, alpha, known) for p, q in zip(*fresh, strict=True)
            ]
        return np.array(found[:audits])

    def run_reusing(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return bounds of events that were chosen on the outputs that certify them."""
        scores, known = self._drawn(audits, rng), dict[tuple[int, int], float]()
        pairs = list(zip(*scores, strict=True))
        return np.array(
            [_compute_event_bound(choose_event(p, q, 0.0), p, q, alpha, known) for p, q in pairs]
        )

    def _drawn(self, audits: int, rng: Generator) -> Array:
        """Return scores on the dataset and on the neighbour, shape ``(2, audits, trials)``."""
        noise = rng.laplace(size=(2, audits, self.trials))
        noise[0] += self.epsilon
        return noise


def _compute_event_bound(
    event: ThresholdEvent,
    on_p: Array,
    on_q: Array,
    alpha: float,
    known: dict[tuple[int, int], float],
) -> float:
    """Return the event bound, computed once for each pair of counts."""
    favoured, other = (on_p, on_q) if event.above else (on_q, on_p)
    counts = event.hits(favoured), event.hits(other)
    if counts not in known:
        known[counts] = event_bound(on_p, on_q, event, 0.0, alpha).lower
    return known[counts]


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """The mechanism that lets most guesses be right: it attains the bound at ``at`` guesses.

    Without delta it is randomised response to every coin. With it the count C of right guesses is
    as for randomised response given ``C >= at``, and given ``C < at``, but the first has the
    greatest probability that epsilon and delta allow (`dpaudit.estimation.one_run`).
    """

    epsilon: float
    guesses: int
    canaries: int
    at: int
    delta: float = 0.0

    def run(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return one-run bounds."""
        counts, of = np.unique(
            rng.choice(self.guesses + 1, audits, p=self.law()), return_inverse=True
        )
        return np.array([_of_guesses(self, count, alpha) for count in counts.tolist()])[of]

    def law(self) -> Array:
        """Return the probabilities of 0, 1, ... right guesses."""
        right = 1 / (1 + math.exp(-self.epsilon))
        counts = np.arange(self.guesses + 1)
        plain = binom.pmf(counts, self.guesses, right)
        tail = binom.sf(self.at - 1, self.guesses, right)
        # The term of the theorem, added to the tail: at so many right guesses the law attains
        # the bound, so that any unsound constant shows.
        more = self.canaries * self.delta * tail * (1 - tail) / (self.at * plain[self.at])
        reached = counts >= self.at
        probabilities = plain * np.where(reached, 1 + more / tail, 1 - more / (1 - tail))
        return np.asarray(probabilities / probabilities.sum())


@lru_cache(maxsize=4096)
def _of_guesses(law: Canaries, right: int, alpha: float) -> float:
    return one_run.lower_bound(right, law.guesses, law.canaries, delta=law.delta, alpha=alpha)


@dataclass(frozen=True, kw_only=True)
class CanaryScores:
    """Scores of canaries: N(mu, 1) where one was included, N(0, 1) where not, independently.

    With ``fixed`` exactly half are included. Guesses follow the plans that audits of scores have
    by default; ``curve`` bounds mu, in the place of epsilon at ``delta``.
    """

    canaries: int
    mu: float = 0.0
    delta: float = 1e-5
    fixed: bool = False
    curve: bool = False

    @property
    def true(self) -> float:
        """The true mu or epsilon."""
        return self.mu if self.curve else gaussian.epsilon_at(self.mu, math.log(self.delta))

    def run(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return the bounds of audits, computed once for each count of right guesses."""
        plans = scored.default_plans(self.canaries)
        sizes = [plan.guesses for plan in plans]
        starts = range(0, audits, _SIDE_BY_SIDE)
        counts = np.concatenate(
            [self._right(min(_SIDE_BY_SIDE, audits - start), sizes, rng) for start in starts]
        )
        bounds = np.zeros(audits)
        for plan, column in zip(plans, counts.T, strict=True):
            kept, of = np.unique(column, return_inverse=True)
            one = np.array([_of_plan(self, plan, int(right), alpha) for right in kept])
            bounds = np.maximum(bounds, one[of])
        return bounds

    def _right(self, games: int, sizes: list[int], rng: Generator) -> NDArray[np.int64]:
        shape = games, self.canaries
        draws = rng.random(shape)
        # The median of an even number of draws lies between the two in the middle, and parts
        # them into halves.
        middle = np.median(draws, axis=1, keepdims=True) if self.fixed else 0.5
        coins = np.where(draws < middle, 1, -1).astype(np.int8)
        return scored.right_guesses(rng.normal(size=shape) + self.mu * (coins == 1), coins, sizes)


@lru_cache(maxsize=4096)
def _of_plan(law: CanaryScores, plan: scored.Plan, right: int, alpha: float) -> float:
    given = scored.log_probability_of_size(law.canaries // 2, law.canaries)
    coins = np.ones(law.canaries, dtype=np.int8)
    game = scored.CanaryGame(
        scores=np.zeros(law.canaries), coins=coins, log_given=given if law.fixed else 0.0
    )
    counted = (scored.GuessCount(plan, right),)
    if law.curve:
        return scored.gaussian_bound(game, counted, alpha)
    return scored.exact_bound(game, counted, law.delta, alpha)


@dataclass(frozen=True, kw_only=True)
class Games:
    """Randomised response of one bit, bet on until a fixed number of pairs.

    Bounds are looked for on a coarse grid of multiples of the truth, which is one of them.
    """

    epsilon: float
    pairs: int = 400
    pilot: int = 100

    def run(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return the bounds when the game ends; the wealth was looked at all the time."""
        sizes = [_SIDE_BY_SIDE] * (audits // _SIDE_BY_SIDE)
        sizes += [audits % _SIDE_BY_SIDE] if audits % _SIDE_BY_SIDE else []
        return np.concatenate([self._play_games(size, alpha, rng) for size in sizes])

    def _play_games(self, audits: int, alpha: float, rng: Generator) -> Array:
        truth = 1 / (1 + math.exp(-self.epsilon))
        draws = rng.random((2, audits, 1, self.pilot + self.pairs)) < truth
        on_p, on_q = draws[0].astype(np.float64), 1.0 - draws[1]
        just_above = np.array([1 + 1e-6])  # it is a miss to exclude this one
        start = self.pilot
        game = BettingGame.open(
            on_p[..., :start],
            on_q[..., :start],
            epsilons=self.epsilon * np.concatenate([_GRID, just_above, _BEYOND]),
            claim=len(_GRID),
            delta=0.0,
            alpha=alpha,
        )
        while start < self.pilot + self.pairs:  # the next bets learn from all before them
            fresh = slice(start, 2 * start)
            game, _ = game.play(on_p[..., fresh], on_q[..., fresh])
            game, start = game.learn(on_p[..., fresh], on_q[..., fresh]), 2 * start
        return np.asarray(game.lower)
