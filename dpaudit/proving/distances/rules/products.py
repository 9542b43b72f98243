"""Products, quotients and powers of bounded values.

**Theorem.** With |a| <= A and |b| <= B on the box a product has slopes of at most B and A; a
quotient with |b| >= m > 0 those of 1/m and A/m^2; a power a^p of a public p that of |p| |a|^(p-1).
Products of numbers between ends lie between the least and the largest product of ends.

*Proof.* Partial derivatives on the box, and the mean value theorem of `entrywise`. A function that
is affine, or monotone, in each operand takes its extremes at corners. QED

A row times numbers of at most B has a length of at most B times its own. A divisor that may be 0
is refused.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import dpaudit.faults.codes as codes
from dpaudit.proving.distances.facts import Facts, of_nothing
from dpaudit.proving.distances.rounding import (
    function_down,
    function_up,
    multiply_bounds,
    multiply_up,
    round_array_down,
    up,
)
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import (
    broadcast_operand_facts,
    combine_entrywise_facts,
)
from dpaudit.proving.distances.rules.functions import Increasing, bound_curved_change
from dpaudit.proving.distances.settling import compute_magnitude
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import ProofRefusal

_LEAST = 5e-324


def bound_multiply(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a product; a square is never negative."""
    one, other = (knowledge.facts(index) for index in node.operands)
    # As a product of two values, a square could seem negative, and its slope would be no
    # better.
    if node.operands[0] == node.operands[1]:
        return _bound_whole_power(knowledge, node, one, np.asarray(2.0))
    low, high = product_ends(one.low, one.high, other.low, other.high)
    sizes = compute_magnitude(one), compute_magnitude(other)
    return combine_entrywise_facts(
        knowledge,
        node,
        [sizes[1], sizes[0]],
        low,
        high,
        is_integer=one.is_integer and other.is_integer,
        norms=_norms_of_product(knowledge, node) if one.norms or other.norms else None,
    )


def _norms_of_product(knowledge: RuleKnowledge, node: Node) -> dict[int, float]:
    one, other = broadcast_operand_facts(knowledge, node)
    return _compute_scaled_norms(one, compute_magnitude(other)) or _compute_scaled_norms(
        other, compute_magnitude(one)
    )


def _compute_scaled_norms(facts: Facts, sizes: Any) -> dict[int, float]:
    largest = float(np.max(sizes, initial=0.0))
    if not facts.norms or math.isinf(largest):
        return {}
    return {kind: float(multiply_up(one, largest)) for kind, one in facts.norms.items()}


def product_ends(low: Any, high: Any, other_low: Any, other_high: Any) -> tuple[Any, Any]:
    """Return the ends of products of numbers between ends."""
    corners = [
        (end, other_end, multiply_bounds(end, other_end))
        for end in (low, high)
        for other_end in (other_low, other_high)
    ]
    products = [one for _, _, one in corners]
    below = np.minimum(np.minimum(*products[:2]), np.minimum(*products[2:]))
    above = np.maximum(np.maximum(*products[:2]), np.maximum(*products[2:]))
    below, above = round_array_down(below), up(above)
    # A product of numbers other than 0 that comes out as 0 has underflowed: it may have either
    # sign, and up() takes 0 for exact.
    if any(((one == 0) & (a != 0) & (b != 0)).any() for a, b, one in corners):
        return np.minimum(below, -_LEAST), np.maximum(above, _LEAST)
    return below, above


def bound_divide(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a quotient whose divisor is never 0."""
    one, other = (knowledge.facts(index) for index in node.operands)
    if not bool(np.all(other.low > 0) or np.all(other.high < 0)):
        return of_nothing(
            ProofRefusal(
                node.place,
                "the code divides by a number that may be 0",
                "keep the divisor away from 0, as with np.maximum(divisor, 1)",
                codes.NOT_BOUNDED,
            )
        )
    low, high = _quotient_ends(one, other)
    with np.errstate(all="ignore"):
        steep = up(1.0 / np.minimum(np.abs(other.low), np.abs(other.high)))
    steeper = multiply_up(multiply_up(compute_magnitude(one), steep), steep)
    norms = (
        _compute_scaled_norms(broadcast_operand_facts(knowledge, node)[0], steep)
        if one.norms
        else None
    )
    return combine_entrywise_facts(knowledge, node, [steep, steeper], low, high, norms=norms)


def _quotient_ends(one: Facts, other: Facts) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        corners = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
    # inf / inf: the other corners hold the extremes, and 0 is approached in between.
    corners = list(np.broadcast_arrays(*(np.where(np.isnan(one), 0.0, one) for one in corners)))
    low, high = round_array_down(np.minimum.reduce(corners)), up(np.maximum.reduce(corners))
    is_least = np.asarray(other.low > 0) & (one.low >= 0)
    low = np.where(is_least, np.maximum(low, 0.0), low)
    # Quotients this small may have underflowed to 0, which is no end for numbers that are not
    # 0.
    is_tiny = np.minimum.reduce([np.abs(corner) for corner in corners]) < 1e-300
    if np.any(is_tiny & ~is_least):
        low, high = np.where(low == 0, -_LEAST, low), high
    return low, np.where(is_tiny & (high == 0), _LEAST, high)


def bound_power(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a power whose exponent, or whose base, is public."""
    base, exponent = (knowledge.facts(index) for index in node.operands)
    known = knowledge.value(node.operands[1])
    if known is not None:
        powers = np.asarray(known, dtype=float)
        # Whole powers are defined for negative bases too; 1024 and more overflow for any base
        # from 2 on.
        if bool(np.all((powers == np.floor(powers)) & (powers >= 0) & (powers < 1024))):
            return _bound_whole_power(knowledge, node, base, powers)
        if powers.size == 1 and np.all(base.low >= 0):
            return _bound_real_power(knowledge, node, base, powers.item())
    # A public positive base to a private exponent is an exponential function of it.
    known = knowledge.value(node.operands[0])
    if known is not None and np.all(np.asarray(known) > 0):
        return _bound_exponential(knowledge, node, np.asarray(known, dtype=float), exponent)
    return _refuse_power(node)


def _refuse_power(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            "the exponent of a power is not a public whole number, or its base may be negative "
            "or 0",
            "clip the base to positive numbers",
        )
    )


