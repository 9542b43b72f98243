"""ADMM sharing: its risk, its blocks, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.problems.regularisers import L1, L2, elastic_net
from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES, SIGMOID, SQUARED
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise
from dpaudit.algorithms.sharing.vertical import Risk, column_slices, party_of, split_into_parties
from dpaudit.datasets import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument

from .setting import BLOCKS, make, make_data, rng


def test_the_risk_is_equation_1():
    data, x = make_data(), rng().standard_normal((4, 6))
    for loss in SAMPLE_LOSSES.values():
        risk = Risk(loss=loss, regulariser=elastic_net(0.3), regulariser_weight=0.2)
        for model, value, mean in zip(x, risk.value(x, data), risk.mean_loss(x, data), strict=True):
            losses = [
                loss.value(np.array(a @ model), np.array(b))
                for a, b in zip(data.features, data.labels, strict=True)
            ]
            penalty = 0.2 * (0.7 * model @ model / 2 + 0.3 * np.abs(model).sum())
            assert mean == pytest.approx(np.mean(losses), rel=1e-12)
            assert value == pytest.approx(np.mean(losses) + penalty, rel=1e-12)
            total = replace(risk, scaling="sum").value(model[None], data)[0]
            assert total == pytest.approx(np.sum(losses) + penalty, rel=1e-12)


def test_a_mean_is_a_sum_with_larger_weights():
    data = make_data()
    mean = make(risk=Risk(regulariser_weight=0.04), penalty=0.03)
    total = make(risk=Risk(scaling="sum", regulariser_weight=0.36), penalty=0.27)
    messages = [a.messages().sample(data, 1, rng()) for a in (mean, total)]
    np.testing.assert_allclose(*messages, atol=1e-11)


def test_columns_belong_to_parties():
    assert [party_of(BLOCKS, column) for column in range(6)] == [0, 0, 1, 1, 1, 2]
    assert [(s.start, s.stop) for s in column_slices(BLOCKS)] == [(0, 2), (2, 5), (5, 6)]
    data = make_data()
    assert split_into_parties(data, BLOCKS) is split_into_parties(data, BLOCKS)
    np.testing.assert_array_equal(
        np.hstack([p.design for p in split_into_parties(data, BLOCKS)]), data.features
    )


def test_l2_is_the_default():
    assert Risk().regulariser is L2


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_sizes": ()}, r"block_sizes: got \(\)"),
        ({"block_sizes": (2, 0)}, "block_sizes: got 0"),
        ({"iterations": 0}, "iterations: got 0"),
        ({"penalty": 0.0}, r"penalty: got 0\.0"),
        ({"radius": -1.0}, r"radius: got -1\.0"),
        ({"tolerance": 0.0}, r"tolerance: got 0\.0"),
        ({"noise": MessageNoise((1.0, 2.0))}, r"noise scale: got \(1\.0, 2\.0\), expected one for"),
    ],
)
def test_parameters_are_refused_by_name(options, message):
    with pytest.raises(InvalidArgument, match=message):
        make(**options)


def test_other_arguments_are_refused_by_name():
    with pytest.raises(InvalidArgument, match="noise scale: got -1"):
        ParameterNoise(-1.0)
    with pytest.raises(InvalidArgument, match="scaling: got 'median'"):
        Risk(scaling="median")
    with pytest.raises(InvalidArgument, match="regulariser_weight: got -1"):
        Risk(regulariser_weight=-1)
    with pytest.raises(InvalidArgument, match=r"models: got shape \(2, 5\)"):
        Risk().value(np.zeros((2, 5)), make_data())


def test_datasets_are_refused_by_name():
    with pytest.raises(InvalidArgument, match=r"dataset: got 5 features, expected 6, split as"):
        make().messages().sample(make_data(dimension=5), 1, rng())
    real = Dataset(make_data().features, np.linspace(-1, 1, 9))
    with pytest.raises(InvalidArgument, match=r"labels\[1\]"):
        make().messages().sample(real, 1, rng())
    make(risk=Risk(loss=SQUARED)).messages().sample(real, 1, rng())
    weak = make(risk=Risk(loss=SIGMOID, scaling="sum"), penalty=0.09)
    with pytest.raises(InvalidArgument, match="several minima"):
        weak.messages().sample(make_data(), 1, rng())


def test_an_update_that_does_not_converge_is_named():
    lasso = Risk(regulariser=L1, regulariser_weight=0.01)
    algorithm, data = make(risk=lasso), make_data()
    state = algorithm.advance(algorithm.start(data, 3), rng().standard_normal((3, 3, 9)))
    state.dual[1, 4] = np.nan
    with pytest.raises(ConvergenceError, match="x-update: trial 1 is at residual nan"):
        algorithm.step(state, data)
    messages = rng().standard_normal((3, 3, 9))
    messages[2, 0, 0] = np.nan
    with pytest.raises(ConvergenceError, match="z-update: trial 2 has not converged"):
        algorithm.advance(algorithm.start(data, 3), messages)
