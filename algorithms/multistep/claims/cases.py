"""The instances on which the claims of Huang & Gong are audited: worst case and deployment.

Assumptions that many claims share, checked on an instance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import default_rng

import dpaudit._validate as check
from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, published_noise_multiplier
from dpaudit.algorithms.multistep.claims.certificates import theorem6_certificate
from dpaudit.algorithms.multistep.claims.lemma5_search import Search
from dpaudit.algorithms.multistep.claims.limits import constant, valid_up_to
from dpaudit.algorithms.multistep.claims.pairs import real_pairs, worst_pair
from dpaudit.algorithms.multistep.claims.parameters import Parameters
from dpaudit.algorithms.problems.graphs import Graph, from_edges, graph_called
from dpaudit.algorithms.problems.losses import MarginLoss, loss_called
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.neighbours import REPLACE_RECORD, Pair


def loss_outcomes(loss: MarginLoss) -> tuple[AssumptionOutcome, AssumptionOutcome]:
    """Return whether the loss is convex and Lipschitz, seen on a grid of margins.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.losses import HINGE
    >>> [outcome.holds for outcome in loss_outcomes(HINGE)]
    [True, True]
    """
    margins = np.linspace(-50.0, 50.0, 200_001)
    slopes = loss.slope(margins)
    steepest = float(np.abs(slopes).max())
    grid = f"slope of the {loss.name} loss on {len(margins)} margins from -50 to 50"
    return (
        AssumptionOutcome(
            name="convex loss",
            holds=bool(np.all(np.diff(slopes) >= -1e-15)),
            evidence=f"{grid} never falls",
        ),
        AssumptionOutcome(
            name="Lipschitz loss",
            holds=steepest <= loss.lipschitz,
            evidence=f"{grid} is at most {steepest:.6g}; c_1 = {loss.lipschitz:g}",
        ),
    )


_COMPOSITION = "exact composition of Gaussian releases (Dong, Roth & Su 2022) with Lemma 5"


@dataclass(frozen=True)
class Instance:
    """The algorithm, the pair it runs on, and where the records come from."""

    algorithm: MultiStepADMM
    pair: Pair[Dataset]
    data: str

    @property
    def node(self) -> int:
        """The node that holds the differing record."""
        return self.pair.dataset.node_of(self.pair.index)


def theorem6(settings: Settings, parameters: Parameters) -> PrivacyCase:
    """Return the audit of Theorem 6 on the settings' data."""
    _check_privacy(settings)
    instances = make_instances(settings, parameters)
    cases = tuple(_theorem6_case(settings, parameters, one) for one in instances)
    return replace(cases[0], candidates=cases) if len(cases) > 1 else cases[0]


def _theorem6_case(settings: Settings, parameters: Parameters, instance: Instance) -> PrivacyCase:
    c0 = constant(settings.delta, parameters)
    algorithm, pair = instance.algorithm, instance.pair
    inner = parameters.view == "inner"
    mechanism = algorithm.inner() if inner else algorithm.broadcast()
    seen = "every noisy inner model" if inner else "only the broadcast averages"
    return PrivacyCase(
        mechanism=mechanism,
        pair=pair,
        claimed=ApproximateDP(parameters.factor * settings.epsilon, settings.delta),
        at_delta=settings.delta,
        view=f"{parameters.view}: {seen} of every node",
        data=instance.data,
        default_trials=10_000 if settings.data == WORST_CASE else 2_000,
        parameters=_public(instance, parameters),
        assumptions=(*_outcomes(instance), _published_noise(algorithm, settings, c0)),
        proved=_proof(algorithm),
        pair_ceiling=_pair_proof(algorithm, pair),
        notes=(*_notes(algorithm), *valid_up_to(settings.delta, c0, parameters.factor)),
        certify=partial(theorem6_certificate, settings, parameters, algorithm, pair),
    )


def lemma5(settings: Settings, parameters: Parameters) -> SearchCase:
    """Return the audit of Lemma 5 on the settings' data."""
    _check_privacy(settings)
    instance = make_instance(settings, parameters)
    algorithm, data = instance.algorithm, instance.pair.dataset
    bound = float(algorithm.sensitivity(data, algorithm.eta(data, 1, 1))[instance.node])
    worst = settings.data == WORST_CASE
    return SearchCase(
        bound=parameters.factor * bound,
        attain=Search(
            algorithm,
            instance.pair,
            whole_class=worst,
            factor=parameters.factor,
            seed=settings.seed,
        ),
        view="one inner update (13a) of one node, given all earlier outputs",
        data=instance.data,
        relation=REPLACE_RECORD.name,
        pair=_describe(instance),
        default_trials=10_000,
        parameters=_public(instance, parameters),
        assumptions=_outcomes(instance),
        proved=(bound, "triangle inequality on two gradients of norm at most c_1 (eq. 19)"),
        notes=(
            "The bound shown is that of the first update; each state's ratio is to its own bound.",
        ),
    )


def _check_privacy(settings: Settings) -> None:
    check.positive("epsilon", settings.epsilon)
    check.probability("delta", settings.delta)


def make_instance(settings: Settings, parameters: Parameters) -> Instance:
    """Return the worst case of the claim's class, or the deployment on real records."""
    return make_instances(replace(settings, candidate_pairs=None), parameters)[0]


