"""Without noise the algorithm is plain ADMM: it finds the optimum of the paper's eq. (1).

The oracle is scipy, on objectives written out here.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dpaudit.algorithms.problems.graphs import complete, random_connected, ring, star
from dpaudit.algorithms.problems.losses import SMOOTHED_HINGE
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize

GRAPHS = {
    "complete": complete(4),
    "ring": ring(4),
    "star": star(4),
    "random": random_connected(4, np.random.default_rng(0)),
}


def node_loss(w, data, node, weight):
    """Return ``L_i`` (eq. 26) and its gradient."""
    rows = data.rows_of(node)
    signed = data.labels[rows, None] * data.features[rows]
    margins = signed @ w
    value = np.mean(np.log1p(np.exp(-margins))) + weight / (2 * data.nodes) * (w @ w)
    slopes = -1 / (1 + np.exp(margins)) / len(margins)
    return value, slopes @ signed + weight / data.nodes * w


def smallest(function, dimension):
    """Return the minimiser of a convex function given with its gradient."""
    found = minimize(function, np.zeros(dimension), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert np.abs(found.jac).max() < 1e-7
    return found.x


def centralised(data, weight):
    def total(w):
        parts = [node_loss(w, data, node, weight) for node in range(data.nodes)]
        return sum(value for value, _ in parts), sum(gradient for _, gradient in parts)

    return smallest(total, data.dimension), total


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_consensus_reaches_the_centralised_optimum(graph, real_data, make_algorithm):
    weight = 0.1
    algorithm = make_algorithm(
        graph=graph,
        iterations=3000,
        inner_steps=2,
        penalty=0.05,
        regulariser_weight=weight,
        step_size=ConstantStepSize(0.3),
    ).without_noise()
    models = algorithm.broadcast().sample(real_data, 1, np.random.default_rng(0))[0, -1]
    best, total = centralised(real_data, weight)
    assert len(set(real_data.node_sizes)) == 4
    for model in models:
        assert 0 <= total(model)[0] - total(best)[0] + 1e-12 < 1e-6
    objective = algorithm.objective(models[None], real_data)[0]
    assert objective == pytest.approx(total(best)[0], abs=1e-6)


def test_weighing_the_nodes_by_their_records_would_be_another_optimum(real_data):
    """The objective is of means of nodes; the test above tells it from the mean of records."""
    best, total = centralised(real_data, 0.1)

    def pooled(w):
        parts = [node_loss(w, real_data, node, 0.1) for node in range(real_data.nodes)]
        shares = np.array(real_data.node_sizes) * real_data.nodes / sum(real_data.node_sizes)
        weighted = list(zip(shares, parts, strict=True))
        return sum(s * p[0] for s, p in weighted), sum(s * p[1] for s, p in weighted)

    assert total(smallest(pooled, real_data.dimension))[0] - total(best)[0] > 1e-5


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_many_inner_steps_solve_the_update_exactly(graph, real_data, make_algorithm):
    """The last inner model of iteration 2 is the argmin of (9a), with (8) written out here."""
    weight, penalty, inner_steps = 0.1, 0.5, 300
    algorithm = make_algorithm(
        graph=graph,
        iterations=2,
        inner_steps=inner_steps,
        penalty=penalty,
        regulariser_weight=weight,
        step_size=ConstantStepSize(1.0),
    ).without_noise()
    inner = algorithm.inner().sample(real_data, 1, np.random.default_rng(0))[0]
    last = inner[:inner_steps].mean(axis=0)
    for i in range(4):
        others = [last[j] for j in np.flatnonzero(graph.adjacency[i])]
        dual = -penalty / 2 * sum(last[i] - other for other in others)  # (9b) from 0

        def lagrangian(w, i=i, others=others, dual=dual):
            value, gradient = node_loss(w, real_data, i, weight)
            gaps = [w - (last[i] + other) / 2 for other in others]
            value += -2 * dual @ w + penalty * sum(gap @ gap for gap in gaps)
            return value, gradient - 2 * dual + 2 * penalty * sum(gaps)

        exact = smallest(lagrangian, real_data.dimension)
        assert np.abs(dual).max() > 1e-3
        np.testing.assert_allclose(inner[-1, i], exact, atol=1e-6)


def test_a_fixed_point_is_left_alone(real_data, make_algorithm):
    """From consensus at the optimum, with duals that hold it there, nothing moves: eq. (13a)."""
    best, _ = centralised(real_data, 0.1)
    algorithm = make_algorithm(graph=ring(4), regulariser_weight=0.1).without_noise()
    slopes = np.array([node_loss(best, real_data, i, 0.1)[1] for i in range(4)])
    at = np.tile(best, (1, 4, 1))
    dual = slopes[None] / 2
    pull = 2 * dual + 2 * algorithm.penalty * algorithm.graph.degrees[:, None] * at
    state = replace(
        algorithm.start(real_data, 1), inner=at, broadcast=at, dual=dual, pull=pull, inner_sum=at
    )
    np.testing.assert_allclose(algorithm.step(state, real_data).mean, at, atol=1e-12)


def test_the_smoothed_hinge_reaches_its_optimum_too(real_data, make_algorithm):
    algorithm = make_algorithm(
        graph=ring(4),
        loss=SMOOTHED_HINGE,
        iterations=2000,
        penalty=0.05,
        regulariser_weight=0.1,
        step_size=ConstantStepSize(1.0),
    ).without_noise()
    models = algorithm.broadcast().sample(real_data, 1, np.random.default_rng(0))[0, -1]

    def total(w):
        margins = real_data.signed_records @ w
        each = np.where(margins < 0, 0.5 - margins, np.maximum(0, 1 - margins) ** 2 / 2)
        shares = np.repeat([1 / m for m in real_data.node_sizes], real_data.node_sizes)
        slopes = shares * np.clip(margins - 1, -1, 0)
        return shares @ each + 0.05 * w @ w, slopes @ real_data.signed_records + 0.1 * w

    best = total(smallest(total, real_data.dimension))[0]
    assert max(total(model)[0] for model in models) - best < 1e-6
