"""Filters and the odometer: against closed forms, accountants and adversaries that adapt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

import dpaudit
from dpaudit import (
    ApproximateRelease,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
)
from dpaudit.accounting.events import RandomizedResponse
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import rounding
from dpaudit.spending.filters import (
    FILTERS,
    ReleaseTotal,
    count_more,
    fix_terms,
    is_within_limits,
    read_odometer,
    spent_of,
)
from dpaudit.spending.price import add_prices, price_event

DELTA = 1e-6
GAUSSIAN = GaussianRelease(sensitivity=1.0, noise_scale=8.0, count=5)
LAPLACE = LaplaceRelease(sensitivity=1.0, noise_scale=20.0, count=10)
SAMPLED = PoissonSubsampledGaussian(sampling_ratio=0.02, noise_multiplier=1.5, count=50)
STATED = ApproximateRelease(epsilon=0.05, delta=1e-9, count=3)
CONCENTRATED = ZeroConcentratedRelease(rho=0.002, count=4)
MIXTURES = {
    "gaussian": (GAUSSIAN,),
    "laplace": (LAPLACE,),
    "both": (GAUSSIAN, LAPLACE),
    "sampled": (SAMPLED, GAUSSIAN),
    "stated": (STATED, LAPLACE),
    "concentrated": (CONCENTRATED, GAUSSIAN),
    "response": (RandomizedResponse(truth=0.51, count=20),),
    "groups": (Parallel((GAUSSIAN, LAPLACE)), STATED),
}


def spend(event, epsilon=3.0, delta=DELTA, **terms):
    fixed = fix_terms([(epsilon, delta)], **terms)
    return spent_of(
        fixed, fixed.limits[0], ReleaseTotal(price_event(event, fixed.orders), lambda: event)
    )


@pytest.mark.parametrize("filter_name", FILTERS)
@pytest.mark.parametrize("mixture", MIXTURES)
def test_no_filter_is_under_the_accountants(mixture, filter_name):
    event = Sequence(MIXTURES[mixture])
    own = {} if filter_name in ("any", "basic", "planned") else {"own_delta": 1e-8}
    spent = spend(event, filter_name=filter_name, **own).amount
    proved = dpaudit.account(event, DELTA).proved
    assert spent >= proved.upper * (1 - 1e-9)
    if filter_name in ("any", "planned"):  # and none gives all away
        assert spent < 2.5 * proved.upper


def test_one_filter_has_the_constants_of_its_accountant():
    answers = {one.accountant: one.upper for one in dpaudit.account(GAUSSIAN, DELTA).answers}
    assert spend(GAUSSIAN, filter_name="gaussian").amount == answers["Gaussian DP"]
    assert spend(GAUSSIAN, filter_name="zcdp").amount == pytest.approx(answers["zCDP"], rel=1e-12)
    assert spend(LAPLACE, filter_name="basic").amount == 0.5
    best = spend(SAMPLED, filter_name="renyi", orders=[2.0**k for k in range(1, 6)])
    assert best.amount == pytest.approx(
        min(
            divergence + math.log1p(-1 / order) - math.log(DELTA / 5 * order) / (order - 1)
            for order, divergence in (
                (2.0**k, 50 * subsampled_divergence(0.02, 1.5, 2**k)) for k in range(1, 6)
            )
        ),
        rel=1e-9,
    )


def subsampled_divergence(ratio, noise, order):
    """Return the sum over how many of ``order`` copies are of the sample, by its definition."""
    moment = sum(
        math.comb(order, k)
        * (1 - ratio) ** (order - k)
        * ratio**k
        * math.exp(k * (k - 1) / 2 / noise**2)
        for k in range(order + 1)
    )
    return math.log(moment) / (order - 1)


def test_pure_releases_have_the_mu_of_their_corner():
    price = price_event(ApproximateRelease(epsilon=1.0, count=3))
    mu = math.sqrt(price.mu_squared / 3)
    corner = 1 / (1 + math.e)
    assert ndtr(-mu / 2) == pytest.approx(corner, rel=1e-8)
    assert price.rho == 1.5


@pytest.mark.parametrize("filter_name", FILTERS)
@pytest.mark.parametrize("own_delta", [None, 3e-7])
@pytest.mark.parametrize("delta", [1e-6, 0.3, 1 / 3])
def test_shares_of_delta_are_no_more_than_delta(filter_name, own_delta, delta):
    own = None if filter_name in ("basic", "planned") else own_delta
    (limit,) = fix_terms([(1.0, delta)], filter_name=filter_name, own_delta=own).limits
    shares = sum(rounding.to_written_fraction(one.delta) for one in limit.methods)
    assert (
        0.999 * delta
        < shares + rounding.to_written_fraction(limit.own)
        <= rounding.to_written_fraction(delta)
    )
    if own_delta is None and filter_name in ("gaussian", "zcdp", "renyi"):
        assert limit.own == 0


def test_deltas_of_releases_have_a_part_of_their_own():
    three = ApproximateRelease(epsilon=0.1, delta=1e-7, count=3)
    assert spend(three, filter_name="basic").amount == 0.3
    assert spend(three, filter_name="zcdp").amount == math.inf
    assert spend(three, filter_name="zcdp", own_delta=2e-7).amount == math.inf
    assert spend(three, filter_name="zcdp", own_delta=3e-7).amount < math.inf


def test_ten_tenths_are_one():
    terms = fix_terms([(1.0, 0.0)])
    tenth = price_event(ApproximateRelease(epsilon=0.1))
    prices = [
        (count, ReleaseTotal(add_prices([(count, tenth)], 0), lambda: GAUSSIAN))
        for count in (10, 11)
    ]
    assert [is_within_limits(terms, [total]) for _, total in prices] == [True, False]


@pytest.mark.parametrize("last", [0, 1, 2, 3, 12, 1000])
def test_what_fits_is_counted_exactly(last):
    terms = fix_terms([(1.0, 0.0)])
    assert count_more(terms, lambda count: count <= last).count == last


def test_what_has_no_end_is_said_to_be_more():
    assert count_more(fix_terms([(1.0, 0.0)]), lambda count: True).is_least


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "budget"),
        ({"points": [(1.0, 0.0)], "rho": 1.0}, "budget"),
        ({"points": [(-1.0, 0.0)]}, "epsilon"),
        ({"points": [(1.0, 1.0)]}, "delta"),
        ({"points": [(1.0, 1e-6)], "own_delta": 1e-6}, "own_delta"),
        ({"points": [(1.0, 1e-6)], "orders": [1.0]}, "orders"),
        ({"points": [(1.0, 1e-6)], "filter_name": "best"}, "filter"),
        ({"rho": -1.0}, "rho"),
        ({"rho": 1.0, "filter_name": "zcdp"}, "filter"),
    ],
)
def test_what_is_no_budget_is_refused(given, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        fix_terms(**given)


# Adversaries

EPSILON, LARGE = 1.0, 0.05
RUNS, STEPS = 200_000, 40


def adaptive_losses(rng, spent_share=1.0):
    """Return losses of runs whose noise depends on the loss so far, within mu of (1, 0.05)-DP.

    Whoever is ahead takes the rest at once; whoever is behind goes on with small steps.
    """
    mu_squared = mu_of(EPSILON, LARGE) ** 2 / spent_share
    left, loss = np.full(RUNS, mu_squared), np.zeros(RUNS)
    for step in range(STEPS):
        ahead = loss > 0.4 * EPSILON
        share = (
            left if step == STEPS - 1 else np.where(ahead, left, np.minimum(left, mu_squared / 20))
        )
        loss += share / 2 + np.sqrt(share) * rng.standard_normal(RUNS)
        left = left - share
    return loss


def mu_of(epsilon, delta):
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = dpaudit.GaussianDP(middle).epsilon(delta) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def hockey_stick(loss, epsilon):
    value = np.maximum(0.0, -np.expm1(epsilon - loss))
    return float(value.mean()), float(value.std() / math.sqrt(len(value)))


@pytest.mark.slow
def test_an_adversary_that_adapts_stays_within_the_filter():
    mean, error = hockey_stick(adaptive_losses(np.random.default_rng(1)), EPSILON)
    assert abs(mean - LARGE) < 5 * error  # at its end, and not beyond
    mean, error = hockey_stick(adaptive_losses(np.random.default_rng(2), 0.5), EPSILON)
    assert mean > LARGE + 20 * error  # twice the price would be seen


FIRST = 0.6  # part of the noise that the gambler takes before it chooses


@pytest.mark.slow
def test_an_adversary_that_chooses_between_deltas_and_noise_stays_within_the_filter():
    """A delta that is split as one goes is no filter, which is why it is split in advance."""
    rng = np.random.default_rng(6)
    mean, error = loss_of_gambler(rng, own=LARGE / 2, rest=LARGE / 2)
    assert mean + 4 * error < LARGE
    spent = dpaudit.GaussianDP(mu_of(EPSILON, LARGE) * FIRST**0.5).delta(EPSILON)
    mean, error = loss_of_gambler(rng, own=LARGE - spent, rest=LARGE)
    assert mean - 4 * error > LARGE


def loss_of_gambler(rng, own, rest):
    """Return what is lost beyond epsilon, and its error.

    Who is behind after the first part of the noise that ``rest`` allows gives the record away with
    probability ``own``; who is ahead takes the rest of the noise.
    """
    first, last = (share * mu_of(EPSILON, rest) ** 2 for share in (FIRST, 1 - FIRST))
    loss = first / 2 + np.sqrt(first) * rng.standard_normal(RUNS)
    behind = loss < 0.8 * EPSILON
    end = np.where(behind, loss, loss + last / 2 + np.sqrt(last) * rng.standard_normal(RUNS))
    lost = np.maximum(0.0, -np.expm1(EPSILON - end))
    value = np.where(behind, own + (1 - own) * lost, lost)
    return float(value.mean()), float(value.std() / math.sqrt(RUNS))


def running_losses(rng, noise, steps):
    """Yield the losses of runs after each Gaussian release."""
    mu, loss = 1 / noise, np.zeros(RUNS)
    for _ in range(steps):
        loss = loss + mu**2 / 2 + mu * rng.standard_normal(RUNS)
        yield loss


@pytest.mark.slow
def test_the_odometer_holds_at_every_time_and_an_accountant_does_not():
    noise, steps = 5.0, 60
    terms = fix_terms([(4.0, LARGE)], filter_name="gaussian")
    one = price_event(GaussianRelease(sensitivity=1.0, noise_scale=noise), terms.orders)
    above, above_fixed, last = np.zeros(RUNS, bool), np.zeros(RUNS, bool), 0.0
    losses = running_losses(np.random.default_rng(4), noise, steps)
    for count, loss in enumerate(losses, start=1):
        total = add_prices([(count, one)], len(terms.orders))
        last = read_odometer(terms, ReleaseTotal(total, lambda: GAUSSIAN))
        above |= loss > last
        mu = math.sqrt(count) / noise
        above_fixed |= loss > mu * mu / 2 + mu * 1.6448536269514722  # exceeded with 0.05 each time
    assert 0 < above.mean() <= LARGE
    assert above_fixed.mean() > 2 * LARGE
    closed = last_by_hand(terms, count=steps, noise=noise)
    assert last == pytest.approx(closed, rel=1e-9)


def test_the_odometer_is_its_closed_form():
    terms = fix_terms([(4.0, LARGE)], filter_name="gaussian")
    price = price_event(GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=9), terms.orders)
    found = read_odometer(terms, ReleaseTotal(price, lambda: GAUSSIAN))
    assert found == pytest.approx(last_by_hand(terms, count=9, noise=5.0), rel=1e-9)
    assert terms.odometer.delta == LARGE


def last_by_hand(terms, count, noise):
    order = terms.odometer.order
    return count * order / 2 / noise**2 - math.log(LARGE) / (order - 1)


def test_an_odometer_of_pure_releases_is_their_sum():
    terms = fix_terms([(1.0, 0.0)])
    total = ReleaseTotal(price_event(LAPLACE, terms.orders), lambda: LAPLACE)
    assert read_odometer(terms, total) == 0.5


def test_an_odometer_costs_more_than_the_filter_at_its_end():
    terms = fix_terms([(3.0, DELTA)], filter_name="zcdp")
    for scale in (4.0, 8.0, 16.0):
        release = GaussianRelease(sensitivity=1.0, noise_scale=scale)
        total = ReleaseTotal(price_event(release, terms.orders), lambda: GAUSSIAN)
        spent = spent_of(terms, terms.limits[0], total).amount
        assert read_odometer(terms, total) > spent
