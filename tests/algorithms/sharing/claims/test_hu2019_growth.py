"""Iterations of hu2019 may grow from three parties on, and with them V^t and the Lagrangian."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.algorithms.sharing.claims.hu2019 import convergence, equation42
from dpaudit.algorithms.sharing.claims.hu2019.growth import (
    find_excited_modes,
    linear_map,
    stationarity,
)
from dpaudit.algorithms.sharing.claims.hu2019.horizon import (
    LAGRANGIAN,
    RESIDUAL,
    STEP,
    compute_horizon_constant,
    last_lagrangian,
    last_step,
    least_residual,
    make_horizon_inequality,
)
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationInstance,
    IterationSetting,
    Problems,
    run_sharing_iterations,
    starting_point,
)
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import compute_batched_lagrangian
from dpaudit.algorithms.sharing.claims.hu2019.lemma5 import CLAIM
from dpaudit.algorithms.sharing.statements.hu2019.checks import exact_runs
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import equal_columns
from dpaudit.algorithms.sharing.statements.hu2019.checks.rate import (
    first_constant,
    second_constant,
)
from dpaudit.algorithms.sharing.verify.hu2019 import convergence as settling
from dpaudit.algorithms.sharing.verify.hu2019 import equation42 as rate
from dpaudit.algorithms.sharing.verify.hu2019.lemma5 import recompute
from dpaudit.errors import DataError, InvalidArgument

PUBLISHED = {name: one.settings["parameters"] for name, one in CLAIM.published.items()}


def drawn(rng, count=2, **setting):
    """Random problems and states, of blocks of any conditioning."""
    one = IterationSetting(**{"parties": 3, "penalty": 10.0, "loss_weight": 4.0} | setting)
    shape = (count, one.parties, one.samples, one.features)
    problems = Problems(
        setting=one,
        designs=rng.standard_normal(shape),
        labels=rng.choice([-1.0, 1.0], size=(count, one.samples)),
    )
    row = (count, one.samples)
    state = (rng.standard_normal(s) for s in ((count, one.parties, one.features), row, row))
    return problems, starting_point(problems, *state)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["default", "6 parties"])
def test_the_search_breaks_it_and_the_certificate_is_verified(audited, plain, judged, seed, name):
    found = audited(CLAIM, seed=seed, parameters=PUBLISHED.get(name, {}))
    assert found.result.verdict == "refuted"
    assert found.result.measured.lower > 1.4
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(found.result.measured.lower, rel=1e-6)


@pytest.mark.parametrize(
    ("card", "verifier"),
    [(convergence.CLAIM, settling.recompute), (equation42.CLAIM, rate.recompute)],
    ids=["convergence", "equation42"],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_rests_on_it_falls_too(audited, plain, judged, card, verifier, seed):
    found = audited(card, seed=seed)
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), verifier)
    assert verdict.failures == ()
    assert verdict.ratio == pytest.approx(found.result.measured.lower, rel=1e-6)
    assert verdict.ratio > 1.8
    assert audited(card, seed=seed, parameters={"parties": 2}).result.verdict in (
        "not refuted",
        "proved",
    )


@pytest.mark.parametrize(
    "parameters",
    [
        PUBLISHED["2 parties"],
        {"parties": 1},
        {"parties": 2, "penalty": 2.0, "loss_weight": 1.9},
        {"parties": 2, "start": "any", "features": 2},
        {"factor": 1e21},
    ],
    ids=str,
)
def test_what_does_not_grow_is_not_refuted(audited, parameters):
    found = audited(CLAIM, parameters=parameters)
    assert found.result.verdict == "not refuted"
    assert found.certificate is None


def test_what_grows_a_little_more_than_is_allowed_is_refuted(audited):
    assert audited(CLAIM, parameters={"factor": 1e20}).result.verdict == "refuted"


@given(st.integers(1, 4), st.integers(1, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_linear_map_takes_steps_of_the_iterations_to_steps(parties, features, seed):
    problems, start = drawn(default_rng(seed), parties=parties, features=features)
    points = run_sharing_iterations(problems, start, 3)
    steps = [
        np.concatenate([(b.models - a.models).reshape(2, -1), b.prediction - a.prediction], axis=1)
        for a, b in pairwise(points[1:])
    ]
    taken = np.einsum("bij,bj->bi", linear_map(problems), steps[0])
    assert taken == pytest.approx(steps[1], rel=1e-7, abs=1e-7 * np.abs(steps).max())


@given(st.sampled_from(["squared", "logistic", "smoothed-hinge", "sigmoid"]), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_the_lagrangian_has_the_lower_bound_of_equation_20(loss, seed):
    problems, start = drawn(default_rng(seed), loss=loss)
    setting = problems.setting
    for point in run_sharing_iterations(problems, start, 4)[1:]:
        value, size = compute_batched_lagrangian(problems, point)
        reached = setting.sample_loss.value(point.parts.sum(axis=1), problems.labels).sum(axis=1)
        objective = setting.loss_weight * reached
        objective += setting.regulariser_weight / 2 * (point.models**2).sum(axis=(1, 2))
        apart = (setting.penalty - setting.smoothness) / 2 * (point.gap**2).sum(axis=1)
        assert (value >= objective + apart - 1e-9 * size).all()


def test_three_equal_columns_in_closed_form():
    """With one sample and no regulariser (S, z) obeys a map of two entries."""
    setting = IterationSetting(
        parties=3, features=1, samples=1, regulariser_weight=0.0, loss_weight=9.0, penalty=10.0
    )
    problems = Problems(setting=setting, designs=np.ones((1, 3, 1, 1)), labels=np.ones((1, 1)))
    zero = starting_point(problems, *(np.zeros(s) for s in ((1, 3, 1), (1, 1), (1, 1))))
    points = run_sharing_iterations(problems, zero, 60)
    eps = 0.9
    two = np.array([[-2.0, 3 * (1 - eps)], [-2 / (1 + eps), (eps + 3 * (1 - eps)) / (1 + eps)]])
    mode = np.linalg.eigvals(two).min()
    assert find_excited_modes(problems, *points[1:3])[0] == pytest.approx(mode, rel=1e-9)
    values = [float(compute_batched_lagrangian(problems, point)[0][0]) for point in points[-2:]]
    assert values[1] / values[0] == pytest.approx(mode**2, rel=1e-6)


def test_steps_are_bounded_by_the_stationarity_measure():
    """The constant K of the docstring, from the largest inverse that each subproblem has."""
    problems, start = drawn(default_rng(0), count=50, parties=4, features=2)
    rho, c = problems.setting.penalty, problems.setting.loss_weight
    inverse = (1 / problems.moduli).max(axis=1)
    norms = np.sqrt(problems.largest).sum(axis=1)
    for before, after in pairwise(run_sharing_iterations(problems, start, 5)[1:]):
        models = ((after.models - before.models) ** 2).sum(axis=(1, 2))
        centre = ((after.prediction - before.prediction) ** 2).sum(axis=1)
        root = np.sqrt(stationarity(problems, before))
        assert (np.sqrt(models) <= inverse * root * (1 + 1e-6) + 1e-9).all()
        bound = root * (1 + rho * norms * inverse) / (c + rho)
        assert (np.sqrt(centre) <= bound * (1 + 1e-6) + 1e-9).all()


def test_a_start_at_rest_has_no_growth():
    """At the minimiser nothing moves, whatever the eigenvalues are."""
    setting = IterationSetting(
        parties=3, features=1, samples=1, regulariser_weight=0.0, loss_weight=9.0, penalty=10.0
    )
    problems = Problems(setting=setting, designs=np.ones((1, 3, 1, 1)), labels=np.ones((1, 1)))
    third = np.full((1, 3, 1), 1 / 3)
    start = starting_point(problems, third, np.ones((1, 1)), np.zeros((1, 1)))
    _, first, second = run_sharing_iterations(problems, start, 2)
    assert np.abs(np.linalg.eigvals(linear_map(problems)[0])).max() > 1.8
    assert np.abs(second.prediction - first.prediction).max() < 1e-12


# The certificate


@pytest.fixture(scope="module")
def genuine(audited, plain):
    return plain(audited(CLAIM, trials=400).certificate)


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        ("logistic", ("parameters", "loss"), "parameters.loss"),
        (0.0, ("parameters", "eigenvalue"), "parameters.eigenvalue"),
        (-2.5, ("parameters", "eigenvalue"), "no eigenvalue|an eigenvalue"),
        (0, ("parameters", "factor"), "parameters.factor"),
        (70, ("parameters", "parties"), "parameters.parties"),
        (60, ("parameters", "iteration"), "parameters.iteration"),
        (1, ("parameters", "last"), "parameters.last"),
        (401, ("parameters", "last"), "parameters.last"),
        ([1.0], ("instance", "labels"), "instance.labels"),
    ],
)
def test_a_malformed_certificate_names_the_field(genuine, judged, changed, value, path, named):
    with pytest.raises(DataError, match=named):
        judged(changed(genuine, value, *path), recompute)


def test_an_eigenvalue_that_the_step_does_not_have_is_refused(genuine, judged, changed):
    """Three equal columns from the minimiser: nothing moves, and nothing grows."""
    ones = changed(genuine, [[[1.0]]] * 3, "instance", "designs")
    ones = changed(ones, 1, "parameters", "samples")
    ones = changed(ones, 0.0, "parameters", "regulariser_weight")
    for name, value in {"labels": [1.0], "prediction": [1.0], "dual": [0.0]}.items():
        ones = changed(ones, value, "instance", name)
    ones = changed(ones, [[1.0], [0.5], [-0.5]], "instance", "models")
    eps = 0.9
    two = np.array([[-2.0, 3 * (1 - eps)], [-2 / (1 + eps), (eps + 3 * (1 - eps)) / (1 + eps)]])
    ones = changed(ones, float(np.linalg.eigvals(two).min()), "parameters", "eigenvalue")
    with pytest.raises(DataError, match="steps do not grow"):
        judged(ones, recompute)


def test_another_problem_is_seen(genuine, judged, changed):
    document = changed(genuine, 8.9, "parameters", "loss_weight")
    with pytest.raises(DataError, match="eigenvalue"):
        judged(document, recompute)


def test_bad_input_is_named(audited):
    with pytest.raises(InvalidArgument, match=r"^penalty: "):
        audited(CLAIM, parameters={"penalty": 5.0})
    with pytest.raises(InvalidArgument, match=r"^data: "):
        audited(CLAIM, data="breast-cancer")


# The numbers of a run


def run_of_equal_columns(last, parties=3):
    setting = IterationSetting(
        parties=parties,
        features=1,
        samples=1,
        regulariser_weight=0.0,
        loss_weight=9.0,
        penalty=10.0,
    )
    problems = Problems(
        setting=setting, designs=np.ones((1, parties, 1, 1)), labels=np.ones((1, 1))
    )
    zero = starting_point(problems, *(np.zeros(s) for s in ((1, parties, 1), (1, 1), (1, 1))))
    return problems, run_sharing_iterations(problems, zero, last)[1:]


def test_the_numbers_of_a_run_by_hand():
    """Three equal columns: the exact runs of the ledger have the same numbers."""
    problems, points = run_of_equal_columns(12)
    exact = equal_columns(3, 10, 9)
    states = exact_runs.run(exact, 12)[1:]
    values = [exact_runs.compute_exact_lagrangian(exact, state) for state in states]
    assert last_lagrangian(problems, points) == pytest.approx(float(values[-1] / values[0]))
    (_, first, _), (_, last, _) = (
        exact_runs.compute_squared_steps(*pair) for pair in (states[:2], states[-2:])
    )
    assert last_step(problems, points) == pytest.approx(float(last / first) ** 0.5)
    c = first_constant(exact) / second_constant(exact)
    assert compute_horizon_constant(problems) == pytest.approx(float(c))
    least = min(exact_runs.compute_exact_residual(exact, state) for state in states)
    assert least_residual(problems, points) == pytest.approx(float(12 * least / (c * values[0])))


@given(st.integers(1, 4), st.integers(1, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_equation_38_holds_with_the_constant(parties, features, seed):
    """C_1 bounds V^t by squared steps, and a tenth of it need not."""
    problems, start = drawn(default_rng(seed), count=1, parties=parties, features=features)
    setting, rho = problems.setting, problems.setting.penalty
    second = min(problems.moduli[0].sum() / 2, setting.modulus / 2 - setting.smoothness**2 / rho)
    first = compute_horizon_constant(problems) * second
    for before, after in pairwise(run_sharing_iterations(problems, start, 5)[1:]):
        models = ((after.models - before.models) ** 2).sum()
        squares = models + ((after.prediction - before.prediction) ** 2).sum()
        assert stationarity(problems, before)[0] <= first * squares * (1 + 1e-6) + 1e-9


def test_a_finite_run_that_does_not_grow_for_ever_refutes_nothing():
    """Two parties from afar: a number above what is allowed, and no growth."""
    problems, points = run_of_equal_columns(3, parties=2)
    assert last_step(problems, points) > 0.5
    instance = IterationInstance(
        setting=problems.setting,
        designs=problems.designs[0],
        labels=problems.labels[0],
        models=np.zeros((2, 1)),
        prediction=np.zeros(1),
        dual=np.zeros(1),
        iteration=2,
    )
    for horizon in (LAGRANGIAN, STEP, RESIDUAL):
        claim = make_horizon_inequality(CLAIM, horizon, 3, 1e-6, "")
        assert horizon.value(problems, points) > 1e-6
        assert not claim.is_refuted_by(instance)


def test_what_the_verifier_adds_up_is_what_the_search_does(audited, plain, judged):
    """V^t is least at t = 1, so that twice as long a run has twice the number."""
    asked = {"last": 80, "factor": 0.1}
    certificate = plain(audited(equation42.CLAIM, trials=400, parameters=asked).certificate)
    document = {**certificate, "parameters": {**certificate["parameters"], "last": 40}}
    short = judged(document, rate.recompute).ratio
    assert short == pytest.approx(judged(certificate, rate.recompute).ratio / 2, rel=1e-6)
