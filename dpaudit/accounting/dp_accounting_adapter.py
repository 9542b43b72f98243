r"""Privacy-loss distributions of the dp-accounting library (optional extra ``dpaudit[pld]``).

A second opinion from code that is not ours, next to `dpaudit.accounting.grid.numerical`. Each
release becomes the library's distribution of its loss, rounded up (connect-the-dots) for the upper
end and down (privacy buckets) for the lower one, and the library convolves them. Around what
version 0.6.0 gets wrong:

* its accountant ignores ``count`` for randomised response: here each distribution is composed with
  itself as often as the event says;
* rounding errors and cut tails put both ends on the wrong side by up to 5e-14 in delta after 1000
  releases: `SLACK` a release is set aside on either side, and a delta below ten times that is
  refused;
* exponentials of losses above 745 vanish, and epsilon is then up to 1 too high, which a lower end
  must not be: an epsilon above `MOST_EPSILON` is refused;
* it allocates whatever the grid asks for: a grid of more than `MOST_POINTS` points is refused
  before the library is called.

The slack is measured, not proved: the library does not bound its rounding errors.
"""

from __future__ import annotations

import importlib
import math
from functools import reduce
from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Release,
    get_releases,
)
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.errors import DpauditError, InvalidArgument, UnsupportedEvent

INTERVAL = 1e-4
# In delta, for each release: 1000 releases were off by up to 5e-14, so that this is about 20 times
# what was measured.
SLACK = 1e-15
MOST_EPSILON = 700.0
# About 67 MB of doubles for an array, of which the library holds several.
MOST_POINTS = 2**23

# The library cuts a Gaussian's tails at exp(-50), other tails later.
_LOG_LEFT_OUT = -50.0


def dp_accounting_epsilon(event: Event, delta: float, interval: float = INTERVAL) -> Bracket:
    """Return the library's bracket of the smallest epsilon at ``delta``.

    Parameters
    ----------
    event
        Gaussian, Laplace, approximate and Poisson-sampled Gaussian releases, mixed.
    delta
        In (0, 1), at least ten times the slack.
    interval
        Spacing of the library's grid of losses. The upper end is off to second order in it, the
        lower one to first.

    Raises
    ------
    DpauditError
        The library is not installed.
    UnsupportedEvent
        The library has no distribution for some release.
    InvalidArgument
        The delta is too small, the grid would be too large, or epsilon is above `MOST_EPSILON`.

    Examples
    --------
    >>> release = ApproximateRelease(epsilon=0.1, count=100)
    >>> bracket = dp_accounting_epsilon(release, 1e-5)  # doctest: +SKIP
    >>> round(bracket.lower, 4), round(bracket.upper, 4)  # doctest: +SKIP
    (4.3068, 4.3068)
    """
    delta, slack = check.require_delta("delta", delta), _compute_epsilon_slack(event)
    if delta < 10 * slack:
        expected = f"at least {10 * slack:.2g}: below, the library's rounding errors count"
        raise InvalidArgument("delta", delta, expected)
    lower, upper = (
        _get_library_epsilon(loss_distribution(event, interval, pessimistic=up), at, interval)
        # Epsilon falls with delta: the lower end is asked at a larger delta, the upper end at a
        # smaller one.
        for up, at in ((False, min(delta + slack, 1.0)), (True, delta - slack))
    )
    for end in (lower, upper):
        if MOST_EPSILON < end < math.inf:
            expected = f"one whose epsilon is at most {MOST_EPSILON:g}: the library gives {end:g}"
            raise InvalidArgument("event", event, expected)
    # Both ends are the library's, and may cross by its rounding. The upper end is the one that is
    # relied on.
    return Bracket(min(lower, upper), upper)


def dp_accounting_delta(event: Event, epsilon: float, interval: float = INTERVAL) -> Bracket:
    """Return the library's bracket of delta at ``epsilon >= 0``, slack included.

    Raises
    ------
    DpauditError, UnsupportedEvent, InvalidArgument
        As `dp_accounting_epsilon`.

    Examples
    --------
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
    >>> bracket = dp_accounting_delta(release, 1.0)  # doctest: +SKIP
    >>> round(bracket.lower, 3), round(bracket.upper, 3)  # doctest: +SKIP
    (0.127, 0.127)
    """
    epsilon = check.non_negative("epsilon", epsilon)
    if epsilon > MOST_EPSILON:
        raise InvalidArgument("epsilon", epsilon, f"at most {MOST_EPSILON:g}")
    lower, upper = (
        float(loss_distribution(event, interval, pessimistic=up).get_delta_for_epsilon(epsilon))
        for up in (False, True)
    )
    slack = _compute_epsilon_slack(event)
    upper = min(1.0, upper + slack)
    return Bracket(min(max(0.0, lower - slack), upper), upper)


def _get_library_epsilon(distribution: Any, delta: float, interval: float) -> float:
    try:
        return float(distribution.get_epsilon_for_delta(delta))
    except OverflowError:
        expected = "a smaller one: losses rounded to so coarse a grid overflow the library's powers"
        raise InvalidArgument("interval", interval, expected) from None


