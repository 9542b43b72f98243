"""Scans of a package of a third party: correct mechanisms are left alone, broken twins found."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.execution import Limits, available_cores
from dpaudit.extension.registry import PACKAGES
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import ADD_REMOVE_RECORD, Pair
from dpaudit.scan.candidates.pairs import SubjectCandidate, make_subject_pairs
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.evidence import with_reproductions
from dpaudit.scan.hypotheses import WeighedClaim
from dpaudit.scan.remote.environments import VersionEnvironment
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.scan.remote.guide import frozen_noise
from dpaudit.scan.reproduction.values import value_of
from dpaudit.scan.scan import ScanBudget, file_of, scan_package, select_subjects
from dpaudit.scan.subject import _worth_certifying
from dpaudit.verdicts import status_of

from . import samples

SURE = 1 - 1e-6
MANY = Path(__file__).with_name("many_scans.py")


def scanned(toy, *subjects, confidence=SURE, trials=600, seed=0, seconds=60.0, **budget):
    given = ScanBudget(confidence=confidence, trials=trials, seconds=seconds, **budget)
    return scan_package(toy.package(*subjects), budget=given, seed=seed, workers=2)


def one(toy, code):
    return next(each for each in (*toy.CORRECT, *toy.BROKEN) if each.code == code)


# Correct mechanisms


def accused(toy, seeds, confidence):
    """Return the seeds whose scan refuted something that is correct, claimed or not.

    Each core scans with a share of the seeds, in a process of its own: what a seed gives does not
    depend on who computes it.
    """
    cores = min(len(seeds), available_cores())
    site = Path(toy.__file__).parent
    environment = os.environ | {"PYTHONPATH": str(site)}
    started = [
        subprocess.Popen(
            [sys.executable, str(MANY), repr(confidence), *map(str, seeds[first::cores])],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(cores)
    ]
    printed = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0] * cores
    return [seed for text in printed for seed in json.loads(text)]


def test_a_few_scans_of_correct_mechanisms(toy):
    assert accused(toy, range(1), 0.95) == []


@pytest.mark.slow
def test_two_hundred_scans_of_correct_mechanisms_at_five_percent(toy):
    """At 5% of 200 more than 19 have a probability below 0.3%."""
    assert len(accused(toy, range(200), 0.95)) <= 19


@pytest.mark.slow
def test_two_hundred_scans_of_correct_mechanisms_at_the_usual_confidence(toy):
    assert accused(toy, range(200), SURE) == []


def test_a_tight_claim_is_refuted_no_more_often_than_allowed(toy):
    """Randomised response has exactly its epsilon: a bound that claims too much would show."""
    pair = Pair([1.0, 0.0], [0.0], ADD_REMOVE_RECORD)
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        file = file_of(toy.PACKAGE)
        mechanism = Foreign(crew, file, "randomised_response", {"epsilon": 1.0}, many=True)
        results = [
            certify_claim(mechanism, pair, PureDP(1.0), SampleSizes(100, 300), 0.5, seed)
            for seed in range(20)
        ]
    assert sum(each.refuted for each in results) <= 10
    assert max(each.lower for each in results) > 0.5


@pytest.mark.parametrize("code", ["warns_by_call", "fails_by_call", "tires"])
def test_what_calls_have_in_common_accuses_nobody(toy, code):
    """One call of many outputs warns or fails as one; a process may change with its calls.

    At these seeds calls or their order were unlucky, and outputs would seem to refute.
    """
    pair = Pair([1.0, 0.0], [0.0], ADD_REMOVE_RECORD)
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        file = file_of(toy.PACKAGE)
        mechanism = Foreign(crew, file, code, {"epsilon": 1.0}, many=code != "tires")
        results = [
            certify_claim(mechanism, pair, PureDP(1.0), SampleSizes(100, 100), 1e-3, seed)
            for seed in (range(6) if code == "tires" else (8, 20))
        ]
    assert not any(each.refuted for each in results)


@pytest.mark.parametrize("code", ["remembers", "draws_once"])
def test_answers_that_a_process_keeps_accuse_nobody(toy, code):
    pair = Pair([1.0, 0.0], [0.0], ADD_REMOVE_RECORD)
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        mechanism = Foreign(crew, file_of(toy.PACKAGE), code, {"epsilon": 1.0})
        results = []
        for seed in range(4):
            crew.close()
            results.append(
                certify_claim(mechanism, pair, PureDP(1.0), SampleSizes(100, 100), 1e-3, seed)
            )
    assert not any(each.refuted for each in results)
    assert any(each.kept for each in results)  # without another process it would be accused


# Broken twins


def test_broken_twins_are_found(toy):
    result = scanned(toy, *toy.BROKEN)
    assert {each.subject for each in result.findings} == {each.name for each in toy.BROKEN}
    assert not result.skipped
    assert result.certainty.confidence == SURE


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("code", "words", "test", "kind"),
    [
        ("missing_shows", "`output` is NaN", "equals", "structure"),
        ("empty_raises", "ValueError", "raised", "structure"),
        ("warns", "warnings", None, "structure"),
        ("keys_show", "", None, "structure"),
    ],
)
def test_a_finding_says_what_was_seen(toy, code, words, test, kind):
    result = scanned(toy, one(toy, code), trials=1000)
    found = [each for each in result.findings if words in each.event.words]
    assert found
    assert found[0].kind == kind
    assert test in (None, found[0].event.test)
    assert found[0].event.runs == found[0].trials
    assert abs(found[0].event.on_dataset - found[0].event.on_neighbour) > 0.9 * found[0].trials
    assert found[0].lower > 1
    parameters, dataset, neighbour = found[0].values()
    assert parameters == {"epsilon": 1.0}
    assert abs(len(dataset) - len(neighbour)) == 1


def test_half_of_the_noise_is_a_finding_about_numbers(toy):
    result = scanned(toy, one(toy, "no_sensitivity"), trials=4000)
    (found, *_) = result.findings
    assert found.kind == "distribution"
    assert 1 < found.lower < 2
    assert found.event.test in ("above", "below")


def test_a_claim_that_holds_is_certified_close(toy):
    """More than half of what randomised response spends, on two thousand outputs."""
    result = scanned(toy, one(toy, "randomised_response"), trials=2000, confidence=0.95)
    assert result.findings == []
    line = next(each for each in result.checked if each.documented)
    assert line.verdict == "not refuted"
    assert 0.5 < line.lower < 1


def test_frozen_noise_says_which_pair_moves_most(toy):
    subject = one(toy, "laplace_sum")
    candidates = [each for each in make_subject_pairs(subject, 0, most=10) if each.setting == 0]
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        mechanism = Foreign(crew, file_of(toy.PACKAGE), "laplace_sum", {"epsilon": 1.0}, many=True)
        worth = frozen_noise(mechanism, candidates)
    moves = [abs(_sum(each.pair.dataset) - _sum(each.pair.neighbour)) for each in candidates]
    assert [each.moved for each in worth] == pytest.approx(moves)


def _sum(data):
    return sum(min(max(value, 0.0), 1.0) for value in data if value == value)


# What a relation is worth


def test_what_nobody_claims_is_information(toy):
    """Under replace-record no dataset becomes empty; under add-remove-record one does."""
    subject = toy.subject(
        "empty_raises", relation="replace-record", relations=("replace-record", ADDS[0])
    )
    result = scanned(toy, subject, trials=1000)
    assert result.findings == []
    assert [each.relation for each in result.information] == ["add-remove-record"]


ADDS = ("add-remove-record",)


def test_without_a_documented_relation_both_have_to_fall(toy):
    both = ("replace-record", "add-remove-record")
    silent = toy.subject("missing_shows", relation=None, relations=both)
    assert scanned(toy, silent, trials=1000).findings
    empty = toy.subject("empty_raises", relation=None, relations=both)
    result = scanned(toy, empty, trials=1000)
    assert result.findings == []
    assert result.information


def test_a_card_that_tries_one_relation_can_have_findings(toy):
    """What is refuted under the only relation is refuted under all; a documented one stays so."""
    silent = toy.subject("empty_raises", relation=None, relations=ADDS)
    result = scanned(toy, silent, trials=600)
    assert [each.subject for each in result.findings] == ["empty_raises"]
    assert result.information == []
    assert status_of(result.verdicts) == 1
    other = toy.subject("empty_raises", relation="replace-record", relations=ADDS)
    result = scanned(toy, other, trials=600)
    assert result.findings == []
    assert [each.relation for each in result.information] == list(ADDS)


def test_a_true_claim_without_a_relation_has_no_finding(toy):
    silent = toy.subject("laplace_sum", relation=None, relations=ADDS)
    result = scanned(toy, silent, trials=600)
    assert result.findings == result.information == []
    assert (result.withheld, status_of(result.verdicts)) == ({}, 0)


@pytest.mark.parametrize(
    ("verdicts", "relation", "withheld"),
    [
        (("not refuted", "withheld"), None, False),  # it stands under one: both would have to fall
        (("refuted", "withheld"), None, True),
        (("withheld", "withheld"), None, True),
        (("refuted", "not refuted"), None, False),
        (("not refuted", "withheld"), "replace-record", False),  # nobody claims the second
        (("withheld", "not refuted"), "replace-record", True),
    ],
)
def test_which_lines_withhold_the_verdict_on_a_subject(verdicts, relation, withheld):
    claimed = samples.CLAIMED.model_copy(update={"relation": relation})
    lines = [
        samples.checked("mean", one, verdict == "refuted").model_copy(
            update={
                "verdict": verdict,
                "claimed": claimed,
                "documented": one == relation,
                "why": "time was over" if verdict == "withheld" else "",
            }
        )
        for one, verdict in zip(("replace-record", *ADDS), verdicts, strict=True)
    ]
    found = samples.scan().model_copy(update={"checked": lines})
    assert found.withheld == ({"mean": "time was over"} if withheld else {})
    assert status_of(found.verdicts) == (2 if withheld else 0)


def test_a_withdrawn_finding_withholds_the_verdict(toy):
    result = scanned(toy, toy.subject("draws_once"), trials=300, seconds=20.0)
    assert result.findings == []
    assert set(result.withheld) == {"draws_once"}
    assert "differ from process to process" in result.withheld["draws_once"]


# What ends, hangs or fails


def test_a_process_that_ends_on_one_dataset_is_a_finding(toy):
    subject = toy.subject("ends", datasets=([0.0, 0.5],), nan=False)
    result = scanned(toy, subject, trials=100)
    assert result.findings
    assert "ProcessEnded" in result.findings[0].event.words
    assert result.findings[0].event.test == "raised"


def test_to_leave_the_program_on_one_dataset_is_a_finding(toy):
    subject = toy.subject("leaves", datasets=([0.0, 0.5],), nan=False)
    result = scanned(toy, subject, trials=100)
    assert "SystemExit" in result.findings[0].event.words


def test_answers_that_are_none_end_no_scan(toy):
    subjects = toy.subject("replaces_json"), one(toy, "empty_raises")
    result = scanned(toy, *subjects, trials=100, seconds=4.0)
    assert "sent what is no answer" in result.skipped["replaces_json"]
    assert [each.subject for each in result.findings] == ["empty_raises"]


def test_large_outputs_are_told_apart_by_their_checksums(toy):
    subject = toy.subject("large", datasets=([0.0, 0.5],), nan=False)
    result = scanned(toy, subject, trials=100, seconds=10.0)
    assert "checksum" in result.findings[0].event.words


@pytest.mark.slow
def test_a_call_that_hangs_ends_no_scan(toy):
    subject = toy.subject("hangs", datasets=([0.0, 0.5],), nan=False)
    result = scanned(toy, subject, one(toy, "laplace_sum"), trials=100, timeout=0.3, seconds=20)
    assert {each.subject for each in result.findings} == {"hangs"}
    assert any(each.subject == "laplace_sum" and each.lower is not None for each in result.checked)


def test_what_always_fails_is_not_run_and_says_why(toy):
    result = scanned(toy, toy.subject("fails"), toy.subject("not_there"))
    assert result.findings == []
    assert "TypeError: always" in result.skipped["fails"]
    assert "no_such_module" in result.skipped["not_there"]
    assert {each.verdict for each in result.checked} == {"withheld"}
    assert set(result.withheld) == {"fails", "not_there"}
    assert status_of(result.verdicts) == 2


# Time


@pytest.mark.parametrize("delay", [0.003, 0.5])
def test_a_scan_ends_in_its_time_and_says_what_it_did_not_reach(toy, delay):
    """Slow calls leave time to certify what is plain; those that are too slow are said."""
    given = {"parameters": ({"epsilon": 1.0, "delay": delay},) * 2}
    slow = [toy.subject("slow", **given), replace(toy.subject("slow", **given), name="again")]
    began = time.monotonic()
    result = scanned(toy, *slow, seconds=6.0)
    assert time.monotonic() - began < 6 + 4
    if delay < 0.1:
        assert {each.subject for each in result.findings} == {"slow", "again"}
    assert result.unreached or any("time" in why for why in result.skipped.values())


def test_what_is_found_nowhere_else_is_certified_first(toy):
    """The worst of each family under the claimed relation, then others, then settings."""
    claim = toy.subject("missing_shows").claims[0]
    weighed = [
        WeighedClaim(SubjectCandidate(setting, 0, None, relation, edit), claim, nats)
        for setting, relation, edit, nats in (
            (0, "add-remove-record", "one without a value", 50.0),
            (1, "add-remove-record", "one without a value", 49.0),
            (0, "replace-record", "one without a value", 60.0),
            (0, "add-remove-record", "one with another value", 4.0),
            (1, "add-remove-record", "one with another value", 0.0),
        )
    ]
    weighed = [one._replace(candidate=_Placed(one.candidate)) for one in weighed]
    ordered = [(one.candidate.relation[0], one.nats) for one in _worth_certifying(weighed)]
    assert ordered == [("a", 50.0), ("a", 4.0), ("r", 60.0), ("a", 49.0)]


class _Placed:
    """A candidate of a pair of many records."""

    def __init__(self, one):
        self.relation = one.relation
        self.family = "missing value" if "without" in one.edit else "new value"


def test_findings_that_are_not_reached_have_no_script_and_it_is_said(toy):
    result = scanned(toy, one(toy, "missing_shows"))
    shown = with_reproductions(result, toy.PACKAGE, seconds=0.0)
    assert shown.findings == result.findings
    assert "no time" in shown.notes[-1]


# The document and its arguments


def test_one_seed_gives_one_result_whoever_computes(toy):
    subjects = one(toy, "laplace_sum"), one(toy, "histogram")
    first, again = (
        scan_package(toy.package(*subjects), budget=ScanBudget(trials=500), workers=count)
        for count in (1, 2)
    )
    assert first.checked == again.checked


def test_expressions_give_the_values_again():
    for text in ("{'a': [float('nan'), (1, None)]}", "np.array([1, 2], dtype='int8')", "set()"):
        assert repr(value_of(text)) == repr(value_of(text))
    assert value_of("np.array([1.5, 2.0])").tolist() == [1.5, 2.0]
    assert np.isnan(value_of("float('nan')"))
    with pytest.raises(InvalidArgument):
        value_of("open('x')")


def test_the_card_is_found_as_anybody_elses(toy):
    assert PACKAGES.get("toy").subjects == toy.PACKAGE.subjects


def test_bad_names_are_refused(toy):
    with pytest.raises(UnknownName, match="subject"):
        select_subjects(toy.PACKAGE, ["nothing"])
    missing = toy.subject("nothing")
    with pytest.raises(InvalidArgument, match="a function that"):
        scanned(toy, missing)
