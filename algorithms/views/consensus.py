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

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.affine.network import Roles
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.smooth_losses import LINEAR, SQUARED
from dpaudit.algorithms.views.linear import LinearRuns, number_table
from dpaudit.algorithms.views.records import compute_node_curvatures, linear_terms
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText


@dataclass(frozen=True, eq=False)
class GaussianConsensus(LinearRuns):
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
        check.require_choice("noise", self.noise, ("primal", "dual"))
        if self.algorithm.noise_rate is not None:
            given = VerbatimText("noise of density exp(-alpha ||e||)")
            raise InvalidArgument("algorithm", given, "none: here all noise is Gaussian")
        if self.algorithm.loss not in (LINEAR, SQUARED):
            expected = "linear or squared: else the noise does not enter linearly"
            raise InvalidArgument("loss", self.algorithm.loss.name, expected)
        # A bad table of scales is to be refused when the object is made, not in the first run.
        self._scales  # noqa: B018

    @property
    def _scales(self) -> Array:
        shape = (self.algorithm.iterations, self.algorithm.graph.nodes)
        return number_table("noise_scale", self.noise_scale, shape, least=0).astype(float)

    @property
    def squared(self) -> bool:
        """Whether the loss has a curvature."""
        return self.algorithm.loss == SQUARED

    def shape(self, dataset: Dataset) -> tuple[int, int, int]:
        """Return the shape of normals and of broadcasts, ``(T, N, d)``."""
        return self.algorithm.iterations, dataset.nodes, dataset.dimension

    def terms(self, dataset: Dataset) -> Array:
        """Return every ``b_i``, in which broadcasts are linear, shape ``(N, d)``."""
        return linear_terms(dataset, self.algorithm.loss_weight)

    def run(self, dataset: Dataset, terms: Any, normals: Any) -> Any:
        """Return the broadcasts of nodes with these ``b_i``, shape ``(R, T, N, d)``."""
        algorithm, sent = self.algorithm, []
        state = algorithm.start(dataset, len(normals))
        for t, gains in enumerate(self._gains(dataset)):
            noise = self._scales[t][:, None] * normals[:, t]
            linear = algorithm.pull(state) + terms
            if self.noise == "dual":
                linear = linear + algorithm.stretch[t][:, None] * noise
            model = np.einsum("nij,rnj->rni", gains, linear)
            sent.append(model + noise if self.noise == "primal" else model)
            state = algorithm.advance(state, sent[-1])
        return np.stack(sent, axis=1)

    def _gains(self, dataset: Dataset) -> Array:
        """Return ``(A_i + 2 eta_i V_i 1)^-1`` of all iterations, shape ``(T, N, d, d)``."""
        curved = compute_node_curvatures(dataset, self.algorithm.loss_weight * self.squared)
        ridge = self.algorithm.regulariser_weight / dataset.nodes + self.algorithm.stretch
        wide = curved + ridge[:, :, None, None] * np.eye(dataset.dimension)
        return np.asarray(np.linalg.inv(wide), dtype=np.float64)

    def roles(self, dataset: Dataset) -> Roles:
        """Return those of the nodes."""
        graph, rounds = self.algorithm.graph, self.algorithm.iterations
        return Roles.of_nodes(graph.adjacency, dataset.dimension, drawn=rounds)
