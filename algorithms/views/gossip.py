r"""Gossip averaging on a graph with Gaussian noise: the textbook iteration, its runs and its views.

| symbol  | code              | meaning                                              | shape   |
|---------|-------------------|------------------------------------------------------|---------|
| x_i     | ``values``        | private vector of node i, later its estimate         | (R,n,d) |
| W       | ``weights``       | symmetric, doubly stochastic, along the edges        | (n, n)  |
| sigma_i | ``noise_scale``   | standard deviation of a coordinate of its noise      | (n,)    |
| m_i(t)  | ``messages``      | what node i sends to its neighbours in round t       | (R,n,d) |

    m_i(t) = x_i(t) + sigma_i n_i(t),   x_i(t+1) = W_ii x_i(t) + sum_j W_ij m_j(t)    (messages)
    x_i(0) <- x_i(0) + sigma_i n_i,     m_i(t) = x_i(t),  x(t+1) = W x(t)              (initial)

It is Xiao & Boyd's linear iteration (2004) with Metropolis' weights. With noise on the messages a
node keeps its own value without noise and sends it again and again, so that its neighbours learn
more with every round. With noise on the private vectors nothing is learnt beyond them: mu is at
most ``||c|| / sigma``, however long it runs, and infinite only where some node adds no noise and
the observer's messages pin its value down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.affine.network import Network, Roles, trace_network
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.views.linear import number_table
from dpaudit.errors import InvalidArgument, VerbatimText


def compute_metropolis_weights(graph: Graph) -> NDArray[Any]:
    """Return ``W_ij = 1 / (1 + max(V_i, V_j))`` on edges, rows summing to 1, as fractions.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> compute_metropolis_weights(ring(3))[0].tolist()
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    degrees = graph.degrees.astype(int)
    weights = np.full((graph.nodes, graph.nodes), Fraction(0), dtype=object)
    # Metropolis' weight of an edge depends on its two ends alone, so W is symmetric and hence
    # doubly stochastic.
    for i, j in np.argwhere(graph.adjacency):
        weights[i, j] = Fraction(1, 1 + int(max(degrees[i], degrees[j])))
    for i in range(graph.nodes):
        weights[i, i] = 1 - weights[i].sum()
    return weights


@dataclass(frozen=True, eq=False)
class Gossip:
    """The iteration, as public parameters.

    Parameters
    ----------
    graph
        Who is whose neighbour.
    iterations
        ``T``, the number of messages of every node.
    noise_scale
        ``sigma_i``: a number, or one a node; 0 for no noise.
    noise
        ``messages`` or ``initial``.
    weights
        W, shape ``(n, n)``, 0 off the edges; Metropolis' by default. Taken exactly: thirds are to
        be given as fractions.
    dimension
        ``d``, of the private vectors.

    Notes
    -----
    Formal guarantee: that of `dpaudit.affine.view.View`, for private vectors that differ by a
    known change.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> gossip = Gossip(ring(4), iterations=3, noise_scale=1.0)
    >>> gossip.sample(np.ones((4, 1)), 5, np.random.default_rng(0)).shape
    (5, 3, 4, 1)
    """

    graph: Graph
    iterations: int
    noise_scale: Any = 1.0
    noise: str = "messages"
    weights: Any = None
    dimension: int = 1

    def __post_init__(self) -> None:
        check.require_integer("iterations", self.iterations, least=1)
        check.require_integer("dimension", self.dimension, least=1)
        check.require_choice("noise", self.noise, ("messages", "initial"))
        off = (self.graph.adjacency == 0) & ~np.eye(self.graph.nodes, dtype=np.bool_)
        if any(entry != 0 for entry in self._weights[off]):
            raise InvalidArgument(
                "weights", VerbatimText("a weight off the edges"), "0 off the edges"
            )
        # A bad table of scales is to be refused when the object is made, not in the first run.
        self._scales  # noqa: B018

    @property
    def _weights(self) -> NDArray[Any]:
        given = compute_metropolis_weights(self.graph) if self.weights is None else self.weights
        return number_table("weights", given, (self.graph.nodes, self.graph.nodes))

    @property
    def _scales(self) -> NDArray[Any]:
        return number_table("noise_scale", self.noise_scale, (self.graph.nodes,), least=0)

    def sample(self, values: ArrayLike, trials: int, rng: Generator) -> Array:
        """Return all messages of ``trials`` runs from private vectors ``(n, d)``: (R, T, n, d)."""
        start = check.finite_array("values", values, ndim=2)
        expected = (self.graph.nodes, self.dimension)
        if start.shape != expected:
            raise InvalidArgument(
                "values", VerbatimText(f"shape {start.shape}"), f"shape {expected}"
            )
        return self.messages(start, rng.standard_normal((trials, *self.shape)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the standard normals of a run: ``(T or 1, n, d)``."""
        rounds = self.iterations if self.noise == "messages" else 1
        return rounds, self.graph.nodes, self.dimension

    def messages(self, values: Array, normals: Array) -> Array:
        """Return the messages that these standard normals, ``(R, T or 1, n, d)``, lead to."""
        weights, scales = self._weights.astype(float), self._scales.astype(float)
        return np.asarray(self._run(values, normals, weights, scales))

    def _run(self, values: Any, normals: Any, weights: NDArray[Any], scales: NDArray[Any]) -> Any:
        own = np.diagonal(weights)[:, None]
        others = weights - np.diag(own[:, 0])
        noise, sent = scales[:, None] * normals, []
        # Zero times the noise gives the private vectors the shape of the trials.
        here = values + (0 * noise[:, 0] if self.noise == "messages" else noise[:, 0])
        for t in range(self.iterations):
            sent.append(here + noise[:, t] if self.noise == "messages" else here)
            # A node keeps its own value without noise and hears the others' with theirs.
            here = own * here + others @ sent[-1]
        return np.stack(sent, axis=1).astype(float)

    def network(self) -> Network:
        """Return the messages as they are formed; private vectors change, row by row."""
        weights, scales = self._weights, self._scales
        zero = np.zeros((self.graph.nodes, self.dimension))
        roles = Roles.of_nodes(self.graph.adjacency, self.dimension, drawn=self.shape[0])
        return trace_network(lambda x, z: self._run(x, z, weights, scales), zero, self.shape, roles)
