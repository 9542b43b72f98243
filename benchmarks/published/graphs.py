"""The graphs that the papers draw, at sizes at which every number can be proved."""

from __future__ import annotations

import math
from collections.abc import Callable

import networkx as nx
import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.problems.graphs import Graph, complete, from_edges, ring
from dpaudit.algorithms.views.gossip import compute_metropolis_weights


def numbered(graph: nx.Graph) -> Graph:
    """Return a graph of networkx with nodes 0, 1, ..."""
    plain = nx.convert_node_labels_to_integers(graph)
    return from_edges(plain.number_of_nodes(), plain.edges)


def largest_part(graph: nx.Graph) -> Graph:
    """Return the largest connected part of a graph of networkx."""
    return numbered(graph.subgraph(max(nx.connected_components(graph), key=len)))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "ring": lambda: ring(16),
    "complete": lambda: complete(8),
    "star, a leaf looks": lambda: from_edges(8, [(leaf, 7) for leaf in range(7)]),
    "hypercube of 4": lambda: numbered(nx.hypercube_graph(4)),
    "hypercube of 5": lambda: numbered(nx.hypercube_graph(5)),
    "grid": lambda: numbered(nx.grid_2d_graph(5, 5)),
    "Erdős-Rényi": lambda: largest_part(nx.gnp_random_graph(40, math.log(40) / 40, seed=1)),
    "geometric": lambda: largest_part(nx.random_geometric_graph(40, 0.25, seed=1)),
    "Florentine families": lambda: numbered(nx.florentine_families_graph()),
    "Southern women": lambda: numbered(nx.davis_southern_women_graph()),
}
OBSERVER = 0


def weights_of(graph: Graph) -> Array:
    """Return Metropolis' weights as doubles: ``1 / (1 + max(V_i, V_j))``, and 1/n where all are."""
    return compute_metropolis_weights(graph).astype(np.float64)


def distances(graph: Graph) -> list[int]:
    """Return how many edges every node is from the observer."""
    plain = nx.from_numpy_array(graph.adjacency)
    found = nx.single_source_shortest_path_length(plain, OBSERVER)
    return [found[node] for node in range(graph.nodes)]


def mixing_rounds(weights: Array) -> int:
    """Return how many rounds `T_mix` of Muffliato's code takes at a noise scale of 1."""
    gap = 1 - float(np.linalg.eigvalsh(weights)[-2])
    return math.ceil(math.log(len(weights)) / math.sqrt(gap))
