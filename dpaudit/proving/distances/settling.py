"""Bounds on the movement of a value, by one record and in all, from its entries and its rows.

Neighbours that differ in k records are joined by k steps of one record each, through datasets of
the same domain. So a value moves at most by the sum of the k largest of what each record by itself
can do (the triangle inequality). Where every record has rows of its own, the rows that change are
disjoint: their squares add up, and the largest entry is the largest of one record's.

The numbers of one record are a column of L1, Euclidean length and largest entry. A sum over the
rows in which a record stands bounds what it does to a sum of rows (`added`); for rows that stay
apart, squares add up (`beside`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import ANYHOW, Ends, Facts, RowOrigins
from dpaudit.proving.distances.rounding import add_up, multiply_up, sqrt_up, sum_up, up
from dpaudit.proving.program import Shape
from dpaudit.proving.universe import NOWHERE_APART, UNBOUNDED, Distance, Universe

# Two units in the last place: more than the half unit that one rounded operation loses.
ABOVE = 1.0 + 2.0**-51
# The smallest positive double: a product that underflows to 0 loses everything, which no factor
# restores.
_LEAST = 5e-324
# Squares of numbers below 1e-140 lose digits to underflow long before they vanish at 1e-324, so
# sums of squares as small as this are not trusted.
_TINY = 1e-280
_ROOT_OF_TWO = float(np.nextafter(math.sqrt(2.0), 2.0))


def count_shape_entries(shape: Shape) -> float:
    """Return how many entries a shape has, infinite where records are not counted."""
    return math.inf if None in shape else float(math.prod(one or 0 for one in shape))


def add_leading_axes(ends: Any, dimensions: int) -> Ends:
    """Return an array with as many axes as it is broadcast to."""
    array = np.asarray(ends)
    if array.ndim == dimensions:
        return array
    return array.reshape((1,) * (dimensions - array.ndim) + array.shape)


def compute_width_up(low: Any, high: Any) -> Any:
    """Return how far two numbers between ends may be apart."""
    apart = high - low
    return apart * ABOVE if isinstance(apart, float) else np.asarray(apart) * ABOVE


def compute_magnitude(facts: Facts) -> Any:
    """Return how large entries may be."""
    return np.maximum(np.abs(facts.low), np.abs(facts.high))


def compute_lengths_up(sizes: Any, copies: float = 1.0) -> tuple[float, float, float]:
    """Return the L1 and Euclidean length and the largest of numbers that stand `copies` times."""
    array = np.asarray(sizes)
    if array.size == 1:
        return _lengths_alike(float(array.item()), copies)
    largest = float(np.maximum.reduce(array, axis=None, initial=0.0))
    if largest == 0.0 or copies == 0.0:
        return 0.0, 0.0, 0.0
    l1 = float(sum_up(array.ravel(), copies=copies))
    return l1, float(_root_of_squares(array.ravel(), l1, None, copies)), largest


def _lengths_alike(size: float, copies: float) -> tuple[float, float, float]:
    """Return the lengths of numbers that are alike."""
    if size == 0.0 or copies == 0.0:
        return 0.0, 0.0, 0.0
    if copies == 1.0:
        return size, size, size
    return multiply_up(size, copies), multiply_up(size, sqrt_up(copies)), size


def _root_of_squares(sizes: Ends, l1: Any, axis: int | None, copies: float) -> Any:
    """Return Euclidean lengths: of numbers whose squares would vanish the L1 length."""
    # No Euclidean length is larger than the L1 length, which takes its place where squares
    # underflow.
    squares = sum_up(np.square(sizes) * ABOVE, axis=axis, copies=copies)
    return np.minimum(l1, np.where(squares < _TINY, l1, sqrt_up(squares)))


def lengths_of_rows(sizes: Any, shape: Shape, axis: int) -> Ends:
    """Return L1, Euclidean length and largest entry of each row, shape ``(3, rows)``.

    Rows that are alike are one: ``(3, 1)``.
    """
    array = add_leading_axes(sizes, len(shape))
    others = [one for at, one in enumerate(shape) if at != axis]
    if None in others:
        return _lengths_of_any_number(array, axis)
    inner = math.prod([one or 0 for one in others])
    if array.shape[axis] == 1:
        found = compute_lengths_up(array, inner / array.size if array.size else 0.0)
        return np.array(found).reshape(3, 1)
    length = array.shape[axis]
    first = array if axis == 0 else np.moveaxis(array, axis, 0)
    flat = first.reshape(length, first.size // length if length else 0)
    copies = inner / flat.shape[1] if flat.shape[1] else 0.0
    largest = np.maximum.reduce(flat, axis=1, initial=0.0)
    if flat.shape[1] == 1 and copies == 1.0:
        return np.stack([largest] * 3)
    l1 = sum_up(flat, axis=1, copies=copies)
    return np.stack([l1, _root_of_squares(flat, l1, 1, copies), largest])


def _lengths_of_any_number(array: Ends, axis: int) -> Ends:
    """Return the lengths of rows of as many entries as there are records: bounded if they are 0."""
    others = tuple(at for at in range(array.ndim) if at != axis)
    largest = np.maximum.reduce(array, axis=others, initial=0.0)
    # A row of unknown length has no bound on its sum unless every entry is 0.
    length = np.where(largest > 0, math.inf, 0.0)
    return np.stack([length, length, largest])


def bounds_of_norms(facts: Facts, is_apart: bool) -> Ends:
    """Return the bounds that norms of a row imply: for one row, or for the difference of two.

    Two vectors u, v of entries of one sign have |u - v|^2 <= |u|^2 + |v|^2, and no entry of their
    difference is larger than one of theirs.
    """
    first, second = facts.norms.get(1, math.inf), facts.norms.get(2, math.inf)
    # A Euclidean length is at most the L1 length, so a bound on the latter bounds both.
    second = min(first, second)
    if not is_apart:
        return np.array([[first], [second], [second]])
    if bool(np.all(facts.low >= 0) or np.all(facts.high <= 0)):
        return np.array([[2 * first], [float(up(_ROOT_OF_TWO * second))], [second]])
    return np.array([[2 * first], [2 * second], [2 * second]])


def row_movements(facts: Facts, shape: Shape, universe: Universe) -> Ends:
    """Return how far a row moves whose record changes: of records that are added, how large it is.

    Shape ``(3, rows)``, or ``(3, 1)`` for rows that are alike.
    """
    axis = facts.rows.axis if facts.rows else 0
    is_apart = universe.change == "replace"
    # An added row comes with all that it holds; a replaced one differs by what its entries may
    # change.
    sizes = facts.change if is_apart else compute_magnitude(facts)
    found = lengths_of_rows(sizes, shape, axis)
    if facts.norms:
        found = np.minimum(found, bounds_of_norms(facts, is_apart))
    return found


def merge_row_moves(movements: Ends, rows: RowOrigins, universe: Universe, *, is_sum: bool) -> Ends:
    """Return the joint move of each record's rows, added up or beside each other.

    Parameters
    ----------
    movements
        Of each row, shape ``(3, rows)`` or ``(3, 1)``.
    rows
        Which records stand in them.
    universe
        Of the datasets.
    is_sum
        Whether the rows are added up; else they stay beside each other.
    """
    if rows.records is None:
        return movements
    if universe.records is None or not rows.records:
        return np.zeros((3, 1)) if not rows.records else ANYHOW
    each = np.broadcast_to(movements, (3, len(rows.records[0])))
    total = np.zeros((3, universe.records))
    for column in rows.records:
        _gather_column(total, each, column, is_sum)
    # Until here the second row holds sums of squares; where they have underflowed, the L1
    # length stands in for the root.
    if not is_sum:
        total[1] = np.where(total[1] < _TINY, total[0], sqrt_up(total[1]))
    return total


def _gather_column(total: Ends, each: Ends, column: Any, is_sum: bool) -> None:
    """Add the effect of one record of each row; squares, not lengths, for rows beside others."""
    stand = column >= 0
    records, n = column[stand], total.shape[1]
    # bincount adds one weight after the other, and each addition may lose a unit in the last
    # place.
    slack = 1.0 + (len(column) + 8) * 2.0**-52
    with np.errstate(over="ignore"):
        length = each[1, stand] if is_sum else np.square(each[1, stand])
    total[0] = (total[0] + _count_weighted_records(records, each[0, stand], n)) * slack
    total[1] = (total[1] + _count_weighted_records(records, length, n)) * slack
    if is_sum:
        total[2] = (total[2] + _count_weighted_records(records, each[2, stand], n)) * slack
    else:
        np.maximum.at(total[2], records, each[2, stand])


def _count_weighted_records(records: Any, weights: Any, n: int) -> Ends:
    return np.bincount(records, weights=weights, minlength=n).astype(float)


def total(moves: Ends, universe: Universe, *, are_apart: bool = False) -> Distance:
    """Return how far all records that differ move a value together.

    Parameters
    ----------
    moves
        Of each record.
    universe
        Says how many differ.
    are_apart
        Whether records change entries of their own.
    """
    most = moves if moves.shape[1] == 1 else np.maximum.reduce(moves, axis=1, initial=0.0)
    l1, l2, linf = (float(one) for one in most.ravel().tolist())
    if universe.count > 1:
        largest = _select_largest_moves(moves, universe)
        l1 = float(sum_up(largest[0]))
        # Rows that are disjoint have squares that add up, and linf stays the largest of one
        # record's.
        if are_apart:
            l2 = compute_lengths_up(largest[1])[1]
        else:
            l2, linf = float(sum_up(largest[1])), float(sum_up(largest[2]))
    return make_coherent_distance(l1, l2, linf)


def _select_largest_moves(moves: Ends, universe: Universe) -> Ends:
    """Return the largest of each norm, as many as records differ."""
    # There are no more records to differ than the dataset holds.
    records = universe.records if universe.records is not None else universe.count
    count = min(universe.count, records)
    if moves.shape[1] == 1:
        return np.repeat(moves, count, axis=1)
    return np.sort(moves, axis=1)[:, moves.shape[1] - min(count, moves.shape[1]) :]


def make_coherent_distance(l1: float, l2: float, linf: float, size: float = math.inf) -> Distance:
    """Return three norms, each no larger than the others and the number of entries allow."""
    # One norm of 0 means that nothing moves, so the others are 0 too.
    if l1 == 0.0 or l2 == 0.0 or linf == 0.0:
        return NOWHERE_APART
    if size == 1.0:
        least = min(l1, l2, linf)
        return Distance(least, least, least)
    l2 = min(l1, l2)
    linf = min(l2, linf)
    if math.isfinite(l1):
        # The square of the Euclidean length is at most the L1 length times the largest entry
        # (Hölder). The roots are taken first, because the product may overflow or underflow.
        l2 = min(l2, sqrt_up(l1) * sqrt_up(linf) * ABOVE + _LEAST)
    if math.isfinite(size):
        root = sqrt_up(size)
        l2 = min(l2, multiply_up(linf, root))
        l1 = min(l1, multiply_up(l2, root), multiply_up(linf, size))
    return Distance(l1, l2, linf)


def settle_facts(
    shape: Shape,
    universe: Universe,
    low: Any,
    high: Any,
    change: Any,
    *,
    is_integer: bool = False,
    rows: RowOrigins | None = None,
    norms: dict[int, float] | None = None,
    moves: Ends = ANYHOW,
    distance: Distance = UNBOUNDED,
) -> Facts:
    """Return facts of which each is as good as the others allow.

    Parameters
    ----------
    shape
        Of the value.
    universe
        The datasets.
    low, high, change
        Of the entries.
    is_integer, rows, norms
        As in `Facts`.
    moves
        What a rule says of each record.
    distance
        What a rule says of the whole.
    """
    if norms:
        most = min(norms.values())
        low, high = np.maximum(low, -most), np.minimum(high, most)
    if is_integer:
        # Bounds were rounded outwards, off whole numbers; no whole number lies in between.
        low, high, change = np.ceil(low), np.floor(high), np.floor(change)
    if shape == ():
        return _settle_number(
            universe, low, high, change, is_integer, _bound_moves_by_norms(moves, norms), distance
        )
    change = np.minimum(change, compute_width_up(low, high))
    known = Facts(low, high, change, distance, is_integer, rows, norms or {})
    if None in shape:
        return _of_records(known)
    moves = _best_moves(known, shape, universe, moves)
    whole = _best_distance(known, shape, universe, moves)
    if not math.isinf(whole.linf):
        change = np.minimum(change, whole.linf)
    return Facts(low, high, change, whole, is_integer, rows, known.norms, None, moves)


def _bound_moves_by_norms(moves: Ends, norms: dict[int, float] | None) -> Ends:
    """Return the movement by one record of a number of bounded size."""
    return np.minimum(moves, 2 * min(norms.values())) if norms else moves


def _settle_number(
    universe: Universe,
    low: Any,
    high: Any,
    largest: Any,
    is_integer: bool,
    moves: Ends,
    distance: Distance,
) -> Facts:
    """Return the facts of one number, of which all three norms are alike."""
    low, high = np.float64(low), np.float64(high)
    most = min(float(largest), compute_width_up(float(low), float(high)))
    if moves.shape[1] == 1:
        least = min(*moves.ravel().tolist(), most)
        whole_moves = is_integer and least < math.inf
        moves = np.full((3, 1), float(math.floor(least)) if whole_moves else least)
    else:
        each = np.minimum(np.minimum.reduce(moves, axis=0), most)
        moves = np.broadcast_to(np.floor(each) if is_integer else each, moves.shape)
    whole = total(moves, universe)
    most = min(most, whole.linf, distance.l1, distance.l2, distance.linf)
    if is_integer and most < math.inf:
        most = float(math.floor(most))
    apart = Distance(most, most, most) if most else NOWHERE_APART
    change: Any = np.float64(most)
    return Facts(low, high, change, apart, is_integer, None, {}, None, moves)


def _of_records(facts: Facts) -> Facts:
    """Return the facts of a value to which records are added: it has no distance."""
    return Facts(
        facts.low,
        facts.high,
        facts.change,
        UNBOUNDED,
        facts.is_integer,
        facts.rows,
        facts.norms,
        None,
        ANYHOW,
    )


def _best_moves(facts: Facts, shape: Shape, universe: Universe, moves: Ends) -> Ends:
    size = count_shape_entries(shape)
    if facts.rows is not None:
        of_rows = merge_row_moves(
            row_movements(facts, shape, universe), facts.rows, universe, is_sum=False
        )
        moves = np.minimum(moves, of_rows)
    else:
        whole = np.array(
            compute_lengths_up(facts.change, _count_copies_of_sizes(facts.change, size))
        ).reshape(3, 1)
        if facts.norms:
            whole = np.minimum(whole, bounds_of_norms(facts, is_apart=True))
        moves = np.minimum(moves, whole)
    if size == 1.0:
        moves = np.broadcast_to(moves.min(axis=0), moves.shape)
        return np.floor(moves) if facts.is_integer else moves
    if facts.is_integer:
        moves = moves.copy()
        # The L1 length and the largest entry of a difference of whole numbers are whole; the
        # Euclidean length need not be.
        moves[::2] = np.floor(moves[::2])
    return moves


def _best_distance(facts: Facts, shape: Shape, universe: Universe, moves: Ends) -> Distance:
    rows = facts.rows
    # Rows that several records share may change because of each of them, so they are not
    # disjoint.
    are_apart = rows is not None and (rows.records is None or len(rows.records) == 1)
    best = facts.distance.tighten(total(moves, universe, are_apart=are_apart))
    size = count_shape_entries(shape)
    if universe.count > 1:
        most = compute_lengths_up(facts.change, _count_copies_of_sizes(facts.change, size))
        best = best.tighten(Distance(*most))
    if facts.is_integer and math.isfinite(best.l1):
        best = Distance(float(math.floor(best.l1)), best.l2, float(math.floor(best.linf)))
    return make_coherent_distance(best.l1, best.l2, best.linf, size)


def _count_copies_of_sizes(sizes: Any, size: float) -> float:
    return size / np.size(sizes) if np.size(sizes) else 0.0


def sum_moves(moves: Sequence[Ends]) -> Ends:
    """Return the movement by records that move several values at once."""
    found = moves[0]
    for one in moves[1:]:
        found = add_up(found, one)
    return found
