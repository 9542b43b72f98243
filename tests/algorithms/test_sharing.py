"""ADMM sharing: the centralised optimum, the papers' loop, its views, its noise, its refusals."""

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from algorithms.fdml import centralised_logistic
from algorithms.regularisers import L1, L2, elastic_net
from algorithms.sample_losses import LOGISTIC, SAMPLE_LOSSES, SIGMOID, SMOOTHED_HINGE, SQUARED
from algorithms.sharing import SharingADMM
from algorithms.sharing_noise import (
    MessageNoise,
    NoNoise,
    ParameterNoise,
    WhitenedNoise,
    published_noise_scale,
    published_sensitivity,
)
from algorithms.vertical import Risk, column_slices, parties, party_of
from dpaudit.datasets import Dataset, a9a, breast_cancer
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.mechanism import HasLaw, Mechanism, Tiltable

REFERENCE = Path(__file__).resolve().parents[2] / "benchmarks" / "_reference_sharing.py"
BLOCKS = (2, 3, 1)
NOISES = {
    "parameter": ParameterNoise(0.3),
    "whitened": WhitenedNoise(0.3),
    "message": MessageNoise(0.3),
}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference_sharing", REFERENCE)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_data(samples=9, dimension=6, seed=0):
    features = rng(seed).standard_normal((samples, dimension)) / np.sqrt(dimension)
    return Dataset(features, rng(seed + 1).choice([-1.0, 1.0], samples))


def dependent_data():
    """Return data whose second party's third column is the sum of its other two."""
    features = make_data(12).features.copy()
    features[:, 4] = features[:, 2] + features[:, 3]
    return Dataset(features, make_data(12).labels)


def make(**options):
    usual = {"block_sizes": BLOCKS, "iterations": 4, "penalty": 0.7}
    usual["risk"] = Risk(scaling="sum", regulariser_weight=0.4)
    return SharingADMM(**usual | options)


def last_models(algorithm, data, trials=1):
    for iterate in algorithm.iterates(data, trials, rng()):
        models = iterate.models
    return models


# The centralised optimum


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
    best = risk.value(centralised_logistic(data, risk), data)[0]
    assert admm_optimum(risk, data, blocks, 300) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("regulariser", [L1, elastic_net(0.5)], ids=["lasso", "elastic net"])
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
    free = risk.value(centralised_logistic(data, risk), data)[0]
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


# Against the papers' loop


def looped(reference, algorithm, data, iterates, trial):
    """Run the loop with the very noise of a batched trial."""
    owners = parties(data, algorithm.block_sizes)
    xi = np.stack([(i.perturbed - i.models)[trial] for i in iterates])
    clean = [
        [
            i.perturbed[trial, columns] @ party.design.T
            for columns, party in zip(column_slices(algorithm.block_sizes), owners, strict=True)
        ]
        for i in iterates
    ]
    loop = reference.LoopSharing(
        blocks=[party.design for party in owners],
        labels=data.labels,
        derivative=reference.DERIVATIVES[algorithm.risk.loss.name],
        weight=algorithm.risk.sample_weight(len(data.labels)),
        lam=algorithm.risk.regulariser_weight,
        rho=algorithm.penalty,
    )
    return loop.trial(xi, np.stack([i.state.messages[trial] for i in iterates]) - np.array(clean))


def loop_gap(reference, algorithm, data, other=None):
    """Return the largest difference to the loop, which may run another configuration."""
    iterates, gap = list(algorithm.iterates(data, 3, rng())), 0.0
    for trial in range(3):
        sent = looped(reference, other or algorithm, data, iterates, trial)
        for name in ("messages", "gap", "dual"):
            batched = np.stack([getattr(i.state, name)[trial] for i in iterates])
            gap = max(gap, np.abs(batched - getattr(sent, "y" if name == "dual" else name)).max())
        gap = max(gap, np.abs(np.stack([i.models[trial] for i in iterates]) - sent.x).max())
    return gap


@pytest.mark.parametrize("noise", [NoNoise(), *NOISES.values()], ids=["none", *NOISES])
@pytest.mark.parametrize("loss", SAMPLE_LOSSES.values(), ids=SAMPLE_LOSSES.keys())
def test_batched_and_loop_agree(reference, loss, noise):
    for scaling in ("mean", "sum"):
        algorithm = make(risk=Risk(loss=loss, scaling=scaling, regulariser_weight=0.4), noise=noise)
        assert loop_gap(reference, algorithm, make_data()) < 1e-9


@pytest.mark.parametrize(
    "change",
    [
        {"penalty": 0.71},
        {"risk": Risk(scaling="sum", regulariser_weight=0.41)},
        {"risk": Risk(loss=SQUARED, scaling="sum", regulariser_weight=0.4)},
    ],
    ids=["penalty", "weight", "loss"],
)
def test_the_loop_tells_parameters_apart(reference, change):
    algorithm = make(noise=MessageNoise(0.3))
    assert loop_gap(reference, algorithm, make_data(), make(**change)) > 1e-4


