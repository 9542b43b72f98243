"""Margin losses with a second derivative, as an exact minimiser and a change of variables need.

The loss of zhang2018's eq. (1) as its argmins (10) and (25) and the determinants of eq. (60),
Appendix D, use it; its section 5 takes the logistic one.

| name           | l(m)                                     | slope in  | curvature in | l'' jumps |
|----------------|------------------------------------------|-----------|--------------|-----------|
| logistic       | log(1 + exp(-m))                         | (-1, 0)   | (0, 1/4]     | no        |
| smoothed-hinge | 1/2 - m to 0, (1 - m)^2 / 2 to 1, then 0 | [-1, 0]   | {0, 1}       | yes       |
| linear         | -m                                       | {-1}      | {0}          | no        |

Assumption 4 of zhang2018 asks for ``|l'| <= 1`` and ``0 < l'' <= c_1``: of the three the logistic
loss alone meets it. Densities need less: a slope that is non-decreasing and Lipschitz makes the map
from model to noise one-to-one and differentiable almost everywhere, so all three have a law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.problems.losses import LINEAR as LINEAR_MARGIN
from dpaudit.algorithms.problems.losses import LOGISTIC as LOGISTIC_MARGIN
from dpaudit.algorithms.problems.losses import SMOOTHED_HINGE as SMOOTHED_HINGE_MARGIN
from dpaudit.algorithms.problems.losses import SQUARED as SQUARED_MARGIN
from dpaudit.algorithms.problems.losses import MarginLoss
from dpaudit.errors import UnknownName


@dataclass(frozen=True)
class SmoothLoss:
    """A convex loss of the margin whose slope is Lipschitz.

    Parameters
    ----------
    margin
        Value and slope.
    curvature
        ``l''`` entry by entry; where it jumps, one of its values.
    largest_curvature
        ``c_1`` of zhang2018: ``0 <= l'' <= c_1``.
    strictly_convex
        Whether ``l'' > 0`` everywhere.
    """

    margin: MarginLoss
    curvature: Callable[[Array], Array] = field(repr=False)
    largest_curvature: float
    strictly_convex: bool = False

    @property
    def name(self) -> str:
        """Its name in specifications and reports."""
        return self.margin.name

    @property
    def slope_scale(self) -> float:
        """The size of a slope: the Lipschitz constant, or ``|l'(0)|`` where there is none."""
        # Without a bound on slopes, that at 0 says how large they are to begin with.
        if math.isfinite(self.lipschitz):
            return self.lipschitz
        return float(np.abs(self.margin.slope(np.zeros(1)))[0])

    @property
    def lipschitz(self) -> float:
        """Largest absolute slope."""
        return self.margin.lipschitz


def _logistic_curvature(margin: Array) -> Array:
    slope = LOGISTIC_MARGIN.slope(np.abs(margin))  # even in the margin; 1 + slope would cancel at 0
    return -slope * (1.0 + slope)


def _compute_hinge_curvature(margin: Array) -> Array:
    return ((margin > 0) & (margin < 1)).astype(margin.dtype)


LOGISTIC = SmoothLoss(LOGISTIC_MARGIN, _logistic_curvature, 0.25, strictly_convex=True)
SMOOTHED_HINGE = SmoothLoss(SMOOTHED_HINGE_MARGIN, _compute_hinge_curvature, 1.0)
LINEAR = SmoothLoss(LINEAR_MARGIN, np.zeros_like, 0.0)
SQUARED = SmoothLoss(SQUARED_MARGIN, np.ones_like, 1.0, strictly_convex=True)  # see its margin
SMOOTH_LOSSES: dict[str, SmoothLoss] = {
    loss.name: loss for loss in (LOGISTIC, SMOOTHED_HINGE, LINEAR)
}


def smooth_loss_called(name: str) -> SmoothLoss:
    """Return the loss called ``name``.

    Examples
    --------
    >>> smooth_loss_called("logistic").largest_curvature
    0.25
    """
    if name not in SMOOTH_LOSSES:
        raise UnknownName("loss", name, SMOOTH_LOSSES)
    return SMOOTH_LOSSES[name]
