"""The tilted law of exponential-norm noise: its normaliser and its draws, against other ways."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpaudit.accounting.pairs.exponential_norm import ExponentialNormPair
from dpaudit.errors import InvalidArgument
from dpaudit.laws.exponential_norm import (
    _far_bessel,
    _short_of_one,
    draw_tilted,
    log_mgf,
    norm_gain,
)

DIMENSIONS = [2, 3, 4, 20, 104, 1000]


@pytest.mark.parametrize("tilt", [0.0, 0.5, 7.0, 100.0, 1e5, 1e9])
@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.3, 3.0, 40.0, 500.0])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_normaliser_is_the_accountant_s(dimension, size, tilt):
    expected = ExponentialNormPair(size, dimension).log_mgf(np.array([tilt]))[0]
    found = log_mgf(np.array(size), dimension, tilt)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "size", "tilt"),
    [
        (2, 0.7, 3.0),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((3, 2.0, 1.5), (6, 1.0, 4.0))),
    ],
)
def test_the_normaliser_is_the_integral_over_norm_and_cosine(dimension, size, tilt):
    """An oracle that knows no spheroidal coordinates: a two-dimensional quadrature."""

    def radial(angle):
        def integrand(r):
            far = mpmath.sqrt(r * r + 2 * r * size * mpmath.cos(angle) + size * size)
            weight = r ** (dimension - 1) * mpmath.sin(angle) ** (dimension - 2)
            return weight * mpmath.exp(-(1 + tilt) * r + tilt * far), weight * mpmath.exp(-r)

        top = mpmath.quad(lambda r: integrand(r)[0], [0, 1, 5, 15, 60])
        return top, mpmath.quad(lambda r: integrand(r)[1], [0, 1, 5, 15, 60])

    with mpmath.workdps(15):
        nodes, weights = np.polynomial.legendre.leggauss(40)
        parts = [radial(mpmath.pi * (x + 1) / 2) for x in nodes.tolist()]
        tops, plain = (
            sum(w * p[k] for w, p in zip(weights.tolist(), parts, strict=True)) for k in (0, 1)
        )
        expected = float(mpmath.log(tops / plain))
    assert log_mgf(np.array(size), dimension, tilt) == pytest.approx(expected, abs=1e-6)


def test_no_shift_and_no_tilt_have_a_normaliser_of_zero():
    assert log_mgf(np.zeros(2), 5, 3.0) == pytest.approx(0, abs=1e-15)
    assert log_mgf(np.array([1.0, 7.0]), 5, 0.0) == pytest.approx(0, abs=1e-15)


def test_the_normaliser_grows_with_the_shift_and_stays_below_its_largest_loss():
    sizes = np.geomspace(1e-8, 1e3, 200)
    for tilt in (0.1, 2.0, 50.0):
        found = log_mgf(sizes, 7, tilt)
        assert (np.diff(found) > 0).all()
        assert (found <= tilt * sizes).all()


def unit(dimension, rng):
    direction = rng.standard_normal(dimension)
    return direction / np.linalg.norm(direction)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("tilt", [0.0, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("size", [1e-3, 0.3, 3.0, 40.0])
@pytest.mark.parametrize("dimension", [2, 3, 20])
def test_losses_of_draws_have_the_tilted_law(dimension, size, tilt):
    rng = np.random.default_rng(3)
    shifts = np.tile(size * unit(dimension, rng), (5000, 1))
    losses = norm_gain(draw_tilted(shifts, tilt, rng), shifts)
    pair = ExponentialNormPair(size, dimension)
    angles = np.linspace(-math.pi / 2, math.pi / 2, 100_001)[1:-1]
    log_density = pair.log_density(angles) + tilt * pair.loss(angles)
    below = np.cumsum(np.exp(log_density - log_density.max()))
    law = lambda x: np.interp(x, pair.loss(angles), below / below[-1])  # noqa: E731
    assert stats.kstest(losses, law).pvalue > 1e-5


@pytest.mark.parametrize(
    ("dimension", "size", "tilt"), [(2, 1.0, 1.0), (3, 8.0, 0.4), (20, 2.0, 3.0)]
)
def test_weights_carry_draws_back_to_the_law_without_a_tilt(dimension, size, tilt):
    """Not only the loss: norm, a coordinate across the shift, and both together."""
    rng, count = np.random.default_rng(4), 60_000
    direction = unit(dimension, rng)
    shifts = np.tile(size * direction, (count, 1))
    noise = draw_tilted(shifts, tilt, rng)
    weights = np.exp(log_mgf(np.array(size), dimension, tilt) - tilt * norm_gain(noise, shifts))
    norms = stats.gamma(dimension).cdf(np.linalg.norm(noise, axis=1))
    across = unit(dimension, rng)
    across -= (across @ direction) * direction
    right = noise @ across > 0
    for event, chance in ((norms < 0.3, 0.3), (norms > 0.8, 0.2), (right & (norms < 0.5), 0.25)):
        terms = weights * event
        assert terms.mean() == pytest.approx(chance, abs=5 * terms.std() / math.sqrt(count))


def test_a_wrong_normaliser_shows_in_those_weights():
    """Negative control."""
    rng, count = np.random.default_rng(5), 60_000
    shifts = np.tile([1.0, 0.0, 0.0], (count, 1))
    losses = norm_gain(draw_tilted(shifts, 2.0, rng), shifts)
    weights = np.exp(log_mgf(np.array(1.05), 3, 2.0) - 2.0 * losses)
    assert abs(weights.mean() - 1) > 5 * weights.std() / math.sqrt(count)


def test_each_draw_has_its_own_shift_and_some_may_have_none():
    rng = np.random.default_rng(6)
    shifts = np.zeros((3, 4000, 5))
    shifts[1, :, 0], shifts[2, :, 1] = 2.0, -2.0
    noise = draw_tilted(shifts, 6.0, rng)
    assert noise.shape == shifts.shape
    means = noise.mean(axis=1)
    assert np.abs(means[0]).max() < 0.2
    assert means[1][0] > 1
    assert means[2][1] < -1
    assert stats.kstest(np.linalg.norm(noise[0], axis=1), stats.gamma(5).cdf).pvalue > 1e-5


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e-8, 1e4, 1e8, 1e30])
@pytest.mark.parametrize("tilt", [1.0, 1e9])
def test_extreme_shifts_and_tilts_give_numbers(size, tilt):
    shifts = np.tile([size, 0.0, 0.0], (200, 1))
    noise = draw_tilted(shifts, tilt, np.random.default_rng(7))
    assert np.isfinite(noise).all()
    assert np.isfinite(log_mgf(np.array(size), 3, tilt))
    assert (norm_gain(noise, shifts) <= size * (1 + 1e-12)).all()


@pytest.mark.parametrize("concentration", [1e6, 1e12, 1e100])
@pytest.mark.parametrize("dimension", [2.0, 20.0])
def test_what_a_concentrated_cosine_is_short_of_one_has_its_limit(dimension, concentration):
    """The limit of ``y (1 - c)`` is a gamma variable of shape (d - 1)/2."""
    many = np.full(20_000, dimension), np.full(20_000, concentration)
    short = concentration * _short_of_one(*many, np.random.default_rng(9))
    assert stats.kstest(short, stats.gamma((dimension - 1) / 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("order", [0.0, 0.5, 9.0, 500.0, 1e4])
@pytest.mark.parametrize("y", [1e8, 3e9])
def test_bessel_functions_beyond_the_library(order, y):
    with mpmath.workdps(60):
        exact = mpmath.besseli(order, y) * mpmath.exp(-y)
    assert float(_far_bessel(order, np.array(y))) == pytest.approx(float(exact), rel=1e-13)


def test_a_large_tilt_comes_close_to_the_largest_loss():
    shifts = np.tile([0.3, *[0.0] * 19], (50, 1))
    losses = norm_gain(draw_tilted(shifts, 1e8, np.random.default_rng(8)), shifts)
    assert losses.min() > 0.3 * (1 - 1e-5)


@pytest.mark.parametrize("tilt", [-1.0, math.nan, math.inf])
def test_what_is_no_tilt_is_refused(tilt):
    with pytest.raises(InvalidArgument, match="tilt"):
        draw_tilted(np.ones((2, 3)), tilt, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="tilt"):
        log_mgf(np.ones(2), 3, tilt)


def test_one_dimension_is_refused():
    with pytest.raises(InvalidArgument, match="dimension"):
        draw_tilted(np.ones((2, 1)), 1.0, np.random.default_rng(0))
