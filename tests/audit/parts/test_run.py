"""Which audit a case gets, what becomes of its certificate, and what is said beside its verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.estimator_choice as estimator_choice
import dpaudit.auditing.privacy as privacy
import dpaudit.auditing.run as run
import dpaudit.auditing.sampling.constant_parts as constant_parts
from dpaudit.auditing.audit_outcome import AuditOutcome
from dpaudit.auditing.estimators import group_sequential, worst_pair
from dpaudit.auditing.estimators.estimator_choice import measure_case
from dpaudit.auditing.outcome.declared_release import format_release_comparison
from dpaudit.auditing.repeat import store_key as kept
from dpaudit.auditing.repeat.plan import CommandPlan
from dpaudit.auditing.sampling.constant_parts import of_the_rest
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Executor
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, RenyiDP
from dpaudit.laws.steps import GaussianSteps
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.outputs.layout import LayoutColumn
from dpaudit.neighbours import Side
from dpaudit.refutation import Condition, Evidence, Inequality, WorstInstance
from dpaudit.refutation.worst_instance import certified
from dpaudit.report.schema import PairSearch

from .common import PAIR, case_of, check_of, evidence_of

WORDS = Statement(
    name="own",
    title="an example",
    statement="it is 1-DP",
    source="an example",
    kind="property",
    relation="none",
    assumptions={},
)
LAW = GaussianSteps(SimpleNamespace(steps=1))


@pytest.fixture
def asked(monkeypatch):
    """Note which audit is asked, with which error probability."""
    found = []

    def note(name):
        return lambda case, drawer, trials, alpha, *rest: found.append((name, trials, alpha, rest))

    monkeypatch.setattr(estimator_choice.deterministic, "bound_repeating_event", note("repeating"))
    monkeypatch.setattr(estimator_choice.sequential, "until_refuted", note("bets"))
    monkeypatch.setattr(estimator_choice.divergence, "bound_renyi_by_bet", note("divergence"))
    monkeypatch.setattr(estimator_choice.event, "bound_epsilon_by_event", note("event"))
    monkeypatch.setattr(estimator_choice.exact_loss, "exact_loss", note("losses"))
    return found


@pytest.mark.parametrize(
    ("claim", "at_delta", "mechanism", "settings", "repeats", "expected"),
    [
        (ApproximateDP(1.0, 0.0), 0.0, None, {}, False, "event"),
        (ApproximateDP(1.0, 0.0), 0.0, None, {}, True, "repeating"),
        (ApproximateDP(1.0, 0.0), 0.0, None, {"until_refuted": True}, False, "bets"),
        (GaussianDP(1.0), 0.01, LAW, {}, False, "event"),
        (RenyiDP(2.0, 1.0), 0.01, None, {}, False, "divergence"),
        (ApproximateDP(1.0, 1e-5), 1e-5, LAW, {}, False, "losses"),
        (ApproximateDP(1.0, 1e-5), 1e-5, LAW, {"estimator": "event"}, False, "event"),
        (ApproximateDP(1.0, 1e-5), 1e-5, LAW, {"until_refuted": True}, False, "bets"),
        (ApproximateDP(1.0, 1e-5), 1e-5, LAW, {"doubles": "refute"}, False, "event"),
        (RenyiDP(2.0, 1.0), 0.01, None, {"doubles": "refute"}, False, "divergence"),
    ],
)
def test_every_case_has_its_audit_at_the_whole_error_probability(
    claim, at_delta, mechanism, settings, repeats, expected, asked
):
    case = case_of(claim, at_delta, mechanism)
    drawer = SimpleNamespace(repeats=repeats, mechanism=mechanism)
    measure_case(case, drawer, Settings(confidence=0.9, **settings), 77)
    ((name, trials, alpha, rest),) = asked
    assert (name, trials, alpha) == (expected, 77, pytest.approx(0.1))
    assert (True in rest) is (settings.get("doubles") == "refute")


@pytest.mark.parametrize(
    ("claim", "settings", "named"),
    [
        (GaussianDP(1.0), {"until_refuted": True}, "until_refuted"),
        (GaussianDP(1.0), {"estimator": "exact-loss"}, "estimator"),
        (ApproximateDP(1.0, 0.01), {"estimator": "exact-loss"}, "estimator"),
    ],
)
def test_what_a_claim_cannot_be_audited_by_is_refused(claim, settings, named, asked):
    with pytest.raises(InvalidArgument, match=named):
        measure_case(
            case_of(claim, 0.01),
            SimpleNamespace(repeats=False, mechanism=None),
            Settings(**settings),
            9,
        )
    assert asked == []


def test_an_attack_means_nothing_to_exact_losses(asked):
    case = case_of(ApproximateDP(1.0, 1e-5), 1e-5, LAW)
    with pytest.raises(InvalidArgument, match="distinguisher"):
        measure_case(
            case,
            SimpleNamespace(repeats=False, mechanism=None),
            Settings(distinguisher="histogram"),
            9,
        )


def test_randomness_of_its_own_and_a_ranking_are_noted():
    search = PairSearch(candidates=2, chosen=1, promised=[1, 0], transcripts=40, of_trials=200)
    chosen = SimpleNamespace(search=search)
    found = privacy._add_search_notes(
        evidence_of(notes=("old",)), chosen, SimpleNamespace(has_own_randomness=True)
    )
    assert not found.repeatable
    assert found.counts["ranking pairs, per dataset"] == 40
    assert found.notes[0].startswith("The pair is number 1 of 2")
    assert found.notes[1] == "old"
    assert "randomness or a state of its own" in found.notes[2]
    plain = evidence_of()
    assert (
        privacy._add_search_notes(
            plain, SimpleNamespace(search=None), SimpleNamespace(has_own_randomness=False)
        )
        == plain
    )


@pytest.mark.parametrize(
    ("kind", "settings", "kept"),
    [
        ("support", {}, False),
        ("support", {"show_records": True}, True),
        ("support", {"data_is_public": True}, True),
        ("statistical", {}, True),
        ("mechanism", {}, True),
    ],
)
def test_a_certificate_that_holds_records_is_withheld(kind, settings, kept):
    result = SimpleNamespace(notes=["old"])
    result.model_copy = lambda update: SimpleNamespace(**update)
    audited = AuditOutcome(result, SimpleNamespace(kind=kind))
    given = SimpleNamespace(**({"data_is_public": False, "show_records": False} | settings))
    found = run._without_records(audited, given)
    assert (found.certificate is not None) is kept
    assert found.result.notes[0] == "old"
    assert len(found.result.notes) == (1 if kept else 2)
    nothing = AuditOutcome(result, None)
    assert run._without_records(nothing, given) is nothing


@pytest.mark.parametrize(
    ("value", "verdict", "certified"), [(2.0, "refuted", True), (0.5, "not refuted", False)]
)
def test_a_search_certifies_what_it_refutes_alone(value, verdict, certified):
    certificate = SimpleNamespace(kind="sensitivity")
    asked = []

    def attain(budget, rng):
        asked.append((budget, rng.random()))
        return WorstInstance(value=value, bound=1.0, instance="here", certificate=certificate)

    case = SearchCase(
        bound=1.0,
        attain=attain,
        view="all",
        data="none",
        relation="none",
        pair="none",
        default_trials=1,
        parameters={},
        quantity="a number",
    )
    plan = CommandPlan.of_claim("own", Settings())
    for seed in (3, 3, 4):
        found = run._run_search(WORDS, case, Settings(seed=seed), Executor(), plan, 50)
        assert found.result.verdict == verdict
        assert found.certificate is (certificate if certified else None)
    assert [budget for budget, _ in asked] == [50] * 3
    assert asked[0] == asked[1] != asked[2]
    value = math.nan
    with pytest.raises(MechanismError, match=r"nan <= 1\.0"):
        run._run_search(WORDS, case, Settings(), Executor(), plan, 50)


@pytest.mark.parametrize("certify", [None, lambda lower: ("made at", lower)])
def test_a_case_makes_its_own_certificate_of_the_lower_end(certify, monkeypatch):
    monkeypatch.setattr(privacy, "own_certificate", lambda *given: "of outputs")
    result = SimpleNamespace(measured=SimpleNamespace(lower=1.5))
    found = privacy._make_case_certificate(result, case_of(certify=certify), Settings())
    assert found == ("of outputs" if certify is None else ("made at", 1.5))


@pytest.mark.parametrize(("by_looks", "said"), [(True, ["witness"]), (False, ["witness", "pair"])])
def test_what_leaked_is_looked_for_with_the_audit_s_error_probability(by_looks, said, monkeypatch):
    asked = []

    def added(name):
        return lambda result, case, drawer, alpha: asked.append((name, alpha)) or result

    monkeypatch.setattr(privacy.witness, "add_witness", added("witness"))
    monkeypatch.setattr(privacy.smallest_pair, "add_smallest_pair", added("pair"))
    monkeypatch.setattr(privacy.noise_lines, "add_noise_lines", lambda result, case: result)
    schedule = SimpleNamespace(
        settings=Settings(confidence=0.9),
        has_time_to_explain=lambda drawer: True,
        by_looks=by_looks,
    )
    result = SimpleNamespace(notes=["old"], model_copy=lambda update: SimpleNamespace(**update))
    assert privacy._add_explanation(result, None, None, schedule) is result
    assert asked == [(name, pytest.approx(0.1)) for name in said]
    schedule.has_time_to_explain = lambda drawer: False
    late = privacy._add_explanation(result, None, None, schedule)
    assert late.notes[0] == "old"
    assert "too short" in late.notes[1]


@pytest.mark.parametrize(
    ("lower", "at_delta", "withheld"), [(1.0, None, True), (1.1, None, False), (0.5, 0.2, True)]
)
def test_what_was_left_out_withholds_what_the_rest_does_not_refute(lower, at_delta, withheld):
    evidence = evidence_of(lower, at_delta=at_delta, contract=(check_of(True),))
    found = of_the_rest(evidence, case_of(), check_of(False, "left out"))
    assert found.trusted is not withheld
    assert len(found.contract) == (2 if withheld else 1)
    assert of_the_rest(evidence, case_of(), None) is evidence


def test_a_curve_is_compared_where_it_was_audited():
    case = case_of(GaussianDP(1.0), 1e-5, currency=None)
    epsilon = GaussianDP(1.0).epsilon(0.2)
    found = of_the_rest(evidence_of(1.1 * epsilon, at_delta=0.2), case, check_of(False))
    assert found.trusted
    found = of_the_rest(evidence_of(0.9 * epsilon, at_delta=0.2), case, check_of(False))
    assert not found.trusted


@pytest.mark.parametrize(
    ("change", "another"),
    [
        ({"seed": 1}, True),
        ({"confidence": 0.9}, True),
        ({"distinguisher": "histogram"}, True),
        ({"parameters": {"a": 1}}, False),
        ({"unit": 3}, True),
    ],
)
def test_what_is_kept_of_an_audit_is_known_by_all_that_decides_it(change, another):
    base = kept.what_determines(case_of(), Settings(), 100)
    other = kept.what_determines(case_of(), Settings(**change), 100)
    assert (base != other) is another
    assert kept.what_determines(case_of(), Settings(), 101) != base
    assert kept.what_determines(case_of(ApproximateDP(2.0, 0.0)), Settings(), 100) != base
    assert kept.what_determines(case_of(at_delta=0.1), Settings(), 100) != base


def test_bets_go_on_whatever_their_cap_is():
    asked = Settings(until_refuted=True, trials=100)
    more = Settings(until_refuted=True, trials=900)
    one, other = (kept.what_determines(case_of(), s, s.trials) for s in (asked, more))
    assert one == other
    candidates = (replace(case_of(), pair=PAIR),)
    assert len(kept.what_determines(case_of(candidates=candidates), asked, 1)[1]) == 2


# What never varies


def test_a_function_of_its_data_is_said_to_be_one_where_both_sides_never_vary(monkeypatch):
    rows = np.zeros((40, 2)), np.ones((40, 2))
    owners = np.repeat(np.arange(8), 5)
    found = constant_parts.CallOutputs(rows, (owners, owners))
    monkeypatch.setattr(constant_parts, "_make_answers", lambda *given: found)
    asked = {"causes": []}
    monkeypatch.setattr(constant_parts, "_find_outside_causes", lambda *given: asked["causes"])
    drawer = SimpleNamespace(mechanism=SimpleNamespace(), pair=PAIR, seed=0, sparing=False)

    def looked(kept, same):
        monkeypatch.setattr(
            constant_parts, "_find_unvarying_columns", lambda *given, by_score: (kept, same)
        )
        return constant_parts.check_sameness(drawer, None, found, by_score=False)

    assert looked([], []) == constant_parts.Sameness()
    (check,) = looked([1], [(0, 0)]).checks
    assert (check.name, check.passed) == ("what is certified varies within a process", False)
    whole = looked([], [(0, 1), (1, 1)])
    assert whole.checks[0].passed
    assert "in output[1], in 40 calls of 8 processes" in whole.remark
    assert looked([], [(0, 1)]).remark == ""
    asked["causes"] = [("a file", "/x"), ("the clock", "now")]
    kept_outside = looked([], [(0, 1), (1, 1)])
    (check,) = kept_outside.checks
    assert (check.passed, check.statistic, kept_outside.remark) == (False, 2.0, "")
    assert "(a file '/x', and the clock)" in check.statement


def test_parts_that_tell_processes_apart_are_left_out_while_others_vary():
    columns = [LayoutColumn("a", False), LayoutColumn("b", False), LayoutColumn("the rest", True)]
    layout = SimpleNamespace(columns=columns)
    assert constant_parts._others_stay(layout, [0])
    assert not constant_parts._others_stay(layout, [0, 1])
    assert [one.path for one in constant_parts.columns_of(None, 2)] == ["output[0]", "output[1]"]
    assert [one.path for one in constant_parts.columns_of(None, 1)] == ["output"]
    hidden = [LayoutColumn("a", False, everywhere=False), LayoutColumn("b", False)]
    assert constant_parts._get_column_paths(hidden, [0, 0, 1]) == ["a part", "b"]


def test_answers_of_one_a_process_are_compared_as_those_of_one(monkeypatch):
    owners = SimpleNamespace(processes=np.arange(6))
    drawn = SimpleNamespace(scores=(np.zeros((6, 2, 2)), np.ones((6, 2, 2))), outputs=[owners] * 2)
    for one, expected in ((True, [0] * 6), (False, list(range(6)))):
        found = constant_parts._make_answers(SimpleNamespace(one_a_process=one), drawn)
        assert [owner.tolist() for owner in found.processes] == [expected] * 2
        assert found.rows[1].tolist() == [[1.0] * 4] * 6


def test_answers_are_drawn_where_too_few_were(monkeypatch):
    asked = []

    def draw_separately(*given):
        asked.append(given)
        return drawn

    drawn = SimpleNamespace(scores=(np.zeros((6, 1)), np.ones((6, 1))), outputs=())
    monkeypatch.setattr(
        constant_parts, "_make_answers", lambda drawer, found: asked.append(found) or ANSWERS
    )
    monkeypatch.setattr(
        constant_parts, "_find_unvarying_columns", lambda *given, by_score: ([], [])
    )
    drawer = SimpleNamespace(mechanism=None, sparing=True, draw_separately=draw_separately)
    for known in (None, drawn):
        assert (
            constant_parts.check_sameness(drawer, None, known, by_score=False)
            == constant_parts.Sameness()
        )
    assert asked == [(None, 2, 5, "what varies"), drawn, drawn]


ANSWERS = constant_parts.CallOutputs(
    (np.zeros((6, 1)), np.ones((6, 1))), (np.arange(6), np.arange(6))
)


class Answering(IsolatedMechanism):
    """A mechanism that returns the side it was called on, and no processes."""

    def __init__(self):
        pass

    def sample(self, dataset, trials, rng):
        return np.full((trials, 1, 2), float(dataset[0]) + 0 * rng.random())


def test_an_answer_of_either_dataset_is_looked_at():
    found = constant_parts._one_answer(Answering(), PAIR, 0)
    expected = [[[float(PAIR.on(side)[0])] * 2] for side in Side]
    assert [one.tolist() for one in found.rows] == expected
    assert [one.tolist() for one in found.processes] == [[0], [0]]


# What is declared, ranked, searched and looked at


def test_a_declared_release_is_contradicted_by_what_is_above_it_alone():
    assert "not that release" not in format_release_comparison(1.0, 1.4, 1.4)
    assert "may be miscalculated" in format_release_comparison(1.0, 1.4, 1.4)
    assert "not that release" in format_release_comparison(1.0, 1.4, 1.4 * (1 + 1e-8))
    assert (
        format_release_comparison(2.0, 1.0, 1.0) == format_release_comparison(1.0, 1.0, 0.5) == ""
    )


@pytest.mark.parametrize("found", [[1.0, 2.0], [2.0, 1.0]])
def test_a_pair_is_ranked_by_the_direction_that_loses_more(found, monkeypatch):
    monkeypatch.setattr(worst_pair, "_from_losses", lambda *given: found)
    monkeypatch.setattr(worst_pair, "_from_events", lambda *given: 9.0)
    asked = Settings()
    by_losses = case_of(ApproximateDP(1.0, 1e-5), 1e-5, LAW)
    assert worst_pair._estimate_pair_promise(by_losses, None, asked, 20, "ranking") == 2.0
    assert (
        worst_pair._estimate_pair_promise(case_of(mechanism=LAW), None, asked, 20, "ranking") == 9.0
    )
    attacked = Settings(distinguisher="histogram")
    assert worst_pair._estimate_pair_promise(by_losses, None, attacked, 20, "ranking") == 9.0


def test_a_certificate_has_the_conditions_of_the_claim_and_of_its_evidence():
    claim = Condition(name="of the claim", value=0.0, limit=1.0)
    own = Condition(name="of the evidence", value=0.5, limit=1.0)
    evidence = Evidence(
        parameters={}, instance={"x": [1.0]}, quantities={"a": 2.0}, conditions=(own,)
    )
    inequality = Inequality(
        name="an inequality",
        source="an example",
        sides=lambda x: (x, 1.0),
        conditions=lambda x: (claim,),
        evidence=lambda x: evidence,
    )
    found = certified(inequality, 2.0, {"seed": 1})
    assert found.conditions == (claim, own)
    assert found.quantities == {"a": 2.0, "ratio": 2.0}
    assert certified(inequality, 1.0, {"seed": 1}) is None
    ratio = WorstInstance(value=3.0, bound=2.0, scale=4.0, instance="here").ratio
    assert ratio == 1.25
    assert WorstInstance(value=3.0, bound=2.0, instance="here").ratio == 1.5


@pytest.mark.parametrize(("trials", "count"), [(999, 1), (1000, 2), (1001, 2)])
def test_a_last_look_has_as_many_trials_as_the_one_before_at_least(trials, count, monkeypatch):
    clock = group_sequential.LookClock(1000.0, 1000, 1e-6, 0.0, now=lambda: 0.0)
    monkeypatch.setattr(
        group_sequential.LookClock, "_next", lambda self, *given: group_sequential.Look(trials, 0.8)
    )
    found = list(clock.plan_looks())
    assert found[0] == group_sequential.Look(1000, 0.1)
    assert len(found) == count
