"""The server of ADMM over joined tables recovers raw tuples, with label and feature DP at work."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.linalg import subspace_angles

from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.claims.noise import Theorem2
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.joining import KeyedTable, join_tables
from dpaudit.algorithms.tables.loss import CrossEntropy
from dpaudit.attacks.prediction_inversion.inversion import (
    attack_known_models,
    attack_unknown_models,
    attack_with_known_tuples,
    column_space,
    invert_predictions,
    principal_angle,
    recover_all_tuples,
    relative_error,
    run_observed_client,
)
from dpaudit.datasets import load
from dpaudit.errors import InvalidArgument

WIDTHS = (5, 3)


def private(iterations, classes=2, **options):
    """Return the algorithm with both theorems' noise at epsilon = 1."""
    theorem = Theorem2(epsilon=1.0, delta=1e-5, iterations=iterations)
    solver = LocalSGD(
        steps=1,
        learning_rate=10.0,
        clip_norm=1.0,
        noise_multiplier=theorem.noise_multiplier,
    )
    loss = {} if classes == 2 else {"loss": CrossEntropy(classes)}
    return TablesADMM(iterations=iterations, solver=solver, label_epsilon=1.0, **loss, **options)


@pytest.fixture(scope="module")
def data():
    """Return 60 visits of 20 patients, joined on the patient."""
    draw = default_rng(7)
    patient = draw.integers(20, size=60)
    patient[:20] = np.arange(20)
    visits = KeyedTable("visits", draw.standard_normal((60, WIDTHS[0])), {"patient": patient})
    patients = KeyedTable(
        "patients", draw.uniform(0, 1, (20, WIDTHS[1])), {"patient": np.arange(20)}
    )
    return join_tables([visits, patients], draw.choice([-1.0, 1.0], 60))


