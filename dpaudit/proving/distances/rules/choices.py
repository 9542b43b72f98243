"""Comparisons, truth values, choices between two values, the smaller and the larger.

A comparison is known where ends decide it; elsewhere it may jump between 0 and 1.

**Theorem.** |min(a, b) - min(a', b')| <= max(|a - a'|, |b - b'|), and the same of max.

*Proof.* Let min(a, b) <= min(a', b') and a the smaller of a, b. Then min(a', b') - min(a, b)
<= a' - a; likewise if b is the smaller. QED

A clip towards 0 makes no row longer, and no row whose entries are kept or replaced by 0 is longer
than it was. ``where`` by a condition that neighbours have in common moves
each entry as the value does that is chosen; by a private condition it may jump between the ends of
both. At most one of the numbers of a row that are compared with different public ones is equal:
such a row has length 1 (as one-hot codes have).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Facts, of_nothing
from dpaudit.proving.distances.rounding import multiply_up
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import (
    broadcast_operand_facts,
    combine_entrywise_facts,
    compute_jump_facts,
)
from dpaudit.proving.distances.settling import compute_magnitude
from dpaudit.proving.distances.standing import find_entrywise_rows, is_fixed
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.refusals import ProofRefusal


def _decide_less(one: Facts, other: Facts) -> tuple[Any, Any]:
    return one.high < other.low, one.low >= other.high


def _less_equal(one: Facts, other: Facts) -> tuple[Any, Any]:
    return one.high <= other.low, one.low > other.high


def _decide_equal(one: Facts, other: Facts) -> tuple[Any, Any]:
    # Equal ends prove that values are equal only where each can have one value alone.
    are_points = (one.low == one.high) & (other.low == other.high)
    return are_points & (one.low == other.low), (one.high < other.low) | (one.low > other.high)


def _not_equal(one: Facts, other: Facts) -> tuple[Any, Any]:
    is_true, is_false = _decide_equal(one, other)
    return is_false, is_true


def _is_true(one: Facts) -> Any:
    return (one.low > 0) | (one.high < 0)


def _is_false(one: Facts) -> Any:
    return (one.low == 0) & (one.high == 0)


def _decide_and(one: Facts, other: Facts) -> tuple[Any, Any]:
    return _is_true(one) & _is_true(other), _is_false(one) | _is_false(other)


def _decide_or(one: Facts, other: Facts) -> tuple[Any, Any]:
    return _is_true(one) | _is_true(other), _is_false(one) & _is_false(other)


def _decide_xor(one: Facts, other: Facts) -> tuple[Any, Any]:
    is_true = (_is_true(one) & _is_false(other)) | (_is_false(one) & _is_true(other))
    is_false = (_is_true(one) & _is_true(other)) | (_is_false(one) & _is_false(other))
    return is_true, is_false


def _decide_not(one: Facts) -> tuple[Any, Any]:
    return _is_false(one), _is_true(one)


DECISIONS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "less": _decide_less,
    "less_equal": _less_equal,
    "equal": _decide_equal,
    "not_equal": _not_equal,
    "logical_and": _decide_and,
    "logical_or": _decide_or,
    "logical_xor": _decide_xor,
    "logical_not": _decide_not,
}


def bound_comparison(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a comparison or of truth values."""
    operands = [knowledge.facts(one) for one in node.operands]
    is_true, is_false = DECISIONS[node.operation](*operands)
    low, high = np.where(is_true, 1.0, 0.0), np.where(is_false, 0.0, 1.0)
    # With at most one 1 in a row, both lengths of a row are at most 1.
    norms = {1: 1.0, 2: 1.0} if _is_code(knowledge, node) else None
    return compute_jump_facts(knowledge, node, low, high, is_integer=True, norms=norms)


def _is_code(knowledge: RuleKnowledge, node: Node) -> bool:
    """Return whether one number of each row is compared with different public numbers."""
    if node.operation != "equal":
        return False
    for one, other in (node.operands, node.operands[::-1]):
        known, facts = knowledge.value(other), knowledge.facts(one)
        if known is None or facts.rows is None:
            continue
        shape = knowledge.program.nodes[one].shape
        inner = shape[: facts.rows.axis] + shape[facts.rows.axis + 1 :]
        axis = facts.rows.axis + len(node.shape) - len(shape)
        values = np.asarray(known)
        along = values.ndim - len(node.shape) + axis
        has_one_number = all(length == 1 for length in inner)
        is_along_rows = along >= 0 and values.shape[along] != 1
        # A public number that stands twice would be equal twice, and the row would hold two
        # ones.
        if has_one_number and not is_along_rows and values.size == np.unique(values).size:
            return _is_row_covered(node.shape, axis, values.size)
    return False


def _is_row_covered(shape: Shape, axis: int, size: int) -> bool:
    """Return whether a row has as many entries as there are public numbers."""
    inner = shape[:axis] + shape[axis + 1 :]
    return None not in inner and int(np.prod([one or 0 for one in inner])) == size


