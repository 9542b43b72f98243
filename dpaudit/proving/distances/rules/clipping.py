"""Clips by norm, and directions: a vector times a number that shrinks as its length grows.

**Theorem.** Let N >= k |g| with k > 0, and 0 <= s <= H / N. Then |s g| <= H / k. Here |g| is the
L1 or the Euclidean length over the axes that N adds up, of every vector along them.

*Proof.* |s g| = s |g| <= H |g| / N <= H / k. Where g is 0 so is s g, if s is a number: it is if N
is above 0, and, for positive H, if H / N is cut off at a finite number (``minimum(1, H / N)``). QED

So ``g * minimum(1, C / |g|)``, ``g / maximum(1, |g| / C)`` and ``g * (C / maximum(|g|, C))`` have
the length C at most, whatever g is, and ``g / |g|`` has the length 1 where |g| is never 0.

**Theorem.** If s depends on nothing but |g| (Euclidean) and public numbers, does not grow with it,
and is one of ``minimum(c, H / max(d, k |g| + e))``, then g -> s g moves by at most c times as far
as g, c being the largest s.

*Proof.* With h(r) = r s(r), the derivative of s(|g|) g has the singular values h'(r) and s(r).
h' = s + r s', and s' is 0 or -H k / (k r + e)^2, so that -s <= r s' <= 0 and |h'| <= s <= c. QED

A choice ``where(|g| > C, C / |g|, 1)`` is such a number too: where it is not C / |g|, the length is
at most C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import ANYHOW, Facts, of_public
from dpaudit.proving.distances.rounding import multiply_up, sqrt_up, up
from dpaudit.proving.distances.rules.contract import RuleKnowledge
from dpaudit.proving.distances.rules.products import product_ends
from dpaudit.proving.distances.rules.sums import axes_of
from dpaudit.proving.distances.settling import count_shape_entries, settle_facts
from dpaudit.proving.distances.standing import is_fixed
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.universe import UNBOUNDED, Distance

# Clips as people write them are a handful of operations deep; the limit bounds a search that
# branches at every operation.
_MOST_STEPS = 12


@dataclass(frozen=True)
class Length:
    """A number that is at least a multiple of a vector's length.

    Parameters
    ----------
    vector
        The node whose length it is.
    axes
        Along which.
    kind
        1 for the sum of absolute values, 2 for Euclidean length.
    multiple
        The number is at least so many times the length.
    is_alone
        Whether it is a function of the Euclidean length and public numbers alone.
    """

    vector: int
    axes: tuple[int, ...]
    kind: int
    multiple: float = 1.0
    is_alone: bool = True


@dataclass(frozen=True)
class Shrinking:
    """A number of at most a bound divided by a vector's length.

    Parameters
    ----------
    length
        Of which vector.
    bound
        The number times the length is no larger.
    is_finite
        Whether it is a number even where the vector is 0.
    is_alone
        Whether it falls as the Euclidean length grows, and depends on nothing private besides.
    cap
        It is no larger than that.
    """

    length: Length
    bound: float
    is_finite: bool
    is_alone: bool
    cap: float


def bound_clip(knowledge: RuleKnowledge, node: Node) -> Facts | None:
    """Return the facts of a vector times a number that shrinks; None of other products."""
    one, other = node.operands
    for vector, factor in ((one, other), (other, one)):
        found = find_shrinking(knowledge, factor, _MOST_STEPS)
        # A factor that is infinite where the vector is 0 makes 0 * inf, which is NaN and of no
        # length.
        if found is None or not found.is_finite:
            continue
        if found.length.vector == vector and _is_aligned(knowledge, node, vector, factor, found):
            return _bound_vector(knowledge, node, found)
    return None


def bound_division(knowledge: RuleKnowledge, node: Node) -> Facts | None:
    """Return the facts of a vector divided by a number that its length is in; None of others."""
    divisor = node.operands[1]
    length = find_length(knowledge, divisor, _MOST_STEPS)
    # A length that may be 0 makes 0 / 0.
    if length is None or not is_positive(knowledge, divisor):
        return None
    return _find_direction_facts(knowledge, node, length)


def bound_guarded(knowledge: RuleKnowledge, node: Node) -> Facts | None:
    """Return the facts of a vector divided by its length where that is not 0, and 0 elsewhere."""
    condition, then, otherwise = (knowledge.program.nodes[one] for one in node.operands)
    zero = knowledge.facts(otherwise.index)
    if condition.operation != "less" or then.operation != "divide" or then.shape != node.shape:
        return None
    limit, tested = condition.operands
    length = find_length(knowledge, then.operands[1], _MOST_STEPS)
    is_zero = is_fixed(zero) and bool(np.all(zero.low == 0) and np.all(zero.high == 0))
    # The number that is tested has to be the one that divides; a test of another vector's
    # length would let a division by 0 through.
    is_same = _find_reshaped_node(knowledge, tested) is _find_reshaped_node(
        knowledge, then.operands[1]
    )
    if length is None or not is_zero or not is_same:
        return None
    known = knowledge.facts(limit)
    if known.refusal is not None or not bool(np.all(known.low >= 0)):
        return None
    if not _lines_up(knowledge, condition.index, length, then):
        return None
    # The direction jumps where the length passes the limit, so it is no contraction.
    return _find_direction_facts(knowledge, then, replace(length, is_alone=False))


def _lines_up(knowledge: RuleKnowledge, index: int, length: Length, then: Node) -> bool:
    """Return whether a condition is of the vector that is divided, of each its own."""
    return _is_aligned(
        knowledge, then, length.vector, index, Shrinking(length, 0.0, True, False, math.inf)
    )


def _find_direction_facts(knowledge: RuleKnowledge, node: Node, length: Length) -> Facts | None:
    """Return the facts of a vector divided by a positive multiple of its length."""
    vector, divisor = node.operands
    scale = _scale_of(knowledge, vector, length.vector)
    if scale is None:
        return None
    bound = float(up(scale / length.multiple))
    least = float(np.min(knowledge.facts(divisor).low, initial=math.inf))
    cap = float(up(scale / least)) if least > 0 else math.inf
    found = Shrinking(length, bound, True, length.is_alone and length.kind == 2, cap)
    if not _is_aligned(knowledge, node, length.vector, divisor, found):
        return None
    return _bound_vector(knowledge, node, found)


def _scale_of(knowledge: RuleKnowledge, index: int, vector: int) -> float | None:
    """Return how many times a vector a value is: itself, or times a public number."""
    if index == vector:
        return 1.0
    node = knowledge.program.nodes[index]
    if node.operation != "multiply" or vector not in node.operands:
        return None
    other = node.operands[0] if node.operands[1] == vector else node.operands[1]
    facts = knowledge.facts(other)
    is_number = is_fixed(facts) and facts.refusal is None and np.size(facts.low) == 1
    if not is_number or not math.isfinite(float(np.max(facts.high))):
        return None
    return float(np.max(facts.high)) if np.min(facts.low) >= 0 else None


def find_length(knowledge: RuleKnowledge, index: int, steps: int) -> Length | None:
    """Return of which vector's length a number is at least a multiple; None of others."""
    node = knowledge.program.nodes[index]
    if steps <= 0:
        return None
    if node.operation in {"reshape", "broadcast"}:
        return find_length(knowledge, node.operands[0], steps - 1)
    if node.operation in {"sqrt", "power", "sum"}:
        return _length_itself(knowledge, node)
    if node.operation in {"maximum", "add", "multiply", "divide"}:
        for at, one in enumerate(node.operands):
            other = node.operands[1 - at]
            if node.operation == "divide" and at == 1:
                continue
            found = find_length(knowledge, one, steps - 1)
            if found is not None:
                return _follow_length(knowledge, node.operation, found, other)
    return None


