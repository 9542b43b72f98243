"""What is asked of a package's environment, and how its answers become observations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

import dpaudit.scan.remote.foreign as foreign
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import DrawTimeout, WorkerEnded
from dpaudit.mechanisms.outputs.layout import layout_of
from dpaudit.scan.remote.decoding import ProcessEnded
from dpaudit.scan.remote.foreign import SCRIPT, Foreign, SharedCall, join_observations


class Crew:
    """Answers each request by a function of its task and its unit."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def draw(self, task, units, workers):
        found = []
        for unit in units:
            self.asked.append((task, unit, workers))
            found.append(self.answer(task, unit))
            if isinstance(found[-1], Exception):
                raise found[-1]
        return [found]


def numbers(task, unit):
    """Return as many zeros as were asked for."""
    return {"numbers": np.zeros(unit.trials), "said": None}


def mechanism(answer=numbers, **given):
    return Foreign(Crew(answer), "tools.py", "total", {"epsilon": 1.0, "n": 2}, **given)


def sizes(found):
    return [unit.trials for _, unit, _ in found.crew.asked]


def test_a_call_is_named_by_its_function_and_its_parameters():
    assert mechanism().called_as == "total(data, epsilon, n)"


def test_a_task_says_which_function_of_which_file_and_on_what():
    task = {
        "file": "tools.py",
        "function": "total",
        "parameters": {"epsilon": 1.0, "n": 2},
        "data": [5.0],
        "apart": False,
    }
    assert mechanism().task([5.0]) == task
    assert mechanism(many=True).drawn_apart().task([5.0]) == task | {"apart": True}


def test_a_mechanism_changes_in_one_thing_at_a_time():
    plain, layout = mechanism(many=True, workers=3), object()
    assert (plain.having(layout).layout, plain.layout) == (layout, None)
    apart = plain.drawn_apart()
    assert (apart.many, apart.apart, apart.alone, apart.workers) == (False, True, False, 3)
    alone = plain.one_by_one()
    assert (alone.many, alone.apart, alone.alone, alone.workers) == (True, False, True, 3)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, [16] * 64),
        ({"many": True}, [512, 512]),
        ({"alone": True}, [1] * 1024),
    ],
)
def test_outputs_are_drawn_in_requests_of_their_size(given, asked):
    one = mechanism(workers=2, **given)
    found = one.observations([5.0], 1024, SeedSequence(1))
    assert len(found) == 1024
    assert sizes(one) == asked
    task, _, workers = one.crew.asked[0]
    assert (task.reference, task.value) == (f"{SCRIPT}:sampled", one.task([5.0]))
    assert workers == (1 if "alone" in given else 2)
    assert len({unit.seed.spawn_key for _, unit, _ in one.crew.asked}) == len(asked)


def test_a_sample_has_its_streams_from_the_generator():
    one, same, other = mechanism(), mechanism(), mechanism()
    for made, seed in ((one, 1), (same, 1), (other, 2)):
        made.sample([5.0], 32, default_rng(seed))
    seeds = [made.crew.asked[0][1].seed.entropy for made in (one, same, other)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_outputs_are_rows_of_the_layout():
    seen = [np.arange(40.0)] * 2
    layout = layout_of(seen)
    one = mechanism().having(layout)
    assert np.shape(one.sample([5.0], 32, default_rng(1))) == np.shape(
        layout.rows(np.zeros(32), 32)
    )
    p, q = (
        mechanism(lambda task, unit: (numbers(task, unit),) * 2)
        .having(layout)
        .in_turn(([1.0], [2.0]), 32, default_rng(1))
    )
    assert len(p) == len(q) == 32


def test_two_datasets_are_drawn_in_one_request_and_told_apart():
    def answer(task, unit):
        return tuple(
            {"numbers": np.full(unit.trials, data[0]), "said": None}
            for data in (task.value["data"], task.value["other"])
        )

    one = mechanism(answer)
    p, q = one.in_turn(([1.0], [2.0]), 20, default_rng(1))
    assert (p.tolist(), q.tolist()) == ([1.0] * 20, [2.0] * 20)
    assert {task.reference for task, _, _ in one.crew.asked} == {f"{SCRIPT}:in_turn"}
    assert sum(sizes(one)) == 20


def test_alone_each_side_has_its_own_outputs_in_a_mixed_order():
    def answer(task, unit):
        return {"numbers": np.array(task.value["data"]), "said": None}

    one = mechanism(answer, alone=True)
    p, q = one.observed_in_turn(([1.0], [2.0]), 50, SeedSequence(1))
    assert (p, q) == ([1.0] * 50, [2.0] * 50)
    order = [task.value["data"][0] for task, _, _ in one.crew.asked]
    assert order != sorted(order)
    assert sizes(one) == [1] * 100


def test_alone_a_process_that_ended_is_an_outcome_and_else_an_error():
    ended = WorkerEnded("it was killed")
    (found,) = mechanism(lambda *_: ended, alone=True).observations([5.0], 1, SeedSequence(1))
    assert isinstance(found, ProcessEnded)
    assert str(found) == str(ended)
    with pytest.raises(WorkerEnded):
        mechanism(lambda *_: ended).observations([5.0], 1, SeedSequence(1))


@pytest.mark.parametrize("given", [{}, {"many": True}])
def test_calls_that_end_otherwise_than_others_are_not_drawn_together(given):
    said = iter([None, ["a warning"]])

    def answer(task, unit):
        return {"numbers": np.zeros(unit.trials), "said": next(said)}

    with pytest.raises(SharedCall):
        mechanism(answer, **given).observations([5.0], 1024 if given else 32, SeedSequence(1))
    says = iter([(None, ["a warning"])])

    def both(task, unit):
        return tuple({"numbers": np.zeros(unit.trials), "said": one} for one in next(says))

    with pytest.raises(SharedCall):
        mechanism(both, **given).observed_in_turn(([1.0], [2.0]), 8, SeedSequence(1))


def test_batches_are_an_array_where_all_are_numbers_and_else_a_list():
    one, other = {"numbers": np.array([1.0, 2.0])}, {"numbers": np.array([3.0])}
    found = join_observations([one, other])
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1.0, 2.0, 3.0]
    mixed = join_observations([one, {"outputs": [("items", "list", [1]), None]}, other])
    assert mixed == [1.0, 2.0, [1], None, 3.0]
    for bad in ({}, {"said": None}):
        with pytest.raises(MechanismError, match="not a batch of outputs"):
            join_observations([one, bad])


