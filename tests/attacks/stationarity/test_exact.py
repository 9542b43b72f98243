"""Without noise the missing record follows, its label too: from one iteration, or from two."""

import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LINEAR
from dpaudit.attacks.stationarity.inversion import (
    build_stationarity_conditions,
    recover_missing_record,
)
from dpaudit.attacks.stationarity.measures import label_of
from dpaudit.datasets.arrange import split_evenly
from dpaudit.datasets.census import adult
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import one_thread

NODES = 5


def algorithm_of(iterations, weight=1.0, **changes):
    given = {"graph": complete(NODES), "iterations": iterations, "loss_weight": weight}
    return ConsensusADMM(**(given | changes))


def missing(algorithm, data, rows):
    """Yield the conditions of the first node without each of the rows, and the row's record."""
    with one_thread():
        broadcasts = algorithm.penalty_perturbation().sample(data, 1, default_rng(0))[0]
    signed = data.signed_records[data.rows_of(0)]
    for row in rows:
        yield (
            build_stationarity_conditions(algorithm, broadcasts, 0, np.delete(signed, row, axis=0)),
            signed[row],
        )


def error(found, record):
    return np.linalg.norm(found - record) / np.linalg.norm(record)


def drawn(dimension=10, count=40, seed=0):
    rng = default_rng(seed)
    features = rng.standard_normal((NODES * count, dimension))
    features *= (rng.uniform(0.1, 1, len(features)) / np.linalg.norm(features, axis=1))[:, None]
    labels = rng.choice([-1.0, 1.0], len(features))
    return Dataset(features, labels, node_sizes=(count,) * NODES)


PRIVATE = Geometric((0.55, 0.65, 0.6, 0.55, 0.6), (1.01, 1.03, 1.1, 1.2, 1.02))


@pytest.mark.parametrize("penalty", [0.5, PRIVATE], ids=["ADMM", "M-ADMM"])
def test_one_iteration_is_enough(penalty):
    algorithm = algorithm_of(1, penalty=penalty)
    for conditions, record in missing(algorithm, drawn(), range(40)):
        found = recover_missing_record(conditions)
        assert found.iterations == len(found.roots) == 1
        assert error(found.record, record) < 1e-8


@pytest.mark.parametrize("weight", [1.0, 40.0])
@pytest.mark.parametrize("dimension", [3, 10])
def test_two_are_enough_without_the_penalties(dimension, weight):
    algorithm = algorithm_of(2, weight, penalty=PRIVATE)
    for conditions, record in missing(algorithm, drawn(dimension), range(40)):
        assert error(recover_missing_record(conditions.private()).record, record) < 1e-6


def aligned(norm):
    """A node's records that drive its first model far along the missing one: two roots."""
    features = np.zeros((NODES * 40, 3))
    features[:, 0] = 1.0
    features[0] = [norm, 0.0, 0.0]
    features[1:40, 1] = np.linspace(-0.1, 0.1, 39)
    features[1:40, 0] = np.sqrt(1 - features[1:40, 1] ** 2)
    return Dataset(features, np.ones(len(features)), node_sizes=(40,) * NODES)


@pytest.mark.parametrize("norm", [0.15, 0.3, 0.6, 0.9])
def test_two_roots_are_told_apart_by_a_second_iteration(norm):
    # Few neighbours' pull and a large C: the first model is long.
    algorithm = algorithm_of(2, 40.0, penalty=0.02, dual_step=0.02)
    ((conditions, record),) = missing(algorithm, aligned(norm), [0])
    found = recover_missing_record(conditions)
    assert len(found.roots) == 2
    assert found.iterations == 2
    assert error(found.record, record) < 1e-6
    with pytest.raises(MechanismError, match=r"allows norms .* a second one is needed"):
        recover_missing_record(conditions.first(1))


def test_roots_solve_their_equation_and_miss_none():
    algorithm = algorithm_of(2, 40.0, penalty=0.02, dual_step=0.02)
    ((conditions, record),) = missing(algorithm, aligned(0.3), [0])
    found = recover_missing_record(conditions)
    margin = conditions.models[0] @ (record / np.linalg.norm(record))
    grid = np.linspace(0, 1, 1_000_003)
    values = grid / (1 + np.exp(grid * margin)) - 0.3 / (1 + np.exp(0.3 * margin))
    crossings = grid[np.flatnonzero(np.diff(np.sign(values)))]
    np.testing.assert_allclose(found.roots, crossings, atol=2e-6)


def test_what_no_record_explains_is_refused():
    ((conditions, _),) = missing(algorithm_of(1), drawn(), [0])
    pushed = replace(conditions, moves=conditions.moves + 5.0)
    with pytest.raises(MechanismError, match="no record of norm at most 1"):
        recover_missing_record(pushed)


def test_a_run_in_which_no_record_is_missing_is_refused():
    algorithm, data = algorithm_of(1), drawn()
    ((conditions, record),) = missing(algorithm, data, [0])
    complete_set = replace(conditions, known=conditions.gradient(record[None]))
    explained = replace(complete_set, moves=complete_set.shares[:, None] * complete_set.known)
    with pytest.raises(MechanismError, match="leaves nothing"):
        recover_missing_record(explained)


@pytest.mark.parametrize(
    ("algorithm", "named"),
    [(algorithm_of(1, noise_rate=3.0), "noise_rate"), (algorithm_of(1, loss=LINEAR), "loss")],
)
def test_noise_and_other_losses_are_refused(algorithm, named):
    ((conditions, _),) = missing(algorithm, drawn(), [0])
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        recover_missing_record(conditions)


def test_private_penalties_need_two_iterations():
    ((conditions, _),) = missing(algorithm_of(1), drawn(), [0])
    with pytest.raises(InvalidArgument, match=r"^broadcasts: .* two iterations or more"):
        recover_missing_record(conditions.private())


@pytest.fixture(scope="module")
def people():
    path = os.environ.get("DPAUDIT_DATA")
    if path is None:
        pytest.skip("DPAUDIT_DATA is not set: the Adult files are not at hand")
    return split_evenly(adult(path), NODES, default_rng(0))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("weight", "iterations"), [(1.0, 1), (1750.0, 2)])
def test_a_person_of_adult_is_recovered_with_the_label(people, weight, iterations):
    algorithm = algorithm_of(iterations, weight)
    rows, taken = default_rng(1).choice(9000, 6, replace=False), set()
    for conditions, record in missing(algorithm, people, rows):
        assert len(record) == 104
        found = recover_missing_record(conditions)
        taken.add((found.iterations, len(found.roots)))
        assert error(found.record, record) < 1e-6
        assert label_of(found.record) == label_of(record)
    assert taken == {(1, 1)} if iterations == 1 else (2, 2) in taken


def test_a_person_of_adult_is_recovered_without_the_penalties(people):
    algorithm = algorithm_of(2, penalty=PRIVATE)
    for conditions, record in missing(algorithm, people, range(3)):
        found = recover_missing_record(conditions.private()).record
        assert error(found, record) < 1e-6
        assert label_of(found) == label_of(record)
