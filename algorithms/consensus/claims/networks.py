"""Random graphs and quadratics on which the theorems of zhang2018, section 3, are searched.

A graph is a random tree (``parents``) with further edges (``extra``), so that it is connected
whatever a move does. Numbers above 0 are moved in proportion. Penalties are at least theta; where
nodes share one, it is node 0's. Scales are free: theta and the largest distance are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from hypothesis.strategies import (
    SearchStrategy,
    fixed_dictionaries,
    integers,
    just,
    lists,
    sampled_from,
)
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.refutation import Condition, Inequality, Space, WorstInstance, minimal, searched
from dpaudit.refutation.search import Batch

Ratios = Callable[[Batch], Array]
InstanceT = TypeVar("InstanceT")
# A claim, and what spends a budget on it and returns the worst instance.
Searchable = tuple[Inequality[InstanceT], Callable[[int, Generator], InstanceT]]

# Limits, relative to theta: of the penalty's excess over theta, and of the curvature.
EXCESS = (1e-3, 1e2)
CURVATURE = (1e-3, 1e2)
MU = (1e-3, 1e2)  # of mu - 1


@dataclass(frozen=True, kw_only=True)
class Family:
    """Common to all instances of a search: node count, theta, and one penalty for all or not."""

    nodes: int
    dual_step: float = 1.0
    shared: bool = True


def build_network_space(family: Family, ratios: Ratios) -> Space:
    """Return the search space; ``ratios`` gets batches that are inside the assumptions.

    Examples
    --------
    >>> from dpaudit.refutation import maximise
    >>> found = maximise(
    ...     build_network_space(Family(nodes=3), lambda batch: batch["penalty"][:, 0] / 101.0),
    ...     400,
    ...     np.random.default_rng(0),
    ... )
    >>> round(found.ratio, 6)
    1.0
    """

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        found = clip_network_instances(family, batch)
        return found, ratios(found)

    return Space(
        start=lambda count, rng: _draw_network_starts(family, count, rng),
        move=_move_network_instances,
        evaluate=evaluate,
    )


def _draw_network_starts(family: Family, count: int, rng: Generator) -> Batch:
    n, theta = family.nodes, family.dual_step
    # Node i hangs on one of the nodes before it, which makes the graph connected.
    below = rng.random((count, n)) * np.arange(n)
    same = rng.random((count, 1)) < 0.5  # structured: all nodes start at one place
    start = rng.standard_normal((count, n))
    return {
        "parents": np.floor(below),
        "extra": (rng.random((count, n, n)) < rng.random((count, 1, 1))).astype(np.float64),
        "excess": theta * 10 ** rng.uniform(-2, 2, (count, n)),
        "curvature": theta * 10 ** rng.uniform(-3, 1, (count, n)),
        "slope": theta * rng.standard_normal((count, n)) * rng.choice([0.0, 1.0], (count, 1)),
        "start": np.where(same, 1.0, start),
        "over": 10 ** rng.uniform(-2, 1, count),
    }


def _move_network_instances(batch: Batch, step: Array, rng: Generator) -> Batch:
    """Change some of the numbers of every instance, now and then an edge."""
    moved = dict(batch)
    for name in ("excess", "curvature", "over", "slope", "start"):
        values = batch[name]
        size = step.reshape(-1, *[1] * (values.ndim - 1))
        touched = rng.random(values.shape) < rng.random((len(values), *[1] * (values.ndim - 1)))
        change = touched * size * rng.standard_normal(values.shape)
        additive = name in ("slope", "start")
        moved[name] = values + change if additive else values * np.exp(3 * change)
    # About one edge is flipped at a full step.
    flip = rng.random(batch["extra"].shape) < step[:, None, None] / batch["extra"][0].size
    moved["extra"] = np.where(flip, 1 - batch["extra"], batch["extra"])
    return moved


def clip_network_instances(family: Family, batch: Batch) -> Batch:
    """Return the instances within the limits, with penalty, mu and adjacency spelled out."""
    theta, found = family.dual_step, dict(batch)
    excess = batch["excess"][:, :1] if family.shared else batch["excess"]
    found["excess"] = np.clip(excess, *(theta * np.array(EXCESS))) * np.ones(family.nodes)
    found["penalty"] = theta + found["excess"]
    found["curvature"] = np.clip(batch["curvature"], *(theta * np.array(CURVATURE)))
    found["over"] = np.clip(batch["over"], *MU)
    found["mu"] = 1 + found["over"]
    found["adjacency"] = adjacency_of(batch["parents"], batch["extra"])
    return found


def make_small_network_strategy(family: Family) -> SearchStrategy[Batch]:
    """Return batches of one instance with few nodes and round numbers, smallest first.

    Penalties of the nodes' own are not all the same.
    """
    theta = family.dual_step

    def make_sized_network(nodes: int) -> SearchStrategy[Batch]:
        return (
            fixed_dictionaries(
                {
                    "parents": just(np.zeros((1, nodes))),
                    "extra": just(np.zeros((1, nodes, nodes))),
                    "excess": make_row_strategy(
                        nodes, *(theta * x for x in (1.0, 0.5, 0.25, 4.0, 16.0, 0.01))
                    ),
                    "curvature": make_row_strategy(nodes, *(theta * x for x in (1.0, 0.1, 0.01))),
                    "slope": make_row_strategy(nodes, 0.0, 1.0, -1.0).map(
                        lambda slopes: theta * slopes
                    ),
                    "start": make_row_strategy(nodes, 0.0, 1.0, -1.0),
                    "over": sampled_from((1.0, 0.5, 0.25, 0.1)).map(lambda x: np.array([x])),
                }
            )
            .map(lambda batch: clip_network_instances(replace(family, nodes=nodes), batch))
            .filter(lambda batch: family.shared or bool(np.ptp(batch["penalty"]) > 0))
        )

    return integers(2, min(family.nodes, 3)).flatmap(make_sized_network)


def make_row_strategy(nodes: int, *values: float) -> SearchStrategy[Array]:
    """Return batches of one row: one of the values for every node, earlier ones first."""
    entries = lists(sampled_from(values), min_size=nodes, max_size=nodes)
    return entries.map(lambda numbers: np.array([numbers]))


def adjacency_of(parents: Array, extra: Array) -> Array:
    """Return the graphs: node i > 0 and its parent are neighbours, and so are ``extra``'s pairs.

    Examples
    --------
    >>> adjacency_of(np.zeros((1, 3)), np.zeros((1, 3, 3)))[0].tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    nodes = parents.shape[1]
    tree = (parents[:, :, None] == np.arange(nodes)).astype(np.float64)
    # Node 0 is the root and has no parent; its entry in `parents` is 0, itself.
    tree[:, 0] = 0.0
    # Only pairs above the diagonal are read, so that an edge is either there or not.
    upper = np.triu(extra, 1)
    edges = tree + upper
    return np.asarray(np.minimum(edges + edges.transpose(0, 2, 1), 1.0))


