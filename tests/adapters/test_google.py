"""PyDP and PipelineDP, audited on the real libraries: honest, and held to half of their epsilon."""

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.pipeline_dp import PipelineDPAggregation
from dpaudit.adapters.python_dp import PyDPAlgorithm, PyDPMechanism
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.testing import assert_not_refuted

RNG = np.random.default_rng(0)
ONE = Pair(np.array([0.0]), np.array([1.0]), relation("replace-record"))
MORE = Pair(np.ones(3), np.ones(4), relation("add-remove-record"))


def algorithm():
    laplacian = pytest.importorskip("pydp.algorithms.laplacian", reason="dpaudit[python-dp]")

    def bounded_sum():
        return laplacian.BoundedSum(epsilon=2.0, lower_bound=0.0, upper_bound=1.0, dtype="float")

    return PyDPAlgorithm(bounded_sum), MORE


def mechanism():
    mechanisms = pytest.importorskip(
        "pydp.algorithms.numerical_mechanisms", reason="dpaudit[python-dp]"
    )

    def laplace():
        return mechanisms.LaplaceMechanism(epsilon=2.0, sensitivity=1.0)

    return PyDPMechanism(laplace), ONE


def aggregation():
    pipeline_dp = pytest.importorskip("pipeline_dp", reason="dpaudit[pipeline-dp]")

    def parameters():
        return pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.COUNT],
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
        )

    counted = PipelineDPAggregation(parameters, epsilon=2.0, delta=1e-9)
    return counted, MORE


each = pytest.mark.parametrize("made", [algorithm, mechanism, aggregation])


@each
def test_keeps_its_epsilon_and_not_half_of_it(made):
    honest, pair = made()
    found = assert_not_refuted(honest, pair, 2.0, 1e-9, trials=1500)
    assert found.measured.lower > 1.0
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(honest, pair, 1.0, 1e-9, trials=1500)


@each
def test_one_record_moves_the_answer_by_one(made):
    honest, pair = made()
    means = [honest.sample(one, 4000, RNG).mean() for one in (pair.dataset, pair.neighbour)]
    assert abs(means[1] - means[0] - 1.0) < 0.15  # each mean deviates by 0.71 / sqrt(4000) = 0.011


def test_one_value_is_asked_for():
    mechanism = PyDPMechanism(object)
    with pytest.raises(InvalidArgument, match="one entry"):
        mechanism.sample(np.zeros(2), 3, RNG)


def test_what_is_missing_is_named():
    def missing():
        raise ImportError("no pydp", name="pydp.algorithms")

    with pytest.raises(DpauditError, match=r"dpaudit\[python-dp\]"):
        PyDPAlgorithm(missing).sample(np.zeros(2), 3, RNG)
