"""The audit of penalty perturbation as a whole: all broadcasts, at any delta, on real records.

Theorem 4.1 bounds the loss of every output; hence (beta, delta)-DP for every delta. What is proved
at a delta above 0 is far below beta, and what is measured on a pair may be below that. With the
worst case, the record is replaced by its opposite: under the logistic loss the noise behind every
output then moves by the same vector, and the pair's exact guarantee is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import default_rng

from dpaudit.accounting.events import Event, ExponentialNormRelease, Sequence
from dpaudit.accounting.proved import TabulatedDP, proved_guarantee
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.parameters import BroadcastsParameters
from dpaudit.algorithms.consensus.guarantees import NodeUpdate, node_updates, run_event
from dpaudit.algorithms.problems.graphs import graph_called
from dpaudit.algorithms.problems.schedules import Geometric
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
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.guarantees.kinds import Guarantee, PureDP
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
class Run:
    """The algorithm, the pair it runs on, and where the records come from."""

    algorithm: ConsensusADMM
    pair: Pair[Dataset]
    data: str

    @property
    def node(self) -> int:
        """The node that holds the differing record."""
        return self.pair.dataset.node_of(self.pair.index)

    @property
    def updates(self) -> tuple[tuple[NodeUpdate, ...], ...]:
        """Every node's updates."""
        return node_updates(self.algorithm, self.pair.dataset.node_sizes)

    def proof(self, delta: float) -> Proof:
        """Return what is proved for the worst node at delta, tabulated if it is above 0."""
        if delta == 0:
            bounds = [sum(update.pure_bound() for update in node) for node in self.updates]
            return Proof(guarantee=PureDP(max(bounds)), source=_PROOF)
        d = self.pair.dataset.dimension
        events = [run_event("penalty", node, d) for node in set(self.updates)]
        worst = max(events, key=lambda event: proved_guarantee(event).epsilon(delta))
        return Proof(guarantee=_tabulated(worst), source=_PROOF)

    def pair_proof(self, delta: float) -> Proof | None:
        """Return what is proved for a record and its opposite; None for another pair."""
        old, new = (one.signed_records[self.pair.index] for one in _sides(self.pair))
        if not np.array_equal(old, -new):
            return None
        node, size = self.updates[self.node], float(np.linalg.norm(old))
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
def _tabulated(event: Event) -> TabulatedDP:
    """Return what is proved of an event; a table takes seconds, and audits ask for it again."""
    return TabulatedDP(proved_guarantee(event))


def broadcasts_case(settings: Settings, parameters: BroadcastsParameters) -> PrivacyCase:
    """Return the audit of all broadcasts of penalty perturbation.

    Examples
    --------
    >>> case = broadcasts_case(Settings(), BroadcastsParameters())
    >>> round(case.claimed.at_epsilon, 4), case.at_delta
    (15.0875, 1e-05)
    """
    run = run_of(settings, parameters)
    beta = float(run.algorithm.published_bounds(run.pair.dataset)[-1])
    claimed: Guarantee = PureDP(parameters.factor * beta)
    return PrivacyCase(
        mechanism=run.algorithm.penalty_perturbation(),
        pair=run.pair,
        claimed=claimed,
        at_delta=settings.delta,
        view="all broadcasts f_i(t), Definition 4.1; f(0) is 0",
        data=run.data,
        default_trials=2_000 if settings.data == WORST_CASE else 500,
        parameters=parameters.model_dump(mode="json") | _public(run),
        assumptions=_outcomes(run, parameters),
        proved=run.proof(settings.delta),
        pair_ceiling=run.pair_proof(settings.delta),
        notes=(
            "The claimed epsilon is what eq. (26), summed over the iterations, implies at this "
            "delta. The exact loss includes the log-ratio of determinants of eq. (60).",
        ),
    )


