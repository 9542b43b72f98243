"""ADMM sharing once more, the papers' way: one trial at a time, from the papers alone.

L-BFGS-B solves (6) for x; the z-update (8) is one scalar problem a sample, each handed to a scalar
solver of scipy (on the derivative: one on values stops at half the digits). It shares no code with
`algorithms`: the tests hold the batched implementation to it, and the benchmark measures what
batching gains. The noise comes in from outside. Letters are hu2020's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

Array = NDArray[np.float64]
Derivative = Callable[[float, float], float]


def _sigma(s: float) -> float:
    return 1 / (1 + math.exp(-s)) if s >= 0 else math.exp(s) / (1 + math.exp(s))


def _hinge(z: float, b: float) -> float:
    return -b * min(max(1 - b * z, 0.0), 1.0)


# Derivatives of the losses by z, for a label b.
DERIVATIVES: dict[str, Derivative] = {
    "logistic": lambda z, b: -b * _sigma(-b * z),
    "squared": lambda z, b: z - b,
    "smoothed-hinge": _hinge,
    "sigmoid": lambda z, b: -b * _sigma(-b * z) * _sigma(b * z),
}


@dataclass(frozen=True)
class Sent:
    """What one trial releases and keeps, T iterations of it."""

    messages: Array  # (T, M, N)
    gap: Array  # (T, N)
    y: Array  # (T, N)
    x: Array  # (T, d)


@dataclass(frozen=True, kw_only=True)
class LoopSharing:
    """Algorithm 1 with an L2 regulariser. ``weight`` is what a sample's loss counts, 1/N or 1."""

    blocks: list[Array]
    labels: Array
    derivative: Derivative
    weight: float
    lam: float
    rho: float

    def trial(self, xi: Array, e: Array) -> Sent:
        """Run once. ``xi`` (T, d) is added to the models, ``e`` (T, M, N) to the messages."""
        N, M = len(self.labels), len(self.blocks)
        y, z, h = np.zeros(N), np.zeros(N), np.zeros((M, N))
        ends = np.cumsum([D.shape[1] for D in self.blocks])
        sent: list[tuple[Array, Array, Array, Array]] = []
        for t in range(len(xi)):
            x = [self._x(D, y, h.sum(axis=0) - h[m] - z) for m, D in enumerate(self.blocks)]
            noise = np.split(xi[t], ends[:-1])
            h = np.stack([D @ (x[m] + noise[m]) + e[t, m] for m, D in enumerate(self.blocks)])
            S = h.sum(axis=0)
            z = np.array([self._z(*sample) for sample in zip(S, y, self.labels, strict=True)])
            y = y + self.rho * (S - z)  # (9)
            sent.append((h, S - z, y, np.concatenate(x)))
        return Sent(*(np.stack(part) for part in zip(*sent, strict=True)))

    def _x(self, D: Array, y: Array, s: Array) -> Array:
        """Return the minimiser of (6), which is divided by rho here.

        L-BFGS-B stops where differences of values drown in rounding, so it is asked again for the
        rest of the way, as long as that is more than rounding.
        """
        lam, x = self.lam / self.rho, np.zeros(D.shape[1])
        options = {"maxcor": 30, "ftol": 0.0, "gtol": 1e-13, "maxiter": 20_000, "maxfun": 40_000}
        for _ in range(4):
            pull = D.T @ (s + D @ x + y / self.rho) + lam * x

            def value(d: Array, pull: Array = pull) -> tuple[float, Array]:
                moved = D @ d
                gradient = pull + D.T @ moved + lam * d
                return float(pull @ d + (moved @ moved + lam * (d @ d)) / 2), gradient

            start = np.zeros_like(x)
            rest = minimize(value, start, jac=True, method="L-BFGS-B", options=options).x
            x = x + rest
            if np.abs(rest).max() <= 1e-11 * max(1.0, np.abs(x).max()):
                break
        return x

    def _z(self, S: float, y: float, b: float) -> float:
        """Return the minimiser of (8) for one sample."""

        def slope(z: float) -> float:
            return self.weight * self.derivative(z, b) - y - self.rho * (S - z)

        reach = 1.0
        while slope(S - reach) > 0 or slope(S + reach) < 0:
            reach *= 4
        return float(brentq(slope, S - reach, S + reach, xtol=1e-15, rtol=1e-15))
