"""What a look of an audit is given: outputs of its own, its share of what may err, its claim."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from dpaudit.auditing.estimators.group_sequential import Look
from dpaudit.auditing.sampling import schedule as scheduling
from dpaudit.auditing.sampling.schedule import Schedule, require_shares_alike, tell_plan
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP

from .common import case_of, check_of, evidence_of

LOOKS = ((100, 0.1), (800, 0.05), (3000, 0.8))


@dataclass
class Drawing:
    """A drawer that notes for which looks it was asked for another one."""

    unit: int = 10
    chosen_by_pace: bool = False
    asked: list = field(default_factory=list)

    def for_look(self, trials, seed, most):
        self.asked.append((trials, seed, most))
        return SimpleNamespace(unit=trials // 100, trials=trials, seed=seed)


def schedule_of(case=None, **settings):
    case = case_of(mechanism=SimpleNamespace()) if case is None else case
    asked = Settings(**{"looks": LOOKS, "confidence": 0.9, "seed": 5} | settings)
    return Schedule(case, asked, 1000, Executor(), None)


def taken(schedule, drawer, *found):
    """Return what was taken, where look number k finds the k-th evidence; and what each had."""
    given, waiting = [], list(found)

    def measure(own, settings, trials):
        given.append((own, settings.confidence, trials))
        return waiting.pop(0)

    return schedule.evidence(drawer, measure), given


def test_every_look_has_its_own_outputs_and_its_own_share_of_what_may_err():
    drawer = Drawing()
    result, given = taken(schedule_of(), drawer, *[evidence_of(0.1 * n) for n in (1, 3, 2)])
    evidence, looks, unit = result
    assert [trials for _, _, trials in given] == [100, 800, 3000]
    confidences = [confidence for _, confidence, _ in given]
    assert confidences == pytest.approx([0.99, 0.995, 0.92])
    assert [own.trials for own, _, _ in given] == [trials for trials, *_ in drawer.asked]
    seeds = [seed for _, seed, _ in drawer.asked]
    assert seeds[0] == 5
    assert len(set(seeds)) == 3
    assert looks == [Look(*one) for one in LOOKS]
    assert (evidence.lower, evidence.unit, unit) == (pytest.approx(0.3), 8, 30)


def test_a_look_that_refutes_ends_the_audit():
    result, _ = taken(schedule_of(), Drawing(), evidence_of(0.9), evidence_of(1.1))
    assert [look.trials for look in result[1]] == [100, 800]
    assert result[0].lower == 1.1


def test_a_look_whose_contract_is_broken_ends_the_audit_whatever_it_found():
    broken = evidence_of(0.0, contract=(check_of(False),))
    result, _ = taken(schedule_of(), Drawing(), evidence_of(0.9), broken)
    assert result[0].contract == (check_of(False),)


@pytest.mark.parametrize(("at", "refutes"), [(1e-5, False), (0.3, True)])
def test_a_curve_is_exceeded_at_the_delta_of_the_evidence(at, refutes):
    case = case_of(GaussianDP(1.0), 1e-5)
    beyond = schedule_of(case)._beyond(evidence_of(2.0, at_delta=at))
    assert beyond == pytest.approx(2.0 - 1.0)
    plain = case_of(GaussianDP(1.0), 1e-5, currency=None)
    assert (schedule_of(plain)._beyond(evidence_of(2.0, at_delta=at)) > 0) is refutes
    assert schedule_of()._beyond(evidence_of(1.0)) == 0.0


def test_units_of_looks_are_those_that_were_asked_for():
    assert schedule_of(unit=7)._most(Drawing()) == 7
    assert schedule_of()._most(Drawing(unit=1, chosen_by_pace=True)) == 1
    assert schedule_of()._most(Drawing(unit=1)) is None


def test_without_a_time_the_first_look_or_the_trials_come_first():
    assert schedule_of().first_trials(1.0) == 100
    assert schedule_of(looks=None).first_trials(1.0) == 1000
    assert schedule_of().by_looks
    assert schedule_of(looks=None, time=60.0).by_looks
    assert not schedule_of(looks=None).by_looks


def test_no_look_that_ended_certifies_nothing_and_is_not_trusted():
    evidence = schedule_of().out_of_time()
    assert (evidence.lower, evidence.upper, evidence.trials) == (0.0, None, 0)
    assert not evidence.trusted
    assert not evidence.repeatable


@pytest.mark.parametrize(("left", "has"), [(40.1, True), (39.9, False)])
def test_what_leaked_is_looked_for_while_400_outputs_fit(left, has, monkeypatch):
    monkeypatch.setattr(scheduling, "monotonic", lambda: 100.0)
    clock = SimpleNamespace(until=100.0 + left)
    one = Schedule(case_of(), Settings(), 1000, Executor(workers=2), clock)
    assert one.has_time_to_explain(SimpleNamespace(seconds_per_output=0.2)) is has
    assert schedule_of().has_time_to_explain(SimpleNamespace(seconds_per_output=1e9))


@pytest.mark.parametrize(
    ("settings", "by_pace", "refused"),
    [
        ({"looks": None}, False, False),
        ({"looks": None}, True, True),
        ({"looks": None, "unit": 3}, True, False),
        ({}, False, True),
        ({"looks": None, "time": 5.0}, False, True),
        ({"looks": None, "until_refuted": True}, False, True),
    ],
)
def test_shares_are_cut_of_what_no_machine_decides(settings, by_pace, refused):
    asked = Settings(**{"looks": LOOKS} | settings)
    drawer = SimpleNamespace(
        executor=SimpleNamespace(shard=(1, 2)),
        chosen_by_pace=by_pace,
        unit=10,
        has_own_randomness=False,
    )
    if refused:
        with pytest.raises(InvalidArgument, match="shard: got 1/2"):
            require_shares_alike(drawer, asked)
    else:
        require_shares_alike(drawer, asked)
    drawer.has_own_randomness, drawer.executor.shard = True, (0, 2)
    if not refused:  # share 0 has what decides, and others need it
        require_shares_alike(drawer, asked)
        drawer.executor.shard = (1, 2)
        with pytest.raises(InvalidArgument, match="shard"):
            require_shares_alike(drawer, asked)
    drawer.executor.shard = None
    require_shares_alike(drawer, asked)


@pytest.mark.parametrize(
    ("pace", "settings", "case", "told"),
    [
        (2.2e-4, {}, None, True),
        (2.1e-4, {}, None, False),
        (1e-4, {"time": 3.0}, None, True),
        (1.0, {"until_refuted": True}, None, False),
        (1.0, {}, case_of(GaussianDP(1.0), 0.01), False),
    ],
)
def test_a_plan_is_told_of_what_takes_two_seconds(pace, settings, case, told, monkeypatch):
    monkeypatch.setattr(scheduling, "monotonic", lambda: 100.0)
    monkeypatch.setattr(scheduling, "find_pace", lambda drawer: pace)
    said = []
    executor = SimpleNamespace(progress=SimpleNamespace(tell=said.append), workers=3)
    drawer = SimpleNamespace(executor=executor, unit=2, mechanism=None)
    case = case or case_of(ApproximateDP(1.0, 0.0))
    asked = Settings(**settings)
    tell_plan(Schedule(case, asked, 1000, executor, None), drawer, 99.7)
    assert bool(said) is told
