"""The requirements of a refinement: the program, the datasets, facts and distances of its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Distance, Universe


class RefinementKnowledge(Protocol):
    """The facts about the values of a program: `dpaudit.proving.distances.analysis.Analysis`.

    Attributes
    ----------
    kinds
        Of each node, by number.
    """

    program: PathProgram
    universe: Universe
    kinds: Any

    def facts(self, index: int) -> Facts:
        """Return the facts of forward rules about a value."""

    def distance(self, index: int) -> Distance:
        """Return how far a value moves, by all rules and refinements."""


Refinement = Callable[[RefinementKnowledge, int], Distance]
