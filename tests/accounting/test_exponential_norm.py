"""Exponential-norm noise: the closed form against the definition, in 50 digits and sampled."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting.events import ExponentialNormRelease, LaplaceRelease
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.closed_forms import LaplacePair
from dpaudit.accounting.pairs.exponential_norm import ExponentialNormPair, bessel_ratio, pair_of
from dpaudit.accounting.pairs.pair import characteristic_of, log_mgf_of
from dpaudit.errors import InvalidArgument

CASES = [(2, 0.5), (3, 0.5), (4, 3.0), (10, 0.5), (10, 20.0), (105, 0.5), (105, 30.0)]


def release(shift, dimension, count=1):
    return ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )


def density_by_definition(dimension, shift, loss):
    """Return the density of ``||e + v|| - ||e||``, by a quadrature over ``r = ||e|| ~ Gamma(d)``.

    Given r the loss is x at the cosine ``(2 r x + x^2 - s^2) / (2 r s)``.
    """
    d, s, x = mpmath.mpf(dimension), mpmath.mpf(shift), mpmath.mpf(loss)
    least = (s - x) / 2
    beta = mpmath.beta(mpmath.mpf(1) / 2, (d - 1) / 2)

    def integrand(t):  # r = least + t^2 takes the root at the lower end away
        r = least + t * t
        radial = mpmath.exp(-r) * r ** (d - 1) / mpmath.gamma(d)
        # 1 - c and 1 + c without cancellation
        above = (s - x) * (2 * r + s + x) / (2 * r * s)
        below = (s + x) * t * t / (r * s)
        angular = (above * below) ** ((d - 3) / 2) / beta
        return radial * angular * (r + x) / (r * s) * 2 * t

    middle = mpmath.sqrt(max(d - least, 1))
    ends = [0, middle / 2, middle, middle + 3, middle + 8, middle + 20]
    return mpmath.quad(integrand, ends)


def whole(pair):
    return pair.atoms(np.array([-np.inf, np.inf]))


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "shift"), CASES)
def test_density_is_the_definition_s(dimension, shift):
    pair = ExponentialNormPair(shift, dimension)
    with mpmath.workdps(50):
        for share in (-0.95, -0.3, 0.0, 0.02, 0.5, 0.99):
            angle = math.asin(share)
            ours = math.exp(pair.log_density(np.array(angle))) / (shift * math.cos(angle))
            exact = density_by_definition(dimension, shift, shift * math.sin(angle))
            assert ours == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "shift"), [(3, 0.7), pytest.param(8, 2.0, marks=pytest.mark.slow)]
)
def test_moments_are_the_definition_s(dimension, shift):
    pair = ExponentialNormPair(shift, dimension)
    d, s = mpmath.mpf(dimension), mpmath.mpf(shift)
    beta = mpmath.beta(mpmath.mpf(1) / 2, (d - 1) / 2)
    for order in (-2.0, 3.0):

        def integrand(r, angle, order=order):
            square = r * r + 2 * r * s * mpmath.cos(angle) + s * s
            loss = mpmath.sqrt(abs(square)) - r
            weight = mpmath.exp(-r) * r ** (d - 1) / mpmath.gamma(d)
            return mpmath.exp(order * loss) * weight * mpmath.sin(angle) ** (d - 2) / beta

        with mpmath.workdps(15):
            exact = mpmath.quad(integrand, [0, s, d, 3 * d + 25], [0, mpmath.pi], maxdegree=4)
        assert float(pair.log_mgf(np.array(order))) == pytest.approx(
            float(mpmath.log(exact)), abs=1e-7
        )


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 105, 1000, 10_000])
@pytest.mark.parametrize("shift", [1e-6, 1e-3, 0.5, 30.0, 1e3])
def test_likelihood_ratio_has_mean_one_and_the_pair_is_symmetric(dimension, shift):
    pair = pair_of(shift, dimension)
    # orders at which no moment passes what a number can hold
    orders = np.array([-1.0, 0.0])
    np.testing.assert_allclose(pair.log_mgf(orders), 0, atol=1e-10)
    np.testing.assert_allclose(log_mgf_of(whole(pair), orders), 0, atol=1e-9)
    pairs = np.array([0.3, 1.0, 4.0])
    np.testing.assert_allclose(pair.log_mgf(pairs), pair.log_mgf(-1 - pairs), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("dimension", "shift"), CASES)
def test_closed_moments_are_those_of_the_atoms(dimension, shift):
    pair = ExponentialNormPair(shift, dimension)
    orders = np.array([-3.0, -0.5, 0.1, 2.0, 10.0])
    atoms = whole(pair)
    np.testing.assert_allclose(pair.log_mgf(orders), log_mgf_of(atoms, orders), rtol=1e-10)
    frequencies = np.array([0.0, 0.3, 2.0, 7.0])
    for order in (0.5, 3.0):
        ours = pair.characteristic(order, frequencies)
        exact = characteristic_of(atoms, order, frequencies)
        np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-12)


def test_moments_in_fifty_digits():
    for dimension, shift, order in ((2, 0.5, 3.0), (105, 0.5, 300.0), (10_000, 30.0, 25.0)):
        with mpmath.workdps(50):
            d, z = mpmath.mpf(dimension), mpmath.mpf(shift) / 2
            nu = d / 2 - 1
            kappa = (d - 1) / z * mpmath.besselk(nu + 1, z) / mpmath.besselk(nu, z)

            def g(y, d=d, kappa=kappa):
                half = mpmath.mpf(1) / 2
                first = mpmath.beta(half, (d - 1) / 2) * mpmath.hyp0f1(d / 2, y * y / 4)
                second = mpmath.beta(half, (d + 1) / 2) * mpmath.hyp0f1(d / 2 + 1, y * y / 4)
                return kappa * first + second

            exact = mpmath.log(g((1 + 2 * mpmath.mpf(order)) * z) / g(z))
        ours = float(ExponentialNormPair(shift, dimension).log_mgf(np.array(order)))
        assert ours == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("dimension", [2, 3, 4, 11, 104, 1001])
@pytest.mark.parametrize("z", [1e-3, 0.25, 20.0])
def test_ratio_of_bessel_functions(dimension, z):
    with mpmath.workdps(50):
        nu = mpmath.mpf(dimension) / 2
        exact = mpmath.besselk(nu, z) / mpmath.besselk(nu - 1, z)
    assert bessel_ratio(dimension, z) == pytest.approx(z * float(exact), rel=1e-13)


@pytest.mark.parametrize("shift", [1e-3, 0.5, 4.0])
def test_one_dimension_is_laplace(shift):
    assert pair_of(shift, 1) == LaplacePair(shift)
    for count in (1, 7):
        laplace = LaplaceRelease(sensitivity=shift, noise_scale=1.0, count=count)
        assert numerical_epsilon(release(shift, 1, count), 1e-6) == numerical_epsilon(laplace, 1e-6)


@pytest.mark.parametrize(("dimension", "shift"), [(1, 0.0), (1, -1.0), (0, 1.0), (2.0, 1.0)])
def test_refuses(dimension, shift):
    with pytest.raises(InvalidArgument):
        pair_of(shift, dimension)


def sampled_delta(rng, dimension, shift, epsilon, size, batch=500_000):
    """Return the mean and its standard error of ``max(0, 1 - exp(epsilon - L))`` for real noise."""
    total = squares = 0.0
    for start in range(0, size, batch):
        n = min(batch, size - start)
        radius = rng.gamma(dimension, size=n)
        if dimension == 1:
            cosine = rng.choice([-1.0, 1.0], size=n)
        else:
            half = (dimension - 1) / 2
            cosine = 2 * rng.beta(half, half, size=n) - 1
        loss = np.sqrt(radius**2 + 2 * radius * shift * cosine + shift**2) - radius
        value = np.maximum(0.0, -np.expm1(epsilon - loss))
        total += value.sum()
        squares += (value**2).sum()
    mean = total / size
    return mean, math.sqrt(max(squares / size - mean**2, 0) / size)


def check_against_samples(dimension, size):
    rng = np.random.default_rng([20260101, dimension])
    for shift in (0.5, 4.0):
        for share in (0.0, 0.3):
            epsilon = share * shift / math.sqrt(dimension)
            bracket = numerical_delta(release(shift, dimension), epsilon)
            mean, error = sampled_delta(rng, dimension, shift, epsilon, size)
            outside = max(bracket.lower - mean, mean - bracket.upper, 0.0)
            assert outside / error < 4.5, (dimension, shift, epsilon, mean, error, bracket)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dimension", [1, 2, 10, 105])
def test_profile_is_that_of_sampled_noise(dimension):
    check_against_samples(dimension, 200_000)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2, 10, 105])
def test_profile_is_that_of_ten_million_samples(dimension):
    check_against_samples(dimension, 10_000_000)


@pytest.mark.parametrize(
    ("dimension", "expected"), [(1, 17.47), (2, 12.43), (10, 4.94), (105, 1.32)]
)
def test_fifty_releases(dimension, expected):
    bracket = numerical_epsilon(release(0.5, dimension, 50), 1e-5)
    assert bracket.upper == pytest.approx(expected, abs=0.01)
    assert bracket.width < 0.005 * bracket.upper
    assert numerical_epsilon(release(0.5, dimension, 50), 0.0).upper == pytest.approx(25)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.01, 30),
    st.floats(1.0, 3.0),
    st.sampled_from([1, 2, 3, 10, 105]),
    st.floats(0, 1),
    st.integers(1, 20),
)
def test_a_bigger_shift_never_has_a_smaller_profile(shift, factor, dimension, share, count):
    epsilon = share * shift * count
    small = numerical_delta(release(shift, dimension, count), epsilon, 2**12)
    large = numerical_delta(release(shift * factor, dimension, count), epsilon, 2**12)
    assert small.lower <= large.upper * (1 + 1e-12)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("shift", [1e-3, 0.5, 1e3])
@pytest.mark.parametrize("dimension", [2, 10_000])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
@pytest.mark.parametrize("count", [1, 1000])
def test_many_dimensions_and_huge_shifts(shift, dimension, delta, count):
    bracket = numerical_epsilon(release(shift, dimension, count), delta)
    assert 0 <= bracket.lower <= bracket.upper <= shift * count
    assert bracket.width <= 0.005 * bracket.upper


def test_a_tiny_shift_reveals_nothing_at_a_large_delta():
    for shift in (1e-30, 1e-160, 1e-300):
        assert numerical_epsilon(release(shift, 10), 1e-5).upper <= shift
