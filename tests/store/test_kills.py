"""Commands that are killed at any moment and given again: the result of who was not interrupted."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

import pytest

SLOW = """
import hashlib, os, time
import numpy as np

def noisy(data, trials, rng):
    key = hashlib.md5(repr(rng.bit_generator.state).encode()).hexdigest()
    noise = rng.laplace(scale=0.5, size=trials)
    time.sleep(0.0002 * trials)
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{key} {trials}\\n")
    return np.asarray(data).sum() + noise
"""
# Every process of a command writes down the units and decisions that it has worked out, with the
# seconds of its processor that they took.
WATCHING = """
import functools, os, time

def _watched(kind, inner, name):
    @functools.wraps(inner)
    def watched(*given, **named):
        began = time.process_time()
        found = inner(*given, **named)
        with open(os.environ["WORKED"], "a") as file:
            file.write(f"{kind}|{name(*given)}|{time.process_time() - began}\\n")
        return found
    return watched

if "WORKED" in os.environ:
    from dpaudit.execution import executor, tasks
    def of_unit(task, unit):
        return named(task, unit.trials, unit.which, unit.seed)
    def of_parts(self, trials, seed, which=0):
        return named(self.task, trials, which, seed)
    def named(task, trials, which, seed):  # audits of one seed have units of the same seeds
        how = getattr(task, "func", getattr(task, "function", task))
        what = next(iter(getattr(task, "args", getattr(task, "arguments", ()))), None)
        what = getattr(getattr(what, "calls", None), "function", what)
        words = [getattr(one, "__qualname__", type(one).__name__) for one in (how, what)]
        return f"{words} {trials} {which} {seed.entropy} {seed.spawn_key}"
    executor._on_one_thread = _watched("unit", executor._on_one_thread, of_unit)
    tasks.OnUnit.__call__ = _watched("unit", tasks.OnUnit.__call__, of_parts)
"""
OWN = "slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1 --delta 0 --trials 600"
COMMANDS = {
    "event": f"audit {OWN}",
    "betting": "audit slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1.5 --until-refuted "
    "--trials 3000",
    "exact-loss": "audit huang2020-theorem6 --trials 4000",
    "search": "audit hu2019-lemma4",
    "self-test": "selftest --quick",
    "attack": "attack stationarity --set runs=3 --set iterations=[50]",
    "all": "audit --all --trials 100",
}
# Of each so many moments, fifty in all: fewer of what takes longest.
MOMENTS = {
    "all": 2,
    "self-test": 5,
    "event": 10,
    "betting": 9,
    "exact-loss": 8,
    "search": 8,
    "attack": 8,
}
TIMES = ("created", "seconds", "cpu_seconds", "taken")
REPORTS = {"self-test": "selftest.json", "attack": "stationarity.json", "all": "index.json"}
# A unit takes two seconds at most, and each of two workers may have one under way.
WORKERS, UNIT = 2, 2.0


@pytest.fixture
def here(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "watching").mkdir()
    (tmp_path / "watching" / "sitecustomize.py").write_text(WATCHING)
    for name, value in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{value}\n")
    return tmp_path


def started(here, words, out, *, watched=False):
    environment = os.environ | {"CALLS": str(here / f"{out}.calls")}
    if watched:
        environment["WORKED"] = str(here / f"{out}.worked")
        environment["PYTHONPATH"] = str(here / "watching")
    workers = [] if words.startswith("attack") else ["--workers", str(WORKERS)]
    command = [sys.executable, "-m", "dpaudit", *words.split(), *workers, "--quiet", "--out", out]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=here, env=environment, start_new_session=True, **quiet)


def run(here, words, out, **others):
    process = started(here, words, out, **others)
    told = process.communicate()[1].decode()
    assert process.returncode in (0, 1, 2), told
    return told


def result(here, kind, out):
    content = json.loads((here / out / REPORTS.get(kind, "report.json")).read_text())
    return _without_times(content, out)


def _without_times(value, out):
    if isinstance(value, dict):
        return {k: _without_times(v, out) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return [_without_times(one, out) for one in value]
    return value.replace(f"--out {out}", "") if isinstance(value, str) else value


def killed(here, words, out, rng, whole, signals=(signal.SIGKILL,)):
    """Begin a command, and end it at a moment of the time that the whole takes."""
    within = rng.uniform(0.05, 0.95)
    while True:
        process = started(here, words, out, watched=True)
        time.sleep(within * whole)
        os.killpg(process.pid, rng.choice(signals))
        process.communicate()
        if process.returncode not in (0, 1, 2) or within < 0.05:
            return
        within *= 0.8  # it had ended, as the machine had less to do
        _forget(here, out)


def _forget(here, out):
    for one in (f"{out}.calls", f"{out}.worked"):
        (here / one).unlink(missing_ok=True)
    for path in sorted((here / out).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def integrity(here, out="killed"):
    path = here / out / "store.sqlite"
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    return found


def calls_again(here):
    """Return how many units of more than a probe's size were drawn more than once."""
    lines = (here / "killed.calls").read_text().splitlines()
    counts = Counter(line for line in lines if int(line.split()[1]) > 4)
    return sum(count - 1 for count in counts.values())


def worked(here, out):
    """Return the seconds of every time that a unit was worked out, by its name."""
    found, path = defaultdict(list), here / f"{out}.worked"  # a search has no units
    for line in path.read_text().splitlines() if path.exists() else ():
        kind, name, seconds = line.split("|")
        found[kind, name].append(float(seconds))
    return found


