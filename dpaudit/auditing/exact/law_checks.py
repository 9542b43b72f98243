"""Checks of the law on the audited pair, with which every exact-loss audit starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.self_check import (
    CheckOutcome,
    consistency_check,
    digits_check,
    uniformity_check,
)
from dpaudit.mechanisms.mechanism import HasLossInDigits, TailDraws
from dpaudit.neighbours import Pair, Side

# Outputs whose loss is computed in two ways.
CONSISTENCY = 64
_RESIDUALS = 200_000
_LEAST = 20_000
# Losses are computed in many digits, which takes seconds.
_SHORT = 10_000  # entries of all outputs of a side
_OUTPUTS = 16  # outputs of a side


def plain_losses(drawer: Drawer, trials: int) -> dict[Side, Array]:
    """Return ``log p/q`` of untilted outputs of the dataset and of the neighbour."""
    return {side: drawer.losses(side, trials, "checking the law") for side in Side}


def residual_trials(drawer: Drawer, trials: int) -> int:
    """Return how many outputs give enough residuals; few of long ones do."""
    one = drawer.residuals(Side.DATASET, 1, "checking the noise")
    if getattr(drawer.mechanism, "is_replayed", False):  # every output runs the code again
        return max(CONSISTENCY, min(trials, -(-_LEAST // one.size)))
    return int(min(max(trials, _LEAST), max(CONSISTENCY, -(-_RESIDUALS // one.size))))


def side_checks(
    drawer: Drawer, side: Side, tilt: float | TailDraws, residuals: int
) -> tuple[CheckOutcome, CheckOutcome]:
    """Return the checks of the noise and of both ways to sum a loss, on one side of the pair."""
    noise = drawer.residuals(side, residuals, "checking the noise")
    losses = drawer.both_losses(side, tilt, CONSISTENCY, "checking the loss")
    return uniformity_check(side.value, noise), consistency_check(side.value, *losses)


def digits_checks(drawer: Drawer) -> tuple[CheckOutcome, ...]:
    """Return the check that other code computes the same loss, where the mechanism has any.

    A term that the law has forgotten, such as a determinant, hardly shows in what is drawn.
    """
    size = drawer.outputs(Side.DATASET, 1, "size of one").size
    if not isinstance(drawer.mechanism, HasLossInDigits) or size > _SHORT:
        return ()
    count = min(_SHORT // size, _OUTPUTS)
    outputs = np.concatenate(
        [drawer.outputs(side, count, "checking the loss in digits") for side in Side]
    )
    try:
        digits = _in_digits(drawer.mechanism, outputs, drawer.pair)
    except InvalidArgument:  # no such code for these parameters
        return ()
    losses = drawer.mechanism.privacy_loss(outputs, drawer.pair)
    return (digits_check(losses, np.array(digits)),)


def _in_digits(mechanism: HasLossInDigits[Any], outputs: Array, pair: Pair[Any]) -> list[float]:
    """Return the losses of outputs: the first alone, and the others side by side where that goes.

    A law that is replayed step by step then goes along the pair twice, and not once an output.
    """
    together = getattr(mechanism, "losses_in_digits", None)
    alone = outputs if together is None else outputs[:1]
    found = [mechanism.loss_in_digits(one, pair) for one in alone]
    rest = [] if together is None else together(outputs[1:], pair)
    return [float(one) for one in (*found, *rest)]
