"""Margin losses: convex functions of ``margin = b * a'w``, with the slope they never exceed.

For a record ``(a, b)`` with ``||a|| <= 1`` and ``b`` in {-1, +1}, the loss ``w -> l(b a'w)`` has
gradient ``l'(margin) * b a``, so a bound on ``|l'|`` is a Lipschitz constant of the loss: the
``c_1`` of Huang & Gong's Lemma 5, the 1 in zhang2018's Assumption 4. The margin form is that of
zhang2018's eq. (1); the logistic loss is Huang & Gong's eq. (25). The others are in no paper's
equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import UnknownName


@dataclass(frozen=True)
class MarginLoss:
    """A convex loss of the margin.

    Parameters
    ----------
    name
        What specifications and reports call it.
    value, slope
        ``l`` and a selection of its subgradient, entry by entry; any shape.
    slope_range
        ``(low, high)`` with ``low <= l'(margin) <= high`` everywhere: `lipschitz` follows from it.
    curvature
        The Lipschitz constant of ``l'``: infinite where it jumps.
    """

    name: str
    value: Callable[[Array], Array] = field(repr=False)
    slope: Callable[[Array], Array] = field(repr=False)
    slope_range: tuple[float, float]
    curvature: float = math.inf

    @property
    def lipschitz(self) -> float:
        """``c_1``: the Lipschitz constant in w for records of norm at most 1."""
        return max(abs(self.slope_range[0]), abs(self.slope_range[1]))


def _compute_logistic_margin_loss(margin: Array) -> Array:
    return np.logaddexp(0, -margin)


def _logistic_slope(margin: Array) -> Array:
    out = np.empty_like(margin)
    with np.errstate(over="ignore"):  # exp overflows to infinity, where the slope is 0
        np.exp(margin, out=out)
    out += 1.0
    np.divide(-1.0, out, out=out)
    return out


def _compute_hinge_margin_loss(margin: Array) -> Array:
    return np.maximum(0.0, 1 - margin)


def _hinge_slope(margin: Array) -> Array:
    return -(margin < 1).astype(np.float64)


def _compute_smoothed_hinge_loss(margin: Array) -> Array:
    inner = np.clip(1 - margin, 0.0, 1.0)
    smoothed: Array = inner * inner / 2 + np.maximum(-margin, 0.0)
    return smoothed


def _compute_smoothed_hinge_slope(margin: Array) -> Array:
    return -np.clip(1 - margin, 0.0, 1.0)


def _compute_linear_margin_loss(margin: Array) -> Array:
    return -margin


def _linear_slope(margin: Array) -> Array:
    return np.full_like(margin, -1.0)


def _compute_absolute_margin_loss(margin: Array) -> Array:
    return np.abs(1 - margin)


def _absolute_slope(margin: Array) -> Array:
    # At the kink sign gives 0, which is a subgradient.
    return np.sign(margin - 1)


def _compute_squared_margin_loss(margin: Array) -> Array:
    error = 1 - margin
    half: Array = error * error / 2
    return half


def _compute_squared_margin_slope(margin: Array) -> Array:
    return margin - 1


LOGISTIC = MarginLoss("logistic", _compute_logistic_margin_loss, _logistic_slope, (-1.0, 0.0), 0.25)
HINGE = MarginLoss("hinge", _compute_hinge_margin_loss, _hinge_slope, (-1.0, 0.0))
SMOOTHED_HINGE = MarginLoss(
    "smoothed-hinge", _compute_smoothed_hinge_loss, _compute_smoothed_hinge_slope, (-1.0, 0.0), 1.0
)
LINEAR = MarginLoss("linear", _compute_linear_margin_loss, _linear_slope, (-1.0, -1.0), 0.0)
ABSOLUTE = MarginLoss("absolute", _compute_absolute_margin_loss, _absolute_slope, (-1.0, 1.0))
# No bound on its slope, so no sensitivity: only for views, where nothing has to be bounded.
SQUARED = MarginLoss(
    "squared",
    _compute_squared_margin_loss,
    _compute_squared_margin_slope,
    (-math.inf, math.inf),
    1.0,
)
LOSSES: dict[str, MarginLoss] = {
    loss.name: loss for loss in (LOGISTIC, HINGE, SMOOTHED_HINGE, LINEAR, ABSOLUTE)
}


def loss_called(name: str) -> MarginLoss:
    """Return the loss called ``name``.

    Examples
    --------
    >>> loss_called("hinge").lipschitz
    1.0
    """
    if name not in LOSSES:
        raise UnknownName("loss", name, LOSSES)
    return LOSSES[name]
