"""Commands that are killed at any moment and given again: the result of who was not interrupted."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter

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
OWN = "slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1 --delta 0 --trials 600"
COMMANDS = {
    "event": f"audit {OWN}",
    "betting": "audit slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1.5 --until-refuted "
    "--trials 3000",
    "exact-loss": "audit huang2020-theorem6 --trials 4000",
    "search": "audit hu2019-lemma4",
    "self-test": "selftest --quick",
    "attack": "attack stationarity --set runs=3 --set iterations=[50]",
    "all": "audit --all --trials 400",
}
TIMES = ("created", "seconds", "cpu_seconds")
REPORTS = {"self-test": "selftest.json", "attack": "stationarity.json", "all": "index.json"}


@pytest.fixture
def here(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    for name, value in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{value}\n")
    return tmp_path


def started(here, words, out):
    environment = os.environ | {"CALLS": str(here / f"{out}.calls")}
    command = [sys.executable, "-m", "dpaudit", *words.split(), "--quiet", "--out", out]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=here, env=environment, start_new_session=True, **quiet)


def run(here, words, out):
    process = started(here, words, out)
    told = process.communicate()[1].decode()
    assert process.returncode in (0, 1, 2), told
    return told


def result(here, kind, out):
    content = json.loads((here / out / REPORTS.get(kind, "report.json")).read_text())
    return _without_times(content)


def _without_times(value):
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    if isinstance(value, list):
        return list(map(_without_times, value))
    return value.replace("--out killed", "").replace("--out whole", "") if _is(value) else value


def _is(value):
    return isinstance(value, str)


def killed_and_given_again(here, kind, kills, seed, signals=(signal.SIGKILL,)):
    words, rng = COMMANDS[kind], random.Random(seed)
    began = time.monotonic()
    run(here, words, "whole")
    whole = time.monotonic() - began
    for _ in range(kills):
        process = started(here, words, "killed")
        time.sleep(rng.uniform(0.3, 1.0) * whole)
        os.killpg(process.pid, rng.choice(signals))
        process.communicate()
        time.sleep(0.3)
    run(here, words, "killed")
    return whole


def integrity(here):
    path = here / "killed" / "store.sqlite"
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    return found


def calls_again(here):
    """Return how many units of more than a probe's size were drawn more than once."""
    lines = (here / "killed.calls").read_text().splitlines()
    counts = Counter(line for line in lines if int(line.split()[1]) > 4)
    return sum(count - 1 for count in counts.values())


@pytest.mark.parametrize("kind", ["event", pytest.param("search", marks=pytest.mark.slow)])
def test_what_is_killed_ends_as_if_nothing_had_been(here, kind):
    killed_and_given_again(here, kind, 1, 0)
    assert result(here, kind, "killed") == result(here, kind, "whole")
    assert integrity(here) == [("ok",)]
    assert {one.name for one in (here / "killed").glob("store*")} == {"store.sqlite"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("kind", COMMANDS)
def test_fifty_kills(here, kind, seed):
    killed_and_given_again(here, kind, 1, 100 + seed)
    assert result(here, kind, "killed") == result(here, kind, "whole")
    assert integrity(here) == [("ok",)]
    assert not [one for one in (here / "killed").rglob("*") if one.name.endswith((".part", "-wal"))]


def trials_of(here, out):
    lines = (here / f"{out}.calls").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines)


def test_more_trials_of_bets_go_on_from_what_there_is(here):
    words = f"audit {OWN}".replace("--epsilon 1 ", "--epsilon 4 ").replace(
        "--delta 0 --trials 600", "--until-refuted"
    )
    run(here, f"{words} --trials 400", "killed")
    before = trials_of(here, "killed")
    run(here, f"{words} --trials 1000", "killed")
    run(here, f"{words} --trials 1000", "whole")
    assert result(here, "betting", "killed") == result(here, "betting", "whole")
    drawn_again = trials_of(here, "killed") - trials_of(here, "whole")
    assert 0 <= drawn_again <= before - 2 * 400  # some looks, and none of the bets'


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_at_most_a_unit_of_each_worker_is_drawn_again(here, seed):
    killed_and_given_again(here, "event", 1, 200 + seed)
    assert calls_again(here) <= 2 * os.cpu_count()


@pytest.mark.slow
def test_a_signal_that_asks_loses_no_more(here):
    killed_and_given_again(here, "event", 1, 0, (signal.SIGTERM,))
    assert result(here, "event", "killed") == result(here, "event", "whole")
