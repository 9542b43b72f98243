r"""What is broadcast by penalty and by primal perturbation, and the law of it.

Penalty perturbation is zhang2018's Algorithm 1, eq. (24)-(25), with the densities of Appendix D,
eq. (58)-(61); primal perturbation is in its section 2.4. Transcripts are Definition 4.1's output,
all broadcasts ``f_i(t)``, shape ``(R, T, N, d)``. In each class ``privacy_loss`` is
exact: only the node that holds the differing record contributes, all else being a function of past
broadcasts. Notation as in `dpaudit.algorithms.consensus.algorithm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.digits import Node, loss_in_digits
from dpaudit.algorithms.consensus.law import noise_behind, update_loss
from dpaudit.algorithms.consensus.process import (
    ConsensusProcess,
    Differing,
    State,
    next_noise,
    noise_rates,
    replay,
)
from dpaudit.algorithms.consensus.solvers import minimise
from dpaudit.algorithms.consensus.tilted import Aimed
from dpaudit.datasets.dataset import Dataset
from dpaudit.laws.exponential_norm import norm_gain, uniforms
from dpaudit.laws.mechanism import TiltedSample
from dpaudit.laws.residuals import located
from dpaudit.neighbours import REPLACE_RECORD, Pair


@dataclass(frozen=True)
class PenaltyPerturbation:
    """Penalty perturbation (Algorithm 1), M-ADMM without noise.

    Formal guarantee: zhang2018, Theorem 4.1; see
    `dpaudit.algorithms.consensus.algorithm.ConsensusADMM`.
    """

    algorithm: ConsensusProcess

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, N, d)``."""
        algorithm = self.algorithm
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for _ in range(algorithm.iterations):
            outputs.append(self.next_broadcast(state, dataset, rng))
            state = algorithm.advance(state, outputs[-1])
        return np.stack(outputs, axis=1)

    def next_broadcast(self, state: State, dataset: Dataset, rng: Generator) -> Array:
        """Return the minimisers of eq. (24), shape ``(R, N, d)``."""
        stretch = self.algorithm.stretch[state.iteration - 1][:, None]
        linear = self.algorithm.pull(state) - stretch * next_noise(self.algorithm, state, rng)
        return self.algorithm.minimise(linear, dataset, state.iteration)

    def privacy_loss(self, transcripts: Array, pair: Pair[Dataset]) -> Array:
        """Return ``log p / q`` of each transcript, eq. (61), shape ``(R,)``."""
        record = Differing.of(pair)
        loss = np.zeros(len(transcripts))
        for state, broadcast in replay(self.algorithm, transcripts, pair.dataset, pair.neighbour):
            loss += self.update_loss(state, broadcast, record)
        return loss

    def update_loss(self, state: State, broadcast: Array, record: Differing) -> Array:
        """Return the privacy loss of one iteration, shape ``(R,)``."""
        algorithm, node, t = self.algorithm, record.node, state.iteration
        return update_loss(
            algorithm.problem(record.dataset, t, node),
            broadcast[:, node],
            algorithm.pull(state)[:, node],
            record.dataset.signed_records[record.dataset.rows_of(node)],
            record.old,
            record.new,
            rate=float(noise_rates(algorithm)[t - 1, node]),
            stretch=float(algorithm.stretch[t - 1, node]),
        )

    def sample_tilted(
        self, pair: Pair[Dataset], tilt: float, trials: int, rng: Generator
    ) -> TiltedSample:
        """Return transcripts tilted towards a large privacy loss."""
        return Aimed.of(self.algorithm, pair).sample(tilt, trials, rng)

    def log_mgf_bounds(self, pair: Pair[Dataset], tilt: float) -> tuple[float, float]:
        """Return bounds on ``log p/r + tilt L`` that hold for every transcript."""
        return Aimed.of(self.algorithm, pair).log_weight_bounds(tilt)

    def loss_in_digits(self, transcript: Array, pair: Pair[Dataset], digits: int = 50) -> Any:
        """Return the loss of one transcript, shape ``(T, N, d)``."""
        record = Differing.of(pair)
        rows = pair.dataset.rows_of(record.node)
        here, there = (one.signed_records[rows] for one in (pair.dataset, pair.neighbour))
        node = Node.of(self.algorithm, record.node)
        return loss_in_digits(node, transcript, here, there, digits)

    def neighbours(self, pair: Pair[Dataset]) -> tuple[Pair[Dataset], ...]:
        """Return the pair in which the record is replaced by its opposite, unless that is given."""
        dataset, index = pair.dataset, pair.index
        opposite = dataset.with_record(index, dataset.features[index], -dataset.labels[index])
        new = pair.neighbour.signed_records[index]
        given = np.array_equal(opposite.signed_records[index], new)
        return () if given else (Pair(dataset, opposite, REPLACE_RECORD),)

    def uniform_residuals(self, transcripts: Array, dataset: Dataset) -> Array:
        """Return the noise behind every broadcast as independent uniforms, shape ``(R, T N d)``."""
        residuals = [
            self.noise_residuals(state, broadcast, dataset)
            for state, broadcast in replay(self.algorithm, transcripts, dataset)
        ]
        return np.stack(residuals, axis=1).reshape(len(transcripts), -1)

    def noise_residuals(self, state: State, broadcast: Array, dataset: Dataset) -> Array:
        """Return the same of one iteration, shape ``(R, N, d)``: eq. (58)."""
        algorithm, t = self.algorithm, state.iteration
        noise, pull = np.empty_like(broadcast), algorithm.pull(state)
        for node in range(dataset.nodes):
            problem = algorithm.problem(dataset, t, node)
            records = dataset.signed_records[dataset.rows_of(node)]
            noise[:, node] = noise_behind(problem, broadcast[:, node], pull[:, node], records)
            noise[:, node] /= algorithm.stretch[t - 1, node]
        return uniforms(noise, noise_rates(algorithm)[t - 1])


