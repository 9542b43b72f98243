"""Entries at other places: taken, reshaped, transposed, repeated, joined, written.

**Theorem.** If every entry of a value is an entry of another, and each of those stands in it m
times at most, it moves by at most m times as far in L1, sqrt(m) times in Euclidean length, and as
far in its largest entry. Values side by side move as far in L1 as their sum, in Euclidean length
as the root of the sum of squares, in the largest entry as the one that moves most.

*Proof.* The sum of |.|^p over entries counts none more than m times; sums over parts add up. QED

Records follow their rows: a row that is taken, repeated or written brings its records along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Ends, Facts, RowOrigins, of_nothing, of_public
from dpaudit.proving.distances.rounding import multiply_up, sqrt_up, sum_up, up
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.entrywise import broadcast_facts, scale_distance
from dpaudit.proving.distances.rules.partition import moves_of_partition
from dpaudit.proving.distances.settling import add_leading_axes, settle_facts
from dpaudit.proving.distances.standing import (
    Records,
    find_entrywise_rows,
    is_fixed,
    merge_row_records,
    records_of,
    rows_of_support,
)
from dpaudit.proving.program import Node, Shape, open_mesh
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import Distance

# As many as a partition has pieces.
_MOST_WRITTEN = 64

Key = Sequence[Sequence[int] | None]


def move_entries(
    knowledge: RuleKnowledge,
    node: Node,
    facts: Facts,
    ends: Sequence[Any],
    rows: RowOrigins | None,
    *,
    copies: float = 1.0,
    copies_of_row: float | None = None,
) -> Facts:
    """Return the facts of entries at other places.

    Parameters
    ----------
    knowledge, node
        Of which node.
    facts
        Of the value whose entries they are.
    ends
        Low and high ends and changes at their new places.
    rows
        Which records stand in the rows.
    copies
        How often an entry of the value stands at most.
    copies_of_row
        How often within a row; None if the lengths of rows are not known.
    """
    low, high, change = ends
    if is_fixed(facts):
        return of_public(low, high, is_integer=facts.is_integer)
    root = float(sqrt_up(copies)) if copies != 1.0 else 1.0
    factors = np.array([[copies], [root], [1.0]])
    return settle_facts(
        node.shape,
        knowledge.universe,
        low,
        high,
        change,
        is_integer=facts.is_integer,
        rows=rows,
        norms=None if copies_of_row is None else _scale_norms(facts.norms, copies_of_row),
        moves=facts.moves if copies == 1.0 else multiply_up(factors, facts.moves),
        distance=scale_distance(facts.distance, copies, root, 1.0),
    )


def _scale_norms(norms: Any, copies: float) -> dict[int, float]:
    if copies == 1.0:
        return dict(norms)
    factors = {1: copies, 2: float(sqrt_up(copies))}
    return {kind: float(multiply_up(one, factors[kind])) for kind, one in norms.items()}


def bound_take(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the entries at a product of positions."""
    one, shape = _get_operand_facts(knowledge, node)
    key: Key = node.parameters["key"]
    # Which record stands at a position changes for all that follow when one is added.
    if any(at is not None and length is None for at, length in zip(key, shape, strict=True)):
        return _refuse_positions(node)
    ends = [
        _take_ends(add_leading_axes(each, len(shape)), key)
        for each in (one.low, one.high, one.change)
    ]
    counts = [_most_often(at, size) for at, size in zip(key, shape, strict=True)]
    rows, of_row = one.rows, math.prod(counts)
    if rows is not None and (at := key[rows.axis]) is not None:
        positions = np.asarray(at, dtype=np.int64)
        records = records_of(rows, shape[rows.axis] or 0)
        rows = RowOrigins(tuple(column[positions] for column in records), rows.axis)
    if rows is not None:
        of_row /= counts[rows.axis]
    return move_entries(
        knowledge, node, one, ends, rows, copies=math.prod(counts), copies_of_row=of_row
    )


def _get_operand_facts(knowledge: RuleKnowledge, node: Node) -> tuple[Facts, Shape]:
    index = node.operands[0]
    return knowledge.facts(index), knowledge.program.nodes[index].shape


def _refuse_positions(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            "the code takes records by position, and the number of records is private",
            "use sums, counts or histograms of all records",
        )
    )


def _take_ends(ends: Ends, key: Key) -> Ends:
    for axis, at in enumerate(key):
        # An axis of length 1 stands for entries that are alike, wherever they are taken from.
        if at is not None and (ends.shape[axis] != 1 or not len(at)):
            ends = np.take(ends, np.asarray(at, dtype=np.int64), axis=axis)
    return ends


