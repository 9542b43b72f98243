"""Noise with location and scale, mixed by a matrix, rounded, or of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.freezing.recorder import standard_draw
from dpaudit.tracing.discrete import CommonDraw, SteppedValue
from dpaudit.tracing.lanes import Lanes
from dpaudit.tracing.pending import Pending, Source, apply_plain, is_number, spread_out
from dpaudit.tracing.steps import LocatedValue, MixedVector

if TYPE_CHECKING:
    from dpaudit.tracing.draws import LawState


class PendingNoise(Pending):
    """Noise of a law with location and scale.

    Parameters
    ----------
    state
        The run.
    kind
        The law.
    sources
        What it is made of.
    factor
        What draws of scale 1 are times, of the same shape.
    """

    def __init__(
        self, state: LawState, kind: str, sources: Sequence[Source], factor: Array
    ) -> None:
        super().__init__(state, sources)
        self._kind, self._factor = kind, factor

    def decide(self) -> Any:
        """Return it as a noisy value around 0."""
        return self.number(self._located(np.zeros(self.shape), self._factor, self._sources))

    def _located(self, centre: Array, factor: Array, sources: Sequence[Source]) -> Any:
        """Return a noisy value; noise and its negative have one law."""
        return self._state.decide(self._kind, sources, LocatedValue(centre, np.abs(factor)))

    def meet(self, value: Any, sign: float = 1.0, *, of_numpy: bool = True) -> Any:
        """Return ``sign`` times a value plus noise.

        A number is one of numpy where the sum of plain ones would be.
        """
        if isinstance(value, Pending):
            return self._add(value, sign)
        if isinstance(value, Lanes):
            return self._meet_lanes(value, sign)
        centre = np.asarray(value)
        if centre.dtype.kind not in "biuf":
            raise self.refusal("noise is added to a value that is not a number")
        self._require_wide(centre)
        shape = np.broadcast_shapes(centre.shape, self.shape)
        factor = spread_out(self._factor, shape)
        found = self._located(sign * spread_out(centre, shape), factor, self.broadcast(shape))
        if found.ndim or isinstance(found, Lanes):
            return found
        if not of_numpy:
            return np.float64(found) if self._state.of_numpy else float(found)
        is_of_numpy = isinstance(value, np.generic | np.ndarray)
        return np.float64(found) if is_of_numpy else self.number(found)

    def _meet_lanes(self, value: Lanes, sign: float) -> Any:
        """Return the sum with a value of many runs."""
        shape = np.broadcast_shapes(value.shape, self.shape)
        whole = np.broadcast_to(value.spread(len(shape)), (len(value.values), *shape))
        return self._located(sign * whole, spread_out(self._factor, shape), self.broadcast(shape))

    def _add(self, other: Pending, sign: float) -> Any:
        """Return the noise of a sum: Gaussian noise adds up to Gaussian noise."""
        if other.is_decided:
            return self.meet(other.plain(), sign)
        alike = isinstance(other, PendingNoise) and self._kind == other._kind == "normal"
        # Sums of other laws have no law that is read, and sums that broadcast share a draw among
        # entries.
        if not alike or self.shape != other.shape:
            return self.plain() + sign * other.plain()
        factor = np.hypot(self._factor, other._factor)
        return PendingNoise(self._state, self._kind, (*self._sources, *other._sources), factor)

    def _times(self, number: Any, *, divide: bool = False) -> Any:
        if isinstance(number, Pending):
            return self.plain() / number.plain() if divide else self.plain() * number.plain()
        factor = np.asarray(number)
        if factor.dtype.kind not in "biuf":
            raise self.refusal("noise is multiplied by a value that is not a number")
        self._require_wide(factor)
        made = np.asarray(self._factor / factor if divide else self._factor * factor)
        return self._alike(self.broadcast(made.shape), made)

    def _require_wide(self, other: Array) -> None:
        """Refuse numbers of numpy to whose few digits a number of Python would be rounded."""
        if self._is_one_draw and other.dtype.kind == "f" and other.dtype.itemsize < 8:
            raise self.refusal("the code rounds a draw to a type of fewer than 64 bits")

    def _alike(self, sources: Sequence[Source], factor: Array) -> PendingNoise:
        return PendingNoise(self._state, self._kind, sources, factor)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not options and inputs[1] is self:
            if (mixed := self._mix_noise(inputs[0])) is not None:
                return mixed
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def _mix_noise(self, matrix: Any) -> MixedNoise | None:
        """Return a square matrix times Gaussian noise, None where it is none."""
        is_known = isinstance(matrix, np.ndarray) and matrix.dtype.kind in "iuf"
        if self.is_decided or self._kind != "normal" or not is_known or len(self.shape) != 1:
            return None
        # A matrix that is not square has noise of low rank, or of correlated entries that no
        # inverse takes apart.
        if matrix.shape != (*self.shape, *self.shape):
            return None
        return MixedNoise(self._state, self._sources, matrix * self._factor)

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
            # A noisy value is its centre plus noise: of ``x - noise`` the noise changes its sign,
            # of ``noise - x`` the centre does.
            return self._times(-1.0).meet(one) if other is self else self.meet(other, -1.0)
        if ufunc is np.multiply:
            return self._times(other if one is self else one)
        return self._times(other, divide=True) if one is self else one / self.plain()

    def __round__(self, *digits: Any) -> Any:
        is_law = self._is_one_draw and not digits  # of a number of numpy Python's integer is made
        return self._rounded(np.int64) if is_law else round(self.plain(), *digits)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in (np.round, np.around) and len(args) == 1 and not options:
            return self._rounded(float)
        return super().__array_function__(function, types, args, options)

    def _rounded(self, whole: Any) -> Any:
        """Return rounded noise: of Laplace noise, that has a law of its own."""
        if self.is_decided or self._kind != "laplace" or not np.all(self._factor):
            return np.round(self.plain()).astype(whole) if self.shape else round(self.plain())
        ratio = np.exp(-1 / np.abs(self._factor))
        return WholeNoise(self._state, "rounded laplace", self._sources, ratio, whole)

    def part(self, key: Any) -> PendingNoise:
        """Return some entries."""
        return self._alike(self._select_sources(key), np.asarray(self._factor[key]))

    def reshape(self, *shape: Any) -> Any:
        """Return the same entries in another shape."""
        if self.is_decided:
            return self.plain().reshape(*shape)
        sources = tuple((call, index.reshape(*shape)) for call, index in self._sources)
        return self._alike(sources, self._factor.reshape(*shape))

    def ravel(self) -> Any:
        """Return the same entries in one axis."""
        return self.reshape(-1)

    def astype(self, dtype: Any, **options: Any) -> Any:
        """Return the same noise; of another type than floats it is looked at."""
        if self.is_decided or np.dtype(dtype) != np.dtype(float):
            return np.asarray(self.plain()).astype(dtype, **options)
        return self

    @property
    def T(self) -> Any:
        """The transpose."""
        if self.is_decided:
            return self.plain().T
        sources = tuple((call, index.T) for call, index in self._sources)
        return self._alike(sources, self._factor.T)


class WholeNoise(Pending):
    """Noise of whole numbers.

    Parameters
    ----------
    state, sources
        As of noise.
    kind
        The law.
    ratio
        Of neighbouring probabilities, of each entry.
    whole
        What it will be: of rounded draws floats, or integers.
    """

    def __init__(
        self,
        state: LawState,
        kind: str,
        sources: Sequence[Source],
        ratio: Array,
        whole: Any = np.int64,
    ) -> None:
        super().__init__(state, sources)
        self._kind, self._ratio = kind, ratio
        self._whole: np.dtype[Any] = np.dtype(whole)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value that it becomes."""
        return self._whole

    def decide(self) -> Any:
        """Return it as a noisy value around 0."""
        return self._meet(self._zero if self.is_plain_number else np.zeros(self.shape, self._whole))

    @property
    def _zero(self) -> Any:
        """A number of Python of the kind that it will be."""
        return self._whole.type(0).item()

    def _meet(self, value: Any) -> Any:
        centre = np.asarray(value)
        shape = np.broadcast_shapes(centre.shape, self.shape)
        law = SteppedValue(spread_out(centre, shape), spread_out(self._ratio, shape))
        found = self._state.decide(self._kind, self.broadcast(shape), law)
        made = found.astype(np.result_type(centre.dtype, self._whole))[()]
        is_of_numpy = isinstance(value, np.generic | np.ndarray) or not self.is_plain_number
        return made if is_of_numpy else made.item()

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return a noisy value of a sum; noise and its negative have one law."""
        if ufunc is np.negative:
            return self
        others = [one for one in inputs if one is not self]
        if len(others) != 1 or ufunc not in (np.add, np.subtract) or not is_number(others[0]):
            return apply_plain(ufunc, inputs, {})
        if self.is_plain_number and self._is_narrow(others[0]):
            return apply_plain(ufunc, inputs, {})
        if ufunc is not np.subtract or inputs[0] is not self:
            return self._meet(others[0])
        value = np.asarray(others[0])  # of the type that the difference has: unsigned ones wrap
        return self._meet(np.negative(value.astype(np.result_type(value, self._whole))))

    def _is_narrow(self, value: Any) -> bool:
        """Return whether a number of Python takes the type of a value, and wraps where it does."""
        return np.result_type(value, self._zero) != np.result_type(value, self._whole)

    def part(self, key: Any) -> WholeNoise:
        """Return some entries."""
        ratio = np.asarray(self._ratio[key])
        return WholeNoise(self._state, self._kind, self._select_sources(key), ratio, self._whole)


class Exponential(PendingNoise):
    """Exponential noise: the difference of two of one scale is Laplace noise."""

    def decide(self) -> Any:
        """Return the draws: both sides share them."""
        kind, factor = self._kind, self._factor
        given = kind.encode() + factor.tobytes()

        def draw(rng: Generator) -> Any:
            return factor * standard_draw(kind, rng, self.shape)

        drawn = CommonDraw(
            draw, given, self.shape, lambda rng: draw(rng) * 10.0 ** rng.uniform(0, 2)
        )
        return self.number(self._state.decide("public", self._sources, drawn))

    def _located(self, centre: Array, factor: Array, sources: Sequence[Source]) -> Array:
        raise self.refusal(f"no rule for the law of {self._kind} noise that is added to a value")

    def _alike(self, sources: Sequence[Source], factor: Array) -> PendingNoise:
        return type(self)(self._state, self._kind, sources, factor)

    def _add(self, other: Pending, sign: float) -> Any:
        both = isinstance(other, Exponential) and not other.is_decided
        if both and self._kind == other._kind == "exponential":
            # Only opposite factors leave a symmetric law: two of one sign add up to a gamma law.
            opposite = np.array_equal(self._factor, -sign * other._factor)
            if opposite and np.all(self._factor != 0):
                sources = (*self._sources, *other._sources)
                return PendingNoise(self._state, "laplace", sources, np.abs(self._factor))
        return super()._add(other, sign)


class MixedNoise(Pending):
    """Gaussian noise that a square matrix mixes.

    Parameters
    ----------
    state, sources
        As of noise.
    matrix
        Times a standard normal vector.
    """

    def __init__(self, state: LawState, sources: Sequence[Source], matrix: Array) -> None:
        super().__init__(state, sources)
        self._matrix = matrix

    def decide(self) -> Any:
        """Return it as a noisy vector around 0."""
        return self._meet(np.zeros(self.shape))

    def _meet(self, centre: Any) -> Array:
        law = MixedVector(np.array(spread_out(centre, self.shape)), self._matrix)
        return self._state.decide("normal of a matrix", self._sources, law)

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return a noisy vector of a sum, or scaled noise."""
        if ufunc is np.negative:
            return MixedNoise(self._state, self._sources, -self._matrix)
        others = [one for one in inputs if one is not self]
        if len(others) != 1 or isinstance(others[0], Pending):
            return apply_plain(ufunc, inputs, {})
        centre = np.asarray(others[0])
        fits = centre.dtype.kind in "biuf" and centre.shape in ((), self.shape)
        if not fits or ufunc not in (np.add, np.subtract):
            return apply_plain(ufunc, inputs, {})
        is_first = ufunc is np.subtract and inputs[0] is self
        return self._meet(-1.0 * centre if is_first else centre)

    def part(self, key: Any) -> Any:
        """Return some entries of the decided values."""
        return self.plain()[key]
