"""Where generators of programs choose from: a seed, or what Hypothesis draws and shrinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")
_BLOCK = 256  # numbers that are drawn at once: a call for each takes longer than the rest


class Choices(ABC):
    """A stream of choices."""

    @abstractmethod
    def below(self, end: int) -> int:
        """Return a number from 0 to before the end."""

    def between(self, low: int, high: int) -> int:
        """Return a number from low to high."""
        return low + self.below(high - low + 1)

    def one_of(self, among: Sequence[T]) -> T:
        """Return one of a sequence."""
        return among[self.below(len(among))]

    def happens(self, percent: int) -> bool:
        """Return True in so many of a hundred cases; 0, the simplest choice, says no."""
        return self.below(100) >= 100 - percent


class Stream(Choices):
    """The choices of a seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._numbers: Iterator[int] = iter(())

    def below(self, end: int) -> int:
        """Return a number from 0 to before the end."""
        for number in self._numbers:
            return number % end
        self._numbers = iter(self._generator.integers(0, 2**40, _BLOCK).tolist())
        return next(self._numbers) % end


class Drawn(Choices):
    """The choices of Hypothesis."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def below(self, end: int) -> int:
        """Return a number from 0 to before the end."""
        return int(self._draw(st.integers(0, end - 1)))
