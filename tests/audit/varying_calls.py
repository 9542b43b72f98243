"""Instances whose first call has another law than their later ones."""

from __future__ import annotations

from typing import Any

import numpy as np


class Noisy:
    """A sum with noise of one scale at the first call, and of another thereafter."""

    def __init__(self, first: float, later: float) -> None:
        self.scales, self.calls = (first, later), 0

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise."""
        scale = self.scales[min(self.calls, 1)]
        self.calls += 1
        return float(np.sum(data)) + rng.laplace(scale=scale)

    def release(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise, from a method."""
        return self(data, rng)


class WarmUp:
    """Takes a public table at its first call, and has noise of one scale at each."""

    def __init__(self) -> None:
        self.table: list[float] = []

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise."""
        if not self.table:
            self.table = [float(n) for n in range(10)]
        return float(np.sum(data)) + self.table[0] + rng.laplace(scale=1.5)


class Steady(Noisy):
    """Changes nothing, but has a generator of its own."""

    def __init__(self) -> None:
        self.own = np.random.default_rng()

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise."""
        return float(np.sum(data)) + self.own.laplace(scale=1.5)


def counting() -> Any:
    """Return a function that counts its calls in what it closes over."""
    calls = 0

    def noisy_sum(data: Any, rng: np.random.Generator) -> float:
        nonlocal calls
        calls += 1
        return float(np.sum(data)) + rng.laplace(scale=1.5)

    return noisy_sum


def noisy(data: Any, rng: np.random.Generator) -> float:
    """Return the sum with noise."""
    return float(np.sum(data)) + rng.laplace(scale=1.5)


FIRST_LEAKS = Noisy(0.05, 1.5)
LATER_LEAK = Noisy(1.5, 0.05)
