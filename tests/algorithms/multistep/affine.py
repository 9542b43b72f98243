"""A run with affine gradients as one linear map of all its noise: an oracle.

Nothing is shared with the package but the public parameters: the update (13a), the duals (15) and
the final models (22) are written out again, on rows that hold a mean and one coefficient for every
draw of noise. With it the size of Figure 1: Adult's records on the nodes of a complete graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, compute_theorem6_multiplier
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.algorithms.problems.step_sizes import DecayingStepSize


@dataclass(frozen=True, kw_only=True)
class Affine:
    """Hessians ``(n, d, d)`` and proximal weights ``(t, l, n)``; the change is at node 0.

    Noise of node i is ``sigma share_i / C_i`` where the change moves the gradient by at most 1.
    """

    adjacency: np.ndarray
    weights: np.ndarray
    penalty: float
    sigma: float
    shares: np.ndarray
    hessians: np.ndarray
    change: np.ndarray
    message: str = "average"

    def rows(self):
        """Return what is sent, ``(t n d, 1 + N)``, and the final models, ``(n d, 1 + N)``."""
        t, steps, n = self.weights.shape
        d = len(self.change)
        count = t * steps * n * d
        zero = np.zeros((n, d, 1 + count))
        model, dual, broadcast, total, column = zero, zero, zero, zero, 1
        sent = []
        for k in range(t):
            loop = []
            neighbours = np.einsum("ij,jdc->idc", self.adjacency, broadcast)
            for r in range(steps):
                total = total + model
                new = np.empty_like(model)
                for i in range(n):
                    degree = self.adjacency[i].sum()
                    unit = 2 * self.penalty * degree + self.weights[k, r, i]
                    gradient = np.einsum("ab,bc->ac", self.hessians[i], model[i])
                    gradient[:, 0] += self.change if i == 0 else 0.0
                    pull = self.penalty * (degree * broadcast[i] + neighbours[i])
                    new[i] = self.weights[k, r, i] * model[i] - gradient + 2 * dual[i] + pull
                    new[i] /= unit
                    for a in range(d):
                        new[i, a, column] += self.sigma * self.shares[i] / unit
                        column += 1
                model = new
                loop.append(model)
            broadcast = loop[-1] if self.message == "last" else sum(loop) / steps
            sent.append(broadcast)
            for i in range(n):
                for j in np.flatnonzero(self.adjacency[i]):
                    dual = dual.copy()
                    dual[i] -= self.penalty / 2 * (broadcast[i] - broadcast[j])
        return np.stack(sent).reshape(-1, 1 + count), total.reshape(n * d, -1) / (t * steps)

    def mus(self):
        """Return mu of what is sent, and of the final models."""
        return tuple(mahalanobis(rows) for rows in self.rows())


def mahalanobis(rows):
    """Return ``sqrt(s' C^-1 s)`` for the mean s and covariance C of rows of a linear map."""
    noise, shift = rows[:, 1:], rows[:, 0]
    return math.sqrt(shift @ np.linalg.solve(noise @ noise.T, shift))


def chain(weights, stiffness, sigma, curvature):
    """Return the rows of one node's inner models without any pull, ``(t, l, 1 + t l)``."""
    t, steps = weights.shape
    rows, last = [], np.zeros(1 + t * steps)
    for column, eta in enumerate(weights.ravel(), 1):
        unit = stiffness + eta
        last = (eta - curvature) / unit * last
        last[0] += 1 / unit
        last[column] += sigma / unit
        rows.append(last)
    return np.array(rows).reshape(t, steps, -1)


@dataclass(frozen=True)
class Sizes:
    """What is public of a dataset."""

    node_sizes: tuple[int, ...]
    dimension: int


def figure_1(epsilon=1.0, nodes=5, penalty=0.001):
    """Return the algorithm at the size of Figure 1, and the sizes of its data."""
    algorithm = MultiStepADMM(
        graph=complete(nodes),
        iterations=50,
        inner_steps=10,
        penalty=penalty,
        loss=LINEAR,
        noise_multiplier=compute_theorem6_multiplier(epsilon, 1e-5, 500),
        step_size=DecayingStepSize(diameter=20.0),
    )
    return algorithm, Sizes((45_220 // nodes,) * nodes, 104)
