"""The adapter of dp-accounting: its refusals without the library, its answers with it."""

from __future__ import annotations

import importlib.util
import math
import sys

import pytest

from dpaudit.accounting import dp_accounting_adapter as adapter
from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.dp_accounting_adapter import (
    MOST_POINTS,
    SLACK,
    dp_accounting_delta,
    dp_accounting_epsilon,
    loss_distribution,
)
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
from dpaudit.accounting.optimal import make_optimal_composition
from dpaudit.errors import DpauditError, InvalidArgument, UnsupportedEvent

needs_library = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None,
    reason="dp-accounting is not installed: pip install 'dpaudit[pld]'",
)

GAUSSIAN = GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=20)
LAPLACE = LaplaceRelease(sensitivity=1.0, noise_scale=10.0, count=100)
RESPONSE = ApproximateRelease(epsilon=0.1, count=100)
LEAKY = ApproximateRelease(epsilon=0.1, delta=1e-7, count=10)
SAMPLED = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=100)
COVERED = (
    GAUSSIAN,
    LAPLACE,
    RESPONSE,
    LEAKY,
    SAMPLED,
    Sequence((GAUSSIAN, Sequence((LAPLACE, RESPONSE)))),
)
UNCOVERED = (
    ExponentialNormRelease(sensitivity=1.0, noise_rate=0.5, dimension=10),
    ObjectivePerturbation(sensitivity=1.0, noise_rate=0.5, dimension=10),
    ZeroConcentratedRelease(rho=0.1),
)


# Without the library


@pytest.mark.parametrize("event", UNCOVERED)
def test_an_event_the_library_does_not_know_is_refused(event):
    with pytest.raises(UnsupportedEvent, match=r"^event: got \w+, expected Gaussian"):
        dp_accounting_epsilon(Sequence((GAUSSIAN, event)), 1e-5)


def test_a_missing_library_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.delitem(sys.modules, "dp_accounting.pld", raising=False)
    monkeypatch.delitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", raising=False)
    with pytest.raises(DpauditError, match=r"pip install 'dpaudit\[pld\]'"):
        dp_accounting_epsilon(GAUSSIAN, 1e-5)


@pytest.mark.parametrize(
    "event", [GaussianRelease(sensitivity=1000.0, noise_scale=1.0), LAPLACE, SAMPLED]
)
def test_a_grid_that_would_not_fit_is_refused_before_the_call(event, monkeypatch):
    monkeypatch.setattr(
        adapter, "_import_dp_accounting", lambda: pytest.fail("the library was called")
    )
    with pytest.raises(InvalidArgument, match=rf"^interval: got 1e-07.*{MOST_POINTS} points$"):
        dp_accounting_epsilon(event, 1e-5, interval=1e-7)


@pytest.mark.parametrize("delta", [0.0, 1e-20, 1e-14])
def test_a_delta_among_the_rounding_errors_is_refused(delta):
    with pytest.raises(InvalidArgument, match=r"^delta: got .*, expected at least 2.1e-13"):
        dp_accounting_epsilon(GAUSSIAN, delta)


@pytest.mark.parametrize("interval", [0.0, -1.0, math.nan])
def test_a_bad_interval_is_refused(interval):
    with pytest.raises(InvalidArgument, match=r"^interval: got"):
        dp_accounting_epsilon(GAUSSIAN, 1e-5, interval=interval)


def test_an_epsilon_where_exponentials_overflow_is_refused():
    with pytest.raises(InvalidArgument, match=r"^epsilon: got 701"):
        dp_accounting_delta(GAUSSIAN, 701.0)


# With the library


@needs_library
@pytest.mark.parametrize("event", COVERED)
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1])
def test_both_brackets_hold_the_same_epsilon(event, delta):
    theirs = dp_accounting_epsilon(event, delta, interval=1e-3)
    ours = numerical_epsilon(event, delta)
    assert theirs.lower <= ours.upper
    assert ours.lower <= theirs.upper
    assert theirs.width < 0.06


@needs_library
@pytest.mark.parametrize("event", COVERED)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
def test_both_brackets_hold_the_same_delta(event, epsilon):
    theirs = dp_accounting_delta(event, epsilon, interval=1e-3)
    ours = numerical_delta(event, epsilon)
    assert theirs.lower <= ours.upper
    assert ours.lower <= theirs.upper
    assert theirs.width < 0.02


