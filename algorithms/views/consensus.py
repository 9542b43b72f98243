r"""Views of consensus ADMM whose losses are linear or squared and whose noise is Gaussian.

It is `dpaudit.algorithms.consensus.algorithm` (zhang2018, eq. 10-11; notation there) with

    f_i      <- argmin O_i(f) + eta_i V_i ||f||^2 - (c_i + 2 eta_i V_i sigma_i(t) n)'f    (dual)
    f_i      <- argmin O_i(f) + eta_i V_i ||f||^2 - c_i'f,  then + sigma_i(t) n           (primal)
    lambda_i <- lambda_i + theta_i/2 sum_j (f_i - f_j)

where ``c_i = eta_i sum_j (f_i + f_j) - 2 lambda_i`` and n is standard normal. ``dual`` is the place
of the noise of DVP and PP (eq. 24-25), ``primal`` that of PVP. With

    O_i(f) = f'A_i f / 2 - b_i'f,   b_i = (C/B_i) sum_n y_n x_n,
    A_i    = (C/B_i) sum_n x_n x_n' + (rho/N) 1   (squared loss),   (rho/N) 1   (linear loss)

the first line is ``f = (A_i + 2 eta_i V_i 1)^-1 (c_i + b_i + noise)``. A label moves b_i alone, and
so does a record of the linear loss: the change of the data is that of every b_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.smooth_losses import LINEAR, SQUARED
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
    inverse,
    on_coordinates,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown


@dataclass(frozen=True, eq=False)
class GaussianConsensus:
    """Consensus ADMM with Gaussian noise.

    Parameters
    ----------
    algorithm
        Without noise of its own, and with the `SQUARED` or the `LINEAR` loss.
    noise_scale
        ``sigma_i(t)``: a number, or a table of shape ``(T, N)``; 0 for no noise.
    noise
        ``primal`` or ``dual``.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> data = Dataset(np.eye(3)[:, :2], [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = ConsensusADMM(graph=ring(3), iterations=4, loss=SQUARED)
    >>> GaussianConsensus(algorithm, 0.5).sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 2)
    """

    algorithm: ConsensusADMM
    noise_scale: Any
    noise: str = "primal"

    def __post_init__(self) -> None:
        check.choice("noise", self.noise, ("primal", "dual"))
        if self.algorithm.noise_rate is not None:
            given = Shown("noise of density exp(-alpha ||e||)")
            raise InvalidArgument("algorithm", given, "none: here all noise is Gaussian")
        if self.algorithm.loss not in (LINEAR, SQUARED):
            expected = "linear or squared: else the noise does not enter linearly"
            raise InvalidArgument("loss", self.algorithm.loss.name, expected)
        self._scales  # noqa: B018

    @property
    def _scales(self) -> Form:
        shape = (self.algorithm.iterations, self.algorithm.graph.nodes)
        return exact_table("noise_scale", self.noise_scale, shape, least=0)

    @property
    def squared(self) -> bool:
        """Whether the loss has a curvature."""
        return self.algorithm.loss == SQUARED

    # --- runs, by the algorithm itself -------------------------------------------------------

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return the broadcasts of ``trials`` runs, shape ``(R, T, N, d)``."""
        shape = (trials, self.algorithm.iterations, dataset.nodes, dataset.dimension)
        return self.broadcasts(dataset, rng.standard_normal(shape))

    def broadcasts(self, dataset: Dataset, normals: Array) -> Array:
        """Return the broadcasts that these standard normals lead to, shape ``(R, T, N, d)``."""
        self.algorithm.check(dataset)
        scales, sent = self._scales.astype(float)[:, :, None], np.empty_like(normals)
        state = self.algorithm.start(dataset, len(normals))
        for t, stretch in enumerate(self.algorithm.stretch):
            noise, linear = scales[t] * normals[:, t], self.algorithm.pull(state)
            if self.noise == "dual":
                linear = linear + stretch[:, None] * noise
            sent[:, t] = self.algorithm.minimise(linear, dataset, t + 1)
            if self.noise == "primal":
                sent[:, t] += noise
            state = self.algorithm.advance(state, sent[:, t])
        return sent

    # --- the same, as linear forms -----------------------------------------------------------

    def data(self, dataset: Dataset) -> Form:
        """Return every ``b_i``, what the view is linear in, shape ``(N d,)``."""
        return linear_terms(dataset, exact("loss_weight", self.algorithm.loss_weight))

    def network(self, dataset: Dataset) -> Network:
        """Return the rounds; of the dataset only the features of a squared loss matter."""
        self.algorithm.check(dataset)
        nodes, size = range(dataset.nodes), dataset.dimension
        owners = tuple(np.repeat(nodes, size).tolist())
        weight = exact("loss_weight", self.algorithm.loss_weight) * int(self.squared)
        curved, known = curvatures(dataset, weight), dict[bytes, Round]()
        rounds = []
        for t in range(self.algorithm.iterations):
            key = self._parameters(t)
            if key not in known:
                known[key] = self._round(t, dataset, curved, owners)
            rounds.append(known[key])
        return Network(
            rounds=tuple(rounds),
            senders=owners,
            data_owners=owners,
            hears=heard_on(self.algorithm.graph),
            names=tuple(f"node {i}" for i in nodes),
        )

    def _parameters(self, t: int) -> bytes:
        rows = self.algorithm.stretch[t], self.algorithm.dual_steps[t]
        return b"".join(row.tobytes() for row in rows) + repr(self._scales[t].tolist()).encode()

    def _round(self, t: int, dataset: Dataset, curved: Form, owners: tuple[int, ...]) -> Round:
        size, count = dataset.dimension, len(owners)
        basis, unit = Basis(2 * count, count, count), eye(size)
        shape = (dataset.nodes,)
        stretch = exact_table("stretch", self.algorithm.stretch[t], shape)
        step = exact_table("dual_step", self.algorithm.dual_steps[t], shape)
        ridge = exact("rho", self.algorithm.regulariser_weight) / dataset.nodes
        degrees, adjacency = on_coordinates(self.algorithm.graph, size)
        models, dual = np.split(basis.state(), 2)
        noise = _each(self._scales[t], size) * basis.noise()
        around = degrees @ models + adjacency @ models
        wide = _each(stretch, size)
        linear = wide / (2 * np.diagonal(degrees)[:, None]) * around - 2 * dual + basis.change()
        if self.noise == "dual":
            linear = linear + wide * noise
        parts = [
            inverse(curved[i] + (ridge + stretch[i]) * unit) @ linear[i * size : (i + 1) * size]
            for i in range(dataset.nodes)
        ]
        sent = np.concatenate(parts)
        if self.noise == "primal":
            sent = sent + noise
        gap = degrees @ sent - adjacency @ sent
        return basis.round((sent, dual + _each(step, size) / 2 * gap), owners)


def _each(values: Form, size: int) -> Form:
    """Return a node's number at each of its coordinates, as a column."""
    return np.asarray(np.repeat(values, size)[:, None])
