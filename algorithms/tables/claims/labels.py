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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.extension.claim import Statement
from dpaudit.neighbours import REPLACE_LABEL, Pair
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

PROOF = "triangle inequality in every coordinate: at most ||y - y'||_1 / b, with ||y - y'||_1 <= 2"
_FARTHEST = 4.0  # of outputs: the loss does not change farther out, and rounding stays away
_INSIDE = 1 - 1e-13  # keeps L1 norms within 1 whatever rounding does
_UNIT = "unit label"
_UNIT_NEIGHBOUR = "unit label of the neighbour"
_PUBLISHED = "published noise"


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelInstance:
    """Two labels, an output, and a deviation."""

    label: Array
    other: Array
    output: Array
    deviation: float


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The encoding of labels, their noise, and the claim about it.

    Parameters
    ----------
    epsilon, factor
        ``factor * epsilon`` is claimed, with the noise for ``epsilon``.
    encoding
        ``one-hot``, ``sign``, or ``unit-l1``: any vector of L1 norm up to 1.
    classes
        ``d_c``; a sign has two classes, and one coordinate.
    noise
        The published deviation is multiplied by this.
    """

    epsilon: float
    encoding: str
    classes: int = 3
    noise: float = 1.0
    factor: float = 1.0

    @property
    def deviation(self) -> float:
        """Standard deviation of a coordinate's noise."""
        # A few last digits more than published: the double is not below the theorem's number.
        return self.published * self.noise * (1 + 1e-15)

    @property
    def published(self) -> float:
        """The deviation that the theorem asks for."""
        return 2 * math.sqrt(2) / self.epsilon

    @property
    def claimed(self) -> float:
        """The claimed epsilon."""
        return self.factor * self.epsilon

    @property
    def proved(self) -> float:
        """An epsilon of this noise that has a proof, rounded up."""
        above = 2 * math.sqrt(2) / self.deviation
        while (Fraction(above) * Fraction(self.deviation)) ** 2 < 8:
            above = math.nextafter(above, math.inf)
        return above

    @property
    def width(self) -> int:
        """Coordinates of a label, ``d_c``."""
        return 1 if self.encoding == "sign" else self.classes


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


def make_label_inequality(statement: Statement, labels: Labels) -> Inequality[LabelInstance]:
    """Return Theorem 1: the loss of every output is at most the claimed epsilon."""
    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda one: (
            float(exact_loss(one.label, one.other, one.output, one.deviation)),
            labels.claimed,
        ),
        conditions=partial(compute_label_conditions, labels),
        words=_format_label_instance,
        because=lambda one: (
            f"That is the exact loss of the output {_format_label_vector(one.output)}, and "
            "nearly that of all "
            "outputs around it, which have a probability above 0."
        ),
        evidence=partial(_make_label_evidence, statement.relation, labels),
    )


def _make_label_evidence(relation: str, labels: Labels, one: LabelInstance) -> Evidence:
    return Evidence(
        kind="pure-dp",
        relation=relation,
        parameters={
            "encoding": labels.encoding,
            "coordinates": labels.width,
            "epsilon": labels.epsilon,
            "factor": labels.factor,
            "deviation": labels.deviation,
        },
        instance={"label": one.label, "other": one.other, "output": one.output},
        quantities={
            "bound": labels.claimed,
            "loss": float(exact_loss(one.label, one.other, one.output, one.deviation)),
        },
    )


def compute_label_conditions(labels: Labels, one: LabelInstance) -> tuple[Condition, ...]:
    """Return the assumptions as numbers of an instance."""
    kind = labels.encoding
    return (
        Condition(name=_UNIT, value=off_unit(kind, one.label), limit=0.0),
        Condition(name=_UNIT_NEIGHBOUR, value=off_unit(kind, one.other), limit=0.0),
        Condition(name=_PUBLISHED, value=labels.published, limit=one.deviation),
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


def _compute_stated_label_loss(labels: Labels, found: LabelInstance) -> float:
    """Return the loss as the mechanism itself states it; of other encodings, by the formula.

    The two differ by the excess of the deviation alone.
    """
    kind = labels.encoding
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


def _format_label_instance(found: LabelInstance) -> str:
    return (
        f"label {_format_label_vector(found.label)} replaced by "
        f"{_format_label_vector(found.other)}, output "
        f"{_format_label_vector(found.output)}, deviation {found.deviation:.6g}"
    )


def _format_label_vector(values: Array) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _find_smallest_label_pair(statement: Statement, labels: Labels) -> str | None:
    """Return the smallest one-hot pair and whole output that break the claim."""
    whole = st.integers(0, 2)

    def make_label_pair(drawn: tuple[int, int, int, list[int]]) -> LabelInstance:
        size, one, other, output = drawn
        codes = np.eye(size)
        value = np.array(output[:size], dtype=np.float64)
        return LabelInstance(codes[one % size], codes[other % size], value, labels.deviation)

    sizes = st.integers(2, 4)
    drawn = st.tuples(sizes, whole, whole, st.lists(whole, min_size=4, max_size=4)).map(
        make_label_pair
    )
    one_hot = replace(labels, encoding="one-hot")
    smallest = minimal(drawn, make_label_inequality(statement, one_hot), budget=300)
    return None if smallest is None else _format_label_instance(smallest)


# --- the search -----------------------------------------------------------------------------------


def search_label_loss(
    statement: Statement, labels: Labels, trials: int, rng: Generator, *, seed: int
) -> WorstInstance:
    """Return the largest loss that is found, as the mechanism itself states it."""
    found = most_revealing(labels, trials, rng)
    reached = searched(
        make_label_inequality(statement, labels),
        lambda budget, rng: found,
        trials,
        rng,
        seed=seed,
        smallest=lambda one: _find_smallest_label_pair(statement, labels),
    )
    return replace(reached, value=max(_compute_stated_label_loss(labels, found), 0.0))


def most_revealing(labels: Labels, budget: int, rng: Generator) -> LabelInstance:
    """Return the best of ``budget`` evaluated instances."""
    found = maximise(build_label_space(labels), budget, rng).instance
    kind = labels.encoding
    label, other = (
        _convert_scores_to_labels(kind, found[name][None])[0] for name in ("label", "other")
    )
    return LabelInstance(label, other, found["output"], labels.deviation)


def build_label_space(labels: Labels) -> Space:
    """Return labels as scores, of which one-hot codes are the largest entries, and outputs.

    Examples
    --------
    >>> labels = Labels(epsilon=1.0, encoding="one-hot")
    >>> best = maximise(build_label_space(labels), 2000, np.random.default_rng(0))
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
        kind = labels.encoding
        one, other = (_convert_scores_to_labels(kind, batch[name]) for name in ("label", "other"))
        loss = exact_loss(one, other, output, labels.deviation)
        return {**batch, "output": output}, loss / labels.claimed

    return Space(start=start, move=move, evaluate=evaluate)


def _convert_scores_to_labels(kind: str, scores: Array) -> Array:
    """Return the labels that scores stand for, ``(B, d_c)``."""
    match kind:
        case "one-hot":
            return np.asarray(np.eye(scores.shape[1])[np.argmax(scores, axis=1)])
        case "sign":
            return np.where(scores < 0, -1.0, 1.0)
        case _:
            lengths = np.abs(scores).sum(axis=1, keepdims=True)
            return np.asarray(scores * (_INSIDE / np.maximum(lengths, _INSIDE)))
