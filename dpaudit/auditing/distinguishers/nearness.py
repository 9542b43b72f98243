"""Nearness of outputs to the two datasets, as scores: for claims about a unit of distance.

A mechanism that perturbs a point returns one near it. By how much nearer an output is to one
dataset than to the other is the loss itself of noise whose density falls with that distance, such
as Laplace noise, of each number or in the plane; and how near it is to one alone shows noise that
is too often small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.neighbours import Side


@dataclass(frozen=True)
class Nearness:
    """Scores outputs by how near they are to datasets, in a norm of some order.

    Parameters
    ----------
    to, away
        A dataset, to which a high score is near, and one from which it is far; None counts not.
    order
        Of the norm.

    Examples
    --------
    >>> Nearness(np.array([0.0, 0.0]), np.array([3.0, 4.0]), 2)(np.array([[0.0, 0.0]])).tolist()
    [5.0]
    """

    to: Array | None
    away: Array | None
    order: int

    def __call__(self, outputs: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        # A score of NaN belongs to no side of a threshold.
        flat = np.nan_to_num(outputs.reshape(len(outputs), -1))
        found = np.zeros(len(flat))
        for point, sign in ((self.to, -1.0), (self.away, 1.0)):
            if point is not None and flat.shape[1] == point.size:
                with np.errstate(over="ignore", invalid="ignore"):  # far is far enough
                    found += sign * np.linalg.norm(flat - point, ord=self.order, axis=1)
        return np.nan_to_num(found)


def are_points(pair: Any) -> bool:
    """Return whether two datasets are numbers in the same shape.

    Examples
    --------
    >>> from dpaudit.neighbours import Pair, metric
    >>> are_points(Pair(1, 2, metric("absolute"))), are_points(Pair("ab", "ac", metric("hamming")))
    (True, False)
    """
    one, other = _convert_pair_to_points(pair)
    return one is not None and other is not None and one.shape == other.shape


def _convert_pair_to_points(pair: Any) -> tuple[Array | None, Array | None]:
    """Return two datasets as points; None where they are no numbers."""
    try:
        one, other = (np.asarray(pair.on(side), dtype=np.float64).ravel() for side in Side)
    except (TypeError, ValueError):
        return None, None
    return one, other


def nearer_in_sum(mechanism: Any, pair: Any, on_p: Array, on_q: Array, rng: Generator) -> Nearness:
    """Return how much nearer outputs are to the dataset, in the sum of absolute differences."""
    return Nearness(*_convert_pair_to_points(pair), 1)


def make_euclidean_nearness(
    mechanism: Any, pair: Any, on_p: Array, on_q: Array, rng: Generator
) -> Nearness:
    """Return how much nearer outputs are to the dataset, in Euclidean distance."""
    return Nearness(*_convert_pair_to_points(pair), 2)


def near_dataset(mechanism: Any, pair: Any, on_p: Array, on_q: Array, rng: Generator) -> Nearness:
    """Return how near outputs are to the dataset."""
    return Nearness(_convert_pair_to_points(pair)[0], None, 2)


def near_neighbour(mechanism: Any, pair: Any, on_p: Array, on_q: Array, rng: Generator) -> Nearness:
    """Return how far outputs are from the neighbour."""
    return Nearness(None, _convert_pair_to_points(pair)[1], 2)


def _make_nearness_card(name: str, statement: str, fit: Any) -> Distinguisher:
    return Distinguisher(
        name=name,
        statement=statement,
        threat_model="knows both datasets, and sees an output of their shape",
        needs_law=False,
        fit=f"{fit.__module__}:{fit.__name__}",
    )


NEARNESS = (
    _make_nearness_card(
        "nearer in sum",
        "by how much nearer an output is to one, in absolute differences",
        nearer_in_sum,
    ),
    _make_nearness_card(
        "nearer",
        "by how much nearer an output is to one, in Euclidean distance",
        make_euclidean_nearness,
    ),
    _make_nearness_card("near the dataset", "how near an output is to the dataset", near_dataset),
    _make_nearness_card(
        "near the neighbour", "how near an output is to the neighbour", near_neighbour
    ),
)
