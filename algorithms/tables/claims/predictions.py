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

from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.noise import BOUNDED, BOUNDED_NEIGHBOUR, ONE_TUPLE, Theorem2
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.extension.claim import Statement
from dpaudit.neighbours import REPLACE_TUPLE, Pair
from dpaudit.refutation import (
    Condition,
    Evidence,
    Inequality,
    Space,
    WorstInstance,
    maximise,
    minimal,
    searched,
)
from dpaudit.refutation.search import Batch

_INSIDE = 1 - 1e-12  # keeps norms within their limit whatever rounding does
LEAST_DISTANCE = 1e-6  # share of h outside col(T') that rounding cannot explain
_ROUNDING = 1e-12  # such a share that rounding explains


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PredictionPair:
    """A table, its neighbour and a model; shapes in the module docstring."""

    table: Array
    neighbour: Array
    model: Array


def compute_outside_sines(vectors: Array, spanning: Array) -> Array:
    """Return which share of each vector lies outside a column space: a sine.

    Parameters
    ----------
    vectors, spanning
        Shapes ``(B, n)`` and ``(B, n, d)``.

    Examples
    --------
    >>> compute_outside_sines(np.array([[3.0, 4.0]]), np.array([[[1.0], [0.0]]]))
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


def make_column_space_inequality(
    statement: Statement, theorem: Theorem2
) -> Inequality[PredictionPair]:
    """Return the condition of a finite epsilon: predictions inside the neighbour's column space."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda one: (_measure_prediction_distance(one), LEAST_DISTANCE),
        conditions=partial(compute_prediction_conditions, theorem),
        scale=lambda one: 1.0,
        words=_format_prediction_instance,
    )


def make_prediction_inequality(
    statement: Statement, theorem: Theorem2, learning_rate: float, seed: int
) -> Inequality[PredictionPair]:
    """Return Theorem 2 of the same: a delta of 1, at any epsilon, is more than the claimed one."""
    inside = make_column_space_inequality(statement, theorem)
    return replace(
        inside,
        sides=lambda one: (float(inside.is_refuted_by(one)), theorem.delta),
        scale=None,
        because=partial(_explain_prediction_leak, theorem, learning_rate, seed),
        evidence=partial(_make_prediction_evidence, statement.relation, theorem),
    )


def _measure_prediction_distance(one: PredictionPair) -> float:
    return float(compute_outside_sines((one.table @ one.model)[None], one.neighbour[None])[0])


def compute_prediction_conditions(theorem: Theorem2, one: PredictionPair) -> tuple[Condition, ...]:
    """Return the theorem's assumptions as numbers of an instance."""
    norms = [float(np.linalg.norm(t, axis=1).max()) for t in (one.table, one.neighbour)]
    differing = float((one.table != one.neighbour).any(axis=1).sum())
    return (
        Condition(name=BOUNDED, value=norms[0], limit=theorem.tuple_norm),
        Condition(name=BOUNDED_NEIGHBOUR, value=norms[1], limit=theorem.tuple_norm),
        Condition(name=ONE_TUPLE, value=differing, limit=1.0),
        *theorem.conditions(),
    )


def _make_prediction_evidence(relation: str, theorem: Theorem2, found: PredictionPair) -> Evidence:
    tuples, features = found.table.shape
    return Evidence(
        kind="support",
        relation=relation,
        parameters=theorem.stated() | {"tuples": tuples, "features": features},
        instance=vars(found),
        quantities={
            "bound": theorem.claimed,
            "distance": _measure_prediction_distance(found),
            "attained delta": 1.0,
        },
    )


def measure_server_view_sines(
    theorem: Theorem2, learning_rate: float, seed: int, found: PredictionPair
) -> tuple[float, float]:
    """Return the sines of the server's view in a run on T, with col(T) and with col(T').

    The run is the algorithm's own, private labels and features, with one other client.
    """
    n = len(found.table)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    rows = np.arange(n)
    data = JoinedTables((found.table, np.ones((1, 1))), (rows, 0 * rows), labels)
    pair = Pair(data, data.with_tuple(0, 0, found.neighbour[0]), REPLACE_TUPLE)
    algorithm = theorem.algorithm(learning_rate)
    server = replace(algorithm, label_epsilon=theorem.epsilon).server()
    rng = np.random.default_rng(seed)
    seen = server.sample(pair.dataset, 1, rng)[:, 0, :n, 0]
    here, there = (
        compute_outside_sines(seen, table[None]) for table in (found.table, found.neighbour)
    )
    return float(here[0]), float(there[0])


