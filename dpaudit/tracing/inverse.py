"""Noise that is made of one uniform draw, by the inverse of a distribution function.

On either half of (0, 1) such noise is affine in the draw u, or affine in ``log(c + d u)``: so are
absolute values and signs of what changes its sign at 1/2, their products with constants, and
logarithms. Two forms are laws that are read, and anything else is decided by itself:

* ``b log(2 u)`` below 1/2 and ``-b log(2 (1 - u))`` above it is Laplace noise of scale ``|b|``;
* ``-b log(u)`` or ``-b log(1 - u)`` everywhere is exponential noise of scale b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.tracing.located_noise import Exponential, PendingNoise
from dpaudit.tracing.pending import Pending, apply_plain

_ROUNDING = 1e-12  # of a scale, in constants that cancel


@dataclass(frozen=True)
class InversePiece:
    """``offset + slope * u`` on one half, or ``offset + slope * log(inner[0] + inner[1] * u)``."""

    offset: float
    slope: float
    inner: tuple[float, float] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it is one number."""
        return self.slope == 0

    def at(self, u: float) -> float:
        """Return the value of an affine piece."""
        return self.offset + self.slope * u

    def moved(self, number: float) -> InversePiece:
        """Return the piece plus a number."""
        return replace(self, offset=self.offset + number)

    def scaled(self, number: float) -> InversePiece:
        """Return the piece times a number."""
        return replace(self, offset=self.offset * number, slope=self.slope * number)


Halves = tuple[InversePiece, InversePiece]  # below 1/2, and above it


def _compute_piece_logarithm(
    piece: InversePiece, more: float, ends: tuple[float, float]
) -> InversePiece | None:
    """Return the logarithm of an affine piece and a number, positive between the ends."""
    if piece.inner is not None:
        return None
    inner = piece.moved(more)
    low, high = sorted(inner.at(end) for end in ends)
    # At an end the logarithm may be of 0: a uniform draw is there with probability 0.
    return InversePiece(0.0, 1.0, (inner.offset, inner.slope)) if low >= 0 and high > 0 else None


def _find_piece_sign(piece: InversePiece, ends: tuple[float, float]) -> float | None:
    """Return the sign of an affine piece between the ends, None where it changes."""
    if piece.inner is not None:
        return None
    low, high = sorted(piece.at(end) for end in ends)
    if low >= 0 and high > 0:
        return 1.0
    return -1.0 if high <= 0 and low < 0 else None


def _make_absolute_piece(piece: InversePiece, ends: tuple[float, float]) -> InversePiece | None:
    side = _find_piece_sign(piece, ends)
    return None if side is None else piece.scaled(side)


def _make_sign_piece(piece: InversePiece, ends: tuple[float, float]) -> InversePiece | None:
    side = _find_piece_sign(piece, ends)
    return None if side is None else InversePiece(side, 0.0)


_OF_ONE: dict[Any, Callable[[InversePiece, tuple[float, float]], InversePiece | None]] = {
    np.absolute: _make_absolute_piece,
    np.sign: _make_sign_piece,
    np.log: lambda piece, ends: _compute_piece_logarithm(piece, 0.0, ends),
    np.log1p: lambda piece, ends: _compute_piece_logarithm(piece, 1.0, ends),
    np.negative: lambda piece, ends: piece.scaled(-1.0),
    np.positive: lambda piece, ends: piece,
}
_ENDS = (0.0, 0.5), (0.5, 1.0)


