"""The estimators under test, each on laws whose epsilon is known: many audits at a time.

One more is a `Case` in `CASES`: a name, a law, its true epsilon, and a function that draws audits
and returns what they certify. All draws depend on the generator alone, never on the error
probability, so that two of them are tried on the same audits.

A test shows an unsound estimator only where the sound one errs about as often as it may. The laws
of events and of canaries were found by enumerating all counts: there the exact error probability at
5% is given beside each. Betting and the exact loss err far less often than they may, as they must
hold whatever the law and at every look; twice the error probability cannot show there, a bound that
is 5% too large does for the exact loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.selftest.laws import (
    Canaries,
    CanaryScores,
    CoinPair,
    Coins,
    ExactLoss,
    Games,
    GaussianLawPair,
    LearnedEvent,
    NormPair,
)

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
        Of the audits asked for, how many it runs: more if they cost nothing, fewer if few tell.
    strict
        Of these, how many are tried at stricter error probabilities too: the first, if it is slow.
    most
        Audits at most, if few tell.
    quick
        Whether a quick self-test runs it.
    """

    estimator: str
    law: str
    true: float
    run: Run
    upper: bool = False
    share: float = 1.0
    strict: float = 1.0
    most: int | None = None
    quick: bool = True

    def missed(self, certified: Array) -> int:
        """Return how many certified numbers the truth contradicts."""
        wrong = certified < self.true if self.upper else certified > self.true
        return int(wrong.sum())

    def audits(self, asked: int) -> int:
        """Return how many audits it runs where so many are asked for."""
        audits = max(1, round(asked * self.share))
        return audits if self.most is None else min(audits, self.most)


