r"""The laws of private ADMM over joined tables when every local step's models are seen.

**Full batches.** Each local step is Gaussian given the models before it, and the models determine
everything the server computed: z, lambda and Y are functions of past models *and of the data*.
Replaying the server on both datasets of a pair gives the exact privacy loss, with every way that a
tuple takes: into its own clipped gradient, and by ``theta_i' x`` and Y into everybody else's.

The bound. Let ``a_k`` be how many tuples of client k are joined with what differs (1 for the owner
of a replaced tuple). Their clipped gradients move the sum by at most ``2 C a_k``, and no other
term depends on what differs, so that

    sum_t ||v_t||^2 / s_t^2  <=  T tau' sum_k (2 a_k / sigma)^2.

The accounting of Theorem 2 is ``a_k = 0`` for every client but the owner. A step can attain
``2 C a_k`` at another client: equal facts, and one tuple of large norm joined with all of them.

**Poisson batches**, one client that has one tuple: a mixture each step.

| paper | name             | meaning                                           | shape     |
|-------|------------------|---------------------------------------------------|-----------|
| r     | sampling_ratio   | probability that the tuple is in a step's batch   | scalar    |
|       | ``absent``       | mean of the next model if the tuple is not        | (R, 1, C) |
|       | ``present``      | mean of the next model if it is                   | (R, 1, C) |
| s     | ``scale``        | standard deviation of the noise on an entry       | scalar    |

Given the models before it, a step's density is ``(1 - r) N(absent, s^2) + r N(present, s^2)``. With
one tuple nobody else's membership is hidden in it. The server is replayed on each dataset: what it
sends depends on the tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.algorithms.tables.clients import Client, LocalSGD, Solver
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.loss import CrossEntropy
from dpaudit.algorithms.tables.server import Server, ServerStep
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws.steps import Step
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_LABEL, Pair


class TablesProcess(Protocol):
    """ADMM over joined tables as its parts: see `TablesADMM`."""

    @property
    def iterations(self) -> int:
        """The number of turns of the server and the clients."""
        ...

    @property
    def loss(self) -> CrossEntropy:
        """The loss of a row's scores."""
        ...

    @property
    def solver(self) -> Solver:
        """The update of clients."""
        ...

    @property
    def label_epsilon(self) -> float | None:
        """The epsilon of the noise on the labels; None without noise."""
        ...

    def check(self, dataset: object) -> None:
        """Raise `InvalidArgument` for data the algorithm cannot run on."""
        ...

    def start(self, dataset: JoinedTables, trials: int) -> tuple[tuple[Array, ...], Array]:
        """Return the first models and dual variables."""
        ...

    def server_side(self) -> Server:
        """Return the server's step."""
        ...

    def clients(self, dataset: JoinedTables) -> tuple[Client, ...]:
        """Return the clients."""
        ...

    def targets(self, dataset: JoinedTables) -> Array:
        """Return the true labels of the join's rows as the loss takes them, (N, d_c)."""
        ...


