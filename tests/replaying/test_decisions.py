"""Decisions of a replay that one value alone shows: ties, sides, what is kept or counted."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.replaying.counting as counting
import dpaudit.replaying.dependence as dependence
from dpaudit.freezing.outputs import flatten_output
from dpaudit.replaying.counting import OutputEvent, count_event
from dpaudit.replaying.dependence import DependenceCheck, look_again
from dpaudit.replaying.events import OutputCondition, ReplayEvent, best_event
from dpaudit.replaying.findings import COUNTED, CallFinding
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw
from dpaudit.replaying.movement import _compute_spent_scales
from dpaudit.replaying.parts import make_replay_parts
from dpaudit.replaying.processes import _compare_process_answers
from dpaudit.replaying.running import _convert_replay_finding


def laws(*numbers):
    return Laws("numbers", (), [f"output[{n}]" for n in range(len(numbers))], list(numbers))


def test_every_run_that_is_counted_has_noise_of_its_own(monkeypatch):
    monkeypatch.setattr(counting, "_SECONDS", 60.0)
    seeds = list[int]()

    def really(function, data, seed):
        seeds.append(seed)
        return flatten_output(data)

    monkeypatch.setattr(counting, "really", really)
    found = count_event(None, (1.0, 2.0), OutputEvent("number", "dataset", 1.0), 20, 0.0, 100)
    assert (found.hits, found.other_hits, found.runs) == (20, 0, 20)
    assert sorted(seeds) == list(range(100, 140))


def test_a_centre_has_to_stay_in_both_looks(monkeypatch):
    run = SimpleNamespace(calls=[], error=None)
    sides = SimpleNamespace(runs=[run]), SimpleNamespace(runs=[run])
    known = sides, (laws(), laws())
    monkeypatch.setattr(dependence, "runs_of_every_size", lambda *_: [])
    monkeypatch.setattr(dependence, "_has_lawful_runs", lambda *_: True)
    monkeypatch.setattr(
        dependence, "_compare_runs", lambda *_: DependenceCheck({"a", "b"}, ordinary=5, graded=3)
    )
    found = look_again(
        DependenceCheck({"b", "c"}, False, ordinary=9, graded=2), None, (0, 1), known, 1
    )
    assert found.steady == {"b"}
    assert (found.same_calls, found.every_size) == (False, False)
    assert (found.ordinary, found.graded) == (9 + 5 - 1, 2 + 3)


def test_an_event_that_is_no_more_probable_than_delta_but_for_rounding_proves_nothing():
    one = ReplayEvent("all of", "dataset", (OutputCondition(0, True, 0.0),), 0.5 * (1 + 1e-13), 0.0)
    assert one.epsilon(0.5) == 0.0
    assert replace(one, probable=0.5 * (1 + 1e-11)).epsilon(0.5) == math.inf


@pytest.mark.parametrize("kind", ["uniform", "exponential"])
def test_noise_of_which_people_make_other_noise_spends_what_nobody_knows(kind, monkeypatch):
    shift = np.zeros(1)
    monkeypatch.setattr("dpaudit.replaying.movement.shift_of", lambda *_: shift)
    assert _compute_spent_scales(None, None, kind, (laws(), laws())) == (None, "no law")
    assert _compute_spent_scales(None, None, "gumbel", (laws(), laws())) == (0.0, None)
    shift[0] = 1.0
    assert _compute_spent_scales(None, None, "gumbel", (laws(), laws())) == (None, "no law")
    assert _compute_spent_scales(None, None, "laplace", (laws(), laws())) == (1.0, None)


def test_what_did_not_move_is_a_part_where_nobody_can_say_whether_it_would():
    call = {"name": "n", "kind": "laplace", "scale": 1.0, "moved": 0.0, "spent": None}
    calls = [SimpleNamespace(**call, unknown=why) for why in ("feedback", None)]
    found = make_replay_parts(SimpleNamespace(calls=calls, spending=SimpleNamespace(reasons=())))
    assert [(one.unknown, one.label, one.epsilon) for one in found] == [
        ("feedback", "unknown", None)
    ]


@pytest.mark.parametrize("side", [0, 1])
def test_what_a_process_keeps_on_one_dataset_alone_is_kept(side):
    kept = [[f"{n}"] * 32 for n in range(8)]
    anew = [[f"{n}-{m}" for m in range(32)] for n in range(8)]
    both = [anew, anew]
    both[side] = kept
    found = _compare_process_answers([list(one) for one in zip(*both, strict=True)])
    assert (found.come_back, found.kept) == (True, True)


@pytest.mark.parametrize("kind", [COUNTED, "raw value"])
def test_a_count_of_what_varies_is_no_constant(kind):
    seen = OutputEvent("number", "dataset", 1.5, 2)
    one = CallFinding(kind, "proof", "words", 3.0, seen=seen, reads=("number", 2))
    found = _convert_replay_finding(one, SimpleNamespace(moved=[], laws=(laws(), laws())))
    assert (found["constant"] is None) is (kind == COUNTED)
    assert found["evidence"] == {"counted": {"what": "number", "favours": "dataset", "place": 2}}


def test_numbers_are_multiplied_where_neither_dataset_gives_them_one_draw():
    """One entry may be used by two numbers, of two datasets: each has draws of its own there."""
    a, b = StandardDraw("laplace#0", 0), StandardDraw("laplace#0", 1)
    one = laws(NumberLaw("laplace", 3.0, 1.0, a), NumberLaw("laplace", 3.0, 1.0, b))
    other = laws(NumberLaw("laplace", 0.0, 1.0, b), NumberLaw("laplace", 0.0, 1.0, a))
    event = best_event(one, other, 0.0)
    assert len(event.conditions) == 2
    assert event.epsilon(0.0) == pytest.approx(6.0)
    shared = laws(NumberLaw("laplace", 0.0, 1.0, a), NumberLaw("laplace", 0.0, 1.0, a))
    assert len(best_event(one, shared, 0.0).conditions) == 1
    assert len(best_event(shared, one, 0.0).conditions) == 1
