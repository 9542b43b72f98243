"""Composition theorems: Gaussian releases, and releases of which only (epsilon, delta)-DP is known.

Every theorem also covers releases that are chosen in the light of those before.
`gaussian_guarantee` is exact (Dong, Roth & Su 2022, Corollary 2). For (epsilon, delta)-DP, from the
loosest theorem to the one that cannot be improved:

* `basic`: sums;
* `advanced`, `advanced_heterogeneous`: Dwork, Rothblum & Vadhan 2010, Theorem III.3;
* `kairouz_heterogeneous`: Kairouz, Oh & Viswanath 2015, Theorem 3.5;
* `optimal`, `optimal_heterogeneous`: the exact answer, Kairouz, Oh & Viswanath 2015, Theorem 3.3,
  and Murtagh & Vadhan 2016, Theorem 1.5.

The exact answer exists because one pair of distributions dominates every (epsilon, delta)-DP
release: with probability delta it tells the secret, else it is randomised response.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    Release,
    releases,
)
from dpaudit.accounting.loss_table import LossTable, log_binomial
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.kinds import GaussianDP, Guarantee


def gaussian_guarantee(event: Event) -> GaussianDP:
    """Return the exact guarantee of a sequence of Gaussian releases.

    The squares of ``sensitivity / noise_scale`` add up (Dong, Roth & Su 2022, Corollary 2), also
    when each release is chosen from the ones before.

    Raises
    ------
    UnsupportedEvent
        Some part is not a Gaussian release.

    Examples
    --------
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25)
    >>> gaussian_guarantee(release)
    GaussianDP(mu=1.0)
    """
    squares = []
    for part in releases(event):
        if not isinstance(part, GaussianRelease):
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected Gaussian releases: "
                "this theorem covers nothing else"
            )
        ratio = part.sensitivity / part.noise_scale
        squares.append(part.count * ratio * ratio)  # a power would overflow with its own error
    return GaussianDP(math.sqrt(math.fsum(squares)))


MOST_STATES = 1_000_000


@dataclass(frozen=True)
class OptimalComposition(Guarantee):
    """All that follows from the (epsilon, delta)-DP of each part, and nothing more than follows.

    Some sequence of releases attains every answer, so that no theorem about (epsilon, delta)
    alone gives a smaller one. Answers are good to a relative error of 1e-12 in delta, and
    `epsilon` returns the exact value at a delta that far from the one asked for, also between the
    multiples of the parts' epsilon.

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
        states = math.prod(count + 1 for count in _counts(checked_parts(self.parts)).values())
        if states > MOST_STATES:
            raise InvalidArgument("parts", f"{states} states", f"at most {MOST_STATES} states")

    def delta(self, epsilon: float) -> float:
        """Return the exact delta at ``epsilon >= 0``."""
        return min(1.0, math.exp(self.log_deltas([check.non_negative("epsilon", epsilon)])[0]))

    def log_deltas(self, epsilons: ArrayLike) -> Array:
        """Return ``log delta`` at each epsilon, of any sign, shape (n,): the whole profile."""
        lost, log_rest = self._failure()
        log_lost = math.log(lost) if lost else -math.inf
        below = self._table().log_delta(check.finite_array("epsilons", epsilons, ndim=1))
        return np.asarray(np.logaddexp(log_lost, log_rest + below))

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon at ``delta``; infinite below the delta that stays."""
        delta = check.delta("delta", delta)
        lost, _ = self._failure()
        if delta < lost:
            return math.inf
        left = (delta - lost) / (1 - lost)
        return max(0.0, self._table().epsilon(math.log(left) if left else -math.inf))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the exact trade-off curve: the highest of the lines that end at the losses."""
        rate = check.real("false_positive_rate", false_positive_rate)
        if not 0 <= rate <= 1:
            raise InvalidArgument("false_positive_rate", rate, "a number in [0, 1]")
        losses = self._table().losses
        log_rate = math.log(rate) if rate else -math.inf
        lines = -np.expm1(self.log_deltas(losses)) - np.exp(np.minimum(losses + log_rate, 700))
        return float(max(0.0, lines.max()))

    def _table(self) -> LossTable:
        return _table(tuple(sorted(_counts(self.parts).items())))

    def _failure(self) -> tuple[float, float]:
        """Return the probability that some release tells the secret, and the log of the rest."""
        log_rest = log_kept(self.parts)
        failing = [part for part in self.parts if part.delta and part.count]
        if len(failing) == 1 and failing[0].count == 1:
            return failing[0].delta, log_rest  # to the last digit: it is asked for as written
        return -math.expm1(log_rest), log_rest

    def __str__(self) -> str:
        parts = (f"{p.count} x (epsilon={p.epsilon:g}, delta={p.delta:g})" for p in self.parts)
        return f"{type(self).__name__}({', '.join(parts)})"


