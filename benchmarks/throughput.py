"""How long an audit of a cheap mechanism takes from outputs, and how much memory.

Each audit has a process of its own, so that its imports count and its peak is its own. Seconds of
cores are those of all processes; memory is what all of them hold at a time, pages that several
share counted once. Ratios are to what the mechanism alone takes for as many outputs in numpy.

    python benchmarks/throughput.py [--trials 100000 1000000 10000000] [--workers 2]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TRUTH = 2.0


def noisy_sum(dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return np.sum(dataset) + rng.laplace(scale=1 / TRUTH, size=trials)


def one_output(dataset: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.sum(dataset) + rng.laplace(scale=1 / TRUTH))


MECHANISMS = {"f(data, trials, rng)": noisy_sum, "f(data, rng)": one_output}


def audit(name: str, trials: int, delta: float, workers: int) -> None:
    """Audit in this process, and print what came out."""
    import dpaudit
    from dpaudit.execution import Executor

    result = dpaudit.audit(
        MECHANISMS[name],
        np.array([0.0]),
        np.array([1.0]),
        epsilon=1.0,
        delta=delta,
        trials=trials,
        executor=Executor(workers=workers),
    )
    outputs = result.counts["outputs in all, of both datasets"]
    print(json.dumps({"lower": result.measured.lower, "outputs": outputs}))


def held(pid: int) -> int:
    """Return the bytes that a process and all that it started hold, each page shared out."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            total += int(line.split()[1]) * 1024 if line.startswith("Pss:") else 0
        for task in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            total += sum(held(int(child)) for child in children)
    except OSError:  # it ended meanwhile
        pass
    return total


def measured(name: str, trials: int, delta: float, workers: int) -> dict[str, float]:
    """Return seconds, seconds of cores, and the peak of memory of one audit."""
    before, began, peak = os.times(), time.perf_counter(), 0
    command = [sys.executable, __file__, "--one", name, str(trials), str(delta), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as audit:
        while audit.poll() is None:
            peak = max(peak, held(audit.pid))
            time.sleep(0.05)
        found: dict[str, float] = json.loads(audit.communicate()[0].splitlines()[-1])
    after = os.times()
    cores = after.children_user + after.children_system
    cores -= before.children_user + before.children_system
    seconds = time.perf_counter() - began
    return found | {"seconds": seconds, "cores": cores, "peak": peak / 2**20}


def alone(name: str, outputs: int) -> float:
    """Return how long the mechanism takes for so many outputs without an audit."""
    rng, data, mechanism = np.random.default_rng(0), np.array([0.0]), MECHANISMS[name]
    began = time.process_time()
    if mechanism is one_output:
        for _ in range(20_000):
            one_output(data, rng)
        return (time.process_time() - began) * outputs / 20_000
    for _ in range(16):
        noisy_sum(data, 2**16, rng)
    return (time.process_time() - began) * outputs / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, trials, delta, workers = given.one
        audit(name, int(trials), float(delta), int(workers))
        return
    print(f"{'':38}seconds   of cores   of numpy   peak MiB   lower end of the truth")
    for name in MECHANISMS:
        for trials in given.trials:
            if name == "f(data, rng)" and trials > 10**6:
                continue
            for delta in (0.0, 1e-5):
                one = measured(name, trials, delta, given.workers)
                ratio = one["cores"] / alone(name, int(one["outputs"]))
                print(
                    f"{name:21}{trials:>10,} {delta:5.0e}{one['seconds']:8.1f}{one['cores']:11.1f}"
                    f"{ratio:11.1f}{one['peak']:11.0f}{one['lower'] / TRUTH:12.4f}"
                )


if __name__ == "__main__":
    main()
