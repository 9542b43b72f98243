"""An audit with a time that is ended before: at most a second's work of each worker is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dpaudit.store.catalogue import list_store_entries
from dpaudit.store.file import Store

PACE, WORKERS, DRAWN = 0.02, 2, 100
SLOW = f"""
import os, time

def noisy(data, rng):
    time.sleep({PACE})
    found = data.sum() + rng.laplace()
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return found
"""
WORDS = (
    "audit slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1 --delta 0 --time 120 "
    f"--store kept.dpstore --workers {WORKERS} --quiet --out report"
)


@pytest.fixture
def here(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    for name, value in (("a", 0), ("b", 1)):
        (tmp_path / f"{name}.csv").write_text(f"x\n{value}\n")
    (tmp_path / "calls").touch()
    return tmp_path


def drawn(here):
    """Return how many outputs the mechanism has noted itself."""
    return len((here / "calls").read_text().splitlines())


def started(here):
    return subprocess.Popen(
        [sys.executable, "-m", "dpaudit", *WORDS.split()],
        cwd=here,
        env=os.environ | {"CALLS": str(here / "calls")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(here, process, outputs):
    end = time.monotonic() + 120
    while drawn(here) < outputs and time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    assert drawn(here) >= outputs


def at_rest(here):
    """Return how many outputs were drawn, once nobody draws any more."""
    before, now = -1, drawn(here)
    while now > before:
        time.sleep(1.0)
        before, now = now, drawn(here)
    return now


def units_kept(here):
    with Store(here / "kept.dpstore") as store:
        assert store.run("PRAGMA integrity_check") == [("ok",)]
        return sum(one.units for one in list_store_entries(store))


@pytest.mark.parametrize(
    ("given", "status"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_at_most_a_second_of_each_worker_is_lost(here, given, status):
    process = started(here)
    wait_for(here, process, DRAWN)
    process.send_signal(given)
    told = process.communicate()[1]
    assert process.returncode == status, told
    made, kept = at_rest(here), units_kept(here)
    assert made >= DRAWN
    assert 0 <= made - kept <= WORKERS * 1.0 / PACE, json.dumps([made, kept])
