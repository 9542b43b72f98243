"""Distances that carry over: of a whole from its parts, of a sum or a norm from a vector.

**Theorem.** Let u be a value and v one formed of it and of public numbers. For each pair of
neighbours the difference of v obeys

* ``negative reshape transpose``, adding or subtracting public numbers, ``absolute``, ``minimum``
  and ``maximum`` with public numbers, ``take`` of no entry twice, and ``sort`` of a vector: all
  norms are at most those of u's difference. Multiplied by a number c: |c| times.
* v = sum of all entries: at most the L1 norm, and sqrt(size) times the L2 norm. The mean: divided
  by the size. The largest or smallest of all: at most the largest norm.
* v = sqrt(sum u^2): at most the L2 norm.
* v several values side by side: the L1 norms add up, the squares of the L2 norms add up, and the
  largest norm is the largest of theirs.

*Proof.* Each map acts on entries alone and is 1-Lipschitz there (the first line; sorting brings
vectors nearer in every norm, as it takes apart pairs in the wrong order); the triangle inequality
and Cauchy-Schwarz (the second); | |u| - |u'| | <= |u - u'| (the third); the norms of a vector of
blocks. What counts is that the parts' distances may be better than the forward rules know. All of
it is of arrays of a public shape: of rows that are added, a distance is of what they hold, and
f(0) may not be 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.slices import find_slice
from dpaudit.proving.distances.refinements.symbols import Unread
from dpaudit.proving.distances.rounding import multiply_up
from dpaudit.proving.program import Node
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import UNBOUNDED, Distance

# These rules call each other through the distances of operands, several Python frames for each
# operation; 40 stay well within the recursion limit.
MOST_DEPTH = 40
ROUNDING = 1 + 1e-14
Rule = Callable[[RefinementKnowledge, Node], Distance]


def bound_by_parts(analysis: RefinementKnowledge, index: int) -> Distance:
    """Return how far a value moves, by the theorem of this module."""
    node = analysis.program.nodes[index]
    rule = RULES.get(node.operation)
    if rule is None or analysis.facts(index).refusal is not None:
        return UNBOUNDED
    shapes = [analysis.program.nodes[one].shape for one in (index, *node.operands)]
    # Where rows come and go, a distance is of what they hold, and a constant that is added to
    # rows would be counted as 0.
    if any(None in shape for shape in shapes) or not is_shallow(analysis, index):
        return UNBOUNDED
    return rule(analysis, node)


def is_shallow(analysis: RefinementKnowledge, index: int) -> bool:
    """Return whether the longest chain of operations that form a value is not too long."""
    try:
        depth: dict[int, int] = {}
        for one in find_slice(analysis, index):
            operands = analysis.program.nodes[one].operands
            depth[one] = 1 + max((depth.get(operand, 0) for operand in operands), default=0)
    except Unread:
        return False
    return depth[index] <= MOST_DEPTH


def scale_distance_up(distance: Distance, factor: float) -> Distance:
    """Return a multiple of a distance, rounded up."""
    if factor == 1:
        return distance
    if factor == 0:
        return Distance(0.0, 0.0, 0.0)
    times = factor * ROUNDING
    # A product that underflows is above 0 all the same.
    scaled = (multiply_up(float(one), times) for one in (distance.l1, distance.l2, distance.linf))
    return Distance(*scaled)


def _count_node_entries(node: Node) -> float:
    return float(math.prod(one or 0 for one in node.shape))


def _is_public(analysis: RefinementKnowledge, index: int) -> bool:
    return analysis.kinds[index] is NodeKind.PUBLIC


def _pass_on(analysis: RefinementKnowledge, node: Node) -> Distance:
    return analysis.distance(node.operands[0])


def _pass_private(analysis: RefinementKnowledge, node: Node) -> Distance:
    """Pass on the distance of the one private operand, where broadcasting does not repeat it."""
    # Noise is neither public nor private here and counts as private: then two operands vary,
    # and the theorem's v of one u does not apply.
    private = [one for one in node.operands if not _is_public(analysis, one)]
    if len(private) != 1 or _count_node_entries(
        analysis.program.nodes[private[0]]
    ) != _count_node_entries(node):
        return UNBOUNDED
    return analysis.distance(private[0])


def _bound_product_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    factors = [one for one in node.operands if _is_public(analysis, one)]
    if len(factors) != 1:
        return UNBOUNDED
    facts = analysis.facts(factors[0])
    largest = max(float(np.max(np.abs(end), initial=0.0)) for end in (facts.low, facts.high))
    distance = _pass_private(analysis, node)
    return scale_distance_up(distance, largest) if math.isfinite(largest) else UNBOUNDED


def _bound_quotient_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    if not _is_public(analysis, node.operands[1]):
        return UNBOUNDED
    facts = analysis.facts(node.operands[1])
    low, high = np.min(facts.low, initial=math.inf), np.max(facts.high, initial=-math.inf)
    if not (low > 0 or high < 0):
        return UNBOUNDED
    smallest = float(low) if low > 0 else -float(high)
    return scale_distance_up(_pass_private(analysis, node), 1 / smallest * ROUNDING)


def _bound_take_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    lengths = [one or 1 for one in analysis.program.nodes[node.operands[0]].shape]
    for positions, length in zip(node.parameters["key"], lengths, strict=True):
        # An entry that is taken twice moves twice; -1 and the last position are the same entry.
        if positions is not None and len({one % length for one in positions}) != len(positions):
            return UNBOUNDED
    return _pass_on(analysis, node)


def _is_whole(analysis: RefinementKnowledge, node: Node) -> bool:
    """Return whether an operation goes along all axes of its operand."""
    axis, depth = node.parameters["axis"], len(analysis.program.nodes[node.operands[0]].shape)
    if axis is None:
        return True
    chosen = axis if isinstance(axis, list | tuple) else [axis]
    return len({one % depth for one in chosen}) == depth if depth else True


def _bound_sum_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    if not _is_whole(analysis, node):
        return UNBOUNDED
    size = _count_node_entries(analysis.program.nodes[node.operands[0]])
    distance = _pass_on(analysis, node)
    step = min(distance.l1, distance.l2 * math.sqrt(size) * ROUNDING if size else 0.0)
    return Distance(step, step, step)


def _bound_mean_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    size = _count_node_entries(analysis.program.nodes[node.operands[0]])
    if size == 0:
        return UNBOUNDED
    return scale_distance_up(_bound_sum_distance(analysis, node), 1 / size * ROUNDING)


def _bound_extreme_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    if not _is_whole(analysis, node):
        return UNBOUNDED
    step = _pass_on(analysis, node).linf
    return Distance(step, step, step)


def _bound_sort_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    # A sort of a matrix goes along one axis only and is stated as such elsewhere; the theorem
    # is of a vector.
    return _pass_on(analysis, node) if len(node.shape) == 1 else UNBOUNDED


def _bound_length_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    """Bound a Euclidean length."""
    total = analysis.program.nodes[node.operands[0]]
    if total.operation != "sum" or not _is_whole(analysis, total):
        return UNBOUNDED
    squares = analysis.program.nodes[total.operands[0]]
    inner = _find_squared_operand(analysis, squares)
    if inner is None or analysis.facts(node.index).refusal is not None:
        return UNBOUNDED
    step = analysis.distance(inner).l2
    return Distance(step, step, step)


def _find_squared_operand(analysis: RefinementKnowledge, node: Node) -> int | None:
    """Return the operand of which a node is the square, entry by entry."""
    if node.operation == "multiply" and node.operands[0] == node.operands[1]:
        return node.operands[0]
    if node.operation != "power":
        return None
    exponent = analysis.program.nodes[node.operands[1]]
    is_two = exponent.operation == "constant" and np.all(
        np.asarray(exponent.parameters["value"]) == 2
    )
    return (
        node.operands[0]
        if is_two
        and _count_node_entries(analysis.program.nodes[node.operands[0]])
        == _count_node_entries(node)
        else None
    )


def _bound_concatenate_distance(analysis: RefinementKnowledge, node: Node) -> Distance:
    parts = [analysis.distance(one) for one in node.operands]
    l1 = math.fsum(one.l1 for one in parts) * ROUNDING
    l2 = math.hypot(*(one.l2 for one in parts)) * ROUNDING
    return Distance(l1, l2, max((one.linf for one in parts), default=0.0))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("negative", "reshape", "transpose", "absolute"), _pass_on),
    **dict.fromkeys(("add", "subtract", "minimum", "maximum"), _pass_private),
    "multiply": _bound_product_distance,
    "divide": _bound_quotient_distance,
    "take": _bound_take_distance,
    "sum": _bound_sum_distance,
    "mean": _bound_mean_distance,
    "max": _bound_extreme_distance,
    "min": _bound_extreme_distance,
    "sort": _bound_sort_distance,
    "sqrt": _bound_length_distance,
    "concatenate": _bound_concatenate_distance,
}
"""How distances carry over, by operation."""
