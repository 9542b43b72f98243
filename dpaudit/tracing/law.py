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
losses are those of the outputs on this pair. `dpaudit.auditing.exact` certifies a lower end with
them. They have no upper end: runs alone never bound what a rare history does.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from dpaudit.tracing.determined import CLOSE, Outcome, ReadOff
from dpaudit.tracing.discrete import KINDS
from dpaudit.tracing.draws import LawState, Meeting, draw_widely
from dpaudit.tracing.lockstep import Trace, run_in_lockstep, trace
from dpaudit.tracing.pending import NoLaw
from dpaudit.tracing.watching import WatchedCalls

AnyCalls = Calls | WatchedCalls
Key = tuple[str, str, tuple[int, ...]]
_AGAIN = 64  # runs that show whether outputs tell noisy values after the history of one
_HARDLY = 1e-12  # how often a law may have a value that is refused, though it is right
_SAME_LOSS = 1e-9  # relative, of losses that are summed in two ways


class Impossible(MechanismError):
    """A run was given noisy values that its law never has."""


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
        outcomes = untouched(self.calling, dataset, trials, rng)
        with self._patched():
            rows = [self._read(dataset, outcome) for outcome in outcomes]
            for row in rows:
                self._require_told_again(row, [dataset], rng)
        return np.stack(rows)

    def _read(self, dataset: Any, outcome: Outcome) -> Array:
        """Return the noisy values of an output; a run that is given them returns it again."""
        values = self.read_off.values(outcome)
        if values is None:
            raise self._broken("an output has another form than those that were traced")
        meetings, again = self._forced(dataset, values)
        least = float(scales_of(meetings).min())
        self._require_plausible(values, meetings)
        exactly = self.read_off.places is not None  # else reading values off rounds them
        if not (same_outcome(again, outcome) if exactly else _nearly_same(again, outcome, least)):
            raise self._broken("what it returns does not follow from its noisy values")
        return joined([value for value, _ in self._steps(values, meetings)])

    def privacy_loss(self, transcripts: Array, pair: Pair[Any]) -> Array:
        """Return the losses of transcripts, shape ``(R,)``."""
        rows = transcripts.reshape(len(transcripts), -1)
        with self._patched():
            return np.array([self._loss(row, pair) for row in rows])

    def _loss(self, values: Array, pair: Pair[Any]) -> float:
        """Return a loss: infinite where one side never has these values, nan where none has."""
        sides = [self._attempt(data, values) for data in (pair.dataset, pair.neighbour)]
        if None in sides:
            possible = [one is not None for one in sides]
            return math.nan if not any(possible) else math.inf if possible[0] else -math.inf
        (own, one), (other, another) = (side for side in sides if side is not None)
        self._require(one, another, values, scales_of(own))
        self._require_losses(own, other)
        steps = zip(self._steps(values, own), other, strict=True)
        return sum(a.law.loss(v, a.parameters, b.parameters) for (v, a), b in steps)

    def _attempt(self, dataset: Any, values: Array) -> tuple[list[Meeting], Outcome] | None:
        """Return a run that is given its noisy values, None where it never has them."""
        try:
            return self._forced(dataset, values)
        except Impossible:
            return None

    def _both(self, values: Array, pair: Pair[Any]) -> tuple[list[Meeting], list[Meeting]]:
        """Return the meetings of both runs that are given these noisy values."""
        (own, one), (other, another) = (
            self._forced(data, values) for data in (pair.dataset, pair.neighbour)
        )
        self._require(one, another, values, scales_of(own))
        self._require_losses(own, other)
        return own, other

    def uniform_residuals(self, transcripts: Array, dataset: Any) -> Array:
        """Return the noise of transcripts as uniforms, shape ``(R, k)``."""
        rows = transcripts.reshape(len(transcripts), -1)
        with self._patched():
            rng = np.random.default_rng(zlib.crc32(rows.tobytes()))  # for what is discrete
            return np.stack([self._uniforms(row, dataset, rng) for row in rows])

    def _uniforms(self, values: Array, dataset: Any, rng: Generator) -> Array:
        meetings, _ = self._forced(dataset, values)
        steps = self._steps(values, meetings)
        return joined([a.law.uniforms(v, a.parameters, rng) for v, a in steps])

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
        if math.isinf(sums[0]):
            raise self._broken("a noisy value is impossible on the other dataset")
        self._require_alone(values, pair, float(sums[0]))
        self._require_told_again(values, data, rng)
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
        rng = np.random.default_rng(zlib.crc32(values.tobytes()))
        with self._patched():
            own, other = self._both(values, pair)
            for _ in range(_AGAIN):
                self._require_told_again(values, (pair.dataset, pair.neighbour), rng)
        return ends(lambda: self._enclosed(values, own, other))

    def _enclosed(self, values: Array, own: Sequence[Meeting], other: Sequence[Meeting]) -> Real:
        total = Real(0.0)
        for (v, a), b in zip(self._steps(values, own), other, strict=True):
            total = total + a.law.enclosed_loss(v, a.parameters, b.parameters)
        return total

    # Runs

    def _patched(self) -> Any:
        return patching.patched(self.calling.function)

    def _split(self, values: Array) -> Iterator[Array]:
        for part, (_, _, shape) in zip(self._parts, self.keys, strict=True):
            yield values[part].reshape(shape)

    def _steps(self, values: Array, meetings: Sequence[Meeting]) -> Iterator[tuple[Array, Meeting]]:
        """Yield each noisy value, without what reading it off has rounded."""
        for value, meeting in zip(self._split(values), meetings, strict=True):
            settled = meeting.law.settle(value, meeting.parameters)
            yield value if settled is None else settled, meeting

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
        if trace.is_impossible:
            raise Impossible(str(self._broken("noisy values are none that are ever drawn")))
        reason = unlawful(trace)
        if reason is not None:
            raise self._broken(str(reason))
        if tuple(one.key for one in trace.meetings) != self.keys:
            raise self._broken("noise meets values in another order, or elsewhere")

    def _require(self, one: Outcome, other: Outcome, values: Array, scales: Array) -> None:
        if not same_outcome(one, other):
            raise self._broken("data reach the output past the noise")
        if not self.read_off.agrees(one, values, scales):
            raise self._broken("the output does not tell the noisy values")

    def _require_losses(self, own: Sequence[Meeting], other: Sequence[Meeting]) -> None:
        """Refuse noisy values that meet alike and have no losses."""
        for one, another in zip(own, other, strict=True):
            if (reason := one.differs_from(another)) is not None:
                raise self._broken(f"{one.place}: {reason}")

    def _require_plausible(self, values: Array, meetings: Sequence[Meeting]) -> None:
        """Refuse values that their law hardly ever has: a number that stands for others, say."""
        rng = np.random.default_rng(0)
        for value, meeting in self._steps(values, meetings):
            below = meeting.law.uniforms(value, meeting.parameters, rng)
            if (np.minimum(below, 1 - below) * max(1, len(values)) < _HARDLY).any():
                raise self._broken("a noisy value is none that its law would have")

    def _require_told_again(self, values: Array, data: Sequence[Any], rng: Generator) -> None:
        """Refuse values after whose first ones others would be that the output does not tell.

        From some value on all are drawn once more, on one of the datasets.
        """
        known = list(self._split(values))[: int(rng.integers(len(self.keys)))]
        drawn = list[Array]()

        def draw(meeting: Meeting) -> Array:
            drawn.append(draw_widely(meeting, rng))
            return drawn[-1]

        dataset = data[int(rng.integers(len(data)))]
        run = forced(self.calling.one, dataset, known, self.located, draw)
        self._require_followed(run)
        told, scales = joined([*known, *drawn]), scales_of(run.meetings)
        if not self.read_off.agrees(self._outcome(run), told, scales):
            raise self._broken("the output does not tell the noisy values after some of them")

    def _broken(self, reason: str) -> MechanismError:
        return MechanismError(
            f"mechanism {name_of(self)}: the law that was read does not hold: {reason}"
        )


