"""Renyi guarantees, whole curves, and what an epsilon says in the currency of a claim."""

import math

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.guarantees.profile import PrivacyProfile


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 6.0])
@pytest.mark.parametrize(("order", "mu"), [(1.2, 1.0), (2.0, 0.5), (8.0, 1.0), (30.0, 0.3)])
def test_what_one_order_implies_is_never_below_a_gaussian_that_has_it(order, mu, epsilon):
    one = RenyiDP(order, order * mu * mu / 2)
    assert one.delta(epsilon) >= GaussianDP(mu).delta(epsilon)
    assert one.delta(epsilon) >= ZeroConcentratedDP(mu * mu / 2).delta(epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("rho", [0.1, 0.5, 2.0])
def test_the_best_of_all_orders_is_that_of_the_concentrated_guarantee(rho):
    orders = 1 + np.geomspace(1e-3, 1e4, 4000)
    best = min(RenyiDP(float(a), float(a) * rho).epsilon(1e-5) for a in orders)
    assert math.isclose(best, ZeroConcentratedDP(rho).epsilon(1e-5), rel_tol=1e-4)


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.3])
def test_epsilon_of_one_order_undoes_its_delta(delta):
    one = RenyiDP(4.0, 0.8)
    assert math.isclose(one.delta(one.epsilon(delta)), delta) or one.epsilon(delta) == 0


def test_a_larger_order_implies_a_smaller_one_and_not_the_other_way():
    assert RenyiDP(4.0, 0.5).implies(RenyiDP(2.0, 0.5))
    assert not RenyiDP(2.0, 0.5).implies(RenyiDP(4.0, 0.5))
    assert GaussianDP(0.5).implies(RenyiDP(4.0, 0.5))
    assert PureDP(0.5).implies(RenyiDP(100.0, 0.5))
    assert not PureDP(0.5).implies(RenyiDP(100.0, 0.4))


@pytest.mark.parametrize("order", [1.0, 0.5, -2.0, math.inf])
def test_an_order_of_one_or_less_is_refused(order):
    with pytest.raises(InvalidArgument, match="order"):
        RenyiDP(order, 1.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0, 8.0])
def test_the_curve_of_a_trade_off_function_is_its_profile_from_above(epsilon):
    for known in (GaussianDP(1.3), ApproximateDP(1.0, 1e-3), PureDP(0.4)):
        found = PrivacyProfile.of_trade_off(known.trade_off).delta(epsilon)
        assert known.delta(epsilon) - 1e-12 <= found <= known.delta(epsilon) + 1e-6


@pytest.mark.parametrize("function", [lambda x: x, lambda x: 1 - x**2])
def test_what_is_no_trade_off_function_is_refused(function):
    with pytest.raises(InvalidArgument, match="convex, and never rising"):
        PrivacyProfile.of_trade_off(function).delta(0.5)


def test_points_of_a_profile_imply_no_less_than_the_profile():
    known = GaussianDP(1.0)
    points = [(e, known.delta(e)) for e in np.linspace(0, 5, 26)]
    curve = PrivacyProfile.of_points(points)
    for epsilon in np.linspace(0, 6, 61):
        above = curve.delta(float(epsilon)) - known.delta(float(epsilon))
        assert above >= -1e-12
        assert above < 2e-3 or epsilon > 5


def test_a_point_alone_says_what_it_implies():
    curve, point = PrivacyProfile.of_points([(1.0, 1e-5)]), ApproximateDP(1.0, 1e-5)
    for epsilon in (0.0, 0.5, 1.0, 4.0):
        assert curve.delta(epsilon) == point.delta(epsilon)
    assert curve.epsilon(1e-6) == math.inf


@pytest.mark.parametrize("points", [[], [(1.0,)], [("a", 0.1)], [(1.0, 1.5)], [(-1.0, 0.1)], 7])
def test_points_that_are_none_are_refused(points):
    with pytest.raises(InvalidArgument):
        PrivacyProfile.of_points(points)


@pytest.mark.parametrize("function", [lambda e: 2.0, lambda e: math.nan, lambda e: 1 / 0])
def test_a_function_that_returns_no_delta_is_named(function):
    with pytest.raises(InvalidArgument, match="claim"):
        PrivacyProfile(function).delta(1.0)


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_an_epsilon_of_a_gaussian_curve_is_its_mu(mu, delta):
    epsilon = GaussianDP(mu).epsilon(delta)
    found = currency_of(GaussianDP(9.0)).value(epsilon, delta)
    assert math.isclose(found, mu, rel_tol=1e-9) or epsilon == 0 == found


@pytest.mark.parametrize(
    ("guarantee", "claimed", "of_pure"),
    [
        (GaussianDP(0.7), 0.7, PureDP(0.3)._mu()),
        (ZeroConcentratedDP(0.2), 0.2, 0.3**2 / 2),
        (RenyiDP(3.0, 0.6), 0.6, 3 * 0.3**2 / 2),
    ],
)
def test_a_claim_and_another_guarantee_in_its_currency(guarantee, claimed, of_pure):
    currency = currency_of(guarantee)
    assert currency.claimed(0.1) == claimed
    assert math.isclose(currency.of(PureDP(0.3), 0.1), of_pure)
    assert currency.of(ApproximateDP(0.3, 0.1), 0.1) == math.inf


def test_a_curve_is_stated_in_epsilon_where_it_says_something():
    currency = currency_of(PrivacyProfile.of_points([(1.0, 1e-3)]))
    assert min(currency.deltas()) >= 1e-3
    assert currency.claimed(1e-3) == currency.value(1.0, 1e-3) == 1.0
