"""Functions of entries: bounds on how far they move, from their slopes or their ends alone.

**Theorem (mean value).** On a box let f have partial slopes of at most s_i in size (Lipschitz in
each operand, the others anywhere in the box). Then |f(a) - f(b)| <= sum s_i |a_i - b_i|.

*Proof.* Go from a to b one operand at a time; the box contains the corners of that path. QED

With slopes of at most S_i over all entries the vector of values moves by at most sum S_i m_i in
each norm, m_i being the distances of the operands, each entry of which stands c_i times in the
value: c_i copies multiply L1 by c_i and the Euclidean length by its root.

**Where no slope exists** (a comparison, a floor): entries of which no operand moves do not move;
the others move between their ends. Records that move no operand do not move the value.

Rows stay rows: an entry is made of entries at the same place. If neighbours differ in one record
and no record stands in the same row of two operands, only one of the operands moves in a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Facts, RowOrigins, of_public
from dpaudit.proving.distances.rounding import add_up, multiply_up, sqrt_up
from dpaudit.proving.distances.rules.contract import RuleKnowledge
from dpaudit.proving.distances.settling import (
    compute_width_up,
    count_shape_entries,
    settle_facts,
    sum_moves,
)
from dpaudit.proving.distances.standing import find_entrywise_rows, have_common, is_fixed
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.universe import UNBOUNDED, Distance

Modulus = Callable[[Any, Any, Any], Any]
"""How far a value moves whose argument moves so far between two ends."""


def broadcast_facts(facts: Facts, shape: Shape, target: Shape) -> Facts:
    """Return the facts of an array that is broadcast to another shape."""
    if shape == target:
        return facts
    rows = _lift_rows(facts.rows, shape, target)
    if is_fixed(facts):
        return facts
    copies = _count_copies(shape, target)
    factors = np.array([[copies], [float(sqrt_up(copies))], [1.0]])
    moves = facts.moves if copies == 1.0 else multiply_up(factors, facts.moves)
    distance = scale_distance(facts.distance, copies, float(factors[1, 0]), 1.0)
    norms = _lift_norms(facts, shape, target)
    return replace(facts, rows=rows, norms=norms, moves=moves, distance=distance)


def _count_copies(shape: Shape, target: Shape) -> float:
    # One number that is repeated for each record stands as often as there are records.
    if None in target and None not in shape:
        return math.inf
    before = math.prod(one for one in shape if one is not None)
    after = math.prod(one for one in target if one is not None)
    return after / before if before else 1.0


def _lift_rows(rows: RowOrigins | None, shape: Shape, target: Shape) -> RowOrigins | None:
    if rows is None:
        return None
    axis = rows.axis + len(target) - len(shape)
    before, after = shape[rows.axis], target[axis]
    if before == after:
        return RowOrigins(rows.records, axis)
    if after is None or before is None:
        return None
    # Only an axis of length 1 is stretched, so its one row is of record 0.
    records = (np.zeros(before, dtype=np.int64),) if rows.records is None else rows.records
    return RowOrigins(tuple(np.repeat(one, after) for one in records), axis)


def _lift_norms(facts: Facts, shape: Shape, target: Shape) -> dict[int, float]:
    """Return norms of rows whose entries stand more often; a whole that becomes rows has none."""
    copies = _count_copies(shape, target)
    if facts.rows is not None:
        before, after = shape[facts.rows.axis], target[facts.rows.axis + len(target) - len(shape)]
        if before != after and before:
            copies = copies * before / after if after else math.inf
    factor = {1: copies, 2: float(sqrt_up(copies))}
    return {kind: float(multiply_up(one, factor[kind])) for kind, one in facts.norms.items()}


def scale_distance(distance: Distance, l1: float, l2: float, linf: float) -> Distance:
    """Return a distance whose norms grow by factors."""
    if l1 == l2 == linf == 1.0:
        return distance
    return Distance(
        float(multiply_up(distance.l1, l1)),
        float(multiply_up(distance.l2, l2)),
        float(multiply_up(distance.linf, linf)),
    )


def add_distances(distances: Sequence[Distance]) -> Distance:
    """Return how far a sum of values moves."""
    if len(distances) == 1:
        return distances[0]
    found = distances[0]
    for one in distances[1:]:
        found = Distance(
            add_up(found.l1, one.l1), add_up(found.l2, one.l2), add_up(found.linf, one.linf)
        )
    return found


def broadcast_operand_facts(knowledge: RuleKnowledge, node: Node) -> list[Facts]:
    """Return the facts of a node's operands, as broadcast to its shape."""
    nodes = knowledge.program.nodes
    return [
        broadcast_facts(knowledge.facts(one), nodes[one].shape, node.shape) for one in node.operands
    ]


