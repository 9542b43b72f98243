"""Certified inversion: twelve digits where it answers, refused elsewhere, broken ones caught."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
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
)
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs import closed_forms, composition
from dpaudit.accounting.pairs.closed_forms import GaussianPair, LaplacePair, SubsampledGaussianPair
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.series.inversion import bound_delta_by_inversion, bound_epsilon_by_inversion
from dpaudit.accounting.strongest_guarantee import NumericalDP
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.guarantees.gaussian import log_delta


def gaussian(mu, count=1):
    return GaussianRelease(sensitivity=mu, noise_scale=1.0, count=count)


def norm(dimension, shift=0.5, count=50):
    return ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )


EVENTS = [
    norm(3),
    norm(10),
    norm(105),
    norm(105, shift=20.0),
    LaplaceRelease(sensitivity=1.0, noise_scale=1.0, count=100),
    LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=10_000),
    PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=1000),
    PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=2.0, count=100),
    ObjectivePerturbation(
        sensitivity=0.5, noise_rate=1.0, dimension=105, log_determinant=0.01, count=300
    ),
    Sequence((gaussian(1.0), ApproximateRelease(epsilon=0.1, count=100))),
    Sequence((gaussian(0.5), norm(10, count=5), ApproximateRelease(epsilon=0.2, delta=1e-12))),
]


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 10.0, 60.0])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-20, 1e-100, 1e-250])
def test_gaussian_epsilon_is_bracketed_to_ten_digits(mu, delta):
    exact = gaussian_guarantee(gaussian(mu)).epsilon(delta)
    bracket = bound_epsilon_by_inversion(gaussian(mu), delta)
    assert bracket.lower <= exact * (1 + 1e-12)
    assert bracket.upper >= exact * (1 - 1e-12)
    assert bracket.width <= 1e-10 * exact


@given(st.floats(0.05, 20), st.floats(-1, 9))
@settings(max_examples=60, deadline=None)
def test_gaussian_delta_is_bracketed(mu, far):
    epsilon = max(0.0, mu * mu / 2 + far * mu)
    exact = math.exp(log_delta(mu, epsilon))
    bracket = bound_delta_by_inversion(gaussian(mu), epsilon)
    assert bracket.lower <= exact * (1 + 1e-12)
    assert bracket.upper >= exact * (1 - 1e-12)
    assert bracket.width <= 1e-9 * exact


@pytest.mark.sampled(5)
@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_it_agrees_with_the_grid(event, delta):
    """Two methods that share the pairs' laws and nothing else; both certify their ends."""
    inverted, grid = bound_epsilon_by_inversion(event, delta), numerical_epsilon(event, delta)
    assert inverted.lower <= grid.upper
    assert grid.lower <= inverted.upper
    assert inverted.width <= 1e-9 * inverted.upper
    epsilon = inverted.upper / 2
    at = bound_delta_by_inversion(event, epsilon), numerical_delta(event, epsilon)
    assert at[0].lower <= at[1].upper
    assert at[1].lower <= at[0].upper


@pytest.mark.parametrize(("mu", "epsilon0", "count"), [(1.0, 0.1, 100), (0.3, 1.0, 7)])
@pytest.mark.parametrize("epsilon", [0.0, 2.0, 6.0])
def test_gaussian_and_randomised_response_in_fifty_digits(mu, epsilon0, count, epsilon):
    """Given the responses, the Gaussian loss has to pass what is left: a finite sum."""
    with mpmath.workdps(50):

        def profile(rest):
            x = rest / mpmath.mpf(mu)
            half = mpmath.mpf(mu) / 2
            return mpmath.ncdf(half - x) - mpmath.exp(rest) * mpmath.ncdf(-half - x)

        truth = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon0)))
        exact = mpmath.fsum(
            mpmath.binomial(count, k)
            * truth**k
            * (1 - truth) ** (count - k)
            * profile(epsilon - (2 * k - count) * mpmath.mpf(epsilon0))
            for k in range(count + 1)
        )
    responses = ApproximateRelease(epsilon=epsilon0, count=count)
    bracket = bound_delta_by_inversion(Sequence((gaussian(mu), responses)), epsilon)
    assert bracket.lower * (1 - 1e-13) <= float(exact) <= bracket.upper * (1 + 1e-13)
    assert bracket.width <= 1e-9 * float(exact)


