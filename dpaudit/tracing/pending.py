"""Noise that remembers which draws it is made of, until it is added to a value or looked at.

Sums, scaled noise and parts are noise again. Where it is added to a value, that is a noisy value.
Whatever else is done to it looks at it by itself: then it is decided as a noisy value whose centre
is 0 on both sides, and from there on it is the number that it is.

A primitive without a size returns a plain number of Python, and operators between such numbers are
Python's: ``True + True`` is 2, where numpy's booleans make it True.
"""

from __future__ import annotations

import operator
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit._typing import Array
from dpaudit.freezing.tracked_noise import Call
from dpaudit.tracing.lanes import Lanes
from dpaudit.tracing.unmet import LINEAR, Unmet

if TYPE_CHECKING:
    from dpaudit.tracing.draws import LawState

Source = tuple[Call, Array]  # a call of a primitive, and which entries of its draws


class NoLaw(Exception):
    """The code uses its noise in a way that has no known law."""


@lru_cache(maxsize=256)
def number_draw_entries(shape: tuple[int, ...]) -> Array:
    """Return the numbers of the entries of a draw."""
    return np.asarray(np.arange(int(np.prod(shape))).reshape(shape))


def list_call_sources(call: Call) -> tuple[Source, ...]:
    """Return all entries of a call."""
    return ((call, number_draw_entries(call.shape)),)


def spread_out(value: Any, shape: tuple[int, ...]) -> Array:
    """Return numbers broadcast to a shape."""
    found = np.asarray(value, dtype=float)
    return found if found.shape == shape else np.broadcast_to(found, shape)


