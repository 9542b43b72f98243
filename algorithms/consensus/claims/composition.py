"""Penalty perturbation as a whole: all broadcasts, at any delta, on real records.

Theorem 4.1 bounds the loss of every output; hence (beta, delta)-DP for every delta. What is proved
at a delta above 0 is far below beta, and what is measured on a pair may be below that. With the
worst case, the record is replaced by its opposite: under the logistic loss the noise behind every
output then moves by the same vector, and the pair's exact guarantee is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import default_rng

from dpaudit.accounting.events import Event, ExponentialNormRelease, Sequence
from dpaudit.accounting.strongest_guarantee import TabulatedDP, proved_guarantee
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.section4 import Public, algorithm_of
from dpaudit.algorithms.consensus.guarantees import NodeUpdate, node_updates, run_event
from dpaudit.algorithms.problems.graphs import graph_called
from dpaudit.datasets import (
    Dataset,
    load,
    most_distant_records,
    replacement_pair,
    split_evenly,
    subset,
)
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import Proof
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair

_PROOF = (
    "composition of every update's shift and determinant, the worst node's: "
    "dpaudit.algorithms.consensus.guarantees, as by dpaudit account zhang2018-pp"
)
_PAIR_PROOF = (
    "opposite records move the noise behind every output by the same vector and leave the "
    "determinant alone; exact composition"
)


@dataclass(frozen=True, kw_only=True)
class CompositionInstance:
    """The algorithm, the pair it runs on, and where the records come from."""

    algorithm: ConsensusADMM
    pair: Pair[Dataset]
    data: str

    @property
    def longest(self) -> float:
        """The largest norm of a record."""
        sides = (self.pair.dataset, self.pair.neighbour)
        return max(float(np.linalg.norm(one.features, axis=1).max()) for one in sides)

    @property
    def public(self) -> dict[str, object]:
        """Public numbers beside the parameters of the audit."""
        return {
            "loss": self.algorithm.loss.name,
            "dimension": self.pair.dataset.dimension,
            "node_sizes": list(self.pair.dataset.node_sizes),
            "edges": [list(edge) for edge in self.algorithm.graph.edges],
        }

    @property
    def updates(self) -> tuple[tuple[NodeUpdate, ...], ...]:
        """Every node's updates."""
        return node_updates(self.algorithm, self.pair.dataset.node_sizes)

    def proof(self, delta: float) -> Proof:
        """Return the proof for the worst node at delta, tabulated if delta is above 0."""
        # At delta = 0 the bounds of the updates add up, without a table.
        if delta == 0:
            bounds = [sum(update.pure_bound() for update in node) for node in self.updates]
            return Proof(guarantee=PureDP(max(bounds)), source=_PROOF)
        d = self.pair.dataset.dimension
        # Nodes of equal parameters have equal updates; each kind is composed once.
        events = [run_event("penalty", node, d) for node in set(self.updates)]
        worst = max(events, key=lambda event: proved_guarantee(event).epsilon(delta))
        return Proof(guarantee=_tabulate_event_guarantee(worst), source=_PROOF)

    def pair_proof(self, delta: float) -> Proof | None:
        """Return the proof for a record and its opposite; None for another pair."""
        old, new = (
            one.signed_records[self.pair.index] for one in (self.pair.dataset, self.pair.neighbour)
        )
        if not np.array_equal(old, -new):
            return None
        node = self.updates[self.pair.dataset.node_of(self.pair.index)]
        size = float(np.linalg.norm(old))
        # The gradients differ by l'(m) u - l'(-m)(-u) = (l'(m) + l'(-m)) u, which is -u under the
        # logistic loss: of norm ||u||, where `sensitivity` allows for 2.
        sizes = [size * update.sensitivity / 2 for update in node]
        if delta == 0:
            bound = sum(u.noise_rate * s for u, s in zip(node, sizes, strict=True))
            return Proof(guarantee=PureDP(bound), source=_PAIR_PROOF)
        d = self.pair.dataset.dimension
        event = Sequence(
            tuple(
                ExponentialNormRelease(sensitivity=s, noise_rate=u.noise_rate, dimension=d)
                for u, s in zip(node, sizes, strict=True)
            )
        )
        return Proof(guarantee=proved_guarantee(event), source=_PAIR_PROOF)


@lru_cache(maxsize=8)
def _tabulate_event_guarantee(event: Event) -> TabulatedDP:
    """Return the proved guarantee of an event; its table takes seconds, and audits ask again."""
    return TabulatedDP(proved_guarantee(event))


def run_of(
    public: Public,
    settings: Settings,
    graph: str,
    dimension: int,
) -> CompositionInstance:
    """Return the run on two opposite records of ``dimension`` features, or on real records."""
    worst, nodes = settings.data == WORST_CASE, public.nodes
    sizes = (public.records,) * nodes
    pair = _worst_pair(settings, sizes, dimension) if worst else _real_pair(settings, sizes)
    shape = graph_called(graph, nodes, default_rng(stream(settings.seed, "graph")))
    algorithm = algorithm_of(public, shape)
    for one in (pair.dataset, pair.neighbour):
        algorithm.check(one)
    words = (
        "a unit record and its opposite, zeros elsewhere"
        if worst
        else f"{pair.dataset.name}: {len(pair.dataset.labels)} records drawn, "
        f"{pair.dataset.dimension} features, {nodes} nodes"
    )
    return CompositionInstance(algorithm=algorithm, pair=pair, data=words)


def _worst_pair(settings: Settings, sizes: tuple[int, ...], dimension: int) -> Pair[Dataset]:
    given = {"data_path": settings.data_path, "data_option": settings.data_options or None}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "nothing: the worst case has records of its own")
    features = np.zeros((sum(sizes), dimension))
    features[0, 0] = 1.0
    data = Dataset(features, np.ones(len(features)), node_sizes=sizes, name=WORST_CASE)
    return Pair(data, data.with_record(0, features[0], -1.0), REPLACE_RECORD)


def _real_pair(settings: Settings, sizes: tuple[int, ...]) -> Pair[Dataset]:
    data = load(settings.data, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    rng = default_rng(stream(settings.seed, "pair"))
    # One more than the nodes hold: it is the replacement.
    # The same seed for both sides deals their rows out alike, so that one record differs and no
    # other row moves.
    drawn = subset(data, sum(sizes) + 1, rng)
    one, other = (
        split_evenly(each, len(sizes), default_rng(stream(settings.seed, "split")))
        for each in replacement_pair(drawn, *most_distant_records(drawn, rng))
    )
    return Pair(one, other, REPLACE_RECORD)
