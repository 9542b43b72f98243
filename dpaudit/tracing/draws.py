"""Noise that remembers which draws it is made of, until it is added to a value.

Nothing is drawn before: what a noisy value is, is decided where its centre is known. Whatever else
is done to noise than to scale it, to take parts of it and to add it looks at a draw by itself, and
that is noted with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.freezing import recorder, tracked
from dpaudit.freezing.tracked import Call
from dpaudit.tracing.steps import LAWS, Located
from dpaudit.tracing.unmet import Unmet


class NoLaw(Exception):
    """What a function does with its noise has no law that is read."""


class Meeting:
    """Noise that meets a value: the law, the line, the centre and the scale.

    Parameters
    ----------
    kind, place
        The law, and where in the source.
    located
        Centre and scale of each entry.
    """

    def __init__(self, kind: str, place: str, located: Located) -> None:
        self.kind, self.place, self.located = kind, place, located

    @property
    def key(self) -> tuple[str, str, tuple[int, ...]]:
        """What two runs that see the same noisy values agree on."""
        return self.kind, self.place, self.located.centre.shape


Meet = Callable[[Meeting], Array]


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
    """

    def __init__(self, seed: int, meet: Meet, located: Sequence[bool] = ()) -> None:
        super().__init__(seed)
        self._meet, self._expected = meet, located
        self.located: list[bool] = []
        self.spent: dict[int, Array] = {}
        self.meetings: list[Meeting] = []
        self.refusal: tuple[str | None, str] | None = None

    def refuse(self, reason: str) -> NoLaw:
        """Note why there is no law, for good, and return what is raised for it."""
        return self.refuse_for((tracked.place(), reason))

    def refuse_for(self, refusal: tuple[str | None, str]) -> NoLaw:
        """Note a place and a reason, for good, and return what is raised for them."""
        self.refusal = self.refusal or refusal
        return NoLaw(refusal[1])

    def stack(self) -> list[str]:
        """Return the line that draws, alone: that is quick."""
        return [tracked.place()]

    def form(self, call: Call, location: Any, scale: Any) -> Any:
        """Return noise of a call, or a noisy value where the primitive is given its centre."""
        if call.kind not in LAWS:
            raise self.refuse(f"no law is read of draws of {call.name}")
        scales = np.array(scale, dtype=float)  # a copy: code may write over its own
        noise = Noise(self, call, _numbers(call.shape), _spread(scales, call.shape))
        at = len(self.located)
        met = self._expected[at] if at < len(self._expected) else bool(np.any(location))
        self.located.append(met)
        if not met and np.any(location):  # noise without it would meet another centre
            raise self.refuse("noise is given a location that was 0 in other runs")
        return noise.meet(location, of_numpy=False) if met else noise

    def decide(self, call: Call, index: Array, located: Located) -> Array:
        """Return the noisy value of noise that meets a centre: an array of its own."""
        if not self._spend(call, index):
            raise self.refuse("a draw is used twice")
        centre, scale = located
        if not (np.isfinite(centre).all() and scale.min(initial=1.0) > 0):
            raise self.refuse("a centre that is no number, or a scale that is not above 0")
        meeting = Meeting(call.kind, tracked.place(), located)
        self.meetings.append(meeting)
        return np.array(self._meet(meeting))

    def _spend(self, call: Call, index: Array) -> bool:
        """Return whether no entry of these was used before, nor is now more than once."""
        spent = self.spent.get(call.index)
        if spent is None:
            self.spent[call.index] = spent = np.zeros(call.shape, dtype=bool).ravel()
            if index is _numbers(call.shape):
                spent[:] = True
                return True
        entries = index.ravel()
        if spent[entries].any() or len(np.unique(entries)) < len(entries):
            return False
        spent[entries] = True
        return True


@lru_cache(maxsize=256)
def _numbers(shape: tuple[int, ...]) -> Array:
    """Return the numbers of the entries of a draw."""
    return np.asarray(np.arange(int(np.prod(shape))).reshape(shape))


def _spread(value: Any, shape: tuple[int, ...]) -> Array:
    """Return numbers broadcast to a shape."""
    found = np.asarray(value, dtype=float)
    return found if found.shape == shape else np.broadcast_to(found, shape)


