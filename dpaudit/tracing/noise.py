"""Noise that meets bounded arrays: the sum is noisy, and the same on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing import tracked_noise
from dpaudit.tracing.bounded_arrays import BoundedArray, BoundedReading, CentreMovement, as_spread
from dpaudit.tracing.spread import make_history_spread, spread_out
from dpaudit.tracing.unmet import Unmet


class NoiseDraw(Unmet):
    """Noise that met no value yet. Each of its entries meets one, once.

    Parameters
    ----------
    reading
        The run that it is part of.
    kind
        Its law.
    standard
        Draws of scale 1.
    factor
        What they are times; public, and broadcast with them.
    """

    meets = True
    """That it decides itself what becomes of a value that it is added to."""

    def __init__(self, reading: BoundedReading, kind: str, standard: Array, factor: Array) -> None:
        self._reading, self.kind, self._standard = reading, kind, standard
        self._factor = np.asarray(factor, dtype=float)
        # A list, so that scaled copies of one draw share it: using one of them uses all.
        self._spent = [False]

    @property
    def is_spent(self) -> bool:
        """Whether it was added to a value."""
        return self._spent[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the noise."""
        return self._standard.shape

    def refusal(self, reason: str) -> Exception:
        """Note a refusal, and return the error to raise for it."""
        return self._reading.refuse(reason)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return scaled noise, or a noisy value."""
        if len(inputs) == 1:
            return self if ufunc is np.positive else self._times(np.array(-1.0))
        one, other = inputs
        mine, theirs = (one, other) if one is self else (other, one)
        if isinstance(theirs, NoiseDraw):
            raise self.refusal("no rule for a sum or product of two draws")
        if ufunc in (np.multiply, np.true_divide):
            return self._by(ufunc, mine is one, theirs)
        sign = -1.0 if ufunc is np.subtract and mine is other else 1.0
        minus = -1.0 if ufunc is np.subtract and mine is one else 1.0
        return self._meet(theirs, minus, sign)

    def written(self, target: Any, found: Any) -> Any:
        """Return a bounded array that a noisy value was written over."""
        if not isinstance(target, BoundedArray):
            raise self.refusal("the code writes a noisy value into a plain array")
        raise self.refusal("the code adds noise in place to a value of the data")

    def _by(self, ufunc: Any, first: bool, other: Any) -> NoiseDraw:
        factor = as_spread(self._reading, other)
        if factor.constant is None:
            depends = "earlier noise" if factor.is_public else "the data"
            raise self._reading.refuse(f"the scale of noise depends on {depends}")
        if ufunc is np.true_divide and not first:
            raise self._reading.refuse("a draw is looked at by itself")
        number = factor.constant.astype(float)
        return self._times(1.0 / number if ufunc is np.true_divide else number)

    def _times(self, factor: Array) -> NoiseDraw:
        found = NoiseDraw(self._reading, self.kind, self._standard, self._factor * factor)
        found._spent = self._spent
        if np.broadcast_shapes(found._factor.shape, self.shape) != self.shape:
            raise self._reading.refuse("the code uses one draw for several values")
        return found

    def _meet(self, value: Any, minus: float, sign: float) -> BoundedArray:
        """Return value plus noise: a noisy value. ``minus`` is the sign of the value."""
        centre = as_spread(self._reading, value)
        shape = np.broadcast_shapes(centre.shape, self.shape)
        # Broadcast, one draw would be in several noisy values, whose losses do not add up.
        if shape != self.shape:
            raise self._reading.refuse("the code uses one draw for several values")
        if self._spent[0]:
            raise self._reading.refuse("a draw is used twice")
        self._spent[0] = True
        noise = np.broadcast_to(self._factor, shape) * self._standard * sign
        return release(
            self._reading, self.kind, minus, centre, np.abs(self._factor), np.asarray(noise)
        )


def release(
    reading: BoundedReading, kind: str, sign: float, centre: Any, scale: Array, noise: Array
) -> BoundedArray:
    """Note a noisy value, and return it: from here on it is history."""
    moved = spread_out(centre, noise.shape)
    # The release is accounted for with one scale: the least of them claims the largest loss.
    least = float(scale.min()) if scale.size else 0.0
    if not least > 0 and not centre.is_public:
        raise reading.refuse("the scale of noise is 0")
    reading.steps.append(
        CentreMovement(
            place=tracked_noise.place(),
            kind=kind,
            scale=least,
            norms=moved.norms,
            shape=noise.shape,
        )
    )
    return BoundedArray(reading, make_history_spread(sign * moved.sample.astype(float) + noise))


class BoundedGenerator:
    """The source of a function's noise: Gaussian and Laplace noise with a public scale.

    Parameters
    ----------
    reading
        The run that it is part of.
    rng
        Draws what is only looked at for its shape.
    """

    def __init__(self, reading: BoundedReading, rng: np.random.Generator) -> None:
        self._reading, self._rng = reading, rng

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw Gaussian noise."""
        return self._located("normal", loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw Laplace noise."""
        return self._located("laplace", loc, scale, size)

    def standard_normal(self, size: Any = None) -> NoiseDraw:
        """Draw Gaussian noise of scale 1."""
        return self._draw("normal", self._shape(size, ()), np.array(1.0))

    def _located(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:
        centre, factor = as_spread(self._reading, loc), as_spread(self._reading, scale)
        if factor.constant is None:
            depends = "earlier noise" if factor.is_public else "the data"
            raise self._reading.refuse(f"the scale of noise depends on {depends}")
        shape = self._shape(size, np.broadcast_shapes(centre.shape, factor.shape))
        draw = self._draw(kind, shape, factor.constant)
        if not isinstance(loc, BoundedArray) and not np.any(loc):
            return draw
        return draw._meet(BoundedArray(self._reading, centre), 1.0, 1.0)

    def _draw(self, kind: str, shape: tuple[int, ...], factor: Array) -> NoiseDraw:
        drawn = (
            self._rng.standard_normal(shape) if kind == "normal" else self._rng.laplace(size=shape)
        )
        return NoiseDraw(self._reading, kind, np.asarray(drawn), factor)

    def _shape(self, size: Any, own: tuple[int, ...]) -> tuple[int, ...]:
        if size is None:
            return own
        sizes = size if isinstance(size, tuple | list) else (size,)
        return tuple(int(one) for one in sizes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._reading.refuse(f"no rule for draws of {name}")
