"""What dpaudit adds to the time of a program in another language that speaks the protocol.

The stage that draws against the same program with the same requests, whose outputs nobody reads:
both start the program, take 10^5 outputs of it and end with the last. In turns, for each helper
that comes with dpaudit and whose language is installed: the program alone, the stage with one
worker and one program, and the stage as an audit draws, with a worker for every core.

    python benchmarks/programs.py [--trials 100000] [--rounds 7]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dpaudit.execution import plan_units, stream, unit_size
from dpaudit.execution.pool import Crew
from dpaudit.execution.units import Unit
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.outputs.unit_draws import output_unit
from dpaudit.programs import Program
from dpaudit.programs.drafting import write_helper

RECORDS = np.array([1.0, 0.0, 1.0])
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Language:
    """How a mechanism is built and run; it takes a scale as its argument."""

    name: str
    command: str
    build: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether its programs can be built and run here."""
        words = (self.build or self.command).split()
        return shutil.which(words[0]) is not None


LANGUAGES = (
    Language("javascript", "node noiser.js"),
    Language("java", "java Noiser", "javac Noiser.java"),
    Language("rust", "./noiser", "rustc -O noiser.rs"),
)


def time_stage(crew: Crew, program: Program, units: list[Unit], workers: int) -> float:
    """Return the seconds of the stage that draws, in so many workers."""
    began = time.perf_counter()
    task = partial(output_unit, as_mechanism(program), RECORDS)  # as an audit draws
    came = sum(len(one) for part in crew.map(task, units, workers) for one in part)
    if came != sum(unit.trials for unit in units):
        raise RuntimeError(f"{came} outputs came")
    return time.perf_counter() - began


def time_alone(command: str, folder: Path, units: list[Unit]) -> float:
    """Return the seconds of the program itself, whose outputs nobody reads."""
    requests = [{"dpaudit": 1, "asks": "hello"}, {"dataset": "a", "records": RECORDS.tolist()}]
    for number, unit in enumerate(units, 1):
        seed = int(unit.generator().integers(2**53))
        requests.append({"draw": unit.trials, "dataset": "a", "request": number, "seed": seed})
    text = "".join(json.dumps(one) + "\n" for one in requests)
    began = time.perf_counter()
    subprocess.run(
        shlex.split(command), input=text.encode(), stdout=subprocess.DEVNULL, cwd=folder, check=True
    )
    return time.perf_counter() - began


def measure(language: Language, trials: int, rounds: int) -> list[list[float]]:
    """Return the seconds of the program alone and of the stage with 1 worker and all, in turns."""
    units = plan_units(
        trials, unit_size(trials, 8, several=True, coarse=True), stream(0, "benchmark")
    )
    taken: list[list[float]] = [[], [], []]
    with tempfile.TemporaryDirectory() as made, Crew() as crew:
        folder = Path(made)
        write_helper(language.name, folder)
        if language.build:
            subprocess.run(shlex.split(language.build), cwd=folder, check=True)
        for number in range(rounds + 1):  # the first warms up
            commands = [f"{language.command} 1.{'0' * (2 * number + k)}" for k in (1, 2)]
            taken[0].append(time_alone(commands[0], folder, units))
            for command, workers, some in zip(commands, (1, CORES), taken[1:], strict=True):
                program = Program(command, protocol="lines", folder=folder)  # a new one each time
                some.append(time_stage(crew, program.settled(None), units, workers))
    return [some[1:] for some in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    print(f"language    alone   1 worker   {CORES} workers (ratios of medians)")
    for language in LANGUAGES:
        if not language.is_installed:
            print(f"{language.name:<11} is not installed")
            continue
        alone, one, all_workers = map(
            statistics.median, measure(language, given.trials, given.rounds)
        )
        print(f"{language.name:<11}{alone:6.3f} s", end="")
        for stage in (one, all_workers):
            print(f"  {stage:6.3f} s ({stage / alone:.2f})", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
