"""Losses of one sample: functions of the prediction z and the label, with two derivatives.

They are the ``l_i(D^i x, Y_i)`` of hu2020's section 2. The central node sees one prediction per
sample and solves a scalar problem in it, eq. (8), so it needs slope and curvature by z. hu2019 asks
for a Lipschitz slope (its Assumption 1.1) and allows losses that are not convex. Labels are -1 or
+1; the squared loss takes any number. With ``m = b z``:

| name           | l(z; b)                                     | curvature              | convex |
|----------------|---------------------------------------------|------------------------|--------|
| logistic       | log(1 + exp(-m))                            | from 0 to 1/4          | yes    |
| squared        | (z - b)^2 / 2                               | 1                      | yes    |
| smoothed-hinge | 1/2 - m below 0, (1 - m)^2 / 2 to 1, then 0 | 0 or 1                 | yes    |
| sigmoid        | 1 / (1 + exp(m))                            | within +-1/(6 sqrt 3)  | no     |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpaudit._typing import Array
from dpaudit.errors import UnknownName


@dataclass(frozen=True)
class SampleLoss:
    """A differentiable loss of the prediction for one sample.

    Parameters
    ----------
    name
        What specifications and reports call it.
    value
        ``l(z; b)`` entry by entry; predictions of any shape, labels broadcastable to it.
    derivatives
        ``(l', l'')`` by z, entry by entry. The second is one of the curvatures where they jump.
    curvature_range
        ``(low, high)`` with ``low <= l'' <= high``: a negative ``low`` makes the loss non-convex,
        and the larger of the two in absolute value is a Lipschitz constant of the slope.
    curvature_lipschitz
        Lipschitz constant of ``l''`` (a bound on ``|l'''|``); infinite where the curvature jumps.
    signed_labels
        Whether labels have to be -1 or +1.
    """

    name: str
    value: Callable[[Array, Array], Array] = field(repr=False)
    derivatives: Callable[[Array, Array], tuple[Array, Array]] = field(repr=False)
    curvature_range: tuple[float, float]
    curvature_lipschitz: float
    signed_labels: bool = True

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the prediction."""
        return self.curvature_range[0] >= 0

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the slope: hu2019's ``L`` for the sum over samples."""
        return max(abs(self.curvature_range[0]), abs(self.curvature_range[1]))


def _compute_logistic_sample_loss(prediction: Array, labels: Array) -> Array:
    return np.logaddexp(0.0, -labels * prediction)


def _logistic_derivatives(prediction: Array, labels: Array) -> tuple[Array, Array]:
    wrong = _compute_label_sigmoid(prediction, labels)  # the model's probability of the other label
    return -labels * wrong, wrong * (1.0 - wrong)


def _compute_squared_sample_loss(prediction: Array, labels: Array) -> Array:
    error = prediction - labels
    half: Array = error * error / 2
    return half


def _differentiate_squared_loss(prediction: Array, labels: Array) -> tuple[Array, Array]:
    return prediction - labels, np.ones_like(prediction)


def _compute_hinge_sample_loss(prediction: Array, labels: Array) -> Array:
    margin = labels * prediction
    inner = np.clip(1 - margin, 0.0, 1.0)
    smoothed: Array = inner * inner / 2 + np.maximum(-margin, 0.0)
    return smoothed


def _differentiate_smoothed_hinge(prediction: Array, labels: Array) -> tuple[Array, Array]:
    margin = labels * prediction
    # At 0 and 1 the curvature jumps; 0 is one of its two values at either.
    curved = (margin > 0) & (margin < 1)
    return -labels * np.clip(1 - margin, 0.0, 1.0), curved.astype(np.float64)


def _compute_label_sigmoid(prediction: Array, labels: Array) -> Array:
    # The product is a new array, so writing into it changes no argument.
    out = np.asarray(labels * prediction)
    with np.errstate(over="ignore"):  # exp overflows to infinity, where the value is 0
        np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return out


def _sigmoid_derivatives(prediction: Array, labels: Array) -> tuple[Array, Array]:
    value = _compute_label_sigmoid(prediction, labels)
    steepness = value * (1.0 - value)
    return -labels * steepness, steepness * (1.0 - 2.0 * value)


_STEEPEST = 1 / (6 * math.sqrt(3))  # largest |s (1 - s) (1 - 2 s)| over s in [0, 1]

LOGISTIC = SampleLoss(
    "logistic", _compute_logistic_sample_loss, _logistic_derivatives, (0.0, 0.25), _STEEPEST
)
SQUARED = SampleLoss(
    "squared",
    _compute_squared_sample_loss,
    _differentiate_squared_loss,
    (1.0, 1.0),
    0.0,
    signed_labels=False,
)
SMOOTHED_HINGE = SampleLoss(
    "smoothed-hinge",
    _compute_hinge_sample_loss,
    _differentiate_smoothed_hinge,
    (0.0, 1.0),
    math.inf,
)
# |l'''| of the sigmoid is largest at 0, where it is 1/8.
SIGMOID = SampleLoss(
    "sigmoid", _compute_label_sigmoid, _sigmoid_derivatives, (-_STEEPEST, _STEEPEST), 0.125
)
SAMPLE_LOSSES: dict[str, SampleLoss] = {
    loss.name: loss for loss in (LOGISTIC, SQUARED, SMOOTHED_HINGE, SIGMOID)
}


def sample_loss_called(name: str) -> SampleLoss:
    """Return the loss called ``name``.

    Examples
    --------
    >>> sample_loss_called("sigmoid").convex
    False
    """
    if name not in SAMPLE_LOSSES:
        raise UnknownName("loss", name, SAMPLE_LOSSES)
    return SAMPLE_LOSSES[name]
