"""Events, the pairs that dominate them, and what holds for every kind: order, limits, extremes."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
    get_releases,
    repeat_event,
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.closed_forms import (
    GaussianPair,
    LaplacePair,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.pairs.exponential_norm import ExponentialNormPair, ObjectivePerturbationPair
from dpaudit.errors import InvalidArgument, UnsupportedEvent

CELLS = 2**13


def gaussian(mu, count=1):
    return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=count)


def laplace(shift, count=1):
    return LaplaceRelease(sensitivity=shift, noise_scale=1.0, count=count)


def response(epsilon, delta=0.0, count=1):
    return ApproximateRelease(epsilon=epsilon, delta=delta, count=count)


def spherical(shift, dimension=10, count=1):
    return ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )


def minimiser(shift, dimension=10, log_determinant=0.0, count=1):
    return ObjectivePerturbation(
        sensitivity=shift,
        noise_rate=1.0,
        dimension=dimension,
        log_determinant=log_determinant,
        count=count,
    )


def sampled(ratio, noise, count=1):
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


KINDS = [
    gaussian(0.3),
    laplace(0.4),
    response(0.5),
    response(0.5, 1e-3),
    spherical(0.5),
    minimiser(0.5, log_determinant=0.1),
    sampled(0.2, 1.0),
    Sequence((laplace(0.4), gaussian(0.2, 2), response(0.1, 0.0, 3))),
]


def test_releases_are_merged_in_order():
    a, b = gaussian(0.3), laplace(0.4, 2)
    nested = Sequence((a, Sequence((b, Sequence((a,)), Sequence(()))), b))
    assert get_releases(nested) == (gaussian(0.3, 2), laplace(0.4, 4))
    assert get_releases(repeat_event(nested, 3)) == (gaussian(0.3, 6), laplace(0.4, 12))
    assert (
        get_releases(Sequence(()))
        == get_releases(gaussian(1.0, 0))
        == get_releases(repeat_event(a, 0))
        == ()
    )
    assert repeat_event(laplace(0.4, 2), 3) == laplace(0.4, 6)


def test_what_is_no_event_is_refused():
    for event in (None, "gaussian", Sequence((gaussian(1.0), 3))):
        with pytest.raises(UnsupportedEvent):
            get_releases(event)
    with pytest.raises(UnsupportedEvent):
        Composition.of(ZeroConcentratedRelease(rho=0.1))
    with pytest.raises(UnsupportedEvent):
        gaussian_guarantee(Sequence((gaussian(1.0), laplace(1.0))))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True])
def test_parameters_outside_their_domain_are_refused(bad):
    builders = [
        gaussian, laplace, response, spherical, minimiser,
        lambda x: GaussianRelease(sensitivity=1.0, noise_scale=x),
        lambda x: response(0.1, x),
        lambda x: minimiser(1.0, 10, x),
        lambda x: sampled(x, 1.0),
        lambda x: sampled(0.5, x),
        lambda x: laplace(1.0, x),
        lambda x: spherical(1.0, x),
        lambda x: ZeroConcentratedRelease(rho=x),
    ]  # fmt: skip
    for build in builders:
        with pytest.raises(InvalidArgument):
            build(bad)
    for build, value in ((sampled, 1.5), (sampled, 0.0)):
        with pytest.raises(InvalidArgument):
            build(value, 1.0)
    for function in (numerical_epsilon, numerical_delta):
        with pytest.raises(InvalidArgument):
            function(gaussian(1.0), bad)


def test_pairs_of_events():
    assert Composition.of(Sequence((gaussian(3.0), sampled(1.0, 0.25)))).parts == (
        (GaussianPair(5.0), 1),
    )
    assert Composition.of(laplace(0.4, 3)).parts == ((LaplacePair(0.4), 3),)
    assert Composition.of(response(0.4, 0.1)).parts == ((RandomizedResponsePair(0.4, 0.1), 1),)
    assert Composition.of(spherical(0.4, 1)).parts == ((LaplacePair(0.4), 1),)
    assert Composition.of(spherical(0.4, 3)).parts == ((ExponentialNormPair(0.4, 3), 1),)
    assert Composition.of(minimiser(0.4, 3, 0.1)).parts == (
        (ObjectivePerturbationPair(0.4, 3, 0.1), 1),
    )
    assert Composition.of(minimiser(0.0, 3, 0.1)).parts == ((RandomizedResponsePair(0.1), 1),)
    assert Composition.of(sampled(0.2, 3.0)).parts == ((SubsampledGaussianPair(0.2, 3.0), 1),)
    nothing = (gaussian(0), laplace(0), response(0), spherical(0), minimiser(0), laplace(1.0, 0))
    assert Composition.of(Sequence(nothing)).parts == ()
    huge = LaplaceRelease(sensitivity=1e300, noise_scale=1e-300)
    with pytest.raises(InvalidArgument):
        Composition.of(huge)


@pytest.mark.parametrize("event", KINDS, ids=repr)
def test_count_is_a_loop_is_a_nest(event):
    three = repeat_event(event, 3)
    expected = numerical_epsilon(three, 0.01, CELLS)
    assert numerical_epsilon(Sequence((event, event, event)), 0.01, CELLS) == expected
    assert numerical_epsilon(Sequence((event, Sequence((event, event)))), 0.01, CELLS) == expected


@pytest.mark.slow
@pytest.mark.parametrize("event", KINDS, ids=repr)
def test_ordered_in_count_delta_and_epsilon(event):
    counts = [numerical_epsilon(repeat_event(event, n), 0.01, CELLS) for n in (0, 1, 2, 5, 9)]
    deltas = [numerical_epsilon(event, d, CELLS) for d in (0.9, 0.3, 0.05, 1e-2, 1e-4, 1e-9, 0.0)]
    epsilons = [numerical_delta(event, e, CELLS) for e in (9.0, 3.0, 1.0, 0.7, 0.3, 0.1, 0.0)]
    assert counts[0] == Bracket.exactly(0.0)
    for brackets in (counts, deltas, epsilons):
        for smaller, larger in itertools.pairwise(brackets):
            assert smaller.lower <= larger.upper
            assert smaller.upper <= larger.upper * (1 + 1e-3) + 1e-6
            assert smaller.lower <= larger.lower * (1 + 1e-3) + 1e-6
    assert all(0 <= b.lower <= b.upper <= 1 for b in epsilons)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("event", KINDS, ids=repr)
def test_epsilon_and_delta_answer_each_other(event):
    four = repeat_event(event, 4)
    for delta in (0.1, 1e-2, 5e-3):
        bracket = numerical_epsilon(four, delta)
        if bracket.lower > 0:
            assert numerical_delta(four, bracket.upper).lower <= delta * (1 + 1e-12)
            assert numerical_delta(four, bracket.lower).upper >= delta * (1 - 1e-12)


def test_limits():
    pure = Sequence((laplace(0.4, 2), response(0.5), spherical(0.3), minimiser(0.2, 3, 0.1)))
    assert numerical_epsilon(pure, 0.0).upper == pytest.approx(0.8 + 0.5 + 0.3 + 0.3)
    assert numerical_delta(pure, 2.0) == Bracket.exactly(0.0)
    assert numerical_epsilon(gaussian(1.0), 0.0) == Bracket.exactly(math.inf)
    assert numerical_epsilon(sampled(0.2, 1.0), 0.0) == Bracket.exactly(math.inf)
    leaks = response(0.5, 0.01, 5)
    assert numerical_epsilon(leaks, 0.04) == Bracket.exactly(math.inf)
    assert numerical_epsilon(leaks, 0.06).upper <= 2.5
    assert numerical_delta(leaks, 2.5).upper == pytest.approx(1 - 0.99**5)
    nothing = Sequence(())
    assert numerical_epsilon(nothing, 0.0) == numerical_delta(nothing, 0.0) == Bracket.exactly(0.0)


def test_a_delta_too_small_to_be_a_number_is_not_called_zero():
    assert numerical_delta(gaussian(1.0), 100.0).upper > 0


@pytest.mark.parametrize("mu", [1e-12, 1e3, 1e4, 1e6])
def test_gaussian_extremes(mu):
    for epsilon in (0.0, 1.0, mu):
        bracket = numerical_delta(gaussian(mu), epsilon)
        assert 0 <= bracket.lower <= bracket.upper <= 1
    assert numerical_epsilon(gaussian(mu), 1e-5).upper >= 0


@pytest.mark.parametrize(
    "event",
    [laplace(0.01, 100_000), spherical(0.01, 10, 100_000), response(2e-4, 0.0, 90_000),
     Sequence((response(0.01, 0.0, 100_000), response(0.0137, 0.0, 100_000)))],
    ids=repr,
)  # fmt: skip
def test_lower_end_of_very_many_releases(event):
    bracket = numerical_epsilon(event, 1e-5)
    assert bracket.lower > 0.5 * bracket.upper


@pytest.mark.parametrize("shift", [0.5, 30.0, 1e3])
def test_far_tail_in_ten_thousand_dimensions(shift):
    for delta in (1e-20, 1e-300):
        bracket = numerical_epsilon(spherical(shift, 10_000), delta)
        assert bracket.width < 0.05 * bracket.upper


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("ratio", "noise"), [(1e-6, 1.0), (1e-6, 10.0), (1e-3, 0.3), (1e-3, 10.0)])
def test_rarely_sampled_releases(ratio, noise):
    for delta in (1e-5, 1e-9):
        bracket = numerical_epsilon(sampled(ratio, noise), delta)
        assert 0 <= bracket.lower <= bracket.upper
        assert bracket.width <= 0.02 * bracket.upper


COUNTS = st.one_of(st.integers(1, 10), st.integers(1, 10**6))
TINY_TO_HUGE = st.floats(-8, 2).map(lambda x: 10**x)
DIMENSIONS = st.one_of(st.integers(1, 10), st.integers(1, 10**4))
DELTAS = st.one_of(st.floats(1e-300, 0.9), st.floats(-300, -0.05).map(lambda x: 10**x))
PLAIN = st.one_of(
    st.builds(gaussian, TINY_TO_HUGE, COUNTS),
    st.builds(laplace, TINY_TO_HUGE, COUNTS),
    st.builds(response, TINY_TO_HUGE, st.just(0.0), COUNTS),
    st.builds(response, st.one_of(st.just(0.0), TINY_TO_HUGE), st.floats(0, 0.5), COUNTS),
    st.builds(spherical, TINY_TO_HUGE, DIMENSIONS, COUNTS),
    st.builds(minimiser, TINY_TO_HUGE, DIMENSIONS, st.floats(0, 3), COUNTS),
)
RATIOS = st.floats(-6, -1e-3).map(lambda x: 10**x)
SAMPLED = st.builds(sampled, RATIOS, st.floats(-1.3, 2).map(lambda x: 10**x), COUNTS)
MIXED = st.lists(st.one_of(PLAIN, SAMPLED), min_size=2, max_size=3).map(
    lambda e: Sequence(tuple(e))
)


anything = given(st.one_of(PLAIN, SAMPLED, MIXED), DELTAS, st.floats(0, 50))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@anything
def test_no_parameters_break_it(event, delta, epsilon):
    check_it_does_not_break(event, delta, epsilon)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@anything
def test_no_parameters_break_it_at_full_size(event, delta, epsilon):
    check_it_does_not_break(event, delta, epsilon)


def check_it_does_not_break(event, delta, epsilon):
    bracket = numerical_epsilon(event, delta, CELLS)
    assert 0 <= bracket.lower <= bracket.upper
    bracket = numerical_delta(event, epsilon, CELLS)
    assert 0 <= bracket.lower <= bracket.upper <= 1


MODERATE = st.builds(
    sampled, st.floats(-4, -1e-3).map(lambda x: 10**x), st.floats(0, 2).map(lambda x: 10**x)
)
MODERATE_DELTAS = st.one_of(st.floats(1e-12, 0.5), st.floats(-12, -0.4).map(lambda x: 10**x))


moderate = given(st.one_of(PLAIN, MODERATE), MODERATE_DELTAS, st.integers(1, 100))


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@example(sampled(1e-4, 1.0), 1e-12, 100)
@example(sampled(1.39e-6, 0.0825), 0.19, 30)
@moderate
def test_brackets_are_narrow_for_moderate_parameters(event, delta, count):
    check_the_bracket_is_narrow(event, delta, count)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@example(sampled(1e-4, 1.0), 1e-12, 1)
@example(sampled(1e-4, 1.0), 1e-12, 10)
@example(sampled(1e-4, 1.0), 1e-12, 100)
@example(sampled(1.39e-6, 0.0825), 0.19, 30)
@moderate
def test_brackets_are_narrow_for_many_moderate_parameters(event, delta, count):
    check_the_bracket_is_narrow(event, delta, count)


def check_the_bracket_is_narrow(event, delta, count):
    bracket = numerical_epsilon(dataclasses.replace(event, count=count), delta)
    assert bracket.width <= 0.01 * bracket.upper + 1e-6 * count
