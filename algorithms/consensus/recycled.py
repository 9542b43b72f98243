r"""Recycled ADMM (Zhang, Khalili & Liu 2019): half of the iterations reuse what is revealed.

Odd iterations are zhang2018's eq. (24)-(25), all have its dual update (11); what an odd broadcast
reveals is its stationarity condition, eq. (58) of Appendix D. Notation as in
`dpaudit.algorithms.consensus.algorithm`. The article is not among this project's papers; the update
is derived from the linearised problem that `Recycled` states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.process import ConsensusProcess, Differing, State, replay
from dpaudit.algorithms.consensus.views import PenaltyPerturbation
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.neighbours import Pair

# How far an even broadcast may be from what the earlier ones say, relative to its size.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Recycled:
    """Penalty perturbation whose every second iteration releases nothing new.

    Odd iterations are those of penalty perturbation. An even one linearises ``O_i`` at the last
    broadcast, with a proximal term of weight gamma:

        f_i <- argmin g'f + 2 lambda_i'f + eta sum_j ||f - (f_i + f_j)/2||^2
                      + gamma/2 ||f - f_i||^2  =  (c - g + gamma f_i) / (2 eta V + gamma)

    where ``g = grad O_i(f_i) + 2 eta V e_i`` of the odd iteration is known from its broadcasts by
    stationarity (`State.revealed`). Even broadcasts are functions of earlier ones: the data is not
    looked at, and they have no law of their own.

    Parameters
    ----------
    algorithm
        The paper has ``eta_i(t) = theta``; any schedule is taken. Noise rates of even iterations
        are not used.
    proximal_weight
        ``gamma``.
    """

    algorithm: ConsensusProcess
    proximal_weight: float = 0.0

    def __post_init__(self) -> None:
        check.non_negative("proximal_weight", self.proximal_weight)

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` transcripts, shape ``(R, T, N, d)``."""
        algorithm, odd = self.algorithm, PenaltyPerturbation(self.algorithm)
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for t in range(1, algorithm.iterations + 1):
            fresh = t % 2 == 1
            output = odd.next_broadcast(state, dataset, rng) if fresh else self.repeat(state)
            outputs.append(output)
            state = algorithm.advance(state, output)
        return np.stack(outputs, axis=1)

    def repeat(self, state: State) -> Array:
        """Return the broadcast of an even iteration, shape ``(R, N, d)``, from the state alone."""
        gamma = self.proximal_weight
        target = self.algorithm.pull(state) - state.revealed + gamma * state.models
        return np.asarray(target / (self.algorithm.stretch[state.iteration - 1][:, None] + gamma))

    def privacy_loss(self, transcripts: Array, pair: Pair[Dataset]) -> Array:
        """Return ``log p / q`` of each transcript, shape ``(R,)``: that of the odd iterations.

        Raises
        ------
        InvalidArgument
            An even broadcast is not what the earlier ones say: both densities are then 0.
        """
        odd, record = PenaltyPerturbation(self.algorithm), Differing.of(pair)
        loss = np.zeros(len(transcripts))
        for state, broadcast in self._fresh(transcripts, pair.dataset, pair.neighbour):
            loss += odd.update_loss(state, broadcast, record)
        return loss

    def uniform_residuals(self, transcripts: Array, dataset: Dataset) -> Array:
        """Return the noise of the odd iterations as uniforms, shape ``(R, ceil(T/2) N d)``."""
        odd = PenaltyPerturbation(self.algorithm)
        residuals = [
            odd.noise_residuals(state, broadcast, dataset)
            for state, broadcast in self._fresh(transcripts, dataset)
        ]
        return np.stack(residuals, axis=1).reshape(len(transcripts), -1)

    def _fresh(self, transcripts: Array, *datasets: Dataset) -> Iterator[tuple[State, Array]]:
        """Yield the odd iterations; hold the even ones to what they are a function of."""
        for state, broadcast in replay(self.algorithm, transcripts, *datasets):
            if state.iteration % 2:
                yield state, broadcast
                continue
            gap = np.abs(broadcast - self.repeat(state)).max(axis=(1, 2))
            wrong = ~(gap <= _ROUNDING * (1 + np.abs(broadcast).max(axis=(1, 2))))
            if wrong.any():
                name = f"transcripts[{int(np.argmax(wrong))}, {state.iteration - 1}]"
                expected = "an even broadcast to be the function of the earlier ones that it is"
                raise InvalidArgument(name, Shown(f"{gap.max():.3g} off"), expected)
