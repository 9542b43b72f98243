r"""Mechanisms that release one noisy vector after another, each chosen from those before.

An algorithm states how its steps go (a `Process`); `GaussianSteps` and `ExponentialNormSteps` share
one loop that adds the law: sampling, the exact privacy loss of an output, tilted sampling with
weights, and the probability-integral transform of the noise. The code that runs and the law that is
audited come from the same methods, so they cannot drift apart unnoticed. The two differ in the law
of a step alone.

Gaussian noise, for a step with output ``o``, mean ``m``, noise scale ``s`` and shift ``v`` (the
neighbour's mean minus ``m``), given the same history:

    privacy loss            l = (||o - m - v||^2 - ||o - m||^2) / (2 s^2)
    log E_p e^(theta l)   = K(theta) = theta (1 + theta) / 2 * ||v||^2 / s^2
    tilted draw             o ~ N(m - theta v, s^2 I)

Exponential-norm noise, of density proportional to ``exp(-alpha ||e||)``; a step releases one vector
or several with independent noise, along the axes between trials and features:

    privacy loss            l = alpha (||o - m - v|| - ||o - m||), never above alpha ||v||
    log E_p e^(theta l)   = K(theta): `dpaudit.laws.exponential_norm.log_mgf`, increasing in
                            alpha ||v||
    tilted draw             exact: `dpaudit.laws.exponential_norm.draw_tilted`

So the weight of a tilted output is ``exp(sum K - theta L)`` to the last digit, and where the
shifts have a bound, the sum of the K has one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws import exponential_norm
from dpaudit.laws.loss_enclosure import compute_exact_squared_distance, ends, in_digits
from dpaudit.mechanisms.mechanism import DIGITS, TiltedSample
from dpaudit.mechanisms.residuals import add_error_place
from dpaudit.neighbours import Pair
from dpaudit.reals import Real, log, sqrt, total

DatasetT = TypeVar("DatasetT")
StateT = TypeVar("StateT")


class Release(Protocol):
    """The law of one release given the history; R trials on the leading axis."""

    def require_noise(self) -> None:
        """Raise `InvalidArgument` where there is no noise, and so no density."""
        ...

    def draw(self, rng: Generator) -> Array:
        """Return outputs, shape ``(R, ...)``."""
        ...

    def draw_tilted(self, shift: Array, tilt: float, rng: Generator) -> tuple[Array, Array, Array]:
        """Return tilted outputs, their losses, and the terms of the log-moments, ``(R,)``."""
        ...

    def privacy_loss(self, output: Array, neighbour: Any) -> Array:
        """Return the log-density of ``output`` here over that under ``neighbour``, ``(R,)``."""
        ...

    def enclosed_loss(self, output: Array, neighbour: Any) -> Real:
        """Return the privacy loss of one output, shape ``(1, ...)``, with its error bound."""
        ...

    def uniforms(self, output: Array) -> Array:
        """Return the noise as independent uniforms, of the shape of ``output``."""
        ...

    def of_trial(self, trial: int) -> Any:
        """Return the law of one trial alone."""
        ...


ReleaseT = TypeVar("ReleaseT", bound=Release)
ReleaseT_co = TypeVar("ReleaseT_co", bound=Release, covariant=True)


@dataclass(frozen=True)
class Step:
    """One release with Gaussian noise given the history: ``mean + scale * standard normal``.

    Parameters
    ----------
    mean
        The mean of each run, shape ``(R, ...)``.
    scale
        The standard deviation, broadcastable against ``mean`` without its trial axis.
    """

    mean: Array
    scale: Array

    def require_noise(self) -> None:
        """Raise `InvalidArgument` where the scale is not above 0."""
        if not np.all(self.scale > 0):
            expected = "noise above 0 at every step: without noise the law has no density"
            raise InvalidArgument("noise scale", float(np.min(self.scale)), expected)

    def draw(self, rng: Generator) -> Array:
        """Return outputs; a scale of 0 returns the mean."""
        return self.mean + self._noise(rng)

    def draw_tilted(self, shift: Array, tilt: float, rng: Generator) -> tuple[Array, Array, Array]:
        """Return tilted outputs, their losses, and the squared shifts over the noise."""
        deviation = self._noise(rng) - tilt * shift
        loss = _sum_each_trial((shift * shift / 2 - deviation * shift) / (self.scale * self.scale))
        return self.mean + deviation, loss, _sum_each_trial((shift / self.scale) ** 2)

    def privacy_loss(self, output: Array, neighbour: Step) -> Array:
        """Return the log-density of ``output`` here over that under ``neighbour``."""
        near = (output - self.mean) / self.scale
        far = (output - neighbour.mean) / neighbour.scale
        # A difference of squares would cancel far out; the product of sum and difference does not.
        return _sum_each_trial(
            (far - near) * (far + near) / 2 + np.log(neighbour.scale / self.scale)
        )

    def enclosed_loss(self, output: Array, neighbour: Step) -> Real:
        """Return the privacy loss of one output with its error bound."""
        return self._log_density(output) - neighbour._log_density(output)

    def uniforms(self, output: Array) -> Array:
        """Return ``Phi((o - m) / s)`` of every coordinate."""
        return np.asarray(ndtr((output - self.mean) / self.scale))

    def of_trial(self, trial: int) -> Step:
        """Return the law of one trial alone."""
        return Step(self.mean[trial : trial + 1], self.scale)

    def _noise(self, rng: Generator) -> Array:
        noise = rng.standard_normal(self.mean.shape)
        noise *= self.scale
        return noise

    def _log_density(self, output: Array) -> Real:
        """Return the log-density of one output, less the constant."""
        mean, scale = (np.broadcast_to(each, output.shape) for each in (self.mean, self.scale))
        density = Real(0)
        for size in np.unique(scale).tolist():  # one logarithm for all coordinates of one scale
            here = scale == size
            moved = compute_exact_squared_distance(output[here], mean[here])
            density -= moved / (2 * Real(size) ** 2) + int(here.sum()) * log(size)
        return density


@dataclass(frozen=True)
class NormStep:
    """One release with exponential-norm noise given the history: ``centre`` plus noise.

    Parameters
    ----------
    centre
        Shape ``(R, ..., d)``, d at least 2.
    rate
        ``alpha``, above 0, broadcastable against ``centre`` without its first and last axes; it may
        not depend on the dataset.
    """

    centre: Array
    rate: Array

    def require_noise(self) -> None:
        """Raise `InvalidArgument` where the rate is not above 0 and finite."""
        if not np.all(self.rate > 0) or not np.all(np.isfinite(self.rate)):
            expected = "above 0 and finite at every step: without noise the law has no density"
            raise InvalidArgument("noise rate", float(np.min(self.rate)), expected)

    def draw(self, rng: Generator) -> Array:
        """Return outputs."""
        self.require_noise()
        return self.centre + exponential_norm.draw_exponential_norm_noise(
            self.centre.shape, self.rate, rng
        )

    def draw_tilted(self, shift: Array, tilt: float, rng: Generator) -> tuple[Array, Array, Array]:
        """Return tilted outputs, their losses, and the log-moments."""
        rate = self.rate[..., None]
        # With e = alpha (o - m) the loss is ||e - alpha v|| - ||e||: the noise is shifted by -alpha
        # v.
        back = -rate * shift
        noise = exponential_norm.draw_tilted(back, tilt, rng)
        sizes = np.linalg.norm(back, axis=-1)
        loss = _sum_each_trial(exponential_norm.norm_gain(noise, back))
        log_mgf = _sum_each_trial(exponential_norm.log_mgf(sizes, back.shape[-1], tilt))
        return self.centre + noise / rate, loss, log_mgf

    def privacy_loss(self, output: Array, neighbour: NormStep) -> Array:
        """Return the log-density of ``output`` here over that under ``neighbour``."""
        self._require_rate_of(neighbour)
        moved = self.centre - neighbour.centre
        return _sum_each_trial(self.rate * exponential_norm.norm_gain(output - self.centre, moved))

    def enclosed_loss(self, output: Array, neighbour: NormStep) -> Real:
        """Return the privacy loss of one output with its error bound, vector by vector."""
        self._require_rate_of(neighbour)
        rates = np.broadcast_to(self.rate, output.shape[1:-1])
        loss = Real(0)
        for place in np.ndindex(*rates.shape):
            point = output[(0, *place)]
            centres = (s.centre[(0, *place)] for s in (neighbour, self))
            far, near = (sqrt(compute_exact_squared_distance(point, centre)) for centre in centres)
            loss += float(rates[place]) * (far - near)
        return loss

    def uniforms(self, output: Array) -> Array:
        """Return norms and directions of the noise as uniforms."""
        return exponential_norm.convert_noise_to_uniforms(output - self.centre, self.rate)

    def of_trial(self, trial: int) -> NormStep:
        """Return the law of one trial alone."""
        return NormStep(self.centre[trial : trial + 1], self.rate)

    def _require_rate_of(self, neighbour: NormStep) -> None:
        # The loss leaves out the normaliser, which only cancels between equal rates.
        if not np.array_equal(self.rate, neighbour.rate):
            raise InvalidArgument("rate", VerbatimText("two"), "the same on both datasets")


class Process(Protocol[DatasetT, StateT, ReleaseT_co]):
    """An algorithm as state, step and advance; R trials go side by side on the leading axis."""

    @property
    def steps(self) -> int:
        """The number of releases of one run."""
        ...

    def check(self, dataset: DatasetT) -> None:
        """Raise `InvalidArgument` for a dataset the algorithm cannot run on."""
        ...

    def start(self, dataset: DatasetT, trials: int) -> StateT:
        """Return the state before the first release: public, the same for every dataset."""
        ...

    def step(self, state: StateT, dataset: DatasetT) -> ReleaseT_co:
        """Return the law of the next release."""
        ...

    def shift(self, state: StateT, pair: Pair[DatasetT]) -> Array:
        """Return the next release's mean on the neighbour minus that on the dataset."""
        ...

    def advance(self, state: StateT, output: Array) -> StateT:
        """Return the state after ``output`` was released; a function of outputs alone."""
        ...