def _follow_length(
    knowledge: RuleKnowledge, operation: str, found: Length, other: int
) -> Length | None:
    facts = knowledge.facts(other)
    if facts.refusal is not None:
        return None
    alone = replace(found, is_alone=found.is_alone and is_fixed(facts))
    low, high = float(np.min(facts.low, initial=math.inf)), float(np.max(facts.high))
    if operation == "maximum":
        return alone
    if operation == "add":
        return alone if low >= 0 else None
    # A factor of 0 or an infinite divisor leaves no multiple of the length.
    if not 0 < low <= high < math.inf:
        return None
    factor = low if operation == "multiply" else 1.0 / high
    # Rounded towards 0, as the multiple is a lower bound.
    return replace(alone, multiple=float(np.nextafter(found.multiple * factor, 0.0)))


def _length_itself(knowledge: RuleKnowledge, node: Node) -> Length | None:
    """Return the length that a root of a sum of squares, or a sum of absolute values, is."""
    nodes = knowledge.program.nodes
    if node.operation == "sum":
        return _length_of_sum(knowledge, node)
    if node.operation == "power" and not _is_number(knowledge, node.operands[1], 0.5):
        return None
    total, is_alone = _find_reshaped_node(knowledge, node.operands[0]), True
    if total.operation == "add":
        # sqrt(|g|^2 + e) is at least |g|, but it is not of the form k |g| + e that the second
        # theorem needs.
        total, is_alone = _without_slack(knowledge, total), False
    if knowledge.facts(total.index).refusal is not None:
        return None
    if total.operation == "matmul":
        is_square = total.operands[0] == total.operands[1] and total.shape == ()
        return Length(total.operands[0], (0,), 2, 1.0, is_alone) if is_square else None
    if total.operation != "sum":
        return None
    squares = nodes[total.operands[0]]
    vector = _base_of_square(knowledge, squares)
    if vector is None or nodes[vector].shape != squares.shape:
        return None
    axes = axes_of(total.parameters["axis"], len(nodes[vector].shape))
    return Length(vector, axes, 2, 1.0, is_alone)


