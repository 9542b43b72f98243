r"""What is exact, of the recursions that the published bounds are about.

    once:         m_0 = x + n,  m_(t+1) = W m_t                    (x changes by 1 at u)
    every round:  m_t = W m_(t-1) + g_t + n_t                      (g_t changes by c_t at u)

The observer v hears its neighbours' T messages, and knows the noise that is its own. With noise
once mu^2 is a rational number, and worked out as one. With noise in every round a
node is chosen in doubles, and `dpaudit.views` proves its number, from the recursion as it is here.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.random import Generator

from dpaudit import views
from dpaudit._typing import Array
from dpaudit.affine.observers import hear_neighbours
from dpaudit.affine.view import View
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.views.gossip import compute_metropolis_weights

_LEAST = 1e-10  # of the largest singular value


# In doubles


def row_space(rows: Array) -> Array:
    """Return an orthonormal basis of the rows, shape ``(rank, columns)``."""
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[: int((sizes > _LEAST * sizes[0]).sum())])


def grams_every_round(weights: Array, graph: Graph, observer: int, rounds: int) -> Array:
    """Return the projection between the rounds of every node, shape ``(n, T, T)``."""
    nodes = len(weights)
    powers = [np.linalg.matrix_power(weights, t) for t in range(rounds)]
    sent = np.zeros((rounds, nodes, rounds, nodes))
    for t, s in product(range(rounds), repeat=2):
        if s <= t:
            sent[t, :, s] = powers[t - s]
    sent[:, :, :, observer] = 0
    seen = sent[:, graph.adjacency[observer] > 0].reshape(-1, rounds * nodes)
    basis = row_space(seen).reshape(-1, rounds, nodes)
    return np.asarray(np.einsum("rsu,rtu->ust", basis, basis))


def square_misread(
    weights: Array, graph: Graph, observer: int, node: int, rounds: int, error: float
) -> float:
    """Return mu^2 where every message is read with a Gaussian error of so much."""
    heard, power, rows = np.flatnonzero(graph.adjacency[observer]), np.eye(len(weights)), []
    for _ in range(rounds):
        rows.append(power[heard])
        power = weights @ power
    seen = np.concatenate(rows)
    seen[:, observer] = 0
    _, sizes, basis = np.linalg.svd(seen, full_matrices=False)
    kept = sizes**2 / (sizes**2 + error**2)
    return float(kept @ basis[:, node] ** 2)


# Exact, or proved


def squares_once(graph: Graph, observer: int, rounds: int) -> list[Fraction]:
    """Return mu^2 of every node's vector where noise is added once.

    Of T messages a neighbour, from the noisy vectors on, by one who knows its own noise. As noise
    enters where vectors do, mu^2 is how much of a node's coordinate is in the span of the rows.
    """
    first = fmpq_mat(np.eye(graph.nodes, dtype=int).tolist())
    first[observer, observer] = 0
    return in_span(_heard(graph, observer, first, rounds))


def squares_once_later(graph: Graph, observer: int, rounds: int) -> list[Fraction]:
    """Return mu^2 for one who hears W x, ..., W^T x and knows no noise, not even its own.

    It hears just the messages that the published sum is over, and of each what that counts.
    """
    return in_span(_heard(graph, observer, _weights(graph), rounds))


def _heard(graph: Graph, observer: int, first: fmpq_mat, rounds: int) -> fmpq_mat:
    """Return the rows of the neighbours' messages, round by round."""
    rows, sent, weights = [], first, _weights(graph)
    for _ in range(rounds):
        rows += [sent.tolist()[node] for node in np.flatnonzero(graph.adjacency[observer])]
        sent = weights * sent
    return fmpq_mat(rows)


def in_span(rows: fmpq_mat) -> list[Fraction]:
    """Return the squared length of the part of every unit vector in the span of rows.

    Examples
    --------
    >>> in_span(fmpq_mat([[1, 1, 0], [2, 2, 0]]))
    [Fraction(1, 2), Fraction(1, 2), Fraction(0, 1)]
    """
    reduced, rank = rows.rref()
    basis = fmpq_mat(reduced.tolist()[:rank])
    weighted = (basis * basis.transpose()).solve(basis).tolist()
    columns = zip(*basis.tolist(), strict=True), zip(*weighted, strict=True)
    found = [
        sum(one * other for one, other in zip(*pair, strict=True))
        for pair in zip(*columns, strict=True)
    ]
    return [Fraction(int(square.p), int(square.q)) for square in found]


def views_every_round(
    weights: Array, graph: Graph, observer: int, node: int, rounds: int, change: Any = None
) -> View:
    """Return the observer's view of a node's numbers, each of which changes by at most 1.

    Of all such changes mu is the largest; or a change is given.
    """

    def average(private: Array, rng: Generator) -> Array:
        last, sent = np.zeros(graph.nodes), []
        for t in range(rounds):
            last = weights @ last + rng.normal(size=graph.nodes)
            last[node] = last[node] + private[t]
            sent.append(last)
        return np.array(sent)

    seen = hear_neighbours(graph.adjacency)[f"node {observer}"]
    among = (
        {"about": {"node": slice(None)}, "norm": "box"} if change is None else {"change": change}
    )
    found = views(average, private=np.zeros(rounds), observers={"node": seen}, **among)
    return found.view("node")


# Rational matrices


def _weights(graph: Graph) -> fmpq_mat:
    given = compute_metropolis_weights(graph)
    return fmpq_mat([[fmpq(one.numerator, one.denominator) for one in row] for row in given])
