"""Fourier sums at many evenly spaced frequencies: a transform of points that lie on no grid.

With the points moved to a grid of M points a period, ``x_j = g_j + d_j``, and ``|k h d_j| <= pi/4``
for all frequencies,

    sum_j m_j exp(i k h x_j) = sum_l (i k h)^l / l! sum_j m_j d_j^l exp(i k h g_j),

and each of the inner sums is one fast Fourier transform. Left out is Taylor's remainder, at most
``(pi/4)^l / l!`` of the sum of the masses.

Formal guarantee: the error is at most `ERROR` of the sum of the masses, for masses that are not
negative and points that are known exactly. A butterfly of the transform adds 8 unit roundoffs at
most (Higham 2002, Theorem 24.2), along any path from a mass to a sum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft

from dpaudit._typing import Array

_FINER = 4  # points of the grid for each frequency: then |k h d| <= pi / 4
_TERMS = 16  # (pi/4)^16 / 16! = 1e-15
ERROR = 3e-14  # up to 2^20 frequencies


def fourier_sums(points: Array, masses: Array, step: float, count: int) -> NDArray[np.complex128]:
    """Return ``sum_j masses_j exp(i k step points_j)`` for k = 0, ..., count - 1.

    Parameters
    ----------
    points, masses
        Shape ``(n,)``; masses not below 0.
    step
        Between frequencies, above 0.
    count
        How many frequencies.

    Examples
    --------
    >>> points, masses = np.array([0.1, 2.0]), np.array([0.25, 0.75])
    >>> exact = np.exp(1j * 0.3 * np.outer(np.arange(100), points)) @ masses
    >>> bool(abs(fourier_sums(points, masses, 0.3, 100) - exact).max() < ERROR)
    True
    """
    # A power of 2, to which the error analysis of the transform applies.
    size = _FINER * 2 ** math.ceil(math.log2(max(count, 2)))
    turns = points * (step * size / (2 * math.pi))
    nearest = np.rint(turns)
    off = (turns - nearest) * (2 * math.pi / size)
    # A point and its copy a whole period away have the same waves at every one of these
    # frequencies.
    places = nearest.astype(np.int64) % size
    weights = np.asarray(masses, dtype=np.float64)
    factor: NDArray[np.complex128] = np.ones(count, dtype=np.complex128)
    total = np.zeros(count, dtype=np.complex128)
    for term in range(1, _TERMS + 1):
        # The transform of numpy has waves of the other sign. Weights are real, so that the
        # conjugate is the one that is wanted.
        total += np.conj(rfft(np.bincount(places, weights, size))[:count]) * factor
        weights = weights * off
        factor = factor * (1j / term * np.arange(count))
    return total
