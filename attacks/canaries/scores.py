r"""What an attacker makes of one transcript of multi-step DP-ADMM, canary by canary.

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
`dpaudit.attacks.canaries.broadcasts` has the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.attacks.canaries.records import Canaries
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, Shown


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

    def __call__(self, transcript: Array, canaries: Canaries) -> Array:
        """Return the scores, shape ``(m,)``.

        Raises
        ------
        InvalidArgument
            The transcript does not have one entry a step.
        """
        algorithm, others = self.algorithm, canaries.remove(self.dataset)
        if len(transcript) != algorithm.steps:
            given = Shown(f"{len(transcript)} steps")
            raise InvalidArgument("transcript", given, f"{algorithm.steps}: another view's score?")
        factor = 2 * algorithm.loss.lipschitz * algorithm.noise_multiplier
        state, scores = algorithm.start(others, 1), np.zeros(len(canaries))
        for output in transcript:
            step = algorithm.step(state, others)
            left = (output - step.mean[0]) * factor / step.scale
            scores += self._aligned(left, state.inner[0], canaries)
            state = algorithm.advance(state, output[None])
        return scores / factor**2

    def _aligned(self, left: Array, models: Array, canaries: Canaries) -> Array:
        """Return what one step says; ``left`` is in units of a slope, shape ``(n, d)``."""
        with_canary, without = pushes(self.algorithm, models, canaries)
        middle = np.zeros_like(left)
        np.add.at(middle, canaries.nodes, (with_canary + without) / 2)
        rest = (left - middle)[canaries.nodes]
        aligned: Array = np.einsum("md,md->m", rest, with_canary - without)
        return aligned


def pushes(algorithm: MultiStepADMM, models: Array, canaries: Canaries) -> tuple[Array, Array]:
    """Return ``-l'(x'w) x`` of both sides of every coin at their nodes' models, ``(m, d)``."""
    with_canary, without = (_push(algorithm, side, models, canaries) for side in canaries.sides)
    return with_canary, without


def _push(algorithm: MultiStepADMM, side: Array, models: Array, canaries: Canaries) -> Array:
    margins = np.einsum("md,md->m", side, models[canaries.nodes])
    return np.asarray(-algorithm.loss.slope(margins)[:, None] * side)


@dataclass(frozen=True)
class Margin:
    """A canary's margin under its node's last model, less that under all nodes' mean.

    The loss falls with the margin, so its order is that of a loss threshold.
    """

    def __call__(self, transcript: Array, canaries: Canaries) -> Array:
        """Return the scores of transcripts ``(..., n, d)`` whose last models count, ``(m,)``."""
        models = transcript.reshape(-1, *transcript.shape[-2:])[-1]
        signed, _ = canaries.sides
        own: Array = np.einsum("md,md->m", signed, (models - models.mean(axis=0))[canaries.nodes])
        return own
