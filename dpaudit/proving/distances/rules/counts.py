"""Histograms with public bins.

**Theorem.** A number that moves leaves at most one bin and enters at most one. If a record stands
in m of the numbers that are counted, replacing it moves counts by at most 2 m in L1, by m sqrt(2)
in Euclidean length, and by m in the largest; adding it by m in each. With one bin no more than m
is moved in L1 either.

*Proof.* The change is a sum of m differences e_b - e_a of unit vectors (or one of them, beyond the
last edge), or of m unit vectors; the triangle inequality. A bin gains or loses at most m. QED
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import Ends, Facts, of_nothing, of_public
from dpaudit.proving.distances.rounding import multiply_up
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.rules.starting_values import MOST_RECORDS
from dpaudit.proving.distances.settling import (
    add_leading_axes,
    count_shape_entries,
    merge_row_moves,
    settle_facts,
)
from dpaudit.proving.distances.standing import is_fixed, rows_if_counted
from dpaudit.proving.program import Node, Shape
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import Universe

_ROOT_OF_TWO = float(np.nextafter(math.sqrt(2.0), 2.0))


def bound_bin_counts(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of how many numbers lie in each bin."""
    index, universe = node.operands[0], knowledge.universe
    shape = knowledge.program.nodes[index].shape
    one = rows_if_counted(knowledge.facts(index), shape)
    most = np.asarray(MOST_RECORDS if None in shape else count_shape_entries(shape))
    if is_fixed(one):
        return of_public(np.zeros(()), most, is_integer=True)
    # Every number may move if one record is added, and any number of them may change bins.
    if None in shape and one.rows is None:
        return _refuse_counts(node)
    counts = _count_moved(universe, one, shape)
    bins = len(np.asarray(node.parameters["edges"])) - 1
    return settle_facts(
        node.shape,
        universe,
        np.zeros(()),
        most,
        math.inf,
        is_integer=True,
        moves=_moves_of_counts(counts, bins, is_added=None in shape),
    )


def _refuse_counts(node: Node) -> Facts:
    return of_nothing(
        ProofRefusal(
            node.place,
            "the code counts rows that depend on records other than their own, and the number of "
            "rows is private",
            "use public numbers in place of statistics of all records",
        )
    )


def _count_moved(universe: Universe, one: Facts, shape: Shape) -> Any:
    """Return in how many of the numbers each record stands, shape ``(records,)`` or ``(1,)``."""
    if one.rows is None:
        stirred = np.where(one.moves[2] > 0, 1.0, 0.0)
        moved = (
            np.broadcast_to(add_leading_axes(one.change, len(shape)), tuple(n or 0 for n in shape))
            > 0
        )
        return stirred * float(np.count_nonzero(moved))
    inner = count_shape_entries(shape[: one.rows.axis] + shape[one.rows.axis + 1 :])
    return merge_row_moves(np.full((3, 1), inner), one.rows, universe, is_sum=True)[0]


def _moves_of_counts(counts: Any, bins: int, *, is_added: bool) -> Ends:
    # An added number enters one bin and leaves none; with a single bin, a number that moves can
    # only enter it or leave it.
    if is_added or bins <= 1:
        return np.stack([counts] * 3)
    return np.stack([2 * counts, multiply_up(_ROOT_OF_TWO, counts), counts])


RULES: dict[str, Rule] = {"bin_counts": bound_bin_counts}
