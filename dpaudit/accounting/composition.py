r"""Composition of releases of which only (epsilon, delta)-DP is known.

From the loosest theorem to the one that cannot be improved; every one also covers releases that
are chosen in the light of those before:

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
from collections.abc import Iterable

import dpaudit._validate as check
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    Release,
    releases,
)
from dpaudit.accounting.optimal import OptimalComposition, checked_parts, log_kept
from dpaudit.errors import UnsupportedEvent

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
        The loss has more than `dpaudit.accounting.optimal.MOST_STATES` states: the product, over
        the distinct epsilons, of their counts plus one. Or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> parts = approximate_parts(LaplaceRelease(sensitivity=1.0, noise_scale=10.0, count=50))
    >>> more = ApproximateRelease(epsilon=0.2, count=10)
    >>> round(optimal_heterogeneous([*parts, more]).epsilon(1e-5), 3)
    3.942
    """
    return OptimalComposition(tuple(parts))
