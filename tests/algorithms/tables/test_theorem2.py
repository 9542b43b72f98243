"""Theorem 2 on joined tables: what the server sees, what models say, alone and across clients."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

import dpaudit.algorithms.tables.claims.predictions as predictions
from dpaudit.accounting import strongest_guarantee
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.algorithms.tables.claims.models import (
    certify_clipped_clients,
    find_clipping_reach,
    learning_rate,
    least_gradient,
    make_model_view_proof,
    pair_of,
)
from dpaudit.algorithms.tables.claims.noise import Theorem2
from dpaudit.algorithms.tables.claims.predictions import (
    build_prediction_space,
    compute_outside_sines,
    make_column_space_inequality,
    measure_server_view_sines,
    most_distant,
)
from dpaudit.algorithms.tables.claims.theorem2 import FeatureParameters
from dpaudit.algorithms.tables.guarantees import theorem2_epsilon
from dpaudit.algorithms.tables.laws import BatchSteps
from dpaudit.auditing import audit_claim, run_claim
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP

CLAIM = "tables-theorem2"


def theorem_of(epsilon=1.0, delta=1e-5, **given):
    return FeatureParameters(**given).theorem(Settings(epsilon=epsilon, delta=delta))


def certificate_of(theorem, joined):
    rate = learning_rate(theorem, joined)
    return certify_clipped_clients(CLAIMS.get(CLAIM), theorem, joined, rate, seed=0)


@pytest.mark.parametrize("given", [{}, {"iterations": 7, "penalty": 0.3, "factor": 2.0}])
def test_the_theorem_is_at_the_parameters_of_the_claim(given):
    assert theorem_of(**given) == Theorem2(epsilon=1.0, delta=1e-5, **given)


def test_the_noise_is_the_theorems():
    theorem = theorem_of(epsilon=0.7, iterations=30, sampling_ratio=0.5)
    epsilon = theorem2_epsilon(
        noise_multiplier=theorem.noise_multiplier,
        steps=30,
        sampling_ratio=0.5,
        delta=theorem.delta,
        first_constant=1.0,
        second_constant=4.0,
    )
    assert epsilon == pytest.approx(0.7, rel=1e-9)


def test_the_published_variants():
    steps = {"model, 200 steps", "model, 200 steps, a tuple removed"}
    steps |= {"model, 400 steps, a tuple removed"}
    assert set(CLAIMS.get(CLAIM).published) == {"model", "model across clients"} | steps


@pytest.mark.parametrize(
    ("steps", "removed"),
    [
        (20, True),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((200, True), (200, False), (400, True))
        ),
    ],
)
def test_many_steps_break_it_even_where_tuples_are_removed(steps, removed):
    own = {"view": "model", "iterations": steps, "removed": removed}
    asked = Settings(epsilon=float(steps), trials=100, parameters=own)
    found = run_claim(CLAIM, asked, Executor()).result
    sigma = 4 * math.sqrt(steps * math.log(1e5)) / steps
    mu = (1 if removed else 2) * math.sqrt(steps) / sigma
    assert found.proved.epsilon == pytest.approx(GaussianDP(mu).epsilon(1e-5), rel=1e-6)
    assert (found.verdict == "refuted") == (found.proved.epsilon > steps)
    assert (found.verdict == "refuted") == (steps == 400 or not removed)


@pytest.mark.parametrize(("first", "second"), [(1.0, 4.0), (0.1, 1.0), (3.0, 20.0)])
def test_with_whole_batches_every_constant_fails_in_the_end(first, second):
    least = 2 * second**2 * math.log(1e5) / first
    for steps in (math.ceil(1.01 * least), 10 * math.ceil(least)):
        epsilon = first * steps
        mu = math.sqrt(steps) / (second * math.sqrt(steps * math.log(1e5)) / epsilon)
        assert GaussianDP(mu).delta(epsilon) > 0.4


def test_a_removed_tuple_is_of_one_client_and_of_whole_batches():
    for wrong in ({"joined": 4}, {"sampling_ratio": 0.5}):
        own = {"view": "model", "removed": True} | wrong
        with pytest.raises(InvalidArgument, match="removed: got True"):
            run_claim(CLAIM, Settings(epsilon=0.1, parameters=own), Executor())


# The server


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
@pytest.mark.parametrize(("tuples", "features"), [(2, 1), (4, 2), (9, 5), (6, 5)])
def test_the_servers_view_has_no_epsilon(tuples, features, seed):
    asked = Settings(
        trials=600, seed=seed, parameters={"tuples": tuples, "features": features, "factor": 50.0}
    )
    audited = run_claim(CLAIM, asked, Executor())
    assert audited.result.verdict == "refuted"
    assert audited.result.measured.lower == math.inf
    assert audited.result.claimed.epsilon == 50.0
    assert audited.certificate.kind == "support"
    assert audited.certificate.quantities["distance"] > 0.5
    assert {a.name for a in audited.result.assumptions} == set(CLAIMS.get(CLAIM).assumptions)
    assert "Smallest instance" in " ".join(audited.result.notes)


def test_a_run_shows_it():
    theorem = theorem_of()
    found = most_distant(build_prediction_space(tuples=6, features=3), 500, default_rng(0))
    assert make_column_space_inequality(CLAIMS.get(CLAIM), theorem).is_refuted_by(found)
    here, there = measure_server_view_sines(theorem, 1.0, 0, found)
    assert here < 1e-12
    assert there > 1e-3


def test_the_share_outside_is_that_of_least_squares():
    rng = default_rng(1)
    table, vectors = rng.standard_normal((5, 7, 3)), rng.standard_normal((5, 7))
    table[4, :, 2] = table[4, :, 0] - 2 * table[4, :, 1]  # of rank 2
    for one, vector, share in zip(
        table, vectors, compute_outside_sines(vectors, table), strict=True
    ):
        left = vector - one @ np.linalg.lstsq(one, vector)[0]
        assert share == pytest.approx(np.linalg.norm(left) / np.linalg.norm(vector), rel=1e-9)


def test_a_table_that_the_neighbours_span_refutes_nothing():
    """All of a square table's predictions are possible on the neighbour: not asked, not shown."""
    square = default_rng(0).standard_normal((1, 3, 3))
    assert compute_outside_sines(default_rng(1).standard_normal((1, 3)), square)[0] < 1e-12
    with pytest.raises(InvalidArgument, match=r"^tuples: got 3"):
        audit_claim(CLAIM, Settings(parameters={"tuples": 3, "features": 3}))


