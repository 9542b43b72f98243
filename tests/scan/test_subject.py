"""How a subject is looked at: which pairs go ahead, on how many outputs, and what is said of it."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.scan.hypotheses as hypotheses
import dpaudit.scan.subject as looks
from dpaudit.execution.failures import DrawTimeout, WorkerEnded
from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.scan.candidates.pairs import SubjectCandidate
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.hypotheses import WeighedClaim
from dpaudit.scan.remote.guide import Glimpse
from dpaudit.scan.subject import SubjectScan, _find_call_failure, _in_turn, _worth_certifying

ADDED, REPLACED = "add-remove-record", "replace-record"
PAIR = Pair(np.zeros(3), np.array([0.0, 0.0, 1.0]), REPLACE_RECORD)
CLAIM = PackageClaim(epsilon="epsilon", relation=REPLACED, where="it")


def candidate(setting=0, relation=REPLACED, edit="one", given=None, group=0, stated=False):
    return SubjectCandidate(setting, group, PAIR, relation, edit, stated, given)


@dataclass(frozen=True)
class Local:
    """A mechanism that nothing is drawn from."""

    crew: object
    alone: bool = False


def scan_of(*claims, epsilons=(1.0,), seconds=100.0, trials=10_000, seed=0, **given):
    subject = Subject(
        name="sum",
        code="f",
        claims=claims or (CLAIM,),
        datasets=([0.0],),
        parameters=tuple({"epsilon": one} for one in epsilons),
        **given,
    )
    return SubjectScan(subject, lambda _: Local(object()), seed, trials, 0.01, seconds)


# How many outputs


@pytest.mark.parametrize(
    ("pace", "pairs", "count"),
    [(0.0, 3, 200), (0.04, 2, 200), (0.11, 2, 90), (0.11, 4, 45), (10.0, 2, 24)],
)
def test_a_second_look_takes_what_its_share_of_the_time_allows(pace, pairs, count):
    """Thirty of a hundred seconds, shared by the pairs: one and a half times an output's."""
    scan = scan_of()
    scan._pace[0] = pace
    assert scan._affordable(0, pairs) == count


def test_where_each_output_has_a_request_of_its_own_a_second_look_takes_few():
    scan = scan_of()
    scan._mechanisms[0] = Local(object(), alone=True)
    assert scan._affordable(0, 1) == looks.ALONE == 4


@pytest.mark.parametrize(
    ("pace", "waiting", "clear", "sizes"),
    [
        (0.001, 1, False, (2000, 10_000)),  # all there is time for, at most as many as asked for
        (0.001, 1, True, (200, 10_000)),
        (0.01, 1, False, (1250, 2500)),  # a quarter of the time, as it is the only one
        (0.01, 1, True, (200, 2500)),
        (0.01, 2, False, (625, 1250)),
        (0.01, 20, False, (500, 1000)),  # at least a tenth
        (0.1, 20, True, (40, 120)),  # enough for what is always so
        (100.0, 1, False, (60, 120)),
    ],
)
def test_counting_takes_a_share_of_the_time_that_is_left(monkeypatch, pace, waiting, clear, sizes):
    now = time.monotonic()
    monkeypatch.setattr(looks.time, "monotonic", lambda: now)
    scan = scan_of()
    scan._pace[0] = pace
    assert scan._sizes(0, clear=clear, waiting=waiting) == sizes


@pytest.mark.parametrize(("own", "asked", "counting"), [(None, 300, 300), (200, 300, 200)])
def test_a_card_may_ask_for_fewer_certifying_outputs_than_the_scan(own, asked, counting):
    scan = scan_of(trials=asked)
    scan.subject = replace(scan.subject, trials=own)
    assert scan._sizes(0, clear=False, waiting=1).counting == counting


# Which pairs go ahead


def test_of_each_setting_relation_and_family_those_that_differ_most_go_ahead():
    groups = [
        [candidate(edit=str(n)) for n in range(4)],
        [candidate(1, edit=str(n)) for n in range(3)],
        [candidate(relation=ADDED, edit=str(n)) for n in range(3)],
        [candidate(given="new value", edit=str(n)) for n in range(3)],
    ]
    looked = [(one, float(n)) for group in groups for n, one in enumerate(group)]
    kept = scan_of(epsilons=(1.0, 2.0))._select_pairs_ahead(looked)
    assert {id(one) for one in kept} == {id(one) for group in groups for one in group[-2:]}
    assert looks.AHEAD == 2


