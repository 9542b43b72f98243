"""A Gaussian step whose noise is 5% smaller than stated: refuted where the law is known."""

import math

import pytest

from dpaudit.guarantees import gaussian as closed_form

from .steps import evidence, gaussian, unit_pair

DELTA = 1e-6


def epsilon(scale):
    return closed_form.epsilon_at(1 / scale, math.log(DELTA))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_five_percent_less_noise_is_refuted_and_the_nominal_noise_is_not(scale):
    """The claim is exact for the nominal scale; ten thousand outputs tell the two apart."""
    claimed = epsilon(scale)
    less = evidence(gaussian(0.95 * scale), unit_pair(1), DELTA, 10_000)
    nominal = evidence(gaussian(scale), unit_pair(1), DELTA, 10_000)
    assert less.trusted
    assert nominal.trusted
    assert claimed * 1.02 < less.lower <= epsilon(0.95 * scale) <= less.upper
    assert nominal.lower <= claimed <= nominal.upper


def test_one_thousand_outputs_are_enough():
    less = evidence(gaussian(0.95), unit_pair(1), DELTA, 1000)
    nominal = evidence(gaussian(1.0), unit_pair(1), DELTA, 1000)
    assert less.trusted
    assert nominal.lower <= epsilon(1.0) <= nominal.upper
    assert epsilon(1.0) < less.lower <= epsilon(0.95)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 1e-10])
@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_the_lower_end_is_as_close_as_is_promised(mu, delta):
    truth = closed_form.epsilon_at(mu, math.log(delta))
    for trials, least in ((1000, 0.98), (10_000, 0.99)):
        found = evidence(gaussian(1 / mu), unit_pair(1), delta, trials, seed=1)
        assert least * truth < found.lower <= truth <= found.upper


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 1e-10])
@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_a_hundred_thousand_outputs_give_half_a_percent(mu, delta):
    truth = closed_form.epsilon_at(mu, math.log(delta))
    found = evidence(gaussian(1 / mu), unit_pair(1), delta, 100_000)
    assert 0.995 * truth < found.lower <= truth


@pytest.mark.parametrize(
    ("trials", "width"), [(1000, 0.16), pytest.param(10_000, 0.05, marks=pytest.mark.slow)]
)
def test_at_epsilon_ten_the_interval_is_as_narrow_as_promised(trials, width):
    """A twentieth with ten thousand, and wider by the square root of what is missing."""
    scale = 1 / 1.9985
    truth = closed_form.epsilon_at(1 / scale, math.log(1e-5))
    assert truth == pytest.approx(10, abs=0.2)
    found = evidence(gaussian(scale), unit_pair(1), 1e-5, trials)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower <= width
