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
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.losses import LINEAR, SQUARED
from dpaudit.algorithms.views.network import Network, Roles, number_table, trace
from dpaudit.algorithms.views.records import curvatures, linear_terms
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class LinearMultiStep:
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
        check.choice("seen", self.seen, ("broadcast", "inner"))
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

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return what is seen of ``trials`` runs; shape as in `messages`."""
        return self.messages(dataset, rng.standard_normal((trials, *self._shape(dataset))))

    def messages(self, dataset: Dataset, normals: Array) -> Array:
        """Return what these standard normals, ``(R, t l, n, d)``, lead to.

        Shape ``(R, t, n, d)`` of the averages, ``(R, t l, n, d)`` of inner models.
        """
        seen = np.asarray(self._run(dataset, linear_terms(dataset, 1.0), normals))
        return seen.reshape(len(seen), -1, *normals.shape[2:])

    def _run(self, dataset: Dataset, terms: Any, normals: Any) -> Any:
        """Return what is seen of nodes with these b, shape ``(R, t, n, d)`` or (R, t, l, n, d)."""
        algorithm, inner = self.algorithm, []
        curved, scales = curvatures(dataset, float(self.squared)), self._scales(dataset)
        state = algorithm.start(dataset, len(normals))
        for step, scale in enumerate(scales):
            gradient = np.einsum("nij,rnj->rni", curved, state.inner) - terms
            with np.errstate(invalid="ignore"):  # Lemma 5 times a multiplier, which is not used
                mean = algorithm.step_along(state, dataset, gradient).mean
            inner.append(mean + scale[:, None] * normals[:, step])
            state = algorithm.advance(state, inner[-1])
        shape = (len(normals), algorithm.iterations, algorithm.inner_steps, *normals.shape[2:])
        loops = np.reshape(np.stack(inner, axis=1), shape)
        if self.seen == "inner":
            return loops
        return loops[:, :, -1] if algorithm.message == "last" else loops.mean(axis=2)

    # --- what observers see ------------------------------------------------------------------

    def data(self, dataset: Dataset) -> Array:
        """Return every ``b_i``, what the view is linear in, shape ``(n d,)``."""
        return linear_terms(dataset, 1.0).ravel()

    def network(self, dataset: Dataset) -> Network:
        """Return what is seen, as every b forms it, an iteration a round."""
        self.algorithm.check(dataset)
        sent = self.algorithm.inner_steps if self.seen == "inner" else 1
        shape, graph = self._shape(dataset), self.algorithm.graph
        roles = Roles.of_nodes(graph, dataset.dimension, sent=sent, drawn=self.algorithm.steps)
        return trace(partial(self._run, dataset), np.zeros(shape[1:]), shape, roles)

    def _shape(self, dataset: Dataset) -> tuple[int, int, int]:
        return self.algorithm.steps, dataset.nodes, dataset.dimension

    def _scales(self, dataset: Dataset) -> Array:
        """Return the standard deviation of every update, shape ``(t l, n)``."""
        shape, given = (self.algorithm.steps, dataset.nodes), self.noise_scale
        if given is None:
            given = np.stack([self._sensitivity(dataset, step) for step in range(shape[0])])
            given = self.algorithm.noise_multiplier * given
        return number_table("noise_scale", given, shape, least=0).astype(float)

    def _sensitivity(self, dataset: Dataset, step: int) -> Array:
        """Return Lemma 5's of all nodes."""
        iteration, inner = divmod(step, self.algorithm.inner_steps)
        eta = self.algorithm.eta(dataset, iteration + 1, inner + 1)
        return self.algorithm.sensitivity(dataset, eta)
