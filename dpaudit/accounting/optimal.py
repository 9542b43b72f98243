"""The exact composition of (epsilon, delta)-DP releases, of which nothing else is known.

Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh & Vadhan 2016, Theorem 1.5. It exists because one
pair of distributions dominates every (epsilon, delta)-DP release: with probability delta it tells
the secret, else it is randomised response.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import ApproximateRelease
from dpaudit.accounting.loss_table import LossTable, log_binomial
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import rounding
from dpaudit.guarantees.guarantee import Guarantee

Parts = Iterable[ApproximateRelease]
# The loss table holds three arrays of as many doubles, 24 MB.
MOST_STATES = 1_000_000


@dataclass(frozen=True)
class OptimalComposition(Guarantee):
    """All that follows from the (epsilon, delta)-DP of each part, and nothing more than follows.

    Some sequence of releases attains every answer, so that no theorem about (epsilon, delta)
    alone gives a smaller one. Answers are rounded up: good to a relative error of some 1e-12 in
    delta, and `epsilon` is the exact value at a delta that is by so much smaller than the one
    asked for, also between the multiples of the parts' epsilon.

    Sources: Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh & Vadhan 2016, Theorem 1.5.

    Parameters
    ----------
    parts
        The releases. Each distinct epsilon multiplies the number of states of the loss by its
        count plus one; at most `MOST_STATES` are accepted (the general problem is #P-hard).

    Raises
    ------
    InvalidArgument
        There are more states than that, or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> composed = OptimalComposition((ApproximateRelease(epsilon=0.1, count=100),))
    >>> round(composed.epsilon(1e-5), 4)
    4.3068
    """

    parts: tuple[ApproximateRelease, ...]

    def __post_init__(self) -> None:
        states = math.prod(
            count + 1 for count in _count_epsilons(require_approximate_parts(self.parts)).values()
        )
        if states > MOST_STATES:
            raise InvalidArgument("parts", f"{states} states", f"at most {MOST_STATES} states")

    def delta(self, epsilon: float) -> float:
        """Return the exact delta at ``epsilon >= 0``, rounded up."""
        at = check.non_negative("epsilon", epsilon)
        if at >= self._most:
            return self._loss_probability
        # Delta falls with epsilon: it is asked at an epsilon that is not above the one that was
        # meant, less what sums of losses may be off.
        near = rounding.bound_below(at, 0.0) - self._blur
        log_delta = float(self._table().log_delta(np.array([near]))[0])
        kept = math.exp(min(0.0, log_delta + _bound_log_delta_error(log_delta)))
        return min(
            1.0,
            rounding.bound_above(self._loss_probability + (1 - self._loss_probability) * kept, 0.0),
        )

    def log_deltas(self, epsilons: ArrayLike) -> Array:
        """Return ``log delta`` at each epsilon, of any sign, shape (n,): the whole profile."""
        log_lost = math.log(self._loss_probability) if self._loss_probability else -math.inf
        below = self._table().log_delta(check.finite_array("epsilons", epsilons, ndim=1))
        return np.asarray(np.logaddexp(log_lost, log_kept(self.parts) + below))

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon at ``delta``, rounded up; infinite below the delta that stays.

        That delta, `delta` at any epsilon from the sum of all on, is enough for the sum.
        """
        delta = check.require_delta("delta", delta)
        if delta < self._loss_probability:
            return math.inf
        # Nothing is left for the finite losses: all of them count.
        if delta == self._loss_probability:
            return self._most
        left = self._left(delta)
        if left <= 0:
            return self._most
        log_left = math.log(left) - math.log1p(-self._loss_probability)
        found = self._table().epsilon(log_left - _bound_log_delta_error(log_left)) + self._blur
        # No loss passes the sum of all epsilons, which is exact where the table is not.
        return max(0.0, min(self._most, rounding.bound_above(found, 0.0)))

    def epsilon_below(self, delta: float) -> float:
        """Return the exact epsilon at ``delta``, rounded down: some releases lose that much."""
        delta = check.require_delta("delta", delta)
        # Rounded down: what is left of delta beyond it is no less than what is left in truth.
        lost = rounding.any_down((part.count, part.delta) for part in self.parts)
        if delta < lost:
            return math.inf
        if delta == lost:
            return rounding.sum_down((part.count, part.epsilon) for part in self.parts)
        if self._loss_probability == 1:
            return 0.0
        left = rounding.up(rounding.to_larger_fraction(delta) - rounding.to_smaller_fraction(lost))
        log_left = math.log(left) - math.log1p(-self._loss_probability)
        found = self._table().epsilon(log_left + _bound_log_delta_error(log_left)) - self._blur
        return max(0.0, rounding.bound_below(found, 0.0))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the exact trade-off curve: the highest of the lines that end at the losses."""
        rate = check.require_real("false_positive_rate", false_positive_rate)
        if not 0 <= rate <= 1:
            raise InvalidArgument("false_positive_rate", rate, "a number in [0, 1]")
        # The curve is convex and piecewise linear, so that its lines at the losses are all of its
        # supporting lines.
        losses = self._table().losses
        log_rate = math.log(rate) if rate else -math.inf
        # Beyond exp(700) a line is far below 0 and cannot be the highest; the limit keeps numpy
        # from a warning.
        lines = -np.expm1(self.log_deltas(losses)) - np.exp(np.minimum(losses + log_rate, 700))
        return float(max(0.0, lines.max()))

    def _table(self) -> LossTable:
        return _build_response_loss_table(tuple(sorted(_count_epsilons(self.parts).items())))

    def _left(self, delta: float) -> float:
        """Return the part of a delta above `_loss_probability`, rounded down."""
        if self._failures is None:
            lost = rounding.to_larger_fraction(self._loss_probability)
            return rounding.round_fraction_down(rounding.to_smaller_fraction(delta) - lost)
        return rounding.round_fraction_down(
            rounding.to_smaller_fraction(delta) - max(self._failures)
        )

    @cached_property
    def _loss_probability(self) -> float:
        """The probability that some release tells the secret, rounded up."""
        return rounding.any_up((part.count, part.delta) for part in self.parts)

    @cached_property
    def _failures(self) -> tuple[Fraction, Fraction] | None:
        return rounding.any_of((part.count, part.delta) for part in self.parts)

    @cached_property
    def _most(self) -> float:
        """The sum of all epsilons, rounded up."""
        return rounding.sum_up((part.count, part.epsilon) for part in self.parts)

    @cached_property
    def _blur(self) -> float:
        """The error of the sum of losses of either sign, where it is near 0."""
        counts = _count_epsilons(self.parts)
        return 4 * rounding.UNIT * (self._most if len(counts) > 1 else 2 * max(counts, default=0.0))

    def __str__(self) -> str:
        parts = (f"{p.count} x (epsilon={p.epsilon:g}, delta={p.delta:g})" for p in self.parts)
        return f"{type(self).__name__}({', '.join(parts)})"


def _bound_log_delta_error(log_delta: float) -> float:
    """Return the error of the logarithm of a delta: 1e-12, and its rounding in sums."""
    return 1e-12 + 64 * rounding.UNIT * abs(log_delta) if log_delta > -math.inf else 0.0


def log_kept(parts: tuple[ApproximateRelease, ...]) -> float:
    """Return the logarithm of the probability that no release fails outright."""
    return math.fsum(part.count * math.log1p(-part.delta) for part in parts)


def require_approximate_parts(
    parts: Iterable[ApproximateRelease],
) -> tuple[ApproximateRelease, ...]:
    """Return the parts as a tuple, after a look at the type of each."""
    parts = tuple(parts)
    for index, part in enumerate(parts):
        if not isinstance(part, ApproximateRelease):
            raise InvalidArgument(f"parts[{index}]", part, "an ApproximateRelease")
    return parts


def _count_epsilons(parts: tuple[ApproximateRelease, ...]) -> Counter[float]:
    counts: Counter[float] = Counter()
    for part in parts:
        if part.epsilon and part.count:
            counts[part.epsilon] += part.count
    return counts


@lru_cache(maxsize=8)
def _build_response_loss_table(counts: tuple[tuple[float, int], ...]) -> LossTable:
    """Return the loss of randomised responses, given as (epsilon, count)."""
    losses, masses = np.zeros(1), np.zeros(1)
    for epsilon, count in counts:
        step = epsilon * (2 * np.arange(count + 1.0) - count)
        losses = np.add.outer(losses, step).ravel()
        masses = np.add.outer(masses, log_binomial(count, epsilon)).ravel()
    if len(counts) == 1:
        # Equal epsilons leave gaps of exactly twice that. Differences of rounded losses would be
        # off by more.
        return LossTable.of(losses, masses, np.full(len(losses) - 1, 2 * counts[0][0]))
    order = np.argsort(losses, kind="stable")
    return LossTable.of(losses[order], masses[order], np.diff(losses[order]))


def make_optimal_composition(epsilon: float, delta: float, count: int) -> OptimalComposition:
    """Return the exact composition of ``count`` equal (epsilon, delta)-DP releases.

    Kairouz, Oh & Viswanath 2015, Theorem 3.3.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain, or the count is a million or more.

    Examples
    --------
    >>> round(make_optimal_composition(0.1, 0.0, 1000).epsilon(1e-5), 3)
    17.787
    """
    return OptimalComposition((ApproximateRelease(epsilon=epsilon, delta=delta, count=count),))


def optimal_heterogeneous(parts: Parts) -> OptimalComposition:
    """Return the exact composition of releases that differ, when their states are few.

    Murtagh & Vadhan 2016, Theorem 1.5.

    Raises
    ------
    InvalidArgument
        The loss has more than `MOST_STATES` states: the product, over the distinct epsilons, of
        their counts plus one. Or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> parts = [ApproximateRelease(epsilon=e, count=n) for e, n in ((0.1, 50), (0.2, 10))]
    >>> round(optimal_heterogeneous(parts).epsilon(1e-5), 3)
    3.942
    """
    return OptimalComposition(tuple(parts))
