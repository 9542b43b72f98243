"""Consensus ADMM: the published bound, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.schedules import Constant, Geometric, TableSchedule
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.errors import InvalidArgument

from .loop import VARIANTS, make, rng

# The published bound


def test_the_published_bound_is_equation_26(small):
    algorithm = make()
    alpha, eta = (schedule.values(5, 4) for schedule in (algorithm.noise_rate, algorithm.penalty))
    for t in range(1, 6):
        sums = [
            sum(
                3.0 * (1.4 / 4 + alpha[r, i])
                / (eta[r, i] * algorithm.graph.degrees[i] * small.node_sizes[i])
                for r in range(t)
            )
            for i in range(4)
        ]  # fmt: skip
        assert algorithm.published_bounds(small)[t - 1] == pytest.approx(max(sums), rel=1e-12)


def test_the_condition_of_theorem_41(small):
    assert make(loss_weight=0.5).meets_theorem41(small)
    assert not make(loss_weight=30.0).meets_theorem41(small)
    assert not make(loss_weight=0.5, penalty=Constant(0.4)).meets_theorem41(small)
    assert not make(loss_weight=0.1, loss=SMOOTHED_HINGE).meets_theorem41(small)
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        make().without_noise().published_bounds(small)


# Refusals


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"iterations": 0}, "iterations"),
        ({"dual_step": 0.0}, "dual_step"),
        ({"loss_weight": -1.0}, "loss_weight"),
        ({"regulariser_weight": -1.0}, "regulariser_weight"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"graph": Graph(1, ()), "penalty": Constant(1.0)}, "graph"),
        ({"penalty": TableSchedule(((1.0, 1.0),))}, "penalty.table"),
        ({"noise_rate": Geometric((1.0, 2.0), 1.0)}, "noise_rate.first"),
        ({"noise_rate": Geometric(1.0, 1e200)}, "noise_rate.ratio"),
    ],
)
def test_bad_parameters_are_refused_by_name(options, name):
    with pytest.raises(InvalidArgument) as refusal:
        make(**options)
    assert refusal.value.name == name


def test_a_negative_proximal_weight_is_refused():
    with pytest.raises(InvalidArgument, match="proximal_weight: got -1"):
        make().recycled(-1.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_datasets_that_do_not_fit_are_refused(variant, small):
    mechanism = VARIANTS[variant][0](make())
    for data, name in (
        (replace(small, node_sizes=(11, 11)), "dataset"),
        (small.with_record(3, 2 * np.ones(4), 1.0), "norm of features[3]"),
        (small.with_record(3, np.zeros(4), 2.0), "labels[3]"),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            mechanism.sample(data, 2, rng())
        assert refusal.value.name == name


def test_the_default_loss_is_the_papers():
    assert make().loss is LOGISTIC
