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
from flint import fmpq
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.losses import LINEAR, SQUARED
from dpaudit.algorithms.views.gossip import heard_on
from dpaudit.algorithms.views.records import curvatures, linear_terms
from dpaudit.algorithms.views.system import (
    Basis,
    Form,
    Network,
    Round,
    exact,
    exact_table,
    eye,
    on_coordinates,
)
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
    >>> from dpaudit.algorithms.views.view import View
    >>> data = Dataset(np.eye(3)[:, :1], [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = MultiStepADMM(
    ...     graph=ring(3), iterations=3, inner_steps=2, noise_multiplier=2.0, loss=LINEAR
    ... )
    >>> mus = []
    >>> for seen in ("broadcast", "inner"):
    ...     linear = LinearMultiStep(algorithm, seen=seen)
    ...     network = linear.network(data)
    ...     mus.append(View(network, network.coalition(1), [2, 0, 0]).mu.upper)
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

    @property
    def _sends_last(self) -> bool:
        return self.algorithm.message == "last"

    # --- runs, by the algorithm itself -------------------------------------------------------

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return what is seen of ``trials`` runs; shape as in `messages`."""
        shape = (trials, self.algorithm.steps, dataset.nodes, dataset.dimension)
        return self.messages(dataset, rng.standard_normal(shape))

    def messages(self, dataset: Dataset, normals: Array) -> Array:
        """Return what these standard normals, ``(R, t l, n, d)``, lead to.

        Shape ``(R, t, n, d)`` of the averages, ``(R, t l, n, d)`` of inner models.
        """
        algorithm, sent = self.algorithm, np.empty_like(normals)
        algorithm.check(dataset)
        scales, state = self._scales(dataset).astype(float), algorithm.start(dataset, len(normals))
        for step, scale in enumerate(scales):
            with np.errstate(invalid="ignore"):  # Lemma 5 times a multiplier, which is not used
                mean = algorithm.step(state, dataset).mean
            sent[:, step] = mean + scale[:, None] * normals[:, step]
            state = algorithm.advance(state, sent[:, step])
        if self.seen == "inner":
            return sent
        split = (len(sent), algorithm.iterations, algorithm.inner_steps, *sent.shape[2:])
        loops = sent.reshape(split)
        return np.asarray(loops[:, :, -1] if self._sends_last else loops.mean(axis=2))

    # --- the same, as linear forms -----------------------------------------------------------

    def data(self, dataset: Dataset) -> Form:
        """Return every ``b_i``, what the view is linear in, shape ``(n d,)``."""
        return linear_terms(dataset, fmpq(1))

    def network(self, dataset: Dataset) -> Network:
        """Return the rounds; of the dataset only the features of a squared loss matter."""
        self.algorithm.check(dataset)
        nodes = range(dataset.nodes)
        owners = np.repeat(nodes, dataset.dimension).tolist()
        curved = curvatures(dataset, fmpq(int(self.squared)))
        scales = self._scales(dataset)
        rounds = [
            self._round(k, dataset, curved, scales[(k - 1) * self.algorithm.inner_steps :])
            for k in range(1, self.algorithm.iterations + 1)
        ]
        times = self.algorithm.inner_steps if self.seen == "inner" else 1
        return Network(
            rounds=tuple(rounds),
            senders=tuple(owners * times),
            data_owners=tuple(owners),
            hears=heard_on(self.algorithm.graph),
            names=tuple(f"node {i}" for i in nodes),
        )

    def _scales(self, dataset: Dataset) -> Form:
        """Return the standard deviation of every update, shape ``(t l, n)``."""
        shape = (self.algorithm.steps, dataset.nodes)
        if self.noise_scale is not None:
            return exact_table("noise_scale", self.noise_scale, shape, least=0)
        multiplier, inner = self.algorithm.noise_multiplier, self.algorithm.inner_steps
        scales = [
            multiplier * self.algorithm.sensitivity(dataset, self._weights(dataset, k, r))
            for k in range(1, self.algorithm.iterations + 1)
            for r in range(1, inner + 1)
        ]
        return exact_table("noise_scale", np.stack(scales), shape)

    def _weights(self, dataset: Dataset, iteration: int, inner_step: int) -> Array:
        with np.errstate(invalid="ignore"):  # a constant step size does not look at the noise
            return self.algorithm.eta(dataset, iteration, inner_step)

    def _round(self, iteration: int, dataset: Dataset, curved: Form, scales: Form) -> Round:
        size, inner = dataset.dimension, self.algorithm.inner_steps
        count, penalty = dataset.nodes * size, exact("penalty", self.algorithm.penalty)
        heard = inner if self.seen == "inner" else 1
        basis = Basis((heard + 3) * count, inner * count, count)
        *_, here, dual, pull = np.split(basis.state(), heard + 3)
        degrees, adjacency = on_coordinates(self.algorithm.graph, size)
        slope = self._block_diagonal(curved, dataset)
        models = []
        for r, noise in enumerate(np.split(basis.noise(), inner)):
            weights = self._weights(dataset, iteration, r + 1)
            eta = np.repeat(exact_table("step_size", weights, weights.shape), size)[:, None]
            mean = eta * here - slope @ here + pull + basis.change()
            here = mean / (2 * penalty * np.diagonal(degrees)[:, None] + eta)
            here = here + np.repeat(scales[r], size)[:, None] * noise
            models.append(here)
        message = here if self._sends_last else sum(models[1:], models[0]) / fmpq(inner)
        own, others = degrees @ message, adjacency @ message
        dual = dual - penalty / 2 * (own - others)
        pull = 2 * dual + penalty * (own + others)
        owners = np.repeat(range(dataset.nodes), size).tolist() * inner
        seen = models if self.seen == "inner" else [message]
        return basis.round((*seen, here, dual, pull), owners)

    def _block_diagonal(self, curved: Form, dataset: Dataset) -> Form:
        """Return every A_i with its regulariser, acting on all models side by side."""
        size = dataset.dimension
        ridge = exact("lambda", self.algorithm.regulariser_weight) / dataset.nodes
        whole = ridge * eye(dataset.nodes * size)
        for i, block in enumerate(curved):
            place = slice(i * size, (i + 1) * size)
            whole[place, place] = whole[place, place] + block
        return np.asarray(whole)
