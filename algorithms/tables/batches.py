r"""The law of one client's DP-SGD on Poisson batches, where it has one tuple: a mixture each step.

| paper | name             | meaning                                           | shape     |
|-------|------------------|---------------------------------------------------|-----------|
| r     | sampling_ratio   | probability that the tuple is in a step's batch   | scalar    |
|       | ``absent``       | mean of the next model if the tuple is not        | (R, 1, C) |
|       | ``present``      | mean of the next model if it is                   | (R, 1, C) |
| s     | ``scale``        | standard deviation of the noise on an entry       | scalar    |

Given the models before it, a step's density is ``(1 - r) N(absent, s^2) + r N(present, s^2)``. With
one tuple nobody else's membership is hidden in it. The server is replayed on each dataset: what it
sends depends on the tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from dpaudit._typing import Array
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class BatchSteps:
    """The models after every local step, shape ``(R, T tau', 1, 1)``, with their law.

    Formal guarantee: that of a Poisson-subsampled Gaussian (`TablesADMM.client_event`), for adding
    or removing the tuple; this client is alone.

    Examples
    --------
    >>> solver = LocalSGD(
    ...     steps=2, learning_rate=0.1, sampling_ratio=0.5, clip_norm=1.0, noise_multiplier=1.0
    ... )
    >>> data = JoinedTables((np.ones((1, 1)),), (np.zeros(1, int),), np.ones(1))
    >>> released = BatchSteps(TablesADMM(iterations=3, solver=solver))
    >>> released.sample(data, 5, np.random.default_rng(0)).shape
    (5, 6, 1, 1)
    """

    algorithm: TablesADMM

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts."""
        solver, outputs = self._solver(dataset), np.empty((trials, self.steps, 1, 1))
        for t, absent, present, scale in self._replayed(dataset, outputs):
            drawn = rng.random((trials, 1, 1)) < solver.sampling_ratio
            mean = np.where(drawn, present, absent)
            outputs[:, t] = mean + scale * rng.standard_normal(mean.shape)
        return outputs

    def privacy_loss(self, transcripts: Array, pair: Pair[JoinedTables]) -> Array:
        """Return ``log p / q`` of each transcript, shape ``(R,)``."""
        here, there = (
            self._log_density(transcripts, data) for data in (pair.dataset, pair.neighbour)
        )
        return here - there

    def uniform_residuals(self, transcripts: Array, dataset: JoinedTables) -> Array:
        """Return the mixture's distribution function at every step, shape ``(R, T tau')``."""
        ratio, residuals = self._solver(dataset).sampling_ratio, np.empty_like(transcripts)
        for t, absent, present, scale in self._replayed(dataset, transcripts):
            without, within = (ndtr((transcripts[:, t] - m) / scale) for m in (absent, present))
            residuals[:, t] = (1 - ratio) * without + ratio * within
        return residuals.reshape(len(transcripts), -1)

    @property
    def steps(self) -> int:
        """All local steps."""
        solver = self.algorithm.solver
        return self.algorithm.iterations * (solver.steps if isinstance(solver, LocalSGD) else 1)

    def _log_density(self, transcripts: Array, dataset: JoinedTables) -> Array:
        """Return the log-density, without the constant that both sides of a pair share."""
        ratio, total = self._solver(dataset).sampling_ratio, np.zeros(len(transcripts))
        for t, absent, present, scale in self._replayed(dataset, transcripts):
            without, within = (
                -(((transcripts[:, t, 0, 0] - m[:, 0, 0]) / scale) ** 2) / 2
                for m in (absent, present)
            )
            total += np.logaddexp(_log(1 - ratio) + without, _log(ratio) + within)
        return total

    def _replayed(
        self, dataset: JoinedTables, outputs: Array
    ) -> Iterator[tuple[int, Array, Array, float]]:
        """Yield each step's number, the two means and the scale; read its output afterwards."""
        solver, algorithm = self._solver(dataset), self.algorithm
        (client,), server = algorithm.clients(dataset), algorithm.server_side()
        targets = algorithm.targets(dataset)
        (model,), dual = algorithm.start(dataset, len(outputs))
        for t in range(self.steps):
            if t % solver.steps == 0:
                served = server.serve(dataset, dataset.predictions((model,)), dual, targets)
                dual = served.dual
            absent, present = (
                solver.mean(client, model, served.pulls[0], np.full((len(outputs), 1), part))
                for part in (0.0, 1.0)
            )
            yield t, absent, present, solver.noise_scale(client)
            model = outputs[:, t]

    def _solver(self, dataset: JoinedTables) -> LocalSGD:
        solver = self.algorithm.solver
        if not (isinstance(solver, LocalSGD) and solver.private):
            raise InvalidArgument("solver", solver, "LocalSGD with noise: else there is no law")
        if self.algorithm.label_epsilon is not None or self.algorithm.loss.outputs != 1:
            raise InvalidArgument("algorithm", self.algorithm, "a margin and labels without noise")
        if dataset.tuples != (1,) or dataset.widths != (1,):
            given = Shown(f"tables of {dataset.tuples} tuples and {dataset.widths} columns")
            raise InvalidArgument("dataset", given, "one tuple of one column: else no law is known")
        return solver


def _log(probability: float) -> float:
    return float(np.log(probability)) if probability > 0 else -np.inf
