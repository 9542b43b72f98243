r"""The exact law of multi-step DP-ADMM's broadcasts, where gradients do not depend on the model.

Given the averages broadcast so far, the pull of an iteration is known, and a node's inner models
are a Gaussian chain ``w^r = a_r w^{r-1} + (pull - grad) / c_r + noise`` with
``c_r = 2 rho |V_i| + eta^{k,r}`` and ``a_r = (eta^{k,r} - lambda/n) / c_r``, whose start w^0, the
hidden last model of the iteration before, is Gaussian too. So the next average is Gaussian given
the earlier ones, with a variance that is public and a mean that is what is known plus a multiple of
the node's gradient (Kalman 1960). With the linear loss the gradient of a dataset is constant, and a
replaced record shifts every mean by a constant: the averages are exactly mu-Gaussian DP with
``mu^2 = sum_k (multiple_k ||difference of gradients||)^2 / variance_k``.

Where the last inner model is sent in place of the average (``message`` of the algorithm), the same
holds with the map of the last model: after it was seen nothing of the chain is hidden.

| symbol       | name          | meaning                                             | shape     |
|--------------|---------------|-----------------------------------------------------|-----------|
| h_0, h_s     |               | effect on the average of w^0, of the input of step s| (n,)      |
| P            | ``variance``  | of the hidden last model, given past averages       | (n,)      |
|              | ``hidden``    | its mean, but for the gradient's part               | (R, n, d) |
|              | ``multiple``  | that part as a multiple of the gradient             | (n,)      |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.linearised_objectives import full_gradient
from dpaudit.algorithms.problems.records import Differing
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class _Chain:
    """The linear map of one iteration: to the average, and to the last model; each ``(n,)``.

    ``start``, ``push`` and ``spread`` are the effects of w^0 and of ``pull - grad``, and the
    variance that the iteration's noise adds; the last three couple the two.
    """

    start: Array
    push: Array
    spread: Array
    last_start: Array
    last_push: Array
    last_spread: Array
    shared: Array


@dataclass(frozen=True)
class AveragesState:
    """The terms of the coming iteration that follow from past averages, and its map.

    ``public`` is a dataset of zeros with the nodes and dimension of the audited ones.
    """

    public: Dataset
    chain: _Chain
    dual: Array
    pull: Array
    hidden: Array
    multiple: Array
    variance: Array
    iteration: int


@dataclass(frozen=True)
class Averages:
    """The averages, or last models, that are sent: a Gaussian process of t steps.

    Raises
    ------
    InvalidArgument
        The loss is not linear, or gradients are of mini-batches.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> from dpaudit.algorithms.problems.losses import LINEAR
    >>> algorithm = MultiStepADMM(
    ...     graph=ring(3), iterations=4, inner_steps=2, noise_multiplier=1.0, loss=LINEAR
    ... )
    >>> data = Dataset(np.eye(3), [1, -1, 1], node_sizes=(1, 1, 1))
    >>> GaussianSteps(Averages(algorithm)).sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 3)
    """

    algorithm: MultiStepADMM

    def __post_init__(self) -> None:
        if self.algorithm.loss.name != "linear":
            raise InvalidArgument("loss", self.algorithm.loss.name, "linear: no other law is known")
        if self.algorithm.batch_size is not None:
            raise InvalidArgument("batch_size", self.algorithm.batch_size, "full gradients")

    @property
    def steps(self) -> int:
        """``t``."""
        return self.algorithm.iterations

    def check(self, dataset: Dataset) -> None:
        # The initial model is 0 and adds nothing to the sum, but it counts among the t l models.
        """Raise `InvalidArgument` unless the algorithm applies to ``dataset``."""
        self.algorithm.check(dataset)

    def start(self, dataset: Dataset, trials: int) -> AveragesState:
        """Return the state before the first average: models and duals are 0, and known."""
        zero, none = np.zeros((trials, dataset.nodes, dataset.dimension)), np.zeros(dataset.nodes)
        records = np.zeros((sum(dataset.node_sizes), dataset.dimension))
        public = Dataset(records, np.ones(len(records)), node_sizes=dataset.node_sizes)
        chain = self._chain(public, 1)
        return AveragesState(public, chain, zero, zero, zero, none, none, iteration=1)

    def step(self, state: AveragesState, dataset: Dataset) -> Step:
        """Return the law of the next average, given all earlier ones, shape ``(R, n, d)``."""
        chain = state.chain
        # Gradients of the linear loss do not depend on the model: any one of this shape will do.
        gradient = full_gradient(self.algorithm.loss, state.hidden, dataset)
        known = _by_node(chain.start) * state.hidden + _by_node(chain.push) * state.pull
        # The gradient enters through the hidden model, and with a minus sign through the steps.
        factor = chain.start * state.multiple - chain.push
        scale = np.sqrt(chain.start**2 * state.variance + chain.spread)
        return Step(known + _by_node(factor) * gradient, _by_node(scale))

    def shift(self, state: AveragesState, pair: Pair[Dataset]) -> Array:
        """Return how far the differing record moves the next average, shape ``(R, n, d)``."""
        record, chain = Differing.of(pair), state.chain
        moved = np.zeros_like(state.hidden)
        factor = chain.start * state.multiple - chain.push
        moved[:, record.node] = factor[record.node] * _gradient_change(pair)
        return moved

    def advance(self, state: AveragesState, output: Array) -> AveragesState:
        """Return the state after an average was seen: eq. (15), and its evidence on the rest."""
        algorithm, chain = self.algorithm, state.chain
        seen = chain.start**2 * state.variance + chain.spread
        # The gain of a Kalman filter: Cov(last model, average) / Var(average).
        gain = (chain.start * chain.last_start * state.variance + chain.shared) / seen
        known = _by_node(chain.start) * state.hidden + _by_node(chain.push) * state.pull
        ahead = _by_node(chain.last_start) * state.hidden + _by_node(chain.last_push) * state.pull
        factor = chain.start * state.multiple - chain.push
        degrees, others = algorithm.graph.degrees[:, None], algorithm.graph.adjacency @ output
        dual = state.dual - algorithm.penalty / 2 * (degrees * output - others)
        return replace(
            state,
            chain=self._chain(state.public, state.iteration + 1),
            dual=dual,
            pull=2 * dual + algorithm.penalty * (degrees * output + others),
            hidden=ahead + _by_node(gain) * (output - known),
            multiple=chain.last_start * state.multiple - chain.last_push - gain * factor,
            # With one inner step the average is the last model, and rounding may leave a variance
            # below 0.
            variance=np.maximum(
                chain.last_start**2 * state.variance + chain.last_spread - gain**2 * seen, 0.0
            ),
            iteration=state.iteration + 1,
        )

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return ``mu^2`` twice: the shift does not depend on the averages."""
        state, total = self.start(pair.dataset, 1), 0.0
        for _ in range(self.steps):
            step = self.step(state, pair.dataset)
            total += float(np.sum((self.shift(state, pair) / step.scale) ** 2))
            # The shift is the same along every output; that of the means is one of them.
            state = self.advance(state, step.mean)
        return total, total

    def _chain(self, dataset: Dataset, iteration: int) -> _Chain:
        algorithm, nodes = self.algorithm, dataset.nodes
        start, last = np.zeros(nodes), np.ones(nodes)
        push, spread, shared = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
        last_push, last_spread = np.zeros(nodes), np.zeros(nodes)
        inputs: list[tuple[Array, Array, Array, Array]] = []
        for r in range(1, algorithm.inner_steps + 1):
            eta = algorithm.eta(dataset, iteration, r)
            curvature = 2 * algorithm.penalty * algorithm.graph.degrees + eta
            kept = (eta - algorithm.regulariser_weight / nodes) / curvature
            noise = algorithm.noise_multiplier * algorithm.sensitivity(dataset, eta)
            # What came in at earlier steps is carried on, this step's input joins, and then all are
            # added to the sum.
            inputs = [(kept * effect, total, c, v) for effect, total, c, v in inputs]
            inputs.append((np.ones(nodes), np.zeros(nodes), 1 / curvature, noise**2))
            inputs = [(effect, total + effect, c, v) for effect, total, c, v in inputs]
            last = kept * last
            start = start + last
        share = 1 / algorithm.inner_steps
        for effect, total, one, square in inputs:
            push = push + share * total * one
            spread = spread + (share * total) ** 2 * square
            shared = shared + share * total * effect * square
            last_push = last_push + effect * one
            last_spread = last_spread + effect**2 * square
        if algorithm.message == "last":
            # The message is the last model itself, so the two maps agree.
            return _Chain(last, last_push, last_spread, last, last_push, last_spread, last_spread)
        return _Chain(share * start, push, spread, last, last_push, last_spread, shared)


