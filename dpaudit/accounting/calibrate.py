"""Calibration: the least noise that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

import dpaudit._check as check
from dpaudit.accounting.events import Event
from dpaudit.accounting.samples import worse_reading
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import InvalidArgument, VerbatimText

# Of the noise, in either direction from 1. Wherever a sensitivity is of ordinary size, a root is
# far inside.
_FARTHEST = 1e12
# Relative, of the noise: the search runs over its logarithm.
_TOLERANCE = 1e-9
_SIGN = 2.0**-60  # an excess whose logarithm is none


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The result.

    Parameters
    ----------
    value
        Of the noise parameter.
    epsilon
        What is proved at this value: at most the target, and close to it.
    event
        What is released with it.
    """

    value: float
    epsilon: float
    event: Event


def calibrate(
    make_event: Callable[[float], Event],
    epsilon: float,
    delta: float,
    *,
    more_noise: int = 1,
    samples: str | None = None,
) -> Calibration:
    """Return the value of a noise parameter at which ``(epsilon, delta)`` is just proved.

    The guarantee has to improve with more noise. The value errs to the private side: the function
    checks that the value which it returns meets the target.

    Parameters
    ----------
    make_event
        A function from the noise parameter to an event.
    epsilon, delta
        The target; epsilon above 0.
    more_noise
        1 if a larger value is more noise, -1 if it is less.
    samples
        ``independent`` states that every release draws a sample of its own. Otherwise the value
        meets the target even if releases of one sampler are of one sample.

    Raises
    ------
    InvalidArgument
        No value from 1e-12 to 1e12 meets the target, or all do.
    UnsupportedEvent
        There is no theorem for the event.

    Examples
    --------
    >>> from dpaudit.accounting.events import GaussianRelease
    >>> found = calibrate(lambda s: GaussianRelease(sensitivity=1.0, noise_scale=s), 1.0, 1e-5)
    >>> round(found.value, 5)  # the analytic Gaussian mechanism
    3.73063
    """
    target = math.log(check.require_positive("epsilon", epsilon))
    delta = check.require_delta("delta", delta)

    def prove_epsilon(value: float) -> float:
        return proved_guarantee(worse_reading(make_event(value), samples)).epsilon(delta)

    def excess(log_noise: float) -> float:
        proved = prove_epsilon(math.exp(more_noise * log_noise))
        # The root finder needs finite values of either sign. 700 is about the largest logarithm of
        # a double, and -690 about the smallest.
        found = math.log(max(proved, 1e-300)) - target if proved < math.inf else 700.0
        # Logarithms of doubles that differ may be equal: what is proved decides on the side.
        return max(found, _SIGN) if proved > epsilon else min(found, 0.0)

    low, high = _bound_log_noise(excess, epsilon, delta)
    log_noise = float(brentq(excess, low, high, xtol=_TOLERANCE / 4, rtol=1e-15))
    # The root finder may stop on either side of the root. Steps double, so that a plateau of the
    # proved epsilon is passed as well.
    step = _TOLERANCE / 4
    while excess(log_noise) > 0:  # to the private side of the root
        log_noise, step = log_noise + step, 2 * step
    value = math.exp(more_noise * log_noise)
    return Calibration(value=value, epsilon=prove_epsilon(value), event=make_event(value))


def _bound_log_noise(
    excess: Callable[[float], float], epsilon: float, delta: float
) -> tuple[float, float]:
    """Return a noise that is too little and one that is enough, as logarithms."""
    farthest, step = math.log(_FARTHEST), math.log(4)
    high = 0.0
    while excess(high) > 0:
        high += step
        if high > farthest:
            given = VerbatimText(f"({epsilon:g}, {delta:g})")
            raise InvalidArgument("target", given, "one that some noise below 1e12 meets")
    # At `high` the target is met. The step before it failed or was never tried; either way the loop
    # goes down until one fails.
    low = high - step
    while excess(low) <= 0:
        low -= step
        if low < -farthest:
            given = VerbatimText(f"({epsilon:g}, {delta:g})")
            raise InvalidArgument("target", given, "one that takes noise above 1e-12 to meet")
    return low, high
