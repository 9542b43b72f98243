r"""The server's view of a client's raw tuples, against Theorem 2 on joined tables.

| paper   | name            | meaning                                     | shape  |
|---------|-----------------|---------------------------------------------|--------|
| T       | ``table``       | a client's tuples                           | (n, d) |
| T'      | ``neighbour``   | the same with other features in one tuple   | (n, d) |
| theta   | ``model``       | the client's model after a noisy step       | (d,)   |
| h       |                 | ``T theta``, which the server receives      | (n,)   |

The server does not see theta, and no noise is put on h. All that theorem 2 randomises is theta, so
on T' every h lies in the column space of T'. On T, theta is Gaussian with a density that is above 0
everywhere, given its batch and everything before its last step. Where one vector ``T theta_0`` lies
outside col(T'), those theta with ``T theta`` inside it form a proper subspace, of probability 0.
Hence the set of all h outside col(T') has probability 1 on T and 0 on T', in the first round that
follows a step already: delta is 1 at every epsilon, whatever sigma, c_1 and c_2 are. One needs
n > d: otherwise, or where both column spaces are the same, this argument gives nothing. Other
clients, the labels' noise and what they do to theta's mean and batch do not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.noise import (
    BOUNDED,
    BOUNDED_NEIGHBOUR,
    ONE_TUPLE,
    algorithm_of,
    certified_parameters,
    check_settings,
    noise_conditions,
    noise_outcomes,
    published_multiplier,
)
from dpaudit.algorithms.tables.claims.theorem2 import CLAIM, FeatureParameters
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_TUPLE, Pair
from dpaudit.refutation import (
    Attained,
    Condition,
    Evidence,
    Inequality,
    Space,
    maximise,
    minimal,
    searched,
)
from dpaudit.refutation.search import Batch

_INSIDE = 1 - 1e-12  # keeps norms within their limit whatever rounding does
LEAST_DISTANCE = 1e-6  # share of h outside col(T') that rounding cannot explain
_ENFORCED = (BOUNDED, BOUNDED_NEIGHBOUR, ONE_TUPLE)


def server_view(settings: Settings, parameters: FeatureParameters) -> SearchCase:
    """Return the audit of the server's view: a search for tables that one prediction separates.

    Raises
    ------
    InvalidArgument
        Data are asked for, the table has no more tuples than columns, or the server sees no noisy
        model's prediction.

    Examples
    --------
    >>> server_view(Settings(), FeatureParameters()).bound
    1.0
    """
    check_settings(settings)
    if parameters.tuples <= parameters.features:
        expected = f"more than the {parameters.features} features: else no column space is left out"
        raise InvalidArgument("tuples", parameters.tuples, expected)
    check.integer("iterations", parameters.iterations, least=2)
    bound = parameters.factor * settings.epsilon

    def attain(trials: int, rng: Generator) -> Attained:
        attained = searched(
            revealed(settings, parameters),
            partial(most_distant, parameters),
            trials,
            rng,
            seed=settings.seed,
            smallest=lambda found: _smallest(settings, parameters),
        )
        epsilon = 0.0 if attained.certificate is None else math.inf
        return replace(attained, value=epsilon, bound=bound)

    return SearchCase(
        bound=bound,
        attain=attain,
        view="server: the predictions h_ij of every tuple, one round",
        data=f"tables of {parameters.tuples} tuples and {parameters.features} columns, found by "
        "the search",
        relation=CLAIM.relation,
        pair="found by the search: the features of the first tuple are replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json")
        | {"noise_multiplier": published_multiplier(settings, parameters)},
        at_delta=settings.delta,
        effort="evaluated pairs",
        assumptions=_outcomes(settings, parameters),
        notes=(
            "The appendix names no adversary. Its clients send the predictions h_ij to the server "
            "in every round, and its updates (32), (33) and (36) start from them.",
            "The verdict is the same for every c_1, c_2, sigma and epsilon, and with the labels' "
            "noise: no bound below delta = 1 can be proved for this view.",
        ),
    )


def _outcomes(settings: Settings, parameters: FeatureParameters) -> tuple[AssumptionOutcome, ...]:
    enforced = tuple(
        AssumptionOutcome(name=name, holds=True, evidence="checked on the instance found")
        for name in _ENFORCED
    )
    return (*enforced, *noise_outcomes(settings, parameters))


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Predicted:
    """A table, its neighbour and a model; shapes in the module docstring."""

    table: Array
    neighbour: Array
    model: Array


def outside(vectors: Array, spanning: Array) -> Array:
    """Return which share of each vector lies outside a column space: a sine.

    Parameters
    ----------
    vectors, spanning
        Shapes ``(B, n)`` and ``(B, n, d)``.

    Examples
    --------
    >>> outside(np.array([[3.0, 4.0]]), np.array([[[1.0], [0.0]]]))
    array([0.8])
    """
    left, values, _ = np.linalg.svd(spanning, full_matrices=False)
    kept = values > 1e-12 * np.maximum(values[:, :1], 1e-300)
    basis = left * kept[:, None, :]
    inside = np.einsum("bnk,bk->bn", basis, np.einsum("bnk,bn->bk", basis, vectors))
    length = np.linalg.norm(vectors, axis=1)
    return np.asarray(
        np.linalg.norm(vectors - inside, axis=1) / np.where(length > 0, length, np.inf)
    )


def inequality(settings: Settings, parameters: FeatureParameters) -> Inequality[Predicted]:
    """Return what a finite epsilon needs: predictions inside the neighbour's column space."""
    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda one: (_distance(one), LEAST_DISTANCE),
        conditions=partial(conditions, settings, parameters),
        scale=lambda one: 1.0,
        words=_words,
    )