@pytest.mark.slow
@pytest.mark.parametrize(
    "event",
    [
        ApproximateRelease(epsilon=0.1, count=100),
        LaplaceRelease(sensitivity=0.1, noise_scale=1.0),
    ],
    ids=str,
)
def test_where_laws_have_atoms_it_refuses_and_the_grid_answers(event):
    with pytest.raises(ConvergenceError, match="use the numerical accountant"):
        bound_epsilon_by_inversion(event, 1e-5)
    assert NumericalDP(event).epsilon(1e-5) == numerical_epsilon(event, 1e-5).upper


def test_a_variation_that_is_too_small_is_caught(monkeypatch):
    """Negative control: with ten times too little variation the cut is felt."""
    event = LaplaceRelease(sensitivity=3.0, noise_scale=1.0, count=4)
    grid = numerical_delta(event, 6.0)
    monkeypatch.setattr(LaplacePair, "envelope", lambda self, order, u: 1e-30)
    broken = bound_delta_by_inversion(event, 6.0)
    assert broken.upper < grid.lower or broken.lower > grid.upper


def test_copies_that_are_forgotten_are_caught(monkeypatch):
    """Negative control: a short period without its copies gives a wrong lower end."""
    exact = math.exp(log_delta(1.0, 1.0))
    monkeypatch.setattr("dpaudit.accounting.series.inversion._choose_series_period", lambda *_: 4.0)
    honest = bound_delta_by_inversion(gaussian(1.0), 1.0)
    assert honest.lower <= exact <= honest.upper
    monkeypatch.setattr("dpaudit.accounting.series.inversion._InversionLine.copies", lambda *_: 0.0)
    assert bound_delta_by_inversion(gaussian(1.0), 1.0).lower > exact


def test_a_moment_that_is_only_bounded_is_no_basis_for_a_lower_end(monkeypatch):
    """Beyond some order a quadrature gives up, and what it then answers is an upper bound."""
    event = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=1000)
    honest = bound_delta_by_inversion(event, 5.0)
    with monkeypatch.context() as patched:  # negative control: a bound taken for a moment
        exact = SubsampledGaussianPair.log_mgf
        patched.setattr(SubsampledGaussianPair, "log_mgf", lambda *at: exact(*at) + 1e-3)
        assert bound_delta_by_inversion(event, 5.0).lower > honest.upper
    monkeypatch.setattr(SubsampledGaussianPair, "farthest_order", 0.5)
    with pytest.raises(ConvergenceError, match="has no more than an upper bound"):
        bound_delta_by_inversion(event, 5.0)
    grid = numerical_delta(event, 5.0, 2**12)  # it keeps to smaller orders
    assert grid.lower <= honest.lower <= honest.upper <= grid.upper
    monkeypatch.setattr("dpaudit.accounting.strongest_guarantee.numerical_delta", lambda *_: grid)
    assert NumericalDP(event).delta(5.0) == grid.upper


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [3, 10, 30])
def test_a_loss_that_is_nearly_an_atom_has_no_bounded_variation(count):
    """With noise this small a step shows nothing, or that the record was drawn: two atoms."""
    event = PoissonSubsampledGaussian(sampling_ratio=0.5, noise_multiplier=0.05, count=count)
    exact = 1 - 0.5**count
    for share in (0.5, 0.99, 0.9999):
        epsilon = share * count * math.log(2)
        assert numerical_delta(event, epsilon).lower <= exact * (1 + 1e-12)
        assert NumericalDP(event).delta(epsilon) >= exact * (1 - 1e-12)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceRelease(sensitivity=1e-120, noise_scale=1.0, count=3),
        Sequence(
            tuple(
                PoissonSubsampledGaussian(sampling_ratio=q / 100, noise_multiplier=1.0)
                for q in range(1, 11)
            )
        ),
    ],
    ids=["faint", "many"],
)
def test_its_refusals_speak_of_what_is_shared(event, monkeypatch):
    monkeypatch.setattr(composition, "_MOST_QUADRATURES", 9)
    with pytest.raises(ConvergenceError, match=r"^saddle point: .*use the numerical accountant"):
        bound_delta_by_inversion(event, 1e-121)


