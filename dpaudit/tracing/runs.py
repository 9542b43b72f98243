"""Runs of a function that are given its noisy values, and the questions put to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.mechanisms.foreign.calling import Calls
from dpaudit.tracing.determined_values import CLOSE, RunOutput
from dpaudit.tracing.draws import LawState, NoisyValue
from dpaudit.tracing.lockstep import RunTrace, trace_run
from dpaudit.tracing.watching import WatchedCalls

AnyCalls = Calls | WatchedCalls
HARDLY = 1e-12  # how often a law may have a value that is refused, though it is right
SAME_LOSS = 1e-9  # relative, of losses that are summed in two ways


@dataclass(frozen=True, kw_only=True)
class MissingLaw:
    """Why no law was read, and the line of the source, where it is one."""

    reason: str
    place: str | None = None

    def __str__(self) -> str:
        return self.reason if self.place is None else f"{self.place}: {self.reason}"


def draw_plain_outputs(
    calling: AnyCalls, dataset: Any, trials: int, rng: Generator
) -> list[RunOutput]:
    """Return outputs of calls as they are, each in the form in which it is alone in a call."""
    many = calling.observations(dataset, trials, rng)
    if not calling.form.many:
        return [RunOutput.of(one, None) for one in many]
    return [RunOutput.of(many[at : at + 1], None) for at in range(trials)]


def join_values(values: Sequence[Array]) -> Array:
    """Return noisy values behind one another, shape ``(k,)``."""
    return np.concatenate([np.empty(0), *(value.ravel() for value in values)])


def same_outcome(one: RunOutput, other: RunOutput) -> bool:
    """Return whether two runs returned the same, bit for bit."""
    return one.fixed == other.fixed and np.array_equal(one.numbers, other.numbers, equal_nan=True)


def nearly_same(one: RunOutput, other: RunOutput, scale: float) -> bool:
    """Return whether two runs returned the same, but for changes by reading values off."""
    if one.fixed != other.fixed or one.numbers.shape != other.numbers.shape:
        return False
    close = SAME_LOSS * np.abs(other.numbers) + CLOSE * scale
    return bool((np.abs(one.numbers - other.numbers) <= close).all())


def scales_of(meetings: Sequence[NoisyValue]) -> Array:
    """Return the scale of the noise of each noisy value of a run, shape ``(k,)``."""
    if not meetings:
        return np.empty(0)
    return np.concatenate([one.law.scale(one.parameters).ravel() for one in meetings])


def run_with_forced_values(
    function: Callable[[Any, Any], Any],
    dataset: Any,
    values: Sequence[Array],
    located: Sequence[bool],
    draw: Callable[[NoisyValue], Array] | None = None,
    *,
    of_numpy: bool = False,
) -> RunTrace:
    """Return a run whose first noisy values are given; further ones are drawn, if they may be."""
    left = iter(values)

    def meet(meeting: NoisyValue) -> Array:
        value = next(left, None)
        if value is None and draw is not None:
            return draw(meeting)
        if value is None or value.shape != meeting.parameters.shape:
            raise state.refuse("the code adds noise to more values than before, or to others")
        settled = meeting.law.settle(value, meeting.parameters)
        if settled is None:
            raise state.end_as_impossible()
        return settled

    state = LawState(0, meet, located, of_numpy=of_numpy)
    return trace_run(state, function, dataset)


def find_unlawful_reason(trace: RunTrace) -> MissingLaw | None:
    """Return why a run has no law that is read, None if it has one."""
    run = trace.run
    if trace.refusal is not None:
        return MissingLaw(reason=trace.refusal[1], place=trace.refusal[0])
    if trace.unread:
        first = trace.unread[0]
        return MissingLaw(reason=f"no rule for draws of {first.name}", place=first.place)
    if run.error is not None:
        return MissingLaw(reason=f"the function raises {run.error}")
    if run.seeds:
        return MissingLaw(reason="the code seeds a generator itself", place=run.seeds[0][1])
    if run.elsewhere:
        return MissingLaw(reason="another thread draws")
    if run.copied:
        return MissingLaw(reason="a generator is copied")
    return None
