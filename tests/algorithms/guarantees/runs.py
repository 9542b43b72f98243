"""Real runs on many neighbours, and what their exact privacy losses say about a proved bound."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.guarantees import node_events
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.schedules import Constant
from dpaudit.datasets import Dataset
from dpaudit.neighbours import REPLACE_RECORD, Pair

DELTAS = (0.1, 1e-2, 2e-3)
# A lower confidence bound is so many standard errors below the mean. Payoffs in [0, 1] with a rare
# tail are skewed to the right: a mean above its expectation then comes with a larger error.
ERRORS = 5.0


def unit(vector):
    return vector / np.linalg.norm(vector) * (1 - 1e-12)


def neighbours(dimension, records, rng, others=None):
    """Return eight datasets, any two of which differ in record 0 alone: 28 pairs.

    A record, its opposite, shorter ones in both directions, none, one orthogonal, one along the
    data of its node, and one that goes against that data; the rest of the node pulls away from the
    first and the last.
    """
    u, v = unit(rng.standard_normal(dimension)), rng.standard_normal(dimension)
    across = unit(v - (v @ u) * u * (1 + 1e-12))
    tilted = unit(-0.5 * u + np.sqrt(0.75) * across)
    data = unit(-(u + tilted))
    rest = np.tile(data, (records - 1, 1)) if others is None else others
    elsewhere = np.array([unit(x) for x in rng.standard_normal((records, dimension))])
    replaced = (u, -u, 0.3 * u, -0.6 * u, 0 * u, across, data, tilted)
    labels, sizes = np.ones(2 * records), (records, records)
    return tuple(
        Dataset(np.vstack([one[None], rest, elsewhere]), labels, node_sizes=sizes)
        for one in replaced
    )


def algorithm(loss, dimension, iterations, size=1.5, weight=4.0):
    """Return a run on two nodes whose shifts and curvatures are large."""
    return ConsensusADMM(
        graph=ring(2),
        iterations=iterations,
        penalty=Constant(0.25),
        dual_step=0.25,
        noise_rate=Constant(size * np.sqrt(dimension / iterations) / weight),
        loss_weight=weight,
        regulariser_weight=0.2,
        loss=loss,
    )


@dataclass(frozen=True)
class Measured:
    """Losses of ordered pairs of datasets, by their numbers."""

    losses: dict[tuple[int, int], np.ndarray]

    def lower_deltas(self, epsilon):
        """Return a lower confidence bound on every pair's delta."""
        return {key: lower_bound(payoffs(loss, epsilon)) for key, loss in self.losses.items()}

    def epsilon(self, delta):
        """Return the largest estimated epsilon and the pair that has it."""
        found = {key: empirical_epsilon(loss, delta) for key, loss in self.losses.items()}
        best = max(found, key=found.get)
        return found[best], best


def payoffs(losses, epsilon):
    return np.maximum(0.0, -np.expm1(np.minimum(epsilon - losses, 0.0)))


def lower_bound(values):
    return values.mean() - ERRORS * values.std(ddof=1) / np.sqrt(len(values))


def empirical_epsilon(losses, delta):
    low, high = 0.0, max(0.0, float(losses.max()))
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if payoffs(losses, middle).mean() > delta else (low, middle)
    return low


def measure(mechanism, datasets, trials, rng, pairs=None):
    """Return the losses of all ordered pairs, or of some, each from its first one's runs."""
    chosen = list(permutations(range(len(datasets)), 2)) if pairs is None else pairs
    found = {}
    for i in sorted({first for first, _ in chosen}):
        outputs = mechanism.sample(datasets[i], trials, rng)
        for first, j in chosen:
            if first == i:
                pair = Pair(datasets[i], datasets[j], REPLACE_RECORD)
                found[i, j] = mechanism.privacy_loss(outputs, pair)
    return Measured(found)


def event_of(mechanism, datasets):
    """Return what node 0, which holds the record, releases."""
    sizes, dimension = datasets[0].node_sizes, datasets[0].dimension
    return node_events(mechanism, node_sizes=sizes, dimension=dimension)[0]


def excess(measured, event):
    """Return the largest (lower bound on a pair's delta) - (proved delta), over epsilons."""
    found = []
    for delta in DELTAS:
        epsilon = numerical_epsilon(event, delta, 2**12).upper
        proved = numerical_delta(event, epsilon, 2**12).upper
        found.append(max(measured.lower_deltas(epsilon).values()) - proved)
    return max(found)
