r"""Targets of membership inference: an algorithm, a record in or out, and the proved guarantee.

In every case the attacker of `dpaudit.attacks.membership.inference` sees final models alone. They
are these:

============  ===================================  ===============================================
algorithm     it sees, of one run                  "out" is / what this project proves
============  ===================================  ===============================================
multi-step    every node's average of its inner    the label is flipped / Gaussian DP of all
              models, eq. (22), ``(n, d)``         inner models:
              `dpaudit.attacks.canaries.audit.claim_of`
FDML          all parties' blocks side by side     the label is flipped / nothing: no noise is
              after the last epoch, ``(d,)``       added; the first models and the order of
                                                   samples are all the randomness there is
joined        all clients' models after the last   the tuple is turned round / Gaussian DP of all
tables        round, one below the other,          models after every local step:
              ``(D, d_c)``
              `dpaudit.algorithms.tables.guarantees.model_event`
============  ===================================  ===============================================

A guarantee for what is seen at every step covers the final models, by post-processing. The server
of joined tables sees more, and nothing is proved for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Generic, Literal

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, final_model
from dpaudit.algorithms.sharing.fdml import FDML
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.guarantees import model_event
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.attacks.canaries.audit import claim_of
from dpaudit.attacks.membership.inference import DataT, MeanMarginLoss, Record, RecordLoss, Train
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import GaussianDP, Guarantee
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_TUPLE, Pair

Chosen = Literal["crafted", "real"]

_BLOCK = 100  # runs in memory at once
_ROW = 0


@dataclass(frozen=True, kw_only=True)
class Target(Generic[DataT]):
    """A target; ``claim`` is None where nothing is proved.

    ``record`` and ``loss`` are what `dpaudit.attacks.membership.inference.infer_membership` judges.
    """

    train: Train[DataT]
    pair: Pair[DataT]
    claim: Guarantee | None
    record: Record
    loss: RecordLoss = field(default_factory=MeanMarginLoss)


@dataclass(frozen=True)
class PartLoss:
    """The logistic loss of a record under a part of a run's models, by entry of the second axis.

    Examples
    --------
    >>> models = np.array([[[1.0, 0.0], [3.0, 0.0]]])
    >>> PartLoss(slice(1, 2))(models, np.array([1.0, 0.0]), 1.0).round(4)
    array([0.0486])
    """

    part: slice

    def __call__(self, models: Array, features: Array, label: float) -> Array:
        """Return the loss of ``(features, label)`` in every run, shape ``(R,)``."""
        return MeanMarginLoss()(models[:, self.part], features, label)


def make_mislabelled_pair(data: Dataset, record: Chosen) -> Pair[Dataset]:
    """Return data with a record of the other label at the first node, and with the right one.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.0], [0.8, 0.1]], [1, 1])
    >>> make_mislabelled_pair(data, "real").dataset.labels.tolist()
    [-1.0, 1.0]
    >>> abs(make_mislabelled_pair(data, "crafted").dataset.features[0]).round(1).tolist()
    [0.0, 1.0]
    """
    features, label = _choose_target_record(data.features, record), float(data.labels[_ROW])
    # A wrong label pulls against all other records, so that it shows in the models more than a
    # right one.
    inside, outside = (data.with_record(_ROW, features, sign * label) for sign in (-1, 1))
    return Pair(inside, outside, REPLACE_LABEL)


def make_opposed_pair(data: JoinedTables, record: Chosen) -> Pair[JoinedTables]:
    """Return tables with a tuple of the first turned round, and as it is.

    Examples
    --------
    >>> data = JoinedTables(([[1.0, 0.0], [0.8, 0.1]],), ([0, 1],), [1, 1])
    >>> pair = make_opposed_pair(data, "real")
    >>> (pair.dataset.features[0] + pair.neighbour.features[0]).tolist()
    [[0.0, 0.0], [1.6, 0.2]]
    """
    features = _choose_target_record(data.features[0], record)
    inside, outside = (data.with_tuple(0, _ROW, sign * features) for sign in (-1, 1))
    return Pair(inside, outside, REPLACE_TUPLE)


def _choose_target_record(records: Array, record: Chosen) -> Array:
    """Return the first record, or a unit one along which the records vary least."""
    if record == "real":
        return np.asarray(records[_ROW])
    # Along the last right singular vector the other records pull least, and one more shows most.
    return np.asarray(np.linalg.svd(records, full_matrices=False)[2][-1])


def multistep_target(algorithm: MultiStepADMM, data: Dataset, record: Chosen) -> Target[Dataset]:
    """Return the attack on multi-step DP-ADMM; the record's loss is that under its node's model."""
    pair, seen = make_mislabelled_pair(data, record), algorithm.inner()

    def train(dataset: Dataset, trials: int, rng: Generator) -> Array:
        parts = [
            final_model(seen.sample(dataset, size, rng))
            for size in _split_trials_into_blocks(trials)
        ]
        return np.concatenate(parts)

    node = pair.dataset.node_of(_ROW)
    return Target(
        train=train,
        pair=pair,
        claim=claim_of(algorithm, "flipped"),
        record=_get_target_record(pair.dataset),
        loss=PartLoss(slice(node, node + 1)),
    )


def fdml_target(algorithm: FDML, data: Dataset, record: Chosen) -> Target[Dataset]:
    """Return the attack on FDML; the loss is that under the parties' models together.

    Formal guarantee: none, FDML adds no noise.
    """
    pair = make_mislabelled_pair(data, record)

    def train(dataset: Dataset, trials: int, rng: Generator) -> Array:
        return np.concatenate(
            [
                _run_to_last_iterate(algorithm, dataset, n, rng)
                for n in _split_trials_into_blocks(trials)
            ]
        )

    return Target(train=train, pair=pair, claim=None, record=_get_target_record(pair.dataset))


def _run_to_last_iterate(algorithm: FDML, dataset: Dataset, trials: int, rng: Generator) -> Array:
    *_, last = algorithm.iterates(dataset, trials, rng)
    return last


def _get_target_record(data: Dataset) -> Record:
    return data.features[_ROW], float(data.labels[_ROW])


def calibrate_tables_admm(
    epsilon: float, delta: float, tables: int, *, iterations: int, local_steps: int
) -> TablesADMM:
    """Return private steps over tables joined one to one, (epsilon, delta)-DP under replace-tuple.

    All models are seen after every local step, steps are on full batches of clipped gradients.

    Examples
    --------
    >>> algorithm = calibrate_tables_admm(1.0, 1e-5, 2, iterations=3, local_steps=2)
    >>> round(tables_claim(algorithm, 2).epsilon(1e-5), 6)
    1.0
    """
    check.require_positive("epsilon", epsilon)
    mu = gaussian.mu_at(epsilon, math.log(check.require_probability("delta", delta)))
    # mu is inversely proportional to the noise multiplier: its value at 1 gives the multiplier for
    # any mu.
    noise = _tables_guarantee(iterations, local_steps, 1.0, tables).mu / mu
    solver = LocalSGD(steps=local_steps, learning_rate=1.0, clip_norm=1.0, noise_multiplier=noise)
    return TablesADMM(iterations=iterations, solver=solver)


def tables_claim(algorithm: TablesADMM, tables: int) -> GaussianDP:
    """Return the proved guarantee of a tuple of tables joined one to one, with all models in view.

    Raises
    ------
    InvalidArgument
        Clients do not take noisy steps, so that nothing is proved.
    """
    solver = algorithm.solver
    if not isinstance(solver, LocalSGD):
        raise InvalidArgument("solver", solver, "LocalSGD with noise: nothing else is private")
    return _tables_guarantee(algorithm.iterations, solver.steps, solver.noise_multiplier, tables)


def _tables_guarantee(iterations: int, steps: int, noise: float, tables: int) -> GaussianDP:
    event = model_event(
        iterations=iterations,
        local_steps=steps,
        noise_multiplier=noise,
        # Tables are joined one to one, so a tuple meets one of every other table.
        joined=(1,) * (tables - 1),
    )
    return gaussian_guarantee(event)


def tables_target(
    algorithm: TablesADMM, data: JoinedTables, record: Chosen
) -> Target[JoinedTables]:
    """Return the attack on tables joined one to one; a tuple is judged by its owner's model alone.

    A turned tuple is like one of the other label, as the margin has the sign of both.
    """
    pair = make_opposed_pair(data, record)

    def train(dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        for state in algorithm.run(dataset, trials, rng):
            last = state.models
        return np.concatenate(last, axis=1)

    turned = pair.dataset.features[0][_ROW], float(data.labels[_ROW])
    return Target(
        train=train,
        pair=pair,
        claim=tables_claim(algorithm, data.tables),
        record=turned,
        # Models of the first table, the owner of the tuple, come first along the second axis.
        loss=PartLoss(slice(data.widths[0])),
    )


def split_columns(data: Dataset, tables: int) -> JoinedTables:
    """Return the columns dealt over tables in order, joined one to one.

    Raises
    ------
    InvalidArgument
        There are fewer columns than tables.

    Examples
    --------
    >>> split_columns(Dataset([[1.0, 2.0, 3.0]], [1]), 2).widths
    (2, 1)
    """
    sizes = split_columns_evenly(data.dimension, tables)
    parts = np.split(data.features, np.cumsum(sizes)[:-1], axis=1)
    rows = np.arange(len(data.labels))
    return JoinedTables(tuple(parts), (rows,) * tables, data.labels, name=data.name)


def split_columns_evenly(columns: int, parties: int) -> tuple[int, ...]:
    """Return how many of the columns each party holds, as evenly as it goes.

    Raises
    ------
    InvalidArgument
        There are fewer columns than parties.

    Examples
    --------
    >>> split_columns_evenly(5, 2)
    (3, 2)
    """
    if check.require_integer("parties", parties, least=1) > columns:
        raise InvalidArgument("parties", parties, f"at most {columns}, one a feature")
    return tuple(len(part) for part in np.array_split(np.arange(columns), parties))


def _split_trials_into_blocks(trials: int) -> list[int]:
    """Return how many runs are done at once: of all steps, no more than a block's are kept."""
    return [min(_BLOCK, trials - done) for done in range(0, trials, _BLOCK)]
