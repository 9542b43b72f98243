"""Regularisers: a ridge and a lasso part, and the proximal map with a ball around it.

``R`` and ``X_m`` of hu2020's eq. (1) and (2): separable as the text below (2) asks for, and the
ball as the convex set. `L2` is also zhang2018's ``R(f) = ||f||^2 / 2`` of section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument


@dataclass(frozen=True, kw_only=True)
class Regulariser:
    """``R(x) = ridge ||x||^2 / 2 + lasso ||x||_1``: separable over any split of the features.

    `L2` and `L1` are the two ends, `elastic_net` is what lies between them.

    Examples
    --------
    >>> elastic_net(0.5).value(np.array([[3.0, -4.0]]))
    array([9.75])
    """

    ridge: float
    lasso: float

    def __post_init__(self) -> None:
        check.non_negative("ridge", self.ridge)
        check.non_negative("lasso", self.lasso)

    def value(self, models: Array) -> Array:
        """Return ``R`` of models shaped ``(..., d)``, shape ``(...)``."""
        squares, sizes = np.sum(models**2, axis=-1), np.sum(np.abs(models), axis=-1)
        return np.asarray(self.ridge / 2 * squares + self.lasso * sizes)

    def gradient(self, models: Array) -> Array:
        # sign(0) = 0 is the subgradient of least norm.
        """Return a subgradient, the one of least norm at 0, of the shape of ``models``."""
        gradient = self.ridge * models
        return gradient + self.lasso * np.sign(models) if self.lasso else gradient


L2 = Regulariser(ridge=1.0, lasso=0.0)
L1 = Regulariser(ridge=0.0, lasso=1.0)


def elastic_net(lasso_share: float) -> Regulariser:
    """Return ``(1 - share) ||x||^2 / 2 + share ||x||_1``, scikit-learn's parametrisation."""
    share = check.require_real("lasso_share", lasso_share, "a number in [0, 1]")
    if not 0 <= share <= 1:
        raise InvalidArgument("lasso_share", lasso_share, "a number in [0, 1]")
    return Regulariser(ridge=1.0 - share, lasso=share)


def apply_soft_threshold(points: Array, threshold: float) -> Array:
    """Return the proximal map of ``threshold ||x||_1``: soft thresholding, entry by entry."""
    return np.asarray(np.sign(points) * np.maximum(np.abs(points) - threshold, 0.0))


def project_on_ball(points: Array, radius: float | None) -> Array:
    """Return the nearest points of the ball ``||x|| <= radius``, rows of shape ``(R, d)``.

    A radius of None is all of space.

    Examples
    --------
    >>> project_on_ball(np.array([[3.0, 4.0], [0.3, 0.4]]), radius=1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    if radius is None:
        return points
    norms = np.linalg.norm(points, axis=-1, keepdims=True)
    # Dividing by the larger of norm and radius leaves points inside as they are.
    return np.asarray(points * (radius / np.maximum(norms, radius)))
