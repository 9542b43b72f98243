"""How near outputs are to two datasets, as scores."""

import numpy as np

from dpaudit.auditing.distinguishers.nearness import (
    Nearness,
    are_points,
    make_euclidean_nearness,
    near_dataset,
    near_neighbour,
    nearer_in_sum,
)
from dpaudit.neighbours import Pair, metric

PAIR = Pair(np.zeros(2), np.array([2.0, 2.0]), metric("euclidean"))


def test_the_score_is_the_loss_of_noise_that_falls_with_the_distance():
    """Of Laplace noise of each number, and of planar noise, of one unit."""
    outputs = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 0.0], [-5.0, 9.0]])
    loss = np.abs(outputs - 2).sum(axis=1) - np.abs(outputs).sum(axis=1)
    assert np.allclose(nearer_in_sum(None, PAIR, outputs, outputs, None)(outputs), loss)
    plane = np.hypot(*(outputs - 2).T) - np.hypot(*outputs.T)
    assert np.allclose(make_euclidean_nearness(None, PAIR, outputs, outputs, None)(outputs), plane)


def test_outputs_of_another_shape_and_of_no_size_tell_nothing_and_raise_nothing():
    score = Nearness(np.zeros(2), np.full(2, 1e300), 2)
    assert score(np.ones((3, 5))).tolist() == [0.0] * 3
    assert np.isfinite(score(np.array([[np.inf, 0.0], [1e308, -1e308], [np.nan, 1.0]]))).all()


def test_scores_are_high_near_the_dataset_and_far_from_the_neighbour():
    one = Pair(np.array([1.0, 0.0]), np.array([4.0, 4.0]), metric("euclidean"))
    outputs = np.array([[1.0, 0.0], [4.0, 4.0], [1.0, 8.0]])
    given = None, one, outputs, outputs, None
    assert near_dataset(*given)(outputs).tolist() == [0.0, -5.0, -8.0]
    assert near_neighbour(*given)(outputs).tolist() == [5.0, 0.0, 5.0]
    assert make_euclidean_nearness(*given)(outputs).tolist() == [5.0, -5.0, -3.0]
    assert nearer_in_sum(*given)(outputs).tolist() == [7.0, -7.0, -1.0]


def test_points_are_two_datasets_of_numbers_in_one_shape():
    straight = metric("euclidean")
    assert are_points(Pair([[1, 2], [3, 4]], [[1, 2], [3, 5]], straight))
    assert not are_points(Pair("ab", "ac", metric("hamming")))
