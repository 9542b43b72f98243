r"""ADMM sharing (Hu et al.): learning over vertically split features; hu2020 and hu2019.

Notation: paper, code, meaning, shape (R trials, M parties, N samples, T iterations).

| paper              | code                      | meaning                             | shape     |
|--------------------|---------------------------|-------------------------------------|-----------|
| D_m                | ``Party.design``          | party m's columns                   | (N, d_m)  |
| x_m, x~_m          | ``models``, ``perturbed`` | its model, without and with noise   | (R, d_m)  |
| D_m x~_m           | ``messages[:, m]``        | all that party m sends              | (R, M, N) |
| z                  | ``prediction``            | the centre's copy of the prediction | (R, N)    |
| y                  | ``dual``                  | dual variable, sent by the centre   | (R, N)    |
| sum_m D_m x~_m - z | ``gap``                   | sent by the centre                  | (R, N)    |
| rho                | ``penalty``               | ADMM penalty                        | scalar    |
| l, lambda, R       | ``risk``                  | eq. (1)                             |           |
| X_m                | ``radius``                | ball around 0; None for all of R^d  | scalar    |
| sigma_m            | ``noise.scale``           | see the module `noise`              | (M,)      |

An iteration, all parties in parallel (Jacobi), from ``x = y = z = 0``:

    x_m <- argmin lambda R(x) + <y, D_m x> + rho/2 ||sum_{k != m} D_k x~_k + D_m x - z||^2  (6)
    z   <- argmin l(z) - <y, z> + rho/2 ||sum_m D_m x~_m - z||^2                            (8)
    y   <- y + rho (sum_m D_m x~_m - z)                                                     (9)

What the papers leave out: the first message is ``0 + noise`` on any data, because x = 0 solves (6)
at the start. Without damping the Jacobi updates diverge where rho is small next to the curvature of
the loss: for two parties with the same one column of norm 1 and a loss that pins z, the error grows
by ``1 + sqrt(2)`` an iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.records import require_instance_of
from dpaudit.algorithms.sharing.entrywise import ScalarProblem
from dpaudit.algorithms.sharing.noise import MessageNoise, Noise, NoNoise, model_noise, party_scales
from dpaudit.algorithms.sharing.proximal import (
    TOLERANCE,
    Quadratic,
    minimise_quadratic,
    require_stationary,
    ridge_in_ball,
)
from dpaudit.algorithms.sharing.vertical import (
    Party,
    Risk,
    check_blocks,
    party_of,
    split_into_parties,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.mechanisms.residuals import add_error_place
from dpaudit.neighbours import REPLACE_COLUMN, Pair


@dataclass(frozen=True)
class SharingState:
    """The centre's knowledge: a function of past messages and of the labels, which are public."""

    messages: Array
    prediction: Array
    dual: Array
    gap: Array
    labels: Array


@dataclass(frozen=True)
class Iterate:
    """One turn of hu2020's Algorithm 1: all models side by side, (R, d), and the state after it."""

    models: Array
    perturbed: Array
    state: SharingState


