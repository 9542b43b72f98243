"""Sums, differences and negatives of two values.

**Theorem.** |(a + b) - (a' + b')| <= |a - a'| + |b - b'| in every norm, and in every entry; the
ends add up. The length of a sum of two rows is at most the sum of their lengths; the Euclidean
length of a difference of two that are not negative is at most sqrt(|u|^2 + |v|^2).

*Proof.* The triangle inequality; |u - v|^2 = |u|^2 + |v|^2 - 2 u.v, and u.v >= 0. QED
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.distances.rounding import add_up, round_array_down, up
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import (
    broadcast_operand_facts,
    combine_entrywise_facts,
)
from dpaudit.proving.distances.settling import compute_magnitude, lengths_of_rows
from dpaudit.proving.distances.standing import is_fixed
from dpaudit.proving.program import Node


def bound_add(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a sum of two values."""
    one, other = (knowledge.facts(index) for index in node.operands)
    low, high = add_ends(one.low, one.high, other.low, other.high)
    return _combine_linear_facts(knowledge, node, low, high)


def bound_subtract(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a difference; that of a value and itself is 0."""
    one, other = (knowledge.facts(index) for index in node.operands)
    # The triangle inequality would let x - x move twice as far as x.
    if node.operands[0] == node.operands[1]:
        return combine_entrywise_facts(
            knowledge, node, [0.0, 0.0], np.zeros(()), np.zeros(()), is_integer=True
        )
    low, high = add_ends(one.low, one.high, -other.high, -other.low)
    return _combine_linear_facts(knowledge, node, low, high)


def bound_negative(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a negative."""
    one = knowledge.facts(node.operands[0])
    return combine_entrywise_facts(
        knowledge,
        node,
        [1.0],
        -one.high,
        -one.low,
        is_integer=one.is_integer,
        norms=dict(one.norms),
    )


def add_ends(low: Any, high: Any, other_low: Any, other_high: Any) -> tuple[Any, Any]:
    """Return the ends of sums of two numbers between ends."""
    with np.errstate(all="ignore"):
        return round_array_down(np.add(low, other_low)), up(np.add(high, other_high))


def _combine_linear_facts(knowledge: RuleKnowledge, node: Node, low: Any, high: Any) -> Facts:
    one, other = (knowledge.facts(index) for index in node.operands)
    return combine_entrywise_facts(
        knowledge,
        node,
        [1.0, 1.0],
        low,
        high,
        is_integer=one.is_integer and other.is_integer,
        norms=_add_norms(knowledge, node) if one.norms or other.norms else None,
    )


def _add_norms(knowledge: RuleKnowledge, node: Node) -> dict[int, float] | None:
    """Return the norms of sums of rows, where both have rows along the same axis or none."""
    operands = broadcast_operand_facts(knowledge, node)
    moving = [one for one in operands if not is_fixed(one)]
    axes = {one.rows.axis if one.rows else None for one in moving}
    # Lengths of rows and the length of the whole, or of rows along other axes, do not add up.
    if len(axes) != 1:
        return None
    each = [row_norms(one, node, axes.copy().pop()) for one in operands]
    first, second = (add_up(each[0][kind], each[1][kind]) for kind in (1, 2))
    if _point_apart(node, operands):
        second = min(second, math.hypot(each[0][2], each[1][2]) * (1 + 2.0**-50))
    return {1: first, 2: second}


def _point_apart(node: Node, operands: list[Facts]) -> bool:
    """Return whether entries of one never have the sign of the entries added to them."""
    signs = [_find_sign(one) for one in operands]
    if node.operation == "subtract":
        signs[1] = -signs[1]
    return signs[0] * signs[1] < 0


def _find_sign(facts: Facts) -> int:
    if bool(np.all(facts.low >= 0)):
        return 1
    return -1 if bool(np.all(facts.high <= 0)) else 0


def row_norms(facts: Facts, node: Node, axis: int | None) -> dict[int, float]:
    """Return bounds on the lengths of rows along an axis, or of the whole, by norms and ends."""
    shape = node.shape if axis is not None else (1, *node.shape)
    sizes = lengths_of_rows(compute_magnitude(facts), shape, axis or 0).max(axis=1, initial=0.0)
    # Norms of public numbers are those of rows that they may no longer have after broadcasting;
    # their ends are exact anyway.
    norms = {} if is_fixed(facts) else facts.norms
    return {kind: min(float(sizes[kind - 1]), norms.get(kind, float("inf"))) for kind in (1, 2)}


RULES: dict[str, Rule] = {
    "add": bound_add,
    "subtract": bound_subtract,
    "negative": bound_negative,
}
