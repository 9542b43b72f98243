"""Wealth from bets on one pair of outputs after the other: a claim falls when it is large enough.

**A sequence of bets.** Each bet (`dpaudit.estimation.sequential_bets`) depends on earlier
outputs only, so against a true claim the wealth never has a mean above 1, and *ever* reaches
``1/alpha`` with probability at most alpha (Ville 1939). Looking after every output costs nothing.
Bettors with different events share one wealth: the average with weights that are fixed beforehand
and sum to 1 has the same property.

**A lower bound.** Every epsilon of a grid has a wealth of its own. The bound is the largest point
of the grid that has reached ``1/alpha`` together with all points before it. It exceeds the true
epsilon only if the first point at or above the truth has reached it, and that point is a true
claim: so the bound is ever wrong with probability at most alpha, with all epsilons sharing one
error probability. Nothing needs to be monotone in epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpaudit.estimation.log_sum import log_sum
from dpaudit.estimation.sequential_bets import Bets, Hits

Array = NDArray[np.float64]

_SLICE = 256  # pairs whose path is held at a time


@dataclass(frozen=True)
class Wealth:
    """What bettors have made of a wealth of 1, against every epsilon of a grid.

    Parameters
    ----------
    log_wealth
        Of each bettor, shape ``(..., K, E)``.
    log_share
        Logarithms of the shares of 1 they started with, shape ``(..., K)``; the shares sum to 1.
    log_peak
        The largest their sum has been, shape ``(..., E)``.
    pairs
        How many pairs of outputs were bet on.
    first_over
        After how many of them the sum first reached ``1/alpha``, shape ``(..., E)``; 0 if never.
    log_goal
        ``log(1/alpha)``.
    """

    log_wealth: Array
    log_share: Array
    log_peak: Array
    pairs: int
    first_over: NDArray[np.int64]
    log_goal: float

    @classmethod
    def start(cls, shares: Array, epsilons: int, alpha: float) -> Wealth:
        """Return a wealth of 1, shared out as ``shares`` of shape ``(..., K)`` say.

        Examples
        --------
        >>> Wealth.start(np.array([0.5, 0.5]), 3, 0.05).log_total
        array([0., 0., 0.])
        """
        lead = shares.shape[:-1]
        return cls(
            log_wealth=np.zeros((*shares.shape, epsilons)),
            log_share=np.log(shares / shares.sum(axis=-1, keepdims=True)),
            log_peak=np.zeros((*lead, epsilons)),
            pairs=0,
            first_over=np.zeros((*lead, epsilons), dtype=np.int64),
            log_goal=math.log(1 / alpha),
        )

    @property
    def log_total(self) -> Array:
        """The shared log-wealth against each epsilon, shape ``(..., E)``."""
        return self._total(self.log_wealth[..., None])[..., 0]

    def after(self, bets: Bets, hits: Hits, other_hits: Hits) -> tuple[Wealth, Array]:
        """Return the wealth after pairs of outputs, and its path, shape ``(..., E, n)``.

        The outputs must be independent of those that the bets were chosen on.
        """
        now, paths = self, [np.empty((*self.log_peak.shape, 0))]
        for start in range(0, hits.shape[-1], _SLICE):
            part = slice(start, start + _SLICE)
            now, path = now._after(bets.path(hits[..., part], other_hits[..., part]))
            paths.append(path)
        return now, np.concatenate(paths, axis=-1)

    def _after(self, factors: Array) -> tuple[Wealth, Array]:
        each = self.log_wealth[..., None] + np.cumsum(factors, axis=-1)
        path = self._total(each)
        over = path >= self.log_goal
        first = np.where(over.any(axis=-1), self.pairs + 1 + over.argmax(axis=-1), 0)
        return replace(
            self,
            log_wealth=each[..., -1],
            log_peak=np.maximum(self.log_peak, path.max(axis=-1)),
            pairs=self.pairs + factors.shape[-1],
            first_over=np.where(self.first_over > 0, self.first_over, first),
        ), path

    def _total(self, each: Array) -> Array:
        share = self.log_share[..., None, None]
        return log_sum(each + share, axis=-3)


def confirmed(first_over: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return after how many pairs each point of the grid and all before it were over; 0 if never.

    Examples
    --------
    >>> confirmed(np.array([3, 7, 5, 0, 9]))
    array([3, 7, 7, 0, 0])
    """
    reached = np.logical_and.accumulate(first_over > 0, axis=-1)
    return np.where(reached, np.maximum.accumulate(first_over, axis=-1), 0)


def lower_bound(wealth: Wealth, epsilons: Array) -> Array:
    """Return the certified lower bound on epsilon, shape ``(...)``; 0 if nothing is excluded.

    Formal guarantee: with probability at least ``1 - alpha`` it never exceeds the true epsilon at
    delta, whenever one looks, if ``epsilons`` ascend.

    Examples
    --------
    >>> wealth = Wealth.start(np.ones(1), 2, 0.05)
    >>> float(lower_bound(wealth, np.array([0.5, 1.0])))
    0.0
    """
    count = (confirmed(wealth.first_over) > 0).sum(axis=-1)
    return np.asarray(np.concatenate([[0.0], epsilons])[count])
