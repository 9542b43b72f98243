"""Consensus ADMM: the published formula by hand, and Figure 2 beside what is proved."""

import math

import numpy as np
import pytest

from dpaudit.accounting.grid.numerical import numerical_epsilon
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.algorithms.consensus import releases as parameters
from dpaudit.algorithms.consensus.guarantees import node_updates
from dpaudit.algorithms.consensus.releases import node_updates as updates_of
from dpaudit.algorithms.consensus.releases import penalty_perturbation, theorem41
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.datasets import Dataset

from .runs import algorithm


def test_the_published_formula_by_hand():
    """C (1.4 c_1 + alpha) / (eta V B): 1750 * 3.35 / (0.5 * 4 * 9044) = 5862.5 / 18088."""
    constant = parameters.PenaltyPerturbation(penalty_ratio=1.0, rate_ratio=1.0, iterations=1)
    assert theorem41(constant, 0.0).epsilon == pytest.approx(5862.5 / 18088, rel=1e-12)
    grown = parameters.PenaltyPerturbation(penalty_ratio=1.1, rate_ratio=1.2, iterations=2)
    second = 1750 * (0.35 + 3.6) / (0.55 * 4 * 9044)
    assert theorem41(grown, 0.0).epsilon == pytest.approx(5862.5 / 18088 + second, rel=1e-12)
    assert updates_of(constant)[0].published_bound == pytest.approx(5862.5 / 18088, rel=1e-12)


def test_the_published_formula_is_the_algorithm_s():
    run = algorithm(LOGISTIC, 3, 4)
    data = Dataset(np.zeros((7, 3)), np.ones(7), node_sizes=(5, 2))
    sums = [sum(u.published_bound for u in node) for node in node_updates(run, (5, 2))]
    assert max(sums) == pytest.approx(run.published_bounds(data)[-1], rel=1e-12)


@pytest.mark.parametrize(
    "options", [{"records": 100}, {"penalty_ratio": 0.99}, {"loss": "smoothed-hinge"}]
)
def test_where_the_theorem_s_conditions_fail_it_has_no_answer(options):
    given = parameters.PenaltyPerturbation(**options)
    assert theorem41(given, 1e-5).epsilon == math.inf
    assert proved_guarantee(penalty_perturbation(given)).epsilon(0.0) < math.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise_rate", "factor"), [(3.0, 15.0), pytest.param(5.0, 15.0, marks=pytest.mark.slow)]
)
def test_figure_2_after_50_iterations(noise_rate, factor):
    given = parameters.PenaltyPerturbation(noise_rate=noise_rate)
    published = theorem41(given, 1e-5).epsilon
    proved = numerical_epsilon(penalty_perturbation(given), 1e-5, 2**14)
    assert proved.upper < published / factor
    assert proved.upper - proved.lower < 1e-3
    pure = sum(each.pure_bound() for each in updates_of(given))
    assert pure < published
    assert proved_guarantee(penalty_perturbation(given)).epsilon(0.0) == pytest.approx(pure)
