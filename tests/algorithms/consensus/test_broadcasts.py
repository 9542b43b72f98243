"""All broadcasts of penalty perturbation: claimed, proved and measured."""

import os

import pytest

from dpaudit.accounting import strongest_guarantee
from dpaudit.accounting.strongest_guarantee import bound_worst_proved_epsilon
from dpaudit.algorithms.consensus.claims.broadcasts import (
    CLAIM,
    BroadcastsParameters,
    prepare_broadcasts_audit,
)
from dpaudit.algorithms.consensus.claims.composition import run_of
from dpaudit.algorithms.consensus.guarantees import node_events
from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import Settings

SMALL = {"iterations": 8, "records": 20, "noise_rate": 12.0, "dimension": 6}
SHORT = SMALL | {"iterations": 4, "dimension": 4}


@pytest.fixture
def short_tables(monkeypatch):
    """Tabulate proved deltas at 16 epsilons instead of 256: they hold as well, only looser."""
    monkeypatch.setattr(strongest_guarantee, "_POINTS", 16)


def case_of(delta=1e-5, data="worst-case", seed=0, **parameters):
    settings = Settings(delta=delta, data=data, seed=seed)
    return prepare_broadcasts_audit(settings, BroadcastsParameters(**(SMALL | parameters)))


def test_claimed_is_the_sum_of_equation_26():
    """C (1.4 c_1 + alpha) / (eta V B) of an iteration, by hand, times eight."""
    summand = (1.4 / 4 + 12.0) / (0.5 * 4 * 20)
    assert case_of().claimed.at_epsilon == pytest.approx(8 * summand, rel=1e-12)
    assert case_of(factor=0.5).claimed.at_epsilon == pytest.approx(4 * summand, rel=1e-12)


@pytest.mark.slow
def test_proved_is_what_the_accountant_proves_of_the_worst_node():
    case = case_of()
    events = node_events(case.mechanism, node_sizes=(20,) * 5, dimension=6)
    assert len(set(events)) == 1  # every node has all others as neighbours
    exact = bound_worst_proved_epsilon(events[:1], 1e-5)
    assert exact <= case.proved.guarantee.epsilon(1e-5) < 1.001 * exact
    assert case.pair_ceiling.guarantee.epsilon(1e-5) < exact


SIZES = [SHORT, pytest.param(SMALL, marks=pytest.mark.slow)]


@pytest.mark.slow
@pytest.mark.usefixtures("short_tables")
@pytest.mark.parametrize("size", SIZES, ids=["short", "long"])
def test_opposite_records_are_measured_at_their_exact_epsilon(audited, size):
    found = audited(CLAIM, delta=1e-5, trials=300, parameters=size).result
    ceiling = found.measured.pair_ceiling
    assert all(check.passed for check in found.self_checks)
    assert all(outcome.holds for outcome in found.assumptions)
    assert 0.95 * ceiling < found.measured.lower <= ceiling <= found.measured.upper
    assert found.measured.upper < 1.05 * ceiling
    assert found.verdict == "proved"


@pytest.mark.slow
def test_a_claim_of_much_less_is_refuted(audited):
    found = audited(CLAIM, trials=300, parameters=SMALL | {"factor": 0.1}).result
    assert found.verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=["short", "long"])
def test_at_delta_zero_one_output_refutes_a_claim_of_less(audited, size):
    asked = {"delta": 0.0, "estimator": "exact-loss", "trials": 300}
    held = audited(CLAIM, parameters=size, **asked).result
    refuted = audited(CLAIM, parameters=size | {"factor": 0.3}, **asked).result
    assert held.verdict == "proved"
    assert held.measured.lower == pytest.approx(held.measured.pair_ceiling, rel=1e-4)
    assert held.measured.lower <= held.measured.pair_ceiling * (1 + 1e-12)
    assert refuted.verdict == "refuted"
    assert any("with an error bound" in check.statement for check in refuted.self_checks)
    assert refuted.budget == []


@pytest.mark.slow
def test_real_records_have_a_lower_end_near_the_estimate_and_a_statement(audited):
    real = {key: value for key, value in SMALL.items() if key != "dimension"}
    found = audited(CLAIM, data="breast-cancer", delta=1e-4, trials=300, parameters=real).result
    assert all(check.passed for check in found.self_checks)
    assert 0.9 * found.measured.estimate < found.measured.lower <= found.measured.estimate
    assert found.measured.upper is None
    assert "too loose" in found.measured.upper_note
    assert found.measured.lower < found.proved.epsilon < found.claimed.epsilon


@pytest.mark.slow
def test_adult_with_a_hundred_features_and_fifty_iterations(audited):
    if os.environ.get("DPAUDIT_DATA") is None:
        pytest.skip("DPAUDIT_DATA is not set: the Adult files are not at hand")
    found = audited(CLAIM, data="adult", delta=1e-6).result
    assert found.parameters["dimension"] >= 50
    assert found.parameters["iterations"] == 50
    assert all(check.passed for check in found.self_checks)
    assert found.measured.lower > 0.9 * found.measured.estimate


def test_conditions_of_the_theorem_are_told():
    holds = {one.name: one.holds for one in case_of().assumptions}
    assert all(holds.values())
    loose = {one.name: one.holds for one in case_of(penalty=0.2, loss_weight=30.0).assumptions}
    assert not loose["penalties at least theta"]
    assert not loose["weight at most records"]


def test_a_seed_chooses_real_records_and_only_them():
    settings = [Settings(data="breast-cancer", seed=seed) for seed in (1, 1, 2)]
    public = BroadcastsParameters(**SMALL)
    runs = [run_of(public, one, "complete", public.dimension) for one in settings]
    rows = [run.pair.dataset.features.tobytes() for run in runs]
    assert rows[0] == rows[1] != rows[2]


def test_data_options_without_data_are_refused():
    with pytest.raises(InvalidArgument, match="data_path"):
        prepare_broadcasts_audit(Settings(data_path="/nowhere"), BroadcastsParameters())
