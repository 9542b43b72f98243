"""FDML-SGD: the same optimum as ADMM sharing, gradients, batches, and the centralised baseline."""

import numpy as np
import pytest

from dpaudit.algorithms.problems.regularisers import elastic_net
from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES, SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.fdml import FDML, fit_centralised_logistic
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset, breast_cancer
from dpaudit.errors import ConvergenceError, InvalidArgument

BLOCKS = (2, 3, 1)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def data():
    features = rng().standard_normal((10, 6)) / 2
    return Dataset(features, rng(1).choice([-1.0, 1.0], 10))


def make(**options):
    return FDML(**{"block_sizes": BLOCKS, "epochs": 3, "step_size": 0.5} | options)


@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_it_converges_to_the_optimum_of_sharing(scaling):
    records = breast_cancer()
    n = len(records.labels)
    factor = 1 if scaling == "mean" else n
    risk = Risk(scaling=scaling, regulariser_weight=0.02 * factor)
    fdml = FDML(block_sizes=(12, 18), epochs=2000, step_size=3.0 / factor, risk=risk)
    sharing = SharingADMM(block_sizes=(12, 18), iterations=300, penalty=0.4 * factor / n, risk=risk)
    *_, by_sgd = fdml.iterates(records, 1, rng())
    *_, last = sharing.iterates(records, 1, rng())
    best = risk.value(fit_centralised_logistic(records, risk), records)[0]
    assert risk.value(by_sgd, records)[0] == pytest.approx(best, rel=1e-8)
    assert risk.value(last.models, records)[0] == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(by_sgd, last.models, atol=1e-4)


def test_mini_batches_with_a_falling_step_come_close():
    records, risk = breast_cancer(), Risk(regulariser_weight=0.02)
    best = risk.value(fit_centralised_logistic(records, risk), records)[0]
    options = {"block_sizes": (12, 18), "epochs": 60, "batch_size": 50, "step_size": 2.0}
    constant, falling = (
        risk.value(
            FDML(**options, decay=decay, risk=risk).sample(records, 4, rng())[:, -1], records
        )
        for decay in (0.0, 0.05)
    )
    assert (falling > best).all()
    assert falling.max() < best + 1e-3
    assert falling.mean() < constant.mean()


@pytest.mark.parametrize("loss", SAMPLE_LOSSES.values(), ids=SAMPLE_LOSSES.keys())
@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_the_gradient_is_that_of_the_risk(loss, scaling, data):
    risk = Risk(loss=loss, scaling=scaling, regulariser=elastic_net(0.4), regulariser_weight=0.3)
    models = rng(3).standard_normal((2, 6))
    gradient = make(risk=risk).gradient(models, data, None)
    for k in range(6):
        step = 1e-6 * np.eye(6)[k]
        slope = (risk.value(models + step, data) - risk.value(models - step, data)) / 2e-6
        np.testing.assert_allclose(gradient[:, k], slope, atol=1e-7)


@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_batches_average_to_the_gradient(scaling, data):
    fdml = make(risk=Risk(scaling=scaling, regulariser_weight=0.3))
    models = rng(3).standard_normal((2, 6))
    parts = [
        fdml.gradient(models, data, np.array([[i, i + 1], [i + 1, i]])) for i in range(0, 10, 2)
    ]
    np.testing.assert_allclose(
        np.mean(parts, axis=0), fdml.gradient(models, data, None), atol=1e-14
    )


def test_a_step_is_the_documented_one(data):
    fdml = make(epochs=4, step_size=0.7, decay=2.0, start_scale=1.5)
    models = fdml.sample(data, 3, rng())
    expected = 1.5 * rng().standard_normal((3, 6))
    for t in range(4):
        expected = expected - 0.7 / np.sqrt(1 + 2 * t) * fdml.gradient(expected, data, None)
        np.testing.assert_allclose(models[:, t], expected, atol=1e-14)


def test_how_the_features_are_split_changes_nothing(data):
    one, three = make(block_sizes=(6,), batch_size=3), make(batch_size=3)
    np.testing.assert_allclose(one.sample(data, 4, rng()), three.sample(data, 4, rng()), atol=1e-13)


def test_an_epoch_visits_every_sample_once(data, monkeypatch):
    seen = []
    original = FDML.gradient
    monkeypatch.setattr(
        FDML,
        "gradient",
        lambda self, models, dataset, batch: (
            seen.append(batch) or original(self, models, dataset, batch)
        ),
    )
    make(batch_size=4, epochs=2).sample(data, 3, rng())
    assert [batch.shape for batch in seen] == [(3, 4), (3, 4), (3, 2)] * 2
    for epoch in (np.hstack(seen[:3]), np.hstack(seen[3:])):
        np.testing.assert_array_equal(np.sort(epoch, axis=1), np.tile(np.arange(10), (3, 1)))
    assert not np.array_equal(seen[0][0], seen[0][1])


def test_one_party_alone_does_worse():
    records, risk = breast_cancer(), Risk(regulariser_weight=1e-3)
    everything = fit_centralised_logistic(records, risk)
    alone = fit_centralised_logistic(records, risk, slice(0, 12))
    assert not alone[:, 12:].any()
    assert risk.value(alone, records)[0] > risk.value(everything, records)[0] + 1e-3
    gradient = FDML(block_sizes=(30,), epochs=1, step_size=1.0, risk=risk).gradient
    assert np.abs(gradient(everything, records, None)).max() < 1e-8
    assert np.abs(gradient(alone, records, None)[:, :12]).max() < 1e-8


def test_steps_that_diverge_are_an_error_that_names_trial_and_epoch(data):
    steep = make(risk=Risk(loss=SQUARED, scaling="sum"), step_size=50.0, epochs=400)
    with pytest.raises(ConvergenceError, match=r"^epoch \d+: FDML: trial 0 has diverged, expected"):
        steep.sample(data, 3, rng())


@pytest.mark.parametrize("name", ["epochs", "batch_size", "step_size"])
def test_parameters_are_refused_by_name(name):
    with pytest.raises(InvalidArgument, match=f"{name}: got 0"):
        make(**{name: 0})


def test_other_refusals(data):
    with pytest.raises(InvalidArgument, match="dataset: got 6 features, expected 5"):
        make(block_sizes=(5,)).sample(data, 1, rng())
    with pytest.raises(InvalidArgument, match=r"risk: got .*squared loss"):
        fit_centralised_logistic(data, Risk(loss=SQUARED))
    with pytest.raises(InvalidArgument, match="L2 regulariser"):
        fit_centralised_logistic(data, Risk(regulariser=elastic_net(0.5)))
