"""Reconstruction robustness: closed forms, mechanisms that attain them, and simulated guessers."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.integrate import quad
from scipy.stats import norm

from dpaudit.attacks.reconstruction.bound import candidates_success, reconstruction_success
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, ZeroConcentratedDP

GUARANTEES = (
    PureDP(0.0),
    PureDP(1.0),
    PureDP(12.0),
    ApproximateDP(1.0, 1e-5),
    ApproximateDP(0.0, 0.2),
    GaussianDP(0.0),
    GaussianDP(1.0),
    GaussianDP(4.0),
    ZeroConcentratedDP(0.5),
)
PRIORS = (0.0, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1.0)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("kappa", PRIORS)
def test_it_is_one_minus_the_trade_off(guarantee, kappa):
    found = reconstruction_success(guarantee, kappa)
    assert found == pytest.approx(1 - guarantee.trade_off(kappa), abs=1e-12)
    assert kappa <= found * (1 + 1e-12) <= 1 + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 900.0])
@pytest.mark.parametrize("kappa", [1e-300, 1e-9, 0.2, 0.99])
def test_pure_guarantees_have_the_published_form(epsilon, kappa):
    steep = math.exp(epsilon + math.log(kappa)) if epsilon + math.log(kappa) < 0 else 1.0
    expected = min(steep, 1 - math.exp(-epsilon) * (1 - kappa))
    assert reconstruction_success(PureDP(epsilon), kappa) == pytest.approx(expected, rel=1e-12)


def test_a_gaussian_at_tiny_priors_keeps_its_digits():
    kappa = 1e-40
    expected = math.exp(norm.logcdf(norm.ppf(kappa) + 2.0))
    assert reconstruction_success(GaussianDP(2.0), kappa) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_it_grows_and_bends_down(guarantee):
    values = [reconstruction_success(guarantee, k) for k in np.linspace(0, 1, 41)]
    assert np.all(np.diff(values) >= -1e-12)
    if not isinstance(guarantee, ZeroConcentratedDP):  # its curve comes from a search
        assert np.all(np.diff(values, 2) <= 1e-9)


@pytest.mark.parametrize("candidates", [2, 5, 100])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_pure_mechanism_attains_it(candidates, epsilon):
    # Without the record the output is uniform; with it, the record is e^epsilon times as likely.
    kappa = 1 / candidates
    right = math.exp(epsilon) * kappa
    others = (1 - right) / (candidates - 1)
    if right <= 1 and others >= math.exp(-epsilon) * kappa:  # an epsilon-DP mechanism
        assert reconstruction_success(PureDP(epsilon), kappa) == pytest.approx(right)
    else:
        assert reconstruction_success(PureDP(epsilon), kappa) < right


@pytest.mark.parametrize("candidates", [2, 3, 10, 1000])
@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_guessers_of_orthogonal_gaussians_stay_below_it_and_come_close(candidates, mu):
    # Record j moves the output by mu along axis j: the best guess is the largest coordinate.
    right = quad(lambda x: norm.pdf(x - mu) * norm.cdf(x) ** (candidates - 1), -10, 20)[0]
    bound = reconstruction_success(GaussianDP(mu), 1 / candidates)
    assert right <= bound
    if candidates == 1000:
        assert right >= 0.75 * bound


def test_a_simulated_guesser_stays_below_it():
    rng, mu, runs = default_rng(3), 1.5, 20_000
    record = rng.integers(20, size=runs)
    outputs = rng.standard_normal((runs, 20))
    outputs[np.arange(runs), record] += mu
    rate = (outputs.argmax(axis=1) == record).mean()
    bound = reconstruction_success(GaussianDP(mu), 1 / 20)
    assert 0.7 * bound < rate < bound + 3 * math.sqrt(bound / runs)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
@pytest.mark.parametrize("candidates", [2, 3, 4, 10, 1000])
def test_candidates_are_the_best_split_of_the_reference(guarantee, candidates):
    found, others = candidates_success(guarantee, candidates), candidates - 1
    searched = isinstance(guarantee, ZeroConcentratedDP)
    shares = np.linspace(0, 1, 9 if searched else 501)
    best = max(
        (x + others * reconstruction_success(guarantee, (1 - x) / others)) / candidates
        for x in shares.tolist()
    )
    assert best <= found + 1e-12
    assert found <= reconstruction_success(guarantee, 1 / candidates)
    if not searched:
        assert found == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_two_candidates_are_told_apart_as_two_neighbours_are(guarantee):
    assert candidates_success(guarantee, 2) == pytest.approx(guarantee.success(0.5))


@pytest.mark.parametrize("candidates", [2, 3, 8])
def test_randomised_response_attains_the_bound_on_candidates_at_two_only(candidates):
    epsilon = 1.0
    right = math.exp(epsilon) / (math.exp(epsilon) + candidates - 1)
    bound = candidates_success(PureDP(epsilon), candidates)
    assert right <= bound + 1e-12
    if candidates == 2:
        assert right == pytest.approx(bound)


@pytest.mark.parametrize("kappa", [-0.1, 1.1, math.nan, "half"])
def test_a_prior_that_is_no_probability_is_refused(kappa):
    with pytest.raises(InvalidArgument, match="prior_success"):
        reconstruction_success(PureDP(1.0), kappa)


@pytest.mark.parametrize("candidates", [1, 0, 2.0, True])
def test_too_few_candidates_are_refused(candidates):
    with pytest.raises(InvalidArgument, match="candidates"):
        candidates_success(PureDP(1.0), candidates)


@pytest.mark.parametrize("candidates", [5, 11, 101])
@pytest.mark.parametrize("factor", [1.0002, 1.0008, 1.01])
def test_the_best_split_just_before_the_end_is_found(candidates, factor):
    """The gain peaks where e^y meets its complement, a little before 1 / (N - 1)."""
    guarantee, others = PureDP(math.log((candidates - 1) * factor - 1)), candidates - 1
    splits = np.linspace(0.97, 1, 20_001) / others
    epsilon = guarantee.at_epsilon
    right = np.minimum(np.exp(epsilon) * splits, 1 - np.exp(-epsilon) * (1 - splits))
    best = (1 + others * (right - splits).max()) / candidates
    assert candidates_success(guarantee, candidates) >= best - 1e-12
    assert candidates_success(guarantee, candidates) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("epsilon", [700.0, 740.0, 744.0, 746.0, 1000.0, 1e6])
def test_where_nothing_is_promised_the_right_candidate_may_always_be_found(epsilon):
    for guarantee in (PureDP(epsilon), ApproximateDP(epsilon, 1e-5), GaussianDP(epsilon)):
        assert candidates_success(guarantee, 3) == pytest.approx(1)
