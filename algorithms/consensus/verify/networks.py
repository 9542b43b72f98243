"""Graphs and one step of M-ADMM, for the verifiers of zhang2018's Theorems 3.1 and 3.2.

Notation as in the paper, in `mpmath` numbers: ``L = D - A``, ``S = D + A``; inner products of Y are
those of ``2 Lambda = sqrt(L) Y`` in the pseudo-inverse of L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import diag, lu_solve, matrix, mpf, svd_r

from dpaudit.verification import Document

_MOST_NODES = 12


@dataclass(frozen=True)
class Step:
    """The numbers of (19) and of the contraction; ``size`` is above 0 away from the optimum."""

    before: Any
    after: Any
    product: Any
    size: Any


def node_count(document: Document) -> int:
    """Return the number of nodes, 2 to 12."""
    nodes = document.count("nodes")
    if not 2 <= nodes <= _MOST_NODES:
        raise document.refused("parameters.nodes", nodes, f"2 to {_MOST_NODES}")
    return nodes


def row(document: Document, name: str, nodes: int, *, above: float | None = None) -> Any:
    """Return one number a node, above a limit where one is given."""
    values = document.array(name, (nodes,))
    if above is not None and not min(values) > above:
        raise document.refused(f"instance.{name}", min(values), f"numbers above {above:g}")
    return matrix(values)


def graph(document: Document, nodes: int) -> Any:
    """Return the adjacency matrix: symmetric, of zeros and ones, without loops."""
    entries = document.array("adjacency", (nodes, nodes))
    for i in range(nodes):
        for j in range(nodes):
            if entries[i][j] not in (0, 1) or entries[i][j] != entries[j][i] or entries[i][i]:
                expected = "a symmetric matrix of 0 and 1 with zeros on its diagonal"
                raise document.refused(f"instance.adjacency[{i}][{j}]", entries[i][j], expected)
    return matrix(entries)


def component_count(adjacency: Any) -> int:
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


def degrees(adjacency: Any) -> list[Any]:
    """Return how many neighbours every node has."""
    return [
        sum((adjacency[i, j] for j in range(adjacency.cols)), mpf(0)) for i in range(adjacency.rows)
    ]


def network(document: Document, nodes: int) -> tuple[Any, list[Any], dict[str, tuple[Any, Any]]]:
    """Return a connected graph, its degrees, and the condition that says so."""
    adjacency = graph(document, nodes)
    parts = component_count(adjacency)
    if parts > 1:
        raise document.refused("instance.adjacency", f"{parts} parts", "a connected graph")
    return adjacency, degrees(adjacency), {"connected graph": (mpf(parts), mpf(1))}


def quadratics(document: Document) -> tuple[int, Any, Any, dict[str, tuple[Any, Any]]]:
    """Return nodes, theta, graph and the assumptions of a step on quadratics."""
    nodes, theta = node_count(document), document.positive("dual_step")
    adjacency, _, assumptions = network(document, nodes)
    penalty, curvature = (row(document, name, nodes, above=0) for name in ("penalty", "curvature"))
    assumptions |= {
        "penalties at least theta": (theta, min(penalty)),
        "strongly convex": (mpf(0), min(curvature)),
    }
    if document.choice("penalties", "shared", "own") == "shared":
        assumptions["one penalty"] = (max(penalty) - min(penalty), mpf(0))
    return nodes, theta, adjacency, assumptions


def laplacian(adjacency: Any, sign: int) -> Any:
    """Return ``D + sign A``."""
    return diag(degrees(adjacency)) + sign * adjacency


def first_step(
    adjacency: Any, theta: Any, penalty: Any, curvature: Any, slope: Any, start: Any
) -> Step:
    """Return the first step from ``f(0) = start``, ``Lambda(0) = 0`` on quadratics."""
    nodes = adjacency.rows
    lap, signless, count = laplacian(adjacency, -1), laplacian(adjacency, 1), degrees(adjacency)
    best = sum(slope, mpf(0)) / sum(curvature, mpf(0))
    wanted = matrix([slope[i] - curvature[i] * best for i in range(nodes)])
    spread = signless * start
    models = matrix(
        [
            (slope[i] + penalty[i] * spread[i]) / (curvature[i] + 2 * penalty[i] * count[i])
            for i in range(nodes)
        ]
    )
    duals = theta * (lap * models)
    weighted = diag(list(penalty)) * signless
    solve = _pseudo_inverse(lap)
    far, near = start - best * _ones(nodes), models - best * _ones(nodes)
    old = _dot(wanted, solve(wanted)) / theta
    size = old + sum((2 * penalty[i] * count[i] * far[i] ** 2 for i in range(nodes)), mpf(0))
    return Step(
        before=old + _dot(far, weighted * far),
        after=_dot(duals - wanted, solve(duals - wanted)) / theta + _dot(near, weighted * near),
        product=_dot(duals, solve(duals - wanted)) / theta
        + _dot(near, weighted * (models - start)),
        size=size,
    )


def singular_values(square: Any) -> list[Any]:
    """Return the singular values, largest first."""
    return sorted(svd_r(square, compute_uv=False), reverse=True)


def _pseudo_inverse(lap: Any) -> Callable[[Any], Any]:
    """Return the solution of ``L x = b`` for a b that sums to 0, as a function of b."""
    nodes = lap.rows
    filled = lap + matrix([[mpf(1) / nodes] * nodes for _ in range(nodes)])
    return lambda right: lu_solve(filled, right)


def _ones(nodes: int) -> Any:
    return matrix([mpf(1)] * nodes)


def _dot(one: Any, other: Any) -> Any:
    return sum((a * b for a, b in zip(one, other, strict=True)), mpf(0))