def loss_distribution(event: Event, interval: float, *, pessimistic: bool) -> Any:
    """Return the event as the library's ``PrivacyLossDistribution``, rounded up or down.

    The neighbours add or remove a record where a release is sampled.

    Raises
    ------
    DpauditError, UnsupportedEvent, InvalidArgument
        As `dp_accounting_epsilon`.
    """
    interval = check.require_positive("interval", interval)
    parts = _select_revealing_releases(event)
    _require_bounded_grid(parts, interval)
    library = _import_dp_accounting()
    if not parts:
        return library.identity(interval)
    composed = (_build_library_distribution(library, part, interval, pessimistic) for part in parts)
    return reduce(lambda one, two: one.compose(two), composed)


def _compute_epsilon_slack(event: Event) -> float:
    return SLACK * (1 + sum(part.count for part in _select_revealing_releases(event)))


def _import_dp_accounting() -> Any:
    try:
        return importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        # Not only a missing package: one that is broken, or misses a dependency, ends here as well.
        raise DpauditError(
            "dp-accounting: got no installed library, expected version 0.6 or newer: "
            "pip install 'dpaudit[pld]'"
        ) from None


def _select_revealing_releases(event: Event) -> list[Release]:
    return [part for part in get_releases(event) if _is_revealing(part)]


def _is_revealing(part: Release) -> bool:
    match part:
        case GaussianRelease() | LaplaceRelease():
            return part.sensitivity > 0
        case ApproximateRelease():
            return part.epsilon > 0 or part.delta > 0
        case PoissonSubsampledGaussian():
            return True
    raise UnsupportedEvent(
        f"event: got {type(part).__name__}, expected Gaussian, Laplace, approximate or "
        "Poisson-sampled Gaussian releases: dp-accounting has no other of ours"
    )


def _build_library_distribution(
    library: Any, part: Release, interval: float, pessimistic: bool
) -> Any:
    """Return the distribution of all copies of a release."""
    options = {
        "value_discretization_interval": interval,
        "pessimistic_estimate": pessimistic,
        # Connect-the-dots rounds upwards alone: it keeps both masses and spreads them. The lower
        # end takes the privacy buckets, which can round down.
        "use_connect_dots": pessimistic,
    }
    match part:
        case GaussianRelease():
            # Gaussian releases compose to one Gaussian release: one grid instead of as many
            # convolutions.
            deviation = part.noise_scale / part.sensitivity / math.sqrt(part.count)
            return library.from_gaussian_mechanism(deviation, **options)
        case LaplaceRelease():
            one = library.from_laplace_mechanism(part.noise_scale / part.sensitivity, **options)
        case PoissonSubsampledGaussian():
            ratio = part.sampling_ratio
            one = library.from_gaussian_mechanism(
                part.noise_multiplier, sampling_prob=ratio, **options
            )
        case ApproximateRelease():
            one = _build_library_response(library, part, interval, pessimistic)
    return one.self_compose(part.count)


def _build_library_response(
    library: Any, part: ApproximateRelease, interval: float, pessimistic: bool
) -> Any:
    """Return randomised response; the library's own has no rounding down and no delta."""
    # Both losses move the same way. Were each moved to its own side, the law would be neither above
    # nor below.
    rounding = math.ceil if pessimistic else math.floor
    masses: dict[int, float] = {}
    for loss in (part.epsilon, -part.epsilon):
        at = rounding(loss / interval)
        mass = (1 - part.delta) / (1 + math.exp(-loss))
        masses[at] = masses.get(at, 0.0) + mass
    return library.PrivacyLossDistribution.create_from_rounded_probability(
        masses, part.delta, interval, pessimistic_estimate=pessimistic
    )


def _require_bounded_grid(parts: list[Release], interval: float) -> None:
    """Refuse a grid that no memory holds, before the call: the parts' ranges of losses add up."""
    widths = [_bound_loss_widths(part) for part in parts]
    reach = max(sum(composed for _, composed in widths), *(one for one, _ in widths), 0.0)
    if reach > MOST_POINTS * interval:
        least = reach / MOST_POINTS
        expected = f"at least {least:.2g} for this event: the grid is to have {MOST_POINTS} points"
        raise InvalidArgument("interval", interval, expected)


def _bound_loss_widths(part: Release) -> tuple[float, float]:
    """Return Chernoff bounds on the ranges of the losses of one release and of all copies."""
    ((pair, count),) = Composition.of(part)
    # Every order gives a bound, so that a coarse grid errs to a range that is too wide, and refuses
    # rather too much than too little.
    orders = np.geomspace(1e-3, 1e4, 57)
    with np.errstate(over="ignore"):
        ends = [pair.log_mgf(orders), pair.log_mgf(-orders)]
    one, composed = (
        sum(float(np.nanmin((n * end - _LOG_LEFT_OUT) / orders)) for end in ends)
        for n in (1, count)
    )
    return one, composed
