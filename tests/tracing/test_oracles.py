"""The oracles, each against a second computation."""

import math

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.guarantees.kinds import GaussianDP
from tests.tracing import oracles

DRAWS = 200_000


def measured_delta(losses, epsilon):
    """Return the delta that losses of draws show, with its standard error."""
    each = np.maximum(-np.expm1(epsilon - losses), 0.0)
    return each.mean(), each.std() / math.sqrt(len(each))


def assert_meets(oracle, delta, *losses):
    """Check that draws show no more than delta in either direction, and all of it in one."""
    shown = [measured_delta(one, oracle) for one in losses]
    assert all(mean <= delta + 5 * error for mean, error in shown)
    assert any(abs(mean - delta) <= 5 * error for mean, error in shown)


def assert_tells_factors(oracle, delta, *losses):
    """Check that draws refute nine tenths and eleven tenths of an epsilon."""
    less = [measured_delta(one, 0.9 * oracle) for one in losses]
    more = [measured_delta(one, 1.1 * oracle) for one in losses]
    assert any(mean > delta + 5 * error for mean, error in less)
    assert all(mean < delta - 5 * error for mean, error in more)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_gaussian_ones_agree_with_guarantees(mu, delta):
    assert oracles.gaussian(mu, delta) == pytest.approx(GaussianDP(mu).epsilon(delta), rel=1e-6)


def test_without_delta_gaussian_ones_have_no_end():
    assert oracles.gaussian(0.5, 0.0) == math.inf
    assert oracles.gaussian(0.0, 0.0) == 0.0


def test_gaussian_movements_add_up_by_squares():
    assert oracles.composed_mu([3.0, 4.0], 2.0) == 2.5


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("count", [1, 8])
def test_sampled_gaussian_ones_agree_with_the_accountant(rate, count):
    release = dpaudit.PoissonSubsampledGaussian(
        sampling_ratio=rate, noise_multiplier=1.0, count=count
    )
    proved = dpaudit.account(release, 1e-3).proved
    assert proved.lower - 1e-4 < oracles.sampled_gaussian(rate, 1.0, count, 1e-3)
    assert oracles.sampled_gaussian(rate, 1.0, count, 1e-3) < proved.upper + 1e-4


def test_known_coins_tell_what_their_losses_do():
    rng = np.random.default_rng(0)
    mu, delta = 0.8, 0.01
    times = rng.binomial(4, 0.3, DRAWS)
    losses = times * mu**2 / 2 + np.sqrt(times) * mu * rng.standard_normal(DRAWS)
    oracle = oracles.gaussian_given_coins(0.3, mu, 4, delta)
    assert_meets(oracle, delta, losses)
    assert_tells_factors(oracle, delta, losses)


def test_known_coins_tell_more_than_secret_ones():
    secret = oracles.sampled_gaussian(0.3, 1.0, 4, 1e-3)
    known = oracles.gaussian_given_coins(0.3, 1.0, 4, 1e-3)
    assert secret < known < oracles.gaussian(2.0, 1e-3)


@pytest.mark.parametrize("scales", [(1.0, 2.0), (2.0, 1.0), (1.0, 1.01)])
def test_spherical_ones_tell_what_their_losses_do(scales):
    rng = np.random.default_rng(1)
    delta, apart = 0.02, np.array([1.5, 0.0, 0.0])
    first = stats.multivariate_normal(np.zeros(3), scales[0] ** 2)
    second = stats.multivariate_normal(apart, scales[1] ** 2)
    one, other = (law.rvs(DRAWS, random_state=rng) for law in (first, second))
    forth = first.logpdf(one) - second.logpdf(one)
    back = second.logpdf(other) - first.logpdf(other)
    oracle = oracles.spherical_gaussians(1.5, scales, 3, delta)
    assert_meets(oracle, delta, forth, back)
    assert_tells_factors(oracle, delta, forth, back)


def test_spherical_ones_of_one_scale_are_gaussian():
    oracle = oracles.spherical_gaussians(1.0, (1.0, 1.001), 2, 1e-3)
    assert oracle == pytest.approx(oracles.gaussian(1.0, 1e-3), abs=0.02)