class Pending(Unmet):
    """Noise of a run that reads a law: looking at it decides it.

    Parameters
    ----------
    state
        The run.
    sources
        What it is made of.
    """

    _value: Any = None

    def __init__(self, state: LawState, sources: Sequence[Source]) -> None:
        self._state, self._sources = state, tuple(sources)

    @abstractmethod
    def decide(self) -> Any:
        """Return the number or the array that it is, decided by itself."""

    @abstractmethod
    def part(self, key: Any) -> Pending:
        """Return some entries."""

    def plain(self) -> Any:
        """Return the value, which is decided if it was not."""
        if self._value is None:
            self._state.note_look()
            self._value = self.decide()
            if isinstance(self._value, np.ndarray):  # which other names of the noise would share
                self._value.setflags(write=False)
        return self._value

    @property
    def is_decided(self) -> bool:
        """Whether it was looked at before."""
        return self._value is not None

    @property
    def is_plain_number(self) -> bool:
        """Whether it stands for a number of Python, and for none of numpy."""
        return self._is_one_draw and not self._state.of_numpy

    @property
    def _is_one_draw(self) -> bool:
        return bool(self._sources) and all(call.shape == () for call, _ in self._sources)

    def number(self, found: Any, of_python: type = float) -> Any:
        """Return an array, or a single number as a number of Python, or of numpy."""
        if found.ndim or not isinstance(found, np.ndarray | np.generic):  # of many runs at once
            return found
        return of_python(found) if self.is_plain_number else np.asarray(found)[()]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the noise."""
        return self._sources[0][1].shape

    def refusal(self, reason: str) -> Exception:
        """Note why there is no law, and return the error to raise for it."""
        return self._state.refuse(reason)

    def broadcast(self, shape: tuple[int, ...]) -> tuple[Source, ...]:
        """Return the sources broadcast to a shape."""
        if self.shape == shape:
            return self._sources
        return tuple((call, np.broadcast_to(index, shape)) for call, index in self._sources)

    def _select_sources(self, key: Any) -> tuple[Source, ...]:
        return tuple((call, np.asarray(index[key])) for call, index in self._sources)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        linear = method == "__call__" and not options.keys() - {"out"} and ufunc in LINEAR
        # Other names of this noise hold the number that was decided. Changing it would change a
        # noisy value that was accounted for.
        if any(isinstance(one, Pending) and one.is_decided for one in _get_output_targets(options)):
            raise self.refusal("the code changes noise in place")
        if not linear or self.is_decided:
            return apply_plain(getattr(ufunc, method), inputs, options)
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if any(isinstance(one, Pending) for one in _get_output_targets(options)):
            raise self.refusal("the code changes noise in place")
        if function in (np.stack, np.concatenate):
            if (joint := _join_pending_noise(self._state, function, args, options)) is not None:
                return joint
        return apply_plain(function, args, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = np.asarray(self.plain(), dtype=dtype)
        return found.copy() if copy else found

    def written(self, target: Any, found: Any) -> Any:
        """Return an array that a noisy value was written over."""
        if isinstance(target, Lanes):
            return target.write(found)
        if not isinstance(target, np.ndarray):
            raise self.refusal("the code writes a noisy value into an object that is not an array")
        np.copyto(target, found, casting="same_kind")
        return target

    def __getitem__(self, key: Any) -> Any:
        if self.is_decided or not self.shape or isinstance(key, Pending):
            return self.plain()[decide_pending_noise(key)]
        return self.part(key)

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        return self.shape[0] if self.shape else len(self.plain())

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self.refusal("the code changes noise in place")

    def __contains__(self, value: Any) -> bool:
        return value in self.plain()

    def __deepcopy__(self, memo: Any) -> Pending:
        return self

    def copy(self) -> Any:
        """Return the same entries."""
        return self.plain().copy() if self.is_decided else self

    def __float__(self) -> float:
        return float(self.plain())

    def __int__(self) -> int:
        return int(self.plain())

    def __complex__(self) -> complex:
        return complex(self.plain())

    def __bool__(self) -> bool:
        return bool(self.plain())

    def __index__(self) -> int:
        return self.plain().__index__()  # type: ignore[no-any-return]

    def __round__(self, *digits: Any) -> Any:
        return round(self.plain(), *digits)

    def __trunc__(self) -> Any:
        return self.plain().__trunc__()

    def __floor__(self) -> Any:
        return self.plain().__floor__()

    def __ceil__(self) -> Any:
        return self.plain().__ceil__()

    def __hash__(self) -> int:
        return hash(self.plain())

    def __repr__(self) -> str:
        return repr(self.plain())

    def __str__(self) -> str:
        return str(self.plain())

    def __format__(self, form: str) -> str:
        return format(self.plain(), form)

    def __reduce__(self) -> Any:
        # Pickled, it is the number: noise in another process would be decided a second time.
        return _as_it_is, (self.plain(),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.plain(), name)


def _get_output_targets(options: dict[str, Any]) -> tuple[Any, ...]:
    into = options.get("out")
    return into if isinstance(into, tuple) else (into,)


def _as_it_is(value: Any) -> Any:
    return value


def decide_pending_noise(value: Any) -> Any:
    """Return a value with whatever noise it holds decided: of lists, tuples and dictionaries."""
    if isinstance(value, Pending):
        return value.plain()
    if type(value) in (list, tuple):
        return type(value)(map(decide_pending_noise, value))
    if type(value) is dict:
        return {key: decide_pending_noise(one) for key, one in value.items()}
    return value


def apply_plain(function: Any, args: Any, options: dict[str, Any]) -> Any:
    """Return the result of a function whose arguments are decided."""
    given = decide_pending_noise(tuple(args))
    if of_python := _of_python(given):
        return of_python(*given)
    return function(*given, **decide_pending_noise(dict(options)))


_CODE = threading.local()  # the operator of Python that code applies, if it applies one


def _of_python(given: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return the operator of Python that code applies to these, None if it applies none of it."""
    found: Callable[..., Any] | None = getattr(_CODE, "operator", None)
    return found if found is not None and all(map(is_plain_number, given)) else None


def operates_plainly() -> bool:
    """Return whether code applies an operator of Python to numbers of Python."""
    return getattr(_CODE, "operator", None) is not None


