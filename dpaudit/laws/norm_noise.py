r"""Noise with density proportional to ``exp(-alpha ||e||_2)`` on R^d.

Its norm is Gamma with shape d and scale 1/alpha and its direction is uniform, independent of it
(zhang2018, below eq. 24); for d = 1 it is Laplace noise of scale 1/alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.special import betainc, gammainc

from dpaudit._typing import Array


def draw(shape: tuple[int, ...], rate: Array, rng: Generator) -> Array:
    """Return noise of this shape, whose last axis is d.

    Parameters
    ----------
    rate
        ``alpha``, broadcastable to ``shape[:-1]``.

    Examples
    --------
    >>> noise = draw((1000, 20), np.array(2.0), np.random.default_rng(0))
    >>> bool(abs(np.linalg.norm(noise, axis=1).mean() - 20 / 2) < 0.5)
    True
    """
    directions = rng.standard_normal(shape)
    norms = rng.gamma(shape[-1], 1 / np.broadcast_to(rate, shape[:-1]))
    noise: Array = directions * (norms / np.linalg.norm(directions, axis=-1))[..., None]
    return noise


def uniforms(noise: Array, rate: Array) -> Array:
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
    sizes = np.linalg.norm(noise, axis=-1) + np.linalg.norm(noise + shift, axis=-1)
    gain: Array = np.sum(shift * (2 * noise + shift), axis=-1)
    return np.asarray(np.divide(gain, sizes, out=np.zeros_like(gain), where=sizes > 0))
