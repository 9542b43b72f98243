"""Balls and bins: brackets against quadrature, exact moments, draws, and broken doublings."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from dpaudit.accounting.events import AllocatedGaussian, GaussianRelease, Sequence
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.allocation import AllocationRatio
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion
from dpaudit.errors import InvalidArgument


def allocated(batches, noise, count=1):
    return AllocatedGaussian(batches=batches, noise_multiplier=noise, count=count)


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_one_batch_is_a_gaussian_release(noise):
    exact = bound_epsilon_by_inversion(
        GaussianRelease(sensitivity=1.0, noise_scale=noise), 1e-6
    ).upper
    bracket = numerical_epsilon(allocated(1, noise), 1e-6)
    assert bracket.contains(exact)
    assert bracket.width < 1e-3 * exact


def exact_of_two(noise, epsilon, *, removal):
    """Return the divergence of two batches by quadrature over the plane."""
    y = np.linspace(-9 * noise, 1 + 9 * noise, 2401)
    one, none = (np.exp(-(((y - m) / noise) ** 2) / 2) for m in (1, 0))
    p = (np.outer(one, none) + np.outer(none, one)) / (4 * math.pi * noise**2)
    q = np.outer(none, none) / (2 * math.pi * noise**2)
    first, second = (p, q) if removal else (q, p)
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum() * (y[1] - y[0]) ** 2)


@pytest.mark.parametrize("noise", [0.6, 1.5])
def test_two_batches_by_quadrature(noise):
    for epsilon in (0.1, 0.8):
        bracket = numerical_delta(allocated(2, noise), epsilon)
        exact = max(exact_of_two(noise, epsilon, removal=way) for way in (True, False))
        assert bracket.lower * (1 - 1e-5) <= exact <= bracket.upper * (1 + 1e-5)
        assert bracket.width <= 2e-3 * exact


def exact_moment(batches, noise, order):
    """Return ``E_Q S^order``: what partitions of the order among the batches sum to."""
    with mpmath.workdps(40):
        v = 1 / mpmath.mpf(noise) ** 2
        series = [mpmath.exp(j * (j - 1) * v / 2) / mpmath.factorial(j) for j in range(order + 1)]
        power = [mpmath.mpf(1)] + [mpmath.mpf(0)] * order
        for bit in bin(batches)[2:]:
            power = product(power, power)
            power = product(power, series) if bit == "1" else power
        return float(power[order] * mpmath.factorial(order) / mpmath.mpf(batches) ** order)


def product(one, other):
    return [sum(one[i] * other[k - i] for i in range(k + 1)) for k in range(len(one))]


@pytest.mark.parametrize(("batches", "noise"), [(1, 1.0), (7, 0.8), (100, 1.0), (1000, 2.0)])
def test_moments_by_partitions_lie_between_the_laws(batches, noise):
    laws = [AllocationRatio(batches, noise, upper).law(1e-40) for upper in (False, True)]
    for order in range(2, 6):
        below, above = (
            float(np.exp(law.log_masses + order * law.log_ratios).sum()) for law in laws
        )
        exact = exact_moment(batches, noise, order)
        assert below <= exact <= above
        assert above - below < 0.05 * (exact - 1)


@pytest.mark.parametrize("upper", [False, True])
def test_masses_and_the_mean_stay(upper):
    law = AllocationRatio(37, 0.7, upper).law(1e-20)
    q = np.exp(law.log_masses)
    assert q.sum() == pytest.approx(1, abs=1e-9)
    assert q @ np.exp(law.log_ratios) + law.infinite == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("noise", [0.15, 0.7])
@pytest.mark.parametrize("batches", [2, 3, 5, 6, 7, 12, 37])
def test_what_is_cut_off_on_the_way_is_an_infinite_ratio(batches, noise):
    """With tails of a tenth something is cut off at every doubling: none of it is lost, or grows.

    With little noise all of it comes from the single batches, with more from the later sums.
    """
    law = AllocationRatio(batches, noise, True).law(0.1)
    q = np.exp(law.log_masses)
    assert law.infinite > (2e-3 if noise < 0.5 else 1e-7)
    assert q.sum() == pytest.approx(1, abs=1e-9)
    assert q @ np.exp(law.log_ratios) + law.infinite == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("batches", [100, 101, 127])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_brackets_are_within_a_percent(batches, noise):
    bracket = numerical_epsilon(allocated(batches, noise), 1e-7)
    assert 0 < bracket.width < 0.01 * bracket.lower


@pytest.mark.slow
@pytest.mark.parametrize("batches", [100, 1000, 10_000])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_many_batches_and_small_deltas(batches, noise):
    ends = [numerical_epsilon(allocated(batches, noise), delta) for delta in (1e-5, 1e-10)]
    assert all(bracket.width < 0.01 * bracket.lower for bracket in ends)
    assert ends[0].upper < ends[1].lower


def drawn(batches, noise, epsilon, trials, rng):
    """Return the mean payoff ``(1 - e^epsilon / S)_+`` under P and its standard error."""
    total = squares = 0.0
    for _ in range(0, trials, 20_000):
        z = noise * rng.standard_normal((20_000, batches))
        z[:, 0] += 1
        loss = np.log(np.exp((z - 0.5) / noise**2).mean(axis=1))
        payoff = np.maximum(-np.expm1(epsilon - loss), 0)
        total, squares = total + payoff.sum(), squares + payoff @ payoff
    mean = total / trials
    return mean, math.sqrt((squares / trials - mean**2) / trials)


def test_draws_lie_within_the_bracket():
    rng = np.random.default_rng(7)
    bracket = numerical_delta(allocated(20, 0.7), 1.0)
    mean, error = drawn(20, 0.7, 1.0, 200_000, rng)
    assert bracket.lower - 4 * error < mean < bracket.upper + 4 * error
    assert error < 0.02 * mean


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "noise"), [(100, 0.5), (100, 1.0), (100, 2.0)])
def test_ten_million_draws_lie_within_the_bracket(batches, noise):
    epsilon = numerical_epsilon(allocated(batches, noise), 1e-4).upper
    bracket = numerical_delta(allocated(batches, noise), epsilon)
    mean, error = drawn(batches, noise, epsilon, 10_000_000, np.random.default_rng(11))
    assert bracket.lower - 3 * error < mean < bracket.upper + 3 * error
    assert error < 0.05 * mean


def test_epochs_compose_and_mix():
    one = numerical_epsilon(allocated(50, 1.0), 1e-5)
    five = numerical_epsilon(allocated(50, 1.0, 5), 1e-5)
    assert one.upper < five.lower < 5 * one.lower
    assert five.width < 0.02 * five.lower
    release = GaussianRelease(sensitivity=1.0, noise_scale=3.0)
    mixed = numerical_epsilon(Sequence((allocated(50, 1.0, 5), release)), 1e-5)
    assert five.lower < mixed.upper


def test_epochs_of_one_batch_are_gaussian_releases():
    exact = bound_epsilon_by_inversion(
        GaussianRelease(sensitivity=1.0, noise_scale=2.0, count=10), 1e-6
    )
    bracket = numerical_epsilon(allocated(1, 2.0, 10), 1e-6)
    assert bracket.lower <= exact.upper
    assert exact.lower <= bracket.upper
    assert bracket.width < 5e-3 * exact.upper


def test_one_allocation_hides_less_than_none_and_more_than_nothing():
    whole = bound_epsilon_by_inversion(
        GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1e-5
    ).lower
    epsilons = [numerical_epsilon(allocated(n, 1.0), 1e-5) for n in (2, 10, 50)]
    assert whole > epsilons[0].upper
    assert all(a.lower > b.upper for a, b in itertools.pairwise(epsilons))


@pytest.mark.parametrize("noise", [0.099, 0.05])
def test_next_to_no_noise_hides_next_to_nothing(noise):
    bracket = numerical_epsilon(allocated(100, noise), 1e-6)
    whole = bound_epsilon_by_inversion(
        GaussianRelease(sensitivity=1.0, noise_scale=noise), 1e-6
    ).upper
    assert bracket.upper == pytest.approx(whole, rel=1e-3)
    assert whole - math.log(100) - 1 < bracket.lower <= bracket.upper


@pytest.mark.parametrize("noise", [0.05, 9e3, 1e6])
@pytest.mark.parametrize("batches", [1, 3, 10**6])
def test_extreme_parameters_have_ordered_ends(batches, noise):
    bracket = numerical_epsilon(allocated(batches, noise), 1e-5)
    assert 0 <= bracket.lower <= bracket.upper


@pytest.mark.parametrize("noise", [1e-9, 1e7])
def test_noise_that_nobody_takes_is_refused(noise):
    with pytest.raises(InvalidArgument, match="expected a number from 0"):
        allocated(3, noise)


def test_a_law_that_rounds_to_the_wrong_side_is_caught(monkeypatch):
    """Negative control: if the law above is rounded like the one below, moments leave it."""
    rounded = AllocationRatio._rounded

    def broken(self, values, masses, nodes):
        at, lost = rounded(self, values, masses, nodes)
        return np.stack([np.append(at[1:], 0.0), lost]) if self.upper else np.stack([at, lost])

    monkeypatch.setattr(AllocationRatio, "_rounded", broken)
    law = AllocationRatio(7, 0.8, True).law(1e-30)
    moment = float(np.exp(law.log_masses + 2 * law.log_ratios).sum())
    assert moment < exact_moment(7, 0.8, 2)
