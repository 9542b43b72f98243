"""Functions of records with their refinements, and what brute force finds of them."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.facts import Facts
from dpaudit.proving.program import EVALUATORS, Node, Program
from dpaudit.proving.refinements import REFINEMENTS
from dpaudit.proving.trace import Kind
from dpaudit.proving.universe import NOWHERE_APART, UNBOUNDED, Distance, Part, Universe
from tests.proving.arrays import trace

STILL = "sum mean max min take reshape transpose concatenate broadcast sort".split()
RISING = "exp expm1 log log1p sqrt arctan tanh".split()


class Refined:
    """Refinements alone, upon no more than the ends that simple functions have."""

    def __init__(self, program: Program, universe: Universe) -> None:
        self.program, self.universe = program, universe
        self.kinds = {node.index: Kind.PRIVATE for node in program.nodes}
        for node in program.nodes:
            if node.operation == "constant":
                self.kinds[node.index] = Kind.PUBLIC
        self._distances: dict[int, Distance] = {}
        self._ends: dict[int, Any] = {}

    def facts(self, index: int) -> Facts:
        is_public = self.kinds[index] is Kind.PUBLIC
        distance = NOWHERE_APART if is_public else UNBOUNDED
        low, high = self._find_ends(self.program.nodes[index])
        return Facts(low, high, np.asarray(np.inf), distance)

    def distance(self, index: int) -> Distance:
        if index not in self._distances:
            found = self.facts(index).distance
            for refine in REFINEMENTS:
                found = found.tighten(refine(self, index))
            self._distances[index] = found
        return self._distances[index]

    def _find_ends(self, node: Node) -> Any:
        if node.index not in self._ends:
            self._ends[node.index] = self._read_ends(node)
        return self._ends[node.index]

    def _read_ends(self, node: Node) -> Any:
        if node.operation == "constant":
            value = np.asarray(node.parameters["value"], dtype=float)
            return value, value
        if node.operation == "data":
            part = self.universe.part(node.parameters["part"])
            return np.broadcast_to(part.low, node.shape), np.broadcast_to(part.high, node.shape)
        operands = [self._find_ends(self.program.nodes[one]) for one in node.operands]
        if node.operation in STILL + RISING:
            function = EVALUATORS[node.operation]
            with np.errstate(all="ignore"):
                return [function(*side, **node.parameters) for side in zip(*operands, strict=True)]
        if node.operation == "negative":
            return -operands[0][1], -operands[0][0]
        if node.operation == "power" and np.all(operands[1][0] == 2):
            low, high = operands[0]
            crosses = (low <= 0) & (high >= 0)
            ends = np.minimum(low**2, high**2), np.maximum(low**2, high**2)
            return np.where(crosses, 0.0, ends[0]), ends[1]
        return np.asarray(-np.inf), np.asarray(np.inf)


def refine(function: Callable[..., Any], shape: tuple[int, ...], low: Any, high: Any) -> Distance:
    """Return how far a function of one array moves, by refinements."""
    tracing, output = trace(function, np.zeros(shape))
    program = tracing.program
    lowest, highest = (np.broadcast_to(np.float64(one), shape[1:]) for one in (low, high))
    universe = Universe((Part("0", shape, lowest, highest),), shape[0], "replace")
    return Refined(program, universe).distance(tracing.symbol_of(output).index)


def search_grid(function: Callable[[Any], Any], n: int, values: Any) -> float:
    """Return how far one record moves a number between datasets of a grid, the most of all."""
    grid = itertools.product(values, repeat=n)
    with np.errstate(all="ignore"):
        found = np.array([float(function(np.array(x))) for x in grid]).reshape((len(values),) * n)
    return float(max(np.ptp(found, axis=axis).max() for axis in range(n)))
