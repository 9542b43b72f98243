r"""Search for the largest privacy loss of a noisy label (Theorem 1 on joined tables).

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
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.parameters import LabelParameters
from dpaudit.refutation import Condition, Inequality, Space, maximise
from dpaudit.refutation.search import Batch

NAME = "tables-theorem1"
SOURCE = "TablePuppet, appendix C, Theorem 1"
_FARTHEST = 4.0  # of outputs: the loss does not change farther out, and rounding stays away
_INSIDE = 1 - 1e-13  # keeps L1 norms within 1 whatever rounding does
ASSUMPTIONS = ("unit label", "unit label of the neighbour", "published noise")


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
        name=NAME,
        source=SOURCE,
        sides=lambda one: (
            float(exact_loss(one.label, one.other, one.output, one.deviation)),
            labels.claimed,
        ),
        conditions=partial(conditions, labels),
    )


def conditions(labels: Labels, one: Released) -> tuple[Condition, ...]:
    """Return the assumptions as numbers of an instance."""
    kind, published = labels.parameters.encoding, 2 * math.sqrt(2) / labels.epsilon
    return (
        Condition(name=ASSUMPTIONS[0], value=off_unit(kind, one.label), limit=0.0),
        Condition(name=ASSUMPTIONS[1], value=off_unit(kind, one.other), limit=0.0),
        Condition(name=ASSUMPTIONS[2], value=published, limit=one.deviation),
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


def searched(labels: Labels, budget: int, rng: Generator) -> Released:
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
