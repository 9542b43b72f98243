"""Variants, bounds and replays of consensus ADMM on a star of three nodes, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.process import noise_rates, replay
from dpaudit.algorithms.problems.graphs import star
from dpaudit.algorithms.problems.schedules import Constant, TableSchedule
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument

DATA = Dataset([[0.6], [0.8], [0.5], [0.1]], [1, -1, 1, 1], node_sizes=(1, 2, 1))


def star_of_three(**changes):
    given = {
        "graph": star(3),
        "iterations": 2,
        "noise_rate": Constant(3.0),
        "penalty": Constant(2.0),
        "dual_step": 0.5,
        "loss_weight": 0.1,
    }
    return ConsensusADMM(**given | changes)


def test_dual_variable_perturbation_has_the_dual_step_as_its_penalty():
    algorithm = star_of_three().dual_variable_perturbation().algorithm
    assert algorithm.stretch.tolist() == [[2 * 0.5 * v for v in (2, 1, 1)]] * 2
    assert star_of_three().stretch.tolist() == [[2 * 2.0 * v for v in (2, 1, 1)]] * 2


def test_the_published_bound_is_that_of_the_worst_node_and_adds_up():
    found = star_of_three().published_bounds(DATA)
    each = [2 * 0.1 * (1.4 * 0.25 + 3.0) / (4.0 * v * b) for v, b in ((2, 1), (1, 2), (1, 1))]
    assert found == pytest.approx([max(each), 2 * max(each)])
    with pytest.raises(InvalidArgument, match="noise_rate"):
        star_of_three(noise_rate=None).published_bounds(DATA)
    with pytest.raises(InvalidArgument, match="noise_rate"):
        noise_rates(star_of_three(noise_rate=None))


def test_theorem_4_1_asks_for_its_conditions_at_every_node_and_iteration():
    assert star_of_three().meets_theorem41(DATA)
    for row, node in ((0, 1), (1, 2)):
        table = np.full((2, 3), 2.0)
        table[row, node] = 0.4  # below the dual step
        assert not star_of_three(penalty=TableSchedule(table)).meets_theorem41(DATA)
    assert not star_of_three(loss_weight=100.0).meets_theorem41(DATA)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_output_with_one_number_that_is_not_finite_is_refused_by_its_place(bad):
    outputs = np.zeros((3, 2, 3, 1))
    assert len(list(replay(star_of_three(), outputs, DATA))) == 2
    outputs[1, 1, 2, 0] = bad
    with pytest.raises(InvalidArgument, match=r"outputs\[1\]"):
        list(replay(star_of_three(), outputs, DATA))
    with pytest.raises(InvalidArgument, match="shape"):
        list(replay(star_of_three(), np.zeros((3, 1, 3, 1)), DATA))
