"""Values as polynomials in the records, from the operations that form them.

There are two ways to read. *Record by record* every cell of every record is an atom. *Uniformly*
one row stands for all: the axis of records has length 1, its entry is a polynomial of the cells of
one row, and a sum along it is the atom of the sum over all records of each monomial, whatever their
number. The second is exact where all records are treated alike, and refused elsewhere.

Values that are not private (constants, what was released before) are numbers that neighbours have
in common. A value of which the forward rules know nothing is not read at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.polynomials import (
    ONE,
    AtomPolynomial,
    RefinementEffort,
    TooLarge,
    make_constant_polynomial,
)
from dpaudit.proving.distances.refinements.readers import READERS, TRUTHS
from dpaudit.proving.distances.refinements.slices import find_slice
from dpaudit.proving.distances.refinements.symbols import (
    MOST_ENTRIES,
    MOST_RECORDS,
    PolynomialArray,
    Summation,
    Unread,
    build_entries,
    make_single_entry,
    read_array,
)
from dpaudit.proving.program import Node
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import NOWHERE_APART, Part

# In units of about ten microseconds: 0.06 seconds for one value, and a second for a program.
MOST_EFFORT = 6_000
MOST_EFFORT_OF_ALL = 100_000


@dataclass(eq=False)
class ValueMemory:
    """The facts about the values of one analysis.

    Parameters
    ----------
    upper_ends
        Of functions, by their form.
    effort
        What may still be done for all values.
    """

    upper_ends: dict[Any, float] = field(default_factory=dict)
    effort: RefinementEffort = field(default_factory=lambda: RefinementEffort(MOST_EFFORT_OF_ALL))


# Weak, so that the memory of an analysis ends with it.
_MEMORIES: WeakKeyDictionary[RefinementKnowledge, ValueMemory] = WeakKeyDictionary()


class SymbolReading(Summation):
    """The symbols of nodes of a program, each read once.

    Parameters
    ----------
    analysis
        Facts and kinds of the program's nodes.
    is_uniform
        Whether one row stands for all records.
    """

    def __init__(self, analysis: RefinementKnowledge, *, is_uniform: bool) -> None:
        memory = _MEMORIES.setdefault(analysis, ValueMemory())
        super().__init__(analysis.universe.records, RefinementEffort(MOST_EFFORT, memory.effort))
        self.analysis = analysis
        self.is_uniform = is_uniform
        self.upper_ends = memory.upper_ends
        self.cells: dict[int, set[int]] = {}
        self._known: dict[int, PolynomialArray | None] = {}

    def read(self, index: int) -> PolynomialArray:
        """Return the symbols of a node.

        Raises
        ------
        Unread
            They cannot be had.
        """
        if index not in self._known:
            for one in find_slice(self.analysis, index):
                if one not in self._known:
                    self._known[one] = self._try(self.analysis.program.nodes[one])
                # What needs an operand without a reading has none either; the rest of the slice
                # need not be tried.
                if self._known[one] is None:
                    self._known[index] = None
                    break
        found = self._known[index]
        if found is None:
            raise Unread
        return found

    def _try(self, node: Node) -> PolynomialArray | None:
        try:
            return self._read_node(node)
        except (Unread, TooLarge):
            return None

    def _read_node(self, node: Node) -> PolynomialArray:
        facts = self.analysis.facts(node.index)
        if facts.refusal is not None:
            raise Unread
        if node.operation == "constant":
            return PolynomialArray(read_array(node.parameters["value"]))
        if self.analysis.kinds[node.index] is not NodeKind.PRIVATE:
            return self._public(node)
        if node.operation == "data":
            return self._data(self.analysis.universe.part(node.parameters["part"]))
        if node.operation == "size":
            size = (
                # As a sum of ones, the size gains 1 with an added record by the same rule as
                # all other sums.
                self.table.enter("sum", (ONE,))
                if self.count is None
                else make_constant_polynomial(self.count)
            )
            return PolynomialArray(make_single_entry(size))
        operands = [self._operand(one) for one in node.operands]
        rule = READERS.get(node.operation)
        # Arithmetic on truth values saturates: True + True is True in numpy, where polynomials
        # would say 2.
        if rule is None or (node.dtype == "bool" and node.operation not in TRUTHS):
            raise Unread
        result = rule(self, node, operands)
        if result.entries.size > MOST_ENTRIES:
            raise Unread
        self.table.effort.spend(sum(1 + len(one.terms) // 2 for one in result.entries.flat))
        return result

    def _operand(self, index: int) -> PolynomialArray:
        found = self._known[index]
        if found is None:
            raise Unread
        return found

    def _public(self, node: Node) -> PolynomialArray:
        """Return numbers that neighbours have in common, of which the ends are known."""
        facts = self.analysis.facts(node.index)
        # A value that is called public and yet moves, such as one that counts records, must not
        # be taken for the same number on both sides.
        if facts.distance != NOWHERE_APART or None in node.shape or len(node.shape) > 2:
            raise Unread
        shape = tuple(one for one in node.shape if one is not None)
        if math.prod(shape) > MOST_ENTRIES:
            raise Unread
        # One atom for each entry, wherever it is used: what cancels between uses cancels here too.
        low, high = np.broadcast_to(facts.low, shape), np.broadcast_to(facts.high, shape)
        return PolynomialArray(
            build_entries(
                shape,
                lambda place: self.table.enter(
                    "public", parameters=(node.index, place), ends=(low[place], high[place])
                ),
            )
        )

    def _data(self, part: Part) -> PolynomialArray:
        if self.is_uniform:
            shape = (1, *(one or 0 for one in part.shape[1:]))
        elif part.shape[0] is None or part.shape[0] > MOST_RECORDS:
            raise Unread
        else:
            shape = tuple(one or 0 for one in part.shape)
        if math.prod(shape) > MOST_ENTRIES:
            raise Unread
        entries = build_entries(shape, lambda place: self._cell(part, place))
        return PolynomialArray(entries, 0 if self.is_uniform else None)

    def _cell(self, part: Part, place: tuple[int, ...]) -> AtomPolynomial:
        column = place[1:]
        low = float(np.broadcast_to(part.low, part.shape[1:])[column])  # type: ignore[arg-type]
        high = float(np.broadcast_to(part.high, part.shape[1:])[column])  # type: ignore[arg-type]
        cell = self.table.enter(
            "cell", parameters=(part.name, place), ends=(low, high), is_changing=part.is_changed
        )
        # In a uniform reading all cells are of row 0, which stands for the record that changes.
        self.cells.setdefault(place[0], set()).update(cell.atoms())
        return cell
