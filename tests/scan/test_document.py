"""The document of a scan: each number is of its own subject, claim, relation and setting."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.guarantees.kinds import PureDP
from dpaudit.scan import scan as scan_module
from dpaudit.scan.candidates.corners import CORNERS
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.certification.finite_numbers import count_finite_hits
from dpaudit.scan.certification.floating import CornerResult, FloatingRan, Gap, checks_of
from dpaudit.scan.evidence import _Reproducing
from dpaudit.scan.finding import (
    CarryingCounts,
    FailedSearch,
    PackageEnvironment,
    ScanResult,
    make_claimed_guarantee,
)
from dpaudit.scan.hypotheses import Hypothesis, Ran
from dpaudit.scan.scan import ScanBudget, _Scan, select_subjects

from .samples import finding
from .test_verdicts_of_subjects import ADDED, EVENT, REPLACED, certified_on, claim, subject

HERE = PackageEnvironment(python="3.11", isolated=False, requirements=[], versions={})


def document(*ran, confidence=0.99, seconds=1.234):
    place = SimpleNamespace(version="1")
    subjects = [one.subject for one in ran]
    made = scan_of(place, subjects, ScanBudget(confidence=confidence), seed=3)
    return made.summarise(ran, seconds)


def scan_of(place, subjects, budget, *, seed=0, workers=1, progress=None):
    return _Scan(
        package=SimpleNamespace(name="toy", distribution="toy", home=""),
        place=place,
        environment=HERE,
        subjects=subjects,
        budget=budget,
        seed=seed,
        workers=workers,
        progress=progress,
        guide=None,
    )


def ran_of(one, *tested, **given):
    floating = given.pop("floating", FloatingRan())
    made = Ran(one, tested=list(tested), **given)
    made.floating = floating
    return made


def test_checks_are_counted_over_all_subjects_that_ran():
    of, settings = claim(ADDED), ({"a": 1}, {"a": 2})
    first = ran_of(
        replace(subject(of), parameters=settings, additive=True), certified_on(of),
        pairs=5, first=4, second=3, drawn={ADDED: 100, REPLACED: 20},
        floating=FloatingRan([looked(of), looked(of)], drawn=7),
    )  # fmt: skip
    second = ran_of(subject(of), pairs=2, first=1, second=1, drawn={ADDED: 3})
    failed = ran_of(replace(subject(of), parameters=settings), why="it raised", drawn={ADDED: 1})
    found = document(first, second, failed)
    assert found.checks == {
        "subjects": 2,
        "settings": 3,
        "pairs": 7,
        "first looks": 5,
        "second looks": 4,
        "certifications": 1,
        "corners of numbers": 2,
        "outputs": 131,
    }
    assert found.skipped == {"sum": "it raised"}
    assert (found.seed, found.repeats, found.seconds) == (3, False, 1.2)
    assert found.certainty.confidence == 0.99


def looked(of, *, refuted=False, lower=0.5, claimed=1.0, corner=0, relation=ADDED, setting=0):
    candidate = replace_candidate(of, relation, setting)
    result = CertifiedBound(refuted, lower, claimed, 0.0, 50, 300, EVENT, "distribution",
                       tested=CarryingCounts.of((9, 0), 9, True, 0.0, 0.1))  # fmt: skip
    return CornerResult(CORNERS[corner], candidate, of, result)


def replace_candidate(of, relation, setting):
    return certified_on(of, relation, setting=setting).candidate


def test_violations_are_findings_and_the_rest_is_information():
    of = claim(ADDED)
    one = replace(subject(of), relations=(ADDED, REPLACED))
    found = document(ran_of(one, certified_on(of, ADDED)), ran_of(one, certified_on(of, REPLACED)))
    assert [each.relation for each in found.findings] == [ADDED]
    assert [each.relation for each in found.information] == [REPLACED]
    assert found.verdicts.count("refuted") == 1


def test_a_finding_has_the_numbers_of_its_own_certification():
    of = claim(ADDED, epsilon="epsilon")
    one = replace(subject(of), parameters=({"epsilon": 1.0}, {"epsilon": 0.25}))
    mild, worst = certified_on(of, lower=2.0), certified_on(of, lower=2.5, setting=1)
    (found,) = document(ran_of(one, mild, worst), confidence=0.97).findings
    assert (found.lower, found.at_delta, found.trials) == (2.5, 0.0, 9)
    assert found.confidence == 0.97
    assert found.claimed.epsilon == 0.25
    assert found.parameters == "{'epsilon': 0.25}"
    assert found.also == [f"{ADDED}: {{'epsilon': 1.0}}"]
    assert (found.dataset, found.neighbour) == ("[1.0]", "[]")
    assert found.tested == worst.result.tested
    assert "epsilon is at least 2.5 at delta 0, where 1 is claimed." in found.sentence
    counted = "it is 1 in 9 of 9 outputs on the dataset and in 0 of 9 on its neighbour"
    assert counted in found.sentence


def test_a_sentence_never_rounds_a_bound_up():
    of = claim(ADDED)
    (found,) = document(ran_of(subject(of), certified_on(of, lower=2.34599))).findings
    assert "at least 2.345 at" in found.sentence


def test_a_finding_of_numbers_is_of_that_kind_with_the_remedy_of_its_corner():
    of = claim(ADDED)
    one = replace(subject(of), additive=True)
    two = [looked(of, refuted=True, lower=3.0, corner=n) for n in (0, 1)]
    found = document(ran_of(one, floating=FloatingRan([*two, looked(of, corner=2)]))).findings
    assert [each.kind for each in found] == ["floating point"] * 2
    assert [each.remedy for each in found] == [CORNERS[0].remedy, CORNERS[1].remedy]


def test_a_line_is_of_its_claim_and_relation_with_what_was_drawn_there():
    one, other = claim(ADDED), claim(None, epsilon=0.5)
    both = replace(subject(one, other), relations=(ADDED, REPLACED))
    ran = ran_of(
        both,
        certified_on(one, ADDED, refuted=False, lower=0.5),
        certified_on(one, ADDED, refuted=False, lower=0.75),
        certified_on(other, REPLACED, lower=3.0),
        drawn={ADDED: 100, REPLACED: 20},
    )
    lines = {(line.relation, line.claimed.epsilon): line for line in document(ran).checked}
    assert {key: (one.verdict, one.lower, one.runs) for key, one in lines.items()} == {
        (ADDED, 1.0): ("not refuted", 0.75, 100),
        (ADDED, 0.5): ("withheld", None, 100),
        (REPLACED, 1.0): ("withheld", None, 20),
        (REPLACED, 0.5): ("refuted", 3.0, 20),
    }
    assert [one.documented for one in lines.values()] == [True, False, False, False]
    assert [one.counts for one in lines.values()] == [True, True, False, True]


def test_notes_and_what_was_not_reached_name_their_subject():
    one = ran_of(subject(claim()), notes=["worse"], unreached=["time"])
    found = document(one)
    assert (found.notes, found.unreached) == (["sum: worse"], ["sum: time"])
    assert found.failed_searches == []


def test_a_search_that_failed_stands_in_the_document_with_its_words():
    failed = FailedSearch(subject="sum", setting=2, why="its process ended")
    found = document(ran_of(subject(claim()), notes=["worse"], failed_searches=[failed]))
    assert found.failed_searches == [failed]
    said = "sum: the search for pairs of setting 2 failed: its process ended"
    assert found.remarks == [said, "sum: worse"]
    assert ScanResult.model_validate_json(found.model_dump_json()).failed_searches == [failed]


def test_numbers_of_what_could_not_run_or_is_not_additive_have_no_line():
    plain = subject(claim(ADDED))
    additive = replace(plain, additive=True, relations=(ADDED,))
    assert document(ran_of(plain)).floating == []
    assert document(ran_of(additive, why="it raised")).floating == []
    assert len(document(ran_of(additive)).floating) == len(CORNERS)


# Corners


def test_a_line_of_a_corner_is_of_its_corner_claim_and_relation():
    one, other = claim(ADDED), claim(ADDED, epsilon=2.0)
    both = replace(subject(one, other), relations=(ADDED, REPLACED), additive=True)
    tested = [
        looked(one, lower=0.25),
        looked(one, lower=0.5, setting=1),
        looked(one, lower=0.375, setting=1),
        looked(other, lower=1.5, claimed=2.0),
        looked(one, relation=REPLACED, refuted=True, lower=3.0),
        looked(one, corner=1, lower=0.75),
    ]
    gaps = [Gap(CORNERS[2], ADDED, one, "no time", has_numbers=True)]
    lines = {
        (line.corner, line.relation, number % 2): line
        for number, line in enumerate(checks_of(both, FloatingRan(tested, gaps)))
    }
    bits, ties, small = (each.name for each in CORNERS[:3])
    first = lines[bits, ADDED, 0]
    assert (first.lower, first.settings, first.runs, first.documented) == (0.5, 2, 900, True)
    assert (lines[bits, ADDED, 1].lower, lines[bits, ADDED, 1].claimed) == (1.5, 2.0)
    assert (lines[bits, REPLACED, 0].verdict, lines[bits, REPLACED, 0].documented) == (
        "refuted",
        False,
    )
    assert (lines[ties, ADDED, 0].lower, lines[ties, ADDED, 1].verdict) == (0.75, None)
    assert (lines[small, ADDED, 0].verdict, lines[small, ADDED, 0].why) == ("withheld", "no time")
    assert lines[small, REPLACED, 0].verdict is None


def test_what_is_no_finite_number_is_in_no_event():
    def score(rows):
        return rows[:, 0]

    seen = [np.array([2.0]), np.array([np.nan]), np.array([2, 3]), np.array([[2.0]]), 7, "x",
            np.array([np.inf]), np.array([0.5])]  # fmt: skip
    assert count_finite_hits(seen, score, ThresholdEvent(True, 1.0, 0.0), (1,)) == 1
    assert count_finite_hits(seen, score, ThresholdEvent(False, 1.0, 0.0), (1,)) == 1
    assert count_finite_hits(seen[1:3], score, ThresholdEvent(True, 1.0, 0.0), (1,)) == 0


# Claims, names, shares of time


@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
@pytest.mark.parametrize("complement", [False, True])
def test_counts_carry_their_bound_for_the_side_they_favour(favours, complement):
    """Whatever its words are of, a test is of the counts as they stand."""
    hits = (90, 3) if favours == "dataset" else (3, 90)
    counts = CarryingCounts.of(hits, 100, favours == "dataset", 0.01, 1e-3)
    expected = joint_lower_bound(90, 3, 100, 100, delta=0.01, alpha=1e-3)
    told = counts.model_copy(update={"complement": complement})
    assert told.recomputed() == counts.lower == expected > 1


@pytest.mark.parametrize(
    ("seconds", "used", "left"), [(100.0, 60.0, 40.0), (100.0, 99.5, 2.0), (100.0, 140.0, 2.0)]
)
def test_corners_have_the_time_that_ordinary_pairs_left(monkeypatch, seconds, used, left):
    given = {}

    class Looks:
        def __init__(self, subject, seconds, **_):
            given["looking"], self.subject = seconds, subject

        def run(self):
            return Ran(self.subject, seconds=used)

    class Corners:
        def __init__(self, seconds, **_):
            given["left"] = seconds

        def run(self):
            return FloatingRan()

    crew = SimpleNamespace(by=lambda until: contextlib.nullcontext())
    monkeypatch.setattr(scan_module, "SubjectScan", Looks)
    monkeypatch.setattr(scan_module, "FloatingScan", Corners)
    monkeypatch.setattr(scan_module, "make_subject_pairs", lambda *_, **__: [])
    monkeypatch.setattr(scan_module, "file_of", lambda _: "file")
    monkeypatch.setattr(scan_module, "arguments_of", lambda *_: ("data",))
    monkeypatch.setattr(_Scan, "_crew", lambda *_: crew)
    one = replace(subject(claim(ADDED)), additive=True)
    scan_of(None, [one], ScanBudget())._one(one, seconds, 1e9)
    assert given == {"looking": pytest.approx(70.0), "left": pytest.approx(left)}


@pytest.mark.parametrize(
    ("given", "words", "numbers"),
    [
        ({"epsilon": 2.0}, "2-DP", {"epsilon": 2.0, "delta": 0.0}),
        ({"epsilon": 2.0, "delta": 1e-5}, "(2, 1e-05)-DP", {"epsilon": 2.0, "delta": 1e-5}),
        ({"rho": 0.5}, "0.5-zCDP", {"rho": 0.5}),
        ({"mu": 1.5}, "1.5-GDP", {"mu": 1.5}),
        ({"epsilon": 0.5, "order": 8.0}, "(8, 0.5)-RDP", {"order": 8.0, "epsilon": 0.5}),
    ],
)
def test_a_claim_is_said_in_its_own_currency(given, words, numbers):
    found = make_claimed_guarantee(PackageClaim(where="there", relation=ADDED, **given), {})
    assert (found.words, found.relation, found.where) == (words, ADDED, "there")
    said = found.model_dump(exclude_none=True, include={"epsilon", "delta", "rho", "mu", "order"})
    assert said == numbers
    assert PureDP(2.0) == PackageClaim(epsilon=2.0, where="there").guarantee({})


def test_a_name_chooses_itself_and_what_it_begins_up_to_a_dot():
    names = ("models", "models.PCA", "modelsPCA", "models.PCA.fit", "tools")
    card = SimpleNamespace(
        subjects=tuple(Subject(name=one, code="f", claims=(claim(),)) for one in names)
    )
    for asked, expected in (
        (["models"], names[:2] + names[3:4]),
        (["models.PCA"], (names[1], names[3])),
        (["tools", "modelsPCA"], (names[2], names[4])),
        ([], names),
    ):
        assert tuple(one.name for one in select_subjects(card, asked)) == expected


@pytest.mark.parametrize(("workers", "shares"), [(1, [25.0, 33.0, 50.0, 100.0]), (2, None)])
def test_subjects_share_the_time_that_is_left(monkeypatch, workers, shares):
    of = claim()
    subjects = [replace(subject(of), name=str(n)) for n in range(4)]
    given = []
    monkeypatch.setattr(_Scan, "_one", lambda _, one, seconds, until: given.append(seconds))
    monkeypatch.setattr(scan_module.time, "monotonic", lambda: 5.0)
    progress = SimpleNamespace(start=lambda *_: None, advance=lambda _: None)
    budget = ScanBudget(seconds=100.0)
    scan_of(None, subjects, budget, workers=workers, progress=progress).all()
    expected = [25.0, 100 / 3, 50.0, 100.0] if shares else [50.0, 200 / 3, 100.0, 100.0]
    assert sorted(given) == pytest.approx(expected)


def test_a_finding_that_there_is_no_time_for_is_not_begun(monkeypatch):
    began = []
    monkeypatch.setattr(
        "dpaudit.scan.evidence.find_smallest_reproduction",
        lambda *_, seconds: began.append(seconds),
    )
    run = _Reproducing({"tools.alpha": None}, None, 0.0, 1)
    assert run._one(finding("tools.alpha"), 0.99) == finding("tools.alpha")
    assert began == []
    run._one(finding("tools.alpha"), 1.0)
    assert began == [1.0]
    assert isinstance(Hypothesis(None, None, None), tuple)
