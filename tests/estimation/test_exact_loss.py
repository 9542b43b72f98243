"""Exact-loss bounds: the pieces against closed forms, closeness, and every corner."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.betting import Stakes, log_wealth_falling, log_wealth_rising
from dpaudit.estimation.exact_loss import (
    LossDirection,
    TiltedLosses,
    best_tilt,
    combine_log_wealths,
    delta_lower,
    delta_upper,
    epsilon_floor,
    lower_end,
    upper_end,
)
from dpaudit.guarantees import gaussian

LOG_DELTA = math.log(1e-5)


def trials(loss, log_mgf=0.0, tilt=1.0, bound=0.0):
    loss = np.asarray(loss, dtype=float)
    return TiltedLosses(loss, np.full(len(loss), log_mgf), tilt, bound)


def alone(*args, **kwargs):
    one = trials(*args, **kwargs)
    return [LossDirection(one, one)]


# Pieces


@pytest.mark.parametrize("tilt", [0.0, 0.3, 4.5])
@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_the_payoff_averages_to_delta(losses, mu, tilt):
    sample = losses(mu, tilt, 200_000, np.random.default_rng(1))
    for epsilon in (tilt * mu**2, (0.5 + tilt) * mu**2):
        payoffs = np.exp(sample.log_payoffs(epsilon))
        exact = math.exp(gaussian.log_delta(mu, epsilon))
        error = payoffs.std() / math.sqrt(len(payoffs))
        assert payoffs.mean() == pytest.approx(exact, abs=5 * error)
        assert error < 0.02 * exact
        assert sample.log_delta(epsilon) == pytest.approx(math.log(payoffs.mean()), abs=1e-12)


@pytest.mark.parametrize("wrong", ["tilt", "log_mgf", "loss"])
def test_a_wrong_weight_shows_in_that_average(losses, wrong):
    """Negative control: each part of the weight is needed."""
    right = losses(1.0, 4.5, 200_000, np.random.default_rng(1))
    broken = {
        "tilt": replace(right, tilt=4.4),
        "log_mgf": replace(right, log_mgf=right.log_mgf * 0.98),
        "loss": replace(right, privacy_loss=right.privacy_loss * 1.02),
    }[wrong]
    assert abs(broken.log_delta(4.5) - gaussian.log_delta(1.0, 4.5)) > 0.02


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 0.5, 4.0, 300.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0, 5000.0])
def test_no_payoff_exceeds_its_bound_and_one_attains_it(tilt, epsilon):
    peak = math.log1p(1 / tilt) if tilt else 800.0
    excess = np.concatenate([np.geomspace(1e-12, 900, 5000), [peak]])
    sample = trials(epsilon + excess, log_mgf=1.7, tilt=tilt, bound=1.7)
    highest, bound = sample.log_payoffs(epsilon).max(), sample.log_payoff_bound(epsilon)
    assert highest <= bound + 1e-9 * (1 + abs(bound))
    assert highest == pytest.approx(bound, abs=1e-8 * (1 + abs(bound)))


def test_payoffs_fall_with_epsilon_and_vanish_at_the_loss():
    sample = trials([3.0, -1.0, 7.0], tilt=0.7)
    grid = np.linspace(-2, 8, 300)
    payoffs = np.array([sample.log_payoffs(e) for e in grid])
    assert (np.maximum(payoffs[1:], -1e9) <= np.maximum(payoffs[:-1], -1e9)).all()
    assert (np.isneginf(payoffs) == (grid[:, None] >= sample.privacy_loss)).all()


@pytest.mark.parametrize("mu", [1e-3, 0.2, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-10, 1e-100])
def test_the_tilt_is_near_the_best_of_a_grid(mu, delta):
    epsilon = gaussian.epsilon_at(mu, math.log(delta))

    def log_second_moment(tilt):
        def integrand(z):  # losses above epsilon are epsilon + mu z
            loss = epsilon + mu * z
            log = tilt * (1 + tilt) / 2 * mu**2 - tilt * loss - (loss / mu - mu / 2) ** 2 / 2
            return math.exp(log - shift) * math.expm1(-mu * z) ** 2

        start = epsilon / mu - mu / 2
        shift = tilt * (1 + tilt) / 2 * mu**2 - tilt * epsilon - start**2 / 2
        return math.log(quad(integrand, 0, 40, limit=300, points=(0.05, 0.5, 5))[0]) + shift

    chosen = log_second_moment(best_tilt(mu, math.log(delta)))
    centre = epsilon / mu**2 + 1 / mu
    best = min(log_second_moment(t) for t in np.linspace(0, 2.5 * centre, 80))
    assert chosen <= best + 0.02


def test_a_tilt_for_no_shift_or_no_delta_is_a_number():
    assert math.isfinite(best_tilt(0.0, LOG_DELTA))
    assert math.isfinite(best_tilt(1.0, -math.inf))


def test_wealths_of_independent_directions_combine():
    assert combine_log_wealths([2.0]) == pytest.approx(2.0)
    product, mean = math.exp(2.0 + 3.0), (math.exp(2.0) + math.exp(3.0)) / 2
    assert combine_log_wealths([2.0, 3.0]) == pytest.approx(math.log((product + mean) / 2))
    assert combine_log_wealths([-math.inf, 3.0]) == pytest.approx(3.0 - math.log(4))
    assert combine_log_wealths([800.0, 900.0]) == pytest.approx(1700 - math.log(2))


# Closeness


MU_AND_DELTA = [(0.2, 1e-5), (1.0, 1e-5), (3.0, 1e-10), (1.0, 1e-50)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("mu", "delta", "count", "least"),
    [
        *((*case, 1000, 0.985) for case in MU_AND_DELTA),
        (1.0, 1e-50, 10_000, 0.995),
        *(pytest.param(*c, 10_000, 0.995, marks=pytest.mark.slow) for c in MU_AND_DELTA[:3]),
    ],
)
def test_both_ends_are_close(direction, mu, delta, count, least):
    rng, log_delta = np.random.default_rng(2), math.log(delta)
    tilt, exact = best_tilt(mu, log_delta), gaussian.epsilon_at(mu, log_delta)
    lower, upper = [], []
    for _ in range(7):
        pair = [direction(mu, tilt, count, rng) for _ in range(2)]
        lower.append(lower_end(pair, log_delta, 0.02) / exact)
        upper.append(upper_end(pair, log_delta, 0.02) / exact)
    assert least <= np.median(lower) <= 1 <= np.median(upper) <= 2 - least


def test_the_stricter_the_error_the_wider_the_ends(direction):
    pair = [direction(1.0, 4.5, 2000, np.random.default_rng(3))]
    lower = [lower_end(pair, LOG_DELTA, alpha) for alpha in (0.2, 0.01, 1e-6, 1e-12)]
    upper = [upper_end(pair, LOG_DELTA, alpha) for alpha in (0.2, 0.01, 1e-6, 1e-12)]
    assert lower == sorted(lower, reverse=True)
    assert upper == sorted(upper)
    exact = gaussian.epsilon_at(1.0, LOG_DELTA)
    assert 0.97 * exact < lower[-1] < exact < upper[-1] < 1.03 * exact


def test_the_worse_direction_decides(direction):
    rng = np.random.default_rng(4)
    weak, strong = (direction(mu, best_tilt(mu, LOG_DELTA), 2000, rng) for mu in (0.5, 1.0))
    exact = gaussian.epsilon_at(1.0, LOG_DELTA)
    for pair in ([weak, strong], [strong, weak]):
        assert 0.98 * exact < lower_end(pair, LOG_DELTA, 0.02) < exact
        assert exact < upper_end(pair, LOG_DELTA, 0.02) < 1.02 * exact


@pytest.mark.parametrize("epsilon", [0.0, 2.0, 4.377])
def test_delta_is_bracketed_closely(direction, epsilon):
    pair = [direction(1.0, 4.5, 20_000, np.random.default_rng(5)) for _ in range(2)]
    exact = math.exp(gaussian.log_delta(1.0, epsilon))
    lower, upper = (bound(pair, epsilon, 0.01) for bound in (delta_lower, delta_upper))
    assert lower <= exact <= (upper or math.inf)
    if epsilon == 4.377:  # where the tilt was chosen for
        assert 0.9 * exact < lower
        assert upper < 1.1 * exact


# Corners


def test_a_loose_bound_on_the_weights_costs_the_upper_end_only(direction):
    one = direction(1.0, 4.5, 2000, np.random.default_rng(6))
    lower = lower_end([one], LOG_DELTA, 0.05)
    exact, ends = gaussian.epsilon_at(1.0, LOG_DELTA), []
    for slack in (0.0, 1.0, 3.0, 20.0, math.inf):
        bound = one.losses.log_mgf_bound + slack
        loose = [LossDirection(*(replace(x, log_mgf_bound=bound) for x in (one.losses, one.pilot)))]
        assert lower_end(loose, LOG_DELTA, 0.05) == lower
        ends.append(upper_end(loose, LOG_DELTA, 0.05))
        assert delta_upper(loose, exact, 0.05) is None or slack < 20
    known = [end for end in ends if end is not None]
    assert known == sorted(known)
    assert exact < known[0]
    assert ends[0] is not None
    assert ends[-2:] == [None, None]


def test_one_direction_without_an_upper_end_leaves_none(direction):
    one = direction(1.0, 4.5, 2000, np.random.default_rng(7))
    free = replace(one.losses, log_mgf_bound=math.inf)
    assert upper_end([one, replace(one, losses=free)], LOG_DELTA, 0.05) is None
    assert delta_upper([one, replace(one, losses=free)], 4.0, 0.05) is None


@pytest.mark.parametrize("tilt", [0.0, 1.0, 1e6])
@pytest.mark.parametrize("count", [1, 5000])
def test_equal_laws_certify_nothing(tilt, count):
    pair = alone(np.zeros(count), tilt=tilt) * 2
    assert lower_end(pair, LOG_DELTA, 0.05) == 0
    assert upper_end(pair, LOG_DELTA, 0.05) in (None, 0.0)
    assert delta_lower(pair, 0.0, 0.05) == 0
    assert delta_upper(pair, 0.0, 0.05) is None


def test_one_trial_is_not_evidence_unless_its_weight_is():
    """By Markov alone: a payoff of 0.95 / delta would be one in as many; here it is no rare one."""
    log_delta = math.log(0.5)
    assert lower_end(alone([5.0], tilt=0.0), log_delta, 0.05) == 0
    assert upper_end(alone([5.0], tilt=0.0), log_delta, 0.05) is None
    assert lower_end(alone([5.0], tilt=0.0), math.log(1e-5), 0.05) <= 5.0


def test_a_payoff_at_exactly_the_target_refutes_nothing():
    assert lower_end(alone([800.0] * 1000, tilt=0.0), -1e-12, 0.05) == 0


@pytest.mark.parametrize("delta", [1e-300, 5e-324, 1e-12, 1 - 1e-12])
@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 0.5])
def test_extreme_arguments_give_ordered_finite_ends(direction, delta, alpha):
    log_delta = math.log(delta)
    pair = [direction(1.0, best_tilt(1.0, log_delta), 500, np.random.default_rng(8))]
    lower, upper = lower_end(pair, log_delta, alpha), upper_end(pair, log_delta, alpha)
    assert 0 <= lower < 100
    assert upper is None or lower <= upper < 100


@pytest.mark.parametrize("loss", [1e4, 1e150, 1e300])
def test_huge_losses_overflow_nowhere(loss):
    for tilt in (0.0, 1.0):
        pair = alone(np.full(100, loss), tilt=tilt)
        assert 0 <= lower_end(pair, LOG_DELTA, 0.05) <= loss
        assert upper_end(pair, LOG_DELTA, 0.05) in (None, pytest.approx(loss))


def test_an_upper_bound_on_delta_never_underflows_to_zero(direction):
    pair = [direction(0.5, 200.0, 20_000, np.random.default_rng(9))]
    epsilon = 50.0  # delta is about exp(-4975)
    assert gaussian.log_delta(0.5, epsilon) < -4000
    assert delta_upper(pair, epsilon, 0.05) > 0
    assert delta_lower(pair, epsilon, 0.05) == 0


def test_at_delta_zero_one_loss_is_enough():
    losses = [-3.0, 0.1, 2.5]
    assert lower_end(alone(losses), -math.inf, 1e-12) == 2.5
    assert lower_end(alone([-3.0]), -math.inf, 1e-12) == 0
    assert upper_end(alone(losses), -math.inf, 0.05) is None


def test_ties_at_epsilon_pay_nothing():
    """A loss that equals epsilon is no violation: randomised response has exactly its epsilon."""
    assert lower_end(alone(np.full(10_000, 1.0), tilt=0.0), math.log(1e-300), 0.05) <= 1.0


def test_the_floor_of_the_upper_end_depends_on_the_pilot_alone(direction):
    one = direction(1.0, 4.5, 1000, np.random.default_rng(10))
    assert epsilon_floor(one.pilot, 4.0, LOG_DELTA) == 4.0
    floor = epsilon_floor(one.pilot, 4.377, LOG_DELTA)
    assert math.exp(one.pilot.log_delta(floor)) == pytest.approx(4e-5, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"privacy_loss": np.array([1.0, np.nan])}, "privacy_loss and log_mgf"),
        ({"privacy_loss": np.array([1.0, np.inf])}, "privacy_loss and log_mgf"),
        ({"privacy_loss": np.array([1.0, 2.0, 3.0])}, "privacy_loss and log_mgf"),
        ({"log_mgf": np.array([0.0, np.inf])}, "privacy_loss and log_mgf"),
        ({"log_mgf": np.array([0.0, np.nan])}, "privacy_loss and log_mgf"),
        ({"log_mgf": np.array([0.0, 0.1])}, "log_mgf_bound"),
        ({"log_mgf_bound": math.nan}, "log_mgf_bound"),
        ({"log_mgf_bound": -1.0}, "log_mgf_bound"),
        ({"tilt": -0.5}, "tilt"),
        ({"tilt": math.inf}, "tilt"),
    ],
)
def test_losses_that_would_void_the_bounds_are_refused(change, name):
    """NaN counted as no payoff, or a violated bound, would lower the upper end unnoticed."""
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        replace(trials([1.0, 2.0]), **change)


def test_no_trials_are_refused():
    with pytest.raises(InvalidArgument, match="one number each a trial"):
        trials([])


# Thresholds: coverage cannot see them, as the bounds err far less often than they may


def wealth_at(one, epsilon, log_mean, planned, side):
    """Return the log-wealth of one direction's bets, planned where the end plans them."""
    grow = log_wealth_rising if side == "rise" else log_wealth_falling
    return grow(one.losses.log_payoffs(epsilon), log_mean, getattr(planned, side))


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
def test_the_lower_end_is_where_the_wealth_is_one_over_alpha(direction, alpha):
    rng = np.random.default_rng(11)
    pair = [direction(mu, best_tilt(mu, LOG_DELTA), 2000, rng) for mu in (1.0, 0.9)]
    end = lower_end(pair, LOG_DELTA, alpha)
    planned = [one.stakes(one.pilot.estimate(LOG_DELTA), LOG_DELTA, alpha) for one in pair]
    wealth = [
        wealth_at(one, end, LOG_DELTA, stakes, "rise")
        for one, stakes in zip(pair, planned, strict=True)
    ]
    assert combine_log_wealths(wealth) == pytest.approx(-math.log(alpha), abs=1e-6)


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
def test_the_upper_end_is_where_the_wealth_is_one_over_alpha(direction, alpha):
    one = direction(1.0, 4.5, 5000, np.random.default_rng(12))
    end, centre = upper_end([one], LOG_DELTA, alpha), one.pilot.estimate(LOG_DELTA)
    stakes = one.stakes(centre, LOG_DELTA, alpha)
    wealth = wealth_at(one, end, LOG_DELTA, stakes, "fall")
    assert wealth == pytest.approx(-math.log(alpha), abs=1e-6)
    assert upper_end([one, one], LOG_DELTA, alpha) == end  # the worse direction alone can fail it


