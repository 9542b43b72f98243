"""A learned distinguisher for black boxes: logistic regression on the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair

# With so few entries their squares are features too: a change of spread then shows.
_FEW_ENTRIES = 200
# Up to where the variance of squares is a number.
_LARGE = 1e70
# Interquartile ranges beyond the quartiles that an entry counts: a rare huge one hides all others.
_BEYOND = 100.0


@dataclass(frozen=True)
class LinearScore:
    """A fitted score: standardise columns that are not far out, then project."""

    low: Array
    high: Array
    centre: Array
    spread: Array
    coefficients: Array
    squares: bool
    unit: float

    def __call__(self, outputs: Array) -> Array:
        """Return the projections, shape ``(R,)``; higher means rather from the dataset."""
        flat = _flatten_scaled_outputs(outputs, self.unit)
        entries = _build_entry_features(np.clip(flat, self.low, self.high), self.squares)
        # The same unit and limits as in the fit: a fresh output may be far larger than any that was
        # fitted on.
        score: Array = ((entries - self.centre) / self.spread) @ self.coefficients
        return score


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> LinearScore:
    """Fit on outputs of both datasets, shape ``(R, ...)`` each; uses outputs alone.

    Raises
    ------
    InvalidArgument
        An output holds NaN or infinity, or there is none.
    """
    from sklearn.linear_model import LogisticRegression

    for name, sample in (("on_dataset", on_dataset), ("on_neighbour", on_neighbour)):
        if not len(sample) or not np.isfinite(sample).all():
            raise InvalidArgument(name, VerbatimText("none, NaN or infinity"), "finite outputs")
    squares = int(np.prod(on_dataset.shape[1:])) <= _FEW_ENTRIES
    outputs = np.concatenate([on_dataset, on_neighbour])
    unit = max(1.0, float(np.abs(outputs).max()) / _LARGE)
    flat = _flatten_scaled_outputs(outputs, unit)
    low, high = _estimate_entry_range(flat)
    entries = _build_entry_features(np.clip(flat, low, high), squares)
    labels = np.repeat([1, 0], [len(on_dataset), len(on_neighbour)])
    centre, spread = entries.mean(axis=0), entries.std(axis=0)
    # A constant entry says nothing, and must not divide by 0.
    spread[spread == 0] = 1.0
    model = LogisticRegression(C=0.1, max_iter=1000)
    model.fit((entries - centre) / spread, labels)
    return LinearScore(low, high, centre, spread, np.asarray(model.coef_[0]), squares, unit)


def _flatten_scaled_outputs(outputs: Array, unit: float) -> Array:
    return outputs.reshape(len(outputs), -1) / unit


def _estimate_entry_range(flat: Array) -> tuple[Array, Array]:
    """Return from where to where each entry counts."""
    quarter, most = np.quantile(flat, [0.25, 0.75], axis=0)
    # Where half of the outputs share a value, the quartiles say nothing about the reach.
    reach = np.where(most > quarter, _BEYOND * (most - quarter), _LARGE)
    return np.maximum(quarter - reach, -_LARGE), np.minimum(most + reach, _LARGE)


def _build_entry_features(flat: Array, squares: bool) -> Array:
    return np.hstack([flat, flat * flat]) if squares else flat