@dataclass(frozen=True, kw_only=True)
class SharingADMM:
    """The algorithm, as public parameters.

    The default ``penalty`` is a number to start from, not advice: nothing makes the iterations
    converge with it. Beside a mean over N samples, the default scaling, a sample's loss has a
    curvature of 1/N or less, and ``rho = 1`` is about N times too large: on the breast-cancer
    records (N = 569) the logistic risk is 0.69 after 10 iterations and 0.38 after 1000, where
    ``0.4 / N`` reaches 0.20 after 10, and the optimum is 0.18. A ``rho`` small next to that
    curvature makes the parallel updates diverge (module docstring).

    Parameters
    ----------
    block_sizes
        How many consecutive feature columns each party owns.
    iterations
        ``T``.
    penalty
        ``rho``.
    noise
        Where noise is added, and how much.
    risk
        Loss, its scaling (mean or sum over samples), regulariser and its weight.
    radius
        Of the ball each ``x_m`` is held in; None for all of R^d.
    tolerance
        Largest residual of an x-update (`dpaudit.algorithms.sharing.proximal.Quadratic.residual`),
        closed forms included: columns that nearly depend on each other, with hardly a ridge, may
        not reach it.

    Notes
    -----
    Formal guarantee: none. Lemma 1 and Theorem 1 of hu2020 do not hold; `squared_shift_bounds` is
    what can be said of a pair with `MessageNoise`.

    Examples
    --------
    >>> data = Dataset(np.eye(4)[:, :3], [1, -1, 1, -1])
    >>> algorithm = SharingADMM(block_sizes=(2, 1), iterations=5, noise=MessageNoise(0.1))
    >>> algorithm.messages().sample(data, 6, np.random.default_rng(0)).shape
    (6, 5, 2, 4)
    >>> algorithm.network().sample(data, 6, np.random.default_rng(0)).shape
    (6, 5, 4, 4)
    >>> algorithm.models().sample(data, 6, np.random.default_rng(0)).shape
    (6, 5, 3)
    """

    block_sizes: tuple[int, ...]
    iterations: int
    penalty: float = 1.0
    noise: Noise = field(default_factory=NoNoise)
    risk: Risk = field(default_factory=Risk)
    radius: float | None = None
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check_blocks(self.block_sizes)
        check.require_integer("iterations", self.iterations, least=1)
        check.require_positive("penalty", self.penalty)
        check.require_positive("tolerance", self.tolerance)
        require_instance_of("noise", self.noise, Noise, "NoNoise(), or noise of a kind and a scale")
        require_instance_of("risk", self.risk, Risk, "a Risk")
        party_scales(self.noise, len(self.block_sizes))
        if self.radius is not None:
            check.require_positive("radius", self.radius)

    # --- views -----------------------------------------------------------------------------

    def messages(self) -> Mechanism[Dataset]:
        """Return the mechanism whose observer sees every ``D_m x~_m``, shape ``(R, T, M, N)``.

        With `MessageNoise` its law is known: it is a `GaussianSteps`. With noise on the models the
        law lives on the column spaces of the data and has no density against a neighbour's.
        """
        return GaussianSteps(self) if isinstance(self.noise, MessageNoise) else MessageView(self)

    def network(self) -> NetworkView:
        """Return the mechanism whose observer sees the centre's messages too, (R, T, M + 2, N).

        The last two rows are ``S - z`` and ``y``, functions of the other rows and of the labels.
        Where the labels are public they add nothing: the privacy loss is that of `messages`.
        """
        return NetworkView(self)

    def models(self) -> PartyModelView:
        """Return the mechanism that releases every iteration's models x, shape ``(R, T, d)``."""
        return PartyModelView(self)

    def without_noise(self) -> SharingADMM:
        """Return the non-private algorithm."""
        return replace(self, noise=NoNoise())

    # --- the algorithm: state, step, advance -----------------------------------------------

    @property
    def steps(self) -> int:
        """Number of messages of each party."""
        return self.iterations

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the algorithm applies to ``dataset``."""
        split_into_parties(dataset, self.block_sizes)
        self.risk.check(dataset)
        self.scalar_problem(len(dataset.labels))

    def start(self, dataset: Dataset, trials: int) -> SharingState:
        """Return the state before the first message: 0, and the labels."""
        check.require_integer("trials", trials, least=0)
        samples = len(dataset.labels)
        nothing = np.zeros((trials, len(self.block_sizes), samples))
        zero = np.zeros((trials, samples))
        return SharingState(nothing, zero, zero, zero, dataset.labels)

    def step(self, state: SharingState, dataset: Dataset) -> Step:
        """Return the law of the next messages with `MessageNoise`: means ``D_m x_m``."""
        # The identity is compared first, as it settles almost every step without looking at N
        # labels.
        if state.labels is not dataset.labels and not np.array_equal(state.labels, dataset.labels):
            raise InvalidArgument("labels", dataset.labels, "those of the run: they are public")
        owners = split_into_parties(dataset, self.block_sizes)
        mean = np.empty_like(state.messages)
        for m, party in enumerate(owners):
            mean[:, m] = self.local_model(party, state, m) @ party.design.T
        return Step(mean, party_scales(self.noise, len(owners))[:, None])

    def local_model(self, party: Party, state: SharingState, m: int) -> Array:
        """Return the minimiser of eq. (6), shape ``(R, d_m)``.

        Without a lasso part it is ``-(lambda I + rho D'D)^{-1} D'(y + rho s)``, in the coordinates
        in which D'D is diagonal. A minimiser that is not unique is taken in the row space of D.
        """
        pull = state.gap - state.messages[:, m]  # s_m, eq. (6)
        # `pull` is a new array since the difference above, so it may be changed in place.
        pull *= self.penalty
        pull += state.dual
        linear = pull @ party.design
        with add_error_place(f"party {m}"):
            if self.risk.lasso:
                return minimise_quadratic(
                    self._quadratic(party), linear, party.fitted(state.messages[:, m])
                )
            return self._solve_closed_form(party, linear)

    def _solve_closed_form(self, party: Party, linear: Array) -> Array:
        """Return the minimiser of eq. (6) without a lasso part, shape ``(R, d_m)``."""
        along = linear @ party.directions
        curvature = self.risk.ridge + self.penalty * party.singular_values**2
        if self.radius is None:
            found = np.asarray((along / -curvature) @ party.directions.T)
        else:
            found = ridge_in_ball(curvature, along, self.radius) @ party.directions.T
        # The closed form is held to the same residual: with hardly a ridge it may lose its digits.
        gradient = self.penalty * party.through_gram(found) + self.risk.ridge * found + linear
        limits = self._smoothness(party), self.radius, self.tolerance
        require_stationary(found, gradient, linear, *limits)
        return found

    def advance(self, state: SharingState, output: Array) -> SharingState:
        """Return the state after the parties' messages: eq. (8) and (9)."""
        total = output.sum(axis=1)
        linear = state.dual + self.penalty * total
        problem = self.scalar_problem(len(state.labels))
        prediction = problem.minimise(linear, state.labels, state.prediction)
        dual = linear - self.penalty * prediction
        return SharingState(output, prediction, dual, total - prediction, state.labels)

    def iterates(self, dataset: Dataset, trials: int, rng: Generator) -> Iterator[Iterate]:
        """Yield every iteration of ``trials`` runs; nothing of earlier ones is kept.

        With `MessageNoise` the messages are those of ``messages().sample``, to the last bit.
        """
        self.check(dataset)
        owners = split_into_parties(dataset, self.block_sizes)
        scales = party_scales(self.noise, len(owners))
        state = self.start(dataset, trials)
        for t in range(1, self.iterations + 1):
            with add_error_place(f"iteration {t}"):
                iterate = self._iterate(state, owners, scales, rng)
            yield iterate
            state = iterate.state

    def _iterate(
        self, state: SharingState, owners: tuple[Party, ...], scales: Array, rng: Generator
    ) -> Iterate:
        trials = len(state.messages)
        # Every party solves with the state of the iteration before (Jacobi), so no message of this
        # one is used.
        models = [self.local_model(party, state, m) for m, party in enumerate(owners)]
        perturbed, messages = [], np.empty_like(state.messages)
        for m, party in enumerate(owners):
            noise = model_noise(self.noise, party, float(scales[m]), trials, rng)
            perturbed.append(models[m] + noise)
            messages[:, m] = perturbed[m] @ party.design.T
        if isinstance(self.noise, MessageNoise):
            # One draw for all parties, as `GaussianSteps` makes it: both ways then give the same
            # runs.
            messages += scales[:, None] * rng.standard_normal(messages.shape)
        after = self.advance(state, messages)
        return Iterate(np.concatenate(models, axis=1), np.concatenate(perturbed, axis=1), after)

    # --- the law of the message variant ----------------------------------------------------

    def shift(self, state: SharingState, pair: Pair[Dataset]) -> Array:
        """Return how far the differing column moves the next means, shape ``(R, M, N)``."""
        m = self._party_that_differs(pair)
        shift = np.zeros_like(state.messages)
        for data, sign in ((pair.dataset, -1.0), (pair.neighbour, 1.0)):
            party = split_into_parties(data, self.block_sizes)[m]
            shift[:, m] += sign * (self.local_model(party, state, m) @ party.design.T)
        return shift

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return bounds on ``sum ||shift||^2 / sigma^2`` over all outputs.

        The first message does not depend on the data. The others move with the history, which is
        unbounded, so that only a ball bounds them: ``||D x - D' x'|| <= (||D|| + ||D'||) radius``.
        """
        m = self._party_that_differs(pair)
        scale = check.require_positive(
            "noise scale", party_scales(self.noise, len(self.block_sizes))[m]
        )
        # From x = y = z = 0 the first message is noise alone.
        if self.iterations == 1:
            return 0.0, 0.0
        if self.radius is None:
            return 0.0, math.inf
        owners = (
            split_into_parties(data, self.block_sizes)[m] for data in (pair.dataset, pair.neighbour)
        )
        reach = self.radius * sum(party.norm for party in owners)
        return 0.0, (self.iterations - 1) * (reach / scale) ** 2

    def _party_that_differs(self, pair: Pair[Dataset]) -> int:
        if pair.relation != REPLACE_COLUMN:
            raise InvalidArgument("relation", VerbatimText(pair.relation.name), REPLACE_COLUMN.name)
        return party_of(self.block_sizes, pair.index)

    # --- the subproblems -------------------------------------------------------------------

    def scalar_problem(self, samples: int) -> ScalarProblem:
        """Return eq. (8) of one sample, without its linear term."""
        weight = self.risk.sample_weight(samples)
        return ScalarProblem(loss=self.risk.loss, weight=weight, penalty=self.penalty)

    def _quadratic(self, party: Party) -> Quadratic:
        # The product is a new array, whose diagonal may be changed.
        curved = self.penalty * party.gram
        curved[np.diag_indices_from(curved)] += self.risk.ridge
        return Quadratic(
            matrix=curved,
            smoothness=self._smoothness(party),
            lasso=self.risk.lasso,
            radius=self.radius,
            tolerance=self.tolerance,
        )

    def _smoothness(self, party: Party) -> float:
        # A design of zeros without a ridge has no curvature; any number above 0 will do as the
        # smoothness then.
        return (self.penalty * party.norm**2 + self.risk.ridge) or 1.0


# What is seen where no law is offered: hu2020's Algorithm 1, lines 6 (messages), 6 and 12 (the
# network), and the models of eq. (6), which no party sends.


@dataclass(frozen=True)
class MessageView:
    """The view of the centre: every party's message. Without a law: see the module `noise`."""

    algorithm: SharingADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, M, N)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.state.messages for iterate in iterates], axis=1)


@dataclass(frozen=True)
class NetworkView:
    """All that is sent: every party's message, then the centre's ``S - z`` and ``y``."""

    algorithm: SharingADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, M + 2, N)``."""
        sent = []
        for iterate in self.algorithm.iterates(dataset, trials, rng):
            state = iterate.state
            sent.append(np.concatenate([state.messages, np.stack([state.gap, state.dual], 1)], 1))
        return np.stack(sent, axis=1)


@dataclass(frozen=True)
class PartyModelView:
    """The models themselves, as if every party published its x_m after each iteration."""

    algorithm: SharingADMM

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, d)``."""
        iterates = self.algorithm.iterates(dataset, trials, rng)
        return np.stack([iterate.models for iterate in iterates], axis=1)