@pytest.mark.parametrize("delta", [1e-4, 0.01, 0.2])
def test_the_grid_holds_the_closed_form_of_one_laplace_release(delta):
    low, high = oracles.composed_bracket([oracles.laplace_losses(0.7)], 0.7, delta)
    assert low <= oracles.laplace([0.7], delta) + 1e-9
    assert oracles.laplace([0.7], delta) <= high + 1e-9
    assert high - low < 1e-3


def test_laplace_ones_tell_what_their_losses_do():
    rng = np.random.default_rng(2)
    delta, movements = 0.05, np.array([0.5, -1.0, 0.25])
    noise = rng.laplace(size=(DRAWS, 3))
    losses = (np.abs(noise - movements) - np.abs(noise)).sum(axis=1)
    oracle = oracles.laplace(movements, delta)
    assert_meets(oracle, delta, losses)
    assert_tells_factors(oracle, delta, losses)


def test_laplace_ones_without_delta_add_up():
    assert oracles.laplace([0.5, -1.0, 0.0], 0.0) == 1.5
    assert oracles.laplace([0.0], 0.1) == 0.0


def test_finite_ones_are_of_both_directions():
    # One may exceed twice the other by 0.2 in this direction, and not at all in that one.
    first, second = [0.5, 0.5], [0.15, 0.85]
    assert oracles.finite(first, second, 0.0) == pytest.approx(math.log(0.5 / 0.15))
    assert oracles.finite(first, second, 0.2) == pytest.approx(math.log(2))
    assert oracles.finite(second, first, 0.2) == pytest.approx(math.log(2))
    assert oracles.finite([1.0, 0.0], [0.5, 0.5], 0.0) == math.inf


def test_products_are_those_of_all_sequences():
    law = oracles.product_law([[0.25, 0.75], [0.5, 0.5]])
    assert law.tolist() == [0.125, 0.125, 0.375, 0.375]


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.1])
def test_densities_on_the_line_have_the_closed_form(delta):
    breaks = [-40.0, -10.0, 0.0, 0.4, 0.8, 10.0, 40.0]
    pair = oracles.laplace_density(0.0, 1.0), oracles.laplace_density(0.8, 1.0)
    oracle = oracles.on_the_line(*pair, breaks, delta)
    assert oracle == pytest.approx(oracles.laplace([0.8], delta), abs=2e-3)


def test_an_argmax_with_gumbel_noise_is_a_softmax():
    scores = np.array([1.0, 2.0, 0.5])
    chances = oracles.chances_of_argmax(scores, stats.gumbel_r(scale=2.0))
    expected = np.exp(scores / 2)
    assert chances == pytest.approx(expected / expected.sum(), rel=1e-8)


def test_an_argmax_of_two_with_laplace_noise_has_a_closed_form():
    # Two noises of scale b differ by more than x = 1.5 b with the odds exp(-x / b) (2 + x / b) / 4.
    below, above = oracles.chances_of_argmax([0.0, 3.0], stats.laplace(scale=2.0))
    assert below == pytest.approx(math.exp(-1.5) * 3.5 / 4, rel=1e-9)
    assert below + above == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("limit_scale", [0.0, 2.0])
def test_the_first_above_a_limit_is_as_often_as_drawn(limit_scale):
    rng = np.random.default_rng(3)
    centres = np.array([0.0, 1.0, 3.0])
    limits = 2.0 + limit_scale * rng.laplace(size=(DRAWS, 1))
    above = centres + rng.laplace(scale=4.0, size=(DRAWS, 3)) > limits
    first = np.where(above.any(axis=1), above.argmax(axis=1), 3)
    chances = oracles.chances_of_first_above(centres, 4.0, 2.0, limit_scale)
    errors = np.sqrt(chances * (1 - chances) / DRAWS)
    assert chances.sum() == pytest.approx(1.0, abs=1e-10)
    assert (np.abs(np.bincount(first, minlength=4) / DRAWS - chances) < 5 * errors).all()
