"""Renyi curves against quadrature in many digits, and what they imply against exact profiles."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting import renyi as renyi_curves
from dpaudit.accounting.composition import compose_basic, gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
    repeat_event,
)
from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.optimal import make_optimal_composition
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.renyi import RenyiCurveDP, compute_zcdp_guarantee, renyi_divergence
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.kinds import ZeroConcentratedDP

GAUSSIAN = GaussianRelease(sensitivity=2.0, noise_scale=3.0)
LAPLACE = LaplaceRelease(sensitivity=1.0, noise_scale=2.0)
RESPONSE = ApproximateRelease(epsilon=0.7)
CONCENTRATED = ZeroConcentratedRelease(rho=0.05)
SAMPLED = PoissonSubsampledGaussian(sampling_ratio=0.02, noise_multiplier=1.1)
EVENTS = (GAUSSIAN, LAPLACE, RESPONSE, CONCENTRATED, SAMPLED, Sequence((GAUSSIAN, SAMPLED)))
ORDERS = (1 + 1e-6, 1.001, 1.5, 2.0, 3.0, 7.25, 64.0, 1000.5)
SCALES = (1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0)
every_event = pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)


def divergence_by_quadrature(log_p, log_q, order, points):
    """Return the Renyi divergence of two densities, integrated piece by piece."""

    def integrand(x):
        return mpmath.exp(order * log_p(x) - (order - 1) * log_q(x))

    return mpmath.log(mpmath.quad(integrand, points)) / (order - 1)


def sampled_pair(ratio, noise):
    """Return the log-densities of the mixture and of N(0, 1), in units of the noise."""

    def log_plain(x):
        return -x * x / 2 - mpmath.log(2 * mpmath.pi) / 2

    def log_mixture(x):
        odds = mpmath.exp(x / noise - 1 / (2 * noise**2))
        return log_plain(x) + mpmath.log1p(ratio * (odds - 1))

    return log_mixture, log_plain


def points_around(*centres):
    return sorted({c + d for c in centres for d in (-40, -10, -5, -2, 0, 2, 5, 10, 40)})


# The curves


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", [1.5, 2.0, 7.25])
@pytest.mark.parametrize("shift", [0.1, 1.0, 4.0])
def test_curves_with_densities_by_quadrature(order, shift):
    with mpmath.workdps(30):
        a, s = mpmath.mpf(order), mpmath.mpf(shift)
        moved = {
            "gauss": (lambda x: -((x - s) ** 2) / 2 - mpmath.log(2 * mpmath.pi) / 2),
            "laplace": (lambda x: -abs(x - s) - mpmath.log(2)),
        }
        still = {
            "gauss": (lambda x: -(x**2) / 2 - mpmath.log(2 * mpmath.pi) / 2),
            "laplace": (lambda x: -abs(x) - mpmath.log(2)),
        }
        points = {
            "gauss": points_around(0, a * s),
            "laplace": [-mpmath.inf, 0, s, mpmath.inf],
        }
        expected = {
            name: float(divergence_by_quadrature(moved[name], still[name], a, points[name]))
            for name in moved
        }
    gaussian = GaussianRelease(sensitivity=shift, noise_scale=1.0)
    laplace = LaplaceRelease(sensitivity=shift, noise_scale=1.0)
    assert renyi_divergence(gaussian, order) == pytest.approx(expected["gauss"], rel=1e-12)
    assert renyi_divergence(laplace, order) == pytest.approx(expected["laplace"], rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("scale", SCALES)
def test_closed_forms_keep_their_digits(scale, order):
    with mpmath.workdps(60):
        a, t = mpmath.mpf(order), mpmath.mpf(scale)
        up, down = mpmath.exp((a - 1) * t), mpmath.exp(-a * t)
        laplace = mpmath.log((a * up + (a - 1) * down) / (2 * a - 1)) / (a - 1)
        truth = 1 / (1 + mpmath.exp(-t))
        moment = truth**a * (1 - truth) ** (1 - a) + (1 - truth) ** a * truth ** (1 - a)
        response = mpmath.log(moment) / (a - 1)
    orders = np.array([order])
    assert renyi_curves.compute_laplace_divergence(scale, orders)[0] == pytest.approx(
        float(laplace), rel=1e-13
    )
    found = renyi_curves.compute_response_divergence(scale, orders)[0]
    assert found == pytest.approx(float(response), rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1.001, pytest.param(2.0, marks=pytest.mark.slow), 2.5, 33.3])
@pytest.mark.parametrize(("ratio", "noise"), [(1e-6, 1.0), (0.01, 0.3), (0.3, 4.0), (0.99, 1.0)])
def test_the_subsampled_curve_by_quadrature(ratio, noise, order):
    with mpmath.workdps(25):
        pair = sampled_pair(mpmath.mpf(ratio), mpmath.mpf(noise))
        points = points_around(0, mpmath.mpf(order) / noise)
        mixture_first = divergence_by_quadrature(*pair, mpmath.mpf(order), points)
    found = renyi_curves.compute_subsampled_divergence(ratio, noise, np.array([order]))[0]
    assert found == pytest.approx(float(mixture_first), rel=1e-11)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", [1.001, 2.0, 7.5])
@pytest.mark.parametrize(("ratio", "noise"), [(0.01, 0.5), (0.3, 1.0), (0.9, 3.0)])
def test_removing_a_record_leaks_no_more_than_adding_it(ratio, noise, order):
    with mpmath.workdps(25):
        mixture, plain = sampled_pair(mpmath.mpf(ratio), mpmath.mpf(noise))
        points = points_around(0, -mpmath.mpf(order) / noise)
        other = divergence_by_quadrature(plain, mixture, mpmath.mpf(order), points)
    found = renyi_curves.compute_subsampled_divergence(ratio, noise, np.array([order]))[0]
    assert 0 < float(other) <= found * (1 + 1e-12)


@pytest.mark.parametrize("ratio", [1e-6, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("noise", [0.1, 0.7, 3.0, 100.0])
@pytest.mark.parametrize("order", [2, 3, 33, 1000])
def test_the_binomial_sum_is_the_integral(ratio, noise, order):
    step = 0.4 * min(noise, 1.0)
    summed = renyi_curves._binomial_excess(ratio, noise, order)
    integral = renyi_curves._quadrature_excess(ratio, noise, float(order), step)
    assert summed == pytest.approx(integral, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("order", [1e5 + 0.5, 1e8, math.inf])
def test_without_a_quadrature_the_unsampled_curve_stands_in(order):
    found = renyi_curves.compute_subsampled_divergence(0.1, 0.2, np.array([order]))[0]
    assert found == pytest.approx(order * 12.5, rel=1e-15)


def test_a_sample_of_everything_is_the_gaussian():
    whole = PoissonSubsampledGaussian(sampling_ratio=1.0, noise_multiplier=1.5)
    gaussian = GaussianRelease(sensitivity=1.0, noise_scale=1.5)
    assert renyi_divergence(whole, ORDERS) == pytest.approx(renyi_divergence(gaussian, ORDERS))


@every_event
def test_curves_grow_with_the_order(event):
    values = renyi_divergence(event, np.append(np.geomspace(1e-5, 1e6, 60) + 1, math.inf))
    assert (values > 0).all()
    assert (values[1:] >= values[:-1] * (1 - 1e-11)).all()


@every_event
def test_count_loop_and_nested_agree(event):
    nested = Sequence((repeat_event(event, 2), Sequence((event, Sequence((event,))))))
    for whole in (repeat_event(event, 4), Sequence((event,) * 4), nested):
        assert renyi_divergence(whole, ORDERS) == pytest.approx(4 * renyi_divergence(event, ORDERS))


def test_a_laplace_query_of_many_coordinates_leaks_no_more_than_one():
    orders = np.array(ORDERS)
    parts = [renyi_curves.compute_laplace_divergence(shift, orders) for shift in (0.5, 0.3, 0.2)]
    assert (sum(parts) <= renyi_curves.compute_laplace_divergence(1.0, orders)).all()


# What a curve implies


@pytest.mark.sampled(2)
@every_event
def test_the_best_order_is_found(event):
    guarantee = RenyiCurveDP(repeat_event(event, 3))
    orders = 1 + np.geomspace(1e-4, 1e4, 600)
    curve = renyi_divergence(repeat_event(event, 3), orders)
    for delta in (1e-30, 1e-5, 0.1):
        bounds = curve + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
        least = min(max(0.0, float(bounds.min())), guarantee.epsilon(0.0))
        assert guarantee.epsilon(delta) <= least * (1 + 1e-12)
        assert guarantee.epsilon(delta) == pytest.approx(least, rel=1e-2, abs=1e-12)


@every_event
def test_epsilon_and_delta_are_inverse(event):
    guarantee = RenyiCurveDP(repeat_event(event, 2))
    for delta in (1e-250, 1e-20, 1e-5, 1e-2):
        epsilon = guarantee.epsilon(delta)
        if 0 < epsilon < guarantee.epsilon(0.0):
            assert guarantee.delta(epsilon) == pytest.approx(delta, rel=1e-6)


@every_event
def test_answers_fall_and_grow_as_they_must(event):
    guarantee, longer = RenyiCurveDP(event), RenyiCurveDP(repeat_event(event, 2))
    deltas = [guarantee.delta(e) for e in (0.0, 0.1, 1.0, 5.0, 50.0, 500.0)]
    epsilons = [guarantee.epsilon(d) for d in (0.0, 1e-300, 1e-20, 1e-5, 0.1, 0.99)]
    assert deltas == sorted(deltas, reverse=True)
    assert epsilons == sorted(epsilons, reverse=True)
    assert longer.epsilon(1e-5) > guarantee.epsilon(1e-5)
    assert longer.delta(1.0) >= guarantee.delta(1.0)


@pytest.mark.parametrize("delta", [1e-100, 1e-10, 1e-5, 0.01])
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_never_below_the_exact_value_and_close_to_it(count, delta):
    response, gaussian = repeat_event(RESPONSE, count), repeat_event(GAUSSIAN, count)
    pairs = (
        (
            make_optimal_composition(0.7, 0.0, count).epsilon(delta),
            RenyiCurveDP(response).epsilon(delta),
        ),
        (gaussian_guarantee(gaussian).epsilon(delta), RenyiCurveDP(gaussian).epsilon(delta)),
    )
    for exact, bound in pairs:
        assert exact <= bound <= 1.25 * exact + 0.5
        assert bound / 2 < exact  # half the bound is refuted by the exact value
    assert RenyiCurveDP(response).epsilon(delta) <= compose_basic(response)[0] * (1 + 1e-12)


@given(st.floats(0.01, 3.0), st.integers(1, 200), st.floats(1e-50, 0.1))
@settings(max_examples=30)
def test_theorems_on_pure_releases_are_in_order(own, count, delta):
    event = ApproximateRelease(epsilon=own, count=count)
    exact = make_optimal_composition(own, 0.0, count).epsilon(delta)
    renyi, concentrated = (
        RenyiCurveDP(event).epsilon(delta),
        compute_zcdp_guarantee(event).epsilon(delta),
    )
    assert exact <= renyi * (1 + 1e-9)
    assert renyi <= concentrated * (1 + 1e-6)


def test_a_subsampled_run_of_a_thousand_steps():
    event = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=1000)
    found = RenyiCurveDP(event).epsilon(1e-5)
    orders = range(2, 100)  # integers alone, straight from the published formula
    bounds = []
    with mpmath.workdps(50):
        q = mpmath.mpf(0.01)
        for a in orders:
            terms = (
                mpmath.binomial(a, k) * (1 - q) ** (a - k) * q**k * mpmath.exp(k * (k - 1) / 2)
                for k in map(mpmath.mpf, range(a + 1))
            )
            divergence = 1000 * mpmath.log(mpmath.fsum(terms)) / (a - 1)
            rest = mpmath.log(1 - mpmath.mpf(1) / a) - mpmath.log(mpmath.mpf(1e-5) * a) / (a - 1)
            bounds.append(float(divergence + rest))
    assert found <= min(bounds)
    assert found == pytest.approx(min(bounds), rel=0.01)


def test_pure_dp_is_the_order_at_infinity():
    assert RenyiCurveDP(repeat_event(LAPLACE, 10)).epsilon(0.0) == 5
    assert RenyiCurveDP(repeat_event(LAPLACE, 10)).delta(5.0) == 0
    assert RenyiCurveDP(RESPONSE).epsilon(1e-300) <= 0.7
    assert RenyiCurveDP(GAUSSIAN).epsilon(0.0) == math.inf


@pytest.mark.parametrize("nothing", [Sequence(()), GaussianRelease(sensitivity=0, noise_scale=1)])
def test_nothing_released_leaks_nothing(nothing):
    assert RenyiCurveDP(nothing).epsilon(0.0) == RenyiCurveDP(nothing).epsilon(1e-9) == 0
    assert RenyiCurveDP(nothing).delta(0.0) == 0
    assert compute_zcdp_guarantee(nothing).rho == 0


def test_extreme_releases_give_numbers():
    loud = GaussianRelease(sensitivity=1e3, noise_scale=1.0)
    assert RenyiCurveDP(loud).epsilon(1e-5) == pytest.approx(504_000, rel=1e-2)
    quiet = GaussianRelease(sensitivity=1e-9, noise_scale=1.0)
    assert 0 <= RenyiCurveDP(quiet).epsilon(1e-5) < 1e-6
    assert RenyiCurveDP(ApproximateRelease(epsilon=600.0, count=9)).epsilon(1e-20) <= 5400
    assert RenyiCurveDP(GAUSSIAN).delta(1e300) == math.ulp(0.0)  # rounded up


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ratio", [1e-300, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("noise", [1e-200, 1e-3, 1e3, 1e200])
def test_extreme_samples_give_numbers(ratio, noise):
    event = PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise)
    curve = renyi_divergence(event, [1.5, 2, 3, math.inf])
    assert (curve >= 0).all()
    assert RenyiCurveDP(event).epsilon(1e-5) >= 0


def test_the_trade_off_curve_is_not_above_the_exact_one():
    for rate in (0.0, 0.01, 0.2, 1.0):
        assert (
            0
            <= RenyiCurveDP(GAUSSIAN).trade_off(rate)
            <= gaussian_guarantee(GAUSSIAN).trade_off(rate)
        )


# Zero-concentrated DP


def test_rho_adds_up():
    event = Sequence(
        (
            GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25),
            ApproximateRelease(epsilon=0.2, count=10),
            LaplaceRelease(sensitivity=1.0, noise_scale=2.0),
            ExponentialNormRelease(sensitivity=0.5, noise_rate=2.0, dimension=7, count=2),
            ObjectivePerturbation(
                sensitivity=0.25, noise_rate=2.0, dimension=7, log_determinant=0.5
            ),
            ZeroConcentratedRelease(rho=0.3),
        )
    )
    assert compute_zcdp_guarantee(event).rho == pytest.approx(0.5 + 0.2 + 0.125 + 1.0 + 0.5 + 0.3)


@pytest.mark.parametrize("event", [GAUSSIAN, LAPLACE, RESPONSE, CONCENTRATED])
def test_rho_bounds_the_curve(event):
    orders = np.array(ORDERS)
    rho = compute_zcdp_guarantee(event).rho
    assert (renyi_divergence(event, orders) <= rho * orders * (1 + 1e-12)).all()
    if event is not CONCENTRATED:  # half of it is refuted
        assert (renyi_divergence(event, orders) > rho / 2 * orders).any()


def test_a_concentrated_release_is_its_guarantee():
    assert compute_zcdp_guarantee(CONCENTRATED) == ZeroConcentratedDP(0.05)
    for delta in (1e-20, 1e-5, 0.1):
        expected = ZeroConcentratedDP(0.05).epsilon(delta)
        assert RenyiCurveDP(CONCENTRATED).epsilon(delta) == pytest.approx(expected, rel=1e-6)


# Refusals


@pytest.mark.parametrize(
    "event",
    [
        ExponentialNormRelease(sensitivity=1.5, noise_rate=1.0, dimension=3),
        ObjectivePerturbation(sensitivity=1.5, noise_rate=1.0, dimension=3, log_determinant=0.1),
    ],
)
def test_curves_of_pairs_are_moments_of_their_loss(event):
    ((pair, _),) = Composition.of(event)
    atoms = pair.atoms(np.linspace(-pair.largest, pair.largest, 20_001))
    for order in (1.5, 2.0, 8.0, 40.0):
        weights = atoms.log_masses + (order - 1) * atoms.losses
        exact = math.log(np.exp(weights).sum()) / (order - 1)
        assert float(renyi_divergence(event, order)) == pytest.approx(exact, rel=1e-9)
    assert float(renyi_divergence(event, math.inf)) == pytest.approx(pair.largest)
    assert RenyiCurveDP(event).epsilon(1e-5) >= numerical_epsilon(event, 1e-5).lower


@pytest.mark.parametrize("event", [ApproximateRelease(epsilon=0.1, delta=1e-9)])
def test_releases_without_a_curve_are_refused(event):
    with pytest.raises(UnsupportedEvent, match=type(event).__name__):
        RenyiCurveDP(Sequence((GAUSSIAN, event)))


@pytest.mark.parametrize("event", [ApproximateRelease(epsilon=0.1, delta=1e-9), SAMPLED])
def test_releases_without_a_rho_are_refused(event):
    with pytest.raises(UnsupportedEvent, match=type(event).__name__):
        compute_zcdp_guarantee(Sequence((GAUSSIAN, event)))


@pytest.mark.parametrize("order", [1.0, 0.5, -1.0, math.nan])
def test_an_order_at_most_one_is_refused(order):
    with pytest.raises(InvalidArgument, match="orders: got"):
        renyi_divergence(GAUSSIAN, [2.0, order])


def test_bad_questions_are_named():
    with pytest.raises(InvalidArgument, match="delta: got 1"):
        RenyiCurveDP(GAUSSIAN).epsilon(1.0)
    with pytest.raises(InvalidArgument, match="epsilon: got -1"):
        RenyiCurveDP(GAUSSIAN).delta(-1.0)
    assert str(RenyiCurveDP(CONCENTRATED)).startswith("RenyiCurveDP(event=ZeroConcentratedRelease(")
