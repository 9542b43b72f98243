"""The law of the inner view: exact privacy loss, tilting, residuals; and checks that break it.

Every statistical check is a function of the mechanism, so that broken mechanisms go through the
very same check and have to fail it.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC, LOSSES, SMOOTHED_HINGE
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import Step
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_LABEL, Pair

TRIALS = 20_000


def rng(seed=0):
    return np.random.default_rng(seed)


def mu_of(algorithm):
    """Return the Gaussian-DP parameter of Lemma 5's bound, attained at every step."""
    return np.sqrt(algorithm.steps) / algorithm.noise_multiplier


# The checks: each returns a number that is small, or a p-value that is not


def shift_error(algorithm, pair):
    """Return the largest gap between the shift and the two means, along a random run."""
    state, largest = algorithm.start(pair.dataset, 5), 0.0
    for output in np.moveaxis(3 * rng(1).standard_normal((5, algorithm.steps, 2, 3)), 1, 0):
        means = [algorithm.step(state, data).mean for data in (pair.dataset, pair.neighbour)]
        gap = means[1] - means[0] - algorithm.shift(state, pair)
        largest = max(largest, float(np.abs(gap).max()))
        state = algorithm.advance(state, output)
    return largest


def normaliser_z(algorithm, pair, truth):
    """Return the z-score of ``E_q exp(loss) = 1``, q sampled from the true algorithm."""
    outputs = truth.inner().sample(pair.neighbour, TRIALS, rng(2))
    ratio = np.exp(algorithm.inner().privacy_loss(outputs, pair))
    return float((ratio.mean() - 1) / (ratio.std() / np.sqrt(TRIALS)))


def residual_p_value(algorithm, data, truth):
    """Return the Kolmogorov-Smirnov p-value of uniform residuals on the true outputs."""
    residuals = algorithm.inner().uniform_residuals(truth.inner().sample(data, 3000, rng(3)), data)
    assert residuals.shape == (3000, algorithm.steps * data.nodes * data.dimension)
    return float(stats.kstest(residuals.ravel(), "uniform").pvalue)


def density_error(algorithm, pair, loop_of, truth):
    """Return the largest gap between the privacy loss and the loop's two log-densities."""
    outputs = algorithm.inner().sample(pair.dataset, 20, rng(4))
    loss = algorithm.inner().privacy_loss(outputs, pair)
    log_p, log_q = (
        np.array([log_density(loop_of(truth, data), path) for path in outputs])
        for data in (pair.dataset, pair.neighbour)
    )
    return float(np.abs(loss - (log_p - log_q)).max())


def tilted_density_error(algorithm, pair, loop_of, truth):
    """Return the same gap for the loss that is summed from the shifts while sampling."""
    sample = algorithm.inner().sample_tilted(pair, 0.0, 20, rng(4))
    log_p, log_q = (
        np.array([log_density(loop_of(truth, data), path) for path in sample.outputs])
        for data in (pair.dataset, pair.neighbour)
    )
    return float(np.abs(sample.privacy_loss - (log_p - log_q)).max())


def log_density(loop, path):
    means, scales = loop.law(path)
    return stats.norm.logpdf(path, means, scales[..., None]).sum()


def linear_loss_p_value(algorithm, pair, truth):
    """Return the p-value of ``loss ~ N(mu^2/2, mu^2)``, exact for the linear loss."""
    mu = mu_of(truth)
    loss = algorithm.inner().privacy_loss(truth.inner().sample(pair.dataset, TRIALS, rng(5)), pair)
    return float(stats.kstest(loss, stats.norm(mu**2 / 2, mu).cdf).pvalue)


# The law holds


@pytest.fixture(scope="module", params=LOSSES.values(), ids=LOSSES.keys())
def algorithm(request, make_algorithm):
    return make_algorithm(loss=request.param)


@pytest.fixture(scope="module")
def pair(make_pair):
    return make_pair()


def test_the_shift_is_the_difference_of_the_means(algorithm, pair):
    assert shift_error(algorithm, pair) < 1e-12


def test_only_the_node_of_the_record_is_shifted(algorithm, pair):
    state = replace(algorithm.start(pair.dataset, 4), inner=rng().standard_normal((4, 2, 3)))
    shift = algorithm.shift(state, pair)
    assert pair.dataset.node_of(pair.index) == 1
    assert not shift[:, 0].any()
    assert shift[:, 1].any()


