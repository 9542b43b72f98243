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

import dpaudit._check as check
from dpaudit._typing import Array


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """Measures of an estimate's closeness to a signed record.

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
            # An estimate of 0 has no direction.
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


def match_estimates_to_records(
    estimates: Array, records: Array, *, non_negative: bool = False
) -> list[Closeness]:
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
    half = (check.require_integer("dimension", dimension, least=2) - 1) / 2
    # (1 - C) / 2 has the same law as (1 + C) / 2; its lower tail keeps the digits of small
    # probabilities.
    return float(betainc(half, half, (1 - cosine) / 2))


def chance_quantile(probability: float, dimension: int) -> float:
    """Return the cosine that a guess exceeds with this probability."""
    half = (check.require_integer("dimension", dimension, least=2) - 1) / 2
    return float(1 - 2 * betaincinv(half, half, probability))


def most_by_chance(runs: int, cosine: float, dimension: int, error: float) -> int:
    """Return a count that guesses of independent uniform directions rarely exceed, at least 1.

    More than so many of the runs have a larger cosine with probability at most ``error``.

    Examples
    --------
    >>> most_by_chance(20, 0.6, 10, 1e-9)
    8
    """
    return rarely_more(runs, chance_above(cosine, dimension), error)


def rarely_more(runs: int, probability: float, error: float) -> int:
    """Return the least count, at least 1, that a binomial one exceeds with so small an ``error``.

    Examples
    --------
    >>> rarely_more(20, 0.5, 1e-6), rarely_more(100, 0.5, 1e-6)
    (19, 73)
    """
    # Tails fall with the count and end at 0, so there is a first one that is rare enough.
    rare = binom.sf(np.arange(runs + 1), runs, probability) <= error
    return max(1, int(np.argmax(rare)))
