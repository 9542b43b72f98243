"""Numbers of an output that are the same each time, or only grow, as those of a clock do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpaudit._typing import Array

_DRIFTS = 12  # observations that are in order by chance once in a hundred million times
LAST_BITS = 1e-9  # numbers that differ by less, of what they are, are one


def steady_in(sides: Sequence[Array]) -> tuple[int, ...]:
    """Return which columns of rows, shape ``(n, d)`` each, are the same on a side and not on all.

    What differs in its last bits alone is the same.

    Examples
    --------
    >>> steady_in([np.array([[1.0, 0.5], [1.0, 0.7]]), np.array([[2.0, 0.5], [2.0, 0.6]])])
    (0,)
    """
    found = []
    for number in range(sides[0].shape[1] if sides else 0):
        columns = [side[:, number] for side in sides]
        apart = not is_one(np.concatenate(columns))
        if apart and all(is_one(column) for column in columns):
            found.append(number)
    return tuple(found)


def drifts_in(sides: Sequence[Array], *, apart: bool = False) -> tuple[int, ...]:
    """Return which columns of rows, drawn in this order, only grow, or only fall.

    ``apart`` says that no order is known between one side and the next.

    Examples
    --------
    >>> clock = np.arange(8.0)[:, None]
    >>> drifts_in([clock, clock + 8]), drifts_in([clock, clock]), drifts_in([clock % 2, clock])
    ((0,), (), ())
    """
    rows = np.concatenate(sides)
    if len(rows) < _DRIFTS:
        return ()
    runs = sides if apart else [rows]
    steps = np.concatenate([np.diff(one, axis=0) for one in runs])
    one_way = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
    often = (steps != 0).sum(axis=0) >= len(rows) // 2
    return tuple(np.flatnonzero(one_way & often).tolist())


def is_one(values: Array) -> bool:
    """Return whether numbers are one and the same, but for their last bits.

    Examples
    --------
    >>> is_one(np.array([0.3, 0.1 + 0.2])), is_one(np.array([0.3, 0.300001]))
    (True, False)
    """
    return bool(np.ptp(values) <= last_bits(values))


def last_bits(values: Array) -> float:
    """Return by how much numbers of a common size differ at most that are one.

    A rare huge one, as stands for what is no number, does not make all others equal.

    Examples
    --------
    >>> last_bits(np.array([1.0, -2.0, 1.0, 1e300])), last_bits(np.zeros(2))
    (2e-09, 0.0)
    """
    sizes = np.sort(np.abs(values))
    return LAST_BITS * float(sizes[(len(sizes) - 1) * 9 // 10] or sizes[-1])