@needs_library
@pytest.mark.parametrize("count", [1, 2, 100])
def test_every_randomised_response_counts(count):
    # The library's accountant answers .1001 at any count.
    one = ApproximateRelease(epsilon=0.1, count=1)
    exact = make_optimal_composition(0.1, 0.0, count).epsilon(1e-5)
    for event in (ApproximateRelease(epsilon=0.1, count=count), Sequence((one,) * count)):
        bracket = dp_accounting_epsilon(event, 1e-5)
        assert bracket.contains(exact)
        assert bracket.upper == pytest.approx(exact, abs=1e-8)


@needs_library
def test_an_epsilon_between_the_points_of_the_grid_is_rounded_both_ways():
    exact = make_optimal_composition(1 / math.pi, 0.0, 50).epsilon(1e-5)
    bracket = dp_accounting_epsilon(ApproximateRelease(epsilon=1 / math.pi, count=50), 1e-5, 1e-3)
    assert bracket.lower < exact < bracket.upper
    assert bracket.width < 0.1


@needs_library
@pytest.mark.parametrize("delta", [3e-13, 1e-11, 1e-8, 0.01])
def test_a_gaussian_lies_between_both_ends(delta):
    bracket = dp_accounting_epsilon(GAUSSIAN, delta, interval=1e-3)
    assert bracket.contains(gaussian_guarantee(GAUSSIAN).epsilon(delta))
    assert bracket.width < 0.02


@needs_library
@pytest.mark.parametrize("delta", [2e-12, 1e-11, 1e-10])
def test_the_slack_keeps_ends_on_their_sides(delta):
    # Without it the upper end lies below the truth: 1.6e-3 at 1e-12, measured with spacing 1e-3.
    bracket, ours = dp_accounting_epsilon(SAMPLED, delta, 1e-3), numerical_epsilon(SAMPLED, delta)
    assert bracket.lower <= ours.lower
    assert ours.upper <= bracket.upper


@needs_library
def test_the_library_needs_the_slack():
    epsilon = numerical_epsilon(SAMPLED, 1e-12).lower  # where the exact delta is at least 1e-12
    raw = loss_distribution(SAMPLED, 1e-3, pessimistic=True).get_delta_for_epsilon(epsilon)
    assert 1e-12 - 101 * SLACK < raw < 1e-12


@needs_library
def test_an_epsilon_beyond_the_exponentials_is_refused():
    # Exact: 1462.285; the library gives 1463.24 at either rounding.
    event = GaussianRelease(sensitivity=50.0, noise_scale=1.0)
    with pytest.raises(InvalidArgument, match=r"^event: got .*at most 700: the library gives 1463"):
        dp_accounting_epsilon(event, 1e-5, interval=0.01)


@needs_library
def test_a_grid_so_coarse_that_powers_overflow_is_refused():
    many = PoissonSubsampledGaussian(sampling_ratio=0.001, noise_multiplier=0.6, count=10_000)
    with pytest.raises(InvalidArgument, match=r"^interval: got 0.1, expected a smaller one"):
        dp_accounting_epsilon(many, 1e-5, interval=0.1)


@needs_library
def test_a_secret_that_may_be_told_leaves_no_epsilon():
    bracket = dp_accounting_epsilon(LEAKY, 1e-7)
    assert bracket.lower == bracket.upper == math.inf


@needs_library
def test_what_reveals_nothing_costs_nothing():
    nothing = Sequence(
        (
            GaussianRelease(sensitivity=0.0, noise_scale=1.0),
            LaplaceRelease(sensitivity=0.0, noise_scale=1.0),
            ApproximateRelease(epsilon=0.0),
        )
    )
    assert dp_accounting_epsilon(nothing, 1e-5).upper == 0
    assert dp_accounting_epsilon(Sequence((nothing, RESPONSE)), 1e-5) == (
        dp_accounting_epsilon(RESPONSE, 1e-5)
    )


@needs_library
def test_the_examples_hold():
    bracket = dp_accounting_epsilon(RESPONSE, 1e-5)
    assert (round(bracket.lower, 4), round(bracket.upper, 4)) == (4.3068, 4.3068)
    bracket = dp_accounting_delta(GaussianRelease(sensitivity=1.0, noise_scale=1.0), 1.0)
    assert (round(bracket.lower, 3), round(bracket.upper, 3)) == (0.127, 0.127)
