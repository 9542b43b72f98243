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
counts. So both ends are off to second order in the spacing only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.accounting.bracket import Bracket
from dpaudit.accounting.curves import Convolved, LowerCurve, UpperCurve, convolved
from dpaudit.accounting.dominating import (
    Counted,
    directions,
    dominating_pairs,
    infinite_mass,
    trimmed,
    trimmed_mass,
)
from dpaudit.accounting.grid import Rounded, rounded
from dpaudit.accounting.pairs import DominatingPair
from dpaudit.errors import ConvergenceError
from dpaudit.events import Event

Array = NDArray[np.float64]

Pairs = tuple[Counted, ...]

CELLS, MORE_CELLS, LEAST_CELLS = 2**16, 2**19, 2**8
_NARROW = 1e-3
_LEAST_ORDER, _FARTHEST = 1e-6, 1e12
_SMALLEST, _UNDERFLOW, _ULPS = math.ulp(0.0), -760.0, 1e-13
_MOST_TRIMS = 6
# Losses between these are composed; what lies beyond is pure DP that needs no composing.
_FAINT, _VAST = 1e-100, 1e7
# Of the tilted mass: what the windows leave out.
_LEFT_OUT = 1e-15


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
    for size in (CELLS, MORE_CELLS) if cells is None else (cells,):
        brackets = [answer(pairs, cells=size) for pairs in ways]
        worst = Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))
        if worst.width <= _NARROW * worst.upper:
            break
    return worst


def _epsilon(pairs: Pairs, delta: float, cells: int) -> Bracket:
    betrayed, most = infinite_mass(pairs), _largest(pairs)
    if most == 0 or delta <= betrayed * (1 + _ULPS) or delta == 0:
        enough = delta >= betrayed * (1 - _ULPS)
        sure = delta == 0 == betrayed or delta > betrayed * (1 + _ULPS) or len(pairs) < 2
        return Bracket(most if enough else math.inf, most if enough and sure else math.inf)
    if beyond_the_grid(pairs):
        return Bracket(0.0, most)
    pairs = trimmed(pairs, 1e-8 * (delta - betrayed))
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


def _delta(pairs: Pairs, epsilon: float, cells: int) -> Bracket:
    betrayed = infinite_mass(pairs)
    if epsilon >= _largest(pairs):
        return Bracket.exactly(betrayed)
    if beyond_the_grid(pairs):
        return Bracket(betrayed, min(1.0, betrayed + _largest(pairs)))
    tail, answer = 1e-12, Bracket(0.0, 1.0)
    for _ in range(_MOST_TRIMS):
        answer = _delta_without_tails(trimmed(pairs, tail), epsilon, cells, betrayed)
        lost = trimmed_mass(trimmed(pairs, tail))
        if lost <= 1e-7 * answer.upper:
            break
        tail = max(1e-300, min(1e-9 * answer.upper, 1e-3 * tail**1.5))
    return answer


def _delta_without_tails(pairs: Pairs, epsilon: float, cells: int, betrayed: float) -> Bracket:
    def bound(order: float) -> float:
        return _log_moment(pairs, order) + _saddle(order) - order * epsilon

    order = _order(pairs, bound)
    lost = betrayed + trimmed_mass(pairs)
    if bound(order) < _UNDERFLOW:
        return Bracket(betrayed, lost + _SMALLEST)
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
    return -order * math.log1p(1 / order) - math.log1p(order)


def _order(pairs: Pairs, bound: Callable[[float], float]) -> float:
    """Return about the order whose Chernoff bound is least."""
    most = _largest(pairs)  # beyond 1e7 / most the tilt sees nothing but its last digits
    farthest = 1e7 / most if math.isfinite(most) else _FARTHEST
    near = _lowest(bound, _LEAST_ORDER, 2.0, 1e-3, farthest)
    return float(min(np.geomspace(near / 1.7, near * 1.7, 7).tolist(), key=bound))


def _lowest(
    function: Callable[[float], float], start: float, factor: float, gain: float, farthest: float
) -> float:
    """Return about where a function with one valley is least, by multiplying with ``factor``.

    It stops once two factors brought less than the gain: every order gives a bound that holds.
    """
    best, at, since, x = math.inf, start, 0, start
    while since < 2 and x < farthest:
        value = function(x)
        since = 0 if value < best - gain * abs(best) or not math.isfinite(best) else since + 1
        if value < best:
            best, at = value, x
        x *= factor
    return at


@dataclass(frozen=True)
class _Window:
    """Where the tilted total loss lies, and the orders its Chernoff bounds were taken at."""

    low: float
    high: float
    down: float
    up: float


def _window(log_mgf: Callable[[float], float], order: float) -> _Window:
    here, room = log_mgf(order), -math.log(_LEFT_OUT)

    def above(h: float) -> float:
        return (log_mgf(order + h) - here + room) / h

    def below(h: float) -> float:
        return (log_mgf(order - h) - here + room) / h

    up = _lowest(above, _LEAST_ORDER, 2.0, 0.02, _FARTHEST)
    down = _lowest(below, _LEAST_ORDER, 2.0, 0.02, _FARTHEST)
    return _Window(-below(down), above(up), down, up)


def _curves(
    pairs: Pairs, order: float, cells: int, lost: tuple[float, float]
) -> tuple[UpperCurve, LowerCurve]:
    window = _window(lambda at: _log_moment(pairs, at), order)
    spacing = _spacing(pairs, (window.high - window.low) / (cells - 32))
    total = sum(count for _, count in pairs)
    steps: list[tuple[Rounded, int]] = [
        (rounded(pair, _step_window(pair, order, window, total), spacing, order), count)
        for pair, count in pairs
    ]
    first, tails = math.floor(window.low / spacing) - 16, (window.down, window.up)

    def law(part: str, start: int, side: int) -> Convolved:
        tilted = [(getattr(step, part), count) for step, count in steps]
        return convolved(tilted, start, cells, spacing, tails, 4 * _LEFT_OUT, side)

    start = first - round(sum(count * step.drift for step, count in steps))
    below = LowerCurve(law("cells_p", start, -1), law("cells_q", start, 1), order, lost[1])
    return UpperCurve(law("above", first, 1), order, lost[0]), below


def _spacing(pairs: Pairs, at_least: float) -> float:
    """Return a spacing of about this size on which a lattice all pairs share would fall."""
    lattices = {pair.lattice for pair, _ in pairs}
    lattice = lattices.pop() if len(lattices) == 1 else None
    if lattice is None or lattice < at_least:
        return at_least
    return lattice / math.floor(lattice / at_least)


def _step_window(
    pair: DominatingPair,
    order: float,
    window: _Window,
    total: int,
) -> tuple[float, float]:
    """Return where one step's tilted loss lies, up to its share of what may be left out."""
    here = float(pair.log_mgf(np.array(order)))
    room = math.log(total) - math.log(_LEFT_OUT)
    reach = np.geomspace(1.0, 4 * math.sqrt(total), 8)  # equal steps have orders sqrt(total) times
    ups, downs = window.up * reach, window.down * reach
    high = np.nanmin((pair.log_mgf(order + ups) - here + room) / ups)
    low = np.nanmax(-(pair.log_mgf(order - downs) - here + room) / downs)
    return float(max(low, -pair.reversed().largest)), float(min(high, pair.largest))
