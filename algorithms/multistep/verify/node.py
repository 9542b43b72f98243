"""The parts that certificates about one node of multi-step DP-ADMM share: records and the graph.

The records are signed, ``b a``: labels are -1 and 1 and only the product matters. A record of
doubles is of norm 1 up to its last digit only; one that is so far above is shrunk to norm 1 first,
and everything is computed with the result.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpaudit.verification import Document
from dpaudit.verification.reals import (
    Number,
    Real,
    dot,
    largest,
    log,
    norm,
    sigmoid,
    smallest,
    sqrt,
)

# Doubles of a unit vector, and probabilities that sum to 1, are off by less than this.
LAST_DIGIT = Fraction(1, 10**12)
LIPSCHITZ = 1  # c_1 of every loss below, for records of norm at most 1


def read_unit_share(document: Document, name: str) -> Real:
    """Return a parameter that is above 0 and below 1, or raise `DataError`."""
    value: Real = document.positive(name)
    if value >= 1:
        raise document.refused(f"parameters.{name}", float(value), "above 0 and below 1")
    return value


def unusual_constant(c0: Real, delta: Real) -> tuple[str, ...]:
    """Return a reservation where c_0 is below ``sqrt(ln(1/delta) / ln(1.25/delta))``.

    The paper does not give c_0; that is what it is in the proof of Theorem 4. A rounded c_0 passes.
    """
    own = sqrt(log(1 / delta) / log(Fraction(5, 4) / delta)) if delta > 0 else Real(1)
    if c0 >= own * (1 - LAST_DIGIT):
        return ()
    return (f"c_0 = {float(c0):g}, below the {float(own):.6g} of the proof",)


def read_probability_law(document: Document, name: str, outcomes: int) -> list[Real]:
    """Return probabilities of the instance divided by their sum, which is 1 up to rounding."""
    weights = [Fraction(p) for p in document.array(name, (outcomes,))]
    whole = sum(weights, Fraction(0))
    # Doubles are taken as exact fractions; only their sum is allowed to be off.
    if min(weights) < 0 or abs(whole - 1) > LAST_DIGIT:
        given = document.instance[name]
        raise document.refused(f"instance.{name}", given, "probabilities that sum to 1")
    return [Real(p / whole) for p in weights]


def read_record_pair(document: Document) -> tuple[list[Real], list[Real], Real]:
    """Return the record, its replacement, and the longer norm as the file has it."""
    shape = (document.count("dimension"),)
    pair = [[Real(x) for x in document.array(name, shape)] for name in ("record", "replacement")]
    lengths = [norm(one) for one in pair]
    record, replacement = (
        [x / unit for x in one]
        # Only a record that is longer than 1 is shrunk.
        for one, unit in zip(pair, (largest((one, 1)) for one in lengths), strict=True)
    )
    return record, replacement, largest(lengths)


def read_node_graph(document: Document) -> tuple[int, int]:
    """Return the degree of the certificate's node, and the number of connected components.

    Raises
    ------
    DataError
        A node is not one of the graph's, an edge is a loop, or one is listed twice.
    """
    nodes, node = document.count("nodes"), document.parameters.get("node")
    if type(node) is not int or not 0 <= node < nodes:
        raise document.refused("parameters.node", node, f"an integer from 0 to {nodes - 1}")
    edges = _read_graph_edges(document, nodes)
    return sum(node in edge for edge in edges), _count_components(nodes, edges)


def _read_graph_edges(document: Document, nodes: int) -> set[frozenset[int]]:
    count = document.parameters.get("edges")
    if type(count) is not int or count < 0:
        raise document.refused("parameters.edges", count, "an integer of at least 0")
    listed = document.array("edges", (count, 2))
    for pair in listed:
        # Numbers of a certificate are doubles: a node has to be a whole one.
        if not all(end == int(end) and 0 <= end < nodes for end in pair) or pair[0] == pair[1]:
            expected = f"two different nodes from 0 to {nodes - 1}"
            raise document.refused("instance.edges", pair, expected)
    edges = {frozenset((int(one), int(other))) for one, other in listed}
    if len(edges) < count:
        raise document.refused("instance.edges", listed, "every edge once")
    return edges


def _count_components(nodes: int, edges: set[frozenset[int]]) -> int:
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


def _compute_hinge_slope_real(margin: Real) -> Real:
    return -smallest((largest((1 - margin, 0)), 1))


def _compute_absolute_slope(margin: Real) -> int:
    return (margin > 1) - (margin < 1)


_SLOPES: dict[str, Callable[[Real], Number]] = {
    "logistic": lambda margin: -sigmoid(-margin),
    "hinge": lambda margin: -1 if margin < 1 else 0,
    "smoothed-hinge": _compute_hinge_slope_real,
    # At the kink the subgradient that the algorithm takes is 0.
    "linear": lambda margin: -1,
    "absolute": _compute_absolute_slope,
}


def compute_record_gradient(
    document: Document, record: list[Real], model: list[Real]
) -> list[Real]:
    """Return the (sub)gradient of the certificate's loss of one signed record at a model."""
    slope = _SLOPES[document.choice("loss", *_SLOPES)](dot(record, model))
    return [x * slope for x in record]
