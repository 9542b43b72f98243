"""The z-update: against scipy one sample at a time, at extremes, and its refusals."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from dpaudit.algorithms.problems.sample_losses import (
    LOGISTIC,
    SAMPLE_LOSSES,
    SIGMOID,
    sample_loss_called,
)
from dpaudit.algorithms.sharing.entrywise import ScalarProblem
from dpaudit.errors import ConvergenceError, InvalidArgument, UnknownName

UNTIMED = settings(deadline=None)
LABELS = np.array([1.0, -1.0])


@pytest.fixture(params=SAMPLE_LOSSES.values(), ids=SAMPLE_LOSSES.keys(), scope="module")
def loss(request):
    return request.param


def lowest_penalty(loss):
    """Return a penalty that is just enough for strong convexity, or a very small one."""
    return max(1e-3, -1.05 * loss.curvature_range[0])


def by_scipy(problem, linear, label):
    """Return the root of the derivative, bracketed: one sample, Python numbers, no Newton."""

    def slope(z):
        first, _ = problem.loss.derivatives(np.array([z]), np.array([label]))
        return problem.weight * first[0] + problem.penalty * z - linear

    reach = (abs(slope(0.0)) + 1) / problem.least_curvature
    return brentq(slope, -reach, reach, xtol=1e-14, rtol=1e-14, maxiter=500)


@pytest.mark.parametrize("penalty", [None, 0.3, 7.0, 1e4])
@pytest.mark.parametrize("weight", [1.0, 1e-3])
def test_scipy_finds_the_same_minimiser(loss, penalty, weight):
    penalty = weight * (penalty or lowest_penalty(loss))
    problem = ScalarProblem(loss=loss, weight=weight, penalty=penalty)
    rng = np.random.default_rng(0)
    linear = weight * rng.standard_normal((20, 2)) * 10.0 ** rng.integers(-6, 4, (20, 2))
    start = rng.standard_normal((20, 2)) * 10
    solution = problem.minimise(linear, LABELS, start)
    for (trial, sample), value in np.ndenumerate(linear):
        expected = by_scipy(problem, value, LABELS[sample])
        assert solution[trial, sample] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_it_is_the_minimum_and_not_just_a_stationary_point(loss):
    problem = ScalarProblem(loss=loss, weight=1.0, penalty=0.2)
    for linear in (-3.0, -0.1, 0.0, 0.5, 4.0):
        for label in LABELS:
            found = problem.minimise(
                np.array([[linear]]), np.array([label]), np.array([[50.0]])
            ).item()

            def value(z, label=label, linear=linear):
                return loss.value(np.array(z), np.array(label)) + 0.1 * z * z - linear * z

            grid = np.linspace(-40, 40, 20_001)
            assert value(found) <= value(grid).min() + 1e-12


@pytest.mark.parametrize("linear", [-1e12, -1e5, -700.0, -1.0, 0.0, 1e-300, 1.0, 700.0, 1e5, 1e12])
@pytest.mark.parametrize("start", [0.0, -1e6, 1e6])
def test_extreme_values_leave_no_residual(loss, linear, start):
    problem = ScalarProblem(loss=loss, weight=1.0, penalty=0.5)
    z = problem.minimise(np.full((1, 2), linear), LABELS, np.full((1, 2), start))
    slope, _ = loss.derivatives(z, LABELS)
    np.testing.assert_allclose(slope + 0.5 * z, linear, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("linear", ["0.75", "-3", "40", "-1e3"])
def test_fifty_digits_agree(linear):
    problem = ScalarProblem(loss=LOGISTIC, weight=1.0, penalty=0.1)
    with mpmath.workdps(50):
        exact = mpmath.findroot(
            lambda z: -1 / (1 + mpmath.exp(z)) + z / 10 - mpmath.mpf(linear),
            10 * float(linear) + 1,
        )
    found = problem.minimise(np.array([[float(linear)]]), np.ones(1), np.zeros((1, 1))).item()
    assert found == pytest.approx(float(exact), rel=1e-12)


@UNTIMED
@given(
    linear=st.floats(-1e4, 1e4),
    start=st.floats(-1e4, 1e4),
    excess=st.floats(1e-3, 1e3),
    label=st.sampled_from([-1.0, 1.0]),
)
def test_the_sigmoid_close_to_its_limit(linear, start, excess, label):
    penalty = -SIGMOID.curvature_range[0] * (1 + excess)
    problem = ScalarProblem(loss=SIGMOID, weight=1.0, penalty=penalty)
    z = problem.minimise(np.array([[linear]]), np.array([label]), np.array([[start]]))
    slope, _ = SIGMOID.derivatives(z, np.array([label]))
    residual = abs((slope + penalty * z).item() - linear)
    assert residual <= 1e-11 * problem.least_curvature + 1e-14 * (1 + abs(linear))


def test_the_tolerance_is_kept_and_can_be_loosened(loss):
    linear = np.linspace(-2, 2, 41)[:, None]
    tight = ScalarProblem(loss=loss, weight=1.0, penalty=0.3)
    loose = ScalarProblem(loss=loss, weight=1.0, penalty=0.3, tolerance=1e-4)
    label, start = np.ones(1), np.full((41, 1), 5.0)
    gap = np.abs(tight.minimise(linear, label, start) - loose.minimise(linear, label, start))
    assert gap.max() <= 1e-4
    exact = [by_scipy(tight, value, 1.0) for value in linear[:, 0]]
    np.testing.assert_allclose(tight.minimise(linear, label, start)[:, 0], exact, atol=2e-12)


def test_blocks_of_any_shape_are_the_same_as_one_entry_at_a_time(loss):
    problem = ScalarProblem(loss=loss, weight=0.7, penalty=0.4)
    rng = np.random.default_rng(1)
    for trials, samples in ((1, 9000), (9000, 1), (3, 4097), (700, 11)):
        linear, start = rng.standard_normal((2, trials, samples))
        labels = rng.choice(LABELS, samples)
        together = problem.minimise(linear, labels, start)
        for _ in range(20):
            r, i = rng.integers(trials), rng.integers(samples)
            alone = problem.minimise(
                linear[r : r + 1, i : i + 1], labels[i : i + 1], start[r : r + 1, i : i + 1]
            )
            assert together[r, i] == pytest.approx(alone.item(), abs=2e-12)


@pytest.mark.parametrize("penalty", [0.15, 1.0])
def test_few_passes_are_enough(loss, penalty, monkeypatch):
    """Newton alone cycles between the two outer pieces of the smoothed hinge."""
    passes = []
    derivatives = ScalarProblem._derivatives
    counted = lambda self, *entries: passes.append(1) or derivatives(self, *entries)  # noqa: E731
    monkeypatch.setattr(ScalarProblem, "_derivatives", counted)
    linear = np.random.default_rng(0).standard_normal((1000, 2))
    ScalarProblem(loss=loss, weight=1.0, penalty=penalty).minimise(linear, LABELS, linear / penalty)
    assert len(passes) <= 12


def test_the_start_is_left_alone():
    start = np.ones((2, 2))
    problem = ScalarProblem(loss=LOGISTIC, weight=1.0, penalty=1.0)
    problem.minimise(np.zeros((2, 2)), LABELS, start)
    np.testing.assert_array_equal(start, np.ones((2, 2)))


def test_a_sigmoid_that_may_have_two_minima_is_refused():
    limit = 1 / (6 * math.sqrt(3))
    with pytest.raises(InvalidArgument, match=r"penalty: got 0\.0962, expected above 0\.09622"):
        ScalarProblem(loss=SIGMOID, weight=1.0, penalty=0.0962)
    ScalarProblem(loss=SIGMOID, weight=1.0, penalty=limit * 1.0001)
    ScalarProblem(loss=SIGMOID, weight=0.01, penalty=0.001)


def test_a_trial_that_is_not_finite_is_named():
    problem = ScalarProblem(loss=LOGISTIC, weight=1.0, penalty=1.0)
    linear = np.zeros((4, 2))
    linear[2, 1] = np.nan
    with pytest.raises(ConvergenceError, match="trial 2 "):
        problem.minimise(linear, LABELS, np.zeros((4, 2)))


@pytest.mark.parametrize("name", ["weight", "penalty", "tolerance"])
def test_parameters_are_refused_by_name(name):
    options = {"weight": 1.0, "penalty": 1.0, name: 0.0}
    with pytest.raises(InvalidArgument, match=f"{name}: got 0.0"):
        ScalarProblem(loss=LOGISTIC, **options)


# The losses themselves


@UNTIMED
@given(z=st.floats(-40, 40), label=st.sampled_from([-1.0, 1.0]))
def test_derivatives_are_derivatives(loss, z, label):
    step = 1e-5
    if loss.name == "smoothed-hinge" and min(abs(label * z), abs(label * z - 1)) < 2 * step:
        z += 0.5
    label = np.array(label)
    slope, curvature = loss.derivatives(np.array(z), label)
    above, below = np.array(z + step), np.array(z - step)
    assert slope == pytest.approx(
        (loss.value(above, label) - loss.value(below, label)) / (2 * step), abs=1e-4
    )
    rise = loss.derivatives(above, label)[0] - loss.derivatives(below, label)[0]
    assert curvature == pytest.approx(rise / (2 * step), abs=1e-6)


@UNTIMED
@given(z=st.floats(-1e6, 1e6), other=st.floats(-30, 30), label=st.sampled_from([-1.0, 1.0]))
def test_curvature_keeps_its_range_and_its_lipschitz_constant(loss, z, other, label):
    label = np.array(label)
    low, high = loss.curvature_range
    for at in (z, other):
        assert low - 1e-15 <= loss.derivatives(np.array(at), label)[1] <= high + 1e-15
    near = other + 0.1
    if math.isfinite(loss.curvature_lipschitz):
        one, two = (loss.derivatives(np.array(at), label)[1] for at in (other, near))
        assert abs(two - one) <= loss.curvature_lipschitz * 0.1 + 1e-12


def test_the_ranges_are_attained():
    z = np.linspace(-5, 5, 200_001)
    for loss in SAMPLE_LOSSES.values():
        curvature = loss.derivatives(z, np.ones(1))[1]
        assert curvature.max() == pytest.approx(loss.curvature_range[1], abs=1e-8)
        if math.isfinite(loss.curvature_lipschitz):
            steepest = np.abs(np.diff(curvature)).max() / (z[1] - z[0])
            assert steepest == pytest.approx(loss.curvature_lipschitz, rel=1e-3, abs=1e-9)
    assert SIGMOID.derivatives(z, np.ones(1))[1].min() == pytest.approx(SIGMOID.curvature_range[0])
    assert [loss.convex for loss in SAMPLE_LOSSES.values()] == [True, True, True, False]


def test_losses_by_name():
    assert sample_loss_called("logistic") is LOGISTIC
    with pytest.raises(UnknownName, match="did you mean 'sigmoid'"):
        sample_loss_called("sigmoids")