@dataclass(frozen=True)
class PrimalPerturbation:
    """Primal variable perturbation (Zhang & Zhu 2017): noise on the exact minimiser.

    Formal guarantee: none is claimed in zhang2018. The law is the noise's, moved by how far the
    record moves the minimiser; the minimiser is computed on both datasets.
    """

    algorithm: ConsensusProcess

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, N, d)``."""
        algorithm = self.algorithm
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for t in range(1, algorithm.iterations + 1):
            exact = algorithm.minimise(algorithm.pull(state), dataset, t)
            outputs.append(exact + next_noise(algorithm, state, rng))
            state = algorithm.advance(state, outputs[-1])
        return np.stack(outputs, axis=1)

    def privacy_loss(self, transcripts: Array, pair: Pair[Dataset]) -> Array:
        """Return ``sum_t alpha (||f - f*^|| - ||f - f*||)`` at the node, shape ``(R,)``."""
        algorithm, node = self.algorithm, Differing.of(pair).node
        rows = pair.dataset.rows_of(node)
        loss = np.zeros(len(transcripts))
        for state, broadcast in replay(algorithm, transcripts, pair.dataset, pair.neighbour):
            pull = algorithm.pull(state)[:, node]
            problem = algorithm.problem(pair.dataset, state.iteration, node)
            with located(f"iteration {state.iteration}, node {node}"):
                exact = minimise(problem, pull, pair.dataset.signed_records[rows]).models
                with located("neighbour"):
                    other = minimise(problem, pull, pair.neighbour.signed_records[rows]).models
            rate = noise_rates(algorithm)[state.iteration - 1, node]
            loss += rate * norm_gain(broadcast[:, node] - exact, exact - other)
        return loss

    def uniform_residuals(self, transcripts: Array, dataset: Dataset) -> Array:
        """Return the noise on every broadcast as independent uniforms, shape ``(R, T N d)``."""
        algorithm, residuals = self.algorithm, []
        for state, broadcast in replay(algorithm, transcripts, dataset):
            exact = algorithm.minimise(algorithm.pull(state), dataset, state.iteration)
            residuals.append(
                uniforms(broadcast - exact, noise_rates(algorithm)[state.iteration - 1])
            )
        return np.stack(residuals, axis=1).reshape(len(transcripts), -1)
