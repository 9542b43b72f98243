"""Values that records, when they are added, only raise, or only lower.

**Theorem.** Let one of two neighbours have records that the other has not. A sum over records of
numbers that are at least 0 is at least as large with them, and so is a count. Sums, products with
public numbers of one sign and functions that do not fall keep that, or turn it around. []

Two entries of a value that is only raised move apart by the larger of their moves at most, while
two entries of any value may move apart by their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Universe

_MOVING = frozenset("add take reshape transpose broadcast concatenate".split())
_RISING = frozenset(
    "minimum maximum exp expm1 log log1p sqrt tanh arctan sign floor ceil rint trunc".split()
)


class MonotoneKnowledge(Protocol):
    """The facts about the values of a program, its universe, and each value's dependence."""

    program: PathProgram
    universe: Universe

    @property
    def kinds(self) -> Sequence[NodeKind]:
        """The dependence of each value on data and draws."""

    def facts(self, index: int) -> Facts:
        """Return the ends of a node's entries."""


@dataclass(frozen=True)
class EntryDirection:
    """Whether added records may raise an entry, and whether they may lower one."""

    rises: bool
    falls: bool

    @property
    def is_one_way(self) -> bool:
        """Whether no two entries move in opposite directions."""
        return not (self.rises and self.falls)

    def turned(self) -> EntryDirection:
        """Return the direction of the negative."""
        return EntryDirection(self.falls, self.rises)

    def joined(self, other: EntryDirection) -> EntryDirection:
        """Return the direction that covers either."""
        return EntryDirection(self.rises or other.rises, self.falls or other.falls)


_STILL = EntryDirection(False, False)
_UP = EntryDirection(True, False)
_ANY = EntryDirection(True, True)


def direction_of(known: MonotoneKnowledge, index: int) -> EntryDirection:
    """Return how added records move a value.

    Parameters
    ----------
    known
        Facts of the program's values.
    index
        The value.
    """
    kinds = known.kinds
    # A replaced record takes its old numbers away and brings new ones, so sums may go either
    # way.
    if known.universe.change != "add-remove":
        return _STILL if kinds[index] is not NodeKind.PRIVATE else _ANY
    found: dict[int, EntryDirection] = {}
    for one in _private_slice(known.program, kinds, index):
        node = known.program.nodes[one]
        operands = [found.get(k, _STILL) for k in node.operands]
        found[one] = _find_node_direction(known, node, operands)
    return found.get(index, _STILL)


def _private_slice(program: PathProgram, kinds: Sequence[NodeKind], index: int) -> list[int]:
    """Return the private nodes that a value depends on through private ones, in order."""
    if kinds[index] is not NodeKind.PRIVATE:
        return []
    needed, pending = {index}, [index]
    while pending:
        for one in program.nodes[pending.pop()].operands:
            if one not in needed and kinds[one] is NodeKind.PRIVATE:
                needed.add(one)
                pending.append(one)
    return sorted(needed)


def _find_node_direction(
    known: MonotoneKnowledge, node: Node, operands: list[EntryDirection]
) -> EntryDirection:
    if node.operation == "size":
        return _UP
    # Rows themselves come and go; only what is added up over them has a direction.
    if any(None in known.program.nodes[k].shape for k in (node.index, *node.operands)):
        return _of_records(known, node)
    if node.operation in _MOVING or node.operation in _RISING or node.operation == "sum":
        return _merge_directions(operands)
    if node.operation == "subtract":
        return operands[0].joined(operands[1].turned())
    if node.operation == "negative":
        return operands[0].turned()
    if node.operation in ("multiply", "divide"):
        return _find_scaled_direction(known, node, operands)
    return _ANY


def _of_records(known: MonotoneKnowledge, node: Node) -> EntryDirection:
    """Return the direction of a sum or of counts over records, any of anything else."""
    if node.operation not in ("sum", "bin_counts") or not _is_of_records(known, node):
        return _ANY
    return _UP if node.operation == "bin_counts" else _of_sum(known.facts(node.operands[0]))


def _merge_directions(directions: list[EntryDirection]) -> EntryDirection:
    found = _STILL
    for one in directions:
        found = found.joined(one)
    return found


def _is_of_records(known: MonotoneKnowledge, node: Node) -> bool:
    """Return whether a reduction goes over rows of which each is of a record alone."""
    facts = known.facts(node.operands[0])
    # A row that depends on other records may fall when one of them is added.
    if facts.refusal is not None or facts.rows is None or facts.rows.records is not None:
        return False
    axis = node.parameters.get("axis")
    if axis is None:
        return True
    axes = axis if isinstance(axis, tuple | list) else [axis]
    rank = len(known.program.nodes[node.operands[0]].shape)
    return facts.rows.axis in [one % rank for one in axes]


def _of_sum(facts: Facts) -> EntryDirection:
    return EntryDirection(rises=bool(np.any(facts.high > 0)), falls=bool(np.any(facts.low < 0)))


def _find_scaled_direction(
    known: MonotoneKnowledge, node: Node, operands: list[EntryDirection]
) -> EntryDirection:
    """Return the direction of a product with public numbers, or of a quotient by such."""
    moving = [place for place, one in enumerate(operands) if one != _STILL]
    if not moving:
        return _STILL
    if moving == [1] and node.operation == "multiply":
        factor = known.facts(node.operands[0])
    elif moving == [0]:
        factor = known.facts(node.operands[1])
    else:
        return _ANY
    if factor.refusal is None and bool(np.all(factor.low >= 0)):
        return operands[moving[0]]
    if factor.refusal is None and bool(np.all(factor.high <= 0)):
        return operands[moving[0]].turned()
    return _ANY
