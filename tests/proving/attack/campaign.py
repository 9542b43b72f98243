"""A campaign: ranges of seeds, each written down when it is done, so that an ended run goes on."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpaudit.proving.analysis import Analysis
from dpaudit.proving.program import Node, Program
from dpaudit.proving.trace import Kind
from dpaudit.proving.universe import Universe

from .choices import Stream
from .grammar import grow
from .search import CHEAP, Attack, Effort, MakesProver, Outcome
from .universes import make_universe

CHUNK = 1000  # seeds that are written down together


def make_analysis(program: Program, universe: Universe, kinds: tuple[Kind, ...]) -> Analysis:
    """Return the prover that is attacked."""
    return Analysis(program, universe, kinds)


def make_program(seed: int) -> tuple[Universe, Program]:
    """Return the universe and the program of a seed."""
    choices = Stream(seed)
    universe = make_universe(choices)
    return universe, grow(choices, universe)


def attack_seed(
    seed: int, effort: Effort = CHEAP, make_prover: MakesProver = make_analysis
) -> Outcome:
    """Return what the attack on the program of a seed came to."""
    universe, program = make_program(seed)
    try:
        return Attack(program, universe, make_prover, seed).run(effort)
    except Exception as error:
        return Outcome(crash=_place_of(error))


def _place_of(error: Exception) -> str:
    """Return an error and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def describe(universe: Universe, program: Program) -> str:
    """Return a program line by line, below its datasets."""
    lines = [f"{universe.relation}, {universe.count} differ, {universe.records} records"]
    lines += [
        f"{one.name or 'data'}{one.shape} from {one.low.tolist()} to {one.high.tolist()}, "
        f"norm {one.norm}, integers {one.is_integer}, changed {one.is_changed}"
        for one in universe.parts
    ]
    return "\n".join(lines + [_describe_node(node) for node in program.nodes])


def _describe_node(node: Node) -> str:
    operands = ", ".join(f"n{one}" for one in node.operands)
    given = "".join(f", {name}={one!r}" for name, one in node.parameters.items())
    return f"n{node.index} = {node.operation}({operands}{given})  {node.shape} {node.dtype}"


@dataclass
class Tally:
    """What the programs of a range of seeds came to, together.

    Parameters
    ----------
    counts
        Of programs, of those with all or some nodes proved, and of nodes.
    breaks
        By seed, those of the first node that is beaten, in words.
    crashes
        By seed, what the prover failed with.
    """

    counts: Counter[str] = field(default_factory=Counter)
    breaks: dict[int, list[str]] = field(default_factory=dict)
    crashes: dict[int, str] = field(default_factory=dict)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count one more."""
        self.counts["programs"] += 1
        self.counts["with a proof"] += bool(outcome.proved)
        self.counts["all proved"] += not outcome.refused
        for name in ("proved", "refused", "tight", "undecided"):
            self.counts[f"{name} nodes"] += getattr(outcome, name)
        if outcome.breaks:
            first = min(one.node.index for one in outcome.breaks)
            self.breaks[seed] = [str(one) for one in outcome.breaks if one.node.index == first]
        if outcome.crash:
            self.crashes[seed] = outcome.crash

    def merge(self, other: Tally) -> None:
        """Count what another one has counted."""
        self.counts.update(other.counts)
        self.breaks.update(other.breaks)
        self.crashes.update(other.crashes)


class Journal:
    """The chunks of seeds that are done, a line each.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    level
        Of the programs.
    """

    def __init__(self, path: Path | None, level: str) -> None:
        self.path, self.level = path, level

    def read(self) -> dict[tuple[int, int], Tally]:
        """Return what is written down of this level, by range of seeds."""
        if self.path is None or not self.path.exists():
            return {}
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return {
            (one["first"], one["end"]): Tally(
                Counter(one["counts"]), _by_seed(one["breaks"]), _by_seed(one["crashes"])
            )
            for one in lines
            if one["level"] == self.level
        }

    def add(self, first: int, end: int, tally: Tally, seconds: float) -> None:
        """Write a range down."""
        if self.path is None:
            return
        line = {"level": self.level, "first": first, "end": end, "seconds": round(seconds, 1)}
        line |= {"counts": tally.counts, "breaks": tally.breaks, "crashes": tally.crashes}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _by_seed(found: dict[str, Any]) -> dict[int, Any]:
    return {int(seed): one for seed, one in found.items()}


def run_campaign(
    first: int, end: int, journal: Journal, attack: Callable[[int], Outcome]
) -> Iterator[tuple[int, Tally]]:
    """Yield, chunk by chunk, up to which seed all is done, and what came of it."""
    done, whole = journal.read(), Tally()
    for start in range(first, end, CHUNK):
        stop, began = min(start + CHUNK, end), time.process_time()
        tally = done.get((start, stop))
        if tally is None:
            tally = Tally()
            for seed in range(start, stop):
                tally.add(seed, attack(seed))
            journal.add(start, stop, tally, time.process_time() - began)
        whole.merge(tally)
        yield stop, whole