def untouched(calling: AnyCalls, dataset: Any, trials: int, rng: Generator) -> list[Outcome]:
    """Return outputs of calls as they are, each in the form in which it is alone in a call."""
    many = calling.observations(dataset, trials, rng)
    if not calling.form.many:
        return [Outcome.of(one, None) for one in many]
    return [Outcome.of(many[at : at + 1], None) for at in range(trials)]


def joined(values: Sequence[Array]) -> Array:
    """Return noisy values behind one another, shape ``(k,)``."""
    return np.concatenate([np.empty(0), *(value.ravel() for value in values)])


def same_outcome(one: Outcome, other: Outcome) -> bool:
    """Return whether two runs returned the same, bit for bit."""
    return one.fixed == other.fixed and np.array_equal(one.numbers, other.numbers, equal_nan=True)


def _nearly_same(one: Outcome, other: Outcome, scale: float) -> bool:
    """Return whether a run returned what another did, but for what reading values off changed."""
    if one.fixed != other.fixed or one.numbers.shape != other.numbers.shape:
        return False
    close = _SAME_LOSS * np.abs(other.numbers) + CLOSE * scale
    return bool((np.abs(one.numbers - other.numbers) <= close).all())


def scales_of(meetings: Sequence[Meeting]) -> Array:
    """Return the scale of the noise of each noisy value of a run, shape ``(k,)``."""
    if not meetings:
        return np.empty(0)
    return np.concatenate([one.law.scale(one.parameters).ravel() for one in meetings])


def forced(
    function: Callable[[Any, Any], Any],
    dataset: Any,
    values: Sequence[Array],
    located: Sequence[bool],
    draw: Callable[[Meeting], Array] | None = None,
) -> Trace:
    """Return a run whose first noisy values are given; further ones are drawn, if they may be."""
    left = iter(values)

    def meet(meeting: Meeting) -> Array:
        value = next(left, None)
        if value is None and draw is not None:
            return draw(meeting)
        if value is None or value.shape != meeting.parameters.shape:
            raise state.refuse("noise meets more values than before, or others")
        settled = meeting.law.settle(value, meeting.parameters)
        if settled is None:
            raise state.end_as_impossible()
        return settled

    state = LawState(0, meet, located)
    return trace(state, function, dataset)


def unlawful(trace: Trace) -> NoLawFound | None:
    """Return why a run has no law that is read, None if it has one."""
    run = trace.run
    if trace.refusal is not None:
        return NoLawFound(reason=trace.refusal[1], place=trace.refusal[0])
    if trace.unread:
        first = trace.unread[0]
        return NoLawFound(reason=f"draws of {first.name} are not read", place=first.place)
    if run.error is not None:
        return NoLawFound(reason=f"the function raises {run.error}")
    if run.seeds:
        return NoLawFound(reason="a generator has a seed of its own", place=run.seeds[0][1])
    if run.elsewhere:
        return NoLawFound(reason="another thread draws")
    if run.copied:
        return NoLawFound(reason="a generator is copied")
    return None
