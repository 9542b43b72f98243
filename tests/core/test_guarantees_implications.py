"""What implies what: every yes is checked on the curves, every no has a mechanism that shows it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, GroupOf, PureDP, ZeroConcentratedDP

KINDS = (
    PureDP(0.0),
    PureDP(1.0),
    ApproximateDP(0.0, 0.0),
    ApproximateDP(1.0, 0.0),
    ApproximateDP(1.0, 1e-5),
    ApproximateDP(0.5, 0.3),
    GaussianDP(0.0),
    GaussianDP(0.5),
    GaussianDP(3.0),
    ZeroConcentratedDP(0.0),
    ZeroConcentratedDP(0.125),
    ZeroConcentratedDP(5.0),
    GroupOf(PureDP(0.5), 2),
    GroupOf(GaussianDP(0.25), 2),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strong", KINDS, ids=str)
@pytest.mark.parametrize("weak", KINDS, ids=str)
def test_what_is_implied_says_no_more_at_any_epsilon(strong, weak):
    if strong.implies(weak):
        for epsilon in (0.0, 0.3, 1.0, 2.5, 8.0):
            # Two readings of one mechanism: the curve of a concentrated guarantee is not tight.
            loose = isinstance(strong, ZeroConcentratedDP) and strong.rho > 0
            assert loose or strong.delta(epsilon) <= weak.delta(epsilon) + 1e-9


@pytest.mark.parametrize("one", KINDS, ids=str)
def test_every_guarantee_implies_itself(one):
    assert one.implies(one)


@pytest.mark.parametrize("one", KINDS, ids=str)
def test_perfect_privacy_implies_everything_with_a_theorem(one):
    perfect = (PureDP(0.0), ApproximateDP(0.0, 0.0), GaussianDP(0.0), ZeroConcentratedDP(0.0))
    assert all(p.implies(one) for p in perfect) or isinstance(one, GroupOf)


@given(st.floats(0, 10), st.floats(0, 10), st.floats(1e-12, 0.5))
def test_an_approximate_guarantee_follows_from_delta_at_its_epsilon(mu, epsilon, delta):
    one = GaussianDP(mu)
    assert one.implies(ApproximateDP(epsilon, delta)) == (one.delta(epsilon) <= delta)


def test_a_delta_that_is_rounded_to_zero_is_no_pure_guarantee():
    assert GaussianDP(1.0).delta(60.0) == math.ulp(0.0)  # rounded up
    assert not GaussianDP(1.0).implies(PureDP(60.0))
    assert not GaussianDP(1.0).implies(ApproximateDP(60.0, 0.0))
    assert not ZeroConcentratedDP(0.5).implies(PureDP(60.0))
    assert GaussianDP(1.0).implies(ApproximateDP(60.0, 1e-300))


def test_pure_implies_gaussian_from_the_mu_that_reaches_its_corner():
    for epsilon in (0.1, 1.0, 5.0, 800.0):
        low, high = 0.0, 100.0  # bisected for the least mu that is implied
        for _ in range(60):
            mu = (low + high) / 2
            low, high = (low, mu) if PureDP(epsilon).implies(GaussianDP(mu)) else (mu, high)
        with mpmath.workdps(400):
            corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
            assert mpmath.ncdf(-mpmath.mpf(high) * (1 + 1e-12) / 2) < corner
            assert mpmath.ncdf(-mpmath.mpf(low) * (1 - 1e-12) / 2) > corner


def test_the_mu_of_pure_dp_is_refuted_below_and_holds_above():
    rates = np.linspace(0, 1, 101)
    pure = np.array([PureDP(1.0).trade_off(rate) for rate in rates])
    mu = next(m for m in np.arange(0.5, 2, 1e-3) if PureDP(1.0).implies(GaussianDP(m)))
    assert all(GaussianDP(mu).trade_off(r) <= f + 1e-12 for r, f in zip(rates, pure, strict=True))
    corner = 1 / (1 + math.e)  # randomised response errs this often on both sides
    assert GaussianDP(mu - 2e-3).trade_off(corner) > corner


def test_a_failure_probability_has_no_concentrated_and_no_gaussian_guarantee():
    leaky = ApproximateDP(0.0, 1e-9)
    assert not leaky.implies(GaussianDP(100.0))
    assert not leaky.implies(ZeroConcentratedDP(100.0))
    assert leaky.implies(ApproximateDP(0.0, 1e-9))
    assert not leaky.implies(ApproximateDP(5.0, 1e-10))


def test_concentrated_guarantees_from_the_others():
    assert GaussianDP(2.0).as_zero_concentrated() == ZeroConcentratedDP(2.0)
    assert PureDP(2.0).as_zero_concentrated() == ZeroConcentratedDP(2.0)
    assert GaussianDP(2.0).implies(ZeroConcentratedDP(2.0))
    assert not GaussianDP(2.0).implies(ZeroConcentratedDP(1.0))
    assert GroupOf(PureDP(1.0), 2).implies(ZeroConcentratedDP(2.0))
    assert not ZeroConcentratedDP(0.01).implies(GaussianDP(100.0))


@pytest.mark.parametrize("order", [1.01, 2.0, 10.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_renyi_divergences_of_randomised_response_are_concentrated(epsilon, order):
    with mpmath.workdps(50):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        q, a = 1 - p, mpmath.mpf(order)
        divergence = mpmath.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)
    assert divergence <= PureDP(epsilon).as_zero_concentrated().rho * order


def test_half_of_the_concentrated_guarantee_is_refuted_by_the_order_one():
    """The divergence of order 1 of randomised response is eps tanh(eps / 2), near eps^2 / 2."""
    epsilon = 0.1
    divergence = epsilon * math.tanh(epsilon / 2)
    assert PureDP(epsilon / math.sqrt(2)).as_zero_concentrated().rho < divergence
    assert divergence <= PureDP(epsilon).as_zero_concentrated().rho
