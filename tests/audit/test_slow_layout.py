"""The layout of slow code: made by several workers, and the same as one of them makes."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter

import numpy as np
import pytest

from dpaudit.auditing.api import own_case
from dpaudit.auditing.explain.output_parts import resolve_case_layout
from dpaudit.auditing.sampling.constant_parts import remove_constant_parts
from dpaudit.execution import Executor
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.code_mechanism import AS_IT_IS, ObservationSettings
from dpaudit.mechanisms.outputs.layout import PartLayout, Plain, layout_of
from dpaudit.mechanisms.outputs.reads import drifts_by_process, layout_of_reads, read_of
from dpaudit.neighbours import REPLACE_RECORD, Pair

HERE, CALLS = os.getpid(), []
PAIR = Pair([1.0, 2.0], [0.0, 2.0], REPLACE_RECORD)


def record_of(data, rng):
    time.sleep(0.02)
    answer = {"sum": sum(data) + rng.laplace(), "size": len(data), "name": "k"}
    return answer | ({"more": "yes"} if rng.random() < 0.5 else {"none": None})


def vector_of(data, rng):
    time.sleep(0.02)
    return np.array([sum(data), rng.laplace()])


def counts_its_calls(data, rng):
    time.sleep(0.02)
    CALLS.append(1)
    return {"n": len(CALLS), "sum": sum(data) + rng.laplace()}


def writes_its_process(data, rng, folder):
    time.sleep(0.25)
    (folder / f"{os.getpid()} {rng.random()}").touch()
    return sum(data) + rng.laplace()


class Writes:
    def __init__(self, folder):
        self.folder = folder

    def __call__(self, data, rng):
        return writes_its_process(data, rng, self.folder)


def layout_by(mechanism, workers, reading=AS_IT_IS, count=6):
    case, _ = own_case(mechanism, PAIR, claimed=ApproximateDP(1.0, 0.0), reading=reading)
    try:
        found = resolve_case_layout(case, 3, Executor(workers=workers), lambda pace: 50 * 2 * count)
    finally:
        case.mechanism.crew.close()
    assert found.first.is_slow
    return found.case.mechanism.layout


@pytest.mark.parametrize(
    ("mechanism", "reading"),
    [
        (record_of, AS_IT_IS),
        (record_of, ObservationSettings(ignore=("size", "name"))),
        (vector_of, AS_IT_IS),
    ],
)
def test_one_worker_and_two_make_the_same_layout(mechanism, reading):
    one = layout_by(mechanism, 1, reading)
    assert one == layout_by(mechanism, 2, reading)
    paths = [column.path for column in one.columns]
    if mechanism is vector_of:
        assert (type(one), one.shape, one.steady) == (Plain, (2,), (0,))
    elif reading is AS_IT_IS:
        assert {"sum", "more", "none"} <= set(paths)
        assert {"name", "size"} & set(one.usual)
    else:
        assert "size" not in (*paths, *one.usual)
        assert one.ignored == ("size", "name")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_counts_calls_is_seen_whoever_makes_them(workers):
    layout = layout_by(counts_its_calls, workers)
    assert [one.path for one in layout.columns if one.drifts] == ["n"]


def test_slow_outputs_are_dealt_to_the_workers(tmp_path):
    layout_by(Writes(tmp_path), 2)
    processes = [path.name.split()[0] for path in tmp_path.iterdir()]
    assert str(HERE) not in processes
    assert len(set(processes)) == 2
    # The first four outputs (twice, with the same randomness), then six of each dataset. On a busy
    # machine a few are drawn once more.
    assert 4 + 12 <= len(processes) <= 4 + 12 + 4
    assert min(map(processes.count, set(processes))) >= 4


class Counts:
    """Counts its calls, in what it returns and in files."""

    def __init__(self, folder, plain):
        self.folder, self.plain, self.calls = folder, plain, 0

    def __call__(self, data, rng):
        time.sleep(0.02)
        self.calls += 1
        (self.folder / f"{os.getpid()} {uuid.uuid4()}").touch()
        value = sum(data) + rng.laplace()
        return np.array([self.calls, value]) if self.plain else {"n": self.calls, "sum": value}


@pytest.mark.parametrize("plain", [True, False])
def test_what_only_grows_is_left_out_of_slow_outputs_at_the_cost_of_few(tmp_path, plain):
    case, _ = own_case(Counts(tmp_path, plain), PAIR, claimed=ApproximateDP(1.0, 0.0))
    executor, count = Executor(workers=2), 6
    try:
        found = resolve_case_layout(case, 3, executor, lambda pace: 50 * 2 * count)
        before = set(tmp_path.iterdir())
        kept, _ = remove_constant_parts(found.case, 3, found.count, executor)
    finally:
        case.mechanism.crew.close()
    number, value = ("output[0]", "output[1]") if plain else ("n", "sum")
    paths = [column.path for column in kept.mechanism.layout.columns]
    assert value in paths
    assert number not in paths
    assert any(f"Left out: {number} (" in note for note in kept.notes)
    # Six of each dataset in two processes, to see what tells these apart. Of an array the workers
    # look at as many again, as it has no parts yet.
    calls = Counter(path.name.split()[0] for path in set(tmp_path.iterdir()) - before)
    assert calls.total() == 24 + (12 if plain else 0)
    assert len(calls) >= 2


OUTCOMES = [
    [1.0, 2.0, 3.5],
    [np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([0.5, np.inf])],
    [(1.0, "a"), (2.0, "b"), (1.5, "a")],
    [{"a": 1.0, "b": b"x"}, {"a": np.nan}, None],
    [1, 2, 2**60],
    [True, False, 3.0],
    [[1.0, 2.0], [1.0], [3.0, 4.0]],
]


@pytest.mark.parametrize("outcomes", OUTCOMES)
def test_reads_make_the_layout_that_observations_make(outcomes):
    sides = [outcomes, outcomes[::-1]]
    reads = [[read_of(one, "1") for one in side] for side in sides]
    found, due = layout_of_reads(reads), layout_of(sides)
    assert found == due
    if isinstance(due, PartLayout):
        np.testing.assert_array_equal(found.rows(outcomes, 3), due.rows(outcomes, 3))


@pytest.mark.parametrize(
    ("outcomes", "names"),
    [
        ([{"a": 1.5, "n": 1, "b": "x"}, {"a": 2.5, "n": 2}], ["=n"]),
        ([{"a": {"n": "k"}, "n": [1, 2]}, {"a": {"n": "k"}, "n": [2, 3]}], ["n", "a"]),
        ([(1.0, "a"), (2.0, "b"), (1.5, None)], ["=output[1]"]),
    ],
)
def test_parts_that_are_taken_out_leave_what_the_others_would_have_made(outcomes, names):
    sides = [outcomes, outcomes[::-1]]
    found, due = layout_of(sides).without(names), layout_of(sides, names)
    assert found == due
    np.testing.assert_array_equal(
        found.rows(outcomes, len(outcomes)), due.rows(outcomes, len(outcomes))
    )


def test_large_arrays_that_are_not_alike_are_left_to_one_process():
    reads = [[read_of(np.zeros(5000), "1"), read_of("a", "1")]]
    assert layout_of_reads(reads) is None
    assert layout_of_reads([[read_of(np.zeros(5000), "1")]]).shape == (5000,)


def test_chance_is_no_drift_where_many_processes_made_few_observations():
    rows = [np.arange(12.0)[:, None] % 2]
    assert drifts_by_process(rows, np.arange(12) // 2) == ()
    rows = [np.array([5.0, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5])[:, None]]
    assert drifts_by_process(rows, np.arange(12) // 6) == ()
    assert drifts_by_process([-one for one in rows], np.zeros(12, int)) == ()
