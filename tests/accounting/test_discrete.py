"""Discrete noise, randomised response, sampled Laplace noise and mixtures, against enumeration."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

import dpaudit
from dpaudit.accounting.accountants import ask_all
from dpaudit.accounting.composition import pure_epsilon
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import (
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Sequence,
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.errors import InvalidArgument


def laws_of_integers(log_mass, shift, reach):
    """Return the masses around a shift and around 0, in 40 digits."""
    noise = {k: mpmath.exp(log_mass(k)) for k in range(-reach - shift, reach + shift + 1)}
    total = mpmath.fsum(noise.values())
    outputs = range(-reach, reach + 1)
    return [noise[k - shift] / total for k in outputs], [noise[k] / total for k in outputs]


def delta_of(pairs, epsilon):
    """Return the larger of both hockey-stick divergences of a product, by enumeration."""
    both = []
    for one, other in (0, 1), (1, 0):
        total = mpmath.mpf(0)
        for cells in itertools.product(*(list(zip(*pair, strict=True)) for pair in pairs)):
            p, q = (mpmath.fprod(cell[k] for cell in cells) for k in (one, other))
            total += max(p - mpmath.exp(epsilon) * q, 0)
        both.append(total)
    return max(both)


def brackets(event, epsilon, exact, width=1e-6):
    found = numerical_delta(event, epsilon)
    assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper), (found, exact)
    assert found.width <= width * max(found.upper, 1e-3)
    back = numerical_epsilon(event, float(exact))
    assert back.lower * (1 - 1e-6) - 1e-6 <= epsilon <= back.upper * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize(("shift", "scale"), [(1, 1.0), (3, 2.0), (2, 0.5)])
@pytest.mark.parametrize("count", [1, 2])
def test_discrete_laplace_by_enumeration(shift, scale, count):
    with mpmath.workdps(40):
        reach = 60 if count == 1 else 25
        laws = laws_of_integers(lambda k: -abs(k) / mpmath.mpf(scale), shift, reach)
        for share in (0.0, 0.3, 0.9):
            epsilon = share * shift / scale * count
            exact = delta_of([laws] * count, epsilon)
            event = DiscreteLaplaceRelease(sensitivity=shift, noise_scale=scale, count=count)
            found = numerical_delta(event, epsilon)
            assert found.lower * (1 - 1e-5) <= exact <= found.upper * (1 + 1e-9)
            assert found.width <= 1e-5


@pytest.mark.parametrize(("shift", "scale"), [(1, 1.0), (2, 1.3), (5, 6.0)])
def test_discrete_gaussian_by_enumeration(shift, scale):
    with mpmath.workdps(40):
        variance = 2 * mpmath.mpf(scale) ** 2
        laws = laws_of_integers(lambda k: -(mpmath.mpf(k) ** 2) / variance, shift, int(30 * scale))
        event = DiscreteGaussianRelease(sensitivity=shift, noise_scale=scale)
        for epsilon in (0.0, 0.4, 2.0):
            brackets(event, epsilon, delta_of([laws], epsilon))


def test_a_smaller_shift_loses_less():
    for kind in (DiscreteGaussianRelease, DiscreteLaplaceRelease):
        for epsilon in (0.1, 0.5):
            deltas = [
                numerical_delta(kind(sensitivity=s, noise_scale=2.0), epsilon).upper
                for s in (1, 2, 3)
            ]
            assert deltas == sorted(deltas)
            assert deltas[0] < deltas[-1]


def test_a_wide_discrete_gaussian_is_nearly_the_continuous_one():
    discrete = DiscreteGaussianRelease(sensitivity=100, noise_scale=100.0, count=5)
    continuous = GaussianRelease(sensitivity=1.0, noise_scale=1.0, count=5)
    found, near = (numerical_epsilon(event, 1e-5) for event in (discrete, continuous))
    assert found.upper == pytest.approx(near.upper, rel=1e-3)


@pytest.mark.parametrize(("truth", "categories"), [(0.75, 2), (0.5, 3), (0.9, 10), (0.25, 4)])
@pytest.mark.parametrize("count", [1, 3])
def test_randomised_response_by_enumeration(truth, categories, count):
    with mpmath.workdps(40):
        p = mpmath.mpf(truth)
        r = (1 - p) / (categories - 1)
        one = [p, r] + [r] * (categories - 2)
        other = [r, p] + [r] * (categories - 2)
        # answers that say nothing are alike: one cell holds them
        cells = [p, r, r * (categories - 2)], [r, p, r * (categories - 2)]
        assert mpmath.fsum(one) == mpmath.fsum(other)
        event = RandomizedResponse(truth=truth, categories=categories, count=count)
        top = float(mpmath.log(p / r)) * count
        for share in (0.0, 0.4):
            exact = delta_of([cells] * count, share * top)
            found = numerical_delta(event, share * top)
            assert found.lower * (1 - 1e-6) <= exact <= found.upper + mpmath.mpf(1e-300)
            assert found.width <= 1e-6
        assert pure_epsilon(event) >= mpmath.log(p / r)
        assert pure_epsilon(event) == pytest.approx(top / count, abs=1e-15)


def test_randomised_response_by_its_name():
    found = dpaudit.account("randomised-response", 0.0, truth=0.75)
    assert found.proved.upper == pytest.approx(math.log(3))
    assert found.relation == "replace-record"
    assert dpaudit.account("randomised-response", 0.0, truth=0.5).proved.upper < 1e-15


@pytest.mark.parametrize(("ratio", "shift"), [(0.1, 1.0), (0.5, 0.3), (0.9, 4.0), (1.0, 1.0)])
def test_sampled_laplace_by_its_closed_form(ratio, shift):
    """P - a Q is that of the noise at another level, in either order."""
    with mpmath.workdps(40):
        q, s = mpmath.mpf(ratio), mpmath.mpf(shift)

        def hockey(a):
            """Return that of Laplace noise at any level a > 0."""
            if mpmath.log(a) >= s:
                return mpmath.mpf(0)
            if mpmath.log(a) <= -s:
                return 1 - a
            return 1 - mpmath.exp((mpmath.log(a) - s) / 2)

        event = PoissonSubsampledLaplace(sampling_ratio=ratio, sensitivity=shift)
        for share in (0.0, 0.2, 0.6, 0.95):
            epsilon = share * float(mpmath.log1p(q * mpmath.expm1(s)))
            a = mpmath.exp(epsilon)
            removed = q * hockey((a - 1 + q) / q)
            kept = 1 - a * (1 - q)
            added = kept * hockey(a * q / kept) if kept > 0 else mpmath.mpf(0)
            found = numerical_delta(event, epsilon)
            exact = max(removed, added)
            assert found.lower * (1 - 1e-5) <= exact <= found.upper * (1 + 1e-12)
            assert found.width <= 1e-5


def test_sampling_costs_less_than_none_and_all_of_it_is_laplace_noise():
    whole = LaplaceRelease(sensitivity=1.0, noise_scale=1.0, count=4)
    all_of_it = PoissonSubsampledLaplace(sampling_ratio=1.0, count=4)
    some = PoissonSubsampledLaplace(sampling_ratio=0.2, count=4)
    for delta in (1e-6, 0.01):
        exact = numerical_epsilon(whole, delta)
        assert numerical_epsilon(all_of_it, delta).upper == pytest.approx(exact.upper, rel=1e-4)
        assert numerical_epsilon(some, delta).upper < exact.lower
    assert numerical_epsilon(some, 0.0).upper == pytest.approx(
        4 * math.log1p(0.2 * math.expm1(1)), rel=1e-12
    )


def test_a_mixture_by_quadrature_and_as_a_sample():
    sensitivities, probabilities, scale = (0.0, 1.0, 2.5), (0.7, 0.2, 0.1), 1.3
    event = GaussianMixtureRelease(
        sensitivities=sensitivities, probabilities=probabilities, noise_scale=scale
    )
    y = np.linspace(-14, 18, 2_000_001)
    p = sum(w * norm.pdf(y, s, scale) for w, s in zip(probabilities, sensitivities, strict=True))
    q = norm.pdf(y, 0, scale)
    for epsilon in (0.05, 0.5, 2.0):
        gaps = np.maximum(p - math.exp(epsilon) * q, 0), np.maximum(q - math.exp(epsilon) * p, 0)
        exact = max(float(gap.sum()) * (y[1] - y[0]) for gap in gaps)
        found = numerical_delta(event, epsilon)
        assert found.lower * (1 - 1e-6) <= exact <= found.upper * (1 + 1e-6)
    sample = PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0, count=20)
    as_mixture = GaussianMixtureRelease(
        sensitivities=(0.0, 1.0), probabilities=(0.8, 0.2), noise_scale=1.0, count=20
    )
    one, two = (numerical_epsilon(each, 1e-5) for each in (sample, as_mixture))
    assert one.lower <= two.upper
    assert two.lower <= one.upper


def test_a_tree_is_paid_for_once_a_level():
    tree = dpaudit.account("binary-tree", 1e-5, leaves=1024, noise_scale=10.0)
    assert tree.total["mu"] == pytest.approx(math.sqrt(11) / 10)
    laplace = dpaudit.account("binary-tree", 0.0, leaves=5, noise="laplace", noise_scale=2.0)
    assert laplace.proved.upper == 2.0  # 4 levels of 1 / 2
    assert dpaudit.account("binary-tree", 1e-5, leaves=1).total["mu"] == 1.0


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (RandomizedResponse, {"truth": 0.3}, "truth: got 0.3"),
        (RandomizedResponse, {"truth": 1.0}, "truth: got 1.0"),
        (DiscreteLaplaceRelease, {"sensitivity": 1, "noise_scale": 1e9}, "noise_scale"),
        (DiscreteGaussianRelease, {"sensitivity": -1, "noise_scale": 1.0}, "sensitivity"),
        (
            GaussianMixtureRelease,
            {"sensitivities": (1.0,), "probabilities": (0.5,), "noise_scale": 1.0},
            "add up to 1",
        ),
        (
            GaussianMixtureRelease,
            {"sensitivities": (1.0,), "probabilities": (0.5, 0.5), "noise_scale": 1.0},
            "as many as probabilities",
        ),
        (PoissonSubsampledLaplace, {"sampling_ratio": 0.0}, "sampling_ratio"),
    ],
)
def test_a_bad_parameter_is_named(kind, given, message):
    with pytest.raises(InvalidArgument, match=message):
        kind(**given)


def test_kinds_compose_with_each_other():
    event = Sequence(
        (
            RandomizedResponse(truth=0.6, count=3),
            DiscreteGaussianRelease(sensitivity=1, noise_scale=3.0, count=2),
            PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.0, count=5),
        )
    )
    answers = ask_all(event, 1e-5)
    uppers = [a.upper for a in answers if a.upper is not None]
    (numerical,) = (a for a in answers if a.accountant == "numerical")
    assert numerical.upper <= min(uppers) * (1 + 1e-6)
    assert numerical.lower > 0.99 * numerical.upper
