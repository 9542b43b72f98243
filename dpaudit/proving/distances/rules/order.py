"""Largest, smallest, middle: quantiles, sorted values, positions of extremes, products of many.

**Theorem.** Order statistics move by no more than the entry that moves most, and all of them
together, in L1, Euclidean length and largest entry, by no more than the values themselves. They
grow with each value. Quantiles are convex combinations of two order statistics, or one of them.

*Proof.* If all entries grow by at most c, every order statistic does, and grows if they do. Of all
orders of two vectors the one that sorts both brings them closest in each of the norms (exchange two
entries that are ordered differently; for convex f, f(a - b') + f(a' - b) >= f(a - b) + f(a' - b')
if a >= a' and b >= b'). QED

What has to be one of the positions (argmax) may jump to any. Extremes and quantiles of no numbers
do not exist: where records are added, there may be none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Facts, RowOrigins, of_nothing, of_public
from dpaudit.proving.distances.rounding import (
    function_down,
    function_up,
    multiply_up,
    round_array_down,
    sqrt_up,
)
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import bound_stirred_moves, scale_distance
from dpaudit.proving.distances.rules.sums import axes_of, shift_rows
from dpaudit.proving.distances.settling import (
    add_leading_axes,
    compute_magnitude,
    count_shape_entries,
    settle_facts,
)
from dpaudit.proving.distances.standing import is_fixed
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.refusals import ProofRefusal

# To sort more ends than that costs more than the tighter bound is worth; the furthest end is looser
# and right.
_MOST_ENTRIES = 1_000_000
_WHOLE_METHODS = frozenset({"lower", "higher", "nearest", "inverted_cdf", "closest_observation"})


def _get_operand_and_axes(
    knowledge: RuleKnowledge, node: Node
) -> tuple[Facts, Shape, tuple[int, ...]]:
    index = node.operands[0]
    shape = knowledge.program.nodes[index].shape
    return knowledge.facts(index), shape, axes_of(node.parameters["axis"], len(shape))


def _refuse_empty(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            f"the code takes {node.operation} of a set of numbers that may be empty",
            "give initial=, or make the number of records public",
        )
    )


def bound_extreme_of_axis(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the largest or smallest entries along axes."""
    one, shape, axes = _get_operand_and_axes(knowledge, node)
    if not _has_entries(shape, axes):
        return _refuse_empty(node)
    function = np.max if node.operation == "max" else np.min
    low = function(add_leading_axes(one.low, len(shape)), axis=axes)
    high = function(add_leading_axes(one.high, len(shape)), axis=axes)
    return _find_order_facts(knowledge, node, one, shape, axes, low, high, one.is_integer)


def _has_entries(shape: Shape, axes: tuple[int, ...]) -> bool:
    return all(shape[axis] is not None and shape[axis] != 0 for axis in axes)


def bound_quantile(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of medians and quantiles along axes."""
    one, shape, axes = _get_operand_and_axes(knowledge, node)
    if not _has_entries(shape, axes):
        return _refuse_empty(node)
    low = _compute_end_quantiles(node, one.low, shape, axes, np.min)
    high = _compute_end_quantiles(node, one.high, shape, axes, np.max)
    q = np.asarray(node.parameters.get("q", 0.5), dtype=float)
    is_whole = one.is_integer and node.parameters.get("method") in _WHOLE_METHODS
    return _find_order_facts(
        knowledge, node, one, shape, axes, function_down(low), function_up(high), is_whole, q.shape
    )


def _compute_end_quantiles(
    node: Node, ends: Any, shape: Shape, axes: tuple[int, ...], furthest: Callable[..., Any]
) -> Any:
    """Return quantiles of ends; of ends that are infinite or very many, their own end."""
    array = add_leading_axes(ends, len(shape))
    target = tuple((shape[k] or 0) if k in axes else n for k, n in enumerate(array.shape))
    # Interpolation between infinite ends makes NaN.
    if not np.isfinite(array).all() or math.prod(target) > _MOST_ENTRIES:
        return furthest(array, axis=axes)
    whole = np.broadcast_to(array, target)
    if node.operation == "median":
        found = np.median(whole, axis=axes)
    else:
        given = node.parameters
        q, method = np.asarray(given["q"], dtype=float), given["method"]
        found = np.quantile(whole, q, axis=axes, method=method)
    return found


def _find_order_facts(
    knowledge: RuleKnowledge,
    node: Node,
    one: Facts,
    shape: Shape,
    axes: tuple[int, ...],
    low: Any,
    high: Any,
    is_integer: bool,
    leading: tuple[int, ...] = (),
) -> Facts:
    """Return the facts of order statistics along axes; `leading` are the axes of several."""
    if is_fixed(one):
        return of_public(low, high, is_integer=is_integer)
    copies = float(math.prod(leading))
    root = float(sqrt_up(copies))
    rows = shift_rows(one.rows, axes)
    if rows is not None:
        rows = RowOrigins(rows.records, rows.axis + len(leading))
    # Order statistics within a row are some of its entries, or averages of two; several
    # quantiles may count one entry more than once.
    norms = dict(one.norms) if rows is not None and not leading else None
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        add_leading_axes(one.change, len(shape)).max(axis=axes, initial=0.0),
        is_integer=is_integer,
        rows=rows,
        norms=norms,
        moves=multiply_up(np.array([[copies], [root], [1.0]]), one.moves),
        distance=scale_distance(one.distance, copies, root, 1.0),
    )


def bound_sort(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of values that are sorted along an axis."""
    one, shape, axes = _get_operand_and_axes(knowledge, node)
    if any(shape[axis] is None for axis in axes):
        return of_nothing(
            ProofRefusal(node.place, "the code sorts records, whose number is private")
        )
    low, high, change = (
        add_leading_axes(each, len(shape)) for each in (one.low, one.high, one.change)
    )
    # Order statistics grow with every value, so those of the ends bound those of the values.
    low, high = np.sort(low, axis=axes[0]), np.sort(high, axis=axes[0])
    if is_fixed(one):
        return of_public(low, high, is_integer=one.is_integer)
    # Once records are sorted, their places no longer say whose rows they are.
    rows = None if one.rows is None or one.rows.axis in axes else one.rows
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        change.max(axis=axes, keepdims=True, initial=0.0),
        is_integer=one.is_integer,
        rows=rows,
        norms=dict(one.norms) if (one.rows is None) == (rows is None) else None,
        moves=one.moves,
        distance=one.distance,
    )