def _without_slack(knowledge: RuleKnowledge, node: Node) -> Node:
    """Return the number to which a non-negative one is added, or else the sum."""
    for one, other in (node.operands, node.operands[::-1]):
        facts = knowledge.facts(other)
        if is_fixed(facts) and facts.refusal is None and bool(np.all(facts.low >= 0)):
            return _find_reshaped_node(knowledge, one)
    return node


def _length_of_sum(knowledge: RuleKnowledge, node: Node) -> Length | None:
    """Return the L1 length that a sum of absolute values or of positive numbers is."""
    index = node.operands[0]
    inner = knowledge.program.nodes[index]
    axes = axes_of(node.parameters["axis"], len(inner.shape))
    if inner.operation == "absolute":
        return Length(inner.operands[0], axes, 1, is_alone=False)
    facts = knowledge.facts(index)
    is_size = facts.refusal is None and bool(np.all(facts.low >= 0))
    return Length(index, axes, 1, is_alone=False) if is_size else None


def is_positive(knowledge: RuleKnowledge, index: int, steps: int = _MOST_STEPS) -> bool:
    """Return whether a number is above 0, however little: as exponentials are, and their sums."""
    node, facts = knowledge.program.nodes[index], knowledge.facts(index)
    if facts.refusal is not None or steps <= 0:
        return False
    if node.operation == "exp" or bool(np.all(facts.low > 0)):
        return True
    if node.operation == "sum" and (None in _lengths_added(knowledge, node)):
        return False
    if node.operation in {"reshape", "broadcast", "sum", "sqrt"}:
        return is_positive(knowledge, node.operands[0], steps - 1)
    return False


def _lengths_added(knowledge: RuleKnowledge, node: Node) -> list[int | None]:
    shape = knowledge.program.nodes[node.operands[0]].shape
    return [shape[axis] or None for axis in axes_of(node.parameters["axis"], len(shape))]


def _is_number(knowledge: RuleKnowledge, index: int, number: float) -> bool:
    value = knowledge.value(index)
    return value is not None and np.size(value) == 1 and float(np.max(value)) == number


def _base_of_square(knowledge: RuleKnowledge, node: Node) -> int | None:
    """Return the squared node."""
    if node.operation == "multiply" and node.operands[0] == node.operands[1]:
        base = node.operands[0]
    elif node.operation == "power" and _is_number(knowledge, node.operands[1], 2.0):
        base = node.operands[0]
    else:
        return None
    inner = knowledge.program.nodes[base]
    return inner.operands[0] if inner.operation == "absolute" else base


def find_shrinking(knowledge: RuleKnowledge, index: int, steps: int) -> Shrinking | None:
    """Return by which vector's length a number is bounded from above; None of others."""
    node = knowledge.program.nodes[index]
    if steps <= 0:
        return None
    if node.operation in {"reshape", "broadcast"}:
        return find_shrinking(knowledge, node.operands[0], steps - 1)
    if node.operation == "divide":
        return _shrink_quotient(knowledge, node, steps)
    if node.operation in {"minimum", "multiply"}:
        for at, one in enumerate(node.operands):
            found = find_shrinking(knowledge, one, steps - 1)
            if found is not None:
                return _follow_shrinking(knowledge, node.operation, found, node.operands[1 - at])
    if node.operation == "where":
        return _shrink_choice(knowledge, node, steps)
    return None