def test_the_privacy_loss_is_the_difference_of_the_loops_log_densities(algorithm, pair, loop_of):
    assert density_error(algorithm, pair, loop_of, algorithm) < 1e-9


def test_the_privacy_loss_with_uneven_nodes_and_a_label_flip(make_algorithm, make_data, loop_of):
    data = make_data((700, 3, 5))
    flipped = data.with_record(701, data.features[701], -data.labels[701])
    pair = Pair(data, flipped, REPLACE_LABEL)
    algorithm = make_algorithm(graph=ring(3), inner_steps=3)
    assert shift_error_on(algorithm, pair) < 1e-12
    assert density_error(algorithm, pair, loop_of, algorithm) < 1e-9


def shift_error_on(algorithm, pair):
    state = algorithm.start(pair.dataset, 5)
    state = replace(state, inner=rng().standard_normal(state.inner.shape))
    one, other = (algorithm.step(state, data).mean for data in (pair.dataset, pair.neighbour))
    return np.abs(other - one - algorithm.shift(state, pair)).max()


def test_a_swapped_pair_negates_the_loss(algorithm, pair):
    outputs = algorithm.inner().sample(pair.dataset, 50, rng())
    loss = algorithm.inner().privacy_loss(outputs, pair)
    swapped = algorithm.inner().privacy_loss(outputs, pair.swapped())
    np.testing.assert_allclose(swapped, -loss, atol=1e-10)
    assert np.abs(loss).max() > 0.1


@pytest.mark.parametrize("tilt", [-1.0, 0.0, 0.7])
def test_a_tilted_sample_carries_its_own_loss_and_moments(algorithm, pair, tilt):
    tilted = algorithm.inner().sample_tilted(pair, tilt, 30, rng())
    loss = algorithm.inner().privacy_loss(tilted.outputs, pair)
    np.testing.assert_allclose(tilted.privacy_loss, loss, atol=1e-10)
    low, high = sorted(algorithm.inner().log_mgf_bounds(pair, tilt))
    assert (low - 1e-12 <= tilted.log_mgf).all()
    assert (tilted.log_mgf <= high + 1e-12).all()
    assert tilted.tilt == tilt


def test_no_tilt_is_the_law_itself(algorithm, pair):
    tilted = algorithm.inner().sample_tilted(pair, 0.0, 6, rng())
    plain = algorithm.inner().sample(pair.dataset, 6, rng())
    np.testing.assert_array_equal(tilted.outputs, plain)
    np.testing.assert_array_equal(tilted.log_weight, np.zeros(6))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE, LINEAR], ids=lambda loss: loss.name)
@pytest.mark.parametrize("tilt", [-1.0, -0.4, 0.5])
def test_tilted_expectations_weigh_back(loss, tilt, pair, make_algorithm):
    law = make_algorithm(loss=loss, noise_multiplier=1.5).inner()
    tilted = law.sample_tilted(pair, tilt, TRIALS, rng(6))
    weight = np.exp(tilted.log_weight)
    plain = law.sample(pair.dataset, TRIALS, rng(7))
    plain_loss = law.privacy_loss(plain, pair)
    for f, g in (
        (np.ones(TRIALS), np.ones(TRIALS)),
        (np.tanh(tilted.outputs[:, -1, 1, 0]), np.tanh(plain[:, -1, 1, 0])),
        (tilted.privacy_loss > 0.3, plain_loss > 0.3),
        (np.tanh(tilted.privacy_loss), np.tanh(plain_loss)),
    ):
        error = np.sqrt(((weight * f).var() + g.var()) / TRIALS)
        assert abs((weight * f).mean() - g.mean()) < 5 * error


def test_a_tilt_of_minus_one_samples_the_neighbour(pair, make_algorithm):
    """Under ``p exp(-loss)`` = q the loss has the law it has on the neighbour."""
    law = make_algorithm(noise_multiplier=1.5).inner()
    tilted = law.sample_tilted(pair, -1.0, TRIALS, rng(8))
    on_neighbour = law.privacy_loss(law.sample(pair.neighbour, TRIALS, rng(9)), pair)
    assert stats.ks_2samp(tilted.privacy_loss, on_neighbour).pvalue > 1e-4
    np.testing.assert_allclose(tilted.log_mgf, 0.0, atol=1e-15)


