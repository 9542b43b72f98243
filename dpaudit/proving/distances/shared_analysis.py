"""Distances that the paths of a function have in common, found once.

Paths are alike up to the decision where they part, and ask for the distances of the same centres.
A value is known by the operations of which it is made: what it is in one program holds in another.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.events.draft import write_parameters
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Distance, Universe


@dataclass(eq=False)
class DistanceMemory:
    """Distances of one universe, by the number of a value's making."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    distances: dict[int, Distance] = field(default_factory=dict)

    def number(self, making: Hashable) -> int:
        """Return the number of a making, a new one where it was not met before."""
        return self.numbers.setdefault(making, len(self.numbers))


class SharedAnalysis(Analysis):
    """An analysis that shares the distances it finds with those of other paths.

    Parameters
    ----------
    program, universe, kinds
        As of an `Analysis`; all that share a memory have one universe.
    memory
        What is shared.
    """

    def __init__(
        self,
        program: PathProgram,
        universe: Universe,
        kinds: Sequence[NodeKind],
        memory: DistanceMemory,
    ) -> None:
        super().__init__(program, universe, kinds)
        self._shared = memory
        self._numbers: list[int] = []

    def distance(self, index: int) -> Distance:
        """Return how far neighbours move a value."""
        number = self._number(index)
        if number not in self._shared.distances:
            self._shared.distances[number] = super().distance(index)
        return self._shared.distances[number]

    def _number(self, index: int) -> int:
        # Operands come before what is made of them, so one pass forwards numbers all up to the
        # index.
        for node in self.program.nodes[len(self._numbers) : index + 1]:
            self._numbers.append(self._shared.number(self._making(node)))
        return self._numbers[index]

    def _making(self, node: Node) -> Hashable:
        """Return the making of a value: its operation, and its operands."""
        operands = tuple(self._numbers[one] for one in node.operands)
        kind = self.kinds[node.index].value
        given = write_parameters(node.parameters)
        return node.operation, operands, given, node.shape, node.dtype, kind
