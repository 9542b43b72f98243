r"""The law of one noisy value, given its centre and scale on either side: loss, tilt, residual.

| symbol | name           | meaning                                             |
|--------|----------------|-----------------------------------------------------|
| v      | ``value``      | the noisy value, the same in both runs              |
| x, s   | ``own``        | its centre and scale on the dataset                 |
| x', s' | ``other``      | on the neighbour, after the same history            |
| theta  | ``tilt``       | draws come from ``p^(1 + theta) q^(-theta)``, scaled |

Gaussian noise with one scale: loss ``((v - x')^2 - (v - x)^2) / (2 s^2)``, tilted mean
``x - theta (x' - x)``, and ``K(theta) = theta (1 + theta) / 2 ((x' - x) / s)^2``.

Laplace noise with one scale, in units of it and with ``a = |x' - x| / s``: the tilted density is
``exp(u + theta a)`` below x, ``exp(theta a - (1 + 2 theta) u)`` up to x', ``exp(-u - theta a)``
beyond, over ``2 exp K``. Where scales differ, draws are not tilted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from flint import arb, arb_mat
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.reals import Real, log


class NoiseLaw(Protocol):
    """The law of one kind of noisy value; ``own`` and ``other`` are its parameters on two sides."""

    @property
    def is_unbounded(self) -> bool:
        """Whether values far enough out have any loss."""
        ...

    def draw(self, own: Any, rng: Generator) -> Array:
        """Return a noisy value."""
        ...

    def settle(self, value: Array, own: Any) -> Array | None:
        """Return the nearest possible value, None where the nearest one is another."""
        ...

    def loss(self, value: Array, own: Any, other: Any) -> float:
        """Return the log-density on the dataset over that on the neighbour."""
        ...

    def enclosed_loss(self, value: Array, own: Any, other: Any) -> Real:
        """Return the loss with its error bound; doubles enter as the rationals that they are."""
        ...

    def tilted(
        self, own: Any, other: Any, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return a value drawn tilted, its loss, and ``log p/r + tilt * loss``."""
        ...

    def divergence(self, own: Any, other: Any) -> float:
        """Return the expected loss, roughly."""
        ...

    def moved(self, own: Any, other: Any) -> float:
        """Return how far the law moves, in a unit of its own."""
        ...

    def scale(self, own: Any) -> Array:
        """Return how wide the noise of each entry is, shape as the value."""
        ...

    def uniforms(self, value: Array, own: Any, rng: Generator) -> Array:
        """Return numbers that are uniform on (0, 1), and independent, if the value has this law."""
        ...


class LocatedValue(NamedTuple):
    """Centre and scale of a noisy value, shape as the value.

    Of many runs at once the centre has one axis more, the first: one centre a run.
    """

    centre: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.scale.shape

    @property
    def refusal(self) -> str | None:
        """Why no value has this law, if none has."""
        if np.isfinite(self.centre).all() and self.scale.min(initial=1.0) > 0:
            return None
        return "a centre that is not a number, or a scale that is not above 0"

    def widened(self, times: float) -> LocatedValue:
        """Return the same centre with wider noise."""
        return LocatedValue(self.centre, self.scale * times)


