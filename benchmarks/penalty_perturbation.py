"""Trials a second of penalty perturbation: all trials at once against one argmin at a time.

The other side solves every argmin of every trial by scipy's L-BFGS-B from the last broadcast, as
the papers do; where its line search meets the rounding of the objective, Newton steps finish it.
Both sides have to return the same outputs to 1e-8. They use one core, take turns and draw the
same noise. The last ratio leaves the time of the Newton steps out. A stand-in of Adult's shape is
measured always, Adult where DPAUDIT_DATA names the directory of its files.

With ``--memory TRIALS`` the batched side alone runs that many trials in blocks and reports the
memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from threadpoolctl import threadpool_info, threadpool_limits

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.views import PenaltyPerturbation
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.schedules import Constant
from dpaudit.datasets import Dataset, adult, split_evenly, subset
from dpaudit.execution import Executor, Unit, plan_units, unit_size
from dpaudit.laws.exponential_norm import draw_exponential_norm_noise

Array = NDArray[np.float64]

NODES, RECORDS, FEATURES, ITERATIONS = 5, 2000, 104, 5
ETA, THETA, ALPHA, RHO = 0.5, 0.5, 3.0, 1e-2
TOLERANCE = 1e-8
LBFGS_STOP = 1e-9
WIDTH = 110


@dataclass(frozen=True)
class Row:
    """What was measured in one setting; rates in trials a second, medians over the turns."""

    data: str
    loss_weight: float
    batched_rate: float
    loop_rate: float
    ratio: float
    lowest_ratio: float
    lbfgs_alone_ratio: float
    largest_difference: float


@dataclass
class Loop:
    """Algorithm 1, one argmin at a time, from the paper alone; letters are the paper's."""

    records: list[Array]
    C: float
    stop: float
    seconds: float = field(default=0.0)
    polishing: float = field(default=0.0)

    def sample(self, noise: Array) -> Array:
        """Return outputs for noise shaped ``(T, R, N, d)``."""
        started, self.polishing = time.perf_counter(), 0.0
        paths = [self.trial(noise[:, r]) for r in range(noise.shape[1])]
        self.seconds = time.perf_counter() - started - self.polishing
        return np.stack(paths)

    def trial(self, noise: Array) -> Array:
        """Return one output for noise shaped ``(T, N, d)``."""
        f, dual, path = np.zeros(noise.shape[1:]), np.zeros(noise.shape[1:]), []
        for e in noise:
            f = np.stack([self.argmin(i, f, dual[i], e[i]) for i in range(NODES)])
            dual = dual + THETA / 2 * (NODES * f - f.sum(axis=0))
            path.append(f)
        return np.stack(path)

    def argmin(self, i: int, f: Array, dual: Array, e: Array) -> Array:
        """Return the minimiser of eq. (24) on the complete graph."""
        neighbours = NODES - 1
        centre = ((NODES - 2) * f[i] + f.sum(axis=0)) / 2 - neighbours * e
        linear = 2 * ETA * centre - 2 * dual
        curvature, weight = RHO / NODES + 2 * ETA * neighbours, self.C / RECORDS
        u = self.records[i]

        def lagrangian(g: Array) -> tuple[float, Array]:
            margins = u @ g
            small = np.exp(-np.abs(margins))
            loss = np.sum(np.maximum(-margins, 0) + np.log1p(small))
            slopes = np.where(margins < 0, -1.0, -small) / (1 + small)
            value = weight * loss + curvature / 2 * (g @ g) - linear @ g
            return float(value), weight * (slopes @ u) + curvature * g - linear

        options = {"ftol": 0.0, "gtol": self.stop * curvature, "maxiter": 1000}
        g = minimize(lagrangian, f[i], jac=True, method="L-BFGS-B", options=options).x
        started = time.perf_counter()
        while np.abs(gradient := lagrangian(g)[1]).max() > 1e-9 * curvature:
            chances = 1 / (1 + np.exp(u @ g))
            hessian = weight * (u.T * (chances * (1 - chances))) @ u
            g = g - np.linalg.solve(hessian + curvature * np.eye(len(g)), gradient)
        self.polishing += time.perf_counter() - started
        return g


def main() -> None:
    options = arguments()
    with threadpool_limits(limits=1):
        environment = describe_machine()
        if options.memory:
            report_memory(options.memory)
            return
        datasets = [stand_in(), *([real()] if os.environ.get("DPAUDIT_DATA") else [])]
        rows = [measure(data, weight, options) for data in datasets for weight in options.weights]
    show(rows, environment)
    if options.out:
        report = {"environment": environment, "rows": [asdict(row) for row in rows]}
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="turns each side takes")
    parser.add_argument("--trials", type=int, default=256, help="trials a turn, batched")
    parser.add_argument("--loop-trials", type=int, default=8, help="trials a turn, one by one")
    weights = {"type": float, "nargs": "+", "default": [1.0, 400.0], "help": "values of C"}
    parser.add_argument("--weights", **weights)
    parser.add_argument("--stop", type=float, default=LBFGS_STOP, help="gradient L-BFGS stops at")
    parser.add_argument("--memory", type=int, metavar="TRIALS", help="measure memory instead")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    return parser.parse_args()


