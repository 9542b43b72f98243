r"""Multi-step DP-ADMM (Huang & Gong): consensus learning with several noisy steps an iteration.

Notation: paper, code, meaning, shape (R trials, n nodes, d features, t iterations, l inner steps).

| paper            | code                | meaning                                       | shape   |
|------------------|---------------------|-----------------------------------------------|---------|
| w~_i^{k,r}       | ``inner``           | noisy local model, released in the inner view | (R,n,d) |
| w~_i^k           | ``broadcast``       | mean over r of the above, all that is sent    | (R,n,d) |
| gamma_i^k        | ``dual``            | dual variable                                 | (R,n,d) |
| rho              | ``penalty``         | ADMM penalty                                  | scalar  |
| eta_i^{k,r}      | ``step_size``       | proximal weight of step r of iteration k      | (n,)    |
| sigma            | ``noise_multiplier``| noise in multiples of the sensitivity         | scalar  |
| s_i^{k,r}        | ``sensitivity``     | Lemma 5, eq. (16)                             | (n,)    |
| lambda           | ``regulariser_weight`` | weight of ``||w||^2 / 2``                  | scalar  |
| c_1              | ``loss.lipschitz``  | Lipschitz constant of the loss                | scalar  |

Node i holds m_i records and ``L_i(w) = (1/m_i) sum l(b a'w) + (lambda/n) ||w||^2 / 2`` (eq. 26).
One step solves eq. (13a) in closed form and adds noise (13b, 14):

    w = (-grad L_i(w~) + 2 gamma_i + rho sum_j (w~_i^{k-1} + w~_j^{k-1}) + eta w~)
        / (2 rho V_i + eta)

Misprints in the paper: eq. (11) and (12) have the sign of their linear term flipped, with which
(13a) would ascend; eq. (18) writes ``L`` for ``grad L`` and has another index of eta below. The
update above is what (13a) gives with both repaired; its ledger has the proof.

Views (section 3.2): the inner view holds every noisy model of eq. (13b), also of the stochastic
variant of Note 1, which draws a batch for the gradient in eq. (13a); the broadcast view holds the
averages ``w~_i^k`` that stand below eq. (15), all that Algorithm 1 sends (line 13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import Event, GaussianRelease
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.linearised_objectives import (
    batch_gradient,
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
from dpaudit.laws.steps import GaussianSteps, Step, roll_out
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair

StateT = TypeVar("StateT")


class StochasticProcess(Protocol[StateT]):
    """An algorithm whose steps draw mini-batches: state, step and advance."""

    @property
    def steps(self) -> int:
        """The number of releases of one run."""
        ...

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` for a dataset the algorithm cannot run on."""
        ...

    def start(self, dataset: Dataset, trials: int) -> StateT:
        """Return the state before the first release."""
        ...

    def stochastic_step(self, state: StateT, dataset: Dataset, rng: Generator) -> Step:
        """Return the law of the next release given a batch that is drawn here."""
        ...

    def advance(self, state: StateT, output: Array) -> StateT:
        """Return the state after ``output`` was released."""
        ...


@dataclass(frozen=True)
class StochasticInner(Generic[StateT]):
    """The inner view of a stochastic variant: samples, but no closed form of its law."""

    process: StochasticProcess[StateT]

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, t l, n, d)``."""
        process = self.process
        process.check(dataset)
        return roll_out(
            lambda state: process.stochastic_step(state, dataset, rng),
            process.advance,
            process.start(dataset, trials),
            process.steps,
            rng,
        )


@dataclass(frozen=True)
class BroadcastView:
    """The view of a neighbour in the graph: messages of the inner models, nothing else."""

    inner: Mechanism[Dataset]
    inner_steps: int
    message: str = "average"

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, t, n, d)``."""
        seen = self.inner.sample(dataset, trials, rng)
        # The t l inner models of a run, cut into iterations.
        loops = seen.reshape((trials, -1, self.inner_steps, *seen.shape[2:]))
        return np.asarray(loops[:, :, -1] if self.message == "last" else loops.mean(axis=2))


@dataclass(frozen=True)
class MultiStepState:
    """Everything the next step depends on besides the data; a function of past outputs."""

    inner: Array
    broadcast: Array
    dual: Array
    pull: Array
    inner_sum: Array
    iteration: int
    inner_step: int


