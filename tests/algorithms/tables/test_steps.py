"""The law of private ADMM over joined tables, and how far a tuple reaches."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import ExactSolve, LocalSGD
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.laws import LocalSteps, count_touched_tuples
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import GaussianSteps
from dpaudit.mechanisms.mechanism import Tiltable
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_LABEL, REPLACE_TUPLE, Pair

SOLVER = LocalSGD(steps=2, learning_rate=0.4, clip_norm=0.5, noise_multiplier=2.0)
MAPPINGS = (np.arange(8), np.array([0, 0, 0, 0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0, 1, 0, 1]))


def rng(seed=0):
    return np.random.default_rng(seed)


def data_of(classes=2):
    draw = rng(1)
    features = (
        draw.standard_normal((8, 2)),
        draw.standard_normal((3, 2)),
        draw.standard_normal((2, 1)),
    )
    labels = draw.choice([-1.0, 1.0], 8) if classes == 2 else draw.integers(classes, size=8)
    return JoinedTables(features, MAPPINGS, labels)


def tuple_pair(classes=2, table=1, row=0):
    data = data_of(classes)
    return Pair(data, data.with_tuple(table, row, -3 * data.features[table][row]), REPLACE_TUPLE)


def algorithm_of(classes=2, **options):
    loss = LOGISTIC if classes == 2 else CrossEntropy(classes)
    return TablesADMM(**{"iterations": 3, "loss": loss, "solver": SOLVER} | options)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_last_steps_of_iterations_are_the_model_view(classes):
    """Both draw client by client or all at once; without noise the paths are the same."""
    data, faint = data_of(classes), replace(SOLVER, noise_multiplier=1e-13)
    algorithm = algorithm_of(classes, solver=faint)
    steps = algorithm.model_steps().sample(data, 2, rng())
    assert steps.shape == (2, 6, 5, algorithm.loss.outputs)
    np.testing.assert_allclose(steps[:, 1::2], algorithm.model().sample(data, 2, rng()), atol=1e-10)


def test_both_have_the_same_law():
    data, algorithm = data_of(), algorithm_of(iterations=2)
    steps = algorithm.model_steps().sample(data, 8000, rng(2))[:, 1::2, :, 0]
    models = algorithm.model().sample(data, 8000, rng(3))[..., 0]
    for t, k in np.ndindex(2, 5):
        assert stats.ks_2samp(steps[:, t, k], models[:, t, k]).pvalue > 1e-4


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("table", [0, 1, 2])
def test_the_privacy_loss_is_the_difference_of_log_densities(classes, table):
    pair, algorithm = tuple_pair(classes, table), algorithm_of(classes)
    mechanism = algorithm.model_steps()
    outputs = mechanism.sample(pair.dataset, 4, rng())
    densities = [log_density(algorithm, data, outputs) for data in (pair.dataset, pair.neighbour)]
    loss = mechanism.privacy_loss(outputs, pair)
    np.testing.assert_allclose(loss, densities[0] - densities[1], atol=1e-9)


def log_density(algorithm, data, outputs):
    """Return the density from the server and the clients by name, without the process."""
    (models, dual), total = algorithm.start(data, len(outputs)), 0.0
    clients, server, targets = (
        algorithm.clients(data),
        algorithm.server_side(),
        algorithm.targets(data),
    )
    ends = np.cumsum(data.widths)[:-1]
    for k, output in enumerate(np.moveaxis(outputs, 1, 0)):
        if k % algorithm.solver.steps == 0:
            served = server.serve(data, data.predictions(models), dual, targets)
            dual = served.dual
        parts = np.split(output, ends, axis=1)
        for client, model, pull, part in zip(clients, models, served.pulls, parts, strict=True):
            mean = algorithm.solver.mean(client, model, pull)
            scale = algorithm.solver.noise_scale(client)
            total = total + stats.norm.logpdf(part, mean, scale).sum(axis=(1, 2))
        models = tuple(parts)
    return total


@pytest.mark.slow
def test_expectations_under_the_neighbour_and_residuals():
    pair, mechanism = tuple_pair(), algorithm_of().model_steps()
    assert isinstance(mechanism, Tiltable)
    outputs = mechanism.sample(pair.neighbour, 20_000, rng())
    ratio = np.exp(mechanism.privacy_loss(outputs, pair))
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(len(ratio))
    residuals = mechanism.uniform_residuals(outputs[:2000], pair.neighbour)
    assert stats.kstest(residuals.ravel(), "uniform").pvalue > 1e-3
    wrong = mechanism.uniform_residuals(outputs[:2000], pair.dataset)
    assert stats.kstest(wrong.ravel(), "uniform").pvalue < 1e-6


# How far a tuple reaches


def squares(algorithm, pair, trials=50):
    """Return ``||v||^2 / s^2`` by step and client, (steps, M), the largest over trials."""
    process = LocalSteps(algorithm)
    state, found = process.start(pair.dataset, trials), []
    ends = np.cumsum(pair.dataset.widths)[:-1]
    draw = rng(4)
    for _ in range(process.steps):
        step, shift = process.step(state, pair.dataset), process.shift(state, pair)
        parts = np.split(shift / step.scale, ends, axis=1)
        found.append([np.sum(part**2, axis=(1, 2)).max() for part in parts])
        noise = step.scale * draw.standard_normal(step.mean.shape)
        state = process.advance(state, step.mean + noise)
    return np.array(found)


def test_the_bound_of_the_shift_holds():
    for table in range(3):
        pair, algorithm = tuple_pair(table=table), algorithm_of()
        total = squares(algorithm, pair).sum()
        low, high = LocalSteps(algorithm).squared_shift_bounds(pair)
        assert low == 0
        assert 0 < total <= high


def test_tuples_touched():
    assert count_touched_tuples(tuple_pair(table=1, row=0)) == (5, 1, 2)
    assert count_touched_tuples(tuple_pair(table=0, row=5)) == (1, 1, 1)
    assert count_touched_tuples(tuple_pair(table=2, row=0)) == (4, 2, 1)
    data = data_of()
    flipped = Pair(data, data.with_label(7, -data.labels[7]), REPLACE_LABEL)
    assert count_touched_tuples(flipped) == (1, 1, 1)
    column = data.features[1] + np.array([0.0, 1.0])
    moved = replace(data, features=(data.features[0], column, data.features[2]))
    assert count_touched_tuples(Pair(data, moved, REPLACE_COLUMN)) == (8, 3, 2)


def test_other_clients_stay_put_in_the_first_iteration_only():
    found = squares(algorithm_of(), tuple_pair())
    assert not found[:2, [0, 2]].any()
    assert (found[2:, [0, 2]] > 0).all()


def heavy(rows):
    """Return a fact table of equal tuples and one dimension tuple that all of them use."""
    facts = np.ones((rows, 1))
    labels = np.where(np.arange(rows) % 3 == 0, -1.0, 1.0)
    data = JoinedTables((facts, [[30.0]]), (np.arange(rows), np.zeros(rows, int)), labels)
    return Pair(data, data.with_tuple(1, 0, [-30.0]), REPLACE_TUPLE)


def test_a_tuple_moves_another_client_by_as_much_as_it_is_joined():
    """Theorem 2's accounting has 0 at the client of the facts, and at most 2C at the owner."""
    most = []
    for rows in (10, 40):
        solver = LocalSGD(steps=1, learning_rate=0.5 * rows, clip_norm=0.05, noise_multiplier=1.0)
        algorithm = algorithm_of(iterations=2, solver=solver)
        found = squares(algorithm, heavy(rows), trials=200)
        assert found[:, 1].max() <= 2**2 * (1 + 1e-9)
        most.append(np.sqrt(found[1, 0]) / rows)
    assert most == pytest.approx([2, 2], rel=1e-9)  # 2C for each joined row: the bound, attained


