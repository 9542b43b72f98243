"""What an attacker can hope for: each bound is attained by some attack, and none does better."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)

GUARANTEES = (
    PureDP(0.0),
    PureDP(1.0),
    ApproximateDP(0.5, 0.1),
    GaussianDP(1.0),
    ZeroConcentratedDP(0.5),
    GroupOf(PureDP(0.7), 2),
)
PRIORS = (1e-300, 1e-9, 0.01, 0.3, 0.5, 0.6, 0.99, 1 - 1e-9)
priors = st.floats(0, 1)
every_guarantee = pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)


@dataclass(frozen=True)
class Bare(Guarantee):
    """A guarantee that states delta and epsilon and no more, as a third party's would."""

    of: Guarantee

    def delta(self, epsilon):
        return self.of.delta(epsilon)

    def epsilon(self, delta):
        return self.of.epsilon(delta)


def randomised_response(epsilon):
    truth, lie = 1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return (truth, lie), (lie, truth)


def gaussian_success(mu, prior):
    """The mass of the likelier hypothesis under every output: quadrature on both sides."""
    cut = mu / 2 + math.log((1 - prior) / prior) / mu  # where the two weighted densities cross
    points = sorted({-40.0, -8.0, 0.0, cut, mu, mu + 8.0, mu + 40.0})

    def likelier(x):
        return max(prior * norm.pdf(x - mu), (1 - prior) * norm.pdf(x))

    return sum(quad(likelier, *ends, epsabs=1e-13)[0] for ends in itertools.pairwise(points))


# Success


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("prior", PRIORS)
def test_success_against_randomised_response_is_the_best_of_all_four_rules(epsilon, prior):
    first, second = randomised_response(epsilon)
    rules = itertools.product((0, 1), repeat=2)  # for each outcome, whether to guess "first"
    best = max(
        sum(
            prior * p if guess else (1 - prior) * q
            for guess, p, q in zip(rule, first, second, strict=True)
        )
        for rule in rules
    )
    assert PureDP(epsilon).success(prior) == pytest.approx(best, rel=1e-14)


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.8])
def test_success_against_a_gaussian_is_the_bayes_rule(mu, prior):
    assert GaussianDP(mu).success(prior) == pytest.approx(gaussian_success(mu, prior), abs=1e-11)


def test_success_agrees_with_fifty_digits():
    with mpmath.workdps(50):
        prior, mu = mpmath.mpf(3) / 8, mpmath.mpf(5) / 4
        cut = mpmath.log((1 - prior) / prior) / mu
        right = prior * mpmath.ncdf(mu / 2 - cut) + (1 - prior) * mpmath.ncdf(mu / 2 + cut)
        assert GaussianDP(1.25).success(0.375) == pytest.approx(float(right), rel=1e-14)


@every_guarantee
def test_success_where_nothing_is_left_to_guess(guarantee):
    assert guarantee.success(0.0) == guarantee.success(1.0) == 1.0
    assert guarantee.success(0.5) == pytest.approx((1 + guarantee.advantage()) / 2, rel=1e-12)


@given(priors, st.floats(0, 50), st.floats(0, 50))
def test_success_rises_with_epsilon_between_guessing_and_certainty(prior, one, other):
    low, high = (PureDP(e).success(prior) for e in sorted((one, other)))
    assert max(prior, 1 - prior) <= low <= high + 1e-15 <= 1 + 1e-15


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(priors, st.sampled_from(GUARANTEES))
def test_success_is_the_same_for_both_neighbours(prior, guarantee):
    assert guarantee.success(prior) == pytest.approx(guarantee.success(1 - prior), abs=1e-12)
    assert max(prior, 1 - prior) <= guarantee.success(prior) <= 1


@pytest.mark.parametrize("prior", [0.2, 0.5, 0.7])
def test_a_halved_bound_on_success_is_refuted_by_an_attack(prior):
    first, second = randomised_response(2.0)
    attack = prior * first[0] + (1 - prior) * second[1]  # believe the answer
    assert attack > PureDP(1.0).success(prior)
    assert attack <= PureDP(2.0).success(prior) + 1e-15


# Advantage and power


def test_the_advantage_is_the_total_variation_distance():
    first, second = randomised_response(1.3)
    assert PureDP(1.3).advantage() == pytest.approx(first[0] - second[0], rel=1e-14)
    assert GaussianDP(2.0).advantage() == pytest.approx(2 * norm.cdf(1.0) - 1, rel=1e-14)
    assert ApproximateDP(0.0, 0.25).advantage() == 0.25


@pytest.mark.sampled(1)
@every_guarantee
def test_no_power_beats_the_advantage(guarantee):
    rates = np.linspace(0, 1, 41)
    power = np.array([guarantee.true_positive_rate(rate) for rate in rates])
    assert (power - rates).max() <= guarantee.advantage() + 1e-9
    assert power == pytest.approx([1 - guarantee.trade_off(rate) for rate in rates])


