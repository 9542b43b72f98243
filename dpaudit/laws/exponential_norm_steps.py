r"""Mechanisms that release vectors with exponential-norm noise, each chosen from those before.

The counterpart of `dpaudit.laws.gaussian_steps` for noise of density proportional to
``exp(-alpha ||e||)``. An algorithm states how its steps go (`NormProcess`); `ExponentialNormSteps`
writes the loop once and adds the law. A step releases one vector or several with independent noise,
along the axes between trials and features. For one of them with output ``o``, centre ``m``, rate
``alpha`` and shift ``v`` (the neighbour's centre minus ``m``), given the same history:

    privacy loss       l = alpha (||o - m - v|| - ||o - m||), never above alpha ||v||
    log E_p e^(theta l) = K(theta): `dpaudit.laws.tilted_norm.log_mgf`, increasing in alpha ||v||
    tilted draw        exact: `dpaudit.laws.tilted_norm.draw_tilted`

So the weight of a tilted transcript is ``exp(sum K - theta L)`` to the last digit, and where
``alpha ||v||`` has a bound, the sum of the K has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from mpmath import fsum, mpf, sqrt, workdps
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.laws import norm_noise, tilted_norm
from dpaudit.laws.mechanism import TiltedSample
from dpaudit.laws.residuals import located
from dpaudit.neighbours import Pair

DatasetT = TypeVar("DatasetT")
StateT = TypeVar("StateT")


@dataclass(frozen=True)
class NormStep:
    """One release given the history: ``centre`` plus noise.

    Parameters
    ----------
    centre
        Shape ``(R, ..., d)``, d at least 2.
    rate
        ``alpha``, above 0, broadcastable against ``centre`` without its first and last axes.
    """

    centre: Array
    rate: Array


class NormProcess(Protocol[DatasetT, StateT]):
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

    def step(self, state: StateT, dataset: DatasetT) -> NormStep:
        """Return the law of the next release; its rate may not depend on the dataset."""
        ...

    def shift(self, state: StateT, pair: Pair[DatasetT]) -> Array:
        """Return the next release's centre on the neighbour minus that on the dataset."""
        ...

    def advance(self, state: StateT, output: Array) -> StateT:
        """Return the state after ``output`` was released; a function of outputs alone."""
        ...

    def shift_bounds(self, pair: Pair[DatasetT]) -> tuple[Array, Array]:
        """Return bounds on every ``alpha ||v||`` that hold for every transcript.

        Two arrays of one shape, an entry for each vector that is released.
        """
        ...


