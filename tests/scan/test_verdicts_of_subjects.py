"""What a scan concludes of a subject from what was certified, with nothing drawn."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.scan.candidates.pairs import FAMILIES
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.certification.floating import count_floating_hypotheses as floating_hypotheses
from dpaudit.scan.finding import (
    CarryingCounts,
    ClaimCheck,
    ClaimedGuarantee,
    FloatingCheck,
    SeenEvent,
    withheld_subjects,
)
from dpaudit.scan.hypotheses import Hypothesis, Ran, count_hypotheses
from dpaudit.scan.publication.worst_words import find_refuted_relations, is_refuted_at
from dpaudit.scan.scan import ScanBudget, _judge_tested_claim, _Scan

ADDED, REPLACED = "add-remove-record", "replace-record"
EVENT = SeenEvent(words="it is 1", part="output", test="equals", value=1.0, on_dataset=9,
                  on_neighbour=0, runs=9)  # fmt: skip


def claim(relation=None, epsilon=1.0):
    return PackageClaim(where="its page", relation=relation, epsilon=epsilon)


def subject(*claims, **given):
    return Subject(name="sum", code="f", claims=claims, datasets=([0.0, 1.0],), **given)


def certified_on(
    of, relation=ADDED, *, refuted=True, lower=2.0, kept=False, why="", setting=0, **given
):
    candidate = SimpleNamespace(
        relation=relation, setting=setting, family=given.get("family", "ordinary"), edit="one less",
        pair=SimpleNamespace(dataset=[1.0], neighbour=[]),
    )  # fmt: skip
    counts = CarryingCounts.of((9, 0), 9, True, 0.0, 0.1)
    result = CertifiedBound(
        refuted, lower, 1.0, 0.0, 9, 18, EVENT, "distribution", kept, counts, why
    )
    return Hypothesis(candidate, of, result)


def scanned(*subjects, confidence=0.99):
    package = SimpleNamespace(name="toy", distribution="toy", home="")
    place = SimpleNamespace(version="1")
    budget = ScanBudget(confidence=confidence)
    return _Scan(
        package=package,
        place=place,
        environment=None,
        subjects=subjects,
        budget=budget,
        seed=0,
        workers=1,
        progress=None,
        guide=None,
    )


# Verdicts


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([], "withheld"),
        ([{"refuted": False}], "not refuted"),
        ([{"refuted": True}], "refuted"),
        ([{"refuted": False, "kept": True, "why": "it is kept"}], "withheld"),
        ([{"refuted": False, "kept": True}, {"refuted": True}], "refuted"),
        ([{"refuted": False}, {"refuted": False, "kept": True}], "withheld"),
    ],
)
def test_a_verdict_is_that_of_the_gravest_certification(given, verdict):
    of = claim()
    found, why = _judge_tested_claim([certified_on(of, **one) for one in given], Ran(subject(of)))
    assert found == verdict
    if given and given[0].get("why"):
        assert why == "it is kept"


def test_what_was_not_reached_is_withheld_with_its_reason():
    ran = Ran(subject(claim()), why="it raised")
    assert _judge_tested_claim([], ran) == ("withheld", "it raised")


# Findings


def findings(of, hypotheses_, relations=(ADDED, REPLACED), claims=None, **given):
    one = subject(*(claims or (of,)), relations=relations, **given)
    return list(scanned(one)._findings(Ran(one, tested=list(hypotheses_))))


@pytest.mark.parametrize(
    ("claimed", "under", "violations"),
    [
        (ADDED, [ADDED], [True]),
        (ADDED, [REPLACED], [False]),
        (ADDED, [REPLACED, ADDED], [True]),
        (None, [ADDED], [False]),
        (None, [REPLACED], [False]),
        (None, [ADDED, REPLACED], [True]),
    ],
)
def test_a_violation_is_refuted_as_claimed_or_under_all_that_are_tried(claimed, under, violations):
    of = claim(claimed)
    found = findings(of, [certified_on(of, relation) for relation in under])
    assert [one.violation for one in found] == violations


def test_a_card_that_tries_one_relation_has_violations():
    of = claim()
    (found,) = findings(of, [certified_on(of, REPLACED)], relations=(REPLACED,))
    assert found.violation


def test_what_is_not_refuted_is_no_finding():
    of = claim(ADDED)
    assert findings(of, [certified_on(of, refuted=False)]) == []


def test_each_claim_and_family_has_its_finding_of_the_worst_pair():
    one, other = claim(ADDED), claim(ADDED, epsilon=0.5)
    found = findings(
        one,
        [
            certified_on(one, lower=2.0),
            certified_on(one, lower=3.0),
            certified_on(one, REPLACED, lower=9.0),
            certified_on(one, lower=4.0, family="new value"),
            certified_on(other, lower=5.0),
        ],
        claims=(one, other),
    )
    assert [one.lower for one in found] == [3.0, 4.0, 5.0]
    assert [one.relation for one in found] == [ADDED] * 3
    assert [len(one.also) for one in found] == [2, 0, 0]
    assert [one.claimed.epsilon for one in found] == [1.0, 1.0, 0.5]


def test_relations_are_counted_for_the_claim_itself_and_from_digits_too():
    one, other = claim(), claim()
    ran = Ran(subject(one, other, relations=(ADDED, REPLACED)), tested=[certified_on(one, ADDED)])
    ran.floating.tested.append((None, *certified_on(one, REPLACED)))
    assert find_refuted_relations(ran, one) == {ADDED, REPLACED}
    assert find_refuted_relations(ran, other) == set()
    ran.floating.tested[0] = (None, *certified_on(one, REPLACED, refuted=False))
    assert find_refuted_relations(ran, one) == {ADDED}


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({}, True),
        ({"refuted": False}, False),
        ({"setting": 1}, False),
        ({"relation": REPLACED}, False),
        ({"family": "missing value"}, False),
        ({"family": "new value"}, True),
    ],
)
def test_what_ordinary_records_refuted_is_not_looked_for_in_digits(given, known):
    of = claim()
    ran = Ran(subject(of), tested=[certified_on(of, **given)])
    assert is_refuted_at(ran, 0, ADDED, of) is known
    assert not is_refuted_at(ran, 0, ADDED, claim())


# One error probability


def test_an_error_probability_is_shared_out_among_all_hypotheses_of_all_subjects():
    one = subject(claim(), claim(), relations=(ADDED, REPLACED), parameters=({"a": 1}, {"a": 2}))
    assert count_hypotheses(one) == 2 * 2 * 2 * len(FAMILIES)
    assert scanned(one, one).total == 2 * count_hypotheses(one)
    additive = subject(claim(), relations=(ADDED,), additive=True, bounds=(0.0, 1.0))
    assert scanned(one, additive).total == (
        count_hypotheses(one) + count_hypotheses(additive) + floating_hypotheses(additive)
    )
    assert floating_hypotheses(additive) > 0 == floating_hypotheses(one)
    words = scanned(one, confidence=0.9)._certainty().words
    assert "0.1 " in words
    assert f"among {count_hypotheses(one)} hypotheses" in words


# Subjects without a verdict


def line(verdict, relation=ADDED, claimed=ADDED, name="sum", why="no time"):
    guarantee = ClaimedGuarantee(words="1-DP", relation=claimed, where="here", epsilon=1.0)
    return ClaimCheck(
        subject=name, relation=relation, claimed=guarantee, documented=claimed == relation,
        verdict=verdict, settings=1, pairs=1, runs=9, why=why if verdict == "withheld" else "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "withheld"),
    [
        ([line("withheld")], True),
        ([line("refuted")], False),
        ([line("not refuted"), line("withheld", REPLACED)], False),
        ([line("withheld"), line("not refuted", REPLACED)], True),
        ([line("not refuted", claimed=None), line("withheld", REPLACED, None)], False),
        ([line("withheld", claimed=None), line("withheld", REPLACED, None)], True),
        ([line("refuted", claimed=None), line("withheld", REPLACED, None)], True),
        ([line("not refuted"), line("withheld")], True),  # of two claims one has none
    ],
)
def test_a_subject_is_withheld_where_a_claim_of_it_has_no_verdict(lines, withheld):
    assert withheld_subjects(lines, [], {}) == ({"sum": "no time"} if withheld else {})


def corner(verdict, *, documented=True, name="sum"):
    return FloatingCheck(
        subject=name, corner="bits", relation=ADDED, documented=documented, verdict=verdict,
        settings=1, runs=9, why="no time" if verdict == "withheld" else "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("corners", "withheld"),
    [
        ([corner("withheld")], True),
        ([corner("not refuted")], False),
        ([corner(None)], False),
        ([corner("withheld", documented=False), corner("not refuted")], False),
        ([corner("withheld", documented=False)], True),
    ],
)
def test_a_corner_of_numbers_withholds_a_subject_too(corners, withheld):
    assert withheld_subjects([line("not refuted")], corners, {}) == (
        {"sum": "no time"} if withheld else {}
    )
    skipped = withheld_subjects([], corners, {"other": "it raised"})
    assert skipped["other"] == "it raised"
