"""Runs side by side broadcast what each broadcasts alone."""

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.side_by_side import run_broadcasts_side_by_side
from dpaudit.algorithms.problems.graphs import complete, ring
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument


def drawn(rng, nodes=4, size=6, dimension=3):
    features = rng.normal(size=(nodes * size, dimension))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = np.where(rng.random(len(features)) < 0.5, 1.0, -1.0)
    return Dataset(features, labels, node_sizes=(size,) * nodes)


def algorithm(rng, graph=None, **given):
    first, growth = rng.uniform(0.5, 1.0, 4), rng.uniform(1.0, 1.2, 4)
    penalty = Geometric(first.tolist(), growth.tolist())
    usual = {"noise_rate": 3.0, "dual_step": 0.4, "loss_weight": 5.0, "iterations": 12}
    return ConsensusADMM(graph=graph or complete(4), penalty=penalty, **{**usual, **given})


@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE])
@pytest.mark.parametrize("noise_rate", [3.0, None])
@pytest.mark.parametrize("graph", [complete(4), ring(4)])
def test_each_run_is_the_one_that_it_is_alone(loss, noise_rate, graph):
    rng = np.random.default_rng(0)
    datasets = [drawn(rng) for _ in range(5)]
    given = [algorithm(rng, graph, loss=loss, noise_rate=noise_rate) for _ in datasets]
    together = run_broadcasts_side_by_side(
        given, datasets, [np.random.default_rng(n) for n in range(5)]
    )
    for n, (one, data) in enumerate(zip(given, datasets, strict=True)):
        alone = one.penalty_perturbation().sample(data, 1, np.random.default_rng(n))[0]
        assert np.abs(together[n] - alone).max() < 1e-9
        by_itself = run_broadcasts_side_by_side([one], [data], [np.random.default_rng(n)])[0]
        assert np.array_equal(together[n], by_itself)  # to the last digit, whoever else runs


def test_minimisers_meet_the_tolerance_at_every_node():
    rng = np.random.default_rng(1)
    data, one = drawn(rng), algorithm(rng, noise_rate=None, iterations=1)
    (models,) = run_broadcasts_side_by_side([one], [data], [rng])[0]
    for node in range(4):
        problem = one.problem(data, 1, node)
        records = data.signed_records[data.rows_of(node)]
        slopes = problem.loss.margin.slope(records @ models[node])
        gradient = problem.weight * slopes @ records + problem.curvature * models[node]
        assert np.linalg.norm(gradient) < 1e-10


@pytest.mark.parametrize(
    "change", [{"iterations": 11}, {"loss_weight": 4.0}, {"graph": ring(4)}, {"loss": LOGISTIC}]
)
def test_runs_that_differ_are_refused(change):
    rng = np.random.default_rng(2)
    given = [
        algorithm(rng, loss=SMOOTHED_HINGE),
        algorithm(rng, **{"loss": SMOOTHED_HINGE} | change),
    ]
    with pytest.raises(InvalidArgument, match="runs that differ"):
        run_broadcasts_side_by_side(given, [drawn(rng)] * 2, [rng] * 2)
