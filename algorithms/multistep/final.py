r"""The exact law of the final models of multi-step DP-ADMM, where gradients are affine.

The final model of a node, eq. (22), is the mean of ``w~^{k,r}`` over k = 1..t and r = 0..l-1; its
first term is the public start, 0, and the last output is left out. (Where last models are sent, w
takes the place of s / l below.) Where every node's gradient is ``h w - b``, with the same h on both
datasets, a run is a linear map of its noise and of the b, the same for every feature:

| entry | meaning                        | update at a step; at the end of an iteration    |
|-------|--------------------------------|-------------------------------------------------|
| w     | inner models                   | ``((eta - h) w + pull + b) / C + noise``        |
| s     | sum of this iteration's models | ``s + w`` after a step; 0 after the iteration   |
| y     | dual variables, eq. (15)       | ``y - rho / 2 (V - A) s / l``                   |
| pull  |                                | ``2 y + rho (V + A) s / l``                     |
| f     | sum of what eq. (22) averages  | ``f + w`` before a step                         |

each of shape (n,), with V the degrees and A the adjacency. So the final models of all nodes are
Gaussian: ``N(R b, K)`` in every feature, with public n x n matrices R and K. A record of node i
that moves b by g moves their mean by ``R_i g'``, and **the released final models are exactly
mu-Gaussian DP with** ``mu = ||g|| sqrt(R_i' K^-1 R_i)``. K is at least the noise of step t l - 1
and so regular; with t l = 1 nothing but 0 is released.

The linear loss with its regulariser is the case ``h = lambda / n``. **Beyond affine gradients only
composition is proved** (`dpaudit.algorithms.multistep.hidden_state.composition_mu`, by
post-processing): the shift then depends on hidden models, and the argument for the last inner model
needs an output that comes last, where eq. (22) adds up all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, final_model
from dpaudit.algorithms.multistep.hidden_state import all_weights, require_known_law
from dpaudit.algorithms.problems.linearised_objectives import DatasetSizes, full_gradient
from dpaudit.algorithms.problems.records import Differing
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class FinalLaw:
    """The final models as a linear map: ``mean = response @ b``, in every feature.

    ``response`` and ``covariance`` have shape ``(n, n)``, the unit of b and of its square.
    """

    response: Array
    covariance: Array

    @cached_property
    def root(self) -> Array:
        """The lower triangular root of the covariance, shape ``(n, n)``."""
        return np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)

    def mu(self, node: int) -> float:
        """Return the mu of a change of the node's b by a vector of norm 1."""
        if not self.response.any():  # nothing but the public start
            return 0.0
        white = solve_triangular(self.root, self.response[:, node], lower=True)
        return float(np.linalg.norm(white))


def final_law(algorithm: MultiStepADMM, sizes: DatasetSizes, curvature: float) -> FinalLaw:
    """Return the law of eq. (22) of an affine instance, of shape ``(n, n)`` each.

    Parameters
    ----------
    algorithm
        Its loss is not used.
    sizes
        Node sizes and dimension of the data.
    curvature
        ``h``: the gradient at every node is ``h w - b``.

    Raises
    ------
    InvalidArgument
        There is no noise, gradients are of mini-batches, or the curvature is below 0.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import complete
    >>> from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
    >>> algorithm = MultiStepADMM(
    ...     graph=complete(1), iterations=1, inner_steps=2, noise_multiplier=1.0,
    ...     step_size=ConstantStepSize(1.0),
    ... )
    >>> data = Dataset(np.eye(2), [1, 1], node_sizes=(2,))
    >>> law = final_law(algorithm, data, 0.0)  # (0 + w^1) / 2
    >>> float(law.response[0, 0]), float(law.covariance[0, 0])
    (0.5, 0.25)
    """
    require_known_law(algorithm)
    check.non_negative("curvature", curvature)
    run, total = _Network(algorithm, sizes, curvature), algorithm.steps
    nodes = algorithm.graph.nodes
    effect, covariance = np.zeros((5 * nodes, nodes)), np.zeros((5 * nodes, 5 * nodes))
    for weights in all_weights(algorithm, sizes):
        for eta in weights:
            update, push, noise = run.step(eta)
            effect = update @ effect + push
            covariance = update @ covariance @ update.T + noise
        # Broadcasts, duals and pull change once an iteration, after its last step.
        ended = run.ended
        effect, covariance = ended @ effect, ended @ covariance @ ended.T
    # f is the last block of the state; eq. (22) divides it by t l.
    return FinalLaw(effect[-nodes:] / total, covariance[-nodes:, -nodes:] / total**2)


