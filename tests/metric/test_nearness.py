"""How near outputs are to two datasets, as scores."""

import numpy as np

from dpaudit.auditing.nearness import Nearness, nearer, nearer_in_sum
from dpaudit.neighbours import Pair, metric

PAIR = Pair(np.zeros(2), np.array([2.0, 2.0]), metric("euclidean"))


def test_the_score_is_the_loss_of_noise_that_falls_with_the_distance():
    """Of Laplace noise of each number, and of planar noise, of one unit."""
    outputs = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 0.0], [-5.0, 9.0]])
    loss = np.abs(outputs - 2).sum(axis=1) - np.abs(outputs).sum(axis=1)
    assert np.allclose(nearer_in_sum(None, PAIR, outputs, outputs, None)(outputs), loss)
    plane = np.hypot(*(outputs - 2).T) - np.hypot(*outputs.T)
    assert np.allclose(nearer(None, PAIR, outputs, outputs, None)(outputs), plane)


def test_outputs_of_another_shape_and_of_no_size_tell_nothing_and_raise_nothing():
    score = Nearness(np.zeros(2), np.full(2, 1e300), 2)
    assert score(np.ones((3, 5))).tolist() == [0.0] * 3
    assert np.isfinite(score(np.array([[np.inf, 0.0], [1e308, -1e308], [np.nan, 1.0]]))).all()
