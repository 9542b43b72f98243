"""Canaries' scores: what we certify and estimate, beside jax-privacy and privacy-estimates.

Included canaries score N(mu, 1), the others N(0, 1), independently; coins are fair. All see the
same scores. The two run in an environment of their own, which is built once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dpaudit
from dpaudit.scan.remote.environments import build_environment
from dpaudit.selftest.laws import CanaryScores

REQUIREMENTS = ("jax-privacy==2.0.0", "privacy-estimates==0.1.0.post1")
CHILD = Path(__file__).with_name("_canary_peers.py")
DELTA = 1e-5


def main() -> None:
    options = arguments()
    if options.alone:
        medians(options.canaries, options.mu, options.games)
        return
    python = options.python or str(build_environment(REQUIREMENTS))
    console = Console(width=120)
    for canaries in options.canaries:
        for mu in options.mu:
            scores, included = drawn(canaries, mu, options.games, options.seed)
            found = ours(scores, included) | theirs(python, scores, included)
            console.print(table(canaries, mu, found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=25)
    parser.add_argument("--canaries", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--mu", type=float, nargs="+", default=[0.0, 1.0, 3.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--alone", action="store_true", help="our bounds alone, each computed once for each count"
    )
    parser.add_argument("--python", help="of an environment that has both, instead of building one")
    return parser.parse_known_args()[0]  # of `make bench`, which has arguments for all


def medians(canaries: list[int], mus: list[float], games: int) -> None:
    """Print the medians of what is certified, and of the epsilon of the mu that is."""
    for m in canaries:
        for mu in mus:
            bounds = [
                CanaryScores(canaries=m, mu=mu, curve=curve).run(
                    games, 0.05, np.random.default_rng(3)
                )
                for curve in (False, True)
            ]
            curve = [dpaudit.GaussianDP(one).epsilon(DELTA) for one in bounds[1]]
            print(f"{m} canaries, mu = {mu:g}: {np.median(bounds[0]):.3f}, {np.median(curve):.3f}")


def drawn(canaries: int, mu: float, games: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, canaries, round(1000 * mu)])
    included = rng.random((games, canaries)) < 0.5
    return rng.normal(size=(games, canaries)) + mu * included, included


def ours(scores: np.ndarray, included: np.ndarray) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row, coins in zip(scores, included, strict=True):
        began = time.perf_counter()
        result = dpaudit.audit_scores(row, coins, delta=DELTA, design="independent")
        spent = time.perf_counter() - began
        numbers = {f"dpaudit {one.name}": one.lower for one in result.model_based}
        numbers = {"dpaudit, certified": result.measured.lower, **numbers, "(seconds)": spent}
        for name, value in numbers.items():
            found.setdefault(name, []).append(value)
    return found


def theirs(python: str, scores: np.ndarray, included: np.ndarray) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, score=scores, included=included)
        words = [python, str(CHILD), str(path), str(DELTA)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    found: dict[str, list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


def table(canaries: int, mu: float, found: dict[str, list[float]]) -> Table:
    truth = dpaudit.GaussianDP(mu).epsilon(DELTA)
    title = f"{canaries} canaries, mu = {mu:g}: epsilon {truth:.3f} at delta = {DELTA:g}"
    shown = Table("number", "median", "largest", "above the truth", title=title)
    for name, values in found.items():
        above = "" if name == "(seconds)" else f"{np.mean(np.array(values) > truth):.0%}"
        shown.add_row(name, f"{np.median(values):.3f}", f"{max(values):.3f}", above)
    return shown


if __name__ == "__main__":
    main()
