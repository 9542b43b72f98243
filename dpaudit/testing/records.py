"""The data of a test, described: records of bounded norm, and the smallest joined tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Table

# A number, or (least, most).
Bounds = int | tuple[int, int]


def bounds(name: str, value: object, least: int = 1) -> tuple[int, int]:
    """Return ``value`` as ``(least, most)``, or raise `InvalidArgument`.

    Examples
    --------
    >>> bounds("rows", 3), bounds("rows", (1, 4))
    ((3, 3), (1, 4))
    >>> bounds("rows", (4, 1))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: rows: got (4, 1), expected an integer from 1, or (least, most)
    """
    expected = f"an integer from {least}, or (least, most)"
    ends = value if isinstance(value, tuple) else (value, value)
    if len(ends) != 2:
        raise InvalidArgument(name, value, expected)
    try:
        low, high = (check.require_integer(name, end, least) for end in ends)
    except InvalidArgument:
        raise InvalidArgument(name, value, expected) from None
    if low > high:
        raise InvalidArgument(name, value, expected)
    return low, high


def size(name: str, value: object) -> float:
    """Return ``value`` as a norm whose square is a number too."""
    number = check.require_positive(name, value)
    if not 1e-100 <= number <= 1e100:
        raise InvalidArgument(name, value, "a number from 1e-100 to 1e100")
    return number


def interval(low: object, high: object) -> tuple[float, float]:
    """Return two finite numbers above 0, the first at most the second."""
    least, most = check.require_positive("low", low), check.require_positive("high", high)
    if least > most or not math.isfinite(most - least):
        raise InvalidArgument("low", low, f"at most high, {most:g}")
    return least, most


Index = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Records:
    """A description of the records of a dataset.

    Parameters
    ----------
    rows, columns
        The numbers of records N and of features d: a number each, or the least and the most.
    nodes
        The number of nodes that hold the rows; of joined tables, the number of tables.
    norm
        The largest Euclidean norm of a row.
    unit
        True if every row has that norm.
    labels
        The possible labels, such as ``(-1, 1)`` or the numbers of classes; None for plain arrays
        without labels.

    Raises
    ------
    InvalidArgument
        A number is out of range, or the parameters do not fit together.

    Examples
    --------
    >>> Records(rows=0)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: rows: got 0, expected an integer from 1, or (least, most)
    """

    rows: Bounds = (1, 4)
    columns: Bounds = (1, 3)
    nodes: Bounds = 1
    norm: float = 1.0
    unit: bool = False
    labels: tuple[float, ...] | None = (-1.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "nodes"):
            # A frozen dataclass refuses ordinary assignment, even from its own initialiser.
            object.__setattr__(self, name, bounds(name, getattr(self, name)))
        object.__setattr__(self, "norm", size("norm", self.norm))
        if not isinstance(self.unit, bool):
            raise InvalidArgument("unit", self.unit, "True or False")
        if self.labels is not None:
            object.__setattr__(self, "labels", _labels(self.labels))
        elif self.most_nodes > 1:
            raise InvalidArgument("nodes", self.nodes, "1: plain arrays have no nodes")
        if bounds("rows", self.rows)[0] < self.most_nodes:
            expected = f"at least one row for each of {self.most_nodes} nodes"
            raise InvalidArgument("rows", self.rows, expected)

    @property
    def most_nodes(self) -> int:
        """The largest number of nodes."""
        return bounds("nodes", self.nodes)[1]


def _labels(given: object) -> tuple[float, ...]:
    labels = tuple(check.finite_array("labels", given, ndim=1).tolist())
    if not labels or len(set(labels)) < len(labels):
        raise InvalidArgument("labels", given, "different numbers, at least one")
    return labels


@dataclass(frozen=True, eq=False)
class TableJoin:
    """Tables and the mappings of their join: the smallest data that `REPLACE_TUPLE` applies to.

    Parameters
    ----------
    tables
        The features of each table, ``(n_i, d_i)``.
    mappings
        The tuple that every row of the join uses, one array of shape ``(N,)`` for each table.
    labels
        One label for each tuple of the first table, ``(n_0,)``.

    Examples
    --------
    >>> TableJoin((np.ones((2, 1)), np.ones((1, 2))), (np.array([0, 1]), np.array([0, 0])), \
np.ones(2)).as_table().features
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 1., 1.]])
    """

    tables: tuple[Array, ...]
    mappings: tuple[Index, ...]
    labels: Array

    def as_table(self) -> Table:
        """Return the table for relations: every tuple a row, the columns of the others 0."""
        sizes = tuple(len(table) for table in self.tables)
        widths = tuple(table.shape[1] for table in self.tables)
        stacked = np.zeros((sum(sizes), sum(widths)))
        row = column = 0
        for table in self.tables:
            stacked[row : row + len(table), column : column + table.shape[1]] = table
            row, column = row + len(table), column + table.shape[1]
        return Table(stacked, self.labels, sizes, (np.array(widths), *self.mappings))


def as_records(records: object) -> Records:
    """Return the default for None, and refuse a value that is no `Records`."""
    if records is None:
        return Records()
    if not isinstance(records, Records):
        raise InvalidArgument("records", records, "a dpaudit.testing.Records")
    return records
