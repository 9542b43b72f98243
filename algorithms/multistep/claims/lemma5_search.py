"""Search for the largest movement of one inner update between neighbours (Lemma 5).

The update is evaluated by the algorithm itself, once on each dataset and from the same state, and
not through the closed form of the shift that the law uses: the two check each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, State
from dpaudit.algorithms.multistep.claims.certificates import lemma5_certificate
from dpaudit.algorithms.problems.losses import LOSSES
from dpaudit.datasets.dataset import Dataset
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.refutation import Attained

_SCALES = (0.0, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Search:
    """Tries states of one pair, or of the claim's whole class of losses and records.

    Parameters
    ----------
    algorithm, pair
        The instance.
    whole_class
        Try every loss, and random unit records beside the pair's.
    factor
        The claimed bound is multiplied by it.
    seed
        What the search's randomness was started from, for the certificate.
    """

    algorithm: MultiStepADMM
    pair: Pair[Dataset]
    whole_class: bool
    factor: float = 1.0
    seed: int = 0

    def __call__(self, trials: int, rng: Generator) -> Attained:
        """Return the best of at least ``trials`` evaluated states."""
        instances = list(self._instances(rng))
        share = -(-trials // len(instances))
        found = [_best(algorithm, pair, share, rng) for algorithm, pair in instances]
        best = max(found, key=lambda moved: moved.value / moved.bound)
        search = {"seed": self.seed, "budget": trials}
        return Attained(
            value=best.value,
            bound=self.factor * best.bound,
            instance=best.where,
            certificate=lemma5_certificate(
                best.algorithm, best.pair, best.model, best.eta, self.factor, search
            ),
        )

    def _instances(self, rng: Generator) -> Iterator[tuple[MultiStepADMM, Pair[Dataset]]]:
        yield self.algorithm, self.pair
        if not self.whole_class:
            return
        for loss in LOSSES.values():
            algorithm = replace(self.algorithm, loss=loss)
            yield algorithm, self.pair
            yield algorithm, _random_pair(self.pair.dataset, rng)


def _random_pair(data: Dataset, rng: Generator) -> Pair[Dataset]:
    features = rng.standard_normal(data.features.shape)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = rng.choice([-1.0, 1.0], size=len(features))
    one = Dataset(features, labels, node_sizes=data.node_sizes, name="random unit records")
    other = rng.standard_normal(features.shape[1])
    return Pair(one, one.with_record(0, other / np.linalg.norm(other), -labels[0]), REPLACE_RECORD)


@dataclass(frozen=True)
class _Moved:
    """A state in which the replaced record moves its node's update, and how far."""

    value: float
    bound: float
    where: str
    algorithm: MultiStepADMM
    pair: Pair[Dataset]
    model: Array
    eta: float


def _best(algorithm: MultiStepADMM, pair: Pair[Dataset], trials: int, rng: Generator) -> _Moved:
    """Return the largest movement over states of real runs and over states far from them."""
    runs = max(1, trials // (2 * algorithm.steps))
    state = algorithm.start(pair.dataset, runs)
    found = [_movement(algorithm, pair, _far(algorithm, pair, trials // 2 + 1, rng), "a far state")]
    for t in range(algorithm.steps):
        found.append(_movement(algorithm, pair, state, f"step {t + 1} of a run"))
        step = algorithm.step(state, pair.dataset)
        noise = step.scale * rng.standard_normal(step.mean.shape)
        state = algorithm.advance(state, step.mean + noise)
    return max(found, key=lambda moved: moved.value / moved.bound)


def _far(algorithm: MultiStepADMM, pair: Pair[Dataset], trials: int, rng: Generator) -> State:
    """Return random states of several scales, half of them along the differing record."""
    state = algorithm.start(pair.dataset, trials)
    models = rng.standard_normal(state.inner.shape)
    along = pair.dataset.signed_records[pair.index]
    models[::2] = rng.choice([-1.0, 1.0], size=(len(models[::2]), 1, 1)) * along
    scales = rng.choice(_SCALES, size=(trials, 1, 1))
    return replace(state, inner=scales * models)


def _movement(algorithm: MultiStepADMM, pair: Pair[Dataset], state: State, where: str) -> _Moved:
    here = algorithm.step(state, pair.dataset).mean
    there = algorithm.step(state, pair.neighbour).mean
    eta = algorithm.eta(pair.dataset, state.iteration, state.inner_step)
    bounds = algorithm.sensitivity(pair.dataset, eta)
    rounding = _rounding(algorithm, pair.dataset, state, eta)
    moved = np.maximum(np.linalg.norm(there - here, axis=2) - rounding, 0.0)
    trial, node = np.unravel_index(int(np.argmax(moved / bounds)), moved.shape)
    return _Moved(
        value=float(moved[trial, node]),
        bound=float(bounds[node]),
        where=f"{algorithm.loss.name} loss, {pair.dataset.name}, node {node}, {where}",
        algorithm=algorithm,
        pair=pair,
        model=state.inner[trial, node],
        eta=float(eta[node]),
    )


def _rounding(
    algorithm: MultiStepADMM, data: Dataset, state: State, eta: Array
) -> NDArray[np.float64]:
    """Return what rounding may add to a movement, shape ``(R, n)``.

    Each mean is a sum of the terms below, divided by the curvature; the gradient's is a sum over
    the node's records. A movement counts only as far as it exceeds this.
    """
    sizes = np.array(data.node_sizes, dtype=np.float64)
    curvature = 2 * algorithm.penalty * algorithm.graph.degrees + eta
    weight = eta + algorithm.regulariser_weight
    models = np.linalg.norm(state.inner, axis=2) * weight + np.linalg.norm(state.pull, axis=2)
    gradients = (8 + np.sqrt(sizes)) * algorithm.loss.lipschitz
    total: Array = 16 * np.finfo(np.float64).eps * (models + gradients) / curvature
    return total
