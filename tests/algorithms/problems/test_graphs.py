"""Graphs: adjacency by hand, what is refused, and that a random graph is always connected."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.algorithms.problems.graphs import (
    Graph,
    complete,
    from_edges,
    graph_called,
    path,
    random_connected,
    ring,
    star,
)
from dpaudit.errors import InvalidArgument, UnknownName

UNTIMED = settings(deadline=None)
PATH = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("graph", "adjacency"),
    [
        (complete(3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        (ring(4), [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]),
        (star(4), [[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]),
        (from_edges(3, [(2, 0), [1, 2]]), [[0, 0, 1], [0, 0, 1], [1, 1, 0]]),
        (from_edges(2, [(0, 1), (1, 0), (0, 1)]), PATH),  # an edge counts once
        (complete(2), PATH),
        (ring(2), PATH),
        (star(2), PATH),
        (complete(1), [[0]]),
        (ring(1), [[0]]),
        (star(1), [[0]]),
        (path(4), [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]),
        (path(1), [[0]]),
    ],
)
def test_adjacency_and_degrees(graph, adjacency):
    np.testing.assert_array_equal(graph.adjacency, adjacency)
    np.testing.assert_array_equal(graph.degrees, np.sum(adjacency, axis=1))
    assert graph.nodes == len(adjacency)


@UNTIMED
@given(
    nodes=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    edge_probability=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
)
def test_a_random_graph_is_connected_symmetric_and_without_loops(nodes, seed, edge_probability):
    graph = random_connected(nodes, np.random.default_rng(seed), edge_probability)
    adjacency = graph.adjacency
    reached = np.linalg.matrix_power(np.eye(nodes) + adjacency, nodes)
    assert (reached > 0).all()
    np.testing.assert_array_equal(adjacency, adjacency.T)
    assert np.trace(adjacency) == 0
    assert set(np.unique(adjacency)) <= {0.0, 1.0}


def test_the_edge_probability_goes_from_a_tree_to_the_complete_graph():
    rng = np.random.default_rng(0)
    assert random_connected(9, rng, 0.0).adjacency.sum() == 2 * 8
    assert random_connected(9, rng, 1.0).adjacency.sum() == 9 * 8


def test_random_graphs_differ_by_seed_and_repeat_with_it():
    one, again, other = (random_connected(8, np.random.default_rng(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.adjacency, again.adjacency)
    assert not np.array_equal(one.adjacency, other.adjacency)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: from_edges(4, [(0, 1), (2, 3)]), "graph"),  # not connected
        (lambda: from_edges(2, []), "graph"),
        (lambda: from_edges(2, [(0, 1), (1, 1)]), "edge"),  # a loop
        (lambda: from_edges(2, [(0, 2)]), "edge"),
        (lambda: from_edges(2, [(-1, 0)]), "edge"),
        (lambda: Graph(3, ((0, 1, 2),)), "edge"),
        (lambda: Graph(2, ((0, 1), (1, 0.5))), "edge"),  # a node that is not one
        (lambda: from_edges(3, [(0.5, 1), (1, 2)]), "edges"),
        (lambda: from_edges(3, [(0, 1, 2)]), "edges"),
        (lambda: from_edges(3, 5), "edges"),
        (lambda: random_connected(3, np.random.default_rng(0), 1.5), "edge_probability"),
        (lambda: random_connected(3, np.random.default_rng(0), np.nan), "edge_probability"),
    ],
)
def test_what_is_no_connected_graph_is_refused(make, name):
    with pytest.raises(InvalidArgument) as refusal:
        make()
    assert refusal.value.name == name


@pytest.mark.parametrize("nodes", [0, -1, 2.5, "3", True])
@pytest.mark.parametrize(
    "make", [complete, ring, star, lambda nodes: random_connected(nodes, np.random.default_rng(0))]
)
def test_a_bad_number_of_nodes_is_refused(make, nodes):
    with pytest.raises(InvalidArgument, match=r"^nodes: got .*, expected an integer, at least 1"):
        make(nodes)


def test_graphs_by_name():
    rng = np.random.default_rng(0)
    for name, make in (("complete", complete), ("ring", ring), ("star", star)):
        np.testing.assert_array_equal(graph_called(name, 5, rng).adjacency, make(5).adjacency)
    drawn = random_connected(5, np.random.default_rng(7)).adjacency
    named = graph_called("random", 5, np.random.default_rng(7)).adjacency
    np.testing.assert_array_equal(named, drawn)
    with pytest.raises(UnknownName, match="did you mean 'star'"):
        graph_called("stra", 5, rng)
