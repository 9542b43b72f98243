"""The law of ADMM sharing's messages: exact privacy loss, residuals; and checks that break it.

Every statistical check is a function of the algorithm, so that broken algorithms go through the
very same check and have to fail it.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.problems.regularisers import L1
from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise
from dpaudit.algorithms.sharing.vertical import Risk, party_of
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import Step
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_LABEL, Pair

BLOCKS, SIGMA, TRIALS = (2, 1), (0.6, 0.9), 20_000
SUM = Risk(scaling="sum", regulariser_weight=0.3)
RISKS = {name: replace(SUM, loss=loss) for name, loss in SAMPLE_LOSSES.items()}
VARIANTS = {
    **{name: {"risk": risk} for name, risk in RISKS.items()},
    "lasso": {"risk": replace(SUM, regulariser=L1), "tolerance": 1e-13},
    "ball": {"risk": SUM, "radius": 0.4},
}


def rng(seed=0):
    return np.random.default_rng(seed)


def make(kind=SharingADMM, **options):
    usual = {"block_sizes": BLOCKS, "iterations": 3, "penalty": 0.8, "risk": SUM}
    return kind(**usual | {"noise": MessageNoise(SIGMA)} | options)


@pytest.fixture(scope="module", params=[0, 2], ids=["first party", "second party"])
def pair(request):
    features = rng(1).standard_normal((5, 3)) * 0.6
    other = features.copy()
    other[:, request.param] += [0.5, -0.4, 0.0, 0.6, -0.3]
    labels = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    return Pair(Dataset(features, labels), Dataset(other, labels), REPLACE_COLUMN)


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS.keys())
def algorithm(request):
    return make(**request.param)


def shift_error(algorithm, pair):
    """Return the largest gap between the shift and the two means, along a random run."""
    state, largest = algorithm.start(pair.dataset, 5), 0.0
    for output in rng(1).standard_normal((algorithm.steps, 5, 2, 5)):
        means = [algorithm.step(state, data).mean for data in (pair.dataset, pair.neighbour)]
        gap = means[1] - means[0] - algorithm.shift(state, pair)
        largest = max(largest, float(np.abs(gap).max()))
        state = algorithm.advance(state, output)
    return largest


def log_density(path, data, algorithm):
    """Return the density of one path, from eq. (6)-(9) solved afresh for an L2 regulariser."""
    designs = np.split(data.features, np.cumsum(BLOCKS)[:-1], axis=1)
    rho, lam, loss = algorithm.penalty, algorithm.risk.ridge, algorithm.risk.loss
    h, y, z, total = np.zeros((2, 5)), np.zeros(5), np.zeros(5), 0.0
    for sent in path:
        for m, design in enumerate(designs):
            s = h[1 - m] - z
            normal = lam * np.eye(design.shape[1]) + rho * design.T @ design
            mean = -design @ np.linalg.solve(normal, design.T @ (y + rho * s))
            total += stats.multivariate_normal.logpdf(sent[m], mean, SIGMA[m] ** 2 * np.eye(5))
        h = sent
        for _ in range(200):  # a contraction by at most 1 / (2 rho + 1) for losses smooth by 1
            slope, _ = loss.derivatives(z, data.labels)
            z = z - (slope - y - rho * (h.sum(axis=0) - z)) / (rho + loss.smoothness)
        y = y + rho * (h.sum(axis=0) - z)
    return total


def density_error(algorithm, pair, truth):
    """Return the largest gap between the privacy loss and the two independent log-densities."""
    paths = truth.messages().sample(pair.dataset, 8, rng(4))
    loss = algorithm.messages().privacy_loss(paths, pair)
    expected = [
        log_density(path, pair.dataset, truth) - log_density(path, pair.neighbour, truth)
        for path in paths
    ]
    return float(np.abs(loss - expected).max())


def tilted_error(algorithm, pair):
    """Return the largest gap between a tilted sample's loss, from shifts, and that of its paths."""
    tilted = algorithm.messages().sample_tilted(pair, 0.5, 20, rng(8))
    loss = algorithm.messages().privacy_loss(tilted.outputs, pair)
    return float(np.abs(tilted.privacy_loss - loss).max())