def _bound_whole_power(knowledge: RuleKnowledge, node: Node, base: Facts, power: Any) -> Facts:
    with np.errstate(all="ignore"):
        ends = [_slack_of_power(end, power) for end in (base.low, base.high)]
        straddles = np.asarray(base.low < 0) & (base.high > 0) & (power % 2 == 0) & (power > 0)
        least = np.minimum(ends[0][0], ends[1][0])
        is_even = (power % 2 == 0) | np.asarray(base.low >= 0)
        least = np.where(is_even, np.maximum(least, 0.0), least)
        steep = np.where(
            power == 0,
            0.0,
            multiply_up(power, _slack_of_power(compute_magnitude(base), power - 1)[1]),
        )
    return combine_entrywise_facts(
        knowledge,
        node,
        # x * x has x for both operands, so each gets half of the slope 2 |x|.
        [steep, 0.0][: len(node.operands)] if node.operation == "power" else [steep / 2, steep / 2],
        np.where(straddles, 0.0, least),
        np.maximum(ends[0][1], ends[1][1]),
        is_integer=base.is_integer,
    )


def _slack_of_power(end: Any, power: Any) -> tuple[Any, Any]:
    """Return bounds below and above a power, which numpy computes within few last places."""
    # x^0 and x^1 are exact, and a slack on them would keep a square's slope from being exact.
    if np.size(power) == 1 and float(np.max(power)) in (0.0, 1.0):
        exact = np.asarray(end if np.max(power) == 1 else np.ones(()))
        return exact, exact
    found = np.power(np.asarray(end, dtype=float), np.maximum(power, 0.0))
    return function_down(found), np.where((found == 0) & (end != 0), _LEAST, function_up(found))


def _bound_real_power(knowledge: RuleKnowledge, node: Node, base: Facts, power: float) -> Facts:
    # A negative power of 0 is infinite.
    if power < 0 and not np.all(base.low > 0):
        return _refuse_power(node)
    with np.errstate(all="ignore"):
        ends = [np.power(end, power) for end in (base.low, base.high)]
        # The slope is monotone in the base, so it is largest at an end.
        slopes = [np.power(end, power - 1) for end in (base.low, base.high)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    steep = multiply_up(abs(power), np.nextafter(function_up(np.maximum(*slopes)), math.inf))
    return combine_entrywise_facts(
        knowledge,
        node,
        [steep, 0.0],
        np.maximum(function_down(low), 0.0),
        np.where((high == 0) & (base.high > 0), _LEAST, function_up(high)),
        modulus=partial(bound_curved_change, _increasing_power(power)) if power > 0 else None,
    )


def _increasing_power(power: float) -> Increasing:
    def function(value: Any) -> Any:
        return np.power(value, power)

    return Increasing(function, lambda low, high: high, "concave" if power < 1 else "convex")


def _bound_exponential(knowledge: RuleKnowledge, node: Node, base: Any, exponent: Facts) -> Facts:
    with np.errstate(all="ignore"):
        ends = [np.power(base, end) for end in (exponent.low, exponent.high)]
        high = np.nextafter(function_up(np.maximum(*ends)), math.inf)
        rate = function_up(np.abs(np.log(base)))
    low = np.maximum(function_down(np.minimum(*ends)), 0.0)
    return combine_entrywise_facts(knowledge, node, [0.0, multiply_up(rate, high)], low, high)


RULES: dict[str, Rule] = {
    "multiply": bound_multiply,
    "divide": bound_divide,
    "power": bound_power,
}
