r"""Penalty perturbation drawn with noise that is tilted towards a large privacy loss.

A step's loss depends on the output: by eq. (61) it is ``alpha (||e + v(f)|| - ||e||)`` plus a
log-ratio of determinants at f, and f follows from e by solving eq. (25). No tilt of it has a known
normaliser. So the noise is tilted towards ``l^ = alpha (||e + a|| - ||e||)``, the loss of a shift a
that is fixed before e is drawn: the aim, which is v at the minimiser without noise. That tilt is
exact (`dpaudit.laws.exponential_norm`), hence so is the weight of a transcript,

    log p/r = sum_t K(theta; alpha ||a_t||) - theta l^_t,

whatever the aim; a poor one only spreads the weights. In the terms of
`dpaudit.laws.mechanism.TiltedSample` the part of the log-moments is played by ``log p/r + theta
L``, which is at most

    sum_t K(theta; s_t) + theta (alpha D_t + j_t),

s_t being the largest alpha ||v||, D_t the largest distance between two values of v, and j_t the
largest log-ratio of determinants (`dpaudit.algorithms.consensus.guarantees`). It is attained by
hardly any transcript, except where v is constant, which it is with the linear loss, and with the
logistic loss when the record is replaced by its opposite, as ``l'(m) + l'(-m) = -1`` and l'' is
even. Then D and j are 0, and s_t is no more than needed.

Only the node with the differing record is tilted: given the past, the others' laws are the same on
both datasets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.law import log_determinants, noise_shift
from dpaudit.algorithms.consensus.margin_problem import MarginProblem
from dpaudit.algorithms.consensus.process import (
    ConsensusProcess,
    Differing,
    State,
    next_noise,
    noise_rates,
)
from dpaudit.algorithms.consensus.solvers import minimise
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC
from dpaudit.datasets.dataset import Dataset
from dpaudit.laws.exponential_norm import draw_tilted, log_mgf, norm_gain
from dpaudit.laws.mechanism import TiltedSample
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class Aimed:
    """Penalty perturbation on a pair, drawn tilted on the pair's dataset."""

    algorithm: ConsensusProcess
    pair: Pair[Dataset]
    record: Differing

    @classmethod
    def of(cls, algorithm: ConsensusProcess, pair: Pair[Dataset]) -> Aimed:
        """Return the pair's, or raise `InvalidArgument` where the algorithm cannot run on it."""
        algorithm.check(pair.dataset)
        algorithm.check(pair.neighbour)
        return cls(algorithm, pair, Differing.of(pair))

    def sample(self, tilt: float, trials: int, rng: Generator) -> TiltedSample:
        """Return transcripts, their losses and what weighs them, as `TiltedSample`."""
        algorithm, dataset = self.algorithm, self.pair.dataset
        state, outputs = algorithm.start(dataset, trials), []
        loss, offset = np.zeros(trials), np.zeros(trials)
        for t in range(1, algorithm.iterations + 1):
            aim, noise = self._aim(state), next_noise(algorithm, state, rng)
            mine = draw_tilted(aim, tilt, rng)
            noise[:, self.record.node] = mine / self._rate(t)
            stretch = algorithm.stretch[t - 1][:, None]
            linear = algorithm.pull(state) - stretch * noise
            outputs.append(algorithm.minimise(linear, dataset, t))
            step = self._loss(t, outputs[-1], mine)
            normaliser = log_mgf(np.linalg.norm(aim, axis=1), aim.shape[1], tilt)
            loss += step
            offset += normaliser + tilt * (step - norm_gain(mine, aim))
            state = algorithm.advance(state, outputs[-1])
        return TiltedSample(np.stack(outputs, axis=1), loss, offset, tilt)

    def log_weight_bounds(self, tilt: float) -> tuple[float, float]:
        """Return bounds on ``log p/r + tilt L`` that hold for every transcript."""
        low, high, d = 0.0, 0.0, self.pair.dataset.dimension
        for t in range(1, self.algorithm.iterations + 1):
            longest, spread = self._shift_limits(t)
            error = tilt * (spread + self._log_determinant_limit(t))
            low -= error
            high += float(log_mgf(np.array(longest), d, tilt)) + error
        return low, high

    def _aim(self, state: State) -> Array:
        """Return v at the minimiser without noise, in units of ``1/alpha``, shape ``(R, d)``."""
        node, t = self.record.node, state.iteration
        pull = self.algorithm.pull(state)[:, node]
        quiet = minimise(self._problem(t), pull, self._records()).models
        return self._shift(t, quiet)

    def _loss(self, t: int, broadcast: Array, noise: Array) -> Array:
        """Return the loss of one iteration from the noise that was drawn, shape ``(R,)``.

        From whole determinants, not from their difference, which `privacy_loss` uses.
        """
        models, record = broadcast[:, self.record.node], self.record
        here, there = log_determinants(
            self._problem(t), models, self._records(), record.old, record.new
        )
        return norm_gain(noise, self._shift(t, models)) + here - there

    def _shift(self, t: int, models: Array) -> Array:
        """Return ``alpha (e^ - e)`` behind outputs, shape ``(R, d)``."""
        shift = noise_shift(self._problem(t), models, self.record.old, self.record.new)
        return shift * (self._rate(t) / self._stretch(t))

    def _shift_limits(self, t: int) -> tuple[float, float]:
        """Return the largest ``alpha ||v||``, and the largest distance of two ``alpha v``."""
        problem = self._problem(t)
        old, new, low_high = self.record.old, self.record.new, problem.loss.margin.slope_range
        unit = problem.weight * self._rate(t) / self._stretch(t)
        if self._mirrored:
            slope = float(problem.loss.margin.slope(np.zeros(1))[0])
            return float(2 * unit * abs(slope) * np.linalg.norm(old)), 0.0
        longest = max(np.linalg.norm(a * old - b * new) for a in low_high for b in low_high)
        width = low_high[1] - low_high[0]
        spread = width * max(np.linalg.norm(old - new), np.linalg.norm(old + new))
        return float(unit * longest), float(unit * spread)

    @property
    def _mirrored(self) -> bool:
        """Whether a record is replaced by its opposite under a loss with an even curvature."""
        even = self._problem(1).loss in (LOGISTIC, LINEAR)
        return even and bool(np.array_equal(self.record.old, -self.record.new))

    def _log_determinant_limit(self, t: int) -> float:
        if self._mirrored:
            return 0.0
        problem = self._problem(t)
        square = max(float(u @ u) for u in (self.record.old, self.record.new))
        share = problem.weight * problem.loss.largest_curvature * square / problem.curvature
        return float(np.log1p(share))

    def _problem(self, t: int) -> MarginProblem:
        return self.algorithm.problem(self.pair.dataset, t, self.record.node)

    def _records(self) -> Array:
        dataset = self.pair.dataset
        return dataset.signed_records[dataset.rows_of(self.record.node)]

    def _rate(self, t: int) -> float:
        return float(noise_rates(self.algorithm)[t - 1, self.record.node])

    def _stretch(self, t: int) -> float:
        return float(self.algorithm.stretch[t - 1, self.record.node])
