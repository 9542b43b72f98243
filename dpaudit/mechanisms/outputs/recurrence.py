"""Outputs that come back: equal ones that stand in one group of outputs more often than by chance.

A process that keeps what it drew gives it again, and the next process gives another.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
TOO_MANY = 6.0  # so many standard deviations of equal outputs in one group are no chance


def measure_recurrence(values: NDArray[Any], groups: Labels) -> float:
    """Return how many standard deviations too many equal outputs stand in one group.

    In a random order their pairs have the mean and variance of Mantel (1967). Outputs that one
    group keeps, and the next does not have, are far above it, however many fresh ones are between.

    Examples
    --------
    >>> kept = np.repeat(np.arange(4), 8)
    >>> (
    ...     measure_recurrence(kept, np.arange(32) // 8) > 10,
    ...     measure_recurrence(kept, np.arange(32) % 4) < 0,
    ... )
    (True, True)
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    pairs, sizes = equal_pairs(counts), np.bincount(groups)
    # The variance of Mantel divides by products of four counts.
    if not pairs or len(which) < 4:
        return 0.0
    cells = which.ravel() * len(sizes) + groups
    found = equal_pairs(np.unique(cells, return_counts=True)[1])
    share = equal_pairs(sizes) / equal_pairs(np.array([len(which)]))
    spread = math.sqrt(max(0.0, variance_of_ties(counts, sizes, share)))
    return (found - pairs * share) / spread if spread else 0.0


def equal_pairs(counts: Labels) -> int:
    """Return how many pairs of outputs are equal, of how often each value comes."""
    return int(np.sum(counts * (counts - 1)) // 2)


def variance_of_ties(counts: Labels, sizes: Labels, share: float) -> float:
    """Return the variance of the pairs of equal outputs in one group, in a random order."""
    pairs, n = equal_pairs(counts), float(counts.sum())
    twos = float(np.sum(sizes * (sizes - 1.0)))
    threes = float(np.sum(sizes * (sizes - 1.0) * (sizes - 2.0)))
    sharing = float(np.sum(counts * (counts - 1.0) * (counts - 2.0))) / 2
    apart = pairs * (pairs - 1) / 2 - sharing
    three = threes / (n * (n - 1) * (n - 2))
    four = (twos**2 - 4 * threes - 2 * twos) / (n * (n - 1) * (n - 2) * (n - 3))
    return pairs * share + 2 * sharing * three + 2 * apart * four - (pairs * share) ** 2
