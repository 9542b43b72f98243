"""The views of consensus ADMM: the broadcasts of PP, PVP and R-ADMM, and their law.

Penalty perturbation is zhang2018's Algorithm 1, eq. (24)-(25), with the densities of Appendix D,
eq. (58)-(61); primal perturbation is in its section 2.4. Outputs are Definition 4.1's output,
all broadcasts ``f_i(t)``, shape ``(R, T, N, d)``. In each class ``privacy_loss`` is
exact: only the node that holds the differing record contributes, all else being a function of past
broadcasts. Notation as in `dpaudit.algorithms.consensus.algorithm`.

**Recycled ADMM** (Zhang, Khalili & Liu 2019). Half of the iterations reuse what is revealed. Odd
iterations are zhang2018's eq. (24)-(25), all have its dual update (11); what an odd broadcast
reveals is its stationarity condition, eq. (58) of Appendix D. The article is not among this
project's papers; the update is derived from the linearised problem that `RecycledPerturbation`
states.

**Tilted draws.** Penalty perturbation can be drawn with noise that is tilted towards a large
privacy loss. A step's loss depends on the output: by eq. (61) it is ``alpha (||e + v(f)|| -
||e||)`` plus a log-ratio of determinants at f, and f follows from e by solving eq. (25). No tilt of
it has a known normaliser. So the noise is tilted towards ``l^ = alpha (||e + a|| - ||e||)``, the
loss of a shift a that is fixed before e is drawn: the aim, which is v at the minimiser without
noise. That tilt is exact (`dpaudit.laws.exponential_norm`), hence so is the weight of an output,

    log p/r = sum_t K(theta; alpha ||a_t||) - theta l^_t,

whatever the aim; a poor one only spreads the weights. In the terms of
`dpaudit.mechanisms.mechanism.TiltedSample` the part of the log-moments is played by
``log p/r + theta L``, which is at most

    sum_t K(theta; s_t) + theta (alpha D_t + j_t),

s_t being the largest alpha ||v||, D_t the largest distance between two values of v, and j_t the
largest log-ratio of determinants (`dpaudit.algorithms.consensus.guarantees`). It is attained by
hardly any output, except where v is constant, which it is with the linear loss, and with the
logistic loss when the record is replaced by its opposite, as ``l'(m) + l'(-m) = -1`` and l'' is
even. Then D and j are 0, and s_t is no more than needed.

Only the node with the differing record is tilted: given the past, the others' laws are the same on
both datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.digits import NodeNumbers, enclose_broadcast_loss
from dpaudit.algorithms.consensus.law import (
    log_determinants,
    noise_behind,
    noise_shift,
    update_loss,
)
from dpaudit.algorithms.consensus.margin_problem import MarginProblem, minimise_margin_problem
from dpaudit.algorithms.consensus.process import (
    ConsensusProcess,
    ConsensusState,
    next_noise,
    noise_rates,
    replay,
)
from dpaudit.algorithms.problems.records import Differing
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws.exponential_norm import convert_noise_to_uniforms, draw_tilted, log_mgf, norm_gain
from dpaudit.laws.loss_enclosure import ends, in_digits
from dpaudit.mechanisms.mechanism import TiltedSample
from dpaudit.mechanisms.residuals import add_error_place
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.reals import Real
from dpaudit.redaction import Record


@dataclass(frozen=True)
class AimedPerturbation:
    """Penalty perturbation on a pair, drawn tilted on the pair's dataset."""

    algorithm: ConsensusProcess
    pair: Pair[Dataset]
    record: Differing

    @classmethod
    def of(cls, algorithm: ConsensusProcess, pair: Pair[Dataset]) -> AimedPerturbation:
        """Return the pair's, or raise `InvalidArgument` where the algorithm cannot run on it."""
        algorithm.check(pair.dataset)
        algorithm.check(pair.neighbour)
        return cls(algorithm, pair, Differing.of(pair))

    def sample(self, tilt: float, trials: int, rng: Generator) -> TiltedSample:
        """Return outputs, their losses and their weights, as `TiltedSample`."""
        algorithm, dataset = self.algorithm, self.pair.dataset
        state, outputs = algorithm.start(dataset, trials), []
        loss, offset = np.zeros(trials), np.zeros(trials)
        for t in range(1, algorithm.iterations + 1):
            aim, noise = self._aim(state), next_noise(algorithm, state, rng)
            mine = draw_tilted(aim, tilt, rng)
            # The node's own draw takes the place of an ordinary one. The other nodes keep theirs,
            # and their laws stay those of an untilted run.
            noise[:, self.record.node] = mine / self._rate(t)
            stretch = algorithm.stretch[t - 1][:, None]
            linear = algorithm.pull(state) - stretch * noise
            outputs.append(algorithm.minimise(linear, dataset, t))
            step = self._loss(t, outputs[-1], mine)
            normaliser = log_mgf(np.linalg.norm(aim, axis=1), aim.shape[1], tilt)
            loss += step
            # log p/r + tilt L of this step: the normaliser, and by how much the loss differs from
            # the aim's.
            offset += normaliser + tilt * (step - norm_gain(mine, aim))
            state = algorithm.advance(state, outputs[-1])
        return TiltedSample(np.stack(outputs, axis=1), loss, offset, tilt)

    def log_weight_bounds(self, tilt: float) -> tuple[float, float]:
        """Return bounds on ``log p/r + tilt L`` that hold for every output."""
        low, high, d = 0.0, 0.0, self.pair.dataset.dimension
        for t in range(1, self.algorithm.iterations + 1):
            longest, spread = self._shift_limits(t)
            # The loss differs from that of the aim by at most the spread of v and the determinants.
            error = tilt * (spread + self._log_determinant_limit(t))
            # The log-moment of a shift is not below 0, by Jensen's inequality, so only the error
            # lowers this end.
            low -= error
            high += float(log_mgf(np.array(longest), d, tilt)) + error
        return low, high

    def _aim(self, state: ConsensusState) -> Array:
        """Return v at the minimiser without noise, in units of ``1/alpha``, shape ``(R, d)``."""
        node, t = self.record.node, state.iteration
        pull = self.algorithm.pull(state)[:, node]
        quiet = minimise_margin_problem(self._problem(t), pull, self._records()).models
        return self._shift(t, quiet)

    def _loss(self, t: int, broadcast: Array, noise: Array) -> Array:
        """Return the loss of one iteration from the noise that was drawn, shape ``(R,)``.

        From whole determinants, not from their difference, which `privacy_loss` uses.
        """
        models, record = broadcast[:, self.record.node], self.record
        here, there = log_determinants(
            self._problem(t), models, self._records(), record.old, record.new
        )
        return norm_gain(noise, self._shift(t, models)) + here - there

    def _shift(self, t: int, models: Array) -> Array:
        """Return ``alpha (e^ - e)`` behind outputs, shape ``(R, d)``."""
        shift = noise_shift(self._problem(t), models, self.record.old, self.record.new)
        return shift * (self._rate(t) / self._stretch(t))

    def _shift_limits(self, t: int) -> tuple[float, float]:
        """Return the largest ``alpha ||v||``, and the largest distance of two ``alpha v``."""
        problem = self._problem(t)
        old, new, low_high = self.record.old, self.record.new, problem.loss.margin.slope_range
        unit = problem.weight * self._rate(t) / self._stretch(t)
        if self._is_mirrored:
            # Of both losses l'(m) + l'(-m) is 2 l'(0) at every margin m.
            slope = float(problem.loss.margin.slope(np.zeros(1))[0])
            return float(2 * unit * abs(slope) * np.linalg.norm(old)), 0.0
        # A norm is convex in the two slopes, so it is largest at a corner of their ranges.
        longest = max(np.linalg.norm(a * old - b * new) for a in low_high for b in low_high)
        # Two values of v differ by (a - a') u - (b - b') w with both differences at most the width.
        width = low_high[1] - low_high[0]
        spread = width * max(np.linalg.norm(old - new), np.linalg.norm(old + new))
        return float(unit * longest), float(unit * spread)

    @property
    def _is_mirrored(self) -> bool:
        """Whether a record is replaced by its opposite under a loss with an even curvature."""
        even = self._problem(1).loss in (LOGISTIC, LINEAR)
        return even and bool(np.array_equal(self.record.old, -self.record.new))

    def _log_determinant_limit(self, t: int) -> float:
        if self._is_mirrored:
            return 0.0
        problem = self._problem(t)
        # The determinant lemma's share is at most that of the longer record.
        square = max(float(u @ u) for u in (self.record.old, self.record.new))
        share = problem.weight * problem.loss.largest_curvature * square / problem.curvature
        return float(np.log1p(share))

    def _problem(self, t: int) -> MarginProblem:
        return self.algorithm.problem(self.pair.dataset, t, self.record.node)

    def _records(self) -> Array:
        dataset = self.pair.dataset
        return dataset.signed_records[dataset.rows_of(self.record.node)]

    def _rate(self, t: int) -> float:
        return float(noise_rates(self.algorithm)[t - 1, self.record.node])

    def _stretch(self, t: int) -> float:
        return float(self.algorithm.stretch[t - 1, self.record.node])


