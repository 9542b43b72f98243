"""Graphs as verifiers read them: connected, symmetric, of a stated size."""

import pytest

from dpaudit.algorithms.consensus.verify.networks import component_count, read_connected_network
from dpaudit.errors import DataError
from dpaudit.verification import Document

PATH = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
PARTS = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


def document(adjacency):
    return Document(
        path="c.json",
        claim="c",
        parameters={"nodes": len(adjacency)},
        quantities={},
        instance={"adjacency": adjacency},
        assumptions={},
    )


def test_a_connected_graph_has_its_degrees():
    adjacency, degrees, condition = read_connected_network(document(PATH), 4)
    assert component_count(adjacency) == 1
    assert degrees == [1, 2, 2, 1]
    assert condition == {"connected graph": (1, 1)}


def test_a_graph_in_two_parts_is_refused():
    with pytest.raises(DataError, match=r"instance\.adjacency: got '?2 parts'?, expected a conn"):
        read_connected_network(document(PARTS), 4)


@pytest.mark.parametrize(("i", "j", "value"), [(0, 0, 1), (0, 2, 1), (0, 1, 0.5)])
def test_what_is_no_graph_is_refused(i, j, value):
    adjacency = [list(row) for row in PATH]
    adjacency[i][j] = value
    with pytest.raises(DataError, match="a symmetric matrix of 0 and 1"):
        read_connected_network(document(adjacency), 4)