def revealed(settings: Settings, parameters: FeatureParameters) -> Inequality[Predicted]:
    """Return Theorem 2 of the same: a delta of 1, at any epsilon, is more than the claimed one."""
    inside = inequality(settings, parameters)
    return replace(
        inside,
        sides=lambda one: (float(inside.refuted_by(one)), settings.delta),
        scale=None,
        because=partial(_because, settings, parameters),
        evidence=partial(_evidence, settings, parameters),
    )


def _distance(one: Predicted) -> float:
    return float(outside((one.table @ one.model)[None], one.neighbour[None])[0])


def conditions(
    settings: Settings, parameters: FeatureParameters, one: Predicted
) -> tuple[Condition, ...]:
    """Return the theorem's assumptions as numbers of an instance."""
    norms = [float(np.linalg.norm(t, axis=1).max()) for t in (one.table, one.neighbour)]
    differing = float((one.table != one.neighbour).any(axis=1).sum())
    return (
        Condition(name=BOUNDED, value=norms[0], limit=parameters.tuple_norm),
        Condition(name=BOUNDED_NEIGHBOUR, value=norms[1], limit=parameters.tuple_norm),
        Condition(name=ONE_TUPLE, value=differing, limit=1.0),
        *noise_conditions(settings, parameters),
    )


def _evidence(settings: Settings, parameters: FeatureParameters, found: Predicted) -> Evidence:
    return Evidence(
        kind="support",
        relation=CLAIM.relation,
        parameters=certified_parameters(settings, parameters)
        | {"tuples": parameters.tuples, "features": parameters.features},
        instance=vars(found),
        quantities={
            "bound": parameters.factor * settings.epsilon,
            "distance": _distance(found),
            "attained delta": 1.0,
        },
    )


