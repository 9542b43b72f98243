"""Confidence bounds for the mean of non-negative variables, by betting.

To test that a mean is at most m, start with a wealth of 1 and multiply it, for every independent
observation X >= 0, by ``1 + b (X/m - 1)`` with a fixed stake b in [0, 1]. While the hypothesis
holds the expected wealth never exceeds 1, so it reaches ``1/alpha`` with probability at most alpha
(Ville 1939; Markov's inequality for a fixed number of observations). No bound on X is needed. To
test that the mean is at least m, with ``X <= B``, the factor is ``1 + b (1 - X/m)`` and b must stay
below ``1 / (B/m - 1)``. Averages over several stakes fixed in advance keep the property
(Waudby-Smith & Ramdas 2024).

Everything is in logarithms: the means here go down to 1e-300.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpaudit._typing import Array


def log_sum(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Return ``log(sum(exp(values)))`` along an axis; minus infinity stands for 0.

    SciPy's function takes 0.2 ms before it adds anything, and audits call this one ten thousand
    times on a hundred numbers each.

    Examples
    --------
    >>> round(float(log_sum([-1000.0, -1000.0, -np.inf])), 6)
    -999.306853
    >>> log_sum([[-np.inf], [-np.inf]])
    array([-inf, -inf])
    """
    logs = np.asarray(values, dtype=np.float64)
    top = logs.max(axis=axis, keepdims=True)
    # Where all values are minus infinity, subtracting the largest would make NaN.
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis))[()]


_HUGE = 1e3  # size that an infinite margin counts as
_RELATIVE = 4 * float(np.finfo(np.float64).eps)  # relative error of a crossing
# Stakes around the best guess, so that a poor guess costs little.
_SPREAD = (0.4, 1.0, 2.0)


@dataclass(frozen=True)
class Stakes:
    """Stakes fixed before the observations they bet on.

    Parameters
    ----------
    rise
        For tests that the mean is at most m; each in [0, 1].
    fall
        For tests that it is at least m; each below ``1 / (B/m - 1)`` for ``log m >= floor``.
    floor
        The least log-mean the second kind of test is offered for; infinite when it never is.
    """

    rise: tuple[float, ...]
    fall: tuple[float, ...]
    floor: float

    @classmethod
    def planned(
        cls, relative_variance: float, observations: int, alpha: float, log_ceiling: float
    ) -> Stakes:
        """Return stakes that are near the best for a relative variance guessed from a pilot.

        ``log_ceiling`` bounds ``log(X/m)`` for every m the falling test is offered for; it is
        infinite when X has no bound.
        """
        # The log-wealth is about n (b g - b^2 v / 2) for a stake b, a mean gain g and a relative
        # variance v. This stake reaches log(1/alpha) at the smallest g.
        needed = 2 * math.log(1 / alpha) / observations
        best = math.sqrt(needed / max(relative_variance, needed))
        # At the limit itself one observation at the ceiling would lose the whole wealth.
        most = 0.95 * falling_limit(log_ceiling)
        return cls(
            rise=tuple(min(factor * best, 1.0) for factor in _SPREAD),
            fall=tuple(min(factor * best, most) for factor in _SPREAD),
            # Without a ceiling no positive stake keeps the wealth positive, and the test is not
            # offered.
            floor=-math.inf if most > 0 else math.inf,
        )


def falling_limit(log_ceiling: float) -> float:
    """Return the largest stake for ``X/m <= exp(log_ceiling)`` that cannot lose everything.

    Examples
    --------
    >>> round(falling_limit(math.log(5.0)), 9)
    0.25
    >>> falling_limit(math.inf)
    0.0
    """
    if log_ceiling == math.inf:
        return 0.0
    # The exponential overflows a double beyond 709.
    excess = math.expm1(min(log_ceiling, 700.0))
    return 1.0 if excess <= 1 else 1 / excess


def log_wealth_rising(log_values: Array, log_mean: float, stakes: tuple[float, ...]) -> float:
    """Return the log-wealth of the bet that the mean of ``exp(log_values)`` exceeds the given."""
    # The cap avoids overflow. It can only lower this wealth, so that the test stays valid.
    ratio = np.exp(np.minimum(log_values - log_mean, 700.0))
    gain = ratio - 1
    return _compute_mean_log_wealth(
        [float(np.log1p(b * gain).sum()) for b in map(_below_one, stakes)]
    )


def log_wealth_falling(log_values: Array, log_mean: float, stakes: tuple[float, ...]) -> float:
    """Return the log-wealth of the bet that the mean of ``exp(log_values)`` is below the given."""
    ratio = np.exp(np.minimum(log_values - log_mean, 700.0))
    gain = 1 - ratio
    return _compute_mean_log_wealth([float(np.log1p(b * gain).sum()) for b in stakes])


def last_true(holds: Callable[[float], bool], low: float, high: float, steps: int = 60) -> float:
    """Return a point where ``holds`` is true, next to where it turns false between low and high.

    ``holds`` must be true at ``low``; with ``low > high`` the search goes downwards.

    Examples
    --------
    >>> round(last_true(lambda x: x * x <= 2, 0.0, 2.0), 6)
    1.414214
    """
    if holds(high):
        return high
    for _ in range(steps):
        middle = (low + high) / 2
        if middle in (low, high):  # no number lies between them
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def find_margin_crossing(margin: Callable[[float], float], low: float, high: float) -> float:
    """Return a point where ``margin`` is at least 0, next to where it falls below between the ends.

    As `last_true` of ``margin(x) >= 0``, in a fifth of the evaluations where the margin is smooth;
    NaN counts as below 0. ``margin`` must be at least 0 at ``low``.

    Examples
    --------
    >>> round(find_margin_crossing(lambda x: 2 - x * x, 0.0, 2.0), 6)
    1.414214
    """

    def finite(x: float) -> float:
        value = margin(x)
        # The interpolation of brentq makes NaN of infinite values.
        return -_HUGE if math.isnan(value) else min(max(value, -_HUGE), _HUGE)

    if finite(high) >= 0:
        return high
    step = 1e-15 * abs(high - low)
    # Without a strict change of sign, or with a step that is no number, brentq would fail.
    if not (finite(low) > 0 and 0 < step < math.inf):
        return last_true(lambda x: finite(x) >= 0, low, high, steps=1100)
    point, found = brentq(
        finite, low, high, xtol=step, rtol=_RELATIVE, full_output=True, disp=False
    )
    if not found.converged:  # flat at its root
        return last_true(lambda x: finite(x) >= 0, low, high)
    while finite(point) < 0 and point != low:  # known to a step: back to where it is not below 0
        step *= 2
        point = low if abs(point - low) <= step else point + math.copysign(step, low - point)
    return float(point)


def _below_one(stake: float) -> float:
    # A stake of exactly 1 loses everything on one zero, and its logarithm is -inf.
    return min(stake, 1 - 1e-9)


def _compute_mean_log_wealth(log_wealths: list[float]) -> float:
    return float(log_sum(log_wealths) - math.log(len(log_wealths)))
