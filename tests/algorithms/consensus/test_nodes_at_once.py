"""All nodes at once: the minimisers of the method that solves node by node, or none."""

import numpy as np
import pytest

from dpaudit.algorithms.consensus.margin_problem import MarginProblem, minimise_margin_problem
from dpaudit.algorithms.consensus.nodes_at_once import NodeProblems
from dpaudit.algorithms.problems.smooth_losses import LINEAR, LOGISTIC, SMOOTHED_HINGE, SQUARED


def problems(rng, nodes=4, records=30, dimension=6, weight=0.7, tolerance=1e-12, loss=LOGISTIC):
    return NodeProblems(
        loss=loss,
        records=rng.normal(size=(nodes, records, dimension)),
        weight=weight,
        curvature=rng.uniform(0.1, 3.0, nodes),
        tolerance=tolerance,
    )


@pytest.mark.parametrize("loss", [LOGISTIC, LINEAR, SQUARED, SMOOTHED_HINGE])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_node_by_node_finds(seed, loss):
    rng = np.random.default_rng(seed)
    given, linear = problems(rng, loss=loss), rng.normal(size=(3, 4, 6))
    found = given.minimise(linear)
    if loss is SMOOTHED_HINGE and found is None:  # its curvature jumps
        return
    for node, curvature in enumerate(given.curvature):
        one = MarginProblem(loss=loss, weight=0.7, curvature=curvature)
        expected = minimise_margin_problem(one, linear[:, node], given.records[node]).models
        assert found[:, node] == pytest.approx(expected, abs=1e-10)


def test_the_gradient_is_zero_there():
    rng = np.random.default_rng(7)
    given, linear = problems(rng), rng.normal(size=(2, 4, 6))
    found = given.minimise(linear)
    for node, curvature in enumerate(given.curvature):
        one = MarginProblem(loss=LOGISTIC, weight=0.7, curvature=curvature)
        gradient = one.gradient(found[:, node], given.records[node]) - linear[:, node]
        assert np.abs(gradient).max() < 1e-10


def test_where_full_steps_fall_short_nothing_is_returned():
    """A pull that the losses hardly resist at first: Newton's first step overshoots."""
    rng = np.random.default_rng(1)
    given = problems(rng)
    assert given.minimise(50 * rng.normal(size=(3, 4, 6))) is None