def worked_again(here, out):
    """Return the seconds of what was worked out more often than if nothing had been killed.

    Of units of one name, as calls of which one is like the other, nobody knows which came again:
    each counts as much as they take in the mean.
    """
    whole, found = worked(here, "whole"), worked(here, out)
    again = {name: len(times) - len(whole[name]) for name, times in found.items()}
    return [fmean(found[name]) for name, more in again.items() for _ in range(more)]


def left_over(here, out):
    """Return files that should not be there, and processes that still run here."""
    files = [one for one in (here / out).rglob("*") if one.name.endswith((".part", "-wal", "-shm"))]
    return files, [pid for pid in map(str, _running()) if _folder_of(pid) == str(here)]


def _running():
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _folder_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


@pytest.mark.slow  # `test_timed_kills` is the quick one
@pytest.mark.parametrize("kind", ["event", "search"])
def test_what_is_killed_ends_as_if_nothing_had_been(here, kind):
    killed_and_given_again(here, kind, 0)
    assert result(here, kind, "killed") == result(here, kind, "whole")
    assert integrity(here) == [("ok",)]
    assert {one.name for one in (here / "killed").glob("store*")} == {"store.sqlite"}


def killed_and_given_again(here, kind, seed, signals=(signal.SIGKILL,), options=""):
    words = COMMANDS[kind]
    began = time.monotonic()
    run(here, words, "whole")
    words = f"{words} {options}"
    killed(here, words, "killed", random.Random(seed), time.monotonic() - began, signals)
    run(here, words, "killed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", MOMENTS)
def test_fifty_kills(here, kind):
    words, wrong = COMMANDS[kind], []
    began = time.monotonic()
    run(here, words, "whole", watched=True)
    whole = time.monotonic() - began
    for seed in range(MOMENTS[kind]):
        out = f"killed{seed}"
        killed(here, words, out, random.Random(f"{kind} {seed}"), whole)
        run(here, words, out, watched=True)
        wrong += [f"{out}: {one}" for one in _wrong(here, kind, out)]
    assert not wrong


def _wrong(here, kind, out):
    if result(here, kind, out) != result(here, kind, "whole"):
        yield "another result"
    if integrity(here, out) != [("ok",)]:
        yield "a damaged store"
    if any(left := left_over(here, out)):
        yield f"left over: {left}"
    again = worked_again(here, out)
    long = sum(one for one in again if one > 0.05)
    print(f"{kind} {out}: {len(again)} units again, {sum(again):.2f} s, of long ones {long:.2f} s")
    if sum(again) > WORKERS * UNIT:
        yield f"{len(again)} units of {sum(again):.2f} s were worked out again"


def trials_of(here, out):
    lines = (here / f"{out}.calls").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines)


@pytest.mark.slow
def test_more_trials_of_bets_go_on_from_what_there_is(here):
    words = f"audit {OWN}".replace("--epsilon 1 ", "--epsilon 4 ").replace(
        "--delta 0 --trials 600", "--until-refuted"
    )
    run(here, f"{words} --trials 150", "killed")
    before = trials_of(here, "killed")
    run(here, f"{words} --trials 400", "killed")
    run(here, f"{words} --trials 400", "whole")
    assert result(here, "betting", "killed") == result(here, "betting", "whole")
    drawn_again = trials_of(here, "killed") - trials_of(here, "whole")
    assert 0 <= drawn_again <= before - 2 * 150  # some looks, and none of the bets'


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_at_most_a_unit_of_each_worker_is_drawn_again(here, seed):
    # a file that is named is begun at once, another after a second
    killed_and_given_again(here, "event", 200 + seed, options="--store named.sqlite")
    assert (here / "named.sqlite").exists()
    assert calls_again(here) <= WORKERS


@pytest.mark.slow
@pytest.mark.parametrize("asking", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_asks_loses_no_more(here, asking):
    killed_and_given_again(here, "event", 0, (asking,))
    assert result(here, "event", "killed") == result(here, "event", "whole")


def children(pid):
    """Return the processes that a process has started, and theirs."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            parent = int((one / "stat").read_text().rpartition(") ")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid:
            found += [int(one.name), *children(int(one.name))]
    return found


def victim(process, kind):
    """Return the process to kill: the command, the keeper that it started, or a worker of that."""
    if kind == "parent":
        return process.pid
    found = children(process.pid)
    return found[0] if kind == "keeper" else found[-1]


KINDS = ("worker", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("keeper", "parent")))
EARLY = [pytest.param(seed, marks=[pytest.mark.slow] if seed else []) for seed in range(10)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", EARLY)
@pytest.mark.parametrize("kind", KINDS)
def test_who_loses_one_process_goes_on_from_what_was_kept(here, kind, seed):
    words = COMMANDS["event"]
    process = started(here, f"{words} --store killed.sqlite", "killed")
    calls, most = here / "killed.calls", 3 + 2 * seed
    while process.poll() is None and not (calls.exists() and calls.read_text().count("\n") > most):
        time.sleep(0.01)
    os.kill(victim(process, kind), signal.SIGKILL)
    _, told = process.communicate()
    assert process.returncode in (-signal.SIGKILL, 0, 1, 2)
    assert b"Traceback" not in told
    run(here, f"{words} --store killed.sqlite", "killed")
    run(here, words, "whole")
    assert result(here, "event", "killed") == result(here, "event", "whole")
    assert not left_over(here, "killed")[1]
