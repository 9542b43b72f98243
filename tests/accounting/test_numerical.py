"""Brackets of the numerical accountant against exact values in many digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr

import dpaudit.accounting.grid.convolution as grid
import dpaudit.accounting.grid.numerical as numerical
import dpaudit.accounting.pairs.composition as dominating
from dpaudit.accounting.events import (
    ApproximateRelease,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Sequence,
)
from dpaudit.accounting.grid.numerical import chernoff_delta, numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.closed_forms import SubsampledGaussianPair
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.strongest_guarantee import NumericalDP
from dpaudit.errors import ConvergenceError

# Sums of parameters are rounded: brackets may be off by that much.
ULPS = 1e-15
DIGITS = 400  # exp(100) to the power of T is taken, and differences of what is left


def gaussian(mu):
    return GaussianRelease(sensitivity=mu, noise_scale=1.0)


def response(epsilon, delta=0.0, count=1):
    return ApproximateRelease(epsilon=epsilon, delta=delta, count=count)


def laplace(shift, count=1):
    return LaplaceRelease(sensitivity=shift, noise_scale=1.0, count=count)


def sampled(ratio, noise, count=1):
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def assert_contains(bracket, exact, width=None):
    exact = max(exact, mpmath.mpf(0))
    assert bracket.lower <= exact * (1 + mpmath.mpf(ULPS))
    assert bracket.upper >= exact * (1 - mpmath.mpf(ULPS))
    if width is not None:
        assert bracket.width <= width * bracket.upper


def assert_inverts(event, delta, profile, width):
    """Check the bracket of epsilon against a falling profile, without inverting it."""
    bracket = numerical_epsilon(event, delta)
    assert profile(mpmath.mpf(bracket.upper) * (1 + mpmath.mpf(ULPS))) <= delta
    assert bracket.lower == 0 or profile(mpmath.mpf(bracket.lower) * (1 - ULPS)) >= delta
    assert bracket.width <= width * bracket.upper
    return bracket


def phi(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gaussian_profile(mu, epsilon):
    mu, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return phi(mu / 2 - e / mu) - mpmath.exp(e) * phi(-mu / 2 - e / mu)


def response_laws(parts):
    """Return exact (loss, P, Q) of randomised responses, every output on its own."""
    outputs = [(mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(1))]
    for epsilon in parts:
        e = mpmath.mpf(epsilon)
        high, low = 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))
        outputs = [
            (loss + sign * e, p * a, q * b)
            for (loss, p, q), (sign, a, b) in itertools.product(
                outputs, ((1, high, low), (-1, low, high))
            )
        ]
    return outputs


def enumerated(parts, epsilon):
    power = mpmath.exp(mpmath.mpf(epsilon))
    return sum(max(p - power * q, mpmath.mpf(0)) for _, p, q in response_laws(parts))


def binomial_epsilon(epsilon, count, delta):
    """Return the exact epsilon of ``count`` responses: scan outputs from the greatest loss."""
    e, target = mpmath.mpf(epsilon), mpmath.mpf(delta)
    high, low = 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))
    p, q = high**count, low**count
    odds = low / high
    sum_p = sum_q = mpmath.mpf(0)
    for k in range(count, -1, -1):
        sum_p, sum_q = sum_p + p, sum_q + q
        # the same outputs count for every epsilon from the next loss to this one
        if k == 0 or sum_p - mpmath.exp((2 * k - 2 - count) * e) * sum_q > target:
            return mpmath.log((sum_p - target) / sum_q) if sum_p > target else -mpmath.inf
        step = mpmath.mpf(k) / (count - k + 1)
        p, q = p * step * odds, q * step / odds
    raise AssertionError


def laplace_profile(shift, epsilon):
    s, e = mpmath.mpf(shift), mpmath.mpf(epsilon)
    if e >= s:
        return mpmath.mpf(0)
    return -mpmath.expm1((e - s) / 2) if e > -s else -mpmath.expm1(e)


def sampled_profile(ratio, noise, epsilon, removal):
    q, s, e = mpmath.mpf(ratio), mpmath.mpf(noise), mpmath.mpf(epsilon)
    power = mpmath.exp(e)
    if removal:
        y = s * s * mpmath.log((power - 1 + q) / q) + mpmath.mpf(1) / 2
        return (1 - q) * phi(-y / s) + q * phi((1 - y) / s) - power * phi(-y / s)
    if e >= -mpmath.log1p(-q):
        return mpmath.mpf(0)
    y = s * s * mpmath.log((1 / power - 1 + q) / q) + mpmath.mpf(1) / 2
    return phi(y / s) - power * ((1 - q) * phi(y / s) + q * phi((y - 1) / s))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-5, 1e-20, 1e-200])
def test_gaussian(mu, delta):
    with mpmath.workdps(DIGITS):
        bracket = assert_inverts(gaussian(mu), delta, lambda e: gaussian_profile(mu, e), width=1e-5)
        if bracket.lower > 0:
            assert_contains(
                numerical_delta(gaussian(mu), bracket.upper),
                gaussian_profile(mu, bracket.upper),
                width=1e-3,
            )
        assert_contains(numerical_delta(gaussian(mu), 0.0), gaussian_profile(mu, 0.0), width=1e-4)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("count", [1, 2, 10, 1000, 10_000])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-20, 1e-200])
def test_randomised_response(epsilon, count, delta):
    with mpmath.workdps(60 + (90 if epsilon > 10 else 0)):
        exact = binomial_epsilon(epsilon, count, delta)
    assert_contains(numerical_epsilon(response(epsilon, 0.0, count), delta), exact, width=0.01)


@pytest.mark.parametrize("parts", [(0.3, 0.7, 0.7, 1.1), (0.01, 2.0), (0.5,) * 4 + (0.31,) * 5])
def test_different_randomised_responses(parts):
    event = Sequence(tuple(response(e) for e in parts))
    with mpmath.workdps(50):
        for epsilon in (0.0, 0.2 * sum(parts), 0.9 * sum(parts)):
            bracket = numerical_delta(event, epsilon)
            assert_contains(bracket, enumerated(parts, epsilon), width=1e-3)
        for delta in (0.1, 1e-3):
            assert_inverts(event, delta, lambda e: enumerated(parts, e), width=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "leak", "count"), [(0.5, 1e-3, 6), (2.0, 0.1, 3), (0.0, 0.2, 4)]
)
def test_approximate_releases(epsilon, leak, count):
    with mpmath.workdps(50):
        rest = (1 - mpmath.mpf(leak)) ** count

        def profile(e):
            return 1 - rest + rest * enumerated((epsilon,) * count, e)

        event = response(epsilon, leak, count)
        for at in (0.0, 0.4 * epsilon * count):
            assert_contains(numerical_delta(event, at), profile(at), width=1e-6)
        betrayed = float(1 - rest)
        assert numerical_epsilon(event, betrayed * (1 - 1e-12)).lower == math.inf
        above = numerical_epsilon(event, betrayed * (1 + 1e-12))
        assert above.upper <= epsilon * count
        if epsilon:
            assert_inverts(event, betrayed + 0.3 * float(rest), profile, width=1e-5)


def test_lower_end_is_finite_at_the_leak_itself():
    # the bracket must hold epsilon itself, however the leak was rounded
    for leak in (0.1, 0.118, 0.121, 0.123, 0.165, 0.5):
        assert numerical_epsilon(response(1.0, leak), leak, 2**8).lower <= 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shift", [1e-4, 0.5, 3.0, 50.0])
def test_laplace_once_and_twice(shift):
    with mpmath.workdps(30):
        s = mpmath.mpf(shift)

        def twice(epsilon):
            half = mpmath.mpf(1) / 2
            ends = half * laplace_profile(s, epsilon - s)
            ends += half * mpmath.exp(-s) * laplace_profile(s, epsilon + s)
            bends = sorted({-s, s, *(x for x in (epsilon - s, epsilon + s) if -s < x < s)})
            inner = mpmath.quad(
                lambda x: mpmath.exp((x - s) / 2) / 4 * laplace_profile(s, epsilon - x), bends
            )
            return ends + inner

        for share in (0.0, 0.3, 0.95):
            once = numerical_delta(laplace(shift), share * shift)
            assert_contains(once, laplace_profile(shift, share * shift), width=1e-3)
            both = numerical_delta(laplace(shift, 2), 2 * share * shift)
            assert_contains(both, twice(mpmath.mpf(2 * share * shift)), width=1e-3)
        for delta in (0.3, 1e-5, 1e-9):
            assert_inverts(laplace(shift), delta, lambda e: laplace_profile(s, e), width=1e-4)
            assert_inverts(laplace(shift, 2), delta, twice, width=1e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("ratio", "noise"), [(0.01, 2.0), (0.1, 0.8), (0.5, 10.0), (0.999, 1.0)])
@pytest.mark.parametrize("delta", [1e-2, pytest.param(1e-5, marks=pytest.mark.slow), 1e-20])
def test_subsampled_gaussian(ratio, noise, delta):
    def profile(e):
        return max(sampled_profile(ratio, noise, e, removal) for removal in (True, False))

    with mpmath.workdps(100):
        assert_inverts(sampled(ratio, noise), delta, profile, width=1e-3)
        for epsilon in (0.0, 0.5 * ratio, 2.0):
            assert_contains(numerical_delta(sampled(ratio, noise), epsilon), profile(epsilon))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mu", [0.2, 2.0])
@pytest.mark.parametrize("count", [1, 5])
def test_gaussian_and_randomised_response_together(mu, count):
    parts = (0.7,) * count
    event = Sequence((gaussian(mu), response(0.7, 0.0, count)))
    with mpmath.workdps(50):
        laws = response_laws(parts)

        def profile(epsilon):  # given the responses the Gaussian loss must pass what is left
            return sum(p * gaussian_profile(mu, epsilon - loss) for loss, p, _ in laws)

        for epsilon in (0.0, 1.0, 4.0):
            assert_contains(numerical_delta(event, epsilon), profile(epsilon), width=1e-4)
        for delta in (1e-3, 1e-12, 1e-30):
            assert_inverts(event, delta, profile, width=1e-5)


@pytest.mark.slow
def test_law_rounded_downwards_is_caught(monkeypatch):
    def downwards(masses, cells, within, first, size, spacing, order, offset):
        tilted = masses * grid.np.exp(-order * within)
        return grid._bin_masses(tilted, cells, first, size, offset)

    with mpmath.workdps(50):
        exact = gaussian_profile(1.0, 1.0)
        assert numerical_delta(gaussian(1.0), 1.0).upper > exact
        monkeypatch.setattr(grid, "_split_masses", downwards)
        monkeypatch.setattr(
            numerical, "_make_ordered_bracket", lambda lower, upper: Bracket(0.0, upper)
        )
        assert numerical_delta(gaussian(1.0), 1.0).upper < exact
        assert gaussian_profile(1.0, numerical_epsilon(gaussian(1.0), 1e-5).upper) > 1e-5


def test_ends_that_cross_are_an_error(monkeypatch):
    def downwards(masses, cells, within, first, size, spacing, order, offset):
        tilted = masses * grid.np.exp(-order * within)
        return grid._bin_masses(tilted, cells, first, size, offset)

    monkeypatch.setattr(grid, "_split_masses", downwards)
    with pytest.raises(ConvergenceError, match="expected them in order"):
        numerical_delta(gaussian(1.0), 1.0)


@pytest.mark.parametrize("count", [1, 2])
def test_cells_that_count_too_little_are_caught(monkeypatch, count):
    honest = grid.round_loss_law

    def wrong(*args):
        law = honest(*args)
        cells = law.cells_q
        moved = grid.TiltedMasses(grid.np.roll(cells.masses, -1), cells.first, cells.log_total)
        return grid.RoundedLaw(law.above, law.cells_p, moved, law.drift)

    assert numerical_delta(laplace(1.0, count), 0.4).width > 0
    monkeypatch.setattr("dpaudit.accounting.grid.numerical.round_loss_law", wrong)
    with pytest.raises(ConvergenceError, match="expected them in order"):
        numerical_delta(laplace(1.0, count), 0.4)


@pytest.fixture
def forget_pairs():
    """Pairs are kept between questions; those of a broken run must not outlive it."""
    dominating._build_dominating_pair.cache_clear()
    yield dominating._build_dominating_pair.cache_clear
    dominating._build_dominating_pair.cache_clear()


def test_the_wrong_direction_of_a_sampled_release_is_caught(monkeypatch, forget_pairs):
    with mpmath.workdps(50):
        exact = sampled_profile(0.1, 1.0, 0.5, removal=True)
        assert_contains(numerical_delta(sampled(0.1, 1.0), 0.5), exact, width=1e-4)
        monkeypatch.setattr(
            "dpaudit.accounting.pairs.composition.SubsampledGaussianPair",
            lambda ratio, noise: SubsampledGaussianPair(ratio, noise, removal=False),
        )
        monkeypatch.setattr(SubsampledGaussianPair, "reversed", lambda self: self)
        forget_pairs()
        assert numerical_delta(sampled(0.1, 1.0), 0.5).upper < exact


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 5), st.integers(1, 9), st.floats(1e-9, 0.5))
def test_coarse_grids_are_wider_and_still_hold(epsilon, count, delta):
    with mpmath.workdps(60):
        exact = binomial_epsilon(epsilon, count, delta)
        for cells in (256, 500, 2**12):
            event = Sequence((response(epsilon, 0.0, count), response(1e-3)))
            bracket = numerical_epsilon(event, delta, cells)
            assert bracket.upper >= exact * (1 - mpmath.mpf(ULPS))
            assert bracket.lower <= max(exact, 0) + mpmath.mpf("1.001e-3")


@pytest.mark.parametrize("delta", [1e-35, 1e-200])
def test_sums_that_underflow_certify_nothing(delta):
    """Masses below 1e-308 have no digits left: a ratio of two such sums is no lower end."""
    event = laplace(1.0)
    with mpmath.workdps(50):
        assert_inverts(event, delta, lambda e: laplace_profile(1.0, e), width=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "delta"), [(1, 1e-12), pytest.param(10, 1e-12, marks=pytest.mark.slow), (100, 1e-12)]
)
def test_rarely_drawn_records_at_tiny_deltas(count, delta):
    """The case of two scales: a loss near 0 nearly always, and a far tail that decides."""
    bracket = numerical_epsilon(sampled(1e-4, 1.0, count), delta)
    assert bracket.width <= 0.01 * bracket.upper
    if count == 1:
        with mpmath.workdps(60):
            exact = mpmath.findroot(
                lambda e: mpmath.log(sampled_profile(1e-4, 1.0, e, True) / delta), bracket.upper
            )
        assert_contains(bracket, exact, width=1e-5)


def test_no_sum_of_leaks_passes_one():
    event = Sequence((response(0.0, 0.5, 1097), sampled(0.1, 1.0)))
    assert numerical_delta(event, 0.0).upper <= 1


@pytest.mark.parametrize("order", [0.0, 5e-324, 1e-310, 1e-9, 0.3, 1.0, 7.0, 1e7])
def test_the_saddle_factor_has_its_limit_at_small_orders(order):
    """``max_x e^(-order x) (1 - e^-x)`` is near 1 for orders near 0, not 0 and not an error."""
    from dpaudit.accounting.grid.numerical import _compute_log_hinge_peak

    with mpmath.workdps(400):
        exact = mpmath.mpf(0)
        if order > 0:
            big = mpmath.mpf(order)
            exact = -big * mpmath.log(1 + 1 / big) - mpmath.log(1 + big)
        assert _compute_log_hinge_peak(order) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_mass_that_leaves_the_window_is_counted_as_astray():
    """Four steps of 0 to 7 cells reach 28: a window of the first 16 leaves a known share out."""
    part = grid.TiltedMasses(grid.np.full(8, 1 / 8), 0, 0.0)
    sums = [sum(cells) for cells in itertools.product(range(8), repeat=4)]
    outside = sum(one >= 16 for one in sums) / len(sums)
    law = grid.convolve_laws([(part, 4)], 0, 16, 0.1, (1.0, 1.0), 1e-3, 1)
    assert law.astray >= outside + 1e-3
    whole = grid.convolve_laws([(part, 4)], 0, 64, 0.1, (20.0, 20.0), 1e-3, 1)
    assert 1e-3 <= whole.astray < 2e-3


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 9.0])
@pytest.mark.parametrize(
    "event",
    [
        gaussian(1.0),
        laplace(0.5, 7),
    ],
)
def test_chernoffs_bound_is_above_what_a_grid_finds(event, epsilon):
    bound, exact = chernoff_delta(event, epsilon), numerical_delta(event, epsilon)
    assert exact.lower <= bound <= 1
    assert bound <= 30 * exact.upper + 1e-300
    assert NumericalDP(event).delta_within(epsilon, 0.0) <= exact.upper * (1 + 1e-9)
    assert NumericalDP(event).delta_within(epsilon, 1.0) == bound


@pytest.mark.parametrize("share", [1e-8, 0.02, 0.4])
@pytest.mark.parametrize("delta", [1e-7, 1e-4])
def test_an_upper_end_counts_the_tails_that_are_left_out(share, delta):
    """However much of delta they take: the closed form of one release lies in the bracket."""
    ratio, noise = 0.1, 1.0
    event = PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise)

    def exactly(epsilon):
        edge = noise**2 * math.log(math.expm1(epsilon) / ratio + 1) + 0.5
        kept = (1 - ratio - math.exp(epsilon)) * ndtr(-edge / noise)
        return kept + ratio * ndtr((1 - edge) / noise)

    removal = next(one for one in Composition.of(event).directions if math.isinf(one.largest))
    found = numerical._bound_grid_epsilon(removal, delta, 2**14, share)
    assert found.lower <= brentq(lambda e: exactly(e) - delta, 0, 30, xtol=1e-13) <= found.upper
    at_once = numerical._delta_without_tails(removal.trimmed(share * 1e-3), 1.0, 2**14, 0.0)
    assert at_once.lower <= exactly(1.0) <= at_once.upper


class _FixedLaw:
    """A law whose transform is off by as much as its masses are large."""

    points = np.array([0.0, 0.5, 1.0])
    spacing, log_total = 0.5, 0.0

    def suffix_profile(self, order):
        return np.array([1e-6, 5e-7, 0.0])

    def suffix_sums(self, order):
        return np.array([1e-6, 1e-6, 0.0])

    def profile_errors(self, order, profile):
        return np.full(3, 1e-3)

    def slack(self, order):
        return 0.0


def test_between_points_the_error_of_the_transform_weighs_more():
    curve = numerical.UpperCurve(_FixedLaw(), 3.0, 0.0)
    for epsilon in (0.01, 0.2, 0.45, 0.7):
        at = int(np.searchsorted(curve.law.points, epsilon, side="right"))
        # As much as at the point above it, at most exp(order * spacing) times.
        least = 1e-3 * math.exp(3.0 * 0.5) * math.exp(-3.0 * curve.law.points[at])
        assert curve.delta(epsilon) >= least
