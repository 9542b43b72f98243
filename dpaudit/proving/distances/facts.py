"""Facts about a value that rules use: ends of its entries, and its movement between neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import NOWHERE_APART, UNBOUNDED, Distance

Ends = NDArray[np.float64]

UNMOVED: Ends = np.zeros((3, 1))
# The identity of np.minimum: a rule that knows nothing of movements by record passes it on.
ANYHOW: Ends = np.full((3, 1), math.inf)


@dataclass(frozen=True, eq=False)
class RowOrigins:
    """The records in each row of an array.

    Parameters
    ----------
    records
        Arrays of one record's number for each row, shape ``(rows,)`` each; a row depends on all of
        its records and on no other. The number -1 is no record. None: row i is of record i alone,
        whatever their number.
    axis
        The rows are the positions along this axis.
    """

    records: tuple[NDArray[np.int64], ...] | None = None
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts about a value on every dataset and all neighbours.

    Parameters
    ----------
    low, high
        Ends of the entries, to be broadcast to the shape: an axis of length 1 stands for entries
        that are alike, also for an axis of records of any length.
    change
        How far an entry moves at most, to be broadcast likewise; of rows, an entry of a row whose
        records change. Where records are added, the rows that both datasets have: those of records
        do not move.
    distance
        How far the whole moves. Unbounded where records are added to the value itself.
    is_integer
        Whether all entries are whole numbers.
    rows
        Which records stand in which row; None where any may stand in any.
    norms
        Bounds on the L1 and the Euclidean length of a row, by 1 and 2; of the whole without rows.
    refusal
        Why nothing is known: then the ends are infinite.
    moves
        How far one record that changes moves the whole in L1, Euclidean and largest entry, shape
        ``(3, records)``; ``(3, 1)`` for each record alike, whatever their number.
    """

    low: Ends
    high: Ends
    change: Ends
    distance: Distance
    is_integer: bool = False
    rows: RowOrigins | None = None
    norms: Mapping[int, float] = field(default_factory=dict)
    refusal: ProofRefusal | None = None
    moves: Ends = field(default_factory=lambda: UNMOVED)


def of_public(low: Ends, high: Ends, *, is_integer: bool = False) -> Facts:
    """Return the facts of a value that neighbours have in common."""
    return Facts(low, high, np.zeros(()), NOWHERE_APART, is_integer)


def of_nothing(refusal: ProofRefusal) -> Facts:
    """Return the facts of a value of which no rule says anything."""
    end = np.asarray(math.inf)
    return Facts(-end, end, end, UNBOUNDED, refusal=refusal, moves=ANYHOW)
