"""Gradients: against explicit loops, and mini-batches that are unbiased and with replacement."""

import numpy as np
import pytest

from dpaudit.algorithms.problems.linearised_objectives import batch_gradient, full_gradient
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC, LOSSES
from dpaudit.datasets import Dataset

DRAWS = 40_000


def record_gradients(slope, data, models, node):
    """Return every record's gradient at the node's model, one trial and record at a time."""
    records = data.signed_records[data.rows_of(node)]
    return np.array([[slope(u @ w[node][:, None])[0] * u for u in records] for w in models])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_the_full_gradient_is_the_mean_of_the_records(loss, reference, make_data):
    data, models = make_data((4, 1, 7)), np.random.default_rng(1).standard_normal((5, 3, 3))
    gradient = full_gradient(loss, models, data)
    for node in range(3):
        each = record_gradients(reference.SLOPES[loss.name], data, models, node)
        np.testing.assert_allclose(gradient[:, node], each.mean(axis=1), atol=1e-14)


def test_the_full_gradient_is_the_derivative_of_the_objective(make_algorithm, make_data):
    data, models = make_data((4, 3)), np.random.default_rng(2).standard_normal((1, 2, 3))
    algorithm = make_algorithm()
    gradient = full_gradient(LOGISTIC, models, data)
    gradient += algorithm.regulariser_weight / data.nodes * models
    for at in np.ndindex(models.shape):
        step = np.zeros(models.shape)
        step[at] = 1e-5
        ends = [algorithm.objective(models + sign * step, data)[0] for sign in (1, -1)]
        assert gradient[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-9)


@pytest.mark.parametrize("size", [1, 4])
def test_the_batch_gradient_is_unbiased_with_the_variance_of_replacement(size, make_data):
    data = make_data((3, 6))
    models = np.broadcast_to(np.random.default_rng(3).standard_normal((2, 3)), (DRAWS, 2, 3))
    drawn = batch_gradient(LOGISTIC, models, data, size, np.random.default_rng(4))
    for node in range(2):
        each = record_gradients(LOGISTIC.slope, data, models[:1], node)[0]
        error = np.sqrt(each.var(axis=0) / size / DRAWS)
        z = (
            drawn[:, node].mean(axis=0) - full_gradient(LOGISTIC, models[:1], data)[0, node]
        ) / error
        assert np.abs(z).max() < 5
        # Without replacement the variance would be smaller by (m - size) / (m - 1).
        np.testing.assert_allclose(drawn[:, node].var(axis=0) * size, each.var(axis=0), rtol=0.05)


def test_a_record_may_be_drawn_twice():
    data = Dataset(np.eye(2), [1.0, 1.0])
    drawn = batch_gradient(LINEAR, np.zeros((400, 1, 2)), data, 2, np.random.default_rng(5))
    twice = (drawn[:, 0].max(axis=1) == 0.0) & (drawn[:, 0].min(axis=1) == -1.0)
    assert 0.4 < twice.mean() < 0.6  # half of all batches; never without replacement


def test_trials_and_nodes_draw_their_own_batches(make_data):
    data = make_data((50, 50), dimension=2)
    drawn = batch_gradient(LINEAR, np.zeros((20, 2, 2)), data, 3, np.random.default_rng(6))
    assert len(np.unique(drawn[..., 0])) == 40
