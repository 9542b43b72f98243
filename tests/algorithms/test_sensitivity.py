"""Lemma 5: the sensitivity bound holds, is attained, and half of it is refuted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC, LOSSES
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.neighbours import REPLACE_RECORD, Pair

UNTIMED = settings(deadline=None)
GRAPHS = (complete(1), ring(2), star(3), ring(4), complete(4))


def moved(algorithm, pair, models):
    """Return how far the replaced record moves each node's update, in units of Lemma 5's bound."""
    state = replace(algorithm.start(pair.dataset, len(models)), inner=models)
    one, other = (algorithm.step(state, data).mean for data in (pair.dataset, pair.neighbour))
    bound = algorithm.sensitivity(pair.dataset, algorithm.eta(pair.dataset, 1, 1))
    return np.linalg.norm(one - other, axis=-1) / bound


def unit(vector):
    return vector / np.linalg.norm(vector)


@UNTIMED
@given(
    graph=st.sampled_from(GRAPHS),
    loss=st.sampled_from(list(LOSSES.values())),
    step_size=st.sampled_from([ConstantStepSize(0.1), ConstantStepSize(5.0), DecayingStepSize()]),
    penalty=st.floats(1e-3, 10),
    weight=st.floats(0, 1),
    scale=st.sampled_from([0.1, 3.0, 100.0]),
    labels=st.tuples(st.sampled_from([-1.0, 1.0]), st.sampled_from([-1.0, 1.0])),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_bound_is_never_exceeded(
    make_algorithm, make_data, graph, loss, step_size, penalty, weight, scale, labels, seed
):
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(1, 6, graph.nodes))
    row = int(rng.integers(sum(sizes)))
    lengths = rng.choice([1.0, 0.5], 2)
    records = [length * unit(rng.standard_normal(3)) for length in lengths]
    data = make_data(sizes, seed=int(rng.integers(1000)))
    one, other = (data.with_record(row, a, b) for a, b in zip(records, labels, strict=True))
    algorithm = make_algorithm(
        graph=graph, loss=loss, step_size=step_size, penalty=penalty, regulariser_weight=weight
    )
    models = scale * rng.standard_normal((20, graph.nodes, 3))
    ratios = moved(algorithm, Pair(one, other, REPLACE_RECORD), models)
    assert ratios.max() <= 1 + 1e-9
    assert np.delete(ratios, data.node_of(row), axis=1).max(initial=0.0) == 0


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{graph.nodes} nodes")
def test_the_linear_loss_attains_the_bound_in_every_state(graph, make_algorithm, make_pair):
    pair = make_pair(sizes=(5, 1, 3, 4)[: graph.nodes])
    models = np.random.default_rng(0).standard_normal((8, graph.nodes, 3))
    ratios = moved(make_algorithm(graph=graph, loss=LINEAR), pair, models)
    node = pair.dataset.node_of(pair.index)
    np.testing.assert_allclose(ratios[:, node], 1.0, rtol=1e-12)


def test_the_logistic_loss_comes_close_so_half_the_bound_is_refuted(make_algorithm, make_data):
    """Two nearly opposite records that a large model both gets wrong: both slopes are near -1."""
    data, large = make_data((2, 2)), 1e4
    model = np.array([0.0, large, 0.0])
    records = unit(np.array([1.0, -1e-2, 0.0])), unit(np.array([-1.0, -1e-2, 0.0]))
    one, other = (data.with_record(3, record, 1.0) for record in records)
    algorithm = make_algorithm(loss=LOGISTIC)
    ratio = moved(algorithm, Pair(one, other, REPLACE_RECORD), np.tile(model, (1, 2, 1)))[0, 1]
    assert 0.999 < ratio <= 1
    assert ratio > 0.5  # what a bound of half the size would have to exclude


def test_every_convex_loss_refutes_half_the_bound_somewhere(make_algorithm, make_data):
    data = make_data((2, 2))
    records = unit(np.array([1.0, -1e-2, 0.0])), unit(np.array([-1.0, -1e-2, 0.0]))
    one, other = (data.with_record(3, record, 1.0) for record in records)
    models = np.array([0.0, 1.0, 0.0]) * np.geomspace(1, 1e5, 30)[:, None, None] * np.ones((2, 1))
    for loss in LOSSES.values():
        ratios = moved(make_algorithm(loss=loss), Pair(one, other, REPLACE_RECORD), models)
        assert ratios.max() > 0.99


@pytest.mark.parametrize("sizes", [(1, 1), (2, 7)])
def test_the_bound_is_lemma_5_by_hand(sizes, make_algorithm, make_data):
    algorithm = make_algorithm(penalty=0.3)
    bound = algorithm.sensitivity(make_data(sizes), np.array([1.5, 4.0]))
    expected = [2 / ((2 * 0.3 * 1 + 1.5) * sizes[0]), 2 / ((2 * 0.3 * 1 + 4.0) * sizes[1])]
    np.testing.assert_allclose(bound, expected, rtol=1e-14)


def test_the_noise_is_the_multiplier_times_the_bound(make_algorithm, make_data):
    data, algorithm = make_data((2, 7)), make_algorithm(noise_multiplier=2.5)
    scale = algorithm.step(algorithm.start(data, 3), data).scale
    bound = algorithm.sensitivity(data, algorithm.eta(data, 1, 1))
    np.testing.assert_allclose(np.broadcast_to(scale, (2, 1))[:, 0], 2.5 * bound, rtol=1e-14)
