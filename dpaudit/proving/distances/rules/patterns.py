"""Whole patterns of operations that are bounded better than one by one.

**Largest of none.** ``max(records, initial=start)`` is written as ``maximum(max(records), start)``.
Where there may be no records, it is the start then, and lies between the start and the largest end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.distances.rules.clipping import bound_clip, bound_division, bound_guarded
from dpaudit.proving.distances.rules.contract import RuleKnowledge
from dpaudit.proving.distances.rules.sums import axes_of
from dpaudit.proving.distances.settling import add_leading_axes, settle_facts
from dpaudit.proving.program import Node

Pattern = Callable[[RuleKnowledge, Node], Facts | None]


def bound_extreme_of_none(knowledge: RuleKnowledge, node: Node) -> Facts | None:
    """Return the facts of an extreme of records, or of a start where there is none."""
    kind = "max" if node.operation == "maximum" else "min"
    for inner, start in (node.operands, node.operands[::-1]):
        extreme = knowledge.program.nodes[inner]
        known = knowledge.value(start)
        if extreme.operation != kind or known is None or np.size(known) != 1:
            continue
        shape = knowledge.program.nodes[extreme.operands[0]].shape
        one, axes = (
            knowledge.facts(extreme.operands[0]),
            axes_of(extreme.parameters["axis"], len(shape)),
        )
        # With a public number of records, the extreme exists and the rules of its operations
        # are better.
        if one.refusal is None and None in [shape[axis] for axis in axes]:
            return _bound_from_start(knowledge, node, one, len(shape), axes, known)
    return None


def _bound_from_start(
    knowledge: RuleKnowledge,
    node: Node,
    one: Facts,
    dimensions: int,
    axes: tuple[int, ...],
    known: float,
) -> Facts:
    start = np.asarray(known, dtype=float).reshape(())
    is_integer = one.is_integer and bool(start == np.floor(start))
    if node.operation == "maximum":
        most = np.maximum(add_leading_axes(one.high, dimensions).max(axis=axes), start)
        return settle_facts(
            node.shape, knowledge.universe, start, most, math.inf, is_integer=is_integer
        )
    least = np.minimum(add_leading_axes(one.low, dimensions).min(axis=axes), start)
    return settle_facts(
        node.shape, knowledge.universe, least, start, math.inf, is_integer=is_integer
    )


PATTERNS: dict[str, Pattern] = {
    "multiply": bound_clip,
    "divide": bound_division,
    "where": bound_guarded,
    "maximum": bound_extreme_of_none,
    "minimum": bound_extreme_of_none,
}
"""Rules that look further than at operands, by the last operation; None where they do not fit."""
