"""Strategies for vectors and datasets of bounded norm.

They draw small fractions times a norm, and nothing is drawn and thrown away. A vector comes from
one of three grids: entries of -1, 0 and 1, sixteenths, and fractions of a million, so that what is
left after shrinking can be read. One that is too long is shortened to the norm, less what rounding
may add.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.testing.records import Bounds, Records, TableJoin, as_records, bounds, size

_GRIDS = (1, 16, 2**20)
# A shortened vector is no longer than asked in whatever order its squares are summed.
_INSIDE = 1 - 2.0**-48


def fractions(draw: DrawFn, count: int) -> Array:
    """Draw numbers from -1 to 1 on one of three grids, shape ``(count,)``."""
    grid = draw(st.sampled_from(_GRIDS))
    numbers = draw(st.lists(st.integers(-grid, grid), min_size=count, max_size=count))
    return np.array(numbers, dtype=np.float64) / grid


def shorten_vector(vector: Array, longest: float) -> Array:
    """Return ``vector`` as it is, or shortened by the factor that makes ``longest`` 1."""
    return vector if longest <= 1 else vector * (_INSIDE / longest)


def bounded(vector: Array, norm: float, unit: bool) -> Array:
    """Return the vector as a record: at most, or of exactly, this norm."""
    # No factor gives a vector of zeros a length; its last entry is set, which shrinking leaves
    # as the plainest unit vector.
    if unit and not vector.any():
        vector = np.append(vector[:-1], 1.0)
    longest = float(np.linalg.norm(vector))
    if unit and longest != 1:
        vector = vector * (_INSIDE / longest)
    # Adding 0.0 turns -0.0 into 0.0, which prints as it reads.
    return np.asarray(norm * (vector if unit else shorten_vector(vector, longest)) + 0.0)


def draw_vector(draw: DrawFn, columns: int, records: Records) -> Array:
    """Draw a record, shape ``(columns,)``."""
    return bounded(_draw_last(draw, columns, records, 0), records.norm, records.unit)


def _draw_last(draw: DrawFn, columns: int, records: Records, more: int) -> Array:
    """Draw as many fractions as there may be and return the last, ``(columns + more,)``.

    With fewer columns the rest of what is drawn stays as it is, which is what shrinking needs.
    """
    most = bounds("columns", records.columns)[1]
    return fractions(draw, most + more)[most - columns :]


@st.composite
def _labelled(draw: DrawFn, columns: int, records: Records, more: int) -> tuple[float, Array]:
    label = 0.0 if records.labels is None else draw(st.sampled_from(records.labels))
    return label, _draw_last(draw, columns, records, more)


def draw_raw(
    draw: DrawFn, columns: int, records: Records, rows: tuple[int, int], more: int = 0
) -> tuple[Array, Array]:
    """Draw rows that are not bounded yet, ``(N, columns + more)``, and labels ``(N,)``."""
    least, most = rows
    drawn = draw(st.lists(_labelled(columns, records, more), min_size=least, max_size=most))
    features = np.array([row for _, row in drawn]).reshape(len(drawn), columns + more)
    return features, np.array([label for label, _ in drawn], dtype=np.float64)


def draw_rows(
    draw: DrawFn, columns: int, records: Records, rows: tuple[int, int]
) -> tuple[Array, Array]:
    """Draw records, ``(N, columns)``, and labels ``(N,)``, N from the least to the most."""
    raw, labels = draw_raw(draw, columns, records, rows)
    bounded_rows = [bounded(row, records.norm, records.unit) for row in raw]
    return np.array(bounded_rows).reshape(raw.shape), labels


def as_dataset(draw: DrawFn, features: Array, labels: Array, records: Records) -> Dataset:
    """Return the records split over nodes, at least one each."""
    sizes = _draw_sizes(draw, len(features), draw_between(draw, records.nodes))
    return Dataset(features, labels, node_sizes=sizes)


def as_data(draw: DrawFn, features: Array, labels: Array, records: Records) -> Dataset | Array:
    """Return the records as they are described: a dataset, or a plain array."""
    return features if records.labels is None else as_dataset(draw, features, labels, records)


def draw_between(draw: DrawFn, value: Bounds) -> int:
    """Draw how many."""
    return draw(st.integers(*bounds("value", value)))


def _draw_sizes(draw: DrawFn, rows: int, nodes: int) -> tuple[int, ...]:
    """Draw how many rows each node holds, at least one each."""
    sizes, left = [], rows - nodes
    for _ in range(nodes - 1):
        sizes.append(1 + draw(st.integers(0, left)))
        left -= sizes[-1] - 1
    return (*sizes, 1 + left)


def vectors(
    shape: tuple[int, ...], *, norm: float = 1.0, unit: bool = False
) -> SearchStrategy[Array]:
    """Return a strategy for arrays whose vectors along the last axis have at most this norm.

    Parameters
    ----------
    shape
        The shape of the array; at least one axis, none of them empty.
    norm
        The largest Euclidean norm.
    unit
        True if every vector has that norm.

    Raises
    ------
    InvalidArgument
        A length is not an integer above 0, or the norm is out of range.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(vectors((2, 3), norm=5.0), lambda array: np.linalg.norm(array) > 6)
    array([[0., 0., 5.],
           [0., 0., 5.]])
    """
    if not isinstance(shape, tuple) or not shape:
        raise InvalidArgument("shape", shape, "a tuple of at least one length")
    lengths = [check.require_integer("shape", length, least=1) for length in shape]
    longest = size("norm", norm)
    count = int(np.prod(lengths[:-1]))

    @st.composite
    def arrays(draw: DrawFn) -> Array:
        drawn = [bounded(fractions(draw, lengths[-1]), longest, unit) for _ in range(count)]
        return np.array(drawn).reshape(lengths)

    return arrays()


@st.composite
def _datasets(draw: DrawFn, records: Records) -> Dataset | Array:
    columns = draw_between(draw, records.columns)
    return as_data(draw, *draw_rows(draw, columns, records, bounds("rows", records.rows)), records)


@st.composite
def _draw_joined_tables(draw: DrawFn, records: Records) -> TableJoin:
    drawn, sizes = [], bounds("rows", records.rows)
    for _ in range(draw_between(draw, records.nodes)):
        drawn.append(draw_rows(draw, draw_between(draw, records.columns), records, sizes))
    rows = draw_between(draw, records.rows)
    mappings = tuple(
        np.array([draw(st.integers(0, len(table) - 1)) for _ in range(rows)], dtype=np.int64)
        for table, _ in drawn
    )
    return TableJoin(tuple(table for table, _ in drawn), mappings, drawn[0][1])


def datasets(records: Records | None = None) -> SearchStrategy[Dataset | Array]:
    """Return a strategy for datasets; plain arrays where the records have no labels.

    Parameters
    ----------
    records
        A description of the records; `Records()` by default.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(datasets(Records(rows=(2, 4), labels=None)), lambda data: True)
    array([[0.],
           [0.]])
    """
    return _datasets(as_records(records))


def joined(records: Records | None = None) -> SearchStrategy[TableJoin]:
    """Return a strategy for joined tables.

    Parameters
    ----------
    records
        A description of every table; ``rows`` also bounds the rows of the join, and ``nodes`` gives
        the number of tables.

    Raises
    ------
    InvalidArgument
        The records have no labels.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(joined(Records(rows=2, nodes=2)), lambda data: True).mappings
    (array([0, 0]), array([0, 0]))
    """
    described = as_records(records)
    if described.labels is None:
        raise InvalidArgument("labels", None, "labels: those of joined tables are public")
    return _draw_joined_tables(described)
