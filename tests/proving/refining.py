"""Functions of records with their distances, and what brute force finds of them."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.universe import Distance, Part, Universe
from tests.proving.arrays import trace


def refine(
    function: Callable[..., Any], shape: tuple[int, ...], low: Any, high: Any, *, count: int = 1
) -> Distance:
    """Return how far a function of one array moves when records are replaced."""
    tracing, output = trace(function, np.zeros(shape))
    lowest, highest = (np.broadcast_to(np.float64(one), shape[1:]) for one in (low, high))
    part = Part("0", shape, lowest, highest)
    universe = Universe((part,), shape[0], "replace", count)
    return Analysis(tracing.program, universe).distance(tracing.symbol_of(output).index)


def search_grid(function: Callable[[Any], Any], n: int, values: Any) -> float:
    """Return how far one record moves a number between datasets of a grid, the most of all."""
    grid = itertools.product(values, repeat=n)
    with np.errstate(all="ignore"):
        found = np.array([float(function(np.array(x))) for x in grid]).reshape((len(values),) * n)
    return float(max(np.ptp(found, axis=axis).max() for axis in range(n)))
