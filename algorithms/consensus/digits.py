r"""The privacy loss of one output of penalty perturbation, in any number of digits.

For one output that is to refute a guarantee. It shares no arithmetic with
`dpaudit.algorithms.consensus.algorithm` and its law, only the public tables: Algorithm 1 of
zhang2018 is written out once more, in balls that hold the true numbers. Noise is computed on both
datasets from eq. (58), and the two determinants of eq. (60) are those of the whole matrices. Only
the node of the differing record counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.process import ConsensusProcess, noise_rates
from dpaudit.errors import InvalidArgument
from dpaudit.reals import Matrix, Real, identity, log, norm, sigmoid, vector


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeNumbers:
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
    def of(cls, algorithm: ConsensusProcess, number: int) -> NodeNumbers:
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


def enclose_broadcast_loss(node: NodeNumbers, output: Array, here: Array, there: Array) -> Real:
    """Return ``log p / q`` of all broadcasts, with the digits and the time that the caller gives.

    Parameters
    ----------
    output
        Shape ``(T, N, d)``; f(0) is 0.
    here, there
        The node's signed records on the dataset and on the neighbour, shape ``(B, d)``.

    Examples
    --------
    >>> node = NodeNumbers(
    ...     number=0, neighbours=(1,), stretch=np.ones(1), dual_steps=np.ones(1),
    ...     rates=np.full(1, 3.0), loss_weight=1.0, regulariser_weight=0.1,
    ...     loss="logistic",
    ... )
    >>> one = np.array([[1.0]])
    >>> enclose_broadcast_loss(node, np.array([[[0.2], [0.0]]]), one, -one).shown(4)
    '1.559'
    """
    # Doubles are taken as exact numbers; from here on only balls are computed with.
    sides = [Matrix(side.tolist()) for side in (here, there)]
    outputs = [[vector(f) for f in broadcast] for broadcast in output.tolist()]
    zero = vector([0] * here.shape[1])
    before, dual, loss = [zero] * output.shape[1], zero, Real(0)
    for t, now in enumerate(outputs):
        pull = _compute_neighbour_pull(node, t, before, dual)
        curvature = Real(node.regulariser_weight) / len(now) + float(node.stretch[t])
        loss += _compute_step_loss(node, t, now[node.number], pull, sides, curvature)
        # The pull of iteration t holds lambda(t - 1), so the dual moves after the loss is added.
        dual += Real(float(node.dual_steps[t])) / 2 * _compute_neighbour_gap(now, node)
        before = now
    return loss


def _compute_step_loss(
    node: NodeNumbers, t: int, model: Matrix, pull: Matrix, sides: list[Matrix], curvature: Real
) -> Real:
    stretch, rate = Real(float(node.stretch[t])), Real(float(node.rates[t]))
    weight = Real(node.loss_weight) / sides[0].rows
    slope, bend = _LOSSES[node.loss]
    norms, volumes = [], []
    for records in sides:
        margins = (records * model).entries()
        push = records.T * vector([weight * slope(m) for m in margins])
        norms.append(norm((pull - push - curvature * model).entries()))
        volumes.append(_log_volume(records, [weight * bend(m) for m in margins], curvature))
    # log p/q = alpha (||e^|| - ||e||) + log det H - log det H^, with the noise times 2 eta V: eq.
    # (61).
    return rate / stretch * (norms[1] - norms[0]) + volumes[0] - volumes[1]


def _compute_neighbour_pull(
    node: NodeNumbers, t: int, before: list[Matrix], dual: Matrix
) -> Matrix:
    """Return ``eta sum_j (f_i + f_j) - 2 lambda``."""
    eta = Real(float(node.stretch[t])) / (2 * len(node.neighbours))
    mine = before[node.number]
    return eta * _add_column_matrices(mine + before[j] for j in node.neighbours) - 2 * dual


def _compute_neighbour_gap(now: list[Matrix], node: NodeNumbers) -> Matrix:
    return _add_column_matrices(now[node.number] - now[j] for j in node.neighbours)


def _add_column_matrices(vectors: Iterable[Matrix]) -> Matrix:
    return reduce(add, vectors)


def _log_volume(records: Matrix, weights: list[Real], curvature: Real) -> Real:
    """Return ``log det (sum_n w_n u_n u_n' + curvature I)``."""
    scaled = Matrix([[weight * x for x in records.row(n)] for n, weight in enumerate(weights)])
    return log((curvature * identity(records.cols) + records.T * scaled).det())


_LOSSES: dict[str, tuple[Callable[[Real], Real], Callable[[Real], Real]]] = {
    # 1 - sigmoid(m) would cancel where a margin is large; sigmoid(-m) keeps its digits.
    "logistic": (lambda m: -sigmoid(-m), lambda m: sigmoid(m) * sigmoid(-m)),
    "linear": (lambda m: Real(-1), lambda m: Real(0)),
}
