"""A function run on both datasets of a pair at once, with the same noisy values in both runs.

The neighbour's run is a thread, and one of the two runs at a time: where noise meets a value on the
dataset, the other goes on to its own meeting. Then both centres are known, one noisy value is
decided, and both runs go on from it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit._typing import Array
from dpaudit.freezing import primitives, recorder
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call
from dpaudit.tracing.draws import LawState, Meet, NoisyValue
from dpaudit.tracing.pending import decide_pending_noise
from dpaudit.tracing.watching import WarningState

Function = Callable[[Any, Any], Any]
Decide = Callable[[NoisyValue, NoisyValue], Array]
MakeState = Callable[[Meet], LawState]


class _Stop(BaseException):
    """Ends a run whose partner went another way."""


@dataclass(frozen=True)
class RunTrace:
    """The end of a run: its result, its noisy values, and the reason if it has no law."""

    run: Run
    meetings: list[NoisyValue]
    refusal: tuple[str | None, str] | None
    located: list[bool]
    unread: list[Call]
    look: str | None
    is_impossible: bool = False


class _Partner:
    """The run on the neighbour, which waits wherever its noise meets a value."""

    def __init__(self, function: Function, data: Any, make: MakeState) -> None:
        self.make = make
        self.go, self.back = threading.Lock(), threading.Lock()  # each passed on, never shared
        self.go.acquire()
        self.back.acquire()
        self.meeting: NoisyValue | None = None
        self.answer: Any = None
        self.trace: RunTrace | None = None
        self.state: LawState | None = None
        self.thread = threading.Thread(target=self._run, args=(function, data), daemon=True)
        self.thread.start()

    def _run(self, function: Function, data: Any) -> None:
        self.go.acquire()
        self.warned = WarningState()
        self.state = self.make(self._wait)
        self.trace = trace_run(self.state, function, data)
        self.meeting = None
        self.back.release()

    def _wait(self, meeting: NoisyValue) -> Any:
        self.meeting = meeting
        self.warned.keep()
        self.back.release()
        self.go.acquire()
        self.warned.restore()
        if isinstance(self.answer, _Stop):
            raise self.answer
        return self.answer

    def go_on(self, answer: Any) -> NoisyValue | None:
        """Let it go on from its last meeting, and return its next one; None at its end."""
        self.answer = answer
        # The recorder holds one run at a time: primitives that the other thread calls have to find
        # its own.
        recorder.switch_to(self.state)
        warned = WarningState()
        self.go.release()
        self.back.acquire()
        warned.restore()
        return self.meeting

    def end(self, answer: Any) -> RunTrace:
        """Let it go on to its end; a further meeting stops it."""
        if self.trace is None and self.go_on(answer) is not None:
            assert self.state is not None
            self.state.refuse_for(_ELSEWHERE)
            while self.go_on(_Stop()) is not None:  # code that catches everything meets it again
                pass
        self.thread.join()
        assert self.trace is not None
        return self.trace


_ELSEWHERE = None, "noise is added in another order, or elsewhere, on the other dataset"


def trace_run(state: LawState, function: Function, data: Any) -> RunTrace:
    """Return the end of a run on a dataset, as a state decides its noisy values."""

    def decide_noise(given: Any, rng: Any) -> Any:
        return decide_pending_noise(function(given, rng))

    try:
        recorder.record(state, decide_noise, data, primitives.generator())
    except recorder.TooMany:
        state.refuse_for((None, "there are too many draws to follow"))
    state.is_over = True
    unread = [call for call in state.run.calls if call.index not in state.formed]
    seen = state.meetings, state.refusal, state.located, unread, state.look
    return RunTrace(state.run, *seen, state.is_impossible)


def run_in_lockstep(
    function: Function,
    data: tuple[Any, Any],
    seed: int,
    decide: Decide,
    located: Sequence[bool] = (),
    kind: Callable[[int, Meet, Sequence[bool]], LawState] = LawState,
) -> tuple[RunTrace, RunTrace]:
    """Run a function on both datasets of a pair, each noisy value decided once for both.

    Parameters
    ----------
    function
        Of a dataset and a generator. Its primitives are replaced already.
    data
        The two datasets.
    seed
        Of draws of which no law is read.
    decide
        Returns the noisy value of two meetings, the dataset's and the neighbour's.
    located
        Of each call of a primitive, whether its noise meets the location that it is given.
    kind
        Of run: it is made of the seed, of what decides its noisy values, and of ``located``.
    """
    partner = _Partner(function, data[1], lambda meet: kind(seed, meet, located))
    answer: list[Any] = [None]

    def meet(meeting: NoisyValue) -> Array:
        other = partner.go_on(answer[0]) if partner.trace is None else None
        recorder.switch_to(state)
        lengths = None
        if other is None:
            raise state.refuse_for(_ELSEWHERE)
        if other.key != meeting.key:
            lengths = [one.parameters.shape[:1] for one in (meeting, other)]
            if not meeting.align(other):
                raise state.refuse_for(_ELSEWHERE)
        if (reason := meeting.differs_from(other)) is not None:
            raise state.refuse_for((meeting.place, reason))
        value = decide(meeting, other)
        if lengths is None:
            answer[0] = value
            return value
        (own_length,), (other_length,) = lengths
        answer[0] = value[:other_length]
        return value[:own_length]

    state = kind(seed, meet, located)
    with warnings.catch_warnings():  # two runs that catch their own leave filters of either
        own = trace_run(state, function, data[0])  # only the keyboard gets out of it
        other = partner.end(answer[0])
        recorder.switch_to(None)
    return own, other