def _shrink_quotient(knowledge: RuleKnowledge, node: Node, steps: int) -> Shrinking | None:
    above, below = node.operands
    length, facts = find_length(knowledge, below, steps - 1), knowledge.facts(above)
    if length is None or facts.refusal is not None:
        return None
    low, high = float(np.min(facts.low, initial=math.inf)), float(np.max(facts.high, initial=0.0))
    is_above = bool(np.all(knowledge.facts(below).low > 0))
    # 0 / 0 where the vector is 0: a minimum with a finite number would pass the NaN on.
    if low < 0 or math.isinf(high) or (low == 0 and not is_above):
        return None
    is_alone = length.is_alone and length.kind == 2 and is_fixed(facts)
    cap = float(up(high / np.min(knowledge.facts(below).low))) if is_above else math.inf
    return Shrinking(length, float(up(high / length.multiple)), is_above, is_alone, cap)


def _follow_shrinking(
    knowledge: RuleKnowledge, operation: str, found: Shrinking, other: int
) -> Shrinking | None:
    facts = knowledge.facts(other)
    if facts.refusal is not None or not bool(np.all(facts.low >= 0)):
        return None
    high, is_alone = float(np.max(facts.high, initial=0.0)), found.is_alone and is_fixed(facts)
    if operation == "minimum":
        is_finite = found.is_finite or math.isfinite(high)
        return Shrinking(found.length, found.bound, is_finite, is_alone, min(found.cap, high))
    if math.isinf(high) or not found.is_finite:
        return None
    bound, cap = (float(multiply_up(one, high)) for one in (found.bound, found.cap))
    return Shrinking(found.length, bound, True, is_alone, cap)


def _shrink_choice(knowledge: RuleKnowledge, node: Node, steps: int) -> Shrinking | None:
    """Return the number that is bounded by a length where it is long, and elsewhere public."""
    condition, then, otherwise = node.operands
    test = knowledge.program.nodes[condition]
    if test.operation not in {"less", "less_equal"}:
        return None
    found = find_shrinking(knowledge, then, steps - 1)
    threshold, length = test.operands
    if found is None:
        found = find_shrinking(knowledge, otherwise, steps - 1)
        length, threshold, otherwise = threshold, length, then
    measured = find_length(knowledge, length, steps - 1)
    if found is None or measured is None or not _is_same_length(measured, found.length):
        return None
    if _find_reshaped_node(knowledge, length).operation not in {"sqrt", "power", "sum"}:
        return None
    limit, cap = knowledge.facts(threshold), knowledge.facts(otherwise)
    if limit.refusal is not None or cap.refusal is not None or np.any(cap.low < 0):
        return None
    # In the other branch the length is at most the threshold, and the factor at most its cap.
    most = float(multiply_up(max(float(np.max(limit.high)), 0.0), float(np.max(cap.high))))
    if not bool(np.all(limit.low >= 0)) or math.isinf(most):
        return None
    bound = max(found.bound, float(up(most / measured.multiple)))
    is_finite = found.is_finite or _excludes_zero(test, length, limit)
    # A choice may jump at its threshold: it bounds lengths, and is no contraction.
    return Shrinking(found.length, bound, is_finite, False, math.inf)


def _find_reshaped_node(knowledge: RuleKnowledge, index: int) -> Node:
    """Return the node whose entries have only got another shape."""
    node = knowledge.program.nodes[index]
    while node.operation in {"reshape", "broadcast"}:
        node = knowledge.program.nodes[node.operands[0]]
    return node


def _is_same_length(one: Length, other: Length) -> bool:
    return (one.vector, one.axes, one.kind) == (other.vector, other.axes, other.kind)


def _excludes_zero(test: Node, length: int, limit: Facts) -> bool:
    """Return whether a vector of length 0 never takes the branch that divides by its length."""
    is_strict = (test.operation == "less") == (test.operands[1] == length)
    return bool(np.all(limit.low > 0)) or is_strict


def _is_aligned(
    knowledge: RuleKnowledge, node: Node, vector: int, factor: int, found: Shrinking
) -> bool:
    """Return whether each vector meets the number that its own length made.

    From the length to the factor nothing changes the order or the number of entries, except that at
    the end each number may be repeated along the axes of the vector.
    """
    nodes = knowledge.program.nodes
    shape, axes = nodes[vector].shape, found.length.axes
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    if node.shape != shape:
        return False
    if is_fixed(knowledge.facts(vector)):
        return _count_entries_and_records(kept) == (1, 0) and _count_entries_and_records(
            nodes[factor].shape
        ) == (1, 0)
    return _leads_to(knowledge, factor, kept, shape)