@dataclass(frozen=True)
class _Network:
    """The maps of the state (w, s, y, pull, f) of the module, each entry of n numbers."""

    algorithm: MultiStepADMM
    sizes: DatasetSizes
    curvature: float

    def step(self, eta: Array) -> tuple[Array, Array, Array]:
        """Return the map of one step, the effect of b, and the covariance of the noise."""
        nodes, algorithm = len(eta), self.algorithm
        one = np.eye(nodes)
        unit = np.diag(1 / (2 * algorithm.penalty * algorithm.graph.degrees + eta))
        update = np.eye(5 * nodes)
        # Duals enter a step through the pull alone, so it has no block for y.
        w, s, pull, f = (slice(i * nodes, (i + 1) * nodes) for i in (0, 1, 3, 4))
        # Eq. (22) sums models before a step, so f takes the w that the step starts from.
        update[f, w] = one
        update[w, w], update[w, pull] = unit @ np.diag(eta - self.curvature), unit
        update[s, w], update[s, pull] = update[w, w], unit
        into = np.zeros((5 * nodes, nodes))
        # What enters w at a step enters the sum of the iteration's models, too.
        into[w] = into[s] = one
        push = into @ unit
        return update, push, push @ np.diag(self._deviations**2) @ push.T

    @cached_property
    def ended(self) -> Array:
        """The map at the end of an iteration: dual variables and pull, from the messages."""
        graph, rho, last = self.algorithm.graph, self.algorithm.penalty, self._sends_last
        nodes = graph.nodes
        update = np.eye(5 * nodes)
        w, s, y, pull = (slice(i * nodes, (i + 1) * nodes) for i in range(4))
        sent, share = (w, 1.0) if last else (s, 1 / self.algorithm.inner_steps)
        degrees = np.diag(graph.degrees)
        update[y, sent] = -share * rho / 2 * (degrees - graph.adjacency)
        update[pull, pull] = 0.0
        update[pull, y] = 2 * np.eye(nodes)
        # The pull is made of the new duals, so their change enters it as well.
        update[pull, sent] = 2 * update[y, sent] + share * rho * (degrees + graph.adjacency)
        update[s, s] = 0.0
        return update

    @property
    def _sends_last(self) -> bool:
        return self.algorithm.message == "last"

    @cached_property
    def _deviations(self) -> Array:
        """Noise of every node in units of its gradient: ``sigma 2 c_1 / m_i``."""
        algorithm = self.algorithm
        scale = 2 * algorithm.loss.lipschitz * algorithm.noise_multiplier
        return np.asarray(scale / np.array(self.sizes.node_sizes))


def final_mu(algorithm: MultiStepADMM, sizes: DatasetSizes, node: int, curvature: float) -> float:
    """Return the mu of the final models of all nodes, exactly, of an affine instance.

    Formal guarantee: where the gradient at every node is ``h w - b``, with the same h on both
    datasets, whoever sees eq. (22) of all nodes and nothing else learns at most mu-Gaussian DP
    about a record of the node; one that moves the gradient by ``2 c_1 / m_i`` reaches it.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import complete
    >>> algorithm = MultiStepADMM(
    ...     graph=complete(5), iterations=50, inner_steps=10, noise_multiplier=100.0
    ... )
    >>> data = Dataset(np.tile([1.0, 0.0], (10, 1)), np.ones(10), node_sizes=(2,) * 5)
    >>> mu = final_mu(algorithm, data, 0, 1e-4 / 5)
    >>> mu < 500 ** 0.5 / 100 / 2  # less than half of composition
    True
    """
    if not 0 <= check.require_integer("node", node, least=0) < algorithm.graph.nodes:
        raise InvalidArgument("node", node, f"one of the {algorithm.graph.nodes} nodes")
    return final_mus(algorithm, sizes, curvature)[node]


def final_mus(algorithm: MultiStepADMM, sizes: DatasetSizes, curvature: float) -> tuple[float, ...]:
    """Return `final_mu` of every node, from one law.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import star
    >>> algorithm = MultiStepADMM(
    ...     graph=star(3), iterations=4, inner_steps=2, noise_multiplier=1.0
    ... )
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> [round(mu, 3) for mu in final_mus(algorithm, data, 0.0)]
    [2.41, 2.369, 2.369]
    """
    law = final_law(algorithm, sizes, curvature)
    # A record moves b by at most Lemma 5's 2 c_1 / m.
    changes = [2 * algorithm.loss.lipschitz / size for size in sizes.node_sizes]
    return tuple(change * law.mu(node) for node, change in enumerate(changes))


# --- as a process: node after node --------------------------------------------------------------


@dataclass(frozen=True)
class FinalModelsState:
    """The law, and the final models of the nodes so far, shape ``(R, j, d)``."""

    law: FinalLaw
    seen: Array


