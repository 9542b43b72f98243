"""Views of gossip averaging, held to its runs."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.algorithms.views.gossip import Gossip, compute_metropolis_weights
from dpaudit.errors import InvalidArgument

from .runs import (
    GRAPHS,
    ROUNDS,
    brute_mu,
    check_draws,
    differentiated,
    observers,
    z_scores,
)

each_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def of_node_0(graph):
    return [1] + [0] * (graph.nodes - 1)


@each_graph
@pytest.mark.parametrize("noise", ["messages", "initial"])
def test_the_forms_are_derivatives_of_runs(graph, noise):
    gossip = Gossip(graph, iterations=6, noise_scale=0.7, noise=noise, dimension=2)
    shape = (6 if noise == "messages" else 1, graph.nodes, 2)
    zero = np.zeros((graph.nodes, 2))
    slopes, _ = differentiated(lambda normals: gossip.messages(zero, normals), shape)
    change = np.eye(1, 2 * graph.nodes, 1)[0]
    moved = gossip.messages(change.reshape(-1, 2), np.zeros((1, *shape))).ravel()
    view = gossip.network().view(gossip.network().eavesdropper(), change)
    found = view.moments()
    drawn = slopes.shape[1]
    np.testing.assert_allclose(found[0][:, :drawn], slopes, atol=1e-13)
    assert not found[0][:, drawn:].any()
    np.testing.assert_allclose(found[1], moved, atol=1e-13)


@cache
def long_runs(name):
    """Every view at T = 50, and the derivatives of the runs."""
    graph = GRAPHS[name]
    gossip = Gossip(graph, iterations=ROUNDS, noise_scale=0.7)
    shape, zero = (ROUNDS, graph.nodes, 1), np.zeros((graph.nodes, 1))
    slopes, _ = differentiated(lambda normals: gossip.messages(zero, normals), shape)
    network = gossip.network()
    views = {key: network.view(observer, of_node_0(graph)) for key, observer in observers(network)}
    return gossip, shape, slopes, network, views


@pytest.mark.parametrize("graph", GRAPHS)
def test_mu_is_that_of_plain_linear_algebra(graph):
    gossip, shape, slopes, network, views = long_runs(graph)
    moved = gossip.messages(np.eye(shape[1], 1), np.zeros((1, *shape))).ravel()
    for name, view in views.items():
        if view.knows_the_change:
            assert view.mu.lower == np.inf
            continue
        brute = brute_mu(network, view, slopes, moved)
        assert view.mu.lower * (1 - 1e-9) <= brute <= view.mu.upper * (1 + 1e-9), name
        assert view.proof == "exact"


def draws(graph, runs):
    gossip, shape, slopes, network, views = long_runs(graph)
    values = np.zeros((shape[1], 1)), np.eye(shape[1], 1)
    rng = np.random.default_rng(3)
    check_draws(
        network, views, slopes, lambda s, z: gossip.messages(values[s], z), shape, rng, runs=runs
    )


@pytest.mark.parametrize("graph", GRAPHS)
def test_mu_is_that_of_draws(graph):
    draws(graph, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS)
def test_mu_is_that_of_a_million_draws(graph):
    draws(graph, 1_000_000)


def test_a_mu_that_is_a_hundredth_off_is_seen():
    rng = np.random.default_rng(0)
    here, there = rng.standard_normal((2, 1_000_000))
    assert max(map(abs, z_scores(1.0, here, there + 1))) < 4
    assert max(map(abs, z_scores(1.01, here, there + 1))) > 4


# --- what is known in closed form ------------------------------------------------------------


def test_one_message_is_one_gaussian():
    gossip = Gossip(ring(4), iterations=1, noise_scale=(0.5, 1, 1, 1))
    network = gossip.network()
    assert network.view(network.coalition(1), [1, 0, 0, 0]).mu.upper == 2
    far = network.view(network.coalition(2), [1, 0, 0, 0])
    assert (far.mu.upper, far.proof, far.delta(0.0).upper) == (0, "exact", 0)


@each_graph
def test_noise_on_the_vectors_bounds_mu_for_ever(graph):
    gossip = Gossip(graph, iterations=ROUNDS, noise_scale=2.0, noise="initial")
    network = gossip.network()
    for name, observer in observers(network):
        view = network.view(observer, of_node_0(graph))
        if not view.knows_the_change:
            assert view.mu.upper == pytest.approx(0.5 if view.mu.upper else 0.0, rel=1e-12), name
            assert view.proof == "exact"


def test_more_rounds_and_more_ears_see_more():
    mus = []
    for rounds in (1, 2, 5, 20):
        network = Gossip(ring(5), iterations=rounds, noise_scale=1.0).network()
        alone, both = network.coalition(2), network.coalition(2, 3)
        found = [network.view(one, [1, 0, 0, 0, 0]).mu.upper for one in (alone, both)]
        assert found[0] <= found[1]
        mus.append(found[0])
    assert mus == sorted(mus)
    assert mus[0] == 0 < mus[1] < mus[-1] < 2


def test_two_ways_round_two_changes_are_one_vector():
    network = Gossip(ring(4), iterations=5, noise_scale=1.0, dimension=2).network()
    one = network.view(network.coalition(1), [3, 4] + [0] * 6).mu
    other = network.view(network.coalition(1), [5, 0] + [0] * 6).mu
    assert one.upper == pytest.approx(other.upper, rel=1e-12)


# --- what is seen for sure ---------------------------------------------------------------------


def test_a_value_without_noise_is_seen_as_soon_as_the_rounds_tell_it_apart():
    """Leaves 2 and 3 hear the centre mix 0 and 1: one round does not tell, later ones do."""
    infinite = []
    for rounds in range(1, 7):
        network = Gossip(star(4), rounds, (1, 0, 0, 0), noise="initial").network()
        infinite.append(network.view(network.coalition(2, 3), [0, 1, 0, 0]).infinite)
    first = infinite.index(True)
    assert first > 0
    assert all(infinite[first:])
    network = Gossip(star(4), 50, (1, 0, 0, 0), noise="initial").network()
    view = network.view(network.coalition(2, 3), [0, 1, 0, 0])
    assert (view.infinite, view.proof, view.delta(10.0).lower) == (True, "exact", 1.0)


def test_all_who_draw_the_noise_together_see_through_it():
    network = Gossip(complete(3), 2, (0, 1, 1)).network()
    assert network.view(network.eavesdropper(), [1, 0, 0]).infinite
    network = Gossip(complete(3), 2, (1, 0, 0)).network()
    assert network.view(network.coalition(1, 2), [1, 0, 0]).proof == "exact"


def test_a_sum_over_silent_nodes_is_seen_and_a_difference_is_not():
    """Nodes 1 and 2 add no noise, and the listener hears only their mean with node 0's value."""
    network = Gossip(star(4), 2, (0, 0, 0, 0)).network()
    observer = network.eavesdropper([(0, 3)])
    assert network.view(observer, [0, 1, -1, 0]).mu.upper == 0
    assert network.view(observer, [0, 1, 1, 0]).infinite


