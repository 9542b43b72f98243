"""Functions of one number: monotone, Lipschitz, or both.

**Theorem.** Let f be increasing on [l, h], and |x - y| <= c <= h - l. If f is concave,
|f(x) - f(y)| <= f(l + c) - f(l); if f is convex, at most f(h) - f(h - c).

*Proof.* Let y = x + d with 0 <= d <= c. f(x + d) - f(x) grows with d, and for a concave f it falls
with x, so that it is largest at x = l; for a convex one it grows with x. QED

Slopes are those of textbooks. A logarithm of a number that may be 0 and a root of one that may be
negative are refused: what they are there is no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dpaudit.proving.distances.facts import Facts, of_nothing
from dpaudit.proving.distances.rounding import function_down, function_up, up
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import combine_entrywise_facts, compute_jump_facts
from dpaudit.proving.distances.settling import compute_width_up
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import ProofRefusal

_QUARTER = math.pi / 2
# Beyond a million radians the rounding of the argument nears the slack; a whole turn is taken
# there instead.
_FAR = 1e6
# In turns: ten times what the rounding of ends of at most 1e6 and of pi adds up to.
_SLACK = 1e-9


@dataclass(frozen=True)
class Increasing:
    """An increasing function.

    Parameters
    ----------
    function
        Of numpy.
    slope
        Its largest slope between two ends, rounded to nearest.
    bend
        How its slope changes.
    least, largest
        Ends of its values.
    domain
        What its argument has to be above, and whether that itself belongs to it.
    """

    function: Callable[[Any], Any]
    slope: Callable[[Any, Any], Any]
    bend: Literal["concave", "convex", "none"] = "none"
    least: float = -math.inf
    largest: float = math.inf
    domain: tuple[float, bool] = (-math.inf, True)


def _nearest_to_zero(low: Any, high: Any) -> Any:
    return np.maximum(np.maximum(low, -high), 0.0)


INCREASING: dict[str, Increasing] = {
    "exp": Increasing(np.exp, lambda low, high: np.exp(high), "convex", least=0.0),
    "expm1": Increasing(np.expm1, lambda low, high: np.exp(high), "convex", least=-1.0),
    "log": Increasing(np.log, lambda low, high: 1 / low, "concave", domain=(0.0, False)),
    "log1p": Increasing(
        np.log1p, lambda low, high: up(1 / (1 + low)), "concave", domain=(-1.0, False)
    ),
    "sqrt": Increasing(
        np.sqrt, lambda low, high: 0.5 / np.sqrt(np.abs(low)), "concave", 0.0, domain=(0.0, True)
    ),
    "arctan": Increasing(
        np.arctan,
        lambda low, high: 1 / (1 + np.square(_nearest_to_zero(low, high))),
        least=-1.5707963267948968,
        largest=1.5707963267948968,
    ),
    "tanh": Increasing(
        np.tanh,
        lambda low, high: 1 - np.square(function_down(np.tanh(_nearest_to_zero(low, high)))),
        least=-1.0,
        largest=1.0,
    ),
}


def bound_increasing(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of an increasing function."""
    known = INCREASING[node.operation]
    one = knowledge.facts(node.operands[0])
    least, is_closed = known.domain
    if not bool(np.all(one.low >= least if is_closed else one.low > least)):
        return _refuse_domain(node, least)
    with np.errstate(all="ignore"):
        low = np.maximum(function_down(known.function(one.low)), known.least)
        high = np.minimum(_round_function_up(known.function(one.high)), known.largest)
        steep = np.asarray(_round_function_up(known.slope(one.low, one.high)))
        # inf * 0 or inf - inf in a formula of slopes says nothing of the slope.
        steep = np.where(np.isnan(steep), math.inf, steep)
    return combine_entrywise_facts(
        knowledge, node, [steep], low, high, modulus=partial(bound_curved_change, known)
    )


def _round_function_up(value: Any) -> Any:
    # function_up leaves 0 as it is, since 0 may be exact; a slope or value that has underflowed
    # to 0 is not.
    return np.nextafter(function_up(value), math.inf)


def _refuse_domain(node: Node, least: float) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            f"the code takes {node.operation} of a number that may be {least:g} or less",
            "clip the number first",
        )
    )


