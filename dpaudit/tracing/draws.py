"""A run whose noise is decided where it meets a value, or where it is looked at.

Nothing is drawn before: what a noisy value is, is decided where its centre is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.freezing import recorder, tracked_noise
from dpaudit.freezing.tracked_noise import Call
from dpaudit.tracing.choices import other_draw, other_noise
from dpaudit.tracing.discrete import KINDS, Chances, CommonDraw, SteppedValue, have_near_misses
from dpaudit.tracing.located_noise import PendingNoise
from dpaudit.tracing.pending import (
    NoLaw,
    Source,
    list_call_sources,
    number_draw_entries,
    spread_out,
)
from dpaudit.tracing.steps import LAWS, NoiseLaw


class NoisyValue:
    """A noisy value that is decided: the law, the line, and the parameters.

    Parameters
    ----------
    kind, place
        The law, and where in the source.
    parameters
        Of the law: centre and scale of each entry, or probabilities of its values.
    """

    def __init__(self, kind: str, place: str, parameters: Any) -> None:
        self.kind, self.place, self.parameters = kind, place, parameters

    @property
    def law(self) -> NoiseLaw:
        """The law."""
        return KINDS[self.kind]

    @property
    def key(self) -> tuple[str, str, tuple[int, ...]]:
        """The state that two runs share if they see the same noisy values."""
        return self.kind, self.place, self.parameters.shape

    def align(self, other: NoisyValue) -> bool:
        """Make both as long as the longer one, and return whether they are alike then.

        One record more has one coin more. Who adds it to the other side, where nothing reads it,
        changes no output: but outputs cannot determine it either.
        """
        one, two = self.parameters, other.parameters
        if (self.kind, self.place) != (other.kind, other.place) or not isinstance(one, Chances):
            return False
        if one.shape[1:] != two.shape[1:] or not one.shape:
            return False
        if one.options.shape[-1] != two.options.shape[-1]:
            return False
        longer = max(one, two, key=len)
        self.parameters, other.parameters = one.extend_by(longer), two.extend_by(longer)
        return True

    def differs_from(self, other: NoisyValue) -> str | None:
        """Return why both have no losses, though they meet alike; None if they have."""
        one, two = self.parameters, other.parameters
        if isinstance(one, CommonDraw) and one.given != two.given:
            return "the law of a draw depends on the data"
        if isinstance(one, SteppedValue) and (np.abs(one.centre - two.centre) > _STEPS_APART).any():
            return "counts of both sides are more than a million apart"
        if isinstance(one, Chances) and (have_near_misses(one, two) or have_near_misses(two, one)):
            return "the data change the last digits of a choice"
        return None


FAR_OUT = 2.0  # decimal logarithm of the times by which noise is widened at most
_STEPS_APART = 1e6  # of counts, beyond which no noise of whole numbers is tilted


def have_same_parameters(one: NoisyValue, other: NoisyValue) -> bool:
    """Return whether two meetings of one place have one law."""
    return _describe_meeting(one) == _describe_meeting(other)


def _describe_meeting(meeting: NoisyValue) -> list[Any]:
    parameters = meeting.parameters
    fields = parameters if isinstance(parameters, tuple) else vars(parameters).values()
    given = [part for part in fields if isinstance(part, np.ndarray | np.generic | bytes)]
    return [meeting.key, *(part if isinstance(part, bytes) else part.tolist() for part in given)]


Meet = Callable[[NoisyValue], Array]


class LawState(recorder.State):
    """A run whose noise is decided where it meets a value.

    Parameters
    ----------
    seed
        Of draws that no law is read of.
    meet
        Returns the noisy value of a meeting.
    located
        Of each call of a primitive in order, whether the location that it is given is a value that
        its noise meets; of further ones, whether it is 0 says so.
    of_numpy
        Whether single numbers are numpy's where a primitive returns Python's: code that does
        something else then has no law, as it cannot be told which of both a number would be.
    """

    def __init__(
        self, seed: int, meet: Meet, located: Sequence[bool] = (), *, of_numpy: bool = False
    ) -> None:
        super().__init__(seed)
        self._meet, self._expected, self.of_numpy = meet, located, of_numpy
        self.located: list[bool] = []
        self.spent: dict[int, Array] = {}
        self.meetings: list[NoisyValue] = []
        self.refusal: tuple[str | None, str] | None = None
        self.formed = set[int]()
        self.look: str | None = None
        self.is_over = self.is_impossible = False

    def refuse(self, reason: str) -> NoLaw:
        """Note why there is no law, for good, and return the error to raise for it."""
        return self.refuse_for((tracked_noise.place(), reason))

    def refuse_for(self, refusal: tuple[str | None, str]) -> NoLaw:
        """Note a place and a reason, for good, and return the error to raise for them."""
        self.refusal = self.refusal or refusal
        return NoLaw(refusal[1])

    def note_look(self) -> None:
        """Note the first line that looks at a draw by itself."""
        self.look = self.look or tracked_noise.place()

    def end_as_impossible(self) -> NoLaw:
        """Note that a noisy value is given that is never drawn, and return the error to raise."""
        self.is_impossible = True
        return self.refuse("no draw ever gives this noisy value")

    def stack(self) -> list[str]:
        """Return the line that draws, alone: that is quick."""
        return [tracked_noise.place()]

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return noise of a call, or a noisy value where the primitive is given its centre."""
        self.formed.add(call.index)
        scales = np.array(scale, dtype=float)  # a copy: code may write over its own
        if call.kind not in LAWS:
            return other_noise(self, call, np.array(location, dtype=float), scales)
        noise = PendingNoise(
            self, call.kind, list_call_sources(call), spread_out(scales, call.shape)
        )
        at = len(self.located)
        met = self._expected[at] if at < len(self._expected) else bool(np.any(location))
        self.located.append(met)
        if not met and np.any(location):  # noise without it would meet another centre
            raise self.refuse("the location of noise is not 0, as it was in other calls")
        return noise.meet(location, of_numpy=False) if met else noise

    def form_other(self, call: Call, draw: Any, given: dict[str, Any]) -> Any:
        """Return the draw of another primitive: a choice, or a draw that both sides share."""
        self.formed.add(call.index)
        return other_draw(self, call, draw, given)

    def decide(self, kind: str, sources: Sequence[Source], parameters: Any) -> Array:
        """Return a noisy value that is made of some draws: an array of its own."""
        # Deciding it now, to look at what was returned, would make a noisy value that no run has
        # had.
        if self.is_over:
            raise NoLaw("the output holds a draw by itself")
        if not all([self._spend(*one) for one in sources]):
            raise self.refuse("a draw is used twice")
        if parameters.refusal is not None:
            raise self.refuse(parameters.refusal)
        meeting = NoisyValue(kind, tracked_noise.place(), parameters)
        self.meetings.append(meeting)
        return np.array(self._meet(meeting))

    def _spend(self, call: Call, index: Array) -> bool:
        """Return whether no entry of these was used before, nor is now more than once."""
        spent = self.spent.get(call.index)
        if spent is None:
            self.spent[call.index] = spent = np.zeros(call.shape, dtype=bool).ravel()
            # The cached array of all entries is the usual case, which needs no look at each of
            # them.
            if index is number_draw_entries(call.shape):
                spent[:] = True
                return True
        entries = index.ravel()
        # One draw in two noisy values makes these dependent, while their losses are added as if
        # they were not.
        if spent[entries].any() or len(np.unique(entries)) < len(entries):
            return False
        spent[entries] = True
        return True


def draw_widely(meeting: NoisyValue, rng: Generator) -> Array:
    """Return a value of a meeting, half of the time without regard to how likely it is.

    Choices are even then, and noise is up to a hundred times as wide.
    """
    parameters = meeting.parameters
    if rng.random() < 0.5:
        parameters = parameters.widened(10.0 ** rng.uniform(0.0, FAR_OUT))
    return meeting.law.draw(parameters, rng)


def draw_value(meeting: NoisyValue, rng: Generator) -> Array:
    """Return a noisy value of a meeting, as the function's own law has it."""
    return meeting.law.draw(meeting.parameters, rng)