def normaliser_z(algorithm, pair, truth):
    """Return the z-score of ``E_q exp(loss) = 1``, q sampled from the true algorithm."""
    paths = truth.messages().sample(pair.neighbour, TRIALS, rng(2))
    ratio = np.exp(algorithm.messages().privacy_loss(paths, pair))
    return float((ratio.mean() - 1) / (ratio.std() / np.sqrt(TRIALS)))


def residual_p_value(algorithm, data, truth):
    """Return the Kolmogorov-Smirnov p-value of uniform residuals on the true outputs."""
    paths = truth.messages().sample(data, 2000, rng(3))
    residuals = algorithm.messages().uniform_residuals(paths, data)
    assert residuals.shape == (2000, algorithm.steps * 2 * 5)
    return float(stats.kstest(residuals.ravel(), "uniform").pvalue)


# The law holds


def test_the_shift_is_the_difference_of_the_means(algorithm, pair):
    assert shift_error(algorithm, pair) < 1e-11


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", RISKS)
def test_the_privacy_loss_is_the_difference_of_two_densities(name, pair):
    algorithm = make(risk=RISKS[name])
    assert density_error(algorithm, pair, algorithm) < 1e-9


@pytest.mark.sampled(4)
def test_the_likelihood_ratio_is_normalised(algorithm, pair):
    assert abs(normaliser_z(algorithm, pair, algorithm)) < 5


@pytest.mark.sampled(4)
def test_residuals_are_uniform_on_the_dataset_and_not_elsewhere(algorithm, pair):
    assert residual_p_value(algorithm, pair.dataset, algorithm) > 1e-4
    louder = replace(algorithm, noise=MessageNoise((0.63, 0.945)))
    assert residual_p_value(louder, pair.dataset, algorithm) < 1e-4


def test_only_the_party_with_the_column_is_shifted(algorithm, pair):
    state = algorithm.advance(algorithm.start(pair.dataset, 4), rng().standard_normal((4, 2, 5)))
    shift, m = algorithm.shift(state, pair), party_of(BLOCKS, pair.index)
    assert shift[:, m].any()
    assert not shift[:, 1 - m].any()


def test_the_first_message_is_not_shifted(algorithm, pair):
    assert not algorithm.shift(algorithm.start(pair.dataset, 2), pair).any()
    assert replace(algorithm, iterations=1).squared_shift_bounds(pair) == (0.0, 0.0)


def test_a_swapped_pair_negates_the_loss(algorithm, pair):
    paths = algorithm.messages().sample(pair.dataset, 20, rng())
    loss = algorithm.messages().privacy_loss(paths, pair)
    swapped = algorithm.messages().privacy_loss(paths, pair.swapped())
    np.testing.assert_allclose(swapped, -loss, atol=1e-9)
    assert np.abs(loss).max() > 0.01


@pytest.mark.sampled(3)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("tilt", [-1.0, -0.4, 0.5])
def test_tilted_expectations_weigh_back(tilt, pair):
    law = make().messages()
    tilted = law.sample_tilted(pair, tilt, TRIALS, rng(6))
    weight, plain = np.exp(tilted.log_weight), law.sample(pair.dataset, TRIALS, rng(7))
    for f, g in (
        (np.ones(TRIALS), np.ones(TRIALS)),
        (np.tanh(tilted.privacy_loss), np.tanh(law.privacy_loss(plain, pair))),
    ):
        error = np.sqrt(((weight * f).var() + g.var()) / TRIALS)
        assert abs((weight * f).mean() - g.mean()) < 5 * error


