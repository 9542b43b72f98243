"""Counting: log-ratios of outcome frequencies, for few outcomes or for one number.

Nothing is learned but frequencies. Where transcripts take many values in several dimensions there
is nothing to count, and the score is 0 for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit.attack import Attack
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import Pair

Array = NDArray[np.float64]

HISTOGRAM = Attack(
    name="histogram",
    statement="log-ratio of how often an outcome, or a bin of a number, was seen on either dataset",
    threat_model=(
        "can run the mechanism on both datasets and count what comes out; sees one transcript; "
        "wants to know which dataset produced it"
    ),
    needs_law=False,
    fit="attacks.histogram:fit",
    unasked=False,
)

_PER_OUTCOME = 4  # transcripts to every distinct one: else they are not few
_SMOOTHING = 0.5
_BINS = 100
_PER_BIN = 20
_GRAIN = 1e-9


@dataclass(frozen=True)
class Frequencies:
    """Scores outcomes by their smoothed log-ratio; 0 for one that was never seen."""

    outcomes: dict[bytes, float]
    grain: Array

    def __call__(self, transcripts: Array) -> Array:
        """Return log-ratios, shape ``(R,)``."""
        keys = _keys(transcripts, self.grain)
        return np.array([self.outcomes.get(key, 0.0) for key in keys])


@dataclass(frozen=True)
class Binned:
    """Scores a number by the log-ratio of its bin."""

    edges: Array
    ratios: Array

    def __call__(self, transcripts: Array) -> Array:
        """Return log-ratios, shape ``(R,)``."""
        values = np.asarray(transcripts, dtype=np.float64).reshape(-1)
        return np.asarray(self.ratios[np.searchsorted(self.edges, values, side="right")])


@dataclass(frozen=True)
class Indifferent:
    """Scores everything 0: there was nothing to count."""

    def __call__(self, transcripts: Array) -> Array:
        """Return zeros, shape ``(R,)``."""
        return np.zeros(len(transcripts))


def fit(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> Frequencies | Binned | Indifferent:
    """Fit on transcripts of both datasets, shape ``(R, ...)`` each; uses outputs alone.

    Raises
    ------
    InvalidArgument
        A transcript holds NaN or infinity, or there is none.

    Examples
    --------
    >>> score = fit(None, None, np.array([1.0] * 9 + [0.0]), np.zeros(10), None)
    >>> score(np.array([1.0, 0.0, 5.0])).round(2)
    array([ 2.94, -1.95,  0.  ])
    """
    for name, sample in (("on_dataset", on_dataset), ("on_neighbour", on_neighbour)):
        if not len(sample) or not np.isfinite(sample).all():
            raise InvalidArgument(name, Shown("none, NaN or infinity"), "finite transcripts")
    frequencies = _frequencies(on_dataset, on_neighbour)
    if frequencies is not None:
        return frequencies
    return _binned(on_dataset, on_neighbour) if on_dataset[0].size == 1 else Indifferent()


def _frequencies(p: Array, q: Array) -> Frequencies | None:
    grain = _grain(np.concatenate([p, q]))
    keys = [*_keys(p, grain), *_keys(q, grain)]
    seen = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    if len(seen) * _PER_OUTCOME > len(keys):
        return None
    numbers = np.array([seen[key] for key in keys])
    sides = np.split(numbers, [len(p)])
    ratios = _log_ratio(*(np.bincount(side, minlength=len(seen)) for side in sides)).tolist()
    return Frequencies(dict(zip(seen, ratios, strict=True)), grain)


def _binned(p: Array, q: Array) -> Binned:
    """Return bins of equally many transcripts, and ever smaller ones towards both ends."""
    sides = [_rows(side)[:, 0] for side in (p, q)]
    pooled = np.sort(np.concatenate(sides))
    edges = np.unique(pooled[_ranks(len(pooled))])
    bins = [np.searchsorted(edges, side, side="right") for side in sides]
    return Binned(edges, _log_ratio(*(np.bincount(b, minlength=len(edges) + 1) for b in bins)))


def _ranks(size: int) -> NDArray[np.int64]:
    """Return the ranks of the edges."""
    bins = int(np.clip(size // _PER_BIN, 2, _BINS))
    even = np.linspace(0, size, bins + 1)[1:-1]
    tail = np.geomspace(min(_PER_BIN, size / 2), size / 2, 12)
    ranks = np.concatenate([even, tail, size - tail])
    return np.unique(np.clip(ranks.astype(np.int64), 0, size - 1))


def _log_ratio(p: NDArray[Any], q: NDArray[Any]) -> Array:
    """Return the smoothed log-ratio of two frequencies, from counts of the same outcomes."""
    shares = [np.log(side + _SMOOTHING) - np.log(side.sum()) for side in (p, q)]
    return np.asarray(shares[0] - shares[1])


def _grain(transcripts: Array) -> Array:
    """Return steps to round entries to: values equal but for their last bits are one outcome."""
    largest = np.abs(_rows(transcripts)).max(axis=0)
    return np.asarray(_GRAIN * np.maximum(largest, 1e-290))


def _keys(transcripts: Array, grain: Array) -> list[bytes]:
    rounded = np.round(_rows(transcripts) / grain) + 0.0  # no negative zeros
    return [row.tobytes() for row in np.ascontiguousarray(rounded)]


def _rows(transcripts: Array) -> Array:
    values = np.asarray(transcripts, dtype=np.float64)
    return values.reshape(len(values), -1)
