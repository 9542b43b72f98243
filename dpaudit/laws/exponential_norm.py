r"""Noise with density proportional to ``exp(-alpha ||e||_2)`` on R^d.

Its norm is Gamma with shape d and scale 1/alpha and its direction is uniform, independent of it
(zhang2018, below eq. 24); for d = 1 it is Laplace noise of scale 1/alpha.

Tilted towards a large privacy loss it has exact draws and a normaliser in closed form. With rate 1
and a shift w of size s, the privacy loss of a draw is ``l = ||e + w|| - ||e||``. The tilted law has
density proportional to ``exp(-||e|| + theta l)``. In the coordinates of
`dpaudit.accounting.pairs.exponential_norm`, ``||e + w|| + ||e|| = s xi`` and ``l = s eta``, with
``z = s/2`` and ``y = (1 + 2 theta) z``, it is

    exp(-z xi + y eta) ((xi^2 - 1) + (1 - eta^2)) ((xi^2 - 1) (1 - eta^2))^{(d-3)/2},

a mixture of two laws under each of which xi and eta are independent: part A takes the first term of
the sum, part B the second. The tilt changes the law of eta in each part, to that of a von
Mises-Fisher cosine of concentration y in dimension d (A) or d + 2 (B), and how probable the parts
are, but not the law of xi. So a draw without a tilt, given the label A with probability
``(xi^2 - 1) / (xi^2 - eta^2)``, has the right xi for its label; labels B are kept with the
probability ``h(y) / h(z)``, ``h = 0F1(d/2 + 1; y^2/4) / 0F1(d/2; y^2/4)``, which falls in y; eta is
drawn anew. At least one draw in ``1 + 2 theta`` is kept, nearly all where s is small against d. The
normaliser is

    K(theta) = log E exp(theta l) = log (kappa + h(y)) + log 0F1(d/2; y^2/4)
             - log (kappa + h(z)) - log 0F1(d/2; z^2/4),       kappa = d z^-1 K_{d/2} / K_{d/2-1}.

In one dimension the tilted noise is Laplace's: three exponential pieces, not offered here.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betainc, gammainc, gammaln, ive, k0e, k1e

import dpaudit._check as check
from dpaudit._typing import Array


def draw_exponential_norm_noise(shape: tuple[int, ...], rate: Array, rng: Generator) -> Array:
    """Return noise of this shape, whose last axis is d.

    Parameters
    ----------
    rate
        ``alpha``, broadcastable to ``shape[:-1]``.

    Examples
    --------
    >>> noise = draw_exponential_norm_noise((1000, 20), np.array(2.0), np.random.default_rng(0))
    >>> bool(abs(np.linalg.norm(noise, axis=1).mean() - 20 / 2) < 0.5)
    True
    """
    directions = rng.standard_normal(shape)
    norms = rng.gamma(shape[-1], 1 / np.broadcast_to(rate, shape[:-1]))
    noise: Array = directions * (norms / np.linalg.norm(directions, axis=-1))[..., None]
    return noise


def convert_noise_to_uniforms(noise: Array, rate: Array) -> Array:
    """Return d independent uniforms for every noise vector, of the shape of ``noise``.

    The first is the norm through its Gamma distribution. The others are the direction, coordinate
    by coordinate given those before: on the sphere in R^m, ``(1 + z_1)/2`` is
    Beta((m-1)/2, (m-1)/2), and what is left of the vector is a uniform direction in R^(m-1). The
    last two coordinates together give one angle.

    Parameters
    ----------
    noise
        Shape ``(..., d)``.
    rate
        ``alpha``, broadcastable to ``noise.shape[:-1]``.
    """
    d = noise.shape[-1]
    if d == 1:
        tail = np.exp(-rate[..., None] * np.abs(noise)) / 2
        return np.where(noise < 0, tail, 1 - tail)
    squares = np.cumsum(noise[..., ::-1] ** 2, axis=-1)[..., ::-1]
    left = np.sqrt(squares)  # norm of coordinates k, k + 1, ..., d
    out = np.empty_like(noise)
    out[..., 0] = gammainc(d, rate * left[..., 0])
    sizes = np.arange(d, 2, -1)  # of the sphere that coordinate k lives on
    half = (sizes - 1) / 2
    out[..., 1:-1] = betainc(half, half, (1 + noise[..., :-2] / left[..., :-2]) / 2)
    out[..., -1] = (np.arctan2(noise[..., -1], noise[..., -2]) / np.pi + 1) / 2
    return out


def norm_gain(noise: Array, shift: Array) -> Array:
    """Return ``||noise + shift|| - ||noise||`` without cancellation, over the last axis.

    Examples
    --------
    >>> norm_gain(np.array([[3.0, 4.0]]), np.array([[3.0, 4.0]]))
    array([5.])
    """
    # The difference of two norms is that of their squares over their sum, and does not cancel so.
    sizes = np.linalg.norm(noise, axis=-1) + np.linalg.norm(noise + shift, axis=-1)
    gain: Array = np.sum(shift * (2 * noise + shift), axis=-1)
    return np.asarray(np.divide(gain, sizes, out=np.zeros_like(gain), where=sizes > 0))


# Sizes of a shift below which the loss is rounding.
_NO_SHIFT = 1e-100
_SERIES = 50.0  # arguments up to which the series is summed as it is
_FAR = 1e8  # arguments from which on an expansion is


def log_mgf(sizes: Array, dimension: int, tilt: float) -> Array:
    """Return ``log E exp(tilt l)`` for shifts of these sizes, of any shape.

    Parameters
    ----------
    sizes
        ``s = alpha ||w||``, at least 0.
    dimension
        ``d``, at least 2.
    tilt
        ``theta``, at least 0.

    Examples
    --------
    >>> from dpaudit.accounting.pairs.exponential_norm import ExponentialNormPair
    >>> pair = ExponentialNormPair(0.3, 20)
    >>> both = log_mgf(np.array([0.3]), 20, 7.0), pair.log_mgf(np.array([7.0]))
    >>> bool(abs(both[0] - both[1]) < 1e-12)
    True
    """
    check.require_integer("dimension", dimension, least=2)
    check.non_negative("tilt", tilt)
    # The ratio of Bessel functions has no value at 0.
    z = np.maximum(np.asarray(sizes, dtype=np.float64) / 2, _NO_SHIFT)
    y = (1 + 2 * tilt) * z
    first = dimension * _bessel_ratio(dimension, z)
    parts = (first + z * z * _compute_0f1_ratio(dimension, y)) / (
        first + z * z * _compute_0f1_ratio(dimension, z)
    )
    half = dimension / 2
    return np.asarray(_log_0f1(half, y) - _log_0f1(half, z) + np.log(parts))


def draw_tilted(shifts: Array, tilt: float, rng: Generator) -> Array:
    """Return noise of rate 1 tilted by ``tilt`` towards the loss ``||e + w|| - ||e||``.

    Parameters
    ----------
    shifts
        ``w``, shape ``(..., d)`` with d at least 2: one a draw. Where it is 0 nothing is tilted.
    tilt
        ``theta``, at least 0.

    Examples
    --------
    >>> shifts = np.tile([0.6, 0.8], (10_000, 1))
    >>> noise = draw_tilted(shifts, 3.0, np.random.default_rng(0))
    >>> loss = norm_gain(noise, shifts)
    >>> weights = np.exp(log_mgf(np.array(1.0), 2, 3.0) - 3.0 * loss)
    >>> bool(abs(weights.mean() - 1) < 0.02)
    True
    """
    d = check.require_integer("dimension", shifts.shape[-1], least=2)
    check.non_negative("tilt", tilt)
    flat = shifts.reshape(-1, d)
    sizes = np.linalg.norm(flat, axis=1)
    noise = draw_exponential_norm_noise(flat.shape, np.ones(()), rng)
    moved = np.flatnonzero(sizes > _NO_SHIFT) if tilt > 0 else np.empty(0, dtype=np.intp)
    if len(moved):
        units = flat[moved] / sizes[moved, None]
        noise[moved] = _draw_tilted_noise(units, sizes[moved], tilt, rng)
    return noise.reshape(shifts.shape)


def _draw_tilted_noise(units: Array, sizes: Array, tilt: float, rng: Generator) -> Array:
    d = units.shape[1]
    kept = _compute_kept_share(d, sizes, tilt)
    excess, side = np.empty(len(sizes)), np.empty_like(units)
    second = np.zeros(len(sizes), dtype=np.bool_)
    left = np.arange(len(sizes))
    while len(left):
        noise = draw_exponential_norm_noise((len(left), d), np.ones(()), rng)
        beyond, label = _draw_noise_labels(noise, units[left], sizes[left], rng)
        keep = ~label | (rng.random(len(left)) < kept[left])
        done = left[keep]
        excess[done], second[done] = beyond[keep], label[keep]
        side[done] = _compute_across_units(noise[keep], units[done])
        left = left[~keep]
    short = _short_of_one(np.where(second, d + 2.0, d), (0.5 + tilt) * sizes, rng)
    along = sizes / 2 * (excess - (1 + excess) * short)
    across = sizes / 2 * np.sqrt(excess * (2 + excess) * short * (2 - short))
    return np.asarray(along[:, None] * units + across[:, None] * side)


def _draw_noise_labels(
    noise: Array, units: Array, sizes: Array, rng: Generator
) -> tuple[Array, NDArray[np.bool_]]:
    """Return ``xi - 1`` of draws without a tilt, and whether each has the label B.

    No difference of nearly equal numbers is taken, however large the shift.
    """
    near = np.linalg.norm(noise, axis=1)
    far = np.linalg.norm(noise + sizes[:, None] * units, axis=1)
    along = np.sum(noise * units, axis=1)
    beyond = near + (near * near + 2 * sizes * along) / (far + sizes)
    excess = np.maximum(beyond / sizes, 0.0)
    chance = excess * (2 + excess)  # xi^2 - 1; and xi - eta, xi + eta are norms over s/2
    return excess, rng.random(len(near)) * 4 * (near / sizes) * (far / sizes) >= chance


def _compute_across_units(noise: Array, units: Array) -> Array:
    """Return the unit vectors of the noise across the shift."""
    across = noise - np.sum(noise * units, axis=1)[:, None] * units
    return np.asarray(across / np.linalg.norm(across, axis=1)[:, None])


def _compute_kept_share(dimension: int, sizes: Array, tilt: float) -> Array:
    z = sizes / 2
    return _compute_0f1_ratio(dimension, (1 + 2 * tilt) * z) / _compute_0f1_ratio(dimension, z)


def _short_of_one(dimensions: Array, concentrations: Array, rng: Generator) -> Array:
    """Return ``1 - c`` for c of density ``exp(y c) (1 - c^2)^((m-3)/2)`` on [-1, 1] (Wood 1994).

    Large concentrations leave c next to 1: what it falls short by is drawn, and nowhere rounded.
    """
    spare = dimensions - 1
    b = spare / (2 * concentrations + np.hypot(2 * concentrations, spare))
    out, left = np.empty(len(spare)), np.arange(len(spare))
    while len(left):
        m, c, narrow = spare[left], concentrations[left], b[left]
        beta = rng.beta(m / 2, m / 2)
        scale = 1 - (1 - narrow) * beta
        short = 2 * narrow * beta / scale
        height = c * (2 * narrow / (1 + narrow) - short) + m * np.log((1 + narrow) / (2 * scale))
        keep = height >= np.log(rng.random(len(left)))
        out[left[keep]] = short[keep]
        left = left[~keep]
    return out


def _bessel_ratio(dimension: int, z: Array) -> Array:
    """Return ``z K_{d/2}(z) / K_{d/2-1}(z)`` by the recurrence, stable upwards in d."""
    even = dimension % 2 == 0
    # The recurrence starts at order 0, or at -1/2, whose ratio is z as K is even in its order.
    order, ratio = (0.0, z * k1e(z) / k0e(z)) if even else (-0.5, z)
    while order < dimension / 2 - 1:
        order += 1
        ratio = 2 * order + z * (z / ratio)
    return np.asarray(ratio)


def _compute_0f1_ratio(dimension: int, y: Array) -> Array:
    """Return ``0F1(d/2 + 1; y^2/4) / 0F1(d/2; y^2/4)``."""
    half = dimension / 2
    return np.asarray(np.exp(_log_0f1(half + 1, y) - _log_0f1(half, y)))


def _log_0f1(b: float, y: Array) -> Array:
    """Return ``log 0F1(b; y^2/4)``: through Bessel's I where it has one, else by its series."""
    y = np.asarray(y, dtype=np.float64)
    large = y > _FAR
    near_bessel = ive(b - 1, np.minimum(y, _FAR))
    bessel = np.where(large, _far_bessel(b - 1, np.maximum(y, _FAR)), near_bessel)
    summed = (y <= _SERIES) | ~(bessel > 1e-290)
    out = np.empty_like(y)
    far, near = ~summed, y[summed]
    out[far] = gammaln(b) - (b - 1) * np.log(y[far] / 2) + np.log(bessel[far]) + y[far]
    out[summed] = _log_series(b, near)
    return out


