"""Draws that are aimed at losses beyond an epsilon: where to aim them, and whether they are right.

For mechanisms that know such draws (`dpaudit.mechanisms.mechanism.Aimable`); others are drawn
tilted.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses
from dpaudit.estimation.self_check import CheckOutcome, payoff_check
from dpaudit.mechanisms.mechanism import TailDraws
from dpaudit.neighbours import Side

_FARTHEST = 512.0
_BEFORE = math.log(1.5)  # of delta: where draws are aimed


def draw_aimed_direction(
    drawer: Drawer, side: Side, log_delta: float, pilot: int, trials: int
) -> LossDirection | None:
    """Return certifying trials aimed a little before epsilon; None where none can be aimed.

    The first pilot is aimed where its proved bound is delta, a little beyond the true epsilon. The
    others are aimed where it sees half as much again: no upper end is looked for below that.
    """
    aim = _first_aim(drawer, side, log_delta)
    if aim is None:
        return None
    first = drawer.tilted(side, aim, pilot, "pilot")
    again = drawer.aimed(side, first.estimate(log_delta + _BEFORE)) or aim
    second = drawer.tilted(side, again, pilot, "second pilot")
    return LossDirection(drawer.tilted(side, again, trials, "certifying", certifies=True), second)


def _first_aim(drawer: Drawer, side: Side, log_delta: float) -> TailDraws | None:
    nearest = drawer.aimed(side, 0.0)
    if nearest is None or nearest.log_payoff_bound(0.0) <= log_delta:
        return nearest

    def excess(epsilon: float) -> float:
        draws = drawer.aimed(side, epsilon)
        return -math.inf if draws is None else draws.log_payoff_bound(epsilon) - log_delta

    high = 0.125
    # The bound falls as epsilon grows: double until it is below delta, then search between.
    while excess(high) > 0:
        if high >= _FARTHEST:
            return None
        high *= 2
    low = high / 2 if high > 0.125 else 0.0
    return drawer.aimed(side, float(brentq(excess, low, high, xtol=1e-9, rtol=0.02)))


def mild_draws(drawer: Drawer, side: Side) -> TailDraws | None:
    """Return draws that wrong weights show in, as many of them pay: beyond 0."""
    return drawer.aimed(side, 0.0)


def mild_check(
    drawer: Drawer, side: Side, draws: TailDraws, drawn: TiltedLosses, trials: int
) -> CheckOutcome:
    """Return the check that aimed draws pay on average as much as so many untilted outputs."""
    losses = drawer.losses(side, trials, "checking the payoffs")
    losses = losses if side is Side.DATASET else -losses
    paid = np.exp(drawn.log_payoffs(draws.epsilon))
    plain = np.maximum(-np.expm1(draws.epsilon - losses), 0.0)
    most = math.exp(draws.log_payoff_bound(draws.epsilon))
    return payoff_check(f"{side.value}, epsilon {draws.epsilon:.3g}", plain, paid, most)