def test_one_pair_of_the_card_is_among_them_however_little_it_differs():
    made = [candidate(edit=str(n)) for n in range(3)]
    stated = [candidate(edit="stated", stated=True), candidate(edit="also", stated=True)]
    looked = [*((one, 5.0 + n) for n, one in enumerate(made)), (stated[0], 2.0), (stated[1], 1.0)]
    kept = scan_of()._select_pairs_ahead(looked)
    assert [one.edit for one in kept] == ["2", "1", "stated"]
    looked[3] = (stated[0], 9.0)
    assert [one.edit for one in scan_of()._select_pairs_ahead(looked)] == ["stated", "2", "also"]


@pytest.mark.parametrize(
    ("moved", "edits"),
    [
        ((0.0, 0.0, 0.0, 0.0), ["3", "2"]),
        ((7.0, 0.0, 1.0, 0.0), ["3", "2", "0"]),
        ((7.0, 0.0, 7.0, 0.0), ["3", "2"]),  # one that goes ahead anyway moves as far
        ((0.0, 0.0, 0.0, 9.0), ["3", "2"]),
    ],
)
def test_a_guide_adds_the_pair_that_moves_farthest_where_no_other_moves_as_far(moved, edits):
    some = [candidate(edit=str(n)) for n in range(4)]
    scan = scan_of()
    scan.guide = lambda mechanism, given: [Glimpse(moved[some.index(one)]) for one in given]
    scan.aside = SimpleNamespace(by=lambda until: contextlib.nullcontext())
    scan._crew = scan.aside
    assert [
        one.edit
        for one in scan._select_pairs_ahead([(one, float(n)) for n, one in enumerate(some)])
    ] == (edits)


@pytest.mark.parametrize(
    ("declared", "claimed", "noted"),
    [((1.5,), 1.0, True), ((1.0,), 1.0, False), ((0.4, 1.6), 1.5, True), ((1.4, 0.0), 1.5, False)],
)
def test_mechanisms_that_declare_more_than_the_claim_are_noted_once(declared, claimed, noted):
    scan = scan_of(epsilons=(claimed, claimed))
    for setting in (0, 1):
        scan._compare_budgets(setting, max(declared))
    assert scan.ran.declares_more is noted
    assert len(scan.ran.notes) == noted
    if noted:
        assert f"epsilon of {max(declared):.4g} together, where {claimed:g}" in scan.ran.notes[0]


class _Search:
    """A search that ends as it is told to, in the place of `Ascent`."""

    error = None

    def __init__(self, setting, **_):
        self.setting = setting

    def climbed(self):
        if self.setting == 1:
            raise self.error
        yield f"found in {self.setting}"


@pytest.mark.parametrize(
    ("error", "failed"),
    [(WorkerEnded("was ended by SIGKILL"), True), (DrawTimeout("its share is over"), False)],
)
def test_a_search_that_fails_is_told_and_the_others_go_on(monkeypatch, error, failed):
    monkeypatch.setattr(looks, "Ascent", _Search)
    monkeypatch.setattr(_Search, "error", error)
    scan = scan_of(epsilons=(1.0, 2.0, 3.0))
    scan._mechanisms = [Local(object())] * 3
    scan._pace = dict.fromkeys(range(3), 1e-3)
    scan.guide = lambda *_: []
    scan.aside = SimpleNamespace(by=lambda until: contextlib.nullcontext())
    scan._crew = scan.aside
    assert list(scan._searched()) == ["found in 0", "found in 2"]
    told = [(one.subject, one.setting, one.why) for one in scan.ran.failed_searches]
    assert told == ([("sum", 1, "was ended by SIGKILL")] if failed else [])


def test_a_setting_and_relation_are_tried_in_turn():
    some = [candidate(n, relation) for n in (0, 0, 1) for relation in (ADDED, REPLACED)]
    ordered = [(one.setting, one.relation) for one in _in_turn(some)]
    assert ordered == [
        (0, ADDED),
        (0, REPLACED),
        (1, ADDED),
        (1, REPLACED),
        (0, ADDED),
        (0, REPLACED),
    ]


