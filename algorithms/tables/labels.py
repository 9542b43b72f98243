r"""One-time Laplace noise on labels (Theorem 1 of the paper on joined tables), with its exact law.

| paper  | code            | meaning                                                | shape      |
|--------|-----------------|--------------------------------------------------------|------------|
| y      | ``encoded``     | labels as vectors: one-hot, or a sign                  | (n_l, d_c) |
| lambda | ``deviation``   | standard deviation of each coordinate, 2 sqrt(2) / eps | scalar     |
|        | ``noise_scale`` | the Laplace scale, ``lambda / sqrt(2) = 2 / eps``      | scalar     |

A pair under replace-label changes one encoded label by 2 in L1 norm: two coordinates by 1 each, or
one sign by 2. The privacy loss of a release ``o`` is

    sum_k ( |o_k - y'_k| - |o_k - y_k| ) / b,    at most  ||y - y'||_1 / b = 2 / (2/eps) = eps,

with equality, and positive probability, wherever ``o`` lies beyond ``y`` as seen from ``y'`` in
every coordinate that differs. So Theorem 1 holds, and nothing in it can be saved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.loss import CrossEntropy
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import REPLACE_LABEL, Pair


@dataclass(frozen=True, kw_only=True)
class LabelRelease:
    """The mechanism of Theorem 1: every encoded label with Laplace noise, once.

    Parameters
    ----------
    epsilon
        ``eps`` of the theorem.
    loss
        What the labels are encoded for.

    Notes
    -----
    Formal guarantee: epsilon-DP under replace-label, exactly (Theorem 1; module docstring).

    Examples
    --------
    >>> from dpaudit.algorithms.tables.loss import LOGISTIC
    >>> data = JoinedTables(([[1.0], [2.0]],), ([0, 1],), [1, -1])
    >>> release = LabelRelease(epsilon=1.0, loss=LOGISTIC)
    >>> release.sample(data, 5, np.random.default_rng(0)).shape
    (5, 2, 1)
    """

    epsilon: float
    loss: CrossEntropy

    def __post_init__(self) -> None:
        check.require_positive("epsilon", self.epsilon)

    @property
    def deviation(self) -> float:
        """Standard deviation of each coordinate, ``2 sqrt(2) / eps``."""
        return 2 * math.sqrt(2) / self.epsilon

    @property
    def noise_scale(self) -> float:
        """Laplace scale b: the density is proportional to ``exp(-|x| / b)``."""
        return 2 / self.epsilon

    @property
    def guarantee(self) -> PureDP:
        """The guarantee that Theorem 1 proves, under replace-label."""
        return PureDP(self.epsilon)

    def sample(self, dataset: JoinedTables, trials: int, rng: Generator) -> Array:
        """Return ``trials`` noisy label sets, shape ``(R, n_l, d_c)``."""
        encoded = self.loss.encode(dataset.labels)
        noise = rng.laplace(scale=self.noise_scale, size=(trials, *encoded.shape))
        return np.asarray(encoded + noise)

    def privacy_loss(self, outputs: Array, pair: Pair[JoinedTables]) -> Array:
        """Return ``log p / q`` of each release, shape ``(R,)``."""
        if pair.relation is not REPLACE_LABEL:
            raise InvalidArgument("relation", VerbatimText(pair.relation.name), REPLACE_LABEL.name)
        self._check_shape(outputs, pair.dataset)
        released = outputs[:, pair.index]
        # Every other label is the same on both sides, and its terms cancel.
        old, new = (
            self.loss.encode(data.labels)[pair.index] for data in (pair.dataset, pair.neighbour)
        )
        loss: Array = np.sum(np.abs(released - new) - np.abs(released - old), axis=1)
        return loss / self.noise_scale

    def uniform_residuals(self, outputs: Array, dataset: JoinedTables) -> Array:
        """Return the distribution function of the noise at every coordinate, shape ``(R, k)``."""
        self._check_shape(outputs, dataset)
        noise = (outputs - self.loss.encode(dataset.labels)) / self.noise_scale
        # The exponent is never positive, so no noise is too large for it.
        tail = np.exp(-np.abs(noise)) / 2
        return np.where(noise < 0, tail, 1 - tail).reshape(len(outputs), -1)

    def _check_shape(self, outputs: Array, dataset: JoinedTables) -> None:
        expected = (len(dataset.labels), self.loss.outputs)
        if outputs.shape[1:] != expected:
            shape = VerbatimText(f"shape {outputs.shape}")
            raise InvalidArgument("outputs", shape, f"(trials, {expected[0]}, {expected[1]})")
