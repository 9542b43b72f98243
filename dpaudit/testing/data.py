"""Strategies for vectors and datasets of bounded norm."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.testing._bounds import bounds, size
from dpaudit.testing.draws import as_data, bounded, draw_between, draw_rows, fractions
from dpaudit.testing.records import Joined, Records, as_records


def vectors(
    shape: tuple[int, ...], *, norm: float = 1.0, unit: bool = False
) -> SearchStrategy[Array]:
    """Return a strategy for arrays whose vectors along the last axis have at most this norm.

    Parameters
    ----------
    shape
        Of the array; at least one axis, none of them empty.
    norm
        The most the Euclidean norm may be.
    unit
        Whether every vector has that norm.

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
    lengths = [check.integer("shape", length, least=1) for length in shape]
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
def _joined(draw: DrawFn, records: Records) -> Joined:
    drawn, sizes = [], bounds("rows", records.rows)
    for _ in range(draw_between(draw, records.nodes)):
        drawn.append(draw_rows(draw, draw_between(draw, records.columns), records, sizes))
    rows = draw_between(draw, records.rows)
    mappings = tuple(
        np.array([draw(st.integers(0, len(table) - 1)) for _ in range(rows)], dtype=np.int64)
        for table, _ in drawn
    )
    return Joined(tuple(table for table, _ in drawn), mappings, drawn[0][1])


def datasets(records: Records | None = None) -> SearchStrategy[Dataset | Array]:
    """Return a strategy for datasets; plain arrays where the records have no labels.

    Parameters
    ----------
    records
        What the records look like; `Records()` by default.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(datasets(Records(rows=(2, 4), labels=None)), lambda data: True)
    array([[0.],
           [0.]])
    """
    return _datasets(as_records(records))


def joined(records: Records | None = None) -> SearchStrategy[Joined]:
    """Return a strategy for joined tables.

    Parameters
    ----------
    records
        What every table looks like; ``rows`` also bounds the rows of the join, and ``nodes`` says
        how many tables there are.

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
    return _joined(described)
