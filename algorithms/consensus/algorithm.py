r"""Consensus ADMM on a graph with private penalties (Zhang, Khalili & Liu, ICML 2018).

Notation: paper, code, meaning, shape (R trials, N nodes, d features, T iterations).

| paper          | code                        | meaning                                 | shape   |
|----------------|-----------------------------|-----------------------------------------|---------|
| f_i(t)         | ``models``                  | local classifier, all that is broadcast | (R,N,d) |
| lambda_i(t)    | ``dual``                    | dual variable                           | (R,N,d) |
| eta_i(t)       | ``penalty``                 | private penalty                         | (T,N)   |
| theta          | ``dual_step``               | dual updating step size                 | (T,N)   |
| alpha_i(t)     | ``noise_rate``              | noise density ~ exp(-alpha norm(e))     | (T,N)   |
| e_i(t)         | ``noise``                   | perturbs the penalty term, eq. (24)     | (R,N,d) |
| V_i, B_i       | ``degrees``, ``node_sizes`` | neighbours and records of node i        | (N,)    |
| C              | ``loss_weight``             | weight of a node's mean loss            | scalar  |
| rho            | ``regulariser_weight``      | weight of half the squared norm         | scalar  |
| c_1            | ``loss.largest_curvature``  | bound on l''                            | scalar  |
| 2 eta_i(t) V_i | ``stretch``                 | what multiplies e_i in the stationarity | (T,N)   |

    f_i      <- argmin O_i(f) + 2 lambda_i'f + eta_i(t) sum_j ||f + e_i - (f_i + f_j)/2||^2  (25)
    lambda_i <- lambda_i + theta/2 sum_j (f_i - f_j)                                         (11)
    O_i(f)    = (C/B_i) sum_n l(y_n f'x_n) + (rho/N) ||f||^2 / 2

Up to a constant the first line is ``argmin O_i(f) + eta V ||f||^2 - (c - 2 eta V e)'f`` with the
pull ``c = eta sum_j (f_i + f_j) - 2 lambda``, a function of past broadcasts.

| variant | how to get it                                  | source                               |
|---------|------------------------------------------------|--------------------------------------|
| ADMM    | ``without_noise().dual_variable_perturbation()`` | eq. (8), (9)                       |
| M-ADMM  | ``without_noise().penalty_perturbation()``     | eq. (10), (11)                       |
| PP      | ``penalty_perturbation()``                     | Algorithm 1                          |
| DVP     | ``dual_variable_perturbation()``               | Zhang & Zhu 2017; PP with eta = theta |
| PVP     | ``primal_perturbation()``                      | Zhang & Zhu 2017                     |
| R-ADMM  | ``recycled(...)``                              | Zhang, Khalili & Liu 2019            |

Slips in the paper, beside "equivalent to (26)", which means the problem below it: Algorithm 1 draws
f_i(0) at random; here it is 0, a special case, as nothing depends on it. The proofs of Theorems 3.1
and 3.2 take ``(W(t) - theta I)(D - A)`` and ``W(t)(D + A)`` for positive semi-definite. Their
symmetric parts are so when all nodes share one penalty; otherwise (19) fails on small examples,
though M-ADMM converged in all we tried. The rate (23) fails even for a shared penalty: consensus is
in the null space of ``D - A``, so its ``2 m_o + 2 sigma_min`` has to be ``2 m_o``
(``tests/algorithms/consensus/test_convergence.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.law import compute_published_update_bound
from dpaudit.algorithms.consensus.margin_problem import (
    TOLERANCE,
    MarginProblem,
    minimise_margin_problem,
)
from dpaudit.algorithms.consensus.nodes_at_once import FEW, SMALL, NodeProblems
from dpaudit.algorithms.consensus.process import ConsensusState
from dpaudit.algorithms.consensus.views import (
    PenaltyPerturbation,
    PrimalPerturbation,
    RecycledPerturbation,
)
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.records import check_records, require_instance_of
from dpaudit.algorithms.problems.schedules import Constant, Schedule, as_schedule, table_of
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SmoothLoss
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.residuals import add_error_place


@dataclass(frozen=True, kw_only=True)
class ConsensusADMM:
    """The algorithm, as public parameters.

    Parameters
    ----------
    graph
        Who is whose neighbour; at least two nodes, one for each of the dataset's.
    iterations
        ``T``.
    penalty
        ``eta_i(t)``, a number or a schedule; Theorem 3.1 asks that it does not fall and is at least
        theta.
    dual_step
        ``theta``: a number, as the paper analyses it, or a schedule ``theta_i(t)`` (section 5.1).
        One that differs between nodes moves the limit: ``sum_i lambda_i / theta_i`` stays 0, so a
        consensus is the minimiser of ``sum_i O_i / theta_i``.
    noise_rate
        ``alpha_i(t)``, a number or a schedule: the larger, the less noise; None for no noise.
    loss_weight
        ``C``.
    regulariser_weight
        ``rho``.
    loss
        A convex margin loss with a Lipschitz slope.
    tolerance
        Of the argmin: see `dpaudit.algorithms.consensus.margin_problem.MarginProblem`.

    Notes
    -----
    Formal guarantee: Theorem 4.1 states that penalty perturbation is `published_bounds`
    ``[-1]``-DP under replace-one for losses that meet Assumption 4 (`SmoothLoss`), when
    `meets_theorem41`.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> from dpaudit.algorithms.problems.schedules import Geometric
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = ConsensusADMM(
    ...     graph=ring(3), iterations=4, penalty=Geometric(0.5, 1.1), noise_rate=Constant(3.0)
    ... )
    >>> algorithm.penalty_perturbation().sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 3)
    """

    graph: Graph
    iterations: int
    penalty: float | Schedule = field(default_factory=lambda: Constant(0.5))
    dual_step: float | Schedule = 0.5
    noise_rate: float | Schedule | None = None
    loss_weight: float = 1.0
    regulariser_weight: float = 1e-2
    loss: SmoothLoss = LOGISTIC
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check.require_integer("iterations", self.iterations, least=1)
        check.require_positive("loss_weight", self.loss_weight)
        check.non_negative("regulariser_weight", self.regulariser_weight)
        check.require_positive("tolerance", self.tolerance)
        require_instance_of("graph", self.graph, Graph, "a Graph")
        require_instance_of("loss", self.loss, SmoothLoss, "a SmoothLoss")
        if self.graph.nodes < 2:
            expected = "at least two nodes: without a neighbour there is no penalty to perturb"
            raise InvalidArgument("graph", VerbatimText("1 node"), expected)
        # A schedule refuses a length that does not fit.
        self.stretch, self.dual_steps, self.rates  # noqa: B018

    # --- variants --------------------------------------------------------------------------

    def penalty_perturbation(self) -> PenaltyPerturbation:
        """Return Algorithm 1, or M-ADMM where there is no noise."""
        return PenaltyPerturbation(self)

    def dual_variable_perturbation(self) -> PenaltyPerturbation:
        """Return the same with ``eta_i(t) = theta_i(t)``, whatever `penalty` says."""
        return PenaltyPerturbation(replace(self, penalty=as_schedule("dual_step", self.dual_step)))

    def primal_perturbation(self) -> PrimalPerturbation:
        """Return the variant that adds the noise to the exact minimiser."""
        return PrimalPerturbation(self)

    def recycled(self, proximal_weight: float = 0.0) -> RecycledPerturbation:
        """Return the variant whose even iterations are functions of earlier broadcasts."""
        return RecycledPerturbation(self, proximal_weight)

    def without_noise(self) -> ConsensusADMM:
        """Return the non-private algorithm."""
        return replace(self, noise_rate=None)

    # --- parameters of every node and iteration ----------------------------------------------

    @cached_property
    def stretch(self) -> Array:
        """``2 eta_i(t) V_i``, shape ``(T, N)``."""
        penalties = self._table("penalty", self.penalty)
        return np.asarray(2 * penalties * self.graph.degrees)

    @cached_property
    def dual_steps(self) -> Array:
        """``theta_i(t)``, shape ``(T, N)``."""
        return self._table("dual_step", self.dual_step)

    @cached_property
    def rates(self) -> Array | None:
        """``alpha_i(t)``, shape ``(T, N)``; None without noise."""
        if self.noise_rate is None:
            return None
        return self._table("noise_rate", self.noise_rate)

    def _table(self, name: str, value: float | Schedule) -> Array:
        return table_of(name, value, self.iterations, self.graph.nodes)

    def problem(self, dataset: Dataset, iteration: int, node: int) -> MarginProblem:
        """Return the node's problem in this iteration, counted from 1, besides the pull."""
        return MarginProblem(
            loss=self.loss,
            weight=self.loss_weight / dataset.node_sizes[node],
            curvature=self.regulariser_weight / dataset.nodes + self.stretch[iteration - 1, node],
            tolerance=self.tolerance,
        )

    # --- the algorithm: state, pull, minimise, advance -----------------------------------------

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the algorithm and its theorems apply to ``dataset``."""
        nodes = self.graph.nodes
        check_records(dataset, nodes, f"the {nodes} nodes of the graph")

    def start(self, dataset: Dataset, trials: int) -> ConsensusState:
        """Return the state before the first iteration: all models and duals at 0."""
        check.require_integer("trials", trials, least=0)
        zero = np.zeros((trials, dataset.nodes, dataset.dimension))
        return ConsensusState(zero, zero, zero, iteration=1)

    def pull(self, state: ConsensusState) -> Array:
        """Return ``eta sum_j (f_i + f_j) - 2 lambda`` of every node, shape ``(R, N, d)``."""
        degrees, adjacency = self.graph.degrees[:, None], self.graph.adjacency
        # `stretch` is 2 eta V, so this is eta.
        penalties = self.stretch[state.iteration - 1][:, None] / (2 * degrees)
        around = degrees * state.models + np.matmul(adjacency, state.models)
        return np.asarray(penalties * around - 2 * state.dual)

    def minimise(self, linear: Array, dataset: Dataset, iteration: int) -> Array:
        """Return every node's ``argmin O_i(f) + eta V ||f||^2 - linear'f``, shape ``(R, N, d)``."""
        if (found := self._nodes_at_once(linear, dataset, iteration)) is not None:
            return found
        models = np.empty_like(linear)
        for node in range(dataset.nodes):
            problem = self.problem(dataset, iteration, node)
            records = dataset.signed_records[dataset.rows_of(node)]
            with add_error_place(f"iteration {iteration}, node {node}"):
                models[:, node] = minimise_margin_problem(problem, linear[:, node], records).models
        return models

    def _nodes_at_once(self, linear: Array, dataset: Dataset, iteration: int) -> Array | None:
        """Minimise for few trials of equal nodes; return None where that is slower."""
        sizes = set(dataset.node_sizes)
        if len(linear) > FEW or len(sizes) > 1 or dataset.signed_records.size > SMALL:
            return None
        size = sizes.pop()
        return NodeProblems(
            loss=self.loss,
            records=dataset.signed_records.reshape(dataset.nodes, size, -1),
            weight=self.loss_weight / size,
            curvature=self.regulariser_weight / dataset.nodes + self.stretch[iteration - 1],
            tolerance=self.tolerance,
        ).minimise(linear)

    def advance(self, state: ConsensusState, broadcast: Array) -> ConsensusState:
        """Return the state after a broadcast: eq. (11). A function of broadcasts alone."""
        degrees, adjacency = self.graph.degrees[:, None], self.graph.adjacency
        gap = degrees * broadcast - np.matmul(adjacency, broadcast)
        dual = state.dual + self.dual_steps[state.iteration - 1][:, None] / 2 * gap
        stretch = self.stretch[state.iteration - 1][:, None]
        # By stationarity of (25) this is O_i'(f) + 2 eta V e: what a broadcast reveals of the
        # gradient.
        revealed = self.pull(state) - stretch * broadcast
        return ConsensusState(broadcast, dual, revealed, state.iteration + 1)

    # --- the paper's constants and measures ---------------------------------------------------

    def objective(self, models: Array, dataset: Dataset) -> Array:
        """Return ``sum_i O_i(f_i)`` (eq. 2) of models shaped ``(R, N, d)``, shape ``(R,)``."""
        total = self.regulariser_weight / (2 * dataset.nodes) * np.sum(models**2, axis=(1, 2))
        return np.asarray(
            total + self.loss_weight * dataset.nodes * self.average_loss(models, dataset)
        )

    def average_loss(self, models: Array, dataset: Dataset) -> Array:
        """Return section 5's ``L(t)``, the mean over nodes of their mean losses, shape ``(R,)``."""
        total = np.zeros(len(models))
        for node in range(dataset.nodes):
            margins = models[:, node] @ dataset.signed_records[dataset.rows_of(node)].T
            total += self.loss.margin.value(margins).mean(axis=1)
        return total / dataset.nodes

    def published_bounds(self, dataset: Dataset) -> Array:
        """Return ``P(t)``, eq. (26) after t = 1..T iterations of PP, shape ``(T,)``.

        It bounds the privacy loss only where `meets_theorem41`; the paper draws it regardless.
        """
        if self.rates is None:
            raise InvalidArgument("noise_rate", None, "noise: without it there is no guarantee")
        summands = compute_published_update_bound(
            self.loss,
            loss_weight=self.loss_weight,
            records=np.array(dataset.node_sizes),
            stretch=self.stretch,
            rate=self.rates,
        )
        # Iterations are summed within a node and nodes are compared afterwards: neighbours differ
        # at one node, the same in all iterations.
        return np.asarray(np.cumsum(summands, axis=0).max(axis=1))

    def meets_theorem41(self, dataset: Dataset) -> bool:
        """Return whether ``2 c_1 < (B_i/C)(rho/N + 2 theta V_i)`` and ``eta_i(t) >= theta``.

        The theorem has one theta. Its proof uses theta in (64) alone, within one node and
        iteration, so a schedule has to meet both there. That ``eta_i(t)`` does not fall is asked
        for convergence (Theorem 3.1), not for privacy.
        """
        sizes = np.array(dataset.node_sizes)
        dual_stretch = 2 * self.dual_steps * self.graph.degrees
        least = self.regulariser_weight / dataset.nodes + dual_stretch
        small = 2 * self.loss.largest_curvature < sizes / self.loss_weight * least
        assumed = self.loss.strictly_convex and self.loss.lipschitz <= 1
        steady = self.stretch >= dual_stretch
        return bool(assumed and small.all() and steady.all())
