"""Linear systems behind `attacks.prediction_inversion`: tuples from predictions.

Notation as there: n tuples of d entries, T rounds, d_c predictions of a tuple in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, Shown

Array = NDArray[np.float64]

# Singular values below this share of the largest are rounding.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Inversion:
    """Recovered tuples and how well the linear system determined them.

    Parameters
    ----------
    tuples
        The estimate, shape ``(n, d)``; of smallest norm where the system leaves a choice.
    rank, condition
        Of the system: all tuples are determined if the rank is d. The condition number is that of
        the singular values which count as rank.
    """

    tuples: Array
    rank: int
    condition: float


def invert(predictions: ArrayLike, models: ArrayLike) -> Inversion:
    """Solve ``theta_t' x = h_t`` over all rounds for every tuple x at once.

    Parameters
    ----------
    predictions, models
        Shapes ``(T, n, d_c)`` and ``(T, d, d_c)``.

    Raises
    ------
    InvalidArgument
        The shapes do not fit together, or a number is not finite.

    Examples
    --------
    >>> tuples, models = np.array([[1.0, 2.0]]), np.array([[[1.0], [0.0]], [[1.0], [1.0]]])
    >>> found = invert(tuples @ models, models)
    >>> found.tuples.round(12), found.rank
    (array([[1., 2.]]), 2)
    """
    seen = check.finite_array("predictions", predictions, ndim=3)
    known = check.finite_array("models", models, ndim=3)
    if (len(seen), seen.shape[2]) != (len(known), known.shape[2]) or not known.size:
        given = Shown(f"shapes {seen.shape} and {known.shape}")
        raise InvalidArgument("models", given, "(T, d, d_c) to predictions of (T, n, d_c)")
    return _solved(_side_by_side(known).T, _side_by_side(seen).T)


def column_space(predictions: ArrayLike) -> Array:
    """Return an orthonormal basis of the column space of H, shape ``(n, rank)``.

    Examples
    --------
    >>> basis = column_space([[[3.0], [4.0]], [[6.0], [8.0]]])
    >>> np.abs(basis).round(12).tolist()
    [[0.6], [0.8]]
    """
    seen = _side_by_side(check.finite_array("predictions", predictions, ndim=3))
    left, values, _ = np.linalg.svd(seen, full_matrices=False)
    return np.asarray(left[:, counting(values)])


def complete(predictions: ArrayLike, rows: ArrayLike, known: ArrayLike) -> Inversion:
    """Return all tuples from the predictions and a few known tuples, without any model.

    Parameters
    ----------
    predictions
        Shape ``(T, n, d_c)``.
    rows, known
        Which tuples are known, shape ``(k,)``, and their features, ``(k, d)``. They determine all
        others if ``rank`` is that of `column_space`.

    Raises
    ------
    InvalidArgument
        A row is none of the n, or is not accompanied by a tuple.

    Examples
    --------
    >>> tuples = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> seen = tuples @ np.array([[[0.3], [0.5]], [[0.7], [-0.2]]])
    >>> complete(seen, [0, 1], tuples[:2]).tuples.round(12)[2].tolist()
    [2.0, 3.0]
    """
    basis = column_space(predictions)
    given = check.finite_array("known", known, ndim=2)
    which = np.asarray(rows)
    expected = f"{len(given)} tuple numbers from 0 to {len(basis) - 1}"
    if which.shape != (len(given),) or not np.issubdtype(which.dtype, np.integer):
        raise InvalidArgument("rows", rows, expected)
    if len(given) == 0 or which.min() < 0 or which.max() >= len(basis):
        raise InvalidArgument("rows", rows, expected)
    found = _solved(basis[which], given)
    return Inversion(tuples=basis @ found.tuples.T, rank=found.rank, condition=found.condition)


def principal_angle(basis: Array, tuples: Array) -> float:
    """Return the largest principal angle between two column spaces, in radians.

    Computed from the sine, which is exact to rounding where the angle is small. Where the ranks
    differ, the smaller space is compared with its projection.

    Examples
    --------
    >>> round(principal_angle(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])), 6)
    0.785398
    """
    left, values, _ = np.linalg.svd(tuples, full_matrices=False)
    other = left[:, counting(values)]
    small, large = (basis, other) if basis.shape[1] <= other.shape[1] else (other, basis)
    if small.shape[1] == 0:
        return math.pi / 2
    sine = float(np.linalg.norm(small - large @ (large.T @ small), 2))
    return math.asin(min(1.0, sine))


def relative_error(estimate: Array, tuples: Array) -> float:
    """Return ``||estimate - tuples|| / ||tuples||``, Frobenius."""
    return float(np.linalg.norm(estimate - tuples) / np.linalg.norm(tuples))


def _solved(matrix: Array, right: Array) -> Inversion:
    """Return the least-squares solutions X of ``matrix X = right``, one a row of ``tuples``."""
    left, values, across = np.linalg.svd(matrix, full_matrices=False)
    kept = counting(values)
    if not kept.any():
        empty = np.zeros((right.shape[1], matrix.shape[1]))
        return Inversion(tuples=empty, rank=0, condition=math.inf)
    weights = (left[:, kept].T @ right) / values[kept, None]
    condition = float(values[kept][0] / values[kept][-1])
    return Inversion(tuples=(across[kept].T @ weights).T, rank=int(kept.sum()), condition=condition)


def counting(values: Array) -> NDArray[np.bool_]:
    """Return which singular values, largest first, are no rounding."""
    return np.asarray(values > RANK_TOLERANCE * (values[0] if values[0] > 0 else math.inf))


def _side_by_side(rounds: Array) -> Array:
    """Return ``(n, T d_c)`` of ``(T, n, d_c)``."""
    return np.asarray(np.moveaxis(rounds, 0, 1).reshape(rounds.shape[1], -1))
