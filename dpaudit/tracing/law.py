"""The law of a function of one's own, read by running both datasets with the same noisy values.

A run notes where noise meets a value: centre, scale, and the noisy value, which is decided there
and given to the run on the neighbour, too. From there on both have seen the same, and the privacy
loss of all noisy values is the sum of their losses given the history, exactly.

What has to hold is checked in every run, and whatever breaks it ends the law with its reason:

* both runs of a pair return the same, bit for bit: data reach outputs through noisy values alone;
* noise meets values in the same order, at the same lines, with the same kinds and shapes;
* no draw is used twice, looked at by itself, made with a seed of its own, or copied;
* the noisy values can be read off the output, so that an event of them is an event of outputs;
* what untouched calls return follows this law: `TracedLaw.sample` draws with the function as it is,
  reads the noisy values off its outputs, and a run that is given these returns the same output.

Formal guarantee: over the real numbers, and as long as these checks speak the truth of all runs,
losses are those of the outputs on this pair. `dpaudit.auditing.exact` certifies a lower end with
them. They have no upper end: runs alone never bound what a rare history does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.freezing import patching
from dpaudit.laws.calling import Calls
from dpaudit.laws.enclosed import ends
from dpaudit.laws.mechanism import TiltedSample, Wraps, name_of
from dpaudit.neighbours import Pair
from dpaudit.reals import Real
from dpaudit.tracing.determined import CLOSE, SOME, Outcome, ReadOff, learn, runs_to_learn
from dpaudit.tracing.draws import LawState, Meeting, NoLaw, draw_value
from dpaudit.tracing.lockstep import Trace, run_in_lockstep, trace
from dpaudit.tracing.steps import LAWS, draw_tilted

Key = tuple[str, str, tuple[int, ...]]
_LONGEST = 100_000  # noisy numbers of a run
_SAME_LOSS = 1e-9  # relative, of losses that are summed in two ways


@dataclass(frozen=True, kw_only=True)
class NoLawFound:
    """Why no law was read, and the line of the source, where it is one."""

    reason: str
    place: str | None = None

    def __str__(self) -> str:
        return self.reason if self.place is None else f"{self.place}: {self.reason}"


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


@dataclass(frozen=True, eq=False)
class TracedLaw(Wraps):
    """A function whose law was read, as a mechanism with that law.

    A transcript is all noisy values of a run in order, shape ``(k,)``.

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
    """That every transcript runs the code again, so that checks draw no more than they need."""

    calling: Calls
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
        return any(kind == "normal" for kind, _, _ in self.keys)

    @cached_property
    def _parts(self) -> list[slice]:
        ends = np.cumsum([int(np.prod(shape)) for _, _, shape in self.keys]).tolist()
        return [slice(first, last) for first, last in zip([0, *ends[:-1]], ends, strict=True)]

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Array:
        """Return the noisy values of calls of the function as it is, shape ``(trials, k)``."""
        with self.calling.generators(rng):
            outcomes = [Outcome.of(self.calling.one(dataset, rng), None) for _ in range(trials)]
        with self._patched():
            return np.stack([self._read(dataset, outcome) for outcome in outcomes])

    def _read(self, dataset: Any, outcome: Outcome) -> Array:
        """Return the noisy values of an output; a run that is given them returns it again."""
        values = self.read_off.values(outcome)
        if values is None:
            raise self._broken("an output has another form than those that were traced")
        meetings, again = self._forced(dataset, values)
        least = float(_scales(meetings).min())
        exactly = self.read_off.places is not None  # else reading values off rounds them
        if not (_same(again, outcome) if exactly else _nearly_same(again, outcome, least)):
            raise self._broken("what it returns does not follow from its noisy values")
        return values

    def privacy_loss(self, transcripts: Array, pair: Pair[Any]) -> Array:
        """Return the losses of transcripts, shape ``(R,)``."""
        rows = transcripts.reshape(len(transcripts), -1)
        with self._patched():
            return np.array([self._loss(row, pair) for row in rows])

    def _loss(self, values: Array, pair: Pair[Any]) -> float:
        own, other = self._both(values, pair)
        steps = zip(self._split(values), own, other, strict=True)
        return sum(LAWS[a.kind].loss(v, a.located, b.located) for v, a, b in steps)

    def _both(self, values: Array, pair: Pair[Any]) -> tuple[list[Meeting], list[Meeting]]:
        """Return the meetings of both runs that are given these noisy values."""
        (own, one), (other, another) = (
            self._forced(data, values) for data in (pair.dataset, pair.neighbour)
        )
        self._require(one, another, values, _scales(own))
        return own, other

    def uniform_residuals(self, transcripts: Array, dataset: Any) -> Array:
        """Return the noise of transcripts as uniforms, shape ``(R, k)``."""
        rows = transcripts.reshape(len(transcripts), -1)
        with self._patched():
            return np.stack([self._uniforms(row, dataset) for row in rows])

    def _uniforms(self, values: Array, dataset: Any) -> Array:
        meetings, _ = self._forced(dataset, values)
        steps = zip(self._split(values), meetings, strict=True)
        return np.concatenate([LAWS[a.kind].uniforms(v, a.located).ravel() for v, a in steps])

    def sample_tilted(
        self, pair: Pair[Any], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return transcripts drawn tilted in lock-step, with their losses and weights."""
        with self._patched():
            rows = [self._tilted(pair, tilt, rng) for _ in range(trials)]
        values, losses, log_mgf = zip(*rows, strict=True)
        return TiltedSample(np.stack(values), np.array(losses), np.array(log_mgf), tilt)

    def _tilted(self, pair: Pair[Any], tilt: float, rng: Generator) -> tuple[Array, float, float]:
        drawn, sums = list[Array](), np.zeros(2)

        def decide(own: Meeting, other: Meeting) -> Array:
            value, loss, log_mgf = draw_tilted(own.kind, own.located, other.located, tilt, rng)
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
        self._require(one, other, values, _scales(traces[0].meetings))
        self._require_alone(values, pair, float(sums[0]))
        return values, float(sums[0]), float(sums[1])

    def _require_alone(self, values: Array, pair: Pair[Any], loss: float) -> None:
        """Refuse a loss that runs alone do not have: side by side, they may share a state."""
        again = self._loss(values, pair)
        if not abs(again - loss) <= _SAME_LOSS * (1 + abs(loss)):
            raise self._broken("runs beside one another differ from runs alone")

    def log_mgf_bounds(self, pair: Pair[Any], tilt: float) -> tuple[float, float]:
        """Return 0 and infinity: no run says how far a centre moves after another history."""
        return 0.0, np.inf

    def loss_bounds(self, transcript: Array, pair: Pair[Any]) -> tuple[float, float]:
        """Return doubles between which a loss lies, centres and scales being the doubles they are.

        Raises
        ------
        MechanismError
            The noisy values are none of this law.
        """
        values = transcript.ravel()
        with self._patched():
            own, other = self._both(values, pair)
        return ends(lambda: self._enclosed(values, own, other))

    def _enclosed(self, values: Array, own: Sequence[Meeting], other: Sequence[Meeting]) -> Real:
        total = Real(0.0)
        for v, a, b in zip(self._split(values), own, other, strict=True):
            total = total + LAWS[a.kind].enclosed_loss(v, a.located, b.located)
        return total

    # Runs

    def _patched(self) -> Any:
        return patching.patched(self.calling.function)

    def _split(self, values: Array) -> Iterator[Array]:
        for part, (_, _, shape) in zip(self._parts, self.keys, strict=True):
            yield values[part].reshape(shape)

    def _forced(self, dataset: Any, values: Array) -> tuple[list[Meeting], Outcome]:
        """Return the meetings and the output of a run that is given its noisy values."""
        run = forced(self.calling.one, dataset, list(self._split(values)), self.located)
        self._require_followed(run)
        return run.meetings, self._outcome(run)

    def _outcome(self, trace: Trace) -> Outcome:
        try:
            return Outcome.of(trace.run.value, trace.run.error)
        except NoLaw as error:
            raise self._broken(str(error)) from error

    def _require_followed(self, trace: Trace) -> None:
        reason = unlawful(trace)
        if reason is not None:
            raise self._broken(str(reason))
        if tuple(one.key for one in trace.meetings) != self.keys:
            raise self._broken("noise meets values in another order, or elsewhere")

    def _require(self, one: Outcome, other: Outcome, values: Array, scales: Array) -> None:
        if not _same(one, other):
            raise self._broken("data reach the output past the noise")
        if not self.read_off.agrees(one, values, scales):
            raise self._broken("the output does not tell the noisy values")

    def _broken(self, reason: str) -> MechanismError:
        return MechanismError(
            f"mechanism {name_of(self)}: the law that was read does not hold: {reason}"
        )


def moved(own: Meeting, other: Meeting) -> float:
    """Return how far a centre moved, in the norm of its noise."""
    shift = other.located.centre - own.located.centre
    return float(np.linalg.norm(shift) if own.kind == "normal" else np.abs(shift).sum())


def _profile(runs: Sequence[tuple[Trace, Trace]]) -> tuple[Profile, ...]:
    """Return each noisy value's movement over runs."""
    met = [list(zip(one.meetings, other.meetings, strict=True)) for one, other in runs]
    return tuple(_profile_of(pairs) for pairs in zip(*met, strict=True))


def _profile_of(pairs: Sequence[tuple[Meeting, Meeting]]) -> Profile:
    divergences = [LAWS[a.kind].divergence(a.located, b.located) for a, b in pairs]
    first = pairs[0][0].located.scale
    return Profile(
        scale=min(float(a.located.scale.min(initial=np.inf)) for a, _ in pairs),
        is_steady=all(np.array_equal(first, one.located.scale) for both in pairs for one in both),
        moved=max(moved(a, b) for a, b in pairs),
        divergence=float(np.mean(divergences)),
    )


def _same(one: Outcome, other: Outcome) -> bool:
    return one.fixed == other.fixed and np.array_equal(one.numbers, other.numbers, equal_nan=True)


def _nearly_same(one: Outcome, other: Outcome, scale: float) -> bool:
    """Return whether a run returned what another did, but for what reading values off changed."""
    if one.fixed != other.fixed or one.numbers.shape != other.numbers.shape:
        return False
    close = _SAME_LOSS * np.abs(other.numbers) + CLOSE * scale
    return bool((np.abs(one.numbers - other.numbers) <= close).all())


def _scales(meetings: Sequence[Meeting]) -> Array:
    """Return the scale of the noise of each noisy value of a run, shape ``(k,)``."""
    return np.concatenate([one.located.scale.ravel() for one in meetings])


def forced(
    function: Callable[[Any, Any], Any],
    dataset: Any,
    values: Sequence[Array],
    located: Sequence[bool],
) -> Trace:
    """Return a run on a dataset whose noisy values are given."""
    left = iter(values)

    def meet(meeting: Meeting) -> Array:
        value = next(left, None)
        if value is None or value.shape != meeting.located.centre.shape:
            raise state.refuse("noise meets more values than before, or others")
        return value

    state = LawState(0, meet, located)
    return trace(state, function, dataset)


def unlawful(trace: Trace) -> NoLawFound | None:
    """Return why a run has no law that is read, None if it has one."""
    run = trace.run
    if trace.refusal is not None:
        return NoLawFound(reason=trace.refusal[1], place=trace.refusal[0])
    others = [one for one in run.calls if one.kind not in LAWS]
    if others:
        return NoLawFound(reason=f"draws of {others[0].name} are not read", place=others[0].place)
    if run.error is not None:
        return NoLawFound(reason=f"the function raises {run.error}")
    if run.seeds:
        return NoLawFound(reason="a generator has a seed of its own", place=run.seeds[0][1])
    if run.elsewhere:
        return NoLawFound(reason="another thread draws")
    if run.copied:
        return NoLawFound(reason="a generator is copied")
    return None


# Reading


def read_law(calling: Calls, pair: Pair[Any], rng: Generator) -> TracedLaw | NoLawFound:
    """Return a function with the law that is read from runs of it, or why there is none.

    Parameters
    ----------
    calling
        The function, and how it is called.
    pair
        The datasets that are looked at.
    rng
        Of the noisy values of these runs.
    """
    with patching.patched(calling.function):
        located = _located(calling, pair, rng)
        runs = list[_Learned]()
        while len(runs) < (SOME if not runs else runs_to_learn(runs[0].outcome)):
            run = _learning_run(calling, pair, rng, located)
            if isinstance(run, NoLawFound):
                return run
            if runs and run.keys != runs[0].keys:
                return NoLawFound(reason="noise meets other values in another run")
            runs.append(run)
            if len(runs) == SOME and (read_off := _read_off(runs)) is not None:
                return _law_of(calling, runs, read_off)
    read_off = _read_off(runs)
    if read_off is None:
        return NoLawFound(reason="the output does not determine the noisy values")
    return _law_of(calling, runs, read_off)


def _read_off(runs: Sequence[_Learned]) -> ReadOff | None:
    scales = np.min([_scales(one.own.meetings) for one in runs], axis=0)
    return learn([one.outcome for one in runs], [one.values for one in runs], scales)


def _law_of(calling: Calls, runs: Sequence[_Learned], read_off: ReadOff) -> TracedLaw:
    profile = _profile([(one.own, one.other) for one in runs])
    return TracedLaw(calling, runs[0].keys, tuple(runs[0].own.located), read_off, profile)


def _located(calling: Calls, pair: Pair[Any], rng: Generator) -> list[bool]:
    """Return which calls of primitives are given a location that is not 0 on either dataset.

    A run on either dataset alone shows it: a count that is 0 on one of them is a centre there, too.
    """
    found = list[bool]()
    for data in (pair.dataset, pair.neighbour):
        state = LawState(0, lambda meeting: draw_value(meeting, rng))
        trace(state, calling.one, data)
        longer = max(len(found), len(state.located))
        sides = (one + [False] * (longer - len(one)) for one in (found, state.located))
        found = [a or b for a, b in zip(*sides, strict=True)]
    return found


class _Learned(NamedTuple):
    """Two runs that saw the same noisy values, and the one output of both."""

    own: Trace
    other: Trace
    outcome: Outcome
    values: Array

    @property
    def keys(self) -> tuple[Key, ...]:
        """What every further run agrees on."""
        return tuple(one.key for one in self.own.meetings)


def _learning_run(
    calling: Calls, pair: Pair[Any], rng: Generator, located: Sequence[bool]
) -> _Learned | NoLawFound:
    """Return two runs, whose noisy values follow the law of either dataset in turn."""
    drawn = list[Array]()

    def decide(own: Meeting, other: Meeting) -> Array:
        drawn.append(draw_value(own if len(drawn) % 2 else other, rng))
        return drawn[-1]

    data = pair.dataset, pair.neighbour
    own, other = run_in_lockstep(calling.one, data, int(rng.integers(2**63)), decide, located)
    if (reason := unlawful(own) or unlawful(other)) is not None:
        return reason
    if [a.key for a in own.meetings] != [a.key for a in other.meetings]:
        return NoLawFound(reason="data decide where noise is added")
    try:
        outcome, another = (Outcome.of(each.run.value, None) for each in (own, other))
    except NoLaw:
        return NoLawFound(reason="the output holds a draw by itself")
    if not _same(outcome, another):
        return NoLawFound(reason="data reach the output past the noise")
    if not drawn:
        return NoLawFound(reason="there is no noise")
    if sum(value.size for value in drawn) > _LONGEST:
        return NoLawFound(reason=f"there are more than {_LONGEST:,} noisy numbers")
    return _Learned(own, other, outcome, np.concatenate([value.ravel() for value in drawn]))
