"""Parts of the plugin, one by one: shares, markers, what a failure says, what ends a run."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair
from dpaudit.plugin import auditor as auditor_module
from dpaudit.plugin.auditor import Auditor
from dpaudit.plugin.failing import format_test_failure
from dpaudit.plugin.hooks import _RANGES, PytestRun, share_of
from dpaudit.plugin.marker import merge_marker_arguments, wrong_marker
from dpaudit.plugin.session import format_session_summary
from dpaudit.report.schema import SelfCheck, Witness
from tests.report import samples


def auditor(**given):
    item = SimpleNamespace(nodeid="test_a.py::test_b", user_properties=[], location=("a.py", 3, ""))
    usual = {"item": item, "marker": {}, "options": {}, "confidence": 0.9995, "planned": 2}
    return Auditor(**{**usual, **given})


# Shares


@pytest.mark.parametrize("planned", [1, 3])
def test_a_test_has_as_many_audits_as_were_planned_and_no_more(planned):
    one = auditor(planned=planned)
    for _ in range(planned):
        one._begin({})
    with pytest.raises(InvalidArgument, match=f"at most {planned}; say how many"):
        one._begin({})
    assert one.made == planned


def test_a_test_that_was_not_seen_at_collection_has_no_share():
    one = auditor(planned=0)
    with pytest.raises(InvalidArgument, match="confidence is shared when collection has ended"):
        one._begin({})
    assert one.made == 0


@pytest.mark.parametrize("name", ["confidence", "seed", "store", "executor", "looks", "unit"])
def test_what_is_the_runs_no_call_decides(name):
    one = auditor()
    with pytest.raises(InvalidArgument, match="that of the whole run"):
        one._begin({name: 1})
    assert one.made == 0


@pytest.mark.parametrize(
    ("planned", "copies", "stated", "each"),
    [
        ({"a": 1, "b": 3}, 1, 0.98, 0.995),
        ({"a": 1, "b": 3}, 2, 0.98, 0.9975),
        ({}, 1, 0.98, 0.98),
        ({"a": 1}, 1, None, 0.999),
    ],
)
def test_a_run_shares_one_error_probability_among_all_audits_of_all_workers(
    planned, copies, stated, each
):
    config = SimpleNamespace(
        getoption=lambda name: stated, workerinput={"dpaudit_copies": str(copies)}
    )
    run = PytestRun(config)
    run.planned = planned
    assert run.confidence_of_each == pytest.approx(each)
    audits = max(1, sum(planned.values()) * copies)
    assert audits * (1 - run.confidence_of_each) <= run.error


def test_a_share_is_never_more_than_it_may_be():
    for error in (1e-12, 0.3, 1 / 3):
        for audits in (1, 2, 7, 11, 1000):
            assert audits * (1 - share_of(error, audits)) <= error


def test_the_command_of_a_failure_repeats_its_own_confidence_alone():
    one = auditor(planned=2, options={"trials": 500})
    again = one._again()
    assert again.startswith("pytest test_a.py::test_b --dpaudit-trials=500 --dpaudit-confidence=")
    assert share_of(1 - float(again.rpartition("=")[2]), 2) == pytest.approx(0.9995, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("trials", (100, 101), (99, 0, -100)),
        ("time", (1e-9, 5.0), (0.0, -1.0, math.inf, math.nan)),
        ("seed", (0, 7), (-1,)),
        ("confidence", (1e-9, 0.5), (0.0, 1.0, -0.5, math.nan)),
    ],
)
def test_options_are_of_their_ranges(name, inside, outside):
    (holds,) = (one for given, one, _ in _RANGES if given == name)
    assert all(map(holds, inside))
    assert not any(map(holds, outside))


# Who has the last word


def test_a_call_comes_before_its_marker_and_a_marker_before_the_command():
    one = auditor(
        marker={"epsilon": 1.0, "delta": 1e-5, "trials": 300, "audits": 2},
        options={"trials": 200, "time": 5.0},
    )
    assert one._settings({}) == {"epsilon": 1.0, "delta": 1e-5, "trials": 300, "time": 5.0}
    assert one._settings({"trials": 400})["trials"] == 400
    assert one._settings({"epsilon": 2.0}) == {"epsilon": 2.0, "trials": 300, "time": 5.0}
    assert one._settings({"delta": 1e-3})["epsilon"] == 1.0


@pytest.mark.parametrize(
    ("nearer", "kept"),
    [
        ({"epsilon": 2.0}, {"trials": 5}),
        ({"claim": "x"}, {"trials": 5}),
        ({"delta": 0.5}, {"epsilon": 1.0, "claim": "c", "trials": 5}),
        ({"trials": 6}, {"epsilon": 1.0, "delta": 0.1, "claim": "c"}),
        ({}, {"epsilon": 1.0, "delta": 0.1, "claim": "c", "trials": 5}),
    ],
)
def test_a_claim_that_is_nearer_replaces_all_of_the_other(nearer, kept):
    given = {"epsilon": 1.0, "delta": 0.1, "claim": "c", "trials": 5}
    assert merge_marker_arguments(given, nearer) == {**kept, **nearer}


@pytest.mark.parametrize("audits", [0, -1, 1.0, True, "2", None])
def test_a_number_of_audits_is_an_integer_of_at_least_one(audits):
    assert "an integer, at least 1" in wrong_marker([pytest.mark.dp(audits=audits).mark])
    assert wrong_marker([pytest.mark.dp(audits=1).mark]) is None
    second = [pytest.mark.dp(epsilon=1).mark, pytest.mark.dp(audits=audits).mark]
    assert wrong_marker(second) is not None


# What is said


def witness(*, refutes=True, lower=2.5):
    return Witness(
        event="it is 1", parts=["output"], on_dataset=90, on_neighbour=3, runs=100, lower=lower,
        confidence=0.99, refutes=refutes, ceiling=None, success=0.9,
        sentence="What leaked: it is 1 in 90 of 100 outputs.",
    )  # fmt: skip


def test_a_failure_says_what_leaked_its_lower_end_rounded_down_and_the_claim():
    one = samples.refuted(witness=witness())
    said = format_test_failure(one, "a.py:3", "pytest x").splitlines()
    assert said[0] == "What leaked: it is 1 in 90 of 100 outputs."
    assert said[1] == (
        "refuted: epsilon is at least 25.31 at 95% confidence; claimed: epsilon = 20 at delta = "
        "1e-5"
    )
    assert said[-1] == "again: pytest x"
    assert "at: a.py:3" in said


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"refutes": False}, "What leaked, what leaked: it is 1"),
        ({"lower": 0.0}, "What leaked: outputs tell the two datasets apart by more than the claim"),
    ],
)
def test_a_witness_that_does_not_refute_is_not_said_to(given, begins):
    assert format_test_failure(samples.refuted(witness=witness(**given)), "a", "b").startswith(
        begins
    )


def test_a_verdict_that_is_withheld_names_the_checks_that_failed():
    check = samples.result().self_checks[0]
    failed = check.model_copy(update={"passed": False, "name": "it fails"})
    one = samples.result(verdict="withheld", self_checks=[check, failed], reason="As it is.")
    said = format_test_failure(one, "a", "b")
    assert said.startswith("withheld: nothing can be said of the claim epsilon = 1 at delta = 1e-5")
    assert "As it is." in said
    assert "it fails: Kolmogorov" in said
    assert check.name not in said
    assert isinstance(failed, SelfCheck)


def audits(*verdicts, alpha=0.01, kept=()):
    return [
        {"verdict": one, "alpha": alpha, "kept": place in kept}
        for place, one in enumerate(verdicts)
    ]


def test_a_run_ends_with_all_verdicts_and_the_sum_of_what_was_spent():
    found = {
        "a": audits("refuted", "not refuted", alpha=0.01),
        "b": audits("withheld", "not refuted", "proved", alpha=0.02, kept=(1,)),
        "c": [],
    }
    assert format_session_summary(found, None) == [
        "dpaudit: 1 refuted, 1 withheld, 2 not refuted, 1 proved; error probability 0.02 each, "
        "0.08 together; 1 of 5 drawn before and kept"
    ]
    assert format_session_summary({"a": []}, None) == [
        "dpaudit: no verdict; error probability 0 each, 0 together"
    ]


@pytest.mark.parametrize("planned", [1, 2])
def test_what_machines_read_has_the_numbers_of_the_audit(planned):
    one = auditor(planned=planned)
    one.made = planned
    one._note(samples.refuted(witness=witness()), kept=True)
    said = dict(one.item.user_properties)
    number = "" if planned == 1 else ".2"
    expected = {
        "claimed": "epsilon = 20 at delta = 1e-5",
        "lower": "25.31",
        "verdict": "refuted",
        "confidence": "0.9995",
        "trials": "200000",
        "seed": "7",
        "witness": "What leaked: it is 1 in 90 of 100 outputs.",
        "kept": "all of it was drawn before",
    }
    assert said == {f"dpaudit{number}.{name}": value for name, value in expected.items()}
    assert one.found == [{"verdict": "refuted", "alpha": pytest.approx(5e-4), "kept": True}]
    fresh = auditor(planned=1)
    fresh._note(samples.result(), kept=False)
    assert not {"dpaudit.kept", "dpaudit.witness"} & dict(fresh.item.user_properties).keys()


# What is audited


@pytest.mark.parametrize("relation", [None, ADD_REMOVE_RECORD])
def test_a_pair_stands_for_two_datasets_and_its_relation(monkeypatch, relation):
    given = {}

    def audit(mechanism, dataset, neighbour, **options):
        given.update(options, dataset=dataset, neighbour=neighbour)
        return samples.result()

    monkeypatch.setattr(auditor_module, "audit", audit)
    one = auditor(marker={"epsilon": 1.0, "audits": 2}, confidence=0.975)
    pair = Pair([1.0, 2.0], [1.0, 3.0], REPLACE_RECORD)
    options = {} if relation is None else {"relation": relation}
    result, kept = one._audited(None, pair, None, options)
    assert (given["dataset"], given["neighbour"]) == ([1.0, 2.0], [1.0, 3.0])
    assert given["relation"] is (relation or REPLACE_RECORD)
    assert (given["confidence"], given["epsilon"]) == (0.975, 1.0)
    assert "audits" not in given
    assert (result, kept) == (samples.result(), False)
    one._audited(None, [5.0], [6.0], {})
    assert (given["dataset"], given["neighbour"]) == ([5.0], [6.0])


@pytest.mark.parametrize(
    ("verdict", "raises"),
    [("refuted", True), ("withheld", True), ("not refuted", False), ("proved", False)],
)
def test_a_test_fails_where_a_claim_is_refuted_or_nothing_can_be_said(monkeypatch, verdict, raises):
    result = samples.refuted() if verdict == "refuted" else samples.result(verdict=verdict)
    monkeypatch.setattr(auditor_module, "audit", lambda *_, **__: result)
    monkeypatch.setattr(Auditor, "_place", lambda _: "a.py:3")
    monkeypatch.setattr(Auditor, "_line", lambda _: None)
    one = auditor()
    if raises:
        with pytest.raises(AssertionError, match=verdict):
            one(None, [1.0], [2.0])
    else:
        assert one(None, [1.0], [2.0]) is result
    assert one.found[0]["verdict"] == verdict
    assert (one.made, one.running, one.lost()) == (1, 0, None)


def test_an_audit_under_way_when_the_test_ends_is_lost():
    one = auditor()
    one.running = 1
    assert "still under way" in one.lost()


def test_what_carries_no_plain_words_is_told_by_its_witness_and_then_by_its_event():
    event = samples.result().carrying_event
    assert event is None
    several = witness().model_copy(update={"sentence": "What leaked: it is 1. It was never seen."})
    said = format_test_failure(samples.refuted(witness=several), "a", "b").splitlines()
    assert said[0] == "What leaked: it is 1."
    assert "It was never seen." in said
