"""Canaries: crafted records, their replacements, and how they get into a dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.one_run import Signs, draw_coins

Partner = Literal["flipped", "empty"]


@dataclass(frozen=True, eq=False)
class Canaries:
    """Crafted records, and which node holds each.

    Parameters
    ----------
    features
        Shape ``(m, d)``, norm at most 1.
    labels
        Shape ``(m,)``, -1 or +1.
    nodes
        Shape ``(m,)``, in ascending order.
    partner
        What stands in for a canary whose coin is -1 (`dpaudit.attacks.canaries.audit`).

    Raises
    ------
    InvalidArgument
        The shapes do not fit, or the nodes are not in order.
    """

    features: Array
    labels: Array
    nodes: NDArray[np.int64]
    partner: Partner = "flipped"

    def __post_init__(self) -> None:
        check.require_choice("partner", self.partner, ("flipped", "empty"))
        if not len(self.features) == len(self.labels) == len(self.nodes) > 0:
            given = VerbatimText(f"{len(self.features)}, {len(self.labels)} and {len(self.nodes)}")
            raise InvalidArgument(
                "canaries", given, "features, labels and nodes of the same length"
            )
        if (np.diff(self.nodes) < 0).any():
            raise InvalidArgument("nodes", self.nodes.tolist(), "ascending numbers")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sides(self) -> tuple[Array, Array]:
        """Return the signed records ``b a`` for coins +1 and -1, shape ``(m, d)`` each."""
        signed = self.labels[:, None] * self.features
        # A record of zeros has no gradient under either label.
        return signed, -signed if self.partner == "flipped" else np.zeros_like(signed)

    def insert(self, dataset: Dataset, coins: Signs) -> Dataset:
        """Return the dataset with a canary or its partner behind the records of each node.

        Examples
        --------
        >>> canaries = Canaries(np.eye(2), np.ones(2), np.array([0, 1]))
        >>> data = Dataset([[0.5, 0.0], [0.0, 0.5]], [1, 1], node_sizes=(1, 1))
        >>> canaries.insert(data, np.array([1, -1], dtype=np.int8)).labels
        array([ 1.,  1.,  1., -1.])
        """
        flipped = self.partner == "flipped"
        labels = np.where(coins == 1, self.labels, -self.labels) if flipped else self.labels
        shown = self.features if flipped else self.features * (coins == 1)[:, None]
        return self._behind(dataset, shown, labels)

    def remove(self, dataset: Dataset) -> Dataset:
        """Return the dataset with empty records for all canaries: the part of the others alone."""
        return self._behind(dataset, np.zeros_like(self.features), self.labels)

    def _behind(self, dataset: Dataset, features: Array, labels: Array) -> Dataset:
        # Rows go in at the ends of the nodes' blocks. np.insert keeps the order of rows that share
        # a place, and nodes ascend, so canaries stay in the order of their coins.
        ends = np.cumsum(dataset.node_sizes)[self.nodes]
        added = np.bincount(self.nodes, minlength=dataset.nodes)
        return replace(
            dataset,
            features=np.insert(dataset.features, ends, features, axis=0),
            labels=np.insert(dataset.labels, ends, labels),
            node_sizes=tuple((np.array(dataset.node_sizes) + added).tolist()),
        )


def orthogonal_canaries(
    dataset: Dataset, count: int, rng: Generator, partner: Partner = "flipped"
) -> Canaries:
    """Return unit records with random labels, orthogonal at each node as far as d allows.

    Canaries at one node disturb each other only by their inner products: none up to d of them.

    Examples
    --------
    >>> data = Dataset(np.eye(4) / 2, np.ones(4), node_sizes=(2, 2))
    >>> records = orthogonal_canaries(data, 8, np.random.default_rng(0)).features
    >>> np.allclose(records[:4] @ records[:4].T, np.eye(4))
    True
    """
    nodes = _assign_canaries_to_nodes(dataset, count)
    records = [
        _draw_orthogonal_directions(int((nodes == node).sum()), dataset.dimension, rng)
        for node in range(dataset.nodes)
    ]
    labels = draw_coins(count, rng).astype(np.float64)
    return Canaries(np.concatenate(records), labels, nodes, partner)


def sample_mislabelled_canaries(dataset: Dataset, count: int, rng: Generator) -> Canaries:
    """Return real records, drawn without replacement, with the wrong label for coin +1."""
    if check.require_integer("count", count, least=1) > len(dataset.labels):
        raise InvalidArgument("count", count, f"at most the {len(dataset.labels)} records")
    rows = rng.choice(len(dataset.labels), size=count, replace=False)
    return Canaries(
        dataset.features[rows], -dataset.labels[rows], _assign_canaries_to_nodes(dataset, count)
    )


def _assign_canaries_to_nodes(dataset: Dataset, count: int) -> NDArray[np.int64]:
    """Return which node holds each of ``count`` canaries, as evenly as it goes, in order."""
    check.require_integer("count", count, least=1)
    return np.sort(np.arange(count) % dataset.nodes)


def _draw_orthogonal_directions(count: int, dimension: int, rng: Generator) -> Array:
    """Return unit vectors, each block of ``dimension`` of them orthogonal, ``(count, d)``."""
    # Q of a Gaussian matrix has orthonormal rows as well as columns, so any rows of a block are
    # orthogonal to each other.
    blocks = [
        np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        for _ in range(-(-count // dimension))
    ]
    return np.concatenate([np.zeros((0, dimension)), *blocks])[:count]