def phases(count):
    """Return so many different steps, whose noise falls."""
    noise = np.linspace(1.6, 0.8, count).tolist()
    steps = [PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=one) for one in noise]
    return Sequence(tuple(steps))


def test_of_many_different_steps_the_ends_are_as_close_as_of_few():
    found = bound_epsilon_by_inversion(phases(17), 1e-5)
    assert found.upper - found.lower <= 1e-10 * found.upper
    grid = numerical_epsilon(phases(17), 1e-5, cells=2**12)
    assert grid.lower <= found.lower
    assert found.upper <= grid.upper <= grid.lower * (1 + 0.02)


@pytest.mark.slow
def test_orders_that_few_laws_choose_lose_nothing(monkeypatch):
    found = bound_epsilon_by_inversion(phases(24), 1e-5)
    grid = numerical_epsilon(phases(24), 1e-5)
    assert grid.lower <= found.lower
    assert found.upper <= grid.upper <= grid.lower * (1 + 1e-3)
    monkeypatch.setattr(composition, "MANY", 24)
    every = bound_epsilon_by_inversion(phases(24), 1e-5)
    assert [found.lower, found.upper] == pytest.approx([every.lower, every.upper], rel=1e-11)


def test_orders_are_chosen_by_laws_that_stand_for_all():
    whole = Composition.of(phases(60))
    some = whole.some
    assert len(some) == 8
    assert some.steps == 60
    for order in (0.5, 2.0, 8.0):
        assert some.log_moment(order) == pytest.approx(whole.log_moment(order), rel=0.1)
    few = Composition.of(phases(16))
    assert few.some is few


def test_an_envelope_bounds_the_characteristic_function():
    for pair in (GaussianPair(0.7), LaplacePair(1.3)):
        for order in (0.3, 2.0, 9.0):
            for u in (0.5, 3.0, 40.0):
                sizes = abs(pair.characteristic(order, u * np.linspace(1, 31, 500)))
                assert sizes.max() <= pair.envelope(order, u) * (1 + 1e-12)


def sizes_from(pair, order, u):
    """Return sizes of the characteristic function at 931 frequencies from u to 32 u."""
    return abs(pair.characteristic(order, u / 30 * np.arange(961.0)))[30:]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("ratio", [1e-4, 0.01, 0.4])
@pytest.mark.parametrize("noise", [0.45, 0.9, 3.0])
@pytest.mark.parametrize("order", [0.3, 4.0, 25.0])
def test_an_envelope_of_a_sampled_loss_bounds_it(ratio, noise, removal, order):
    pair = SubsampledGaussianPair(ratio, noise, removal).trimmed(1e-14)
    for u in (2.0, 30.0, 300.0):
        assert sizes_from(pair, order, u).max() <= pair.envelope(order, u) * (1 + 1e-12)


def test_an_envelope_tells_what_a_rare_record_moves():
    """All of the density varies by far too much to tell anything, and its upper part does not."""
    pair = SubsampledGaussianPair(1e-4, 0.45).trimmed(1e-14)
    assert pair.variation(4.0) / 30 > 1
    assert 1 - pair.envelope(4.0, 30.0) > 0.9 * (1 - sizes_from(pair, 4.0, 30.0).max())