class Inverse(Pending):
    """A function of one uniform draw an entry, the same for all entries.

    Parameters
    ----------
    base
        The uniform draws.
    halves
        The function.
    values
        Computes it, from what the draws are.
    """

    def __init__(self, base: Pending, halves: Halves, values: Callable[[Any], Any]) -> None:
        super().__init__(base._state, base._sources)
        self._base, self._halves, self._values = base, halves, values

    def decide(self) -> Any:
        """Return the function of the draws: both sides share them."""
        return self._values(self._base.plain())

    def noise(self) -> PendingNoise | None:
        """Return the noise that it is, None where no law is read of it."""
        one, other = self._halves
        if one.inner is None or other.inner is None:
            return None
        # ``-log(u)`` and ``-log(1 - u)`` alone: with any other argument the noise begins elsewhere
        # than at 0.
        if one == other and one.inner in ((0.0, 1.0), (1.0, -1.0)) and one.offset == 0:
            return Exponential(self._state, "exponential", self._sources, self._spread(-one.slope))
        if one.slope == -other.slope and _is_laplace(one, other):
            return PendingNoise(self._state, "laplace", self._sources, self._spread(abs(one.slope)))
        return None

    def _spread(self, number: float) -> Array:
        return np.full(self.shape, number)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        is_plain = method != "__call__" or self.is_decided or self._base.is_decided
        if is_plain or ufunc not in _OF_ONE or options:
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        made = function_of_uniform(self._base, self._halves, ufunc, self._values)
        return apply_plain(ufunc, inputs, {}) if made is None else made

    def combine(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Return the function of both, or a noisy value where noise of a known law is added."""
        if all(isinstance(one, Inverse) and one._base is self._base for one in inputs):
            halves = (
                _multiply_halves(*(one._halves for one in inputs)) if ufunc is np.multiply else None
            )
            if halves is not None:
                first, second = (one._values for one in inputs)
                return Inverse(self._base, halves, lambda u: first(u) * second(u))
            return apply_plain(ufunc, inputs, {})
        if (halves := self._combine_pieces(ufunc, inputs)) is not None:
            values, at = self._values, 0 if inputs[0] is self else 1
            number = inputs[1 - at]
            return Inverse(
                self._base, halves,
                lambda u: ufunc(values(u), number) if at == 0 else ufunc(number, values(u)),
            )  # fmt: skip
        made = [one.noise() if isinstance(one, Inverse) else one for one in inputs]
        return (
            apply_plain(ufunc, inputs, {})
            if None in map(_make_missing_marker, made)
            else ufunc(*made)
        )

    def _combine_pieces(self, ufunc: Any, inputs: tuple[Any, ...]) -> Halves | None:
        """Return the pieces scaled or, of affine ones, moved; None if noise is to be added."""
        number = inputs[1] if inputs[0] is self else inputs[0]
        if isinstance(number, Pending) or np.ndim(number) or not np.isreal(number):
            return None
        one, other = self._halves
        value = float(number)
        if ufunc is np.multiply:
            return one.scaled(value), other.scaled(value)
        if ufunc is np.true_divide and inputs[0] is self and value != 0:
            return one.scaled(1 / value), other.scaled(1 / value)
        if ufunc not in (np.add, np.subtract) or one.inner is not None or other.inner is not None:
            return None
        sign = -1.0 if ufunc is np.subtract and inputs[1] is self else 1.0
        move = -value if ufunc is np.subtract and inputs[0] is self else value
        return one.scaled(sign).moved(move), other.scaled(sign).moved(move)

    def part(self, key: Any) -> Inverse:
        """Return some entries."""
        return Inverse(self._base.part(key), self._halves, self._values)


def _make_missing_marker(value: Any) -> Any:
    return None if value is None else False


def _is_laplace(one: InversePiece, other: InversePiece) -> bool:
    """Return whether arguments are multiples of u and of 1 - u, and nothing is left to add."""
    assert one.inner is not None
    assert other.inner is not None
    if one.inner[0] != 0 or one.inner[1] <= 0 or other.inner[0] != -other.inner[1]:
        return False
    # ``b log(c u)`` is ``b log(2 u) + b log(c / 2)``: noise around 0 only if that cancels with the
    # offset.
    rest = one.offset + one.slope * math.log(one.inner[1] / 2)
    also = other.offset + other.slope * math.log(other.inner[0] / 2)
    return max(abs(rest), abs(also)) <= _ROUNDING * abs(one.slope)


def _multiply_halves(one: Halves, other: Halves) -> Halves | None:
    """Return the product of two functions, one of which is constant on either half."""
    if all(piece.is_constant for piece in other):
        one, other = other, one
    if not all(piece.is_constant for piece in one):
        return None
    return other[0].scaled(one[0].offset), other[1].scaled(one[1].offset)


def function_of_uniform(
    base: Pending, halves: Halves, ufunc: Any, values: Callable[[Any], Any]
) -> Inverse | None:
    """Return a function of uniform draws after one more step, None where no piece is known."""
    found = [_OF_ONE[ufunc](piece, ends) for piece, ends in zip(halves, _ENDS, strict=True)]
    below, above = found
    if below is None or above is None:
        return None
    return Inverse(base, (below, above), lambda u: ufunc(values(u)))