# What is certified


def weighed(nats, claim=CLAIM, **given):
    return WeighedClaim(candidate(**given), claim, nats)


def test_what_speaks_against_a_claim_is_certified_and_the_worst_of_each_anyway():
    other = replace(CLAIM, epsilon=9.0)
    some = [
        weighed(looks.WORTH, given="new value"),
        weighed(looks.WORTH - 1e-9, given="missing value"),
        weighed(5.0),
        weighed(0.0, other),
        weighed(0.5, other, given="new value"),
        weighed(0.0, relation=ADDED),
    ]
    kept = _worth_certifying(some)
    assert {id(one) for one in kept} == {id(some[n]) for n in (0, 2, 4, 5)}
    assert kept[-1] is some[5]  # of a relation that nobody claims


@pytest.mark.parametrize("relation", [None, REPLACED, ADDED])
def test_a_relation_that_is_claimed_or_may_be_comes_before_one_that_is_not(relation):
    claim = replace(CLAIM, relation=relation)
    some = [weighed(4.0, claim, relation=ADDED), weighed(9.0, claim, relation=REPLACED)]
    expected = [4.0, 9.0] if relation == ADDED else [9.0, 4.0]
    assert [one.nats for one in _worth_certifying(some)] == expected


def found(kept=False):
    why = "it is kept" if kept else ""
    return CertifiedBound(False, 0.2, 1.0, 0.0, 100, 300, kept=kept, why=why)


@pytest.fixture
def certifying(monkeypatch):
    """Return what is certified, of which nothing is drawn."""
    seen = []

    def certified(mechanism, pair, guarantee, sizes, alpha, seed, until):
        seen.append((guarantee, alpha, seed, sizes))
        return found(kept=len(seen) == 2)

    monkeypatch.setattr(looks, "certify_claim", certified)
    return seen


def test_each_hypothesis_is_certified_once_on_its_worst_pair_with_its_alpha(certifying):
    scan = scan_of(epsilons=(1.0, 2.0))
    scan._certify(
        [
            weighed(4.0, edit="mild"),
            weighed(8.0, edit="worst"),
            weighed(6.0, edit="late"),
            weighed(5.0, setting=1),
            weighed(7.0, given="new value"),
        ]
    )
    tested = {(one.candidate.setting, one.candidate.edit): one for one in scan.ran.tested}
    assert len(scan.ran.tested) == 3
    assert (0, "worst") in tested
    assert {alpha for _, alpha, _, _ in certifying} == {0.01}
    assert len({seed for _, _, seed, _ in certifying}) == 3
    assert sorted(one.at_epsilon for one, *_ in certifying) == [1.0, 1.0, 2.0]
    assert scan.ran.drawn == {REPLACED: 900}
    assert scan.ran.notes == ["it is kept"]


def test_claims_and_pairs_have_outputs_of_their_own(certifying):
    """Seeds differ by subject, setting, group, relation, edit and claim."""
    other = replace(CLAIM, epsilon=2.0)
    scan = scan_of(CLAIM, other, epsilons=(1.0, 1.0))
    for given in ({}, {"setting": 1}, {"group": 1}, {"relation": ADDED}, {"edit": "two"}):
        for claim in (CLAIM, other):
            scan._certify_one(candidate(**given), claim, clear=False, waiting=1)
    assert len({seed for _, _, seed, _ in certifying}) == 10
    again = len(certifying)
    scan._certify_one(candidate(), CLAIM, clear=False, waiting=1)
    assert certifying[again][2] == certifying[0][2]
    moved = scan_of(CLAIM, other, seed=1)
    moved._certify_one(candidate(), CLAIM, clear=False, waiting=1)
    assert certifying[-1][2] != certifying[0][2]


@pytest.mark.parametrize(("nats", "clear"), [(15.0, False), (15.1, True)])
def test_what_is_clear_takes_few_outputs_to_choose_events(certifying, nats, clear):
    scan = scan_of(seconds=1e9)
    scan._certify([weighed(nats)])
    ((_, _, _, sizes),) = certifying
    assert sizes.choosing == (200 if clear else 2000)