def test_the_likelihood_ratio_is_normalised(algorithm, pair):
    assert abs(normaliser_z(algorithm, pair, algorithm)) < 5


def test_residuals_are_uniform_on_the_dataset_and_not_elsewhere(algorithm, pair):
    assert residual_p_value(algorithm, pair.dataset, algorithm) > 1e-4
    outputs = algorithm.inner().sample(pair.neighbour, 3000, rng(3))
    elsewhere = algorithm.inner().uniform_residuals(outputs, pair.dataset)
    assert stats.kstest(elsewhere.ravel(), "uniform").pvalue < 1e-4


def test_residuals_of_a_trial_are_uncorrelated(algorithm, pair):
    outputs = algorithm.inner().sample(pair.dataset, 3000, rng(10))
    residuals = algorithm.inner().uniform_residuals(outputs, pair.dataset)
    correlation = np.corrcoef(residuals.T) - np.eye(residuals.shape[1])
    assert np.abs(correlation).max() < 5 / np.sqrt(3000)


@pytest.mark.parametrize("tilt", [0.0, 0.6])
def test_the_linear_loss_attains_lemma_5_exactly(tilt, pair, make_algorithm):
    """Its privacy loss is ``N(mu^2/2, mu^2)``, and a tilt moves it by ``tilt mu^2``."""
    algorithm = make_algorithm(loss=LINEAR)
    mu = mu_of(algorithm)
    tilted = algorithm.inner().sample_tilted(pair, tilt, TRIALS, rng(11))
    law = stats.norm(mu**2 * (0.5 + tilt), mu)
    assert stats.kstest(tilted.privacy_loss, law.cdf).pvalue > 1e-4
    assert linear_loss_p_value(algorithm, pair, algorithm) > 1e-4


@pytest.mark.parametrize("tilt", [0.5, -0.3, 2.0])
def test_for_the_linear_loss_the_bounds_meet(tilt, pair, make_algorithm):
    algorithm = make_algorithm(loss=LINEAR)
    exact = tilt * (1 + tilt) / 2 * mu_of(algorithm) ** 2
    assert algorithm.inner().log_mgf_bounds(pair, tilt) == pytest.approx((exact, exact), rel=1e-12)
    sampled = algorithm.inner().sample_tilted(pair, tilt, 5, rng()).log_mgf
    np.testing.assert_allclose(sampled, exact, rtol=1e-12)


# Broken laws are caught


class HalfShift(MultiStepADMM):
    def shift(self, state, pair):
        return super().shift(state, pair) / 2


class ReversedShift(MultiStepADMM):
    def shift(self, state, pair):
        return -super().shift(state, pair)


class WrongScale(MultiStepADMM):
    def step(self, state, dataset):
        step = super().step(state, dataset)
        return Step(step.mean, 1.05 * step.scale)


class ForgottenDual(MultiStepADMM):
    def advance(self, state, output):
        return replace(super().advance(state, output), dual=np.zeros_like(output))


class SmallerGradient(MultiStepADMM):
    def step_along(self, state, dataset, gradient):
        return super().step_along(state, dataset, 0.8 * gradient)


@pytest.mark.parametrize("broken", [HalfShift, ReversedShift])
def test_a_broken_shift_is_caught(broken, pair, make_algorithm, loop_of):
    truth = make_algorithm(noise_multiplier=1.5)
    wrong = make_algorithm(broken, noise_multiplier=1.5)
    assert shift_error(wrong, pair) > 1e-3
    assert tilted_density_error(wrong, pair, loop_of, truth) > 1e-3
    assert tilted_density_error(truth, pair, loop_of, truth) < 1e-9


def test_a_broken_step_is_caught(pair, make_algorithm, loop_of):
    truth = make_algorithm(noise_multiplier=1.5)
    wrong = make_algorithm(SmallerGradient, noise_multiplier=1.5)
    assert density_error(wrong, pair, loop_of, truth) > 1e-3
    assert abs(normaliser_z(wrong, pair, truth)) > 5
    assert abs(normaliser_z(truth, pair, truth)) < 5


