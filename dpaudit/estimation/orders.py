"""Orders of outcomes: which counts of an event are at least as extreme as those observed.

An exact test of both counts (`dpaudit.estimation.joint`) holds for any order that grows with the
hits on the favoured dataset and falls with those on the other one. How sharp it is depends on the
order, and no order is best everywhere:

| order        | ranks outcomes by                          | sharp                           |
|--------------|--------------------------------------------|---------------------------------|
| "likelihood" | the likelihood bound                       | many hits, or none on the other |
| "interval"   | the bound of two Clopper-Pearson intervals | few hits on the other dataset   |

Beside few other hits the likelihood bound ranks (24, 0) of 5000 as high as (300, 10), though chance
gives the first far more often. An order is fixed before a certifying count is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betainccinv, ndtri

from dpaudit._typing import Array
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.estimation.likelihood import compute_allowed_boundary, distance, likelihood_bound
from dpaudit.estimation.score_events import Order

ORDERS: tuple[Order, ...] = get_args(Order)
Counts = NDArray[np.int64]
_Extreme = Callable[[Counts], NDArray[np.bool_]]

_CAUTION = 1.001  # of the nats: the observed outcome is placed below where it is, never above
_FINER = 1.02  # of the nats: a hundredth of a standard error more
_ROUNDING = 1e-6  # of the nats, of a tail, and of the bound of two intervals
_TRIED = 2000  # other hits beside which the fewest extreme hits are looked for


@dataclass(frozen=True)
class HitCounts:
    """Counts of one event: on the dataset that it favours, and on the other one."""

    hits: int
    other_hits: int
    trials: int
    other_trials: int

    @property
    def rates(self) -> tuple[float, float]:
        """Shares of the trials."""
        return self.hits / self.trials, self.other_hits / self.other_trials


class Ranking(Protocol):
    """The rank of one outcome in an order, and the region of outcomes of at least that rank."""

    @property
    def rank(self) -> float:
        """A little less than the epsilon by which the order ranks the outcome; 0 at least."""

    @property
    def resolution(self) -> float:
        """About a hundredth of a standard error of epsilon."""

    def region(self, others: Counts) -> Counts:
        """Return the fewest extreme hits beside each number of other hits, ascending.

        One more than the trials where none are extreme.
        """


def make_ranking(order: Order, outcome: HitCounts, delta: float, alpha: float) -> Ranking:
    """Return how an order ranks an outcome.

    Examples
    --------
    >>> one = HitCounts(hits=300, other_hits=10, trials=4830, other_trials=4830)
    >>> [round(make_ranking(order, one, 0.0, 0.05).rank, 2) for order in ("likelihood", "interval")]
    [2.91, 2.68]
    """
    if order == "likelihood":
        return LikelihoodRanking.of(outcome, delta, alpha)
    return IntervalRanking.of(outcome, delta, alpha)


@dataclass(frozen=True)
class LikelihoodRanking:
    """The order by the likelihood bound."""

    outcome: HitCounts
    delta: float
    nats: float
    rank: float
    resolution: float

    @classmethod
    def of(cls, outcome: HitCounts, delta: float, alpha: float) -> LikelihoodRanking:
        """Rank an outcome."""
        nats, sizes = exponent(alpha), (outcome.trials, outcome.other_trials)
        levels = np.array([_CAUTION, _FINER]) * nats
        rank, finer = likelihood_bound(*outcome.rates, *sizes, delta, levels).tolist()
        return cls(outcome, delta, nats, rank, max(rank - finer, 1e-7))

    def region(self, others: Counts) -> Counts:
        """Return the fewest extreme hits beside each number of other hits.

        Outcomes are extreme whose distance at the rank is at least so many nats. The rank is not
        above the likelihood bound of the observed outcome, and a computed distance, the least of
        those tried, is not below the exact one: no outcome with a larger bound is left out.
        """
        n, m = self.outcome.trials, self.outcome.other_trials
        nats = self.nats * (1 - _ROUNDING)

        def reject_outcomes(tried: Counts) -> _Extreme:
            return lambda hits: np.asarray(
                distance(hits / n, tried / m, n, m, self.rank, self.delta) >= nats
            )

        return _find_extreme_region(reject_outcomes, self.outcome, others)


@dataclass(frozen=True)
class IntervalRanking:
    """The order by two Clopper-Pearson intervals, each with half of the error probability.

    The bound is at least l if, and only if, the lower end for p is at least ``p*(q)`` at l and the
    upper end for q; so it holds for the event and for its complement.
    """

    outcome: HitCounts
    delta: float
    alpha: float
    rank: float

    @classmethod
    def of(cls, outcome: HitCounts, delta: float, alpha: float) -> IntervalRanking:
        """Rank an outcome."""
        found = interval_bound(outcome, delta, alpha)
        # Below the exact bound, so that rounding cannot put the observed outcome outside its own
        # region.
        return cls(outcome, delta, alpha, max(found * (1 - _ROUNDING) - _ROUNDING, 0.0))

    @property
    def resolution(self) -> float:
        """About a hundredth of a standard error of epsilon."""
        one = self.outcome
        hit = one.hits, one.other_hits
        missed = one.trials - one.hits, one.other_trials - one.other_hits
        return 0.01 * max(math.sqrt(sum(1 / (k + 1) for k in pair)) for pair in (hit, missed))

    def region(self, others: Counts) -> Counts:
        """Return the fewest extreme hits beside each number of other hits."""
        n, m = self.outcome.trials, self.outcome.other_trials
        half = self.alpha / 2

        def reject_outcomes(tried: Counts) -> _Extreme:
            upper = betainccinv(tried + 1.0, np.maximum(m - tried, 1.0), half)
            p = compute_allowed_boundary(np.where(tried < m, upper, 1.0), self.rank, self.delta)
            return lambda hits: np.asarray(_upper_tail(hits, n, p) <= half * (1 + _ROUNDING))

        return _find_extreme_region(reject_outcomes, self.outcome, others)


def interval_bound(outcome: HitCounts, delta: float, alpha: float) -> float:
    """Return the bound of two Clopper-Pearson intervals, which may be negative.

    Examples
    --------
    >>> round(interval_bound(HitCounts(300, 10, 4830, 4830), 0.0, 0.05), 4)
    2.6797
    """
    low, _ = clopper_pearson(outcome.hits, outcome.trials, alpha)
    _, high = clopper_pearson(outcome.other_hits, outcome.other_trials, alpha)
    excesses = (low - delta, high), (1 - high - delta, 1 - low)
    return max(_log_ratio(*pair) for pair in excesses)


def exponent(alpha: float) -> float:
    """Return the nats at which the likelihood bound of an error probability is taken.

    Examples
    --------
    >>> round(exponent(0.05), 3)
    1.353
    """
    # From a half on the quantile is 0 or less, and its square would rank backwards.
    return float(ndtri(min(alpha, 0.4)) ** 2 / 2)


def _log_ratio(excess: float, other: float) -> float:
    return math.log(excess / other) if excess > 0 else -math.inf


def _upper_tail(hits: Counts, n: int, p: Array) -> Array:
    """Return ``P(Bin(n, p) >= hits)``, entry by entry."""
    least = np.maximum(hits, 1.0)
    return np.where(hits > 0, betainc(least, n - least + 1, p), 1.0)


def _find_extreme_region(
    reject_outcomes: Callable[[Counts], _Extreme], outcome: HitCounts, others: Counts
) -> Counts:
    """Return the fewest extreme hits beside each number of other hits, the observed among them."""
    every = -(-len(others) // _TRIED)
    tried = others[::every]
    extreme = reject_outcomes(tried)
    # -1 hits are never extreme and one more than the trials always are: the search relies on it.
    low, high = np.full(len(tried), -1), np.full(len(tried), outcome.trials + 1)
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 0)
        far = extreme(middle)
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    # Those after one that is tried count as it does, which enlarges the region.
    found = np.repeat(high, every)[: len(others)]
    # Rounding must not leave out the observed outcome, nor as many hits beside fewer other hits.
    found[others <= outcome.other_hits] = np.minimum(
        found[others <= outcome.other_hits], outcome.hits
    )
    # Rounding must not make fewer hits extreme beside more other hits: enlarge the region instead.
    return np.asarray(np.minimum.accumulate(found[::-1])[::-1])
