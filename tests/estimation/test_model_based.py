"""Numbers that rest on a model: right where it holds, and shown to over-claim where it does not."""

import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.model_estimates import (
    EventCounts,
    bayesian_interval,
    compute_posterior,
    gaussian_epsilon,
    gaussian_mu,
    model_based,
)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("threshold", [-0.5, 0.5, 1.2])
def test_the_fit_of_a_gaussian_pair_is_right(mu, threshold):
    n = 10**9
    counts = EventCounts(round(n * norm.cdf(mu - threshold)), n, round(n * norm.cdf(-threshold)), n)
    assert gaussian_mu(counts) == pytest.approx(mu, abs=1e-4)
    delta = norm.cdf(mu / 2 - 3.0 / mu) - math.exp(3.0) * norm.cdf(-mu / 2 - 3.0 / mu)
    assert gaussian_epsilon(counts, delta) == pytest.approx(3.0, abs=1e-2)


def test_the_gaussian_fit_of_laplace_noise_is_far_above_the_truth():
    """Its loss is bounded by 1; the model does not know: that is why it is no certificate."""
    n = 100_000
    counts = EventCounts(n // 2, n, round(n * 0.5 * math.exp(-1)), n)
    assert gaussian_epsilon(counts, 1e-5) > 3.5


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_the_posterior_is_what_draws_of_the_rates_say(epsilon, delta):
    counts = EventCounts(60, 100, 20, 100)
    rng = np.random.default_rng(0)
    p = beta.rvs(60.5, 40.5, size=200_000, random_state=rng)
    q = beta.rvs(20.5, 80.5, size=200_000, random_state=rng)
    grown = math.exp(epsilon)
    allowed = (
        (p <= grown * q + delta)
        & (q <= grown * p + delta)
        & (1 - q <= grown * (1 - p) + delta)
        & (1 - p <= grown * (1 - q) + delta)
    )
    assert compute_posterior(counts, delta, epsilon) == pytest.approx(allowed.mean(), abs=0.005)


def test_the_credible_interval_narrows_onto_the_events_epsilon():
    n = 10**6
    p = math.e / (1 + math.e)
    low, high = bayesian_interval(EventCounts(round(n * p), n, round(n * (1 - p)), n), 0.0, 0.95)
    assert low < 1 < high
    assert high - low < 0.01


def test_swapped_sides_have_the_same_posterior():
    one, other = EventCounts(60, 100, 20, 100), EventCounts(20, 100, 60, 100)
    assert compute_posterior(one, 0.01, 0.8) == pytest.approx(
        compute_posterior(other, 0.01, 0.8), abs=1e-4
    )


def test_all_are_offered_with_what_they_assume_and_none_that_is_infinite():
    counts = EventCounts(60, 100, 20, 100)
    names = [one.name for one in model_based(counts, 1e-5, 0.95)]
    assert names == ["Gaussian fit", "Bayesian interval"]
    assert [one.name for one in model_based(counts, 0.0, 0.95)] == ["Bayesian interval"]


@pytest.mark.parametrize("counts", [(5, 3, 0, 3), (-1, 3, 0, 3), (0, 0, 0, 3), (1.5, 3, 0, 3)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(InvalidArgument):
        EventCounts(*counts)
