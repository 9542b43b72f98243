"""Iterations x trials a second of ADMM sharing: a block of trials at once against the papers' way.

The papers' way is one trial at a time, L-BFGS-B for x and a scalar solver a sample for z
(`_reference_sharing.py`). Both sides run in this process on one core on all samples and features of
a9a split 66/57, for the same number of iterations, and take turns. The loop gets the very noise of
the block's first trials, and messages, S - z and N y have to agree to 1e-8 before a rate is shown.
Without DPAUDIT_DATA a stand-in of a9a's size is measured, and labelled as one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from _reference_sharing import DERIVATIVES, LoopSharing, Sent
from multistep_throughput import describe_machine
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from dpaudit.algorithms.sharing.algorithm import Iterate, SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.algorithms.sharing.vertical import Risk, column_slices, split_into_parties
from dpaudit.datasets import Dataset, a9a, clip_rows
from dpaudit.execution import Executor, Unit, plan_units, unit_size

Array = NDArray[np.float64]
ResultT = TypeVar("ResultT")

BLOCKS = (66, 57)
WEIGHT, SAMPLE_PENALTY, NOISE = 1e-4, 1.0, 0.1
TOLERANCE = 1e-8
WIDTH = 100


@dataclass(frozen=True)
class Row:
    """What was measured; rates in iterations x trials a second, medians over the repeats."""

    data: str
    samples: int
    features: int
    iterations: int
    trials: int
    loop_trials: int
    repeats: int
    setup_seconds: float
    batched_rate: float
    loop_rate: float
    ratio: float
    lowest_ratio: float
    largest_difference: float


def main() -> None:
    options = arguments()
    data = records()
    with threadpool_limits(limits=1):
        row = measure(data, options)
        environment = describe_machine()
    show(row, environment)
    report: dict[str, object] = {"environment": environment, "rows": [asdict(row)]}
    if options.memory_trials:
        report["memory"] = memory = measure_memory(data, options.memory_trials, options.iterations)
        Console(width=WIDTH).print(memory)
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="turns each side takes")
    parser.add_argument("--iterations", type=int, default=5, help="of the algorithm")
    parser.add_argument("--trials", type=int, default=64, help="trials in a block")
    parser.add_argument("--loop-trials", type=int, default=1, help="trials the loop runs a turn")
    parser.add_argument(
        "--memory-trials", type=int, default=0, help="also run so many in blocks, for the memory"
    )
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    return parser.parse_args()


def records() -> Dataset:
    """Return a9a, or binary rows of its size with as many ones, labelled by a linear rule."""
    if os.environ.get("DPAUDIT_DATA"):
        return a9a()
    rng = np.random.default_rng(0)
    ones = rng.random((32_561, 123)).argsort(axis=1)[:, :14]
    features = np.zeros((32_561, 123))
    np.put_along_axis(features, ones, 1.0, axis=1)
    scores = features @ rng.standard_normal(123) + rng.logistic(size=len(features))
    return Dataset(clip_rows(features), np.sign(scores - 3), name="stand-in of a9a's size")


def algorithm_for(data: Dataset, iterations: int) -> SharingADMM:
    return SharingADMM(
        block_sizes=BLOCKS,
        iterations=iterations,
        penalty=SAMPLE_PENALTY / len(data.labels),
        noise=MessageNoise(NOISE),
        risk=Risk(regulariser_weight=WEIGHT),
    )


def measure(data: Dataset, options: argparse.Namespace) -> Row:
    algorithm = algorithm_for(data, options.iterations)
    _, setup = timed(lambda: [party.directions for party in split_into_parties(data, BLOCKS)])
    run_batched(algorithm, data, 2, 0)  # the first call also touches the records
    seconds: list[tuple[float, float]] = []
    difference = 0.0
    for seed in range(options.repeats):
        _, fast = timed(lambda s=seed: run_batched(algorithm, data, options.trials, s))
        slow = 0.0
        for trial in range(options.loop_trials):
            path = kept(algorithm, data, options.trials, seed, trial)
            sent, spent = timed(lambda p=path: run_loop(algorithm, data, p))
            slow += spent
            difference = max(difference, largest_difference(path, sent, len(data.labels)))
        seconds.append((fast, slow))
    if not difference <= TOLERANCE:
        raise SystemExit(f"{data.name}: the two differ by {difference:.1e}: nothing to compare")
    fast_rates = [options.iterations * options.trials / fast for fast, _ in seconds]
    slow_rates = [options.iterations * options.loop_trials / slow for _, slow in seconds]
    ratios = [fast / slow for fast, slow in zip(fast_rates, slow_rates, strict=True)]
    return Row(
        data=data.name,
        samples=len(data.labels),
        features=data.dimension,
        iterations=options.iterations,
        trials=options.trials,
        loop_trials=options.loop_trials,
        repeats=options.repeats,
        setup_seconds=setup,
        batched_rate=statistics.median(fast_rates),
        loop_rate=statistics.median(slow_rates),
        ratio=statistics.median(ratios),
        lowest_ratio=min(ratios),
        largest_difference=difference,
    )


def run_batched(algorithm: SharingADMM, data: Dataset, trials: int, seed: int) -> Array:
    """Run a block to its end and return the last models, shape ``(R, d)``."""
    for iterate in algorithm.iterates(data, trials, np.random.default_rng(seed)):
        models = iterate.models
    return models


@dataclass(frozen=True)
class TrialPath:
    """One batched trial, iteration by iteration, and the noise it met."""

    noise: Array  # (T, M, N)
    messages: Array  # (T, M, N)
    gap: Array  # (T, N)
    dual: Array  # (T, N)


def kept(algorithm: SharingADMM, data: Dataset, trials: int, seed: int, trial: int) -> TrialPath:
    """Run the block again and keep one trial of it."""
    owners = split_into_parties(data, BLOCKS)

    def clean(iterate: Iterate) -> Array:
        models = [iterate.models[trial, columns] for columns in column_slices(BLOCKS)]
        return np.stack([p.design @ x for p, x in zip(owners, models, strict=True)])

    parts = []
    for iterate in algorithm.iterates(data, trials, np.random.default_rng(seed)):
        state = iterate.state
        sent = state.messages[trial].copy()
        parts.append(
            (sent - clean(iterate), sent, state.gap[trial].copy(), state.dual[trial].copy())
        )
    return TrialPath(*(np.stack(part) for part in zip(*parts, strict=True)))


def run_loop(algorithm: SharingADMM, data: Dataset, path: TrialPath) -> Sent:
    loop = LoopSharing(
        blocks=[party.design for party in split_into_parties(data, BLOCKS)],
        labels=data.labels,
        derivative=DERIVATIVES[algorithm.risk.loss.name],
        weight=1 / len(data.labels),
        lam=WEIGHT,
        rho=algorithm.penalty,
    )
    return loop.trial(np.zeros((algorithm.iterations, data.dimension)), path.noise)


def largest_difference(path: TrialPath, sent: Sent, samples: int) -> float:
    gaps = (
        path.messages - sent.messages,
        path.gap - sent.gap,
        samples * (path.dual - sent.y),
    )
    return max(float(np.abs(gap).max()) for gap in gaps)


def measure_memory(data: Dataset, trials: int, iterations: int) -> dict[str, object]:
    """Sample whole outputs in blocks as an audit does, and return the peak of this process."""
    algorithm = algorithm_for(data, iterations)
    size = unit_size(trials, iterations * len(BLOCKS) * len(data.labels) * 8)
    plan = plan_units(trials, size, np.random.SeedSequence(0))

    def norms(block: Unit) -> Array:
        outputs = algorithm.messages().sample(data, block.trials, block.generator())
        return np.asarray(np.linalg.norm(outputs[:, -1], axis=(1, 2)))

    results, seconds = timed(lambda: list(Executor().map(norms, plan, "memory")))
    return {
        "trials": sum(len(result) for result in results),
        "block": size,
        "iterations": iterations,
        "seconds": round(seconds, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def timed(run: Callable[[], ResultT]) -> tuple[ResultT, float]:
    start = time.perf_counter()
    result = run()
    return result, time.perf_counter() - start


def show(row: Row, environment: dict[str, object]) -> None:
    title = f"ADMM sharing, T = {row.iterations}, L2 logistic, noise on messages; one core"
    table = Table(title=title, title_justify="left")
    table.add_column("data")
    for heading in ("samples", "trials", "batched /s", "loop /s", "ratio", "lowest", "difference"):
        table.add_column(heading, justify="right")
    rates = (f"{row.batched_rate:.1f}", f"{row.loop_rate:.2f}")
    ratios = (f"{row.ratio:.0f}", f"{row.lowest_ratio:.0f}", f"{row.largest_difference:.0e}")
    table.add_row(row.data, f"{row.samples} x {row.features}", str(row.trials), *rates, *ratios)
    console = Console(width=WIDTH)
    console.print(table)
    console.print(f"rates: iterations x trials a second; setup once {row.setup_seconds:.2f} s")
    console.print(", ".join(f"{name} {value}" for name, value in environment.items()))


if __name__ == "__main__":
    main()
