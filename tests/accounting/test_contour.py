"""The contour estimate, against closed forms and the certified brackets."""

from __future__ import annotations

import math

import pytest

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.series.contour import contour_epsilon, contour_log_delta
from dpaudit.errors import ConvergenceError, InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.gaussian import log_delta


def gaussian(mu, count=1):
    return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=count)


def norm(dimension, count=50, shift=0.5):
    return ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 10.0, 80.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-20, 1e-100, 1e-300])
def test_gaussian_epsilon_to_nine_digits_at_any_delta(mu, delta):
    exact = gaussian_guarantee(gaussian(mu)).epsilon(delta)
    assert contour_epsilon(gaussian(mu), delta) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mu", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("far", [0.0, 1.0, 5.0, 20.0])
def test_gaussian_log_delta(mu, far):
    epsilon = mu * mu / 2 + far * mu
    found = contour_log_delta(gaussian(mu), epsilon)
    assert found == pytest.approx(log_delta(mu, epsilon), rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "event",
    [
        norm(2),
        norm(10),
        norm(105),
        norm(10_000),
        norm(10, shift=20.0),
        ObjectivePerturbation(
            sensitivity=0.5, noise_rate=1.0, dimension=105, log_determinant=0.01, count=300
        ),
        PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=2000),
        LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=10_000),
        Sequence((gaussian(0.5), norm(10, count=5), LaplaceRelease(sensitivity=1, noise_scale=1))),
    ],
    ids=str,
)
def test_estimates_lie_in_the_certified_brackets(event):
    epsilon = contour_epsilon(event, 1e-5)
    assert numerical_epsilon(event, 1e-5).contains(epsilon)
    delta = math.exp(contour_log_delta(event, epsilon / 2))
    assert numerical_delta(event, epsilon / 2).contains(delta)


@pytest.mark.parametrize(
    "event",
    [
        ApproximateRelease(epsilon=0.1, count=10_000),
        LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=3),
        # Gaussian noise too weak to smooth the lattice: the tail of the integral comes back
        Sequence((ApproximateRelease(epsilon=0.1, count=1000), gaussian(1e-3))),
    ],
    ids=str,
)
def test_laws_with_atoms_are_refused(event):
    with pytest.raises(ConvergenceError, match="the loss has atoms; use the numerical accountant"):
        contour_epsilon(event, 1e-5)


def test_a_delta_above_that_at_zero_needs_no_epsilon():
    assert contour_epsilon(gaussian(0.1), 0.1) == 0.0
    assert contour_epsilon(Sequence(()), 1e-9) == 0.0


def test_mass_of_infinite_losses_is_added():
    leaky = Sequence((gaussian(1.0), ApproximateRelease(epsilon=0.0, delta=1e-4)))
    expected = 1e-4 + (1 - 1e-4) * math.exp(log_delta(1.0, 2.0))
    assert math.exp(contour_log_delta(leaky, 2.0)) == pytest.approx(expected, rel=1e-9)
    assert contour_epsilon(leaky, 1e-5) == math.inf


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_bad_deltas_are_refused(delta):
    with pytest.raises(InvalidArgument, match=r"^delta: got"):
        contour_epsilon(gaussian(1.0), delta)


def test_what_has_no_pair_is_refused():
    with pytest.raises(UnsupportedEvent, match="got ZeroConcentratedRelease"):
        contour_epsilon(ZeroConcentratedRelease(rho=0.1), 1e-5)