def _far_bessel(order: float, y: Array) -> Array:
    """Return ``exp(-y) I_order(y)`` by Debye's expansion: the library ends; any order."""
    radius = np.hypot(order, y)
    exponent = order**2 / (radius + y) - order * np.arcsinh(order / y)
    correction = 1 + (3 - 5 * (order / radius) ** 2) / (24 * radius)
    return np.asarray(np.exp(exponent) * correction / np.sqrt(2 * np.pi * radius))


def _log_series(b: float, y: Array) -> Array:
    """Return the logarithm of ``sum_k (y^2/4)^k / ((b)_k k!)``, rescaled on the way."""
    square = y * y / 4
    term, rest, k = np.ones_like(y), np.zeros_like(y), 0
    scale = np.zeros_like(y)
    while (term > 1e-17 * rest).any() and (term > 0).any():
        term = term * (square / ((b + k) * (k + 1)))
        rest = rest + term
        k += 1
        large = rest > 1e250
        if large.any():
            shrink = np.where(large, rest, 1.0)
            term, rest = term / shrink, rest / shrink
            scale = scale + np.log(shrink)
    # The first term, 1, is not in the sum: log1p keeps small sums exact, and beside 1e250 it is
    # nothing.
    return np.asarray(np.where(scale > 0, scale + np.log(np.maximum(rest, 1e-300)), np.log1p(rest)))
