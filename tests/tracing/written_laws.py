"""The laws of twenty loops, written by hand: what is noisy in an output, and around what.

Each takes an output and a dataset, any of a pair, and returns the noisy values that the output
determines with the centres that this dataset has after the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tests.tracing import corpus_laws, oracles

Array = np.ndarray[Any, np.dtype[np.float64]]
Reader = Callable[[Any, Any], tuple[Array, Array]]


@dataclass(frozen=True)
class WrittenLaw:
    """Noise of one scipy law, around centres that a reader tells of an output and a dataset."""

    noise: Any
    read: Reader
    discrete: bool = False

    def residuals(self, output: Any, data: Any) -> Array:
        """Return what the noise was, if the output came from this dataset."""
        values, centres = self.read(output, data)
        return np.ravel(values - centres)

    def movements(self, output: Any, dataset: Any, neighbour: Any) -> Array:
        """Return how far all centres of two datasets are apart after the same history."""
        return self.residuals(output, dataset) - self.residuals(output, neighbour)


def _mean_by_corrections(output: Any, data: Any) -> tuple[Array, Array]:
    before = -0.9 * np.concatenate([[0.0], np.cumsum(output)[:-1]])
    return output, before - np.mean(data)


def _gradient_descent(output: Any, data: Any) -> tuple[Array, Array]:
    before = np.vstack([np.zeros(2), output[:-1]])
    noisy = (before - output) / 0.5
    centres = []
    for weights in before:
        each = [(row[:2] @ weights - row[2]) * row[:2] for row in data]
        centres.append(np.mean([one / max(1.0, np.linalg.norm(one)) for one in each], axis=0))
    return noisy, np.array(centres)


def _consensus_admm(output: Any, data: Any) -> tuple[Array, Array]:
    centres, consensus, duals = [], 0.0, np.zeros(3)
    for messages in output:
        primals = 0.5 * (data - duals + consensus)
        centres.append(primals + duals)
        consensus = messages.mean()
        duals = duals + primals - consensus
    return output, np.array(centres)


def _gossip(output: Any, data: Any) -> tuple[Array, Array]:
    heard = np.array([np.roll(one, 1) / 4 + np.roll(one, -1) / 4 - one / 2 for one in output])
    return output, data + np.vstack([np.zeros(5), np.cumsum(heard, axis=0)[:-1]])


def _tree_sums(totals: Array, each: Array) -> tuple[Array, Array]:
    """Return noisy and exact sums of a tree from running totals and what is added up."""
    padded = np.concatenate([[0.0], totals])
    noisy, centres = [], []
    for step in range(1, len(each) + 1):
        size = step & -step
        # The total before differs by the sums that this one replaces.
        noisy.append(padded[step] - padded[step - size])
        centres.append(sum(each[step - size : step]))
    return np.array(noisy), np.array(centres)


def _follow_the_leader(output: Any, data: Any) -> tuple[Array, Array]:
    before = np.concatenate([[0.0], output[:-1]])
    return _tree_sums(output / -0.1, np.clip(before - data, -1.0, 1.0))


def _binary_mechanism(output: Any, data: Any) -> tuple[Array, Array]:
    return _tree_sums(output, data)


def _power_iteration(output: Any, data: Any) -> tuple[Array, Array]:
    before = np.vstack([[1.0, 0.0], output[:-1]])
    before /= np.linalg.norm(before, axis=1, keepdims=True)
    return output, np.array([sum((row @ one) * row for row in data) for one in before])


def _k_means(output: Any, data: Any) -> tuple[Array, Array]:
    centres, found = [], np.array([-0.5, 0.5])
    for counts, sums in output:
        second = np.abs(data - found[1]) < np.abs(data - found[0])
        both = [data[~second], data[second]]
        centres.append([[len(one) for one in both], [one.sum() for one in both]])
        found = np.clip(sums / np.maximum(counts, 1.0), -1.0, 1.0)
    return output, np.array(centres)


def _momentum(output: Any, data: Any) -> tuple[Array, Array]:
    before = np.vstack([np.zeros(2), output[:-1]])
    velocities = (before - output) / 0.3
    earlier = np.vstack([np.zeros(2), velocities[:-1]])
    return velocities - 0.9 * earlier, before - np.mean(data)


def _running_averages(output: Any, data: Any) -> tuple[Array, Array]:
    totals = np.array(output) * np.arange(1, 6)
    return np.diff(totals, prepend=0.0), np.full(5, np.sum(data))


def _correlated_noise(output: Any, data: Any) -> tuple[Array, Array]:
    inverse = np.linalg.inv(corpus_laws.FACTORS)
    return inverse @ output, inverse @ [np.sum(data**k) for k in (1, 2, 3)]


def _powers(output: Any, data: Any) -> tuple[Array, Array]:
    return output, np.array([len(data), *(np.sum(data**k) for k in (1, 2, 3))])


def _sums(output: Any, data: Any) -> tuple[Array, Array]:
    return np.asarray(output), np.full(len(output), np.sum(data))


def _two_moments(output: Any, data: Any) -> tuple[Array, Array]:
    values = np.array([output["first"], output["second"]])
    return values, np.array([np.sum(data), np.sum(data**2)])


def _global_sources(output: Any, data: Any) -> tuple[Array, Array]:
    return np.array(output), np.sum(data) + np.array([0.0, output[0], 0.0])


def _two_counts(output: Any, data: Any) -> tuple[Array, Array]:
    return output, np.array([np.sum(data < 0.5), np.sum(data >= 0.5)])


_GRID = stats.rv_discrete(values=(corpus_laws.SUPPORT, corpus_laws.WEIGHTS))
WRITTEN: Mapping[str, WrittenLaw] = {
    "mean_by_corrections": WrittenLaw(stats.laplace(scale=1.0), _mean_by_corrections),
    "gradient_descent": WrittenLaw(stats.norm(scale=2.0), _gradient_descent),
    "consensus_admm": WrittenLaw(stats.norm(scale=1.0), _consensus_admm),
    "gossip": WrittenLaw(stats.norm(scale=3.0), _gossip),
    "follow_the_leader": WrittenLaw(stats.norm(scale=4.0), _follow_the_leader),
    "power_iteration": WrittenLaw(stats.norm(scale=2.0), _power_iteration),
    "binary_mechanism": WrittenLaw(stats.laplace(scale=4.0), _binary_mechanism),
    "k_means": WrittenLaw(stats.norm(scale=5.0), _k_means),
    "momentum": WrittenLaw(stats.norm(scale=1.0), _momentum),
    "running averages": WrittenLaw(stats.laplace(scale=2.0), _running_averages),
    "correlated noise": WrittenLaw(stats.norm(scale=1.0), _correlated_noise),
    "noise in place": WrittenLaw(stats.laplace(scale=2.0), _powers),
    "inverse of uniforms": WrittenLaw(stats.laplace(scale=2.0), _sums),
    "difference of exponentials": WrittenLaw(stats.laplace(scale=2.0), _two_moments),
    "global sources": WrittenLaw(stats.norm(scale=3.0), _global_sources),
    "scipy": WrittenLaw(stats.norm(scale=2.0), _sums),
    "difference of geometrics": WrittenLaw(stats.dlaplace(0.5), _two_counts, discrete=True),
    "discrete Gaussian": WrittenLaw(_GRID, _two_counts, discrete=True),
}


def epsilon_of_movements(law: WrittenLaw, movements: Array, delta: float) -> float:
    """Return the epsilon of movements that are the same after every history.

    Noise that is discrete is enumerated, whole movements given.
    """
    if law.discrete:
        steps = np.arange(-70, 71)
        moved = [one for one in movements if one]
        first = [law.noise.pmf(steps)] * len(moved)
        second = [law.noise.pmf(steps + round(one)) for one in moved]
        return oracles.finite(oracles.product_law(first), oracles.product_law(second), delta)
    scale = float(law.noise.kwds["scale"])
    if law.noise.dist.name == "laplace":
        return oracles.laplace((movements / scale).tolist(), delta)
    return oracles.gaussian(float(np.linalg.norm(movements)) / scale, delta)