def test_a_loss_beyond_the_accounting_of_theorem_2_occurs():
    """The models alone tell the two sides apart, far beyond what two Gaussian steps allow."""
    pair = heavy(40)
    solver = LocalSGD(steps=1, learning_rate=20.0, clip_norm=0.05, noise_multiplier=5.0)
    mechanism = algorithm_of(iterations=2, solver=solver).model_steps()
    losses = mechanism.privacy_loss(mechanism.sample(pair.dataset, 4000, rng()), pair)
    mu = np.sqrt(2) * 2 / 5.0  # two steps of sensitivity 2C, noise 5C
    beyond = np.mean(losses > mu**2 / 2 + 6 * mu)
    assert beyond > 0.05, np.quantile(losses, [0.5, 0.9, 0.99])


# Refusals


@dataclass(frozen=True)
class Refusal:
    options: dict
    message: str


@pytest.mark.parametrize(
    "case",
    [
        Refusal({"solver": ExactSolve()}, "solver: got ExactSolve"),
        Refusal({"solver": replace(SOLVER, noise_multiplier=0.0)}, "solver: got LocalSGD"),
        Refusal({"solver": replace(SOLVER, sampling_ratio=0.5)}, "sampling_ratio: got 0.5"),
        Refusal({"label_epsilon": 1.0}, "label_epsilon: got 1.0"),
    ],
    ids=lambda case: case.message,
)
def test_runs_without_a_closed_form_are_refused(case):
    with pytest.raises(InvalidArgument, match=f"^{case.message}"):
        algorithm_of(**case.options).model_steps()
    assert isinstance(algorithm_of().model_steps(), GaussianSteps)
