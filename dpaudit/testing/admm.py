"""Strategies for the inputs of ADMM, as plain arrays: graphs, penalties, states."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.testing.data import draw_between, vectors
from dpaudit.testing.records import Bounds, bounds, interval, size

_STEPS = 8  # a penalty is one of 9 between the least and the most


class Edges(NamedTuple):
    """A connected graph: how many nodes, numbered from 0, and which pairs are neighbours.

    Examples
    --------
    >>> nodes, edges = Edges(3, ((0, 1), (0, 2)))
    >>> nodes, len(edges)
    (3, 2)
    """

    nodes: int
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class AdmmState:
    """The state that ADMM carries from one iteration to the next.

    Parameters
    ----------
    primal
        The model of every node, ``(n, d)``.
    dual
        The dual variables, ``(n, d)`` in consensus and ``(N,)`` if predictions are shared.
    prediction
        One number for each record, ``(N,)``.

    Examples
    --------
    >>> AdmmState(np.zeros((2, 1)), np.zeros((2, 1)), np.zeros(3)).prediction.shape
    (3,)
    """

    primal: Array
    dual: Array
    prediction: Array


@st.composite
def _graphs(draw: DrawFn, nodes: Bounds) -> Edges:
    count = draw_between(draw, nodes)
    # Each node is joined to an earlier one, which makes a tree and reaches every tree on these
    # nodes up to the numbering.
    edges = {(draw(st.integers(0, node - 1)), node) for node in range(1, count)}
    for pair in itertools.combinations(range(count), 2):
        if pair not in edges and draw(st.booleans()):
            edges.add(pair)
    return Edges(count, tuple(sorted(edges)))


def connected_graphs(nodes: Bounds = (2, 5)) -> SearchStrategy[Edges]:
    """Return a strategy for connected, undirected graphs without loops.

    A spanning tree, so that every connected graph can come up, and any other edges. Shrinks to
    stars.

    Parameters
    ----------
    nodes
        The number of nodes, or the least and the most.

    Raises
    ------
    InvalidArgument
        ``nodes`` is neither an integer above 0 nor two of them in order.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(connected_graphs(), lambda graph: len(graph.edges) > graph.nodes - 1)
    Edges(nodes=3, edges=((0, 1), (0, 2), (1, 2)))
    """
    return _graphs(bounds("nodes", nodes))


def penalties(
    shape: tuple[int, ...] = (), *, low: float = 0.5, high: float = 2.5
) -> SearchStrategy[Array]:
    """Return a strategy for penalties above 0, as arrays.

    Parameters
    ----------
    shape
        ``()`` for one number, ``(n,)`` for one at each node, ``(T, n)`` for a schedule that does
        not fall from one iteration to the next.
    low, high
        The least and the largest penalty.

    Raises
    ------
    InvalidArgument
        The shape has more than two axes or an empty one, or the ends are not in order.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(penalties((3, 2)), lambda schedule: schedule[1, 0] > schedule[0, 0])
    array([[0.5 , 0.5 ],
           [0.75, 0.5 ],
           [0.75, 0.5 ]])
    """
    if not isinstance(shape, tuple) or len(shape) > 2:
        raise InvalidArgument("shape", shape, "(), (nodes,) or (iterations, nodes)")
    lengths = tuple(check.require_integer("shape", length, least=1) for length in shape)
    least, most = interval(low, high)
    count = int(np.prod(lengths))
    steps = st.lists(st.integers(0, _STEPS), min_size=count, max_size=count)

    def scale_penalties(drawn: list[int]) -> Array:
        values = np.array(drawn, dtype=np.float64).reshape(lengths)
        # A schedule may rise from iteration to iteration and never falls.
        rising = np.maximum.accumulate(values, axis=0) if len(lengths) == 2 else values
        # Rounding may carry the sum past the largest penalty by one bit.
        return np.asarray(np.minimum(least + (most - least) * (rising / _STEPS), most))

    return steps.map(scale_penalties)


@st.composite
def _states(
    draw: DrawFn, shape: tuple[Bounds, Bounds, Bounds], dual: str, norms: tuple[float, ...]
) -> AdmmState:
    nodes, columns, rows = (draw_between(draw, each) for each in shape)
    shapes = {"primal": (nodes, columns), "prediction": (rows,)}
    return AdmmState(
        draw(vectors(shapes["primal"], norm=norms[0])),
        draw(vectors(shapes[dual], norm=norms[1])),
        draw(vectors(shapes["prediction"], norm=norms[2])),
    )


def admm_states(
    *,
    nodes: Bounds = (1, 3),
    columns: Bounds = (1, 3),
    rows: Bounds = (1, 4),
    dual: str = "primal",
    primal_norm: float = 1.0,
    dual_norm: float = 1.0,
    prediction_norm: float = 1.0,
) -> SearchStrategy[AdmmState]:
    """Return a strategy for states whose vectors have bounded Euclidean norms.

    Parameters
    ----------
    nodes, columns, rows
        The numbers n, d and N: a number each, or the least and the most.
    dual
        ``primal`` if duals are shaped like models, as in consensus; ``prediction`` if there is one
        number for each record, as in sharing.
    primal_norm, dual_norm, prediction_norm
        The largest norm of a vector; one vector at each node if the shape is ``(n, d)``.

    Raises
    ------
    InvalidArgument
        A number is out of range, or ``dual`` is neither ``primal`` nor ``prediction``.

    Examples
    --------
    >>> from hypothesis import find
    >>> state = find(admm_states(dual="prediction", dual_norm=3.0), lambda state: state.dual.any())
    >>> state.primal, state.dual, state.prediction
    (array([[0.]]), array([3.]), array([0.]))
    """
    shape = (bounds("nodes", nodes), bounds("columns", columns), bounds("rows", rows))
    check.require_choice("dual", dual, ("primal", "prediction"))
    given = {"primal_norm": primal_norm, "dual_norm": dual_norm, "prediction_norm": prediction_norm}
    return _states(shape, dual, tuple(size(name, norm) for name, norm in given.items()))
