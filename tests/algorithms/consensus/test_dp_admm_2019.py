"""DP-ADMM through a server: a loop from the formulas, its law, its optimum, its guarantee."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.algorithms.consensus.dp_admm_2019 import ServerADMM
from dpaudit.algorithms.problems.losses import LINEAR, LOSSES
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.datasets import Dataset, breast_cancer, split_unevenly
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.mechanisms.mechanism import Tiltable
from dpaudit.neighbours import REPLACE_RECORD, Pair

TRIALS = 20_000


def rng(seed=0):
    return np.random.default_rng(seed)


def make(kind=ServerADMM, **options):
    defaults = {
        "nodes": 3,
        "iterations": 4,
        "noise_multiplier": 2.0,
        "penalty": 0.7,
        "regulariser_weight": 0.3,
        "step_size": DecayingStepSize(diameter=3.0),
    }
    return kind(**(defaults | options))


@pytest.fixture(scope="module")
def pair():
    features = rng(1).standard_normal((12, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True) * (1 + 1e-12)
    data = Dataset(features, rng(2).choice([-1.0, 1.0], 12), node_sizes=(3, 4, 5))
    return Pair(data, data.with_record(4, -features[4], data.labels[4]), REPLACE_RECORD)


def by_the_formulas(algorithm, data, noise):
    """Return one output for standard noise ``(T, n, d)``: each update by its own argmin."""
    n, d, rho = data.nodes, data.dimension, algorithm.penalty
    local, centre, dual, path = np.zeros((n, d)), np.zeros(d), np.zeros((n, d)), []
    for k in range(algorithm.iterations):
        weights = algorithm.proximal_weights(data, k + 1)
        new = np.empty((n, d))
        for i in range(n):
            u = data.signed_records[data.rows_of(i)]
            m, weight = len(u), weights[i]
            gradient = algorithm.loss.slope(u @ local[i]) @ u / m
            gradient = gradient + algorithm.regulariser_weight / n * local[i]

            known = gradient - dual[i] - rho * centre - weight * local[i]
            new[i] = optimize.root(
                lambda w, known=known, slope=rho + weight: known + slope * w, local[i], tol=1e-13
            ).x
            new[i] += algorithm.noise_multiplier * 2 / (m * (rho + weight)) * noise[k, i]
        local = new
        centre = sum(local[i] - dual[i] / rho for i in range(n)) / n
        dual = np.stack([dual[i] - rho * (local[i] - centre) for i in range(n)])
        path.append(local)
    return np.stack(path)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_formulas_agree(loss, pair):
    algorithm = make(loss=loss)
    outputs = algorithm.broadcast().sample(pair.dataset, 3, rng(3))
    noise = rng(3).standard_normal((4, 3, 3, 3))
    expected = [by_the_formulas(algorithm, pair.dataset, noise[:, r]) for r in range(3)]
    np.testing.assert_allclose(outputs, expected, atol=1e-9)


def test_without_noise_it_reaches_the_centralised_optimum():
    data = split_unevenly(breast_cancer(), 3, rng(1))
    algorithm = make(iterations=3000, penalty=0.1, step_size=ConstantStepSize(1.0)).without_noise()
    models = algorithm.broadcast().sample(data, 1, rng())[0, -1]
    shares = np.repeat([1 / size for size in data.node_sizes], data.node_sizes)

    def total(w):
        margins = data.signed_records @ w
        slopes = -shares / (1 + np.exp(margins))
        value = shares @ np.logaddexp(0, -margins) + 0.15 * w @ w
        return value, slopes @ data.signed_records + 0.3 * w

    best = optimize.minimize(total, np.zeros(30), jac=True, options={"gtol": 1e-9}).fun
    assert all(-1e-12 < total(model)[0] - best < 1e-6 for model in models)


def normaliser_z(algorithm, pair, outputs):
    ratio = np.exp(algorithm.broadcast().privacy_loss(outputs, pair))
    return float((ratio.mean() - 1) / (ratio.std() / np.sqrt(len(ratio))))


def test_its_law_is_a_law(pair):
    algorithm = make()
    mechanism = algorithm.broadcast()
    assert isinstance(mechanism, Tiltable)
    outputs = mechanism.sample(pair.neighbour, TRIALS, rng(4))
    assert abs(normaliser_z(algorithm, pair, outputs)) < 4
    on_p = mechanism.sample(pair.dataset, 3000, rng(5))
    residuals = mechanism.uniform_residuals(on_p, pair.dataset)
    assert stats.kstest(residuals.ravel(), "uniform").pvalue > 1e-4
    tilted = mechanism.sample_tilted(pair, 0.5, 30, rng(6))
    low, high = mechanism.log_mgf_bounds(pair, 0.5)
    assert ((low <= tilted.log_mgf) & (tilted.log_mgf <= high + 1e-12)).all()


def shift_error(algorithm, pair):
    """Return the largest gap between the shift and the two means, along a random run."""
    state, largest = algorithm.start(pair.dataset, 5), 0.0
    for output in rng(1).standard_normal((algorithm.steps, 5, 3, 3)):
        means = [algorithm.step(state, data).mean for data in (pair.dataset, pair.neighbour)]
        gap = means[1] - means[0] - algorithm.shift(state, pair)
        largest = max(largest, float(np.abs(gap).max()))
        state = algorithm.advance(state, output)
    return largest


class HalfShift(ServerADMM):
    def shift(self, state, pair):
        return super().shift(state, pair) / 2


class WrongScale(ServerADMM):
    def sensitivity(self, dataset, weights):
        return 1.05 * super().sensitivity(dataset, weights)


class ForgottenDual(ServerADMM):
    def advance(self, state, output):
        return replace(super().advance(state, output), dual=np.zeros_like(output))


def test_broken_laws_are_caught(pair):
    assert shift_error(make(), pair) < 1e-12
    assert shift_error(make(HalfShift), pair) > 1e-3
    on_p = make().broadcast().sample(pair.dataset, 3000, rng(5))
    for broken in (WrongScale, ForgottenDual):
        residuals = make(broken).broadcast().uniform_residuals(on_p, pair.dataset)
        assert stats.kstest(residuals.ravel(), "uniform").pvalue < 1e-4
    on_q = make().broadcast().sample(pair.neighbour, TRIALS, rng(4))
    assert abs(normaliser_z(make(ForgottenDual), pair, on_q)) > 5


def test_the_linear_loss_attains_the_guarantee(pair):
    """Its privacy loss is ``N(mu^2/2, mu^2)`` with mu the event's Gaussian-DP parameter."""
    algorithm = make(loss=LINEAR)
    mu = gaussian_guarantee(algorithm.event()).mu
    assert mu == pytest.approx(1.0)
    loss = algorithm.broadcast().privacy_loss(
        algorithm.broadcast().sample(pair.dataset, TRIALS, rng(7)), pair
    )
    assert stats.kstest(loss, stats.norm(mu**2 / 2, mu).cdf).pvalue > 1e-4


