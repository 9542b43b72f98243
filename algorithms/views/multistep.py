r"""Views of multi-step DP-ADMM whose loss is linear or squared: Huang & Gong's Algorithm 1.

It is `dpaudit.algorithms.multistep.algorithm` (notation there) with ``grad L_i(w) = A_i w - b_i``,

    b_i = (1/m_i) sum y x,   A_i = (1/m_i) sum x x' + (lambda/n) 1   (squared; linear: no sum)

    w^{k,r+1} = [ b_i - A_i w^{k,r} + pull_i + eta_i^{k,r+1} w^{k,r} ] / (2 rho V_i + eta_i^{k,r+1})
    w^{k,r+1} <- w^{k,r+1} + scale_i^{k,r+1} n

An iteration is a round. Observers see the averages ``w~_i^k`` over the inner steps, which are all
that is sent (or the last inner models, where the algorithm sends these), or every inner model, the
view in which the paper proves its theorems. The noise is
``sigma s_i^{k,r}`` of Lemma 5; the squared loss has no such sensitivity, so its scale is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.affine.network import Roles
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.losses import LINEAR, SQUARED
from dpaudit.algorithms.views.linear import LinearRuns, number_table
from dpaudit.algorithms.views.records import compute_node_curvatures, linear_terms
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class LinearMultiStep(LinearRuns):
    """Multi-step DP-ADMM of which all messages are linear in data and noise.

    Parameters
    ----------
    algorithm
        With full gradients and the linear or the squared loss.
    noise_scale
        Standard deviation of every noisy update, a number or a table ``(t l, n)``; by default that
        of the algorithm, its noise multiplier times Lemma 5.
    seen
        ``broadcast``: the averages; ``inner``: every inner model of those that are heard.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> data = Dataset(np.eye(3)[:, :1], [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = MultiStepADMM(
    ...     graph=ring(3), iterations=3, inner_steps=2, noise_multiplier=2.0, loss=LINEAR
    ... )
    >>> mus = []
    >>> for seen in ("broadcast", "inner"):
    ...     linear = LinearMultiStep(algorithm, seen=seen)
    ...     network = linear.network(data)
    ...     mus.append(network.view(network.coalition(1), [2, 0, 0]).mu.upper)
    >>> [round(mu, 4) for mu in mus]  # that of all inner models is sqrt(t l) / sigma
    [1.1951, 1.2247]
    """

    algorithm: MultiStepADMM
    noise_scale: Any = None
    seen: str = "broadcast"

    def __post_init__(self) -> None:
        check.require_choice("seen", self.seen, ("broadcast", "inner"))
        if self.algorithm.loss not in (LINEAR, SQUARED):
            expected = "linear or squared: else the messages are not linear in the noise"
            raise InvalidArgument("loss", self.algorithm.loss.name, expected)
        if self.algorithm.batch_size is not None:
            raise InvalidArgument("batch_size", self.algorithm.batch_size, "None: full gradients")
        if self.noise_scale is None and self.algorithm.loss == SQUARED:
            raise InvalidArgument("noise_scale", None, "a number: Lemma 5 has none for this loss")

    @property
    def squared(self) -> bool:
        """Whether the loss has a curvature."""
        return self.algorithm.loss == SQUARED

    def shape(self, dataset: Dataset) -> tuple[int, int, int]:
        """Return the shape of the normals, ``(t l, n, d)``."""
        return self.algorithm.steps, dataset.nodes, dataset.dimension

    def terms(self, dataset: Dataset) -> Array:
        """Return every ``b_i``, in which models are linear, shape ``(n, d)``."""
        return linear_terms(dataset, 1.0)

    def run(self, dataset: Dataset, terms: Any, normals: Any) -> Any:
        """Return the view of nodes with these b: ``(R, t, n, d)``, or ``(R, t l, n, d)``."""
        algorithm, inner = self.algorithm, []
        curved, scales = (
            compute_node_curvatures(dataset, float(self.squared)),
            self._scales(dataset),
        )
        state = algorithm.start(dataset, len(normals))
        for step, scale in enumerate(scales):
            gradient = np.einsum("nij,rnj->rni", curved, state.inner) - terms
            with np.errstate(invalid="ignore"):  # Lemma 5 times a multiplier, which is not used
                mean = algorithm.step_along(state, dataset, gradient).mean
            inner.append(mean + scale[:, None] * normals[:, step])
            state = algorithm.advance(state, inner[-1])
        models = np.stack(inner, axis=1)
        if self.seen == "inner":
            return models
        shape = (len(normals), algorithm.iterations, algorithm.inner_steps, *normals.shape[2:])
        loops = models.reshape(shape)
        # Observers hear one message an iteration: its last inner model or the average of all.
        return loops[:, :, -1] if algorithm.message == "last" else loops.mean(axis=2)

    def roles(self, dataset: Dataset) -> Roles:
        """Return those of the nodes; a round is all that is seen at once."""
        graph, steps = self.algorithm.graph, self.algorithm.steps
        return Roles.of_nodes(graph.adjacency, dataset.dimension, drawn=steps)

    def _scales(self, dataset: Dataset) -> Array:
        """Return the standard deviation of every update, shape ``(t l, n)``."""
        algorithm, given = self.algorithm, self.noise_scale
        if given is None:
            steps = [divmod(step, algorithm.inner_steps) for step in range(algorithm.steps)]
            weights = [algorithm.eta(dataset, k + 1, r + 1) for k, r in steps]
            bounds = [algorithm.sensitivity(dataset, eta) for eta in weights]
            given = algorithm.noise_multiplier * np.stack(bounds)
        shape = algorithm.steps, dataset.nodes
        return number_table("noise_scale", given, shape, least=0).astype(float)