def test_an_eighth_of_the_variation_is_no_envelope(monkeypatch):
    whole = closed_forms._bound_tilted_parts
    monkeypatch.setattr(
        closed_forms, "_bound_tilted_parts", lambda *of: (whole(*of)[0], whole(*of)[1] / 8)
    )
    pair = SubsampledGaussianPair(0.4, 0.9).trimmed(1e-14)
    cases = [(order, u) for order in (0.3, 4.0, 25.0) for u in (1.0, 3.0, 10.0, 30.0)]
    assert any(sizes_from(pair, *case).max() > pair.envelope(*case) for case in cases)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("ratio", "noise", "removal", "order"),
    [
        (1e-4, 0.88, True, 24.0),
        (1e-4, 0.88, False, 60.0),
        (1.6e-4, 0.75, True, 12.5),
        (0.2, 3.0, True, 5.0),
        (0.3, 0.5, False, 0.7),
    ],
)
def test_the_first_frequencies_are_as_close_to_one_as_they_should_be(ratio, noise, removal, order):
    """Against 40 digits. A step among 400,000 may be off by 1e-16: of 1, that is the last bit."""
    pair = SubsampledGaussianPair(ratio, noise, removal).trimmed(1e-20)
    u = 0.35 * np.arange(300)
    found, error = pair.characteristic(order, u), pair.characteristic_error(order, u)
    with mpmath.workdps(40):
        q, s = mpmath.mpf(ratio), mpmath.mpf(noise)

        def transformed(frequency):
            def at(y):
                level = mpmath.log(1 - q + q * mpmath.exp((2 * y - 1) / (2 * s * s)))
                power = order + 1 if removal else order
                loss = level if removal else -level
                wave = mpmath.expj(mpmath.mpf(float(frequency)) * loss)
                return mpmath.npdf(y, 0, s) * mpmath.exp(power * loss) * wave

            ends = [mpmath.mpf(float(y if removal else -y)) for y in pair.interval]
            return mpmath.quad(at, mpmath.linspace(*sorted(ends), 50))

        whole = transformed(0.0)
        for k in (1, 16, 255, 256):
            off = abs(transformed(u[k]) / whole - mpmath.mpc(complex(found[k])))
            assert off <= error[k]
    assert error[1] < 1e-14 < error[256]


def test_nothing_released_and_bad_arguments():
    assert bound_epsilon_by_inversion(Sequence(()), 1e-5).upper == 0
    assert bound_epsilon_by_inversion(gaussian(0.1), 0.2).upper == 0
    for delta in (0.0, 1.0, -1.0):
        with pytest.raises(InvalidArgument, match=r"^delta: got"):
            bound_epsilon_by_inversion(gaussian(1.0), delta)
    with pytest.raises(InvalidArgument, match=r"^epsilon: got -1"):
        bound_delta_by_inversion(gaussian(1.0), -1.0)


# The Gaussian mechanism on Poisson samples, where a tiny release is added to cut the series off


def sampled(ratio, noise, count=1):
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def of_one_step(ratio, noise, epsilon):
    """Delta of a removal and of an addition, in 50 digits: the loss is monotone in the output."""
    with mpmath.workdps(50):
        q, sigma, e = mpmath.mpf(ratio), mpmath.mpf(noise), mpmath.exp(mpmath.mpf(epsilon))

        def beyond(level):
            """P and Q of outputs whose likelihood ratio P/Q is above a level."""
            y = sigma**2 * mpmath.log((level - 1 + q) / q) + mpmath.mpf(1) / 2
            under_q = mpmath.ncdf(-y / sigma)
            return (1 - q) * under_q + q * mpmath.ncdf((1 - y) / sigma), under_q

        p, under_q = beyond(e)
        removal = p - e * under_q
        if 1 / e <= 1 - q:
            return float(removal), 0.0
        p, under_q = beyond(1 / e)
        return float(removal), float((1 - under_q) - e * (1 - p))