class Noise(Unmet):
    """Noise that met no value yet.

    Parameters
    ----------
    state
        The run.
    call
        The primitive's.
    index
        Which entries of its draws these are.
    factor
        What draws of scale 1 are times, of the same shape.
    """

    def __init__(self, state: LawState, call: Call, index: Array, factor: Array) -> None:
        self._state, self._call, self._index, self._factor = state, call, index, factor

    def refusal(self, reason: str) -> Exception:
        """Note why there is no law, and return what is raised for it."""
        return self._state.refuse(reason)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the noise."""
        return self._index.shape

    def meet(self, value: Any, sign: float = 1.0, *, of_numpy: bool = True) -> Any:
        """Return ``sign`` times a value plus noise; noise and its negative have one law.

        A number is one of numpy where the sum of plain ones would be.
        """
        if isinstance(value, Noise):
            raise self.refusal("no law is read of a sum of draws")
        centre = np.asarray(value)
        if centre.dtype.kind not in "biuf":
            raise self.refusal("noise is added to what is no number")
        shape = self.shape
        if centre.shape != shape:
            shape = np.broadcast_shapes(centre.shape, shape)
        index = self._index if self.shape == shape else np.broadcast_to(self._index, shape)
        located = Located(sign * _spread(centre, shape), np.abs(_spread(self._factor, shape)))
        found = self._state.decide(self._call, index, located)
        if found.ndim:
            return found
        plain = not isinstance(value, np.generic | np.ndarray) and self._call.shape == ()
        return float(found) if plain or not of_numpy else np.float64(found)

    def _times(self, number: Any, *, divide: bool = False) -> Noise:
        if isinstance(number, Noise):
            raise self.refusal("no law is read of a product of draws")
        factor = np.asarray(number)
        if factor.dtype.kind not in "biuf":
            raise self.refusal("noise is multiplied by what is no number")
        made = self._factor / factor if divide else self._factor * factor
        index = self._index
        if made.shape != index.shape:
            index = np.broadcast_to(index, made.shape)
        return Noise(self._state, self._call, index, np.asarray(made))

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return scaled noise, or a noisy value."""
        if ufunc is np.negative:
            return self._times(-1.0)
        if ufunc is np.positive:
            return self
        one, other = inputs
        if ufunc is np.add:
            return self.meet(other if one is self else one)
        if ufunc is np.subtract:
            return self.meet(one) if other is self else self.meet(other, -1.0)
        if ufunc is np.multiply:
            return self._times(other if one is self else one)
        return self._times(other, divide=True) if one is self else self.looked_at()

    def written(self, target: Any, found: Any) -> Any:
        """Return an array that a noisy value was written over."""
        if not isinstance(target, np.ndarray):
            raise self.refusal("a noisy value is written into what is no array")
        np.copyto(target, found, casting="same_kind")
        return target

    def __deepcopy__(self, memo: Any) -> Noise:
        return self

    def __getitem__(self, key: Any) -> Noise:
        if isinstance(key, Noise) or not self.shape:
            raise self.looked_at()
        return Noise(self._state, self._call, self._index[key], self._factor[key])

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))

    def reshape(self, *shape: Any) -> Noise:
        """Return the same entries in another shape."""
        index = self._index.reshape(*shape)
        return Noise(self._state, self._call, index, self._factor.reshape(*shape))

    def ravel(self) -> Noise:
        """Return the same entries in one axis."""
        return self.reshape(-1)

    def copy(self) -> Noise:
        """Return the same entries."""
        return self

    def astype(self, dtype: Any, **_: Any) -> Noise:
        """Return the same noise; of another type than floats it would be rounded."""
        if np.dtype(dtype) != np.dtype(float):
            raise self.refusal("noise is rounded to another type")
        return self

    @property
    def T(self) -> Noise:
        """The transpose."""
        return Noise(self._state, self._call, self._index.T, self._factor.T)


def draw_value(meeting: Meeting, rng: Generator) -> Array:
    """Return a noisy value of a meeting, as the function's own law has it."""
    centre, scale = meeting.located
    return np.asarray(centre + scale * LAWS[meeting.kind].draw(rng, centre.shape))
