r"""The problem of one node: a margin loss over its records plus a quadratic, and derivatives.

    f -> weight sum_n l(u_n'f) + curvature ||f||^2 / 2 - linear'f

The records u_n are shared by the trials, ``linear`` is not. With ``u_n = y_n x_n``, weight C/B_i
and curvature ``rho/N + 2 eta_i V_i`` it is what a node minimises in zhang2018's eq. (10) and (25)
(`dpaudit.algorithms.consensus.algorithm` spells ``linear`` out); eq. (12) says that its gradient is
0. `hessians` divided by ``2 eta_i V_i`` are the Jacobians in Appendix D's eq. (60), up to their
sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss

TOLERANCE = 1e-12

# Records a matrix product takes at once: the margins of a block of trials then stay in cache.
_TILE = 512
# Floats that the Hessians of a block of trials, and the records scaled for them, may take.
_BLOCK = 4_000_000


@dataclass(frozen=True, kw_only=True)
class MarginProblem:
    """What all trials share; `dpaudit.algorithms.consensus.solvers.minimise` solves it.

    Parameters
    ----------
    loss
        ``l``.
    weight
        What a record's loss counts.
    curvature
        Of the quadratic term, above 0.
    tolerance
        Largest norm of a returned model's gradient, relative to the size of its terms
        ``curvature + ||linear|| + weight c sum_n ||u_n||``, c the Lipschitz constant of ``l``.
    """

    loss: SmoothLoss
    weight: float
    curvature: float
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check.positive("weight", self.weight)
        check.positive("curvature", self.curvature)
        check.positive("tolerance", self.tolerance)

    def loss_gradient(self, models: Array, records: Array) -> Array:
        """Return ``weight sum_n l'(u_n'f) u_n``, shape ``(R, d)``."""
        gradient = np.zeros_like(models)
        for start in range(0, len(records), _TILE):
            tile = records[start : start + _TILE]
            gradient += self.loss.margin.slope(models @ tile.T) @ tile
        gradient *= self.weight
        return gradient

    def gradient(self, models: Array, records: Array) -> Array:
        """Return the gradient of the loss and the quadratic term, shape ``(R, d)``."""
        return self.loss_gradient(models, records) + self.curvature * models

    def hessians(self, models: Array, records: Array) -> Array:
        """Return ``weight sum_n l''(u_n'f) u_n u_n' + curvature I``, shape ``(R, d, d)``."""
        roots = np.sqrt(self.loss.curvature(models @ records.T))
        scaled = roots[:, :, None] * records
        hessians: Array = self.weight * (scaled.transpose(0, 2, 1) @ scaled)
        return hessians + self.curvature * np.eye(records.shape[1])

    def hessian_solve(self, models: Array, records: Array, right: Array) -> Array:
        """Return ``H(f)^-1 right`` of every model, shape ``(R, d, k)``, in blocks of trials.

        ``right`` has shape ``(d, k)``, or ``(R, d, k)`` for a side of every trial's own.
        """
        count, d = records.shape
        rows = max(1, _BLOCK // (count * d + d * d))
        solved = np.empty((len(models), *right.shape[-2:]))
        for start in range(0, len(models), rows):
            block = slice(start, start + rows)
            side = right if right.ndim == 2 else right[block]
            solved[block] = np.linalg.solve(self.hessians(models[block], records), side)
        return solved

    def scale(self, linear: Array, records: Array) -> Array:
        """Return what the tolerance is relative to, shape ``(R,)``."""
        largest = self.weight * self.loss.lipschitz * np.linalg.norm(records, axis=1).sum()
        scale: Array = self.curvature + largest + np.linalg.norm(linear, axis=1)
        return scale
