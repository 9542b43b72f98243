"""Graphs and one step of M-ADMM, for the verifiers of zhang2018's Theorems 3.1 and 3.2.

Notation as in the paper, every number enclosed: ``L = D - A``, ``S = D + A``; inner products of Y
are those of ``2 Lambda = sqrt(L) Y`` in the pseudo-inverse of L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dpaudit.errors import VerbatimText
from dpaudit.verification import Document
from dpaudit.verification.reals import (
    Matrix,
    Number,
    Real,
    diagonal,
    dot,
    length,
    sort_reals,
    total,
    vector,
)

# As many nodes as the claims themselves allow.
_MOST_NODES = 12
Assumptions: TypeAlias = dict[str, tuple[Number, Number]]


@dataclass(frozen=True)
class ContractionStep:
    """The numbers of (19) and of the contraction; ``size`` is above 0 away from the optimum."""

    before: Real
    after: Real
    product: Real
    size: Real


def node_count(document: Document) -> int:
    """Return the number of nodes, 2 to 12."""
    nodes = document.count("nodes")
    if not 2 <= nodes <= _MOST_NODES:
        raise document.refused("parameters.nodes", nodes, f"2 to {_MOST_NODES}")
    return nodes


def read_node_numbers(
    document: Document, name: str, nodes: int, *, above: float | None = None
) -> list[Real]:
    """Return one number a node without error, above a limit where one is given."""
    values = document.array(name, (nodes,))
    if above is not None and not min(values) > above:
        raise document.refused(f"instance.{name}", min(values), f"numbers above {above:g}")
    return [Real(value) for value in values]


def read_adjacency_matrix(document: Document, nodes: int) -> Matrix:
    """Return the adjacency matrix: symmetric, of zeros and ones, without loops."""
    entries = document.array("adjacency", (nodes, nodes))
    for i in range(nodes):
        for j in range(nodes):
            if entries[i][j] not in (0, 1) or entries[i][j] != entries[j][i] or entries[i][i]:
                expected = "a symmetric matrix of 0 and 1 with zeros on its diagonal"
                raise document.refused(f"instance.adjacency[{i}][{j}]", entries[i][j], expected)
    return Matrix(entries)


def component_count(adjacency: Matrix) -> int:
    """Return how many parts a graph falls into."""
    left, parts = set(range(adjacency.rows)), 0
    while left:
        parts += 1
        front = [left.pop()]
        while front:
            here = front.pop()
            found = {there for there in left if adjacency[here, there]}
            left -= found
            front.extend(found)
    return parts


def count_node_degrees(adjacency: Matrix) -> list[Real]:
    """Return how many neighbours every node has."""
    return [total(adjacency.row(i)) for i in range(adjacency.rows)]


def read_connected_network(
    document: Document, nodes: int
) -> tuple[Matrix, list[Real], Assumptions]:
    """Return a connected graph, its degrees, and the condition that says so."""
    adjacency = read_adjacency_matrix(document, nodes)
    parts = component_count(adjacency)
    if parts > 1:
        raise document.refused(
            "instance.adjacency", VerbatimText(f"{parts} parts"), "a connected graph"
        )
    return adjacency, count_node_degrees(adjacency), {"connected graph": (parts, 1)}


def read_quadratic_network(document: Document) -> tuple[int, Real, Matrix, Assumptions]:
    """Return nodes, theta, graph and the assumptions of a step on quadratics."""
    nodes, theta = node_count(document), document.positive("dual_step")
    adjacency, _, assumptions = read_connected_network(document, nodes)
    penalty, curvature = (
        read_node_numbers(document, name, nodes, above=0) for name in ("penalty", "curvature")
    )
    assumptions |= {
        "penalties at least theta": (theta, min(penalty)),
        "strongly convex": (0, min(curvature)),
    }
    if document.choice("penalties", "shared", "own") == "shared":
        assumptions["one penalty"] = (max(penalty) - min(penalty), 0)
    return nodes, theta, adjacency, assumptions


def build_signed_laplacian(adjacency: Matrix, sign: int) -> Matrix:
    """Return ``D + sign A``."""
    return diagonal(count_node_degrees(adjacency)) + sign * adjacency


def first_step(
    adjacency: Matrix,
    theta: Real,
    penalty: list[Real],
    curvature: list[Real],
    slope: list[Real],
    start: list[Real],
) -> ContractionStep:
    """Return the first step from ``f(0) = start``, ``Lambda(0) = 0`` on quadratics."""
    nodes, first = range(adjacency.rows), vector(start)
    lap, signless, count = (
        build_signed_laplacian(adjacency, -1),
        build_signed_laplacian(adjacency, 1),
        count_node_degrees(adjacency),
    )
    best = total(slope) / total(curvature)
    # 2 Lambda* = b - m f*, by stationarity at the optimum.
    wanted = vector([slope[i] - curvature[i] * best for i in nodes])
    spread = (signless * first).entries()
    models = vector(
        [
            (slope[i] + penalty[i] * spread[i]) / (curvature[i] + 2 * penalty[i] * count[i])
            for i in nodes
        ]
    )
    duals = theta * (lap * models)
    weighted, inverse = diagonal(penalty) * signless, _pseudo_inverse(lap)
    far, near = (vector([f - best for f in one.entries()]) for one in (first, models))
    old = _compute_entrywise_product(wanted, inverse(wanted)) / theta
    size = old + total(2 * penalty[i] * count[i] * far[i, 0] ** 2 for i in nodes)
    return ContractionStep(
        before=old + _compute_entrywise_product(far, weighted * far),
        after=_compute_entrywise_product(duals - wanted, inverse(duals - wanted)) / theta
        + _compute_entrywise_product(near, weighted * near),
        product=_compute_entrywise_product(duals, inverse(duals - wanted)) / theta
        + _compute_entrywise_product(near, weighted * (models - first)),
        size=size,
    )


def singular_values(square: Matrix) -> list[Real]:
    """Return the singular values, largest first."""
    squares = sort_reals((square.T * square).eigenvalues())
    return [length(one) for one in reversed(squares)]


def _pseudo_inverse(lap: Matrix) -> Callable[[Matrix], Matrix]:
    """Return the solution of ``L x = b`` for a b that sums to 0, as a function of b."""
    nodes = lap.rows
    # Adding 11'/N makes L regular and leaves it as it is on vectors that sum to 0.
    filled = lap + Matrix([[Real(1) / nodes] * nodes] * nodes)
    return filled.solve


def _compute_entrywise_product(one: Matrix, other: Matrix) -> Real:
    return dot(one.entries(), other.entries())
