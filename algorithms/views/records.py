"""What records contribute to a linear or squared loss: ``f'A f / 2 - b'f``, exactly.

Of a node with B records and weight C, ``b = (C/B) sum_n y_n x_n`` and ``A = (C/B) sum_n x_n x_n'``.
The squared loss of a record is ``(x'f - y)^2 / 2``, that is ``(1 - m)^2 / 2`` of its margin for
labels of -1 and 1; the linear loss is ``-m``. Both have the b above, the linear one has no A.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import fmpq

from dpaudit.algorithms.views.system import Form, exact_table
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair


def linear_terms(dataset: Dataset, weight: fmpq) -> Form:
    """Return b of every node, one after the other, shape ``(n d,)``.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.5], [1.0, 0.0]], [1, -1], node_sizes=(2,))
    >>> linear_terms(data, fmpq(1)).tolist()
    [0, 1/4]
    """
    return np.concatenate([weight * (y @ x) / len(y) for x, y in _of_nodes(dataset)])


def curvatures(dataset: Dataset, weight: fmpq) -> Form:
    """Return A of every node, shape ``(n, d, d)``."""
    return np.stack([weight * (x.T @ x) / len(y) for x, y in _of_nodes(dataset)])


def _of_nodes(dataset: Dataset) -> Iterator[tuple[Form, Form]]:
    for node in range(dataset.nodes):
        rows = dataset.rows_of(node)
        x, y = dataset.features[rows], dataset.labels[rows]
        yield exact_table("features", x, x.shape), exact_table("labels", y, y.shape)


def require_shared_map(pair: Pair[Dataset], *, squared: bool) -> None:
    """Raise `InvalidArgument` unless the neighbours share the linear map of the view.

    They do under replace-label, and under replace-record where the loss is linear.
    """
    shared = (REPLACE_LABEL,) if squared else (REPLACE_LABEL, REPLACE_RECORD)
    if pair.relation not in shared:
        expected = " or ".join(relation.name for relation in shared)
        raise InvalidArgument(
            "relation", Shown(pair.relation.name), f"{expected}: else see features"
        )
