"""The problems of all nodes at once, by Newton's method, for the few trials of a single run.

A pass over one trial of one node is all overhead: nodes with equally many records become an axis.
Full steps are taken for as long as they at least halve every gradient that is still too large.
Where they do not, nothing is returned, and the caller solves node by node with the method that
always ends (`dpaudit.algorithms.consensus.margin_problem`), to the same tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss

# Up to which this is quicker.
FEW = 8  # trials
SMALL = 100_000  # entries of all records
_PASSES = 20


@dataclass(frozen=True, kw_only=True)
class NodeProblems:
    """Minimise ``weight sum_n l(u_n'f) + curvature_i ||f||^2 / 2 - linear'f`` at every node i.

    Parameters
    ----------
    loss
        ``l``.
    records
        ``u_n`` of every node, shape ``(N, B, d)``.
    weight
        What a record's loss counts.
    curvature
        Of every node, shape ``(N,)``.
    tolerance
        As `dpaudit.algorithms.consensus.margin_problem.MarginProblem` has it.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> problems = NodeProblems(
    ...     loss=LOGISTIC, records=np.ones((2, 3, 1)), weight=1.0, curvature=np.ones(2),
    ...     tolerance=1e-12,
    ... )
    >>> problems.minimise(np.zeros((1, 2, 1))).round(6).tolist()
    [[[0.879712], [0.879712]]]
    """

    loss: SmoothLoss
    records: Array
    weight: float
    curvature: Array
    tolerance: float

    def minimise(self, linear: Array) -> Array | None:
        """Return the minimisers, shape ``(R, N, d)`` as ``linear``; None where steps fall short.

        A node that has its minimiser stays there: it does not depend on the other nodes.
        """
        models, allowed = np.zeros_like(linear), self.tolerance * self._scale(linear)
        # Any size halves infinity, so the first pass is never refused.
        before = np.full(allowed.shape, np.inf)
        for _ in range(_PASSES):
            margins = np.matmul(self.records, models[..., None])[..., 0]
            slopes = self.loss.margin.slope(margins)
            gradient = self._gradient(models, slopes) - linear
            sizes = np.sqrt((gradient * gradient).sum(axis=-1))
            open_ = sizes > allowed
            if not open_.any():
                return models
            # NaN fails this comparison too, and is left to the method that explains it.
            if not (sizes <= np.maximum(before / 2, allowed)).all():
                return None
            before = sizes
            step = np.linalg.solve(self._hessians(margins), gradient[..., None])[..., 0]
            # A node within the tolerance keeps its minimiser: further steps would only move it by
            # rounding.
            models = models - np.where(open_[..., None], step, 0.0)
        return None

    def _gradient(self, models: Array, slopes: Array) -> Array:
        of_loss = np.matmul(self.records.swapaxes(-1, -2), slopes[..., None])[..., 0]
        return np.asarray(self.weight * of_loss + self.curvature[:, None] * models)

    def _hessians(self, margins: Array) -> Array:
        scaled = self.weight * self.loss.curvature(margins)[..., None] * self.records
        own = np.matmul(scaled.swapaxes(-1, -2), self.records)
        diagonal = np.arange(own.shape[-1])
        own[..., diagonal, diagonal] += self.curvature[:, None]
        return np.asarray(own)

    def _scale(self, linear: Array) -> Array:
        """Return the scale of the tolerance, shape ``(R, N)``."""
        largest = np.linalg.norm(self.records, axis=2).sum(axis=1)
        weight = self.weight * self.loss.slope_scale
        scale: Array = self.curvature + weight * largest + np.linalg.norm(linear, axis=-1)
        return scale
