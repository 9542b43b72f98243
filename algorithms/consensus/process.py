"""The process that the private variants of consensus ADMM run, and its replay.

A `ConsensusProcess` is zhang2018's Algorithm 1 cut into its lines: `pull` and `minimise` are eq.
(25) without its noise, `next_noise` is that of eq. (24), `advance` is eq. (11). `replay` goes along
Definition 4.1's output, all that is exchanged in T iterations. Notation as in
`dpaudit.algorithms.consensus.algorithm`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.margin_problem import MarginProblem
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws.exponential_norm import draw_exponential_norm_noise


@dataclass(frozen=True)
class ConsensusState:
    """The knowledge of every node: a function of past broadcasts.

    ``revealed`` is what the last stationarity condition reveals of the gradient at `models`:
    ``grad O_i(f_i) + 2 eta V e_i``, shape ``(R, N, d)``.
    """

    models: Array
    dual: Array
    revealed: Array
    iteration: int


class ConsensusProcess(Protocol):
    """Consensus ADMM as state, pull, minimise and advance; R trials go side by side."""

    @property
    def iterations(self) -> int:
        """The number of broadcasts of every node."""
        ...

    @property
    def graph(self) -> Graph:
        """The neighbours of every node."""
        ...

    @property
    def loss(self) -> SmoothLoss:
        """The loss of the margin of a record."""
        ...

    @property
    def loss_weight(self) -> float:
        """``C``."""
        ...

    @property
    def regulariser_weight(self) -> float:
        """``rho``."""
        ...

    @property
    def stretch(self) -> Array:
        """``2 eta_i(t) V_i``, shape ``(T, N)``."""
        ...

    @property
    def dual_steps(self) -> Array:
        """``theta_i(t)``, shape ``(T, N)``."""
        ...

    @property
    def rates(self) -> Array | None:
        """``alpha_i(t)``, shape ``(T, N)``; None without noise."""
        ...

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` for a dataset the algorithm cannot run on."""
        ...

    def start(self, dataset: Dataset, trials: int) -> ConsensusState:
        """Return the state before the first iteration."""
        ...

    def problem(self, dataset: Dataset, iteration: int, node: int) -> MarginProblem:
        """Return the problem that the node minimises, besides the pull."""
        ...

    def pull(self, state: ConsensusState) -> Array:
        """Return ``eta sum_j (f_i + f_j) - 2 lambda``, shape ``(R, N, d)``."""
        ...

    def minimise(self, linear: Array, dataset: Dataset, iteration: int) -> Array:
        """Return every node's ``argmin O_i(f) + eta V ||f||^2 - linear'f``, shape ``(R, N, d)``."""
        ...

    def advance(self, state: ConsensusState, broadcast: Array) -> ConsensusState:
        """Return the state after a broadcast; a function of broadcasts alone."""
        ...


def replay(
    algorithm: ConsensusProcess, outputs: Array, *datasets: Dataset
) -> Iterator[tuple[ConsensusState, Array]]:
    """Yield every iteration's state and broadcast."""
    for dataset in datasets:
        algorithm.check(dataset)
    expected = (algorithm.iterations, datasets[0].nodes, datasets[0].dimension)
    if outputs.shape[1:] != expected:
        given = VerbatimText(f"shape {outputs.shape}")
        raise InvalidArgument("outputs", given, f"shape (R, {', '.join(map(str, expected))})")
    # A broadcast that is not finite would make every later state, and the loss, NaN.
    finite = np.isfinite(outputs).all(axis=(1, 2, 3))
    if not finite.all():
        name = f"outputs[{int(np.argmin(finite))}]"
        raise InvalidArgument(name, VerbatimText("a number that is not finite"), "finite numbers")
    state = algorithm.start(datasets[0], len(outputs))
    for broadcast in np.moveaxis(outputs, 1, 0):
        yield state, broadcast
        state = algorithm.advance(state, broadcast)


def next_noise(algorithm: ConsensusProcess, state: ConsensusState, rng: Generator) -> Array:
    """Return the noise of the coming iteration, 0 without any, shape ``(R, N, d)``."""
    if algorithm.rates is None:
        return np.zeros_like(state.models)
    return draw_exponential_norm_noise(
        state.models.shape, algorithm.rates[state.iteration - 1], rng
    )


def noise_rates(algorithm: ConsensusProcess) -> Array:
    """Return ``alpha_i(t)``, shape ``(T, N)``; refuse where there is no noise."""
    if algorithm.rates is None:
        expected = "noise: without it the output has no density"
        raise InvalidArgument("noise_rate", None, expected)
    return algorithm.rates
