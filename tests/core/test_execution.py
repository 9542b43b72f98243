"""Blocks of trials: one result whoever computes it, in bounded memory, with errors as they are."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest
from numpy.random import SeedSequence
from threadpoolctl import threadpool_info, threadpool_limits

from dpaudit import execution
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import (
    available_cores,
    one_thread,
    plan_units,
    stream,
    threads,
    unit_size,
)


def draw(unit):
    """Return numbers that depend on the seed, and on the summation order inside BLAS."""
    rng = unit.generator()
    matrix = rng.standard_normal((60, 60))
    return np.linalg.solve(matrix @ matrix.T + np.eye(60), rng.standard_normal(60))


def leave_trace(folder, unit):
    (folder / str(unit.seed.spawn_key[-1])).touch()
    return np.zeros(2**23)  # as much as may be held for a consumer, at once


def blas_threads(unit):
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def process(unit):
    time.sleep(0.05)
    return os.getpid()


def fail(kind, unit):
    if unit.seed.spawn_key[-1] == 2:
        raise (
            InvalidArgument("rows", kind, "fewer") if kind == "argument" else MechanismError(kind)
        )
    return 0


@dataclass
class Recorder:
    """Progress that remembers what it was told."""

    told: list = field(default_factory=list)

    def start(self, stage, trials):
        self.told.append((stage, trials))

    def advance(self, trials):
        self.told.append(trials)


@pytest.fixture(scope="module")
def units():
    return plan_units(230, size=10, seed=SeedSequence(5))


@pytest.fixture(scope="module")
def reference(units):
    return [draw(unit).tobytes() for unit in units]


# Stages are handed out from the first unit on, however short they are.
Executor = partial(execution.Executor, worth=-1.0)
both_ways = pytest.mark.parametrize("workers", [1, 2])


@both_ways
def test_the_result_is_the_same_to_the_last_bit(units, reference, workers):
    found = Executor(workers=workers).map(draw, units, "draw")
    with threadpool_limits(limits=1):
        reference = [draw(unit).tobytes() for unit in units]
    assert [result.tobytes() for result in found] == reference


def test_two_workers_are_two_processes(units):
    assert len(set(Executor(workers=2).map(process, units, "processes"))) == 2
    assert set(Executor(workers=1).map(process, units[:2], "processes")) == {os.getpid()}


@pytest.mark.slow
@both_ways
def test_a_slow_consumer_is_waited_for(tmp_path, workers):
    """Results that nobody has taken yet stay few, or memory would not be bounded."""
    units = plan_units(100, size=1, seed=SeedSequence(1))
    results = Executor(workers=workers).map(partial(leave_trace, tmp_path), units, "slow")
    for taken in (1, 2, 3):
        next(results)
        time.sleep(0.3)
        ahead = len(list(tmp_path.iterdir())) - taken
        assert ahead <= (0 if workers == 1 else 3 * workers)
    assert 3 + sum(1 for _ in results) == len(list(tmp_path.iterdir())) == 100


@pytest.mark.sampled(1)
@both_ways
def test_a_consumer_may_stop_early(units, workers):
    results = Executor(workers=workers).map(draw, units, "stopped")
    next(results)
    results.close()
    gc.collect()  # a warning on the way out would be an error here
    assert list(Executor(workers=workers).map(process, units[:1], "again"))


@both_ways
def test_an_error_arrives_as_itself(units, workers):
    executor = Executor(workers=workers)
    with pytest.raises(InvalidArgument, match=r"^rows: got .*, expected fewer$") as caught:
        list(executor.map(partial(fail, "argument"), units, "failing"))
    assert caught.value.name == "rows"
    with pytest.raises(MechanismError, match=r"^a NaN$"):
        list(executor.map(partial(fail, "a NaN"), units, "failing"))


@both_ways
def test_progress_is_told_every_trial_once(workers):
    units, recorder = plan_units(95, size=10, seed=SeedSequence(1)), Recorder()
    list(Executor(workers=workers, progress=recorder).map(draw, units, "stage"))
    assert recorder.told[0] == ("stage", 95)
    assert sum(recorder.told[1:]) == 95
    assert all(trials > 0 for trials in recorder.told[1:])


@both_ways
def test_linear_algebra_runs_on_one_thread(units, workers):
    with threadpool_limits(limits=2):
        for threads in Executor(workers=workers).map(blas_threads, units[:4], "threads"):
            assert threads
            assert set(threads) == {1}


def test_a_stage_is_handed_out_once_it_is_worth_starting_workers():
    units = plan_units(8, 1, SeedSequence(0))
    here = set(execution.Executor(workers=2, worth=600.0).map(process, units, "short"))
    assert here == {os.getpid()}
    found = list(execution.Executor(workers=2, worth=0.2).map(process, units, "long"))
    assert found[0] == os.getpid()
    assert os.getpid() not in found[4:]


def test_asking_for_one_thread_again_inside_looks_at_no_library(monkeypatch):
    looked = []
    monkeypatch.setattr(threads, "threadpool_limits", partial(counted_limits, looked))
    with one_thread():
        with one_thread():
            assert set(blas_threads(None)) == {1}
        assert set(blas_threads(None)) == {1}
    assert looked == [1]


def counted_limits(looked, limits):
    looked.append(limits)
    return threadpool_limits(limits=limits)


def test_a_library_that_is_loaded_inside_runs_on_one_thread():
    code = """