# One client's models


@pytest.fixture(scope="module")
def alone():
    return audit_claim(CLAIM, Settings(trials=800, parameters={"view": "model"}))


@pytest.mark.slow
def test_one_clients_models_are_as_private_as_claimed_and_the_accounting_is_tight(alone):
    assert alone.verdict == "proved"
    assert all(check.passed for check in alone.self_checks)
    assert 0.95 * alone.proved.epsilon < alone.measured.lower <= alone.proved.epsilon
    assert alone.measured.upper == pytest.approx(alone.proved.epsilon, rel=0.05)


@pytest.mark.slow
def test_the_proved_number_is_the_profile_of_two_steps_of_sensitivity_2(alone):
    sigma = theorem_of().noise_multiplier
    with mpmath.mp.workdps(50):
        mu, epsilon = 2 * mpmath.sqrt(2) / mpmath.mpf(sigma), mpmath.mpf(alone.proved.epsilon)
        upper = mpmath.ncdf(mu / 2 - epsilon / mu)
        delta = upper - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
    assert float(delta) == pytest.approx(1e-5, rel=1e-9)


@pytest.mark.slow
def test_less_than_the_proved_number_is_refuted():
    settings = Settings(trials=500, parameters={"view": "model", "factor": 0.45})
    audited = run_claim(CLAIM, settings, Executor())
    assert audited.result.verdict == "refuted"
    assert audited.certificate.kind == "statistical"


