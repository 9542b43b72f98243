"""Runs of penalty perturbation side by side, each with an algorithm, data and noise of its own.

A pass of Newton's method over the few nodes of one run is all overhead. Here the nodes of all runs
are one axis. What a run broadcasts does not depend on the others: its noise comes from a generator
of its own, and a node that has its minimiser is left as it is. Notation as in
`dpaudit.algorithms.consensus.algorithm`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.nodes_at_once import NodeProblems
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.laws.exponential_norm import draw_exponential_norm_noise


def run_broadcasts_side_by_side(
    algorithms: Sequence[ConsensusADMM],
    datasets: Sequence[Dataset],
    generators: Sequence[Generator],
) -> Array:
    """Return all broadcasts of several runs, shape ``(R, T, N, d)``.

    Parameters
    ----------
    algorithms, datasets, generators
        One a run. Runs have the same graph, T, loss and weights, and nodes with equally many
        records; schedules may differ.

    Raises
    ------
    InvalidArgument
        The runs are not alike, or an algorithm cannot run on its data.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import complete
    >>> algorithm = ConsensusADMM(graph=complete(2), iterations=3, noise_rate=3.0)
    >>> data = Dataset(np.eye(2), [1, -1], node_sizes=(1, 1))
    >>> alone = algorithm.penalty_perturbation().sample(data, 1, np.random.default_rng(0))
    >>> both = run_broadcasts_side_by_side(
    ...     [algorithm] * 2, [data] * 2, [np.random.default_rng(n) for n in (0, 1)]
    ... )
    >>> both.shape, bool(np.allclose(both[0], alone[0]))
    ((2, 3, 2, 2), True)
    """
    for algorithm, dataset in zip(algorithms, datasets, strict=True):
        algorithm.check(dataset)
    _require_alike(algorithms, datasets)
    first, records = algorithms[0], np.stack([data.signed_records for data in datasets])
    degrees, adjacency = first.graph.degrees[:, None], first.graph.adjacency
    # Shape (T, R, N, 1): a row of every run's schedules for each iteration.
    stretch, steps = (
        np.stack([getattr(one, name) for one in algorithms], axis=1)[..., None]
        for name in ("stretch", "dual_steps")
    )
    # Nothing is written in place, so models and duals may begin as one array.
    models = dual = np.zeros((len(datasets), datasets[0].nodes, datasets[0].dimension))
    outputs = []
    for t in range(first.iterations):
        around = degrees * models + np.matmul(adjacency, models)
        pull = stretch[t] / (2 * degrees) * around - 2 * dual
        linear = pull - stretch[t] * _draw_side_by_side_noise(
            algorithms, generators, models.shape[1:], t
        )
        models = _solve_node_minimisers(algorithms, datasets, records, linear, t)
        outputs.append(models)
        dual = dual + steps[t] / 2 * (degrees * models - np.matmul(adjacency, models))
    return np.stack(outputs, axis=1)


def _require_alike(algorithms: Sequence[ConsensusADMM], datasets: Sequence[Dataset]) -> None:
    sizes = {size for data in datasets for size in data.node_sizes}
    shared = {
        (one.iterations, one.loss_weight, one.regulariser_weight, one.loss.margin.name)
        for one in algorithms
    }
    graphs = {one.graph.adjacency.tobytes() for one in algorithms}
    shapes = {data.signed_records.shape for data in datasets}
    if len(sizes) > 1 or len(shared) > 1 or len(graphs) > 1 or len(shapes) > 1:
        expected = "runs with one graph, T, loss and weights, and as many records at every node"
        raise InvalidArgument("algorithms", VerbatimText("runs that differ"), expected)


def _draw_side_by_side_noise(
    algorithms: Sequence[ConsensusADMM],
    generators: Sequence[Generator],
    shape: tuple[int, ...],
    t: int,
) -> Array:
    # Every run draws from its own generator, in the order in which it would alone.
    drawn = [
        np.zeros(shape)
        if one.rates is None
        else draw_exponential_norm_noise(shape, one.rates[t], rng)
        for one, rng in zip(algorithms, generators, strict=True)
    ]
    return np.stack(drawn)


def _solve_node_minimisers(
    algorithms: Sequence[ConsensusADMM],
    datasets: Sequence[Dataset],
    records: Array,
    linear: Array,
    t: int,
) -> Array:
    """Return every node's minimisers, shape ``(R, N, d)``, with those that are hard alone."""
    first, nodes = algorithms[0], datasets[0].nodes
    size = datasets[0].node_sizes[0]
    curvature = np.stack([one.stretch[t] for one in algorithms]) + first.regulariser_weight / nodes
    # Runs and nodes are one axis of nodes here, of a single trial.
    found = NodeProblems(
        loss=first.loss,
        records=records.reshape(-1, size, linear.shape[-1]),
        weight=first.loss_weight / size,
        curvature=curvature.ravel(),
        tolerance=first.tolerance,
    ).minimise(linear.reshape(1, -1, linear.shape[-1]))
    if found is not None:
        return found.reshape(linear.shape)
    # One node that is hard sends all runs to the slower method, which solves them one by one.
    alone = [
        one.minimise(row[None], data, t + 1)[0]
        for one, row, data in zip(algorithms, linear, datasets, strict=True)
    ]
    return np.stack(alone)
