"""Where the tilted total loss and that of one step lie, and how fine a grid has to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpaudit.accounting.dominating import Counted
from dpaudit.accounting.pairs import DominatingPair

Pairs = tuple[Counted, ...]

LEAST_ORDER = 1e-6
# Of the tilted mass: what the windows leave out.
LEFT_OUT = 1e-15
_FARTHEST = 1e12


def lowest(
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
class Window:
    """Where the tilted total loss lies, and the orders its Chernoff bounds were taken at."""

    low: float
    high: float
    down: float
    up: float


def window_of(log_mgf: Callable[[float], float], order: float) -> Window:
    """Return where all of the tilted law lies but for what may be left out on either side."""
    here, room = log_mgf(order), -math.log(LEFT_OUT)

    def above(h: float) -> float:
        return (log_mgf(order + h) - here + room) / h

    def below(h: float) -> float:
        return (log_mgf(order - h) - here + room) / h

    up = lowest(above, LEAST_ORDER, 2.0, 0.02, _FARTHEST)
    down = lowest(below, LEAST_ORDER, 2.0, 0.02, _FARTHEST)
    return Window(-below(down), above(up), down, up)


def spacing_of(pairs: Pairs, at_least: float) -> float:
    """Return a spacing of about this size on which a lattice all pairs share would fall."""
    lattices = {pair.lattice for pair, _ in pairs}
    lattice = lattices.pop() if len(lattices) == 1 else None
    if lattice is None or lattice < at_least:
        return at_least
    return lattice / math.floor(lattice / at_least)


def step_window(
    pair: DominatingPair,
    order: float,
    window: Window,
    total: int,
) -> tuple[float, float]:
    """Return where one step's tilted loss lies, up to its share of what may be left out."""
    here = float(pair.log_mgf(np.array(order)))
    room = math.log(total) - math.log(LEFT_OUT)
    reach = np.geomspace(1.0, 4 * math.sqrt(total), 8)  # equal steps have orders sqrt(total) times
    ups, downs = window.up * reach, window.down * reach
    high = np.nanmin((pair.log_mgf(order + ups) - here + room) / ups)
    low = np.nanmax(-(pair.log_mgf(order - downs) - here + room) / downs)
    return float(max(low, -pair.reversed().largest)), float(min(high, pair.largest))
