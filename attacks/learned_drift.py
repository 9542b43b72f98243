r"""Innovations of a time series, and their sums: where a small, steady drift shows.

Step t of a transcript is regressed, within either class, on the two steps before it and on the
mean of all before it; what the regression leaves, divided by its spread, is the innovation. If the
steps are Gaussian given the past, linearly, innovations are white, and a drift that is as large as
the noise allows at every step is seen in their sum: a few features in place of hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.learned_features import Scaling, flat

Array = NDArray[np.float64]

_PER_COEFFICIENT = 8
_RIDGE = 1e-9


@dataclass(frozen=True)
class Drift:
    """Sums of innovations over time, of their sigmoids and of their squares, entry by entry."""

    scaling: Scaling
    coefficients: tuple[Array, ...]
    spread: Array

    def __call__(self, transcripts: Array) -> Array:
        """Return sums of innovations, shape ``(R, 4 m)`` for steps of m entries."""
        steps = _steps(self.scaling, transcripts)
        left = np.stack(
            [steps[:, t] - _past(steps, t) @ c for t, c in enumerate(self.coefficients)], axis=1
        )
        left /= self.spread
        half = len(self.coefficients) // 2
        count = np.sqrt(len(self.coefficients))
        tables = left.sum(axis=1), left[:, :half].sum(axis=1), np.tanh(left).sum(axis=1)
        return np.asarray(np.hstack([*tables, (left**2 - 1).sum(axis=1)]) / count)


def drift(transcripts: Array, labels: NDArray[np.int64]) -> Drift | None:
    """Fit `Drift`; None where there is no time axis, or too little to learn a regression from.

    Examples
    --------
    >>> walks = np.random.default_rng(0).normal(size=(400, 5, 2)).cumsum(axis=1)
    >>> drift(walks, np.repeat([1, 0], 200))(walks[:3]).shape
    (3, 8)
    """
    if transcripts.ndim < 2 or transcripts.shape[1] < 2:
        return None
    width = flat(transcripts[:1, 0]).shape[1]
    if 3 * width * _PER_COEFFICIENT > len(transcripts):
        return None
    scaling = Scaling.of(flat(transcripts))
    steps = _steps(scaling, transcripts)
    for side in (0, 1):
        steps[labels == side] -= steps[labels == side].mean(axis=0)
    coefficients = tuple(_regression(_past(steps, t), steps[:, t]) for t in range(steps.shape[1]))
    left = [(steps[:, t] - _past(steps, t) @ c).std(axis=0) for t, c in enumerate(coefficients)]
    spread = np.stack(left)
    return Drift(scaling, coefficients, np.where(spread > 1e-6, spread, 1.0))


def _steps(scaling: Scaling, transcripts: Array) -> Array:
    scaled = scaling(flat(transcripts))
    return scaled.reshape(len(transcripts), transcripts.shape[1], -1)


def _past(steps: Array, time: int) -> Array:
    """Return what step ``time`` is regressed on, shape ``(R, columns)``; nothing at first."""
    if time == 0:
        return np.zeros((len(steps), 1))
    recent = [steps[:, t] for t in range(max(0, time - 2), time)]
    return np.hstack([*recent, steps[:, :time].mean(axis=1)])


def _regression(past: Array, step: Array) -> Array:
    gram = past.T @ past
    ridge = _RIDGE * max(float(np.trace(gram)), 1e-290) / len(gram)
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), past.T @ step))
