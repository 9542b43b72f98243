"""The instances on which the claims about a run are audited: the worst case, or a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.losses import MarginLoss
from dpaudit.algorithms.problems.records import Differing
from dpaudit.datasets import (
    Dataset,
    load,
    most_distant_records,
    replacement_pair,
    split_evenly,
    split_unevenly,
    subset,
)
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.redaction import are_shown
from dpaudit.refutation import Condition

ROUNDING = 1e-12  # of the norms of unit records


@dataclass(frozen=True)
class MultiStepInstance:
    """The algorithm, the pair it runs on, and where the records come from."""

    algorithm: MultiStepADMM
    pair: Pair[Dataset]
    data: str

    @cached_property
    def record(self) -> Differing:
        """The signed record ``b a`` before and after, and its node."""
        return Differing.of(self.pair)

    @property
    def node(self) -> int:
        """The node that holds the differing record."""
        return self.pair.dataset.node_of(self.pair.index)

    def words(self) -> str:
        """Return which record is replaced and, where records are shown, how far it moves."""
        pair = self.pair
        old, new = (d.signed_records[pair.index] for d in (pair.dataset, pair.neighbour))
        moved = f"; it moves by {float(np.linalg.norm(old - new)):.4g}" if are_shown() else ""
        return f"record {pair.index} of node {self.node} is replaced{moved}"

    def public(self) -> dict[str, Any]:
        """Return the public parameters of the run that follow from the others."""
        algorithm = self.algorithm
        return {
            "loss": algorithm.loss.name,
            "noise_multiplier": algorithm.noise_multiplier,
            "node_sizes": list(self.pair.dataset.node_sizes),
            "edges": self.edges,
        }

    def assumptions(self) -> tuple[AssumptionOutcome, ...]:
        """Return whether the assumptions of all claims about a run hold on this instance."""
        graph, datasets = self.algorithm.graph, (self.pair.dataset, self.pair.neighbour)
        longest = max(float(np.linalg.norm(d.features, axis=1).max()) for d in datasets)
        return (
            *loss_outcomes(self.algorithm.loss),
            AssumptionOutcome(
                name="bounded records",
                # Rows that were scaled to norm 1 may exceed it by rounding.
                holds=longest <= 1 + 1e-9,
                evidence="no norm is above 1; all labels are -1 or +1",
            ),
            AssumptionOutcome(name="one tuple differs", holds=True, evidence=self.words()),
            AssumptionOutcome(
                name="connected graph",
                holds=True,
                evidence=f"{graph.nodes} nodes and {len(graph.edges)} edges in one component",
            ),
        )

    # --- in certificates: one node's records before and after, and the graph ----------------

    @property
    def edges(self) -> list[list[int]]:
        """The graph's edges."""
        return [list(edge) for edge in self.algorithm.graph.edges]

    def certified(self) -> dict[str, Any]:
        """Return the public parameters of the node that a certificate states."""
        algorithm, node, data = self.algorithm, self.record.node, self.pair.dataset
        return {
            "loss": algorithm.loss.name,
            "penalty": algorithm.penalty,
            "nodes": algorithm.graph.nodes,
            "edges": len(algorithm.graph.edges),
            "node": node,
            "node_size": data.node_sizes[node],
            "dimension": data.dimension,
        }

    def arrays(self) -> dict[str, Array]:
        """Return the signed records ``b a`` before and after.

        Everything else of the update (13a) is a function of earlier outputs and of records that
        both datasets share, and cancels in the difference of two updates.
        """
        return {"record": self.record.old, "replacement": self.record.new}

    def conditions(self) -> tuple[Condition, ...]:
        """Return the assumptions as numbers; a graph's constructor refuses several components."""
        longest = max(float(np.linalg.norm(one)) for one in (self.record.old, self.record.new))
        return (
            Condition(name="bounded records", value=longest, limit=1 + ROUNDING),
            Condition(name="connected graph", value=1.0, limit=1.0),
        )


