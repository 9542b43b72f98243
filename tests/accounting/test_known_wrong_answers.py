"""Answers that libraries get wrong, and that the accountants here have to get right.

What a library answers is quoted as measured: dp-accounting 0.6.0, prv-accountant 0.2.0, autodp
0.2.3.1 and opacus 1.6.0 on Python 3.11, NumPy 2.4.6, SciPy 1.17.1.
"""

from __future__ import annotations

import math

import mpmath
import pytest

from dpaudit.accounting.composition import compose_advanced, gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Sequence,
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.optimal import make_optimal_composition
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.series.contour import contour_epsilon
from dpaudit.guarantees.kinds import GaussianDP


def response(epsilon: float, count: int) -> ApproximateRelease:
    return ApproximateRelease(epsilon=epsilon, count=count)


def gaussian(mu: float, count: int = 1) -> GaussianRelease:
    return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=count)


def sampled(ratio: float, noise: float, count: int) -> PoissonSubsampledGaussian:
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def response_delta(own: float, count: int, epsilon: float) -> mpmath.mpf:
    """Return the delta of composed randomised response: a sum over the number of truths."""
    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(own)))
        total = mpmath.mpf(0)
        for truths in range(count + 1):
            loss = mpmath.mpf(own) * (2 * truths - count)
            if loss > epsilon:
                mass = mpmath.binomial(count, truths) * p**truths * (1 - p) ** (count - truths)
                total += mass * -mpmath.expm1(epsilon - loss)
        return total


def gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        first = mpmath.ncdf(mu / 2 - epsilon / mu)
        return first - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def step_delta(ratio: float, noise: float, epsilon: float) -> mpmath.mpf:
    """Return the delta of one subsampled Gaussian step, a record removed: Gaussian integrals."""
    with mpmath.workdps(60):
        q, s, e = mpmath.mpf(ratio), mpmath.mpf(noise), mpmath.mpf(epsilon)
        edge = s * s * mpmath.log((mpmath.exp(e) - 1 + q) / q) + mpmath.mpf(1) / 2
        kept = (1 - q - mpmath.exp(e)) * mpmath.ncdf(-edge / s)
        return kept + q * mpmath.ncdf((1 - edge) / s)


# dp-accounting: the accountant ignores `count` for randomised response

RESPONSES = (
    (0.1, 1, 0.1000, 0.1000809514443972),  # (epsilon, count, exact, dp-accounting's accountant)
    (0.1, 100, 4.3068, 0.1000809514443972),  # the same, whatever the count
)


@pytest.mark.parametrize(("own", "count", "exact", "theirs"), RESPONSES)
def test_randomised_response_counts_every_release(own, count, exact, theirs):
    answer = make_optimal_composition(own, 0.0, count).epsilon(1e-5)
    assert answer == pytest.approx(exact, abs=5e-5)
    assert response_delta(own, count, answer) == pytest.approx(1e-5, rel=1e-9)
    bracket = numerical_epsilon(response(own, count), 1e-5)
    assert bracket.contains(answer)
    assert bracket.width < 1e-7
    if count > 1:
        assert response_delta(own, count, theirs) > 0.3  # in place of 1e-5


def test_a_count_a_loop_and_a_nest_are_the_same():
    one = response(0.1, 1)
    nested = Sequence((Sequence((one,) * 50), response(0.1, 50)))
    assert numerical_epsilon(nested, 1e-5) == numerical_epsilon(response(0.1, 100), 1e-5)


# dp-accounting: the optimistic bound is none below delta = 1e-14 or so
#
# 100 Gaussian steps with mu = .1, composed numerically at spacing 1e-4, optimistic / exact:
# 1e-14: 7.8774 / 7.8687; 1e-15: 8.8925 / 8.1656; 1e-16, 1e-18 and 1e-20: infinite / 8.45,
# 9.00, 9.51.


@pytest.mark.parametrize("exponent", [12, 14, 15, 16, 18, 20, 50, 100, 250])
def test_a_lower_end_stays_one_at_tiny_deltas(exponent):
    delta = 10.0**-exponent
    exact = GaussianDP(1.0).epsilon(delta)
    assert gaussian_delta(1.0, exact) == pytest.approx(delta, rel=1e-8)
    assert_close_bracket(numerical_epsilon(gaussian(0.1, 100), delta), exact, 1e-6)


# Also its pessimistic end is none, though by less: 1000 steps of a sampled Gaussian (q = .01,
# sigma = 1) at spacing 1e-3 have a delta 4.8e-14 too small where it is 1e-12.


@pytest.mark.sampled(2)
@pytest.mark.parametrize("delta", [1e-5, 1e-10, 1e-14, 1e-20, 1e-100])
def test_one_sampled_step_against_integrals_at_tiny_deltas(delta):
    bracket = numerical_epsilon(sampled(0.01, 1.0, 1), delta)
    assert step_delta(0.01, 1.0, bracket.lower) >= delta >= step_delta(0.01, 1.0, bracket.upper)
    assert bracket.width < 1e-4 * bracket.upper


