r"""The privacy loss of one output of penalty perturbation, in any number of digits.

For one output that is to refute a guarantee. It shares no arithmetic with
`dpaudit.algorithms.consensus.algorithm` and its law, only the public tables: Algorithm 1 of
zhang2018 is written out once more, in mpmath's numbers. Noise is computed on both datasets from eq.
(58), and the two determinants of eq. (60) by Cholesky factors of the whole matrices. Only the node
of the differing record counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import exp, fdot, fsum, log, mpf, sqrt, workdps

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.process import ConsensusProcess, noise_rates
from dpaudit.errors import InvalidArgument

Vector = list[Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """The numbers a node computes with, as doubles that are taken to be exact.

    Parameters
    ----------
    number, neighbours
        The node's place in a broadcast, and those of its neighbours.
    stretch, dual_steps, rates
        ``2 eta V``, ``theta`` and ``alpha`` of the node, shape ``(T,)`` each.
    loss_weight, regulariser_weight
        ``C`` and ``rho``.
    loss
        "logistic" or "linear".
    """

    number: int
    neighbours: tuple[int, ...]
    stretch: Array
    dual_steps: Array
    rates: Array
    loss_weight: float
    regulariser_weight: float
    loss: str

    def __post_init__(self) -> None:
        if self.loss not in _LOSSES:
            raise InvalidArgument("loss", self.loss, "one of: " + ", ".join(_LOSSES))

    @classmethod
    def of(cls, algorithm: ConsensusProcess, number: int) -> Node:
        """Return node ``number`` of an algorithm with noise."""
        return cls(
            number=number,
            neighbours=tuple(np.flatnonzero(algorithm.graph.adjacency[number]).tolist()),
            stretch=algorithm.stretch[:, number],
            dual_steps=algorithm.dual_steps[:, number],
            rates=noise_rates(algorithm)[:, number],
            loss_weight=algorithm.loss_weight,
            regulariser_weight=algorithm.regulariser_weight,
            loss=algorithm.loss.name,
        )


def loss_in_digits(node: Node, transcript: Array, here: Array, there: Array, digits: int) -> Any:
    """Return ``log p / q`` of all broadcasts, an mpmath number.

    Parameters
    ----------
    transcript
        Shape ``(T, N, d)``; f(0) is 0.
    here, there
        The node's signed records on the dataset and on the neighbour, shape ``(B, d)``.

    Examples
    --------
    >>> node = Node(
    ...     number=0, neighbours=(1,), stretch=np.ones(1), dual_steps=np.ones(1),
    ...     rates=np.full(1, 3.0), loss_weight=1.0, regulariser_weight=0.1,
    ...     loss="logistic",
    ... )
    >>> one = np.array([[1.0]])
    >>> round(float(loss_in_digits(node, np.array([[[0.2], [0.0]]]), one, -one, 30)), 4)
    1.559
    """
    with workdps(digits):
        sides = [[_exact(u) for u in side] for side in (here, there)]
        outputs = [[_exact(f) for f in broadcast] for broadcast in transcript]
        zero = [mpf(0)] * here.shape[1]
        before, dual, total = [zero] * transcript.shape[1], zero, mpf(0)
        for t, now in enumerate(outputs):
            pull = _pull(node, t, before, dual)
            curvature = mpf(node.regulariser_weight) / len(now) + mpf(float(node.stretch[t]))
            total += _step(node, t, now[node.number], pull, sides, curvature)
            gap = _gap(now, node)
            half = mpf(float(node.dual_steps[t])) / 2
            dual = [a + half * b for a, b in zip(dual, gap, strict=True)]
            before = now
        return +total


def _step(
    node: Node, t: int, model: Vector, pull: Vector, sides: list[list[Vector]], curvature: Any
) -> Any:
    stretch, rate = mpf(float(node.stretch[t])), mpf(float(node.rates[t]))
    weight = mpf(node.loss_weight) / len(sides[0])
    norms, volumes = [], []
    for records in sides:
        margins = [fdot(u, model) for u in records]
        slope, bend = _LOSSES[node.loss]
        push = _weighted(records, [weight * slope(m) for m in margins])
        noise = [c - g - curvature * f for c, g, f in zip(pull, push, model, strict=True)]
        norms.append(sqrt(fdot(noise, noise)))
        volumes.append(_log_volume(records, [weight * bend(m) for m in margins], curvature))
    return rate / stretch * (norms[1] - norms[0]) + volumes[0] - volumes[1]


def _pull(node: Node, t: int, before: list[Vector], dual: Vector) -> Vector:
    """Return ``eta sum_j (f_i + f_j) - 2 lambda``."""
    eta = mpf(float(node.stretch[t])) / (2 * len(node.neighbours))
    mine = before[node.number]
    return [
        eta * fsum(mine[k] + before[j][k] for j in node.neighbours) - 2 * dual[k]
        for k in range(len(mine))
    ]


def _gap(now: list[Vector], node: Node) -> Vector:
    mine = now[node.number]
    return [fsum(mine[k] - now[j][k] for j in node.neighbours) for k in range(len(mine))]


def _weighted(records: list[Vector], weights: Vector) -> Vector:
    return [fdot(column, weights) for column in zip(*records, strict=True)]


def _log_volume(records: list[Vector], weights: Vector, curvature: Any) -> Any:
    """Return ``log det (sum_n w_n u_n u_n' + curvature I)`` by its Cholesky factor."""
    columns = [list(column) for column in zip(*records, strict=True)]
    rows: list[Vector] = []
    total = mpf(0)
    for i, column in enumerate(columns):
        scaled = [w * x for w, x in zip(weights, column, strict=True)]
        row: Vector = []
        for j in range(i):
            entry = fdot(scaled, columns[j]) - fdot(row, rows[j][:j])
            row.append(entry / rows[j][j])
        pivot = curvature + fdot(scaled, column) - fdot(row, row)
        row.append(sqrt(pivot))
        rows.append(row)
        total += log(pivot)
    return total


def _exact(vector: Array) -> Vector:
    return [mpf(float(x)) for x in vector]


_LOSSES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "logistic": (
        lambda m: -1 / (1 + exp(m)),
        lambda m: 1 / ((1 + exp(m)) * (1 + exp(-m))),
    ),
    "linear": (lambda m: mpf(-1), lambda m: mpf(0)),
}