@pytest.mark.parametrize("noise", [ParameterNoise, WhitenedNoise, MessageNoise])
def test_noise_of_scale_0_is_the_non_private_algorithm(noise):
    data = make_data()
    quiet = make(noise=noise(0.0)).network().sample(data, 2, rng())
    np.testing.assert_array_equal(quiet, make().network().sample(data, 2, rng()))
    np.testing.assert_array_equal(quiet[0], quiet[1])


def test_the_centre_keeps_hu2019_lemma_2():
    """``grad l(z) = y`` after every iteration, with any noise (eq. 13)."""
    data = make_data()
    for noise in NOISES.values():
        for i in make(noise=noise).iterates(data, 3, rng()):
            slopes, _ = LOGISTIC.derivatives(i.state.prediction, data.labels)
            np.testing.assert_allclose(slopes, i.state.dual, atol=1e-11)


# Noise


def first_noise(algorithm, data, trials):
    """Return what the noise did to the models and to the messages of one iteration."""
    (iterate,) = replace(algorithm, iterations=1).iterates(data, trials, rng(5))
    return iterate.perturbed - iterate.models, iterate.state.messages


def covariance_z(samples, covariance):
    """Return the largest z-score of the empirical second moments of centred Gaussians."""
    n = len(samples)
    variances = np.diag(covariance)
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    return np.abs((samples.T @ samples / n - covariance) / np.maximum(error, 1e-12)).max()


@pytest.mark.parametrize("make_some", [lambda: make_data(12), dependent_data])
@pytest.mark.parametrize("kind", NOISES)
def test_the_covariance_of_the_noise(kind, make_some):
    data, sigma = make_some(), (0.5, 0.3, 2.0)
    algorithm = make(noise=replace(NOISES[kind], scale=sigma))
    xi, messages = first_noise(algorithm, data, 40_000)
    for m, (columns, party) in enumerate(
        zip(column_slices(BLOCKS), parties(data, BLOCKS), strict=True)
    ):
        design, identity = party.design, np.eye(party.dimension)
        inverse = np.linalg.pinv(design.T @ design, hermitian=True, rcond=1e-12)
        model, message = {
            "parameter": (identity, design @ design.T),
            "whitened": (inverse, design @ inverse @ design.T),
            "message": (0 * identity, np.eye(len(design))),
        }[kind]
        assert covariance_z(xi[:, columns], sigma[m] ** 2 * model) < 5.5
        assert covariance_z(messages[:, m], sigma[m] ** 2 * message) < 5.5
        if kind == "whitened":
            assert covariance_z(messages[:, m], 1.1 * sigma[m] ** 2 * message) > 5.5


@pytest.mark.parametrize("kind", NOISES)
def test_which_messages_betray_the_column_space(kind):
    data = make_data(20)
    messages = make(noise=NOISES[kind]).messages().sample(data, 4, rng())
    for m, party in enumerate(parties(data, BLOCKS)):
        basis, _ = np.linalg.qr(party.design)
        outside = messages[:, :, m] - messages[:, :, m] @ basis @ basis.T
        assert (np.abs(outside).max() < 1e-12) == (kind != "message")


def test_whitened_noise_survives_dependent_columns():
    data = dependent_data()
    assert [len(party.singular_values) for party in parties(data, BLOCKS)] == [2, 2, 1]
    messages = make(noise=WhitenedNoise(1.0)).messages().sample(data, 50, rng())
    assert np.abs(messages).max() < 50


# Views


def test_the_views_show_one_run():
    data, algorithm = make_data(), make(noise=ParameterNoise(0.2))
    network = algorithm.network().sample(data, 3, rng())
    messages = algorithm.messages().sample(data, 3, rng())
    models = algorithm.models().sample(data, 3, rng())
    assert network.shape == (3, 4, 5, 9)
    assert models.shape == (3, 4, 6)
    np.testing.assert_array_equal(network[:, :, :3], messages)
    gap, dual = network[:, :, 3], network[:, :, 4]
    steps = np.diff(dual, axis=1, prepend=0)
    np.testing.assert_allclose(steps, algorithm.penalty * gap, atol=1e-14)  # eq. (9)


def test_the_message_view_is_the_law_to_the_last_bit():
    data, algorithm = make_data(), make(noise=MessageNoise((0.1, 0.2, 0.3)))
    walked = np.stack([i.state.messages for i in algorithm.iterates(data, 3, rng())], axis=1)
    np.testing.assert_array_equal(algorithm.messages().sample(data, 3, rng()), walked)


def test_only_the_message_variant_has_a_law():
    assert isinstance(make(noise=MessageNoise(1.0)).messages(), Tiltable)
    for noise in (NoNoise(), ParameterNoise(1.0), WhitenedNoise(1.0)):
        assert isinstance(make(noise=noise).messages(), Mechanism)
        assert not isinstance(make(noise=noise).messages(), HasLaw)
    assert not isinstance(make(noise=MessageNoise(1.0)).network(), HasLaw)


def test_the_first_message_holds_no_data():
    first = make().messages().sample(make_data(), 1, rng())[:, 0]
    np.testing.assert_array_equal(first, np.zeros_like(first))


