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

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.accounting.bracket import Bracket
from dpaudit.accounting.curves import LowerCurve, UpperCurve, convolved
from dpaudit.accounting.dominating import Counted, directions, dominating_pairs
from dpaudit.accounting.grid import Rounded, rounded
from dpaudit.accounting.pairs import DominatingPair
from dpaudit.events import Event

Array = NDArray[np.float64]

CELLS = 2**16
_LEAST_ORDER = 1e-3
# Of the tilted mass: what the windows leave out.
_LEFT_OUT = 1e-15


def numerical_epsilon(event: Event, delta: float, cells: int = CELLS) -> Bracket:
    """Return a bracket of the smallest epsilon at which the dominating pairs compose to ``delta``.

    Parameters
    ----------
    event
        What was released.
    delta
        In [0, 1).
    cells
        Points of the grid; more make the bracket narrower.

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
    brackets = [_epsilon(pairs, delta, cells) for pairs in directions(dominating_pairs(event))]
    return Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def numerical_delta(event: Event, epsilon: float, cells: int = CELLS) -> Bracket:
    """Return a bracket of the delta to which the dominating pairs compose at ``epsilon >= 0``.

    Examples
    --------
    >>> from dpaudit.events import GaussianRelease
    >>> bracket = numerical_delta(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    >>> round(bracket.lower, 6), round(bracket.upper, 6)  # exact: .126936737507
    (0.126937, 0.126937)
    """
    epsilon = check.non_negative("epsilon", epsilon)
    brackets = [_delta(pairs, epsilon, cells) for pairs in directions(dominating_pairs(event))]
    return Bracket(max(b.lower for b in brackets), max(b.upper for b in brackets))


def _epsilon(pairs: tuple[Counted, ...], delta: float, cells: int) -> Bracket:
    betrayed, most = _infinite_mass(pairs), _largest(pairs)
    if delta <= betrayed or not pairs:
        attained = most if delta == betrayed or not pairs else math.inf
        return Bracket.exactly(attained)
    log_delta = math.log(delta - betrayed)

    def bound(order: float) -> float:
        return (_log_moment(pairs, order) + _saddle(order) - log_delta) / order

    order = _lowest(bound, 1.4, 1e-3)
    above, below = _curves(pairs, order, cells, betrayed)
    upper = max(0.0, min(above.epsilon(delta), bound(order), most))
    return Bracket(min(max(0.0, below.epsilon(delta)), upper), upper)


def _delta(pairs: tuple[Counted, ...], epsilon: float, cells: int) -> Bracket:
    betrayed = _infinite_mass(pairs)
    if not pairs or epsilon >= _largest(pairs):
        return Bracket.exactly(betrayed)

    def bound(order: float) -> float:
        return _log_moment(pairs, order) + _saddle(order) - order * epsilon

    order = _lowest(bound, 1.4, 1e-3)
    above, below = _curves(pairs, order, cells, betrayed)
    upper = min(above.delta(epsilon), betrayed + math.exp(min(bound(order), 0.0)), 1.0)
    return Bracket(min(max(0.0, below.delta(epsilon)), upper), upper)


def _infinite_mass(pairs: tuple[Counted, ...]) -> float:
    return -math.expm1(sum(count * math.log1p(-pair.infinite_mass) for pair, count in pairs))


def _largest(pairs: tuple[Counted, ...]) -> float:
    return sum((count * pair.largest for pair, count in pairs), 0.0)


def _log_moment(pairs: tuple[Counted, ...], order: float) -> float:
    """Return ``log E exp(order L)`` of the total loss L."""
    at = np.array(order)
    return float(sum(count * pair.log_mgf(at) for pair, count in pairs))


def _saddle(order: float) -> float:
    """Return ``log max_x exp(-order x) (1 - exp(-x))``."""
    return -order * math.log1p(1 / order) - math.log1p(order)


def _lowest(function: Callable[[float], float], factor: float, gain: float) -> float:
    """Return about where a function with one valley is least, by multiplying with ``factor``.

    It stops once two factors brought less than the gain: every order gives a bound that holds.
    """
    best, at, since, x = math.inf, _LEAST_ORDER, 0, _LEAST_ORDER
    while since < 2:
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
    up = _lowest(lambda h: (log_mgf(order + h) - here + room) / h, 2.0, 0.02)
    down = _lowest(lambda h: (log_mgf(order - h) - here + room) / h, 2.0, 0.02)
    high = (log_mgf(order + up) - here + room) / up
    return _Window(-(log_mgf(order - down) - here + room) / down, high, down, up)


def _curves(
    pairs: tuple[Counted, ...], order: float, cells: int, betrayed: float
) -> tuple[UpperCurve, LowerCurve]:
    window = _window(lambda at: _log_moment(pairs, at), order)
    spacing = _spacing(pairs, (window.high - window.low) / (cells - 16))
    total = sum(count for _, count in pairs)
    steps: list[tuple[Rounded, int]] = [
        (rounded(pair, _step_window(pair, order, window, total), spacing, order), count)
        for pair, count in pairs
    ]
    first = math.floor(window.low / spacing) - 8
    parts = {
        name: convolved(
            [(getattr(step, name), count) for step, count in steps],
            first,
            cells,
            spacing,
            (window.down, window.up),
            4 * _LEFT_OUT,
        )
        for name in ("above", "cells_p", "cells_q")
    }
    above = UpperCurve(parts["above"], order, betrayed)
    return above, LowerCurve(parts["cells_p"], parts["cells_q"], order, betrayed)


def _spacing(pairs: tuple[Counted, ...], at_least: float) -> float:
    """Return a spacing of about this size on which a lattice all pairs share would fall."""
    lattices = {pair.lattice for pair, _ in pairs}
    lattice = lattices.pop() if len(lattices) == 1 else None
    if lattice is None or lattice < at_least:
        return at_least
    return lattice / math.floor(lattice / at_least)


def _step_window(
    pair: DominatingPair, order: float, window: _Window, total: int
) -> tuple[float, float]:
    """Return where one step's tilted loss lies, up to its share of what may be left out."""
    here = float(pair.log_mgf(np.array(order)))
    room = math.log(total) - math.log(_LEFT_OUT)
    reach = np.geomspace(1.0, 4 * math.sqrt(total), 8)  # equal steps have orders sqrt(total) times
    ups, downs = window.up * reach, window.down * reach
    high = np.nanmin((pair.log_mgf(order + ups) - here + room) / ups)
    low = np.nanmax(-(pair.log_mgf(order - downs) - here + room) / downs)
    return float(low), float(min(high, pair.largest))
