"""What workers of dask cost beside loky's, for the same audit on the same cores.

A scheduler and four workers of one thread each run on this machine; audits by them and by loky's
processes take turns. Where there is no dask, nothing is measured: ``make cluster`` has made
``build/cluster`` with it.

    build/cluster/bin/python benchmarks/clusters.py [--seconds 20] [--rounds 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import dpaudit
from dpaudit.execution import Executor
from dpaudit.execution.backends import Backend
from dpaudit.execution.threads import available_cores

NUMBERS = 32  # that an output is the sum of


def work(dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return np.sum(dataset) + rng.laplace(size=(trials, NUMBERS)).sum(axis=1)


def pace() -> float:
    """Return the seconds of an output."""
    rng, began = np.random.default_rng(0), time.perf_counter()
    for _ in range(64):
        work(np.zeros(1), 4096, rng)
    return (time.perf_counter() - began) / (64 * 4096)


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Run a scheduler and so many workers of one thread; yield its address."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    quiet = ("--no-dashboard",)
    running = [_dask("scheduler", "--host", "127.0.0.1", "--port", port, *quiet)]
    try:
        for _ in range(workers):
            running.append(_dask("worker", address, "--nthreads", "1", "--no-nanny", *quiet))
        from distributed import Client

        with Client(address, timeout=60) as client:
            client.wait_for_workers(workers, timeout=60)
        yield address
    finally:
        for process in running:
            process.kill()
            process.wait()


def _dask(*words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dask", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def audited(backend: Backend, trials: int) -> tuple[float, float]:
    """Return how long an audit takes, and what it found."""
    began = time.perf_counter()
    result = dpaudit.audit(
        work,
        np.array([0.0]),
        np.array([1.0]),
        epsilon=1.0,
        trials=trials,
        executor=Executor(workers=backend.workers, backend=backend),
    )
    return time.perf_counter() - began, result.measured.lower


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="Of each audit, about.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if importlib.util.find_spec("distributed") is None:
        print("dask is not installed here: build/cluster/bin/python has it (make cluster)")
        return
    cores = available_cores()
    trials = int(given.seconds * cores / pace() / 4)
    with cluster(4) as address:
        ways = {
            f"loky, {cores} processes": Backend("loky", workers=cores),
            "dask, 4 workers of one thread": Backend("dask", address),
        }
        for backend in ways.values():  # imports, and whatever is only done once
            audited(backend, 4096)
        found = [{n: audited(one, trials) for n, one in ways.items()} for _ in range(given.rounds)]
    if len({one[name][1] for one in found for name in ways}) > 1:
        raise SystemExit("the audits do not agree")
    middle = {name: statistics.median(one[name][0] for one in found) for name in ways}
    print(f"{trials:,} trials, {given.rounds} rounds, {cores} cores")
    for name, seconds in middle.items():
        print(f"{name:40} {seconds:8.2f} s")
    loky, dask = middle.values()
    print(f"{'dask over loky':40} {dask / loky:8.2f}")


if __name__ == "__main__":
    main()
