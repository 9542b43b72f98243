"""A folder with mechanisms of somebody else, and what runs there."""

import io
import itertools
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpaudit.cli.main import main

NUMBERS = itertools.count()

MODULE = """
import os, shutil, signal, sys
import numpy as np
from dpaudit.errors import DpauditError

class Broken:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)

class Sound:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=4.0, size=trials)

class Leave(BaseException):
    pass

class Wordless(Exception):
    def __str__(self):
        sys.exit(0)

class Ours(DpauditError):
    def __str__(self):
        sys.exit(0)

def doing(deed):
    class Doing(Broken):
        calls = 0
        def sample(self, dataset, trials, rng):
            self.calls += 1
            if self.calls > {after}:
                deed()
            return super().sample(dataset, trials, rng)
    return Doing

def raising(error):
    def deed():
        raise error
    return doing(deed)

"""
LAW = """
from dpaudit import GaussianSteps, Step

class Following:
    steps = 1
    def check(self, dataset): pass
    def start(self, dataset, trials): return np.zeros((trials, 1))
    def step(self, state, dataset):
        return Step(np.full_like(state, np.mean(dataset)), np.array([0.5]))
    def shift(self, state, pair):
        return np.full_like(state, np.mean(pair.neighbour) - np.mean(pair.dataset))
    def advance(self, state, output): return output
    def squared_shift_bounds(self, pair):
        total = (np.mean(pair.neighbour) - np.mean(pair.dataset)) ** 2 / 0.5**2
        return total, total

class Other(GaussianSteps):
    def sample(self, dataset, trials, rng):
        return 3 * super().sample(dataset, trials, rng)
"""
ENTRY = """
[[audit]]
mechanism = "{module}:{mechanism}"
name = "{name}"
dataset = [0]
neighbour = [1]
epsilon = 1.0
delta = {delta}
trials = 200
"""


@dataclass
class Ran:
    status: int
    out: str
    err: str
    folder: Path

    @property
    def last(self):
        """The line it ends with: what it complains of, or else what it shows."""
        return ((self.err or self.out).rstrip().splitlines() or [""])[-1]


@dataclass
class Here:
    """A folder of its own, and what runs there."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture
    made: list[str] = field(default_factory=list)

    def audits(self, *mechanisms, code="", after=0, delta=0.0):
        """Write a specification of these mechanisms, called one, two, ..., and their module."""
        module = f"ways_to_end_{next(NUMBERS)}"
        self.made.append(module)
        (self.folder / f"{module}.py").write_text(MODULE.replace("{after}", str(after)) + code)
        names = ("one", "two", "three")
        text = [
            ENTRY.format(module=module, mechanism=mechanism, name=name, delta=delta)
            for name, mechanism in zip(names, mechanisms, strict=False)
        ]
        path = self.folder / "audit.toml"
        path.write_text("".join(text))
        return str(path)

    def with_pair(self, name):
        """Let the pair come from the module that was written last."""
        path = self.folder / "audit.toml"
        pair = f"pair = '{self.made[-1]}:{name}'"
        path.write_text(path.read_text().replace("dataset = [0]\nneighbour = [1]", pair))
        return str(path)

    def run(self, *arguments):
        """Run the command line in this process."""
        with pytest.raises(SystemExit) as left:
            main([str(one) for one in arguments])
        seen = self.capsys.readouterr()
        return Ran(left.value.code, seen.out, seen.err, self.folder)

    def audit(self, *arguments):
        return self.run("audit", *arguments, "--workers", "1")

    def onto(self, stream, *arguments):
        """Run it with another standard output, and look at that afterwards."""
        with self.monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", stream)
            return self.run(*arguments)

    def process(self, *arguments, shell="{}", **options):
        """Run it as a process of its own, in a shell that does something around it."""
        command = " ".join([sys.executable, "-m", "dpaudit", *map(str, arguments)])
        done = subprocess.run(
            ["bash", "-c", shell.format(command)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=300,
            check=False,
            **options,
        )
        return Ran(done.returncode, done.stdout, done.stderr, self.folder)

    @contextmanager
    def started(self, *arguments):
        """Yield a process that is running; neither it nor its workers outlive the block."""
        command = [sys.executable, "-m", "dpaudit", *map(str, arguments)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def ascii_stream():
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii")


@contextmanager
def closed_pipe():
    """Yield a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        yield pipe


def full_disk():
    """Return a file on a disk without room."""
    return open("/dev/full", "w")


def nothing():
    pass


def leave():
    sys.exit(0)


def interrupt():
    raise KeyboardInterrupt
