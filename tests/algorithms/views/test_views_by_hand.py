"""Views of a few nodes by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from dpaudit.affine.watching import Watching
from dpaudit.algorithms.problems.graphs import path, ring, star
from dpaudit.algorithms.views.gossip import Gossip, compute_metropolis_weights
from dpaudit.algorithms.views.records import (
    compute_node_curvatures,
    linear_terms,
    list_node_entries,
)
from dpaudit.algorithms.views.releases import (
    ConsensusView,
    GossipView,
    MultiStepView,
    SharingView,
    format_observer_view,
    make_observer_event,
)
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP

# --- who hears whom -------------------------------------------------------------------------------


def network(graph=None, iterations=1, scale=2.0, **options):
    graph = ring(3) if graph is None else graph
    return Gossip(graph, iterations=iterations, noise_scale=scale, **options).network()


def senders_to(net, observer):
    """Return who sends what an observer hears, and whose normals and numbers it has."""
    sent, noise = net.sent.ravel().tolist(), net.program.leaves("noise").tolist()
    heard = [
        net.roles.senders[sent.index(one) % net.sent.shape[1]] for one in observer if one in sent
    ]
    drawn = [net.roles.drawers[noise.index(one)] for one in observer if one in noise]
    held = [net.roles.holders[net.held.tolist().index(one)] for one in observer if one in net.held]
    return set(heard), set(drawn), set(held)


def test_a_coalition_hears_its_neighbours_and_not_itself():
    line = network(path(4))
    assert line.roles.hears == ({1}, {0, 2}, {1, 3}, {2})
    assert senders_to(line, line.coalition(1)) == ({0, 2}, {1}, {1})
    assert senders_to(line, line.coalition(1, 2)) == ({0, 3}, {1, 2}, {1, 2})
    assert senders_to(line, line.coalition(2, 0)) == ({1, 3}, {0, 2}, {0, 2})
    assert senders_to(line, line.eavesdropper()) == ({0, 1, 2, 3}, set(), set())
    assert senders_to(line, line.eavesdropper([(0, 1), (3, 2)])) == ({0, 3}, set(), set())
    for wrong in ([(0, 2)], [(0, 4)], [(0, -1)]):
        with pytest.raises(InvalidArgument, match="an edge, sender first"):
            line.eavesdropper(wrong)
    for wrong in (-1, 4):
        with pytest.raises(InvalidArgument, match="participants"):
            line.coalition(wrong)
    with pytest.raises(InvalidArgument, match="observer: got nobody"):
        line.view(line.coalition(), [1, 0, 0, 0])


def test_what_is_seen_are_the_messages_of_others_in_every_round():
    twice = network(path(3), iterations=2)
    rows, columns = twice.locate_view(twice.view(twice.coalition(1), [1, 0, 0]))
    assert rows.tolist() == [0, 2, 3, 5]
    assert columns.tolist() == [0, 2, 3, 5]  # its own noise is known
    every = twice.view(twice.eavesdropper(), [1, 0, 0])
    assert twice.locate_view(every)[0].tolist() == list(range(6))
    assert twice.locate_view(every)[1].tolist() == list(range(6))


@pytest.mark.parametrize(
    ("observer", "about", "infinite"),
    [((1,), [1, 0, 0], False), ((0,), [1, 0, 0], True), ((0,), [0, 1, 0], False)],
)
def test_own_data_are_known(observer, about, infinite):
    net = network()
    seen = net.view(net.coalition(*observer), about)
    assert seen.knows_the_change is infinite
    assert seen.infinite is infinite
    assert seen.proof == "exact"


def test_a_message_is_a_gaussian_of_its_own_noise():
    """One round: 3/2 of the noise's scale, in the only direction that changes."""
    net = network(star(4), scale=[2.0, 3.0, 2.0, 2.0])
    centre = net.view(net.coalition(0), [0, 1, 0, 0])
    assert centre.mu.lower <= 1 / 3 <= centre.mu.upper
    both = net.view(net.coalition(0), [0, 1, Fraction(1, 2), 0])
    exact = math.sqrt(1 / 9 + 1 / 16)
    assert both.mu.lower == pytest.approx(exact)
    leaf = net.view(net.coalition(1), [0, 0, 1, 0])
    assert leaf.mu.upper == 0.0
    assert not leaf.infinite


