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

from .search import Outcome

CHUNK = 1000  # seeds that are written down together


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
        if outcome.stage:
            self.counts[f"as a whole {outcome.stage}"] += 1
        if outcome.findings:
            self.breaks[seed] = outcome.findings
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


def attack_safely(attack: Callable[[int], Outcome], seed: int) -> Outcome:
    """Return what an attack came to, also where the prover fails."""
    try:
        return attack(seed)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return Outcome(crash=f"{type(error).__name__}: {error} ({place})")


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
                tally.add(seed, attack_safely(attack, seed))
            for seed in (*tally.breaks, *tally.crashes):
                print(f"seed {seed} is beaten, or fails", flush=True)
            journal.add(start, stop, tally, time.process_time() - began)
        whole.merge(tally)
        yield stop, whole
