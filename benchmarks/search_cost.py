"""What the search for a pair takes of an audit, and what it takes of a processor in all.

An audit with a domain, and one of the pair that the first one found, do the same work but for the
search: the difference of their seconds of a processor, all processes, is the search's. A private
function is audited, as one that is refuted does more besides; seeds differ, as what certifies the
same counts is remembered. `search_pairs` is the search alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from _processor import processor_seconds

import dpaudit
from dpaudit.auditing.pairs.found_pairs import SearchEffort
from dpaudit.search.engine import search_pairs

DOMAIN: dict[str, Any] = {"bounds": (0, 1), "records": 6}


def mean(data: Any, rng: Any) -> float:
    """Return a noisy mean."""
    return float(data.mean() + rng.laplace(0.0, 1 / 6))


def middle(data: Any, rng: Any) -> float:
    """Return a noisy median."""
    return float(np.median(data) + rng.laplace(0.0, 1.0))


def steps(data: Any, rng: Any) -> float:
    """Return the noisy length of a path."""
    return float(np.abs(np.diff(data)).sum() + rng.laplace(0.0, 2.0))


def spread(data: Any, rng: Any) -> float:
    """Return a noisy variance."""
    return float(data.var() + rng.normal(0.0, 2.0))


FUNCTIONS = (mean, middle, steps, spread)


def audit_seconds(function: Callable[..., float], *sides: Any, **given: Any) -> float:
    """Return the seconds of a processor that an audit takes, with all its processes."""
    began = processor_seconds()
    dpaudit.audit(function, *sides, relation="replace-record", epsilon=9.0, **given)
    return processor_seconds() - began


def search_seconds(function: Callable[..., float], calls: int) -> tuple[float, tuple[Any, Any]]:
    """Return the seconds that a search takes of a processor, and the pair that it finds."""
    domain = dpaudit.Domain(**DOMAIN)
    began = process_time()
    found = search_pairs(function, domain, "replace-record", calls=calls).found[0].place
    seconds = process_time() - began
    return seconds, (domain.layout.build(found.units), domain.layout.build(found.neighbour))


def row_of(function: Callable[..., float], trials: int, repeats: int) -> dict[str, Any]:
    """Return the medians of a function: of the audit with its search, without it, and alone."""
    calls = SearchEffort(trials).most(columns=1)
    sides = search_seconds(function, calls)[1]
    rows = [
        (
            audit_seconds(function, domain=DOMAIN, trials=trials, seed=seed),
            audit_seconds(function, *sides, trials=trials, seed=1_000 + seed),
            search_seconds(function, calls)[0],
        )
        for seed in range(repeats + 1)
    ]
    searched, given, alone = map(median, zip(*rows[1:], strict=True))  # the first starts processes
    return {
        "function": function.__name__,
        "trials": trials,
        "calls": calls,
        "audit": round(searched, 3),
        "share": round(1 - given / searched, 3),
        "search": round(alone, 3),
    }


def main() -> None:
    """Print what the search takes of each audit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = [row_of(one, trials, given.repeats) for trials in (1_000, 10_000) for one in FUNCTIONS]
    for row in rows:
        print(
            f"{row['function']}, {row['trials']} outputs a side: audit {row['audit']} CPU s, "
            f"search {row['share']:.0%} of it; {row['calls']} calls alone {row['search']} CPU s"
        )
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
