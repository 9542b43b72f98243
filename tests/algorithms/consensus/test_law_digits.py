"""The laws of the private variants against 50 digits, and what must not change a digit."""

import numpy as np
import pytest

from dpaudit.algorithms.consensus import law as consensus_law
from dpaudit.algorithms.consensus.margin_problem import MarginProblem
from dpaudit.algorithms.problems.graphs import star
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.datasets import Dataset
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair

from .law import make, oracle_error
from .loop import rng


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_loss_agrees_with_fifty_digits(seed):
    source = rng(seed)
    d, sizes = int(source.integers(1, 5)), tuple(source.integers(1, 6, 3).tolist())
    features = source.standard_normal((sum(sizes), d))
    features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True)) * (1 + 1e-12)
    data = Dataset(features, source.choice([-1.0, 1.0], sum(sizes)), node_sizes=sizes)
    row = int(source.integers(sum(sizes)))
    other = data.with_record(row, features[row] * source.uniform(-0.5, 0.9), data.labels[row])
    pair = Pair(data, other, REPLACE_RECORD)
    algorithm = make(
        graph=star(3),
        penalty=Geometric(source.uniform(0.2, 2, 3), source.uniform(1, 1.2, 3)),
        loss_weight=float(source.uniform(0.5, 10)),
        noise_rate=Geometric(source.uniform(0.5, 5, 3), 0.9),
    )
    outputs = algorithm.penalty_perturbation().sample(data, 3, source)
    assert oracle_error(algorithm, pair, outputs) < 1e-9
    recycled = algorithm.recycled(0.2).sample(data, 2, source)
    assert oracle_error(algorithm, pair, recycled, only_odd=True) < 1e-9


def test_a_tiny_difference_keeps_its_digits(pair):
    moved = pair.dataset.features[4] * (1 - 1e-7)
    near = Pair(
        pair.dataset,
        pair.dataset.with_record(4, moved, pair.dataset.labels[4]),
        REPLACE_RECORD,
    )
    outputs = make().penalty_perturbation().sample(pair.dataset, 3, rng(1))
    assert oracle_error(make(), near, outputs) < 1e-6
    loss = make().penalty_perturbation().privacy_loss(outputs, near)
    assert 0 < np.abs(loss).max() < 1e-5


def test_the_determinant_is_that_of_the_full_matrices(pair):
    records, changed = (
        data.signed_records[data.rows_of(1)] for data in (pair.dataset, pair.neighbour)
    )
    models = rng().standard_normal((7, 3))
    for loss in (LOGISTIC, SMOOTHED_HINGE):
        problem = MarginProblem(loss=loss, weight=2.0, curvature=0.6)
        drop = consensus_law.log_determinant_drop(problem, models, records, records[1], changed[1])
        full = [
            np.linalg.slogdet(problem.hessians(models, signed))[1] for signed in (records, changed)
        ]
        np.testing.assert_allclose(drop, full[0] - full[1], atol=1e-12)
        assert np.abs(drop).max() > 0.1


def test_a_flipped_label_is_a_neighbour_too(pair):
    flipped = pair.dataset.with_record(4, pair.dataset.features[4], -pair.dataset.labels[4])
    flip = Pair(pair.dataset, flipped, REPLACE_LABEL)
    outputs = make().penalty_perturbation().sample(pair.dataset, 2, rng())
    assert oracle_error(make(), flip, outputs) < 1e-9


def test_blocks_of_trials_do_not_matter(pair, monkeypatch):
    outputs = make().penalty_perturbation().sample(pair.dataset, 50, rng())
    loss = make().penalty_perturbation().privacy_loss(outputs, pair)
    monkeypatch.setattr("dpaudit.algorithms.consensus.margin_problem._BLOCK", 1)
    again = make().penalty_perturbation().privacy_loss(outputs, pair)
    np.testing.assert_allclose(again, loss, atol=1e-13)
