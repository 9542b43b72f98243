"""The requirements of a rule: the facts of operands, the program, the datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.universe import Universe


class RuleKnowledge(Protocol):
    """The facts about the values of a program: `dpaudit.proving.distances.analysis.Analysis`.

    Attributes
    ----------
    program, universe
        What a function does, and the datasets.
    memory
        Facts by what decides them.
    """

    program: PathProgram
    universe: Universe
    memory: dict[Any, Facts]

    def facts(self, index: int) -> Facts:
        """Return the facts about a value."""

    def value(self, index: int) -> Any:
        """Return the numbers of a value that is a constant; None of others."""


Rule = Callable[[RuleKnowledge, Node], Facts]
