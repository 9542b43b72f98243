"""The law of a function of one's own, read by running both datasets with the same noisy values.

A run notes where noise meets a value: centre, scale, and the noisy value, which is decided there
and given to the run on the neighbour, too. From there on both have seen the same, and the privacy
loss of all noisy values is the sum of their losses given the history, exactly.

What has to hold is checked in every run, and whatever breaks it ends the law with its reason:

* both runs of a pair return the same, bit for bit: data reach outputs through noisy values alone;
* noise meets values in the same order, at the same lines, with the same kinds and shapes;
* no draw is used twice, looked at by itself, made with a seed of its own, or copied;
* the noisy values can be read off the output, so that an event of them is an event of outputs; from
  some noisy value of each run on they are drawn once more, so that a history of this run alone that
  hides a later one is seen;
* what untouched calls return follows this law: `TracedLaw.sample` draws with the function as it is,
  reads the noisy values off its outputs, and a run that is given these returns the same output.

Formal guarantee: over the real numbers, and as long as these checks speak the truth of all runs,
losses are those of the outputs on this pair. `dpaudit.auditing.exact.exact_loss` certifies a lower
end with them. They have no upper end: runs alone never bound what a rare history does.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.freezing import patching
from dpaudit.laws.loss_enclosure import ends
from dpaudit.mechanisms.mechanism import TiltedSample, Wraps, name_of
from dpaudit.neighbours import Pair
from dpaudit.reals import Real
from dpaudit.tracing.determined_values import ReadOff, RunOutput
from dpaudit.tracing.discrete import KINDS
from dpaudit.tracing.draws import NoisyValue, draw_widely, have_same_parameters
from dpaudit.tracing.joint_runs import (
    JointRuns,
    RunsDiverge,
    can_go_together,
    split_runs_into_batches,
)
from dpaudit.tracing.lockstep import RunTrace, run_in_lockstep
from dpaudit.tracing.pending import NoLaw
from dpaudit.tracing.runs import (
    HARDLY,
    SAME_LOSS,
    AnyCalls,
    draw_plain_outputs,
    find_unlawful_reason,
    join_values,
    nearly_same,
    run_with_forced_values,
    same_outcome,
    scales_of,
)

Key = tuple[str, str, tuple[int, ...]]
_AGAIN = 64  # runs that show whether outputs tell noisy values after the history of one


class Impossible(MechanismError):
    """A run was given noisy values that its law never has."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A noisy value in a few runs.

    Parameters
    ----------
    scale
        The least of its noise.
    is_steady
        Whether its noise has the same scale in all runs, on both datasets.
    moved
        How far its centre moved at most, in the norm of its noise.
    divergence
        Its mean expected loss given the history.
    """

    scale: float
    is_steady: bool
    moved: float
    divergence: float


@dataclass(frozen=True)
class TracedView:
    """Noisy values that runs form, and outputs do not determine.

    Parameters
    ----------
    keys
        Kind, line and shape of each.
    profile
        How far each centre moved in a few runs.
    """

    keys: tuple[Key, ...]
    profile: tuple[Profile, ...]


@dataclass(frozen=True, eq=False)
class TracedLaw(Wraps):
    """A function whose law was read, as a mechanism with that law.

    An output is all noisy values of a run in order, shape ``(k,)``.

    Parameters
    ----------
    calling
        The function, and how it is called.
    keys
        Kind, line and shape of each noisy value.
    located
        Of each call of a primitive, whether its noise meets the location that it is given.
    read_off
        How noisy values are read off outputs.
    profile
        How far each centre moved in a few runs.
    """

    is_replayed = True
    """That every output runs the code again, so that checks draw no more than they need."""

    calling: AnyCalls
    keys: tuple[Key, ...]
    located: tuple[bool, ...]
    read_off: ReadOff
    profile: tuple[Profile, ...] = ()

    @property
    def function(self) -> Any:
        """The code itself."""
        return self.calling.function

    @property
    def loss_is_unbounded(self) -> bool:
        """Whether outputs far enough out have any loss: under Gaussian noise that moves."""
        return any(KINDS[kind].is_unbounded for kind, _, _ in self.keys)

    @cached_property
    def _parts(self) -> list[slice]:
        ends = np.cumsum([int(np.prod(shape)) for _, _, shape in self.keys]).tolist()
        return [slice(first, last) for first, last in zip([0, *ends[:-1]], ends, strict=True)]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the noisy values of calls of the function as it is, shape ``(trials, k)``."""
        outcomes = draw_plain_outputs(self.calling, dataset, trials, rng)

        def draw_one_by_one() -> Array:
            rows = [self._read(dataset, outcome) for outcome in outcomes]
            for row in rows:
                self._require_told_again(row, [dataset], rng)
            return np.stack(rows)

        def read(many: JointRuns, part: slice) -> Array:
            return many.read(dataset, outcomes[part], rng)

        return self._at_once(read, draw_one_by_one, trials, rng, dataset)

    def _read(self, dataset: Any, outcome: RunOutput) -> Array:
        """Return the noisy values of an output; a run that is given them returns it again."""
        values = self.read_off.values(outcome)
        if values is None:
            raise self._broken("an output differs in form from the traced ones")
        meetings, again = self._run_at_values(dataset, values)
        least = float(scales_of(meetings).min())
        self._require_plausible(values, meetings)
        exactly = self.read_off.places is not None  # else reading values off rounds them
        if not (same_outcome(again, outcome) if exactly else nearly_same(again, outcome, least)):
            raise self._broken("its output does not follow from its noisy values")
        return join_values([value for value, _ in self._steps(values, meetings)])

    def privacy_loss(self, outputs: Array, pair: Pair[Any]) -> Array:
        """Return the losses of outputs, shape ``(R,)``."""
        rows = outputs.reshape(len(outputs), -1)
        return self._at_once(
            lambda many, part: many.losses(rows[part], pair),
            lambda: np.array([self._loss(row, pair) for row in rows]),
            len(rows), None, pair.dataset, pair.neighbour,
        )  # fmt: skip

    def _loss(self, values: Array, pair: Pair[Any]) -> float:
        """Return a loss: infinite where one side never has these values, nan where none has."""
        sides = [self._attempt(data, values) for data in (pair.dataset, pair.neighbour)]
        # A value that the neighbour never has is an infinite loss of the event, and evidence; one
        # that neither has is no output of this function.
        if None in sides:
            possible = [one is not None for one in sides]
            return math.nan if not any(possible) else math.inf if possible[0] else -math.inf
        (own, one), (other, another) = (side for side in sides if side is not None)
        self._require(one, another, values, scales_of(own))
        self._require_losses(own, other)
        return self._sum_of_losses(values, own, other)

    def _sum_of_losses(
        self, values: Array, own: Sequence[NoisyValue], other: Sequence[NoisyValue]
    ) -> float:
        steps = zip(self._steps(values, own), other, strict=True)
        return sum(a.law.loss(v, a.parameters, b.parameters) for (v, a), b in steps)

    def _attempt(self, dataset: Any, values: Array) -> tuple[list[NoisyValue], RunOutput] | None:
        """Return a run that is given its noisy values, None where it never has them."""
        try:
            return self._run_at_values(dataset, values)
        except Impossible:
            return None

    def _both(
        self, values: Array, pair: Pair[Any]
    ) -> tuple[list[NoisyValue], list[NoisyValue], RunOutput]:
        """Return the meetings of both runs that are given these noisy values, and their output."""
        (own, one), (other, another) = (
            self._run_at_values(data, values) for data in (pair.dataset, pair.neighbour)
        )
        self._require(one, another, values, scales_of(own))
        self._require_losses(own, other)
        return own, other, one

    def uniform_residuals(self, outputs: Array, dataset: Any) -> Array:
        """Return the noise of outputs as uniforms, shape ``(R, k)``."""
        rows = outputs.reshape(len(outputs), -1)
        rng = np.random.default_rng(zlib.crc32(rows.tobytes()))  # for what is discrete
        return self._at_once(
            lambda many, part: many.uniforms(rows[part], dataset),
            lambda: np.stack([self._uniforms(row, dataset, rng) for row in rows]),
            len(rows), None, dataset,
        )  # fmt: skip

    def _uniforms(self, values: Array, dataset: Any, rng: Generator) -> Array:
        meetings, _ = self._run_at_values(dataset, values)
        steps = self._steps(values, meetings)
        return join_values([a.law.uniforms(v, a.parameters, rng) for v, a in steps])

    def sample_tilted(
        self, pair: Pair[Any], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return outputs drawn tilted in lock-step, with their losses and weights."""

        def draw_one_by_one() -> Array:
            rows = [self._draw_tilted_values(pair, tilt, rng) for _ in range(trials)]
            return np.stack([np.concatenate([value, sums]) for value, *sums in rows])

        def draw_tilted_part(many: JointRuns, part: slice) -> Array:
            return self._draw_tilted_together(many, pair, tilt, part.stop - part.start, rng)

        found = self._at_once(
            draw_tilted_part, draw_one_by_one, trials, rng, pair.dataset, pair.neighbour
        )
        return TiltedSample(found[:, :-2].copy(), found[:, -2].copy(), found[:, -1].copy(), tilt)

    def _draw_tilted_together(
        self, many: JointRuns, pair: Pair[Any], tilt: float, runs: int, rng: Generator
    ) -> Array:
        """Return noisy values of each run, its loss and the logarithm of its weight."""
        values, losses, log_mgf, outcome = many.tilted(pair, tilt, runs, rng)
        for at in range(runs):
            one = RunOutput(outcome.fixed, outcome.numbers[at])
            self._require_as_alone(values[at], pair, float(losses[at]), one)
            self._require_told_again(values[at], (pair.dataset, pair.neighbour), rng)
        return np.column_stack([values, losses, log_mgf])

    def _require_as_alone(
        self, values: Array, pair: Pair[Any], loss: float, outcome: RunOutput
    ) -> None:
        """Let each run go alone where one that does returns something else."""
        own, other, one = self._both(values, pair)
        if not same_outcome(one, outcome) or not _are_same_losses(
            self._sum_of_losses(values, own, other), loss
        ):
            raise RunsDiverge

    def _draw_tilted_values(
        self, pair: Pair[Any], tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        drawn, sums = list[Array](), np.zeros(2)

        def decide(own: NoisyValue, other: NoisyValue) -> Array:
            value, loss, log_mgf = own.law.tilted(own.parameters, other.parameters, tilt, rng)
            drawn.append(value)
            sums[:] += loss, log_mgf
            return value

        data = pair.dataset, pair.neighbour
        seed = int(rng.integers(2**63))
        traces = run_in_lockstep(self.calling.one, data, seed, decide, self.located)
        for run in traces:
            self._require_followed(run)
        values = np.concatenate([one.ravel() for one in drawn])
        one, other = (self._outcome(each) for each in traces)
        self._require(one, other, values, scales_of(traces[0].meetings))
        # A tilt weighs by both laws: where one of them is 0 the weights would bound nothing.
        if math.isinf(sums[0]):
            raise self._broken("a noisy value is impossible on the other dataset")
        self._require_alone(values, pair, float(sums[0]))
        self._require_told_again(values, data, rng)
        return values, float(sums[0]), float(sums[1])

    def _require_alone(self, values: Array, pair: Pair[Any], loss: float) -> None:
        """Refuse a loss that runs alone do not have: side by side, they may share a state."""
        if not _are_same_losses(self._loss(values, pair), loss):
            raise self._broken("calls made together differ from single calls")

    def log_mgf_bounds(self, pair: Pair[Any], tilt: float) -> tuple[float, float]:
        """Return 0 and infinity: no run says how far a centre moves after another history."""
        return 0.0, np.inf

    def loss_bounds(self, output: Array, pair: Pair[Any]) -> tuple[float, float]:
        """Return doubles between which a loss lies, centres and scales being the doubles they are.

        Raises
        ------
        MechanismError
            The noisy values are none of this law.
        """
        values = output.ravel()
        rng = np.random.default_rng(zlib.crc32(values.tobytes()))
        with self._patch_primitives():
            own, other, _ = self._both(values, pair)
            # Only a certificate pays for so many runs: each shows one history after which the
            # output might hide a later value.
            for _ in range(_AGAIN):
                self._require_told_again(values, (pair.dataset, pair.neighbour), rng)
        return ends(lambda: self._enclosed(values, own, other))

    def _enclosed(
        self, values: Array, own: Sequence[NoisyValue], other: Sequence[NoisyValue]
    ) -> Real:
        total = Real(0.0)
        for (v, a), b in zip(self._steps(values, own), other, strict=True):
            total = total + a.law.enclosed_loss(v, a.parameters, b.parameters)
        return total

    # Runs

    def _at_once(
        self,
        together: Callable[[JointRuns, slice], Array],
        draw_one_by_one: Callable[[], Array],
        runs: int,
        rng: Generator | None,
        *data: Any,
    ) -> Array:
        """Return the results of many runs together, or else of each alone, in order."""
        bits = None if rng is None else rng.bit_generator
        before = None if bits is None else bits.state
        with self._patch_primitives():
            sizes = None if self._together is None else split_runs_into_batches(runs, *data)
            if self._together is not None and sizes is not None:
                ends = np.cumsum([0, *sizes]).tolist()
                try:
                    parts = [slice(*both) for both in pairwise(ends)]
                    return np.concatenate([together(self._together, part) for part in parts])
                except RunsDiverge:
                    if bits is not None and before is not None:
                        # Runs that could not go together have drawn already. Put back, the
                        # generator gives each run alone what it would have had, so that a seed
                        # names one result.
                        bits.state = before
            return draw_one_by_one()

    @cached_property
    def _together(self) -> JointRuns | None:
        """Runs at once, of code that is known to be the same in each; else None."""
        if not can_go_together(self.calling, self.keys):
            return None
        return JointRuns(self.calling, self.keys, self.located, self.read_off, self._broken)

    def _patch_primitives(self) -> Any:
        return patching.patch_primitives(self.calling.function)

    def _split(self, values: Array) -> Iterator[Array]:
        for part, (_, _, shape) in zip(self._parts, self.keys, strict=True):
            yield values[part].reshape(shape)

    def _steps(
        self, values: Array, meetings: Sequence[NoisyValue]
    ) -> Iterator[tuple[Array, NoisyValue]]:
        """Yield each noisy value, without the rounding that came from reading it off."""
        for value, meeting in zip(self._split(values), meetings, strict=True):
            settled = meeting.law.settle(value, meeting.parameters)
            yield value if settled is None else settled, meeting

    def _run_at_values(self, dataset: Any, values: Array) -> tuple[list[NoisyValue], RunOutput]:
        """Return the meetings and the output of a run that is given its noisy values."""
        given = list(self._split(values))
        run = run_with_forced_values(self.calling.one, dataset, given, self.located)
        self._require_followed(run)
        outcome = self._outcome(run)
        # Single numbers stand for Python's in this run and for numpy's in the next one. Code that
        # tells them apart does not follow the law that was read.
        if any(shape == () for _, _, shape in self.keys):
            again = run_with_forced_values(
                self.calling.one, dataset, given, self.located, of_numpy=True
            )
            self._require_followed(again)
            alike = map(have_same_parameters, run.meetings, again.meetings)
            if not all(alike) or not same_outcome(self._outcome(again), outcome):
                raise self._broken("the code treats numbers of Python and of numpy differently")
        return run.meetings, outcome

    def _outcome(self, trace: RunTrace) -> RunOutput:
        try:
            return RunOutput.of(trace.run.value, trace.run.error)
        except NoLaw as error:
            raise self._broken(str(error)) from error

    def _require_followed(self, trace: RunTrace) -> None:
        if trace.is_impossible:
            raise Impossible(str(self._broken("no draw ever gives these noisy values")))
        reason = find_unlawful_reason(trace)
        if reason is not None:
            raise self._broken(str(reason))
        if tuple(one.key for one in trace.meetings) != self.keys:
            raise self._broken("the code adds noise to values in another order, or elsewhere")

    def _require(self, one: RunOutput, other: RunOutput, values: Array, scales: Array) -> None:
        if not same_outcome(one, other):
            raise self._broken("data reach the output past the noise")
        if not self.read_off.agrees(one, values, scales):
            raise self._broken("the output does not determine the noisy values")

    def _require_losses(self, own: Sequence[NoisyValue], other: Sequence[NoisyValue]) -> None:
        """Refuse noisy values that meet alike and have no losses."""
        for one, another in zip(own, other, strict=True):
            if (reason := one.differs_from(another)) is not None:
                raise self._broken(f"{one.place}: {reason}")

    def _require_plausible(self, values: Array, meetings: Sequence[NoisyValue]) -> None:
        """Refuse values that their law hardly ever has: a number that stands for others, say."""
        rng = np.random.default_rng(0)
        for value, meeting in self._steps(values, meetings):
            below = meeting.law.uniforms(value, meeting.parameters, rng)
            # Bonferroni over the numbers of a run: how often a right one is refused does not grow
            # with how many there are.
            if (np.minimum(below, 1 - below) * max(1, len(values)) < HARDLY).any():
                raise self._broken("a noisy value is too unlikely under its law")

    def _require_told_again(self, values: Array, data: Sequence[Any], rng: Generator) -> None:
        """Refuse values after whose first ones others would be that the output does not tell.

        From some value on all are drawn once more, on one of the datasets.
        """
        known = list(self._split(values))[: int(rng.integers(len(self.keys)))]
        drawn = list[Array]()

        def draw(meeting: NoisyValue) -> Array:
            drawn.append(draw_widely(meeting, rng))
            return drawn[-1]

        dataset = data[int(rng.integers(len(data)))]
        run = run_with_forced_values(self.calling.one, dataset, known, self.located, draw)
        self._require_followed(run)
        told, scales = join_values([*known, *drawn]), scales_of(run.meetings)
        if not self.read_off.agrees(self._outcome(run), told, scales):
            raise self._broken(
                "the output does not determine the noisy values that follow some of them"
            )

    def _broken(self, reason: str) -> MechanismError:
        return MechanismError(
            f"mechanism {name_of(self)}: the law that was read does not hold: {reason}"
        )


def _are_same_losses(ones: Any, others: Any) -> bool:
    """Return whether losses are the same, however they were summed."""
    return bool((np.abs(ones - others) <= SAME_LOSS * (1 + np.abs(others))).all())
