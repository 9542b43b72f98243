"""Combinations of parts in which two datasets are far apart though in no part alone they are.

A total that noisy parts add up to, noise that cancels in a sum, rounded or not: in one direction
there is no noise, or little, and the datasets differ there: Fisher's discriminant is that one.
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array

_EACH = 5  # outputs of both sides for every entry, so that no direction is without noise by chance
_FARTHER = 3.0  # times what the best entry shows
_BY_CHANCE = 3.0, 30.0  # Hotelling's statistic by chance: at most so much an entry, and so much
_RIDGE = 1e-13  # of the variance of an entry: rounding


def fit_discriminant(on_p: Array, on_q: Array) -> Array:
    """Return the direction in which the means are farthest apart in the spread within the sides.

    Parameters
    ----------
    on_p, on_q
        Outputs, shapes ``(n, d)`` and ``(m, d)``.

    Returns
    -------
    Array
        Shape ``(d,)``; higher is rather the first side. Zeros where no entry varies.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(2, 99, 2)) * [1.0, -1.0]
    >>> noise[:, :, 1] = -noise[:, :, 0]
    >>> direction = fit_discriminant(noise[0] + [0.1, 0.0], noise[1])
    >>> bool(np.isclose(direction[0], direction[1]))
    True
    """
    scales = np.sqrt(_compute_column_variance(on_p) + _compute_column_variance(on_q))
    usable = np.isfinite(scales) & (scales > 0)
    found = np.zeros(on_p.shape[1])
    if not usable.any():
        return found
    sides = [side[:, usable] / scales[usable] for side in (on_p, on_q)]
    within = sum(np.atleast_2d(np.cov(side, rowvar=False)) for side in sides)
    apart = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    values, vectors = np.linalg.eigh(np.asarray(within))
    along = vectors.T @ apart
    # A direction without noise has an eigenvalue of about 0, by rounding even below it. Its weight
    # must be huge, and finite.
    direction = vectors @ (along / np.maximum(values, _RIDGE))
    found[usable] = direction / scales[usable]
    return found


def are_far_apart(on_p: Array, on_q: Array) -> bool:
    """Return whether some combination of entries tells far more than any entry does.

    Examples
    --------
    >>> noise = 100 * np.random.default_rng(0).normal(size=(2, 99, 3))
    >>> are_far_apart(noise[0] + [1.0, 0, 0], noise[1])
    False
    >>> noise -= noise.mean(axis=2, keepdims=True)
    >>> are_far_apart(noise[0] + [1.0, 0, 0], noise[1])
    True
    """
    p, q = (side.reshape(len(side), -1) for side in (on_p, on_q))
    if p.shape[1] < 2 or min(len(p), len(q)) < _EACH * p.shape[1]:
        return False
    if not (np.isfinite(p).all() and np.isfinite(q).all()):
        return False
    direction = fit_discriminant(p, q)
    together = _compute_mean_distance((p @ direction)[:, None], (q @ direction)[:, None])
    alone = _compute_mean_distance(p, q)
    statistic = len(p) * len(q) / (len(p) + len(q)) * float(together.max()) ** 2
    each, once = _BY_CHANCE
    by_chance = each * p.shape[1] + once
    return statistic > by_chance and bool(together.max() >= _FARTHER * alone.max())


def _compute_column_variance(side: Array) -> Array:
    return np.asarray(side.var(axis=0))


def _compute_mean_distance(p: Array, q: Array) -> Array:
    """Return how far means are apart in standard deviations; entries that do not vary are far."""
    apart = np.abs(p.mean(axis=0) - q.mean(axis=0))
    spread = np.sqrt((_compute_column_variance(p) + _compute_column_variance(q)) / 2)
    # A difference that rounding can make is none; else entries that never vary would be infinitely
    # far apart.
    rounding = 1e-12 * np.maximum(np.abs(p).max(axis=0), np.abs(q).max(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart > rounding, apart / spread, 0.0)
