r"""DP-ADMM (Huang, Hu, Guo, Chan-Tin & Gong 2019): linearised consensus through a server.

Notation: paper, code, meaning, shape (R trials, n nodes, d features, T iterations).

| paper     | code                 | meaning                                           | shape   |
|-----------|----------------------|---------------------------------------------------|---------|
| w~_i^k    | ``local``            | noisy local model, sent to the server             | (R,n,d) |
| w^k       | ``consensus``        | the server's average, sent to everybody           | (R,d)   |
| gamma_i^k | ``dual``             | dual variable                                     | (R,n,d) |
| rho       | ``penalty``          | ADMM penalty                                      | scalar  |
| 1/eta_i^k | ``step_size``        | proximal weight of iteration k, grows like sqrt k | (n,)    |
| sigma     | ``noise_multiplier`` | noise in multiples of the sensitivity             | scalar  |
| c_1       | ``loss.lipschitz``   | Lipschitz constant of the loss                    | scalar  |

    w_i  = argmin <grad L_i(w~_i) - gamma_i, w> + rho/2 ||w - w^{k-1}||^2 + ||w - w~_i||^2 / (2 eta)
         = (-grad L_i(w~_i) + gamma_i + rho w^{k-1} + w~_i / eta) / (rho + 1/eta)
    w~_i = w_i + N(0, sigma^2 s_i^2 I),     s_i = 2 c_1 / (m_i (rho + 1/eta))
    w^k  = mean_i (w~_i - gamma_i / rho)
    gamma_i <- gamma_i - rho (w~_i - w^k)

with ``L_i(w) = (1/m_i) sum l(b a'w) + (lambda/n) ||w||^2 / 2``. It is no special case of
`dpaudit.algorithms.multistep.algorithm` with one inner step: the consensus variable is the
server's, not an average over edges. The releases are Gaussian given the past, so its law is that of
a `GaussianSteps`.

The article is not among this project's papers, so no equation of it is cited. What Huang & Gong say
of it: section 6.3, "an approximate augmented Lagrangian function with time-varying Gaussian noise
addition"; section 3.1, that it approximates the objective as they do, for which they have eq. (11)
and (12); section 5.3, that it is their baseline (5). The update above minimises such an
approximation, with the noise of their eq. (14) and the sensitivity of their Lemma 5, eq. (16), for
a curvature of rho + 1/eta in place of 2 rho V + eta. That a server takes the average, they do not
say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import Event, GaussianRelease
from dpaudit.algorithms.problems.linearised_objectives import (
    bound_squared_shifts,
    full_gradient,
    mean_shift,
    proximal_weights,
)
from dpaudit.algorithms.problems.losses import LOGISTIC, MarginLoss
from dpaudit.algorithms.problems.records import Differing, check_records
from dpaudit.algorithms.problems.step_sizes import DecayingStepSize, StepSize
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import UnsupportedEvent
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class ServerState:
    """Everything the next release depends on besides the data; a function of past releases."""

    local: Array
    consensus: Array
    dual: Array
    iteration: int


@dataclass(frozen=True, kw_only=True)
class ServerADMM:
    """The algorithm, as public parameters.

    Parameters
    ----------
    nodes, iterations
        ``n`` and ``T``.
    penalty
        ``rho``.
    noise_multiplier
        ``sigma``; 0 runs the algorithm without privacy.
    loss
        A convex margin loss.
    regulariser_weight
        ``lambda`` of the L2 regulariser.
    step_size
        The proximal weights ``1/eta_i^k``.

    Notes
    -----
    Formal guarantee: ``sqrt(T) / sigma``-Gaussian DP under replace-one, as the record's gradient
    moves a mean by at most ``s_i`` and Gaussian releases compose (`event`).

    Examples
    --------
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = ServerADMM(nodes=3, iterations=4, noise_multiplier=1.0)
    >>> algorithm.broadcast().sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 3)
    """

    nodes: int
    iterations: int
    noise_multiplier: float
    penalty: float = 0.1
    loss: MarginLoss = LOGISTIC
    regulariser_weight: float = 1e-4
    step_size: StepSize = field(default_factory=DecayingStepSize)

    def __post_init__(self) -> None:
        check.require_integer("nodes", self.nodes, least=1)
        check.require_integer("iterations", self.iterations, least=1)
        check.require_positive("penalty", self.penalty)
        check.non_negative("noise_multiplier", self.noise_multiplier)
        check.non_negative("regulariser_weight", self.regulariser_weight)

    def broadcast(self) -> GaussianSteps[Dataset, ServerState]:
        """Return the mechanism whose observer sees every ``w~_i^k``, shape ``(R, T, n, d)``.

        ``w^k`` and ``gamma_i^k`` are functions of these.
        """
        return GaussianSteps(self)

    def without_noise(self) -> ServerADMM:
        """Return the non-private algorithm."""
        return replace(self, noise_multiplier=0.0)

    def event(self) -> Event:
        """Return the release of one record's node: ``T`` Gaussian steps of ratio ``1/sigma``."""
        if self.noise_multiplier == 0:
            raise UnsupportedEvent("event: got no noise, expected noise")
        # In units of the sensitivity, the noise has the scale sigma.
        return GaussianRelease(
            sensitivity=1.0, noise_scale=self.noise_multiplier, count=self.iterations
        )

    # --- the algorithm: state, step, advance -----------------------------------------------

    @property
    def steps(self) -> int:
        """Number of releases of each node."""
        return self.iterations

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the algorithm applies to ``dataset``."""
        check_records(dataset, self.nodes, f"{self.nodes} nodes")

    def start(self, dataset: Dataset, trials: int) -> ServerState:
        """Return the state before the first release: all models and duals at 0."""
        zero = np.zeros((trials, dataset.nodes, dataset.dimension))
        return ServerState(zero, zero[:, 0], zero, iteration=1)

    def step(self, state: ServerState, dataset: Dataset) -> Step:
        """Return the law of the next ``w~_i^k``."""
        weights = self.proximal_weights(dataset, state.iteration)
        weight = weights[:, None]
        # The regulariser is linearised with the loss: its gradient at the local model comes off.
        target = (weight - self.regulariser_weight / dataset.nodes) * state.local + state.dual
        target += self.penalty * state.consensus[:, None, :]
        target -= full_gradient(self.loss, state.local, dataset)
        scale = self.noise_multiplier * self.sensitivity(dataset, weights)
        return Step(target / (self.penalty + weight), scale[:, None])

    def advance(self, state: ServerState, output: Array) -> ServerState:
        """Return the state after the server's average and the dual update."""
        consensus = (output - state.dual / self.penalty).mean(axis=1)
        dual = state.dual - self.penalty * (output - consensus[:, None, :])
        return ServerState(output, consensus, dual, state.iteration + 1)

    def shift(self, state: ServerState, pair: Pair[Dataset]) -> Array:
        """Return how far the differing record moves the next mean, shape ``(R, n, d)``."""
        record = Differing.of(pair)
        weight = self.proximal_weights(pair.dataset, state.iteration)[record.node]
        return mean_shift(self.loss, state.local, record, self.penalty + weight)

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return bounds on ``sum ||shift||^2 / scale^2`` over all outputs."""
        return bound_squared_shifts(self, Differing.of(pair))

    # --- constants -------------------------------------------------------------------------

    def sensitivity(self, dataset: Dataset, weights: Array) -> Array:
        """Return ``2 c_1 / (m_i (rho + 1/eta))`` of every node, shape ``(n,)``."""
        curvature = (self.penalty + weights) * np.array(dataset.node_sizes)
        bound: Array = 2 * self.loss.lipschitz / curvature
        return bound

    def proximal_weights(self, dataset: Dataset, iteration: int) -> Array:
        """Return ``1/eta_i^k``, shape ``(n,)``; k counts from 1."""
        return proximal_weights(self, dataset, iteration)
