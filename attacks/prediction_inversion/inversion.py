"""Raw tuples from predictions: an inversion by the server of ADMM over joined tables.

| paper   | name            | meaning                                                | shape       |
|---------|-----------------|--------------------------------------------------------|-------------|
| T_i     | ``tuples``      | raw tuples of one client                               | (n, d)      |
| theta_i | ``models``      | its model after each round                             | (T, d, d_c) |
| h_{i,j} | ``predictions`` | ``theta_i' T_{i,j}``, sent to the server each round    | (T, n, d_c) |
| H       |                 | all predictions of a tuple side by side, ``T_i Theta`` | (n, T d_c)  |

**Threat model.** An honest but curious server: it follows the protocol, knows the algorithm, the
join and every public parameter, and keeps what it receives. It wants the clients' raw features.
Labels may be noisy (Theorem 1) and clients may train with DP-SGD (Theorem 2): both randomise theta,
and neither puts noise on h. Three cases, by what else the server knows:

* **models known** (they are published, or returned to the server): ``H = T Theta`` is a linear
  system for every tuple. DP-SGD's noise makes Theta of full rank d after ``d / d_c`` rounds.
* **models unknown**: H determines T up to an invertible d x d map, and no more than that: T and
  ``T W`` with models ``W^-1 theta`` give the same H. What is left is the column space of T: all
  linear relations between tuples, such as which are equal.
* **a few tuples known** besides: as many independent ones as H has rank fix the map, and with it
  all other tuples.

Source: appendix of TablePuppet, eq. (26), (32) and (36) for what the server receives.

Linear systems behind `dpaudit.attacks.prediction_inversion.inversion`: tuples from predictions.

Notation as there: n tuples of d entries, T rounds, d_c predictions of a tuple in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.errors import InvalidArgument, VerbatimText

# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Inversion:
    """Recovered tuples and how well the linear system determined them.

    Parameters
    ----------
    tuples
        The estimate, shape ``(n, d)``; of smallest norm where the system leaves a choice.
    rank, condition
        Of the system: all tuples are determined if the rank is d. The condition number is that of
        the singular values which count as rank.
    """

    tuples: Array
    rank: int
    condition: float


def invert_predictions(predictions: ArrayLike, models: ArrayLike) -> Inversion:
    """Solve ``theta_t' x = h_t`` over all rounds for every tuple x at once.

    Parameters
    ----------
    predictions, models
        Shapes ``(T, n, d_c)`` and ``(T, d, d_c)``.

    Raises
    ------
    InvalidArgument
        The shapes do not fit together, or a number is not finite.

    Examples
    --------
    >>> tuples, models = np.array([[1.0, 2.0]]), np.array([[[1.0], [0.0]], [[1.0], [1.0]]])
    >>> found = invert_predictions(tuples @ models, models)
    >>> found.tuples.round(12), found.rank
    (array([[1., 2.]]), 2)
    """
    seen = check.finite_array("predictions", predictions, ndim=3)
    known = check.finite_array("models", models, ndim=3)
    if (len(seen), seen.shape[2]) != (len(known), known.shape[2]) or not known.size:
        given = VerbatimText(f"shapes {seen.shape} and {known.shape}")
        raise InvalidArgument("models", given, "(T, d, d_c) to predictions of (T, n, d_c)")
    return _solve_least_squares(_side_by_side(known).T, _side_by_side(seen).T)


def column_space(predictions: ArrayLike) -> Array:
    """Return an orthonormal basis of the column space of H, shape ``(n, rank)``.

    Examples
    --------
    >>> basis = column_space([[[3.0], [4.0]], [[6.0], [8.0]]])
    >>> np.abs(basis).round(12).tolist()
    [[0.6], [0.8]]
    """
    seen = _side_by_side(check.finite_array("predictions", predictions, ndim=3))
    left, values, _ = np.linalg.svd(seen, full_matrices=False)
    return np.asarray(left[:, select_nonzero_singular_values(values)])


def recover_all_tuples(predictions: ArrayLike, rows: ArrayLike, known: ArrayLike) -> Inversion:
    """Return all tuples from the predictions and a few known tuples, without any model.

    Parameters
    ----------
    predictions
        Shape ``(T, n, d_c)``.
    rows, known
        Which tuples are known, shape ``(k,)``, and their features, ``(k, d)``. They determine all
        others if ``rank`` is that of `column_space`.

    Raises
    ------
    InvalidArgument
        A row is none of the n, or is not accompanied by a tuple.

    Examples
    --------
    >>> tuples = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> seen = tuples @ np.array([[[0.3], [0.5]], [[0.7], [-0.2]]])
    >>> recover_all_tuples(seen, [0, 1], tuples[:2]).tuples.round(12)[2].tolist()
    [2.0, 3.0]
    """
    basis = column_space(predictions)
    given = check.finite_array("known", known, ndim=2)
    which = np.asarray(rows)
    expected = f"{len(given)} tuple numbers from 0 to {len(basis) - 1}"
    if which.shape != (len(given),) or not np.issubdtype(which.dtype, np.integer):
        raise InvalidArgument("rows", rows, expected)
    if len(given) == 0 or which.min() < 0 or which.max() >= len(basis):
        raise InvalidArgument("rows", rows, expected)
    # H has the column space of the tuples, so some linear map takes its basis to them; the known
    # tuples determine that map.
    found = _solve_least_squares(basis[which], given)
    return Inversion(tuples=basis @ found.tuples.T, rank=found.rank, condition=found.condition)


def principal_angle(basis: Array, tuples: Array) -> float:
    """Return the largest principal angle between two column spaces, in radians.

    Computed from the sine, which is exact to rounding where the angle is small. Where the ranks
    differ, the smaller space is compared with its projection.

    Examples
    --------
    >>> round(principal_angle(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])), 6)
    0.785398
    """
    left, values, _ = np.linalg.svd(tuples, full_matrices=False)
    other = left[:, select_nonzero_singular_values(values)]
    small, large = (basis, other) if basis.shape[1] <= other.shape[1] else (other, basis)
    if small.shape[1] == 0:
        return math.pi / 2
    sine = float(np.linalg.norm(small - large @ (large.T @ small), 2))
    return math.asin(min(1.0, sine))


def relative_error(estimate: Array, tuples: Array) -> float:
    """Return ``||estimate - tuples|| / ||tuples||``, Frobenius."""
    return float(np.linalg.norm(estimate - tuples) / np.linalg.norm(tuples))


def _solve_least_squares(matrix: Array, right: Array) -> Inversion:
    """Return the least-squares solutions X of ``matrix X = right``, one a row of ``tuples``."""
    left, values, across = np.linalg.svd(matrix, full_matrices=False)
    kept = select_nonzero_singular_values(values)
    if not kept.any():
        empty = np.zeros((right.shape[1], matrix.shape[1]))
        return Inversion(tuples=empty, rank=0, condition=math.inf)
    weights = (left[:, kept].T @ right) / values[kept, None]
    condition = float(values[kept][0] / values[kept][-1])
    return Inversion(tuples=(across[kept].T @ weights).T, rank=int(kept.sum()), condition=condition)


def select_nonzero_singular_values(values: Array) -> NDArray[np.bool_]:
    """Return which singular values, largest first, are no rounding."""
    # Of a matrix of zeros no singular value counts: none is above infinity.
    return np.asarray(values > RANK_TOLERANCE * (values[0] if values[0] > 0 else math.inf))


def _side_by_side(rounds: Array) -> Array:
    """Return ``(n, T d_c)`` of ``(T, n, d_c)``."""
    return np.asarray(np.moveaxis(rounds, 0, 1).reshape(rounds.shape[1], -1))


__all__ = [
    "Inversion",
    "Report",
    "ServerObservation",
    "SubspaceReport",
    "attack_known_models",
    "attack_unknown_models",
    "attack_with_known_tuples",
    "column_space",
    "errors_by_round",
    "invert_predictions",
    "principal_angle",
    "recover_all_tuples",
    "relative_error",
    "run_observed_client",
]


@dataclass(frozen=True, eq=False)
class ServerObservation:
    """One run as the server sees it, and the models, which it may or may not know."""

    predictions: Array
    models: Array


@dataclass(frozen=True, kw_only=True)
class Report:
    """The closeness of an inversion; errors are ``||estimate - tuples|| / ||tuples||`` (Frobenius).

    Parameters
    ----------
    relative_error
        Of the estimate.
    rank, condition
        Of the linear system (`Inversion`).
    needed
        The rank that determines every tuple: d of the models, or that of the table where known
        tuples stand in for them.
    control
        Error of the same computation with models of an independent run: what knowing nothing gives.
    chance
        Error of guessing every column's mean, which the server does not even know.
    """

    relative_error: float
    rank: int
    needed: int
    condition: float
    control: float
    chance: float

    @property
    def determined(self) -> bool:
        """Whether the system determines every tuple."""
        return self.rank >= self.needed


@dataclass(frozen=True, kw_only=True)
class SubspaceReport:
    """The closeness of the column space of H to that of the raw table.

    Parameters
    ----------
    rank, true_rank
        Of H, and of the table.
    angle
        Largest principal angle between the two spaces, in radians.
    chance
        The same for a random space of this rank.
    """

    rank: int
    true_rank: int
    angle: float
    chance: float


def run_observed_client(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> ServerObservation:
    """Run the algorithm once and return the messages of a table's client, and its models.

    Parameters
    ----------
    algorithm, data
        What is run; labels and features may be private.
    table
        The client whose tuples are attacked.
    rng
        The run's randomness.

    Raises
    ------
    InvalidArgument
        There is no such table.

    Examples
    --------
    >>> data = JoinedTables(([[1.0, 2.0], [0.0, 3.0]],), ([0, 1],), [1, -1])
    >>> seen = run_observed_client(TablesADMM(iterations=4), data, 0, np.random.default_rng(0))
    >>> seen.predictions.shape, seen.models.shape
    ((4, 2, 1), (4, 2, 1))
    """
    if check.require_integer("table", table, least=0) >= data.tables:
        raise InvalidArgument("table", table, f"less than the {data.tables} tables")
    states = [state.models for state in algorithm.run(data, 1, rng)]
    predictions = np.stack([data.predictions(models)[table][0] for models in states])
    return ServerObservation(predictions, np.stack([models[table][0] for models in states]))


def attack_known_models(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> Report:
    """Return how well one run gives a table away to a server that knows its models.

    Examples
    --------
    >>> from dpaudit.algorithms.tables.clients import LocalSGD
    >>> solver = LocalSGD(steps=1, learning_rate=1.0, clip_norm=1.0, noise_multiplier=10.0)
    >>> algorithm = TablesADMM(iterations=2, solver=solver, label_epsilon=1.0)
    >>> data = JoinedTables(([[1.0, 2.0], [0.0, 3.0], [2.0, 2.0]],), ([0, 1, 2],), [1, -1, 1])
    >>> report = attack_known_models(algorithm, data, 0, np.random.default_rng(0))
    >>> report.relative_error < 1e-9, report.rank, report.control > 0.1
    (True, 2, True)
    """
    seen, tuples = run_observed_client(algorithm, data, table, rng), data.features[table]
    # Models of an independent run are the control: the same computation, with nothing known.
    other = run_observed_client(algorithm, data, table, rng).models
    found = invert_predictions(seen.predictions, seen.models)
    return Report(
        relative_error=relative_error(found.tuples, tuples),
        rank=found.rank,
        needed=tuples.shape[1],
        condition=found.condition,
        control=relative_error(invert_predictions(seen.predictions, other).tuples, tuples),
        chance=_compute_mean_guess_error(tuples),
    )


def errors_by_round(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> tuple[Array, Array]:
    """Return the relative error after each round of one run, and that of the control.

    The server knows the models; the control inverts with those of an independent run. Both have
    shape ``(iterations,)``.

    Examples
    --------
    >>> data = JoinedTables(([[1.0, 2.0], [0.0, 3.0], [2.0, 2.0]],), ([0, 1, 2],), [1, -1, 1])
    >>> algorithm = TablesADMM(iterations=3, label_epsilon=1.0)
    >>> errors, control = errors_by_round(algorithm, data, 0, np.random.default_rng(0))
    >>> errors.round(2), bool((control > 0.1).all())
    (array([0.69, 0.  , 0.  ]), True)
    """
    seen, tuples = run_observed_client(algorithm, data, table, rng), data.features[table]
    other = run_observed_client(algorithm, data, table, rng).models
    found = [
        [
            relative_error(invert_predictions(seen.predictions[:t], models[:t]).tuples, tuples)
            for t in rounds
        ]
        for models, rounds in ((m, range(1, len(m) + 1)) for m in (seen.models, other))
    ]
    return np.array(found[0]), np.array(found[1])


def attack_unknown_models(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> SubspaceReport:
    """Return how well one run gives a table's column space away, whatever the models are."""
    seen, tuples = run_observed_client(algorithm, data, table, rng), data.features[table]
    basis = column_space(seen.predictions)
    # A random space of the same rank says which angle knowing nothing gives.
    random, _ = np.linalg.qr(rng.standard_normal(basis.shape))
    return SubspaceReport(
        rank=basis.shape[1],
        true_rank=_estimate_tuple_rank(tuples),
        angle=principal_angle(basis, tuples),
        chance=principal_angle(np.asarray(random), tuples),
    )


