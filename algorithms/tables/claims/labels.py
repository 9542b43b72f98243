r"""The largest privacy loss of a noisy label (Theorem 1 on joined tables), by search.

| paper  | name                          | meaning                                       | shape  |
|--------|-------------------------------|-----------------------------------------------|--------|
| y, y'  | ``label``, ``other``          | a label as it is written, and its replacement | (d_c,) |
| o      | ``output``                    | the noisy label                               | (d_c,) |
| lambda | ``deviation``                 | standard deviation of a coordinate's noise    | scalar |
| b      | ``deviation / sqrt(2)``       | Laplace scale                                 | scalar |

The loss of an output is ``sum_k (|o_k - y'_k| - |o_k - y_k|) / b``, at most ``||y - y'||_1 / b``,
and equal to it where every o_k that differs lies beyond y_k as seen from y'_k. Labels of L1 norm at
most 1 are at most 2 apart: with ``b = 2/epsilon`` the loss is at most epsilon. For longer labels
the theorem is silent, and the same noise gives ``||y - y'||_1 / 2`` times epsilon; that is a note
of the audit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.tables.claims.theorem1 import CLAIM, LabelParameters
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_LABEL, Pair
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

PROOF = "triangle inequality in every coordinate: at most ||y - y'||_1 / b, with ||y - y'||_1 <= 2"
_FARTHEST = 4.0  # of outputs: the loss does not change farther out, and rounding stays away
_INSIDE = 1 - 1e-13  # keeps L1 norms within 1 whatever rounding does
_UNIT, _UNIT_NEIGHBOUR, _PUBLISHED = CLAIM.assumptions


def theorem1(settings: Settings, parameters: LabelParameters) -> SearchCase:
    """Return the audit of Theorem 1.

    Raises
    ------
    InvalidArgument
        Data are asked for, or epsilon is 0.

    Examples
    --------
    >>> case = theorem1(Settings(epsilon=2.0), LabelParameters())
    >>> case.bound, case.at_delta
    (2.0, 0.0)
    """
    refuse_data(settings, "the audit makes its own")
    check.positive("epsilon", settings.epsilon)
    labels = Labels(settings.epsilon, parameters)

    def attain(trials: int, rng: Generator) -> Attained:
        found = most_revealing(labels, trials, rng)
        attained = searched(
            inequality(labels),
            lambda budget, rng: found,
            trials,
            rng,
            seed=settings.seed,
            smallest=lambda one: _smallest(labels),
        )
        return replace(attained, value=max(_stated(labels, found), 0.0))

    return SearchCase(
        bound=labels.claimed,
        attain=attain,
        view="the noisy labels, and so everything that is computed from them",
        data=f"{parameters.encoding} labels of {labels.width} coordinates, found by the search",
        relation=CLAIM.relation,
        pair="found by the search: one label is replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json") | {"deviation": labels.deviation},
        at_delta=0.0,
        effort="evaluated outputs",
        assumptions=_outcomes(labels),
        proved=(2 * math.sqrt(2) / labels.deviation, PROOF),
        notes=_notes(labels),
    )


def _outcomes(labels: Labels) -> tuple[AssumptionOutcome, ...]:
    enforced = "checked on the instance found"
    noise = f"standard deviation {labels.deviation:.6g}, {labels.parameters.noise:g} as published"
    return (
        *(
            AssumptionOutcome(name=name, holds=True, evidence=enforced)
            for name in (_UNIT, _UNIT_NEIGHBOUR)
        ),
        AssumptionOutcome(name=_PUBLISHED, holds=True, evidence=noise),
    )


def _notes(labels: Labels) -> tuple[str, ...]:
    """Return what happens outside the assumption: several classes at once."""
    many = np.ones(labels.parameters.classes)
    loss = float(exact_loss(many, 0 * many, many, labels.deviation))
    return (
        "The theorem does not say how labels are written. One-hot codes, signs and labels of L1 "
        "norm up to 1 are at most 2 apart, as the noise assumes. Labels that may name any of "
        f"{labels.parameters.classes} classes at once are up to {labels.parameters.classes} "
        f"apart, and this noise then has an exact loss of {loss:.6g}.",
    )


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Released:
    """Two labels, an output, and a deviation."""

    label: Array
    other: Array
    output: Array
    deviation: float


@dataclass(frozen=True)
class Labels:
    """What is searched: the encoding, the noise, and what is claimed of it."""

    epsilon: float
    parameters: LabelParameters
    deviation: float = field(init=False)
    claimed: float = field(init=False)

    def __post_init__(self) -> None:
        published = 2 * math.sqrt(2) / self.epsilon
        # A few last digits more than published: the double is not below the theorem's number.
        deviation = published * self.parameters.noise * (1 + 1e-15)
        object.__setattr__(self, "deviation", deviation)
        object.__setattr__(self, "claimed", self.parameters.factor * self.epsilon)

    @property
    def width(self) -> int:
        """Coordinates of a label, ``d_c``."""
        return 1 if self.parameters.encoding == "sign" else self.parameters.classes


def exact_loss(label: Array, other: Array, output: Array, deviation: float) -> Array:
    """Return ``log p / q`` of outputs, over the last axis.

    Examples
    --------
    >>> one, two = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> float(exact_loss(one, two, one, math.sqrt(2)))
    2.0
    """
    nearer = np.abs(output - other) - np.abs(output - label)
    return np.asarray(nearer.sum(axis=-1) / (deviation / math.sqrt(2)))


def inequality(labels: Labels) -> Inequality[Released]:
    """Return Theorem 1: the loss of every output is at most the claimed epsilon."""
    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda one: (
            float(exact_loss(one.label, one.other, one.output, one.deviation)),
            labels.claimed,
        ),
        conditions=partial(conditions, labels),
        words=_words,
        because=lambda one: (
            f"That is the exact loss of the output {_shown(one.output)}, and nearly that of all "
            "outputs around it, which have a probability above 0."
        ),
        evidence=partial(_evidence, labels),
    )


def _evidence(labels: Labels, one: Released) -> Evidence:
    return Evidence(
        kind="pure-dp",
        relation=CLAIM.relation,
        parameters={
            "encoding": labels.parameters.encoding,
            "coordinates": labels.width,
            "epsilon": labels.epsilon,
            "factor": labels.parameters.factor,
            "deviation": labels.deviation,
        },
        instance={"label": one.label, "other": one.other, "output": one.output},
        quantities={
            "bound": labels.claimed,
            "loss": float(exact_loss(one.label, one.other, one.output, one.deviation)),
        },
    )


def conditions(labels: Labels, one: Released) -> tuple[Condition, ...]:
    """Return the assumptions as numbers of an instance."""
    kind, published = labels.parameters.encoding, 2 * math.sqrt(2) / labels.epsilon
    return (
        Condition(name=_UNIT, value=off_unit(kind, one.label), limit=0.0),
        Condition(name=_UNIT_NEIGHBOUR, value=off_unit(kind, one.other), limit=0.0),
        Condition(name=_PUBLISHED, value=published, limit=one.deviation),
    )


def off_unit(kind: str, label: Array) -> float:
    """Return how far a label is from being written as it should; 0 for one that is.

    Examples
    --------
    >>> off_unit("one-hot", np.array([0.0, 1.0])), off_unit("one-hot", np.array([1.0, 1.0]))
    (0.0, 1.0)
    >>> off_unit("sign", np.array([-1.0])), off_unit("unit-l1", np.array([-1.0, 0.5]))
    (0.0, 0.5)
    """
    match kind:
        case "one-hot":
            entries = np.minimum(np.abs(label), np.abs(label - 1)).max()
            return float(max(entries, abs(label.sum() - 1)))
        case "sign":
            return float(np.abs(np.abs(label) - 1).max())
        case _:
            return max(0.0, float(np.abs(label).sum()) - 1)


def _stated(labels: Labels, found: Released) -> float:
    """Return the loss as the mechanism itself states it; of other encodings, by the formula.

    The two differ by the excess of the deviation alone.
    """
    kind = labels.parameters.encoding
    if kind == "unit-l1" or np.array_equal(found.label, found.other):
        return float(exact_loss(found.label, found.other, found.output, found.deviation))
    release = LabelRelease(
        epsilon=2 * math.sqrt(2) / found.deviation,
        loss=LOGISTIC if kind == "sign" else CrossEntropy(labels.width),
    )
    here, there = (
        float(y[0] if kind == "sign" else np.argmax(y)) for y in (found.label, found.other)
    )
    one = JoinedTables((np.ones((1, 1)),), (np.zeros(1, int),), np.array([here]))
    pair = Pair(one, one.with_label(0, there), REPLACE_LABEL)
    return float(release.privacy_loss(found.output[None, None], pair)[0])


def _words(found: Released) -> str:
    return (
        f"label {_shown(found.label)} replaced by {_shown(found.other)}, output "
        f"{_shown(found.output)}, deviation {found.deviation:.6g}"
    )


def _shown(values: Array) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _smallest(labels: Labels) -> str | None:
    """Return the smallest one-hot pair and whole output that break the claim."""
    whole = st.integers(0, 2)

    def released(drawn: tuple[int, int, int, list[int]]) -> Released:
        size, one, other, output = drawn
        codes = np.eye(size)
        value = np.array(output[:size], dtype=np.float64)
        return Released(codes[one % size], codes[other % size], value, labels.deviation)

    sizes = st.integers(2, 4)
    drawn = st.tuples(sizes, whole, whole, st.lists(whole, min_size=4, max_size=4)).map(released)
    one_hot = Labels(labels.epsilon, labels.parameters.model_copy(update={"encoding": "one-hot"}))
    smallest = minimal(drawn, inequality(one_hot), budget=300)
    return None if smallest is None else _words(smallest)


# --- the search -----------------------------------------------------------------------------------


def most_revealing(labels: Labels, budget: int, rng: Generator) -> Released:
    """Return the best of ``budget`` evaluated instances."""
    found = maximise(space(labels), budget, rng).instance
    kind = labels.parameters.encoding
    label, other = (_written(kind, found[name][None])[0] for name in ("label", "other"))
    return Released(label, other, found["output"], labels.deviation)


def space(labels: Labels) -> Space:
    """Return labels as scores, of which one-hot codes are the largest entries, and outputs.

    Examples
    --------
    >>> best = maximise(space(Labels(1.0, LabelParameters())), 2000, np.random.default_rng(0))
    >>> round(best.ratio, 9)
    1.0
    """

    def start(count: int, rng: Generator) -> Batch:
        shape = (count, labels.width)
        return {name: rng.standard_normal(shape) for name in ("label", "other", "output")}

    def move(batch: Batch, step: Array, rng: Generator) -> Batch:
        size = step[:, None] * (rng.random((len(step), labels.width)) < 0.5)
        return {name: old + size * rng.standard_normal(old.shape) for name, old in batch.items()}

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        output = np.clip(batch["output"], -_FARTHEST, _FARTHEST)
        kind = labels.parameters.encoding
        one, other = (_written(kind, batch[name]) for name in ("label", "other"))
        loss = exact_loss(one, other, output, labels.deviation)
        return {**batch, "output": output}, loss / labels.claimed

    return Space(start=start, move=move, evaluate=evaluate)


def _written(kind: str, scores: Array) -> Array:
    """Return the labels that scores stand for, ``(B, d_c)``."""
    match kind:
        case "one-hot":
            return np.asarray(np.eye(scores.shape[1])[np.argmax(scores, axis=1)])
        case "sign":
            return np.where(scores < 0, -1.0, 1.0)
        case _:
            lengths = np.abs(scores).sum(axis=1, keepdims=True)
            return np.asarray(scores * (_INSIDE / np.maximum(lengths, _INSIDE)))
