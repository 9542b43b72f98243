"""Attacks the prover with the programs of a range of seeds.

    python -m tests.proving.attack --seeds 0:100000
    python -m tests.proving.attack --seeds 0:1000000 --journal build/attack.jsonl
    python -m tests.proving.attack --seeds 0:1000 --level functions
    python -m tests.proving.attack --seeds 17:18 --effort deep --show

What a journal holds already is not done again. Status 1 if a claim was beaten, or the
prover failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .campaign import Journal, Tally, run_campaign
from .levels import LEVELS
from .search import CHEAP, DEEP, FULL

EFFORTS = {"cheap": CHEAP, "full": FULL, "deep": DEEP}


def parse_seeds(text: str) -> tuple[int, int]:
    """Return the ends of a range of seeds such as ``0:1000``."""
    first, _, end = text.partition(":")
    return int(first), int(end)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign, and say how far it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.proving.attack")
    parser.add_argument("--seeds", type=parse_seeds, default=(0, 10_000), metavar="FIRST:END")
    parser.add_argument("--level", choices=LEVELS, default="core")
    parser.add_argument("--effort", choices=EFFORTS, default="cheap")
    parser.add_argument("--journal", type=Path, help="what is done, and what came of it")
    parser.add_argument("--show", action="store_true", help="the programs of beaten seeds too")
    given = parser.parse_args(arguments)
    level = LEVELS[given.level]
    effort = EFFORTS[given.effort]
    tally = Tally()
    first, end = given.seeds
    for stop, tally in run_campaign(
        first, end, Journal(given.journal, given.level), lambda seed: level.attack(seed, effort)
    ):
        print(f"up to seed {stop}: {dict(tally.counts)}, {len(tally.breaks)} beaten", flush=True)
    if given.show:
        for seed in {*tally.breaks, *tally.crashes}:
            print(f"seed {seed}:\n{level.show(seed)}")
    for seed, found in tally.breaks.items():
        print(f"seed {seed}: {'; '.join(found)}")
    for seed, error in tally.crashes.items():
        print(f"seed {seed}: the prover fails: {error}")
    return 1 if tally.breaks or tally.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