@pytest.mark.parametrize("table", [0, 1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_known_models_give_every_tuple_after_as_many_rounds_as_columns(data, table, seed):
    report = attack_known_models(private(WIDTHS[table]), data, table, default_rng(seed))
    assert report.relative_error < 1e-6
    assert report.rank == WIDTHS[table]
    assert 1 <= report.condition < 1e6
    assert report.control > 0.3
    assert report.chance > 0.3


def test_one_round_less_does_not(data):
    report = attack_known_models(private(WIDTHS[0] - 1), data, 0, default_rng(0))
    assert report.rank == WIDTHS[0] - 1
    assert report.relative_error > 1e-3


def test_several_classes_need_fewer_rounds():
    draw = default_rng(3)
    facts = KeyedTable("facts", draw.standard_normal((30, 6)), {"key": np.arange(30)})
    data = join_tables([facts], draw.integers(3, size=30))
    report = attack_known_models(private(2, classes=3), data, 0, default_rng(0))
    assert report.rank == 6
    assert report.relative_error < 1e-6


@pytest.mark.parametrize("table", [0, 1])
def test_unknown_models_give_the_column_space(data, table):
    report = attack_unknown_models(private(WIDTHS[table]), data, table, default_rng(0))
    assert report.rank == report.true_rank == WIDTHS[table]
    assert report.angle < 1e-6
    assert report.chance > 0.5


@pytest.mark.parametrize("table", [0, 1])
def test_a_few_known_tuples_give_the_rest(data, table):
    algorithm = private(WIDTHS[table])
    report = attack_with_known_tuples(algorithm, data, table, WIDTHS[table], default_rng(0))
    assert report.relative_error < 1e-6
    assert report.control > 0.3
    few = attack_with_known_tuples(algorithm, data, table, WIDTHS[table] - 1, default_rng(0))
    assert few.rank == WIDTHS[table] - 1
    assert few.relative_error > 1e-2


def test_an_invertible_map_of_the_tuples_is_all_that_is_left_open(data):
    """T and T W with models W^-1 theta give the same predictions."""
    seen, tuples = run_observed_client(private(5), data, 0, default_rng(0)), data.features[0]
    change = default_rng(1).standard_normal((5, 5))
    other = (tuples @ change) @ (np.linalg.inv(change) @ seen.models)
    np.testing.assert_allclose(other, seen.predictions, rtol=0, atol=1e-9)


def test_equal_tuples_show_whatever_the_models(data):
    twins = data.with_tuple(0, 3, data.features[0][8])
    basis = column_space(run_observed_client(private(5), twins, 0, default_rng(0)).predictions)
    gaps = np.linalg.norm(basis - basis[3], axis=1)
    assert set(np.flatnonzero(gaps < 1e-9)) == {3, 8}


def test_noisy_predictions_would_stop_it(data):
    """The control of the other kind: noise where the theorem's proof would need it."""
    seen = run_observed_client(private(5), data, 0, default_rng(0))
    size = np.abs(seen.predictions).max()
    noise = size * default_rng(1).standard_normal(seen.predictions.shape)
    found = invert_predictions(seen.predictions + noise, seen.models)
    assert relative_error(found.tuples, data.features[0]) > 0.3


def test_without_any_noise_it_works_as_long_as_models_move(data):
    quiet = private(40).without_noise()
    quiet = replace(quiet, solver=replace(quiet.solver, clip_norm=math.inf, learning_rate=1.0))
    assert attack_known_models(quiet, data, 1, default_rng(0)).relative_error < 1e-6


def test_angles_are_those_of_scipy():
    draw = default_rng(0)
    one, other = draw.standard_normal((9, 3)), draw.standard_normal((9, 3))
    basis = np.linalg.qr(one)[0]
    assert principal_angle(basis, other) == pytest.approx(subspace_angles(one, other).max())
    assert principal_angle(basis, 1e-9 * one) < 1e-12
    assert principal_angle(basis, 0 * one) == pytest.approx(math.pi / 2)


def test_inversion_is_least_squares():
    draw = default_rng(0)
    models, seen = draw.standard_normal((6, 4, 2)), draw.standard_normal((6, 3, 2))
    found = invert_predictions(seen, models)
    system = np.concatenate([model.T for model in models])
    right = np.concatenate([one.T for one in seen])
    np.testing.assert_allclose(found.tuples.T, np.linalg.lstsq(system, right)[0], atol=1e-12)
    assert found.condition == pytest.approx(np.linalg.cond(system))
    nothing = invert_predictions(np.zeros((2, 3, 1)), np.zeros((2, 4, 1)))
    assert (nothing.rank, nothing.condition) == (0, math.inf)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda data: run_observed_client(private(2), data, 2, default_rng(0)), "table: got 2"),
        (
            lambda data: invert_predictions(np.zeros((2, 3, 1)), np.zeros((3, 4, 1))),
            "models: got shapes",
        ),
        (
            lambda data: invert_predictions(np.full((2, 3, 1), np.nan), np.zeros((2, 4, 1))),
            "predictions",
        ),
        (lambda data: recover_all_tuples(np.ones((2, 3, 1)), [3], [[1.0]]), "rows"),
        (lambda data: recover_all_tuples(np.ones((2, 3, 1)), [0, 1], [[1.0]]), "rows"),
        (
            lambda data: attack_with_known_tuples(private(2), data, 1, 20, default_rng(0)),
            "known: got 20",
        ),
    ],
)
def test_bad_input_is_named(data, call, named):
    with pytest.raises(InvalidArgument, match=f"^{named}"):
        call(data)


@pytest.fixture(scope="module")
def census():
    """Return Adult as two owners' tables: 104 columns, cut in the middle, one tuple a person."""
    path = os.environ.get("DPAUDIT_DATA")
    if path is None:
        pytest.skip("DPAUDIT_DATA is not set: the Adult files are not at hand")
    adult = load("adult", path=path)
    rows, key = adult.features[:2000], {"person": np.arange(2000)}
    halves = [
        KeyedTable("work", rows[:, :40], key),
        KeyedTable("life", rows[:, 40:], key),
    ]
    return join_tables(halves, adult.labels[:2000])


@pytest.mark.slow
def test_adult_is_recovered(census):
    report = attack_known_models(private(40), census, 0, default_rng(0))
    assert report.rank == 40
    assert report.relative_error < 1e-6
    assert report.control > 0.5
    assert report.chance > 0.1
    blind = attack_unknown_models(private(40), census, 0, default_rng(0))
    assert blind.angle < 1e-6
    assert blind.rank == blind.true_rank
    assert blind.chance > 1
