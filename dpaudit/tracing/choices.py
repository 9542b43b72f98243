"""Draws that are no noise with location and scale: coins, choices, whole numbers, and all others.

A choice among numbers is decided where it is added to a value, or where it is looked at. A uniform
draw that is compared with a chance is a coin. Of any other draw no law is read: it is one number on
both sides, if it is drawn alike on both.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.freezing.tracked_noise import Call
from dpaudit.tracing.discrete import Chances, CommonDraw
from dpaudit.tracing.inverse import Inverse, InversePiece, function_of_uniform
from dpaudit.tracing.located_noise import Exponential, WholeNoise
from dpaudit.tracing.pending import (
    Pending,
    Source,
    apply_plain,
    decide_pending_noise,
    is_number,
    list_call_sources,
    number_draw_entries,
    operates_plainly,
    spread_out,
)

if TYPE_CHECKING:
    from dpaudit.tracing.draws import LawState

# A choice that is decided keeps the options of each entry: of a thousand entries up to four million
# numbers.
_MOST_OPTIONS = 4096
# Options that Python's own operators are applied to, one at a time, instead of numpy's to all.
_ONE_BY_ONE = 64
_LEAST_DIGITS = 15.0  # of uniform draws that are made widely: how near 0 or 1 they come
_EXACT = 2.0**53  # whole numbers up to here are doubles


class Choosing(Pending):
    """Entries of which each is one of finitely many numbers.

    Parameters
    ----------
    state, sources
        As of noise.
    options, chances
        Shape ``(*shape, k)``: what an entry may be, and how likely.
    of_python
        What type of Python's numbers it stands for, if it does for one.
    """

    def __init__(
        self,
        state: LawState,
        sources: Sequence[Source],
        options: Array,
        chances: Array,
        of_python: type | None = None,
    ) -> None:
        super().__init__(state, sources)
        self._options, self._chances, self._of_python = options, chances, of_python

    @property
    def is_plain_number(self) -> bool:
        """Whether it stands for a number of Python, and for none of numpy."""
        return self._of_python is not None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the options."""
        return self._options.dtype

    def decide(self) -> Any:
        """Return which options are chosen."""
        return self._decided(self._options, self._chances, self._sources, self._of_python)

    def _decided(
        self, options: Array, chances: Array, sources: Sequence[Source], of_python: type | None
    ) -> Any:
        law = Chances(options.astype(float), chances)
        found = self._state.decide("choice", sources, law).astype(options.dtype)[()]
        return found if of_python is None else of_python(found)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return the result for every option: it is decided, unless a number only scales it."""
        others = [one for one in inputs if one is not self]
        if any(isinstance(one, Pending) for one in others) or len(others) + 1 < len(inputs):
            return apply_decided(ufunc, inputs)
        if self._of_python is not None:
            return self._combine_one(ufunc, inputs)
        shape = np.broadcast_shapes(self.shape, *map(np.shape, others))
        sources = self.broadcast(shape)
        wide = [
            np.broadcast_to(self._options, (*shape, self._options.shape[-1]))
            if one is self
            else one  # the type of what it meets is its own
            if type(one) in (bool, int, float)
            else np.asarray(one)[..., None]
            for one in inputs
        ]
        options = ufunc(*wide)
        chances = np.broadcast_to(self._chances, (*shape, self._chances.shape[-1]))
        if ufunc in (np.add, np.subtract):
            return self._decided(options, chances, sources, None)
        return Choosing(self._state, sources, options, chances)

    def _combine_one(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return the result for a number of Python: each option goes its own way."""
        assert self._of_python is not None
        numbers, apply = self._options.tolist(), _PLAINLY[ufunc] if operates_plainly() else ufunc
        if len(numbers) > _ONE_BY_ONE or any(np.ndim(one) for one in inputs if one is not self):
            return apply_decided(ufunc, inputs)
        found = [
            apply(*(self._of_python(number) if one is self else one for one in inputs))
            for number in numbers
        ]
        # Python's operators may return integers for some options and floats for others. An array
        # would make them all one type.
        if len({type(one) for one in found}) > 1:
            return apply_decided(ufunc, inputs)
        of_python = type(found[0]) if type(found[0]) in (bool, int, float) else None
        given = np.array(found), self._chances
        if ufunc in (np.add, np.subtract):
            return self._decided(*given, self._sources, of_python)
        return Choosing(self._state, self._sources, *given, of_python)

    def part(self, key: Any) -> Choosing:
        """Return some entries."""
        entries = number_draw_entries(self.shape)[key]  # the last axis of options is none of theirs
        chosen = (one.reshape(-1, one.shape[-1])[entries] for one in (self._options, self._chances))
        return Choosing(self._state, self._select_sources(key), *chosen)