def test_two_messages_of_a_node_that_keeps_its_value():
    """x + n, then W_ii x + ... : the second says W_ii x once more, less noise that is heard."""
    net = network(path(2), iterations=2, scale=1.0)
    seen = net.view(net.coalition(1), [1, 0])
    # node 1 knows what it sent: it hears x + n and (x + known) / 2 + n'
    assert seen.mu.lower <= math.sqrt(1 + 1 / 4) <= seen.mu.upper


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_the_ends_of_delta_and_epsilon_are_on_their_own_sides(mu):
    net = network(ring(3), scale=1.0)
    seen = net.view(net.coalition(1), [Fraction(mu), 0, 0])
    with mp.workdps(40):
        m = mp.mpf(mu)
        for epsilon in (0.1, 0.9, 3.0):
            e = mp.mpf(epsilon)
            exact = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            found = seen.delta(epsilon)
            assert found.lower <= exact <= found.upper <= found.lower * (1 + 1e-11)
    for delta in (1e-6, 0.01):
        found = seen.epsilon(delta)
        assert found.lower <= GaussianDP(mu).epsilon(delta) <= found.upper
        assert found.lower <= GaussianDP(mu).epsilon_below(delta)
    told = net.view(net.coalition(0), [1, 0, 0])
    assert (told.delta(1.0).lower, told.epsilon(0.1).lower) == (1.0, math.inf)


def test_the_direction_is_that_of_the_likelihood_ratio():
    net = network(ring(3), iterations=2, scale=1.3)
    seen = net.view(net.coalition(1), [1, 0, 0])
    noise, moved = seen.moments()
    y = seen.direction()
    assert np.allclose(noise @ noise.T @ y, moved)
    assert math.isclose(y @ moved, seen.mu.upper**2, rel_tol=1e-9)


def test_stopped_early_less_is_seen():
    net = network(ring(3), iterations=4)
    assert net.first(2).sent.shape == (2, 3)
    assert net.first(2).roles == net.roles
    stopped = [net.first(t) for t in (1, 2, 4)]
    mus = [one.view(one.coalition(1), [1, 0, 0]).mu.upper for one in stopped]
    assert mus == sorted(mus)
    assert mus[0] < mus[1]
    with pytest.raises(InvalidArgument, match="observer: got coordinates"):
        stopped[0].view(net.coalition(1), [1, 0, 0])


def test_who_learns_is_a_table_of_upper_ends():
    net = network(star(3))
    changes = {"centre": [1, 0, 0], "leaf": [0, 1, 0]}
    table = net.who_learns(changes)
    assert table.values == [[math.inf, 0.5, 0.5, 0.5], [0.5, math.inf, 0.0, 0.5]]
    assert table.columns[-1] == "all messages"
    at = net.who_learns(changes, 1e-3).values
    assert at[0][0] == math.inf
    assert at[1][0] == GaussianDP(0.5).epsilon(1e-3)
    assert at[1][2] == 0.0


def test_what_is_watched_is_a_release_of_the_upper_end():
    gossip = Gossip(star(3), iterations=1, noise_scale=2.0)
    net = gossip.network()
    one = Watching(net, net.view(net.coalition(0), [0, 1, 0]), gossip.messages, (1, 3, 1)).release
    assert (one.sensitivity, one.noise_scale, one.count) == (0.5, 1.0, 1)
    none = Watching(net, net.view(net.coalition(1), [0, 0, 1]), gossip.messages, (1, 3, 1)).release
    assert none.count == 0
    with pytest.raises(InvalidArgument, match="infinite mu"):
        _ = Watching(net, net.view(net.coalition(0), [1, 0, 0]), gossip.messages, (1, 3, 1)).release
    with pytest.raises(InvalidArgument, match="3 normals"):
        Watching(net, net.view(net.coalition(0), [1, 0, 0]), gossip.messages, (2, 3, 1))


