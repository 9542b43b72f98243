"""Facts that were found before: loops do the same to values of which the same is known.

Rules see of a value its facts and shape, and which operands are one and the same. What else they
see has to be part of the key by which facts are found again: the numbers of a constant, whether a
sum is one of squares, whether a matrix meets its own transpose. Patterns see whole slices, and are
not remembered by operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Facts, of_public
from dpaudit.proving.distances.rules.contract import RuleKnowledge
from dpaudit.proving.distances.rules.matrices import is_gram, is_weighted_gram
from dpaudit.proving.distances.standing import is_fixed
from dpaudit.proving.program import Node
from dpaudit.proving.trace import NodeKind

# A key holds every byte of a constant. Beyond some hundred bytes it costs more to compare keys
# than to apply a rule again.
_MOST_NUMBERS = 64
# The rules of these look at more than facts and shapes of operands (names of parts, positions,
# conditions), so two nodes with one key could differ.
_UNSEEN = frozenset({"data", "size", "take", "assign", "bin_counts", "decide", "within"})

Key = tuple[Any, ...]


def key_of(knowledge: RuleKnowledge, node: Node, kind: NodeKind) -> Key | None:
    """Return the key of a node's facts; None if it has more than is compared.

    Parameters
    ----------
    knowledge
        Of which program; it keeps the facts of operands alive, which are compared as objects.
    node, kind
        The node, and what its value depends on.
    """
    if node.operation == "constant":
        return _key_of_constant(node)
    if node.operation == "draw":
        # The number only says which draw of a path this is; draws of one law have the same facts.
        given = sorted(
            (name, repr(one)) for name, one in node.parameters.items() if name != "number"
        )
        return (node.operation, tuple(given), node.shape, node.dtype, kind)
    if node.operation in _UNSEEN or any(
        isinstance(one, np.ndarray) for one in node.parameters.values()
    ):
        return None
    nodes = knowledge.program.nodes
    # Equal facts are one object thanks to the memory itself, so an identity is a cheap and safe
    # comparison: facts that are alike but not the same object only miss the memory.
    operands = tuple((id(knowledge.facts(one)), nodes[one].shape) for one in node.operands)
    return (
        node.operation,
        kind,
        node.shape,
        node.dtype,
        operands,
        # x - x and x - y have operands with the same facts, yet only the first is always 0.
        len(set(node.operands)),
        repr(node.parameters) if node.parameters else "",
        _structure_of(knowledge, node),
    )


def share_public(memory: dict[Any, Facts], facts: Facts) -> Facts:
    """Return one object for all public values of the same ends."""
    is_small = np.size(facts.low) <= _MOST_NUMBERS
    if not is_fixed(facts) or facts.refusal is not None or facts.norms or not is_small:
        return facts
    ends = np.asarray(facts.low), np.asarray(facts.high)
    key = tuple((end.shape, end.tobytes()) for end in ends)
    public = of_public(facts.low, facts.high, is_integer=facts.is_integer)
    return memory.setdefault(("public", facts.is_integer, key), public)


def _key_of_constant(node: Node) -> Key | None:
    value = np.asarray(node.parameters["value"])
    if value.size > _MOST_NUMBERS or value.dtype.hasobject:
        return None
    return ("constant", value.dtype.str, value.shape, value.tobytes(), node.dtype)


def _structure_of(knowledge: RuleKnowledge, node: Node) -> Any:
    """Return the structure of operands, as rules see it."""
    if node.operation == "sum":
        inner = knowledge.program.nodes[node.operands[0]]
        return _facts_of_square(knowledge, inner)
    if node.operation != "matmul":
        return None
    # A matrix times its own transpose has a rule of its own, and facts of the two factors do
    # not tell whether they are the same matrix.
    return is_gram(knowledge, node), is_weighted_gram(knowledge, node)


def _facts_of_square(knowledge: RuleKnowledge, node: Node) -> Any:
    if node.operation not in {"multiply", "power"}:
        return None
    facts = tuple(id(knowledge.facts(one)) for one in node.operands)
    return node.operation, facts, len(set(node.operands))