@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.3, 1.0, 6.0, 20.0])
def test_the_tangents_of_a_bare_profile_trace_the_gaussian_curve(mu):
    guarantee = Bare(GaussianDP(mu))
    for rate in (0.0, 1e-100, 1e-20, 1e-5, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0):
        exact = GaussianDP(mu).trade_off(rate)
        # Never above, which would overstate privacy, and as good as exact.
        assert exact - 1e-12 <= guarantee.trade_off(rate) <= exact + 1e-14


@pytest.mark.parametrize("of", [PureDP(1e-3), PureDP(2.0), ApproximateDP(1.0, 0.1)], ids=str)
def test_the_tangents_of_a_bare_profile_find_its_corners(of):
    for rate in np.linspace(0, 1, 41):
        assert Bare(of).trade_off(rate) == pytest.approx(of.trade_off(rate), abs=1e-12)


# Posterior


@given(st.floats(1e-12, 1 - 1e-12), st.floats(0, 30))
def test_the_posterior_of_randomised_response_is_attained(prior, epsilon):
    (p, _), (q, _) = randomised_response(epsilon)
    believed = prior * p / (prior * p + (1 - prior) * q)
    assert PureDP(epsilon).posterior(prior) == pytest.approx(believed, rel=1e-9)


@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("share", [1e-300, 1e-20, 1e-5, 0.1, 0.4])
def test_the_posterior_is_that_of_an_attack_that_merges_the_most_telling_outputs(mu, share):
    """Telling only whether x > c, of probability ``share`` under N(mu, 1), is mu-GDP as well."""
    loss = math.log(share) - norm.logcdf(norm.ppf(share) - mu)
    for prior in (1e-3, 0.5):
        odds = math.log(prior / (1 - prior)) + loss
        bound = GaussianDP(mu).posterior(prior, share)
        assert bound == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-9)
        # Half of mu is refuted by that attack.
        assert bound == 1 or GaussianDP(mu / 2).posterior(prior, share) < bound


def test_the_posterior_of_no_bound_and_of_certainty():
    assert GaussianDP(1.0).posterior(0.2) == 1.0
    assert ApproximateDP(1.0, 1e-5).posterior(0.2, 1e-5) == 1.0
    assert ApproximateDP(1.0, 1e-5).posterior(0.2, 1e-3) < 0.5
    assert ZeroConcentratedDP(0.0).posterior(0.2, 0.1) == pytest.approx(0.2)
    assert [PureDP(1.0).posterior(prior) for prior in (0, 1)] == [0, 1]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(GUARANTEES[:4]), st.floats(0.01, 0.99), st.floats(0, 0.9), st.floats(0, 0.9))
def test_the_posterior_falls_with_the_share_left_out_and_is_no_less_than_the_prior(
    guarantee, prior, one, other
):
    high, low = (guarantee.posterior(prior, share) for share in sorted((one, other)))
    assert prior * (1 - 1e-12) <= low <= high * (1 + 1e-9)


# Arguments


@every_guarantee
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, None, "0.5", True])
def test_bad_arguments_are_refused_by_name(guarantee, value):
    for name, question in (
        ("prior", guarantee.success),
        ("prior", guarantee.posterior),
        ("delta", lambda share: guarantee.posterior(0.5, share)),
        ("false_positive_rate", guarantee.true_positive_rate),
    ):
        with pytest.raises(InvalidArgument, match=f"^{name}: got"):
            question(value)


# Log space


def gaussian_log_delta(mu, epsilon):
    with mpmath.workdps(50):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        # The normal distribution's tail of 1000 sigmas, to 50 digits.
        tail = [mpmath.erfc((epsilon / mu + s * mu / 2) / mpmath.sqrt(2)) / 2 for s in (-1, 1)]
        return float(mpmath.log(tail[0] - mpmath.exp(epsilon) * tail[1]))


@pytest.mark.parametrize("epsilon", [0.5, 10.0, 40.0, 300.0])
def test_log_delta_goes_on_where_delta_is_rounded_to_zero(epsilon):
    exact = gaussian_log_delta(1.0, epsilon)
    assert GaussianDP(1.0).log_delta(epsilon) == pytest.approx(exact, rel=1e-12)
    assert exact <= ZeroConcentratedDP(0.5).log_delta(epsilon) <= exact + 3 + math.log1p(epsilon)
    assert Bare(GaussianDP(1.0)).log_delta(epsilon) >= exact * (1 + 1e-12)


@every_guarantee
def test_log_delta_is_the_logarithm_of_delta(guarantee):
    for epsilon in (0.0, 0.2, 0.7, 3.0):
        assert math.exp(guarantee.log_delta(epsilon)) == pytest.approx(guarantee.delta(epsilon))


def test_log_delta_is_minus_infinity_only_where_delta_is_zero():
    assert PureDP(1.0).log_delta(1.0) == ZeroConcentratedDP(0.0).log_delta(0.0) == -math.inf
    assert -745 < Bare(GaussianDP(1.0)).log_delta(60.0) < -744
