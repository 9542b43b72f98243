"""A client's private step: what is clipped, how much noise, who is in a batch."""

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.tables.clients import Client, LocalSGD
from dpaudit.errors import ConvergenceError

TRIALS = 40_000


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def client():
    features = rng(1).standard_normal((5, 2)) * np.array([[0.1], [1], [3], [0.5], [2]])
    return Client(features, np.array([1.0, 2.0, 0.0, 3.0, 1.0]), rows=7, penalty=0.6, weight=0.2)


def one_by_one(client, model, pull, clip_norm):
    """Return the clipped gradient of every tuple, (n, d, d_c), by finite differences."""
    gradients = []
    for x, count, y in zip(client.features, client.counts, pull, strict=True):

        def term(theta, x=x, count=count, y=y):
            f = theta.T @ x
            return y @ f + client.penalty * count / 2 * f @ f

        gradient = np.zeros_like(model)
        for index in np.ndindex(model.shape):
            move = np.zeros_like(model)
            move[index] = 1e-5
            gradient[index] = (term(model + move) - term(model - move)) / 2e-5
        gradients.append(gradient * min(1, clip_norm / np.linalg.norm(gradient)))
    return np.array(gradients)


@pytest.mark.parametrize("clip_norm", [0.05, 0.7, 1e9])
def test_each_tuples_gradient_is_clipped_alone(client, clip_norm):
    model, pull = rng(2).standard_normal((2, 3)), rng(3).standard_normal((5, 3))
    expected = one_by_one(client, model, pull, clip_norm)
    for j in range(5):
        batch = np.eye(5)[[j]]
        ours = client.gradient(model[None], pull[None], clip_norm, batch)[0]
        np.testing.assert_allclose(ours, expected[j], atol=1e-8)
        assert np.linalg.norm(ours) <= clip_norm * (1 + 1e-12)
    ours = client.gradient(model[None], pull[None], clip_norm)[0]
    np.testing.assert_allclose(ours, expected.sum(axis=0), atol=1e-8)


def test_a_gradient_of_zero_survives_clipping(client):
    nothing = client.gradient(np.zeros((1, 2, 3)), np.zeros((1, 5, 3)), 0.1)
    np.testing.assert_array_equal(nothing, np.zeros((1, 2, 3)))


def test_unbatched_steps_follow_the_gradient_of_equation_38(client):
    model, pull = rng(2).standard_normal((1, 2, 3)), rng(3).standard_normal((1, 5, 3))
    gradient = client.weight * model + client.gradient(model, pull) / client.rows
    linear = client.features.T @ pull / client.rows
    np.testing.assert_allclose(gradient, client.curvature @ model + linear, atol=1e-13)
    at_minimum = client.minimiser(pull)
    np.testing.assert_allclose(client.curvature @ at_minimum, -linear, atol=1e-13)


@pytest.mark.parametrize("ratio", [1.0, 0.25])
def test_the_noise_is_white_with_the_stated_scale(client, ratio):
    solver = LocalSGD(
        steps=1, learning_rate=0.3, sampling_ratio=ratio, clip_norm=0.5, noise_multiplier=4.0
    )
    model, pull = np.zeros((TRIALS, 2, 2)), np.zeros((TRIALS, 5, 2))  # a gradient of 0
    drawn = solver.update(client, model, pull, rng()).reshape(TRIALS, 4)
    scale = 0.3 * 0.5 * 4.0 / (ratio * 7)
    assert solver.noise_scale(client) == pytest.approx(scale, rel=1e-14)
    assert stats.kstest(drawn.ravel() / scale, "norm").pvalue > 1e-3
    covariance = np.cov(drawn.T) / scale**2
    np.testing.assert_allclose(covariance, np.eye(4), atol=6 * np.sqrt(2 / TRIALS))


def test_noise_of_half_the_size_is_caught(client):
    solver = LocalSGD(steps=1, learning_rate=0.3, clip_norm=0.5, noise_multiplier=2.0)
    drawn = solver.update(client, np.zeros((TRIALS, 2, 2)), np.zeros((TRIALS, 5, 2)), rng())
    scale = 0.3 * 0.5 * 4.0 / 7
    assert stats.kstest(drawn.ravel() / scale, "norm").pvalue < 1e-10


def test_batches_are_poisson(client):
    solver = LocalSGD(steps=1, learning_rate=1.0, sampling_ratio=0.3)
    batch = solver.batch(client, TRIALS, rng())
    assert set(np.unique(batch)) == {0.0, 1.0}
    np.testing.assert_allclose(batch.mean(axis=0), 0.3, atol=5 * np.sqrt(0.21 / TRIALS))
    np.testing.assert_allclose(np.cov(batch.T), 0.21 * np.eye(5), atol=5 / np.sqrt(TRIALS))
    sizes = np.bincount(batch.sum(axis=1).astype(int), minlength=6)
    expected = TRIALS * stats.binom.pmf(np.arange(6), 5, 0.3)
    assert stats.chisquare(sizes, expected).pvalue > 1e-3


def test_batches_average_to_the_full_step(client):
    model, pull = rng(2).standard_normal((1, 2, 1)), rng(3).standard_normal((1, 5, 1))
    many = [np.broadcast_to(a, (TRIALS, *a.shape[1:])) for a in (model, pull)]
    solver = LocalSGD(steps=1, learning_rate=0.3, sampling_ratio=0.4)
    drawn = solver.update(client, *many, rng())
    full = LocalSGD(steps=1, learning_rate=0.3).update(client, model, pull, rng())
    error = drawn.std(axis=0) / np.sqrt(TRIALS)
    assert np.abs((drawn.mean(axis=0) - full[0]) / error).max() < 5


@pytest.mark.parametrize("ratio", [1.0, 0.25])
def test_a_step_leads_against_the_mean_over_all_rows_whatever_is_sampled(client, ratio):
    model, pull = rng(2).standard_normal((1, 2, 3)), rng(3).standard_normal((1, 5, 3))
    step = LocalSGD(
        steps=1, learning_rate=0.5, sampling_ratio=ratio, clip_norm=1e9, noise_multiplier=1.0
    )
    found = step.mean(client, model, pull, np.ones((1, 5)))
    total = one_by_one(client, model[0], pull[0], 1e9).sum(axis=0)
    expected = model[0] - 0.5 * (0.2 * model[0] + total / (ratio * 7))
    assert found[0] == pytest.approx(expected, rel=1e-4)
    assert step.noise_scale(client) == pytest.approx(0.5 / (ratio * 7) * 1e9)


def test_a_model_that_is_no_number_has_diverged(client):
    model, pull = np.full((1, 2, 1), np.nan), np.zeros((1, 5, 1))
    with pytest.raises(ConvergenceError, match="trial 0"):
        LocalSGD(steps=1, learning_rate=0.3).update(client, model, pull, rng())