@dataclass(frozen=True)
class PenaltyPerturbation:
    """Penalty perturbation (Algorithm 1), M-ADMM without noise.

    Formal guarantee: zhang2018, Theorem 4.1; see
    `dpaudit.algorithms.consensus.algorithm.ConsensusADMM`.
    """

    algorithm: ConsensusProcess

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, N, d)``."""
        algorithm = self.algorithm
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for _ in range(algorithm.iterations):
            outputs.append(self.next_broadcast(state, dataset, rng))
            state = algorithm.advance(state, outputs[-1])
        return np.stack(outputs, axis=1)

    def next_broadcast(self, state: ConsensusState, dataset: Dataset, rng: Generator) -> Array:
        """Return the minimisers of eq. (24), shape ``(R, N, d)``."""
        stretch = self.algorithm.stretch[state.iteration - 1][:, None]
        linear = self.algorithm.pull(state) - stretch * next_noise(self.algorithm, state, rng)
        return self.algorithm.minimise(linear, dataset, state.iteration)

    def privacy_loss(self, outputs: Array, pair: Pair[Dataset]) -> Array:
        """Return ``log p / q`` of each output, eq. (61), shape ``(R,)``."""
        record = Differing.of(pair)
        loss = np.zeros(len(outputs))
        for state, broadcast in replay(self.algorithm, outputs, pair.dataset, pair.neighbour):
            loss += self.update_loss(state, broadcast, record)
        return loss

    def update_loss(self, state: ConsensusState, broadcast: Array, record: Differing) -> Array:
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
        """Return outputs tilted towards a large privacy loss."""
        return AimedPerturbation.of(self.algorithm, pair).sample(tilt, trials, rng)

    def log_mgf_bounds(self, pair: Pair[Dataset], tilt: float) -> tuple[float, float]:
        """Return bounds on ``log p/r + tilt L`` that hold for every output."""
        return AimedPerturbation.of(self.algorithm, pair).log_weight_bounds(tilt)

    def loss_in_digits(self, output: Array, pair: Pair[Dataset], digits: int = 50) -> Any:
        """Return the loss of one output, shape ``(T, N, d)``."""
        return in_digits(self._enclose_loss(output, pair), digits)

    def loss_bounds(self, output: Array, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return doubles between which the loss of one output lies, shape ``(T, N, d)``."""
        return ends(self._enclose_loss(output, pair))

    def _enclose_loss(self, output: Array, pair: Pair[Dataset]) -> Callable[[], Real]:
        record = Differing.of(pair)
        rows = pair.dataset.rows_of(record.node)
        here, there = (one.signed_records[rows] for one in (pair.dataset, pair.neighbour))
        node = NodeNumbers.of(self.algorithm, record.node)
        return lambda: enclose_broadcast_loss(node, output, here, there)

    def neighbours(self, pair: Pair[Dataset]) -> tuple[Pair[Dataset], ...]:
        """Return the pair in which the record is replaced by its opposite, unless that is given."""
        dataset, index = pair.dataset, pair.index
        opposite = dataset.with_record(index, dataset.features[index], -dataset.labels[index])
        new = pair.neighbour.signed_records[index]
        given = np.array_equal(opposite.signed_records[index], new)
        return () if given else (Pair(dataset, opposite, REPLACE_RECORD),)

    def uniform_residuals(self, outputs: Array, dataset: Dataset) -> Array:
        """Return the noise behind every broadcast as independent uniforms, shape ``(R, T N d)``."""
        residuals = [
            self.noise_residuals(state, broadcast, dataset)
            for state, broadcast in replay(self.algorithm, outputs, dataset)
        ]
        return np.stack(residuals, axis=1).reshape(len(outputs), -1)

    def noise_residuals(self, state: ConsensusState, broadcast: Array, dataset: Dataset) -> Array:
        """Return the same of one iteration, shape ``(R, N, d)``: eq. (58)."""
        algorithm, t = self.algorithm, state.iteration
        noise, pull = np.empty_like(broadcast), algorithm.pull(state)
        for node in range(dataset.nodes):
            problem = algorithm.problem(dataset, t, node)
            records = dataset.signed_records[dataset.rows_of(node)]
            noise[:, node] = noise_behind(problem, broadcast[:, node], pull[:, node], records)
            noise[:, node] /= algorithm.stretch[t - 1, node]
        return convert_noise_to_uniforms(noise, noise_rates(algorithm)[t - 1])