_PLAINLY: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
    np.positive: operator.pos,
}


def apply_decided(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """Return an operation on decided values."""
    return apply_plain(ufunc, inputs, {})


class Uniform(Pending):
    """Uniform draws, scaled and moved.

    Parameters
    ----------
    state, sources
        As of noise.
    offset, factor
        What is added to draws on (0, 1) times the factor.
    first
        The draws on (0, 1) themselves, of which functions are made.
    """

    def __init__(
        self,
        state: LawState,
        sources: Sequence[Source],
        offset: Array,
        factor: Array,
        first: Uniform | None = None,
    ) -> None:
        super().__init__(state, sources)
        self._offset, self._factor = offset, factor
        self._first: Uniform = self if first is None else first

    @property
    def is_decided(self) -> bool:
        """Whether these draws were looked at before."""
        return self._value is not None or (self._first is not self and self._first.is_decided)

    def decide(self) -> Any:
        """Return the draws: both sides share those on (0, 1)."""
        if self._first is not self:
            return self._from_first(self._first.plain())
        shape = self.shape
        drawn = CommonDraw(
            lambda rng: rng.random(shape), b"uniform", shape, lambda rng: _wide_uniform(rng, shape)
        )
        return self.number(self._state.decide("public", self._sources, drawn))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        is_coin = ufunc in _BELOW and method == "__call__" and not options
        if is_coin and not self.is_decided and (coin := self._coin(ufunc, inputs)) is not None:
            return coin
        if ufunc in (np.absolute, np.sign, np.log, np.log1p) and method == "__call__":
            if not options and (made := self._function(ufunc)) is not None:
                return made
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def _function(self, ufunc: Any) -> Inverse | None:
        """Return a function of draws that are all scaled and moved alike."""
        offsets, factors = np.unique(self._offset), np.unique(self._factor)
        if self.is_decided or len(offsets) != 1 or len(factors) != 1:
            return None
        offset, factor = float(offsets[0]), float(factors[0])  # of parts of the draws, too
        piece = InversePiece(offset, factor)
        values: Callable[[Any], Any] = lambda first: offset + factor * first  # noqa: E731
        return function_of_uniform(self._first, (piece, piece), ufunc, values)

    def _from_first(self, first: Any) -> Any:
        return self.number(np.asarray(self._offset + self._factor * first))

    def _coin(self, ufunc: Any, inputs: tuple[Any, ...]) -> Choosing | None:
        """Return whether draws are below a threshold, or above it; None where they are not."""
        swapped = inputs[1] is self
        threshold = inputs[0] if swapped else inputs[1]
        if (
            isinstance(threshold, Pending)
            or not self._factor.all()
            or np.broadcast_shapes(np.shape(threshold), self.shape) != self.shape
        ):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.clip((np.asarray(threshold, float) - self._offset) / self._factor, 0.0, 1.0)
        below = spread_out(np.where(self._factor > 0, below, 1 - below), self.shape)
        is_true = below if _BELOW[ufunc] != swapped else 1 - below
        chances = np.stack([1 - is_true, is_true], axis=-1)
        options = np.broadcast_to(np.array([False, True]), chances.shape)
        of_python = bool if operates_plainly() else None
        return Choosing(self._state, self._sources, options, chances, of_python)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return scaled and moved draws."""
        others = [one for one in inputs if one is not self]
        divides = ufunc is np.true_divide and inputs[0] is not self
        # A number over a draw, or a draw with itself, is no scaled and moved draw any more.
        if divides or len(others) + 1 < len(inputs) or not all(map(is_number, others)):
            return apply_decided(ufunc, inputs)
        offset = ufunc(*(self._offset if one is self else one for one in inputs))
        if ufunc in (np.add, np.subtract):
            factor = -self._factor if ufunc is np.subtract and inputs[1] is self else self._factor
        else:
            factor = ufunc(*(self._factor if one is self else one for one in inputs))
        if np.shape(offset) != self.shape:
            return apply_decided(ufunc, inputs)
        factor = spread_out(factor, self.shape)
        return Uniform(self._state, self._sources, np.asarray(offset, float), factor, self._first)

    def part(self, key: Any) -> Uniform:
        """Return some entries."""
        sources, moved = self._select_sources(key), (self._offset[key], self._factor[key])
        return uniform_draws(self._state, sources, *moved)


def uniform_draws(
    state: LawState, sources: Sequence[Source], offset: Array, factor: Array
) -> Uniform:
    """Return draws on (0, 1), scaled and moved if they are."""
    shape = sources[0][1].shape
    first = Uniform(state, sources, np.zeros(shape), np.ones(shape))
    if not np.any(offset) and np.all(factor == 1):
        return first
    return Uniform(state, sources, np.asarray(offset), np.asarray(factor), first)


def _wide_uniform(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Return numbers in (0, 1), most of them near its ends."""
    # Code that branches on a rare draw is found out by drawing what is rare: uniform draws alone
    # would hardly ever be this close to an end.
    near = 10.0 ** -rng.uniform(0.0, _LEAST_DIGITS, shape)
    return np.where(rng.random(shape) < 0.5, near, 1 - near)


_BELOW = {np.less: True, np.less_equal: True, np.greater: False, np.greater_equal: False}


class Geometric(Pending):
    """Geometric draws: the difference of two with one chance is discrete Laplace noise.

    Parameters
    ----------
    state, sources
        As of noise.
    chance
        Of an end, of each entry.
    """

    def __init__(self, state: LawState, sources: Sequence[Source], chance: Array) -> None:
        super().__init__(state, sources)
        self._chance = chance

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value that it becomes."""
        return np.dtype(np.int64)

    def decide(self) -> Any:
        """Return the draws: both sides share them."""
        chance = self._chance
        drawn = CommonDraw(
            lambda rng: rng.geometric(chance, self.shape),
            b"geometric" + chance.tobytes(),
            self.shape,
            lambda rng: rng.geometric(chance * 10.0 ** -rng.uniform(0.1, 3), self.shape),
        )
        found = np.rint(self._state.decide("public", self._sources, drawn)).astype(np.int64)
        return self.number(found, int)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return discrete Laplace noise, of a difference of two."""
        alike = ufunc is np.subtract and all(isinstance(one, Geometric) for one in inputs)
        # A draw less itself is 0, and no noise.
        if not alike or any(one.is_decided for one in inputs) or inputs[0] is inputs[1]:
            return apply_decided(ufunc, inputs)
        one, other = inputs
        if one.shape != other.shape or not np.array_equal(one._chance, other._chance):
            return apply_decided(ufunc, inputs)
        sources = (*one._sources, *other._sources)
        return WholeNoise(self._state, "discrete laplace", sources, 1 - self._chance)

    def part(self, key: Any) -> Geometric:
        """Return some entries."""
        return Geometric(self._state, self._select_sources(key), np.asarray(self._chance[key]))


def other_noise(state: LawState, call: Call, location: Array, scale: Array) -> Any:
    """Return noise with location and scale of which no law is read where it meets a value."""
    factor = spread_out(scale, call.shape)
    if call.kind == "uniform":
        return uniform_draws(
            state, list_call_sources(call), spread_out(location, call.shape), factor
        )
    noise = Exponential(state, call.kind, list_call_sources(call), factor)
    return noise.meet(location) if np.any(location) else noise


# Primitives without location and scale


def other_draw(
    state: LawState, call: Call, draw: Callable[[Generator], Any], given: dict[str, Any]
) -> Any:
    """Return the draw of a primitive that has no location and scale."""
    given = decide_pending_noise(dict(given))
    reader = _READERS.get(call.kind) if call.name.startswith("numpy.random") else None
    found = None if reader is None else reader(state, call, given)
    return public_draw(state, call, draw, given) if found is None else found


def public_draw(
    state: LawState, call: Call, draw: Callable[[Generator], Any], given: dict[str, Any]
) -> Any:
    """Return a draw that both sides share; it has to be drawn alike on both."""
    # One draw shows the type and the shape, from a generator of its own, so that the run's draws
    # stay as they are.
    example = draw(np.random.default_rng(0))
    found = np.asarray(example)
    numeric = isinstance(example, int | float | np.generic | np.ndarray)
    if not numeric or found.dtype.kind not in "biuf" or not _are_exact(found):
        raise state.refuse(f"no rule for the law of draws of {call.name}")
    call.shape = found.shape
    given_to = f"{call.name} {found.dtype}".encode() + _bytes_of(given)
    # Where all values are equally likely, drawing as usual already draws without regard to
    # likelihood.
    law = CommonDraw(draw, given_to, found.shape, draw if call.kind in _EVEN else None)
    value = state.decide("public", list_call_sources(call), law)
    if found.dtype.kind in "biu":  # reading values off outputs rounds them
        value = np.rint(value)
    value = value.astype(found.dtype)
    return value[()] if isinstance(example, np.ndarray) or state.of_numpy else type(example)(value)


def _are_exact(drawn: Array) -> bool:
    return drawn.dtype.kind == "f" or bool((np.abs(drawn.astype(float)) < _EXACT).all())


def _bytes_of(given: dict[str, Any]) -> bytes:
    try:
        return pickle.dumps(sorted(given.items()))
    except (pickle.PicklingError, TypeError, AttributeError):
        return repr(sorted(given)).encode() + np.random.default_rng().bytes(8)  # as no other


def _bind_argument_names(names: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return arguments by their names; None where one has another."""
    order = names.split()
    found = {order[int(key)] if key.isdigit() else key: one for key, one in given.items()}
    return found if set(found) <= set(order) else None


def _shape_of(size: Any, own: tuple[int, ...]) -> tuple[int, ...]:
    if size is None:
        return own
    return tuple(map(int, size)) if np.iterable(size) else (int(size),)


def _trace_geometric_draw(state: LawState, call: Call, given: dict[str, Any]) -> Any:
    found = _bind_argument_names("p size", given)
    if found is None:
        return None
    call.shape = _shape_of(found.get("size"), np.shape(found["p"]))
    return Geometric(state, list_call_sources(call), spread_out(found["p"], call.shape))


def _trace_choice_draw(state: LawState, call: Call, given: dict[str, Any]) -> Any:
    """Return a choice with replacement, of numbers or of the places of anything else."""
    found = _bind_argument_names("a size replace p axis shuffle", given)
    if found is None or found.get("axis", 0) != 0:
        return None
    call.shape = _shape_of(found.get("size"), ())
    # Without replacement entries depend on each other, for which this law of independent ones is
    # wrong. A single one is the same either way.
    if not found.get("replace", True) and int(np.prod(call.shape)) > 1:
        return None
    options = np.arange(found["a"]) if np.ndim(found["a"]) == 0 else np.asarray(found["a"])
    if options.ndim == 0 or not 0 < len(options) <= _MOST_OPTIONS:
        return None
    weights = found.get("p")
    chances = np.full(len(options), 1 / len(options)) if weights is None else np.asarray(weights)
    are_numbers = options.ndim == 1 and options.dtype.kind in "biuf" and _are_exact(options)
    values = options if are_numbers else _first_alike(options)
    if values is None:
        return None
    of_python = int if not call.shape and np.ndim(found["a"]) == 0 else None
    chosen = _alike_entries(state, call, values, np.asarray(chances, dtype=float), of_python)
    return chosen if are_numbers else options[chosen.plain()]


def _first_alike(options: Array) -> Array | None:
    """Return of each option the place of the first that is equal; None where that is not known.

    Whoever sees the option cannot tell from which place it is.
    """
    if options.dtype.kind not in "biufUSM":
        return None
    _, first, which = np.unique(options, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()])


def _trace_integer_draw(state: LawState, call: Call, given: dict[str, Any]) -> Any:
    found = _bind_argument_names("low high size dtype endpoint", given)
    if found is None or set(found) - {"low", "high", "size"}:
        return None
    low, high = found["low"], found.get("high")
    if np.ndim(low) or np.ndim(high if high is not None else 0):
        return None
    first, last = (0, int(low)) if high is None else (int(low), int(high))
    if not 0 < last - first <= _MOST_OPTIONS:
        return None
    call.shape = _shape_of(found.get("size"), ())
    options = np.arange(first, last)
    of_python = int if not call.shape and call.kind == "randint" else None
    return _alike_entries(state, call, options, np.full(len(options), 1 / len(options)), of_python)


def _alike_entries(
    state: LawState, call: Call, options: Any, chances: Array, of_python: type | None
) -> Choosing:
    whole_shape = (*call.shape, len(options))
    wide = np.broadcast_to(options, whole_shape), np.broadcast_to(chances, whole_shape)
    return Choosing(state, list_call_sources(call), *wide, None if state.of_numpy else of_python)


# Primitives all of whose values are equally likely.
_EVEN = ("permutation", "permuted", "shuffle", "choice", "integers", "randint", "random_sample")
_READERS: dict[str, Any] = {
    "geometric": _trace_geometric_draw,
    "choice": _trace_choice_draw,
    "integers": _trace_integer_draw,
    "randint": _trace_integer_draw,
}
