"""Arrays that know how far their values can be apart on two datasets, after every history.

A function runs once on them. What no rule bounds is refused by the line that asks for it, and a
refusal is final, whatever the code catches: no bound is better than one that does not hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpaudit._typing import Array
from dpaudit.freezing import tracked_noise
from dpaudit.tracing import arithmetic, rows
from dpaudit.tracing.spread import (
    DifferenceNorms,
    Spread,
    Squares,
    make_constant_spread,
    make_history_spread,
    spread_of_pair,
)


class NoBound(Exception):
    """An operation that no rule covers."""


class BoundedRules(Protocol):
    """The rules of numpy's functions for bounded arrays, and parts of such arrays."""

    def call(self, reading: BoundedReading, function: Any, given: Any, named: Any) -> Any:
        """Return a function of numpy of bounded arrays, and of others."""

    def take(self, reading: BoundedReading, array: BoundedArray, key: Any) -> BoundedArray:
        """Return a part of an array by a key that is public."""

    def put(self, reading: BoundedReading, array: BoundedArray, key: Any, value: Any) -> None:
        """Write into a part of an array."""


@dataclass
class BoundedReading:
    """One run on bounded arrays: its noisy values in order, and the first refusal.

    Parameters
    ----------
    steps
        The noisy values.
    refusal
        Place and reason of the first thing that no rule covers.
    rules
        What functions of numpy and parts of arrays are.
    """

    rules: BoundedRules
    steps: list[CentreMovement] = field(default_factory=list)
    refusal: tuple[str, str] | None = None

    def refuse(self, reason: str) -> NoBound:
        """Note a refusal, for good, and return the error to raise for it."""
        self.refuse_at(tracked_noise.place(), reason)
        return NoBound(reason)

    def refuse_at(self, place: str, reason: str) -> None:
        """Note a refusal that is of no line that runs just now."""
        # The first refusal is the cause; later ones may follow from code that caught it and went
        # on.
        if self.refusal is None:
            self.refusal = place, reason


@dataclass(frozen=True, kw_only=True)
class CentreMovement:
    """A noisy value: where it is formed, its noise, and how far its centre moves at most.

    Parameters
    ----------
    place
        Where in the source.
    kind
        The law of the noise: ``"normal"`` or ``"laplace"``.
    scale
        The least of its entries'.
    norms
        Of the movement of the centre, after every history.
    shape
        Of the value.
    """

    place: str
    kind: str
    scale: float
    norms: DifferenceNorms
    shape: tuple[int, ...]


_UNARY: dict[Any, Callable[[Spread, Array], Spread]] = {
    np.negative: lambda a, s: arithmetic.scale_spread(a, np.array(-1.0), s),
    np.positive: lambda a, s: a,
    np.absolute: lambda a, s: arithmetic.map_entries(a, s, max(a.low, -a.high, 0.0), a.size, 1.0),
    np.exp: lambda a, s: arithmetic.map_entries(
        a, s, _compute_quiet_exp(a.low), _compute_quiet_exp(a.high), _compute_quiet_exp(a.high)
    ),
    np.tanh: lambda a, s: arithmetic.map_entries(a, s, -1.0, 1.0, 1.0),
    np.sin: lambda a, s: arithmetic.map_entries(a, s, -1.0, 1.0, 1.0),
    np.cos: lambda a, s: arithmetic.map_entries(a, s, -1.0, 1.0, 1.0),
    np.sign: lambda a, s: arithmetic.map_entries(a, s, -1.0, 1.0),
}
_BINARY: dict[Any, Callable[[Spread, Spread, Array], Spread]] = {
    np.add: lambda a, b, s: arithmetic.add_spreads(a, b, 1.0, s),
    np.subtract: lambda a, b, s: arithmetic.add_spreads(a, b, -1.0, s),
    np.multiply: arithmetic.multiply_spreads,
    np.true_divide: arithmetic.divide_spreads,
}


def _compute_quiet_exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