# Risk, blocks and the published constants


def test_the_risk_is_equation_1():
    data, x = make_data(), rng().standard_normal((4, 6))
    for loss in SAMPLE_LOSSES.values():
        risk = Risk(loss=loss, regulariser=elastic_net(0.3), regulariser_weight=0.2)
        for model, value, mean in zip(x, risk.value(x, data), risk.mean_loss(x, data), strict=True):
            losses = [
                loss.value(np.array(a @ model), np.array(b))
                for a, b in zip(data.features, data.labels, strict=True)
            ]
            penalty = 0.2 * (0.7 * model @ model / 2 + 0.3 * np.abs(model).sum())
            assert mean == pytest.approx(np.mean(losses), rel=1e-12)
            assert value == pytest.approx(np.mean(losses) + penalty, rel=1e-12)
            total = replace(risk, scaling="sum").value(model[None], data)[0]
            assert total == pytest.approx(np.sum(losses) + penalty, rel=1e-12)


def test_a_mean_is_a_sum_with_larger_weights():
    data = make_data()
    mean = make(risk=Risk(regulariser_weight=0.04), penalty=0.03)
    total = make(risk=Risk(scaling="sum", regulariser_weight=0.36), penalty=0.27)
    messages = [a.messages().sample(data, 1, rng()) for a in (mean, total)]
    np.testing.assert_allclose(*messages, atol=1e-11)


def test_columns_belong_to_parties():
    assert [party_of(BLOCKS, column) for column in range(6)] == [0, 0, 1, 1, 1, 2]
    assert [(s.start, s.stop) for s in column_slices(BLOCKS)] == [(0, 2), (2, 5), (5, 6)]
    data = make_data()
    assert parties(data, BLOCKS) is parties(data, BLOCKS)
    np.testing.assert_array_equal(
        np.hstack([p.design for p in parties(data, BLOCKS)]), data.features
    )


def test_the_published_constants():
    c = published_sensitivity(
        features=4,
        parties=2,
        penalty=10.0,
        regulariser_weight=1e-3,
        regulariser_curvature=1.0,
        bound=1.0,
    )
    assert c == pytest.approx(3 / 40 * (1e-3 + 21))
    assert published_noise_scale(0.5, 1e-5, c) == pytest.approx(2 * c * 4.844805262605389)


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_sizes": ()}, r"block_sizes: got \(\)"),
        ({"block_sizes": (2, 0)}, "block_sizes: got 0"),
        ({"iterations": 0}, "iterations: got 0"),
        ({"penalty": 0.0}, r"penalty: got 0\.0"),
        ({"radius": -1.0}, r"radius: got -1\.0"),
        ({"tolerance": 0.0}, r"tolerance: got 0\.0"),
        ({"noise": MessageNoise((1.0, 2.0))}, r"noise scale: got \(1\.0, 2\.0\), expected one for"),
    ],
)
def test_parameters_are_refused_by_name(options, message):
    with pytest.raises(InvalidArgument, match=message):
        make(**options)


def test_other_arguments_are_refused_by_name():
    with pytest.raises(InvalidArgument, match="noise scale: got -1"):
        ParameterNoise(-1.0)
    with pytest.raises(InvalidArgument, match="scaling: got 'median'"):
        Risk(scaling="median")
    with pytest.raises(InvalidArgument, match="regulariser_weight: got -1"):
        Risk(regulariser_weight=-1)
    with pytest.raises(InvalidArgument, match=r"models: got shape \(2, 5\)"):
        Risk().value(np.zeros((2, 5)), make_data())


def test_datasets_are_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"dataset: got 5 features, expected 6, split as"):
        make().messages().sample(make_data(dimension=5), 1, rng())
    real = Dataset(make_data().features, np.linspace(-1, 1, 9))
    with pytest.raises(InvalidArgument, match=r"labels\[1\]"):
        make().messages().sample(real, 1, rng())
    make(risk=Risk(loss=SQUARED)).messages().sample(real, 1, rng())
    weak = make(risk=Risk(loss=SIGMOID, scaling="sum"), penalty=0.09)
    with pytest.raises(InvalidArgument, match="several minima"):
        weak.messages().sample(make_data(), 1, rng())


def test_an_update_that_does_not_converge_is_named():
    lasso = Risk(regulariser=L1, regulariser_weight=0.01)
    algorithm, data = make(risk=lasso), make_data()
    state = algorithm.advance(algorithm.start(data, 3), rng().standard_normal((3, 3, 9)))
    state.dual[1, 4] = np.nan
    with pytest.raises(ConvergenceError, match="x-update: trial 1 is at residual nan"):
        algorithm.step(state, data)
    messages = rng().standard_normal((3, 3, 9))
    messages[2, 0, 0] = np.nan
    with pytest.raises(ConvergenceError, match="z-update: trial 2 has not converged"):
        algorithm.advance(algorithm.start(data, 3), messages)


def test_l2_is_the_default():
    assert Risk().regulariser is L2