def _leads_to(knowledge: RuleKnowledge, index: int, kept: Shape, shape: Shape) -> bool:
    """Return whether a factor has the shape that lines up with the vectors, all the way down."""
    node = knowledge.program.nodes[index]
    if node.operation == "broadcast" and node.shape == shape:
        node = knowledge.program.nodes[node.operands[0]]
    padded = (1,) * (len(kept) - len(node.shape)) + node.shape
    return padded == kept and _keeps_size(
        knowledge, node.index, _count_entries_and_records(kept), _MOST_STEPS
    )


def _count_entries_and_records(shape: Shape) -> tuple[int, int]:
    """Return how many entries a shape has, the records apart."""
    return math.prod(n for n in shape if n is not None), shape.count(None)


def _keeps_size(knowledge: RuleKnowledge, index: int, size: tuple[int, int], steps: int) -> bool:
    """Return whether all that depends on records has as many entries as there are lengths."""
    node = knowledge.program.nodes[index]
    # From here on the number is the length of each vector in its own place.
    if node.operation in {"sum", "matmul"}:
        return _count_entries_and_records(node.shape) == size
    if (
        steps <= 0
        or _count_entries_and_records(node.shape) != size
        # These move entries to other places without changing how many there are: each vector
        # would meet the length of another.
        or node.operation in {"transpose", "take"}
    ):
        return False
    secret = [one for one in node.operands if not is_fixed(knowledge.facts(one))]
    return all(_keeps_size(knowledge, one, size, steps - 1) for one in secret)


def _bound_vector(knowledge: RuleKnowledge, node: Node, found: Shrinking) -> Facts | None:
    """Return the facts of a vector that is shrunk."""
    vector = knowledge.facts(found.length.vector)
    if vector.refusal is not None:
        return None
    # The bounds do not depend on which node the vector is, so steps of a loop share them.
    nameless = replace(found, length=replace(found.length, vector=-1))
    key = (node.operation, node.shape, id(vector), nameless)
    if key not in knowledge.memory:
        knowledge.memory[key] = _compute_shrunk_facts(knowledge, node, found, vector)
    return knowledge.memory[key]


def _compute_shrunk_facts(
    knowledge: RuleKnowledge, node: Node, found: Shrinking, vector: Facts
) -> Facts:
    shape, universe = node.shape, knowledge.universe
    bound, steep = found.bound, found.cap
    low, high = product_ends(vector.low, vector.high, np.zeros(()), np.asarray(steep))
    keeps_rows = vector.rows is not None and vector.rows.axis not in found.length.axes
    rows = vector.rows if keeps_rows else None
    # Only a factor that is a function of the length alone contracts; any other may move by
    # itself.
    is_projection = found.is_alone and math.isfinite(steep)
    low, high = np.maximum(low, -bound), np.minimum(high, bound)
    if is_fixed(vector):
        return of_public(low, high)
    return settle_facts(
        shape,
        universe,
        low,
        high,
        math.inf,
        rows=rows,
        norms=_norms_of_clip(found, shape, rows.axis if rows else None),
        moves=_bound_contracted_moves(vector.moves, steep) if is_projection else ANYHOW,
        distance=_contract_distance(vector.distance, steep) if is_projection else UNBOUNDED,
    )


def _bound_contracted_moves(moves: Any, steep: float) -> Any:
    l2 = multiply_up(steep, moves[1])
    # The theorem is of the Euclidean length; the largest entry is at most that, the L1 length
    # may grow.
    return np.stack([np.full_like(l2, math.inf), l2, l2])


def _contract_distance(distance: Distance, steep: float) -> Distance:
    l2 = float(multiply_up(steep, distance.l2))
    return Distance(math.inf, l2, l2)


def _norms_of_clip(found: Shrinking, shape: Shape, axis: int | None) -> dict[int, float]:
    """Return the lengths of rows that hold several vectors, each of bounded length."""
    own = count_shape_entries(tuple(shape[one] for one in found.length.axes))
    others = [n for one, n in enumerate(shape) if one not in found.length.axes and one != axis]
    vectors = math.inf if None in others else float(math.prod(one or 0 for one in others))
    if math.isinf(vectors):
        return {}
    second = float(multiply_up(found.bound, sqrt_up(vectors)))
    first = float(multiply_up(found.bound, vectors))
    if found.length.kind == 2:
        first = float(multiply_up(first, sqrt_up(own)))
    return {1: first, 2: second}
