"""Mechanisms that release one Gaussian vector after another, each chosen from those before.

An algorithm states how its steps go (`GaussianProcess`); `GaussianSteps` writes the loop once and
adds the law: sampling, the exact privacy loss of a transcript, tilted sampling with weights, and
the probability-integral transform of the noise. The code that runs and the law that is audited
come from the same five methods, so they cannot drift apart unnoticed.

The mathematics, for step t with output ``o``, mean ``m``, noise scale ``s`` and shift ``v`` (the
neighbour's mean minus ``m``), given the same history:

    privacy loss      l_t = (||o - m - v||^2 - ||o - m||^2) / (2 s^2)
    log E_p e^(theta l_t) = K_t(theta) = theta (1 + theta) / 2 * ||v||^2 / s^2
    tilted draw       o ~ N(m - theta v, s^2 I)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from mpmath import log, mpf, workdps
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.laws.mechanism import TiltedSample
from dpaudit.laws.residuals import located
from dpaudit.neighbours import Pair

DatasetT = TypeVar("DatasetT")
StateT = TypeVar("StateT")


@dataclass(frozen=True)
class Step:
    """One release given the history: ``mean + scale * standard normal``.

    Parameters
    ----------
    mean
        Shape ``(R, ...)``.
    scale
        Standard deviation, broadcastable against ``mean`` without its trial axis.
    """

    mean: Array
    scale: Array


class GaussianProcess(Protocol[DatasetT, StateT]):
    """An algorithm as state, step and advance; R trials go side by side on the leading axis."""

    @property
    def steps(self) -> int:
        """How many releases one run makes."""
        ...

    def check(self, dataset: DatasetT) -> None:
        """Raise `InvalidArgument` for a dataset the algorithm cannot run on."""
        ...

    def start(self, dataset: DatasetT, trials: int) -> StateT:
        """Return the state before the first release: public, the same for every dataset."""
        ...

    def step(self, state: StateT, dataset: DatasetT) -> Step:
        """Return the law of the next release."""
        ...

    def shift(self, state: StateT, pair: Pair[DatasetT]) -> Array:
        """Return the next release's mean on the neighbour minus that on the dataset."""
        ...

    def advance(self, state: StateT, output: Array) -> StateT:
        """Return the state after ``output`` was released; a function of outputs alone."""
        ...

    def squared_shift_bounds(self, pair: Pair[DatasetT]) -> tuple[float, float]:
        """Return bounds on ``sum_t ||v_t||^2 / s_t^2`` that hold for every transcript."""
        ...


