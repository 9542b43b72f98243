"""Instances whose first call has another law than their later ones."""

from __future__ import annotations

import hashlib
import math
import os
from statistics import NormalDist
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


class Keyed:
    """Private by a stream of its own, from a key and a counter; fresh noise is in the same number.

    Of a key that is drawn for each instance the first answers have Laplace noise of both scales.
    """

    def __init__(self, fresh: float = 0.05) -> None:
        self.key, self.drawn, self.fresh = os.urandom(16), 0, fresh

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise of both."""
        self.drawn += 1
        digest = hashlib.sha256(self.key + bytes([self.drawn % 256])).digest()
        u = (int.from_bytes(digest[:6], "big") + 0.5) / 2**48
        own = 1.5 * math.log(2 * u) if u < 0.5 else -1.5 * math.log(2 - 2 * u)
        return float(np.sum(data)) + own + rng.laplace(scale=self.fresh)


class Congruential(Keyed):
    """The same from a state that each call changes."""

    def __init__(self, fresh: float = 0.05) -> None:
        self.state, self.fresh = int.from_bytes(os.urandom(7), "big"), fresh

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with noise of both."""
        self.state = (6364136223846793005 * self.state + 1442695040888963407) % 2**64
        own = NormalDist(0.0, 2.0).inv_cdf((self.state + 0.5) / 2**64)
        return float(np.sum(data)) + own + rng.laplace(scale=self.fresh)


class Adding:
    """Adds all of its noise up, counts its calls, and fades."""

    def __init__(self) -> None:
        self.total, self.calls = 0.0, 0

    def __call__(self, data: Any, rng: np.random.Generator) -> list[float]:
        """Return the sum with noise, the count and what fades."""
        self.total, self.calls = self.total + rng.laplace(), self.calls + 1
        return [float(np.sum(data)) + self.total, self.calls, rng.laplace(2.0**-self.calls, 0.01)]


class EverySecond:
    """Returns a multiple of the sum at every other call, from the first on, or at every fifth."""

    def __init__(self, period: int = 2) -> None:
        self.calls, self.period = -1, period

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return that, or noise."""
        self.calls += 1
        exact = 100.0 * float(np.sum(data)) if self.calls % self.period == 0 else 0.0
        return exact + rng.laplace(scale=0.5)


class Spent:
    """Raises at its second call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        """Return the sum with little noise, once."""
        self.calls += 1
        if self.calls > 1:
            raise RuntimeError("the budget is spent")
        return float(np.sum(data)) + rng.laplace(scale=0.05)