def log_kept(parts: tuple[ApproximateRelease, ...]) -> float:
    """Return the logarithm of the probability that no release fails outright."""
    return math.fsum(part.count * math.log1p(-part.delta) for part in parts)


def checked_parts(parts: Iterable[ApproximateRelease]) -> tuple[ApproximateRelease, ...]:
    """Return the parts as a tuple, after a look at the type of each."""
    parts = tuple(parts)
    for index, part in enumerate(parts):
        if not isinstance(part, ApproximateRelease):
            raise InvalidArgument(f"parts[{index}]", part, "an ApproximateRelease")
    return parts


def _counts(parts: tuple[ApproximateRelease, ...]) -> Counter[float]:
    counts: Counter[float] = Counter()
    for part in parts:
        if part.epsilon and part.count:
            counts[part.epsilon] += part.count
    return counts


@lru_cache(maxsize=8)
def _table(counts: tuple[tuple[float, int], ...]) -> LossTable:
    """Return the loss of randomised responses, given as (epsilon, count)."""
    losses, masses = np.zeros(1), np.zeros(1)
    for epsilon, count in counts:
        step = epsilon * (2 * np.arange(count + 1.0) - count)
        losses = np.add.outer(losses, step).ravel()
        masses = np.add.outer(masses, log_binomial(count, epsilon)).ravel()
    if len(counts) == 1:
        return LossTable.of(losses, masses, np.full(len(losses) - 1, 2 * counts[0][0]))
    order = np.argsort(losses, kind="stable")
    return LossTable.of(losses[order], masses[order], np.diff(losses[order]))


Parts = Iterable[ApproximateRelease]


def approximate_parts(event: Event) -> tuple[ApproximateRelease, ...]:
    """Return an event as (epsilon, delta)-DP releases.

    Noise of density proportional to ``exp(-rate ||e||)`` gives ``epsilon = sensitivity * rate``,
    whatever the norm (Dwork et al. 2006); objective perturbation adds the change of variables
    (Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9).

    Raises
    ------
    UnsupportedEvent
        Some part has no epsilon of its own.

    Examples
    --------
    >>> approximate_parts(LaplaceRelease(sensitivity=1.0, noise_scale=4.0, count=3))
    (ApproximateRelease(epsilon=0.25, delta=0.0, count=3),)
    """
    return tuple(_approximate(part) for part in releases(event))


def _approximate(part: Release) -> ApproximateRelease:
    match part:
        case ApproximateRelease():
            return part
        case LaplaceRelease():
            epsilon = part.sensitivity / part.noise_scale
        case ExponentialNormRelease():
            epsilon = part.sensitivity * part.noise_rate
        case ObjectivePerturbation():
            epsilon = part.sensitivity * part.noise_rate + part.log_determinant
        case _:
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected releases that are "
                "(epsilon, delta)-DP: this theorem covers nothing else"
            )
    return ApproximateRelease(epsilon=epsilon, count=part.count)


def basic(event: Event) -> tuple[float, float]:
    """Return the sums of epsilon and of delta (Dwork et al. 2006), delta at most 1.

    Raises
    ------
    UnsupportedEvent
        Some part has no epsilon of its own.

    Examples
    --------
    >>> basic(ApproximateRelease(epsilon=0.5, delta=1e-6, count=8))
    (4.0, 8e-06)
    """
    parts = approximate_parts(event)
    epsilon = math.fsum(part.count * part.epsilon for part in parts)
    return epsilon, min(1.0, math.fsum(part.count * part.delta for part in parts))


