"""Branches on noise: a function is run again for each way in which noise may decide.

A run follows a *script*, which says how its first conditions are decided; every one after these is
true. The next script has the last condition that was true decided the other way. So each path that
noise can take is run once, depth first, as long as there are not too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.symbols.symbol import Symbol, SymbolTracing

MOST_PATHS = 1000
_MOST_POSITIONS = 64
_MOVING = ("reshape", "take", "trunc", "rint")


@dataclass(eq=False)
class PathTracing(SymbolTracing):
    """A run that follows a script wherever noise decides.

    Parameters
    ----------
    script
        How the first conditions are decided.
    outcomes
        How all were decided, in order.
    decided, positions
        How conditions were decided, and which whole numbers were drawn, by their nodes.
    most
        The most conditions of a path.
    """

    script: tuple[bool, ...] = ()
    outcomes: list[bool] = field(default_factory=list)
    decided: dict[int, bool] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)
    most: int = MOST_PATHS

    def start(self, script: tuple[bool, ...]) -> None:
        """Forget everything, for a run of another script."""
        self.call += 1
        self.script, self.outcomes, self.decided, self.positions = script, [], {}, {}
        self.program, self.refusal, self.taints, self.known = PathProgram(), None, [], {}

    def end(self) -> None:
        """Write no more: values of this run that code holds are of none any more."""
        self.call, self.is_over = self.call + 1, True

    def decide(self, symbol: Symbol) -> bool:
        """Return how a condition is decided on this path."""
        condition: Any = symbol if symbol.dtype.kind == "b" else np.not_equal(symbol, 0)
        condition = condition.reshape(()) if condition.dims else condition
        return self._decided(condition.index)

    def _decided(self, index: int) -> bool:
        if index in self.decided:
            return self.decided[index]
        count = len(self.outcomes)
        if count >= self.most:
            self.refuse(
                f"noise decides more than {self.most} branches in a row",
                "give a loop a public number of rounds",
            )
        outcome = self.script[count] if count < len(self.script) else True
        self.outcomes.append(outcome)
        self.decided[index] = outcome
        self.node("decide", (index,), (), np.dtype(bool), {"outcome": outcome})
        return outcome

    def position(self, symbol: Symbol) -> int:
        """Return which whole number noise has drawn on this path, of a few that it may be."""
        found = self._range_of(symbol)
        if found is None or len(found) > _MOST_POSITIONS:
            return super().position(symbol)
        place = next((one for one in found[:-1] if self.decide(symbol == one)), found[-1])
        self.positions[symbol.index] = place
        return place

    def _range_of(self, symbol: Symbol) -> range | None:
        """Return which numbers a whole one may be, where its last operation says so."""
        node = self.program.nodes[symbol.index]
        while node.operation in _MOVING:
            node = self.program.nodes[node.operands[0]]
        given = node.parameters
        if node.operation == "draw" and given["law"] == "integers":
            return range(given["low"], given["high"])
        if node.operation == "draw" and given["law"] in ("choice", "permutation"):
            return range(given["count"])
        if node.operation in ("argmax", "argmin"):
            return self._places_of(node)
        return range(2) if node.dtype == "bool" else None

    def _places_of(self, node: Node) -> range | None:
        dims, axis = self.program.nodes[node.operands[0]].shape, node.parameters["axis"]
        of_axis = dims if axis is None else (dims[axis],)
        known = [one for one in of_axis if one is not None]
        return range(int(np.prod(known))) if len(known) == len(of_axis) else None


def explore_paths(
    tracing: PathTracing, run: Callable[[], Any], most: int = MOST_PATHS
) -> Iterator[tuple[PathProgram, tuple[bool, ...], Any]]:
    """Yield program, decisions and result of every path.

    Parameters
    ----------
    tracing
        Where a run writes what it does; it is started anew for each.
    run
        Runs the function once, or raises `NotProved`.
    most
        The most paths, and the most decisions of one.

    Raises
    ------
    NotProved
        There are more paths.
    """
    script: tuple[bool, ...] | None = ()
    tracing.most = most
    count = 0
    while script is not None:
        if count == most:
            tracing.refuse(
                f"noise chooses among more than {most} paths",
                "use numpy.where instead of a branch, or fewer rounds",
            )
        tracing.start(script)
        result = run()
        yield tracing.program, tuple(tracing.outcomes), result
        script, count = _make_next_script(tracing.outcomes), count + 1


def _make_next_script(outcomes: list[bool]) -> tuple[bool, ...] | None:
    """Return the script of the next path, depth first; None after the last one."""
    last = next((n for n in reversed(range(len(outcomes))) if outcomes[n]), None)
    return None if last is None else (*outcomes[:last], False)
