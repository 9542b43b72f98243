"""A real scheduler with workers of its own, one of which is killed; and ray. `make cluster`."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

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


def test_a_worker_that_is_killed_changes_nothing(dask, place):
    whole = command(place, *LONG, "--out", "whole")
    port = free_port()
    with cluster(port) as hands:
        timer = threading.Timer(12.0, hands[0].send_signal, [signal.SIGKILL])
        timer.start()
        ran = command(place, *LONG, *on(port), "--out", "there")
        timer.join()
        assert hands[0].poll() == -signal.SIGKILL
    assert ran.returncode == whole.returncode, ran.stderr
    assert report(place / "there") == report(place / "whole")
    assert len(units_of(ran)) == 3


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


__all__ = ["HERE", "place"]