@dataclass(frozen=True)
class LocatedLaw:
    """A law with location and scale, of entries that are independent.

    Parameters
    ----------
    log_density
        Of an entry at a number of scales from its centre, of scale 1.
    distribution
        Its distribution function there.
    standard
        Draws of scale 1, of a shape.
    tilt
        Returns a tilted value and the ``K`` of each entry, both scales the same.
    mean_loss
        Expected loss of entries whose centres are so many scales apart, both scales the same.
    enclosed
        The negative log-density but for the scale, with an error bound.
    is_unbounded
        Whether values far enough out have any loss.
    """

    log_density: Callable[[Array], Array]
    distribution: Callable[[Array], Array]
    standard: Callable[[Generator, tuple[int, ...]], Array]
    tilt: Callable[[LocatedValue, Array, float, Generator], tuple[Array, Array]]
    mean_loss: Callable[[Array], Array]
    enclosed: Callable[[Real], Real]
    is_unbounded: bool = False

    def draw(self, own: LocatedValue, rng: Generator) -> Array:
        """Return a noisy value."""
        return np.asarray(own.centre + own.scale * self.standard(rng, own.centre.shape))

    def settle(self, value: Array, own: LocatedValue) -> Array | None:
        """Return the value: every number is possible."""
        return value

    def loss(self, value: Array, own: LocatedValue, other: LocatedValue) -> float:
        """Return the log-density on the dataset over that on the neighbour."""
        return float(np.sum(self.log_ratio(value, own, other)))

    def log_ratio(self, value: Array, own: LocatedValue, other: LocatedValue) -> Array:
        """Return the same of each entry, shape as the value."""
        here = self.log_density((value - own.centre) / own.scale) - np.log(own.scale)
        there = self.log_density((value - other.centre) / other.scale) - np.log(other.scale)
        return here - there

    def divergence(self, own: LocatedValue, other: LocatedValue) -> float:
        """Return the expected loss, as if both had the dataset's scale."""
        return float(np.sum(self.mean_loss(np.abs(other.centre - own.centre) / own.scale)))

    def moved(self, own: LocatedValue, other: LocatedValue) -> float:
        """Return how far the centre moves, in the norm of the noise."""
        shift = other.centre - own.centre
        return float(np.linalg.norm(shift) if self.is_unbounded else np.abs(shift).sum())

    def scale(self, own: LocatedValue) -> Array:
        """Return the scale of each entry."""
        return own.scale

    def tilted(
        self, own: LocatedValue, other: LocatedValue, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return a value drawn tilted; as it is where the scales differ."""
        value, loss, log_mgf = self.draw_tilted_entries(own, other, tilt, rng)
        return value, float(np.sum(loss)), float(np.sum(log_mgf))

    def draw_tilted_entries(
        self, own: LocatedValue, other: LocatedValue, tilt: float, rng: Generator
    ) -> tuple[Array, Array, Array]:
        """Return the same with the loss and the logarithm of each entry, shape as the value."""
        # Of other scales the tilted density may have no integral: draws are then those of the
        # dataset, with the tilt in the weight.
        if np.array_equal(own.scale, other.scale):
            value, log_mgf = self.tilt(own, other.centre - own.centre, tilt, rng)
            return value, self.log_ratio(value, own, other), log_mgf
        value = self.draw(own, rng)
        loss = self.log_ratio(value, own, other)
        return value, loss, tilt * loss

    def uniforms(self, value: Array, own: LocatedValue, rng: Generator) -> Array:
        """Return numbers uniform on (0, 1) if the value has this law, of the same shape."""
        return self.distribution((value - own.centre) / own.scale)

    def enclosed_loss(self, value: Array, own: LocatedValue, other: LocatedValue) -> Real:
        """Return the loss with its error bound; doubles enter as the rationals that they are."""
        total = Real(0.0)
        sides = (own.centre, own.scale, other.centre, other.scale)
        for v, x, s, y, t in zip(value.flat, *(one.flat for one in sides), strict=True):
            total = total + self.enclosed((Real(float(v)) - Real(float(y))) / Real(float(t)))
            total = total - self.enclosed((Real(float(v)) - Real(float(x))) / Real(float(s)))
            # The logarithms of equal scales cancel; written out, their error bounds would not.
            if s != t:
                total = total + log(Real(float(t))) - log(Real(float(s)))
        return total


def _tilt_gaussian(
    own: LocatedValue, shift: Array, tilt: float, rng: Generator
) -> tuple[Array, Array]:
    drawn = rng.standard_normal(own.centre.shape)
    value = own.centre - tilt * shift + own.scale * drawn
    return value, tilt * (1 + tilt) / 2 * (shift / own.scale) ** 2


def _tilt_laplace(
    own: LocatedValue, shift: Array, tilt: float, rng: Generator
) -> tuple[Array, Array]:
    apart = np.abs(shift) / own.scale
    pieces = _log_pieces(apart, tilt)
    log_mass = np.logaddexp(np.logaddexp(pieces[0], pieces[1]), pieces[2])
    which, inside = rng.random(apart.shape), rng.random(apart.shape)
    first, second = (np.exp(piece - log_mass) for piece in pieces[:2])
    slope = 1 + 2 * tilt
    below = np.log1p(-inside)
    # The inverse of the distribution function of an exponential density that is cut off at both
    # centres.
    between = -np.log1p(inside * np.expm1(-slope * apart)) / slope
    beyond = apart - np.log1p(-inside)
    scales = np.where(which < first, below, np.where(which < first + second, between, beyond))
    towards = np.where(shift < 0, -1.0, 1.0)
    value = own.centre + towards * own.scale * scales
    return value, log_mass - math.log(2)


def _log_pieces(apart: Array, tilt: float) -> tuple[Array, Array, Array]:
    """Return the logarithms of twice the masses below x, up to x', and beyond."""
    slope = 1 + 2 * tilt
    with np.errstate(divide="ignore"):
        between = tilt * apart + np.log(-np.expm1(-slope * apart)) - math.log(slope)
    return tilt * apart, between, -(1 + tilt) * apart


def _laplace_distribution(scales: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(scales))
    return np.where(scales < 0, tail, 1 - tail)


class MixedVector(NamedTuple):
    """Centre of a noisy vector, and the matrix that independent standard noise is multiplied by."""

    centre: Array
    matrix: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.centre.shape

    @property
    def refusal(self) -> str | None:
        """Why no value has this law, if none has."""
        if not (np.isfinite(self.centre).all() and np.isfinite(self.matrix).all()):
            return "a centre or a matrix of noise that is not a number"
        if np.linalg.cond(self.matrix) > _SINGULAR:
            return "noise of low rank"
        return None

    def widened(self, times: float) -> MixedVector:
        """Return the same centre with wider noise."""
        return MixedVector(self.centre, self.matrix * times)


_SINGULAR = 1e6  # condition numbers, beyond which what is solved for is lost in rounding


class MixedGaussian:
    r"""Gaussian noise of full rank: ``v = x + A z``, with a square matrix A and z standard normal.

    The loss is ``(||A'^-1 (v - x')||^2 - ||A^-1 (v - x)||^2) / 2 + log |det A' / det A|``. Where
    the matrices are the same, it is that of ``A^-1 v``, whose noise is independent.
    """

    is_unbounded = True

    def draw(self, own: MixedVector, rng: Generator) -> Array:
        """Return a noisy vector."""
        return np.asarray(own.centre + own.matrix @ rng.standard_normal(own.shape))

    def settle(self, value: Array, own: MixedVector) -> Array | None:
        """Return the value: every vector is possible."""
        return value

    def _noise(self, value: Array, own: MixedVector) -> Array:
        return np.asarray(np.linalg.solve(own.matrix, value - own.centre))

    def loss(self, value: Array, own: MixedVector, other: MixedVector) -> float:
        """Return the log-density on the dataset over that on the neighbour."""
        here, there = (self._noise(value, one) for one in (own, other))
        (_, size), (_, other_size) = (np.linalg.slogdet(one.matrix) for one in (own, other))
        return float((there @ there - here @ here) / 2 + other_size - size)

    def enclosed_loss(self, value: Array, own: MixedVector, other: MixedVector) -> Real:
        """Return the loss with its error bound; doubles enter as the rationals that they are."""
        total = Real(0.0)
        for sign, one in ((-0.5, own), (0.5, other)):
            pairs = zip(value.tolist(), one.centre.tolist(), strict=True)
            shift = arb_mat([[arb(v) - arb(x)] for v, x in pairs])
            matrix = arb_mat([[arb(float(entry)) for entry in row] for row in one.matrix])
            noise = matrix.solve(shift)
            total = total + Real(sign) * Real((noise.transpose() * noise)[0, 0])
            total = total + Real(2 * sign) * log(abs(Real(matrix.det())))
        return total

    def tilted(
        self, own: MixedVector, other: MixedVector, tilt: float, rng: Generator
    ) -> tuple[Array, float, float]:
        """Return a value drawn tilted; as it is where the matrices differ."""
        shift = other.centre - own.centre
        if not np.array_equal(own.matrix, other.matrix):
            value = self.draw(own, rng)
            loss = self.loss(value, own, other)
            return value, loss, tilt * loss
        value = self.draw(MixedVector(own.centre - tilt * shift, own.matrix), rng)
        square = float(np.sum(np.linalg.solve(own.matrix, shift) ** 2))
        return value, self.loss(value, own, other), tilt * (1 + tilt) / 2 * square

    def divergence(self, own: MixedVector, other: MixedVector) -> float:
        """Return the expected loss, as if both had the dataset's matrix."""
        return self.moved(own, other) ** 2 / 2

    def moved(self, own: MixedVector, other: MixedVector) -> float:
        """Return how far the centre moves, in units of the noise."""
        return float(np.linalg.norm(self._noise(other.centre, own)))

    def scale(self, own: MixedVector) -> Array:
        """Return the least standard deviation of any direction, for every entry."""
        return np.full(own.shape, np.linalg.svd(own.matrix, compute_uv=False)[-1])

    def uniforms(self, value: Array, own: MixedVector, rng: Generator) -> Array:
        """Return numbers that are uniform on (0, 1), and independent, if the value has this law."""
        return np.asarray(ndtr(self._noise(value, own)))


LAWS = {
    "normal": LocatedLaw(
        log_density=lambda z: -(z**2) / 2,
        distribution=ndtr,
        standard=lambda rng, shape: rng.standard_normal(shape),
        tilt=_tilt_gaussian,
        mean_loss=lambda apart: apart**2 / 2,
        enclosed=lambda z: z * z / Real(2.0),
        is_unbounded=True,
    ),
    "laplace": LocatedLaw(
        log_density=lambda z: -np.abs(z),
        distribution=_laplace_distribution,
        standard=lambda rng, shape: rng.laplace(size=shape),
        tilt=_tilt_laplace,
        mean_loss=lambda apart: apart + np.expm1(-apart),
        enclosed=abs,
    ),
}
"""By the kind that an intercepted primitive has."""