@pytest.mark.parametrize(
    ("alone", "found", "kind"),
    [
        (False, [np.array([1.0]), np.array([2.0])], np.ndarray),
        (True, [np.array([1.0]), np.array([2.0])], list),
        (False, [np.array([1.0]), [2.0]], list),
        (False, [[1.0], [2.0]], list),
    ],
)
def test_watched_calls_are_as_sampled_ones(alone, found, kind):
    made = mechanism(alone=alone)._as_sampled(found)
    assert (type(made), list(made)) == (kind, [1.0, 2.0])


def test_a_watched_call_that_ends_its_process_is_an_outcome_alone():
    ended = WorkerEnded("it was killed")
    touches, (found,) = mechanism(alone=True)._draw_watched_unit(Crew(lambda *_: ended), None, 1)
    assert touches == []
    assert isinstance(found, ProcessEnded)
    with pytest.raises(WorkerEnded):
        mechanism()._draw_watched_unit(Crew(lambda *_: ended), None, 1)
    answer = ([["file", "a"]], {"numbers": np.array([1.0])})
    seen, (number,) = mechanism()._draw_watched_unit(Crew(lambda *_: answer), None, 1)
    assert (seen, number) == ([["file", "a"]], 1.0)


@pytest.mark.parametrize(("alone", "drawn"), [(False, 32), (True, 4)])
def test_texts_are_those_of_codes_that_turn_up(alone, drawn):
    outputs = ["low", "high"]

    def answer(task, unit):
        asked.append(unit.trials)
        return {"outputs": (outputs * unit.trials)[: unit.trials], "said": None}

    asked = []
    one = mechanism(answer, alone=alone)
    layout = layout_of([["low", "high"] * 8, ["low", "high"] * 8])
    codes = sorted({float(code) for code in np.unique(layout.rows(outputs * 8, 16))})
    rngs = [default_rng(1), default_rng(2)]
    found = one.having(layout).texts(([1.0], [2.0]), 100, rngs, codes)
    assert {text for _, text in found.values()} <= {"low", "high"}
    assert set(found) <= set(codes)
    assert sum(asked) == 2 * drawn
    assert one.having(layout).texts(([1.0], [2.0]), 100, rngs, []) == {}
    late = mechanism(lambda *_: DrawTimeout("over"), alone=alone).having(layout)
    assert late.texts(([1.0], [2.0]), 100, rngs, codes) == {}


def test_a_layout_is_of_bare_observations_of_both_datasets(monkeypatch):
    seen = []
    monkeypatch.setattr(foreign, "layout_of", lambda found: seen.append(found) or "layout")

    def answer(task, unit):
        return {"numbers": np.full(unit.trials, task.value["data"][0]), "said": None}

    one = mechanism(answer).having(SimpleNamespace(rows=None))
    rngs = [default_rng(1), default_rng(2)]
    assert one.laid_out(([1.0], [2.0]), 5, rngs) == "layout"
    ((p, q),) = seen
    assert (p.tolist(), q.tolist()) == ([1.0] * 5, [2.0] * 5)


def test_a_python_is_another_path_of_the_same():
    assert foreign._another("/usr/bin/python") == "/usr/bin/./python"