def test_the_upper_end_is_released_and_own_noise_is_taken_out():
    gossip = Gossip(path(3), iterations=2, noise_scale=3.0)
    net = gossip.network()
    seen = net.view(net.coalition(1), [1, 0, 0])
    assert seen.mu.lower < seen.mu.upper
    watching = Watching(net, seen, gossip.messages, (2, 3, 1))
    assert watching.release.sensitivity == seen.mu.upper
    values = np.array([[1.0], [2.0], [-1.0]])
    normals = np.random.default_rng(3).standard_normal((4, 2, 3, 1))
    normals[:, :, 1] = 0
    exact = gossip.messages(values, normals).reshape(4, -1)[:, net.locate_view(seen)[0]]
    assert np.allclose(watching.sample(values, 4, np.random.default_rng(3)), exact)
    third = make_observer_event(GossipView(iterations=1, noise_scale=3.0)).sensitivity
    assert Fraction(third) >= Fraction(1, 3)


def test_weights_of_a_star_are_by_the_larger_degree():
    quarter = Fraction(1, 4)
    weights = compute_metropolis_weights(star(4))
    assert weights[0].tolist() == [quarter] * 4
    assert weights[1].tolist() == [quarter, 3 * quarter, 0, 0]
    with pytest.raises(InvalidArgument, match="0 off the edges"):
        Gossip(path(3), iterations=1, weights=[[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    with pytest.raises(InvalidArgument, match="noise_scale"):
        Gossip(path(3), iterations=1, noise_scale=-1.0)


# --- records -------------------------------------------------------------------------------------


def test_what_records_contribute():
    data = Dataset([[1.0, 0.5], [1.0, 0.0], [0.0, 0.5]], [1, -1, -1], node_sizes=(2, 1))
    assert linear_terms(data, 3.0).tolist() == [[0, 0.75], [0, -1.5]]
    assert compute_node_curvatures(data, 1.0).tolist() == [
        [[1, 0.25], [0.25, 0.125]],
        [[0, 0], [0, 0.25]],
    ]
    held, holders = list_node_entries(data)
    assert held.tolist() == [1, 0.5, 1, 1, 0, -1, 0, 0.5, -1]
    assert holders == (0,) * 6 + (1,) * 3


# --- releases by name -----------------------------------------------------------------------------


def test_changes_are_the_largest_that_a_record_makes():
    assert GossipView(nodes=3, sensitivity=0.5).change(1) == [0.0, 0.5, 0.0]
    assert ConsensusView(nodes=3, loss_weight=1.5, records=20).change(2) == [
        0,
        0,
        Fraction(3, 20),
    ]
    assert MultiStepView(nodes=3).change(0) == [2.0, 0.0, 0.0]
    assert SharingView().change(1) == [0.0, 2.0, 0.0]
    assert SharingView().participants == 3


@pytest.mark.parametrize("given", [{"about": 5}, {"observer": (5,)}, {"observer": (-1,)}])
def test_nobody_else_is_there(given):
    assert make_observer_event(GossipView(about=4, observer=(3,), iterations=1)).count == 1
    with pytest.raises(InvalidArgument, match=r"0 to 4|from 0 to 4"):
        make_observer_event(GossipView(iterations=1, **given))


def test_noise_of_a_release_is_in_its_sensitivity():
    assert (
        make_observer_event(GossipView(iterations=1, noise_scale=4.0, sensitivity=2.0)).sensitivity
        == 0.5
    )
    assert make_observer_event(GossipView(iterations=1, observer=2, noise_scale=4.0)).count == 0
    assert "all who read" in format_observer_view(GossipView(iterations=1, observer=()))
    third = format_observer_view(GossipView(iterations=1, noise_scale=3.0))
    assert "mu = 0.33333334" in third  # never less than it is


def test_a_label_of_minus_one_and_one_moves_by_two():
    """What the release says of one label is the view of a change of 2, and linear in it."""
    given = SharingView(features=((0.5, 0.2), (0.1, -0.7)), blocks=(1, 1), observer=(0,), about=1)
    network = given.network()
    halves = network.view(network.coalition(0), [0, 1]).mu
    assert given.change(1) == [0.0, 2.0]
    assert make_observer_event(given).sensitivity == pytest.approx(2 * halves.upper)
