"""Nodes of a program that matter, and the number of uses of each."""

from __future__ import annotations

from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved

# Operations whose outcome shows in what a function does, whatever uses their values.
SEEN = frozenset(("decide", "within"))


def check_draws(program: PathProgram) -> None:
    """Refuse a program of which two nodes are one draw.

    Raises
    ------
    NotProved
        They are.
    """
    seen = set()
    for node in program.nodes:
        if node.operation == "draw":
            if node.parameters["number"] in seen:
                raise NotProved.at(node.place, "the code uses one draw for two values")
            seen.add(node.parameters["number"])


def live_nodes(program: PathProgram) -> frozenset[int]:
    """Return the nodes on which an output or a decision depends."""
    # Which path a function takes is seen, so decisions count like outputs; and so do numbers that
    # have to lie between two, as shapes are read as if they did.
    roots = [one.index for one in program.nodes if one.operation in SEEN]
    needed, pending = {*roots, *program.outputs}, [*roots, *program.outputs]
    while pending:
        fresh = [one for one in program.nodes[pending.pop()].operands if one not in needed]
        needed.update(fresh)
        pending.extend(fresh)
    return frozenset(needed)


def count_uses(program: PathProgram, live: frozenset[int]) -> list[int]:
    """Return by how many operations a node is used that an output depends on, or shown."""
    counts = [0] * len(program.nodes)
    for node in program.nodes:
        if node.index in live:
            # x + x is one use of x: both operands meet in one operation.
            for one in dict.fromkeys(node.operands):
                counts[one] += 1
    for one in dict.fromkeys(program.outputs):
        counts[one] += 1
    return counts