def run_of(settings: Settings, parameters: BroadcastsParameters) -> Run:
    """Return the run on two opposite records, or on real ones."""
    worst = settings.data == WORST_CASE
    pair = _worst_pair(settings, parameters) if worst else _real_pair(settings, parameters)
    p = parameters
    algorithm = ConsensusADMM(
        graph=graph_called(p.graph, p.nodes, default_rng(stream(settings.seed, "graph"))),
        iterations=p.iterations,
        penalty=Geometric(p.penalty, p.growth),
        dual_step=p.dual_step,
        noise_rate=Geometric(p.noise_rate, p.noise_growth),
        loss_weight=p.loss_weight,
        regulariser_weight=p.regulariser_weight,
    )
    for one in _sides(pair):
        algorithm.check(one)
    words = (
        "a unit record and its opposite, zeros elsewhere"
        if worst
        else f"{pair.dataset.name}: {len(pair.dataset.labels)} records drawn, "
        f"{pair.dataset.dimension} features, {p.nodes} nodes"
    )
    return Run(algorithm=algorithm, pair=pair, data=words)


def _worst_pair(settings: Settings, parameters: BroadcastsParameters) -> Pair[Dataset]:
    given = {"data_path": settings.data_path, "data_option": settings.data_options or None}
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "nothing: the worst case has records of its own")
    sizes = (parameters.records,) * parameters.nodes
    features = np.zeros((sum(sizes), parameters.dimension))
    features[0, 0] = 1.0
    data = Dataset(features, np.ones(len(features)), node_sizes=sizes, name=WORST_CASE)
    return Pair(data, data.with_record(0, features[0], -1.0), REPLACE_RECORD)


def _real_pair(settings: Settings, parameters: BroadcastsParameters) -> Pair[Dataset]:
    data = load(settings.data, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    rng = default_rng(stream(settings.seed, "pair"))
    # One more than the nodes hold: it is the replacement.
    drawn = subset(data, parameters.nodes * parameters.records + 1, rng)
    one, other = (
        split_evenly(each, parameters.nodes, default_rng(stream(settings.seed, "split")))
        for each in replacement_pair(drawn, *most_distant_records(drawn, rng))
    )
    return Pair(one, other, REPLACE_RECORD)


def _sides(pair: Pair[Dataset]) -> tuple[Dataset, Dataset]:
    return pair.dataset, pair.neighbour


def _public(run: Run) -> dict[str, object]:
    return {
        "loss": run.algorithm.loss.name,
        "dimension": run.pair.dataset.dimension,
        "node_sizes": list(run.pair.dataset.node_sizes),
        "edges": [list(edge) for edge in run.algorithm.graph.edges],
    }


def _outcomes(run: Run, parameters: BroadcastsParameters) -> tuple[AssumptionOutcome, ...]:
    p, algorithm = parameters, run.algorithm
    norm = max(float(np.linalg.norm(one.features, axis=1).max()) for one in _sides(run.pair))
    least = p.regulariser_weight / p.nodes + 2 * p.dual_step * int(algorithm.graph.degrees.min())
    limit = p.records / p.loss_weight * least
    curvature = 2 * algorithm.loss.largest_curvature
    lowest = p.penalty * min(1.0, p.growth ** (p.iterations - 1))
    return (
        AssumptionOutcome(
            name="unit records",
            holds=norm <= 1 + 1e-9 and math.isfinite(norm),
            evidence=f"largest norm {norm:.6g}",
        ),
        AssumptionOutcome(
            name="loss", holds=True, evidence="logistic: |l'| < 1 and 0 < l'' <= 1/4"
        ),
        AssumptionOutcome(
            name="weight at most records",
            holds=p.loss_weight <= p.records,
            evidence=f"{p.loss_weight:g}, B = {p.records}",
        ),
        AssumptionOutcome(
            name="penalties at least theta",
            holds=lowest >= p.dual_step,
            evidence=f"least eta = {lowest:g}, theta = {p.dual_step:g}",
        ),
        AssumptionOutcome(
            name="small curvature",
            holds=curvature < limit,
            evidence=f"{curvature:.4g}, below {limit:.4g} asked",
        ),
    )
