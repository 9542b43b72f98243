"""A learned distinguisher for black boxes: logistic regression on the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import Pair

Array = NDArray[np.float64]

# With so few entries their squares are features too: a change of spread then shows.
_FEW_ENTRIES = 200
# Up to where the variance of squares is a number.
_LARGE = 1e70


@dataclass(frozen=True)
class LinearScore:
    """A fitted score: standardise, then project."""

    centre: Array
    spread: Array
    coefficients: Array
    squares: bool
    unit: float

    def __call__(self, transcripts: Array) -> Array:
        """Return the projections, shape ``(R,)``; higher means rather from the dataset."""
        entries = _entries(transcripts / self.unit, self.squares)
        score: Array = ((entries - self.centre) / self.spread) @ self.coefficients
        return score


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LinearScore:
    """Fit on transcripts of both datasets, shape ``(R, ...)`` each; uses outputs alone."""
    from sklearn.linear_model import LogisticRegression

    squares = int(np.prod(on_dataset.shape[1:])) <= _FEW_ENTRIES
    transcripts = np.concatenate([on_dataset, on_neighbour])
    unit = max(1.0, float(np.abs(transcripts).max()) / _LARGE)
    entries = _entries(transcripts / unit, squares)
    labels = np.repeat([1, 0], [len(on_dataset), len(on_neighbour)])
    centre, spread = entries.mean(axis=0), entries.std(axis=0)
    spread[spread == 0] = 1.0
    model = LogisticRegression(C=0.1, max_iter=1000)
    model.fit((entries - centre) / spread, labels)
    return LinearScore(centre, spread, np.asarray(model.coef_[0]), squares, unit)


def _entries(transcripts: Array, squares: bool) -> Array:
    flat = transcripts.reshape(len(transcripts), -1)
    return np.hstack([flat, flat * flat]) if squares else flat