def test_a_ball_bounds_the_shifts_and_nothing_else_does(pair):
    free, held = make(), make(radius=0.4)
    assert free.squared_shift_bounds(pair) == (0.0, math.inf)
    low, high = held.squared_shift_bounds(pair)
    state, total = held.start(pair.dataset, 50), np.zeros(50)
    for output in 1e3 * rng().standard_normal((held.steps, 50, 2, 5)):
        scale = np.array(SIGMA)[:, None]
        total += ((held.shift(state, pair) / scale) ** 2).sum(axis=(1, 2))
        state = held.advance(state, output)
    assert low <= total.min()
    assert 0.2 * high < total.max() <= high


# Broken laws are caught


class HalfShift(SharingADMM):
    def shift(self, state, pair):
        return super().shift(state, pair) / 2


class WrongScale(SharingADMM):
    def step(self, state, dataset):
        step = super().step(state, dataset)
        return Step(step.mean, 1.05 * step.scale)


class ForgottenDual(SharingADMM):
    def advance(self, state, output):
        return replace(super().advance(state, output), dual=np.zeros_like(state.dual))


class Overshooting(SharingADMM):
    def local_model(self, party, state, m):
        return super().local_model(party, state, m) * 1.05


def test_half_a_shift_is_caught(pair):
    truth, wrong = make(), make(HalfShift)
    assert shift_error(wrong, pair) > 1e-2
    assert tilted_error(wrong, pair) > 1e-2
    assert tilted_error(truth, pair) < 1e-9


def test_a_noise_scale_off_by_five_percent_is_caught(pair):
    truth, wrong = make(), make(WrongScale)
    assert residual_p_value(wrong, pair.dataset, truth) < 1e-4
    assert density_error(wrong, pair, truth) > 1e-3


def test_a_likelihood_ratio_of_another_scale_is_not_normalised(pair):
    truth, louder = make(), make(noise=MessageNoise((0.9, 1.35)))
    assert abs(normaliser_z(truth, pair, truth)) < 5
    assert abs(normaliser_z(louder, pair, truth)) > 5


@pytest.mark.parametrize("broken", [ForgottenDual, Overshooting])
def test_a_wrong_update_is_caught(broken, pair):
    truth = make()
    assert density_error(make(broken), pair, truth) > 1e-3


# Refusals


def test_a_relation_with_other_labels_is_refused():
    data = Dataset(rng().standard_normal((5, 3)), np.ones(5))
    flipped = data.with_record(0, data.features[0], -1.0)
    pair, law = Pair(data, flipped, REPLACE_LABEL), make().messages()
    with pytest.raises(InvalidArgument, match=r"labels: got .*, expected those of the run"):
        law.privacy_loss(law.sample(data, 2, rng()), pair)
    for call in (
        lambda: law.log_mgf_bounds(pair, 0.5),
        lambda: law.sample_tilted(pair, 0.5, 2, rng()),
    ):
        with pytest.raises(InvalidArgument, match="got replace-label, expected replace-column"):
            call()


def test_without_noise_there_is_no_law(pair):
    for scale in (0.0, (0.0, 1.0), (1.0, 0.0)):
        law = make(noise=MessageNoise(scale)).messages()
        with pytest.raises(InvalidArgument, match=r"noise scale: got 0\.0"):
            law.privacy_loss(law.sample(pair.dataset, 2, rng()), pair)


def test_noise_on_the_models_separates_neighbours_at_once(pair):
    """One message of the dataset lies in the column space of its own data, not the neighbour's."""
    m = party_of(BLOCKS, pair.index)
    first = make(noise=ParameterNoise(10.0), iterations=1).messages()
    messages = first.sample(pair.dataset, 100, rng())[:, 0, m]
    distances = []
    for data in (pair.dataset, pair.neighbour):
        basis, _ = np.linalg.qr(np.split(data.features, np.cumsum(BLOCKS)[:-1], axis=1)[m])
        distances.append(np.linalg.norm(messages - messages @ basis @ basis.T, axis=1))
    assert distances[0].max() < 1e-12
    assert distances[1].min() > 1e-4