class BoundedArray(NDArrayOperatorsMixin):
    """An array of which is known how far it can be apart on two datasets.

    Parameters
    ----------
    reading
        The run that it is part of.
    spread
        What is known.
    base
        The array that it is a view of, if it is one.
    """

    __array_priority__ = 1000

    def __init__(
        self, reading: BoundedReading, spread: Spread, base: BoundedArray | None = None
    ) -> None:
        self._reading, self._spread, self._base = reading, spread, base
        self._changed_view: BoundedArray | None = None

    @property
    def spread(self) -> Spread:
        """The bounds; an array that changed in place has none."""
        # A view was written over, and numpy would have changed this array as well. What is known of
        # it is out of date.
        if self._changed_view is not None:
            raise self._reading.refuse("the code changes a part of an array in place")
        return self._spread

    # What is public of it

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._spread.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._spread.sample.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self._spread.sample.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the entries."""
        return self._spread.sample.dtype

    def __len__(self) -> int:
        return len(self._spread.sample)

    def __repr__(self) -> str:
        raise self._reading.refuse("the code converts a value to text")

    # What would give it away

    def _number(self) -> Array:
        """Return the value where it is one and the same everywhere."""
        value = self.spread.constant
        if value is None:
            noisy = self.spread.is_public
            what = "a noisy value" if noisy else "a value of the data"
            raise self._reading.refuse(f"{what} is used as a plain number")
        return value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self._number(), dtype=dtype)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        return operator.index(self._number()[()])

    def __bool__(self) -> bool:
        both = self.spread.both
        if both is not None and bool(both[0]) == bool(both[1]):
            return bool(both[0])
        if both is not None:
            raise self._reading.refuse("the code branches on the data")
        noisy = self.spread.is_public
        which = "a noisy value" if noisy else "a value of data and noise"
        raise self._reading.refuse(f"the code branches on {which}")

    def __hash__(self) -> int:
        raise self._reading.refuse("the code hashes a value")

    def item(self, *at: int) -> BoundedArray:
        """Return one entry; it stays bounded."""
        found = self.ravel()[at[0]] if len(at) == 1 else self[at] if at else self.reshape(())
        assert isinstance(found, BoundedArray)
        return found

    def tolist(self) -> Any:
        """Return entries as lists; they stay bounded."""
        return [one.tolist() for one in self] if self.ndim else self

    # Arithmetic

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        into = options.pop("out", None)
        # Noise decides itself what becomes of a value that it is added to: numpy asks it next.
        if any(getattr(type(one), "meets", False) for one in inputs):
            return NotImplemented
        if method == "reduce" and ufunc in (np.add, np.maximum, np.minimum):
            named = {np.add: np.sum, np.maximum: np.max, np.minimum: np.min}[ufunc]
            return self.__array_function__(named, (), inputs, options)
        if method != "__call__" or options:
            raise self._reading.refuse(f"no rule for this call of {ufunc.__name__}")
        found = self._reading_of(ufunc, [self._as_spread(one) for one in inputs])
        return found if into is None else self._put(into, found)

    def _put(self, into: tuple[Any, ...], found: BoundedArray) -> BoundedArray:
        """Return an array that was overwritten by a result."""
        (target,) = into
        if not isinstance(target, BoundedArray) or target.shape != found.shape:
            raise self._reading.refuse("the code writes data into a plain array")
        target.overwrite(found.spread)
        return target

    def overwrite(self, spread: Spread) -> None:
        """Change the value in place; who it is a view of is not known until it is written back."""
        self._spread = spread
        if self._base is not None:
            self._base._changed_view = self

    def _as_spread(self, value: Any) -> Spread:
        return as_spread(self._reading, value)

    def _reading_of(self, ufunc: Any, given: list[Spread]) -> BoundedArray:
        with np.errstate(all="ignore"):
            sample = np.asarray(ufunc(*(one.sample for one in given)))
        made = self._exact(ufunc, given, sample)
        if made is None:
            made = self._by_rule(ufunc, given, sample)
        return BoundedArray(self._reading, made)

    def _exact(self, function: Any, given: list[Spread], sample: Array) -> Spread | None:
        """Return a function of values that no history enters, computed on either side."""
        if any(one.both is None for one in given):
            return None
        with np.errstate(all="ignore"):
            sides = [function(*(one.both[n] for one in given if one.both)) for n in range(2)]
        if np.shape(sides[0]) != np.shape(sides[1]):
            raise self._reading.refuse("a shape depends on the data")
        return spread_of_pair(*sides)

    def _by_rule(self, ufunc: Any, given: list[Spread], sample: Array) -> Spread:
        if ufunc in _UNARY and len(given) == 1:
            return _UNARY[ufunc](given[0], sample)
        if ufunc is np.sqrt and (made := _norm_of_squares(given[0], sample)) is not None:
            return made
        if ufunc in (np.power, np.float_power) and given[1].constant is not None:
            if given[1].constant.size == 1 and float(given[1].constant) == 2:
                return _make_squared_spread(
                    given[0], arithmetic.multiply_spreads(given[0], given[0], sample)
                )
        if ufunc is np.square:
            return _make_squared_spread(
                given[0], arithmetic.multiply_spreads(given[0], given[0], sample)
            )
        if ufunc in _BINARY and len(given) == 2:
            return self._of_two(ufunc, given, sample)
        if (
            ufunc in (np.maximum, np.minimum)
            and (made := _apply_constant_cut(ufunc, given, sample)) is not None
        ):
            return made
        if ufunc is np.matmul:
            return self._product(given[0], given[1], sample)
        if all(one.is_public for one in given):
            return make_history_spread(sample)
        raise self._reading.refuse(f"no rule for {ufunc.__name__} of data and noisy values")

    def _of_two(self, ufunc: Any, given: list[Spread], sample: Array) -> Spread:
        made = _BINARY[ufunc](given[0], given[1], sample)
        squares = ufunc is np.multiply and given[0] is given[1]
        return _make_squared_spread(given[0], made) if squares else made

    def _product(self, one: Spread, other: Spread, sample: Array) -> Spread:
        if one.is_public and other.is_public and one.constant is None:
            return make_history_spread(sample)
        if one.constant is not None:
            return rows.apply_matrix(one.constant.astype(float), other, sample, left=True)
        if other.constant is not None:
            return rows.apply_matrix(other.constant.astype(float), one, sample, left=False)
        if one.transposed is not None and one.transposed.shape[0] == other.shape[0]:
            return rows.sum_of_outer(one.transposed, other, sample)
        if one.sample.ndim == 1 and other.sample.ndim == 2:
            return rows.sum_of_outer(other, one, sample)
        if one.sample.ndim == 2 and other.is_public and other.transposed is None:
            return rows.multiply_rows(one, other, sample)
        raise self._reading.refuse("no rule for this product of matrices")

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        return self._reading.rules.call(self._reading, function, given, named)

    # Parts

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, key: Any) -> BoundedArray:
        return self._reading.rules.take(self._reading, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        # ``a[k] += b`` reads a view, changes it and writes it back here. Only then is the array
        # whole again.
        if value is self._changed_view:
            self._changed_view = None
        self._reading.rules.put(self._reading, self, key, value)

    @property
    def T(self) -> BoundedArray:
        """The transpose."""
        return self.__array_function__(np.transpose, (), (self,), {})  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        """Return a method of arrays as the function of numpy that does the same."""
        if name in _METHODS:
            function = getattr(np, name)
            return lambda *given, **named: self.__array_function__(
                function, (), (self, *given), named
            )
        # numpy and `copy` probe for protocols by their names. A refusal here would be final, for
        # code that does nothing wrong.
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._reading.refuse(f"no rule for the attribute {name}")

    def copy(self, order: str = "K") -> BoundedArray:
        """Return a copy."""
        return BoundedArray(self._reading, self.spread)

    def __copy__(self) -> BoundedArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> BoundedArray:
        return self.copy()

    def astype(self, dtype: Any, **_: Any) -> BoundedArray:
        """Return an array of floats; other types would round."""
        if np.dtype(dtype) == np.dtype(float) or np.dtype(dtype) == self.dtype:
            return self.copy()
        both = self.spread.both
        if both is None:
            raise self._reading.refuse("the code rounds a noisy value to another type")
        return BoundedArray(
            self._reading, spread_of_pair(both[0].astype(dtype), both[1].astype(dtype))
        )


_METHODS = frozenset(
    "sum mean clip dot reshape ravel transpose max min prod std var squeeze argmax argmin cumsum "
    "sort any all".split()
)


def as_spread(reading: BoundedReading, value: Any) -> Spread:
    """Return the range of a value: everything, for one that is no bounded array."""
    if isinstance(value, BoundedArray):
        # A value that was kept from another run may have seen another history: nothing that is
        # known of it holds in this one.
        if value._reading is not reading:
            raise reading.refuse("the code uses a value of another call")
        return value.spread
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
        return make_constant_spread(value)
    if isinstance(value, list | tuple):
        return rows.join_spreads(
            [as_spread(reading, one) for one in value], _stack_samples(reading, value), stacked=True
        )
    raise reading.refuse(f"no rule for a {type(value).__name__}")


def _stack_samples(reading: BoundedReading, values: Any) -> Array:
    samples = [as_spread(reading, one).sample for one in values]
    if len({one.shape for one in samples}) > 1:
        raise reading.refuse("a list of arrays of several shapes")
    return np.stack(samples) if samples else np.zeros(0)


# Norms that are written out: the root of a sum of squares


def _make_squared_spread(of: Spread, made: Spread) -> Spread:
    return replace(made, low=max(made.low, 0.0), squares=Squares(of, "none"))


def _norm_of_squares(value: Spread, sample: Array) -> Spread | None:
    if value.squares is None or value.squares.summed == "none":
        return make_history_spread(sample, 0.0) if value.is_public and value.low >= 0 else None
    of = value.squares.of
    return (rows.row_norms if value.squares.summed == "rows" else rows.whole_norm)(of, sample)


def _apply_constant_cut(ufunc: Any, given: list[Spread], sample: Array) -> Spread | None:
    """Return the larger or the smaller of a value and a constant number."""
    for value, end in (given, given[::-1]):
        if end.constant is not None and end.constant.size == 1:
            number = float(end.constant.ravel()[0])
            return (
                arithmetic.apply_spread_maximum
                if ufunc is np.maximum
                else arithmetic.apply_spread_minimum
            )(value, number, sample)
    return None
