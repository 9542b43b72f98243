"""A real scheduler with workers of its own, one of which is killed; and ray. `make cluster`."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from .test_backends import HERE, command, place, report

pytestmark = pytest.mark.slow
LONG = ("--trials", "6000")


@pytest.fixture
def dask():
    pytest.importorskip("distributed", reason="dask is not installed: make cluster")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def started(*words):
    """Start a program of dask's, whose modules are not the mechanism's."""
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *words], cwd="/", stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=dict(os.environ) | {"DPAUDIT_STORE": ""},
    )  # fmt: skip


@contextmanager
def cluster(port, workers=3):
    """Run a scheduler and workers of one thread each; yield the workers."""
    address = f"tcp://127.0.0.1:{port}"
    scheduler = started("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    _answers(port)
    hands = [
        started("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for _ in range(workers)
    ]
    try:
        yield hands
    finally:
        for one in (*hands, scheduler):
            one.kill()
            one.wait()


def _answers(port):
    for _ in range(300):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("no scheduler")


def units_of(ran):
    """Return how many units each worker computed, as the last line says."""
    (line,) = re.findall(r"Units by worker \(\w+\): (.*)\.", ran.stderr)
    return {name: int(count) for name, count in (one.split() for one in line.split(", "))}


def on(port):
    return ("--backend", "dask", "--scheduler", f"tcp://127.0.0.1:{port}")


def kept(path):
    """Return how many results of units a store keeps so far."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return store.execute("SELECT count(*) FROM blocks").fetchone()[0]
    except sqlite3.Error:  # there is none yet
        return 0


class Kill(threading.Thread):
    """Kills a process once a store keeps so many results, and notes how many it kept."""

    def __init__(self, path, units, find):
        super().__init__(daemon=True)
        self.path, self.units, self.find, self.pid, self.then = path, units, find, None, 0
        self.start()

    def run(self):
        while self.then < self.units or self.pid is None:
            time.sleep(0.1)
            self.then, self.pid = kept(self.path), self.find()
        os.kill(self.pid, signal.SIGKILL)


def test_a_worker_that_is_killed_changes_nothing(dask, place):
    whole = command(place, *LONG, "--out", "whole")
    port = free_port()
    with cluster(port) as hands:
        kill = Kill(place / "there" / "store.sqlite", 150, lambda: hands[0].pid)
        ran = command(place, *LONG, *on(port), "--out", "there")
        kill.join(1.0)
        assert hands[0].wait(5.0) == -signal.SIGKILL
    assert ran.returncode == whole.returncode, ran.stderr
    assert report(place / "there") == report(place / "whole")
    computed = units_of(ran)
    killed = computed.pop(f"{socket.gethostname()}:{hands[0].pid}", 0)
    assert len(computed) == 2  # the two others took the units over
    assert min(computed.values()) > killed


def test_a_scheduler_that_is_restarted_goes_on_from_the_store(dask, place):
    whole = command(place, *LONG, "--out", "whole")
    port = free_port()
    with cluster(port, workers=2):
        killed = threading.Timer(14.0, _kill_commands, [place])
        killed.start()
        first = command(place, *LONG, *on(port), "--out", "there")
        killed.join()
        assert first.returncode not in (0, 1)
    with cluster(port, workers=2):
        again = command(place, *LONG, *on(port), "--out", "there")
    assert again.returncode == whole.returncode, again.stderr
    assert report(place / "there") == report(place / "whole")


def _kill_commands(place):
    subprocess.run(["pkill", "-KILL", "-f", "dpaudit audit mechanism:f"], check=False)


def test_what_the_code_raises_is_not_tried_again(dask, place):
    port = free_port()
    with cluster(port, workers=1):
        ran = command(place, *on(port), "--timeout", "0.0001")
    assert ran.returncode == 2
    assert "without an answer" in ran.stderr


def test_a_scheduler_that_does_not_answer_is_said(dask, place):
    ran = command(place, *on(free_port()))
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: scheduler: ")


def test_ray_gives_the_same_report(place):
    pytest.importorskip("ray", reason="ray is not installed: make cluster")
    whole = command(place, "--out", "whole")
    ran = command(place, "--backend", "ray", "--out", "there")
    assert ran.returncode == whole.returncode, ran.stderr
    assert report(place / "there") == report(place / "whole")
    assert sum(units_of(ran).values()) > 0


def worker_of_ray():
    """Return a process of ray that this one's programs have started and that computes."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{name}/cmdline").read_bytes()
            if line.startswith(b"ray::PoolActor") and os.getpid() in ancestors(int(name)):
                return int(name)
    return None


def ancestors(pid):
    """Return the processes that led to one."""
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def test_a_worker_of_ray_that_is_killed_changes_nothing(place):
    pytest.importorskip("ray", reason="ray is not installed: make cluster")
    whole = command(place, *LONG, "--out", "whole")
    kill = Kill(place / "there" / "store.sqlite", 150, worker_of_ray)
    ran = command(place, *LONG, "--backend", "ray", "--out", "there")
    assert kill.pid is not None
    assert ran.returncode == whole.returncode, ran.stderr
    assert report(place / "there") == report(place / "whole")
    computed = units_of(ran)
    assert sum(computed.values()) > kill.then
    assert any(not name.endswith(f":{kill.pid}") for name in computed)


__all__ = ["HERE", "place"]