@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-6])
@pytest.mark.parametrize("count", [1, 2])
def test_the_ends_of_delta_are_where_the_wealth_is_one_over_their_share(direction, alpha, count):
    epsilon, one = 4.377, direction(1.0, 4.5, 5000, np.random.default_rng(13))
    log_pilot = one.pilot.log_delta(epsilon)
    low, high = (bound([one] * count, epsilon, alpha) for bound in (delta_lower, delta_upper))
    share = alpha / count  # the lower end may be either direction's: a union bound
    stakes = one.stakes(epsilon, log_pilot, share)
    wealth = wealth_at(one, epsilon, math.log(low), stakes, "rise")
    assert wealth == pytest.approx(-math.log(share), abs=1e-6)
    ceiling = one.losses.log_payoff_bound(epsilon) - log_pilot + math.log(2)
    stakes = Stakes.planned(one.pilot.relative_variance(epsilon), 5000, alpha, ceiling)
    wealth = wealth_at(one, epsilon, math.log(high), stakes, "fall")
    assert wealth == pytest.approx(-math.log(alpha), abs=1e-6)


def test_what_is_bet_depends_on_the_pilot_alone(direction):
    one, other = (direction(1.0, 4.5, 1000, np.random.default_rng(seed)) for seed in (14, 15))
    swapped = replace(one, losses=other.losses)
    assert swapped.stakes(4.3, LOG_DELTA, 0.05) == one.stakes(4.3, LOG_DELTA, 0.05)
    assert other.stakes(4.3, LOG_DELTA, 0.05) != one.stakes(4.3, LOG_DELTA, 0.05)


def test_the_upper_end_starts_where_the_pilot_says(direction):
    """The certifying trials see a floor of their own; no end may be below the pilot's."""
    one = direction(1.0, 4.5, 1000, np.random.default_rng(16))
    floor = epsilon_floor(one.pilot, one.pilot.estimate(LOG_DELTA), LOG_DELTA)
    low = replace(one.losses, privacy_loss=one.losses.privacy_loss - 8.0)
    assert upper_end([replace(one, losses=low)], LOG_DELTA, 0.05) == floor
