"""The processes that run the tests of a fault: limits in CPU seconds, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .faults import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").exists(), reason="it counts by /proc"),
]
QUICK = "def test_quick():\n    pass\n"
LOOP = "def test_loop():\n    while True:\n        pass\n"
SLEEPER = """
import subprocess, sys

def test_leaves_a_process():
    command = [sys.executable, "-c", "import time; time.sleep(600)", "{mark}"]
    subprocess.Popen(command, start_new_session=True)
    assert {right}
"""


@pytest.fixture
def nursery():
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.mutants.nursery"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.terminate()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def asked(nursery, folder, source, seconds=60.0):
    path = folder / "test_given.py"
    path.write_text(source)
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(path)]
    told = {"arguments": arguments, "log": str(folder / "log"), "seconds": seconds}
    nursery.stdin.write(f"{json.dumps(told)}\n")
    return json.loads(nursery.stdout.readline())


def with_mark(mark):
    commands = Path("/proc").glob("[0-9]*/cmdline")
    return [one for one in commands if mark.encode() in _bytes_of(one)]


def _bytes_of(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_statuses_limits_and_what_is_left(nursery, tmp_path):
    assert asked(nursery, tmp_path, QUICK) == {"status": 0, "late": False}
    assert asked(nursery, tmp_path, QUICK.replace("pass", "assert 0"))["status"] == 1
    began = os.times()
    assert asked(nursery, tmp_path, LOOP, seconds=3.0) == {"status": None, "late": True}
    assert os.times().elapsed - began.elapsed >= 3.0
    mark = f"left by {os.getpid()}"
    for right, status in (("True", 0), ("False", 1)):
        found = asked(nursery, tmp_path, SLEEPER.format(mark=mark, right=right))
        assert (found["status"], with_mark(mark)) == (status, [])


def test_what_runs_ends_with_the_nursery(nursery, tmp_path):
    mark = f"runs under {os.getpid()}"
    source = SLEEPER.format(mark=mark, right="True") + "    import time; time.sleep(600)\n"
    path = tmp_path / "test_given.py"
    path.write_text(source)
    told = {"arguments": [str(path)], "log": str(tmp_path / "log"), "seconds": 60.0}
    nursery.stdin.write(f"{json.dumps(told)}\n")
    end = time.monotonic() + 60
    while not with_mark(mark) and time.monotonic() < end:
        time.sleep(0.1)
    assert with_mark(mark)
    nursery.send_signal(signal.SIGTERM)
    assert nursery.wait(30) == 143
    assert with_mark(mark) == []


def test_a_run_that_is_ended_leaves_neither_processes_nor_copies(tmp_path):
    command = [sys.executable, "-m", "tests.mutants.run", "--workers", "1", "--room", "store"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 120
    while not list(tmp_path.glob("mutants-*/0/pytest.log")) and time.monotonic() < end:
        time.sleep(0.2)
    assert list(tmp_path.glob("mutants-*"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    assert list(tmp_path.glob("mutants-*")) == []
    assert with_mark(str(tmp_path)) == []
