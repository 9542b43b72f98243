"""Values of many runs at once: each lane of an array is the value of one run.

What is done to such a value is done in every lane, and no lane sees another one. Elementwise
operations go over all lanes together, anything else lane by lane. Whatever needs one number for all
runs, such as a branch, is refused: then runs are not alike, and each goes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit._typing import Array
from dpaudit.tracing.unmet import Unmet

if TYPE_CHECKING:
    from dpaudit.tracing.draws import LawState

_METHODS = frozenset(
    "all any argmax argmin argsort clip cumsum dot max mean min prod round std sum var".split()
)
_ALONG = {"max": np.max, "mean": np.mean, "min": np.min, "sum": np.sum}
_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


class Lanes(NDArrayOperatorsMixin):
    """A number or an array of many runs.

    Parameters
    ----------
    state
        That notes what is refused.
    values
        Shape ``(runs, *shape)``.
    """

    __array_priority__ = 1000

    def __init__(self, state: LawState, values: Array) -> None:
        self._state, self.values = state, values

    @property
    def shape(self) -> tuple[int, ...]:
        """In one run."""
        return self.values.shape[1:]

    @property
    def ndim(self) -> int:
        """Number of axes in one run."""
        return self.values.ndim - 1

    @property
    def size(self) -> int:
        """Number of entries in one run."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an entry."""
        return self.values.dtype

    @property
    def T(self) -> Lanes:
        """The transpose."""
        return self._alike(self.values.transpose(0, *range(self.ndim, 0, -1)))

    def spread(self, ndim: int) -> Array:
        """Return all lanes with so many axes in each."""
        runs, *shape = self.values.shape
        return self.values.reshape(runs, *(1,) * (ndim - len(shape)), *shape)

    def reshape(self, *shape: Any) -> Lanes:
        """Return the same entries in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if -1 in wanted:
            known = -int(np.prod(wanted))
            wanted = tuple(self.size // max(known, 1) if one == -1 else one for one in wanted)
        return self._alike(self.values.reshape(len(self.values), *wanted))

    def ravel(self) -> Lanes:
        """Return the same entries in one axis."""
        return self.reshape(self.size)

    def copy(self) -> Lanes:
        """Return the same entries, to be changed."""
        return self._alike(self.values.copy())

    def astype(self, dtype: Any) -> Lanes:
        """Return the same entries of another type."""
        return self._alike(self.values.astype(dtype))

    def write(self, found: Any) -> Any:
        """Write over all entries; a number is another one then."""
        if not isinstance(found, Lanes) or found.shape != self.shape:
            raise self.refusal()
        if not self.shape:
            return found
        np.copyto(self.values, found.values, casting="same_kind")
        return self

    def refusal(self) -> Exception:
        """Note for good that runs cannot go together, and return the error to raise."""
        return self._state.refuse("the code uses a value of many calls as one number")

    def _alike(self, values: Any) -> Lanes:
        return Lanes(self._state, values)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(one, Unmet) for one in inputs):
            return NotImplemented
        into = options.pop("out", None)
        # Ufuncs with a signature, such as `matmul`, work on axes, of which the lanes would be one.
        elementwise = method == "__call__" and ufunc.signature is None and ufunc.nout == 1
        if elementwise and not options:
            found = self._alike(ufunc(*self._given(inputs)))
        else:
            found = self._each(getattr(ufunc, method), inputs, options)
        if into is None:
            return found
        if not isinstance(into[0], Lanes):
            raise self.refusal()
        return into[0].write(found)

    def _given(self, inputs: tuple[Any, ...]) -> list[Any]:
        """Return operands with lanes as their first axis, plain ones as they are."""
        ndim = max(one.ndim if isinstance(one, Lanes) else np.ndim(one) for one in inputs)
        if any(np.asarray(x).dtype.kind not in "biuf" for x in inputs if not isinstance(x, Lanes)):
            raise self.refusal()
        return [one.spread(ndim) if isinstance(one, Lanes) else one for one in inputs]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function is np.shape:
            return self.shape
        is_known = function is np.linalg.norm or function in _ALONG.values()
        if is_known and len(args) == 1 and args[0] is self and self._is_along(options):
            return self._along(function, options)
        return self._each(function, args, options)

    def _is_along(self, options: dict[str, Any]) -> bool:
        """Return whether one axis is asked for, and it is there."""
        axis = options.get("axis")
        is_one = type(axis) is int and -self.ndim <= axis < self.ndim
        return is_one and not options.keys() - {"axis", "keepdims"}

    def _along(self, function: Any, options: dict[str, Any]) -> Lanes:
        """Return numbers along one axis, of all lanes together."""
        # Axes of a run count behind that of the lanes; negative ones are made positive first.
        moved = {**options, "axis": options["axis"] % self.ndim + 1}
        return self._alike(function(self.values, **moved))

    def _each(self, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Lanes:
        """Return the results of a function in each lane, by itself."""
        if any(isinstance(one, Unmet) for one in args) or "out" in options:
            raise self.refusal()
        found = [
            function(*lane_of(tuple(args), at), **lane_of(options, at))
            for at in range(len(self.values))
        ]
        if not all(isinstance(x, np.ndarray | np.generic | float | int) for x in found):
            raise self.refusal()
        if len({np.shape(one) for one in found}) > 1:
            raise self.refusal()
        whole = np.stack(found)
        if whole.dtype.kind not in "biuf":
            raise self.refusal()
        return self._alike(whole)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _METHODS:
            raise self.refusal()

        def method(*args: Any, **options: Any) -> Any:
            if name in _ALONG and not args and self._is_along(options):
                return self._along(_ALONG[name], options)
            return self._each(partial(_call_lane_method, name), (self, *args), options)

        return method

    def _key(self, key: Any) -> tuple[Any, ...]:
        """Return a key behind all lanes: basic ones, or one array alone."""
        keys = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(one, _BASIC) for one in keys):
            is_array = len(keys) == 1 and isinstance(key, list | np.ndarray)
            if not is_array or np.asarray(key).dtype.kind not in "biu":
                raise self.refusal()
        return slice(None), *keys

    def __getitem__(self, key: Any) -> Lanes:
        found = self.values[self._key(key)]
        return self._alike(found if found.ndim > 1 else found.copy())  # a number is no view

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self.values[self._key(key)]
        if isinstance(value, Unmet):
            raise self.refusal()
        given = value.spread(target.ndim - 1) if isinstance(value, Lanes) else value
        self.values[self._key(key)] = given

    def __len__(self) -> int:
        if not self.shape:
            raise self.refusal()
        return self.shape[0]

    def __iter__(self) -> Iterator[Lanes]:
        return (self[at] for at in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return an array of the entries' joint values in all runs: a list of them becomes one."""
        if dtype not in (None, np.dtype(object)):
            raise self.refusal()
        found = np.empty(self.shape, dtype=object)
        for index in np.ndindex(self.shape):
            found[index] = self._alike(self.values[(slice(None), *index)].copy())
        return found

    def _looked_at(self, *_: Any, **__: Any) -> Any:
        raise self.refusal()

    __float__ = __int__ = __complex__ = __bool__ = __index__ = __contains__ = _looked_at
    __round__ = __trunc__ = __floor__ = __ceil__ = __deepcopy__ = __copy__ = _looked_at
    __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = _looked_at
    __hash__ = _looked_at


def _call_lane_method(name: str, one: Any, *args: Any, **options: Any) -> Any:
    return getattr(one, name)(*args, **options)


def lane_of(value: Any, at: int) -> Any:
    """Return one run's part of a value: of lists, tuples and dictionaries."""
    if isinstance(value, Lanes):
        one = value.values[at]
        return one if value.shape else one.item()
    if type(value) in (list, tuple):
        return type(value)(lane_of(one, at) for one in value)
    if type(value) is dict:
        return {key: lane_of(one, at) for key, one in value.items()}
    if type(value) is np.ndarray and value.dtype == object:
        return lane_of(join_lanes(value), at)
    return value


def join_lanes(value: Any) -> Any:
    """Return an array of values of many runs as one value; anything else as it is."""
    if type(value) is not np.ndarray or value.dtype != object:
        return value
    entries = value.ravel().tolist()
    lanes = next((one for one in entries if isinstance(one, Lanes)), None)
    if lanes is None or not all(isinstance(x, Lanes | float | int) for x in entries):
        return value
    runs = len(lanes.values)
    whole = [x.values if isinstance(x, Lanes) else np.full(runs, x) for x in entries]
    return Lanes(lanes._state, np.stack(whole, axis=1).reshape(runs, *value.shape))
