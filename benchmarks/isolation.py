"""What processes of their own cost mechanisms, and what a second worker brings.

Ratios within one run, of what is done in turns: the same audit in this process and in workers, the
same draws by one worker and by two, and by two processes of numpy alone side by side, which is what
the machine gives.

    python benchmarks/isolation.py [--trials 1000000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import dpaudit
from dpaudit.execution import Executor, plan_units, stream, unit_size
from dpaudit.execution.pool import Crew
from dpaudit.execution.threads import ONE_THREAD
from dpaudit.execution.units import Unit
from dpaudit.mechanisms.foreign.isolation import Isolation

PAIR = np.array([0.0]), np.array([1.0])
# Draws of about as many seconds, by numpy alone.
ALONE = """
import sys, time
import numpy as np
began = time.perf_counter()
for seed in range(int(sys.argv[1])):
    total = np.random.default_rng(seed).laplace(size=int(sys.argv[2])).sum()
print(time.perf_counter() - began)
"""


def noisy_sum(dataset: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    return dataset.sum() + rng.laplace(size=trials)


def draws(unit: Unit) -> float:
    return float(unit.generator().laplace(size=unit.trials).sum())


def seconds(task: Callable[[], object]) -> float:
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def audit(trials: int, workers: int, isolation: Isolation) -> None:
    dpaudit.audit(
        noisy_sum,
        *PAIR,
        epsilon=1.2,
        trials=trials,
        executor=Executor(workers=workers),
        isolation=isolation,
    )


def drawn(crew: Crew, trials: int, workers: int) -> None:
    units = plan_units(trials, unit_size(trials, 8), stream(0, "benchmark"))
    list(crew.map(draws, units, workers))


def alone(units: int, size: int, processes: int) -> float:
    """Return how long so many processes take for their draws, side by side."""
    command = [sys.executable, "-c", ALONE, str(units), str(size)]
    began = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(ONE_THREAD))
        for _ in range(processes)
    ]
    return max(float(one.communicate()[0]) for one in began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    size = unit_size(100 * given.trials, 8)
    many = 100 * given.trials // size
    with Crew() as crew:
        ways: dict[str, Callable[[], float]] = {
            "audit in this process": partial(
                seconds, partial(audit, given.trials, 1, Isolation(in_process=True))
            ),
            "audit in one worker": partial(seconds, partial(audit, given.trials, 1, Isolation())),
            "audit in two workers": partial(seconds, partial(audit, given.trials, 2, Isolation())),
            "draws by one worker": partial(seconds, partial(drawn, crew, size * many, 1)),
            "draws by two workers": partial(seconds, partial(drawn, crew, size * many, 2)),
            "numpy alone, one process": partial(alone, many, size, 1),
            "numpy alone, two processes, half each": partial(alone, many // 2, size, 2),
        }
        for way in ways.values():  # what is only done once
            way()
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(given.rounds):
            for name, way in ways.items():
                taken[name].append(way())
    middle = {name: statistics.median(each) for name, each in taken.items()}
    for name, value in middle.items():
        print(f"{name:40} {value:8.2f} s")
    show("in one worker, of this process", middle, "audit in one worker", "audit in this process")
    show("two workers over one", middle, "draws by one worker", "draws by two workers")
    names = ("numpy alone, one process", "numpy alone, two processes, half each")
    show("two processes of numpy over one", middle, *names)


def show(words: str, middle: dict[str, float], one: str, other: str) -> None:
    print(f"{words:40} {middle[one] / middle[other]:8.2f}")


if __name__ == "__main__":
    main()
