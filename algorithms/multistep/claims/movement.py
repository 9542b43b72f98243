"""The largest movement of one inner update between neighbours (Lemma 5), by search.

The update is evaluated by the algorithm itself, once on each dataset and from the same state, and
not through the closed form of the shift that the law and the certificate use: the two check each
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepState
from dpaudit.algorithms.multistep.claims.instances import MultiStepInstance
from dpaudit.algorithms.problems.linearised_objectives import mean_shift
from dpaudit.algorithms.problems.losses import LOSSES
from dpaudit.datasets.dataset import Dataset
from dpaudit.extension.claim import Statement
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.refutation import Evidence, Inequality, WorstInstance, searched

# Scales of models at which slopes are tried: at 0, and from nearly flat to far out on either side.
_SCALES = (0.0, 0.1, 1.0, 10.0, 100.0)


def search_movement(
    claim: Inequality[UpdateMovement],
    instance: MultiStepInstance,
    trials: int,
    rng: Generator,
    *,
    whole_class: bool,
    seed: int,
) -> WorstInstance:
    """Return the largest movement that is found, against its own bound.

    In the whole class every loss is tried, and random unit records beside the pair's.
    """
    found = find_farthest_movement(instance, trials, rng, whole_class=whole_class)
    if claim.broken(found):  # by a last digit of somebody's records: nothing to certify
        value, bound = claim.sides(found)
        return WorstInstance(value=value, bound=bound, instance=found.where)
    return searched(claim, lambda budget, rng: found, trials, rng, seed=seed)


@dataclass(frozen=True)
class UpdateMovement:
    """A state in which the replaced record moves its node's update, and how far."""

    value: float
    bound: float
    where: str
    instance: MultiStepInstance
    model: Array
    eta: float


