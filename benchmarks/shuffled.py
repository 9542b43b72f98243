"""Shuffled epochs against what an accountant of Poisson samples claims, certified: a table.

python benchmarks/shuffled.py                       # one epoch, delta = 1e-5
python benchmarks/shuffled.py --epochs 10 --delta 1e-6
python benchmarks/shuffled.py --claim 2 --noise 0.6 # at the delta where Poisson's epsilon is 2
"""

from __future__ import annotations

import argparse
import math

from scipy.optimize import brentq

from dpaudit.accounting.events import PoissonSubsampledGaussian, ShuffledGaussian
from dpaudit.accounting.grid.numerical import bound_attained_epsilon
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon

NOISES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BATCHES = (100, 300, 1000, 3000, 10_000)


def poisson(batches: int, noise: float, epochs: int, delta: float) -> Bracket:
    """Return the bracket of batches that are Poisson samples of the same average size."""
    event = PoissonSubsampledGaussian(
        sampling_ratio=1 / batches, noise_multiplier=noise, count=epochs * batches
    )
    return bound_proved_epsilon(event, delta)


def shuffled(batches: int, noise: float, epochs: int, delta: float) -> tuple[float, float]:
    """Return what some neighbours certainly lose, and the upper end without any gain."""
    event = ShuffledGaussian(batches=batches, noise_multiplier=noise, count=epochs)
    return bound_attained_epsilon(event, delta), bound_proved_epsilon(event, delta).upper


def delta_of(claim: float, batches: int, noise: float, epochs: int) -> float:
    """Return the delta at which the Poisson accountant claims an epsilon."""

    def excess(log_delta: float) -> float:
        return poisson(batches, noise, epochs, math.exp(log_delta)).upper - claim

    return math.exp(float(brentq(excess, math.log(1e-15), math.log(0.1), xtol=1e-9)))


def row(batches: int, noise: float, epochs: int, delta: float) -> str:
    """Return a line of the table."""
    claim = poisson(batches, noise, epochs, delta)
    least, most = shuffled(batches, noise, epochs, delta)
    gap = f"{least / claim.upper:.2f}" if least > claim.upper else "none certified"
    return (
        f"| {noise:g} | {batches:,} | {delta:.3g} | [{_down(claim.lower)}, {_up(claim.upper)}] "
        f"| {_down(least)} | {_up(most)} | {gap} |"
    )


def _down(value: float) -> str:
    return f"{math.floor(value * 1e5) / 1e5:.5f}"


def _up(value: float) -> str:
    return f"{math.ceil(value * 1e5) / 1e5:.5f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--claim", type=float)
    parser.add_argument("--noise", type=float, nargs="+", default=NOISES)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    given = parser.parse_args()
    print("| noise | batches | delta | Poisson | shuffled, at least | without gain | ratio |")
    print("|---|---|---|---|---|---|---|")
    for noise in given.noise:
        for batches in given.batches:
            delta = given.delta
            if given.claim is not None:
                delta = delta_of(given.claim, batches, noise, given.epochs)
            print(row(batches, noise, given.epochs, delta), flush=True)


if __name__ == "__main__":
    main()
