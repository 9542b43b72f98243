"""Sums and means along axes.

**Theorem.** Sums of m entries each move by at most the L1 distance of the value; in Euclidean
length by at most sqrt(m) times its own, in the largest entry by m times the largest.

*Proof.* |sum d_i| <= sum |d_i|; by Cauchy and Schwarz its square is at most m sum d_i^2. QED

**Theorem.** In a sum over rows a record moves the total by at most the sum of how far each of the
rows moves in which it stands, in each norm. A record that is added brings the row that is its own,
so that the sum moves by at most the length of that row.

*Proof.* Rows that do not hold the record cancel in the difference; the triangle inequality. QED

So a sum of rows of length C moves by 2 C if one is replaced, and by C if one is added. A mean is a
sum divided by a number that has to be public.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dpaudit.faults.codes as codes
from dpaudit.proving.distances.facts import ANYHOW, Ends, Facts, RowOrigins, of_nothing, of_public
from dpaudit.proving.distances.rounding import (
    divide_up,
    multiply_up,
    round_array_down,
    sqrt_up,
    sum_ends,
    sum_up,
    up,
)
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.starting_values import MOST_RECORDS
from dpaudit.proving.distances.settling import (
    add_leading_axes,
    compute_magnitude,
    count_shape_entries,
    lengths_of_rows,
    merge_row_moves,
    row_movements,
    settle_facts,
)
from dpaudit.proving.distances.standing import is_fixed, records_of, rows_if_counted
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import Distance, Universe

# Records times entries of a row: 8 MB of sums by record.
_MOST_ENTRIES = 1_000_000


def axes_of(axis: Any, dimensions: int) -> tuple[int, ...]:
    """Return the axes of a reduction as positive numbers, in order.

    Examples
    --------
    >>> axes_of(None, 2), axes_of(-1, 3), axes_of([0, -1], 3)
    ((0, 1), (2,), (0, 2))
    """
    if axis is None:
        return tuple(range(dimensions))
    given = axis if isinstance(axis, list | tuple) else (axis,)
    return tuple(sorted(int(one) % dimensions for one in given))


def shift_rows(rows: RowOrigins | None, axes: tuple[int, ...]) -> RowOrigins | None:
    """Return where rows are once axes are gone; None if they go along theirs."""
    if rows is None or rows.axis in axes:
        return None
    return RowOrigins(rows.records, rows.axis - sum(one < rows.axis for one in axes))


def bound_sum(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of sums along axes."""
    index = node.operands[0]
    one, shape = knowledge.facts(index), knowledge.program.nodes[index].shape
    axes = axes_of(node.parameters["axis"], len(shape))
    low, high = _ends_of_sums(one, shape, axes, node.dtype)
    # A bounded length bounds the sum of squares better than the ends of the entries do.
    high = np.minimum(high, _largest_square(knowledge, index, axes))
    return add_along(knowledge.universe, node, one, shape, axes, low, high)


def add_along(
    universe: Universe,
    node: Node,
    one: Facts,
    shape: Shape,
    axes: tuple[int, ...],
    low: Any,
    high: Any,
    movements: Ends = ANYHOW,
) -> Facts:
    """Return the facts of sums along axes whose ends are known.

    Parameters
    ----------
    universe, node
        The datasets, and which value it is.
    one, shape
        What is added up.
    axes
        Along which.
    low, high
        Ends of the sums.
    movements
        What else is known of how far a row moves, shape ``(3, 1)``.
    """
    if None in [shape[axis] for axis in axes]:
        one = rows_if_counted(one, shape)
    if is_fixed(one):
        return of_public(low, high, is_integer=one.is_integer)
    if None in [shape[axis] for axis in axes] and (one.rows is None or one.rows.axis not in axes):
        return _refuse_rows(node)
    summed = _count_summed_entries(shape, axes)
    moves = _moves_of_sums(universe, one, shape, axes, movements)
    # Where rows come and go, movements of the whole do not count the row that is added.
    if None not in shape:
        moves = np.minimum(moves, bound_sum_moves(one.moves, summed))
    change = _change_of_sums(universe, one, shape, axes)
    return settle_facts(
        node.shape,
        universe,
        low,
        high,
        change,
        is_integer=one.is_integer,
        rows=shift_rows(one.rows, axes),
        norms=_norms_of_sums(one, axes, summed),
        moves=moves,
        distance=_distance_of_sums(one.distance, summed),
    )


