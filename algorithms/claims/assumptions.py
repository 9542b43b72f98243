"""Assumptions that many claims share, checked on an instance."""

from __future__ import annotations

import numpy as np

from algorithms.losses import MarginLoss
from dpaudit.case import AssumptionOutcome


def loss_outcomes(loss: MarginLoss) -> tuple[AssumptionOutcome, AssumptionOutcome]:
    """Return whether the loss is convex and Lipschitz, seen on a grid of margins.

    Examples
    --------
    >>> from algorithms.losses import HINGE
    >>> [outcome.holds for outcome in loss_outcomes(HINGE)]
    [True, True]
    """
    margins = np.linspace(-50.0, 50.0, 200_001)
    slopes = loss.slope(margins)
    steepest = float(np.abs(slopes).max())
    grid = f"slope of the {loss.name} loss on {len(margins)} margins from -50 to 50"
    return (
        AssumptionOutcome(
            name="convex loss",
            holds=bool(np.all(np.diff(slopes) >= -1e-15)),
            evidence=f"{grid} never falls",
        ),
        AssumptionOutcome(
            name="Lipschitz loss",
            holds=steepest <= loss.lipschitz,
            evidence=f"{grid} is at most {steepest:.6g}; c_1 = {loss.lipschitz:g}",
        ),
    )
