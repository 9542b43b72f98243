"""The laws of the private variants: normalisation, residuals, signs, and what has no law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.schedules import Constant
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.self_check import likelihood_ratio_checks
from dpaudit.mechanisms.mechanism import HasLaw
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair

from .law import MECHANISMS, everywhere, likelihood_z, make, residual_p_values, sizes
from .loop import rng


@pytest.mark.slow
@sizes
@pytest.mark.parametrize(
    ("variant", "loss"),
    [
        *((variant, LOGISTIC) for variant in MECHANISMS),
        ("pp", SMOOTHED_HINGE),
        *(pytest.param(v, SMOOTHED_HINGE, marks=pytest.mark.slow) for v in MECHANISMS if v != "pp"),
    ],
)
def test_the_likelihood_ratio_is_normalised(variant, loss, trials, pair):
    mechanism = MECHANISMS[variant](make(loss=loss))
    assert isinstance(mechanism, HasLaw)
    on_q = mechanism.sample(pair.neighbour, trials, rng(2))
    on_p = mechanism.sample(pair.dataset, trials, rng(3))
    assert abs(likelihood_z(mechanism, pair, on_q)) < 4
    assert abs(likelihood_z(mechanism, pair.swapped(), on_p)) < 4
    losses = [mechanism.privacy_loss(outputs, pair) for outputs in (on_p, on_q)]
    assert all(check.passed for check in likelihood_ratio_checks(*losses))
    assert losses[0].mean() > 0.05


@pytest.mark.slow
@sizes
@everywhere
def test_residuals_are_uniform_and_independent_on_the_dataset_alone(variant, trials, pair):
    mechanism = MECHANISMS[variant](make())
    outputs = mechanism.sample(pair.dataset, 4000, rng(4))
    assert min(residual_p_values(mechanism, outputs, pair.dataset)) > 1e-4
    noisy = 2 if variant == "recycled" else 3
    assert mechanism.uniform_residuals(outputs, pair.dataset).shape == (4000, noisy * 9)
    elsewhere = mechanism.sample(pair.neighbour, trials, rng(5))
    assert min(residual_p_values(mechanism, elsewhere, pair.dataset)) < 1e-4


@everywhere
def test_a_swapped_pair_negates_the_loss(variant, pair):
    mechanism = MECHANISMS[variant](make())
    outputs = mechanism.sample(pair.dataset, 50, rng())
    loss = mechanism.privacy_loss(outputs, pair)
    swapped = mechanism.privacy_loss(outputs, pair.swapped())
    np.testing.assert_allclose(swapped, -loss, atol=1e-9)


def test_the_published_bound_holds_where_its_condition_does(pair):
    algorithm = make(loss_weight=1.0, penalty=Constant(0.3))
    assert algorithm.meets_theorem41(pair.dataset)
    mechanism = algorithm.penalty_perturbation()
    bound = algorithm.published_bounds(pair.dataset)[-1]
    for one in (pair, pair.swapped()):
        loss = mechanism.privacy_loss(mechanism.sample(one.dataset, 2000, rng()), one)
        assert 0.1 * bound < np.abs(loss).max() <= bound


def test_only_the_node_of_the_record_counts(pair):
    """Other nodes' records cancel: changing them on both sides changes no loss."""
    mechanism = make().penalty_perturbation()
    outputs = mechanism.sample(pair.dataset, 20, rng())
    one, other = (
        data.with_record(9, [0.2, 0.2, 0.1], 1.0) for data in (pair.dataset, pair.neighbour)
    )
    elsewhere = Pair(one, other, REPLACE_RECORD)
    np.testing.assert_array_equal(
        mechanism.privacy_loss(outputs, elsewhere), mechanism.privacy_loss(outputs, pair)
    )


def test_two_nodes_are_enough():
    data = Dataset([[1.0], [0.5], [-0.5]], [1, -1, 1], node_sizes=(2, 1))
    algorithm = make(
        graph=Graph(2, ((0, 1),)), penalty=Constant(0.5), noise_rate=Constant(1.0), iterations=1
    )
    mechanism = algorithm.penalty_perturbation()
    residuals = mechanism.uniform_residuals(mechanism.sample(data, 4000, rng()), data)
    assert stats.kstest(residuals.ravel(), "uniform").pvalue > 1e-4


# Recycled: only odd iterations cost


def test_even_iterations_of_recycled_admm_cost_nothing(pair):
    longer = make(iterations=4)
    outputs = longer.recycled(0.2).sample(pair.dataset, 30, rng())
    whole = longer.recycled(0.2).privacy_loss(outputs, pair)
    shorter = make(iterations=3).recycled(0.2).privacy_loss(outputs[:, :3], pair)
    np.testing.assert_array_equal(whole, shorter)
    first = make(iterations=1).recycled(0.2).privacy_loss(outputs[:, :1], pair)
    assert np.abs(whole - first).max() > 0.01


def test_an_even_broadcast_that_is_no_function_of_the_past_is_refused(pair):
    mechanism = make(iterations=4).recycled(0.2)
    outputs = mechanism.sample(pair.dataset, 5, rng())
    outputs[3, 1, 0, 0] += 1e-4
    with pytest.raises(InvalidArgument, match=r"outputs\[3, 1\]: got .* off"):
        mechanism.privacy_loss(outputs, pair)
    with pytest.raises(InvalidArgument, match=r"outputs\[3, 1\]"):
        mechanism.uniform_residuals(outputs, pair.dataset)


# Refusals


@everywhere
def test_without_noise_there_is_no_law(variant, pair):
    mechanism = MECHANISMS[variant](make().without_noise())
    outputs = mechanism.sample(pair.dataset, 2, rng())
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        mechanism.privacy_loss(outputs, pair)
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        mechanism.uniform_residuals(outputs, pair.dataset)


@everywhere
def test_what_has_no_law_here_is_refused(variant, pair):
    mechanism = MECHANISMS[variant](make())
    outputs = mechanism.sample(pair.dataset, 2, rng())
    with pytest.raises(InvalidArgument, match=r"outputs: got shape \(2, 2, 3, 3\)"):
        mechanism.privacy_loss(outputs[:, :2], pair)
    shorter = replace(
        pair.dataset,
        features=pair.dataset.features[1:],
        labels=pair.dataset.labels[1:],
        node_sizes=(2, 4, 5),
    )
    with pytest.raises(InvalidArgument, match="relation: got add-remove-record"):
        mechanism.privacy_loss(outputs, Pair(pair.dataset, shorter, ADD_REMOVE_RECORD))
    long_record = pair.dataset.with_record(4, [3.0, 0.0, 0.0], 1.0)
    with pytest.raises(InvalidArgument, match=r"norm of features\[4\]"):
        mechanism.privacy_loss(outputs, Pair(pair.dataset, long_record, REPLACE_RECORD))
