"""Laws for the exact-loss estimator: tilted losses of pairs whose profile is known.

Every audit has a pilot of its own, which chooses the tilt as `dpaudit.auditing.exact` does: from
the second moment of plain losses, and once more from losses drawn tilted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.stats import binom

from dpaudit._typing import Array
from dpaudit.accounting.events import ExponentialNormRelease
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.estimation.betting import last_true
from dpaudit.estimation.exact_loss import Direction, TiltedLosses, best_tilt, lower_end, upper_end
from dpaudit.guarantees import gaussian
from dpaudit.laws import exponential_norm
from dpaudit.neighbours import Side


class Pair(Protocol):
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
class GaussianPair:
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

        def exceeded(epsilon: float) -> bool:
            return float(np.maximum(on_p - math.exp(epsilon) * on_q, 0).sum()) > delta

        return last_true(exceeded, 0.0, 100.0) if exceeded(0.0) else 0.0

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

    pair: Pair
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

    def _drawn(self, rng: Generator) -> list[Direction]:
        """Return one audit's trials in every direction."""
        return [self._direction(side, rng) for side in self.pair.sides]

    def _direction(self, side: Side, rng: Generator) -> Direction:
        log_delta = math.log(self.delta)
        plain = self.pair.losses(side, 0.0, self.trials, rng).privacy_loss
        square = 2 * (math.sqrt(1 + float(np.mean(plain**2))) - 1)
        pilot = self.pair.losses(side, best_tilt(math.sqrt(square), log_delta), self.trials, rng)
        square = max(float(pilot.privacy_loss.mean()) / (pilot.tilt + 0.5), 0.0)
        tilt = best_tilt(math.sqrt(square), log_delta)
        pilot = self.pair.losses(side, tilt, self.trials, rng)
        return Direction(self.pair.losses(side, tilt, self.trials, rng), pilot)