def test_what_there_is_no_time_for_is_said_and_that_it_looked_worse_is_noted(monkeypatch):
    def certified(*_):
        raise DrawTimeout("over")

    monkeypatch.setattr(looks, "certify_claim", certified)
    scan = scan_of(epsilons=(1.0, 2.0, 3.0))
    scan._certify([weighed(9.0), weighed(3.0, setting=1), weighed(3.5, setting=2)])
    assert scan.ran.unreached == ["3 hypotheses were not certified: time"]
    assert scan.ran.notes == ["3 of the uncertified ones looked worse than the claim"]
    mild = scan_of()
    mild._certify([weighed(2.9)])
    assert (len(mild.ran.unreached), mild.ran.notes) == (1, [])


# Looks


def looking(monkeypatch, outputs, **given):
    scan = scan_of(**given)
    monkeypatch.setattr(SubjectScan, "_looked_at", lambda _, one, *more, **kw: outputs(one))
    return scan


def test_where_every_call_fails_alike_nothing_is_certified_and_it_is_said(monkeypatch):
    scan = looking(monkeypatch, lambda one: ([ValueError("no records")],) * 2)
    assert scan._first_looks([candidate(), candidate(1)]) == []
    assert scan.ran.why == "every call failed: ValueError: no records"


@pytest.mark.parametrize(
    "sides",
    [
        ([ValueError("a")], [1.0]),
        ([ValueError("a")], [KeyError("a")]),
        ([1.0, ValueError("a")], [ValueError("a")]),
    ],
)
def test_a_failure_of_some_calls_or_of_another_kind_is_an_outcome(monkeypatch, sides):
    scan = looking(monkeypatch, lambda one: sides)
    looked = scan._first_looks([candidate()])
    assert scan.ran.why == ""
    assert looked[0][1] > 0
    assert scan.ran.first == 1


def test_pairs_that_there_was_no_time_to_look_at_are_counted(monkeypatch):
    some = [candidate(edit=str(n)) for n in range(5)]
    scan = looking(monkeypatch, lambda one: None if one.edit == "2" else ([1.0], [1.0]))
    assert [one.edit for one, _ in scan._first_looks(some)] == ["0", "1"]
    assert scan.ran.unreached == ["3 of 5 pairs were not looked at: time"]
    assert scan.ran.first == 2


def test_a_second_look_weighs_each_claim_at_its_own_setting(monkeypatch):
    coin = [float(n < 90) for n in range(100)], [float(n < 30) for n in range(100)]
    other = replace(CLAIM, epsilon=lambda given: 4 * given["epsilon"])
    scan = scan_of(CLAIM, other, epsilons=(0.5, 3.0))
    monkeypatch.setattr(SubjectScan, "_looked_at", lambda _, one, *more, **kw: coin)
    found = scan._second_looks([candidate(0), candidate(1)])
    assert [(one.candidate.setting, one.claim) for one in found] == [
        (0, CLAIM),
        (0, other),
        (1, CLAIM),
        (1, other),
    ]
    assert [one.nats > 0 for one in found] == [True, False, False, False]
    assert scan.ran.second == 2


@pytest.mark.parametrize(
    ("observed", "kind"),
    [
        (ValueError("x"), "ValueError"),
        ({"output": KeyError("x"), "warnings": []}, "KeyError"),
        (1.0, None),
        ({"output": 1.0}, None),
        ({"error": ValueError("x")}, None),
        ("ValueError", None),
    ],
)
def test_a_call_failed_where_it_raised_with_or_without_a_warning(observed, kind):
    found = _find_call_failure(observed)
    assert (found.kind if found else None) == kind


def test_a_hypothesis_count_is_of_settings_relations_families_and_claims():
    one = scan_of(CLAIM, replace(CLAIM, epsilon=2.0), epsilons=(1.0, 2.0, 3.0)).subject
    assert hypotheses.count_hypotheses(one) == 3 * 2 * 4 * 2
    assert one.relations == (REPLACED, ADDED)
    assert PureDP(1.0) == CLAIM.guarantee({"epsilon": 1.0})
