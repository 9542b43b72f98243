"""What is drawn, by hand: in turn, in hands, labelled, in as many processes as are worth it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.sampling.sampler as sampler
from dpaudit.auditing.sampling.probe_result import ProbeResult
from dpaudit.auditing.sampling.sampler import Drawer, _in_turn, _merge_unit_results, first_of
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.execution import Executor, Unit
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.neighbours import Side

from .common import PAIR

QUICK = ProbeResult(
    seconds_per_output=1e-6,
    seconds_per_call=1e-4,
    startup_seconds=0.1,
    size=8,
    repeats=False,
    has_own_randomness=False,
)


class Elsewhere(IsolatedMechanism):
    """A mechanism in processes that do not exist."""

    def __init__(self):
        self.crew = SimpleNamespace()


def drawer_of(unit=10, seen=QUICK, mechanism=None, **more):
    mechanism = Elsewhere() if mechanism is None else mechanism
    return Drawer(mechanism, PAIR, Executor(), 7, unit, seen=seen, **more)


def units_of(which, count, trials=2):
    return [Unit(trials, np.random.SeedSequence(n), which) for n in range(count)]


def test_which_side_is_first_follows_thue_and_morse():
    assert [first_of(n) for n in range(16)] == [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0]


@pytest.mark.parametrize(("count", "processes"), [(8, 1), (8, 3), (16, 4), (5, 5)])
def test_hands_hold_pairs_in_turn_and_every_unit_once(count, processes):
    hands = _in_turn(units_of(0, count), units_of(1, count), processes)
    assert len(hands) == processes
    units = [unit for hand in hands for unit in hand]
    assert [unit.which for unit in units[0::2]] == [first_of(n) for n in range(count)]
    for place, unit in enumerate(units):
        assert unit.seed.entropy == place // 2
    assert {unit.which for unit in units[0:2]} == {0, 1}
    sizes = [len(hand) for hand in hands]
    assert max(sizes) - min(sizes) <= 2
    assert all(size % 2 == 0 for size in sizes)


def test_no_side_has_the_earlier_half_of_a_drift():
    units = [unit for hand in _in_turn(units_of(0, 32), units_of(1, 32), 1) for unit in hand]
    places = {0: 0, 1: 0}
    for place, unit in enumerate(units):
        places[unit.which] += place
    assert places[0] == places[1]


def test_what_was_drawn_is_labelled_with_its_side_call_and_process():
    hands = [
        [Unit(2, None, 0), Unit(1, None, 1)],
        [Unit(1, None, 1), Unit(3, None, 0)],
    ]
    results = [
        (np.array([1.0, 2.0]), np.array([10.0, 20.0])),
        (np.array([3.0]), np.array([30.0])),
        (np.array([4.0]), np.array([40.0])),
        (np.array([5.0, 6.0, 7.0]), np.array([50.0, 60.0, 70.0])),
    ]
    found = _merge_unit_results(hands, results)
    on_p, on_q = found.outputs
    assert found.scores[0].tolist() == [1, 2, 5, 6, 7]
    assert found.scores[1].tolist() == [3, 4]
    assert on_p.scores.tolist() == [10, 20, 50, 60, 70]
    assert on_p.units.tolist() == [0, 0, 1, 1, 1]
    assert on_p.processes.tolist() == [0, 0, 1, 1, 1]
    assert (on_q.units.tolist(), on_q.processes.tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize(
    ("start", "pace", "units", "processes"),
    [
        (0.1, 1e-6, 50, 8),
        (0.1, 1e-6, 3, 3),
        (2.0, 1e-6, 50, 2),
        (100.0, 1e-6, 50, 2),
        (1.0, 1e-6, 50, 4),
        (1.0, 1e-3, 50, 5),
    ],
)
def test_slow_starts_are_worth_fewer_processes_and_two_at_least(start, pace, units, processes):
    drawer = drawer_of(seen=QUICK._replace(startup_seconds=start, seconds_per_output=pace))
    assert drawer._processes(units) == processes
    assert drawer_of(mechanism=SimpleNamespace())._processes(units) == 1
    alone = Elsewhere()
    alone.one_a_process = True
    assert drawer_of(mechanism=alone)._processes(units) == units


@pytest.mark.parametrize("layout", [None, SimpleNamespace(columns=())])
def test_a_look_has_its_own_seed_and_units(layout):
    mechanism = Elsewhere()
    mechanism.layout = layout
    drawer = drawer_of(unit=64, mechanism=mechanism, chosen_by_pace=True)
    own = drawer.for_look(10_000, 99, 1)
    assert (own.seed, own.unit, own.chosen_by_pace) == (99, 1, False)
    assert own.sparing is (layout is not None)
    wide = drawer.for_look(10_000, 99, None)
    assert wide.unit > 1
    assert drawer.for_look(10_000, 99, wide.unit - 1).unit == wide.unit - 1
    assert drawer.for_look(10_000, 99, 10**9).unit == wide.unit
    assert not wide.sparing


def test_every_purpose_and_side_has_a_stream_of_its_own():
    drawer = drawer_of(unit=4)
    seeds = set()
    for purpose in ("certifying", "fitting"):
        for side in Side:
            units = drawer._plan_units(10, purpose, side)
            assert [unit.trials for unit in units] == [4, 4, 2]
            assert {unit.which for unit in units} == {list(Side).index(side)}
            seeds |= {tuple(unit.seed.generate_state(2)) for unit in units}
    assert len(seeds) == 12


@pytest.fixture
def dealt(monkeypatch):
    """Let a drawer count what a unit says, and note how it was dealt."""
    asked = {}

    def deal(self, task, hands, stage):
        asked.update(hands=hands, stage=stage, task=task)
        for unit in (one for hand in hands for one in hand):
            scores = np.full(unit.trials, float(unit.which))
            yield unit.trials * (1 + unit.which), (scores, scores)

    monkeypatch.setattr(Drawer, "_dealt", deal)
    return asked


@pytest.mark.parametrize(("trials", "kept"), [(100, 100), (1000, 10)])
def test_counts_are_of_their_own_side_and_of_all_trials(trials, kept, dealt, monkeypatch):
    monkeypatch.setattr(sampler, "COMPARED", 1000 if trials == 100 else 999)
    counted = ScoreEvent(np.ravel, ThresholdEvent(True, 0.5, 0.0))
    drawer = drawer_of(unit=10)
    tally, found = drawer.certifying(counted, trials, "certifying", certifies=True)
    assert tally == Tally((trials, 2 * trials), (trials, trials))
    assert found.scores[0].tolist() == [0.0] * trials
    assert found.scores[1].tolist() == [1.0] * trials
    assert dealt["stage"].certifies
    expected = trials if trials == 100 else 999 // 100
    assert dealt["task"].args[-1] == expected
    assert len(dealt["hands"]) == 8


def test_outputs_drawn_alone_are_one_a_call(dealt, monkeypatch):
    monkeypatch.setattr(
        sampler.unit_draws, "make_output_projection", lambda mechanism: lambda one: one
    )

    def deal(self, task, hands, stage):
        dealt.update(hands=hands)
        for unit in (one for hand in hands for one in hand):
            yield np.full(unit.trials, 1.0), np.full(unit.trials, 2.0)

    monkeypatch.setattr(Drawer, "_dealt", deal)
    found = drawer_of(unit=64).draw_separately(np.ravel, 4, 3, "alone")
    assert [len(hand) for hand in dealt["hands"]] == [6] * 4
    assert {unit.trials for hand in dealt["hands"] for unit in hand} == {1}
    assert [len(side) for side in found.scores] == [12, 12]
    assert len(np.unique(found.outputs[1].processes)) == 4
    assert found.outputs[0].units.tolist() == list(range(12))


@pytest.mark.parametrize(
    ("fine", "start", "pace", "trials", "sizes", "processes"),
    [
        (True, 0.01, 1e-6, 640, {10}, 1),
        (False, 0.01, 1e-6, 640, {64}, 1),
        (True, 0.01, 1e-6, 2048, {32}, 2),
        (True, 1.0, 1e-6, 2048, {32}, 0),
        (True, 1.0, 1e-3, 2048, {32}, 2),
        (True, 0.01, 1e-6, 30, {1}, 1),
    ],
)
def test_what_is_bet_on_is_drawn_in_many_calls_and_in_processes_that_are_worth_it(
    fine, start, pace, trials, sizes, processes, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        sampler.unit_draws, "make_output_projection", lambda mechanism: lambda one: one
    )

    def drawing(name):
        def drawn(self, task, units, stage):
            hands = [units] if name == "here" else units
            asked.append((name, hands))
            for unit in (one for hand in hands for one in hand):
                yield np.full(unit.trials, float(unit.which))

        return drawn

    monkeypatch.setattr(Drawer, "_dealt", drawing("dealt"))
    monkeypatch.setattr(Drawer, "_results", drawing("here"))
    drawer = drawer_of(
        unit=64, fine=fine, seen=QUICK._replace(startup_seconds=start, seconds_per_output=pace)
    )
    found = drawer.paired(trials, "betting")
    ((name, hands),) = asked
    assert (name, len(hands)) == ("dealt" if processes else "here", max(1, processes))
    counts = {unit.trials for hand in hands for unit in hand}
    assert counts == sizes
    assert [side.tolist() for side in found.scores] == [[0.0] * trials, [1.0] * trials]


def test_draws_are_aimed_where_their_bound_is_finite():
    assert drawer_of(mechanism=SimpleNamespace()).aimed(Side.DATASET, 0.5) is None
