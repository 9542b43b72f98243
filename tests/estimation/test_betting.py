"""Betting: no more false alarms than allowed whatever the law, and power near the best."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation.betting import (
    Stakes,
    falling_limit,
    find_margin_crossing,
    last_true,
    log_wealth_falling,
    log_wealth_rising,
)

REPETITIONS, OBSERVATIONS, ALPHA = 10_000, 100, 0.05
# One in a million runs of a valid test has more alarms than this.
ALLOWED = binom.isf(1e-6, REPETITIONS, ALPHA)


def lognormal(rng, shape):
    return rng.lognormal(-2.0, 2.0, shape)


def pareto(rng, shape):
    """Infinite variance: tail index 1.5, mean 1."""
    return (1 / 3) * rng.random(shape) ** (-1 / 1.5)


def rare(rng, shape):
    return 50.0 * (rng.random(shape) < 0.02)


def exponential(rng, shape):
    return rng.exponential(1.0, shape)


def constant(rng, shape):
    return np.ones(shape)


def beta(rng, shape):
    return 5 * rng.beta(0.5, 2.0, shape)


LAWS = (lognormal, pareto, rare, exponential, constant)
BOUNDED = ((beta, 5.0), (rare, 50.0), (constant, 1.0))


def logs(values, log_scale=0.0):
    with np.errstate(divide="ignore"):
        return np.log(values) + log_scale


@pytest.mark.sampled(1)
@pytest.mark.parametrize("log_scale", [0.0, -690.0])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_true_mean_is_rarely_exceeded(law, log_scale):
    """Type I error of the rising test at the exact mean; the scale may be near 1e-300."""
    rng = np.random.default_rng(11)
    for variance in (0.1, 10.0):  # a pilot's guess, good or bad
        stakes = Stakes.planned(variance, OBSERVATIONS, ALPHA, math.inf).rise
        samples = logs(law(rng, (REPETITIONS // 2, OBSERVATIONS)), log_scale)
        wealths = [log_wealth_rising(sample, log_scale, stakes) for sample in samples]
        alarms = sum(w >= -math.log(ALPHA) for w in wealths)
        assert alarms <= binom.isf(1e-6, len(samples), ALPHA)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("law", "bound"), BOUNDED, ids=lambda x: getattr(x, "__name__", ""))
def test_a_true_mean_is_rarely_fallen_short_of(law, bound):
    rng = np.random.default_rng(12)
    stakes = Stakes.planned(1.0, OBSERVATIONS, ALPHA, math.log(bound)).fall
    samples = logs(law(rng, (REPETITIONS, OBSERVATIONS)))
    wealths = [log_wealth_falling(sample, 0.0, stakes) for sample in samples]
    assert np.isfinite(wealths).all()
    assert sum(w >= -math.log(ALPHA) for w in wealths) <= ALLOWED


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [lognormal, rare, exponential], ids=lambda law: law.__name__)
def test_wealth_is_an_e_value(law):
    """Its mean is 1 at the true mean, exactly; few observations keep the average readable."""
    rng = np.random.default_rng(13)
    samples = logs(law(rng, (8000, 3)))
    for stakes in ((0.05,), (0.01, 0.1, 0.2)):
        wealth = np.exp([log_wealth_rising(sample, 0.0, stakes) for sample in samples])
        assert wealth.mean() == pytest.approx(1.0, abs=5 * wealth.std() / math.sqrt(len(wealth)))


# Negative controls: the bound above is not idle


def two_point(rng, top, repetitions):
    """One observation each where Markov's inequality is sharp: ``top`` or nothing, mean 1."""
    return logs(top * (rng.random((repetitions, 1)) < 1 / top))


@pytest.mark.parametrize(("share", "caught"), [(1.0, False), (0.5, True)])
def test_a_halved_threshold_is_caught(share, caught):
    """On most laws half of log(1/alpha) would go unnoticed: the normal limit leaves that room."""
    rng, threshold = np.random.default_rng(14), -share * math.log(ALPHA)
    samples = two_point(rng, math.exp(threshold + 1e-6), REPETITIONS)
    wealths = [log_wealth_rising(sample, 0.0, (1.0,)) for sample in samples]
    assert bool(sum(w >= threshold for w in wealths) > ALLOWED) == caught


