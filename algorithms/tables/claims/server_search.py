"""Search for neighbouring tables that one noiseless prediction separates.

Notation as in `dpaudit.algorithms.tables.claims.server`: T and T' are (n, d), theta is (d,), h is
(n,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.noise import ASSUMPTIONS, NAME, SOURCE, noise_conditions
from dpaudit.algorithms.tables.claims.parameters import FeatureParameters
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Condition, Inequality, Space, maximise
from dpaudit.refutation.search import Batch

_INSIDE = 1 - 1e-12  # keeps norms within their limit whatever rounding does
LEAST_DISTANCE = 1e-6  # share of h outside col(T') that rounding cannot explain


@dataclass(frozen=True, eq=False)
class Predicted:
    """A table, its neighbour and a model; shapes in the module docstring."""

    table: Array
    neighbour: Array
    model: Array


def outside(vectors: Array, spanning: Array) -> Array:
    """Return which share of each vector lies outside a column space: a sine.

    Parameters
    ----------
    vectors, spanning
        Shapes ``(B, n)`` and ``(B, n, d)``.

    Examples
    --------
    >>> outside(np.array([[3.0, 4.0]]), np.array([[[1.0], [0.0]]]))
    array([0.8])
    """
    left, values, _ = np.linalg.svd(spanning, full_matrices=False)
    kept = values > 1e-12 * np.maximum(values[:, :1], 1e-300)
    basis = left * kept[:, None, :]
    inside = np.einsum("bnk,bk->bn", basis, np.einsum("bnk,bn->bk", basis, vectors))
    length = np.linalg.norm(vectors, axis=1)
    return np.asarray(
        np.linalg.norm(vectors - inside, axis=1) / np.where(length > 0, length, np.inf)
    )


def inequality(settings: Settings, parameters: FeatureParameters) -> Inequality[Predicted]:
    """Return what a finite epsilon needs: predictions inside the neighbour's column space."""
    return Inequality(
        name=NAME,
        source=SOURCE,
        sides=lambda one: (
            float(outside((one.table @ one.model)[None], one.neighbour[None])[0]),
            LEAST_DISTANCE,
        ),
        conditions=partial(conditions, settings, parameters),
        scale=lambda one: 1.0,
    )


def conditions(
    settings: Settings, parameters: FeatureParameters, one: Predicted
) -> tuple[Condition, ...]:
    """Return the theorem's assumptions as numbers of an instance."""
    norms = [float(np.linalg.norm(t, axis=1).max()) for t in (one.table, one.neighbour)]
    differing = float((one.table != one.neighbour).any(axis=1).sum())
    return (
        Condition(name=ASSUMPTIONS[0], value=norms[0], limit=parameters.tuple_norm),
        Condition(name=ASSUMPTIONS[1], value=norms[1], limit=parameters.tuple_norm),
        Condition(name=ASSUMPTIONS[2], value=differing, limit=1.0),
        *noise_conditions(settings, parameters),
    )


def searched(parameters: FeatureParameters, budget: int, rng: Generator) -> Predicted:
    """Return the best of ``budget`` evaluated pairs."""
    found = maximise(space(parameters), budget, rng).instance
    neighbour = found["table"].copy()
    neighbour[0] = found["other"]
    return Predicted(found["table"], neighbour, found["model"])


def space(parameters: FeatureParameters) -> Space:
    """Return tables, replacements of their first tuple, and models; the ratio is a sine.

    Examples
    --------
    >>> small = space(FeatureParameters(tuples=3, features=1))
    >>> 0.5 < maximise(small, 500, np.random.default_rng(0)).ratio <= 1
    True
    """
    n, d = parameters.tuples, parameters.features
    shapes = {"table": (n, d), "other": (d,), "model": (d,)}

    def start(count: int, rng: Generator) -> Batch:
        return {name: rng.standard_normal((count, *shape)) for name, shape in shapes.items()}

    def move(batch: Batch, step: Array, rng: Generator) -> Batch:
        moved = {}
        for name, old in batch.items():
            size = step.reshape(-1, *[1] * (old.ndim - 1))
            touched = rng.random(old.shape) < 0.5
            moved[name] = old + size * touched * rng.standard_normal(old.shape)
        return moved

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        limit = parameters.tuple_norm * _INSIDE
        inside = {
            "table": _shorter(batch["table"], limit),
            "other": _shorter(batch["other"], limit),
            "model": batch["model"],
        }
        neighbour = inside["table"].copy()
        neighbour[:, 0] = inside["other"]
        seen = np.einsum("bnd,bd->bn", inside["table"], inside["model"])
        return inside, outside(seen, neighbour)

    return Space(start=start, move=move, evaluate=evaluate)


def _shorter(rows: Array, limit: float) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * (limit / np.maximum(lengths, limit)))
