"""The dataset every algorithm here works on: records, labels, and which node holds which rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.redaction import Record


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled records, held by one or more nodes.

    Parameters
    ----------
    features
        The features, shape ``(N, d)``, with one record in each row; the dataset keeps a read-only
        copy.
    labels
        The labels, shape ``(N,)``.
    node_sizes
        The number of consecutive rows of each node, which add up to ``N``; one node holds all rows
        by default.
    name
        The source of the records, for reports.

    Raises
    ------
    InvalidArgument
        A value is not finite, or the shapes do not fit together.

    Examples
    --------
    >>> data = Dataset([[0.6, 0.8], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1], node_sizes=(2, 1))
    >>> data.nodes, data.dimension
    (2, 2)
    >>> data.signed_records[data.rows_of(0)]
    array([[ 0.6,  0.8],
           [-1. , -0. ]])
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    _: KW_ONLY
    node_sizes: tuple[int, ...] = ()
    name: str = "records"

    def __post_init__(self) -> None:
        features = check.finite_array("features", self.features, ndim=2)
        labels = check.finite_array("labels", self.labels, ndim=1)
        if len(labels) != len(features):
            expected = f"one label for each of the {len(features)} records"
            raise InvalidArgument("labels", f"{len(labels)} values", expected)
        sizes = tuple(check.require_integer("node_sizes", s, least=1) for s in self.node_sizes)
        sizes = sizes or (len(features),)
        if sum(sizes) != len(features) or not len(features):
            expected = f"positive sizes that sum to the {len(features)} records"
            raise InvalidArgument("node_sizes", sizes, expected)
        # Mechanisms get these very arrays: one that writes into them would change the dataset of
        # every later call.
        features.flags.writeable = labels.flags.writeable = False
        for field, value in (("features", features), ("labels", labels), ("node_sizes", sizes)):
            object.__setattr__(self, field, value)

    @property
    def nodes(self) -> int:
        """The number of nodes that hold records."""
        return len(self.node_sizes)

    @property
    def dimension(self) -> int:
        """Number of features ``d``."""
        return int(self.features.shape[1])

    @cached_property
    def signed_records(self) -> NDArray[np.float64]:
        """``b * a`` for every record, shape ``(N, d)``: all that a margin loss depends on."""
        signed: NDArray[np.float64] = self.labels[:, None] * self.features
        signed.flags.writeable = False
        return signed

    def rows_of(self, node: int) -> slice:
        """Return the rows that ``node`` holds."""
        start = sum(self.node_sizes[:node])
        return slice(start, start + self.node_sizes[node])

    def node_of(self, row: int) -> int:
        """Return the node that holds ``row``."""
        return int(np.searchsorted(np.cumsum(self.node_sizes), row, side="right"))

    def with_record(self, row: int, features: ArrayLike, label: float) -> Dataset:
        """Return a copy whose record ``row`` is replaced: a neighbour under replace-one."""
        new_features, new_labels = self.features.copy(), self.labels.copy()
        new_features[row] = np.asarray(features)
        new_labels[row] = label
        return replace(self, features=new_features, labels=new_labels)

    def require_signed_labels(self) -> None:
        """Raise `InvalidArgument` unless every label is -1 or +1."""
        odd = ~np.isin(self.labels, (-1.0, 1.0))
        if odd.any():
            row = int(np.argmax(odd))
            raise InvalidArgument(
                f"labels[{row}]",
                Record(float(self.labels[row])),
                f"labels in {{-1, +1}} ({int(odd.sum())} of {len(odd)} are not)",
            )

    def require_unit_rows(self, tolerance: float = 1e-9) -> None:
        """Raise `InvalidArgument` unless every record has Euclidean norm at most 1."""
        norms = np.linalg.norm(self.features, axis=1)
        row = int(np.argmax(norms))
        if norms[row] > 1 + tolerance:
            raise InvalidArgument(
                f"norm of features[{row}]", Record(float(norms[row])), "Euclidean norm at most 1"
            )
