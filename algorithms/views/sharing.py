r"""Views of ADMM sharing with the squared loss and noise on the messages.

It is `dpaudit.algorithms.sharing.algorithm` (hu2020, eq. 6-9; notation there). With ``l(z; b) = w
(z - b)^2 / 2`` a sample, ``R = ||x||^2 / 2`` and no ball, an iteration is linear in the labels b:

    m_m <- -K_m (y + rho (gap - m_m)) + sigma_m n,    K_m = D_m (lambda 1 + rho D_m'D_m)^-1 D_m'
    z   <- (w b + y + rho S) / (w + rho),             S   = sum_m m_m
    gap <- S - z,    y <- y + rho gap

Parties are 0 to M - 1 and the centre is M. A party sends m_m to the centre, the centre sends gap to
all parties; y, which it sends as well, is rho times the sum of its gaps and tells nothing more. The
change of the data is that of the labels, which are the centre's own: to be hidden from the parties
and from the wire. A changed column of D_m moves K_m and is no change of the mean alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.affine.network import Roles
from dpaudit.algorithms.problems.sample_losses import SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, party_scales
from dpaudit.algorithms.sharing.vertical import split_into_parties
from dpaudit.algorithms.views.linear import LinearRuns
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText


class LinearSharing(LinearRuns):
    """ADMM sharing of which all messages are linear in labels and noise.

    Parameters
    ----------
    algorithm
        With `MessageNoise`, the squared loss, a regulariser that is a ridge alone, and no ball.

    Raises
    ------
    InvalidArgument
        Something of the algorithm is not linear, or its noise is none of the messages'.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.vertical import Risk
    >>> data = Dataset(np.eye(3), [1, -1, 1])
    >>> risk = Risk(loss=SQUARED, scaling="sum", regulariser_weight=1.0)
    >>> algorithm = SharingADMM(
    ...     block_sizes=(2, 1), iterations=4, risk=risk, noise=MessageNoise(2.0)
    ... )
    >>> network = LinearSharing(algorithm).network(data)
    >>> network.view(network.coalition(0), [1, 0, 0]).infinite
    False
    >>> network.view(network.coalition(0, 1), [1, 0, 0]).infinite
    True
    """

    def __init__(self, algorithm: SharingADMM) -> None:
        if not isinstance(algorithm.noise, MessageNoise):
            given = VerbatimText(type(algorithm.noise).__name__)
            raise InvalidArgument("noise", given, "MessageNoise: other noise depends on the data")
        if algorithm.risk.loss != SQUARED:
            expected = "squared: else the messages are not linear in labels and noise"
            raise InvalidArgument("loss", algorithm.risk.loss.name, expected)
        if algorithm.risk.lasso or not algorithm.risk.ridge or algorithm.radius is not None:
            expected = "a ridge of a weight above 0 alone, and no ball"
            raise InvalidArgument(
                "risk", VerbatimText("another constraint or regulariser"), expected
            )
        self.algorithm = algorithm

    def shape(self, dataset: Dataset) -> tuple[int, int, int]:
        """Return the shape of the normals, ``(T, M, N)``."""
        return self.algorithm.iterations, len(self.algorithm.block_sizes), len(dataset.labels)

    def terms(self, dataset: Dataset) -> Array:
        """Return the labels, in which messages are linear, shape ``(N,)``."""
        return dataset.labels

    def run(self, dataset: Dataset, terms: Any, normals: Any) -> Any:
        """Return all messages for these labels, ``(R, T, M + 1, N)``: the centre's gap is last."""
        algorithm, smoothers = self.algorithm, self._smoothers(dataset)
        penalty, weight = algorithm.penalty, algorithm.scalar_problem(len(dataset.labels)).weight
        scales = party_scales(algorithm.noise, len(smoothers))[:, None]
        state, sent = algorithm.start(dataset, len(normals)), []
        messages, gap, dual = state.messages, state.gap, state.dual
        for t in range(algorithm.iterations):
            pull = dual[:, None] + penalty * (gap[:, None] - messages)
            messages = scales * normals[:, t] - np.einsum("mij,rmj->rmi", smoothers, pull)
            total = messages.sum(axis=1)
            linear = dual + penalty * total
            gap = total - (weight * terms + linear) / (weight + penalty)
            dual = dual + penalty * gap
            sent.append(np.concatenate([messages, gap[:, None]], axis=1))
        return np.stack(sent, axis=1)

    def _smoothers(self, dataset: Dataset) -> Array:
        """Return every party's ``K_m``, shape ``(M, N, N)``."""
        penalty, ridge, found = self.algorithm.penalty, self.algorithm.risk.ridge, []
        for party in split_into_parties(dataset, self.algorithm.block_sizes):
            curved = ridge * np.eye(party.dimension) + penalty * (party.design.T @ party.design)
            found.append(party.design @ np.linalg.solve(curved, party.design.T))
        return np.stack(found)

    def roles(self, dataset: Dataset) -> Roles:
        """Return those of the parties and of the centre, who holds the labels."""
        rounds, count, samples = self.shape(dataset)
        everybody = tuple(np.repeat(range(count + 1), samples).tolist())
        return Roles(
            senders=everybody,
            drawers=everybody[: count * samples] * rounds,
            holders=(count,) * samples,
            hears=(*[frozenset({count})] * count, frozenset(range(count))),
            names=(*(f"party {m}" for m in range(count)), "centre"),
        )

    def held(self, dataset: Dataset) -> tuple[Array, tuple[int, ...]]:
        """Return the parties' columns, one after the other, and the centre's labels."""
        columns = np.column_stack([dataset.features, dataset.labels]).T
        sizes = (*self.algorithm.block_sizes, 1)
        holders = np.repeat(np.repeat(range(len(sizes)), sizes), columns.shape[1])
        return columns.ravel(), tuple(holders.tolist())
