"""Types of numbers between noise and a release: a type that wraps around is no real number.

Laws of noise and of answers are worked out over the real numbers. What a draw goes through before
somebody looks at it may so be no type in which numbers wrap around, or in which a sum of truth
values is their disjunction. What a release goes through afterwards may be of any type.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dpaudit.proving.events.releases import Bounds
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import NodeKind

_REAL = frozenset(("float64", "int64", "bool"))
_GIVEN = frozenset(("data", "constant", "draw", "decide", "size"))
_SUMS = frozenset(("add", "subtract", "negative", "matmul", "cumsum"))
_GROWING = frozenset(("multiply", "power", "prod", "matmul", "cumsum"))
# Doubles hold every whole number up to here.
_MOST = 2.0**53


def require_real_types(
    program: PathProgram, live: Collection[int], kinds: Sequence[NodeKind], bounds: Bounds
) -> None:
    """Refuse a program whose noise goes through numbers that wrap around before it is released.

    Raises
    ------
    NotProved
        At the line.
    """
    drawn, shown = set[int](), set[int]()
    for node in program.nodes[: len(kinds)]:
        if node.operation == "draw" or any(one in drawn for one in node.operands):
            drawn.add(node.index)
        hidden = [one for one in node.operands if kinds[one] is NodeKind.NOISY]
        # From the release on, whatever a type does to a value is post-processing.
        if kinds[node.index] is NodeKind.PUBLIC and (hidden or shown.intersection(node.operands)):
            shown.add(node.index)
        if node.index in live and node.index in drawn and node.index not in shown:
            _require_real(node, bounds)


def require_ends(program: PathProgram, kinds: Sequence[NodeKind], bounds: Bounds) -> None:
    """Refuse private numbers that may lie beyond the ends that the code needs.

    Raises
    ------
    NotProved
        At the line.
    """
    for node in program.nodes[: len(kinds)]:
        if node.operation == "within" and kinds[node.index] is NodeKind.PRIVATE:
            refusal = bounds.facts(node.index).refusal
            if refusal is not None:
                raise NotProved(refusal)


def _require_real(node: Node, bounds: Bounds) -> None:
    if node.operation in _GIVEN:
        return
    if node.dtype not in _REAL:
        reason = f"the code computes with noise in {node.dtype} numbers, which may wrap around"
        raise NotProved.at(node.place, reason, 'use .astype("float64")')
    # True + True is True in numpy.
    if node.dtype == "bool" and node.operation in _SUMS:
        raise NotProved.at(node.place, "the code adds up truth values", "use .astype(int)")
    if node.dtype == "int64" and node.operation in _GROWING and not _is_moderate(node, bounds):
        reason = "the code computes with noise in whole numbers, which may wrap around"
        raise NotProved.at(node.place, reason, 'use .astype("float64")')


def _is_moderate(node: Node, bounds: Bounds) -> bool:
    """Return whether doubles hold the whole numbers of a node, between ends that are known."""
    facts = bounds.facts(node.index)
    return bool(np.all(facts.low >= -_MOST) and np.all(facts.high <= _MOST))
