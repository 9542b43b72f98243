"""Checks of the law on the audited pair: what every exact-loss audit starts with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpaudit.audit.draws import Drawer
from dpaudit.estimation.self_check import SelfCheck, consistency_check, uniformity_check

Array = NDArray[np.float64]

# Transcripts whose loss is computed in two ways.
CONSISTENCY = 64
_RESIDUALS = 200_000
_LEAST = 5000


def plain_losses(drawer: Drawer, trials: int) -> tuple[Array, Array]:
    """Return ``log p/q`` of untilted transcripts of the dataset and of the neighbour."""
    one, other = (drawer.losses(side, trials, "checking the law") for side in (False, True))
    return one, other


def residual_trials(drawer: Drawer, trials: int) -> int:
    """Return how many transcripts give enough residuals; few of long ones do."""
    one = drawer.residuals(False, 1, "checking the noise")
    return int(min(max(trials, _LEAST), max(CONSISTENCY, -(-_RESIDUALS // len(one)))))


def side_checks(
    drawer: Drawer, swapped: bool, tilt: float, residuals: int
) -> tuple[SelfCheck, SelfCheck]:
    """Return the checks of the noise and of both ways to sum a loss, on one side of the pair."""
    name = "neighbour" if swapped else "dataset"
    noise = drawer.residuals(swapped, residuals, "checking the noise")
    losses = drawer.both_losses(swapped, tilt, CONSISTENCY, "checking the loss")
    return uniformity_check(name, noise), consistency_check(name, *losses)
