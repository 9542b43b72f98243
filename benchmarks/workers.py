"""What a second worker brings to an audit of a minute, with a store, and what the machine gives.

In turns: the audit by one worker and by two, and the mechanism alone as often in numpy, by one
process and by two side by side, half each. Ratios are within the run.

    python benchmarks/workers.py [--seconds 60] [--rounds 1]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from dpaudit.execution.threads import ONE_THREAD

NUMBERS = 32  # that an output is the sum of
BLOCK = 4096


def work(dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return np.sum(dataset) + rng.laplace(size=(trials, NUMBERS)).sum(axis=1)


def audit(outputs: int, workers: int) -> None:
    """Audit in this process, with a store, and print how long it took without imports."""
    import dpaudit
    from dpaudit.execution import Executor

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        result = dpaudit.audit(
            work,
            np.array([0.0]),
            np.array([1.0]),
            epsilon=1.0,
            trials=outputs // 4,  # of each side, twice: some to decide by, some to count
            executor=Executor(workers=workers),
            store=Path(folder) / "store.sqlite",
        )
        seconds = time.perf_counter() - began
    drawn = result.counts["outputs in all, of both datasets"]
    print(json.dumps({"seconds": seconds, "outputs": drawn, "lower": result.measured.lower}))


def alone(outputs: int, seed: int) -> None:
    """Call the mechanism alone for so many outputs, and print how long it took."""
    rng, data = np.random.default_rng(seed), np.array([0.0])
    began = time.perf_counter()
    for _ in range(outputs // BLOCK):
        work(data, BLOCK, rng)
    print(json.dumps({"seconds": time.perf_counter() - began}))


def started(way: str, outputs: int, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--one", way, str(outputs), str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(ONE_THREAD))


def audited(outputs: int, workers: int) -> dict[str, float]:
    found: dict[str, float] = json.loads(started("audit", outputs, workers).communicate()[0])
    return found


def side_by_side(outputs: int, processes: int) -> dict[str, float]:
    running = [started("alone", outputs // processes, seed) for seed in range(processes)]
    found = [json.loads(one.communicate()[0])["seconds"] for one in running]
    return {"seconds": max(found)}


def pace() -> float:
    """Return the seconds of an output."""
    return side_by_side(BLOCK * 256, 1)["seconds"] / (BLOCK * 256)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        way, outputs, number = given.one
        {"audit": audit, "alone": alone}[way](int(outputs), int(number))
        return
    measure(int(given.seconds / pace()), given.rounds)


def measure(outputs: int, rounds: int) -> None:
    ways: dict[str, Callable[[], dict[str, float]]] = {
        "numpy alone, two processes, half each": partial(side_by_side, outputs, 2),
        "audit by two workers": partial(audited, outputs, 2),
        "audit by one worker": partial(audited, outputs, 1),
        "numpy alone, one process": partial(side_by_side, outputs, 1),
    }
    found = [{name: way() for name, way in ways.items()} for _ in range(rounds)]
    lower = {one[name]["lower"] for one in found for name in ways if name.startswith("audit")}
    if len(lower) > 1:
        raise SystemExit(f"the audits do not agree: {sorted(lower)}")
    middle = {n: statistics.median(one[n]["seconds"] for one in found) for n in ways}
    print(f"{outputs:,} outputs of {NUMBERS} numbers each, {rounds} round(s)")
    for name, seconds in middle.items():
        print(f"{name:40} {seconds:8.2f} s")
    audits = middle["audit by one worker"] / middle["audit by two workers"]
    machine = middle["numpy alone, one process"]
    machine /= middle["numpy alone, two processes, half each"]
    print(f"{'two workers over one':40} {audits:8.2f}")
    print(f"{'two processes of numpy over one':40} {machine:8.2f}")
    print(f"{'of what the machine gives':40} {audits / machine:8.2f}")


if __name__ == "__main__":
    main()
