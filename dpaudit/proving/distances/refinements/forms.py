"""Values that are formed alike, found once: the steps of a loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dpaudit.proving.distances.refinements.contract import Refinement, RefinementKnowledge
from dpaudit.proving.distances.refinements.slices import find_slice
from dpaudit.proving.distances.refinements.symbols import Unread
from dpaudit.proving.program import Node
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import UNBOUNDED, Distance

# Keyed by the analysis, because ends of private parts belong to its universe; weakly, so that
# an analysis that nobody uses any longer takes its distances with it.
_DISTANCES: WeakKeyDictionary[RefinementKnowledge, dict[Any, Distance]] = WeakKeyDictionary()


def remember_forms(refinement: Refinement) -> Refinement:
    """Return a refinement that is asked once for all values of a program that are formed alike."""

    @wraps(refinement)
    def refine(analysis: RefinementKnowledge, index: int) -> Distance:
        try:
            key = refinement, find_form(analysis, index)
        except Unread:
            return UNBOUNDED
        known = _DISTANCES.setdefault(analysis, {})
        if key not in known:
            known[key] = refinement(analysis, index)
        return known[key]

    return refine


def find_form(analysis: RefinementKnowledge, index: int) -> Any:
    """Return the common form of values with one bound: operations, and ends of public numbers.

    Raises
    ------
    Unread
        Too many operations form the value.
    """
    numbers: dict[int, int] = {}
    form = []
    for place, one in enumerate(find_slice(analysis, index)):
        numbers[one] = place
        form.append(_make_node_description(analysis, analysis.program.nodes[one], numbers))
    return tuple(form)


def _make_node_description(
    analysis: RefinementKnowledge, node: Node, numbers: dict[int, int]
) -> Any:
    facts = analysis.facts(node.index)
    if node.operation == "constant":
        return _to_comparable_parameter(np.asarray(node.parameters["value"]))
    is_private = analysis.kinds[node.index] is NodeKind.PRIVATE
    known = node.operation, node.shape, node.dtype, facts.refusal is None, is_private
    if not is_private:
        ends = (np.asarray(end).tobytes() for end in (facts.low, facts.high))
        return *known, facts.distance, *ends
    return (
        *known,
        tuple(numbers[one] for one in node.operands),
        _to_comparable_parameter(node.parameters),
    )


def _to_comparable_parameter(value: Any) -> Any:
    """Return a parameter as a value that can be compared, whole."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((name, _to_comparable_parameter(one)) for name, one in value.items())
    if isinstance(value, list | tuple | range):
        return tuple(map(_to_comparable_parameter, value))
    # 1, 1.0 and True are equal and hash alike in Python, but a parameter of another type may
    # mean another operation.
    return type(value), value
