"""The scores that an attacker makes of one output of multi-step DP-ADMM, canary by canary.

| score                 | sees                               | knows besides the canaries          |
|-----------------------|------------------------------------|-------------------------------------|
| `Likelihood`          | every inner model, ``(t l, n, d)`` | the algorithm and all other records |
| `BroadcastLikelihood` | every broadcast, ``(t, n, d)``     | the same                            |
| `Margin`              | the final models, ``(n, d)``       | nothing: margin or loss alone       |

Step t of node i is ``mean - unit g + noise``, where the mean is what all other records do, g sums
``l'(x'w) x`` over the node's canaries or partners x, ``unit = 1 / (curvature m_i)`` and the noise
has standard deviation ``2 c_1 sigma unit`` (`dpaudit.algorithms.multistep.algorithm`, Lemma 5). A
coin moves the step along the difference of its two sides. `Likelihood` adds up over the steps the
inner product of that difference with what is left of the step when the mean and the middle of every
other coin are taken away: for orthogonal canaries at one node that is the log-likelihood ratio of
the two sides of a coin, otherwise it is a score like any other.

**Broadcasts alone.** A broadcast is the mean of l inner models, of which nothing else is seen.
Given the broadcasts before, an iteration of node i is a chain from its last inner model w_0, and l
times the broadcast is the sum of what follows:

    w_r = a_r w_{r-1} + c_r - unit_r g_r + N(0, s_r^2 I),       l broadcast = w_1 + ... + w_l,

with g_r the gradient of the node's records at w_{r-1}. Taken at the mean of w_{r-1}, it makes the
chain Gaussian, with one variance for all entries: a Kalman filter, whose state is (w_r, sum so
far), gives the law of every broadcast, and after it that of the next w_0. A coin moves the state's
mean by its two sides' difference; the score adds up, over iterations, the inner product of how far
it moves the sum with what the sum has above its mean, over its variance. It would be the
log-likelihood ratio if gradients were constant, canaries at a node being orthogonal; hinge slopes
nearly are. Any score is sound: a worse one only certifies less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, MultiStepState
from dpaudit.attacks.canaries.records import Canaries
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText


@dataclass(frozen=True)
class Likelihood:
    """The inner product of every step with how a coin would move it.

    Parameters
    ----------
    algorithm
        What was run.
    dataset
        All records but the canaries.
    """

    algorithm: MultiStepADMM
    dataset: Dataset

    def __call__(self, output: Array, canaries: Canaries) -> Array:
        """Return the scores, shape ``(m,)``.

        Raises
        ------
        InvalidArgument
            The output does not have one entry a step.
        """
        algorithm, others = self.algorithm, canaries.remove(self.dataset)
        if len(output) != algorithm.steps:
            given = VerbatimText(f"{len(output)} steps")
            raise InvalidArgument("output", given, f"{algorithm.steps}: another view's score?")
        # `step.scale` is 2 c_1 sigma unit, so dividing by it and multiplying by this leaves a
        # residual in units of one record's slope.
        factor = 2 * algorithm.loss.lipschitz * algorithm.noise_multiplier
        state, scores = algorithm.start(others, 1), np.zeros(len(canaries))
        for entry in output:
            step = algorithm.step(state, others)
            left = (entry - step.mean[0]) * factor / step.scale
            scores += self._compute_step_alignment(left, state.inner[0], canaries)
            state = algorithm.advance(state, entry[None])
        # In these units the noise has the variance factor^2, which turns inner products into
        # log-likelihood ratios.
        return scores / factor**2

    def _compute_step_alignment(self, left: Array, models: Array, canaries: Canaries) -> Array:
        """Return the evidence of one step; ``left`` is in units of a slope, shape ``(n, d)``."""
        with_canary, without = compute_canary_pushes(self.algorithm, models, canaries)
        middle = np.zeros_like(left)
        np.add.at(middle, canaries.nodes, (with_canary + without) / 2)
        rest = (left - middle)[canaries.nodes]
        aligned: Array = np.einsum("md,md->m", rest, with_canary - without)
        return aligned


def compute_canary_pushes(
    algorithm: MultiStepADMM, models: Array, canaries: Canaries
) -> tuple[Array, Array]:
    """Return ``-l'(x'w) x`` of both sides of every coin at their nodes' models, ``(m, d)``."""
    with_canary, without = (
        _compute_side_push(algorithm, side, models, canaries) for side in canaries.sides
    )
    return with_canary, without


def _compute_side_push(
    algorithm: MultiStepADMM, side: Array, models: Array, canaries: Canaries
) -> Array:
    margins = np.einsum("md,md->m", side, models[canaries.nodes])
    return np.asarray(-algorithm.loss.slope(margins)[:, None] * side)


@dataclass(frozen=True)
class Margin:
    """A canary's margin under its node's last model, less that under all nodes' mean.

    The loss falls with the margin, so its order is that of a loss threshold.
    """

    def __call__(self, output: Array, canaries: Canaries) -> Array:
        """Return the scores of outputs ``(..., n, d)`` whose last models count, ``(m,)``."""
        models = output.reshape(-1, *output.shape[-2:])[-1]
        signed, _ = canaries.sides
        # What all nodes have learnt says little of one node's canaries; the node's deviation does.
        own: Array = np.einsum("md,md->m", signed, (models - models.mean(axis=0))[canaries.nodes])
        return own


