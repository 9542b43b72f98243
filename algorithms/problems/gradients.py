"""Gradients of margin losses at every node and for every trial at once.

What multi-step DP-ADMM needs of the data: the loss part of ``grad L_i`` in its eq. (12) and (18),
L_i as in eq. (26), over all of a node's records or over the batch of Note 1 to its Algorithm 1.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.problems.losses import MarginLoss
from dpaudit.datasets.dataset import Dataset

# Records a matrix product takes at once: the margins of a block of trials then stay in cache.
_TILE = 512


def full_gradient(loss: MarginLoss, models: Array, dataset: Dataset) -> Array:
    """Return every node's mean loss gradient at its model, without the regulariser, (R, n, d)."""
    gradient = np.zeros_like(models)
    for node, size in enumerate(dataset.node_sizes):
        rows = dataset.rows_of(node)
        for start in range(rows.start, rows.stop, _TILE):
            tile = dataset.signed_records[start : min(start + _TILE, rows.stop)]
            slopes = loss.slope(models[:, node] @ tile.T)
            gradient[:, node] += slopes @ tile
        gradient[:, node] /= size
    return gradient


def batch_gradient(
    loss: MarginLoss, models: Array, dataset: Dataset, size: int, rng: Generator
) -> Array:
    """Return the same over ``size`` records drawn with replacement, afresh for every trial."""
    gradient = np.empty_like(models)
    for node, records in enumerate(dataset.node_sizes):
        drawn = rng.integers(records, size=(len(models), size))
        batch = dataset.signed_records[dataset.rows_of(node)][drawn]
        slopes = loss.slope(np.einsum("rbd,rd->rb", batch, models[:, node]))
        gradient[:, node] = np.einsum("rb,rbd->rd", slopes, batch) / size
    return gradient