def bound_curved_change(known: Increasing, change: Any, low: Any, high: Any) -> Any:
    """Return how far a concave or convex function moves at most."""
    if known.bend == "none":
        return np.asarray(math.inf)
    change = np.minimum(change, compute_width_up(low, high))
    with np.errstate(all="ignore"):
        if known.bend == "concave":
            ends = low, np.minimum(up(low + change), high)
        else:
            ends = np.maximum(np.nextafter(high - change, -math.inf), low), high
        apart = up(function_up(known.function(ends[1])) - function_down(known.function(ends[0])))
    return np.where(change == 0, 0.0, np.where(np.isnan(apart), math.inf, apart))


def bound_absolute(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of an absolute value, of which no slope is above 1."""
    one = knowledge.facts(node.operands[0])
    low, high = np.abs(one.low), np.abs(one.high)
    return combine_entrywise_facts(
        knowledge,
        node,
        [1.0],
        np.where(np.asarray(one.low <= 0) & (one.high >= 0), 0.0, np.minimum(low, high)),
        np.maximum(low, high),
        is_integer=one.is_integer,
        norms=dict(one.norms),
    )


def bound_sine(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a sine or cosine: their slopes are each other's values."""
    one = knowledge.facts(node.operands[0])
    shift = _QUARTER if node.operation == "sin" else 0.0
    low, high = _cosine_ends(one.low - shift, one.high - shift)
    slope = _cosine_ends(one.low - shift + _QUARTER, one.high - shift + _QUARTER)
    steep = np.maximum(np.abs(slope[0]), np.abs(slope[1]))
    return combine_entrywise_facts(knowledge, node, [steep], low, high)


def _cosine_ends(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the least and largest cosine between ends, with a slack for their rounding."""
    is_far = ~((np.abs(low) < _FAR) & (np.abs(high) < _FAR))
    # From 0 to 7 is more than a turn, so the ends become -1 and 1.
    low, high = np.where(is_far, 0.0, low), np.where(is_far, 7.0, high)
    slack = 1e-15 * (4 + np.abs(low) + np.abs(high))
    values = np.cos(low), np.cos(high)
    is_peak = _holds_multiple(low, high, 0.0)
    is_trough = _holds_multiple(low, high, math.pi)
    least = np.where(is_trough, -1.0, np.maximum(np.minimum(*values) - slack, -1.0))
    most = np.where(is_peak, 1.0, np.minimum(np.maximum(*values) + slack, 1.0))
    return least, most


def _holds_multiple(low: Any, high: Any, offset: float) -> Any:
    """Return whether a whole number of turns past an offset may lie between ends."""
    turn = 2 * math.pi
    first = np.ceil((low - offset) / turn - _SLACK)
    return first <= (high - offset) / turn + _SLACK


def bound_tangent(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a tangent between its poles."""
    one = knowledge.facts(node.operands[0])
    # 1.57 is just short of pi / 2; beyond the pole the tangent jumps from one infinity to the
    # other.
    if not bool(np.all(one.low > -1.57) and np.all(one.high < 1.57)):
        return of_nothing(
            ProofRefusal(
                node.place,
                "the code takes the tangent of an angle that may exceed a quarter turn",
                "clip the angle first",
            )
        )
    furthest = np.maximum(np.abs(one.low), np.abs(one.high))
    steep = _round_function_up(up(1 / np.square(function_down(np.cos(furthest)))))
    low, high = function_down(np.tan(one.low)), function_up(np.tan(one.high))
    return combine_entrywise_facts(knowledge, node, [steep], low, high)


def bound_step(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a rounding to whole numbers.

    Numbers x <= y have at most ceil(y - x) whole numbers above x up to y, and floor, ceil and trunc
    step once at each; rint steps halfway between, on either side, so that one more may count.
    """
    one = knowledge.facts(node.operands[0])
    function = getattr(np, node.operation)
    # Whole numbers are left as they are, so rounding them is no jump.
    if one.is_integer:
        return combine_entrywise_facts(
            knowledge, node, [1.0], one.low, one.high, is_integer=True, norms=dict(one.norms)
        )
    change = np.ceil(one.change) + (node.operation == "rint")
    low, high = function(one.low), function(one.high)
    return compute_jump_facts(knowledge, node, low, high, is_integer=True, change=change)


def bound_sign(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a sign."""
    one = knowledge.facts(node.operands[0])
    return compute_jump_facts(knowledge, node, np.sign(one.low), np.sign(one.high), is_integer=True)


RULES: dict[str, Rule] = {
    **dict.fromkeys(INCREASING, bound_increasing),
    "absolute": bound_absolute,
    "sin": bound_sine,
    "cos": bound_sine,
    "tan": bound_tangent,
    "sign": bound_sign,
    **dict.fromkeys(("floor", "ceil", "rint", "trunc"), bound_step),
}
