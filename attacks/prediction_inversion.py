r"""What the server of ADMM over joined tables learns about raw tuples from predictions.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._validate as check
from algorithms.joined_tables import JoinedTables
from algorithms.tables import TablesADMM
from attacks.prediction_inversion_systems import (
    Inversion,
    column_space,
    complete,
    counting,
    invert,
    principal_angle,
    relative_error,
)
from dpaudit.errors import InvalidArgument

__all__ = [
    "Inversion",
    "Observed",
    "Report",
    "SubspaceReport",
    "attack_known_models",
    "attack_unknown_models",
    "attack_with_known_tuples",
    "column_space",
    "complete",
    "errors_by_round",
    "invert",
    "observe",
    "principal_angle",
    "relative_error",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observed:
    """One run as the server sees it, and the models, which it may or may not know."""

    predictions: Array
    models: Array


@dataclass(frozen=True, kw_only=True)
class Report:
    """How close an inversion came; errors are ``||estimate - tuples|| / ||tuples||`` (Frobenius).

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
    """How close the column space of H is to that of the raw table.

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


def observe(algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator) -> Observed:
    """Run the algorithm once and return what a table's client sends, and its models.

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
    >>> seen = observe(TablesADMM(iterations=4), data, 0, np.random.default_rng(0))
    >>> seen.predictions.shape, seen.models.shape
    ((4, 2, 1), (4, 2, 1))
    """
    if check.integer("table", table, least=0) >= data.tables:
        raise InvalidArgument("table", table, f"less than the {data.tables} tables")
    states = [state.models for state in algorithm.run(data, 1, rng)]
    predictions = np.stack([data.predictions(models)[table][0] for models in states])
    return Observed(predictions, np.stack([models[table][0] for models in states]))


def attack_known_models(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> Report:
    """Return how well one run gives a table away to a server that knows its models.

    Examples
    --------
    >>> from algorithms.tables_clients import LocalSGD
    >>> solver = LocalSGD(steps=1, learning_rate=1.0, clip_norm=1.0, noise_multiplier=10.0)
    >>> algorithm = TablesADMM(iterations=2, solver=solver, label_epsilon=1.0)
    >>> data = JoinedTables(([[1.0, 2.0], [0.0, 3.0], [2.0, 2.0]],), ([0, 1, 2],), [1, -1, 1])
    >>> report = attack_known_models(algorithm, data, 0, np.random.default_rng(0))
    >>> report.relative_error < 1e-9, report.rank, report.control > 0.1
    (True, 2, True)
    """
    seen, tuples = observe(algorithm, data, table, rng), data.features[table]
    other = observe(algorithm, data, table, rng).models
    found = invert(seen.predictions, seen.models)
    return Report(
        relative_error=relative_error(found.tuples, tuples),
        rank=found.rank,
        needed=tuples.shape[1],
        condition=found.condition,
        control=relative_error(invert(seen.predictions, other).tuples, tuples),
        chance=_chance(tuples),
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
    seen, tuples = observe(algorithm, data, table, rng), data.features[table]
    other = observe(algorithm, data, table, rng).models
    found = [
        [relative_error(invert(seen.predictions[:t], models[:t]).tuples, tuples) for t in rounds]
        for models, rounds in ((m, range(1, len(m) + 1)) for m in (seen.models, other))
    ]
    return np.array(found[0]), np.array(found[1])


def attack_unknown_models(
    algorithm: TablesADMM, data: JoinedTables, table: int, rng: Generator
) -> SubspaceReport:
    """Return how well one run gives a table's column space away, whatever the models are."""
    seen, tuples = observe(algorithm, data, table, rng), data.features[table]
    basis = column_space(seen.predictions)
    random, _ = np.linalg.qr(rng.standard_normal(basis.shape))
    return SubspaceReport(
        rank=basis.shape[1],
        true_rank=_rank(tuples),
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
    if not 1 <= check.integer("known", known, least=1) < len(tuples):
        raise InvalidArgument("known", known, f"fewer than the {len(tuples)} tuples")
    seen = observe(algorithm, data, table, rng).predictions
    order = rng.permutation(len(tuples))
    rows, rest = order[:known], order[known:]
    found = complete(seen, rows, tuples[rows])
    shuffled = complete(seen[:, rng.permutation(len(tuples))], rows, tuples[rows])
    return Report(
        relative_error=relative_error(found.tuples[rest], tuples[rest]),
        rank=found.rank,
        needed=_rank(tuples),
        condition=found.condition,
        control=relative_error(shuffled.tuples[rest], tuples[rest]),
        chance=_chance(tuples[rest]),
    )


def _rank(tuples: Array) -> int:
    return int(counting(np.asarray(np.linalg.svd(tuples, compute_uv=False))).sum())


def _chance(tuples: Array) -> float:
    return relative_error(np.broadcast_to(tuples.mean(axis=0), tuples.shape), tuples)
