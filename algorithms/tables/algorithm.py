"""ADMM over joined tables (TablePuppet, appendix): every table stays with its owner.

Notation: paper, code, meaning, shape (R trials, M tables, N rows of the join, d_c scores a row).

| paper    | code                   | meaning                                  | shape         |
|----------|------------------------|------------------------------------------|---------------|
| theta_i  | ``models[i]``          | linear model of table i                  | (R, d_i, d_c) |
| h_{i,j}  | ``predictions``        | ``theta_i' T_{i,j}``, sent to the server | (R, n_i, d_c) |
| z_j      | ``auxiliary``          | the server's copy of ``sum_i h_{i,j}``   | (R, N, d_c)   |
| lambda_j | ``dual``               | dual variable                            | (R, N, d_c)   |
| Y_{i,j}  | ``pulls[i]``           | all a client receives, eq. (36)          | (R, n_i, d_c) |
| rho      | ``penalty``            | ADMM penalty                             | scalar        |
| beta     | ``regulariser_weight`` | weight of ``sum_i ||theta_i||^2 / 2``    | scalar        |

T_i, p_i, G_{i,j} and the labels are in `dpaudit.algorithms.tables.joined`, the loss and the
z-update in `dpaudit.algorithms.tables.loss`, a client's update in
`dpaudit.algorithms.tables.clients`. One iteration:

    z_j      <- argmin_z l(z; y_j) - lambda_j' z + rho/2 || sum_i h_{i,j} - z ||^2            (32)
    lambda_j <- lambda_j + rho (sum_i h_{i,j} - z_j), which is grad l(z_j; y_j)               (33)
    theta_i  <- argmin beta R(theta) + 1/N sum_{j <= n_i} [ Y_{i,j}' theta' T_{i,j}
                                            + rho G_{i,j}/2 ||theta' T_{i,j}||^2 ]            (38)

All clients update at once from the same residuals, as eq. (34) says. With more than one table this
is not the ADMM whose convergence is a textbook theorem: each client corrects the whole residual,
so that in directions the tables share the sum moves M times as far. Near an optimum where the loss
has curvature kappa (at most 1/4 for margins, 1/2 for softmax), with beta = 0 and tables that
all hold the same column, the iteration is linear in ``(sum_i h_i, z)`` and stable if and only if

    rho > kappa (3 M - 4) / 2                                       (Jury's criterion, order 2)

Below that it ends in a cycle, away from any optimum; the paper does not mention a condition.

Slips in the paper: eq. (28) writes ``f_i(theta_k)`` for ``f_k(theta_k)``; eq. (35) drops the
constant ``rho/2 ||s||^2`` without saying so, writes the size of a set as a norm, and n_i as N_i.
"for all delta >= 0" in Theorem 2 must be delta > 0.

What Theorem 2 leaves out. Client i's tuple x reaches more than its own clipped gradient: the
server turns ``theta_i' x`` into the Y of every other client, for every tuple that is joined with x,
and nothing clips or hides that on the way. One tuple of a table with G rows in the join therefore
moves up to G tuples' gradients at another client, each by up to 2C, where the accounting per
client has 0. This is so even if only the models are released (`model_steps` has the exact law).
And the server sees ``theta_i' x`` itself, without noise (`server`).

The law of private ADMM over joined tables when every local step's models are seen.

With full batches, each local step is Gaussian given the models before it, and the models determine
everything the server computed: z, lambda and Y are functions of past models *and of the data*.
Replaying the server on both datasets of a pair gives the exact privacy loss, with every way that a
tuple takes: into its own clipped gradient, and by ``theta_i' x`` and Y into everybody else's.

The bound. Let ``a_k`` be how many tuples of client k are joined with what differs (1 for the owner
of a replaced tuple). Their clipped gradients move the sum by at most ``2 C a_k``, and no other
term depends on what differs, so that

    sum_t ||v_t||^2 / s_t^2  <=  T tau' sum_k (2 a_k / sigma)^2.

The accounting of Theorem 2 is ``a_k = 0`` for every client but the owner. A step can attain
``2 C a_k`` at another client: equal facts, and one tuple of large norm joined with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.algorithms.tables.clients import Client, ExactSolve, LocalSGD, Solver
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.algorithms.tables.server import Served, Server
from dpaudit.algorithms.tables.views import ModelView, ServerView, State
from dpaudit.errors import InvalidArgument, Shown, UnsupportedEvent
from dpaudit.laws.mechanism import HasLaw
from dpaudit.laws.residuals import located
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_LABEL, Pair


class TablesProcess(Protocol):
    """ADMM over joined tables as its parts: see `TablesADMM`."""

    @property
    def iterations(self) -> int:
        """How many times the server and the clients take turns."""
        ...

    @property
    def solver(self) -> Solver:
        """How clients update."""
        ...

    @property
    def label_epsilon(self) -> float | None:
        """Of the noise on the labels; None without any."""
        ...

    def check(self, dataset: object) -> None:
        """Raise `InvalidArgument` for data the algorithm cannot run on."""
        ...

    def start(self, dataset: JoinedTables, trials: int) -> tuple[tuple[Array, ...], Array]:
        """Return the first models and dual variables."""
        ...

    def server_side(self) -> Server:
        """Return what the server does."""
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
    served: list[tuple[JoinedTables, Served]] = field(default_factory=list)


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
        pulls = self._served(state.round, dataset).pulls
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
        ends = np.cumsum([model.shape[1] for model in state.models])[:-1]
        models, steps = tuple(np.split(output, ends, axis=1)), state.steps + 1
        over = steps % self.solver.steps == 0
        return History(models, steps, Round(models, state.round) if over else state.round)

    def squared_shift_bounds(self, pair: Pair[JoinedTables]) -> tuple[float, float]:
        """Return bounds on ``sum_t ||v_t||^2 / s_t^2`` over all transcripts."""
        moved = np.array(touched(pair), dtype=np.float64)
        return 0.0, float(self.steps * np.sum((2 * moved / self.solver.noise_multiplier) ** 2))

    def _served(self, current: Round, dataset: JoinedTables) -> Served:
        for known, served in current.served:
            if known is dataset:
                return served
        algorithm = self.algorithm
        before = current.before
        trials = len(current.models[0])
        dual = self._served(before, dataset).dual if before else algorithm.start(dataset, trials)[1]
        targets = algorithm.targets(dataset)
        predicted = dataset.predictions(current.models)
        served = algorithm.server_side().serve(dataset, predicted, dual, targets)
        current.served.append((dataset, served))
        return served


def touched(pair: Pair[JoinedTables]) -> tuple[int, ...]:
    """Return ``a_k``: how many tuples of each table share a row of the join with what differs."""
    data = pair.dataset
    if pair.relation is REPLACE_COLUMN:
        return data.tuples
    if pair.relation is REPLACE_LABEL:
        table, row = data.label_table, pair.index
    else:
        table, row = data.locate(pair.index)
    rows = data.mappings[table] == row
    return tuple(
        1 if pair.relation is not REPLACE_LABEL and k == table else len(np.unique(mapping[rows]))
        for k, mapping in enumerate(data.mappings)
    )


@dataclass(frozen=True, kw_only=True)
class TablesADMM:
    """The algorithm, as public parameters.

    Parameters
    ----------
    iterations
        How many.
    loss
        `LOGISTIC`, or a `CrossEntropy` of several classes.
    penalty
        ``rho``.
    regulariser_weight
        ``beta``, above 0: tables may repeat each other's columns.
    solver
        How clients update: `ExactSolve` or `LocalSGD`, with or without privacy.
    reduced
        Whether clients work on their n_i tuples (eq. 38) or on N joined rows (eq. 34). The updates
        are the same but for rounding, which the exact solve multiplies by the condition number
        ``kappa`` of ``beta I + rho/N sum_j G_{i,j} T_{i,j} T_{i,j}'``: models differ by about
        ``kappa 2e-16`` of their size, so by less than 1e-12 only for kappa below a few thousand.
    label_epsilon
        Put the noise of Theorem 1 on the labels, once, before training; None for none.

    Notes
    -----
    Formal guarantee: the labels are ``label_epsilon``-DP under replace-label in every view, by
    Theorem 1 and post-processing. For features under replace-tuple: none in the `server` view, and
    in the `model` view none from Theorem 2 (module docstring); `model_steps` bounds the loss of a
    pair.

    Examples
    --------
    >>> from dpaudit.algorithms.tables.joined import JoinedTables
    >>> visits, patients = [[1.0], [2.0], [3.0]], [[0.5, 0.5], [0.0, 1.0]]
    >>> data = JoinedTables((visits, patients), ([0, 1, 2], [1, 0, 1]), [1, -1, 1])
    >>> algorithm = TablesADMM(iterations=4, solver=LocalSGD(steps=2, learning_rate=0.1))
    >>> algorithm.model().sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 3, 1)
    >>> algorithm.server().sample(data, 5, np.random.default_rng(0)).shape
    (5, 4, 5, 1)
    """

    iterations: int
    loss: CrossEntropy = LOGISTIC
    penalty: float = 1.0
    regulariser_weight: float = 1e-3
    solver: Solver = field(default_factory=ExactSolve)
    reduced: bool = True
    label_epsilon: float | None = None

    def __post_init__(self) -> None:
        check.integer("iterations", self.iterations, least=1)
        check.positive("penalty", self.penalty)
        check.positive("regulariser_weight", self.regulariser_weight)
        if self.label_epsilon is not None:
            check.positive("label_epsilon", self.label_epsilon)
        clipped = isinstance(self.solver, LocalSGD) and self.solver.clip_norm < np.inf
        if not self.reduced and clipped:
            expected = "True: clipping is by tuple, and a joined row is not a tuple"
            raise InvalidArgument("reduced", self.reduced, expected)

    # --- views -----------------------------------------------------------------------------

    def model(self) -> ModelView:
        """Return the mechanism that releases all models after each iteration, (R, T, D, d_c).

        ``D`` is the sum of the d_i: the tables' models one below the other.
        """
        return ModelView(self)

    def server(self) -> ServerView:
        """Return the mechanism that releases every ``h_{i,j}`` of each iteration.

        Shape ``(R, T, sum of n_i, d_c)``: the tables' predictions one below the other.
        """
        return ServerView(self.model())

    def model_steps(self) -> HasLaw[JoinedTables]:
        """Return the mechanism that releases all models after every local step, with its law.

        Shape ``(R, T tau', D, d_c)``.

        Raises
        ------
        InvalidArgument
            A step is not Gaussian given those before: no noise, batches, or hidden noisy labels.
        """
        return GaussianSteps(LocalSteps(self))

    def without_noise(self) -> TablesADMM:
        """Return the algorithm without noise on labels or gradients; clipping stays."""
        quiet = self.solver
        if isinstance(quiet, LocalSGD):
            quiet = replace(quiet, noise_multiplier=0.0)
        return replace(self, solver=quiet, label_epsilon=None)

    def client_event(self) -> PoissonSubsampledGaussian:
        """Return what Theorem 2 accounts for: one client's ``T tau'`` noisy steps.

        It covers a tuple's way into its owner's model only, as if the server's messages did not
        depend on the tuple. They do from the second iteration on (module docstring).

        Raises
        ------
        UnsupportedEvent
            The solver adds no noise.
        """
        solver = self.solver
        if not (isinstance(solver, LocalSGD) and solver.private):
            raise UnsupportedEvent("event: got a solver without noise, expected LocalSGD with it")
        return PoissonSubsampledGaussian(
            sampling_ratio=solver.sampling_ratio,
            noise_multiplier=solver.noise_multiplier,
            count=self.iterations * solver.steps,
        )

    # --- the algorithm ---------------------------------------------------------------------

    def check(self, dataset: object) -> None:
        """Raise `InvalidArgument` for data the algorithm cannot run on."""
        if not isinstance(dataset, JoinedTables):
            given = Shown(type(dataset).__name__)
            raise InvalidArgument("dataset", given, "JoinedTables")
        self.loss.encode(dataset.labels)

    def server_side(self) -> Server:
        """Return what the server does."""
        return Server(loss=self.loss, penalty=self.penalty, reduced=self.reduced)

    def clients(self, dataset: JoinedTables) -> tuple[Client, ...]:
        """Return the clients, each with its tuples and their counts, or its N joined rows."""
        ones = np.ones(dataset.rows)
        parts = [
            (dataset.features[i], dataset.counts(i)) if self.reduced else (dataset.joined(i), ones)
            for i in range(dataset.tables)
        ]
        constants = (dataset.rows, self.penalty, self.regulariser_weight)
        return tuple(Client(features, counts, *constants) for features, counts in parts)

    def targets(self, dataset: JoinedTables) -> Array:
        """Return the true labels of the join's rows as the loss takes them, (N, d_c)."""
        return self.loss.targets(self.loss.encode(dataset.labels))[dataset.label_rows]

    def seen_targets(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return the labels the server trains on: `targets`, or noisy ones, (R, N, d_c)."""
        if self.label_epsilon is None:
            return self.targets(dataset)
        release = LabelRelease(epsilon=self.label_epsilon, loss=self.loss)
        noisy = release.sample(dataset, trials, rng)
        return self.loss.targets(noisy)[:, dataset.label_rows]

    def start(self, dataset: JoinedTables, trials: int) -> tuple[tuple[Array, ...], Array]:
        """Return the first models and dual variables: all 0."""
        outputs = self.loss.outputs
        models = tuple(np.zeros((trials, width, outputs)) for width in dataset.widths)
        return models, np.zeros((trials, dataset.rows, outputs))

    def run(self, dataset: JoinedTables, trials: int, rng: Generator) -> Iterator[State]:
        """Yield the state after each iteration.

        Raises
        ------
        ConvergenceError
            A solver missed its tolerance, which is also how a diverging run ends.
        """
        self.check(dataset)
        check.integer("trials", trials, least=1)
        clients, server = self.clients(dataset), self.server_side()
        targets = self.seen_targets(dataset, trials, rng)
        models, dual = self.start(dataset, trials)
        for number in range(1, self.iterations + 1):
            with located(f"iteration {number}"):
                served = server.serve(dataset, dataset.predictions(models), dual, targets)
                models = self._updated(clients, models, served, rng)
            dual = served.dual
            yield State(models, served)

    def _updated(
        self, clients: tuple[Client, ...], models: tuple[Array, ...], served: Served, rng: Generator
    ) -> tuple[Array, ...]:
        """Return every client's model after its update."""
        updated = []
        for i, (client, model, pull) in enumerate(zip(clients, models, served.pulls, strict=True)):
            with located(f"client {i}"):
                updated.append(self.solver.update(client, model, pull, rng))
        return tuple(updated)

    def objective(self, models: tuple[Array, ...], dataset: JoinedTables) -> Array:
        """Return the centralised objective of eq. (26), with the true labels, shape ``(R,)``."""
        self.check(dataset)
        targets = self.targets(dataset)
        joined = zip(dataset.predictions(models), dataset.mappings, strict=True)
        scores = np.sum([h[:, rows] for h, rows in joined], axis=0)
        size = np.sum([np.sum(model**2, axis=(1, 2)) for model in models], axis=0)
        loss = self.loss.value(scores, targets).mean(axis=1)
        return np.asarray(loss + self.regulariser_weight / 2 * size)
