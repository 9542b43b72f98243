"""The datasets that a proof speaks of: the values of each part, and which are neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Change = Literal["replace", "add-remove"]


@dataclass(frozen=True, eq=False)
class Part:
    """One array of a dataset: the records themselves, the labels, or a column of a table.

    Parameters
    ----------
    name
        Empty for a dataset that is one array; else ``X``, ``y``, or the name of the column.
    shape
        The first axis is that of the records: its length, or None where that is not public.
    low, high
        Ends of every entry, of the shape of one record: ``shape[1:]``. Infinite where not known.
    is_integer
        Whether entries are whole numbers.
    norm
        The largest Euclidean length of a record, infinite where not known.
    categories
        What the numbers 0, 1, ... of a part stand for, where its entries are no numbers.
    is_changed
        Whether neighbours may differ in this part (labels alone, say).
    """

    name: str
    shape: tuple[int | None, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    is_integer: bool = False
    norm: float = math.inf
    categories: tuple[str, ...] | None = None
    is_changed: bool = True


@dataclass(frozen=True, eq=False)
class Universe:
    """Datasets, and which of them are neighbours.

    Parameters
    ----------
    parts
        The arrays of a dataset, over the same records.
    records
        How many records a dataset has; None where neighbours differ in it.
    change
        Neighbours have records replaced, or one has records that the other has not.
    count
        In how many records neighbours differ at most: 1, or the most of a user.
    relation
        Its name at the doors, such as ``replace-record``.
    of_cells
        Whether a record that is replaced differs in one of its numbers at most.
    """

    parts: tuple[Part, ...]
    records: int | None
    change: Change
    count: int = 1
    relation: str = "replace-record"
    of_cells: bool = False

    def part(self, name: str) -> Part:
        """Return a part by its name."""
        return next(one for one in self.parts if one.name == name)


@dataclass(frozen=True)
class Distance:
    """The distance of a value between neighbours.

    Parameters
    ----------
    l1, l2, linf
        Bounds on the sum, the Euclidean length and the largest of the differences of entries.
    """

    l1: float
    l2: float
    linf: float

    def tighten(self, other: Distance) -> Distance:
        """Return the better of two bounds, each norm by itself and by the norms that imply it."""
        linf = min(self.linf, other.linf)
        l1 = min(self.l1, other.l1)
        l2 = min(self.l2, other.l2, l1)
        return Distance(l1, l2, min(linf, l2))


NOWHERE_APART = Distance(0.0, 0.0, 0.0)
UNBOUNDED = Distance(math.inf, math.inf, math.inf)