def count_graph_components(adjacency: Array) -> int:
    """Return how many parts a graph falls into.

    Examples
    --------
    >>> count_graph_components(np.zeros((3, 3))), count_graph_components(np.ones((3, 3)))
    (3, 1)
    """
    nodes = len(adjacency)
    # Entries of (I + A)^n are above 0 exactly where a path leads, so nodes of one part have equal
    # rows.
    reached = np.linalg.matrix_power(np.eye(nodes) + adjacency, nodes) > 0
    return len(np.unique(reached, axis=0))


def make_conditions(pairs: Mapping[str, tuple[float, float]]) -> tuple[Condition, ...]:
    """Return assumptions from values and limits."""
    return tuple(
        Condition(name=name, value=float(value), limit=float(limit))
        for name, (value, limit) in pairs.items()
    )


def edges_of(adjacency: Array) -> str:
    """Return a graph as words."""
    return ", ".join(f"{i}-{j}" for i, j in zip(*np.nonzero(np.triu(adjacency)), strict=True))


def format_row_numbers(row: Array) -> str:
    """Return the numbers of a row as words."""
    return np.array2string(row, precision=4, separator=", ")


def network_case(
    searchable: Searchable[InstanceT],
    simplest: SearchStrategy[InstanceT],
    generated: int,
    seed: int,
    enforced: tuple[str, ...],
    **particular: Any,
) -> SearchCase:
    """Return the audit of a claim on networks: no neighbours, every assumption enforced.

    Instances that are ``generated`` from the ``simplest`` on are tried for the smallest one.
    """
    inequality, climb = searchable

    def smallest(_: InstanceT) -> str | None:
        instance = minimal(simplest, inequality, budget=generated, seed=seed)
        return None if instance is None else inequality.words(instance)

    def attain(budget: int, rng: Generator) -> WorstInstance:
        return searched(inequality, climb, budget, rng, seed=seed, smallest=smallest)

    evidence = "enforced, and checked on what was found"
    return SearchCase(
        attain=attain,
        relation="none",
        pair="none: a statement about one dataset",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence=evidence) for name in enforced
        ),
        **particular,
    )