from threadpoolctl import threadpool_info
from dpaudit.execution import one_thread
before = len(threadpool_info())
with one_thread():
    import scipy.linalg
    assert len(threadpool_info()) > before
    print({pool["num_threads"] for pool in threadpool_info()})
"""
    free = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], env=free, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "{1}"), done.stderr


@pytest.mark.skipif(available_cores() == 1, reason="one core has one thread anyway")
def test_the_threads_are_given_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with threadpool_limits(limits=2):
        with one_thread():
            assert os.environ["OMP_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "1"
        assert set(blas_threads(None)) == {2}
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(("trials", "unit"), [(1, 1), (1, 100), (100, 7), (100, 100), (101, 100)])
def test_a_plan_covers_every_trial_with_seeds_of_their_own(trials, unit):
    units = plan_units(trials, unit, SeedSequence(3))
    assert sum(b.trials for b in units) == trials
    assert {b.trials for b in units[:-1]} <= {unit}
    assert 0 < units[-1].trials <= unit
    states = {b.seed.generate_state(4).tobytes() for b in units}
    assert len(states) == len(units)


def test_planning_twice_gives_the_same_plan():
    seed = stream(9, "certifying")
    first, second = (plan_units(50, 7, seed) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.trials == other.trials
        assert one.generator().bytes(16) == other.generator().bytes(16) == one.generator().bytes(16)
    assert seed.n_children_spawned == 0


def test_more_trials_keep_the_blocks_there_were():
    few, many = (plan_units(trials, 10, SeedSequence(1)) for trials in (30, 50))
    assert [b.seed.spawn_key for b in few] == [b.seed.spawn_key for b in many[:3]]


def test_no_two_purposes_share_a_stream():
    """Certifying trials that repeat the pilot's would void every bound."""
    names = [(), ("pilot",), ("certifying",), ("pilot", "dataset"), ("dataset", "pilot")]
    seeds = [stream(seed, *name) for seed in (0, 1, 2**70) for name in names]
    units = [unit.seed for seed in seeds for unit in plan_units(30, 10, seed)]
    states = {seed.generate_state(4).tobytes() for seed in (*seeds, *units)}
    assert len(states) == len(seeds) + len(units)
    again = stream(1, "pilot").generate_state(4)
    np.testing.assert_array_equal(again, stream(1, "pilot").generate_state(4))


@pytest.mark.parametrize("bytes_per_trial", [0, 1, 8, 1000, 2**18, 2**20, 3 * 2**20, 2**26, 2**40])
def test_a_unit_is_a_power_of_two_that_fits(bytes_per_trial):
    for trials in (100, 10_000, 10**6, 10**9):
        size = unit_size(trials, bytes_per_trial)
        assert 1 <= size <= max(256, trials // 128)
        assert size & (size - 1) == 0
        assert size == 1 or size * bytes_per_trial <= 64 * 2**20


def test_a_stage_has_many_units_and_each_many_trials():
    for trials in (40_000, 10**6, 10**7):
        assert 128 <= trials / unit_size(trials, 8) <= 256
    assert unit_size(10**12, 8) == 2**17


@pytest.mark.parametrize("pace", [1e-9, 1e-4, 1e-3, 0.01, 0.3, 2.0, 1e6])
def test_a_unit_takes_a_second_at_the_pace_that_was_seen(pace):
    size = unit_size(10**6, 8, seconds_per_trial=pace)
    assert size == 1 or size * pace <= 1
    assert size == unit_size(10**6, 8) or 2 * size * pace > 1 or pace > 1


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("workers", lambda: Executor(workers=0)),
        ("worth", lambda: execution.Executor(worth=float("nan"))),
        ("workers", lambda: Executor(workers=1.5)),
        ("trials", lambda: plan_units(0, 1, SeedSequence(1))),
        ("unit", lambda: plan_units(1, 0, SeedSequence(1))),
        ("seed", lambda: stream(-1, "pilot")),
        ("seed", lambda: stream(None, "pilot")),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(name)}: got"):
        call()


def test_there_is_a_core_to_work_on():
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