def test_choosing_the_stake_and_the_end_afterwards_is_caught():
    """One stake may be watched as long as one likes; the best of many after the fact may not."""
    rng, repetitions = np.random.default_rng(15), 2000
    ratio = exponential(rng, (repetitions, 1000))
    highest = [
        np.cumsum(np.log1p(b * (ratio - 1)), axis=1).max(axis=1) for b in np.geomspace(0.01, 1, 15)
    ]
    allowed = binom.isf(1e-6, repetitions, ALPHA)
    assert all((wealth >= -math.log(ALPHA)).sum() <= allowed for wealth in highest)
    assert (np.max(highest, axis=0) >= -math.log(ALPHA)).sum() > allowed


def test_a_stake_beyond_the_limit_is_caught():
    """Betting on a fall as if the bound were a tenth of what it is."""
    assert max(Stakes.planned(1e-9, 10, 1e-9, math.log(50.0)).fall) <= falling_limit(math.log(50.0))
    reckless = (falling_limit(math.log(5.0)),)
    with pytest.warns(RuntimeWarning, match="log1p"):
        wealth = log_wealth_falling(logs(np.array([50.0])), 0.0, reckless)
    assert math.isnan(wealth)
    assert not wealth >= 0  # and what is no number rejects nothing


# Power


@pytest.mark.parametrize("law", [lognormal, exponential], ids=lambda law: law.__name__)
def test_the_rising_test_is_close(law):
    """A mean 4 standard errors lower is refuted nearly always."""
    rng, n = np.random.default_rng(16), 2000
    spread = law(rng, 1_000_000).var()
    log_mean = math.log(1 - 4 * math.sqrt(spread / n)) if 16 * spread < n else math.log(0.5)
    stakes = Stakes.planned(spread, n, ALPHA, math.inf).rise
    wealths = [log_wealth_rising(logs(law(rng, n)), log_mean, stakes) for _ in range(200)]
    assert np.mean(np.array(wealths) >= -math.log(ALPHA)) > 0.8


def test_the_falling_test_is_close():
    rng, n = np.random.default_rng(17), 2000
    log_mean = math.log(1 + 4 * beta(rng, 1_000_000).std() / math.sqrt(n))
    stakes = Stakes.planned(1.3, n, ALPHA, math.log(5.0)).fall
    wealths = [log_wealth_falling(logs(beta(rng, n)), log_mean, stakes) for _ in range(200)]
    assert np.mean(np.array(wealths) > -math.log(ALPHA)) > 0.7


# Corners


@pytest.mark.parametrize("n", [1, 10, 10_000])
def test_nothing_but_zeros_never_shows_a_mean_above_any(n):
    zeros = np.full(n, -np.inf)
    stakes = Stakes.planned(10.0, n, 1e-12, 3.0)
    for log_mean in (-700.0, -10.0, 0.0):
        assert log_wealth_rising(zeros, log_mean, (*stakes.rise, 1.0)) < 0
        assert log_wealth_falling(zeros, log_mean, stakes.fall) > 0


def test_one_enormous_value_wins_at_any_stake_and_overflows_nowhere():
    for log_value in (50.0, 700.0, 1e6):
        assert log_wealth_rising(np.array([log_value]), 0.0, (0.5,)) > 40


def test_wealth_is_monotone_in_the_mean():
    """What the search for the bound relies on."""
    rng = np.random.default_rng(18)
    values, means = logs(beta(rng, 200)), np.linspace(-0.5, 3, 200)
    rising = [log_wealth_rising(values, m, (0.3, 0.9, 1.0)) for m in means]
    falling = [log_wealth_falling(values, m, (0.05, 0.1)) for m in means]
    assert (np.diff(rising) < 0).all()
    assert (np.diff(falling) > 0).all()


