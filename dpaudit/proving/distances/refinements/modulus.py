"""Functions of a number of known distance: how far they move, by their modulus of continuity.

**Theorem.** Let f rise throughout or fall throughout [a, b], and be convex or concave there, and
let u be a number in [a, b] that moves by at most d <= b - a. Then f(u) moves by at most the
larger of |f(a + d) - f(a)| and |f(b) - f(b - d)|.

*Proof.* Let u go from s to s + h, with 0 <= h <= d. As f is monotone, |f(s + h) - f(s)| grows
with h, so h = d, or s + h = b where s > b - d; the latter is at most |f(b) - f(b - d)|. The
difference f(s + d) - f(s) of a convex or concave f is monotone in s, and of one sign, so its
absolute value is largest at s = a or s = b - d.

``exp expm1 log log1p sqrt`` are such where they are defined; ``1 / u``, ``u^2``, ``u^3`` and
``u^4`` on intervals that do not cross zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.parts import is_shallow
from dpaudit.proving.program import Node
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import UNBOUNDED, Distance

# More than four units in the last place of a double near 1 (2**-52 each); eight steps of it
# cover two calls of a library function and the arithmetic around them.
SLACK = 1e-15
STEPS = 8
Function = Callable[[Any], Any]


def bound_modulus(analysis: RefinementKnowledge, index: int) -> Distance:
    """Return how far a value moves, by the theorem of this module."""
    node = analysis.program.nodes[index]
    found = _find_function(analysis, node)
    if found is None or None in node.shape or analysis.facts(index).refusal is not None:
        return UNBOUNDED
    operand, function, factor = found
    if not is_shallow(analysis, index):
        return UNBOUNDED
    facts = analysis.facts(operand)
    low, high = np.asarray(facts.low, dtype=float), np.asarray(facts.high, dtype=float)
    if facts.refusal is not None or not _is_monotone(node.operation, low, high):
        return UNBOUNDED
    step = analysis.distance(operand).linf
    move = _bound_end_change(function, low, high, step) * factor * (1 + STEPS * SLACK)
    if not move < math.inf:
        return UNBOUNDED
    is_number = math.prod(one or 0 for one in node.shape) == 1
    # The theorem is of one entry; how many entries move together it does not say, so the
    # lengths of an array stay unbounded here.
    return Distance(move, move, move) if is_number else Distance(math.inf, math.inf, move)


def _find_function(analysis: RefinementKnowledge, node: Node) -> tuple[int, Function, float] | None:
    """Return of a node its private operand, the function of it, and the factor of that."""
    if node.operation in FUNCTIONS:
        return node.operands[0], FUNCTIONS[node.operation], 1.0
    if node.operation == "divide" and _get_constant_value(analysis, node.operands[0]) is not None:
        largest = float(
            np.max(np.abs(_get_constant_value(analysis, node.operands[0])), initial=0.0)
        )
        return node.operands[1], lambda u: 1 / u, largest
    if node.operation == "power":
        exponent = _get_constant_value(analysis, node.operands[1])
        # Other powers are neither monotone nor convex on every interval of one sign that may
        # begin at 0.
        if exponent is not None and exponent.size == 1 and exponent.item() in (2, 3, 4):
            whole = int(exponent.item())
            return node.operands[0], lambda u: u**whole, 1.0
    return None


def _get_constant_value(analysis: RefinementKnowledge, index: int) -> Any:
    """Return the numbers of a constant."""
    node = analysis.program.nodes[index]
    if node.operation != "constant" or analysis.kinds[index] is not NodeKind.PUBLIC:
        return None
    return np.asarray(node.parameters["value"], dtype=float)


def _is_monotone(operation: str, low: Any, high: Any) -> bool:
    if operation == "divide":
        return bool(np.all(low > 0) or np.all(high < 0))
    if operation == "power":
        return bool(np.all(low >= 0) or np.all(high <= 0))
    if operation in ("log", "sqrt", "log1p"):
        start = {"log": 0.0, "sqrt": 0.0, "log1p": -1.0}[operation]
        return bool(np.all(low > start) or (operation == "sqrt" and np.all(low >= 0)))
    return True


def _bound_end_change(function: Function, low: Any, high: Any, step: float) -> float:
    """Return the larger of the changes at both ends, of the worst entry, rounded up."""
    with np.errstate(all="ignore"):
        # Further than [low, high] an entry cannot move, and the function may be undefined
        # beyond.
        far = np.minimum(high, np.nextafter(low + step, np.inf))
        near = np.maximum(low, np.nextafter(high - step, -np.inf))
        at_low = _bound_function_difference(function, low, far)
        at_high = _bound_function_difference(function, near, high)
    found = np.maximum(at_low, at_high)
    return math.inf if np.isnan(found).any() else float(np.max(found, initial=0.0))


def _bound_function_difference(function: Function, one: Any, other: Any) -> Any:
    """Return how far apart two values of a function are, rounded up."""
    first, second = function(one), function(other)
    return np.abs(first - second) + STEPS * SLACK * (np.abs(first) + np.abs(second))


FUNCTIONS: dict[str, Function] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
}