def make_instances(settings: Settings, parameters: Parameters) -> list[Instance]:
    """Return the worst case of the class, or a deployment for each pair that is asked for.

    Of several pairs the first replaces the record that is furthest from another by that one, and
    each of the others one record by the one that is furthest from it.
    """
    if settings.data == WORST_CASE:
        _refuse_unused(settings, parameters)
        return [_instance(settings, parameters, worst_pair(parameters.nodes))]
    return [_instance(settings, parameters, p) for p in real_pairs(settings, parameters)]


def _instance(settings: Settings, parameters: Parameters, pair: Pair[Dataset]) -> Instance:
    worst = settings.data == WORST_CASE
    loss = loss_called(parameters.loss or ("linear" if worst else "logistic"))
    steps = parameters.iterations * parameters.inner_steps
    algorithm = MultiStepADMM(
        graph=_graph(settings, parameters),
        iterations=parameters.iterations,
        inner_steps=parameters.inner_steps,
        noise_multiplier=published_noise_multiplier(
            settings.epsilon, settings.delta, steps, constant(settings.delta, parameters)
        ),
        penalty=parameters.penalty,
        loss=loss,
        regulariser_weight=parameters.regulariser_weight,
        step_size=_step_size(parameters),
        batch_size=parameters.batch_size,
    )
    algorithm.check(pair.dataset)
    algorithm.check(pair.neighbour)
    words = (
        "two opposite unit records; with the linear loss every step moves by Lemma 5's bound"
        if worst
        else f"{pair.dataset.name}: {len(pair.dataset.labels)} records, "
        f"{pair.dataset.dimension} features, {parameters.nodes} nodes ({parameters.split})"
    )
    return Instance(algorithm, pair, words)


def _refuse_unused(settings: Settings, parameters: Parameters) -> None:
    given = {
        "pairs": settings.candidate_pairs,
        "data_path": settings.data_path,
        "data_option": settings.data_options or None,
        "records": parameters.records,
    }
    for name, value in given.items():
        if value is not None:
            raise InvalidArgument(name, value, "nothing: the worst case has records of its own")


def _graph(settings: Settings, parameters: Parameters) -> Graph:
    if parameters.edges is not None:
        return from_edges(parameters.nodes, parameters.edges)
    rng = default_rng(stream(settings.seed, "graph"))
    return graph_called(parameters.graph, parameters.nodes, rng)


def _step_size(parameters: Parameters) -> ConstantStepSize | DecayingStepSize:
    if parameters.step_size is not None:
        return ConstantStepSize(parameters.step_size)
    return DecayingStepSize(diameter=parameters.diameter)


def _proof(algorithm: MultiStepADMM) -> Proof | None:
    try:
        return Proof(guarantee=gaussian_guarantee(algorithm.event()), source=_COMPOSITION)
    except UnsupportedEvent:
        return None


def _pair_proof(algorithm: MultiStepADMM, pair: Pair[Dataset]) -> Proof | None:
    if algorithm.batch_size is not None:
        return None
    mu = float(np.sqrt(algorithm.squared_shift_bounds(pair)[1]))
    return Proof(guarantee=GaussianDP(mu), source="largest gradient difference of this pair")


def _notes(algorithm: MultiStepADMM) -> tuple[str, ...]:
    if algorithm.batch_size is None:
        return ()
    return (
        "The stochastic variant keeps the noise of full gradients, but a record drawn K times into "
        "a batch of size s moves the update K m_i / s times as far as Lemma 5 allows: nothing is "
        "proved for it.",
    )


def _describe(instance: Instance) -> str:
    pair = instance.pair
    old, new = (d.signed_records[pair.index] for d in (pair.dataset, pair.neighbour))
    return (
        f"record {pair.index} of node {instance.node} is replaced; its signed record moves by "
        f"{float(np.linalg.norm(old - new)):.4g}"
    )


def _public(instance: Instance, parameters: Parameters) -> dict[str, Any]:
    algorithm = instance.algorithm
    computed = {
        "loss": algorithm.loss.name,
        "noise_multiplier": algorithm.noise_multiplier,
        "node_sizes": list(instance.pair.dataset.node_sizes),
        "edges": [list(edge) for edge in algorithm.graph.edges],
    }
    return parameters.model_dump(mode="json") | computed


def _outcomes(instance: Instance) -> tuple[AssumptionOutcome, ...]:
    graph, pair = instance.algorithm.graph, instance.pair
    norms = [
        float(np.linalg.norm(d.features, axis=1).max()) for d in (pair.dataset, pair.neighbour)
    ]
    return (
        *loss_outcomes(instance.algorithm.loss),
        AssumptionOutcome(
            name="bounded records",
            holds=max(norms) <= 1 + 1e-9,
            evidence=f"largest norm {max(norms):.6g}; all labels are -1 or +1",
        ),
        AssumptionOutcome(name="one tuple differs", holds=True, evidence=_describe(instance)),
        AssumptionOutcome(
            name="connected graph",
            holds=True,
            evidence=f"{graph.nodes} nodes and {len(graph.edges)} edges in one component",
        ),
    )


def _published_noise(algorithm: MultiStepADMM, settings: Settings, c0: float) -> AssumptionOutcome:
    formula = c0 * np.sqrt(2 * algorithm.steps * np.log(1.25 / settings.delta))
    return AssumptionOutcome(
        name="published noise",
        holds=bool(np.isclose(algorithm.noise_multiplier * settings.epsilon, formula, rtol=1e-12)),
        evidence=f"sigma = {algorithm.noise_multiplier:.6g} with c_0 = {c0:g}",
    )
