"""Views of consensus ADMM with Gaussian noise, held to runs of the algorithm itself."""

from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC, SQUARED
from dpaudit.algorithms.views.consensus import GaussianConsensus
from dpaudit.errors import InvalidArgument

from .runs import (
    GRAPHS,
    ROUNDS,
    brute_mu,
    check_draws,
    differentiated,
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
    return (consensus.data(other) - consensus.data(data)).tolist()


@each_noise
@each_loss
def test_the_forms_are_derivatives_of_runs(noise, loss):
    graph, data = ring(4), make_data(ring(4), dimension=2, records=3)
    scales = np.random.default_rng(0).uniform(0.2, 1.0, (5, 4))
    consensus = make(graph, rounds=5, loss=loss, noise=noise, noise_scale=scales)
    slopes, sent = differentiated(lambda z: consensus.messages(data, z), (5, 4, 2))
    other = relabelled(data, row=4)
    moved = consensus.messages(other, np.zeros((1, 5, 4, 2))).ravel() - sent
    network = consensus.network(data)
    view = network.view(network.eavesdropper(), change(consensus, data, other))
    found = view.moments()
    np.testing.assert_allclose(found[0], slopes, atol=1e-12)
    np.testing.assert_allclose(found[1], moved, atol=1e-12)


@each_noise
@each_loss
def test_broadcasts_are_those_of_the_algorithm(noise, loss):
    """The closed form of a step is the minimiser that the algorithm finds by Newton's method."""
    data = make_data(ring(4), dimension=2, records=3)
    consensus = make(ring(4), rounds=6, loss=loss, noise=noise)
    normals, algorithm = np.random.default_rng(1).normal(size=(3, 6, 4, 2)), consensus.algorithm
    state, sent = algorithm.start(data, 3), []
    for t in range(6):
        linear = algorithm.pull(state)
        if noise == "dual":
            linear = linear + algorithm.stretch[t][:, None] * 0.4 * normals[:, t]
        model = algorithm.minimise(linear, data, t + 1)
        sent.append(model + 0.4 * normals[:, t] if noise == "primal" else model)
        state = algorithm.advance(state, sent[-1])
    np.testing.assert_allclose(
        consensus.messages(data, normals), np.stack(sent, axis=1), atol=1e-10
    )


@cache
def long_runs(name, noise):
    """All views at T = 50, and the derivatives of the algorithm's own runs."""
    graph = GRAPHS[name]
    data = make_data(graph)
    other, consensus = relabelled(data), make(graph, noise=noise)
    shape = (ROUNDS, graph.nodes, 1)
    slopes, sent = differentiated(lambda z: consensus.messages(data, z), shape)
    moved = consensus.messages(other, np.zeros((1, *shape))).ravel() - sent
    network = consensus.network(data)
    views = {
        key: network.view(observer, change(consensus, data, other))
        for key, observer in observers(network)
    }
    return consensus, data, other, slopes, moved, network, views


@pytest.mark.sampled(3)
@each_graph
@each_noise
def test_mu_is_that_of_plain_linear_algebra(graph, noise):
    *_, slopes, moved, network, views = long_runs(graph, noise)
    for key, view in views.items():
        if view.knows_the_change:
            assert view.mu.lower == np.inf
            continue
        brute = brute_mu(network, view, slopes, moved)
        assert view.mu.lower * (1 - 1e-9) <= brute <= view.mu.upper * (1 + 1e-9), key
        assert view.proof == "exact"


def draws(graph, noise, runs):
    consensus, *both, slopes, _, network, views = long_runs(graph, noise)
    rng, shape = np.random.default_rng(5), (ROUNDS, both[0].nodes, 1)

    def draw(side, normals):
        return consensus.messages(both[side], normals)

    check_draws(network, views, slopes, draw, shape, rng, runs=runs)


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
    view = network.view(network.eavesdropper(), consensus.data(data))
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
    assert not network.view(network.coalition(1, 3), labels).infinite
    scales[4, 0] = 0
    network = make(ring(4), rounds=6, noise_scale=scales).network(data)
    assert not network.view(network.coalition(1), labels).infinite  # node 3's noise is in it
    stopped = network.first(4)
    assert not stopped.view(stopped.coalition(1, 3), labels).infinite
    view = network.view(network.coalition(1, 3), labels)
    assert (view.infinite, view.proof) == (True, "exact")


def test_without_any_noise_nodes_learn_after_as_many_rounds_as_they_are_far():
    data = make_data(ring(5))
    consensus = make(ring(5), rounds=3, noise_scale=0.0)
    labels, network = change(consensus, data, relabelled(data)), consensus.network(data)
    stopped = [network.first(t) for t in (1, 2, 3)]
    seen = [one.view(one.coalition(2), labels) for one in stopped]
    assert [view.infinite for view in seen] == [False, True, True]
    assert [len(view._shortest()) for view in seen[1:]] == [3, 3]  # of a neighbour, in the second


def test_noise_of_others_hides_a_silent_node_until_it_speaks():
    data, scales = make_data(ring(4)), np.full((5, 4), 1.0)
    scales[:, 0] = 0
    consensus = make(ring(4), rounds=5, noise_scale=scales)
    labels, network = change(consensus, data, relabelled(data)), consensus.network(data)
    opposite = network.view(network.coalition(2), labels)
    assert not opposite.infinite
    assert opposite.mu.upper > 0
    assert network.view(network.coalition(1), labels).infinite
    assert network.view(network.coalition(2, 3), labels).infinite


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