@pytest.mark.parametrize(
    ("ratio", "noise"), [(1e-4, 0.4), (1e-3, 1.0), (0.01, 0.6), (0.01, 4.0), (0.3, 0.4), (0.3, 8.0)]
)
@pytest.mark.parametrize("delta", [1e-4, 1e-8, 1e-12])
def test_one_step_is_bracketed_to_seven_digits(ratio, noise, delta):
    bracket = bound_epsilon_by_inversion(sampled(ratio, noise), delta)
    assert bracket.width <= 1e-6 * max(bracket.upper, 1e-2)
    assert max(of_one_step(ratio, noise, bracket.upper)) <= delta * (1 + 1e-12)
    if bracket.lower:
        assert max(of_one_step(ratio, noise, bracket.lower)) >= delta * (1 - 1e-12)


def test_a_growth_that_is_forgotten_is_caught(monkeypatch):
    """Negative control: what the added release brings is no part of delta."""
    event, epsilon = sampled(0.01, 0.6), 1.0
    exact = max(of_one_step(0.01, 0.6, epsilon))
    honest = bound_delta_by_inversion(event, epsilon)
    assert honest.lower <= exact <= honest.upper
    monkeypatch.setattr("dpaudit.accounting.series.inversion._NARROW", 1e-2)
    assert bound_delta_by_inversion(event, epsilon).lower <= exact
    monkeypatch.setattr("dpaudit.accounting.series.inversion._Series._growth", lambda *_: 0.0)
    assert bound_delta_by_inversion(event, epsilon).lower > exact


def test_outputs_that_decide_and_are_forgotten_are_caught(monkeypatch):
    exact = max(of_one_step(0.01, 0.6, 1.0))
    assert bound_delta_by_inversion(sampled(0.01, 0.6), 1.0).upper >= exact
    known = "dpaudit.accounting.series.inversion._Series._known"
    monkeypatch.setattr(known, lambda *_: Bracket.exactly(0.0))
    assert bound_delta_by_inversion(sampled(0.01, 0.6), 1.0).upper < exact


def random_events(seed, number):
    rng = np.random.default_rng(seed)

    def between(low, high):
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    for _ in range(number):
        event = sampled(between(1e-4, 0.3), between(0.4, 8), int(between(1, 1e6)))
        yield event, between(1e-12, 1e-4)


def check_narrow(event, delta):
    bracket, grid = bound_epsilon_by_inversion(event, delta), numerical_epsilon(event, delta)
    assert bracket.width <= 1e-6 * max(bracket.upper, 1e-2), event
    assert bracket.lower <= grid.upper, event
    assert grid.lower <= bracket.upper, event


def test_brackets_are_narrow_and_agree_with_the_grid():
    for event, delta in random_events(3, 5):
        check_narrow(event, delta)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_brackets_of_two_hundred_events(seed):
    for event, delta in random_events(100 + seed, 50):
        check_narrow(event, delta)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("event", "delta"),
    [  # found by search: a tail far beyond epsilon weighed as much as what is near it
        (sampled(1.38e-4, 1.03, 3979), 3.4e-12),
        (sampled(1.31e-4, 0.70, 11172), 3.7e-8),
        (sampled(1.73e-3, 0.76, 11), 3.7e-12),
        (sampled(6.72e-3, 0.63, 616320), 1.6e-9),
    ],
)
def test_hard_events_have_narrow_brackets(event, delta):
    check_narrow(event, delta)


def test_it_is_below_what_a_pessimistic_grid_finds():
    """Another library's grid, whose ends are pessimistic, finds 7.78803."""
    assert bound_epsilon_by_inversion(sampled(0.001, 0.5, 1000), 1e-10).upper <= 7.78803


def test_a_gaussian_release_beside_sampled_ones():
    event = Sequence((gaussian(0.5), sampled(0.001, 0.6, 20)))
    bracket, grid = bound_epsilon_by_inversion(event, 1e-7), numerical_epsilon(event, 1e-7)
    assert bracket.width <= 1e-6 * bracket.upper
    assert bracket.lower <= grid.upper
    assert grid.lower <= bracket.upper