def test_half_a_shift_misses_the_exact_law(pair, make_algorithm):
    """A reversed shift does not: on p the loss has the same law either way."""
    wrong = make_algorithm(HalfShift, loss=LINEAR)
    loss = wrong.inner().sample_tilted(pair, 0.0, 5000, rng(5)).privacy_loss
    mu = mu_of(wrong)
    assert stats.kstest(loss, stats.norm(mu**2 / 2, mu).cdf).pvalue < 1e-4


def test_a_noise_scale_off_by_five_percent_is_caught(pair, make_algorithm, loop_of):
    truth, wrong = make_algorithm(), make_algorithm(WrongScale)
    assert residual_p_value(wrong, pair.dataset, truth) < 1e-4
    assert density_error(wrong, pair, loop_of, truth) > 1e-3
    linear, wrong = make_algorithm(loss=LINEAR), make_algorithm(WrongScale, loss=LINEAR)
    assert linear_loss_p_value(wrong, pair, linear) < 1e-4


def test_a_forgotten_dual_variable_is_caught(pair, make_algorithm):
    options = {"penalty": 2.0, "iterations": 6, "noise_multiplier": 0.5}
    truth, wrong = make_algorithm(**options), make_algorithm(ForgottenDual, **options)
    assert residual_p_value(truth, pair.dataset, truth) > 1e-4
    assert residual_p_value(wrong, pair.dataset, truth) < 1e-4


# Refusals


def bad_neighbour(pair, features, label):
    return replace_neighbour(pair, pair.neighbour.with_record(pair.index, features, label))


def replace_neighbour(pair, neighbour):
    return Pair(pair.dataset, neighbour, pair.relation)


@pytest.mark.parametrize(
    ("features", "label", "name"),
    [([2.0, 0.0, 0.0], 1.0, "norm of features[6]"), ([1.0, 0.0, 0.0], 0.0, "labels[6]")],
)
def test_a_neighbour_outside_the_theorem_is_refused(features, label, name, pair, make_algorithm):
    law, bad = make_algorithm().inner(), bad_neighbour(pair, features, label)
    outputs = law.sample(pair.dataset, 2, rng())
    for call in (
        lambda: law.privacy_loss(outputs, bad),
        lambda: law.privacy_loss(outputs, bad.swapped()),
        lambda: law.sample_tilted(bad, 0.5, 2, rng()),
        lambda: law.sample_tilted(bad.swapped(), 0.5, 2, rng()),
        lambda: law.uniform_residuals(outputs, bad.neighbour),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            call()
        assert refusal.value.name == name


def test_outputs_of_another_length_are_refused(pair, make_algorithm):
    law = make_algorithm().inner()
    longer = make_algorithm(iterations=4).inner().sample(pair.dataset, 2, rng())
    broadcast = make_algorithm().broadcast().sample(pair.dataset, 2, rng())
    for outputs in (longer, broadcast, np.zeros(4)):
        with pytest.raises(InvalidArgument, match="expected 6 steps on the second axis"):
            law.privacy_loss(outputs, pair)
        with pytest.raises(InvalidArgument, match="expected 6 steps on the second axis"):
            law.uniform_residuals(outputs, pair.dataset)


def test_without_noise_there_is_no_law(pair, make_algorithm):
    law = make_algorithm().without_noise().inner()
    outputs = law.sample(pair.dataset, 2, rng())
    with pytest.raises(InvalidArgument, match="noise scale: got 0"):
        law.privacy_loss(outputs, pair)
    with pytest.raises(InvalidArgument, match="noise scale: got 0"):
        law.sample_tilted(pair, 0.5, 2, rng())
    with pytest.raises(InvalidArgument, match="noise_multiplier: got 0"):
        law.log_mgf_bounds(pair, 0.5)


def test_a_relation_without_a_lemma_is_refused(make_algorithm, make_data):
    data = make_data((3, 3))
    shorter = replace(data, features=data.features[1:], labels=data.labels[1:], node_sizes=(2, 3))
    pair = Pair(data, shorter, ADD_REMOVE_RECORD)
    law = make_algorithm().inner()
    with pytest.raises(InvalidArgument, match="relation: got add-remove-record"):
        law.sample_tilted(pair, 0.5, 2, rng())
