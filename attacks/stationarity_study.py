"""Runs of the attack on drawn records.

In a run everything is drawn anew: every node's records (uniform directions, labels that a planted
model explains), the private penalties ``eta_i(t) = theta a_i b_i^(t-1)`` with a and b uniform in
``[1, spread]`` and ``[1, growth]``, and the missing record, whose signed direction is uniform and
independent of all else. A guess that has seen nothing therefore has a cosine with it of exactly the
law in `attacks.stationarity_measures`. The notation is that of `attacks.stationarity`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

import dpaudit._validate as check
from algorithms.consensus import ConsensusADMM
from algorithms.graphs import complete
from algorithms.schedules import Geometric
from attacks.stationarity import Conditions, averaged, observe
from attacks.stationarity_exact import recovered
from attacks.stationarity_likelihood import INTEGRATED, KNOWN, PROFILE, likeliest
from attacks.stationarity_measures import Closeness
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import one_thread, stream

Array = NDArray[np.float64]

AVERAGED, EXACT, MEAN, UNIFORM = "averaged", "exact", "mean of the known", "uniform guess"
ESTIMATORS = (AVERAGED, KNOWN, PROFILE, INTEGRATED, MEAN, UNIFORM)
_STEEPNESS = 8.0  # of the planted model
_NODE = 0


@dataclass(frozen=True, kw_only=True)
class Study:
    """The public parameters of a run.

    Parameters
    ----------
    nodes, records, dimension, iterations
        N, B of every node, d and T; the graph is complete.
    noise_rate
        alpha; None for no noise.
    loss_weight, regulariser_weight, dual_step
        C, rho and theta.
    spread, growth
        Of the penalties; both 1 is DVP (or ADMM).
    missing
        m: how many records of the first node are wanted, the rest being known.
    norm
        Of the missing records, at most 1; the attacker does not know it.
    participates
        Whether the missing record is in the data; False is a control in which another record is,
        so that the broadcasts reveal nothing about it.

    Examples
    --------
    >>> study = Study(records=5, dimension=3, iterations=4)
    >>> run_of(study, default_rng(0)).conditions.models.shape
    (4, 3)
    """

    nodes: int = 5
    records: int = 50
    dimension: int = 10
    iterations: int = 200
    noise_rate: float | None = 30.0
    loss_weight: float = 50.0
    regulariser_weight: float = 1e-2
    dual_step: float = 0.5
    spread: float = 1.4
    growth: float = 1.005
    missing: int = 1
    norm: float = 1.0
    participates: bool = True

    def __post_init__(self) -> None:
        check.integer("nodes", self.nodes, least=2)
        check.integer("records", self.records, least=2)
        check.integer("dimension", self.dimension, least=2)
        if check.integer("missing", self.missing, least=1) >= self.records:
            raise InvalidArgument("missing", self.missing, f"fewer than {self.records} records")
        if not 0 < check.real("norm", self.norm) <= 1:
            raise InvalidArgument("norm", self.norm, "a number in (0, 1]")
        for name in ("spread", "growth"):
            check.real(name, getattr(self, name))
            if getattr(self, name) < 1:
                raise InvalidArgument(name, getattr(self, name), "a number, at least 1")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What the attacker can write down, and the records it wants, signed, shape ``(m, d)``."""

    conditions: Conditions
    records: Array

    @property
    def record(self) -> Array:
        """The first of them, shape ``(d,)``."""
        return np.asarray(self.records[0])


def run_of(study: Study, rng: Generator) -> Run:
    """Return one run, everything in it drawn from ``rng``."""
    data, count = _records(study, rng), study.missing
    wanted, others = study.norm * directions(2 * count, study.dimension, rng).reshape(2, count, -1)
    data = _with_first(data, wanted if study.participates else others)
    algorithm = _algorithm(study, rng)
    with one_thread():
        broadcasts = algorithm.penalty_perturbation().sample(data, 1, rng)[0]
    known = data.signed_records[data.rows_of(_NODE)][count:]
    conditions = observe(algorithm, broadcasts, _NODE, known, missing=count)
    return Run(conditions=conditions, records=wanted)