@dataclass(frozen=True)
class FinalModels:
    """The final models as a Gaussian process of n steps: a node's, given those before it.

    Raises
    ------
    InvalidArgument
        The loss is not linear, gradients are of mini-batches, or there is one step alone, whose
        final model is the public start.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> from dpaudit.algorithms.problems.losses import LINEAR
    >>> algorithm = MultiStepADMM(
    ...     graph=ring(3), iterations=4, inner_steps=2, noise_multiplier=1.0, loss=LINEAR
    ... )
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> GaussianSteps(FinalModels(algorithm)).sample(data, 5, np.random.default_rng(0)).shape
    (5, 3, 3)
    """

    algorithm: MultiStepADMM

    def __post_init__(self) -> None:
        require_linear(self.algorithm)
        if self.algorithm.steps == 1:
            raise InvalidArgument("inner_steps", 1, "2 steps or more in all")

    @property
    def steps(self) -> int:
        """``n``."""
        return self.algorithm.graph.nodes

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the algorithm applies to ``dataset``."""
        self.algorithm.check(dataset)

    def start(self, dataset: Dataset, trials: int) -> FinalModelsState:
        """Return the state before the first node; of the data only the sizes are used."""
        # `steps` counts nodes here: the curvature is lambda / n.
        law = final_law(self.algorithm, dataset, self.algorithm.regulariser_weight / self.steps)
        seen = np.zeros((trials, 0, dataset.dimension))
        return FinalModelsState(law, seen)

    def step(self, state: FinalModelsState, dataset: Dataset) -> Step:
        """Return the law of the next node's final model, shape ``(R, d)``."""
        node, nothing = state.seen.shape[1], np.zeros((1, self.steps, dataset.dimension))
        # Gradients of the linear loss are minus b at every model, so those at 0 will do.
        means = -state.law.response @ full_gradient(self.algorithm.loss, nothing, dataset)[0]
        # What earlier nodes have shown of the common noise moves the next node's mean.
        noise = _whiten_final_parts(state.law.root, state.seen - means[:node])
        return Step(
            means[node] + _compute_next_mean_noise(state.law.root, noise),
            state.law.root[node, node],
        )

    def shift(self, state: FinalModelsState, pair: Pair[Dataset]) -> Array:
        """Return how far the differing record moves the next mean, given the same past."""
        record = Differing.of(pair)
        size = pair.dataset.node_sizes[record.node]
        moved = -(record.old - record.new) / size  # of b: the gradient of a record is -b a
        white = _whiten_final_parts(
            state.law.root, np.outer(state.law.response[:, record.node], moved)[None]
        )
        node = state.seen.shape[1]
        own = np.asarray(state.law.root[node, node] * white[:, node])
        return np.broadcast_to(own, (len(state.seen), own.shape[-1])).copy()

    def advance(self, state: FinalModelsState, output: Array) -> FinalModelsState:
        """Return the state after a node's final model was seen."""
        seen = np.concatenate([state.seen, output[:, None]], axis=1)
        return FinalModelsState(state.law, seen)

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return ``mu^2`` twice: the shift does not depend on the models."""
        square = final_pair_mu(self.algorithm, pair) ** 2
        return square, square


def _whiten_final_parts(root: Array, moved: Array) -> Array:
    """Return the independent parts of the seen numbers, ``(R, j, d)``."""
    count = moved.shape[1]
    if count == 0:
        return moved
    # Nodes first, so that one triangular system serves all runs and features.
    flat = np.moveaxis(moved, 1, 0).reshape(count, -1)
    white = solve_triangular(root[:count, :count], flat, lower=True)
    return np.moveaxis(white.reshape(count, len(moved), -1), 0, 1)


def _compute_next_mean_noise(root: Array, noise: Array) -> Array:
    """Return the contribution of the noise so far to the next mean, ``(R, d)``."""
    count = noise.shape[1]
    return np.asarray(np.einsum("j,rjd->rd", root[count, :count], noise))


def require_linear(algorithm: MultiStepADMM) -> None:
    """Raise `InvalidArgument` unless gradients are constant: full ones of the linear loss."""
    if algorithm.loss.name != "linear":
        raise InvalidArgument("loss", algorithm.loss.name, "linear: no other law is known")
    if algorithm.batch_size is not None:
        raise InvalidArgument("batch_size", algorithm.batch_size, "full gradients")


@dataclass(frozen=True)
class ExactFinal(GaussianSteps[Dataset, FinalModelsState]):
    """The final models as the algorithm's own code draws them, with the law of `FinalModels`."""

    process: FinalModels

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` final models of the algorithm, shape ``(R, n, d)``."""
        return final_model(self.process.algorithm.inner().sample(dataset, trials, rng))


def final_pair_mu(algorithm: MultiStepADMM, pair: Pair[Dataset]) -> float:
    """Return the mu for which the final models are exactly mu-Gaussian DP on this pair.

    The loss is linear.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import complete
    >>> from dpaudit.algorithms.problems.losses import LINEAR
    >>> from dpaudit.neighbours import REPLACE_RECORD
    >>> data = Dataset(np.eye(2), [1, 1], node_sizes=(1, 1))
    >>> pair = Pair(data, data.with_record(0, data.features[0], -1.0), REPLACE_RECORD)
    >>> algorithm = MultiStepADMM(
    ...     graph=complete(2), iterations=1, inner_steps=2, noise_multiplier=2.0, loss=LINEAR
    ... )
    >>> round(final_pair_mu(algorithm, pair), 12)  # that of the only model it averages
    0.5
    """
    require_linear(algorithm)
    record = Differing.of(pair)
    change = float(np.linalg.norm(record.old - record.new))
    curvature = algorithm.regulariser_weight / algorithm.graph.nodes
    law = final_law(algorithm, pair.dataset, curvature)
    return change / pair.dataset.node_sizes[record.node] * law.mu(record.node)