FURTHER = [{"factor": 2.0}, {"second_constant": 8.0}, {"local_steps": 3}]
FURTHER += [{}, {"iterations": 5}, {"penalty": 0.3, "clip_norm": 1e-4}]
FURTHER += [{"joined": 10, "second_constant": 30.0}]
TRUE = [
    *(pytest.param(each, marks=pytest.mark.slow) for each in FURTHER),
    {"factor": 0.5198},  # what is proved, rounded up
    {"joined": 10, "factor": 4.65},  # what is proved, rounded up
    {"joined": 10, "iterations": 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", TRUE, ids=str)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_true_variants_are_not_refuted(parameters, seed):
    settings = Settings(trials=300, seed=seed, parameters={"view": "model", **parameters})
    result = audit_claim(CLAIM, settings)
    assert result.proved.epsilon <= result.claimed.epsilon
    assert result.verdict == "proved"
    # Across clients nothing that is released in the first round depends on the features.
    assert (result.measured.lower > 0) == (parameters != {"joined": 10, "iterations": 1})


# On batches


def batches(**given):
    theorem = theorem_of(
        epsilon=5.0, sampling_ratio=0.5, first_constant=10.0, second_constant=1.0, **given
    )
    algorithm = theorem.algorithm(learning_rate(theorem, 0))
    return BatchSteps(algorithm), pair_of(theorem, 0)


def test_the_law_on_batches_is_that_of_the_algorithm():
    released, pair = batches()
    ours = released.sample(pair.dataset, 4000, default_rng(0))
    theirs = released.algorithm.model().sample(pair.dataset, 4000, default_rng(1))
    for t in range(2):
        assert stats.ks_2samp(ours[:, t, 0, 0], theirs[:, t, 0, 0]).pvalue > 1e-3
    uniform = released.uniform_residuals(theirs, pair.dataset)
    assert stats.kstest(uniform.ravel(), "uniform").pvalue > 1e-3
    wrong = released.uniform_residuals(theirs, pair.neighbour)
    assert stats.kstest(wrong.ravel(), "uniform").pvalue < 1e-6


def test_the_loss_on_batches_turns_one_law_into_the_other():
    released, pair = batches(local_steps=2)
    ratio = np.exp(
        released.privacy_loss(released.sample(pair.neighbour, 8000, default_rng(0)), pair)
    )
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / math.sqrt(len(ratio))
    assert ratio.std() > 0.5


def test_a_full_batch_is_the_gaussian_law():
    released, pair = batches()
    solver = replace(released.algorithm.solver, sampling_ratio=1.0)
    full = BatchSteps(replace(released.algorithm, solver=solver))
    outputs = full.sample(pair.dataset, 50, default_rng(0))
    gaussian = full.algorithm.model_steps().privacy_loss(outputs, pair)
    np.testing.assert_allclose(full.privacy_loss(outputs, pair), gaussian, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "ratio"),
    [(24, 0.1), *(pytest.param(256, r, marks=pytest.mark.slow) for r in (0.5, 0.1))],
)
def test_what_is_proved_on_batches_is_twice_a_removal(points, ratio, monkeypatch):
    monkeypatch.setattr(strongest_guarantee, "_POINTS", points)  # fewer: looser, and hold as well
    theorem = theorem_of(sampling_ratio=ratio, iterations=100)
    algorithm = theorem.algorithm(1.0)
    found = make_model_view_proof(theorem, 0, algorithm).guarantee.epsilon(1e-5)
    once = proved_guarantee(algorithm.client_event()).epsilon(1e-5)
    assert 0.4 < found < 0.9
    assert 2 * once < found < 3 * once  # delta is used up by two steps instead of one


@pytest.mark.slow
def test_what_is_proved_on_batches_has_not_moved():
    theorem = theorem_of(sampling_ratio=0.1, first_constant=200.0)
    found = make_model_view_proof(theorem, 0, theorem.algorithm(1.0))
    assert round(found.guarantee.epsilon(1e-5), 2) == 1.09


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "proved"), (0.1, "refuted")])
def test_batches_are_audited_next_to_what_is_proved(factor, verdict):
    given = {"view": "model", "sampling_ratio": 0.5, "first_constant": 10.0, "factor": factor}
    settings = Settings(
        epsilon=4.0, delta=1e-2, trials=2000, distinguisher="likelihood-ratio", parameters=given
    )
    result = audit_claim(CLAIM, settings)
    assert result.verdict == verdict
    assert 0.5 < result.measured.lower <= result.proved.epsilon <= 4.0