@dataclass(frozen=True)
class GaussianSteps(Generic[DatasetT, StateT]):
    """A mechanism with a known law: every release of ``process`` is seen.

    Transcripts have shape ``(R, steps, ...)``.

    Formal guarantee: none of its own; the exact privacy loss of a pair is what it provides.
    """

    process: GaussianProcess[DatasetT, StateT]

    def sample(self, dataset: DatasetT, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(trials, steps, ...)``."""
        process = self.process
        process.check(dataset)
        state = process.start(dataset, trials)
        return roll_out(
            lambda state: process.step(state, dataset), process.advance, state, process.steps, rng
        )

    def sample_tilted(
        self, pair: Pair[DatasetT], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return transcripts of the law on ``pair.dataset`` tilted towards a large privacy loss."""
        self._check(pair)
        state = self.process.start(pair.dataset, trials)
        loss, squares, outputs = np.zeros(trials), np.zeros(trials), []
        for _ in range(self.process.steps):
            step = self._noisy_step(state, pair.dataset)
            shift = self.process.shift(state, pair)
            deviation = _noise(step, rng) - tilt * shift
            loss += _loss(deviation, shift, step.scale)
            squares += _sum((shift / step.scale) ** 2)
            outputs.append(step.mean + deviation)
            state = self.process.advance(state, outputs[-1])
        log_mgf = tilt * (1 + tilt) / 2 * squares
        return TiltedSample(np.stack(outputs, axis=1), loss, log_mgf, tilt)

    def privacy_loss(self, transcripts: Array, pair: Pair[DatasetT]) -> Array:
        """Return ``log p / q`` of each transcript, shape ``(R,)``.

        Both densities come from `GaussianProcess.step`, one on each dataset, and not from
        `GaussianProcess.shift`: the audit compares the two.
        """
        self._check(pair, transcripts)
        state = self.process.start(pair.dataset, len(transcripts))
        loss = np.zeros(len(transcripts))
        for t in range(self.process.steps):
            here = self._noisy_step(state, pair.dataset)
            there = self._noisy_step(state, pair.neighbour)
            loss += _log_ratio(transcripts[:, t], here, there)
            state = self.process.advance(state, transcripts[:, t])
        return loss

    def loss_in_digits(self, transcript: Array, pair: Pair[DatasetT], digits: int = 50) -> Any:
        """Return the privacy loss of a transcript, shape ``(steps, ...)``, as mpmath's number.

        Means and scales are the process's, as doubles: exact where they do not depend on earlier
        outputs. All else has so many digits.
        """
        self._check(pair, transcript[None])
        state = self.process.start(pair.dataset, 1)
        with workdps(digits):
            total = mpf(0)
            for t in range(self.process.steps):
                output = transcript[None, t]
                here, there = (
                    self._noisy_step(state, one) for one in (pair.dataset, pair.neighbour)
                )
                total += _log_density(output, here) - _log_density(output, there)
                state = self.process.advance(state, output)
            return +total

    def uniform_residuals(self, transcripts: Array, dataset: DatasetT) -> Array:
        """Return ``Phi((o - m) / s)`` of every coordinate of every step, shape ``(R, k)``."""
        self.process.check(dataset)
        self._check_length(transcripts)
        state = self.process.start(dataset, len(transcripts))
        residuals = np.empty_like(transcripts)
        for t in range(self.process.steps):
            step = self._noisy_step(state, dataset)
            residuals[:, t] = ndtr((transcripts[:, t] - step.mean) / step.scale)
            state = self.process.advance(state, transcripts[:, t])
        return residuals.reshape(len(transcripts), -1)

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on ``sum_t K_t(tilt)`` that hold for every transcript."""
        low, high = self.process.squared_shift_bounds(pair)
        factor = tilt * (1 + tilt) / 2
        return (factor * low, factor * high) if factor else (0.0, 0.0)

    def _check(self, pair: Pair[DatasetT], transcripts: Array | None = None) -> None:
        self.process.check(pair.dataset)
        self.process.check(pair.neighbour)
        if transcripts is not None:
            self._check_length(transcripts)

    def _check_length(self, transcripts: Array) -> None:
        steps = self.process.steps
        if transcripts.ndim < 2 or transcripts.shape[1] != steps:
            expected = f"{steps} steps on the second axis"
            raise InvalidArgument("transcripts", Shown(f"shape {transcripts.shape}"), expected)

    def _noisy_step(self, state: StateT, dataset: DatasetT) -> Step:
        step = self.process.step(state, dataset)
        if not np.all(step.scale > 0):
            expected = "noise above 0 at every step: without noise the law has no density"
            raise InvalidArgument("noise scale", float(np.min(step.scale)), expected)
        return step


def roll_out(
    next_step: Callable[[StateT], Step],
    advance: Callable[[StateT, Array], StateT],
    state: StateT,
    steps: int,
    rng: Generator,
) -> Array:
    """Return the outputs of ``steps`` releases, shape ``(R, steps, ...)``."""
    outputs: list[Array] = []
    for number in range(1, steps + 1):
        with located(f"step {number}"):
            step = next_step(state)
            outputs.append(step.mean + _noise(step, rng))
            state = advance(state, outputs[-1])
    return np.stack(outputs, axis=1)


def _noise(step: Step, rng: Generator) -> Array:
    noise = rng.standard_normal(step.mean.shape)
    noise *= step.scale
    return noise


def _loss(deviation: Array, shift: Array, scale: Array) -> Array:
    """Return ``(||deviation - shift||^2 - ||deviation||^2) / (2 scale^2)``, shape ``(R,)``."""
    return _sum((shift * shift / 2 - deviation * shift) / (scale * scale))


def _log_ratio(output: Array, here: Step, there: Step) -> Array:
    """Return the log-density of ``output`` under ``here`` over that under ``there``, ``(R,)``."""
    one = (output - here.mean) / here.scale
    other = (output - there.mean) / there.scale
    return _sum((other - one) * (other + one) / 2 + np.log(there.scale / here.scale))


def _log_density(output: Array, step: Step) -> Any:
    """Return the log-density of one output, less the constant, as mpmath's number."""
    mean, scale = (np.broadcast_to(each, output.shape) for each in (step.mean, step.scale))
    total = mpf(0)
    for o, m, s in zip(output.ravel(), mean.ravel(), scale.ravel(), strict=True):
        total -= ((mpf(float(o)) - mpf(float(m))) / mpf(float(s))) ** 2 / 2 + log(mpf(float(s)))
    return total


def _sum(values: Array) -> Array:
    total: Array = values.reshape(len(values), -1).sum(axis=1)
    return total
