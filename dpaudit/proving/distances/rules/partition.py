"""Parallel composition: sums over groups of records, each of which is in one group at most.

**Theorem.** Let the k-th value be the sum over records of g_k(x_i) times the truth of
``y_i in A_k``, for sets A_k of which no two meet, and let c_k be public. Put side by side, each
times c_k, they move by at most

* the largest c_k |g_k| if a record is added, in L1, Euclidean length and largest entry;
* if one is replaced, the largest of: how far c_k g_k moves, where the record stays in a group; and,
  where it goes from one to another, c_k |g_k| + c_l |g_l| in L1, the root of the sum of their
  squares in Euclidean length, and the larger of the two in the largest entry.

*Proof.* A record has one block of the joint row that is not 0, or none; blocks of two groups do not
overlap. Sums over the rows in which a record stands add up. QED

Sets are single numbers, and half-lines and intervals between public ends. Values that are written
into a public array one by one stand side by side as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import ANYHOW, Ends, Facts
from dpaudit.proving.distances.rounding import add_up, multiply_up
from dpaudit.proving.distances.rules.contract import RuleKnowledge
from dpaudit.proving.distances.rules.sums import axes_of
from dpaudit.proving.distances.settling import (
    bounds_of_norms,
    compute_magnitude,
    count_shape_entries,
    lengths_of_rows,
    merge_row_moves,
    row_movements,
)
from dpaudit.proving.distances.standing import is_fixed, records_of
from dpaudit.proving.program import Node

# Groups are compared with each other for every array that is joined of them.
_MOST_PIECES = 64
# Eight units in the last place, for a hypotenuse that numpy rounds within one.
_FEW_PLACES = 1.0 + 2.0**-49


@dataclass(frozen=True)
class RecordGroup:
    """The records of a group: those with a number between two ends.

    Parameters
    ----------
    number
        The node of the number.
    low, high
        Ends.
    has_low, has_high
        Whether they belong to it.
    """

    number: int
    low: float
    high: float
    has_low: bool
    has_high: bool

    def lies_below(self, other: RecordGroup) -> bool:
        """Return whether all its numbers are less than another's."""
        # Two intervals that touch share a number if both hold their end: a record there would
        # be in both groups.
        if self.high == other.low:
            return not (self.has_high and other.has_low)
        return self.high < other.low

    def meet(self, other: RecordGroup) -> RecordGroup:
        """Return the group of records that are in two."""
        # Of equal ends the open one is the narrower, so it sorts last among lower ends and
        # first among upper ones.
        low, has_low = max((self.low, not self.has_low), (other.low, not other.has_low))
        high, has_high = min((self.high, self.has_high), (other.high, other.has_high))
        return RecordGroup(self.number, low, high, not has_low, has_high)


@dataclass(frozen=True, eq=False)
class GroupSum:
    """A sum over the records of a group, times a public number."""

    group: RecordGroup
    rows: int
    scale: float


def moves_of_partition(knowledge: RuleKnowledge, values: list[int]) -> Ends:
    """Return how far each record moves sums over groups that stand side by side; else unbounded.

    Parameters
    ----------
    knowledge
        Of which program.
    values
        The nodes of the sums.
    """
    if not 1 < len(values) <= _MOST_PIECES:
        return ANYHOW
    pieces: list[GroupSum] = []
    for value in values:
        piece = _find_piece(knowledge, value)
        if piece is None:
            return ANYHOW
        pieces.append(piece)
    if not _are_disjoint([piece.group for piece in pieces]):
        return ANYHOW
    return _join_blocks(knowledge, pieces)


def _find_piece(knowledge: RuleKnowledge, value: int) -> GroupSum | None:
    """Return the sum over a group that a value is a public multiple of."""
    node, scale = knowledge.program.nodes[value], 1.0
    if knowledge.facts(value).refusal is not None:
        return None
    while node.operation != "sum":
        if node.operation == "reshape":
            node = knowledge.program.nodes[node.operands[0]]
            continue
        step = _undo_scale(knowledge, node)
        if step is None:
            return None
        node, scale = step[0], float(multiply_up(scale, step[1]))
    rows = node.operands[0]
    facts, shape = knowledge.facts(rows), knowledge.program.nodes[rows].shape
    # Without rows, a record could move all terms of every group's sum.
    if facts.rows is None or facts.refusal is not None:
        return None
    if axes_of(node.parameters["axis"], len(shape)) != (facts.rows.axis,) and len(shape) > 1:
        return None
    group = _find_group(knowledge, rows)
    return None if group is None else GroupSum(group, rows, scale)


def _undo_scale(knowledge: RuleKnowledge, node: Node) -> tuple[Node, float] | None:
    """Return the factor beside a public number, and the number's largest size."""
    if node.operation not in {"multiply", "divide", "add", "subtract", "negative"}:
        return None
    for at, other in enumerate(node.operands):
        rest = [one for k, one in enumerate(node.operands) if k != at]
        facts = knowledge.facts(rest[0]) if rest else None
        if facts is not None and (not is_fixed(facts) or facts.refusal is not None):
            continue
        inner = knowledge.program.nodes[other]
        # Broadcasting would repeat the sum, and its movement would count several times.
        if inner.shape != node.shape:
            return None
        # A public number that is added moves nothing.
        if facts is None or node.operation in {"add", "subtract"}:
            return inner, 1.0
        if node.operation == "divide":
            least = float(np.min(np.minimum(np.abs(facts.low), np.abs(facts.high))))
            return (inner, float(np.nextafter(1 / least, math.inf))) if at == 0 and least else None
        return inner, float(np.max(compute_magnitude(facts)))
    return None


