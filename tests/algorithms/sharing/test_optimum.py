"""ADMM sharing reaches the centralised optimum."""

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import Ridge

from dpaudit.algorithms.problems.regularisers import L1, elastic_net
from dpaudit.algorithms.problems.sample_losses import SIGMOID, SMOOTHED_HINGE, SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.fdml import fit_centralised_logistic
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk, column_slices
from dpaudit.datasets import Dataset, a9a, breast_cancer

from .setting import BLOCKS, last_models, make, make_data, rng


def split_optimum(risk, data):
    """Return the least risk, x = p - n with p, n >= 0, by L-BFGS-B."""
    d, weight = data.dimension, risk.sample_weight(len(data.labels))

    def split(v):
        x = v[:d] - v[d:]
        slopes, _ = risk.loss.derivatives(data.features @ x, data.labels)
        gradient = weight * slopes @ data.features + risk.ridge * x
        losses = weight * risk.loss.value(data.features @ x, data.labels).sum()
        value = losses + risk.ridge / 2 * x @ x + risk.lasso * v.sum()
        return value, np.concatenate([gradient, -gradient]) + risk.lasso

    options = {"ftol": 0, "gtol": 1e-11, "maxiter": 100_000, "maxfun": 200_000, "maxcor": 50}
    fit = minimize(
        split,
        np.zeros(2 * d),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * 2 * d,
        options=options,
    )
    return fit.fun