def bound_extreme(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the smaller, or the larger, of two values."""
    one, other = (knowledge.facts(index) for index in node.operands)
    function = np.minimum if node.operation == "minimum" else np.maximum
    slopes = _slopes_of_extreme(node.operation, one, other)
    return combine_entrywise_facts(
        knowledge,
        node,
        slopes,
        function(one.low, other.low),
        function(one.high, other.high),
        is_integer=one.is_integer and other.is_integer,
        norms=_norms_of_extreme(knowledge, node) if one.norms or other.norms else None,
        change=np.maximum(one.change, other.change),
    )


def _norms_of_extreme(knowledge: RuleKnowledge, node: Node) -> dict[int, float] | None:
    """Return the norms of a value that is clipped towards 0 by public numbers."""
    one, other = broadcast_operand_facts(knowledge, node)
    for mine, theirs in ((one, other), (other, one)):
        is_towards = theirs.low >= 0 if node.operation == "minimum" else theirs.high <= 0
        if mine.norms and bool(np.all(is_towards)) and is_fixed(theirs):
            return dict(mine.norms)
    return None


def _slopes_of_extreme(operation: str, one: Facts, other: Facts) -> list[Any]:
    """Return 0 for an operand that never decides, else 1."""
    if operation == "minimum":
        # At a tie both operands have the same value, so it does not matter which of them
        # counts.
        never = one.low >= other.high, other.low >= one.high
    else:
        never = one.high <= other.low, other.high <= one.low
    return [np.where(is_idle, 0.0, 1.0) if is_idle.any() else 1.0 for is_idle in never]


def bound_where(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a choice between two values."""
    condition, then, otherwise = (knowledge.facts(one) for one in node.operands)
    if bool(np.all(_is_true(condition))) or bool(np.all(_is_false(condition))):
        return _copy_branch(knowledge, node, bool(np.all(_is_true(condition))))
    low, high = np.minimum(then.low, otherwise.low), np.maximum(then.high, otherwise.high)
    is_integer = then.is_integer and otherwise.is_integer
    # A private condition may turn with one record: entries jump from one value to the other,
    # however little either of them moves.
    if not is_fixed(condition):
        norms = _norms_of_choice(knowledge, node)
        if condition.norms:
            norms = _norms_of_chosen(knowledge, node) or norms
        return compute_jump_facts(knowledge, node, low, high, is_integer=is_integer, norms=norms)
    return combine_entrywise_facts(
        knowledge,
        node,
        [0.0, 1.0, 1.0],
        low,
        high,
        is_integer=is_integer,
        norms=_norms_of_choice(knowledge, node),
        change=np.maximum(then.change, otherwise.change),
    )


def _norms_of_choice(knowledge: RuleKnowledge, node: Node) -> dict[int, float] | None:
    """Return the norms of rows of which entries may be replaced by 0."""
    _, then, otherwise = broadcast_operand_facts(knowledge, node)
    for mine, theirs in ((then, otherwise), (otherwise, then)):
        # Replaced by anything but 0, an entry could make its row longer.
        if mine.norms and not np.any(theirs.low) and not np.any(theirs.high):
            return dict(mine.norms)
    return None


def _norms_of_chosen(knowledge: RuleKnowledge, node: Node) -> dict[int, float] | None:
    """Return the lengths of rows of a code's truth values times numbers, and 0 elsewhere."""
    condition, then, otherwise = broadcast_operand_facts(knowledge, node)
    if np.any(otherwise.low != 0) or np.any(otherwise.high != 0) or condition.rows is None:
        return None
    rows = find_entrywise_rows([condition, then, otherwise], node.shape)
    if rows is None or rows.axis != condition.rows.axis:
        return None
    largest = float(np.max(compute_magnitude(then), initial=0.0))
    return {kind: float(multiply_up(one, largest)) for kind, one in condition.norms.items()}


def _copy_branch(knowledge: RuleKnowledge, node: Node, is_first: bool) -> Facts:
    """Return the facts of the branch that is always chosen."""
    one = knowledge.facts(node.operands[1 if is_first else 2])
    slopes = [0.0, 1.0, 0.0] if is_first else [0.0, 0.0, 1.0]
    return combine_entrywise_facts(
        knowledge, node, slopes, one.low, one.high, is_integer=one.is_integer
    )


def bound_remainder(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a remainder by a positive number.

    What already lies between 0 and the divisor is left as it is; else the remainder may jump.
    """
    one, other = (knowledge.facts(index) for index in node.operands)
    is_integer = one.is_integer and other.is_integer
    # numpy's remainder takes the sign of the divisor and is NaN by 0.
    if not bool(np.all(other.low > 0)):
        return _refuse_remainder(node)
    if bool(np.all((one.low >= 0) & (one.high < other.low))):
        return combine_entrywise_facts(
            knowledge, node, [1.0, 0.0], one.low, one.high, is_integer=is_integer
        )
    # A remainder of doubles may be the divisor itself: -1e-20 % 1.0 is rounded to 1.0.
    high = other.high - 1 if is_integer else other.high
    return compute_jump_facts(knowledge, node, np.zeros(()), high, is_integer=is_integer)


def _refuse_remainder(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place, "the code takes a remainder modulo a number that may be 0 or negative", ""
        )
    )


RULES: dict[str, Rule] = {
    **dict.fromkeys(DECISIONS, bound_comparison),
    **dict.fromkeys(("minimum", "maximum"), bound_extreme),
    "where": bound_where,
    "remainder": bound_remainder,
}
