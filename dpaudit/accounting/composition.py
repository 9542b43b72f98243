"""Composition theorems: Gaussian releases, and releases of which only (epsilon, delta)-DP is known.

Every theorem also covers releases that are chosen in the light of those before.
`gaussian_guarantee` is exact (Dong, Roth & Su 2022, Corollary 2). For (epsilon, delta)-DP, from the
loosest theorem to the one that cannot be improved:

* `compose_basic`: sums;
* `compose_advanced`, `compose_advanced_heterogeneous`: Dwork, Rothblum & Vadhan 2010, Theorem
III.3;
* `kairouz_heterogeneous`: Kairouz, Oh & Viswanath 2015, Theorem 3.5;
* the exact answer: `dpaudit.accounting.optimal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import ctx

import dpaudit._check as check
from dpaudit.accounting.discrete_events import DiscreteLaplaceRelease, RandomizedResponse
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledLaplace,
    Release,
    get_releases,
)
from dpaudit.accounting.optimal import Parts, log_kept, require_approximate_parts
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding
from dpaudit.guarantees.kinds import GaussianDP


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
    return GaussianDP(_mu_above(_gaussian_parts(event)))


def _gaussian_parts(event: Event) -> tuple[GaussianRelease, ...]:
    parts = []
    for part in get_releases(event):
        if not isinstance(part, GaussianRelease):
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected Gaussian releases: "
                "this theorem covers nothing else"
            )
        parts.append(part)
    return tuple(parts)


@lru_cache(maxsize=256)
def _mu_above(parts: tuple[GaussianRelease, ...]) -> float:
    meant = _sum_of_squares(parts, rounding.to_written_fraction, rounding.to_written_fraction)
    near = rounding.root_up(meant)
    if near == math.inf:
        raise InvalidArgument("sensitivity / noise_scale", near, "a finite number")
    # What somebody wrote has an exact root: 25 releases of 1/5 are 1, and not one unit above it.
    if rounding.to_written_fraction(near) ** 2 == meant:
        return near
    # Otherwise mu has to cover both readings of each double, as the number that was written and as
    # the double itself.
    worst = rounding.root_up(
        _sum_of_squares(parts, rounding.to_larger_fraction, rounding.to_smaller_fraction)
    )
    return max(near, worst)


def gaussian_bracket(event: Event, delta: float) -> tuple[float, float]:
    """Return both ends of the epsilon of Gaussian releases, rounded outwards.

    Raises
    ------
    UnsupportedEvent
        Some part is not a Gaussian release.

    Examples
    --------
    >>> low, high = gaussian_bracket(GaussianRelease(sensitivity=1.0, noise_scale=5.0), 1e-5)
    >>> 0 < high - low < 1e-15
    True
    """
    upper = gaussian_guarantee(event).epsilon(delta)
    # The lower end reads every double the other way: the smaller sensitivity and the larger noise.
    squares = _sum_of_squares(
        _gaussian_parts(event), rounding.to_smaller_fraction, rounding.to_larger_fraction
    )
    return min(GaussianDP(rounding.root_down(squares)).epsilon_below(delta), upper), upper


def _sum_of_squares(
    parts: tuple[GaussianRelease, ...],
    above: Callable[[float], Fraction],
    below: Callable[[float], Fraction],
) -> Fraction:
    ratios = ((p.count, above(p.sensitivity) / below(p.noise_scale)) for p in parts)
    return sum((count * ratio * ratio for count, ratio in ratios), Fraction(0))


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
    return tuple(_to_approximate_release(part) for part in get_releases(event))


def _to_approximate_release(part: Release) -> ApproximateRelease:
    match part:
        case ApproximateRelease():
            return part
        case LaplaceRelease():
            epsilon = rounding.quotient_up(part.sensitivity, part.noise_scale)
        case ExponentialNormRelease():
            epsilon = rounding.product_up(part.sensitivity, part.noise_rate)
        case DiscreteLaplaceRelease():
            epsilon = rounding.quotient_up(float(part.sensitivity), part.noise_scale)
        case RandomizedResponse() | PoissonSubsampledLaplace():
            epsilon = pure_epsilon(part)
        case ObjectivePerturbation():
            own = rounding.product_up(part.sensitivity, part.noise_rate)
            epsilon = rounding.sum_up([(1, own), (1, part.log_determinant)])
        case _:
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected releases that are "
                "(epsilon, delta)-DP: this theorem covers nothing else"
            )
    return ApproximateRelease(epsilon=epsilon, count=part.count)


def pure_epsilon(part: RandomizedResponse | PoissonSubsampledLaplace) -> float:
    """Return the epsilon of randomised response, or of Laplace noise on a sample, rounded up.

    Examples
    --------
    >>> round(pure_epsilon(RandomizedResponse(truth=0.75)), 6)  # log 3
    1.098612
    """
    # Everybody is in the sample: the quotient is exact where fractions have it, which logarithms of
    # balls would enlarge by a unit.
    if isinstance(part, PoissonSubsampledLaplace) and part.sampling_ratio == 1:
        return rounding.quotient_up(part.sensitivity, part.noise_scale)
    with ctx.workprec(256):
        if isinstance(part, RandomizedResponse):
            # The odds grow with the truth, so that its larger reading bounds them.
            truth = rounding.to_larger_fraction(part.truth)
            odds = rounding.to_ball(truth * (part.categories - 1) / (1 - truth))
            return rounding.round_ball_up(odds.log())
        shift = rounding.to_ball(
            rounding.to_larger_fraction(part.sensitivity)
            / rounding.to_smaller_fraction(part.noise_scale)
        )
        ratio = rounding.to_ball(rounding.to_larger_fraction(part.sampling_ratio))
        return rounding.round_ball_up((ratio * shift.expm1()).log1p())


def compose_basic(event: Event) -> tuple[float, float]:
    """Return the sums of epsilon and of delta (Dwork et al. 2006), delta at most 1.

    Raises
    ------
    UnsupportedEvent
        Some part has no epsilon of its own.

    Examples
    --------
    >>> compose_basic(ApproximateRelease(epsilon=0.5, delta=1e-6, count=8))
    (4.0, 8e-06)
    """
    parts = approximate_parts(event)
    epsilon = rounding.sum_up((part.count, part.epsilon) for part in parts)
    return epsilon, min(1.0, _compute_delta_sum(parts))


def basic_pure(event: Event) -> float:
    """Return the sum of epsilons, rounded up, of releases that are all pure.

    Raises
    ------
    UnsupportedEvent
        Some part has no epsilon of its own, or a delta.
    """
    epsilon, delta = compose_basic(event)
    if delta:
        raise UnsupportedEvent(f"event: got a delta of {delta}, expected releases without one")
    return epsilon


def compose_advanced(epsilon: float, delta: float, count: int, slack: float) -> tuple[float, float]:
    """Return advanced composition as published, no better than basic where epsilon is large.

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
    >>> round(compose_advanced(0.1, 0.0, 1000, 1e-5)[0], 2)
    25.69
    """
    part = ApproximateRelease(epsilon=epsilon, delta=delta, count=count)
    return compose_advanced_heterogeneous([part], slack)


def compose_advanced_heterogeneous(parts: Parts, slack: float) -> tuple[float, float]:
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
    >>> round(compose_advanced_heterogeneous(parts, 1e-5)[0], 4)
    6.673
    """
    parts, slack = require_approximate_parts(parts), check.require_probability("slack", slack)
    drift = sum(part.count * _times_expm1(part.epsilon) for part in parts if part.count)
    # All terms are at least 0, so that every rounding is relative to the sum: a few units for each
    # part, and some for the functions, are what the margin below gives.
    epsilon = drift + math.sqrt(2 * -math.log(slack)) * _root_of_squares(parts)
    return rounding.bound_above(epsilon, 0.0, 32.0 + len(parts)), min(
        1.0, _compute_delta_sum(parts, slack)
    )


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
    parts, slack = require_approximate_parts(parts), check.require_probability("slack", slack)
    drift = math.fsum(p.count * p.epsilon * math.tanh(p.epsilon / 2) for p in parts)
    root = _root_of_squares(parts)
    tail = min(-math.log(slack), math.log(math.e + root / slack))
    tighter = rounding.bound_above(drift + math.sqrt(2 * tail) * root, 0.0, 32.0 + len(parts))
    # The plain sum is the first of the three closed forms. The other two are worse where epsilons
    # are large.
    epsilon = min(rounding.sum_up((p.count, p.epsilon) for p in parts), tighter)
    # As a sum of logarithms: a product of numbers this close to 1 would lose the digits of delta.
    lost = -math.expm1(log_kept(parts) + math.log1p(-slack))
    return epsilon, min(1.0, rounding.bound_above(lost, 0.0))


def _compute_delta_sum(parts: tuple[ApproximateRelease, ...], *more: float) -> float:
    """Return the sum of deltas, rounded up."""
    return rounding.sum_up([*((part.count, part.delta) for part in parts), *((1, d) for d in more)])


def _times_expm1(epsilon: float) -> float:
    # `math.expm1` raises above 709, where numpy would return infinity.
    return epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf


def _root_of_squares(parts: tuple[ApproximateRelease, ...]) -> float:
    return math.hypot(*(math.sqrt(part.count) * part.epsilon for part in parts))
