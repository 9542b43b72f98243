r"""The closeness of a guess to a record, and that of a guess that has seen nothing.

The cosine c of a fixed vector and a uniform direction in R^d has ``(1 + c)/2 ~ Beta((d-1)/2,
(d-1)/2)``: an exact law, whatever the vector, so that it holds for every estimate that does not
depend on the record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc, betaincinv
from scipy.stats import binom

import dpaudit._validate as check
from dpaudit._typing import Array


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """Of an estimate to a signed record.

    ``norm_error`` is relative; ``right_label`` is None where features may be negative.
    """

    cosine: float
    norm_error: float
    right_label: bool | None = None

    @classmethod
    def of(cls, estimate: Array, record: Array, *, non_negative: bool = False) -> Closeness:
        """Compare two signed records, shape ``(d,)`` each.

        Where features are ``non_negative`` the sign of the entries' sum is taken for the label.

        Examples
        --------
        >>> Closeness.of(np.array([0.3, 0.4]), np.array([0.6, 0.8]), non_negative=True)
        Closeness(cosine=1.0, norm_error=0.5, right_label=True)
        """
        sizes = np.linalg.norm(estimate), np.linalg.norm(record)
        product = float(sizes[0] * sizes[1])
        return cls(
            cosine=float(estimate @ record) / product if product > 0 else 0.0,
            norm_error=float(abs(sizes[0] - sizes[1]) / sizes[1]),
            right_label=bool(label_of(estimate) == label_of(record)) if non_negative else None,
        )


def label_of(record: Array) -> float:
    """Return the label of a signed record with non-negative features.

    Examples
    --------
    >>> label_of(np.array([0.0, -0.4]))
    -1.0
    """
    return 1.0 if record.sum() > 0 else -1.0


def matched(estimates: Array, records: Array, *, non_negative: bool = False) -> list[Closeness]:
    """Compare estimates to records, shape ``(m, d)`` each, in the order that suits them best."""
    sizes = np.linalg.norm(estimates, axis=1)[:, None] * np.linalg.norm(records, axis=1)
    cosines = estimates @ records.T / np.maximum(sizes, np.finfo(np.float64).tiny)
    pairs = zip(*linear_sum_assignment(-cosines), strict=True)
    return [Closeness.of(estimates[i], records[j], non_negative=non_negative) for i, j in pairs]


def chance_above(cosine: float, dimension: int) -> float:
    """Return the probability that a guess has a larger cosine with a uniform direction.

    Parameters
    ----------
    cosine
        In [-1, 1].
    dimension
        d, at least 2.

    Examples
    --------
    >>> round(chance_above(0.6, 10), 4), round(chance_above(0.0, 10), 4)
    (0.0255, 0.5)
    """
    half = (check.integer("dimension", dimension, least=2) - 1) / 2
    return float(betainc(half, half, (1 - cosine) / 2))


def chance_quantile(probability: float, dimension: int) -> float:
    """Return the cosine that a guess exceeds with this probability."""
    half = (check.integer("dimension", dimension, least=2) - 1) / 2
    return float(1 - 2 * betaincinv(half, half, probability))


def most_by_chance(runs: int, cosine: float, dimension: int, error: float) -> int:
    """Return a count that guesses of independent uniform directions rarely exceed, at least 1.

    More than so many of the runs have a larger cosine with probability at most ``error``.

    Examples
    --------
    >>> most_by_chance(20, 0.6, 10, 1e-9)
    8
    """
    counts = np.arange(runs + 1)
    rare = binom.sf(counts, runs, chance_above(cosine, dimension)) <= error
    return max(1, int(np.argmax(rare)))


def angle_by_chance(runs: int, dimension: int, error: float) -> float:
    """Return the angle, in degrees, within which half of the runs rarely are by chance.

    With probability at most ``error``, guesses of independent uniform directions are within it in
    at least half of the runs.

    Examples
    --------
    >>> round(angle_by_chance(20, 10, 1e-6), 2)
    63.03
    """
    low, high, half = 0.0, 180.0, -(-runs // 2)
    for _ in range(60):
        middle = (low + high) / 2
        inside = chance_above(float(np.cos(np.radians(middle))), dimension)
        rare = binom.sf(half - 1, runs, inside) <= error
        low, high = (middle, high) if rare else (low, middle)
    return low


def middle_angle(cosines: Array) -> float:
    """Return the angle, in degrees, within which half of the estimates are.

    Examples
    --------
    >>> round(middle_angle(np.array([1.0, 0.5, -1.0])), 1)
    60.0
    """
    ordered = np.sort(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))
    return float(ordered[-(-len(ordered) // 2) - 1])
