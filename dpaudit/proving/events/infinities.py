"""Comparisons with infinity, which end one way: a best score that begins as ``-math.inf``.

Values are real numbers, so that each is below infinity and above its negative. A path on which such
a comparison ends otherwise is one that nobody takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.proving.events.draft import Draft
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import FunctionTrace, Path

_COMPARISONS = frozenset({"less", "less_equal"})


@dataclass(frozen=True)
class _ForcedDecisions:
    """Decisions of a path that are no choice, by node, and whether it ends them as numbers do."""

    nodes: frozenset[int]
    is_possible: bool


def without_infinities(trace: FunctionTrace) -> FunctionTrace:
    """Return a trace without decisions by infinity, and without paths that nobody takes.

    Examples
    --------
    >>> from dpaudit.proving.universe import Universe
    >>> paths = []
    >>> for outcome in (True, False):
    ...     program = PathProgram()
    ...     noise = program.add("draw", shape=(), law="laplace", number=0)
    ...     least = program.add("constant", shape=(), value=-np.inf)
    ...     above = program.add("less", [least, noise], shape=(), dtype="bool")
    ...     _ = program.add("decide", [above], shape=(), outcome=outcome)
    ...     program.outputs = (noise,)
    ...     paths.append(Path(program, (outcome,)))
    >>> found = without_infinities(FunctionTrace(Universe((), 1, "replace"), tuple(paths)))
    >>> [(one.decisions, one.program.nodes[3].operation) for one in found.paths]
    [((), 'constant')]
    """
    settled = [_find_settled_decisions(one.program) for one in trace.paths]
    if not any(one.nodes for one in settled):
        return trace
    possible = [n for n, one in enumerate(settled) if one.is_possible]
    paths = tuple(_remove_decisions(trace.paths[n], settled[n].nodes) for n in possible)
    skeletons = tuple(trace.skeletons[n] for n in possible) if trace.skeletons else ()
    return FunctionTrace(trace.universe, paths, trace.compared, trace.source, skeletons)


def _find_settled_decisions(program: PathProgram) -> _ForcedDecisions:
    """Return the decisions of a path that compare a value with infinity."""
    draft, nodes, is_possible = Draft(program), set[int](), True
    for node in program.nodes:
        if node.operation != "decide":
            continue
        outcome, condition = bool(node.parameters["outcome"]), draft.node(node.operands[0])
        # `not (a < b)` and `a >= b` both reach the trace as a negated comparison.
        while condition.operation == "logical_not":
            outcome, condition = not outcome, draft.node(condition.operands[0])
        known = _find_infinite_outcome(draft, condition)
        if known is not None:
            nodes.add(node.index)
            # A path with one impossible decision is never taken, however its other decisions
            # end.
            is_possible = is_possible and known is outcome
    return _ForcedDecisions(frozenset(nodes), is_possible)


def _find_infinite_outcome(draft: Draft, condition: Node) -> bool | None:
    """Return how a comparison with infinity ends; None for any other condition."""
    if condition.operation not in _COMPARISONS:
        return None
    left, right = (draft.value(one) for one in condition.operands)
    # Two constants are compared when the function is traced; here one side is unknown, and
    # finite.
    if left is not None and right is None and left.size == 1 and np.isinf(left.item()):
        return bool(left.item() < 0)
    if right is not None and left is None and right.size == 1 and np.isinf(right.item()):
        return bool(right.item() > 0)
    return None


def _remove_decisions(path: Path, nodes: frozenset[int]) -> Path:
    """Return a path without some of its decisions."""
    program = PathProgram(
        [_make_zero_node(one) if one.index in nodes else one for one in path.program.nodes],
        path.program.outputs,
    )
    decided = [one.index for one in path.program.nodes if one.operation == "decide"]
    pairs = zip(decided, path.decisions, strict=True)
    return Path(program, tuple(outcome for one, outcome in pairs if one not in nodes))


def _make_zero_node(node: Node) -> Node:
    return Node(node.index, "constant", (), {"value": 0.0}, (), "float64", node.place)