def test_the_dual_variables_sum_to_zero_and_are_functions_of_releases(pair):
    algorithm = make()
    state = algorithm.start(pair.dataset, 2)
    for output in rng().standard_normal((4, 2, 3, 3)):
        state = algorithm.advance(state, output)
        np.testing.assert_allclose(state.dual.sum(axis=1), 0, atol=1e-12)


def test_bad_arguments_are_refused_by_name(pair):
    for options, name in (
        ({"nodes": 0}, "nodes"),
        ({"iterations": 0}, "iterations"),
        ({"penalty": 0.0}, "penalty"),
        ({"noise_multiplier": -1.0}, "noise_multiplier"),
        ({"regulariser_weight": -1.0}, "regulariser_weight"),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            make(**options)
        assert refusal.value.name == name
    with pytest.raises(InvalidArgument, match="dataset: got 3 nodes, expected 4 nodes"):
        make(nodes=4).broadcast().sample(pair.dataset, 1, rng())
    with pytest.raises(UnsupportedEvent, match="got no noise"):
        make().without_noise().event()
    with pytest.raises(InvalidArgument, match="noise_multiplier"):
        make().without_noise().broadcast().log_mgf_bounds(pair, 0.5)
    assert replace(make(), noise_multiplier=0.0) == make().without_noise()