def _find_group(knowledge: RuleKnowledge, rows: int) -> RecordGroup | None:
    """Return in which group a record has to be for its row not to be 0."""
    node = knowledge.program.nodes[rows]
    group = _group_of_mask(knowledge, rows)
    if group is not None:
        return group
    if node.operation == "where":
        otherwise = knowledge.facts(node.operands[2])
        is_zero = bool(np.all(otherwise.low == 0) and np.all(otherwise.high == 0))
        return _group_of_mask(knowledge, node.operands[0]) if is_zero else None
    if node.operation == "multiply":
        for one in node.operands:
            found = _group_of_mask(knowledge, one) or _find_group_of_product(knowledge, one)
            if found is not None:
                return found
    return None


def _find_group_of_product(knowledge: RuleKnowledge, index: int) -> RecordGroup | None:
    inner = knowledge.program.nodes[index]
    return _find_group(knowledge, index) if inner.operation in {"multiply", "where"} else None


def _group_of_mask(knowledge: RuleKnowledge, index: int) -> RecordGroup | None:
    """Return the group of which a value is the truth, one number for each record."""
    node = knowledge.program.nodes[index]
    while node.operation in {"reshape", "broadcast"}:
        if not _is_for_each(knowledge, node):
            return None
        node = knowledge.program.nodes[node.operands[0]]
    if node.operation == "logical_and":
        both = [_group_of_mask(knowledge, one) for one in node.operands]
        # Groups by different numbers can both hold a record.
        if both[0] is None or both[1] is None or both[0].number != both[1].number:
            return None
        return both[0].meet(both[1])
    if node.operation not in {"equal", "less", "less_equal"} or not _is_for_each(knowledge, node):
        return None
    for at, other in enumerate(node.operands):
        known = knowledge.value(node.operands[1 - at])
        # Several public numbers would make a mask with more than one truth for each record.
        if known is not None and np.size(known) == 1:
            return _make_comparison_group(
                node.operation, other, float(np.max(known)), is_below=at == 0
            )
    return None


def _is_for_each(knowledge: RuleKnowledge, node: Node) -> bool:
    """Return whether a value has one entry for each row, or the same for all of a row."""
    facts = knowledge.facts(node.index)
    if facts.refusal is not None or facts.rows is None:
        return False
    axis = facts.rows.axis
    return (
        node.operation == "broadcast"
        or count_shape_entries(node.shape[:axis] + node.shape[axis + 1 :]) == 1.0
    )


def _make_comparison_group(
    operation: str, number: int, end: float, *, is_below: bool
) -> RecordGroup:
    if operation == "equal":
        return RecordGroup(number, end, end, True, True)
    is_closed = operation == "less_equal"
    if is_below:
        return RecordGroup(number, -math.inf, end, True, is_closed)
    return RecordGroup(number, end, math.inf, is_closed, True)


def _are_disjoint(groups: list[RecordGroup]) -> bool:
    ordered = sorted(groups, key=lambda one: (one.low, not one.has_low, one.high))
    return all(one.number == groups[0].number for one in groups) and all(
        one.lies_below(other) for one, other in pairwise(ordered)
    )


def _join_blocks(knowledge: RuleKnowledge, pieces: list[GroupSum]) -> Ends:
    """Return how far rows of blocks move of which one is not 0, added up for each record."""
    facts = [knowledge.facts(piece.rows) for piece in pieces]
    shapes = [knowledge.program.nodes[piece.rows].shape for piece in pieces]
    rows = facts[0].rows
    if rows is None or not all(_stand_alike(facts[0], one, shapes) for one in facts):
        return ANYHOW
    sizes = [
        multiply_up(piece.scale, _sizes_of_rows(one, shape))
        for piece, one, shape in zip(pieces, facts, shapes, strict=True)
    ]
    # A replaced record may leave any group for any other, so the two largest blocks meet.
    largest = _largest_pair(np.stack(np.broadcast_arrays(*sizes)))
    if knowledge.universe.change == "replace":
        staying = [
            multiply_up(piece.scale, row_movements(one, shape, knowledge.universe))
            for piece, one, shape in zip(pieces, facts, shapes, strict=True)
        ]
        movements = np.maximum.reduce([*np.broadcast_arrays(*staying, largest[1])])
    else:
        movements = largest[0]
    return merge_row_moves(movements, rows, knowledge.universe, is_sum=True)


def _stand_alike(one: Facts, other: Facts, shapes: list[Any]) -> bool:
    """Return whether the same records stand in rows of the same numbers."""
    if one.rows is None or other.rows is None:
        return False
    if one.rows.records is None or other.rows.records is None:
        return one.rows.records is other.rows.records
    length = len(one.rows.records[0]) if one.rows.records else 0
    both = [records_of(each.rows, length) for each in (one, other) if each.rows is not None]
    return len(both[0]) == len(both[1]) and all(
        np.array_equal(a, b) for a, b in zip(*both, strict=True)
    )


def _sizes_of_rows(facts: Facts, shape: Any) -> Ends:
    axis = facts.rows.axis if facts.rows else 0
    found = lengths_of_rows(compute_magnitude(facts), shape, axis)
    return np.minimum(found, bounds_of_norms(facts, is_apart=False)) if facts.norms else found


def _largest_pair(sizes: Ends) -> tuple[Ends, Ends]:
    """Return the largest sizes of blocks, and those of two of them side by side."""
    ordered = np.sort(sizes, axis=0)
    most, second = ordered[-1], ordered[-2]
    together = np.stack(
        [
            add_up(most[0], second[0]),
            np.hypot(most[1], second[1]) * _FEW_PLACES,
            most[2],
        ]
    )
    return most, together