def is_plain_number(value: Any) -> bool:
    """Return whether a value is, or stands for, a number of Python."""
    if isinstance(value, Pending):
        return value.is_plain_number
    return type(value) in (bool, int, float)


@contextmanager
def _use_python_operator(of_python: Callable[..., Any]) -> Iterator[None]:
    before = getattr(_CODE, "operator", None)
    _CODE.operator = of_python
    try:
        yield
    finally:
        _CODE.operator = before


def _operator_method(name: str, of_python: Callable[..., Any]) -> Callable[..., Any]:
    of_numpy = getattr(NDArrayOperatorsMixin, name)

    def method(self: Pending, *other: Any) -> Any:
        if not all(map(is_plain_number, (self, *other))):
            return of_numpy(self, *other)
        with _use_python_operator(of_python):
            return of_numpy(self, *other)

    return method


_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()
_COMPARED = "lt le eq ne gt ge".split()
_UNARY = "neg pos abs invert".split()
for _name in (*_BINARY, *_COMPARED, *_UNARY):
    _given = getattr(operator, f"__{_name}__")
    setattr(Pending, f"__{_name}__", _operator_method(f"__{_name}__", _given))
    if _name in _BINARY:
        setattr(Pending, f"__r{_name}__", _operator_method(f"__r{_name}__", _given))


def is_number(value: Any) -> bool:
    """Return whether a value is a number or an array of numbers, and no noise."""
    return not isinstance(value, Pending) and np.asarray(value).dtype.kind in "biuf"


class JointNoise(Pending):
    """Noise of several calls in one array: every part meets its own part of a value.

    Parameters
    ----------
    state
        The run.
    join, axis
        How parts are put together: `numpy.stack` or `numpy.concatenate`, and along which axis.
    parts
        Of one shape but for that axis.
    """

    def __init__(self, state: LawState, join: Any, axis: int, parts: Sequence[Pending]) -> None:
        super().__init__(state, ())
        self._join, self._axis, self._parts = join, axis, tuple(parts)
        self._shape = tuple(join([np.empty(one.shape) for one in parts], axis=axis).shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the noise."""
        return tuple(map(int, self._shape))

    def decide(self) -> Any:
        """Return all parts, each decided by itself."""
        return self._join([one.plain() for one in self._parts], axis=self._axis)

    def _split(self, value: Array) -> list[Array]:
        """Return the part of a value that belongs to each part of the noise."""
        if self._join is np.stack:
            return [np.take(value, at, axis=self._axis) for at in range(len(self._parts))]
        ends = np.cumsum([one.shape[self._axis] for one in self._parts])[:-1]
        return np.split(value, ends, axis=self._axis)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return every part combined with its own part of a value, put together."""
        others = [one for one in inputs if one is not self]
        if len(others) + 1 < len(inputs) or any(isinstance(one, Pending) for one in others):
            return apply_plain(ufunc, inputs, {})
        # A larger value would put each draw into several entries.
        if np.broadcast_shapes(self.shape, *map(np.shape, others)) != self.shape:
            return apply_plain(ufunc, inputs, {})
        each = [self._split(np.broadcast_to(one, self.shape)) for one in others]
        found = list[Any]()
        for at, part in enumerate(self._parts):
            given = [part if one is self else each[0][at] for one in inputs]
            found.append(ufunc(*given))
        if any(isinstance(one, Pending) for one in found):
            return JointNoise(self._state, self._join, self._axis, found)
        return self._join(found, axis=self._axis)

    def part(self, key: Any) -> Any:
        """Return some entries of the decided values."""
        return self.plain()[key]


def _join_pending_noise(
    state: LawState, join: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> JointNoise | None:
    """Return noise that is put together from noise alone; None of anything else."""
    if len(args) != 1 or set(options) - {"axis"} or not isinstance(args[0], list | tuple):
        return None
    parts = args[0]
    if not all(isinstance(one, Pending) and not one.is_decided for one in parts):
        return None
    return JointNoise(state, join, options.get("axis", 0), parts)
