r"""What the server sees of a client's raw tuples: Theorem 2 on joined tables, server view.

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
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.noise import (
    ASSUMPTIONS,
    NAME,
    SOURCE,
    algorithm_of,
    certified_parameters,
    noise_conditions,
    published_multiplier,
)
from dpaudit.algorithms.tables.claims.parameters import FeatureParameters
from dpaudit.algorithms.tables.claims.server_search import (
    Predicted,
    conditions,
    inequality,
    outside,
    searched,
)
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_TUPLE, Pair
from dpaudit.refutation import Attained, Certificate, Inequality, minimal


def server_case(settings: Settings, parameters: FeatureParameters) -> SearchCase:
    """Return the audit of the server's view: a search for tables that one prediction separates.

    Raises
    ------
    InvalidArgument
        The table has no more tuples than columns, or the server sees no noisy model's prediction.
    """
    if parameters.tuples <= parameters.features:
        expected = f"more than the {parameters.features} features: else no column space is left out"
        raise InvalidArgument("tuples", parameters.tuples, expected)
    check.integer("iterations", parameters.iterations, least=2)
    bound = parameters.factor * settings.epsilon
    claim = inequality(settings, parameters)

    def attain(trials: int, rng: Generator) -> Attained:
        found = searched(parameters, trials, rng)
        if broken := claim.broken(found):
            raise MechanismError(f"{NAME}: the instance found breaks: {', '.join(broken)}")
        if not claim.refuted_by(found):
            return Attained(value=0.0, bound=bound, instance=_words(claim, found))
        return Attained(
            value=math.inf,
            bound=bound,
            instance=_words(claim, found),
            because=_because(settings, parameters, found),
            minimal=_smallest(settings, parameters),
            certificate=_certificate(settings, parameters, found, trials),
        )

    return SearchCase(
        bound=bound,
        attain=attain,
        view="server: the predictions h_ij of every tuple, one round",
        data=f"tables of {parameters.tuples} tuples and {parameters.features} columns, found by "
        "the search",
        relation=REPLACE_TUPLE.name,
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


def _certificate(
    settings: Settings, parameters: FeatureParameters, found: Predicted, trials: int
) -> Certificate:
    distance = outside((found.table @ found.model)[None], found.neighbour[None])
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_TUPLE.name,
        parameters=dict(certified_parameters(settings, parameters))
        | {"tuples": parameters.tuples, "features": parameters.features},
        instance=vars(found),
        quantities={
            "bound": parameters.factor * settings.epsilon,
            "distance": float(distance[0]),
            "attained delta": 1.0,
            "ratio": 1 / settings.delta,
        },
        conditions=conditions(settings, parameters, found),
        search={"seed": settings.seed, "budget": trials},
        kind="support",
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


def _outcomes(settings: Settings, parameters: FeatureParameters) -> tuple[AssumptionOutcome, ...]:
    enforced = tuple(
        AssumptionOutcome(name=name, holds=True, evidence="checked on the instance found")
        for name in ASSUMPTIONS[:3]
    )
    return (*enforced, *noise_outcomes(settings, parameters))


def noise_outcomes(
    settings: Settings, parameters: FeatureParameters
) -> tuple[AssumptionOutcome, ...]:
    """Return whether sigma and epsilon are those of the theorem.

    Raises
    ------
    InvalidArgument
        Epsilon is beyond the theorem's range.
    """
    noise, wide = noise_conditions(settings, parameters)
    if not wide.holds:
        expected = f"at most c_1 r^2 tau = {wide.limit:g}: the theorem says nothing beyond"
        raise InvalidArgument("epsilon", settings.epsilon, expected)
    constants = f"c_1 = {parameters.first_constant:g}, c_2 = {parameters.second_constant:g}"
    return (
        AssumptionOutcome(
            name=noise.name, holds=noise.holds, evidence=f"sigma = {noise.limit:.6g}; {constants}"
        ),
        AssumptionOutcome(
            name=wide.name,
            holds=True,
            evidence=f"epsilon = {wide.value:g}, c_1 r^2 tau = {wide.limit:g}",
        ),
    )


def _because(settings: Settings, parameters: FeatureParameters, found: Predicted) -> str:
    here, there = seen_on_a_run(settings, parameters, found)
    return (
        "The server receives h = T theta without noise: always in the column space of T, and with "
        "probability 1 outside that of T'. In a run with the published noise the share of h "
        f"outside them was {here:.1e} and {there:.3g}. So delta is 1 at every epsilon."
    )


def _words(claim: Inequality[Predicted], one: Predicted) -> str:
    distance = claim.sides(one)[0]
    return (
        f"T = {_shown(one.table)}, first tuple replaced by {_shown(one.neighbour[0])}, theta = "
        f"{_shown(one.model)}: {distance:.4g} of |h| lies outside the column space of T'"
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
    return None if smallest is None else _words(claim, smallest)