def _most_often(at: Sequence[int] | None, size: int | None) -> float:
    if at is None or len(at) < 2:
        return 1.0
    # A position from the end is that of an entry as well: -1 and 4 are one of five.
    places = np.asarray(at) if size is None else np.asarray(at) % max(size, 1)
    return float(np.unique(places, return_counts=True)[1].max())


def bound_reshape(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the same entries in another shape."""
    one, shape = _get_operand_facts(knowledge, node)
    rows, is_same_row = _reshape_rows(one.rows, shape, node.shape)
    all_ends = [
        _reshape_ends(each, shape, node.shape, (one.rows, rows), furthest)
        for each, furthest in zip(_get_fact_ends(one), (np.min, np.max, np.max), strict=True)
    ]
    has_norms = is_same_row or (one.rows is None and rows is None)
    return move_entries(
        knowledge, node, one, all_ends, rows, copies_of_row=1.0 if has_norms else None
    )


def _get_fact_ends(facts: Facts) -> tuple[Ends, Ends, Ends]:
    return facts.low, facts.high, facts.change


def _reshape_ends(
    ends: Ends,
    shape: Shape,
    target: Shape,
    both: tuple[RowOrigins | None, RowOrigins | None],
    furthest: Callable[..., Any],
) -> Ends:
    """Return ends in another shape; where the number of records decides order, that of all."""
    if np.size(ends) == 1:
        return np.reshape(ends, (1,) * len(target))
    array = add_leading_axes(ends, len(shape))
    before, after = list(shape), list(target)
    rows, new_rows = both
    if None in before:
        at, new = before.index(None), after.index(None) if None in after else -1
        keeps_order = new >= 0 and _multiply_lengths(before[:at]) == _multiply_lengths(after[:new])
        # Where the entries of a row end up depends on the number of records, so all get the
        # widest ends.
        if not keeps_order or array.shape[at] != 1:
            return np.reshape(furthest(array), (1,) * len(target))
        before[at], after[new] = 1, 1
    elif rows is not None and new_rows is not None and array.shape[rows.axis] == 1:
        if before[rows.axis] == after[new_rows.axis]:
            before[rows.axis], after[new_rows.axis] = 1, 1
    sizes = [one or 0 for one in before], [one or 0 for one in after]
    return np.broadcast_to(array, sizes[0]).reshape(sizes[1])


def _reshape_rows(
    rows: RowOrigins | None, shape: Shape, target: Shape
) -> tuple[RowOrigins | None, bool]:
    """Return where rows are after a reshape, and whether each is a row of before."""
    if rows is None:
        return None, False
    lead = _multiply_lengths(shape[: rows.axis])
    length, inner = shape[rows.axis], _multiply_lengths(shape[rows.axis + 1 :])
    for axis, after in enumerate(target):
        if _multiply_lengths(target[:axis]) != lead:
            continue
        # The same number of entries stand before the axis and on it, so each row keeps its
        # entries.
        if after == length:
            return RowOrigins(rows.records, axis), True
        # Rows are laid out flat: each record now stands in as many rows as it had entries.
        if length is not None and after == length * inner:
            records = tuple(np.repeat(one, inner) for one in records_of(rows, length))
            return RowOrigins(records, axis), False
    if length is not None and target[:1] == (lead * length * inner,):
        records = tuple(np.tile(np.repeat(one, inner), lead) for one in records_of(rows, length))
        return RowOrigins(records, 0), False
    return None, False


def _multiply_lengths(lengths: Sequence[int | None]) -> int:
    # -1 for the unknown number: products are equal only if both hold it, or neither.
    return math.prod(-1 if one is None else one for one in lengths)


def bound_transpose(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the same entries with axes in another order."""
    one, shape = _get_operand_facts(knowledge, node)
    axes = node.parameters.get("axes")
    order = list(range(len(shape)))[::-1] if axes is None else [int(a) % len(shape) for a in axes]
    ends = [np.transpose(add_leading_axes(each, len(shape)), order) for each in _get_fact_ends(one)]
    rows = None if one.rows is None else RowOrigins(one.rows.records, order.index(one.rows.axis))
    return move_entries(knowledge, node, one, ends, rows, copies_of_row=1.0)


def bound_broadcast(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of entries that are repeated along axes."""
    one, shape = _get_operand_facts(knowledge, node)
    if is_fixed(one):
        return of_public(one.low, one.high, is_integer=one.is_integer)
    facts = broadcast_facts(one, shape, node.shape)
    return settle_facts(
        node.shape,
        knowledge.universe,
        one.low,
        one.high,
        one.change,
        is_integer=one.is_integer,
        rows=facts.rows,
        norms=dict(facts.norms) if (one.rows is None) == (facts.rows is None) else None,
        moves=facts.moves,
        distance=facts.distance,
    )


def bound_concatenate(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of values side by side."""
    axis = int(node.parameters["axis"]) % len(node.shape)
    pieces = [knowledge.facts(one) for one in node.operands]
    shapes = [knowledge.program.nodes[one].shape for one in node.operands]
    joined = [
        _join_ends(
            [add_leading_axes(_get_fact_ends(piece)[k], len(node.shape)) for piece in pieces],
            shapes,
            axis,
        )
        for k in range(3)
    ]
    ends = [each for each in joined if each is not None]
    if len(ends) < 3:
        return _refuse_positions(node)
    is_integer = all(piece.is_integer for piece in pieces)
    if all(is_fixed(piece) for piece in pieces):
        return of_public(ends[0], ends[1], is_integer=is_integer)
    rows, is_row_longer = _join_rows(pieces, shapes, node.shape, axis)
    return settle_facts(
        node.shape,
        knowledge.universe,
        *ends,
        is_integer=is_integer,
        rows=rows,
        norms=_join_norms(pieces) if is_row_longer else None,
        moves=np.minimum(
            _merge_moves_side_by_side([piece.moves for piece in pieces]),
            moves_of_partition(knowledge, list(node.operands)),
        ),
        distance=_distance_beside([piece.distance for piece in pieces]),
    )


def _join_ends(pieces: list[Ends], shapes: Sequence[Shape], axis: int) -> Ends | None:
    first = pieces[0]
    if all(one.size == 1 for one in pieces) and all((one == first).all() for one in pieces):
        return first
    if any(shape[axis] is None for shape in shapes):
        return None
    others = np.broadcast_shapes(
        *((*one.shape[:axis], 1, *one.shape[axis + 1 :]) for one in pieces)
    )
    whole = [
        np.broadcast_to(one, (*others[:axis], shape[axis] or 0, *others[axis + 1 :]))
        for one, shape in zip(pieces, shapes, strict=True)
    ]
    return np.concatenate(whole, axis=axis)


def _join_rows(
    pieces: Sequence[Facts], shapes: Sequence[Shape], target: Shape, axis: int
) -> tuple[RowOrigins | None, bool]:
    """Return the rows of values side by side, and whether rows got longer rather than more."""
    moving = [one for one in pieces if not is_fixed(one)]
    if all(one.rows is not None and one.rows.axis != axis for one in moving):
        rows = find_entrywise_rows(pieces, target)
        return rows, rows is not None
    return _append_rows(pieces, [shape[axis] for shape in shapes], axis), False


def _append_rows(
    pieces: Sequence[Facts], counts: Sequence[int | None], axis: int
) -> RowOrigins | None:
    columns: list[Records] = []
    for piece, length in zip(pieces, counts, strict=True):
        known = _records_along(piece, axis, length)
        if known is None:
            return None
        columns.append(known)
    widest = max(len(one) for one in columns)
    blank = [np.full(length or 0, -1, dtype=np.int64) for length in counts]
    padded = [(*one, *[gap] * (widest - len(one))) for one, gap in zip(columns, blank, strict=True)]
    return RowOrigins(tuple(np.concatenate(column) for column in zip(*padded, strict=True)), axis)


def _records_along(piece: Facts, axis: int, length: int | None) -> Records | None:
    """Return which records stand in each position of a piece along an axis."""
    if length is None:
        return None
    if is_fixed(piece):
        return ()
    if piece.rows is not None and piece.rows.axis == axis:
        return records_of(piece.rows, length)
    # A piece whose rows are unknown may still be moved by a few records alone, which then stand
    # in all of its positions.
    rows = rows_of_support(piece, axis, length)
    return None if rows is None else rows.records


def _join_norms(pieces: Sequence[Facts]) -> dict[int, float] | None:
    """Return the lengths of rows that are laid end to end, where all of them are known."""
    if any(not {1, 2} & set(one.norms) for one in pieces):
        return None
    found = {}
    if all(1 in one.norms for one in pieces):
        found[1] = float(sum_up([one.norms[1] for one in pieces]))
    seconds = [min(one.norms.get(2, math.inf), one.norms.get(1, math.inf)) for one in pieces]
    found[2] = float(sqrt_up(sum_up(up(np.square(seconds)))))
    return found


def _merge_moves_side_by_side(moves: Sequence[Ends]) -> Ends:
    """Return the movement of values side by side by each record."""
    if len(moves) == 1:
        return moves[0]
    whole = (
        np.stack(np.broadcast_arrays(*moves)) if _has_differing_shapes(moves) else np.stack(moves)
    )
    l1 = sum_up(whole[:, 0], axis=0)
    with np.errstate(over="ignore"):
        squares = sum_up(up(np.square(whole[:, 1])), axis=0)
    l2 = np.where(squares < 1e-280, l1, sqrt_up(squares))
    return np.stack([l1, np.minimum(l1, l2), whole[:, 2].max(axis=0)])


def _has_differing_shapes(moves: Sequence[Ends]) -> bool:
    return any(one.shape != moves[0].shape for one in moves)


def _distance_beside(distances: Sequence[Distance]) -> Distance:
    columns = [np.array([[one.l1], [one.l2], [one.linf]]) for one in distances]
    l1, l2, linf = (float(one) for one in _merge_moves_side_by_side(columns)[:, 0])
    return Distance(l1, l2, linf)


def bound_assign(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of an array some of whose entries are written anew."""
    array, value = (knowledge.facts(one) for one in node.operands)
    key: Key = node.parameters["key"]
    if any(at is not None and n is None for at, n in zip(key, node.shape, strict=True)):
        return _refuse_positions(node)
    shape = tuple(1 if one is None else one for one in node.shape)
    mesh = open_mesh(key, shape)
    ends = [
        _write_ends(*both, shape, mesh)
        for both in zip(_get_fact_ends(array), _get_fact_ends(value), strict=True)
    ]
    is_integer = array.is_integer and value.is_integer
    if is_fixed(array) and is_fixed(value):
        return of_public(ends[0], ends[1], is_integer=is_integer)
    target = tuple(n if at is None else len(at) for at, n in zip(key, node.shape, strict=True))
    value = broadcast_facts(value, knowledge.program.nodes[node.operands[1]].shape, target)
    return settle_facts(
        node.shape,
        knowledge.universe,
        *ends,
        is_integer=is_integer,
        rows=find_entrywise_rows([array, value], node.shape)
        if None in node.shape
        else _rows_of_written(array, value, key, shape),
        moves=np.minimum(
            _merge_moves_side_by_side([array.moves, value.moves]),
            moves_of_partition(knowledge, _values_written(knowledge, node)),
        ),
        distance=_distance_beside([array.distance, value.distance]),
    )


def _values_written(knowledge: RuleKnowledge, node: Node) -> list[int]:
    """Return the values written into a public array, in order; empty if it is private."""
    nodes = knowledge.program.nodes
    values: list[int] = []
    while node.operation == "assign" and len(values) < _MOST_WRITTEN:
        array, value = node.operands
        slot = [
            len(at) if at is not None else n or 0
            for at, n in zip(node.parameters["key"], node.shape, strict=True)
        ]
        # A value that is repeated over its slot moves the array several times as far as itself.
        if math.prod(slot) != math.prod(n or 0 for n in nodes[value].shape):
            return []
        values.append(value)
        node = nodes[array]
        if is_fixed(knowledge.facts(array)):
            return values
    return []


def _write_ends(ends: Ends, written: Ends, shape: tuple[int, ...], mesh: Any) -> Ends:
    whole = np.broadcast_to(ends, shape).copy()
    whole[mesh] = written
    return whole


def _rows_of_written(
    array: Facts, value: Facts, key: Key, shape: tuple[int, ...]
) -> RowOrigins | None:
    """Return the records of rows some of which are written: those of before, and of the value."""
    axis = next((one.rows.axis for one in (array, value) if one.rows is not None), 0)
    if not shape:
        return None
    positions = range(shape[axis]) if (at := key[axis]) is None else at
    before = _records_along(array, axis, shape[axis])
    fresh = _records_along(value, axis, len(positions))
    if before is None or fresh is None:
        return None
    # Only a row that is overwritten whole loses the records that stood in it.
    is_whole = all(one is None for k, one in enumerate(key) if k != axis)
    where = np.asarray(positions, dtype=np.int64)
    kept = [column.copy() for column in before]
    for column in kept:
        if is_whole:
            column[where] = -1
    united = merge_row_records(
        tuple(kept), tuple(_scatter_records(one, where, shape[axis]) for one in fresh)
    )
    return None if united is None else RowOrigins(united, axis)


def _scatter_records(records: Any, positions: Any, length: int) -> Any:
    column = np.full(length, -1, dtype=np.int64)
    column[positions] = records
    return column


RULES: dict[str, Rule] = {
    "take": bound_take,
    "reshape": bound_reshape,
    "transpose": bound_transpose,
    "broadcast": bound_broadcast,
    "concatenate": bound_concatenate,
    "assign": bound_assign,
}
