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

import numpy as np
from flint import fmpq
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.problems.sample_losses import SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, party_scales
from dpaudit.algorithms.sharing.vertical import parties
from dpaudit.algorithms.views.system import (
    Basis,
    Form,
    Network,
    Round,
    exact,
    exact_table,
    eye,
    inverse,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown


class LinearSharing:
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
    >>> from dpaudit.algorithms.views.view import View
    >>> data = Dataset(np.eye(3), [1, -1, 1])
    >>> risk = Risk(loss=SQUARED, scaling="sum", regulariser_weight=1.0)
    >>> algorithm = SharingADMM(
    ...     block_sizes=(2, 1), iterations=4, risk=risk, noise=MessageNoise(2.0)
    ... )
    >>> network = LinearSharing(algorithm).network(data)
    >>> View(network, network.coalition(0), [1, 0, 0]).infinite
    False
    >>> View(network, network.coalition(0, 1), [1, 0, 0]).infinite
    True
    """

    def __init__(self, algorithm: SharingADMM) -> None:
        if not isinstance(algorithm.noise, MessageNoise):
            given = Shown(type(algorithm.noise).__name__)
            raise InvalidArgument("noise", given, "MessageNoise: other noise depends on the data")
        if algorithm.risk.loss != SQUARED:
            expected = "squared: else the messages are not linear in labels and noise"
            raise InvalidArgument("loss", algorithm.risk.loss.name, expected)
        if algorithm.risk.lasso or not algorithm.risk.ridge or algorithm.radius is not None:
            expected = "a ridge of a weight above 0 alone, and no ball"
            raise InvalidArgument("risk", Shown("another constraint or regulariser"), expected)
        self.algorithm = algorithm

    # --- runs, by the algorithm itself -------------------------------------------------------

    def messages(self, dataset: Dataset, normals: Array) -> Array:
        """Return what these standard normals, ``(R, T, M, N)``, lead to: ``(R, T, M + 1, N)``.

        The last row is the centre's gap.
        """
        algorithm, sent = self.algorithm, []
        algorithm.check(dataset)
        state = algorithm.start(dataset, len(normals))
        for t in range(algorithm.iterations):
            step = algorithm.step(state, dataset)
            state = algorithm.advance(state, step.mean + step.scale * normals[:, t])
            sent.append(np.concatenate([state.messages, state.gap[:, None]], axis=1))
        return np.stack(sent, axis=1)

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return the messages of ``trials`` runs, shape ``(R, T, M + 1, N)``."""
        owners, samples = len(self.algorithm.block_sizes), len(dataset.labels)
        shape = (trials, self.algorithm.iterations, owners, samples)
        return self.messages(dataset, rng.standard_normal(shape))

    # --- the same, as linear forms -----------------------------------------------------------

    def data(self, dataset: Dataset) -> Form:
        """Return the labels, what the view is linear in, shape ``(N,)``."""
        return exact_table("labels", dataset.labels, dataset.labels.shape)

    def network(self, dataset: Dataset) -> Network:
        """Return the rounds; of the dataset only the features matter."""
        self.algorithm.check(dataset)
        count, samples = len(self.algorithm.block_sizes), len(dataset.labels)
        centre, everybody = frozenset({count}), frozenset(range(count))
        return Network(
            rounds=(self._round(dataset),) * self.algorithm.iterations,
            senders=tuple(np.repeat(range(count + 1), samples).tolist()),
            data_owners=(count,) * samples,
            hears=(*[centre] * count, everybody),
            names=(*(f"party {m}" for m in range(count)), "centre"),
        )

    def _round(self, dataset: Dataset) -> Round:
        count, samples = len(self.algorithm.block_sizes), len(dataset.labels)
        basis = Basis((count + 2) * samples, count * samples, samples)
        penalty = exact("penalty", self.algorithm.penalty)
        weight = exact("weight", self.algorithm.scalar_problem(samples).weight)
        scales = exact_table("noise", party_scales(self.algorithm.noise, count), (count,))
        *messages, gap, dual = np.split(basis.state(), count + 2)
        noises = np.split(basis.noise(), count)
        sent = [
            scale * noise - smoother @ (dual + penalty * (gap - message))
            for smoother, message, noise, scale in zip(
                self._smoothers(dataset, penalty), messages, noises, scales, strict=True
            )
        ]
        total = sum(sent[1:], sent[0])
        linear = dual + penalty * total
        gap = total - (weight * basis.change() + linear) / (weight + penalty)
        owners = np.repeat(range(count), samples).tolist()
        return basis.round((*sent, gap, dual + penalty * gap), owners)

    def _smoothers(self, dataset: Dataset, penalty: fmpq) -> list[Form]:
        """Return every party's ``K_m``, shape ``(N, N)``."""
        ridge, found = exact("ridge", self.algorithm.risk.ridge), []
        for party in parties(dataset, self.algorithm.block_sizes):
            design = exact_table("features", party.design, party.design.shape)
            curved = ridge * eye(party.dimension) + penalty * (design.T @ design)
            found.append(design @ inverse(curved) @ design.T)
        return found
