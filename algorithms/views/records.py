"""Contributions of records to a linear or squared loss: ``f'A f / 2 - b'f``.

Of a node with B records and weight C, ``b = (C/B) sum_n y_n x_n`` and ``A = (C/B) sum_n x_n x_n'``.
The squared loss of a record is ``(x'f - y)^2 / 2``, that is ``(1 - m)^2 / 2`` of its margin for
labels of -1 and 1; the linear loss is ``-m``. Both have the b above, the linear one has no A.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset


def linear_terms(dataset: Dataset, weight: float) -> Array:
    """Return b of every node, shape ``(n, d)``.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.5], [1.0, 0.0]], [1, -1], node_sizes=(2,))
    >>> linear_terms(data, 1.0).tolist()
    [[0.0, 0.25]]
    """
    return np.stack([weight * (y @ x) / len(y) for x, y in _of_nodes(dataset)])


def compute_node_curvatures(dataset: Dataset, weight: float) -> Array:
    """Return A of every node, shape ``(n, d, d)``."""
    return np.stack([weight * (x.T @ x) / len(y) for x, y in _of_nodes(dataset)])


def list_node_entries(dataset: Dataset) -> tuple[Array, tuple[int, ...]]:
    """Return all features and labels in a row, and which node holds each of them."""
    rows = np.column_stack([dataset.features, dataset.labels])
    nodes = np.repeat(range(dataset.nodes), dataset.node_sizes)
    return rows.ravel(), tuple(np.repeat(nodes, rows.shape[1]).tolist())


def _of_nodes(dataset: Dataset) -> Iterator[tuple[Array, Array]]:
    for node in range(dataset.nodes):
        rows = dataset.rows_of(node)
        yield dataset.features[rows], dataset.labels[rows]