def bound_position(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the position of an extreme."""
    one, shape, axes = _get_operand_and_axes(knowledge, node)
    if not _has_entries(shape, axes):
        return _refuse_empty(node)
    last = np.asarray(count_shape_entries(tuple(shape[axis] for axis in axes)) - 1)
    if is_fixed(one):
        return of_public(np.zeros(()), last, is_integer=True)
    moves_any = add_leading_axes(one.change, len(shape)).max(axis=axes, initial=0.0) > 0
    return settle_facts(
        node.shape,
        knowledge.universe,
        np.zeros(()),
        last,
        np.where(moves_any, last, 0.0),
        is_integer=True,
        rows=shift_rows(one.rows, axes),
        moves=bound_stirred_moves([one]),
    )


def bound_product(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of products along axes.

    A product of numbers up to M_i in size has slopes of at most the product of the other M_j.
    """
    one, shape, axes = _get_operand_and_axes(knowledge, node)
    if None in [shape[axis] for axis in axes]:
        return _product_of_records(node)
    sizes = _spread_along(compute_magnitude(one), shape, axes)
    low, high = (_spread_along(end, shape, axes) for end in (one.low, one.high))
    most = _product_up(sizes, axes)
    is_positive = bool(np.all(low >= 0))
    # With both signs, a product may have any sign; its size is bounded all the same.
    ends = (_product_down(low, axes), _product_up(high, axes)) if is_positive else (-most, most)
    if is_fixed(one):
        return of_public(*ends, is_integer=one.is_integer)
    steep = _bound_product_slope(sizes, axes)
    moves = multiply_up(steep, one.moves[0])
    return settle_facts(
        node.shape,
        knowledge.universe,
        *ends,
        math.inf,
        is_integer=one.is_integer,
        rows=shift_rows(one.rows, axes),
        moves=np.stack([moves] * 3),
    )


def _product_of_records(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place, "the code multiplies all records, whose number is private", "add logarithms"
        )
    )


def _spread_along(ends: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    array = add_leading_axes(ends, len(shape))
    target = tuple((shape[k] or 0) if k in axes else n for k, n in enumerate(array.shape))
    return np.broadcast_to(array, target)


def _flatten_leading_axes(array: Any, lead: int) -> Any:
    """Return the entries along the first axes, one after the other."""
    return array.reshape(math.prod(array.shape[:lead]), *array.shape[lead:])


def _product_up(sizes: Any, axes: tuple[int, ...]) -> Any:
    """Return numbers above products of numbers that are not negative."""
    found = np.ones(())
    array = np.moveaxis(sizes, axes, range(len(axes)))
    for one in _flatten_leading_axes(array, len(axes)):
        found = multiply_up(found, one)
    return found


def _product_down(sizes: Any, axes: tuple[int, ...]) -> Any:
    found = np.ones(())
    array = np.moveaxis(sizes, axes, range(len(axes)))
    for one in _flatten_leading_axes(array, len(axes)):
        found = np.maximum(round_array_down(found * one), 0.0)
    return found


def _bound_product_slope(sizes: Any, axes: tuple[int, ...]) -> float:
    """Return the largest product of all sizes but one; of ones that are 1 at least, of all."""
    return float(np.max(_product_up(np.maximum(sizes, 1.0), axes), initial=0.0))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("max", "min"), bound_extreme_of_axis),
    **dict.fromkeys(("median", "quantile"), bound_quantile),
    "sort": bound_sort,
    **dict.fromkeys(("argmax", "argmin"), bound_position),
    "prod": bound_product,
}