def combine_entrywise_facts(
    knowledge: RuleKnowledge,
    node: Node,
    slopes: Sequence[Any],
    low: Any,
    high: Any,
    *,
    is_integer: bool = False,
    norms: dict[int, float] | None = None,
    change: Any = math.inf,
    modulus: Modulus | None = None,
) -> Facts:
    """Return the facts of an entrywise function with bounded slopes.

    Parameters
    ----------
    knowledge, node
        Of which node.
    slopes
        Of each operand, bounds of an entry's slope on the box, to be broadcast.
    low, high
        Ends of the entries.
    is_integer, norms
        As in `Facts`; norms are of the rows of operands that are broadcast
        (`broadcast_operand_facts`).
    change
        How far an entry moves, as far as the rule knows.
    modulus
        How far an entry moves between two ends if the first operand moves so far and no other does.
    """
    operands = broadcast_operand_facts(knowledge, node)
    if all(is_fixed(one) for one in operands):
        return of_public(low, high, is_integer=is_integer)
    rows = find_entrywise_rows(operands, node.shape)
    # A slope at the end of a wide interval may be infinite, as a root's at 0, where the
    # movement is not.
    if modulus is not None:
        change = np.minimum(change, modulus(operands[0].change, operands[0].low, operands[0].high))
    moving = [(s, one) for s, one in zip(slopes, operands, strict=True) if not is_fixed(one)]
    steepest = [
        slope if isinstance(slope, float) else float(np.max(slope, initial=0.0))
        for slope, _ in moving
    ]
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        np.minimum(change, _change_of_entry(knowledge, node, moving)),
        is_integer=is_integer,
        rows=rows,
        norms=norms if _have_rows_alike(operands, rows) else None,
        moves=_combine_moves(steepest, [one for _, one in moving], modulus, node.shape),
        distance=add_distances(
            [
                scale_distance(one.distance, steep, steep, steep)
                for steep, (_, one) in zip(steepest, moving, strict=True)
            ]
        ),
    )


def _have_rows_alike(operands: Sequence[Facts], rows: RowOrigins | None) -> bool:
    """Return whether rows of all that moves are those of the value, so that norms are of them."""
    axis = None if rows is None else rows.axis
    axes = [None if one.rows is None else one.rows.axis for one in operands if not is_fixed(one)]
    return all(one == axis for one in axes)


def _combine_moves(
    steepest: Sequence[float], moving: Sequence[Facts], modulus: Modulus | None, shape: Shape
) -> Any:
    """Return how far each record moves the value, by slopes and, of one entry, by a modulus."""
    found = sum_moves(
        [
            one.moves if steep == 1.0 else multiply_up(steep, one.moves)
            for steep, one in zip(steepest, moving, strict=True)
        ]
    )
    # The modulus is of one entry; of several, a record may move each by as much.
    if modulus is None or count_shape_entries(shape) != 1.0:
        return found
    one = moving[0]
    return np.minimum(found, modulus(one.moves, np.min(one.low), np.max(one.high)))


def _change_of_entry(
    knowledge: RuleKnowledge, node: Node, moving: Sequence[tuple[Any, Facts]]
) -> Any:
    """Return how far an entry moves, by its slopes."""
    each = [
        one.change if isinstance(slope, float) and slope == 1.0 else multiply_up(slope, one.change)
        for slope, one in moving
    ]
    if len(each) == 1:
        return each[0]
    facts = [one for _, one in moving]
    # With two records that differ, one may move the first operand of a row and another the
    # second.
    if knowledge.universe.count == 1 and _are_apart(facts, node.shape):
        return np.maximum.reduce(np.broadcast_arrays(*each))
    found = each[0]
    for one in each[1:]:
        found = add_up(found, one)
    return found


def _are_apart(facts: Sequence[Facts], shape: Shape) -> bool:
    """Return whether every record moves one operand of a row at most."""
    if len(facts) != 2 or None in shape:
        return False
    one, other = facts[0].rows, facts[1].rows
    if one is None or other is None or one.axis != other.axis:
        return False
    return not have_common(one, other, shape[one.axis] or 0)


def compute_jump_facts(
    knowledge: RuleKnowledge,
    node: Node,
    low: Any,
    high: Any,
    *,
    is_integer: bool = False,
    norms: dict[int, float] | None = None,
    change: Any = math.inf,
    distance: Distance = UNBOUNDED,
) -> Facts:
    """Return the facts of an entrywise function that may jump between its ends.

    Parameters
    ----------
    knowledge, node
        Of which node.
    low, high
        Ends of the entries.
    is_integer, norms
        As in `Facts`.
    change
        How far an entry jumps at most where an operand moves.
    distance
        How far the whole moves, as far as the rule knows.
    """
    operands = broadcast_operand_facts(knowledge, node)
    if all(is_fixed(one) for one in operands):
        return of_public(low, high, is_integer=is_integer)
    rows = find_entrywise_rows(operands, node.shape)
    moving = [one for one in operands if not is_fixed(one)]
    # An entry of which no operand can move has the same value on both sides, jumps or not.
    stirred = sum(np.asarray(one.change > 0, dtype=float) for one in moving)
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        np.where(stirred > 0, np.minimum(change, compute_width_up(low, high)), 0.0),
        is_integer=is_integer,
        rows=rows,
        norms=norms if _have_rows_alike(operands, rows) else None,
        moves=bound_stirred_moves(moving),
        distance=distance,
    )


def bound_stirred_moves(moving: Sequence[Facts]) -> Any:
    """Return moves that are 0 for records that move none of several values, and else unbounded."""
    stirred = sum_moves([one.moves[2:] for one in moving])
    return np.broadcast_to(np.where(stirred > 0, math.inf, 0.0), (3, stirred.shape[1]))
