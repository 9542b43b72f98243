"""Bets on a divergence by hand: their numbers in closed form, and which one is planned."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.estimation import divergence
from dpaudit.estimation.divergence import (
    Bins,
    choose_renyi_bet,
    estimate_bet_bound,
    resize_renyi_bet,
    standard_errors,
)

P = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
Q = np.array([0.05, 0.1, 0.15, 0.3, 0.4])
RATIOS = np.log(P / Q)
RATES = P, Q
SIZES = 20_000, 30_000


def truth(order):
    return math.log(float(P @ (P / Q) ** (order - 1))) / (order - 1)


@pytest.mark.parametrize("order", [1.25, 2.0, 8.0])
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("further", [0.0, 3.0])
def test_a_bet_has_the_slope_centre_and_stake_of_its_rates(order, share, further):
    bet = divergence._Cut(RATIOS, RATES, SIZES, order, 0.05, 0.0).bet(further, share)
    gains, costs = (P / Q) ** (order - 1), (P / Q) ** order
    gain = P @ gains
    cost = Q @ costs + further * (1 + math.sqrt(SIZES[1] * (Q @ costs**2))) / SIZES[1]
    slope = order / (order - 1) * cost / gain
    variance = slope**2 * (P @ (gains - gain) ** 2) / SIZES[0]
    variance += Q @ (costs - cost) ** 2 / SIZES[1]
    limit = 0.9 * min(SIZES[1] / max(1 - cost, 1e-300), SIZES[0] / (slope * (gain - gains.min())))
    stake = share * min(math.sqrt(2 * math.log(20) / variance), limit)
    assert (bet.slope, bet.centre) == pytest.approx((slope, cost))
    assert bet.stake == pytest.approx(stake)
    assert (bet.order, bet.trials) == (order, SIZES)
    assert bet.gains == pytest.approx(gains)
    assert bet.costs == pytest.approx(costs)
    up = bet.stake / SIZES[0] * (bet.slope * bet.gains - bet.centre - 0.01)
    down = bet.stake / SIZES[1] * (bet.costs - bet.centre)
    wealth = np.array([9.0, 4, 3, 2, 1]) @ np.log1p(up) + np.array([1.0, 2, 3, 4, 5]) @ np.log1p(
        -down
    )
    counts = np.array([[9.0, 4, 3, 2, 1]]), np.array([[1.0, 2, 3, 4, 5]])
    assert bet.log_wealths(0.01, *counts) == pytest.approx([wealth])


@pytest.mark.parametrize("order", [1.25, 2.0, 8.0])
def test_what_is_planned_is_a_share_of_the_ratios_cut_at_some_height(order):
    bet = choose_renyi_bet(RATIOS, RATES, (10**6, 10**6), order, 0.05)
    cuts = np.unique(np.quantile(RATIOS, np.linspace(0.4, 1.0, 16)))
    shapes = [share * np.minimum(RATIOS, cut) for share in (1, 0.7, 0.5, 0.35) for cut in cuts]
    assert min(np.abs(bet.log_ratios - (one - one.max())).max() for one in shapes) < 1e-12
    assert 0.95 * truth(order) < estimate_bet_bound(bet, RATES, (10**6, 10**6), 0.05) < truth(order)


def test_a_promise_bears_a_cost_of_three_deviations_and_one_output_more():
    bet = choose_renyi_bet(RATIOS, RATES, SIZES, 2.0, 0.05)
    other = SIZES[1] * Q
    dearest = int(np.argmax(bet.log_ratios))
    more = 1 + 3 * math.sqrt(float(other @ bet.costs**2))
    other[dearest] += more
    assert estimate_bet_bound(bet, RATES, SIZES, 0.05) == bet.about(SIZES[0] * P, other, 0.05)
    assert float(Q.sum()) == pytest.approx(1.0)  # the rates are as they were
    assert estimate_bet_bound(bet, RATES, SIZES, 0.01) < estimate_bet_bound(bet, RATES, SIZES, 0.05)


@pytest.mark.parametrize("trials", [100, 40_000])
@pytest.mark.parametrize("part", [1.0, 0.5, 0.1])
def test_standard_errors_are_of_the_excess_over_what_is_claimed(trials, part):
    order = 3.0
    bet = choose_renyi_bet(RATIOS, RATES, SIZES, order, 0.05)
    gain, cost = float(P @ bet.gains), float(Q @ bet.costs)
    slope = order / (order - 1) * cost / gain
    excess = slope * gain - cost
    at_rates = divergence.RenyiBet(order, bet.log_ratios, slope, cost, 1.0, (1, 1))
    claimed = at_rates.divergence(part * excess)
    variance = slope**2 * (P @ (bet.gains - gain) ** 2) + Q @ (bet.costs - cost) ** 2
    due = (1 - part) * excess / math.sqrt(variance / trials)
    assert standard_errors(bet, RATES, trials, claimed) == pytest.approx(due, abs=1e-9)


def test_a_bet_for_other_sizes_bears_a_cost_of_three_deviations():
    bet = choose_renyi_bet(RATIOS, RATES, SIZES, 2.0, 0.05)
    found = resize_renyi_bet(bet, RATES, 500, 0.01)
    due = divergence._Cut(bet.log_ratios, RATES, (500, 500), 2.0, 0.01, 0.0).bet(3.0)
    assert (found.slope, found.centre, found.stake) == (due.slope, due.centre, due.stake)
    assert found.trials == (500, 500)


def test_bins_of_few_values_lie_between_them_and_of_many_are_finer_at_the_ends():
    few = Bins.of(np.array([3.0, 1.0, 3.0]), np.array([7.0]))
    assert few.thresholds.tolist() == [2.0, 5.0]
    numbers = np.arange(10_000.0)
    many = Bins.of(numbers[::2], numbers[1::2], most=8)
    # four edges of a quarter of the places each, and two from either end on
    assert many.thresholds.tolist() == [3.5, 2499.5, 4999.5, 7499.5, 9995.5, 9998.5]
    near = np.nextafter(1.0, 2.0)
    assert Bins.of(np.array([1.0]), np.array([near])).thresholds.tolist() == [near]
    huge = Bins.of(np.array([-np.inf]), np.array([0.0]))
    assert huge.thresholds.tolist() == [0.0]
