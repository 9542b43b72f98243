"""The likelihood-ratio distinguisher: optimal where the law of the output is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.mechanisms.mechanism import HasLaw
from dpaudit.neighbours import Pair


@dataclass(frozen=True)
class LikelihoodRatio:
    """Scores outputs by ``log p/q`` (Neyman & Pearson 1933)."""

    mechanism: HasLaw[Any]
    pair: Pair[Any]

    def __call__(self, outputs: Array) -> Array:
        """Return the exact privacy loss of each output, shape ``(R,)``."""
        return self.mechanism.privacy_loss(outputs, self.pair)


def fit(
    mechanism: HasLaw[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LikelihoodRatio:
    """Return the score; nothing has to be learned."""
    return LikelihoodRatio(mechanism, pair)
