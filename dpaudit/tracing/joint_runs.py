"""Runs of plain numpy together: noisy values of many runs at once, each held to a run by itself.

Lanes propose tilted values. Every lane is run alone, too, which has to have the same loss and to
return the same, bit for bit: no bound rests on what lanes made of the code. Where runs cannot go
together, `RunsDiverge` says so, and each goes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.calling import Calls
from dpaudit.neighbours import Pair
from dpaudit.tracing.determined_values import ReadOff, RunOutput
from dpaudit.tracing.draws import FAR_OUT, LawState, NoisyValue
from dpaudit.tracing.lanes import Lanes, join_lanes, lane_of
from dpaudit.tracing.lockstep import RunTrace, run_in_lockstep, trace_run
from dpaudit.tracing.pending import NoLaw, Source
from dpaudit.tracing.plain import is_plain_data, is_plain_numpy
from dpaudit.tracing.runs import (
    HARDLY,
    AnyCalls,
    find_unlawful_reason,
    nearly_same,
    same_outcome,
    scales_of,
)
from dpaudit.tracing.steps import LAWS, LocatedLaw, LocatedValue

_FEWEST = 16  # runs that are worth a batch
_NUMBERS = 2**20  # of all lanes of an array as large as the data


class RunsDiverge(Exception):
    """Runs do something of their own."""


class LanesState(LawState):
    """A run of many lanes, whose noise is Gaussian or Laplace."""

    def __init__(
        self, runs: int, seed: int, meet: Callable[[NoisyValue], Array], located: Sequence[bool]
    ) -> None:
        super().__init__(seed, meet, located)
        self._runs = runs

    def decide(self, kind: str, sources: Sequence[Source], parameters: Any) -> Any:
        """Return a noisy value of every lane."""
        if not isinstance(parameters, LocatedValue):
            raise self.refuse("this noise can be read only from single calls")
        centre, scale = parameters
        # A centre that no lane changed is one for all: each lane still has noise of its own.
        whole = np.broadcast_to(centre, (self._runs, *scale.shape))
        return Lanes(self, super().decide(kind, sources, LocatedValue(whole, scale)))


def law_of(meeting: NoisyValue) -> LocatedLaw:
    """Return the law of a meeting of many lanes."""
    return LAWS[meeting.kind]


def _draw_widely(meeting: NoisyValue, rng: Generator) -> Array:
    """Return values of a meeting of many lanes, in half of which the noise is far wider."""
    centre, scale = meeting.parameters
    apart = (len(centre), *(1,) * (centre.ndim - 1))
    times = np.where(rng.random(apart) < 0.5, 10.0 ** rng.uniform(0.0, FAR_OUT, apart), 1.0)
    return law_of(meeting).draw(LocatedValue(centre, scale * times), rng)


def each_sum(entries: Array) -> Array:
    """Return the sum of the entries of each lane, shape ``(runs,)``."""
    return np.asarray(entries.reshape(len(entries), -1).sum(axis=1))


def can_go_together(calling: AnyCalls, keys: Sequence[tuple[str, str, tuple[int, ...]]]) -> bool:
    """Return whether the runs of a function may go together: its noise and its code are plain."""
    if not isinstance(calling, Calls) or any(kind not in LAWS for kind, _, _ in keys):
        return False
    form = calling.form
    looks = calling.read, calling.fresh, calling.when, calling.again
    if form.many or form.method or form.made or any(one is not None for one in looks):
        return False
    given = [one.role for one in form.arguments] == ["data", "rng"]
    return given and is_plain_numpy(calling.function)


def split_runs_into_batches(trials: int, *data: Any) -> list[int] | None:
    """Return how many runs go together each time, None where each goes alone."""
    if not all(map(is_plain_data, data)):
        return None
    largest = max(_count_data_numbers(one) for one in data)
    most = min(trials, _NUMBERS // max(1, largest))
    if most < _FEWEST:
        return None
    count = -(-trials // most)
    return [trials // count + (at < trials % count) for at in range(count)]


def _count_data_numbers(data: Any) -> int:
    return (
        sum(map(_count_data_numbers, data))
        if isinstance(data, list | tuple)
        else int(np.size(data))
    )


@dataclass(frozen=True)
class JointRuns:
    """Runs of a function whose law was read, many at once.

    Parameters
    ----------
    calling, keys, located, read_off
        As of the law.
    broken
        Makes what is raised where the law does not hold.
    """

    calling: AnyCalls
    keys: tuple[tuple[str, str, tuple[int, ...]], ...]
    located: tuple[bool, ...]
    read_off: ReadOff
    broken: Callable[[str], MechanismError]

    def tilted(
        self, pair: Pair[Any], tilt: float, runs: int, rng: Generator
    ) -> tuple[Array, Array, Array, RunOutput]:
        """Return values drawn tilted in lock-step, losses, logarithms of weights and outputs."""
        drawn, sums = list[Array](), np.zeros((2, runs))

        def decide(own: NoisyValue, other: NoisyValue) -> Array:
            value, loss, log_mgf = law_of(own).draw_tilted_entries(
                own.parameters, other.parameters, tilt, rng
            )
            drawn.append(value.reshape(runs, -1))
            sums[:] += each_sum(loss), each_sum(log_mgf)
            return value

        data = pair.dataset, pair.neighbour
        kind = partial(LanesState, runs)
        seed = int(rng.integers(2**63))
        traces = run_in_lockstep(self.calling.one, data, seed, decide, self.located, kind)
        values = np.concatenate(drawn, axis=1) if drawn else np.empty((runs, 0))
        one, other = (self._outcome(each, runs) for each in traces)
        self._require(one, other, values, traces[0].meetings)
        if not np.isfinite(sums[0]).all():
            raise self.broken("a noisy value is impossible on the other dataset")
        return values, sums[0], sums[1], one

    def read(self, dataset: Any, outcomes: Sequence[RunOutput], rng: Generator) -> Array:
        """Return the noisy values of outputs; runs that are given them return these again."""
        outcome = merge_lane_outcomes(outcomes)
        values = self.read_off.values(outcome)
        if values is None:
            raise RunsDiverge
        meetings, again = self.forced(dataset, values)
        exactly = self.read_off.places is not None  # else reading values off rounds them
        least = float(scales_of(meetings).min())
        if not (same_outcome if exactly else partial(nearly_same, scale=least))(again, outcome):
            raise RunsDiverge
        below = self.uniforms_of(values, meetings)
        if (np.minimum(below, 1 - below) * values.shape[1] < HARDLY).any():
            raise self.broken("a noisy value is too unlikely under its law")
        self.require_told_again(values, [dataset], rng)
        return values

    def losses(self, values: Array, pair: Pair[Any]) -> Array:
        """Return the losses of noisy values, shape ``(runs,)``."""
        (own, one), (other, another) = (
            self.forced(data, values) for data in (pair.dataset, pair.neighbour)
        )
        self._require(one, another, values, own)
        total = np.zeros(len(values))
        for value, a, b in zip(self._split(values), own, other, strict=True):
            total += each_sum(law_of(a).log_ratio(value, a.parameters, b.parameters))
        return total

    def uniforms(self, values: Array, dataset: Any) -> Array:
        """Return the noise of noisy values as uniforms, shape as the values."""
        return self.uniforms_of(values, self.forced(dataset, values)[0])

    def uniforms_of(self, values: Array, meetings: Sequence[NoisyValue]) -> Array:
        """Return the same, of runs that were made."""
        each = zip(self._split(values), meetings, strict=True)
        found = [law_of(a).distribution((v - a.parameters[0]) / a.parameters[1]) for v, a in each]
        return np.concatenate([one.reshape(len(values), -1) for one in found], axis=1)

    def require_told_again(self, values: Array, data: Sequence[Any], rng: Generator) -> None:
        """Refuse values after whose first ones others would be that outputs do not tell.

        In each lane all are drawn once more from some value on, on one of the datasets.
        """
        first = rng.integers(len(self.keys), size=len(values))
        side = rng.integers(len(data), size=len(values))
        for number, dataset in enumerate(data):
            lanes = np.flatnonzero(side == number)
            if len(lanes):
                self._require_told(values[lanes], first[lanes], dataset, rng)

    def _require_told(self, values: Array, first: Any, dataset: Any, rng: Generator) -> None:
        given, told = self._split(values), list[Array]()

        def meet(meeting: NoisyValue) -> Array:
            again = _draw_widely(meeting, rng)
            # Each lane has its own place from which on it draws anew: all others draw here as well,
            # and do not use it.
            is_known = (len(told) < first).reshape(-1, *(1,) * (again.ndim - 1))
            told.append(np.where(is_known, given[len(told)], again))
            return told[-1]

        meetings, outcome = self._run(dataset, len(values), meet)
        flat = np.concatenate([one.reshape(len(values), -1) for one in told], axis=1)
        if not self.read_off.agrees(outcome, flat, scales_of(meetings)):
            raise self.broken(
                "the output does not determine the noisy values that follow some of them"
            )

    def forced(self, dataset: Any, values: Array) -> tuple[list[NoisyValue], RunOutput]:
        """Return the meetings and the outputs of runs that are given their noisy values."""
        left = iter(self._split(values))
        return self._run(dataset, len(values), lambda meeting: next(left))

    def _run(
        self, dataset: Any, runs: int, meet: Callable[[NoisyValue], Array]
    ) -> tuple[list[NoisyValue], RunOutput]:
        def meet_choice(meeting: NoisyValue) -> Array:
            at = len(state.meetings) - 1
            if at >= len(self.keys) or meeting.key != self.keys[at]:
                raise state.refuse("the code adds noise to values in another order")
            return meet(meeting)

        state = LanesState(runs, 0, meet_choice, self.located)
        run = trace_run(state, self.calling.one, dataset)
        return run.meetings, self._outcome(run, runs)

    def _outcome(self, trace: RunTrace, runs: int) -> RunOutput:
        """Return the outputs of all lanes, numbers of shape ``(runs, m)``."""
        refused = find_unlawful_reason(trace) is not None
        if refused or tuple(one.key for one in trace.meetings) != self.keys:
            raise RunsDiverge
        return outcome_of(trace.run.value, runs)

    def _require(
        self, one: RunOutput, other: RunOutput, values: Array, meetings: Sequence[NoisyValue]
    ) -> None:
        if not same_outcome(one, other):
            raise self.broken("data reach the output past the noise")
        if not self.read_off.agrees(one, values, scales_of(meetings)):
            raise self.broken("the output does not determine the noisy values")

    def _split(self, values: Array) -> list[Array]:
        ends = np.cumsum([int(np.prod(shape)) for _, _, shape in self.keys])[:-1]
        parts = np.split(values, ends, axis=1)
        shapes = [shape for _, _, shape in self.keys]
        return [
            part.reshape(len(values), *shape) for part, shape in zip(parts, shapes, strict=True)
        ]


def outcome_of(value: Any, runs: int) -> RunOutput:
    """Return the outputs of many lanes, numbers of shape ``(runs, m)``."""
    whole = join_lanes(value)
    if isinstance(whole, Lanes) and whole.shape and whole.dtype == float:
        return RunOutput((f"array{whole.shape}",), whole.values.reshape(runs, -1).copy())
    try:
        found = [RunOutput.of(lane_of(whole, at), None) for at in range(runs)]
    except NoLaw:
        raise RunsDiverge from None
    if any(one.fixed != found[0].fixed for one in found):
        raise RunsDiverge
    return RunOutput(found[0].fixed, np.stack([one.numbers for one in found]))


def merge_lane_outcomes(outcomes: Sequence[RunOutput]) -> RunOutput:
    """Return outputs of single runs as those of lanes; `RunsDiverge` where they differ in form."""
    alike = {(one.fixed, one.numbers.shape) for one in outcomes}
    if len(alike) > 1:
        raise RunsDiverge
    return RunOutput(outcomes[0].fixed, np.stack([one.numbers for one in outcomes]))
