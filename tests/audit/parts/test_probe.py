"""What a probe sees of a mechanism, by a clock that calls alone move on."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.sampling import probe
from dpaudit.auditing.sampling.first_outputs import FirstOutputs
from dpaudit.auditing.sampling.probe import Probe, find_pace, make_probe_of_first_outputs
from dpaudit.auditing.sampling.probe_result import ProbeResult
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism

from .common import PAIR


class Machine:
    """A clock, and a mechanism each of whose calls takes a start and so long a trial."""

    def __init__(self, start, pace, columns=3):
        self.now, self.start, self.pace, self.columns = 100.0, start, pace, columns
        self.calls = []

    def sampled(self, mechanism, dataset, trials, rng):
        self.calls.append(trials)
        self.now += self.start + trials * self.pace
        return rng.normal(size=(trials, self.columns))


@pytest.fixture
def machine(monkeypatch):
    def of(start, pace, columns=3):
        made = Machine(start, pace, columns)
        monkeypatch.setattr(probe, "draw_checked_sample", made.sampled)
        monkeypatch.setattr(probe, "monotonic", lambda: made.now)
        return made

    return of


def probe_of(mechanism=None):
    return Probe(mechanism, PAIR, 1, theirs=True, outside=None)


@pytest.mark.parametrize(
    ("start", "pace", "calls"),
    [
        (7.0, 0.5, [2, 4]),
        (7.0, 0.0251, [2, 4]),  # .05 s more show it
        (7.0, 0.02, [2, 4, 16]),
        (0.5, 1e-3, [2, 4, 16, 64, 256]),
        (0.5, 0.0, [2, 4, 16, 64, 256, 1024, 4096]),  # no more than that
    ],
)
def test_the_pace_is_what_more_trials_take_and_not_what_a_call_does(machine, start, pace, calls):
    made = machine(start, pace)
    assert probe_of().measure_pace() == pytest.approx(pace, abs=1e-12)
    assert made.calls == calls


def test_a_call_that_takes_less_for_more_trials_has_no_negative_pace(machine):
    machine(9.0, -1e-3)
    assert probe_of().measure_pace() == 0.0


@pytest.mark.parametrize(("seen", "by_pace", "pace"), [(0.25, True, 0.25), (0.25, False, 0.5)])
def test_of_slow_outputs_the_pace_is_what_was_seen(seen, by_pace, pace, machine):
    machine(9.0, 0.5)
    assert find_pace(drawer_of(seen, by_pace)) == pytest.approx(pace)
    assert find_pace(drawer_of(0.0, True)) == 1e-8


def drawer_of(pace, by_pace):
    found = ProbeResult(pace, 0.0, 0.0, 8, False, False)
    return Drawer(SimpleNamespace(), PAIR, None, 1, 1, chosen_by_pace=by_pace, seen=found)


@pytest.mark.parametrize("isolated", [True, False])
def test_a_call_takes_what_it_does_less_its_way(machine, isolated):
    machine(2.0, 0.25)
    mechanism = SimpleNamespace()
    if isolated:
        mechanism = object.__new__(type("Placed", (IsolatedMechanism,), {"way": lambda self: 0.75}))
    expected = 1.5 if isolated else 2.25
    assert probe_of(mechanism).measure_call() == pytest.approx(expected)
    machine(0.25, 0.0)
    assert probe_of(mechanism).measure_call() == (0.0 if isolated else 0.25)


def seen(trials=10**6, unit=None):
    return probe_of(SimpleNamespace()).run(trials, unit)


def test_what_is_seen_is_of_two_outputs_of_each_dataset_and_of_one_call(machine):
    machine(0.25, 0.0)
    found = seen(unit=1)
    seconds = found.seconds_per_output, found.seconds_per_call, found.startup_seconds
    assert seconds == (0.125, 0.25, 0.0)  # 2 calls, 4 outputs
    assert (found.size, found.repeats, found.has_own_randomness) == (24, False, False)


def test_of_slow_outputs_the_pace_is_seen_on_more_of_them(machine):
    machine(0.25, 0.03)
    assert seen().seconds_per_output == pytest.approx(0.03)  # a unit is smaller than 65,536 for it
    assert seen(unit=64).seconds_per_output == pytest.approx(0.125 + 0.03)
    machine(0.0, 1e-9)
    assert seen().seconds_per_output == pytest.approx(1e-9, rel=1e-3)


def test_outputs_of_two_shapes_are_refused(monkeypatch):
    widths = iter([2, 3])
    monkeypatch.setattr(
        probe,
        "draw_checked_sample",
        lambda m, d, trials, rng: rng.normal(size=(trials, next(widths, 3))),
    )
    with pytest.raises(MechanismError, match=r"shapes \[\(2, 2\), \(2, 3\)\]"):
        seen()


def of(draw):
    """Return what samples outputs of these draws, whose generator may be the one it is given."""
    return lambda mechanism, dataset, trials, rng: draw(trials, rng).reshape(trials, -1)


OWN = np.random.default_rng(5)


@pytest.mark.parametrize(
    ("draw", "repeats", "own"),
    [
        (lambda n, rng: rng.normal(size=n), False, False),
        (lambda n, rng: np.random.default_rng(1).normal(size=n), True, False),
        (lambda n, rng: OWN.normal(size=n), False, True),
        (lambda n, rng: np.ones(n), False, False),  # never varies: the same by chance alone
        (lambda n, rng: np.random.default_rng(1).integers(2, size=n), True, False),
        (lambda n, rng: (rng.random(n) < 0.02) + 0.0, False, False),
        (lambda n, rng: (np.arange(n) == n - 1) + 0.0, False, False),
    ],
)
def test_randomness_is_the_generators_or_repeats_or_is_its_own(draw, repeats, own, monkeypatch):
    monkeypatch.setattr(probe, "draw_checked_sample", of(draw))
    assert probe_of().is_repeating_outputs() is repeats
    assert probe_of().has_own_randomness() is own


@pytest.mark.parametrize(
    ("rows", "probability"),
    [
        ([1, 1, 1, 1], 1.0),
        ([1, 2, 1, 2], 0.5**4),
        ([1, 2, 3], (1 / 3) ** 3),
        ([1, 1, 1, 2], (10 / 16) ** 4),
    ],
)
def test_rows_collide_as_often_as_two_draws_of_their_law_are_the_same(rows, probability):
    found = probe._log_collision(np.array(rows, dtype=float))
    assert found == pytest.approx(math.log(probability), abs=1e-12)
    twice = np.array(rows, dtype=float)[:, None, None] * np.ones((1, 2, 2))
    assert probe._log_collision(twice) == pytest.approx(found)
    entries = np.array([[1.0, 1.0], [1.0, 2.0]])  # rows that share an entry are two
    assert probe._log_collision(entries) == pytest.approx(2 * math.log(0.5))


@pytest.mark.parametrize(
    ("pace", "size", "several", "slow"),
    [
        (1e-9, 8, False, False),
        (1e-3, 8, False, True),  # 1000 trials a second, where units have 8192
        (1e-3, 8, True, True),
        (1 / 8192, 8, False, False),
        (1 / 8191, 8, False, True),
        (1e-3, 2**20, False, False),  # units are of 64 for their size
    ],
)
def test_a_mechanism_is_slow_whose_units_have_to_be_smaller(pace, size, several, slow):
    found = ProbeResult(pace, 0.0, 0.0, size, False, False)
    assert found.is_slow(2**20, several=several) is slow


@pytest.mark.parametrize(("columns", "size"), [(0, 8), (1, 8), (5, 40)])
def test_first_outputs_have_the_size_of_their_layout_and_one_pace(columns, size):
    mechanism = SimpleNamespace(layout=SimpleNamespace(columns=[None] * columns))
    first = FirstOutputs((0.5, 3.0, 0.25, 1.0), has_own_randomness=True)
    pace = 0.375  # of the quicker half: .25 and .5
    assert first.seconds_per_output == pace
    assert make_probe_of_first_outputs(mechanism, first) == ProbeResult(
        pace, pace, 0.0, size, False, True
    )


def test_outputs_are_slow_by_the_quickest():
    assert FirstOutputs((1.0, 1 / 256), has_own_randomness=False).is_slow
    assert not FirstOutputs((1.0, 1 / 257), has_own_randomness=False).is_slow
    assert FirstOutputs((2.0,), has_own_randomness=False).seconds_per_output == 2.0
    assert FirstOutputs((4.0, 2.0, 9.0), has_own_randomness=False).seconds_per_output == 2.0
