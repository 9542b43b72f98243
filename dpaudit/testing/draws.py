"""How the strategies draw: small fractions times a norm, nothing drawn and thrown away.

A vector is drawn from one of three grids: entries of -1, 0 and 1, sixteenths, and fractions of a
million, so that what is left after shrinking can be read. One that is too long is shortened to the
norm, less what rounding may add.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.testing._bounds import Bounds, bounds
from dpaudit.testing.records import Records

_GRIDS = (1, 16, 2**20)
# A shortened vector is no longer than asked in whatever order its squares are summed.
_INSIDE = 1 - 2.0**-48


def fractions(draw: DrawFn, count: int) -> Array:
    """Draw numbers from -1 to 1 on one of three grids, shape ``(count,)``."""
    grid = draw(st.sampled_from(_GRIDS))
    numbers = draw(st.lists(st.integers(-grid, grid), min_size=count, max_size=count))
    return np.array(numbers, dtype=np.float64) / grid


def shortened(vector: Array, longest: float) -> Array:
    """Return ``vector`` as it is, or shortened by the factor that makes ``longest`` 1."""
    return vector if longest <= 1 else vector * (_INSIDE / longest)


def bounded(vector: Array, norm: float, unit: bool) -> Array:
    """Return the vector as a record: at most, or of exactly, this norm."""
    if unit and not vector.any():
        vector = np.append(vector[:-1], 1.0)
    longest = float(np.linalg.norm(vector))
    if unit and longest != 1:
        vector = vector * (_INSIDE / longest)
    return np.asarray(norm * (vector if unit else shortened(vector, longest)) + 0.0)


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