def seen_on_a_run(
    settings: Settings, parameters: FeatureParameters, found: Predicted
) -> tuple[float, float]:
    """Return the sines of what the server receives in a run on T, with col(T) and with col(T').

    The run is the algorithm's own, private labels and features, with one other client.
    """
    n = len(found.table)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    rows = np.arange(n)
    data = JoinedTables((found.table, np.ones((1, 1))), (rows, 0 * rows), labels)
    pair = Pair(data, data.with_tuple(0, 0, found.neighbour[0]), REPLACE_TUPLE)
    algorithm = algorithm_of(settings, parameters, parameters.learning_rate or 1.0)
    server = replace(algorithm, label_epsilon=settings.epsilon).server()
    rng = np.random.default_rng(settings.seed)
    seen = server.sample(pair.dataset, 1, rng)[:, 0, :n, 0]
    here, there = (outside(seen, table[None]) for table in (found.table, found.neighbour))
    return float(here[0]), float(there[0])


def _because(settings: Settings, parameters: FeatureParameters, found: Predicted) -> str:
    here, there = seen_on_a_run(settings, parameters, found)
    return (
        "The server receives h = T theta without noise: always in the column space of T, and with "
        "probability 1 outside that of T'. In a run with the published noise the share of h "
        f"outside them was {here:.1e} and {there:.3g}. So delta is 1 at every epsilon."
    )


def _words(one: Predicted) -> str:
    return (
        f"T = {_shown(one.table)}, first tuple replaced by {_shown(one.neighbour[0])}, theta = "
        f"{_shown(one.model)}: {_distance(one):.4g} of |h| lies outside the column space of T'"
    )


def _shown(values: Array) -> str:
    return np.array2string(values, precision=3, separator=", ").replace("\n", "")


def _smallest(settings: Settings, parameters: FeatureParameters) -> str | None:
    """Return the smallest column of 0, 1 and 2 (in half norms) that one h separates."""
    whole = st.integers(0, 2)
    claim, unit = inequality(settings, parameters), parameters.tuple_norm / 2

    def predicted(drawn: tuple[list[int], int]) -> Predicted:
        column, other = drawn
        table = unit * np.array(column, dtype=np.float64)[:, None]
        neighbour = table.copy()
        neighbour[0] = unit * other
        return Predicted(table, neighbour, np.ones(1))

    drawn = st.tuples(st.lists(whole, min_size=2, max_size=3), whole).map(predicted)
    smallest = minimal(drawn, claim, budget=200)
    return None if smallest is None else _words(smallest)


# --- the search -----------------------------------------------------------------------------------


def most_distant(parameters: FeatureParameters, budget: int, rng: Generator) -> Predicted:
    """Return the best of ``budget`` evaluated pairs."""
    found = maximise(space(parameters), budget, rng).instance
    neighbour = found["table"].copy()
    neighbour[0] = found["other"]
    return Predicted(found["table"], neighbour, found["model"])


def space(parameters: FeatureParameters) -> Space:
    """Return tables, replacements of their first tuple, and models; the ratio is a sine.

    Examples
    --------
    >>> small = space(FeatureParameters(tuples=3, features=1))
    >>> 0.5 < maximise(small, 500, np.random.default_rng(0)).ratio <= 1
    True
    """
    n, d = parameters.tuples, parameters.features
    shapes = {"table": (n, d), "other": (d,), "model": (d,)}

    def start(count: int, rng: Generator) -> Batch:
        return {name: rng.standard_normal((count, *shape)) for name, shape in shapes.items()}

    def move(batch: Batch, step: Array, rng: Generator) -> Batch:
        moved = {}
        for name, old in batch.items():
            size = step.reshape(-1, *[1] * (old.ndim - 1))
            touched = rng.random(old.shape) < 0.5
            moved[name] = old + size * touched * rng.standard_normal(old.shape)
        return moved

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        limit = parameters.tuple_norm * _INSIDE
        inside = {
            "table": _shorter(batch["table"], limit),
            "other": _shorter(batch["other"], limit),
            "model": batch["model"],
        }
        neighbour = inside["table"].copy()
        neighbour[:, 0] = inside["other"]
        seen = np.einsum("bnd,bd->bn", inside["table"], inside["model"])
        return inside, outside(seen, neighbour)

    return Space(start=start, move=move, evaluate=evaluate)


def _shorter(rows: Array, limit: float) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * (limit / np.maximum(lengths, limit)))
