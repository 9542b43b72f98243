"""ADMM over joined tables: against the loop, the reduction, the centralised optimum, the views."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.clients import ExactSolve, LocalSGD
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.joining import KeyedTable, join_tables
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.datasets import breast_cancer
from dpaudit.errors import ConvergenceError, InvalidArgument, UnsupportedEvent
from dpaudit.mechanisms.mechanism import HasLaw, Mechanism, draw_checked_sample

SGD = {"steps": 2, "learning_rate": 0.2}
SOLVERS = {
    "exact": ExactSolve(),
    "full batches": LocalSGD(**SGD),
    "batches": LocalSGD(**SGD, sampling_ratio=0.5),
    "clipped": LocalSGD(**SGD, clip_norm=0.2),
    "private": LocalSGD(**SGD, sampling_ratio=0.5, clip_norm=0.3, noise_multiplier=0.7),
}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def loop():
    path = Path(__file__).with_name("loop.py")
    spec = importlib.util.spec_from_file_location("loop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def small(classes=2, tables=3, seed=0):
    """Return 9 facts, two dimension tables, and a tuple that no row of the join uses."""
    draw = rng(seed)
    keys = {"k": [0, 0, 1, 2, 2, 2, 2, 1, 0], "l": [1, 0, 1, 0, 1, 1, 1, 0, 0]}
    parts = [
        KeyedTable("facts", draw.standard_normal((9, 2)), keys),
        KeyedTable("first", draw.standard_normal((4, 3)), {"k": [2, 1, 0, 7]}),
        KeyedTable("second", draw.standard_normal((2, 1)), {"l": [0, 1]}),
    ]
    labels = draw.choice([-1.0, 1.0], 9) if classes == 2 else draw.integers(classes, size=9)
    return join_tables(parts[:tables], labels)


def many_to_many():
    draw = rng(5)
    left = KeyedTable("left", draw.standard_normal((4, 2)), {"k": [0, 1, 0, 1]})
    right = KeyedTable("right", draw.standard_normal((5, 2)), {"k": [0, 1, 0, 1, 0]})
    return join_tables([left, right], [1, -1, -1, 1], many_to_many=True)


def loss_of(classes):
    return LOGISTIC if classes == 2 else CrossEntropy(classes)


def cancer(classes=2):
    """Return the breast-cancer records as visits, 40 hospitals and 12 doctors."""
    records, draw = breast_cancer(), rng()
    X, names = records.features, []
    for count in (40, 12):
        names.append(np.concatenate([np.arange(count), draw.integers(count, size=569 - count)]))
    tables = [
        KeyedTable("visits", X[:, :10], {"hospital": names[0], "doctor": names[1]}),
        KeyedTable("hospitals", X[:40, 10:20], {"hospital": np.arange(40)}),
        KeyedTable("doctors", X[:12, 20:], {"doctor": np.arange(12)}),
    ]
    thirds = np.digitize(X[:, 3], np.quantile(X[:, 3], [1 / 3, 2 / 3]))
    return join_tables(tables, records.labels if classes == 2 else thirds)


# Against the loop, and the reduction


@pytest.mark.sampled(1)
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("epsilon", [None, 1.5])
def test_batched_and_loop_agree(solver, classes, epsilon, loop):
    data = small(classes)
    algorithm = TablesADMM(
        iterations=2, loss=loss_of(classes), solver=solver, penalty=0.8, label_epsilon=epsilon
    )
    batched = algorithm.model().sample(data, 2, rng())
    models, z, lam = loop.run(algorithm, data, 2, rng())
    np.testing.assert_allclose(batched, models, rtol=0, atol=1e-10)
    *_, last = algorithm.run(data, 2, rng())
    np.testing.assert_allclose(last.served.auxiliary, z, rtol=0, atol=1e-10)
    np.testing.assert_allclose(last.served.dual, lam, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_they_agree_on_a_many_to_many_join(loop):
    data = many_to_many()
    algorithm = TablesADMM(iterations=3, solver=SOLVERS["private"], label_epsilon=2.0)
    batched = algorithm.model().sample(data, 3, rng())
    np.testing.assert_allclose(batched, loop.run(algorithm, data, 3, rng())[0], rtol=0, atol=1e-10)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "change",
    [
        {"penalty": 0.81},
        {"regulariser_weight": 0.01},
        {"label_epsilon": 1.51},
        {"solver": replace(SOLVERS["private"], clip_norm=0.31)},
        {"solver": replace(SOLVERS["private"], sampling_ratio=0.4)},
    ],
    ids=str,
)
def test_the_loop_tells_parameters_apart(change, loop):
    options = {"solver": SOLVERS["private"], "penalty": 0.8, "label_epsilon": 1.5}
    batched = TablesADMM(iterations=2, **options).model().sample(small(), 2, rng())
    looped = loop.run(TablesADMM(iterations=2, **options | change), small(), 2, rng())[0]
    assert np.abs(batched - looped).max() > 1e-6


@pytest.mark.parametrize("solver", ["exact", "full batches"])
@pytest.mark.parametrize("make", [small, lambda: small(3), many_to_many], ids=["2", "3", "m:m"])
def test_reduced_and_unreduced_updates_agree(solver, make):
    data = make()
    loss = loss_of(3 if 2 in data.labels else 2)
    algorithm = TablesADMM(iterations=5, loss=loss, solver=SOLVERS[solver])
    views = (algorithm.model(), replace(algorithm, reduced=False).model())
    one, other = (view.sample(data, 2, rng()) for view in views)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def nearly_collinear(near):
    """Two tables, one with two columns that differ by about ``near``."""
    draw = np.random.default_rng(0)
    facts, tuples = draw.standard_normal((40, 2)), draw.standard_normal((8, 2))
    twin = tuples[:, :1] + near * draw.standard_normal((8, 1))
    labels = np.where(draw.random(40) < 0.5, 1.0, -1.0)
    mappings = np.arange(40), draw.integers(8, size=40)
    return JoinedTables((facts, np.hstack([tuples, twin])), mappings, labels)


@pytest.mark.parametrize("near", [1.0, 1e-1, 1e-2, 1e-3])
def test_reduced_and_unreduced_updates_differ_by_rounding_times_the_condition(near):
    """What the docstring of ``reduced`` says: 1e-12 holds where the solve is well-conditioned."""
    data = nearly_collinear(near)
    algorithm = TablesADMM(iterations=5, regulariser_weight=1e-12, penalty=2.0)
    views = (algorithm.model(), replace(algorithm, reduced=False).model())
    one, other = (view.sample(data, 1, rng()) for view in views)
    difference = np.abs(one - other).max() / np.abs(one).max()
    parts = enumerate(data.features)
    matrices = [2.0 / data.rows * (data.counts(i)[:, None] * part).T @ part for i, part in parts]
    condition = max(np.linalg.cond(each + 1e-12 * np.eye(len(each))) for each in matrices)
    assert difference < 20 * np.finfo(float).eps * condition
    assert (difference < 1e-12) == (condition < 1e3)


def test_a_client_receives_as_much_as_it_has_tuples():
    data, shapes = small(), []
    for reduced in (True, False):
        (state,) = TablesADMM(iterations=1, reduced=reduced).run(data, 2, rng())
        shapes.append([pull.shape[1] for pull in state.served.pulls])
    assert shapes == [[9, 4, 2], [9, 9, 9]]


def test_the_dual_variable_is_the_gradient_of_the_loss():
    for classes in (2, 3):
        data, loss = small(classes), loss_of(classes)
        for state in TablesADMM(iterations=4, loss=loss, penalty=0.7).run(data, 2, rng()):
            targets = loss.targets(loss.encode(data.labels))[data.label_rows]
            gradient = loss.probabilities(state.served.auxiliary) - targets
            np.testing.assert_allclose(state.served.dual, gradient, atol=1e-12)


# Convergence


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_the_centralised_optimum_is_reached(classes):
    data, beta = cancer(classes), 0.01
    X = np.hstack([data.joined(i) for i in range(3)])
    fitted = LogisticRegression(
        C=1 / (len(X) * beta), fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cg"
    ).fit(X, data.labels[data.label_rows])
    best = tuple(np.split(fitted.coef_.T[None], [10, 20], axis=1))
    algorithm = TablesADMM(iterations=300, loss=loss_of(classes), regulariser_weight=beta)
    *_, last = algorithm.run(data, 1, rng())
    gap = (algorithm.objective(last.models, data) - algorithm.objective(best, data)).item()
    assert -1e-12 < gap < 1e-7
    for ours, theirs in zip(last.models, best, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=5e-3)


def test_the_objective_is_that_of_the_joined_matrix():
    data, models = small(), tuple(rng().standard_normal((1, d, 1)) for d in (2, 3, 1))
    margins = np.hstack([data.joined(i) for i in range(3)]) @ np.concatenate(models, axis=1)[0]
    loss = np.log1p(np.exp(-data.labels * margins[:, 0])).mean()
    size = sum(float(np.sum(model**2)) for model in models)
    ours = TablesADMM(iterations=1, regulariser_weight=0.3).objective(models, data)
    assert ours.item() == pytest.approx(loss + 0.15 * size, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("tables", [2, *(pytest.param(t, marks=pytest.mark.slow) for t in (3, 5))])
@pytest.mark.parametrize(("share", "settles"), [(0.93, False), (1.07, True)])
def test_equal_tables_settle_above_the_stated_penalty_only(tables, share, settles):
    """The optimum is p = 3/5 for everybody, where the loss has curvature 6/25."""
    data = JoinedTables((np.ones((5, 1)),) * tables, (np.arange(5),) * tables, [1, 1, 1, -1, -1])
    penalty = share * 0.24 * (3 * tables - 4) / 2
    algorithm = TablesADMM(iterations=1500, penalty=penalty, regulariser_weight=1e-9)
    *_, before, last = algorithm.run(data, 1, rng())
    moved = np.abs(np.subtract(last.models, before.models)).max()
    assert (moved < 1e-6) == settles
    if settles:
        assert np.sum(last.models) == pytest.approx(math.log(3 / 2), abs=1e-5)
    else:
        assert moved > 1e-2


@pytest.mark.slow
def test_sgd_approaches_the_exact_solve():
    data = small()
    exact = TablesADMM(iterations=3, regulariser_weight=0.1).model().sample(data, 1, rng())
    errors = []
    for steps in (10, 100, 1000):
        solver = LocalSGD(steps=steps, learning_rate=0.3)
        algorithm = TablesADMM(iterations=3, regulariser_weight=0.1, solver=solver)
        errors.append(np.abs(algorithm.model().sample(data, 1, rng()) - exact).max())
    assert errors[0] > 1e-3
    assert errors[2] < 1e-10
    noisy = LocalSGD(steps=3000, learning_rate=0.003, sampling_ratio=0.5)
    algorithm = TablesADMM(iterations=3, regulariser_weight=0.1, solver=noisy)
    assert np.abs(algorithm.model().sample(data, 20, rng()).mean(axis=0) - exact).max() < 0.05


# Privacy off


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_without_noise_and_clipping_is_the_plain_path(ratio):
    plain = LocalSGD(**SGD, sampling_ratio=ratio)
    private = replace(plain, clip_norm=1e9, noise_multiplier=0.5)
    quiet = TablesADMM(iterations=4, solver=private, label_epsilon=1.0).without_noise()
    paths = [
        algorithm.model().sample(small(), 3, rng())
        for algorithm in (quiet, TablesADMM(iterations=4, solver=plain))
    ]
    np.testing.assert_array_equal(*paths)


def test_noise_fades_into_the_plain_path():
    plain = TablesADMM(iterations=4, solver=LocalSGD(**SGD))
    faint = replace(plain.solver, clip_norm=1e3, noise_multiplier=1e-12)
    almost = replace(plain, solver=faint, label_epsilon=1e9)
    one, other = (a.model().sample(small(), 3, rng()) for a in (plain, almost))
    np.testing.assert_allclose(one, other, atol=1e-7)


# Views


@pytest.mark.parametrize("classes", [2, 3])
def test_the_server_sees_every_prediction_of_every_released_model(classes):
    data, solver = small(classes), SOLVERS["private"]
    algorithm = TablesADMM(iterations=4, loss=loss_of(classes), solver=solver)
    models = draw_checked_sample(algorithm.model(), data, 3, rng())
    seen = draw_checked_sample(algorithm.server(), data, 3, rng())
    outputs = algorithm.loss.outputs
    assert models.shape == (3, 4, 6, outputs)
    assert seen.shape == (3, 4, 15, outputs)
    row = 0
    for table, start in enumerate((0, 2, 5)):
        for values in data.features[table]:
            theta = models[:, :, start : start + len(values)]
            expected = np.einsum("d,rtdc->rtc", values, theta)
            np.testing.assert_allclose(seen[:, :, row], expected, rtol=0, atol=1e-14)
            row += 1


def test_the_server_recovers_a_tuple_from_as_many_models():
    """What `ServerView` says about features: a linear system gives the raw tuple."""
    solver = LocalSGD(steps=1, learning_rate=0.5, clip_norm=1.0, noise_multiplier=2.0)
    algorithm, data = TablesADMM(iterations=3, solver=solver), small()
    theta = algorithm.model().sample(data, 1, rng())[0, :, 2:5, 0]
    seen = algorithm.server().sample(data, 1, rng())[0, :, 9:13, 0]
    np.testing.assert_allclose(np.linalg.solve(theta, seen).T, data.features[1], atol=1e-9)


@pytest.mark.parametrize("view", ["model", "server"])
def test_one_seed_one_result_and_no_law(view):
    algorithm = TablesADMM(iterations=2, solver=SOLVERS["private"], label_epsilon=1.0)
    mechanism = getattr(algorithm, view)()
    assert isinstance(mechanism, Mechanism)
    assert not isinstance(mechanism, HasLaw)
    one, again, other = (mechanism.sample(small(), 3, rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).min() > 0
    assert np.abs(one[0] - one[1]).min() > 0


# Events and refusals


def test_the_client_event():
    solver = LocalSGD(steps=5, learning_rate=0.1, clip_norm=2.0, noise_multiplier=3.0)
    solver = replace(solver, sampling_ratio=0.25)
    event = TablesADMM(iterations=4, solver=solver).client_event()
    assert event == PoissonSubsampledGaussian(sampling_ratio=0.25, noise_multiplier=3.0, count=20)
    with pytest.raises(UnsupportedEvent, match="got PoissonSubsampledGaussian"):
        gaussian_guarantee(event)
    for silent in (ExactSolve(), LocalSGD(**SGD)):
        with pytest.raises(UnsupportedEvent, match="without noise"):
            TablesADMM(iterations=4, solver=silent).client_event()


@pytest.mark.parametrize(
    ("field", "value"),
    [("sampling_ratio", 0.0), ("sampling_ratio", 1.5), ("noise_multiplier", 0.0), ("count", -1)],
)
def test_bad_events_are_refused_by_name(field, value):
    PoissonSubsampledGaussian(sampling_ratio=1.0, noise_multiplier=1.0, count=0)
    with pytest.raises(InvalidArgument, match=f"^{field}: got"):
        PoissonSubsampledGaussian(
            **{"sampling_ratio": 0.5, "noise_multiplier": 1.0, "count": 1, field: value}
        )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iterations", 0),
        ("penalty", 0.0),
        ("regulariser_weight", 0.0),
        ("label_epsilon", 0.0),
        ("label_epsilon", math.nan),
    ],
)
def test_bad_parameters_are_refused_by_name(field, value):
    with pytest.raises(InvalidArgument, match=f"^{field}: got"):
        TablesADMM(**{"iterations": 1, field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("learning_rate", 0.0),
        ("sampling_ratio", 0.0),
        ("sampling_ratio", 1.1),
        ("clip_norm", 0.0),
        ("clip_norm", math.nan),
        ("noise_multiplier", -1.0),
    ],
)
def test_bad_solvers_are_refused_by_name(field, value):
    with pytest.raises(InvalidArgument, match=f"^{field}: got"):
        LocalSGD(**SGD | {field: value})


def test_noise_needs_a_clip_norm_and_tuples():
    with pytest.raises(InvalidArgument, match="clip_norm: got inf"):
        LocalSGD(**SGD, noise_multiplier=1.0)
    with pytest.raises(InvalidArgument, match="reduced: got False"):
        TablesADMM(iterations=1, solver=SOLVERS["private"], reduced=False)
    with pytest.raises(InvalidArgument, match="reduced: got False"):
        TablesADMM(iterations=1, solver=SOLVERS["clipped"], reduced=False)


def test_bad_data_are_refused_by_name():
    algorithm = TablesADMM(iterations=1)
    with pytest.raises(InvalidArgument, match="dataset: got ndarray, expected JoinedTables"):
        algorithm.model().sample(np.zeros((2, 2)), 1, rng())
    with pytest.raises(
        InvalidArgument, match=r"labels\[0\]: got a number #\w+, expected -1 or \+1"
    ):
        algorithm.model().sample(small(3), 1, rng())
    with pytest.raises(InvalidArgument, match="trials: got 0"):
        algorithm.model().sample(small(), 0, rng())


def test_a_diverging_run_raises():
    solver = LocalSGD(steps=20, learning_rate=1e6)
    with pytest.raises(
        ConvergenceError, match=r"theta-update: got a model beyond 1e\+100 in trial 0"
    ):
        TablesADMM(iterations=50, solver=solver).model().sample(small(), 1, rng())