def make_lemma5_inequality(statement: Statement, factor: float) -> Inequality[UpdateMovement]:
    """Return Lemma 5 times a factor, of the movement that the algorithm computes."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda moved: (moved.value, factor * moved.bound),
        conditions=lambda moved: moved.instance.conditions(),
        words=lambda moved: moved.where,
        evidence=lambda moved: _make_movement_evidence(statement.relation, moved, factor),
    )


def _make_movement_evidence(relation: str, moved: UpdateMovement, factor: float) -> Evidence:
    """Return the movement in closed form, from ``model`` of shape ``(d,)``."""
    algorithm, data = moved.instance.algorithm, moved.instance.pair.dataset
    record = moved.instance.record
    models = np.zeros((1, data.nodes, data.dimension))
    models[0, record.node] = moved.model
    degree = float(algorithm.graph.degrees[record.node])
    curvature = 2 * algorithm.penalty * degree + moved.eta
    shift = mean_shift(algorithm.loss, models, record, curvature)[0, record.node]
    size = data.node_sizes[record.node]
    return Evidence(
        kind="sensitivity",
        relation=relation,
        parameters=moved.instance.certified() | {"eta": moved.eta, "factor": factor},
        instance=moved.instance.arrays() | {"model": moved.model, "edges": moved.instance.edges},
        quantities={
            "bound": factor * 2 * algorithm.loss.lipschitz / (curvature * size),
            "movement": float(np.linalg.norm(shift)),
        },
    )


def find_farthest_movement(
    instance: MultiStepInstance, trials: int, rng: Generator, *, whole_class: bool
) -> UpdateMovement:
    """Return the best of at least ``trials`` evaluated states."""
    instances = list(_generate_class_instances(instance, rng)) if whole_class else [instance]
    # At least as many evaluations as were asked for, spread evenly.
    share = -(-trials // len(instances))
    found = [_find_largest_movement(one, share, rng) for one in instances]
    return max(found, key=lambda moved: moved.value / moved.bound)


def _generate_class_instances(
    instance: MultiStepInstance, rng: Generator
) -> Iterator[MultiStepInstance]:
    # The pair that was asked for comes first, so that it wins ties.
    yield instance
    for loss in LOSSES.values():
        same = replace(instance, algorithm=replace(instance.algorithm, loss=loss))
        yield same
        yield replace(same, pair=_random_pair(instance.pair.dataset, rng))


def _random_pair(data: Dataset, rng: Generator) -> Pair[Dataset]:
    features = rng.standard_normal(data.features.shape)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = rng.choice([-1.0, 1.0], size=len(features))
    one = Dataset(features, labels, node_sizes=data.node_sizes, name="random unit records")
    other = rng.standard_normal(features.shape[1])
    return Pair(one, one.with_record(0, other / np.linalg.norm(other), -labels[0]), REPLACE_RECORD)


def _find_largest_movement(
    instance: MultiStepInstance, trials: int, rng: Generator
) -> UpdateMovement:
    """Return the largest movement over states of real runs and over states far from them."""
    algorithm, data = instance.algorithm, instance.pair.dataset
    # Half of the budget goes to states of real runs, the other half to states far from them.
    runs = max(1, trials // (2 * algorithm.steps))
    state = algorithm.start(data, runs)
    found = [
        _compute_state_movement(
            instance, _draw_far_states(instance, trials // 2 + 1, rng), "a far state"
        )
    ]
    for t in range(algorithm.steps):
        found.append(_compute_state_movement(instance, state, f"step {t + 1} of a run"))
        step = algorithm.step(state, data)
        noise = step.scale * rng.standard_normal(step.mean.shape)
        state = algorithm.advance(state, step.mean + noise)
    return max(found, key=lambda moved: moved.value / moved.bound)


def _draw_far_states(instance: MultiStepInstance, trials: int, rng: Generator) -> MultiStepState:
    """Return random states of several scales, half of them along the differing record."""
    data = instance.pair.dataset
    state = instance.algorithm.start(data, trials)
    models = rng.standard_normal(state.inner.shape)
    along = data.signed_records[instance.pair.index]
    # Along the differing record its margin is largest, where the slope of a hinge is 1 or 0.
    models[::2] = rng.choice([-1.0, 1.0], size=(len(models[::2]), 1, 1)) * along
    scales = rng.choice(_SCALES, size=(trials, 1, 1))
    return replace(state, inner=scales * models)


def _compute_state_movement(
    instance: MultiStepInstance, state: MultiStepState, where: str
) -> UpdateMovement:
    algorithm, pair = instance.algorithm, instance.pair
    here = algorithm.step(state, pair.dataset).mean
    there = algorithm.step(state, pair.neighbour).mean
    eta = algorithm.eta(pair.dataset, state.iteration, state.inner_step)
    bounds = algorithm.sensitivity(pair.dataset, eta)
    rounding = _bound_movement_rounding(instance, state, eta)
    # Movement is counted only as far as rounding cannot explain it: the bound is attained, and a
    # last digit must not refute it.
    moved = np.maximum(np.linalg.norm(there - here, axis=2) - rounding, 0.0)
    trial, node = np.unravel_index(int(np.argmax(moved / bounds)), moved.shape)
    return UpdateMovement(
        value=float(moved[trial, node]),
        bound=float(bounds[node]),
        where=f"{algorithm.loss.name} loss, {pair.dataset.name}, node {node}, {where}",
        instance=instance,
        model=state.inner[trial, node],
        eta=float(eta[node]),
    )


def _bound_movement_rounding(
    instance: MultiStepInstance, state: MultiStepState, eta: Array
) -> Array:
    """Return the most that rounding may add to a movement, shape ``(R, n)``.

    Each mean is a sum of the terms below, divided by the curvature; the gradient's is a sum over
    the node's records. A movement counts only as far as it exceeds this.
    """
    algorithm = instance.algorithm
    sizes = np.array(instance.pair.dataset.node_sizes, dtype=np.float64)
    curvature = 2 * algorithm.penalty * algorithm.graph.degrees + eta
    weight = eta + algorithm.regulariser_weight
    models = np.linalg.norm(state.inner, axis=2) * weight + np.linalg.norm(state.pull, axis=2)
    gradients = (8 + np.sqrt(sizes)) * algorithm.loss.lipschitz
    total: Array = 16 * np.finfo(np.float64).eps * (models + gradients) / curvature
    return total