def _count_summed_entries(shape: Shape, axes: tuple[int, ...]) -> float:
    return count_shape_entries(tuple(shape[axis] for axis in axes))


def _refuse_rows(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            "the code adds up rows that depend on records other than their own, and the number "
            "of rows is private",
            "use public numbers in place of statistics of all records",
        )
    )


def _ends_of_sums(one: Facts, shape: Shape, axes: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    low, high = add_leading_axes(one.low, len(shape)), add_leading_axes(one.high, len(shape))
    low, high = np.broadcast_arrays(low, high)
    copies = 1.0
    for axis in axes:
        if low.shape[axis] == 1 and shape[axis] is not None:
            copies *= shape[axis] or 0
    low, high = sum_ends(low, high, axes, copies)
    if None not in [shape[axis] for axis in axes]:
        return low, high
    # Integers need an end to prove that they do not wrap around; doubles need none.
    most = MOST_RECORDS if dtype.startswith(("int", "uint")) else math.inf
    return np.minimum(multiply_up(-low, most) * -1, 0.0) if np.any(low < 0) else np.zeros(
        np.shape(low)
    ), multiply_up(np.maximum(high, 0.0), most)


def _largest_square(knowledge: RuleKnowledge, index: int, axes: tuple[int, ...]) -> float:
    """Return how large a sum of squares of a row is by the row's length; infinite elsewhere."""
    node = knowledge.program.nodes[index]
    is_square = node.operation == "multiply" and node.operands[0] == node.operands[1]
    if not is_square and not _is_second_power(knowledge, node):
        return math.inf
    one = knowledge.facts(node.operands[0])
    # A sum over several rows adds up as many squares of lengths.
    if 2 not in one.norms or (one.rows is not None and one.rows.axis in axes):
        return math.inf
    return float(multiply_up(one.norms[2], one.norms[2]))


def _is_second_power(knowledge: RuleKnowledge, node: Node) -> bool:
    if node.operation != "power":
        return False
    value = knowledge.value(node.operands[1])
    return value is not None and bool(np.all(np.asarray(value) == 2))


def bound_sum_moves(moves: Ends, summed: float) -> Ends:
    """Return how far sums of so many entries move whose entries move so far."""
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                moves[0],
                # By Cauchy and Schwarz for sums of `summed` entries each; the L1 length may be
                # the better bound.
                np.minimum(moves[0], multiply_up(moves[1], float(sqrt_up(summed)))),
                np.minimum(moves[0], multiply_up(moves[2], summed)),
            ]
        )


def _distance_of_sums(distance: Distance, summed: float) -> Distance:
    column = np.array([[distance.l1], [distance.l2], [distance.linf]])
    l1, l2, linf = (float(one) for one in bound_sum_moves(column, summed)[:, 0])
    return Distance(l1, l2, linf)


def _norms_of_sums(one: Facts, axes: tuple[int, ...], summed: float) -> dict[int, float] | None:
    if not one.norms or (one.rows is not None and one.rows.axis in axes):
        return None
    first = one.norms.get(1, math.inf)
    second = float(multiply_up(one.norms.get(2, math.inf), sqrt_up(summed)))
    found = {1: first, 2: min(first, second)}
    return {kind: length for kind, length in found.items() if math.isfinite(length)}


def _moves_of_sums(
    universe: Universe, one: Facts, shape: Shape, axes: tuple[int, ...], movements: Ends
) -> Ends:
    """Return how far a record moves sums over rows; unbounded where rows are not added up."""
    if one.rows is None or one.rows.axis not in axes:
        return ANYHOW
    others = tuple(axis for axis in axes if axis != one.rows.axis)
    movements = np.minimum(movements, row_movements(one, shape, universe))
    if others:
        movements = bound_sum_moves(movements, _count_summed_entries(shape, others))
        sizes = _sum_sizes(_get_record_sizes(universe, one), shape, others)
        kept = tuple(length for axis, length in enumerate(shape) if axis not in others)
        by_entries = lengths_of_rows(sizes, kept, _axis_without(one.rows.axis, others))
        movements = np.minimum(movements, by_entries)
    return merge_row_moves(movements, one.rows, universe, is_sum=True)


def _get_record_sizes(universe: Universe, one: Facts) -> Any:
    # An added record contributes its whole row, a replaced one the difference of two.
    return one.change if universe.change == "replace" else compute_magnitude(one)


def _axis_without(axis: int, others: tuple[int, ...]) -> int:
    return axis - sum(one < axis for one in others)


