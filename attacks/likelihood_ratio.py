"""The likelihood-ratio distinguisher: optimal where the law of the transcript is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.mechanism import HasLaw
from dpaudit.neighbours import Pair

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LikelihoodRatio:
    """Scores transcripts by ``log p/q`` (Neyman & Pearson 1933)."""

    mechanism: HasLaw[Any]
    pair: Pair[Any]

    def __call__(self, transcripts: Array) -> Array:
        """Return the exact privacy loss of each transcript, shape ``(R,)``."""
        return self.mechanism.privacy_loss(transcripts, self.pair)


def fit(
    mechanism: HasLaw[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LikelihoodRatio:
    """Return the score; nothing has to be learned."""
    return LikelihoodRatio(mechanism, pair)