def _by_node(values: Array) -> Array:
    return np.asarray(values[:, None])


def _gradient_change(pair: Pair[Dataset]) -> Array:
    """Return the neighbour's gradient minus the dataset's, ``(d,)``: that of ``-b a'w``."""
    record = Differing.of(pair)
    # The gradient of -b a'w is minus the signed record, so the neighbour's less the dataset's is
    # old - new.
    return np.asarray((record.old - record.new) / pair.dataset.node_sizes[record.node])


@dataclass(frozen=True)
class ExactBroadcast(GaussianSteps[Dataset, AveragesState]):
    """The averages as the algorithm's own code draws them, with the law of `Averages`."""

    process: Averages

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs of the algorithm, shape ``(R, t, n, d)``."""
        return self.process.algorithm.broadcast().sample(dataset, trials, rng)


def broadcast_mu(algorithm: MultiStepADMM, pair: Pair[Dataset]) -> float:
    """Return the mu for which the broadcasts are exactly mu-Gaussian DP on this pair.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import complete
    >>> from dpaudit.algorithms.problems.losses import LINEAR
    >>> from dpaudit.neighbours import REPLACE_RECORD
    >>> data = Dataset(np.eye(2), [1, 1], node_sizes=(1, 1))
    >>> pair = Pair(data, data.with_record(0, data.features[0], -1.0), REPLACE_RECORD)
    >>> algorithm = MultiStepADMM(
    ...     graph=complete(2), iterations=4, inner_steps=1, noise_multiplier=2.0, loss=LINEAR
    ... )
    >>> round(broadcast_mu(algorithm, pair), 12)  # averages of one step hide nothing
    1.0
    """
    return math.sqrt(Averages(algorithm).squared_shift_bounds(pair)[0])
