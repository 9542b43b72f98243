"""Cases in which an accountant was once on the wrong side, or lost digits, with their truth."""

import itertools
import math
from functools import cache

import mpmath
import numpy as np
import pytest

from dpaudit.accounting.accountants import ask_all
from dpaudit.accounting.events import (
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Sequence,
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.renyi import RenyiCurveDP
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion
from dpaudit.accounting.strongest_guarantee import NumericalDP, bound_proved_epsilon


def minimiser(shift, dimension, count=1, determinant=0.0):
    return ObjectivePerturbation(
        sensitivity=shift,
        noise_rate=1.0,
        dimension=dimension,
        log_determinant=determinant,
        count=count,
    )


def norm(shift, dimension, count=1):
    return ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )


@pytest.mark.parametrize("shift", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-8, 1e-12])
def test_one_minimiser_in_one_dimension_is_known(shift, delta):
    """The profile is Laplace's: epsilon is ``s + 2 log(1 - delta)``."""
    exact = shift + 2 * math.log1p(-delta)
    bracket = numerical_epsilon(minimiser(shift, 1), delta)
    assert bracket.lower <= exact <= bracket.upper
    assert RenyiCurveDP(minimiser(shift, 1)).epsilon(delta) >= exact


@pytest.mark.parametrize(
    "event", [minimiser(1.0, 1), minimiser(0.5, 3, determinant=0.1), norm(0.5, 10), norm(4.0, 3)]
)
@pytest.mark.parametrize("order", [1.0, 30.0, 300.0, 1000.0])
def test_moments_keep_their_digits_at_any_order(event, order):
    """Held to the same law on cells so fine that the tilt is flat in each."""
    ((pair, _),) = Composition.of(event)
    edges = np.linspace(-pair.largest, pair.largest, 40_001)
    atoms = pair.atoms(edges)
    exponents = atoms.log_masses + order * atoms.losses
    exact = exponents.max() + math.log(np.exp(exponents - exponents.max()).sum())
    assert float(pair.log_mgf(np.array(order))) == pytest.approx(exact, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-5, 1e-20, 1e-60])
@pytest.mark.parametrize("mu", [0.02, 0.3])
def test_atoms_next_to_a_gaussian(mu, delta):
    event = Sequence((minimiser(1.0, 1, 2), GaussianRelease(sensitivity=mu, noise_scale=1.0)))
    grid, inverted = numerical_epsilon(event, delta), bound_epsilon_by_inversion(event, delta)
    assert inverted.lower <= grid.upper
    assert grid.lower <= inverted.upper
    assert grid.width <= 1e-7 * grid.upper
    assert inverted.width <= 1e-11 * inverted.upper


@pytest.mark.parametrize(
    ("shift", "dimension", "count", "delta"),
    [(7.971870593075208, 10, 5, 8.66e-274), (3.8135940081207176, 3, 9, 4.6e-156)],
)
def test_no_end_passes_the_sum_of_pure_epsilons(shift, dimension, count, delta):
    bracket = bound_proved_epsilon(norm(shift, dimension, count), delta)
    assert bracket.lower <= bracket.upper <= shift * count * (1 + 1e-12)


def test_delta_near_the_largest_loss():
    """Truths by a contour integral in 30 digits."""
    shift = 0.2596679604265283
    bracket = numerical_delta(norm(shift, 5, 3), 3 * shift * (1 - 3.1667e-5))
    assert bracket.lower <= 1.7775071e-32 <= bracket.upper
    shift = 0.12371664511882015
    bracket = numerical_delta(norm(shift, 10, 4), 4 * shift * (1 - 3.32e-5 / (4 * shift)))
    assert bracket.lower <= bracket.upper
    single = numerical_delta(norm(0.34887518, 4), 0.34887518 - 2.17e-6)
    assert 0 < single.lower <= single.upper < 1e-13


@pytest.mark.slow
def test_high_dimension_in_fifty_digits():
    """The inverted end at d = 3000 was low by 3e-12 in log delta."""
    event, delta = norm(10.0, 3000, 100), 1e-30
    bracket = bound_epsilon_by_inversion(event, delta)
    with mpmath.workdps(40):
        z, nu = mpmath.mpf(5), mpmath.mpf(3000) / 2 - 1
        kappa = 2999 / z * mpmath.besselk(nu + 1, z) / mpmath.besselk(nu, z)

        def g(y):
            first = kappa * mpmath.beta(0.5, mpmath.mpf(2999) / 2)
            second = mpmath.beta(0.5, mpmath.mpf(3001) / 2)
            square = y * y / 4
            return first * mpmath.hyp0f1(1500, square) + second * mpmath.hyp0f1(1501, square)

        c, base = mpmath.mpf(6), g(z)

        @cache  # both ends are integrated over the same nodes
        def moment(u):
            return (g((1 + 2 * (c + 1j * u)) * z) / base) ** 100

        def delta_at(epsilon):
            def integrand(u):
                at = c + 1j * u
                return mpmath.re(moment(u) * mpmath.exp(-at * epsilon) / (at * (at + 1)))

            points = [mpmath.mpf(k) / 2 for k in range(25)]
            return mpmath.quad(integrand, points) / mpmath.pi

        low, high = delta_at(mpmath.mpf(bracket.upper)), delta_at(mpmath.mpf(bracket.lower))
        assert low <= mpmath.mpf(delta) * (1 + mpmath.mpf("1e-15"))
        assert high >= mpmath.mpf(delta) * (1 - mpmath.mpf("1e-15"))


KINDS = (
    GaussianRelease(sensitivity=1.0, noise_scale=4.0, count=3),
    LaplaceRelease(sensitivity=1.0, noise_scale=3.0, count=4),
    norm(0.7, 6, 5),
    minimiser(0.4, 2, 3, 0.01),
    minimiser(0.6, 1, 2),
    PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.2, count=20),
)


FEW = ((0, 1), (0, 2), (1, 3), (2, 5), (3, 4))  # every kind, with another


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [
        pair if pair in FEW else pytest.param(pair, marks=pytest.mark.slow)
        for pair in itertools.combinations(range(len(KINDS)), 2)
    ],
    ids=str,
)
def test_no_accountant_contradicts_another(pair):
    event = Sequence(tuple(KINDS[k] for k in pair))
    answers = [answer for answer in ask_all(event, 1e-6) if answer.upper is not None]
    lowers = [answer.lower for answer in answers if answer.lower is not None]
    assert min(answer.upper for answer in answers) >= max(lowers, default=0.0) * (1 - 1e-13)
    assert NumericalDP(event).epsilon(1e-6) == bound_proved_epsilon(event, 1e-6).upper