@dataclass(frozen=True)
class SpoiledRun:
    """A run whose error probability or result is too large by a factor."""

    run: Run
    errors: float = 1.0
    result: float = 1.0

    def __call__(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return the bounds of the spoiled estimator."""
        return self.result * self.run(audits, self.errors * alpha, rng)


@dataclass(frozen=True)
class Forgetful:
    """Event bounds that are not told of delta."""

    coins: Coins

    def __call__(self, audits: int, alpha: float, rng: Generator) -> Array:
        """Return bounds at delta = 0."""
        return self.coins.run(audits, alpha, rng, used_delta=0.0)


# Factors for the number of audits.
_CHEAP = 20.0  # of a cheap case
_FEW_COUNTS = 10.0  # of a case whose audits differ in a few counts only
_SLOW = 0.2  # of audits that err far less often than they may: more of them show nothing else

_EVENTS = {
    "event of 13%, ε = 1.9": Coins(epsilon=1.9, other=0.13, trials=24),  # errs: .0419
    "ε = 1.8 at δ = 0.1": Coins(epsilon=1.8, other=0.1275, trials=24, delta=0.1),  # .0456
}
_CANARIES = {
    "200 canaries, ε = 2": Canaries(  # errs with probability .0490
        epsilon=2.0, guesses=200, canaries=200, at=184
    ),
    "200 of 400 canaries, ε = 1.99 at δ = 1e-3": Canaries(  # .0497
        epsilon=1.99, guesses=200, canaries=400, at=184, delta=1e-3
    ),
}
_SCORES = {
    "scores of nothing, 120 canaries": CanaryScores(canaries=120),
    "scores of nothing, 60 of 120": CanaryScores(canaries=120, fixed=True),
    "mu bounded, scores of nothing, 120 canaries": CanaryScores(canaries=120, curve=True),
    "Gaussian scores, μ = 1, 200 canaries": CanaryScores(canaries=200, mu=1.0),
}
_LOSSES = {
    "Gaussian, μ = 1 at δ = 1e-5": ExactLoss(GaussianLawPair(1.0), 1e-5),
    "norm noise, d = 3, s = 2 at δ = 1e-3": ExactLoss(NormPair(2.0, 3, 1), 1e-3, trials=50),
    "20 coins, both directions, at δ = 1e-3": ExactLoss(CoinPair(0.5, 0.3, 20), 1e-3, trials=50),
}
_GAUSSIAN = "Gaussian, μ = 1 at δ = 1e-5"

CASES: tuple[Case, ...] = (
    *(
        Case(
            estimator="event bound",
            law=law,
            true=coins.epsilon,
            run=coins.run,
            share=_FEW_COUNTS,
            quick=coins.delta > 0,
        )
        for law, coins in _EVENTS.items()
    ),
    Case(
        estimator="event bound",
        law="rare event, ε = 2.7",
        true=2.7,
        run=Coins(epsilon=2.7, other=0.05, trials=60).run,  # errs: .0430
        quick=False,
    ),
    Case(
        estimator="event, chosen first",
        law="Laplace, ε = 2",
        true=2.0,
        run=LearnedEvent(epsilon=2.0, trials=30, each=25).run,
        share=_SLOW,
        strict=0.2,
    ),
    *(
        Case(
            estimator="exact loss, lower end",
            law=law,
            true=loss.epsilon,
            run=loss.lower,
            share=_SLOW,
            strict=0.2,
        )
        for law, loss in _LOSSES.items()
    ),
    Case(
        estimator="exact loss, upper end",
        law=_GAUSSIAN,
        true=_LOSSES[_GAUSSIAN].epsilon,
        run=_LOSSES[_GAUSSIAN].upper,
        upper=True,
        share=_SLOW,
        strict=0.2,
    ),
    *(
        Case(estimator="one run", law=law, true=canaries.epsilon, run=canaries.run, share=_CHEAP)
        for law, canaries in _CANARIES.items()
    ),
    *(
        Case(
            estimator="canaries' scores",
            law=law,
            true=scores.true,
            run=scores.run,
            share=_FEW_COUNTS if scores.mu == 0 else 1.0,
            strict=0.2,
            quick=not scores.curve,
        )
        for law, scores in _SCORES.items()
    ),
    Case(
        estimator="betting",
        law="a bit told with ε = 1",
        true=1.0,
        run=Games(epsilon=1.0).run,
        share=_SLOW,
        strict=0.2,
    ),
)

_LEAKY = Coins(epsilon=0.0, other=0.1, trials=24, delta=0.1)

_SPOILED: tuple[Case, ...] = tuple(
    Case(
        estimator=f"{estimator}, {how}",
        law=law,
        true=source.epsilon,
        run=spoiled,
        share=share,
        quick=estimator == "one run",
    )
    for estimator, laws, share in (
        ("event bound", _EVENTS, _FEW_COUNTS),
        ("one run", _CANARIES, _CHEAP),
    )
    for law, source in laws.items()
    for how, spoiled in (
        ("twice the error", SpoiledRun(source.run, errors=2.0)),
        ("5% too large", SpoiledRun(source.run, result=1.05)),
    )
)

CONTROLS: tuple[Case, ...] = (
    Case(
        estimator="canaries' scores, twice the error",
        law="scores of nothing, 120 canaries",
        true=0.0,
        run=SpoiledRun(CanaryScores(canaries=120).run, errors=2.0),
        share=_CHEAP,
    ),
    Case(
        estimator="event bound, δ forgotten",
        law="ε = 0 at δ = 0.1",
        true=0.0,
        run=Forgetful(_LEAKY),
        share=0.6,
    ),
    *_SPOILED,
    Case(
        estimator="event, chosen on what certifies",
        law="nothing leaks, ε = 0",
        true=0.0,
        run=LearnedEvent(epsilon=0.0, trials=25).run_reusing,
        share=0.1,
        most=300,
        quick=False,
    ),
    Case(
        estimator="exact loss, lower end 5% too large",
        law=_GAUSSIAN,
        true=_LOSSES[_GAUSSIAN].epsilon,
        run=SpoiledRun(_LOSSES[_GAUSSIAN].lower, result=1.05),
        share=0.2,
        most=200,
    ),
)
"""Estimators made unsound on purpose: a self-test that does not catch them tests nothing."""