def _explain_prediction_leak(
    theorem: Theorem2, learning_rate: float, seed: int, found: PredictionPair
) -> str:
    here, there = measure_server_view_sines(theorem, learning_rate, seed, found)
    return (
        "The server receives h = T theta without noise: always in the column space of T, and with "
        "probability 1 outside that of T'. In a run with the published noise the share of h "
        f"outside them was {_format_outside_share(here)} and {_format_outside_share(there)}. So "
        "delta is 1 at every epsilon."
    )


def _format_outside_share(outside: float) -> str:
    """Return a share as it was computed, unless rounding alone may have made it."""
    return f"{outside:.3g}" if outside > _ROUNDING else "0 but for rounding"


def _format_prediction_instance(one: PredictionPair) -> str:
    return (
        f"T = {_format_rounded_array(one.table)}, first tuple replaced by "
        f"{_format_rounded_array(one.neighbour[0])}, theta = "
        f"{_format_rounded_array(one.model)}: {_measure_prediction_distance(one):.4g} of |h| "
        "lies outside the column space of T'"
    )


def _format_rounded_array(values: Array) -> str:
    return np.array2string(values, precision=3, separator=", ").replace("\n", "")


def _find_smallest_prediction(statement: Statement, theorem: Theorem2) -> str | None:
    """Return the smallest column of 0, 1 and 2 (in half norms) that one h separates."""
    whole = st.integers(0, 2)
    claim, unit = make_column_space_inequality(statement, theorem), theorem.tuple_norm / 2

    def make_prediction(drawn: tuple[list[int], int]) -> PredictionPair:
        column, other = drawn
        table = unit * np.array(column, dtype=np.float64)[:, None]
        neighbour = table.copy()
        neighbour[0] = unit * other
        return PredictionPair(table, neighbour, np.ones(1))

    drawn = st.tuples(st.lists(whole, min_size=2, max_size=3), whole).map(make_prediction)
    smallest = minimal(drawn, claim, budget=200)
    return None if smallest is None else _format_prediction_instance(smallest)


# --- the search -----------------------------------------------------------------------------------


def search_prediction_leak(
    statement: Statement,
    theorem: Theorem2,
    searched_space: Space,
    learning_rate: float,
    trials: int,
    rng: Generator,
    *,
    seed: int,
) -> WorstInstance:
    """Return an infinite epsilon where a pair is found that one prediction separates, else 0."""
    reached = searched(
        make_prediction_inequality(statement, theorem, learning_rate, seed),
        partial(most_distant, searched_space),
        trials,
        rng,
        seed=seed,
        smallest=lambda found: _find_smallest_prediction(statement, theorem),
    )
    epsilon = 0.0 if reached.certificate is None else math.inf
    return replace(reached, value=epsilon, bound=theorem.claimed)


def most_distant(searched_space: Space, budget: int, rng: Generator) -> PredictionPair:
    """Return the best of ``budget`` evaluated pairs."""
    found = maximise(searched_space, budget, rng).instance
    neighbour = found["table"].copy()
    neighbour[0] = found["other"]
    return PredictionPair(found["table"], neighbour, found["model"])


def build_prediction_space(tuples: int, features: int, norm: float = 1.0) -> Space:
    """Return tables, replacements of their first tuple, and models; the ratio is a sine.

    Examples
    --------
    >>> small = build_prediction_space(tuples=3, features=1)
    >>> 0.5 < maximise(small, 500, np.random.default_rng(0)).ratio <= 1
    True
    """
    shapes = {"table": (tuples, features), "other": (features,), "model": (features,)}

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
        limit = norm * _INSIDE
        inside = {
            "table": _clip_tuple_lengths(batch["table"], limit),
            "other": _clip_tuple_lengths(batch["other"], limit),
            "model": batch["model"],
        }
        neighbour = inside["table"].copy()
        neighbour[:, 0] = inside["other"]
        seen = np.einsum("bnd,bd->bn", inside["table"], inside["model"])
        return inside, compute_outside_sines(seen, neighbour)

    return Space(start=start, move=move, evaluate=evaluate)


def _clip_tuple_lengths(rows: Array, limit: float) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * (limit / np.maximum(lengths, limit)))
