"""Batched argmins: against scipy, to the stated residual; and what must not pass unnoticed."""

import re

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from dpaudit.algorithms.consensus import margin_problem as solvers
from dpaudit.algorithms.consensus.margin_problem import MarginProblem, minimise_margin_problem
from dpaudit.algorithms.problems.smooth_losses import (
    LOGISTIC,
    SMOOTH_LOSSES,
    SMOOTHED_HINGE,
    smooth_loss_called,
)
from dpaudit.datasets import breast_cancer
from dpaudit.errors import ConvergenceError, InvalidArgument, UnknownName

ORACLE = {  # value and slope of the losses, written out
    "logistic": (lambda m: np.logaddexp(0, -m), lambda m: -expit(-m)),
    "smoothed-hinge": (
        lambda m: np.where(m < 0, 0.5 - m, np.maximum(0, 1 - m) ** 2 / 2),
        lambda m: np.clip(m - 1, -1, 0),
    ),
    "linear": (lambda m: -m, lambda m: -np.ones_like(m)),
}


@pytest.fixture(scope="module")
def records():
    return breast_cancer().signed_records


def right_hand_sides(trials, d, size=3.0, seed=0):
    return size * np.random.default_rng(seed).standard_normal((trials, d))


def by_scipy(problem, linear, records):
    """Return one minimiser; L-BFGS stops where the objective rounds, so it is started again."""
    value, slope = ORACLE[problem.loss.name]
    w, q = problem.weight, problem.curvature
    centre = np.zeros(len(linear))
    for _ in range(5):
        margins, gradient_there = records @ centre, None

        def objective(step, margins=margins, centre=centre):
            moved = records @ step
            change = value(margins + moved) - value(margins)
            slopes = w * slope(margins + moved) @ records
            total = w * change.sum() + q * (centre @ step + step @ step / 2) - linear @ step
            return total, slopes + q * (centre + step) - linear

        options = {"ftol": 0.0, "gtol": 1e-11, "maxiter": 5000, "maxfun": 50_000}
        found = optimize.minimize(
            objective, 0 * centre, jac=True, method="L-BFGS-B", options=options
        )
        centre, gradient_there = centre + found.x, found.jac
        if np.abs(gradient_there).max() < 1e-10:
            break
    return centre


@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
@pytest.mark.parametrize(("weight", "curvature"), [(1 / 569, 0.05), (0.2, 0.7)])
def test_one_trial_at_a_time_scipy_agrees(loss, weight, curvature, records):
    problem = MarginProblem(loss=loss, weight=weight, curvature=curvature)
    linear = right_hand_sides(6, 30)
    solution = minimise_margin_problem(problem, linear, records)
    expected = [by_scipy(problem, one, records) for one in linear]
    np.testing.assert_allclose(solution.models, expected, atol=1e-7)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
@pytest.mark.parametrize("size", [0.01, 3.0, 300.0])
@pytest.mark.parametrize("weight", [1e-3, 0.05, 10.0])
def test_the_stated_residual_is_reached_and_reported(loss, size, weight, records):
    problem = MarginProblem(loss=loss, weight=weight, curvature=0.02)
    linear = right_hand_sides(40, 30, size)
    solution = minimise_margin_problem(problem, linear, records)
    slopes = weight * ORACLE[loss.name][1](solution.models @ records.T) @ records
    gradient = np.linalg.norm(slopes + 0.02 * solution.models - linear, axis=1)
    allowed = problem.scale(linear, records)
    assert (gradient <= 2e-12 * allowed).all()
    np.testing.assert_allclose(solution.residuals, gradient, atol=1e-13 * allowed.max())


def test_the_residual_bounds_the_distance(records):
    loose = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1, tolerance=1e-4)
    tight = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    linear = right_hand_sides(30, 30)
    rough, exact = (
        minimise_margin_problem(loose, linear, records),
        minimise_margin_problem(tight, linear, records),
    )
    distance = np.linalg.norm(rough.models - exact.models, axis=1)
    assert (distance <= (rough.residuals + exact.residuals) / 0.1).all()
    assert distance.max() > 1e-6
    assert rough.evaluations < exact.evaluations


def test_a_trial_does_not_depend_on_its_company(records):
    problem = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    linear = right_hand_sides(60, 30)
    together = minimise_margin_problem(problem, linear, records).models
    alone = minimise_margin_problem(problem, linear[41:42], records).models
    np.testing.assert_allclose(together[41:42], alone, atol=1e-10)
    assert minimise_margin_problem(problem, linear[:0], records).models.shape == (0, 30)


def test_the_safe_step_alone_converges(monkeypatch, records):
    """Acceleration that only misleads is taken back: the bound's step gains every other pass."""
    for name in ("_PATIENCE", "_MOST_PASSES"):
        monkeypatch.setattr(solvers, name, 5000)
    monkeypatch.setattr(solvers, "run_descent", None)
    problem = MarginProblem(loss=SMOOTHED_HINGE, weight=0.02, curvature=0.5)
    linear = right_hand_sides(20, 30)
    expected = minimise_margin_problem(problem, linear, records).models
    honest = solvers._Search._step

    def misled(self):
        step = -100 * honest(self)
        step[self.careful] = -self.gradient[self.careful] @ self.chord.bound
        return step

    monkeypatch.setattr(solvers._Search, "_step", misled)
    np.testing.assert_allclose(
        minimise_margin_problem(problem, linear, records).models, expected, atol=1e-9
    )