@dataclass(frozen=True)
class FinalView:
    """The view of an observer who gets the final models, eq. (22), and nothing else."""

    inner: Mechanism[Dataset]

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` final models of every node, shape ``(R, n, d)``."""
        return final_model(self.inner.sample(dataset, trials, rng))


@dataclass(frozen=True, kw_only=True)
class MultiStepADMM:
    """The algorithm, as public parameters.

    Parameters
    ----------
    graph
        Who is whose neighbour; one node for each of the dataset's.
    iterations, inner_steps
        ``t`` and ``l``.
    penalty
        ``rho``.
    noise_multiplier
        ``sigma``; 0 runs the algorithm without privacy.
    loss
        A convex margin loss.
    regulariser_weight
        ``lambda`` of the L2 regulariser.
    step_size
        A constant, or eq. (23).
    batch_size
        None for full gradients; otherwise the stochastic variant (Note 1), which draws this many
        records with replacement at every step.
    message
        What an iteration sends: ``average``, as in Algorithm 1, or ``last``, a variant of this
        project in which ``w~_i^k`` is the last inner model.

    Notes
    -----
    Formal guarantee, full gradients, every step seen: exactly ``sqrt(t l) / sigma``-Gaussian DP
    under replace-one, by Lemma 5 and the composition of Gaussian releases (`event`).

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> algorithm = MultiStepADMM(graph=ring(3), iterations=4, inner_steps=2, noise_multiplier=1.0)
    >>> algorithm.inner().sample(data, 5, np.random.default_rng(0)).shape
    (5, 8, 3, 3)
    >>> algorithm.broadcast().sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 3)
    """

    graph: Graph
    iterations: int
    inner_steps: int
    noise_multiplier: float
    penalty: float = 0.1
    loss: MarginLoss = LOGISTIC
    regulariser_weight: float = 1e-4
    step_size: StepSize = field(default_factory=DecayingStepSize)
    batch_size: int | None = None
    message: str = "average"

    def __post_init__(self) -> None:
        check.require_choice("message", self.message, ("average", "last"))
        check.require_integer("iterations", self.iterations, least=1)
        check.require_integer("inner_steps", self.inner_steps, least=1)
        check.non_negative("noise_multiplier", self.noise_multiplier)
        check.require_positive("penalty", self.penalty)
        check.non_negative("regulariser_weight", self.regulariser_weight)
        if self.batch_size is not None:
            check.require_integer("batch_size", self.batch_size, least=1)

    # --- views -----------------------------------------------------------------------------

    def inner(self) -> Mechanism[Dataset]:
        """Return the mechanism whose observer sees every ``w~^{k,r}``, shape ``(R, t l, n, d)``.

        With full gradients its law is known: it is a `GaussianSteps`. A mini-batch makes each step
        a mixture over batches, without a closed form.
        """
        # A batch makes the step's mean random, so a Gaussian law is known for full gradients alone.
        return GaussianSteps(self) if self.batch_size is None else StochasticInner(self)

    def broadcast(self) -> BroadcastView:
        """Return the mechanism whose observer sees the messages only, shape ``(R, t, n, d)``."""
        return BroadcastView(self.inner(), self.inner_steps, self.message)

    def without_noise(self) -> MultiStepADMM:
        """Return the non-private algorithm: the limit of no noise."""
        return replace(self, noise_multiplier=0.0)

    def event(self) -> Event:
        """Return the release of one record's node: ``t l`` Gaussian steps of ratio ``1/sigma``.

        Raises
        ------
        UnsupportedEvent
            Without noise, or for the stochastic variant: a record drawn into a batch more than
            once moves a step further than Lemma 5 allows.
        """
        if self.batch_size is not None or self.noise_multiplier == 0:
            what = "mini-batches" if self.batch_size is not None else "no noise"
            raise UnsupportedEvent(f"event: got {what}, expected full gradients with noise")
        count = self.iterations * self.inner_steps
        return GaussianRelease(sensitivity=1.0, noise_scale=self.noise_multiplier, count=count)

    # --- the algorithm: state, step, advance -----------------------------------------------

    @property
    def steps(self) -> int:
        """Number of noisy updates of each node, ``t l``."""
        return self.iterations * self.inner_steps

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the algorithm and its theorems apply to ``dataset``."""
        nodes = self.graph.nodes
        check_records(dataset, nodes, f"the {nodes} nodes of the graph")

    def start(self, dataset: Dataset, trials: int) -> MultiStepState:
        """Return the state before the first step: all models and duals at 0."""
        zero = np.zeros((trials, dataset.nodes, dataset.dimension))
        return MultiStepState(zero, zero, zero, zero, zero, iteration=1, inner_step=1)

    def step(self, state: MultiStepState, dataset: Dataset) -> Step:
        """Return the law of the next ``w~^{k,r}``: eq. (13a), (13b), (14)."""
        return self.step_along(state, dataset, full_gradient(self.loss, state.inner, dataset))

    def stochastic_step(self, state: MultiStepState, dataset: Dataset, rng: Generator) -> Step:
        """Return the same with the gradient of a fresh mini-batch at every node (Note 1)."""
        size = check.require_integer("batch_size", self.batch_size, least=1)
        gradient = batch_gradient(self.loss, state.inner, dataset, size, rng)
        return self.step_along(state, dataset, gradient)

    def step_along(self, state: MultiStepState, dataset: Dataset, gradient: Array) -> Step:
        """Return the law of the next models for any gradient of the losses, ``(R, n, d)``."""
        eta = self.eta(dataset, state.iteration, state.inner_step)[:, None]
        curvature = 2 * self.penalty * self.graph.degrees[:, None] + eta
        # The regulariser is linearised with the loss: its gradient at the inner model comes off.
        mean = (eta - self.regulariser_weight / dataset.nodes) * state.inner
        mean += state.pull
        mean = mean - gradient
        mean /= curvature
        scale = self.noise_multiplier * self.sensitivity(dataset, eta[:, 0])[:, None]
        return Step(mean, scale)

    def advance(self, state: MultiStepState, output: Array) -> MultiStepState:
        """Return the state after a step; after the last one of an iteration, eq. (15)."""
        # The sum begins anew with each iteration.
        inner_sum = output if state.inner_step == 1 else state.inner_sum + output
        if state.inner_step < self.inner_steps:
            following = state.inner_step + 1
            return replace(state, inner=output, inner_sum=inner_sum, inner_step=following)
        broadcast = output if self.message == "last" else inner_sum / self.inner_steps
        degrees, adjacency = self.graph.degrees[:, None], self.graph.adjacency
        own, others = degrees * broadcast, np.matmul(adjacency, broadcast)
        dual = state.dual - self.penalty / 2 * (own - others)
        pull = 2 * dual + self.penalty * (own + others)
        return MultiStepState(output, broadcast, dual, pull, inner_sum, state.iteration + 1, 1)

    def shift(self, state: MultiStepState, pair: Pair[Dataset]) -> Array:
        """Return how far the differing record moves the next mean, shape ``(R, n, d)``."""
        record = Differing.of(pair)
        eta = self.eta(pair.dataset, state.iteration, state.inner_step)[record.node]
        curvature = 2 * self.penalty * self.graph.degrees[record.node] + eta
        return mean_shift(self.loss, state.inner, record, curvature)

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return bounds on ``sum ||shift||^2 / scale^2`` over all outputs."""
        return bound_squared_shifts(self, Differing.of(pair))

    # --- the paper's constants -------------------------------------------------------------

    def sensitivity(self, dataset: Dataset, eta: Array) -> Array:
        """Return Lemma 5's bound ``2 c_1 / ((2 rho V_i + eta_i) m_i)`` of every node, (n,)."""
        curvature = 2 * self.penalty * self.graph.degrees + eta
        bound: Array = 2 * self.loss.lipschitz / (curvature * np.array(dataset.node_sizes))
        return bound

    def eta(self, dataset: Dataset, iteration: int, inner_step: int) -> Array:
        """Return the proximal weights ``eta_i^{k,r}``, shape ``(n,)``; k and r count from 1."""
        # Eq. (23) has sqrt(2 k r): the weight depends on the product alone.
        return proximal_weights(self, dataset, iteration * inner_step)

    def objective(self, models: Array, dataset: Dataset) -> Array:
        """Return ``sum_i L_i(w_i)`` (eq. 4a) of models shaped ``(R, n, d)``, shape ``(R,)``."""
        total = self.regulariser_weight / (2 * dataset.nodes) * np.sum(models**2, axis=(1, 2))
        for node in range(dataset.nodes):
            margins = models[:, node] @ dataset.signed_records[dataset.rows_of(node)].T
            total += self.loss.value(margins).mean(axis=1)
        return np.asarray(total)


def final_model(outputs: Array) -> Array:
    """Return eq. (22), the mean of ``w~^{k,r}`` over k = 1..t and r = 0..l-1, shape ``(R, n, d)``.

    ``outputs`` are of the inner view. The sum starts at the initial model, 0, and leaves the
    last output out.
    """
    return np.asarray(outputs[:, :-1].sum(axis=1) / outputs.shape[1])


def compute_theorem6_multiplier(
    epsilon: float, delta: float, steps: int, constant: float = 1.0
) -> float:
    """Return Theorem 6's ``sigma = c_0 sqrt(t l 2 ln(1.25/delta)) / epsilon`` (eq. 20).

    Examples
    --------
    >>> round(compute_theorem6_multiplier(1.0, 1e-5, steps=1), 4)
    4.8448
    """
    check.require_positive("epsilon", epsilon)
    check.require_probability("delta", delta)
    return constant * math.sqrt(steps * 2 * math.log(1.25 / delta)) / epsilon
