"""Views of consensus ADMM with Gaussian noise, held to runs of the algorithm itself."""

from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC, SQUARED
from dpaudit.algorithms.views.consensus import GaussianConsensus
from dpaudit.algorithms.views.records import require_shared_map
from dpaudit.algorithms.views.view import View
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair

from .runs import (
    GRAPHS,
    ROUNDS,
    brute_mu,
    check_draws,
    differentiated,
    fractions,
    make_data,
    observers,
    relabelled,
)

each_graph = pytest.mark.parametrize("graph", GRAPHS)
each_noise = pytest.mark.parametrize("noise", ["primal", "dual"])
each_loss = pytest.mark.parametrize("loss", [SQUARED, LINEAR], ids=lambda loss: loss.name)


def make(graph, *, rounds=ROUNDS, loss=SQUARED, noise="primal", noise_scale=0.4):
    algorithm = ConsensusADMM(
        graph=graph, iterations=rounds, penalty=Geometric(0.5, 1.01), loss=loss, dual_step=0.4
    )
    return GaussianConsensus(algorithm, noise_scale, noise)


def change(consensus, data, other):
    return fractions(consensus.data(other) - consensus.data(data))


@each_noise
@each_loss
def test_the_forms_are_derivatives_of_runs(noise, loss):
    graph, data = ring(4), make_data(ring(4), dimension=2, records=3)
    scales = np.random.default_rng(0).uniform(0.2, 1.0, (5, 4))
    consensus = make(graph, rounds=5, loss=loss, noise=noise, noise_scale=scales)
    slopes, sent = differentiated(lambda z: consensus.broadcasts(data, z), (5, 4, 2))
    other = relabelled(data, row=4)
    moved = consensus.broadcasts(other, np.zeros((1, 5, 4, 2))).ravel() - sent
    network = consensus.network(data)
    view = View(network, network.eavesdropper(), change(consensus, data, other))
    found = view.moments()
    np.testing.assert_allclose(found[0], slopes, atol=1e-12)
    np.testing.assert_allclose(found[1], moved, atol=1e-12)


@cache
def long_runs(name, noise):
    """All views at T = 50, and the derivatives of the algorithm's own runs."""
    graph = GRAPHS[name]
    data = make_data(graph)
    other, consensus = relabelled(data), make(graph, noise=noise)
    shape = (ROUNDS, graph.nodes, 1)
    slopes, sent = differentiated(lambda z: consensus.broadcasts(data, z), shape)
    moved = consensus.broadcasts(other, np.zeros((1, *shape))).ravel() - sent
    network = consensus.network(data)
    views = {
        key: View(network, observer, change(consensus, data, other))
        for key, observer in observers(network)
    }
    return consensus, data, other, slopes, moved, views


@pytest.mark.sampled(3)
@each_graph
@each_noise
def test_mu_is_that_of_plain_linear_algebra(graph, noise):
    *_, slopes, moved, views = long_runs(graph, noise)
    for key, view in views.items():
        if 0 in view.observer.knows:
            assert view.mu.lower == np.inf
            continue
        brute = brute_mu(slopes, moved, view.rows, view.columns)
        assert view.mu.lower * (1 - 1e-9) <= brute <= view.mu.upper * (1 + 1e-9), key
        assert view.proof == "exact"


def draws(graph, noise, runs):
    consensus, *both, slopes, _, views = long_runs(graph, noise)
    rng, shape = np.random.default_rng(5), (ROUNDS, both[0].nodes, 1)

    def draw(side, normals):
        return consensus.broadcasts(both[side], normals)

    check_draws(views, slopes, draw, shape, rng, runs=runs)


@each_graph
def test_mu_is_that_of_draws(graph):
    draws(graph, "primal", 10_000)


@pytest.mark.slow
@each_graph
@each_noise
def test_mu_is_that_of_a_million_draws(graph, noise):
    draws(graph, noise, 1_000_000)


