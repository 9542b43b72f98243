"""How soon a stage goes on from a store of many scores, and how much memory that takes.

One process draws scores into a store and is killed by its own hand at the last unit; another one
goes on from it. Its seconds count from its start, imports and all, to the first unit that it draws.
A third finds the same scores of another audit in its store, and begins its own. Beside it stands
what it takes to read the file.

    python benchmarks/stores.py [--scores 100000000]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from dpaudit.execution import Executor, plan_units, stream
from dpaudit.execution.units import Unit
from dpaudit.store.keeping import Storing, keep_audit, use_storing

UNIT = 2**17
DIED = 9


def scores(unit: Unit) -> np.ndarray:
    return unit.generator().normal(size=unit.trials)


class Drawing:
    """Draws scores, and notes when the first was; ends the process at a unit, if it is told to."""

    __identity__ = "scores of a benchmark"

    def __init__(self, last: int | None = None) -> None:
        self.last, self.drawn, self.first = last, 0, 0.0

    def __call__(self, unit: Unit) -> np.ndarray:
        """Return the scores of a unit."""
        if self.drawn == self.last:
            os._exit(DIED)
        self.first = self.first or time.time()
        self.drawn += 1
        return scores(unit)


def draw(path: Path, number: int, name: str, last: int | None) -> None:
    """Draw what is not in the store, and print when it began and what it took."""
    units, task = plan_units(number, UNIT, stream(0, "benchmark")), Drawing(last)
    total, seen = 0.0, 0
    with use_storing(Storing(path)), keep_audit(name) as ledger:
        for found in Executor().map(task, units, "scores"):
            total, seen = total + float(found.sum()), seen + len(found)
        ledger.end()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"first": task.first, "ended": time.time(), "drawn": task.drawn, "peak": peak / 1024}
    print(json.dumps(found | {"sum": total, "scores": seen}))


def started(*given: object) -> tuple[float, subprocess.CompletedProcess[str]]:
    command = [sys.executable, __file__, "--one", *map(str, given)]
    began = time.time()
    return began, subprocess.run(command, capture_output=True, text=True, check=False)


def show(words: str, began: float, found: dict[str, float]) -> None:
    print(
        f"{words:40} {found['first'] - began:8.2f} s to its first unit, "
        f"{found['ended'] - began:.2f} s in all, {found['drawn']:.0f} units drawn, "
        f"{found['peak']:.0f} MiB at most"
    )


def read(path: Path) -> float:
    began = time.perf_counter()
    with path.open("rb") as file:
        for _ in iter(partial(file.read, 2**20), b""):
            pass
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scores", type=int, default=10**8)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        path, number, name, last = given.one
        draw(Path(path), int(number), name, int(last) or None)
        return
    units = -(-given.scores // UNIT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        began, died = started(path, given.scores, "one", units - 1)
        if died.returncode != DIED:
            raise SystemExit(f"it was to die and did not: {died.stderr}")
        print(f"{given.scores:,} scores in {units} units, {path.stat().st_size / 2**20:.0f} MiB")
        print(f"{'drawn into the store':40} {time.time() - began:8.2f} s")
        print(f"{'the file, read':40} {read(path):8.2f} s")
        began, ran = started(path, given.scores, "one", 0)
        again = json.loads(ran.stdout)
        show("gone on with", began, again)
        began, ran = started(path, UNIT, "two", 0)
        show("another audit beside it", began, json.loads(ran.stdout))
        whole = sum(float(scores(u).sum()) for u in plan_units(given.scores, UNIT, _seed()))
    if (again["sum"], again["scores"], again["drawn"]) != (whole, given.scores, 1):
        raise SystemExit("what went on is not what was not interrupted")


def _seed() -> np.random.SeedSequence:
    return stream(0, "benchmark")


if __name__ == "__main__":
    main()