def ball_optimum(risk, data, blocks, radius):
    """Return the least smooth risk with every block in its ball, by SLSQP."""

    def value(x):
        slopes, _ = risk.loss.derivatives(data.features @ x, data.labels)
        gradient = risk.sample_weight(len(data.labels)) * slopes @ data.features + risk.ridge * x
        return risk.value(x[None], data)[0], gradient

    def slack(columns):
        def jacobian(x):
            out = np.zeros_like(x)
            out[columns] = -2 * x[columns]
            return out

        return {
            "type": "ineq",
            "fun": lambda x: radius**2 - x[columns] @ x[columns],
            "jac": jacobian,
        }

    constraints = [slack(columns) for columns in column_slices(blocks)]
    fit = minimize(
        value,
        np.full(data.dimension, 1e-3),
        jac=True,
        method="SLSQP",
        constraints=constraints,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return fit.fun


def admm_optimum(risk, data, blocks, iterations, radius=None, penalty=0.4):
    scale = len(data.labels) if risk.scaling == "mean" else 1
    algorithm = SharingADMM(
        block_sizes=blocks, iterations=iterations, penalty=penalty / scale, risk=risk, radius=radius
    )
    return risk.value(last_models(algorithm, data), data)[0]


@pytest.fixture(scope="module", params=["breast-cancer", "a9a"])
def split(request):
    if request.param == "breast-cancer":
        return breast_cancer(), (12, 18)
    if not os.environ.get("DPAUDIT_DATA"):
        pytest.skip("DPAUDIT_DATA does not name the directory of a9a")
    data = a9a()
    return Dataset(data.features[:800], data.labels[:800]), (66, 57)


@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_it_reaches_the_centralised_optimum(split, scaling):
    data, blocks = split
    weight = 1e-2 * (1 if scaling == "mean" else len(data.labels))
    risk = Risk(scaling=scaling, regulariser_weight=weight)
    best = risk.value(fit_centralised_logistic(data, risk), data)[0]
    assert admm_optimum(risk, data, blocks, 300) == pytest.approx(best, rel=1e-9)


LASSO_PARTS = [
    pytest.param("breast-cancer", L1, id="breast-cancer-lasso", marks=pytest.mark.slow),
    pytest.param("breast-cancer", elastic_net(0.5), id="breast-cancer-net", marks=pytest.mark.slow),
    pytest.param("a9a", L1, id="a9a-lasso", marks=pytest.mark.slow),
    pytest.param("a9a", elastic_net(0.5), id="a9a-net", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("split", "regulariser"), LASSO_PARTS, indirect=["split"], scope="module")
def test_it_reaches_the_optimum_with_a_lasso_part(split, regulariser):
    data, blocks = split
    risk = Risk(regulariser=regulariser, regulariser_weight=2e-2)
    best = split_optimum(risk, data)
    assert best < np.log(2) - 1e-3
    assert admm_optimum(risk, data, blocks, 500) == pytest.approx(best, abs=1e-6)


def test_it_reaches_the_optimum_in_a_ball():
    data, blocks = breast_cancer(), (12, 18)
    risk = Risk(regulariser_weight=1e-3)
    best = ball_optimum(risk, data, blocks, radius=2.0)
    free = risk.value(fit_centralised_logistic(data, risk), data)[0]
    assert best > free + 1e-2
    assert admm_optimum(risk, data, blocks, 400, radius=2.0) == pytest.approx(best, abs=1e-6)


def test_lasso_and_ball_together_keep_the_ball():
    data = make_data(30)
    algorithm = make(
        risk=Risk(regulariser=L1, regulariser_weight=0.01),
        radius=0.2,
        noise=MessageNoise(1.0),
        penalty=0.05,
    )
    for iterate in algorithm.iterates(data, 5, rng()):
        for columns in column_slices(BLOCKS):
            assert np.linalg.norm(iterate.models[:, columns], axis=1).max() <= 0.2 + 1e-12


ORACLE = {  # value and slope by z, written out
    "squared": (lambda z, b: (z - b) ** 2 / 2, lambda z, b: z - b),
    "smoothed-hinge": (
        lambda z, b: np.where(b * z < 0, 0.5 - b * z, np.maximum(0, 1 - b * z) ** 2 / 2),
        lambda z, b: b * np.clip(b * z - 1, -1, 0),
    ),
    "sigmoid": (lambda z, b: expit(-b * z), lambda z, b: -b * expit(z) * expit(-z)),
}


def smooth_risk(data, loss, ridge):
    """Return ``x -> (1/N) sum l + ridge ||x||^2 / 2`` and its gradient, written out."""
    value, slope = ORACLE[loss.name]

    def total(x):
        z = data.features @ x
        gradient = slope(z, data.labels) @ data.features / len(z) + ridge * x
        return value(z, data.labels).mean() + ridge / 2 * x @ x, gradient

    return total


def local_optimum(total, start):
    """Return where L-BFGS ends from ``start``, started again where its line search rounds."""
    for _ in range(5):
        options = {"ftol": 0, "gtol": 1e-12, "maxiter": 20_000, "maxfun": 40_000, "maxcor": 40}
        start = minimize(total, start, jac=True, method="L-BFGS-B", options=options).x
    assert np.abs(total(start)[1]).max() < 1e-8
    return start


@pytest.mark.slow
@pytest.mark.parametrize("loss", [SQUARED, SMOOTHED_HINGE], ids=lambda loss: loss.name)
def test_other_convex_losses_reach_the_optimum(loss):
    data, ridge = breast_cancer(), 1e-2
    total = smooth_risk(data, loss, ridge)
    best = local_optimum(total, np.zeros(30))
    if loss is SQUARED:
        fit = Ridge(alpha=ridge * len(data.labels), fit_intercept=False, solver="cholesky")
        np.testing.assert_allclose(fit.fit(data.features, data.labels).coef_, best, atol=1e-7)
    risk = Risk(loss=loss, regulariser_weight=ridge)
    algorithm = SharingADMM(
        block_sizes=(12, 18), iterations=3000, penalty=2.0 / len(data.labels), risk=risk
    )
    x = last_models(algorithm, data)[0]
    assert -1e-14 < total(x)[0] - total(best)[0] < 1e-10
    np.testing.assert_allclose(x, best, atol=1e-5)
    assert total(np.zeros(30))[0] - total(best)[0] > 0.1


@pytest.mark.slow
def test_the_sigmoid_loss_does_as_well_as_a_descent_from_the_same_start():
    data, ridge = breast_cancer(), 1e-2
    total = smooth_risk(data, SIGMOID, ridge)
    best = local_optimum(total, np.zeros(30))
    algorithm = SharingADMM(
        block_sizes=(12, 18),
        iterations=3000,
        penalty=0.4 / len(data.labels),
        risk=Risk(loss=SIGMOID, regulariser_weight=ridge),
    )
    x = last_models(algorithm, data)[0]
    assert np.abs(total(x)[1]).max() < 1e-6
    assert total(x)[0] <= total(best)[0] + 1e-10
    assert total(np.zeros(30))[0] - total(x)[0] > 0.05


def lasso_ball_optimum(data, lasso, blocks, radius):
    """Return the least logistic risk with lasso and balls, x = p - n with p, n >= 0, by SLSQP."""
    d = data.dimension

    def value(v):
        x = v[:d] - v[d:]
        margins = data.labels * (data.features @ x)
        gradient = -(data.labels * expit(-margins)) @ data.features / len(margins)
        total = np.logaddexp(0, -margins).mean() + lasso * v.sum()
        return total, np.concatenate([gradient, -gradient]) + lasso

    def slack(columns):
        def jacobian(v):
            out = np.zeros(d)
            out[columns] = -2 * (v[:d] - v[d:])[columns]
            return np.concatenate([out, -out])

        def room(v):
            return radius**2 - np.sum((v[:d] - v[d:])[columns] ** 2)

        return {"type": "ineq", "fun": room, "jac": jacobian}

    fit = minimize(
        value,
        np.full(2 * d, 1e-3),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * 2 * d,
        constraints=[slack(columns) for columns in column_slices(blocks)],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return fit.fun


@pytest.mark.slow
def test_it_reaches_the_optimum_with_lasso_and_ball_together():
    source, blocks, radius = breast_cancer(), (4, 6), 0.8
    data = Dataset(source.features[:, ::3], source.labels)
    risk = Risk(regulariser=L1, regulariser_weight=5e-3)
    best = lasso_ball_optimum(data, 5e-3, blocks, radius)
    assert best > split_optimum(risk, data) + 1e-3  # the ball binds
    algorithm = SharingADMM(
        block_sizes=blocks,
        iterations=600,
        penalty=0.4 / len(data.labels),
        risk=risk,
        radius=radius,
    )
    x = last_models(algorithm, data)
    assert risk.value(x, data)[0] == pytest.approx(best, abs=1e-6)
    assert (x == 0).any()  # and so does the lasso


@pytest.mark.slow
@pytest.mark.parametrize("loss", [SQUARED, SMOOTHED_HINGE, SIGMOID], ids=lambda loss: loss.name)
def test_other_losses_reach_a_stationary_point(loss):
    data, blocks = breast_cancer(), (12, 18)
    risk = Risk(loss=loss, regulariser_weight=1e-2)
    penalty = (2.0 if loss is not SIGMOID else 0.4) / len(data.labels)
    x = last_models(
        SharingADMM(block_sizes=blocks, iterations=3000, penalty=penalty, risk=risk), data
    )
    slopes, _ = loss.derivatives(x @ data.features.T, data.labels)
    gradient = slopes @ data.features / len(data.labels) + risk.ridge * x
    assert np.abs(gradient).max() < 1e-6
    assert np.abs(x).max() > 0.1


def test_jacobi_updates_with_a_small_penalty_blow_up():
    """Two parties with one column each, the same one: the module docstring's ``1 + sqrt(2)``."""
    data = Dataset(np.array([[1.0, 1.0]]), [1.0])
    risk = Risk(loss=SQUARED, scaling="sum", regulariser_weight=0.0)
    algorithm = SharingADMM(block_sizes=(1, 1), iterations=40, penalty=1e-9, risk=risk)
    gaps = [abs(i.state.gap.item()) for i in algorithm.iterates(data, 1, rng())]
    assert gaps[-1] / gaps[-2] == pytest.approx(1 + np.sqrt(2), rel=1e-3)
    steady = replace(algorithm, penalty=2.0)
    assert abs(list(steady.iterates(data, 1, rng()))[-1].state.gap.item()) < 1e-6
