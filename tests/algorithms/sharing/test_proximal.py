"""The x-update's solvers: against closed forms, scipy and each other; and when they give up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpaudit.algorithms.problems.regularisers import (
    L1,
    L2,
    Regulariser,
    apply_soft_threshold,
    elastic_net,
    project_on_ball,
)
from dpaudit.algorithms.sharing.proximal import Quadratic, minimise_quadratic, ridge_in_ball
from dpaudit.errors import ConvergenceError, InvalidArgument


def rng(seed=0):
    return np.random.default_rng(seed)


def make(d=5, rank=5, trials=6, seed=0, **options):
    """Return a random problem with its linear terms in the range of the matrix."""
    factor = rng(seed).standard_normal((rank, d))
    matrix = factor.T @ factor
    smoothness = float(np.linalg.eigvalsh(matrix)[-1])
    linear = 3 * rng(seed + 1).standard_normal((trials, rank)) @ factor
    return Quadratic(matrix=matrix, smoothness=smoothness, **options), linear


def value(problem, x, q):
    return x @ problem.matrix @ x / 2 + q @ x + problem.lasso * np.abs(x).sum()


def by_scipy(problem, q):
    """Return the minimiser, x = p - n with p, n >= 0, by SLSQP: smooth, no proximal map."""
    d = len(q)

    def split(v):
        x = v[:d] - v[d:]
        gradient = problem.matrix @ x + q
        return (
            x @ problem.matrix @ x / 2 + q @ x + problem.lasso * v.sum(),
            np.concatenate([gradient + problem.lasso, problem.lasso - gradient]),
        )

    ball = {
        "type": "ineq",
        "fun": lambda v: problem.radius**2 - np.sum((v[:d] - v[d:]) ** 2),
        "jac": lambda v: -2 * np.concatenate([v[:d] - v[d:], v[d:] - v[:d]]),
    }
    options = {"ftol": 1e-15, "maxiter": 1000}
    constraints = [] if problem.radius is None else [ball]
    fit = minimize(
        split,
        np.full(2 * d, 0.01),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * 2 * d,
        constraints=constraints,
        options=options,
    )
    return fit.x[:d] - fit.x[d:]


@pytest.mark.parametrize("radius", [None, 0.3, 2.0])
@pytest.mark.parametrize("lasso", [0.0, 0.7, 4.0])
@pytest.mark.parametrize("rank", [5, 3])
def test_scipy_finds_no_lower_value(lasso, radius, rank):
    problem, linear = make(lasso=lasso, radius=radius, rank=rank)
    found = minimise_quadratic(problem, linear, np.zeros_like(linear))
    for x, q in zip(found, linear, strict=True):
        reached = value(problem, project_on_ball(by_scipy(problem, q)[None], radius)[0], q)
        assert reached - 1e-6 <= value(problem, x, q) <= reached + 1e-9
        assert radius is None or np.linalg.norm(x) <= radius * (1 + 1e-12)


def test_without_extras_it_solves_the_linear_system():
    problem, linear = make()
    found = minimise_quadratic(problem, linear, rng(5).standard_normal(linear.shape))
    np.testing.assert_allclose(found, -np.linalg.solve(problem.matrix, linear.T).T, atol=1e-8)


@pytest.mark.parametrize("lasso", [0.0, 0.7])
@pytest.mark.parametrize("radius", [None, 1.0])
def test_the_residual_is_kept_and_is_the_optimality_condition(lasso, radius):
    problem, linear = make(lasso=lasso, radius=radius, tolerance=1e-12)
    found = minimise_quadratic(problem, linear, np.zeros_like(linear))
    assert problem.residual(found, linear).max() <= 1e-12
    assert problem.residual(found + 1e-3, linear).min() > 1e-6


def test_trials_do_not_influence_each_other():
    problem, linear = make(trials=40, lasso=0.5)
    linear[::3] *= 1e-3  # some are done at once
    together = minimise_quadratic(problem, linear, np.zeros_like(linear))
    for r in range(40):
        alone = minimise_quadratic(problem, linear[r : r + 1], np.zeros((1, 5)))
        np.testing.assert_allclose(together[r], alone[0], atol=1e-8)


@pytest.mark.parametrize("radius", [1e-3, 0.5, 3.0, 1e3])
def test_the_ball_solver_and_fista_agree(radius):
    problem, linear = make(radius=radius, tolerance=1e-13)
    curvature, directions = np.linalg.eigh(problem.matrix)
    closed = ridge_in_ball(curvature, linear @ directions, radius) @ directions.T
    found = minimise_quadratic(problem, linear, np.zeros_like(linear))
    np.testing.assert_allclose(closed, found, atol=1e-8 * max(1, 1 / radius))
    assert (np.linalg.norm(closed, axis=1) <= radius * (1 + 1e-15)).all()


def test_the_ball_solver_at_extremes():
    curvature = np.array([1e-12, 1.0, 1e6])
    linear = np.array([[1e3, 1e3, 1e3], [1e-9, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = ridge_in_ball(curvature, linear, 1.0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1.0, 1.0, 0.0], rtol=1e-14)
    multiplier = -linear[0] / found[0] - curvature  # the same in every coordinate
    np.testing.assert_allclose(multiplier, multiplier[0], rtol=1e-6)
    assert ridge_in_ball(np.empty(0), np.empty((2, 0)), 1.0).shape == (2, 0)


def test_a_trial_that_does_not_converge_is_named():
    problem, linear = make(lasso=0.5, most_steps=30, tolerance=1e-15)
    linear[:2] = 0.0  # the first two are there at the start
    with pytest.raises(
        ConvergenceError, match=r"trial [2-5] is at .* after 30 steps \(trials not converged: 4\)"
    ):
        minimise_quadratic(problem, linear, np.zeros_like(linear))


def test_numbers_that_are_not_finite_do_not_converge():
    problem, linear = make()
    linear[3] = np.nan
    with pytest.raises(ConvergenceError, match=r"trial 3 is at residual nan after 0 steps"):
        minimise_quadratic(problem, linear, np.full_like(linear, 0.0))
    with pytest.raises(ConvergenceError, match="trial 1 is at norm nan"):
        ridge_in_ball(np.ones(2), np.array([[1.0, 1.0], [np.nan, 0.0]]), 1.0)


# Regularisers and proximal maps


@settings(deadline=None)
@given(point=st.floats(-5, 5), threshold=st.floats(0, 3))
def test_shrinking_is_the_proximal_map_of_the_absolute_value(point, threshold):
    grid = np.append(np.linspace(-6, 6, 12_001), 0.0)
    best = ((grid - point) ** 2 / 2 + threshold * np.abs(grid)).min()
    found = apply_soft_threshold(np.array(point), threshold).item()
    assert (found - point) ** 2 / 2 + threshold * abs(found) <= best + 1e-12


def test_projection_is_onto_the_ball():
    points = rng().standard_normal((50, 3)) * 2
    inside = project_on_ball(points, 1.0)
    norms = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), np.minimum(norms, 1.0))
    np.testing.assert_array_equal(inside[norms <= 1], points[norms <= 1])
    assert project_on_ball(points, None) is points


def test_elastic_net_lies_between():
    x = np.array([[1.0, -2.0]])
    assert L2.value(x) == [2.5]
    assert L1.value(x) == [3.0]
    assert elastic_net(0.25).value(x) == pytest.approx(0.75 * 2.5 + 0.25 * 3.0)
    np.testing.assert_array_equal(elastic_net(0.25).gradient(x), [[1.0, -1.75]])
    assert elastic_net(0.0) == L2
    assert elastic_net(1.0) == L1
    with pytest.raises(InvalidArgument, match=r"lasso_share: got 1\.5"):
        elastic_net(1.5)
    with pytest.raises(InvalidArgument, match="ridge: got -1"):
        Regulariser(ridge=-1, lasso=0)
