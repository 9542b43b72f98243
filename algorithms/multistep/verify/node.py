"""The parts that certificates about one node of multi-step DP-ADMM share: records and the graph.

The records are signed, ``b a``: labels are -1 and 1 and only the product matters. A record of
doubles is of norm 1 up to its last digit only; one that is so far above is shrunk to norm 1 in 50
digits first, and everything is computed with the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import exp, log, mpf, sqrt

from dpaudit.verification import Document

LAST_DIGIT = mpf("1e-12")
LIPSCHITZ = mpf(1)  # c_1 of every loss below, for records of norm at most 1


def share(document: Document, name: str) -> Any:
    """Return a parameter that is above 0 and below 1, or raise `DataError`."""
    value = document.positive(name)
    if value >= 1:
        raise document.refused(f"parameters.{name}", float(value), "above 0 and below 1")
    return value


def unusual_constant(c0: Any, delta: Any) -> tuple[str, ...]:
    """Return a reservation where c_0 is below ``sqrt(ln(1/delta) / ln(1.25/delta))``.

    The paper does not give c_0; that is what it is in the proof of Theorem 4. A rounded c_0 passes.
    """
    own = sqrt(log(1 / delta) / log(mpf("1.25") / delta)) if delta > 0 else mpf(1)
    if c0 >= own * (1 - LAST_DIGIT):
        return ()
    return (f"c_0 = {float(c0):g}, below the {float(own):.6g} of the proof",)


def norm(vector: list[Any]) -> Any:
    """Return the Euclidean norm."""
    return sqrt(sum((entry * entry for entry in vector), mpf(0)))


def records(document: Document) -> tuple[list[Any], list[Any], Any]:
    """Return the record, its replacement, and the longer norm as the file has it."""
    shape = (document.count("dimension"),)
    pair = [[mpf(x) for x in document.array(name, shape)] for name in ("record", "replacement")]
    longest = max(norm(one) for one in pair)
    record, replacement = ([x / max(norm(one), mpf(1)) for x in one] for one in pair)
    return record, replacement, longest


def graph(document: Document) -> tuple[int, int]:
    """Return the degree of the certificate's node, and the number of connected components.

    Raises
    ------
    DataError
        A node is not one of the graph's, an edge is a loop, or one is listed twice.
    """
    nodes, node = document.count("nodes"), document.parameters.get("node")
    if type(node) is not int or not 0 <= node < nodes:
        raise document.refused("parameters.node", node, f"an integer from 0 to {nodes - 1}")
    edges = _edges(document, nodes)
    return sum(node in edge for edge in edges), _components(nodes, edges)


def _edges(document: Document, nodes: int) -> set[frozenset[int]]:
    count = document.parameters.get("edges")
    if type(count) is not int or count < 0:
        raise document.refused("parameters.edges", count, "an integer of at least 0")
    listed = document.array("edges", (count, 2))
    for pair in listed:
        if not all(end == int(end) and 0 <= end < nodes for end in pair) or pair[0] == pair[1]:
            expected = f"two different nodes from 0 to {nodes - 1}"
            raise document.refused("instance.edges", pair, expected)
    edges = {frozenset((int(one), int(other))) for one, other in listed}
    if len(edges) < count:
        raise document.refused("instance.edges", listed, "every edge once")
    return edges


def _components(nodes: int, edges: set[frozenset[int]]) -> int:
    near: dict[int, list[int]] = {node: [] for node in range(nodes)}
    for one, other in map(tuple, edges):
        near[one].append(other)
        near[other].append(one)
    left, found = set(range(nodes)), 0
    while left:
        found += 1
        reached = [left.pop()]
        while reached:
            new = left.intersection(near[reached.pop()])
            left -= new
            reached += new
    return found


def _smoothed_hinge(margin: Any) -> Any:
    return -min(max(1 - margin, mpf(0)), mpf(1))


def _absolute(margin: Any) -> Any:
    return mpf((margin > 1) - (margin < 1))


_SLOPES: dict[str, Callable[[Any], Any]] = {
    "logistic": lambda margin: -1 / (1 + exp(margin)),
    "hinge": lambda margin: mpf(-1 if margin < 1 else 0),
    "smoothed-hinge": _smoothed_hinge,
    "linear": lambda margin: mpf(-1),
    "absolute": _absolute,
}


def gradient(document: Document, record: list[Any], model: list[Any]) -> list[Any]:
    """Return the (sub)gradient of the certificate's loss of one signed record at a model."""
    slope = _SLOPES[document.choice("loss", *_SLOPES)]
    margin = sum((x * w for x, w in zip(record, model, strict=True)), mpf(0))
    return [slope(margin) * x for x in record]
