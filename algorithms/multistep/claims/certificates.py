"""Certificates against Lemma 5 and Theorem 6: one node's records before and after, and a state.

Everything else of the update (13a) is a function of earlier outputs and of records that both
datasets share, and cancels in the difference of the two updates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.limits import constant
from dpaudit.algorithms.multistep.claims.parameters import Parameters
from dpaudit.algorithms.problems.linearised import mean_shift
from dpaudit.algorithms.problems.records import Differing
from dpaudit.datasets.dataset import Dataset
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.refutation import Certificate, Condition

ROUNDING = 1e-12  # of the norms of unit records


def lemma5_certificate(
    algorithm: MultiStepADMM,
    pair: Pair[Dataset],
    model: Array,
    eta: float,
    factor: float,
    search: dict[str, int],
) -> Certificate:
    """Return how far the replaced record moves one update from ``model``, shape ``(d,)``."""
    record = Differing.of(pair)
    models = np.zeros((1, pair.dataset.nodes, pair.dataset.dimension))
    models[0, record.node] = model
    degree = float(algorithm.graph.degrees[record.node])
    curvature = 2 * algorithm.penalty * degree + eta
    moved = mean_shift(algorithm.loss, models, record, curvature)[0, record.node]
    size = pair.dataset.node_sizes[record.node]
    bound = factor * 2 * algorithm.loss.lipschitz / (curvature * size)
    movement = float(np.linalg.norm(moved))
    return Certificate(
        claim="huang2020-lemma5",
        source="Huang & Gong, multi-step DP-ADMM, Lemma 5, eq. (16)",
        relation=REPLACE_RECORD.name,
        parameters=_node(algorithm, pair) | {"eta": eta, "factor": factor},
        instance=_records(record) | {"model": model, "edges": _edges(algorithm)},
        quantities={"bound": bound, "movement": movement, "ratio": movement / bound},
        conditions=_conditions(record),
        search=search,
    )


def theorem6_certificate(
    settings: Settings,
    parameters: Parameters,
    algorithm: MultiStepADMM,
    pair: Pair[Dataset],
    lower: float,
) -> Certificate | None:
    """Return the exact Gaussian law of a pair, if it alone refutes the claim.

    Only where every step is seen, and the shift does not depend on the state: full gradients of
    the linear loss. ``lower``, what drawing has certified, is not used.
    """
    slopes = algorithm.loss.slope_range
    hidden = parameters.view != "inner" or algorithm.batch_size is not None
    if hidden or algorithm.loss.name != "linear" or slopes[0] != slopes[1]:
        return None
    mu = float(np.sqrt(algorithm.squared_shift_bounds(pair)[1]))
    claimed = parameters.factor * settings.epsilon
    epsilon = GaussianDP(mu).epsilon(settings.delta) * (1 - 1e-6)
    if not epsilon > claimed:
        return None
    exact = GaussianDP(mu).delta(epsilon)
    return Certificate(
        claim="huang2020-theorem6",
        source="Huang & Gong, multi-step DP-ADMM, Theorem 6, eq. (20)",
        relation=REPLACE_RECORD.name,
        parameters=_public(settings, parameters, algorithm, pair),
        instance=_records(Differing.of(pair)) | _steps(algorithm, pair),
        quantities={
            "bound": claimed,
            "sigma": algorithm.noise_multiplier,
            "mu": mu,
            "epsilon": epsilon,
            "delta": exact,
            "ratio": epsilon / claimed,
        },
        conditions=(
            *_conditions(Differing.of(pair)),
            Condition(name="claimed delta exceeded", value=settings.delta, limit=exact),
        ),
        search={"seed": settings.seed},
        kind="approximate-dp",
    )


def _public(
    settings: Settings, parameters: Parameters, algorithm: MultiStepADMM, pair: Pair[Dataset]
) -> dict[str, Any]:
    return _node(algorithm, pair) | {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "c0": constant(settings.delta, parameters),
        "factor": parameters.factor,
        "iterations": algorithm.iterations,
        "inner_steps": algorithm.inner_steps,
    }


def _node(algorithm: MultiStepADMM, pair: Pair[Dataset]) -> dict[str, Any]:
    node = Differing.of(pair).node
    return {
        "loss": algorithm.loss.name,
        "penalty": algorithm.penalty,
        "nodes": algorithm.graph.nodes,
        "edges": len(algorithm.graph.edges),
        "node": node,
        "node_size": pair.dataset.node_sizes[node],
        "dimension": pair.dataset.dimension,
    }


def _records(record: Differing) -> dict[str, Array]:
    """Return the signed records ``b a`` before and after."""
    return {"record": record.old, "replacement": record.new}


def _steps(algorithm: MultiStepADMM, pair: Pair[Dataset]) -> dict[str, Any]:
    """Return eta, shift norm and noise scale of every step at the node."""
    record, data = Differing.of(pair), pair.dataset
    state = algorithm.start(data, 1)
    eta, shift, scale = [], [], []
    for _ in range(algorithm.steps):
        eta.append(float(algorithm.eta(data, state.iteration, state.inner_step)[record.node]))
        shift.append(float(np.linalg.norm(algorithm.shift(state, pair)[0, record.node])))
        step = algorithm.step(state, data)
        scale.append(float(step.scale[record.node, 0]))
        state = algorithm.advance(state, step.mean)
    return {"eta": eta, "shift": shift, "scale": scale, "edges": _edges(algorithm)}


def _edges(algorithm: MultiStepADMM) -> list[list[int]]:
    return [list(edge) for edge in algorithm.graph.edges]


def _conditions(record: Differing) -> tuple[Condition, ...]:
    longest = max(float(np.linalg.norm(one)) for one in (record.old, record.new))
    return (
        Condition(name="bounded records", value=longest, limit=1 + ROUNDING),
        Condition(name="connected graph", value=1.0, limit=1.0),
    )
