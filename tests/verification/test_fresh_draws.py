"""A certificate of counts is judged with the reader's choices, and says what it cannot repeat."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dpaudit.auditing.repeat.certificate_draws import quantities_of
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.extension.settings import Settings
from dpaudit.verification import Document, Reader, redrawn_counts

STATED = {"seed": 3, "confidence": 0.5, "trials": 500, "epsilon": 1.0}


def document(quantities=None, **settings):
    return Document(
        path="c.json", claim="c", parameters={}, quantities=quantities or {},
        instance={"settings": STATED | settings}, assumptions={},
    )  # fmt: skip


def result(verdict, lower=2.0, standing="claim", holds=True):
    return SimpleNamespace(
        verdict=verdict, kind="privacy", standing=standing, counts={"hits": 9},
        claimed=SimpleNamespace(epsilon=1.0, value=None, sensitivity=None),
        assumptions=[SimpleNamespace(name="strongly convex", holds=holds)],
        measured=SimpleNamespace(
            lower=lower, upper=None, confidence=0.95, certificate=None, alpha=0.05
        ),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _surety(monkeypatch):
    monkeypatch.setattr("dpaudit.report.formatting.format_surety", lambda measured: "surely")


def test_seed_and_confidence_are_the_readers_and_all_else_is_the_files():
    found = redrawn_counts.settings_of(document(), Reader(seed=11, confidence=0.99))
    assert (found.seed, found.confidence, found.trials, found.epsilon) == (11, 0.99, 500, 1.0)
    assert redrawn_counts.settings_of(document(), Reader(seed=11)).confidence == 0.999999


def test_no_file_says_where_data_lie():
    for own in ("mine", None):
        found = redrawn_counts.settings_of(
            document(data_path="/etc"), Reader(seed=11, data_path=own)
        )
        assert found.data_path == own


def test_its_own_seed_and_confidence_are_the_files():
    found = redrawn_counts.own_settings(document(), Reader(seed=11, confidence=0.99))
    assert (found.seed, found.confidence, found.trials) == (3, 0.5, 500)


def test_scores_are_refuted_with_the_confidence_of_an_audit_unless_the_reader_names_one():
    assert Reader().of_scores == 0.95
    assert Reader(confidence=0.99).of_scores == 0.99
    assert Reader(confidence=0.95).of_scores == 0.95
    assert Reader().seed != Reader().seed


@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.899, 1.0])
def test_a_confidence_that_says_little_is_refused(confidence):
    with pytest.raises(InvalidArgument, match="confidence"):
        Reader(confidence=confidence)
    assert Reader(confidence=0.9).confidence == 0.9


@pytest.mark.parametrize("verdict", ["refuted", "not refuted", "withheld", "proved"])
def test_only_a_refutation_on_fresh_draws_verifies(verdict):
    found = redrawn_counts.judge_fresh_result(result(verdict), Settings(), Reader(seed=11))
    assert (found.failures == ()) == (verdict == "refuted")
    assert found.outcome.quantities == {"bound": 1.0, "value": 2.0, "ratio": 2.0}
    assert "seed 11" in found.outcome.summary


@pytest.mark.parametrize(
    ("given", "parameters", "reserved"),
    [
        ({}, {}, 0),
        ({"holds": False}, {}, 1),
        ({"standing": "question"}, {}, 1),
        ({}, {"factor": 0.5}, 1),
        ({}, {"factor": 1}, 0),
        ({"holds": False, "standing": "question"}, {"factor": 0.5}, 3),
    ],
)
def test_what_makes_it_another_claim_is_a_reservation(given, parameters, reserved):
    settings = Settings(parameters=parameters)
    found = redrawn_counts.judge_fresh_result(result("refuted", **given), settings, Reader())
    assert len(found.outcome.reservations) == reserved


@pytest.mark.parametrize("changed", ["bound", "value", "ratio", "count: hits"])
def test_every_number_has_to_be_that_of_its_own_seed(changed):
    numbers = quantities_of(result("refuted"))
    assert redrawn_counts.compare_stated_numbers(document(numbers), result("refuted")) == ()
    other = document(numbers | {changed: numbers[changed] + 1e-12})
    (said,) = redrawn_counts.compare_stated_numbers(other, result("refuted"))
    assert said.startswith(f"{changed}: the file states")
    (said,) = redrawn_counts.compare_stated_numbers(
        document({k: v for k, v in numbers.items() if k != changed}), result("refuted")
    )
    assert "None" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trials", 10**6 + 1),
        ("candidate_pairs", 1001),
        ("unit", 10**6 + 1),
        ("looks", [[10**6 + 1, 0.5]]),
        ("parameters", {"rounds": 10**5 + 1}),
        ("unheard", 1),
    ],
)
def test_more_work_than_an_audit_asks_for_is_refused(name, value):
    with pytest.raises(DataError, match=r"c\.json"):
        redrawn_counts.settings_of(document(**{name: value}), Reader())


def test_a_clock_ends_an_audit_after_its_time_and_not_before():
    clock = redrawn_counts.AuditDeadline(5.0, "c.json", now=lambda: 5.0)
    clock.advance(1)
    with pytest.raises(DataError, match="too long"):
        redrawn_counts.AuditDeadline(5.0, "c.json", now=lambda: 5.1).advance(1)
