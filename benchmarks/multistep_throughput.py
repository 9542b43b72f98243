"""Trials a second of multi-step DP-ADMM: all trials at once against one trial at a time.

Both run in this process on one core, take turns, start from the same seeds and have to return the
same outputs to 1e-10. Adult is measured where DPAUDIT_DATA names the directory of its files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from _reference_loop import SLOPES, LoopADMM
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
from dpaudit.datasets import Dataset, adult, breast_cancer, split_evenly

Array = NDArray[np.float64]

NODES, ITERATIONS, INNER_STEPS = 5, 10, 5
PENALTY, WEIGHT, STEP_SIZE, NOISE = 0.1, 1e-4, 1.0, 20.0
TOLERANCE = 1e-10
WIDTH = 100


@dataclass(frozen=True)
class Row:
    """What was measured on one dataset; rates in trials a second, medians over the repeats."""

    data: str
    records: int
    features: int
    trials: int
    repeats: int
    batched_rate: float
    loop_rate: float
    ratio: float
    lowest_ratio: float
    largest_difference: float


def main() -> None:
    options = arguments()
    with threadpool_limits(limits=1):
        rows = [measure(data, trials, options.repeats) for data, trials in settings(options.trials)]
        environment = describe_machine()
    show(rows, environment)
    if options.out:
        report = {"environment": environment, "rows": [asdict(row) for row in rows]}
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="turns each side takes")
    parser.add_argument("--trials", type=int, help="trials a turn (default: 512, on Adult 64)")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    return parser.parse_args()


def settings(trials: int | None) -> list[tuple[Dataset, int]]:
    found = [(breast_cancer(), trials or 512)]
    if os.environ.get("DPAUDIT_DATA"):
        found.append((adult(), trials or 64))
    return [(split_evenly(data, NODES, np.random.default_rng(0)), count) for data, count in found]


def measure(data: Dataset, trials: int, repeats: int) -> Row:
    batched, loop = both(data)
    batched(2, 0), loop(2, 0)  # the first calls also load code and touch the records
    seconds: list[tuple[float, float]] = []
    difference = 0.0
    for seed in range(repeats):
        fast, fast_seconds = timed(batched, trials, seed)
        slow, slow_seconds = timed(loop, trials, seed)
        difference = max(difference, float(np.abs(fast - slow).max()))
        seconds.append((fast_seconds, slow_seconds))
    if not difference <= TOLERANCE:
        raise SystemExit(f"{data.name}: the two differ by {difference:.1e}: nothing to compare")
    ratios = [slow / fast for fast, slow in seconds]
    fast_seconds, slow_seconds = (statistics.median(side) for side in zip(*seconds, strict=True))
    return Row(
        data=data.name,
        records=len(data.labels),
        features=data.dimension,
        trials=trials,
        repeats=repeats,
        batched_rate=trials / fast_seconds,
        loop_rate=trials / slow_seconds,
        ratio=statistics.median(ratios),
        lowest_ratio=min(ratios),
        largest_difference=difference,
    )


def both(data: Dataset) -> tuple[Callable[[int, int], Array], Callable[[int, int], Array]]:
    """Return the two implementations, each a function of the number of trials and the seed."""
    mechanism = MultiStepADMM(
        graph=complete(NODES),
        iterations=ITERATIONS,
        inner_steps=INNER_STEPS,
        noise_multiplier=NOISE,
        penalty=PENALTY,
        regulariser_weight=WEIGHT,
        step_size=ConstantStepSize(STEP_SIZE),
    ).inner()
    reference = LoopADMM(
        records=[data.signed_records[data.rows_of(node)] for node in range(NODES)],
        neighbours=[[j for j in range(NODES) if j != i] for i in range(NODES)],
        slope=SLOPES["logistic"],
        eta=lambda k, r, i: STEP_SIZE,
        sigma=NOISE,
        iterations=ITERATIONS,
        inner_steps=INNER_STEPS,
        rho=PENALTY,
        lam=WEIGHT,
    )
    return (
        lambda trials, seed: mechanism.sample(data, trials, np.random.default_rng(seed)),
        lambda trials, seed: reference.sample(trials, np.random.default_rng(seed)),
    )


def timed(run: Callable[[int, int], Array], trials: int, seed: int) -> tuple[Array, float]:
    start = time.perf_counter()
    outputs = run(trials, seed)
    return outputs, time.perf_counter() - start


def describe_machine() -> dict[str, object]:
    """Return what the numbers depend on; called inside the limit, so that it is recorded."""
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "blas": sorted({f"{b['internal_api']} {b['version']} {b['architecture']}" for b in blas}),
        "blas_threads": max(int(pool["num_threads"]) for pool in blas),
    }


def show(rows: list[Row], environment: dict[str, object]) -> None:
    title = f"{NODES} nodes, t = {ITERATIONS}, l = {INNER_STEPS}, full gradients; one core"
    table = Table(title=title, title_justify="left")
    table.add_column("data")
    for heading in ("records", "trials", "batched /s", "loop /s", "ratio", "lowest", "difference"):
        table.add_column(heading, justify="right")
    for row in rows:
        rates = (f"{row.batched_rate:.1f}", f"{row.loop_rate:.1f}")
        ratios = (f"{row.ratio:.1f}", f"{row.lowest_ratio:.1f}")
        counts = (f"{row.records} x {row.features}", str(row.trials))
        table.add_row(row.data, *counts, *rates, *ratios, f"{row.largest_difference:.0e}")
    console = Console(width=WIDTH)
    console.print(table)
    console.print(", ".join(f"{name} {value}" for name, value in environment.items()))


if __name__ == "__main__":
    main()