def test_moments_of_draws_are_those_of_the_view():
    data = make_data(ring(3), dimension=2)
    consensus = make(ring(3), rounds=4)
    network = consensus.network(data)
    view = View(network, network.eavesdropper(), fractions(consensus.data(data)))
    noise, mean = view.moments()
    runs, rng = 40_000, np.random.default_rng(2)
    sent = consensus.sample(data, runs, rng).reshape(runs, -1)
    covariance = noise @ noise.T
    deviations = np.sqrt(np.diagonal(covariance))
    assert np.abs((sent.mean(axis=0) - mean) / deviations).max() * np.sqrt(runs) < 4.5
    errors = (np.cov(sent.T) - covariance) / np.outer(deviations, deviations)
    assert np.abs(errors).max() * np.sqrt(runs / 2) < 5


# --- what is seen for sure ---------------------------------------------------------------------


def test_an_iteration_without_noise_tells_all():
    data = make_data(ring(4))
    scales = np.full((6, 4), 0.5)
    consensus = make(ring(4), rounds=6, noise_scale=scales)
    labels = change(consensus, data, relabelled(data))
    network = consensus.network(data)
    assert not View(network, network.coalition(1, 3), labels).infinite
    scales[4, 0] = 0
    network = make(ring(4), rounds=6, noise_scale=scales).network(data)
    assert not View(network, network.coalition(1), labels).infinite  # node 3's noise is in it
    assert not View(network.first(4), network.coalition(1, 3), labels).infinite
    view = View(network, network.coalition(1, 3), labels)
    assert (view.infinite, view.proof) == (True, "exact")


def test_without_any_noise_nodes_learn_after_as_many_rounds_as_they_are_far():
    data = make_data(ring(5))
    consensus = make(ring(5), rounds=3, noise_scale=0.0)
    labels, network = change(consensus, data, relabelled(data)), consensus.network(data)
    seen = [View(network.first(t), network.coalition(2), labels).infinite for t in (1, 2, 3)]
    assert seen == [False, True, True]
    assert len(View(network, network.coalition(2), labels)._shortest().network.rounds) == 2


def test_noise_of_others_hides_a_silent_node_until_it_speaks():
    data, scales = make_data(ring(4)), np.full((5, 4), 1.0)
    scales[:, 0] = 0
    consensus = make(ring(4), rounds=5, noise_scale=scales)
    labels, network = change(consensus, data, relabelled(data)), consensus.network(data)
    opposite = View(network, network.coalition(2), labels)
    assert not opposite.infinite
    assert opposite.mu.upper > 0
    assert View(network, network.coalition(1), labels).infinite
    assert View(network, network.coalition(2, 3), labels).infinite


# --- refusals ----------------------------------------------------------------------------------


def test_other_noise_and_other_losses_are_refused():
    spherical = ConsensusADMM(graph=ring(3), iterations=2, loss=SQUARED, noise_rate=3.0)
    with pytest.raises(InvalidArgument, match="Gaussian"):
        GaussianConsensus(spherical, 1.0)
    logistic = ConsensusADMM(graph=ring(3), iterations=2, loss=LOGISTIC)
    with pytest.raises(InvalidArgument, match="linear or squared"):
        GaussianConsensus(logistic, 1.0)
    with pytest.raises(InvalidArgument, match="noise_scale"):
        make(ring(3), noise_scale=-1.0)


def test_a_feature_of_a_squared_loss_is_no_shared_map():
    data = make_data(ring(3))
    features = data.features.copy()
    features[0] *= 0.5
    other = Dataset(features, data.labels, node_sizes=data.node_sizes)
    moved = Pair(data, other, REPLACE_RECORD)
    require_shared_map(moved, squared=False)
    with pytest.raises(InvalidArgument, match="relation"):
        require_shared_map(moved, squared=True)
    require_shared_map(Pair(data, relabelled(data), REPLACE_LABEL), squared=True)
