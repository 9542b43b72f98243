"""The law of one release: densities against scipy's, and what has none is refused."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.errors import InvalidArgument
from dpaudit.laws.loss_enclosure import ends, in_digits
from dpaudit.laws.steps import NormStep, Step
from dpaudit.reals import UndecidedComparison


def steps(scale, other_scale):
    means = np.array([[0.3, -1.0]]), np.array([[0.1, 0.5]])
    return (Step(mean, np.array(s)) for mean, s in zip(means, (scale, other_scale), strict=True))


@pytest.mark.parametrize(("scale", "other_scale"), [(1.0, 1.0), (0.5, 2.0), ([0.5, 3.0], 0.7)])
def test_a_gaussian_loss_is_the_ratio_of_the_densities(scale, other_scale):
    here, there = steps(scale, other_scale)
    output = np.array([[0.7, 2.0]])
    logs = [norm.logpdf(output, one.mean, one.scale).sum() for one in (here, there)]
    assert here.privacy_loss(output, there)[0] == pytest.approx(logs[0] - logs[1], rel=1e-12)
    enclosed = float(here.enclosed_loss(output, there))
    assert enclosed == pytest.approx(logs[0] - logs[1], rel=1e-12)


@pytest.mark.parametrize("mean", [math.nan, math.inf])
def test_what_is_no_number_has_no_enclosed_loss(mean):
    here, there = (
        Step(np.array([[0.0, mean]]), np.array(1.0)),
        Step(np.zeros((1, 2)), np.array(1.0)),
    )
    with pytest.raises(UndecidedComparison):
        here.enclosed_loss(np.ones((1, 2)), there)
    assert ends(lambda: here.enclosed_loss(np.ones((1, 2)), there)) == (-math.inf, math.inf)
    assert math.isnan(in_digits(lambda: here.enclosed_loss(np.ones((1, 2)), there), 50))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, [1.0, 0.0]])
def test_a_gaussian_step_without_noise_is_refused(scale):
    with pytest.raises(InvalidArgument, match="noise above 0 at every step"):
        Step(np.zeros((1, 2)), np.array(scale)).require_noise()
    Step(np.zeros((1, 2)), np.array([1e-300, 1.0])).require_noise()


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_exponential_noise_of_no_rate_is_refused(rate):
    with pytest.raises(InvalidArgument, match="above 0 and finite at every step"):
        NormStep(np.zeros((1, 2)), np.array(rate)).require_noise()


def test_rates_that_differ_between_the_datasets_are_refused():
    here, there = (NormStep(np.zeros((1, 2)), np.array(rate)) for rate in (1.0, 1.5))
    for compare in (here.privacy_loss, here.enclosed_loss):
        with pytest.raises(InvalidArgument, match="the same on both datasets"):
            compare(np.ones((1, 2)), there)
