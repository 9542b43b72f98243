"""An instance that calls change is audited at its first call and at its later ones."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

import dpaudit
from dpaudit.auditing import AuditOutcome, calls
from dpaudit.auditing.estimators.group_sequential import LookClock
from dpaudit.auditing.sampling.schedule import Schedule
from dpaudit.execution import Executor
from dpaudit.execution.failures import DrawTimeout
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.foreign import instances
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism, as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.schema import BudgetEntry, Measured, Result
from dpaudit.verdicts import STATUSES

DATA = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    import varying_calls

    return varying_calls


def _made(kinds, given):
    """Return what a text makes of those kinds."""
    return eval(given, vars(kinds))


def _observed(given):
    mechanism = as_mechanism(given)
    assert isinstance(mechanism, CodeMechanism)
    instances.register_instance(mechanism, anew=True)
    return mechanism


def _spread(mechanism, outputs=400):
    drawn = np.array(mechanism.observations(DATA[0], outputs, default_rng(0)))
    return np.mean(np.abs(drawn - 6.0))  # of a Laplace law: its scale


@pytest.mark.parametrize("given", ["Noisy(0.05, 1.5)", "Noisy(0.05, 1.5).release"])
def test_first_calls_and_later_ones_have_their_own_laws(kinds, given):
    mechanism = _observed(_made(kinds, given))
    first, later = (instances.with_calls(mechanism, when) for when in ("first", "later"))
    assert _spread(first) == pytest.approx(0.05, rel=0.3)
    assert _spread(later) == pytest.approx(1.5, rel=0.3)


def test_the_output_that_a_later_call_needs_before_it_is_dropped(kinds):
    """The first output that counts is that of the second call."""
    later = instances.with_calls(_observed(kinds.Noisy(0.0, 1e6)), "later")
    assert abs(later.observations(DATA[0], 1, default_rng(0))[0] - 6.0) > 1.0


def test_first_calls_have_generators_of_their_own(kinds):
    first = instances.with_calls(_observed(kinds.Steady()), "first")
    assert len(set(first.observations(DATA[0], 50, default_rng(0)))) == 50


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ("Noisy(1.0, 1.0)", True),
        ("Noisy(1.0, 1.0).release", True),
        ("counting()", True),
        ("WarmUp()", True),
        ("Steady()", False),
        ("Steady", False),
        ("noisy", False),
    ],
)
def test_a_change_is_seen_in_the_state_but_not_in_its_generators(kinds, given, changed):
    mechanism = _observed(_made(kinds, given))
    rngs = [default_rng(n) for n in range(2)]
    assert instances.is_changed(mechanism, DATA, 2, rngs) is changed


@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        ("Keyed()", True),
        ("Keyed(0.75)", True),
        ("Congruential()", True),
        ("Congruential(1.0)", True),
        ("Noisy(0.05, 2.0)", False),
        ("Noisy(0.05, 2.0).release", False),
        ("Steady()", False),
        ("WarmUp()", False),
        ("Adding()", False),
        ("EverySecond()", False),
        ("EverySecond(3)", False),
        ("EverySecond(5)", False),
        ("Spent()", False),
    ],
)
def test_copies_that_repeat_noise_are_told_by_later_states(kinds, given, repeated):
    first = instances.with_calls(_observed(_made(kinds, given)), "first")
    assert {instances.carries_noise(first.calls, DATA[0], seed) for seed in range(3)} == {repeated}


def _audited(given, **settings):
    asked = {"epsilon": 1.0, "trials": 600, "confidence": 0.9999, "seed": 0} | settings
    return dpaudit.audit(given, *DATA, **asked)


class Asked(Exception):
    """Both calls were to be audited."""


@pytest.mark.parametrize(("given", "both"), [("Noisy(0.05, 1.5)", True), ("Steady()", False)])
def test_an_audit_asks_for_both_where_calls_change_an_instance(kinds, monkeypatch, given, both):
    def asked(run, schedule):
        raise Asked

    monkeypatch.setattr("dpaudit.auditing.privacy.calls.at_both", asked)
    with pytest.raises(Asked) if both else nullcontext():
        _audited(_made(kinds, given), trials=100, confidence=0.95)


def _of(verdict, lower, *, interrupted=False):
    result = Result.model_construct(
        verdict=verdict,
        reason=verdict,
        measured=Measured.model_construct(lower=lower, confidence=0.95),
        budget=[BudgetEntry(purpose="counts", alpha=0.025)],
        notes=[],
        counts={},
    )
    return AuditOutcome(result, None, interrupted)


@pytest.mark.parametrize(
    ("first", "later", "verdict", "said"),
    [
        (_of("refuted", 2.0), _of("not refuted", 0.5), "refuted", "At the first call"),
        (_of("not refuted", 0.5), _of("refuted", 2.0), "refuted", "At the later calls"),
        (_of("refuted", 2.0), _of("refuted", 3.0), "refuted", "At the later calls"),
        (_of("refuted", 2.0), _of("withheld", 0.0), "refuted", "At the first call"),
        (_of("withheld", 0.0), _of("not refuted", 0.5), "withheld", "At the first call"),
        (_of("not refuted", 0.5), DrawTimeout, DrawTimeout, ""),
        (_of("refuted", 2.0), DrawTimeout, "refuted", "At the first call"),
        (
            _of("not refuted", 0.5, interrupted=True),
            None,
            "withheld",
            "The audit covered only the first call",
        ),
    ],
)
def test_the_graver_of_the_two_is_told(monkeypatch, first, later, verdict, said):
    monkeypatch.setattr("dpaudit.auditing.explain.output_parts.at_calls", lambda case, when: when)
    schedule = Schedule("both", Settings(confidence=0.95), 100, Executor(), None)

    def run(own):
        assert own.settings.confidence == pytest.approx(0.975)
        found = {"first": first, "later": later}[own.case]
        if found is DrawTimeout:
            raise DrawTimeout
        return found

    if verdict is DrawTimeout:
        with pytest.raises(DrawTimeout):
            calls.at_both(run, schedule)
        return
    result = calls.at_both(run, schedule).result
    assert result.verdict == verdict
    assert result.reason.startswith(said)
    assert result.measured.confidence == 0.95
    assert sum(one.alpha for one in result.budget) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("first", "later", "said", "other"),
    [
        (_of("refuted", 2.0), _of("not refuted", 0.5), "the first call", "the later calls"),
        (_of("not refuted", 0.5), _of("refuted", 2.0), "the later calls", "the first call"),
        (_of("refuted", 2.0), _of("refuted", 2.0), "the first call", "the later calls"),
    ],
)
@pytest.mark.parametrize("shard", [None, (1, 2)])
def test_a_share_of_the_draws_tells_the_graver_under_its_own_name(
    monkeypatch, first, later, said, other, shard
):
    monkeypatch.setattr("dpaudit.auditing.explain.output_parts.at_calls", lambda case, when: when)
    both = [
        replace(one, result=one.result.model_copy(update={"counts": {"outputs": n}}))
        for n, one in enumerate((first, later), start=3)
    ]
    schedule = Schedule("both", Settings(confidence=0.95), 100, Executor(shard=shard), None)
    asked = []

    def run(own):
        asked.append(own.case)
        return both[own.case == "later"]

    found = calls.at_both(run, schedule)
    assert asked == ["first", "later"]
    assert found.result.reason.startswith(f"At {said}: ")
    entry = found.result.budget[-1]
    assert (entry.purpose, entry.alpha) == (other, pytest.approx(0.025))
    (note,) = found.result.notes
    graver, lesser = both if said == "the first call" else both[::-1]
    assert note.endswith(f"The audit of {other} said: {lesser.result.reason}")
    counts = graver.result.counts["outputs"], lesser.result.counts["outputs"]
    assert found.result.counts == {"outputs": counts[0], f"{other}: outputs": counts[1]}


@pytest.mark.parametrize("interrupted", [(True, False), (False, True), (False, False)])
def test_an_audit_is_interrupted_if_one_of_the_two_is(interrupted):
    schedule = Schedule("both", Settings(confidence=0.95), 100, Executor(), None)
    one, other = (_of("refuted", 2.0, interrupted=each) for each in interrupted)
    found = calls._merge_call_audits(one, other, "later", schedule)
    assert found.interrupted is any(interrupted)
    alone = calls._merge_call_audits(_of("refuted", 2.0), None, "first", schedule)
    assert not alone.interrupted
    assert alone.result.verdict == "refuted"
    assert alone.result.notes[0].endswith("The audit of the later calls did not take place.")
    assert alone.result.counts == {}
    assert calls._merge_call_audits(
        _of("not refuted", 2.0), None, "later", schedule
    ).result.reason.startswith("The audit covered only the later calls")


def test_a_certificate_has_the_confidence_of_the_whole_and_no_error_a_confidence_of_1():
    schedule = Schedule("both", Settings(confidence=0.95), 100, Executor(), None)
    stated = Certificate(
        claim="c", source="s", relation="r", quantities={}, search={},
        parameters={"confidence": 0.975, "kept": 1},
        instance={"settings": {"confidence": 0.975, "seed": 3}, "pair": 4}, kind="mechanism",
    )  # fmt: skip
    audited = replace(_of("refuted", 2.0), certificate=stated)
    found = calls._merge_call_audits(
        audited, _of("not refuted", 0.5), "first", schedule
    ).certificate
    assert found.parameters == {"confidence": 0.95, "kept": 1}
    assert found.instance == {"settings": {"confidence": 0.95, "seed": 3}, "pair": 4}
    other = replace(stated, kind="statistical")
    kept = calls._merge_call_audits(replace(audited, certificate=other), None, "first", schedule)
    assert kept.certificate is other
    exact = _of("refuted", 2.0)
    measured = exact.result.measured.model_copy(update={"confidence": 1.0})
    exact = replace(exact, result=exact.result.model_copy(update={"measured": measured}))
    assert (
        calls._merge_call_audits(exact, None, "first", schedule).result.measured.confidence == 1.0
    )


@pytest.mark.parametrize(("now", "time"), [(100.0, 15.0), (110.0, 10.0), (140.0, 1e-3)])
def test_half_of_the_time_that_is_left_is_for_each(monkeypatch, now, time):
    monkeypatch.setattr("dpaudit.auditing.explain.output_parts.at_calls", lambda case, when: when)
    monkeypatch.setattr(calls, "monotonic", lambda: now)
    clock = LookClock(30.0, 100, 1e-3, 100.0)
    schedule = Schedule("both", Settings(confidence=0.9, time=30.0), 100, Executor(), clock)
    monkeypatch.setattr(Schedule, "of", lambda *given: Schedule(*given[:2], given[3], given[2], 0))
    own = calls._halve_schedule(schedule, "first")
    assert own.settings.time == pytest.approx(time)
    assert own.settings.confidence == pytest.approx(0.95)
    assert (own.case, own.executor.since, own.trials) == ("first", now, 100)
    before = replace(_of("refuted", 2.0), looks=[(40, 0.8)])
    second = calls._halve_schedule(schedule, "later", before)
    assert (second.settings.time, second.settings.looks) == (None, ((40, 0.8),))
    assert (second.case, second.clock) == ("later", None)


@pytest.mark.slow
def test_a_first_call_that_leaks_is_refuted(kinds):
    result = _audited(kinds.Noisy(0.05, 1.5))
    assert result.verdict == "refuted", result.reason
    assert result.reason.startswith("At the first call: ")
    assert result.measured.confidence == 0.9999
    assert sum(one.alpha for one in result.budget) == pytest.approx(1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    ["Noisy(1.5, 0.05)", "Noisy(1.5, 0.05).release"],
)
def test_later_calls_that_leak_are_refuted(kinds, given):
    result = _audited(_made(kinds, given))
    assert result.verdict == "refuted", result.reason
    assert result.reason.startswith("At the later calls: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    ["Noisy(0.05, 1.5).release"],
)
def test_a_first_call_that_leaks_is_refuted_in_other_forms(kinds, given):
    result = _audited(_made(kinds, given))
    assert result.verdict == "refuted", result.reason
    assert result.reason.startswith("At the first call: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", ["Noisy(1.2, 2.0)", "Noisy(2.0, 1.2)", "Noisy(1.5, 1.5)", "WarmUp()"]
)
def test_private_instances_that_calls_change_are_not_accused(kinds, given):
    result = _audited(_made(kinds, given))
    assert result.verdict == "not refuted", result.reason
    assert "audited each for itself" in result.notes[-1]


@pytest.mark.slow
@pytest.mark.parametrize("given", ["Keyed()", "Congruential()", "Keyed"])
@pytest.mark.parametrize("asked", [{}, {"until_refuted": True}, {"in_process": True}])
def test_noise_that_copies_bring_along_refutes_nothing(kinds, given, asked):
    isolation = Isolation(in_process=asked.get("in_process", False))
    others = {"until_refuted": "until_refuted" in asked, "isolation": isolation}
    result = _audited(_made(kinds, given), trials=2000, **others)
    if given == "Keyed":  # made anew for every output
        assert result.verdict == "not refuted", result.reason
        return
    assert result.verdict == "withheld", result.reason
    if "in_process" not in asked:  # else later calls say more
        assert [one.name for one in result.contract if not one.passed] == ["first calls"]
        assert "pass the class" in result.reason


@pytest.mark.slow
@pytest.mark.parametrize("given", ["EverySecond(5)", "Spent()"])
def test_what_leaks_at_the_first_call_and_keeps_no_noise_is_refuted(kinds, given):
    asked = {"observe": "exceptions"} if given == "Spent()" else {}
    result = _audited(_made(kinds, given), **asked)
    assert result.verdict == "refuted", result.reason


@pytest.mark.slow
def test_an_instance_that_no_call_changes_is_audited_once(kinds):
    result = _audited(kinds.Steady())
    assert result.verdict == "not refuted"
    assert not any("each for itself" in note for note in result.notes)


@pytest.mark.slow
def test_in_this_process_too(kinds):
    result = _audited(kinds.Noisy(0.05, 1.5), isolation=Isolation(in_process=True))
    assert result.verdict == "refuted", result.reason


@pytest.mark.slow
def test_a_time_is_shared_out(kinds):
    result = _audited(kinds.Noisy(1.5, 0.05), trials=400, time=60.0)
    assert result.verdict == "refuted", result.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FIRST_LEAKS", "LATER_LEAK"])
def test_a_file_refutes_and_its_certificate_verifies(tmp_path, name):
    (tmp_path / "mine.py").write_text((HERE / "varying_calls.py").read_text())
    (tmp_path / "audit.toml").write_text(
        '[[audit]]\nname = "mine"\nrelation = "replace-record"\ndelta = 0.0\n'
        f'mechanism = "mine:{name}"\ndataset = [1.0, 2.0, 3.0]\nneighbour = [1.0, 2.0, 2.0]\n'
        "epsilon = 1.0\ntrials = 600\nseed = 0\n"
    )
    ran = _ran(tmp_path, "audit", "audit.toml", "--out", "out", "--show-records")
    assert ran.returncode == STATUSES["refuted"], ran.stdout + ran.stderr
    (found,) = Path(tmp_path, "out").rglob("*certificate*.json")
    assert json.loads(found.read_text())["kind"] == "mechanism"
    ran = _ran(tmp_path, "verify", str(found), "--mechanism", f"mine:{name}")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _ran(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "dpaudit", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
