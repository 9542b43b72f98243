"""The Gaussian profile against mpmath, from both sides."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.guarantees import gaussian

MUS = tuple(np.geomspace(1e-4, 1e2, 25).tolist())
# Where the formula changes hands, and around it.
EDGES = (-5.0 - 1e-9, -5.0, -5.0 + 1e-9, -1e-12, 0.0, 1e-12)
XS = (*np.linspace(-8, 37, 46).tolist(), *EDGES)
# The noise of 1 / sqrt(2 ln(1.25 / delta)) at delta = 1e-5: the classical calibration.
CLASSICAL = math.sqrt(2 * math.log(1.25 / 1e-5))
PROFILE = st.tuples(st.floats(1e-4, 1e2), st.floats(-690, -1e-3))


def exact_log_delta(mu, epsilon):
    """Return the logarithm in 80 digits: at most 10 are lost where the terms cancel."""
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper = mpmath.erfc((epsilon / mu - mu / 2) / mpmath.sqrt(2)) / 2
        lower = mpmath.erfc((epsilon / mu + mu / 2) / mpmath.sqrt(2)) / 2
        return mpmath.log(upper - mpmath.exp(epsilon) * lower)


@pytest.mark.parametrize("mu", MUS)
def test_log_delta_agrees_with_sixty_digits(mu):
    for x in XS:
        epsilon = mu * (x + mu / 2)
        exact = float(exact_log_delta(mu, epsilon))
        assert gaussian.log_delta(mu, epsilon) == pytest.approx(exact, rel=1e-11), x


@pytest.mark.parametrize("mu", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("x", [-8.0, -1.0, 0.0, 1.0, 8.0])
def test_log_delta_keeps_its_digits_at_huge_epsilons(mu, x):
    epsilon = mu * (x + mu / 2)
    exact = float(exact_log_delta(mu, epsilon))
    # Near 1 - delta = x one rounding of epsilon / mu moves x by mu * 1e-16.
    assert gaussian.log_delta(mu, epsilon) == pytest.approx(exact, rel=1e-11 + mu * 1e-14)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 1.0, 50.0, 700.0, 5000.0])
def test_log_delta_over_plain_epsilons(mu, epsilon):
    found = gaussian.log_delta(mu, epsilon)
    if epsilon / mu < 400:
        assert found == pytest.approx(float(exact_log_delta(mu, epsilon)), rel=1e-11)
    else:  # the Gaussian tail's exponent is all there is
        x = epsilon / mu - mu / 2
        assert found == pytest.approx(-x * x / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("mu", "delta", "epsilon"),
    [
        (1.0, 1e-5, 4.3771780957),
        (3.0, 1e-10, 23.0487284620),
        (20 / CLASSICAL, 1e-5, 25.4426105667),
        (1 / CLASSICAL, 1e-5, 0.7509769569),
        (8 / CLASSICAL, 1e-5, 7.9143697679),
    ],
)
def test_published_values(mu, delta, epsilon):
    assert gaussian.epsilon_at(mu, math.log(delta)) == pytest.approx(epsilon, abs=5.1e-11)


@given(PROFILE)
def test_epsilon_at_is_the_inverse(profile):
    mu, target = profile
    epsilon = gaussian.epsilon_at(mu, target)
    if epsilon == 0:
        assert gaussian.log_delta(mu, 0.0) <= target
    else:
        # One rounding of epsilon moves log delta by slope * epsilon * 1e-16.
        slope = abs(gaussian.log_delta(mu, epsilon * (1 + 1e-6)) - target) / 1e-6
        assert gaussian.log_delta(mu, epsilon) == pytest.approx(target, abs=1e-13 * (1 + slope))


@given(st.floats(1e-4, 1e2), st.floats(0.0, 30.0))
def test_epsilon_at_returns_what_log_delta_took(mu, x):
    epsilon = mu * (x + mu / 2)
    target = gaussian.log_delta(mu, epsilon)
    assert gaussian.epsilon_at(mu, target) == pytest.approx(epsilon, rel=1e-9)


@given(st.floats(0.0, 1e3), st.floats(-690, -1e-3))
def test_mu_at_is_the_calibration(epsilon, target):
    mu = gaussian.mu_at(epsilon, target)
    assert gaussian.log_delta(mu, epsilon) == pytest.approx(target, rel=1e-9, abs=1e-12)
    assert gaussian.log_delta(mu * (1 + 1e-5), epsilon) > target
    assert gaussian.log_delta(mu * (1 - 1e-5), epsilon) < target


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-12), (1e-6, 1e-12), (1e-9, 1e-12)])
def test_a_tiny_calibration_is_as_good_as_a_large_one(epsilon, delta):
    mu = gaussian.mu_at(epsilon, math.log(delta))
    assert float(exact_log_delta(mu, epsilon)) == pytest.approx(math.log(delta), rel=1e-11)


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0, 200), st.floats(0, 200))
def test_delta_grows_with_mu_and_falls_with_epsilon(mu, more, epsilon, further):
    base = gaussian.log_delta(mu, epsilon)
    rounding = 1e-12 * (1 + abs(base)) if base > -math.inf else 0.0
    assert gaussian.log_delta(mu + more, epsilon) >= base - rounding
    assert gaussian.log_delta(mu, epsilon + further) <= base + rounding


@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-20, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("mu", [1e-4, 1e-2, 1.0, 30.0, 100.0])
def test_extreme_deltas_give_finite_epsilons(mu, delta):
    epsilon = gaussian.epsilon_at(mu, math.log(delta))
    assert 0 <= epsilon < 1e4
    if epsilon:
        exact = exact_log_delta(mu, epsilon)
        assert float(exact) == pytest.approx(math.log(delta), rel=1e-9, abs=1e-9)


def test_without_a_shift_nothing_leaks():
    assert gaussian.log_delta(0.0, 0.0) == -math.inf
    assert gaussian.log_delta(0.0, -1.0) == pytest.approx(math.log(1 - math.exp(-1)))
    assert gaussian.epsilon_at(0.0, math.log(1e-300)) == 0
    assert gaussian.epsilon_at(0.0, -math.inf) == 0
    assert gaussian.trade_off(0.0, 0.3) == pytest.approx(0.7)


def test_no_epsilon_is_enough_at_delta_zero():
    assert gaussian.epsilon_at(1e-4, -math.inf) == math.inf


@pytest.mark.parametrize("mu", [1e-310, 1e-300, 1e-160, 1e-12])
def test_a_vanishing_shift_gives_a_number(mu):
    assert gaussian.log_delta(mu, 1.0) < -1e20
    assert gaussian.log_delta(mu, 0.0) == pytest.approx(math.log(mu * 0.3989422804014327), rel=1e-9)
    assert gaussian.epsilon_at(mu, math.log(1e-5)) == 0


@given(st.floats(0, 20), st.floats(1e-12, 1 - 1e-12))
def test_the_curve_is_its_own_inverse(mu, rate):
    missed = gaussian.trade_off(mu, rate)
    assert 0 <= missed <= 1 - rate + 1e-12
    if 1e-12 < missed < 1 - 1e-12:
        assert gaussian.trade_off(mu, missed) == pytest.approx(rate, rel=1e-3, abs=1e-10)


def test_the_curve_at_its_ends():
    assert gaussian.trade_off(2.0, 0.0) == 1
    assert gaussian.trade_off(2.0, 1.0) == 0
