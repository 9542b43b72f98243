"""The operations that form a value of records, back to public values."""

from __future__ import annotations

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.symbols import Unread
from dpaudit.proving.trace import NodeKind

# Refinements are looked for at every node; without a limit, a loop of n steps would cost n
# squared.
MOST_NODES = 300


def find_slice(analysis: RefinementKnowledge, index: int) -> list[int]:
    """Return the private nodes that form a node and the others at which they start, in order.

    Raises
    ------
    Unread
        They are too many.
    """
    found, pending = {index}, [index]
    while pending:
        one = pending.pop()
        # What is public or a release is one number for both neighbours, however it came about.
        if analysis.kinds[one] is not NodeKind.PRIVATE and one != index:
            continue
        for operand in analysis.program.nodes[one].operands:
            if operand not in found:
                found.add(operand)
                pending.append(operand)
        if len(found) > MOST_NODES:
            raise Unread
    return sorted(found)