def test_no_tolerance_decides():
    """A noise of 1e-200 is noise, and 1/3 as a double is not a third."""
    network = Gossip(ring(3), 2, (1e-200, 1, 1)).network()
    view = network.view(network.eavesdropper(), [1, 0, 0])
    assert not view.infinite
    assert 1e200 <= view.mu.lower <= view.mu.upper < 1.1e200
    third = np.full((3, 3), Fraction(1, 3), dtype=object)
    sums = {}
    for name, weights in {"exact": third, "rounded": third.astype(float)}.items():
        # with exact thirds all values agree after one round: nothing but the mean is ever sent
        network = Gossip(ring(3), 4, (0, 0, 0), noise="initial", weights=weights).network()
        seen = network.eavesdropper([(2, 1)])
        sums[name] = network.view(seen, [1, -1, 0]).infinite
    assert sums == {"exact": False, "rounded": False}
    tilted = third.astype(float)
    tilted[2, 0] = np.nextafter(tilted[2, 0], 1)
    network = Gossip(ring(3), 4, (0, 0, 0), noise="initial", weights=tilted).network()
    assert network.view(network.eavesdropper([(2, 1)]), [1, -1, 0]).infinite


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("noise", {"noise": "laplace"}),
        ("noise_scale", {"noise_scale": -1.0}),
        ("noise_scale", {"noise_scale": (1.0, 2.0)}),
        ("weights", {"weights": np.ones((4, 4))}),
        ("iterations", {"iterations": 0}),
    ],
)
def test_arguments_are_refused_by_name(name, options):
    with pytest.raises(InvalidArgument) as caught:
        Gossip(ring(4), **{"iterations": 2} | options)
    assert caught.value.name == name


def test_observers_are_refused_by_name():
    network = Gossip(ring(4), iterations=2).network()
    with pytest.raises(InvalidArgument, match="edges"):
        network.eavesdropper([(0, 2)])
    with pytest.raises(InvalidArgument, match="participants"):
        network.coalition(4)
    with pytest.raises(InvalidArgument, match="observer"):
        network.view(network.coalition(), [1, 0, 0, 0])
    with pytest.raises(InvalidArgument, match="change"):
        network.view(network.coalition(1), [1, 0, 0])


def test_metropolis_weights_are_doubly_stochastic():
    weights = compute_metropolis_weights(star(4))
    assert (weights == weights.T).all()
    assert all(row.sum() == 1 for row in weights)


def test_every_participant_has_a_view():
    network = Gossip(ring(4), iterations=2).network()
    views = [network.view(network.coalition(one), [1, 0, 0, 0]) for one in range(4)]
    assert [view.infinite for view in views] == [True] + [False] * 3
