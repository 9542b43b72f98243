"""What a view of gossip takes: by matrices, through its structure, and of a thousand nodes.

A node of a ring hears its neighbours, with noise on every message. Seconds are those of a
processor. The first table divides those of matrices by those of the structure, of the same view;
the second reads gossip of more and more nodes and rounds, and works out what a node learns.

    python benchmarks/large_views.py [--rounds 20 40 60] [--nodes 100 300 1000] [--out views.json]
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import dpaudit
from dpaudit.affine import view
from dpaudit.affine.view import View


def gossip(nodes: int, rounds: int) -> Callable[..., list[Any]]:
    """Return gossip on a ring, of which node 0 hears both neighbours and itself."""
    shifted = [np.roll(np.eye(nodes), shift, axis=1) for shift in (-1, 0, 1)]
    weights = sum(shifted) / 3

    def run(x: Any, rng: Any) -> list[Any]:
        heard = []
        for _ in range(rounds):
            sent = x + rng.normal(scale=2.0, size=nodes)
            heard.append(sent[[nodes - 1, 0, 1]])
            x = weights @ sent
        return heard

    return run


def measure(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a processor that a call takes, and what it returns."""
    began = process_time()
    found = call()
    return process_time() - began, found


def view_of(nodes: int, rounds: int) -> View:
    """Return what node 0 sees, about the node ten away."""
    found = dpaudit.views(gossip(nodes, rounds), private=np.zeros(nodes), about={"ten away": 10})
    return found.view("output")


def mu_of(given: View, most_work: int) -> Any:
    """Return the mu of a view for which matrices may take so many products."""
    view._MOST_WORK = most_work
    return View(given.program, given.ids, given.change).mu


def compare(rounds: int) -> dict[str, Any]:
    """Return what both ways take for one view of thirty nodes."""
    given = view_of(30, rounds)
    by_structure, found = measure(lambda: mu_of(given, 0))
    by_matrices, expected = measure(lambda: mu_of(given, 10**18))
    assert found.lower <= expected.upper, "the two ways differ"
    assert expected.lower <= found.upper, "the two ways differ"
    return {
        "rounds": rounds,
        "matrices": by_matrices,
        "structure": by_structure,
        "ratio": by_matrices / by_structure,
        "width": found.width / found.upper,
    }


def read(nodes: int) -> dict[str, Any]:
    """Return what gossip of so many nodes and rounds takes."""
    reading, given = measure(lambda: view_of(nodes, nodes))
    working, found = measure(lambda: mu_of(given, 50_000_000))
    return {
        "nodes": nodes,
        "reading": reading,
        "mu": found.upper,
        "width": found.width / found.upper,
        "working": working,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, nargs="+", default=[20, 40, 60])
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    compared = [compare(one) for one in options.rounds]
    for one in compared:
        print(
            f"30 nodes, {one['rounds']} rounds: matrices {one['matrices']:.2f} s, structure "
            f"{one['structure']:.3f} s, {one['ratio']:.0f} times; width {one['width']:.1e}"
        )
    large = [read(one) for one in options.nodes]
    for one in large:
        print(
            f"{one['nodes']} nodes and rounds: mu {one['mu']:.9g}, width {one['width']:.1e}, "
            f"read in {one['reading']:.1f} s, worked out in {one['working']:.1f} s, "
            f"{one['gigabytes']:.2f} GB"
        )
    if options.out:
        options.out.write_text(json.dumps({"compared": compared, "large": large}, indent=1))


if __name__ == "__main__":
    main()
