r"""Bracketed numerical composition of any sequence of releases that have dominating pairs.

The losses of the steps add up. Their laws, tilted by ``exp(order L)`` with the order of the saddle
point for the question at hand, are rounded onto one grid both ways (`dpaudit.accounting.grid`) and
convolved by FFT. What the upper end rests on, besides the rounding upwards:

* mass outside the windows of the grid and mass wrapped around by the cyclic convolution, both at
  most their Chernoff bounds under the tilt;
* the rounding errors of the transform, in the l2 norm: ``count`` times that of one transform.

Both are added before the tilt is taken back, where they weigh at most ``exp(-order epsilon)``.

The lower end is a test's: cells are outputs of a mechanism that lost information, and for every
threshold on the sum of cell numbers ``delta >= P(A) - exp(epsilon) Q(A)``. The best threshold
counts; outputs in which some step left its window are in no test. So both ends are off to second
order in the spacing only. Where delta is so small that the difference loses its digits, the law
rounded downwards takes its place. A single release is not transformed: nothing wraps around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.accounting.bracket import Bracket
from dpaudit.accounting.convolution import Convolved, convolved
from dpaudit.accounting.curves import LowerCurve, UpperCurve
from dpaudit.accounting.dominating import (
    Counted,
    directions,
    dominating_pairs,
    infinite_mass,
    trimmed,
    trimmed_mass,
)
from dpaudit.accounting.grid import Rounded, rounded
from dpaudit.accounting.window import (
    LEAST_ORDER,
    LEFT_OUT,
    lowest,
    spacing_of,
    step_window,
    window_of,
)
from dpaudit.errors import ConvergenceError
from dpaudit.events import Event

Array = NDArray[np.float64]

Pairs = tuple[Counted, ...]

CELLS, MORE_CELLS, LEAST_CELLS = 2**16, 2**19, 2**8
_NARROW = 1e-3
_FARTHEST = 1e12
_ROUNDING = 1e-15  # relative: a loss that is taken for the end of its cell
_SMALLEST, _UNDERFLOW, _ULPS = math.ulp(0.0), -760.0, 1e-13
_MOST_TRIMS = 6
# Of delta: tails that are not looked at. The more is left out, the finer is the grid.
_SHARE, _LARGER_SHARE = 1e-8, 1e-5
# Losses between these are composed; what lies beyond is pure DP that needs no composing.
_FAINT, _VAST = 1e-100, 1e7


def numerical_epsilon(event: Event, delta: float, cells: int | None = None) -> Bracket:
    """Return a bracket of the smallest epsilon at which the dominating pairs compose to ``delta``.

    Parameters
    ----------
    event
        What was released.
    delta
        In [0, 1).
    cells
        Points of the grid, at least 256; more make the bracket narrower. By default 2^16, and 2^19
        where that leaves it wider than a part in a thousand.

    Raises
    ------
    UnsupportedEvent
        Some release has no dominating pair.

    Examples
    --------
    >>> from dpaudit.events import ApproximateRelease
    >>> bracket = numerical_epsilon(ApproximateRelease(epsilon=0.1, count=1000), 1e-5)
    >>> round(bracket.lower, 3), round(bracket.upper, 3)
    (17.787, 17.787)
    """
    delta = check.delta("delta", delta)
    return _worst(event, partial(_epsilon, delta=delta), cells)


def numerical_delta(event: Event, epsilon: float, cells: int | None = None) -> Bracket:
    """Return a bracket of the delta to which the dominating pairs compose at ``epsilon >= 0``.

    Examples
    --------
    >>> from dpaudit.events import GaussianRelease
    >>> bracket = numerical_delta(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    >>> round(bracket.lower, 6), round(bracket.upper, 6)  # exact: .126936737507
    (0.126937, 0.126937)
    """
    epsilon = check.non_negative("epsilon", epsilon)
    return _worst(event, partial(_delta, epsilon=epsilon), cells)


def _worst(event: Event, answer: Callable[..., Bracket], cells: int | None) -> Bracket:
    """Return the larger of both directions' answers, from a finer grid where that is needed."""
    if cells is not None:
        check.integer("cells", cells, least=LEAST_CELLS)
    ways = directions(dominating_pairs(event))
    attempts = [(CELLS, _SHARE), (MORE_CELLS, _SHARE)] if cells is None else [(cells, _SHARE)]
    if cells is None and any(trimmed(pairs, _LARGER_SHARE) != pairs for pairs in ways):
        attempts[1:1] = [(CELLS, _LARGER_SHARE)]
        attempts += [(MORE_CELLS, _LARGER_SHARE)]
    lower, upper = 0.0, math.inf
    for size, share in attempts:
        brackets = [answer(pairs, cells=size, share=share) for pairs in ways]
        lower = max(lower, *(bracket.lower for bracket in brackets))
        upper = min(upper, max(bracket.upper for bracket in brackets))
        if upper - lower <= _NARROW * upper or upper == math.inf:
            break
    return _ordered(lower, upper)


def _epsilon(pairs: Pairs, delta: float, cells: int, share: float) -> Bracket:
    betrayed, most = infinite_mass(pairs), _largest(pairs)
    if most == 0 or delta <= betrayed * (1 + _ULPS) or delta == 0:
        enough = delta >= betrayed * (1 - _ULPS)
        sure = delta == 0 == betrayed or delta > betrayed * (1 + _ULPS) or len(pairs) < 2
        return Bracket(most if enough else math.inf, most if enough and sure else math.inf)
    if beyond_the_grid(pairs):
        return Bracket(0.0, most)
    pairs = trimmed(pairs, share * (delta - betrayed))
    lost = betrayed + trimmed_mass(pairs)
    if not lost < delta:  # a delta of about 1e-300: no tail is that rare
        return Bracket(0.0, most)
    log_delta = math.log(delta - lost)

    def bound(order: float) -> float:
        return (_log_moment(pairs, order) + _saddle(order) - log_delta) / order

    order = _order(pairs, bound)
    above, below = _curves(pairs, order, cells, (lost, betrayed))
    upper = max(0.0, min(above.epsilon(delta), bound(order), most))
    return _ordered(max(0.0, below.epsilon(delta)), upper)


def _delta(pairs: Pairs, epsilon: float, cells: int, share: float) -> Bracket:
    betrayed = infinite_mass(pairs)
    if epsilon >= _largest(pairs):
        return Bracket.exactly(betrayed)
    if beyond_the_grid(pairs):
        return Bracket(betrayed, min(1.0, betrayed + _largest(pairs)))
    tail, answer = 1e-12, Bracket(0.0, 1.0)
    for _ in range(_MOST_TRIMS):
        answer = _delta_without_tails(trimmed(pairs, tail), epsilon, cells, betrayed)
        lost = trimmed_mass(trimmed(pairs, tail))
        if lost <= 10 * share * answer.upper:
            break
        tail = max(1e-300, min(share / 10 * answer.upper, 1e-3 * tail**1.5))
    return answer


def _delta_without_tails(pairs: Pairs, epsilon: float, cells: int, betrayed: float) -> Bracket:
    def bound(order: float) -> float:
        return _log_moment(pairs, order) + _saddle(order) - order * epsilon

    order = _order(pairs, bound)
    lost = betrayed + trimmed_mass(pairs)
    if bound(order) < _UNDERFLOW:
        return Bracket(betrayed, min(lost + _SMALLEST, 1.0))
    above, below = _curves(pairs, order, cells, (lost, betrayed))
    upper = min(above.delta(epsilon), lost + math.exp(min(bound(order), 0.0)), 1.0)
    return _ordered(max(0.0, below.delta(epsilon)), max(upper, _SMALLEST))


def beyond_the_grid(pairs: Pairs) -> bool:
    """Return whether losses are so small or so large that only their bound is told."""
    bounded = all(count * pair.largest <= _FAINT for pair, count in pairs)
    return bounded or any(_VAST < pair.largest < math.inf for pair, _ in pairs)


def _ordered(lower: float, upper: float) -> Bracket:
    """Return the bracket; ends that cross by more than rounding are an error of this module."""
    if lower > upper * (1 + 1e-9) + _SMALLEST:
        raise ConvergenceError(f"numerical: got ends {lower} and {upper}, expected them in order")
    return Bracket(min(lower, upper), upper)


def _largest(pairs: Pairs) -> float:
    return math.fsum(count * pair.largest for pair, count in pairs)


def _log_moment(pairs: Pairs, order: float) -> float:
    """Return ``log E exp(order L)`` of the total loss L."""
    at = np.array(order)
    return math.fsum(count * float(pair.log_mgf(at)) for pair, count in pairs)


def _saddle(order: float) -> float:
    """Return ``log max_x exp(-order x) (1 - exp(-x))``."""
    if order < 1:  # 1 / order may overflow
        return (order * math.log(order) if order > 0 else 0.0) - (1 + order) * math.log1p(order)
    return -order * math.log1p(1 / order) - math.log1p(order)


def _order(pairs: Pairs, bound: Callable[[float], float]) -> float:
    """Return about the order whose Chernoff bound is least."""
    most = _largest(pairs)  # beyond 1e7 / most the tilt sees nothing but its last digits
    farthest = 1e7 / most if math.isfinite(most) else _FARTHEST
    farthest = min(farthest, *(pair.farthest_order for pair, _ in pairs))
    near = lowest(bound, LEAST_ORDER, 2.0, 1e-3, farthest)
    orders = np.minimum(np.geomspace(near / 1.7, near * 1.7, 7), farthest)
    return float(min(orders.tolist(), key=bound))


def _curves(
    pairs: Pairs, order: float, cells: int, lost: tuple[float, float]
) -> tuple[UpperCurve, LowerCurve]:
    window = window_of(lambda at: _log_moment(pairs, at), order)
    spacing = spacing_of(pairs, (window.high - window.low) / (cells - 32))
    total = sum(count for _, count in pairs)
    steps: list[tuple[Rounded, int]] = [
        (rounded(pair, step_window(pair, order, window, total), spacing, order), count)
        for pair, count in pairs
    ]
    first, tails = math.floor(window.low / spacing) - 16, (window.down, window.up)

    def law(part: str, start: int, side: int, left_out: float = 0.0) -> Convolved:
        tilted = [(getattr(step, part), count) for step, count in steps]
        return convolved(tilted, start, cells, spacing, tails, left_out, side)

    start = first - round(sum(count * step.drift for step, count in steps))
    p, q = law("cells_p", start, -1), law("cells_q", start, 1)
    blur = _ROUNDING * math.fsum(count * step.reach(spacing) for step, count in steps)
    below = LowerCurve(p, q, order, lost[1], blur)
    return UpperCurve(law("above", first, 1, 4 * LEFT_OUT), order, lost[0]), below
