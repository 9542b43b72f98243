r"""M-ADMM with bounded penalties: modes of its iteration on quadratics (zhang2018, Theorem 3.1).

Penalties that do not fall and are bounded settle, and the recursion (13), (14) tends to one with
``W = W(infinity)``. On ``O_i(f) = m_i f^2/2 - b_i f`` it is linear; with M = diag(m_i) and
``K = M + 2 W D``, the deviations from the fixed point follow

    f+ = K^-1 (W (D + A) f - p),    p+ = p + theta (D - A) f+,     p = 2 Lambda,  sum_i p_i = 0.

M-ADMM converges to the optimum from every start if all modes are inside the unit circle, and
diverges from almost every start if one is outside. The spectral radius is therefore what the
theorem, read with bounded penalties, says to be below 1 when the m_i are above 0.

**What is known.** If all nodes share a penalty, the paper's proof is sound (see
`algorithms.properties.zhang2018`). For penalties of their own, regular graphs and M = 0: with
``z f`` for ``f+`` one gets ``(z L + (z - 1) S) f = -W^-1 p`` and ``p = theta z/(z-1) L f``. The
inner product with ``L f`` gives ``(a + b) z^2 - (a + 2b - c) z + b = 0``, where ``a = |L f|^2``,
``b = f* L S f >= 0`` as L and S commute, and ``0 < c = theta f* L W^-1 L f <= a`` unless f is a
consensus: both roots are inside the unit circle. For other graphs and M nothing is proved here; the
search finds no mode outside either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.properties.zhang2018 import laplacians
from dpaudit.refutation.search import Batch

Array = NDArray[np.float64]


def iteration_map(batch: Batch, dual_step: float) -> Array:
    """Return the matrix of ``(f, p) -> (f+, p+)`` where p sums to 0, shape ``(R, 2N, 2N)``."""
    laplacian, signless = laplacians(batch["adjacency"])
    penalty, count = batch["penalty"], len(batch["penalty"])
    nodes = penalty.shape[1]
    diagonal = batch["curvature"] + 2 * penalty * batch["adjacency"].sum(axis=2)
    eye = np.eye(nodes)
    models = np.concatenate([penalty[:, :, None] * signless, -eye + np.zeros((count, 1, 1))], 2)
    models = models / diagonal[:, :, None]
    keeps = np.concatenate([np.zeros((nodes, nodes)), eye], axis=1)
    duals = keeps + dual_step * (laplacian @ models)
    balanced = np.block([[eye, 0 * eye], [0 * eye, eye - 1 / nodes]])
    return np.asarray(np.concatenate([models, duals], axis=1) @ balanced)


def spectral_radius(batch: Batch, dual_step: float) -> Array:
    """Return the largest modulus of an eigenvalue, shape ``(R,)``.

    Examples
    --------
    >>> pair, one = np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.ones((1, 2))
    >>> spectral_radius({"adjacency": pair, "penalty": one, "curvature": one}, 1.0).round(6)
    array([0.666667])
    """
    values = np.linalg.eigvals(iteration_map(batch, dual_step))
    return np.asarray(np.abs(values).max(axis=1))
