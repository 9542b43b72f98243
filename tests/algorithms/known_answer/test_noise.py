"""True epsilons of added noise: against densities, quadrature and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.algorithms.known_answer.gaussian import Gaussian, SubsampledGaussian
from dpaudit.algorithms.known_answer.laplace import (
    FloatingPointLaplace,
    NoisyHistogram,
    ParallelLaplace,
    PrefixSum,
)
from dpaudit.algorithms.known_answer.norm import ExponentialNorm

# Laplace noise: densities and distribution functions of another library


@pytest.mark.parametrize("name", ["laplace", "laplace-half-noise"])
def test_laplace(name):
    mechanism = KNOWN_ANSWERS[name].mechanism
    scale = 1.0 if name == "laplace" else 0.5
    noise = stats.laplace(scale=scale)
    loss = noise.logpdf(np.linspace(-9, 9, 999)) - noise.logpdf(np.linspace(-9, 9, 999) - 1)
    assert np.abs(loss).max() == pytest.approx(mechanism.true_epsilon)
    assert math.log(noise.cdf(0) / noise.cdf(-1)) == pytest.approx(mechanism.event_epsilon)


@pytest.mark.parametrize("inverted", [False, True])
def test_noisy_histogram(inverted):
    mechanism = NoisyHistogram(epsilon=0.2, inverted=inverted)
    noise = stats.laplace(scale=0.2 if inverted else 5.0)
    event = noise.cdf(0) / noise.cdf(-1)  # of the one count that differs
    assert math.log(event) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("mechanism", [ParallelLaplace(epsilon=0.7), PrefixSum(epsilon=2.0)])
def test_repeated_laplace(mechanism):
    pair = mechanism.pair()
    count = mechanism.sample(pair.dataset, 1, np.random.default_rng(0)).shape[1]
    noise = stats.laplace(scale=count / mechanism.epsilon)
    of_all = count * (noise.logcdf(0) - noise.logcdf(-1))
    assert of_all == pytest.approx(mechanism.event_epsilon)
    grid = np.linspace(-50, 50, 2001)
    worst = np.abs(noise.logpdf(grid) - noise.logpdf(grid - 1)).max()
    assert count * worst == pytest.approx(mechanism.true_epsilon)


def test_floats_around_one_are_multiples_and_around_zero_are_not():
    rng = np.random.default_rng(0)
    noise = rng.choice([-1, 1], 100_000) * 2.0 ** rng.uniform(-80, 10, 100_000)
    noise = np.append(noise, [np.nextafter(1.5, 2) * -1, -0.5, np.nextafter(-0.5, 0)])
    assert all((Fraction(x) * 2**53).denominator == 1 for x in (1.0 + noise).tolist())
    drawn = -np.log(1 - np.arange(1, 20) / 64)  # noises that the mechanism can draw around 0
    finer = np.array([(Fraction(x) * 2**53).denominator > 1 for x in drawn.tolist()])
    assert finer.any()
    mechanism = FloatingPointLaplace()
    np.testing.assert_array_equal(np.isinf(mechanism.score(drawn)), finer)
    assert np.isfinite(mechanism.score(1 + noise)).all()


# Gaussian noise: the profile by quadrature


def hockey_stick(p, q, epsilon):
    """Return the integral of ``(p - e^epsilon q)_+`` on a fine grid."""
    grid = np.linspace(-40, 40, 800_001)
    return integrate.simpson(np.maximum(p(grid) - math.exp(epsilon) * q(grid), 0), x=grid)


def test_gaussian():
    mechanism = Gaussian(epsilon=0.9, delta=1e-3)
    scale = math.sqrt(2 * math.log(1250)) / 0.9
    p, q = stats.norm(1, scale).pdf, stats.norm(0, scale).pdf
    assert hockey_stick(p, q, mechanism.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert hockey_stick(p, q, mechanism.claimed_epsilon) < 1e-3


def test_subsampled_gaussian():
    honest, broken = SubsampledGaussian(), SubsampledGaussian(fixed_batch=True)
    without, with_it = stats.norm(0, 1).pdf, stats.norm(1, 1).pdf

    def mixed(x):
        return 0.9 * without(x) + 0.1 * with_it(x)

    assert hockey_stick(mixed, without, honest.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert hockey_stick(without, mixed, honest.true_epsilon) < 1e-3
    assert hockey_stick(with_it, without, broken.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert broken.claimed_epsilon == honest.true_epsilon


# Exponential-norm noise, d = 3, in the distance to one centre and the cosine


@pytest.mark.slow
def test_norm_noise_attains_its_epsilon_on_a_narrow_cone():
    def edge(r, slack):
        """Return the cosine below which the other centre is ``1 - slack`` further away."""
        return np.clip((r**2 + 1 - (r + 1 - slack) ** 2) / (2 * r), -1, 1)

    def chance(slack, loss):
        def inner(c, r):
            return (
                stats.gamma.pdf(r, 3) / 2 * math.exp(-loss * (math.sqrt(r**2 + 1 - 2 * r * c) - r))
            )

        return integrate.dblquad(inner, 1e-9, 60, -1, lambda r: edge(r, slack))[0]

    for slack in (0.1, 0.01):
        ratio = math.log(chance(slack, 0.0) / chance(slack, 1.0))
        assert 1 - slack < ratio < 1
    points = np.random.default_rng(0).normal(0, 4, (10_000, 3))
    assert np.abs(ExponentialNorm(epsilon=2.0).score(points)).max() <= 2


def test_norm_noise_of_the_wrong_radius_has_no_epsilon():
    def elsewhere(radius):
        """Return the chance of a ball around the centre, for noise around a unit vector."""

        def inner(c, r):
            far = math.sqrt(r**2 + 1 - 2 * r * c)
            return r**2 / 2 * math.exp(-far) / far**2

        return integrate.dblquad(inner, 0, radius, -1, 1)[0]

    ratios = [math.log(-math.expm1(-r) / elsewhere(r)) for r in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(np.diff(ratios), 2 * math.log(10), rtol=0.05)