@dataclass(frozen=True)
class PrimalPerturbation:
    """Primal variable perturbation (Zhang & Zhu 2017): noise on the exact minimiser.

    Formal guarantee: none is claimed in zhang2018. The law is the noise's, moved by how far the
    record moves the minimiser; the minimiser is computed on both datasets.
    """

    algorithm: ConsensusProcess

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs, shape ``(R, T, N, d)``."""
        algorithm = self.algorithm
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for t in range(1, algorithm.iterations + 1):
            # Without noise in the objective: the minimiser is exact, and the noise is added to it.
            exact = algorithm.minimise(algorithm.pull(state), dataset, t)
            outputs.append(exact + next_noise(algorithm, state, rng))
            state = algorithm.advance(state, outputs[-1])
        return np.stack(outputs, axis=1)

    def privacy_loss(self, outputs: Array, pair: Pair[Dataset]) -> Array:
        """Return ``sum_t alpha (||f - f*^|| - ||f - f*||)`` at the node, shape ``(R,)``."""
        algorithm, node = self.algorithm, Differing.of(pair).node
        rows = pair.dataset.rows_of(node)
        loss = np.zeros(len(outputs))
        for state, broadcast in replay(algorithm, outputs, pair.dataset, pair.neighbour):
            pull = algorithm.pull(state)[:, node]
            problem = algorithm.problem(pair.dataset, state.iteration, node)
            with add_error_place(f"iteration {state.iteration}, node {node}"):
                exact = minimise_margin_problem(
                    problem, pull, pair.dataset.signed_records[rows]
                ).models
                with add_error_place("neighbour"):
                    other = minimise_margin_problem(
                        problem, pull, pair.neighbour.signed_records[rows]
                    ).models
            rate = noise_rates(algorithm)[state.iteration - 1, node]
            # Both minimisers belong to the same past, so the broadcast's noise moves by their
            # difference.
            loss += rate * norm_gain(broadcast[:, node] - exact, exact - other)
        return loss

    def uniform_residuals(self, outputs: Array, dataset: Dataset) -> Array:
        """Return the noise on every broadcast as independent uniforms, shape ``(R, T N d)``."""
        algorithm, residuals = self.algorithm, []
        for state, broadcast in replay(algorithm, outputs, dataset):
            exact = algorithm.minimise(algorithm.pull(state), dataset, state.iteration)
            residuals.append(
                convert_noise_to_uniforms(
                    broadcast - exact, noise_rates(algorithm)[state.iteration - 1]
                )
            )
        return np.stack(residuals, axis=1).reshape(len(outputs), -1)


# How far an even broadcast may be from what the earlier ones say, relative to its size.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RecycledPerturbation:
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
        """Return ``trials`` outputs, shape ``(R, T, N, d)``."""
        algorithm, odd = self.algorithm, PenaltyPerturbation(self.algorithm)
        algorithm.check(dataset)
        state, outputs = algorithm.start(dataset, trials), []
        for t in range(1, algorithm.iterations + 1):
            # Odd iterations look at the data; the next one is a function of what they sent.
            fresh = t % 2 == 1
            output = odd.next_broadcast(state, dataset, rng) if fresh else self.repeat(state)
            outputs.append(output)
            state = algorithm.advance(state, output)
        return np.stack(outputs, axis=1)

    def repeat(self, state: ConsensusState) -> Array:
        """Return the broadcast of an even iteration, shape ``(R, N, d)``, from the state alone."""
        gamma = self.proximal_weight
        target = self.algorithm.pull(state) - state.revealed + gamma * state.models
        return np.asarray(target / (self.algorithm.stretch[state.iteration - 1][:, None] + gamma))

    def privacy_loss(self, outputs: Array, pair: Pair[Dataset]) -> Array:
        """Return ``log p / q`` of each output, shape ``(R,)``: that of the odd iterations.

        Raises
        ------
        InvalidArgument
            An even broadcast is not what the earlier ones say: both densities are then 0.
        """
        odd, record = PenaltyPerturbation(self.algorithm), Differing.of(pair)
        loss = np.zeros(len(outputs))
        for state, broadcast in self._fresh(outputs, pair.dataset, pair.neighbour):
            loss += odd.update_loss(state, broadcast, record)
        return loss

    def uniform_residuals(self, outputs: Array, dataset: Dataset) -> Array:
        """Return the noise of the odd iterations as uniforms, shape ``(R, ceil(T/2) N d)``."""
        odd = PenaltyPerturbation(self.algorithm)
        residuals = [
            odd.noise_residuals(state, broadcast, dataset)
            for state, broadcast in self._fresh(outputs, dataset)
        ]
        return np.stack(residuals, axis=1).reshape(len(outputs), -1)

    def _fresh(self, outputs: Array, *datasets: Dataset) -> Iterator[tuple[ConsensusState, Array]]:
        """Yield the odd iterations; hold the even ones to the function that they are of them."""
        for state, broadcast in replay(self.algorithm, outputs, *datasets):
            if state.iteration % 2:
                yield state, broadcast
                continue
            gap = np.abs(broadcast - self.repeat(state)).max(axis=(1, 2))
            # Written so that NaN counts as wrong.
            wrong = ~(gap <= _ROUNDING * (1 + np.abs(broadcast).max(axis=(1, 2))))
            if wrong.any():
                name = f"outputs[{int(np.argmax(wrong))}, {state.iteration - 1}]"
                expected = "an even broadcast to be the function of the earlier ones that it is"
                raise InvalidArgument(
                    name, VerbatimText(f"{Record(float(gap.max()))!r} off"), expected
                )