@dataclass(frozen=True, eq=False)
class Round:
    """The models an iteration begins with, and the iterations before it.

    What the server makes of them depends on the data, so it is worked out for each dataset asked
    about, and kept.
    """

    models: tuple[Array, ...]
    before: Round | None
    served: list[tuple[JoinedTables, ServerStep]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class History:
    """All models released so far: the last ones, and where each iteration began."""

    models: tuple[Array, ...]
    steps: int
    round: Round


@dataclass(frozen=True)
class LocalSteps:
    """The private algorithm as a Gaussian process: see `dpaudit.laws.steps`."""

    algorithm: TablesProcess
    solver: LocalSGD = field(init=False)

    def __post_init__(self) -> None:
        solver = self.algorithm.solver
        if not (isinstance(solver, LocalSGD) and solver.private):
            raise InvalidArgument("solver", solver, "LocalSGD with noise: else there is no law")
        if solver.sampling_ratio != 1:
            expected = "1: a batch that nobody sees makes each step a mixture"
            raise InvalidArgument("sampling_ratio", solver.sampling_ratio, expected)
        if self.algorithm.label_epsilon is not None:
            expected = "None: noisy labels that nobody sees make the whole run a mixture"
            raise InvalidArgument("label_epsilon", self.algorithm.label_epsilon, expected)
        object.__setattr__(self, "solver", solver)

    @property
    def steps(self) -> int:
        """Number of local steps of each client, ``T tau'``."""
        return self.algorithm.iterations * self.solver.steps

    def check(self, dataset: JoinedTables) -> None:
        """Raise `InvalidArgument` for data the algorithm cannot run on."""
        self.algorithm.check(dataset)

    def start(self, dataset: JoinedTables, trials: int) -> History:
        """Return the state before the first step: all models at 0."""
        models, _ = self.algorithm.start(dataset, trials)
        return History(models, 0, Round(models, None))

    def step(self, state: History, dataset: JoinedTables) -> Step:
        """Return the law of all clients' next models, mean of shape ``(R, D, d_c)``."""
        pulls = self._serve_round(state.round, dataset).pulls
        clients = self.algorithm.clients(dataset)
        parts = zip(clients, state.models, pulls, strict=True)
        means = [self.solver.mean(client, model, pull) for client, model, pull in parts]
        return Step(np.concatenate(means, axis=1), np.array(self.solver.noise_scale(clients[0])))

    def shift(self, state: History, pair: Pair[JoinedTables]) -> Array:
        """Return the next mean on the neighbour minus that on the dataset."""
        old, new = (self.step(state, data).mean for data in (pair.dataset, pair.neighbour))
        return np.asarray(new - old)

    def advance(self, state: History, output: Array) -> History:
        """Return the state after ``output`` was released."""
        # The last end is the end of everything, at which there is nothing to split.
        ends = np.cumsum([model.shape[1] for model in state.models])[:-1]
        models, steps = tuple(np.split(output, ends, axis=1)), state.steps + 1
        # The server's next messages depend on the models after the last local step alone.
        over = steps % self.solver.steps == 0
        return History(models, steps, Round(models, state.round) if over else state.round)

    def squared_shift_bounds(self, pair: Pair[JoinedTables]) -> tuple[float, float]:
        """Return bounds on ``sum_t ||v_t||^2 / s_t^2`` over all outputs."""
        moved = np.array(count_touched_tuples(pair), dtype=np.float64)
        # A clipped gradient has norm at most C, so two of them are at most 2 C apart, in units of
        # noise of sigma C. One term for every step also covers the first round, in which only the
        # owner moves.
        return 0.0, float(self.steps * np.sum((2 * moved / self.solver.noise_multiplier) ** 2))

    def _serve_round(self, current: Round, dataset: JoinedTables) -> ServerStep:
        for known, served in current.served:
            # Arrays of a data set are read-only, so what was worked out for one stays right for it.
            if known is dataset:
                return served
        algorithm = self.algorithm
        before = current.before
        trials = len(current.models[0])
        dual = (
            self._serve_round(before, dataset).dual
            if before
            else algorithm.start(dataset, trials)[1]
        )
        targets = algorithm.targets(dataset)
        predicted = dataset.predictions(current.models)
        served = algorithm.server_side().serve(dataset, predicted, dual, targets)
        current.served.append((dataset, served))
        return served


def count_touched_tuples(pair: Pair[JoinedTables]) -> tuple[int, ...]:
    """Return ``a_k``: each table's number of tuples that share a row with the changed one."""
    data = pair.dataset
    if pair.relation is REPLACE_COLUMN:
        # A column takes part in every tuple of every row of the join.
        return data.tuples
    if pair.relation is REPLACE_LABEL:
        table, row = data.label_table, pair.index
    else:
        table, row = data.locate(pair.index)
    rows = data.mappings[table] == row
    # In its own table a replaced tuple counts as one even where the join does not use it. A label
    # has an effect only through rows of the join.
    return tuple(
        1 if pair.relation is not REPLACE_LABEL and k == table else len(np.unique(mapping[rows]))
        for k, mapping in enumerate(data.mappings)
    )


@dataclass(frozen=True)
class BatchSteps:
    """The models after every local step, shape ``(R, T tau', 1, 1)``, with their law.

    Formal guarantee: that of a Poisson-subsampled Gaussian (`TablesADMM.client_event`), for adding
    or removing the tuple; this client is alone.

    Examples
    --------
    >>> from dpaudit.algorithms.tables.algorithm import TablesADMM
    >>> solver = LocalSGD(
    ...     steps=2, learning_rate=0.1, sampling_ratio=0.5, clip_norm=1.0, noise_multiplier=1.0
    ... )
    >>> data = JoinedTables((np.ones((1, 1)),), (np.zeros(1, int),), np.ones(1))
    >>> released = BatchSteps(TablesADMM(iterations=3, solver=solver))
    >>> released.sample(data, 5, np.random.default_rng(0)).shape
    (5, 6, 1, 1)
    """

    algorithm: TablesProcess

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs."""
        solver, outputs = self._solver(dataset), np.empty((trials, self.steps, 1, 1))
        for t, absent, present, scale in self._replayed(dataset, outputs):
            drawn = rng.random((trials, 1, 1)) < solver.sampling_ratio
            mean = np.where(drawn, present, absent)
            outputs[:, t] = mean + scale * rng.standard_normal(mean.shape)
        return outputs

    def privacy_loss(self, outputs: Array, pair: Pair[JoinedTables]) -> Array:
        """Return ``log p / q`` of each output, shape ``(R,)``."""
        here, there = (self._log_density(outputs, data) for data in (pair.dataset, pair.neighbour))
        return here - there

    def uniform_residuals(self, outputs: Array, dataset: JoinedTables) -> Array:
        """Return the mixture's distribution function at every step, shape ``(R, T tau')``."""
        ratio, residuals = self._solver(dataset).sampling_ratio, np.empty_like(outputs)
        for t, absent, present, scale in self._replayed(dataset, outputs):
            without, within = (ndtr((outputs[:, t] - m) / scale) for m in (absent, present))
            residuals[:, t] = (1 - ratio) * without + ratio * within
        return residuals.reshape(len(outputs), -1)

    @property
    def steps(self) -> int:
        """All local steps."""
        solver = self.algorithm.solver
        return self.algorithm.iterations * (solver.steps if isinstance(solver, LocalSGD) else 1)

    def _log_density(self, outputs: Array, dataset: JoinedTables) -> Array:
        """Return the log-density, without the constant that both sides of a pair share."""
        ratio, total = self._solver(dataset).sampling_ratio, np.zeros(len(outputs))
        for t, absent, present, scale in self._replayed(dataset, outputs):
            without, within = (
                -(((outputs[:, t, 0, 0] - m[:, 0, 0]) / scale) ** 2) / 2 for m in (absent, present)
            )
            # A ratio of 1 leaves one component without weight: its logarithm is -inf, which
            # logaddexp takes.
            total += np.logaddexp(
                _compute_log_probability(1 - ratio) + without,
                _compute_log_probability(ratio) + within,
            )
        return total

    def _replayed(
        self, dataset: JoinedTables, outputs: Array
    ) -> Iterator[tuple[int, Array, Array, float]]:
        """Yield each step's number, the two means and the scale; read its output afterwards."""
        solver, algorithm = self._solver(dataset), self.algorithm
        (client,), server = algorithm.clients(dataset), algorithm.server_side()
        targets = algorithm.targets(dataset)
        (model,), dual = algorithm.start(dataset, len(outputs))
        for t in range(self.steps):
            if t % solver.steps == 0:
                served = server.serve(dataset, dataset.predictions((model,)), dual, targets)
                dual = served.dual
            absent, present = (
                solver.mean(client, model, served.pulls[0], np.full((len(outputs), 1), part))
                for part in (0.0, 1.0)
            )
            yield t, absent, present, solver.noise_scale(client)
            # The generator goes on after the caller has read or written this step's output, so it
            # is there.
            model = outputs[:, t]

    def _solver(self, dataset: JoinedTables) -> LocalSGD:
        solver = self.algorithm.solver
        if not (isinstance(solver, LocalSGD) and solver.private):
            raise InvalidArgument("solver", solver, "LocalSGD with noise: else there is no law")
        if self.algorithm.label_epsilon is not None or self.algorithm.loss.outputs != 1:
            raise InvalidArgument("algorithm", self.algorithm, "a margin and labels without noise")
        if dataset.tuples != (1,) or dataset.widths != (1,):
            given = VerbatimText(f"tables of {dataset.tuples} tuples and {dataset.widths} columns")
            raise InvalidArgument("dataset", given, "one tuple of one column: else no law is known")
        return solver


def _compute_log_probability(probability: float) -> float:
    return float(np.log(probability)) if probability > 0 else -np.inf