def unit_records(count, d, seed):
    rows = np.random.default_rng(seed).standard_normal((count, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [4, 10, 12])
@pytest.mark.parametrize("weight", [100.0, 437.5])
def test_kinks_do_not_stop_the_newton_steps(count, weight):
    """Steep losses of few records: the gradient is piecewise linear, its norm not monotone."""
    for seed in range(3):
        records = unit_records(count, 6, seed)
        problem = MarginProblem(loss=SMOOTHED_HINGE, weight=weight, curvature=1.005)
        linear = right_hand_sides(200, 6, seed=seed)
        solution = minimise_margin_problem(problem, linear, records)
        for trial in (0, 199):
            expected = by_scipy(problem, linear[trial], records)
            np.testing.assert_allclose(solution.models[trial], expected, atol=1e-6)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
@pytest.mark.parametrize("count", [1, 4, 30])
@pytest.mark.parametrize("weight", [1e3, 1e5])
def test_badly_conditioned_problems_converge(loss, count, weight):
    records = unit_records(count, 6, 1)
    problem = MarginProblem(loss=loss, weight=weight / count, curvature=2e-6)
    linear = 2e-6 * right_hand_sides(60, 6)
    solution = minimise_margin_problem(problem, linear, records)
    gradient = problem.gradient(solution.models, records) - linear
    allowed = problem.tolerance * problem.scale(linear, records)
    assert (np.linalg.norm(gradient, axis=1) <= 2 * allowed).all()


@pytest.mark.parametrize("start", [-30.0, 0.0, 30.0])
def test_newton_alone_converges_from_anywhere(monkeypatch, start, records):
    monkeypatch.setattr(solvers, "_PATIENCE", 0)
    problem = MarginProblem(loss=LOGISTIC, weight=1.0, curvature=0.05)
    linear = right_hand_sides(3, 30) + start
    expected = [by_scipy(problem, one, records) for one in linear]
    np.testing.assert_allclose(
        minimise_margin_problem(problem, linear, records).models, expected, atol=1e-6
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("d", [3, 6, 30])
def test_a_hessian_beyond_double_precision_is_refused_in_words(loss, d):
    """Either the tolerance is reached or the error names weight and curvature."""
    problem = MarginProblem(loss=loss, weight=1e12 / 4, curvature=2e-9)
    records, failed = unit_records(4, d, 0), []
    for linear in 2e-9 * right_hand_sides(10, d):
        try:
            minimise_margin_problem(problem, linear[None], records)
        except ConvergenceError as error:
            failed.append(str(error))
    pattern = r"^argmin: .*weight 2\.5e\+11 .*curvature 2e-09.*, expected"
    assert [message for message in failed if not re.search(pattern, message)] == []


def test_a_singular_hessian_is_a_convergence_error(monkeypatch, records):
    def singular(self, models, records, right):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(MarginProblem, "hessian_solve", singular)
    monkeypatch.setattr(solvers, "_PATIENCE", 0)
    problem = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    with pytest.raises(
        ConvergenceError, match=r"singular .* weight 0\.05 .* curvature 0\.1, expec"
    ):
        minimise_margin_problem(problem, right_hand_sides(3, 30), records)


def test_a_trial_that_does_not_converge_is_named(monkeypatch, records):
    problem = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    linear = 1e-9 * right_hand_sides(4, 30)
    linear[2, 0] = 1e6  # far from the linear model of all the others
    monkeypatch.setattr(solvers, "_MOST_PASSES", 4)
    with pytest.raises(
        ConvergenceError, match=r"argmin: trial \d has a gradient of .* 4 passes .*, expected"
    ):
        minimise_margin_problem(problem, linear, records)
    impossible = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1, tolerance=1e-30)
    with pytest.raises(ConvergenceError, match=r"argmin: trial 0 has a gradient of .*, expected"):
        minimise_margin_problem(impossible, linear[:1], records)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad, records):
    problem = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    linear = right_hand_sides(5, 30)
    linear[3, 2] = bad
    with pytest.raises(ConvergenceError, match="trial 3 got numbers that are not finite"):
        minimise_margin_problem(problem, linear, records)


@pytest.mark.parametrize("name", ["weight", "curvature", "tolerance"])
def test_bad_parameters_are_refused(name):
    with pytest.raises(InvalidArgument) as refusal:
        MarginProblem(**{"loss": LOGISTIC, "weight": 1.0, "curvature": 1.0, name: 0.0})
    assert refusal.value.name == name


@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
def test_curvatures_are_derivatives_of_slopes_and_bounded(loss):
    margins = np.linspace(-6, 6, 2001) + 1e-4
    step = 1e-5
    slope = loss.margin.slope
    numeric = (slope(margins + step) - slope(margins - step)) / (2 * step)
    np.testing.assert_allclose(loss.curvature(margins), numeric, atol=1e-8)
    assert numeric.min() >= -1e-9
    assert numeric.max() == pytest.approx(loss.largest_curvature, abs=1e-6)
    assert loss.strictly_convex == (numeric.min() > 1e-4)


def test_hessians_are_derivatives_of_gradients(records):
    problem = MarginProblem(loss=LOGISTIC, weight=0.05, curvature=0.1)
    model, step = right_hand_sides(2, 30, 1.0), 1e-5 * np.eye(30)
    hessian = problem.hessians(model, records)[1]
    gradients = [problem.gradient(model[1] + sign * step, records) for sign in (1, -1)]
    np.testing.assert_allclose((gradients[0] - gradients[1]) / 2e-5, hessian, atol=1e-8)


def test_unknown_losses_are_refused():
    assert smooth_loss_called("smoothed-hinge") is SMOOTHED_HINGE
    with pytest.raises(UnknownName, match="did you mean 'logistic'"):
        smooth_loss_called("logistc")