def stand_in() -> Dataset:
    """Return records of Adult's shape: a few numbers, many indicators, rows of norm 1."""
    rng = np.random.default_rng(0)
    count = NODES * RECORDS
    numbers = rng.random((count, 6))
    popularity = rng.dirichlet(np.ones(FEATURES - 6))
    indicators = rng.random((count, FEATURES - 6)) < np.minimum(8 * popularity, 1)
    features = np.hstack([numbers, indicators])
    features /= np.linalg.norm(features, axis=1, keepdims=True) * (1 + 1e-12)
    labels = np.where(features @ rng.standard_normal(FEATURES) > 0, 1.0, -1.0)
    return Dataset(features, labels, node_sizes=(RECORDS,) * NODES, name="stand-in")


def real() -> Dataset:
    rng = np.random.default_rng(0)
    return split_evenly(subset(adult(), NODES * RECORDS, rng), NODES, rng)


def penalty_perturbation(loss_weight: float) -> PenaltyPerturbation:
    return ConsensusADMM(
        graph=complete(NODES),
        iterations=ITERATIONS,
        penalty=Constant(ETA),
        dual_step=THETA,
        noise_rate=Constant(ALPHA),
        loss_weight=loss_weight,
        regulariser_weight=RHO,
    ).penalty_perturbation()


def measure(data: Dataset, weight: float, options: argparse.Namespace) -> Row:
    mechanism = penalty_perturbation(weight)
    records = [data.signed_records[data.rows_of(node)] for node in range(NODES)]
    loop = Loop(records, weight, options.stop)
    batched_each, loop_each, alone_each, difference = [], [], [], 0.0
    for turn in range(-1, options.repeats):  # the first turn warms up
        few = options.loop_trials if turn >= 0 else 1
        slow = loop.sample(same_noise(turn + 1, options.trials)[:, :few])
        started = time.perf_counter()
        fast = mechanism.sample(data, options.trials, np.random.default_rng(turn + 1))
        seconds = time.perf_counter() - started
        difference = max(difference, float(np.abs(fast[:few] - slow).max()))
        if turn >= 0:
            batched_each.append(seconds / options.trials)
            loop_each.append((loop.seconds + loop.polishing) / few)
            alone_each.append(loop.seconds / few)
    if not difference <= TOLERANCE:
        raise SystemExit(f"{data.name}: the two differ by {difference:.1e}: nothing to compare")
    ratios = [slow / fast for fast, slow in zip(batched_each, loop_each, strict=True)]
    alone = [slow / fast for fast, slow in zip(batched_each, alone_each, strict=True)]
    return Row(
        data=data.name,
        loss_weight=weight,
        batched_rate=1 / statistics.median(batched_each),
        loop_rate=1 / statistics.median(loop_each),
        ratio=statistics.median(ratios),
        lowest_ratio=min(ratios),
        lbfgs_alone_ratio=statistics.median(alone),
        largest_difference=difference,
    )


def same_noise(seed: int, trials: int) -> Array:
    """Return the noise the mechanism draws from this seed, shape ``(T, R, N, d)``."""
    rng, rates = np.random.default_rng(seed), np.full(NODES, ALPHA)
    return np.stack(
        [
            draw_exponential_norm_noise((trials, NODES, FEATURES), rates, rng)
            for _ in range(ITERATIONS)
        ]
    )


def report_memory(trials: int) -> None:
    """Draw that many trials in units, keep one privacy loss a trial, print the peak."""
    data, mechanism = stand_in(), penalty_perturbation(1.0)
    size = unit_size(trials, 8 * ITERATIONS * NODES * FEATURES)
    task = partial(one_unit, mechanism, data)
    units = plan_units(trials, size, SeedSequence(0))
    started = time.perf_counter()
    finite = sum(Executor().map(task, units, "memory"))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{finite} trials in units of {size}: {seconds:.0f} s, at most {peak:.2f} GiB")


def one_unit(mechanism: PenaltyPerturbation, data: Dataset, unit: Unit) -> int:
    outputs = mechanism.sample(data, unit.trials, unit.generator())
    return int(np.isfinite(outputs).all(axis=(1, 2, 3)).sum())


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
    title = f"{NODES} nodes of {RECORDS} records, d = {FEATURES}, T = {ITERATIONS}; one core"
    table = Table(title=title, title_justify="left")
    table.add_column("data")
    headings = ("C", "batched /s", "one by one /s", "ratio", "lowest", "L-BFGS alone", "difference")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        rates = (f"{row.batched_rate:.0f}", f"{row.loop_rate:.2f}")
        ratios = (f"{row.ratio:.1f}", f"{row.lowest_ratio:.1f}", f"{row.lbfgs_alone_ratio:.1f}")
        weight, difference = f"{row.loss_weight:g}", f"{row.largest_difference:.0e}"
        table.add_row(row.data, weight, *rates, *ratios, difference)
    console = Console(width=WIDTH)
    console.print(table)
    console.print(", ".join(f"{name} {value}" for name, value in environment.items()))


if __name__ == "__main__":
    main()