class GaussianProcess(Process[DatasetT, StateT, Step], Protocol[DatasetT, StateT]):
    """A process with Gaussian noise."""

    def squared_shift_bounds(self, pair: Pair[DatasetT]) -> tuple[float, float]:
        """Return bounds on ``sum_t ||v_t||^2 / s_t^2`` that hold for every output."""
        ...


class NormProcess(Process[DatasetT, StateT, NormStep], Protocol[DatasetT, StateT]):
    """A process with exponential-norm noise."""

    def shift_bounds(self, pair: Pair[DatasetT]) -> tuple[Array, Array]:
        """Return bounds on every ``alpha ||v||`` that hold for every output.

        Two arrays of one shape, an entry for each vector that is released.
        """
        ...


class _Steps(ABC, Generic[DatasetT, StateT, ReleaseT]):
    """The loop over the steps of a process, whatever its noise."""

    _axes: ClassVar[int]  # of an output, at least

    process: Process[DatasetT, StateT, ReleaseT]

    def sample(self, dataset: DatasetT, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(trials, steps, ...)``."""
        process = self.process
        process.check(dataset)
        state = process.start(dataset, trials)
        return roll_out(
            lambda state: process.step(state, dataset), process.advance, state, process.steps, rng
        )

    def sample_tilted(
        self, pair: Pair[DatasetT], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs of the law on ``pair.dataset`` tilted towards a large privacy loss."""
        self._check(pair)
        state = self.process.start(pair.dataset, trials)
        loss, moments, outputs = np.zeros(trials), np.zeros(trials), []
        for _ in range(self.process.steps):
            step = self._noisy_step(state, pair.dataset)
            shift = self.process.shift(state, pair)
            output, step_loss, moment = step.draw_tilted(shift, tilt, rng)
            loss += step_loss
            moments += moment
            outputs.append(output)
            state = self.process.advance(state, output)
        return TiltedSample(np.stack(outputs, axis=1), loss, self._log_mgf(moments, tilt), tilt)

    def privacy_loss(self, outputs: Array, pair: Pair[DatasetT]) -> Array:
        """Return ``log p / q`` of each output, shape ``(R,)``.

        Both densities come from `Process.step`, one on each dataset, and not from `Process.shift`:
        the audit compares the two.
        """
        loss = np.zeros(len(outputs))
        for output, on_dataset, on_neighbour in self._replayed(outputs, pair):
            loss += on_dataset.privacy_loss(output, on_neighbour)
        return loss

    def loss_in_digits(self, output: Array, pair: Pair[DatasetT], digits: int = DIGITS) -> Any:
        """Return the privacy loss of an output, shape ``(steps, ...)``, as mpmath's number.

        Means and noise levels are the doubles that the process computes. All else has so many
        digits, or more where they leave a sign open.
        """
        return in_digits(self._enclose_loss(output, pair), digits)

    def losses_in_digits(
        self, outputs: Array, pair: Pair[DatasetT], digits: int = DIGITS
    ) -> list[Any]:
        """Return the loss of each output, ``(R, steps, ...)``; one run gives all their means.

        Means and noise levels are those of `loss_in_digits`.
        """
        steps = list(self._replayed(outputs, pair))
        return [
            in_digits(partial(_loss_of_trial, steps, trial), digits)
            for trial in range(len(outputs))
        ]

    def loss_bounds(self, output: Array, pair: Pair[DatasetT]) -> tuple[float, float]:
        """Return doubles between which the privacy loss of an output lies, ``(steps, ...)``.

        Means and noise levels are the doubles that the process computes: it is the loss of the
        mechanism that runs.
        """
        return ends(self._enclose_loss(output, pair))

    def _enclose_loss(self, output: Array, pair: Pair[DatasetT]) -> Callable[[], Real]:
        """Return a function that computes the loss with its caller's digits."""
        steps = list(self._replayed(output[None], pair))
        return lambda: total(here.enclosed_loss(output, there) for output, here, there in steps)

    def uniform_residuals(self, outputs: Array, dataset: DatasetT) -> Array:
        """Return the noise of every step as independent uniforms, shape ``(R, k)``."""
        self.process.check(dataset)
        self._check_length(outputs)
        state = self.process.start(dataset, len(outputs))
        residuals = np.empty_like(outputs)
        for t in range(self.process.steps):
            step = self._noisy_step(state, dataset)
            residuals[:, t] = step.uniforms(outputs[:, t])
            state = self.process.advance(state, outputs[:, t])
        return residuals.reshape(len(outputs), -1)

    @abstractmethod
    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on ``sum_t K_t(tilt)`` that hold for every output."""

    @abstractmethod
    def _log_mgf(self, moments: Array, tilt: float) -> Array:
        """Return ``sum_t K_t(tilt)`` from the sums of the terms of `Release.draw_tilted`."""

    def _replayed(
        self, outputs: Array, pair: Pair[DatasetT]
    ) -> Iterator[tuple[Array, ReleaseT, ReleaseT]]:
        """Yield every step's outputs and its law on the dataset and on the neighbour."""
        self._check(pair)
        self._check_length(outputs)
        state = self.process.start(pair.dataset, len(outputs))
        for t in range(self.process.steps):
            on_dataset = self._noisy_step(state, pair.dataset)
            yield outputs[:, t], on_dataset, self._noisy_step(state, pair.neighbour)
            state = self.process.advance(state, outputs[:, t])

    def _check(self, pair: Pair[DatasetT]) -> None:
        self.process.check(pair.dataset)
        self.process.check(pair.neighbour)

    def _check_length(self, outputs: Array) -> None:
        steps = self.process.steps
        if outputs.ndim < self._axes or outputs.shape[1] != steps:
            expected = f"{steps} steps on the second axis"
            raise InvalidArgument("outputs", VerbatimText(f"shape {outputs.shape}"), expected)

    def _noisy_step(self, state: StateT, dataset: DatasetT) -> ReleaseT:
        step = self.process.step(state, dataset)
        step.require_noise()
        return step


def _loss_of_trial(steps: Sequence[tuple[Array, Release, Release]], trial: int) -> Real:
    return total(
        here.of_trial(trial).enclosed_loss(output[trial : trial + 1], there.of_trial(trial))
        for output, here, there in steps
    )


@dataclass(frozen=True)
class GaussianSteps(_Steps[DatasetT, StateT, Step]):
    """A mechanism with a known law: every release of ``process``, with Gaussian noise, is seen.

    Outputs have shape ``(R, steps, ...)``.

    Formal guarantee: none of its own; the exact privacy loss of a pair is what it provides.
    """

    _axes = 2
    loss_is_unbounded: ClassVar[bool] = True  # of an output far enough out, if anything moves

    process: GaussianProcess[DatasetT, StateT]

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on ``sum_t K_t(tilt)`` that hold for every output."""
        low, high = self.process.squared_shift_bounds(pair)
        factor = tilt * (1 + tilt) / 2
        # 0 times an infinite bound would be NaN.
        return (factor * low, factor * high) if factor else (0.0, 0.0)

    def _log_mgf(self, moments: Array, tilt: float) -> Array:
        return tilt * (1 + tilt) / 2 * moments


@dataclass(frozen=True)
class ExponentialNormSteps(_Steps[DatasetT, StateT, NormStep]):
    """A mechanism with a known law: every release, with exponential-norm noise, is seen.

    Outputs have shape ``(R, steps, ..., d)``.

    Formal guarantee: none of its own; the exact privacy loss of a pair is what it provides.
    """

    _axes = 3

    process: NormProcess[DatasetT, StateT]

    def log_mgf_bounds(self, pair: Pair[DatasetT], tilt: float) -> tuple[float, float]:
        """Return bounds on ``sum K(tilt)`` that hold for every output."""
        self._check(pair)
        d = self.process.step(self.process.start(pair.dataset, 1), pair.dataset).centre.shape[-1]
        low, high = (
            float(exponential_norm.log_mgf(sizes, d, tilt).sum())
            for sizes in self.process.shift_bounds(pair)
        )
        return low, high

    def _log_mgf(self, moments: Array, tilt: float) -> Array:
        return moments


def roll_out(
    next_step: Callable[[StateT], Release],
    advance: Callable[[StateT, Array], StateT],
    state: StateT,
    steps: int,
    rng: Generator,
) -> Array:
    """Return the outputs of ``steps`` releases, shape ``(R, steps, ...)``."""
    outputs: list[Array] = []
    for number in range(1, steps + 1):
        with add_error_place(f"step {number}"):
            outputs.append(next_step(state).draw(rng))
            state = advance(state, outputs[-1])
    return np.stack(outputs, axis=1)


def _sum_each_trial(values: Array) -> Array:
    total: Array = values.reshape(len(values), -1).sum(axis=1)
    return total
