"""Multi-step DP-ADMM once more, one trial and one node at a time, written from the paper alone.

It shares no code with `algorithms`: the tests hold the batched implementation to it, and the
benchmark measures what batching gains. Within one node and step the records are one numpy array,
as anybody would write it. Letters are the paper's (Huang & Gong, Algorithm 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Derivatives of the losses by the margin b a'w. Eq. (25) is the logistic one.
SLOPES: dict[str, Callable[[Array], Array]] = {
    "logistic": lambda m: -1 / (1 + np.exp(m)),
    "hinge": lambda m: np.where(m < 1, -1.0, 0.0),
    "smoothed-hinge": lambda m: np.where(m <= 0, -1.0, np.where(m < 1, m - 1, 0.0)),
    "linear": lambda m: -np.ones(len(m)),
    "absolute": lambda m: np.where(m < 1, -1.0, np.where(m > 1, 1.0, 0.0)),
}


@dataclass(frozen=True, kw_only=True)
class LoopADMM:
    """Algorithm 1. ``records[i]`` are node i's ``b a``, one a row; ``eta`` takes k, r and i."""

    records: list[Array]
    neighbours: list[list[int]]
    slope: Callable[[Array], Array]
    eta: Callable[[int, int, int], float]
    sigma: float
    iterations: int
    inner_steps: int
    rho: float
    lam: float
    c_1: float = 1.0

    def sample(self, trials: int, rng: np.random.Generator) -> Array:
        """Return every ``w~^{k,r}``, shape ``(R, t l, n, d)``.

        The noise is drawn step by step for all trials, the order of the batched implementation.
        """
        n, d = len(self.records), self.records[0].shape[1]
        noise = rng.standard_normal((self.iterations * self.inner_steps, trials, n, d))
        return np.stack([self._trial(noise[:, trial]) for trial in range(trials)])

    def law(self, path: Array) -> tuple[Array, Array]:
        """Return the mean ``(t l, n, d)`` and scale ``(t l, n)`` of every step of one trial."""
        means, scales = np.empty(path.shape), np.empty(path.shape[:2])

        def observed(step: int, i: int, mean: Array, scale: float) -> Array:
            means[step, i], scales[step, i] = mean, scale
            return path[step, i]

        self._walk(observed)
        return means, scales

    def _trial(self, noise: Array) -> Array:
        path = np.empty(noise.shape)

        def perturbed(step: int, i: int, mean: Array, scale: float) -> Array:
            path[step, i] = mean + scale * noise[step, i]  # (13b), (14)
            return path[step, i]

        self._walk(perturbed)
        return path

    def _walk(self, release: Callable[[int, int, Array, float], Array]) -> None:
        n, d = len(self.records), self.records[0].shape[1]
        w_last, w_mean, gamma = np.zeros((n, d)), np.zeros((n, d)), np.zeros((n, d))
        for k in range(1, self.iterations + 1):
            total = np.zeros((n, d))
            for i in range(n):
                w = w_last[i]
                for r in range(self.inner_steps):
                    mean, scale = self._update(k, r, i, w, w_mean, gamma[i])
                    w = release((k - 1) * self.inner_steps + r, i, mean, scale)
                    total[i] += w
                w_last[i] = w
            w_mean = total / self.inner_steps
            for i in range(n):
                for j in self.neighbours[i]:
                    gamma[i] -= self.rho / 2 * (w_mean[i] - w_mean[j])  # (15)

    def _update(
        self, k: int, r: int, i: int, w: Array, w_mean: Array, gamma: Array
    ) -> tuple[Array, float]:
        """Return the minimiser of (12), with its sign slip repaired, and ``sigma s_i^{k,r+1}``."""
        u, m = self.records[i], len(self.records[i])
        eta = self.eta(k, r + 1, i)
        gradient = self.slope(u @ w) @ u / m + self.lam / len(self.records) * w
        numerator = -gradient + 2 * gamma + eta * w
        for j in self.neighbours[i]:
            numerator += self.rho * (w_mean[i] + w_mean[j])
        denominator = 2 * self.rho * len(self.neighbours[i]) + eta
        return numerator / denominator, self.sigma * 2 * self.c_1 / (denominator * m)


def published_sigma(*, epsilon: float, delta: float, steps: int, c_0: float) -> float:
    """Return eq. (20); ``steps`` is t times l."""
    return c_0 * math.sqrt(steps * 2 * math.log(1.25 / delta)) / epsilon


def published_eta(
    *,
    epsilon: float,
    delta: float,
    steps: int,
    sizes: tuple[int, ...],
    d: int,
    diameter: float,
    c_0: float,
    c_1: float,
    c_2: float,
) -> Callable[[int, int, int], float]:
    """Return eq. (23) as printed, with epsilon and delta in place of the noise multiplier."""

    def eta(k: int, r: int, i: int) -> float:
        private = d * c_0**2 * c_1**2 * steps * 8 * math.log(1.25 / delta)
        inside = c_2**2 / len(sizes) ** 2 + private / (epsilon**2 * sizes[i] ** 2)
        return math.sqrt(2 * k * r) / diameter * math.sqrt(inside)

    return eta