@dataclass(frozen=True)
class ExponentialNormSteps(Generic[DatasetT, StateT]):
    """A mechanism with a known law: every release of ``process`` is seen.

    Transcripts have shape ``(R, steps, ..., d)``.

    Formal guarantee: none of its own; the exact privacy loss of a pair is what it provides.
    """

    process: NormProcess[DatasetT, StateT]

    def sample(self, dataset: DatasetT, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(trials, steps, ..., d)``."""
        process, outputs = self.process, []
        process.check(dataset)
        state = process.start(dataset, trials)
        for number in range(1, process.steps + 1):
            with located(f"step {number}"):
                step = self._step(state, dataset)
                noise = norm_noise.draw(step.centre.shape, step.rate, rng)
                outputs.append(step.centre + noise)
                state = process.advance(state, outputs[-1])
        return np.stack(outputs, axis=1)

    def sample_tilted(
        self, pair: Pair[DatasetT], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return transcripts of the law on ``pair.dataset`` tilted towards a large privacy loss."""
        process, outputs = self.process, []
        self._check(pair)
        state = process.start(pair.dataset, trials)
        loss, log_mgf = np.zeros(trials), np.zeros(trials)
        for _ in range(process.steps):
            step = self._step(state, pair.dataset)
            rate = step.rate[..., None]
            back = -rate * process.shift(state, pair)
            noise = tilted_norm.draw_tilted(back, tilt, rng)
            sizes = np.linalg.norm(back, axis=-1)
            loss += _sum(norm_noise.norm_gain(noise, back))
            log_mgf += _sum(tilted_norm.log_mgf(sizes, back.shape[-1], tilt))
            outputs.append(step.centre + noise / rate)
            state = process.advance(state, outputs[-1])
        return TiltedSample(np.stack(outputs, axis=1), loss, log_mgf, tilt)

    def privacy_loss(self, transcripts: Array, pair: Pair[DatasetT]) -> Array:
        """Return ``log p / q`` of each transcript, shape ``(R,)``.

        Both densities come from `NormProcess.step`, one on each dataset, and not from
        `NormProcess.shift`: the audit compares the two.
        """
        loss = np.zeros(len(transcripts))
        for output, here, there in self._replayed(transcripts, pair):
            gain = norm_noise.norm_gain(output - here.centre, here.centre - there.centre)
            loss += _sum(here.rate * gain)
        return loss

    def loss_in_digits(self, transcript: Array, pair: Pair[DatasetT], digits: int = 50) -> Any:
        """Return the privacy loss of a transcript, shape ``(steps, ..., d)``, as mpmath's number.

        Distances are taken in so many digits, one coordinate after the other. Centres and rates are
        the process's, as doubles: exact where they do not depend on earlier outputs.
        """
        with workdps(digits):
            total = mpf(0)
            for output, here, there in self._replayed(transcript[None], pair):
                rates = np.broadcast_to(here.rate, output.shape[1:-1])
                for place in np.ndindex(*rates.shape):
                    ends = (one.centre[(0, *place)] for one in (there, here))
                    far, near = (_distance(output[(0, *place)], end) for end in ends)
                    total += mpf(float(rates[place])) * (far - near)
            return +total

    def uniform_residuals(self, transcripts: Array, dataset: DatasetT) -> Array:
        """Return the noise as independent uniforms, shape ``(R, k)``."""
        self.process.check(dataset)
        self._check_length(transcripts)
        state = self.process.start(dataset, len(transcripts))
        residuals = np.empty_like(transcripts)
        for t in range(self.process.steps):
            step = self._step(state, dataset)
            residuals[:, t] = norm_noise.uniforms(transcripts[:, t] - step.centre, step.rate)
            state = self.process.advance(state, transcripts[:, t])
        return residuals.reshape(len(transcripts), -1)

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on ``sum K(tilt)`` that hold for every transcript."""
        self._check(pair)
        d = self.process.step(self.process.start(pair.dataset, 1), pair.dataset).centre.shape[-1]
        low, high = (
            float(tilted_norm.log_mgf(sizes, d, tilt).sum())
            for sizes in self.process.shift_bounds(pair)
        )
        return low, high

    def _replayed(self, transcripts: Array, pair: Pair[DatasetT]) -> Any:
        """Yield every step's outputs and its law on both datasets."""
        self._check(pair)
        self._check_length(transcripts)
        state = self.process.start(pair.dataset, len(transcripts))
        for t in range(self.process.steps):
            here, there = (self._step(state, one) for one in (pair.dataset, pair.neighbour))
            if not np.array_equal(here.rate, there.rate):
                raise InvalidArgument("rate", Shown("two"), "the same on both datasets")
            yield transcripts[:, t], here, there
            state = self.process.advance(state, transcripts[:, t])

    def _check(self, pair: Pair[DatasetT]) -> None:
        self.process.check(pair.dataset)
        self.process.check(pair.neighbour)

    def _check_length(self, transcripts: Array) -> None:
        steps = self.process.steps
        if transcripts.ndim < 3 or transcripts.shape[1] != steps:
            expected = f"{steps} steps on the second axis"
            raise InvalidArgument("transcripts", Shown(f"shape {transcripts.shape}"), expected)

    def _step(self, state: StateT, dataset: DatasetT) -> NormStep:
        step = self.process.step(state, dataset)
        if not np.all(step.rate > 0) or not np.all(np.isfinite(step.rate)):
            expected = "above 0 and finite at every step: without noise the law has no density"
            raise InvalidArgument("noise rate", float(np.min(step.rate)), expected)
        return step


def _distance(one: Array, other: Array) -> Any:
    squares = [(mpf(float(a)) - mpf(float(b))) ** 2 for a, b in zip(one, other, strict=True)]
    return sqrt(fsum(squares))


def _sum(values: Array) -> Array:
    total: Array = values.reshape(len(values), -1).sum(axis=1)
    return total