def advanced(epsilon: float, delta: float, count: int, slack: float) -> tuple[float, float]:
    """Return advanced composition as published, no better than `basic` where epsilon is large.

    Dwork, Rothblum & Vadhan 2010, Theorem III.3; Corollary 1 of hu2020:
    ``sqrt(2 count ln(1/slack)) epsilon + count epsilon (exp(epsilon) - 1)`` and
    ``count delta + slack``.

    Parameters
    ----------
    epsilon, delta
        Of each release.
    count
        How many releases.
    slack
        In (0, 1): what is added to delta.

    Returns
    -------
    tuple
        Epsilon, infinite where it is beyond the floating-point numbers, and delta, at most 1.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain.

    Examples
    --------
    >>> round(advanced(0.1, 0.0, 1000, 1e-5)[0], 2)
    25.69
    """
    part = ApproximateRelease(epsilon=epsilon, delta=delta, count=count)
    return advanced_heterogeneous([part], slack)


def advanced_heterogeneous(parts: Parts, slack: float) -> tuple[float, float]:
    """Return advanced composition of releases that differ.

    ``sqrt(2 ln(1/slack) sum epsilon^2) + sum epsilon (exp(epsilon) - 1)`` and
    ``sum delta + slack``: the proof of Dwork, Rothblum & Vadhan 2010, Theorem III.3, term by term.
    Never below the last of the three terms of `kairouz_heterogeneous`.

    Raises
    ------
    InvalidArgument
        The slack is not in (0, 1), or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> parts = [ApproximateRelease(epsilon=e, count=100) for e in (0.05, 0.1)]
    >>> round(advanced_heterogeneous(parts, 1e-5)[0], 4)
    6.673
    """
    parts, slack = checked_parts(parts), check.probability("slack", slack)
    drift = sum(part.count * _times_expm1(part.epsilon) for part in parts if part.count)
    epsilon = drift + math.sqrt(2 * -math.log(slack)) * _root_of_squares(parts)
    return epsilon, min(1.0, math.fsum([slack, *(part.count * part.delta for part in parts)]))


def kairouz_heterogeneous(parts: Parts, slack: float) -> tuple[float, float]:
    """Return the least of three closed forms: Kairouz, Oh & Viswanath 2015, Theorem 3.5.

    The sum of the epsilons; and, with the drift ``sum epsilon tanh(epsilon / 2)``, what two tail
    bounds add to it. Delta is ``1 - (1 - slack) prod (1 - delta)``.

    Raises
    ------
    InvalidArgument
        The slack is not in (0, 1), or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> round(kairouz_heterogeneous([ApproximateRelease(epsilon=0.1, count=1000)], 1e-5)[0], 2)
    20.17
    """
    parts, slack = checked_parts(parts), check.probability("slack", slack)
    drift = math.fsum(p.count * p.epsilon * math.tanh(p.epsilon / 2) for p in parts)
    root = _root_of_squares(parts)
    tail = min(-math.log(slack), math.log(math.e + root / slack))
    epsilon = min(math.fsum(p.count * p.epsilon for p in parts), drift + math.sqrt(2 * tail) * root)
    return epsilon, -math.expm1(log_kept(parts) + math.log1p(-slack))


def _times_expm1(epsilon: float) -> float:
    return epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf


def _root_of_squares(parts: tuple[ApproximateRelease, ...]) -> float:
    return math.hypot(*(math.sqrt(part.count) * part.epsilon for part in parts))


def optimal(epsilon: float, delta: float, count: int) -> OptimalComposition:
    """Return the exact composition of ``count`` equal (epsilon, delta)-DP releases.

    Kairouz, Oh & Viswanath 2015, Theorem 3.3.

    Raises
    ------
    InvalidArgument
        An argument is outside its domain, or the count is a million or more.

    Examples
    --------
    >>> round(optimal(0.1, 0.0, 1000).epsilon(1e-5), 3)
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
    >>> parts = approximate_parts(LaplaceRelease(sensitivity=1.0, noise_scale=10.0, count=50))
    >>> more = ApproximateRelease(epsilon=0.2, count=10)
    >>> round(optimal_heterogeneous([*parts, more]).epsilon(1e-5), 3)
    3.942
    """
    return OptimalComposition(tuple(parts))
