"""One contract for every kind of guarantee, and each kind against an oracle of its own."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, ZeroConcentratedDP

GUARANTEES = (
    *(PureDP(e) for e in (0.0, 1e-6, 0.5, 3.0, 50.0)),
    *(ApproximateDP(e, d) for e in (0.0, 0.5, 8.0) for d in (0.0, 1e-10, 0.1, 0.9)),
    *(GaussianDP(mu) for mu in (0.0, 1e-3, 0.3, 1.0, 6.0)),
    *(ZeroConcentratedDP(rho) for rho in (0.0, 1e-6, 0.05, 0.5, 18.0)),
)
EPSILONS = (0.0, *np.geomspace(1e-6, 60.0, 40).tolist())
DELTAS = (1e-300, 1e-30, 1e-10, 1e-5, 1e-2, 0.1, 0.3, 0.7, 0.999)
RATES = np.linspace(0.0, 1.0, 21)
ROUNDING = 1e-9
every_guarantee = pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)


@cache
def trade_offs(guarantee):
    return np.array([guarantee.trade_off(rate) for rate in RATES])


# The contract


@every_guarantee
def test_delta_is_a_probability_that_falls_with_epsilon(guarantee):
    deltas = np.array([guarantee.delta(e) for e in EPSILONS])
    assert ((deltas >= 0) & (deltas <= 1)).all()
    assert (np.diff(deltas) <= ROUNDING * deltas[:-1]).all()


@every_guarantee
def test_epsilon_falls_with_delta(guarantee):
    epsilons = np.array([guarantee.epsilon(d) for d in (0.0, *DELTAS)])
    assert (epsilons >= 0).all()
    assert (epsilons[1:] <= epsilons[:-1] * (1 + ROUNDING)).all()


@every_guarantee
def test_epsilon_is_the_least_with_that_delta(guarantee):
    for epsilon in EPSILONS:
        delta = guarantee.delta(epsilon)
        if 1e-300 < delta < 1 - 1e-6:  # elsewhere delta has been rounded to what is no delta
            assert guarantee.epsilon(delta) <= epsilon + ROUNDING * (1 + epsilon)
    for delta in DELTAS:
        epsilon = guarantee.epsilon(delta)
        if 0 < epsilon < math.inf:
            assert guarantee.delta(epsilon + ROUNDING * (1 + epsilon)) <= delta
            assert guarantee.delta(epsilon * (1 - 1e-9)) >= delta * (1 - ROUNDING)


@pytest.mark.slow
@every_guarantee
def test_the_trade_off_is_a_trade_off_curve(guarantee):
    curve = trade_offs(guarantee)
    assert (curve >= 0).all()
    assert (curve <= 1 - RATES + ROUNDING).all()
    assert (np.diff(curve) <= ROUNDING).all()
    assert (np.diff(curve, 2) >= -ROUNDING).all()
    assert curve[-1] == 0


@every_guarantee
def test_the_trade_off_is_symmetric(guarantee):
    for rate, missed in zip(RATES, trade_offs(guarantee), strict=True):
        if 1e-9 < missed < 1 - 1e-9:
            assert guarantee.trade_off(float(missed)) == pytest.approx(rate, abs=1e-6)


@pytest.mark.sampled(3)
@every_guarantee
def test_the_trade_off_agrees_with_delta(guarantee):
    """Dong, Roth & Su 2022, Proposition 2.13: delta(e) = 1 - min over x of f(x) + e^e x."""
    exact = not isinstance(guarantee, ZeroConcentratedDP)
    rates = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 3000 if exact else 40)])
    curve = np.array([guarantee.trade_off(rate) for rate in rates])
    for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0):
        dual = 1 - (curve + math.exp(epsilon) * rates).min()
        # The least over a grid is too large, so delta comes out too small, if anything.
        slack = 3e-3 if exact else 0.1
        assert guarantee.delta(epsilon) - slack <= dual <= guarantee.delta(epsilon) + 2e-3
        assert not exact or dual <= guarantee.delta(epsilon) + ROUNDING


@every_guarantee
@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, None, "0.5"])
def test_a_bad_rate_is_refused_by_name(guarantee, rate):
    with pytest.raises(InvalidArgument, match=r"^false_positive_rate: got"):
        guarantee.trade_off(rate)


@every_guarantee
def test_bad_questions_are_refused_by_name(guarantee):
    for delta in (-1e-9, 1.0, math.nan, True):
        with pytest.raises(InvalidArgument, match=r"^delta: got"):
            guarantee.epsilon(delta)
    for epsilon in (-1e-9, math.inf, math.nan, "1"):
        with pytest.raises(InvalidArgument, match=r"^epsilon: got"):
            guarantee.delta(epsilon)


@pytest.mark.parametrize(
    ("kind", "name"), [(PureDP, "epsilon"), (GaussianDP, "mu"), (ZeroConcentratedDP, "rho")]
)
@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan, None, True, "1"])
def test_bad_parameters_are_refused_by_name(kind, name, value):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        kind(value)


def test_a_bad_delta_of_a_claim_is_refused():
    with pytest.raises(InvalidArgument, match=r"^delta: got 1"):
        ApproximateDP(1.0, 1.0)


# Each kind against its oracle


def hockey_stick(p, q, epsilon):
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


def dominating_pair(epsilon, delta):
    """Kairouz, Oh & Viswanath 2015: four outcomes, two of which give the dataset away."""
    likely = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    unlikely = (1 - delta) / (1 + math.exp(epsilon))
    return (delta, likely, unlikely, 0.0), (0.0, unlikely, likely, delta)


@given(st.floats(0, 20), st.floats(0, 0.99), st.floats(0, 25))
def test_approximate_dp_is_its_dominating_pair(at_epsilon, at_delta, epsilon):
    p, q = dominating_pair(at_epsilon, at_delta)
    for one, other in ((p, q), (q, p)):
        exact = hockey_stick(one, other, epsilon)
        found = ApproximateDP(at_epsilon, at_delta).delta(epsilon)
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-15)


@given(st.floats(0, 20), st.floats(0, 0.99), st.floats(0, 1))
def test_no_test_of_the_dominating_pair_beats_the_curve_and_one_attains_it(e, d, rate):
    p, q = dominating_pair(e, d)
    # Neyman-Pearson on outcomes by falling likelihood ratio p/q, rejecting q.
    missed, left = 1.0, rate
    for one, other in zip(p, q, strict=True):
        share = 1.0 if other <= left else left / other
        missed, left = missed - share * one, max(left - share * other, 0.0)
    assert ApproximateDP(e, d).trade_off(rate) == pytest.approx(max(missed, 0.0), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_pure_dp_is_randomised_response(epsilon):
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    for at in (0.0, 0.05, 0.5, 1.0, 4.9, 5.0, 6.0):
        exact = hockey_stick((truth, 1 - truth), (1 - truth, truth), at)
        assert PureDP(epsilon).delta(at) == pytest.approx(exact, rel=1e-12, abs=1e-14)
    assert PureDP(epsilon).epsilon(0.0) == epsilon
    assert PureDP(epsilon).trade_off(1 - truth) == pytest.approx(1 - truth)


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.02, 0.5, 4.5, 50.0, 1e4])
def test_zcdp_is_never_below_the_gaussian_it_covers_and_close_to_it(rho):
    mu = math.sqrt(2 * rho)
    for delta in (1e-300, 1e-20, 1e-10, 1e-5, 1e-2):
        exact = gaussian.epsilon_at(mu, math.log(delta))
        bound = ZeroConcentratedDP(rho).epsilon(delta)
        assert bound >= exact
        assert bound <= rho + 2 * math.sqrt(rho * -math.log(delta)) + 1e-9
        if exact > 1e-3:
            assert bound <= 1.35 * exact
    for epsilon in (0.0, mu, rho, rho + 3 * mu):
        assert ZeroConcentratedDP(rho).delta(epsilon) >= GaussianDP(mu).delta(epsilon)


@pytest.mark.parametrize("rho", [1e-300, 1e-20, 1e10, 1e20])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5])
def test_zcdp_answers_where_no_order_on_its_grid_helps(rho, delta):
    bound = ZeroConcentratedDP(rho).epsilon(delta)
    assert gaussian.epsilon_at(math.sqrt(2 * rho), math.log(delta)) <= bound
    assert bound <= (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-12) + 1e-300
    assert 0 <= ZeroConcentratedDP(rho).trade_off(0.1) <= 0.9


def test_halving_a_bound_breaks_it():
    """The comparison above can fail: half of rho is not enough for the same Gaussian."""
    assert ZeroConcentratedDP(0.25).epsilon(1e-5) < gaussian.epsilon_at(1.0, math.log(1e-5))


@given(st.floats(0, 30), st.floats(0, 30))
def test_gaussian_dp_answers_with_the_exact_profile(mu, epsilon):
    guarantee = GaussianDP(mu)
    near = math.exp(gaussian.log_delta(mu, epsilon))
    assert guarantee.delta(epsilon) == pytest.approx(near, rel=2e-12, abs=5e-324)
    assert 0 <= gaussian.trade_off(mu, 0.25) - guarantee.trade_off(0.25) < 1e-14


def test_a_guarantee_prints_what_it_says():
    assert str(ApproximateDP(1.0, 1e-5)) == "ApproximateDP(at_epsilon=1, at_delta=1e-05)"
