"""Lemma 1 of hu2020 is refuted by a search; the bound with a proof survives the same search."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import CLAIM, UpdateParameters
from dpaudit.algorithms.sharing.claims.hu2020.search import (
    Small,
    build_update_space,
    draw_small_update,
    instance_of,
    small_claim,
)
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    UpdateSetting,
    compute_corrected_lemma1_bound,
    compute_published_lemma1_bound,
    compute_update_direction,
    local_model,
    make_lemma1_sensitivity,
    movement,
)
from dpaudit.auditing import audit_case, audit_claim, run_claim
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.registry import CLAIMS
from dpaudit.extension.settings import Settings
from dpaudit.refutation import WorstInstance, exceeds, maximise, minimal

LEMMA_1 = "hu2020-lemma1"
BUDGET = 2_000
LATER_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]
WANTED = {8: 1.5, 16: 3.0, 32: 6.0}


def searched(setting, budget, seed=0, claimed=None):
    return maximise(
        build_update_space(setting, claimed or compute_published_lemma1_bound(setting)),
        budget,
        default_rng(seed),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("features", WANTED)
def test_the_search_refutes_the_published_bound(features, seed):
    setting = UpdateSetting(features=features, samples=2 * features)
    found = searched(setting, BUDGET, seed)
    instance, lemma = instance_of(found.instance), make_lemma1_sensitivity(setting)
    assert found.evaluations == BUDGET
    assert lemma.broken(instance) == ()
    assert lemma.is_refuted_by(instance)
    assert found.ratio >= WANTED[features]
    # The search solves normal equations, the lemma uses singular values.
    assert lemma.ratio(instance) == pytest.approx(found.ratio, rel=1e-8)


def test_neighbours_found_differ_by_signs_of_one_column():
    instance = instance_of(searched(UpdateSetting(features=8, samples=16), 500).instance)
    differs = instance.design != instance.neighbour
    assert differs.any()
    assert not differs[:, 1:].any()
    assert (np.abs(instance.design) == np.abs(instance.neighbour)).all()


def survives(setting, budget):
    found = searched(setting, budget, claimed=compute_corrected_lemma1_bound(setting))
    assert not exceeds(found.ratio)
    return found.ratio


@pytest.mark.parametrize("features", WANTED)
def test_the_corrected_bound_survives_and_is_close(features):
    assert survives(UpdateSetting(features=features, samples=2 * features), 2 * BUDGET) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("features", WANTED)
def test_the_corrected_bound_survives_ten_times_the_default_budget(features):
    budget = 10 * UpdateParameters().budget
    assert survives(UpdateSetting(features=features, samples=2 * features), budget) > 0.8


VARIANTS = [
    UpdateSetting(
        features=d, samples=n, penalty=rho, regulariser_weight=lam, bound=b1, parties=parties
    )
    for d, n in ((2, 3), (8, 16))
    for rho, lam in ((10.0, 1e-3), (0.1, 1e-3), (1.0, 1.0))
    for b1, parties in ((1.0, 1), (0.01, 1), (1.0, 3), (50.0, 2))
]


@pytest.mark.parametrize("setting", VARIANTS)
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_true_variants_are_not_refuted(setting, factor):
    instance = instance_of(searched(setting, 300).instance)
    lemma = make_lemma1_sensitivity(setting)
    true = dataclasses.replace(lemma, claimed=factor * lemma.proved)
    assert lemma.broken(instance) == ()
    assert not true.is_refuted_by(instance)


@given(
    st.integers(1, 5),
    st.integers(1, 6),
    st.floats(1e-3, 1e3),
    st.floats(1e-6, 1e3),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_the_proof_step_by_step(features, samples, penalty, weight, seed):
    """Stationarity, and u = D x in the ball over the segment from 0 to w = -v/rho."""
    setting = UpdateSetting(
        features=features, samples=samples, penalty=penalty, regulariser_weight=weight
    )
    batch, _ = build_update_space(setting, 1.0).evaluate(
        build_update_space(setting, 1.0).start(1, default_rng(seed))
    )
    instance = instance_of({name: values[0] for name, values in batch.items()})
    v = compute_update_direction(setting, instance)
    x = local_model(setting, instance.design, v)
    u, w = instance.design @ x, -v / penalty
    gradient = weight * x + instance.design.T @ (v + penalty * u)
    assert np.linalg.norm(gradient) <= 1e-9 * (1 + np.linalg.norm(v)) * (1 + penalty)
    assert np.linalg.norm(u - w / 2) <= np.linalg.norm(w) / 2 * (1 + 1e-12)
    assert movement(setting, instance) <= np.linalg.norm(w) * (1 + 1e-12)


def test_the_ball_term_counts_where_samples_are_few_and_the_penalty_small():
    setting = UpdateSetting(features=4, samples=4, penalty=0.1, regulariser_weight=1e-3)
    assert compute_corrected_lemma1_bound(setting) == 4.0 < 1 / 0.1 + 1
    survives(setting, 2_000)


# The claim, audited


@pytest.mark.parametrize("features", [8, 16])
def test_the_audit_refutes_and_shows_the_three_numbers(features):
    asked = Settings(trials=BUDGET, parameters={"features": features})
    result = audit_claim(LEMMA_1, asked)
    assert result.verdict == "refuted"
    assert result.kind == "sensitivity"
    assert result.trials == BUDGET
    assert result.measured.lower >= WANTED[features] * result.claimed.sensitivity
    assert result.measured.lower <= result.proved.sensitivity == pytest.approx(1.1)
    assert {a.name for a in result.assumptions} == set(CLAIMS.get(LEMMA_1).assumptions)


def test_the_budget_is_a_parameter_and_trials_override_it():
    assert audit_claim(LEMMA_1, Settings(parameters={"budget": 300})).trials == 300
    asked = Settings(trials=200, parameters={"budget": 300})
    assert audit_claim(LEMMA_1, asked).trials == 200


@pytest.mark.parametrize(
    ("share", "verdict"), [(1.0, "not refuted"), (1 - 1e-12, "not refuted"), (2.0, "proved")]
)
def test_a_bound_attained_up_to_rounding_is_not_refuted(share, verdict):
    """What is proved is a little above what is attained, so that it proves no such bound."""
    asked = Settings(trials=400)
    case = CLAIM.prepare(asked, UpdateParameters(features=8))
    reached = case.attain(400, default_rng(0)).value

    def attain(trials, rng):
        return WorstInstance(value=reached, bound=share * reached, instance="here")

    true = dataclasses.replace(case, bound=share * reached, attain=attain)
    result = audit_case(true, asked, statement=CLAIMS.get(LEMMA_1), rerun="rerun")
    assert result.verdict == verdict


def test_the_certificate_is_of_the_audited_instance():
    asked = Settings(trials=400, seed=3, parameters={"features": 8})
    audited = run_claim(LEMMA_1, asked, Executor())
    movement = audited.certificate.quantities["movement"]
    assert movement == pytest.approx(audited.result.measured.lower, rel=1e-12)
    assert audited.certificate.search == {"seed": 3, "budget": 400}


def test_nothing_is_certified_where_nothing_exceeds_the_bound():
    audited = run_claim(LEMMA_1, Settings(trials=200, parameters={"features": 1}), Executor())
    assert audited.result.verdict == "proved"
    assert audited.certificate is None


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"data": "breast-cancer"}, "data"),
        ({"data_path": "a"}, "data_path"),
        ({"data_options": {"a": 1}}, "data_option"),
        ({"parameters": {"penalty": 0}}, "penalty"),
        ({"parameters": {"budget": 5}}, "budget"),
        ({"parameters": {"rho": 5}}, "parameter"),
    ],
)
def test_bad_input_is_named(asked, named):
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        audit_claim(LEMMA_1, Settings(**asked))


@pytest.mark.parametrize("name", ["features", "samples", "parties"])
def test_a_setting_refuses_bad_counts(name):
    with pytest.raises(InvalidArgument, match=name):
        UpdateSetting(**{"features": 2, "samples": 2} | {name: 0})


# Factors, and the smallest instance


@pytest.mark.parametrize("features", WANTED)
def test_half_the_claim_is_refuted_and_a_claim_above_the_proved_bound_is_not(features):
    for factor, verdict in ((0.5, "refuted"), (features / 2, "proved")):
        asked = Settings(trials=BUDGET, parameters={"features": features, "factor": factor})
        result = audit_claim(LEMMA_1, asked)
        assert result.verdict == verdict
        assert result.claimed.sensitivity == pytest.approx(
            factor
            * compute_published_lemma1_bound(UpdateSetting(features=features, samples=2 * features))
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *LATER_SEEDS])
def test_half_of_the_proved_bound_is_refuted(seed):
    setting = UpdateSetting(features=16, samples=32)
    factor = compute_corrected_lemma1_bound(setting) / compute_published_lemma1_bound(setting) / 2
    asked = Settings(trials=BUDGET, seed=seed, parameters={"factor": factor})
    assert audit_claim(LEMMA_1, asked).verdict == "refuted"


def test_the_report_names_a_smallest_instance():
    result = audit_claim(LEMMA_1, Settings(trials=400))
    (note,) = (note for note in result.notes if note.startswith("Smallest instance"))
    assert "rows of signs" in note


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_smallest_instance_breaks_the_claim(seed):
    claim_on_small = small_claim(1.0)
    found = minimal(draw_small_update(1.0), claim_on_small, budget=500, seed=seed)
    assert claim_on_small.is_refuted_by(found)
    assert found.setting.features <= 8
    assert found.setting.samples <= 8
    assert set(np.unique(found.signs)) <= {-1.0, 1.0}


def test_five_equal_rows_and_one_flipped_sign_by_hand():
    """D x and D' x' of five rows (1, 1, 1, 1)/2, from the two-dimensional space they live in."""
    setting = UpdateSetting(features=4, samples=5, penalty=10.0, regulariser_weight=0.1)
    direction = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    small = Small(setting=setting, signs=np.ones((5, 4)), flipped=1, direction=direction)
    instance = small.instance()
    assert make_lemma1_sensitivity(setting).broken(instance) == ()
    v = 11 * instance.dual  # y - rho z
    # Row products: 1 among equal rows, 1/2 between the flipped row and another.
    gram, gram_flipped = np.ones((5, 5)), np.ones((5, 5))
    gram_flipped[0, 1:] = gram_flipped[1:, 0] = 0.5
    there, here = (-np.linalg.solve(0.1 * np.eye(5) + 10 * g, g @ v) for g in (gram_flipped, gram))
    assert movement(setting, instance) == pytest.approx(np.linalg.norm(here - there), rel=1e-9)


def test_the_certificate_states_the_factor():
    asked = Settings(trials=400, parameters={"features": 8, "factor": 0.5})
    certificate = run_claim(LEMMA_1, asked, Executor()).certificate
    assert certificate.parameters["factor"] == 0.5
    assert certificate.quantities["ratio"] > 2