def loss_outcomes(loss: MarginLoss) -> tuple[AssumptionOutcome, AssumptionOutcome]:
    """Return whether the loss is convex and Lipschitz, seen on a grid of margins.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.losses import HINGE
    >>> [outcome.holds for outcome in loss_outcomes(HINGE)]
    [True, True]
    """
    # Beyond 50 all losses are straight to rounding.
    margins = np.linspace(-50.0, 50.0, 200_001)
    slopes = loss.slope(margins)
    steepest = float(np.abs(slopes).max())
    grid = f"slope of the {loss.name} loss on {len(margins)} margins from -50 to 50"
    return (
        AssumptionOutcome(
            name="convex loss",
            # Slopes of a convex loss do not fall, but for rounding.
            holds=bool(np.all(np.diff(slopes) >= -1e-15)),
            evidence=f"{grid} never falls",
        ),
        AssumptionOutcome(
            name="Lipschitz loss",
            holds=steepest <= loss.lipschitz,
            evidence=f"{grid} is at most {steepest:.6g}; c_1 = {loss.lipschitz:g}",
        ),
    )


def make_instances(
    settings: Settings, algorithm: MultiStepADMM, *, split: str, records: int | None
) -> list[MultiStepInstance]:
    """Return the worst case of the class, or a deployment for each pair that is asked for.

    Of several pairs the first replaces the record that is furthest from another by that one, and
    each of the others one record by the one that is furthest from it.

    Parameters
    ----------
    settings
        Whose data, pairs and seed are used.
    algorithm
        What runs on every pair.
    split
        How real records are dealt to nodes: ``even`` or ``uneven``.
    records
        How many random records of the data are used; all if None.

    Raises
    ------
    InvalidArgument
        Records are chosen for the worst case, which has its own, or more pairs are asked for than
        there are records.
    """
    nodes = algorithm.graph.nodes
    if settings.data != WORST_CASE:
        pairs = _real_pairs(settings, nodes, split, records)
        return [
            _make_checked_instance(algorithm, pair, _format_dataset_size(pair.dataset, split))
            for pair in pairs
        ]
    given = {
        "pairs": settings.candidate_pairs,
        "data_path": settings.data_path,
        "data_option": settings.data_options or None,
        "records": records,
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "nothing: the worst case has records of its own")
    words = "two opposite unit records; with the linear loss every step moves by Lemma 5's bound"
    return [_make_checked_instance(algorithm, _worst_pair(nodes), words)]


def _make_checked_instance(
    algorithm: MultiStepADMM, pair: Pair[Dataset], words: str
) -> MultiStepInstance:
    algorithm.check(pair.dataset)
    algorithm.check(pair.neighbour)
    return MultiStepInstance(algorithm, pair, words)


def _format_dataset_size(data: Dataset, split: str) -> str:
    size = f"{len(data.labels)} records, {data.dimension} features, {data.nodes} nodes"
    return f"{data.name}: {size} ({split})"


def _worst_pair(nodes: int) -> Pair[Dataset]:
    """Return two opposite unit records at the first of so many nodes."""
    # Two records a node: the one that differs and one that does not.
    features = np.tile([1.0, 0.0], (2 * nodes, 1))
    data = Dataset(features, np.ones(2 * nodes), node_sizes=(2,) * nodes, name=WORST_CASE)
    return Pair(data, data.with_record(0, data.features[0], -1.0), REPLACE_RECORD)


def _real_pairs(
    settings: Settings, nodes: int, split: str, records: int | None
) -> list[Pair[Dataset]]:
    """Return the pair of real records furthest apart, and as many others as were asked for."""
    data = load(settings.data, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    rng = default_rng(stream(settings.seed, "pair"))
    if records is not None:
        data = subset(data, records, rng)
    chosen = [most_distant_records(data, rng)]
    chosen += _other_replacements(data, (settings.candidate_pairs or 1) - 1, chosen[0][0], rng)

    def dealt(one: Dataset) -> Dataset:
        """Deal records to nodes; the same seed gives both datasets of a pair the same order."""
        deal = split_evenly if split == "even" else split_unevenly
        return deal(one, nodes, default_rng(stream(settings.seed, "split")))

    pairs = (replacement_pair(data, *rows) for rows in chosen)
    return [Pair(dealt(one), dealt(other), REPLACE_RECORD) for one, other in pairs]


def _other_replacements(
    data: Dataset, count: int, taken: int, rng: Generator
) -> list[tuple[int, int]]:
    """Return records drawn to be replaced, each with the record furthest from it."""
    # The record that the first pair replaces is not drawn again.
    others = np.delete(np.arange(len(data.labels)), taken)
    if count > len(others):
        raise InvalidArgument("pairs", count + 1, f"at most the {len(others) + 1} records")
    records = data.signed_records
    drawn = rng.permutation(others)[:count]
    return [
        (int(row), int(np.argmax(np.linalg.norm(records - records[row], axis=1)))) for row in drawn
    ]
