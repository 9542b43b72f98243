"""Linearised objectives: algorithms that put a node's gradient in place of its loss.

Such an update is ``(... - grad L_i(w)) / curvature`` with ``L_i`` the mean loss of the node's
records, so that one record moves it by its own slope alone:
`dpaudit.algorithms.multistep.algorithm` and `dpaudit.algorithms.consensus.dp_admm_2019`, which
differ in the curvature. In multi-step DP-ADMM (Huang & Gong) the linearised objective is eq. (12),
the update (13a), how far a record moves it eq. (16)-(19) of Lemma 5, and the proximal weights are
those of Theorem 7, eq. (23). Gradients are computed at every node and for every trial at once: the
loss part of ``grad L_i`` in eq. (12) and (18), L_i as in eq. (26), over all of a node's records or
over the batch of Note 1 to Algorithm 1.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.losses import MarginLoss
from dpaudit.algorithms.problems.records import Differing
from dpaudit.algorithms.problems.step_sizes import StepSize
from dpaudit.datasets.dataset import Dataset


class LinearisedAlgorithm(Protocol):
    """The parameters on which the weights and the bounds depend."""

    @property
    def steps(self) -> int:
        """The number of noisy updates of every node."""
        ...

    @property
    def loss(self) -> MarginLoss:
        """The loss of one record."""
        ...

    @property
    def noise_multiplier(self) -> float:
        """``sigma``: noise in multiples of the sensitivity."""
        ...

    @property
    def regulariser_weight(self) -> float:
        """``lambda``."""
        ...

    @property
    def step_size(self) -> StepSize:
        """The rule for the proximal weights."""
        ...


class DatasetSizes(Protocol):
    """The public part of a dataset on which the weights depend."""

    @property
    def node_sizes(self) -> tuple[int, ...]:
        """The number of records of every node."""
        ...

    @property
    def dimension(self) -> int:
        """The number of features of a record."""
        ...


def proximal_weights(algorithm: LinearisedAlgorithm, dataset: DatasetSizes, count: int) -> Array:
    """Return the weight of every node at ``count``, as the step-size rule has it, ``(n,)``."""
    sizes = np.array(dataset.node_sizes, dtype=np.float64)
    noise = 2 * algorithm.loss.lipschitz * algorithm.noise_multiplier / sizes
    return algorithm.step_size.weights(
        count,
        objective_lipschitz=algorithm.loss.lipschitz * len(sizes),
        regulariser_weight=algorithm.regulariser_weight,
        # A Gaussian vector of d entries has a root mean square norm of sqrt(d) times one entry's.
        noise=noise * math.sqrt(dataset.dimension),
    )


def mean_shift(loss: MarginLoss, models: Array, record: Differing, curvature: float) -> Array:
    """Return how far the record moves the next means, given the last models, ``(R, n, d)``."""
    model = models[:, record.node]
    # Gradients enter the mean with a minus sign, so the neighbour's less the dataset's is old less
    # new.
    moved = loss.slope(model @ record.old)[:, None] * record.old
    moved -= loss.slope(model @ record.new)[:, None] * record.new
    shift = np.zeros_like(models)
    shift[:, record.node] = moved / (curvature * record.dataset.node_sizes[record.node])
    return shift


def bound_squared_shifts(algorithm: LinearisedAlgorithm, record: Differing) -> tuple[float, float]:
    """Return bounds on ``sum ||shift||^2 / scale^2`` over all outputs.

    The gradient difference is ``p u - q u'`` with slopes p, q in the loss's range; its norm is
    convex, so largest at a corner. It is bounded below only where the slopes are constant.
    """
    check.require_positive("noise_multiplier", algorithm.noise_multiplier)
    slopes = algorithm.loss.slope_range
    corners = [
        float(np.linalg.norm(p * record.old - q * record.new)) for p in slopes for q in slopes
    ]
    unit = algorithm.steps / (2 * algorithm.loss.lipschitz * algorithm.noise_multiplier) ** 2
    # Where slopes vary, the difference of the two gradients may vanish at some model.
    low = max(corners) if slopes[0] == slopes[1] else 0.0
    return unit * low**2, unit * max(corners) ** 2


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
        # Every trial draws a batch of its own: the mechanism's randomness includes it.
        drawn = rng.integers(records, size=(len(models), size))
        batch = dataset.signed_records[dataset.rows_of(node)][drawn]
        slopes = loss.slope(np.einsum("rbd,rd->rb", batch, models[:, node]))
        gradient[:, node] = np.einsum("rb,rbd->rd", slopes, batch) / size
    return gradient
