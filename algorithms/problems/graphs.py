"""Connected graphs of nodes, as adjacency matrices built and checked by networkx.

The network ``G(N, E)`` of zhang2018's section 2.1. `Graph.adjacency` is the A and `Graph.degrees`
the diagonal ``V_i`` of the D in its eq. (13)-(14); ``D - A`` is the Laplacian.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText


@dataclass(frozen=True)
class Graph:
    """A connected, undirected graph without loops.

    Parameters
    ----------
    nodes
        How many nodes, numbered from 0.
    edges
        Pairs of nodes.

    Raises
    ------
    InvalidArgument
        An edge leaves the range or is a loop, or the graph is not connected.

    Examples
    --------
    >>> Graph(3, ((0, 1), (1, 2))).degrees
    array([1., 2., 1.])
    >>> Graph(3, ((0, 1),))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: graph: got 2 parts, expected a connected graph
    """

    nodes: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        check.require_integer("nodes", self.nodes, least=1)
        for edge in self.edges:
            # numpy's integers are node numbers as well.
            whole = all(isinstance(end, int | np.integer) for end in edge)
            inside = whole and all(0 <= end < self.nodes for end in edge)
            if len(edge) != 2 or edge[0] == edge[1] or not inside:
                expected = f"two different nodes from 0 to {self.nodes - 1}"
                raise InvalidArgument("edge", tuple(edge), expected)
        parts = nx.number_connected_components(self._networkx())
        if parts != 1:
            raise InvalidArgument("graph", VerbatimText(f"{parts} parts"), "a connected graph")

    @cached_property
    def adjacency(self) -> NDArray[np.float64]:
        """Symmetric 0/1 matrix, shape ``(n, n)``."""
        matrix = nx.to_numpy_array(self._networkx(), nodelist=range(self.nodes))
        return np.asarray(matrix, dtype=np.float64)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """``|V_i|`` of every node, shape ``(n,)``."""
        degrees: NDArray[np.float64] = self.adjacency.sum(axis=1)
        return degrees

    def _networkx(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(range(self.nodes))
        graph.add_edges_from(self.edges)
        return graph


def from_edges(nodes: int, edges: Iterable[Iterable[int]]) -> Graph:
    """Return the graph with these edges."""
    try:
        listed = tuple((operator.index(a), operator.index(b)) for a, b in edges)
    except (TypeError, ValueError):
        raise InvalidArgument("edges", edges, "pairs of node numbers") from None
    return Graph(nodes, listed)


def complete(nodes: int) -> Graph:
    """Return the graph in which all nodes are neighbours."""
    check.require_integer("nodes", nodes, least=1)
    return from_edges(nodes, nx.complete_graph(nodes).edges)


def ring(nodes: int) -> Graph:
    """Return the cycle; of fewer than three nodes, the path."""
    check.require_integer("nodes", nodes, least=1)
    # A cycle of fewer than three nodes would have a loop, or one edge twice.
    closed = nx.cycle_graph(nodes) if nodes > 2 else nx.path_graph(nodes)
    return from_edges(nodes, closed.edges)


def path(nodes: int) -> Graph:
    """Return the graph whose node i has the neighbours i - 1 and i + 1, as far as there are any."""
    check.require_integer("nodes", nodes, least=1)
    return from_edges(nodes, nx.path_graph(nodes).edges)


def star(nodes: int) -> Graph:
    """Return the graph whose node 0 is everybody's only neighbour."""
    check.require_integer("nodes", nodes, least=1)
    return from_edges(nodes, nx.star_graph(nodes - 1).edges)


def random_connected(nodes: int, rng: Generator, edge_probability: float = 0.3) -> Graph:
    """Return a random spanning tree plus every other edge with ``edge_probability``."""
    check.require_integer("nodes", nodes, least=1)
    if not 0 <= check.require_real("edge_probability", edge_probability) <= 1:
        raise InvalidArgument("edge_probability", edge_probability, "a number in [0, 1]")
    order = rng.permutation(nodes)
    # Each node hangs on a random one of those before it in a random order, which connects all.
    tree = [(int(order[i]), int(order[rng.integers(i)])) for i in range(1, nodes)]
    rows, columns = np.triu_indices(nodes, k=1)
    extra = rng.random(len(rows)) < edge_probability
    return from_edges(nodes, tree + list(zip(rows[extra], columns[extra], strict=True)))


def graph_called(name: str, nodes: int, rng: Generator) -> Graph:
    """Return the graph called ``complete``, ``ring``, ``star`` or ``random``.

    Examples
    --------
    >>> graph_called("ring", 4, np.random.default_rng(0)).degrees
    array([2., 2., 2., 2.])
    """
    check.require_integer("nodes", nodes, least=1)
    match name:
        case "complete":
            return complete(nodes)
        case "ring":
            return ring(nodes)
        case "star":
            return star(nodes)
        case "random":
            return random_connected(nodes, rng)
        case _:
            raise UnknownName("graph", name, ("complete", "ring", "star", "random"))
