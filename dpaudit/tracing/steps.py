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
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.reals import Real, log


class Located(NamedTuple):
    """Centre and scale of a noisy value, shape as the value."""

    centre: Array
    scale: Array


@dataclass(frozen=True)
class Law:
    """A law with location and scale, of entries that are independent.

    Parameters
    ----------
    log_density
        Of an entry at a number of scales from its centre, of scale 1.
    distribution
        Its distribution function there.
    draw
        Draws of scale 1, of a shape.
    tilt
        Returns a tilted value and its ``K``, both scales the same.
    mean_loss
        Expected loss of entries whose centres are so many scales apart, both scales the same.
    enclosed
        The negative log-density but for the scale, with an error bound.
    """

    log_density: Callable[[Array], Array]
    distribution: Callable[[Array], Array]
    draw: Callable[[Generator, tuple[int, ...]], Array]
    tilt: Callable[[Located, Array, float, Generator], tuple[Array, float]]
    mean_loss: Callable[[Array], Array]
    enclosed: Callable[[Real], Real]

    def loss(self, value: Array, own: Located, other: Located) -> float:
        """Return the log-density on the dataset over that on the neighbour."""
        here = self.log_density((value - own.centre) / own.scale) - np.log(own.scale)
        there = self.log_density((value - other.centre) / other.scale) - np.log(other.scale)
        return float(np.sum(here - there))

    def divergence(self, own: Located, other: Located) -> float:
        """Return the expected loss, as if both had the dataset's scale."""
        return float(np.sum(self.mean_loss(np.abs(other.centre - own.centre) / own.scale)))

    def uniforms(self, value: Array, own: Located) -> Array:
        """Return what is uniform on (0, 1) if the value has this law, shape as the value."""
        return self.distribution((value - own.centre) / own.scale)

    def enclosed_loss(self, value: Array, own: Located, other: Located) -> Real:
        """Return the loss with its error bound; doubles enter as the rationals that they are."""
        total = Real(0.0)
        sides = (own.centre, own.scale, other.centre, other.scale)
        for v, x, s, y, t in zip(value.flat, *(one.flat for one in sides), strict=True):
            total = total + self.enclosed((Real(float(v)) - Real(float(y))) / Real(float(t)))
            total = total - self.enclosed((Real(float(v)) - Real(float(x))) / Real(float(s)))
            if s != t:
                total = total + log(Real(float(t))) - log(Real(float(s)))
        return total


def _tilt_gaussian(own: Located, shift: Array, tilt: float, rng: Generator) -> tuple[Array, float]:
    drawn = rng.standard_normal(own.centre.shape)
    value = own.centre - tilt * shift + own.scale * drawn
    return value, tilt * (1 + tilt) / 2 * float(np.sum((shift / own.scale) ** 2))


def _tilt_laplace(own: Located, shift: Array, tilt: float, rng: Generator) -> tuple[Array, float]:
    apart = np.abs(shift) / own.scale
    pieces = _log_pieces(apart, tilt)
    log_mass = np.logaddexp(np.logaddexp(pieces[0], pieces[1]), pieces[2])
    which, inside = rng.random(apart.shape), rng.random(apart.shape)
    first, second = (np.exp(piece - log_mass) for piece in pieces[:2])
    slope = 1 + 2 * tilt
    below = np.log1p(-inside)
    between = -np.log1p(inside * np.expm1(-slope * apart)) / slope
    beyond = apart - np.log1p(-inside)
    scales = np.where(which < first, below, np.where(which < first + second, between, beyond))
    towards = np.where(shift < 0, -1.0, 1.0)
    value = own.centre + towards * own.scale * scales
    return value, float(np.sum(log_mass - math.log(2)))


def _log_pieces(apart: Array, tilt: float) -> tuple[Array, Array, Array]:
    """Return the logarithms of twice the masses below x, up to x', and beyond."""
    slope = 1 + 2 * tilt
    with np.errstate(divide="ignore"):
        between = tilt * apart + np.log(-np.expm1(-slope * apart)) - math.log(slope)
    return tilt * apart, between, -(1 + tilt) * apart


def _laplace_distribution(scales: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(scales))
    return np.where(scales < 0, tail, 1 - tail)


LAWS = {
    "normal": Law(
        log_density=lambda z: -(z**2) / 2,
        distribution=ndtr,
        draw=lambda rng, shape: rng.standard_normal(shape),
        tilt=_tilt_gaussian,
        mean_loss=lambda apart: apart**2 / 2,
        enclosed=lambda z: z * z / Real(2.0),
    ),
    "laplace": Law(
        log_density=lambda z: -np.abs(z),
        distribution=_laplace_distribution,
        draw=lambda rng, shape: rng.laplace(size=shape),
        tilt=_tilt_laplace,
        mean_loss=lambda apart: apart + np.expm1(-apart),
        enclosed=abs,
    ),
}
"""By the kind that an intercepted primitive has."""


def draw_tilted(
    kind: str, own: Located, other: Located, tilt: float, rng: Generator
) -> tuple[Array, float, float]:
    """Return a noisy value drawn tilted, its loss, and ``log p/r + theta loss``.

    Examples
    --------
    >>> here, there = (Located(np.array([x]), np.array([1.0])) for x in (0.0, 1.0))
    >>> value, loss, log_mgf = draw_tilted("normal", here, there, 2.0, np.random.default_rng(0))
    >>> log_mgf, bool(loss > 0)
    (3.0, True)
    """
    law = LAWS[kind]
    if np.array_equal(own.scale, other.scale):
        value, log_mgf = law.tilt(own, other.centre - own.centre, tilt, rng)
        return value, law.loss(value, own, other), log_mgf
    value = own.centre + own.scale * law.draw(rng, own.centre.shape)
    loss = law.loss(value, own, other)
    return value, loss, tilt * loss