def attack_with_known_tuples(
    algorithm: TablesADMM, data: JoinedTables, table: int, known: int, rng: Generator
) -> Report:
    """Return how well the tuples the server does not know are found from ``known`` it does.

    The known ones are drawn at random; the errors are of the others. The control completes
    predictions whose tuples are shuffled.
    """
    tuples = data.features[table]
    if not 1 <= check.require_integer("known", known, least=1) < len(tuples):
        raise InvalidArgument("known", known, f"fewer than the {len(tuples)} tuples")
    seen = run_observed_client(algorithm, data, table, rng).predictions
    order = rng.permutation(len(tuples))
    rows, rest = order[:known], order[known:]
    found = recover_all_tuples(seen, rows, tuples[rows])
    # Shuffled predictions keep their law and lose the link between rows and tuples.
    shuffled = recover_all_tuples(seen[:, rng.permutation(len(tuples))], rows, tuples[rows])
    return Report(
        relative_error=relative_error(found.tuples[rest], tuples[rest]),
        rank=found.rank,
        needed=_estimate_tuple_rank(tuples),
        condition=found.condition,
        control=relative_error(shuffled.tuples[rest], tuples[rest]),
        chance=_compute_mean_guess_error(tuples[rest]),
    )


def _estimate_tuple_rank(tuples: Array) -> int:
    return int(
        select_nonzero_singular_values(np.asarray(np.linalg.svd(tuples, compute_uv=False))).sum()
    )


def _compute_mean_guess_error(tuples: Array) -> float:
    return relative_error(np.broadcast_to(tuples.mean(axis=0), tuples.shape), tuples)