def _sum_sizes(sizes: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return sums of sizes that are alike along axes of length 1."""
    array = add_leading_axes(sizes, len(shape))
    copies = 1.0
    for axis in axes:
        length = shape[axis]
        if array.shape[axis] == 1 and length != 1:
            copies *= math.inf if length is None else length
    return (
        multiply_up(sum_up(array, axis=axes), copies) if copies != 1 else sum_up(array, axis=axes)
    )


def _change_of_sums(universe: Universe, one: Facts, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return how far an entry of sums moves."""
    if one.rows is None or one.rows.axis not in axes:
        return _sum_sizes(one.change, shape, axes)
    others = tuple(axis for axis in axes if axis != one.rows.axis)
    sizes = _sum_sizes(_get_record_sizes(universe, one), shape, others)
    axis = _axis_without(one.rows.axis, others)
    return add_rows(universe, np.moveaxis(sizes, axis, 0), one.rows, shape[one.rows.axis])


def add_rows(universe: Universe, sizes: Any, rows: RowOrigins, length: int | None) -> Any:
    """Return how far a sum over rows moves in each entry, by how far each row does.

    Parameters
    ----------
    universe
        The datasets.
    sizes
        How far the entries of a row move, shape ``(rows, ...)`` or ``(1, ...)``.
    rows
        Which records stand in them.
    length
        How many rows there are.
    """
    if rows.records is None:
        if len(sizes) == 1 or universe.count > 1:
            return _add_largest(sizes, universe.count, universe.records)
        return sizes.max(axis=0, initial=0.0)
    records = records_of(rows, length or 0)
    # The record that stands most often, with the largest row each time, bounds every record.
    if universe.records is None or universe.records * sizes[:1].size > _MOST_ENTRIES:
        often = float(sum(_most_often(one) for one in records)) * universe.count
        return multiply_up(sizes.max(axis=0, initial=0.0), often)
    each = np.broadcast_to(sizes, (length or 0, *sizes.shape[1:]))
    found = np.zeros((universe.records, *sizes.shape[1:]))
    for column in records:
        stand = column >= 0
        # `found[column] += each` would count a record that stands several times only once.
        np.add.at(found, column[stand], each[stand])
    slack = 1.0 + (len(records) * (length or 0) + 4) * 2.0**-52
    return _add_largest(found * slack, universe.count, universe.records)


def _add_largest(sizes: Any, count: int, records: int | None) -> Any:
    """Return sums of the largest sizes along axis 0, as many as records differ."""
    if len(sizes) == 1:
        times = count if records is None else min(count, records)
        return multiply_up(sizes[0], float(times)) if times != 1 else sizes[0]
    if count == 1:
        return sizes.max(axis=0, initial=0.0)
    return sum_up(np.sort(sizes, axis=0)[-count:], axis=0)


def _most_often(column: Any) -> int:
    stand = column[column >= 0]
    return int(np.unique(stand, return_counts=True)[1].max()) if stand.size else 0


def bound_mean(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of means over a public number of entries."""
    index = node.operands[0]
    one, shape = knowledge.facts(index), knowledge.program.nodes[index].shape
    axes = axes_of(node.parameters["axis"], len(shape))
    count = _count_summed_entries(shape, axes)
    if not 0 < count < math.inf:
        return _refuse_mean(node, count)
    low, high = _ends_of_sums(one, shape, axes, node.dtype)
    total = add_along(knowledge.universe, node, one, shape, axes, low, high)
    if total.refusal is not None:
        return total
    return divide_facts(total, count)


def _refuse_mean(node: Node, count: float) -> Facts:
    if count == 0:
        return of_nothing(ProofRefusal(node.place, "the code takes the mean of an empty array"))
    return of_nothing(
        ProofRefusal(
            node.place,
            "the code divides by the number of records, which is private",
            "divide the sum by a public number",
            codes.PRIVATE_COUNT,
        )
    )


def divide_facts(total: Facts, count: float) -> Facts:
    """Return the facts of a value divided by a positive public number."""
    distance = Distance(
        *(
            float(divide_up(one, count))
            for one in (total.distance.l1, total.distance.l2, total.distance.linf)
        )
    )
    return Facts(
        round_array_down(total.low / count),
        up(total.high / count),
        divide_up(total.change, count),
        distance,
        rows=total.rows,
        norms={kind: float(divide_up(one, count)) for kind, one in total.norms.items()},
        moves=divide_up(total.moves, count),
    )


RULES: dict[str, Rule] = {"sum": bound_sum, "mean": bound_mean}
