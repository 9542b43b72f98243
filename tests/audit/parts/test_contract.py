"""What a contract's checks are made of: whose outputs, which of them, and what is said of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.sampling.constant_parts as constant_parts
import dpaudit.auditing.sampling.contract_checks as contract_checks
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit.auditing.sampling.contract_checks import ContractChecks
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.estimation import independence
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism

from .common import ALPHA, certifying_of, check_of, drawer_of, outputs_of

EVENT = ScoreEvent(np.ravel, ThresholdEvent(True, 0.5, 0.0))
AGAINST = Against(1.0, 0.0, ALPHA)
DRAWN = certifying_of(np.arange(50.0) % 2, np.arange(50.0) % 2)
ANSWERS = certifying_of(np.arange(40.0), np.arange(40.0))
REFUTING, HARMLESS = Tally((100, 0), (100, 100)), Tally((50, 50), (100, 100))


class Elsewhere(IsolatedMechanism):
    """A mechanism in processes that do not exist."""

    def __init__(self, files=()):
        self.crew = SimpleNamespace(kept_files=list(files))


def names(kept):
    return [one.name for one in kept.checks]


@pytest.fixture
def made(monkeypatch):
    """Let each kind of check be one that its name tells, and note what it was asked."""
    asked = []

    def compared(on_p, on_q, hits=None):
        asked.append(("independence", on_p.scores.tolist(), hits))
        return [check_of(True, "independence")]

    def drawn_alone(drawer, counted, tally, against, wanted):
        asked.append(("alone", counted, tally, against))
        return separate_processes.SeparateOutputs([check_of(True, "alone")], DRAWN, ANSWERS)

    def same(drawer, counted, known, *, by_score):
        assert known is ANSWERS
        asked.append(("sameness", by_score))
        return constant_parts.Sameness((check_of(True, "sameness"),), "It never varies.")

    monkeypatch.setattr(independence, "check_independence", compared)
    monkeypatch.setattr(separate_processes, "check_lone_outputs", drawn_alone)
    monkeypatch.setattr(constant_parts, "check_sameness", same)
    return asked


def test_what_does_not_refute_is_compared_and_no_more(made):
    kept = contract_checks.of_event(
        drawer_of(mechanism=Elsewhere()), DRAWN, HARMLESS, EVENT, AGAINST
    )
    assert names(kept) == ["no file is written and read", "independence"]
    hits = made[0][2]
    assert [one.tolist() for one in hits] == [DRAWN.scores[0].tolist()] * 2
    assert kept.notes[0].startswith("Certifying outputs of both datasets were drawn in ")


def test_what_refutes_is_drawn_again_alone_and_looked_at_for_what_never_varies(made):
    kept = contract_checks.of_event(
        drawer_of(mechanism=Elsewhere()), DRAWN, REFUTING, EVENT, AGAINST
    )
    expected = ["no file is written and read", "independence", "sameness", "alone"]
    assert names(kept) == expected
    assert kept.remark == "It never varies."
    assert ("alone", EVENT, REFUTING, AGAINST) in made
    assert ("sameness", False) in made
    assert kept.notes[-1].startswith(
        "The audit counted the refuting event again on 50 outputs on each dataset"
    )


def test_of_a_divergence_what_never_varies_is_seen_on_its_score(made):
    bet = SimpleNamespace(refuted=True)
    against = AGAINST._replace(bet=bet)
    contract_checks.of_event(drawer_of(mechanism=Elsewhere()), DRAWN, HARMLESS, EVENT, against)
    assert ("sameness", True) in made


def test_one_process_refutes_nothing(made):
    kept = contract_checks.of_event(drawer_of(), DRAWN, REFUTING, EVENT, AGAINST)
    assert names(kept) == ["independence", "outputs of several processes"]
    assert not kept.checks[-1].passed
    assert contract_checks.of_event(drawer_of(), DRAWN, HARMLESS, EVENT, AGAINST).checks[-1].passed


def test_what_already_failed_is_not_looked_at_more_closely(made):
    drawer = drawer_of(mechanism=Elsewhere(["/state"]))
    kept = contract_checks.of_event(drawer, DRAWN, REFUTING, EVENT, AGAINST)
    assert [one.passed for one in kept.checks] == [False, True]
    assert kept.checks[0].statistic == 1.0
    assert "('/state')" in kept.checks[0].statement


def test_of_run_times_no_event_is_compared_from_call_to_call(made):
    kept = contract_checks.of_event(drawer_of(timed=True), DRAWN, HARMLESS, EVENT, AGAINST)
    assert made[0][2] is None
    assert kept.notes[-1].startswith("What a call takes depends on what else the machine does")


@dataclass(frozen=True)
class Further:
    """A drawer that notes what it draws further."""

    unit: int
    drawn: list = field(default_factory=list)
    mechanism: object = field(default_factory=SimpleNamespace)

    def certifying(self, counted, count, purpose):
        self.drawn.append((self.unit, counted, count, purpose))
        return HARMLESS, DRAWN


@pytest.mark.parametrize(
    ("pairs", "unit", "count", "fine"),
    [(100, 64, 512, 8), (700, 5, 700, 5), (10_000, 640, 4096, 64)],
)
def test_bets_are_compared_themselves_and_so_are_further_outputs(
    pairs, unit, count, fine, made, monkeypatch
):
    asked = []

    def further(*given):
        asked.append(given)
        return ContractChecks((check_of(True, "further"),), ("a note",), "a remark")

    monkeypatch.setattr(contract_checks, "of_event", further)
    drawer = Further(unit)
    halves = [np.zeros(pairs // 2), np.ones(pairs - pairs // 2)]
    seen = [(outputs_of(half), outputs_of(half)) for half in halves]
    kept = contract_checks.of_bets(drawer, seen, EVENT, AGAINST)
    assert names(kept) == ["independence", "further"]
    assert made[0][1] == np.concatenate(halves).tolist()
    assert drawer.drawn == [(fine, EVENT, count, "contract")]
    which = f"{pairs} bet on and {count} further"
    assert asked == [(drawer, DRAWN, HARMLESS, EVENT, AGAINST, which)]
    assert (kept.notes, kept.remark) == (("a note",), "a remark")


def test_nothing_is_asked_of_this_package_s_own():
    assert (
        contract_checks.of_event(drawer_of(mechanism=EVENT), DRAWN, REFUTING, EVENT, AGAINST)
        == ContractChecks()
    )
    assert (
        contract_checks.of_bets(drawer_of(mechanism=EVENT), [], EVENT, AGAINST) == ContractChecks()
    )


def test_a_part_of_what_was_drawn_is_said_to_be_one():
    whole = Tally((1, 1), (50, 50))
    assert contract_checks._format_compared_outputs(DRAWN, whole) == []
    (said,) = contract_checks._format_compared_outputs(DRAWN, Tally((1, 1), (51, 51)))
    assert said.startswith("The audit compared 50 of these outputs on each dataset")


def test_processes_are_counted_of_the_outputs():
    outputs = (outputs_of(np.zeros(4), processes=[0, 0, 2, 2]), outputs_of(np.zeros(4)))
    drawn = DRAWN.__class__((np.zeros(4), np.zeros(4)), outputs)
    assert "in 2 fresh processes, a call of each in turn" in contract_checks._format_drawing_note(
        "All", drawn
    )
    assert "in this process." in contract_checks._format_drawing_note("All", DRAWN)


def test_a_failed_check_says_which_parts_may_be_left_out():
    columns = [
        SimpleNamespace(everywhere=here, path=path)
        for here, path in ((True, "a"), (True, "b"), (False, "c"), (True, "the rest"))
    ]
    layout = SimpleNamespace(columns=columns)
    drawer = drawer_of(mechanism=SimpleNamespace(layout=layout))
    passed, failed = contract_checks._with_cure(drawer, [check_of(True), check_of(False)])
    assert passed == check_of(True)
    assert "; of a, b, parts that are no noise" in failed.statement
    layout.columns = columns[:1]
    assert contract_checks._with_cure(drawer, [check_of(False)]) == [check_of(False)]


def test_a_mechanism_of_this_process_is_drawn_in_others_by_what_makes_it(monkeypatch):
    made, closed = Elsewhere(), []
    made.crew = SimpleNamespace(close=lambda: closed.append(1))
    case = SimpleNamespace(elsewhere=lambda: made)
    here = Further(3)
    with contract_checks.make_separate_drawer(case, here) as other:
        assert (other.mechanism, other.unit, closed) == (made, 3, [])
    assert closed == [1]
    for mechanism in (EVENT, Elsewhere()):  # this package's own, and one that has processes
        same = Further(3, mechanism=mechanism)
        with contract_checks.make_separate_drawer(case, same) as other:
            assert other is same
    sent = SimpleNamespace(mechanism=made)
    monkeypatch.setattr(contract_checks, "isolate_mechanism", lambda mechanism, isolation: sent)
    with contract_checks.make_separate_drawer(SimpleNamespace(elsewhere=None), here) as other:
        assert other.mechanism is made
