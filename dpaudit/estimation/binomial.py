"""Binomial probabilities and tails at many counts at once, by the incomplete beta function."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, xlog1py, xlogy

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


def binomial(k: Counts, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) = k)`` for each k in 0, ..., n.

    Examples
    --------
    >>> binomial(np.array([0, 1, 2]), 2, 0.5).round(9)
    array([0.25, 0.5 , 0.25])
    """
    log_count = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(log_count + xlogy(k, p) + xlog1py(n - k, -p)))


def upper_tails(least: Array, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) >= k)`` for each k.

    Examples
    --------
    >>> upper_tails(np.array([0.0, 1.0, 3.0]), 2, 0.5)
    array([1.  , 0.75, 0.  ])
    """
    inside = np.clip(least, 1, n)
    tails = betainc(inside, n - inside + 1, p)
    return np.where(least <= 0, 1.0, np.where(least > n, 0.0, tails))


def lower_tails(most: Array, n: int, p: float) -> Array:
    """Return ``P(Bin(n, p) <= k)`` for each k.

    Examples
    --------
    >>> lower_tails(np.array([-1.0, 0.0, 2.0]), 2, 0.5)
    array([0.  , 0.25, 1.  ])
    """
    inside = np.clip(most, 0, n - 1)
    tails = betainc(n - inside, inside + 1, 1 - p)
    return np.where(most < 0, 0.0, np.where(most >= n, 1.0, tails))
