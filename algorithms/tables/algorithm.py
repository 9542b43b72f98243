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

T_i, p_i, G_{i,j} and the labels are in `dpaudit.algorithms.tables.joined_tables`, the loss and the
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

Views. The models ``theta_i`` are those after the update of eq. (38), or of eq. (34) unreduced; the
server sees the predictions ``h_{i,j} = theta_i' T_{i,j}``, which eq. (26) defines by row of the
join and section "Computation reduction" by tuple, and which its updates (32), (33) and (36) start
from. The paper has no view of an adversary: Theorem 2 speaks of "the privacy of client's local
data" alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.algorithms.tables.clients import Client, ExactSolve, LocalSGD, Solver
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.laws import LocalSteps
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.algorithms.tables.server import Server, ServerStep
from dpaudit.errors import InvalidArgument, UnsupportedEvent, VerbatimText
from dpaudit.laws.steps import GaussianSteps
from dpaudit.mechanisms.mechanism import HasLaw, Mechanism
from dpaudit.mechanisms.residuals import add_error_place


@dataclass(frozen=True, eq=False)
class TablesState:
    """Everything after an iteration: the new models and the numbers behind them."""

    models: tuple[Array, ...]
    served: ServerStep


@dataclass(frozen=True)
class ClientModelView:
    """The view of an observer who gets all clients' models after every iteration."""

    algorithm: TablesADMM

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, D, d_c)``: models stacked by table."""
        states = self.algorithm.run(dataset, trials, rng)
        return np.stack([np.concatenate(state.models, axis=1) for state in states], axis=1)


@dataclass(frozen=True)
class ServerView:
    """The view of the server: the predictions of every tuple of every table, each iteration.

    Formal guarantee for features: none. A prediction is the tuple times the model, without noise;
    with as many independent models as the tuple has entries, a linear system gives the tuple.
    """

    model: Mechanism[JoinedTables]

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, sum n_i, d_c)``: stacked by table."""
        models = self.model.sample(dataset, trials, rng)
        by_table = np.split(models, np.cumsum(dataset.widths)[:-1], axis=2)
        tables = zip(dataset.features, by_table, strict=True)
        return np.concatenate([features @ model for features, model in tables], axis=2)


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
    >>> from dpaudit.algorithms.tables.joined_tables import JoinedTables
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
        check.require_integer("iterations", self.iterations, least=1)
        check.require_positive("penalty", self.penalty)
        check.require_positive("regulariser_weight", self.regulariser_weight)
        if self.label_epsilon is not None:
            check.require_positive("label_epsilon", self.label_epsilon)
        clipped = isinstance(self.solver, LocalSGD) and self.solver.clip_norm < np.inf
        if not self.reduced and clipped:
            expected = "True: clipping is by tuple, and a joined row is not a tuple"
            raise InvalidArgument("reduced", self.reduced, expected)

    # --- views -----------------------------------------------------------------------------

    def model(self) -> ClientModelView:
        """Return the mechanism that releases all models after each iteration, (R, T, D, d_c).

        ``D`` is the sum of the d_i: the tables' models one below the other.
        """
        return ClientModelView(self)

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
        """Return the event of Theorem 2: one client's ``T tau'`` noisy steps.

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
            given = VerbatimText(type(dataset).__name__)
            raise InvalidArgument("dataset", given, "JoinedTables")
        self.loss.encode(dataset.labels)

    def server_side(self) -> Server:
        """Return the server's step."""
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

    def sample_server_targets(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
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

    def run(self, dataset: JoinedTables, trials: int, rng: Generator) -> Iterator[TablesState]:
        """Yield the state after each iteration.

        Raises
        ------
        ConvergenceError
            A solver missed its tolerance, which is also how a diverging run ends.
        """
        self.check(dataset)
        check.require_integer("trials", trials, least=1)
        clients, server = self.clients(dataset), self.server_side()
        targets = self.sample_server_targets(dataset, trials, rng)
        models, dual = self.start(dataset, trials)
        for number in range(1, self.iterations + 1):
            with add_error_place(f"iteration {number}"):
                served = server.serve(dataset, dataset.predictions(models), dual, targets)
                models = self._update_models(clients, models, served, rng)
            dual = served.dual
            yield TablesState(models, served)

    def _update_models(
        self,
        clients: tuple[Client, ...],
        models: tuple[Array, ...],
        served: ServerStep,
        rng: Generator,
    ) -> tuple[Array, ...]:
        """Return every client's model after its update."""
        updated = []
        for i, (client, model, pull) in enumerate(zip(clients, models, served.pulls, strict=True)):
            with add_error_place(f"client {i}"):
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