@pytest.mark.parametrize("log_ceiling", [-5.0, 0.0, 1e-12, 1.0, 5.0, 600.0, 1e5, math.inf])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-12, 1e-300])
@pytest.mark.parametrize("variance", [0.0, 1.0, 1e300])
@pytest.mark.parametrize("n", [1, 10**6])
def test_planned_stakes_stay_in_their_domain(log_ceiling, alpha, variance, n):
    stakes = Stakes.planned(variance, n, alpha, log_ceiling)
    assert all(0 <= b <= 1 for b in (*stakes.rise, *stakes.fall))
    if log_ceiling < 700:  # the worst observation leaves something
        assert all(1 + b * -math.expm1(log_ceiling) > 0 for b in stakes.fall)
    assert (stakes.floor == math.inf) == (log_ceiling == math.inf)


def test_a_ceiling_too_high_to_compute_with_rejects_nothing():
    stakes = Stakes.planned(1.0, 10**6, 0.05, 1e5)
    assert log_wealth_falling(np.full(1000, -np.inf), 0.0, stakes.fall) < 1e-9


@pytest.mark.parametrize(("low", "high"), [(0.0, 5.0), (5.0, 0.0), (-1.0, 1e300), (0.0, math.pi)])
def test_last_true_ends_on_the_side_that_holds(low, high):
    def holds(x):
        return x <= math.pi if low < high else x >= math.pi

    found = last_true(holds, low, high, steps=1100)
    assert holds(found)
    assert found == pytest.approx(math.pi, rel=1e-15)


def test_last_true_returns_the_start_when_nothing_further_holds():
    assert last_true(lambda x: x == 0, 0.0, 1.0) == 0


@pytest.mark.parametrize(("low", "high"), [(0.0, 10.0), (10.0, 0.0), (1e-300, 1e300), (-700, 0.5)])
@pytest.mark.parametrize("edge", [0.0, 1e-9, 0.25, 0.9, 1.0])
def test_a_crossing_ends_on_the_side_that_holds(low, high, edge):
    at = low + edge * (high - low)

    def margin(x):
        return math.copysign(math.sqrt(abs(x - at)), (x - at) * (low - high)) if x != at else 0.0

    found = find_margin_crossing(margin, low, high)
    assert margin(found) >= 0
    assert abs(found - at) <= 1e-14 * abs(high - low)


def test_a_crossing_of_a_jump_to_nothing_or_nan():
    for beyond in (-math.inf, math.nan):
        found = find_margin_crossing(lambda x, y=beyond: 5.0 if x <= math.pi else y, 0.0, 4.0)
        assert found <= math.pi
        assert found == pytest.approx(math.pi, abs=1e-12)
    assert find_margin_crossing(lambda x: math.inf, 0.0, 1.0) == 1.0
    assert find_margin_crossing(lambda x: -x, 0.0, 1.0) == 0.0


@pytest.mark.parametrize("power", [3, 9])
@pytest.mark.parametrize("at", [0.1, 1 / 3, 0.77])
def test_a_crossing_that_is_flat_at_its_root_is_found(at, power):
    found = find_margin_crossing(lambda x: (at - x) ** power, 0.0, 1.0)
    assert found <= at
    assert found == pytest.approx(at, abs=1e-9)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-310), (1e-310, 0.0), (-1e308, 1e308)])
def test_a_crossing_of_a_tiny_or_a_gigantic_range(low, high):
    at = low / 3 + high * (2 / 3)
    found = find_margin_crossing(
        lambda x: 1.0 if (x - at) * (high > low or -1) <= 0 else -1.0, low, high
    )
    assert found == pytest.approx(at, rel=1e-12, abs=5e-324)


def test_a_crossing_from_where_the_margin_is_below_ends_there():
    assert find_margin_crossing(lambda x: -1.0, 0.25, 1.0) == 0.25


def test_a_crossing_takes_few_steps():
    asked = []
    found = find_margin_crossing(lambda x: asked.append(x) or 2 - x * x, 0.0, 100.0)
    assert found == pytest.approx(math.sqrt(2), rel=1e-15)
    assert len(asked) < 25
