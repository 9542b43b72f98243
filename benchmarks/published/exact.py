r"""What is exact, of the recursions that the published bounds are about.

    once:         m_0 = x + n,  m_(t+1) = W m_t                    (x changes by 1 at u)
    every round:  m_t = W m_(t-1) + g_t + n_t                      (g_t changes by c_t at u)

The observer v hears its neighbours' T messages, and knows the noise that is its own. With noise
once mu^2 is a rational number, and worked out as one. With noise in every round doubles choose the
node and the change that are shown, and a view (`dpaudit.algorithms.views`) proves their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from flint import fmpq_mat

from dpaudit._typing import Array
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.views.gossip import heard_on, metropolis
from dpaudit.algorithms.views.system import (
    Basis,
    Form,
    Network,
    Round,
    exact_table,
    eye,
    packed,
    unpacked,
)
from dpaudit.algorithms.views.view import View

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


def worst_signs(gram: Array) -> tuple[float, tuple[int, ...]]:
    """Return the largest mu^2 of changes of 1 up or down a round, and these.

    It is the largest of all changes of numbers of at most 1, as mu^2 is convex.

    Examples
    --------
    >>> worst_signs(np.array([[0.75, -0.25], [-0.25, 0.5]]))
    (1.75, (1, -1))
    """
    signs = np.array([(1, *rest) for rest in product((1, -1), repeat=len(gram) - 1)])
    squares = np.einsum("ks,st,kt->k", signs, gram, signs)
    best = int(squares.argmax())
    return float(squares[best]), tuple(signs[best].tolist())


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
    rows = _heard(graph, observer, packed(eye(graph.nodes)), rounds)
    rows[:, observer] = 0 * rows[:, observer]
    return in_span(packed(rows))


def squares_once_later(graph: Graph, observer: int, rounds: int) -> list[Fraction]:
    """Return mu^2 for one who hears W x, ..., W^T x and knows no noise, not even its own.

    It hears just the messages that the published sum is over, and of each what that counts.
    """
    return in_span(packed(_heard(graph, observer, packed(_weights(graph)), rounds)))


def _heard(graph: Graph, observer: int, first: fmpq_mat, rounds: int) -> Form:
    """Return the rows of the neighbours' messages, round by round."""
    heard, power, rows = np.flatnonzero(graph.adjacency[observer]), first, []
    weights = packed(_weights(graph))
    for _ in range(rounds):
        rows.append(unpacked(power)[heard])
        power = power * weights
    return np.concatenate(rows)


def in_span(rows: fmpq_mat) -> list[Fraction]:
    """Return the squared length of the part of every unit vector in the span of rows.

    Examples
    --------
    >>> in_span(fmpq_mat([[1, 1, 0], [2, 2, 0]]))
    [Fraction(1, 2), Fraction(1, 2), Fraction(0, 1)]
    """
    reduced, rank = rows.rref()
    basis = fmpq_mat(unpacked(reduced)[:rank].tolist())
    weighted = unpacked((basis * basis.transpose()).solve(basis))
    found = (unpacked(basis) * weighted).sum(axis=0)
    return [Fraction(int(square.p), int(square.q)) for square in found]


def view_every_round(graph: Graph, observer: int, node: int, changes: Sequence[int]) -> View:
    """Return the view where a node's vector changes by so much in every round."""
    nodes, rounds = graph.nodes, len(changes)
    basis = Basis(nodes, nodes, rounds)
    passed = _weights(graph) @ basis.state() + basis.noise()
    made = []
    for t in range(rounds):
        sent = passed.copy()
        sent[node] = sent[node] + basis.change()[t]
        made.append(basis.round([sent], range(nodes)))
    network = _network(graph, made, (node,) * rounds)
    return View(network, network.coalition(observer), list(changes))


def _weights(graph: Graph) -> Form:
    return exact_table("weights", metropolis(graph), (graph.nodes, graph.nodes))


def _network(graph: Graph, rounds: list[Round], owners: tuple[int, ...]) -> Network:
    return Network(tuple(rounds), tuple(range(graph.nodes)), owners, heard_on(graph))