@pytest.mark.parametrize("delta", [pytest.param(1e-12, marks=pytest.mark.slow), 1e-14])
def test_sampled_steps_agree_with_the_contour_at_tiny_deltas(delta):
    event = sampled(0.01, 1.0, 100)
    assert_close_bracket(numerical_epsilon(event, delta), contour_epsilon(event, delta), 1e-4)


# dp-accounting: up to 1 too high above epsilon = 745, at either rounding, because exp(-745)
# vanishes: 1463.24 for mu = 50 and 2055.89 for mu = 60 at delta = 1e-5, spacing .01.


@pytest.mark.parametrize(("mu", "exact"), [(50.0, 1462.2850), (60.0, 2054.9275)])
def test_epsilon_beyond_the_range_of_the_exponential(mu, exact):
    answer = gaussian_guarantee(gaussian(mu)).epsilon(1e-5)
    assert answer == pytest.approx(exact, abs=5e-5)
    assert gaussian_delta(mu, answer) == pytest.approx(1e-5, rel=1e-8)
    assert_close_bracket(numerical_epsilon(gaussian(mu), 1e-5), answer, 1e-6)


# dp-accounting: `advanced_composition` (Kairouz, Oh & Viswanath, Theorem 3.3) raises OverflowError
# at eps0 = .1, T = 1000; at T = 100, delta = 1e-20 it returns 8.0.


def test_optimal_composition_at_a_thousand_releases():
    answer = make_optimal_composition(0.1, 0.0, 1000).epsilon(1e-5)
    assert answer == pytest.approx(17.787, abs=5e-4)
    assert response_delta(0.1, 1000, answer) == pytest.approx(1e-5, rel=1e-9)
    assert compose_advanced(0.1, 0.0, 1000, 1e-5)[0] == pytest.approx(25.69, abs=5e-3)


def test_optimal_composition_at_a_tiny_delta():
    answer = make_optimal_composition(0.1, 0.0, 100).epsilon(1e-20)
    assert answer == pytest.approx(8.664980, abs=5e-7)
    assert response_delta(0.1, 100, answer) == pytest.approx(1e-20, rel=1e-9)
    assert response_delta(0.1, 100, 8.0) > 1e-18  # what theirs is worth
    assert numerical_epsilon(response(0.1, 100), 1e-20).contains(answer)


# prv-accountant understates pure mechanisms

PURE = (
    (1.0, 100, (69.8721, 70.0721), 79.8413),  # (epsilon, count, prv-accountant's ends, exact)
    (2.0, 50, (67.9039, 68.1039), 99.9943),
)


@pytest.mark.parametrize(("own", "count", "theirs", "exact"), PURE)
def test_pure_mechanisms_with_a_large_epsilon(own, count, theirs, exact):
    answer = make_optimal_composition(own, 0.0, count).epsilon(1e-5)
    assert answer == pytest.approx(exact, abs=5e-5)
    assert not Bracket(*theirs).contains(answer)
    assert response_delta(own, count, theirs[1]) > 1e-3
    assert_close_bracket(numerical_epsilon(response(own, count), 1e-5), answer, 1e-6)


# autodp: the composer of characteristic functions returns a negative epsilon (-.0048 for 100
# Gaussian steps with sigma = 5 at delta = 1e-5, where epsilon is 9.9973).

SMALL: tuple[Event, ...] = (
    gaussian(0.2, 100),
    gaussian(1e-6),
    response(1e-7, 10),
    LaplaceRelease(sensitivity=1e-6, noise_scale=1.0, count=10),
    sampled(1e-6, 1.0, 10),
)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("event", SMALL)
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.5, 0.999])
def test_epsilon_is_never_negative(event, delta):
    bracket = numerical_epsilon(event, delta)
    assert 0 <= bracket.lower <= bracket.upper < math.inf


def test_epsilon_of_a_hundred_gaussians():
    assert_close_bracket(numerical_epsilon(gaussian(0.2, 100), 1e-5), 9.997256146, 1e-6)


# opacus: its Gaussian-DP accountant is a limit theorem's, below the truth on sampled steps

SAMPLED = (
    (0.01, 1.0, 10, 0.13041),  # (ratio, noise, count, opacus)
    (0.01, 1.0, 100, 0.45751),
    (0.01, 1.0, 1000, 1.61771),
    (0.01, 0.6, 1000, 5.56290),
    (0.1, 1.0, 100, 6.00708),
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("ratio", "noise", "count", "theirs"), SAMPLED)
def test_sampled_steps_are_above_the_limit_theorem(ratio, noise, count, theirs):
    event = sampled(ratio, noise, count)
    bracket = numerical_epsilon(event, 1e-5)
    assert bracket.lower > 1.1 * theirs
    assert numerical_delta(event, theirs).lower > 2e-5
    if count >= 100:  # a few losses still have too much of an atom for the contour
        assert_close_bracket(bracket, contour_epsilon(event, 1e-5), 1e-3)


def assert_close_bracket(bracket: Bracket, exact: float, relative: float) -> None:
    rounding = 1e-9 * exact  # of the value compared with
    assert bracket.lower - rounding <= exact <= bracket.upper + rounding
    assert bracket.width <= relative * exact
