"""Bounds on the movement of each noisy value's centre on a pair, after every history, from code.

The function runs once on arrays that know how far they can be apart
(`dpaudit.tracing.bounded_arrays`). Noise that is added to one makes a noisy value, and everything
made of noisy values alone is the same on both sides. What is no rule's business is refused with
its line; so is a branch that data or noise decide, and an output that data reach past the noise.

No audit takes an upper end from it yet: arrays that share memory are not followed as numpy follows
them, nor code that asks for the type of a value, so that a bound may be too small for such code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from dpaudit.accounting.events import Event, GaussianRelease, LaplaceRelease, Sequence
from dpaudit.freezing import patching, recorder
from dpaudit.tracing import functions
from dpaudit.tracing.bounded_arrays import BoundedArray, BoundedReading, CentreMovement, NoBound
from dpaudit.tracing.constructors import own_constructors
from dpaudit.tracing.noise import BoundedGenerator, NoiseDraw
from dpaudit.tracing.spread import spread_of_pair

Function = Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TraceRefusal:
    """Why no bound was read: the line of the source and the operation on it."""

    place: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class MovementBounds:
    """The noisy values of a run in order, each with how far its centre moves at most.

    Examples
    --------
    >>> def noisy_mean(data, rng):
    ...     return data.mean() + rng.normal(scale=0.5)
    >>> found = read_movement_bounds(noisy_mean, np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    >>> [(one.kind, one.scale, round(one.norms.l2, 6)) for one in found.movements]
    [('normal', 0.5, 0.5)]
    """

    movements: tuple[CentreMovement, ...]

    def event(self) -> Event:
        """Return the movements as releases for accountants; values that stay are left out."""
        return Sequence(
            tuple(_make_movement_release(one) for one in self.movements if one.norms.linf > 0)
        )


def _make_movement_release(one: CentreMovement) -> Event:
    if one.kind == "normal":
        return GaussianRelease(sensitivity=one.norms.l2, noise_scale=one.scale)
    return LaplaceRelease(sensitivity=one.norms.l1, noise_scale=one.scale)


def read_movement_bounds(
    function: Function, dataset: Any, neighbour: Any, *, seed: int = 0
) -> MovementBounds | TraceRefusal:
    """Return how far the centre of each noisy value moves at most, or the line that no rule covers.

    Parameters
    ----------
    function
        Of a dataset and a generator.
    dataset, neighbour
        Numbers, arrays, and lists, tuples, mappings of them, of the same shapes.
    seed
        Of the draws from which shapes are read; no bound depends on it.

    Returns
    -------
    MovementBounds or Refusal
        A bound that is infinite is a refusal.
    """
    reading = BoundedReading(functions)
    try:
        data = _pair_as_bounded_arrays(reading, dataset, neighbour)
    except NoBound:
        return _make_movement_bounds(reading)
    output = _run_on_bounded_arrays(reading, function, data, np.random.default_rng(seed))
    # After a refusal the output is none of the function's, and looking at it would hide the first
    # reason.
    if reading.refusal is None:
        _require_public(reading, output)
    return _make_movement_bounds(reading)


def _make_movement_bounds(reading: BoundedReading) -> MovementBounds | TraceRefusal:
    if reading.refusal is not None:
        place, reason = reading.refusal
        return TraceRefusal(place=place, reason=reason)
    for one in reading.steps:
        # The norm in which the accountant takes the sensitivity: Euclidean for Gaussian noise, the
        # sum of sizes for Laplace noise.
        norm = one.norms.l2 if one.kind == "normal" else one.norms.l1
        if not np.isfinite(norm):
            return TraceRefusal(place=one.place, reason="nothing bounds how far the centre moves")
    return MovementBounds(movements=tuple(reading.steps))


def _run_on_bounded_arrays(
    reading: BoundedReading, function: Function, data: Any, rng: np.random.Generator
) -> Any:
    """Run a function; whatever else draws than the generator that it was given is refused."""
    given = BoundedGenerator(reading, rng)
    with patching.patch_primitives(function), own_constructors(reading):
        run = recorder.call_recorded(function, data, 0, given)
    if run.calls:
        reading.refuse_at(run.calls[0].place, "a draw of another generator")
    elif run.elsewhere:
        reading.refuse_at("another thread", "a draw of another generator")
    elif run.error is not None:
        reading.refuse_at("the function", f"raises {run.error} on bounded arrays")
    return run.value


def _pair_as_bounded_arrays(reading: BoundedReading, one: Any, other: Any) -> Any:
    """Return a dataset and its neighbour as one of the same form, of bounded arrays."""
    if type(one) is not type(other):
        raise reading.refuse("the two datasets have different types")
    if isinstance(one, bool | int | float | np.generic | np.ndarray):
        if np.shape(one) != np.shape(other):
            raise reading.refuse("the two datasets have different shapes")
        if np.asarray(one).dtype.kind not in "biuf":
            raise reading.refuse("the datasets do not hold numbers")
        return BoundedArray(reading, spread_of_pair(one, other))
    if isinstance(one, Mapping):
        if list(one) != list(other):
            raise reading.refuse("the two datasets have different keys")
        return {key: _pair_as_bounded_arrays(reading, one[key], other[key]) for key in one}
    if isinstance(one, list | tuple) and not hasattr(one, "_fields"):
        if len(one) != len(other):
            raise reading.refuse("the two datasets have different lengths")
        return type(one)(
            _pair_as_bounded_arrays(reading, *both) for both in zip(one, other, strict=True)
        )
    raise reading.refuse(f"no rule for datasets that are a {type(one).__name__}")


_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def _require_public(reading: BoundedReading, output: Any) -> None:
    """Refuse an output that data reach past the noise, or in which nobody sees whether they do."""
    for one in _iterate_value_leaves(output):
        if isinstance(one, NoiseDraw) and one.is_spent:
            reading.refuse_at("the output", "it holds a draw that was also added to a value")
        if isinstance(one, BoundedArray):
            if not one.spread.is_public:
                reading.refuse_at("the output", "data reach it past the noise")
        elif isinstance(one, np.ndarray) and one.dtype.kind == "O":
            reading.refuse_at("the output", "an array of objects")
        elif not isinstance(one, (*_PLAIN, np.ndarray, NoiseDraw)):
            reading.refuse_at("the output", f"no rule for a {type(one).__name__}")


def _iterate_value_leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        # Keys may hold data just as values do.
        for one in (*value.keys(), *value.values()):
            yield from _iterate_value_leaves(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _iterate_value_leaves(one)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _iterate_value_leaves(vars(value))
    else:
        yield value