def test_the_law_on_batches_is_refused_where_it_is_not_known():
    released, _ = batches()
    with pytest.raises(InvalidArgument, match=r"^dataset: got tables of"):
        released.sample(pair_of(theorem_of(), 2).dataset, 1, default_rng(0))
    quiet = BatchSteps(released.algorithm.without_noise())
    with pytest.raises(InvalidArgument, match=r"^solver: "):
        quiet.sample(pair_of(theorem_of(), 0).dataset, 1, default_rng(0))


# Across clients


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joined", "least"), [(10, 4.0), pytest.param(40, 24.0, marks=pytest.mark.slow)]
)
def test_a_tuple_moves_another_clients_model_beyond_the_claim(joined, least):
    settings = Settings(trials=300, parameters={"view": "model", "joined": joined})
    audited = run_claim(CLAIM, settings, Executor())
    result = audited.result
    assert result.verdict == "refuted"
    assert least < result.measured.lower <= result.proved.epsilon
    assert audited.certificate.kind == "approximate-dp"
    assert all(check.passed for check in result.self_checks)
    assert all(outcome.holds for outcome in result.assumptions)


@pytest.mark.parametrize("constant", [4.0, 40.0, 400.0])
def test_no_constant_saves_it(constant):
    found = certificate_of(theorem_of(second_constant=constant), joined=int(10 * constant))
    assert found is not None
    assert found.quantities["attained delta"] > 0.8


def test_the_first_step_is_the_same_on_both_sides_and_the_second_is_clipped():
    theorem = theorem_of()
    pair = pair_of(theorem, 6)
    process = theorem.algorithm(learning_rate(theorem, 6)).model_steps().process
    start = process.start(pair.dataset, 2000)
    first = process.step(start, pair.dataset)
    assert np.abs(process.shift(start, pair)).max() < 1e-12 * first.scale
    assert np.abs(first.mean).max() < 1e-12 * first.scale
    found = certificate_of(theorem, 6)
    most, least = found.instance["model_bound"][0], found.instance["model_least"][0]
    models = np.empty((2000, 2, 1))
    models[:, 0, 0] = default_rng(0).uniform(-most, most, 2000)
    models[:, 1, 0] = default_rng(1).choice([-1, 1], 2000) * default_rng(2).uniform(1, 9, 2000)
    models[:, 1, 0] *= least
    second = process.advance(start, models)
    scale = process.step(second, pair.dataset).scale
    moved = process.shift(second, pair)[:, 0, 0] / scale
    np.testing.assert_allclose(np.abs(moved), found.quantities["mu"], rtol=1e-9)


@pytest.mark.slow
def test_where_gradients_are_not_clipped_the_counts_are_the_certificate():
    parameters = {"view": "model", "joined": 10, "clip_norm": 0.01}
    assert find_clipping_reach(theorem_of(**parameters)) is None
    audited = run_claim(CLAIM, Settings(trials=300, parameters=parameters), Executor())
    assert audited.result.verdict == "refuted"
    assert audited.certificate.kind == "statistical"


def test_gradients_grow_with_the_reach():
    theorem = theorem_of(penalty=0.5)
    slopes = [least_gradient(theorem, reach) for reach in (0.0, 1.0, 3.0, 10.0, 30.0)]
    assert slopes == sorted(slopes)
    assert slopes[0] < 0 < slopes[-1]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "adult"}, "data"),
        ({"data_path": "a"}, "data_path"),
        ({"data_options": {"a": 1}}, "data_option"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"epsilon": 3.0}, "epsilon"),
        ({"epsilon": 3.0, "parameters": {"view": "model"}}, "epsilon"),
        ({"parameters": {"iterations": 1}}, "iterations"),
        ({"parameters": {"joined": 3}}, "joined"),
        ({"parameters": {"view": "client"}}, "view"),
        ({"parameters": {"sampling_ratio": 1.5}}, "sampling_ratio"),
        ({"parameters": {"sigma": 1.0}}, "parameter"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audit_claim(CLAIM, Settings(**asked))


def test_a_share_that_rounding_made_is_told_as_none():
    assert predictions._format_outside_share(1.5e-16) == "0 but for rounding"
    assert predictions._format_outside_share(0.379) == "0.379"