def _with_first(data: Dataset, signed: Array) -> Dataset:
    """Return the data with these records, of label 1, in place of the first ones."""
    for row, record in enumerate(signed):
        data = data.with_record(row, record, 1.0)
    return data


def directions(count: int, dimension: int, rng: Generator) -> Array:
    """Return uniform directions, shape ``(count, d)``."""
    drawn = rng.standard_normal((count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _records(study: Study, rng: Generator) -> Dataset:
    features = directions(study.nodes * study.records, study.dimension, rng)
    planted = features @ directions(1, study.dimension, rng)[0]
    positive = rng.random(len(features)) < 1 / (1 + np.exp(-_STEEPNESS * planted))
    labels = np.where(positive, 1.0, -1.0)
    return Dataset(features, labels, node_sizes=(study.records,) * study.nodes)


def _algorithm(study: Study, rng: Generator) -> ConsensusADMM:
    first = study.dual_step * rng.uniform(1.0, study.spread, study.nodes)
    growth = rng.uniform(1.0, study.growth, study.nodes)
    return ConsensusADMM(
        graph=complete(study.nodes),
        iterations=study.iterations,
        penalty=Geometric(first.tolist(), growth.tolist()),
        dual_step=study.dual_step,
        noise_rate=study.noise_rate,
        loss_weight=study.loss_weight,
        regulariser_weight=study.regulariser_weight,
    )


def estimate_of(run: Run, estimator: str, rng: Generator) -> Array:
    """Return an estimate of the one missing record, signed, shape ``(d,)``.

    Parameters
    ----------
    run
        What is attacked.
    estimator
        ``averaged`` and ``known`` use the penalties; ``profile`` and ``integrated`` do not see
        them; the last two of ``ESTIMATORS`` see no broadcast. ``exact`` is for runs without noise
        and does not see the penalties either.
    rng
        For starts and for the guess.
    """
    match estimator:
        case "averaged":
            return averaged(run.conditions)
        case "known":
            return np.asarray(likeliest(run.conditions, rng).records[0])
        case "profile" | "integrated":
            private = run.conditions.private()
            return np.asarray(likeliest(private, rng, method=estimator).records[0])
        case "exact":
            return recovered(run.conditions.private()).record
        case "mean of the known":
            mean = run.conditions.others.mean(axis=0)
            size = np.linalg.norm(run.conditions.others, axis=1).mean()
            return np.asarray(size * mean / np.linalg.norm(mean))
        case "uniform guess":
            return np.asarray(directions(1, len(run.record), rng)[0])
    raise InvalidArgument("estimator", estimator, "one of: " + ", ".join((*ESTIMATORS, EXACT)))


def measured(
    study: Study, estimators: Sequence[str], runs: int, seed: SeedSequence | int
) -> dict[str, list[Closeness]]:
    """Return every estimator's closeness in each of the runs.

    Every run has a stream of its own: more runs, or other estimators, change no other run.
    """
    found: dict[str, list[Closeness]] = {name: [] for name in estimators}
    for run, own in runs_of(study, runs, seed):
        for name in estimators:
            found[name].append(closeness_of(run, name, own))
    return found


def closeness_of(run: Run, estimator: str, own: SeedSequence) -> Closeness:
    """Return how close the estimate of a run comes."""
    return Closeness.of(estimate_of(run, estimator, default_rng(own)), run.record)


def runs_of(
    study: Study, runs: int, seed: SeedSequence | int
) -> Iterator[tuple[Run, SeedSequence]]:
    """Yield runs, each with the randomness that an estimator may use."""
    root = stream(seed, "stationarity") if isinstance(seed, int) else seed
    for index in range(check.integer("runs", runs, least=1)):
        own = SeedSequence(root.entropy, spawn_key=(*root.spawn_key, index))
        drawing, attacking = own.spawn(2)
        yield run_of(study, default_rng(drawing)), attacking