@dataclass(frozen=True)
class BroadcastLikelihood:
    """The filter's score of every coin.

    Parameters
    ----------
    algorithm
        What was run.
    dataset
        All records but the canaries.
    """

    algorithm: MultiStepADMM
    dataset: Dataset

    def __call__(self, output: Array, canaries: Canaries) -> Array:
        """Return the scores of broadcasts, shape ``(t, n, d)``, as shape ``(m,)``.

        Raises
        ------
        InvalidArgument
            The output does not have one entry an iteration.
        """
        algorithm, others = self.algorithm, canaries.remove(self.dataset)
        if len(output) != algorithm.iterations:
            given = VerbatimText(f"{len(output)} broadcasts")
            raise InvalidArgument("output", given, f"{algorithm.iterations}, one an iteration")
        state, chain = algorithm.start(others, 1), _Chain.start(others, canaries)
        scores = np.zeros(len(canaries))
        for broadcast in output:
            chain = chain.begun()
            for _ in range(algorithm.inner_steps - 1):
                chain = self._advance_chain(chain, state, others, canaries)
                state = algorithm.advance(state, chain.mean[None])
            # The state after the last inner step follows from the broadcast that was sent, not from
            # the mean that the chain predicts.
            chain = self._advance_chain(chain, state, others, canaries)
            total = algorithm.inner_steps * broadcast
            gain, chain = chain.seen(total, canaries)
            scores += gain
            # `advance` adds an output to the running sum and sends the mean of the sum. This output
            # is the one that makes the sum equal what was seen; the sum is stale in a first inner
            # step.
            state = algorithm.advance(state, total[None] - state.inner_sum * (state.inner_step > 1))
            # The true last inner model is not seen: the next iteration starts from its conditional
            # mean.
            state = replace(state, inner=chain.mean[None])
        return scores

    def _advance_chain(
        self, chain: _Chain, state: MultiStepState, others: Dataset, canaries: Canaries
    ) -> _Chain:
        """Return the chain after an inner step."""
        algorithm = self.algorithm
        step = algorithm.step(state, others)
        eta = algorithm.eta(others, state.iteration, state.inner_step)
        curvature = 2 * algorithm.penalty * algorithm.graph.degrees + eta
        # a_r of the module docstring: the derivative of an inner step by the model before it.
        kept = (eta - algorithm.regulariser_weight / others.nodes) / curvature
        scale = step.scale[:, 0]
        unit = scale / (2 * algorithm.loss.lipschitz * algorithm.noise_multiplier)
        one, other = compute_canary_pushes(algorithm, state.inner[0], canaries)
        middle = np.zeros_like(chain.mean)
        np.add.at(middle, canaries.nodes, (one + other) / 2)
        mean = step.mean[0] + unit[:, None] * middle
        return chain.moved(mean, kept, scale, unit[canaries.nodes, None] * (one - other), canaries)


@dataclass(frozen=True, kw_only=True)
class _Chain:
    """The law of a node's inner model w and of the sum so far, given all broadcasts before.

    Means have shape ``(n, d)``, variances ``(n,)``; ``shift`` and ``sum_shift`` say how far a coin
    moves the two, shape ``(m, d)``.
    """

    mean: Array
    total: Array
    variance: Array
    covariance: Array
    sum_variance: Array
    shift: Array
    sum_shift: Array

    @classmethod
    def start(cls, dataset: Dataset, canaries: Canaries) -> _Chain:
        """Return the chain of a run that begins: the models are 0."""
        mean, none = np.zeros((dataset.nodes, dataset.dimension)), np.zeros(dataset.nodes)
        moved = np.zeros_like(canaries.features)
        return cls(
            mean=mean,
            total=mean,
            variance=none,
            covariance=none,
            sum_variance=none,
            shift=moved,
            sum_shift=moved,
        )

    def begun(self) -> _Chain:
        """Return the chain at the start of an iteration: the sum is 0."""
        none = np.zeros_like(self.variance)
        return replace(
            self,
            total=np.zeros_like(self.total),
            covariance=none,
            sum_variance=none,
            sum_shift=np.zeros_like(self.shift),
        )

    def moved(
        self, mean: Array, kept: Array, scale: Array, pushed: Array, canaries: Canaries
    ) -> _Chain:
        """Return the chain after a step ``w <- kept w + ... + N(0, scale^2)``."""
        variance = kept**2 * self.variance + scale**2
        crossed = kept * self.covariance
        shift = kept[canaries.nodes, None] * self.shift + pushed
        return _Chain(
            mean=mean,
            total=self.total + mean,
            variance=variance,
            covariance=crossed + variance,
            sum_variance=self.sum_variance + 2 * crossed + variance,
            shift=shift,
            sum_shift=self.sum_shift + shift,
        )

    def seen(self, total: Array, canaries: Canaries) -> tuple[Array, _Chain]:
        """Return the sum's evidence for every coin, shape ``(m,)``, and the chain that knows it."""
        above = total - self.total
        # The sum is seen without noise, so conditioning on it is exact: the gain is Cov(w, sum) /
        # Var(sum).
        gain = self.covariance / self.sum_variance
        nodes = canaries.nodes
        told = np.einsum("md,md->m", above[nodes], self.sum_shift) / self.sum_variance[nodes]
        known = replace(
            self,
            # The part of a coin's shift that the sum has already shown must not count again in
            # later iterations.
            mean=self.mean + gain[:, None] * above,
            variance=self.variance - gain * self.covariance,
            shift=self.shift - gain[nodes, None] * self.sum_shift,
        )
        return np.asarray(told), known
