"""The estimators under test, each on laws whose epsilon is known: many audits at a time.

One more is a `Case` in `CASES`: a name, a law, its true epsilon, and a function that draws audits
and returns what they certify. All draws depend on the generator alone, never on the error
probability, so that two of them are tried on the same audits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.accounting import gaussian
from dpaudit.estimation import one_run
from dpaudit.estimation.exact_loss import (
    Direction,
    TiltedLosses,
    best_tilt,
    lower_end,
    upper_end,
)
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.sequential_game import Game, Target

Array = NDArray[np.float64]
Run = Callable[[int, float, Generator], Array]
"""``run(audits, alpha, rng)`` returns what is certified, shape ``(audits,)``."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An estimator on a law.

    Parameters
    ----------
    estimator, law
        What tables call them.
    true
        The law's epsilon.
    run
        Draws audits and returns what they certify.
    upper
        Whether that is an upper end; else a lower bound.
    share
        Of the audits asked for, how many it runs: fewer if it is slow, more if they cost nothing.
    """

    estimator: str
    law: str
    true: float
    run: Run
    upper: bool = False
    share: float = 1.0

    def missed(self, certified: Array) -> int:
        """Return how many certified numbers the truth contradicts."""
        wrong = certified < self.true if self.upper else certified > self.true
        return int(wrong.sum())


# Events: counts are binomial, and a pair of counts is certified once


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
        """Return event bounds; ``used_delta`` is what the bound is told, if not the truth."""
        rate = math.exp(self.epsilon) * self.other + self.delta
        counts = rng.binomial(self.trials, [[rate], [self.other]], (2, audits))
        pairs, of = np.unique(counts, axis=1, return_inverse=True)
        delta = self.delta if used_delta is None else used_delta
        bounds = [
            joint_lower_bound(x, y, self.trials, self.trials, delta=delta, alpha=alpha)
            for x, y in pairs.T.tolist()
        ]
        return np.array(bounds)[of.ravel()]


# Exact losses of a Gaussian pair


@dataclass(frozen=True, kw_only=True)
class GaussianLosses:
    """Tilted losses of N(0, 1) against N(mu, 1), at one delta."""

    mu: float
    delta: float
    trials: int = 100

    @property
    def epsilon(self) -> float:
        """The exact profile's."""
        return gaussian.epsilon_at(self.mu, math.log(self.delta))

    def run(self, audits: int, alpha: float, rng: Generator, *, upper: bool) -> Array:
        """Return lower or upper ends; where there is no upper one, infinity."""
        log_delta = math.log(self.delta)
        tilt = best_tilt(self.mu, log_delta)
        found = []
        for fresh in self._batches(audits, tilt, rng):
            pilot = self._losses(fresh[0], tilt)
            ways = [[Direction(self._losses(loss, tilt), pilot)] for loss in fresh[1:]]
            if upper:
                found += [upper_end(way, log_delta, alpha) or math.inf for way in ways]
            else:
                found += [lower_end(way, log_delta, alpha) for way in ways]
        return np.array(found)

    def _batches(self, audits: int, tilt: float, rng: Generator) -> list[Array]:
        """Return losses of 50 audits and, first, of the pilot that they share."""
        mean, sizes = (0.5 + tilt) * self.mu**2, [50] * (audits // 50)
        sizes += [audits % 50] if audits % 50 else []
        return [rng.normal(mean, self.mu, (size + 1, self.trials)) for size in sizes]

    def _losses(self, loss: Array, tilt: float) -> TiltedLosses:
        log_mgf = tilt * (1 + tilt) / 2 * self.mu**2
        return TiltedLosses(loss, np.full(len(loss), log_mgf), tilt, log_mgf)


# One run: every guess is right with probability e^epsilon / (1 + e^epsilon), or all leak


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """Randomised response to every coin; with probability delta all coins are published."""

    epsilon: float
    guesses: int
    canaries: int
    delta: float = 0.0

    def run(
        self, audits: int, alpha: float, rng: Generator, *, used_delta: float | None = None
    ) -> Array:
        """Return one-run bounds; ``used_delta`` is what the bound is told, if not the truth."""
        right = rng.binomial(self.guesses, 1 / (1 + math.exp(-self.epsilon)), audits)
        right[rng.random(audits) < self.delta] = self.guesses
        delta = self.delta if used_delta is None else used_delta
        counts, of = np.unique(right, return_inverse=True)
        bounds = [
            one_run.lower_bound(count, self.guesses, self.canaries, delta=delta, alpha=alpha)
            for count in counts.tolist()
        ]
        return np.array(bounds)[of]


# Betting: games of many audits are played side by side


@dataclass(frozen=True, kw_only=True)
class Games:
    """Randomised response of one bit, bet on until a fixed number of pairs."""

    epsilon: float
    pairs: int = 400
    pilot: int = 100

    def run(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return the bounds when the game ends; the wealth was looked at all the time."""
        return np.concatenate([self._played(part, alpha, rng) for part in _parts(audits, 500)])

    def _played(self, audits: int, alpha: float, rng: Generator) -> Array:
        truth = 1 / (1 + math.exp(-self.epsilon))
        draws = rng.random((2, audits, 1, self.pilot + self.pairs)) < truth
        on_p, on_q = draws[0].astype(np.float64), 1.0 - draws[1]
        target = Target(epsilon=self.epsilon, delta=0.0, alpha=alpha)
        start = self.pilot
        game = Game.open(
            on_p[..., :start],
            on_q[..., :start],
            epsilons=target.epsilons,
            claim=target.claim,
            delta=0.0,
            alpha=alpha,
        )
        while start < self.pilot + self.pairs:  # the next bets learn from all before them
            fresh = slice(start, 2 * start)
            game, _ = game.play(on_p[..., fresh], on_q[..., fresh])
            game, start = game.learn(on_p[..., fresh], on_q[..., fresh]), 2 * start
        return np.asarray(game.lower)


def _parts(total: int, size: int) -> list[int]:
    return [size] * (total // size) + ([total % size] if total % size else [])


_EVENTS = {
    "frequent event, ε = 0.1": Coins(epsilon=0.1, other=0.45, trials=40),
    "a bit told with ε = 1": Coins(epsilon=1.0, other=1 / (1 + math.e), trials=30),
    "rare event, ε = 3": Coins(epsilon=3.0, other=0.002, trials=150),
    "ε = 0.5 at δ = 0.1": Coins(epsilon=0.5, other=0.1, trials=40, delta=0.1),
}
_GAUSSIAN = GaussianLosses(mu=1.0, delta=1e-5)
_CANARIES = {
    "100 canaries, ε = 1": Canaries(epsilon=1.0, guesses=100, canaries=100),
    "50 of 1000 canaries, ε = 2 at δ = 1e-3": Canaries(
        epsilon=2.0, guesses=50, canaries=1000, delta=1e-3
    ),
}
_LOSS = "Gaussian, μ = 1 at δ = 1e-5"

CASES: tuple[Case, ...] = (
    *(
        Case(estimator="event bound", law=law, true=coins.epsilon, run=coins.run)
        for law, coins in _EVENTS.items()
    ),
    Case(
        estimator="exact loss, lower end",
        law=_LOSS,
        true=_GAUSSIAN.epsilon,
        run=partial(_GAUSSIAN.run, upper=False),
    ),
    Case(
        estimator="exact loss, upper end",
        law=_LOSS,
        true=_GAUSSIAN.epsilon,
        run=partial(_GAUSSIAN.run, upper=True),
        upper=True,
    ),
    *(
        Case(estimator="one run", law=law, true=canaries.epsilon, run=canaries.run, share=20.0)
        for law, canaries in _CANARIES.items()
    ),
    Case(
        estimator="betting",
        law="a bit told with ε = 1",
        true=1.0,
        run=Games(epsilon=1.0).run,
    ),
)

_LEAKY = Coins(epsilon=0.0, other=0.1, trials=40, delta=0.1)


def _tripled(audits: int, alpha: float, rng: Generator) -> Array:
    return _CANARIES["100 canaries, ε = 1"].run(audits, min(3 * alpha, 0.5), rng)


CONTROLS: tuple[Case, ...] = (
    Case(
        estimator="event bound, δ forgotten",
        law="ε = 0 at δ = 0.1",
        true=0.0,
        run=partial(_LEAKY.run, used_delta=0.0),
    ),
    Case(
        estimator="one run, three times the error",
        law="100 canaries, ε = 1",
        true=1.0,
        run=_tripled,
        share=20.0,
    ),
)
"""Estimators made unsound on purpose: a self-test that does not catch them tests nothing."""
