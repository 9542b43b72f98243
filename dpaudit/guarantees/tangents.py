r"""The lines no attack can be above, read off a profile, and their consequences for groups.

An attack with false-positive rate r on neighbours P, Q has power (true-positive rate) at most

    F(r) = min over real e of  delta(e) + exp(e) r,        F = 1 - f, f the trade-off curve:

one line for each e, of slope exp(e) and intercept delta(e) (Wasserman & Zhou 2010; Dong, Roth &
Su 2022, Proposition 2.13). A guarantee in both directions has for e = -a < 0 the intercept
``1 - exp(-a) (1 - delta(a))``. Every line is a bound by itself, so whatever the search below finds
is sound; the better the search, the closer it is.

A chain of ``size`` neighbours composes the bound with itself, ``F(F(...F(r)))``: that is group
privacy (Dong, Roth & Su 2022, Theorem 2.14, ``1 - (1 - f)^{o size}``). A line after a line is a
line, and the profile of the group is read off those: delta_k(e) = max over r of F^k(r) - exp(e) r.

===============  ==========================================================================
symbol           name
===============  ==========================================================================
r, 1 - r         ``rate``, ``rest``: false-positive rate of an attack, and its complement
delta(e)         ``profile``: a function from e >= 0 to **log** delta
===============  ==========================================================================

Everything is in log space, so that a delta of 1e-300 or less is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

LogProfile = Callable[[float], float]

SMALLEST_LOG_RATE = -1e6  # stands in for a rate of 0: a larger rate has fewer misses
_GRID = np.linspace(0.0, 1.0, 25)


@dataclass(frozen=True)
class Line:
    """A bound on power: at most ``intercept + slope * rate``, both as logarithms.

    Examples
    --------
    >>> twice = Line(math.log(2.0), math.log(0.1))
    >>> round(math.exp(twice.at(math.log(0.3))), 12)
    0.7
    """

    log_slope: float
    log_intercept: float

    def at(self, log_rate: float) -> float:
        """Return the logarithm of the bound on power at a rate: at most 0."""
        return min(0.0, log_add(self.log_intercept, self.log_slope + log_rate))

    def after(self, inner: Line) -> Line:
        """Return the bound on this line at a rate that ``inner`` bounds."""
        through = log_add(self.log_intercept, self.log_slope + inner.log_intercept)
        return Line(self.log_slope + inner.log_slope, through)


_SAME = Line(0.0, -math.inf)
_TRIVIAL = Line(-math.inf, 0.0)


def find_tangent(profile: LogProfile, log_rate: float) -> Line:
    """Return the line that is lowest at a rate.

    Parameters
    ----------
    profile
        Log delta at every epsilon at least 0.
    log_rate
        Logarithm of a false-positive rate, finite and at most 0.

    Examples
    --------
    >>> half = lambda epsilon: math.log(0.5)  # (0, 1/2)-differential privacy
    >>> round(math.exp(find_tangent(half, math.log(0.25)).at(math.log(0.25))), 6)
    0.75
    """
    rest = -math.expm1(log_rate)
    log_rest = math.log(rest) if rest > 0 else -math.inf
    # The curve meets its mirror image between (1 - delta(0)) / 2 and 1/2, and slopes past -1
    # before that point only.
    middle = math.exp(log_rate) > -math.expm1(profile(0.0)) / 2
    lines = [] if rest <= 0.5 else [_find_steep_tangent(profile, log_rate)]
    lines += [_find_shallow_tangent(profile, log_rest)] if middle or not lines else []
    # Both are bounds, and the lower one counts at this rate.
    return min(lines, key=lambda line: line.at(log_rate))


def _find_steep_tangent(profile: LogProfile, log_rate: float) -> Line:
    """Return the lowest line at a rate among those of slope at least 1."""

    def power(epsilon: float) -> float:
        return log_add(profile(epsilon), epsilon + log_rate)

    # exp(e) r alone may not exceed what e = 0 gives.
    epsilon = _arg_least(power, power(0.0) - log_rate)
    return Line(epsilon, profile(epsilon))


def _find_shallow_tangent(profile: LogProfile, log_rest: float) -> Line:
    """Return the lowest line at a rate among those of slope at most 1."""
    epsilon = _best_epsilon(profile, log_rest)
    if epsilon == math.inf:
        return _TRIVIAL
    if epsilon == 0:
        return Line(0.0, profile(0.0))
    return Line(-epsilon, log_add(math.log(-math.expm1(-epsilon)), profile(epsilon) - epsilon))


def worst_loss(profile: LogProfile, log_share: float) -> float:
    r"""Return the least loss that is exceeded with at most this probability.

    If the privacy loss exceeds t with probability x, then ``delta(e) >= x (1 - exp(e - t))`` for
    every e, so ``t <= e - log(1 - delta(e) / x)``: the answer is the least of these over e >= 0.
    No profile gives less, up to ``x = (1 + delta(0)) / 2``: an attack that reports only whether
    the most telling outputs of total probability x came out attains it.

    Parameters
    ----------
    profile
        Log delta at every epsilon at least 0.
    log_share
        Logarithm of the probability x, in (0, 1).

    Examples
    --------
    >>> eight = lambda epsilon: math.log(1e-6) if epsilon >= 1 else 0.0
    >>> round(worst_loss(eight, math.log(1e-5)), 4)  # 1 - log(1 - 1e-6/1e-5)
    1.1054
    """
    epsilon = _best_epsilon(profile, log_share)
    return math.inf if epsilon == math.inf else _compute_tangent_loss(profile, log_share, epsilon)


def _best_epsilon(profile: LogProfile, log_share: float) -> float:
    """Return the epsilon of the least loss in `worst_loss`, infinite when there is none."""
    # Up to an epsilon of a million: beyond it no loss is worth telling from infinity.
    tries = (0.0, *(2.0**power for power in range(21)))
    within = next((e for e in tries if profile(e) < log_share), math.inf)
    if within == math.inf:
        return math.inf
    # The loss is at least its epsilon, so none beyond what one epsilon gives can be the best.
    return _arg_least(
        lambda epsilon: _compute_tangent_loss(profile, log_share, epsilon),
        _compute_tangent_loss(profile, log_share, within),
    )


def _compute_tangent_loss(profile: LogProfile, log_share: float, epsilon: float) -> float:
    excess = profile(epsilon) - log_share
    if excess >= 0:  # nothing follows here: more than any answer, and less so to the right
        return 1e12 + excess
    return epsilon - math.log(-math.expm1(excess))


def compose_tangent_chain(profile: LogProfile, size: int, log_rate: float) -> Line:
    """Return a line that bounds power at ends of a chain of neighbours, touching at a rate.

    Examples
    --------
    >>> pure = lambda epsilon: -math.inf if epsilon >= 1 else math.log(1 - math.exp(epsilon - 1))
    >>> round(compose_tangent_chain(pure, 3, -20.0).log_slope, 6)
    3.0
    """
    line = _SAME
    for _ in range(size):
        line = find_tangent(profile, line.at(log_rate)).after(line)
    return line


def group_log_delta(profile: LogProfile, size: int, epsilon: float) -> float:
    """Return log delta at ``epsilon >= 0`` for groups, as `GroupOf` defines it."""
    low, high = _bracket_lines(
        lambda r: compose_tangent_chain(profile, size, r), lambda li: li.log_slope >= epsilon
    )
    if low.log_slope <= epsilon:
        return min(0.0, low.log_intercept)
    heavy, light = _log_weights(low.log_slope - epsilon, high.log_slope - epsilon)
    mixed = log_add(heavy + low.log_intercept, light + high.log_intercept)
    return min(0.0, high.log_intercept, mixed)


def group_epsilon(profile: LogProfile, size: int, log_delta: float) -> float:
    """Return the least ``epsilon >= 0`` at a finite log delta for groups, or infinity."""
    low, high = _bracket_lines(
        lambda r: compose_tangent_chain(profile, size, r), lambda li: li.log_intercept <= log_delta
    )
    if low.log_intercept > log_delta:
        return math.inf
    light, heavy = _log_weights(high.log_intercept - log_delta, low.log_intercept - log_delta)
    return max(0.0, log_add(heavy + low.log_slope, light + high.log_slope))


def _bracket_lines(
    line_at: Callable[[float], Line], enough: Callable[[Line], bool]
) -> tuple[Line, Line]:
    """Return the lines on both sides of where ``enough`` turns false as the rate grows.

    The first fails it too if no rate is small enough. The value of a group is an extreme over
    the rate, so what is left of the interval counts by its square.
    """
    low, high = -1.0, 0.0
    below, above = line_at(low), _TRIVIAL
    while not enough(below) and low > SMALLEST_LOG_RATE:
        high, above, low = low, below, 2 * low
        below = line_at(low)
    while enough(below) and high - low > 1e-7:
        middle = (low + high) / 2
        line = line_at(middle)
        low, below, high, above = (
            (middle, line, high, above) if enough(line) else (low, below, middle, line)
        )
    return below, above


def _log_weights(above: float, below: float) -> tuple[float, float]:
    """Return the log-weights that average ``exp(above)`` and ``exp(below)`` to 1.

    With ``above >= 0 >= below``. Two lines, averaged, are a line that bounds power as well.
    """
    # Beyond 40 the logarithm of ``exp(x) - 1`` is x to the last digit, and `expm1` overflows from
    # 710 on.
    up = above if above > 40 else math.log(math.expm1(above)) if above > 0 else -math.inf
    down = math.log(-math.expm1(below)) if below < 0 else -math.inf
    total = log_add(up, down)
    return (0.0, -math.inf) if total == -math.inf else (down - total, up - total)


def _arg_least(function: Callable[[float], float], width: float) -> float:
    """Return where a function is least on ``[0, width]``: on a grid, and then refined.

    The search knows x to a part in 1e8 only. That is enough for a smooth function, not for one
    with a kink, so that it is repeated on what is left, with its origin moved there.
    """
    grid = width * _GRID
    at = int(np.argmin([function(float(x)) for x in grid]))
    best, radius = float(grid[at]), width / (len(grid) - 1)
    for _ in range(2):
        best = _refine_minimum(function, best, max(-best, -radius), min(width - best, radius))
        radius = 1e-7 * best + 1e-8 * radius
    return best


def _refine_minimum(
    function: Callable[[float], float], best: float, low: float, high: float
) -> float:
    # The interval is narrower than the distance of two doubles, on which the minimiser would fail.
    if best + low == best + high:
        return best
    found = minimize_scalar(
        lambda step: function(best + float(step)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-9 * (high - low)},
    )
    return best + float(found.x) if found.fun < function(best) else best


def log_add(first: float, second: float) -> float:
    """Return ``log(exp(first) + exp(second))``; either may be minus infinity.

    Examples
    --------
    >>> round(log_add(-800.0, -800.0), 6)
    -799.306853
    """
    high, low = max(first, second), min(first, second)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))
