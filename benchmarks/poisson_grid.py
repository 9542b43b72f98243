"""Brackets of 200 Poisson-sampled trainings: seconds of each, and how far apart the ends are.

python benchmarks/poisson_grid.py            # one core, one event after the other
python benchmarks/poisson_grid.py --seed 4

Sampling ratios 1e-4 to .3, noise .4 to 8, 1 to 10^6 steps and delta 1e-12 to 1e-4, all drawn
evenly in the logarithm. Widths are relative to epsilon, or to .01 where epsilon is less.
"""

from __future__ import annotations

import argparse
import time

import _one_thread  # noqa: F401 - before numpy
import numpy as np

from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.accounting.series.inversion import bound_epsilon_by_inversion

EVENTS = 200
SLOWEST = 5


def events(seed: int) -> list[tuple[PoissonSubsampledGaussian, float]]:
    """Return the events and their deltas."""
    rng = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return [
        (
            PoissonSubsampledGaussian(
                sampling_ratio=between(1e-4, 0.3),
                noise_multiplier=between(0.4, 8),
                count=int(between(1, 1e6)),
            ),
            between(1e-12, 1e-4),
        )
        for _ in range(EVENTS)
    ]


def measured(event: PoissonSubsampledGaussian, delta: float) -> tuple[float, float]:
    """Return seconds and relative width."""
    began = time.perf_counter()
    bracket = bound_epsilon_by_inversion(event, delta)
    return time.perf_counter() - began, bracket.width / max(bracket.upper, 1e-2)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=3)
    grid = events(parser.parse_args().seed)
    found = np.array([measured(*one) for one in grid])
    seconds, widths = found.T
    print(f"| {EVENTS} events | median | 95% | largest |\n|---|---|---|---|")
    for name, values, digits in (("seconds", seconds, ".3f"), ("relative width", widths, ".1e")):
        shown = (np.median(values), np.quantile(values, 0.95), values.max())
        print(f"| {name} | " + " | ".join(format(one, digits) for one in shown) + " |")
    print(f"\nabove a second: {int((seconds > 1).sum())}; the slowest:")
    for index in np.argsort(seconds)[::-1][:SLOWEST]:
        event, delta = grid[index]
        print(f"  {seconds[index]:.3f} s, width {widths[index]:.1e}: {event}, delta {delta:.2g}")


if __name__ == "__main__":
    main()
